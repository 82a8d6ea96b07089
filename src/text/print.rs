//! Prints structures. The loop has its own stack, so it does not recurse.

use std::fmt::{self, Write};

use crate::bug::missing;
use crate::message::{LimitedWriter, brief};
use crate::model::{Leaf, NodeKind, Options, Tree, TreeDef, Value};
use crate::treedef::node_ref::{Children, NodeRef};

use super::literal::{Suffix, write_name, write_scalar};

/// The default width of the pretty form in columns.
const WIDTH: usize = 80;

/// The text at the leaves.
pub(crate) trait LeafText {
    fn write(&self, index: usize, out: &mut dyn Write) -> fmt::Result;
    /// Whether two leaves are printed alike.
    fn same(&self, a: usize, b: usize) -> bool;
    /// The number of siblings, of `count`, that have the same leaves as the first. The first has
    /// `leaves` leaves from index `first` on.
    fn equal(&self, first: usize, leaves: usize, count: usize) -> usize {
        // Each sibling is compared with the previous one, so equal leaves are read only once.
        let like_the_last = |sibling: usize| {
            let first = first + sibling * leaves;
            (first..first + leaves).all(|leaf| self.same(leaf - leaves, leaf))
        };
        if leaves == 0 || self.all_alike() {
            return count;
        }
        (1..count).find(|sibling| !like_the_last(*sibling)).unwrap_or(count)
    }
    /// Whether all leaves are printed alike.
    fn all_alike(&self) -> bool {
        false
    }
    /// The text of a node that is printed as an array.
    fn array(&self, _: NodeRef<'_>) -> Option<String> {
        None
    }
    /// The suffix of numbers in keys.
    fn suffix(&self) -> Suffix {
        Suffix::Sparing
    }
    /// The text at the leaves of a key or a static.
    fn inside<'v>(&'v self, value: &'v Value) -> Box<dyn LeafText + 'v> {
        Box::new(Literals(value, self.suffix()))
    }
    /// Whether the entries of maps are printed in insertion order instead of the order of their
    /// keys.
    fn keeps_order(&self) -> bool {
        false
    }
    /// The maximum number of siblings that are printed as one.
    fn most_repeated(&self, _: NodeRef<'_>) -> usize {
        usize::MAX
    }
    /// Called when siblings are printed as one.
    fn repeated(&self, _: NodeRef<'_>, _: usize) {}
}

/// `*` for every leaf.
struct Stars;

impl LeafText for Stars {
    fn write(&self, _: usize, out: &mut dyn Write) -> fmt::Result {
        out.write_char('*')
    }

    fn same(&self, _: usize, _: usize) -> bool {
        true
    }

    fn all_alike(&self) -> bool {
        true
    }
}

/// The literal of every scalar of a value.
struct Literals<'a>(&'a Value, Suffix);

impl LeafText for Literals<'_> {
    fn write(&self, index: usize, out: &mut dyn Write) -> fmt::Result {
        let scalar = self.0.scalar(index);
        scalar.map_or_else(|| missing("a leaf"), |scalar| write_scalar(out, scalar, self.1))
    }

    fn same(&self, a: usize, b: usize) -> bool {
        self.0.scalar(a) == self.0.scalar(b)
    }

    fn suffix(&self) -> Suffix {
        self.1
    }
}

/// The printed leaves, one after another. Each leaf is printed once, then copied and compared.
pub(crate) struct LeafTexts {
    text: String,
    /// Where the text of each leaf ends.
    ends: Vec<usize>,
}

impl LeafTexts {
    pub(crate) fn of<L: fmt::Display>(leaves: &[L]) -> Result<Self, fmt::Error> {
        let mut printed = LeafTexts { text: String::new(), ends: Vec::with_capacity(leaves.len()) };
        for leaf in leaves {
            write!(printed.text, "{leaf}")?;
            printed.ends.push(printed.text.len());
        }
        Ok(printed)
    }

    fn leaf(&self, index: usize) -> Option<&str> {
        let start =
            index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start..*self.ends.get(index)?)
    }
}

impl LeafText for LeafTexts {
    fn write(&self, index: usize, out: &mut dyn Write) -> fmt::Result {
        self.leaf(index).map_or_else(|| missing("a leaf"), |text| out.write_str(text))
    }

    fn same(&self, a: usize, b: usize) -> bool {
        self.leaf(a) == self.leaf(b)
    }
}

fn write_leaf(out: &mut dyn Write, leaf: &Leaf, suffix: Suffix) -> fmt::Result {
    match (leaf.as_scalar(), leaf) {
        (Some(scalar), _) => write_scalar(out, scalar, suffix),
        (None, Leaf::Opaque(value)) => write_value(out, value, suffix),
        (None, _) => Ok(()),
    }
}

pub(super) fn write_value(out: &mut dyn Write, value: &Value, suffix: Suffix) -> fmt::Result {
    write_node(out, value.root(), &Literals(value, suffix))
}

/// The text of a value without the kinds of its numbers.
pub(crate) fn bare_value(value: &Value) -> String {
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = write_value(&mut text, value, Suffix::Never);
    text
}

/// A writer that tracks the current column.
struct ColumnWriter<'w> {
    out: &'w mut dyn Write,
    column: usize,
}

impl<'w> ColumnWriter<'w> {
    fn new(out: &'w mut dyn Write) -> Self {
        ColumnWriter { out, column: 0 }
    }
}

impl Write for ColumnWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.column = match text.rsplit_once('\n') {
            Some((_, line)) => line.chars().count(),
            None => self.column + text.chars().count(),
        };
        self.out.write_str(text)
    }
}

struct Printer<'p, 'w> {
    out: &'p mut ColumnWriter<'w>,
    leaves: &'p dyn LeafText,
    pretty: Option<Pretty>,
    lengths: Lengths,
}

/// Whether the elements of sequences are counted. In values and tuples they always are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    Shown,
    /// `; _` follows each element.
    Hidden,
}

/// The form with several lines.
#[derive(Clone, Copy)]
struct Pretty {
    /// The indent of the root.
    indent: usize,
    /// The number of columns. Nodes that do not fit are broken into lines.
    width: usize,
}

/// A node whose children are being written.
struct OpenPrint<'a> {
    node: NodeRef<'a>,
    children: Children<'a>,
    /// The entries of a map in insertion order with their positions, if that differs from the order
    /// of `children`.
    inserted: Option<Vec<(usize, NodeRef<'a>)>>,
    /// Printed after the node: nothing for one element, `; _` for an unknown number.
    repeat: Option<usize>,
    /// Whether each child is on its own line.
    broken: bool,
    indent: usize,
}

impl OpenPrint<'_> {
    /// At most the line width. Otherwise the length of a text could be quadratic in its depth.
    fn indent_of_children(&self, width: usize) -> usize {
        if self.broken { (self.indent + 2).min(width) } else { self.indent }
    }
}

impl<'p, 'w> Printer<'p, 'w> {
    fn new(
        out: &'p mut ColumnWriter<'w>,
        leaves: &'p dyn LeafText,
        pretty: Option<Pretty>,
    ) -> Self {
        Printer { out, leaves, pretty, lengths: Lengths::Shown }
    }
}

impl Printer<'_, '_> {
    fn print(&mut self, root: NodeRef<'_>) -> fmt::Result {
        let mut open = Vec::new();
        self.enter(root, Some(1), self.pretty.map_or(0, |pretty| pretty.indent), &mut open)?;
        while let Some(top) = open.last_mut() {
            let parent = top.node;
            let indent = top.indent_of_children(self.pretty.map_or(0, |pretty| pretty.width));
            let position = parent.num_children() - top.children.len();
            let Some(child) = top.children.next() else {
                self.leave(top)?;
                open.pop();
                continue;
            };
            let inserted =
                top.inserted.as_ref().and_then(|inserted| inserted.get(position)).copied();
            let (label, child) = inserted.unwrap_or((position, child));
            if top.broken {
                write!(self.out, "{}\n{:indent$}", if position > 0 { "," } else { "" }, "")?;
            } else if position > 0 {
                self.out.write_str(", ")?;
            }
            self.label(parent, label)?;
            let repeat = self.repeat(parent.kind(), child, &top.children);
            if let Some(more) = repeat.and_then(|repeat| repeat.checked_sub(2)) {
                top.children.nth(more);
            }
            self.enter(child, repeat, indent, &mut open)?;
        }
        Ok(())
    }

    fn label(&mut self, parent: NodeRef<'_>, position: usize) -> fmt::Result {
        if let Some(name) = parent.fields().get(position) {
            write_name(self.out, name)?;
            self.out.write_str(": ")?;
        } else if let Some(key) = parent.entry_keys().get(position) {
            Printer::new(self.out, &*self.leaves.inside(key), None).print(key.root())?;
            self.out.write_str(": ")?;
        }
        Ok(())
    }

    /// The number of children, starting with this one, that are printed as one. `None` if lengths
    /// are hidden.
    fn repeat(&self, parent: NodeKind, child: NodeRef<'_>, rest: &Children<'_>) -> Option<usize> {
        use NodeKind as Is;
        if parent == Is::Seq && self.lengths == Lengths::Hidden {
            return None;
        }
        if !matches!(parent, Is::Seq | Is::Tuple | Is::TupleStruct | Is::TupleVariant) {
            return Some(1);
        }
        let run = match rest.left_in_run_of(child) {
            0 => 1,
            more => (1 + more).min(self.leaves.most_repeated(child)),
        };
        let equal = |most| self.leaves.equal(child.first_leaf(), child.num_leaves(), most);
        let equal = if self.leaves.keeps_order() {
            // Doubling keeps the work proportional to the number that is printed as one.
            let mut most = 1usize;
            loop {
                most = run.min(most.saturating_mul(2));
                let equal = child.in_same_order(equal(most));
                if equal < most || most == run {
                    break equal;
                }
            }
        } else {
            equal(run)
        };
        let repeat = if equal >= 5 || child.num_children() > 0 { equal } else { 1 };
        if repeat > 1 {
            self.leaves.repeated(child, repeat);
        }
        Some(repeat)
    }

    /// Writes the beginning of a node. Opens it unless it is an atom.
    fn enter<'a>(
        &mut self,
        node: NodeRef<'a>,
        repeat: Option<usize>,
        indent: usize,
        open: &mut Vec<OpenPrint<'a>>,
    ) -> fmt::Result {
        if let Some(array) = self.leaves.array(node) {
            self.out.write_str(&array)?;
            return self.times(repeat);
        }
        let broken = self.pretty.filter(|pretty| !self.fits(node, pretty.width));
        if let Some(name) = node.name() {
            write_name(self.out, name)?;
        }
        if let Some(variant) = node.variant() {
            self.out.write_str("::")?;
            write_name(self.out, variant)?;
        }
        let (start, _) = delimiters(node.kind());
        match node.kind() {
            NodeKind::Leaf => self.leaves.write(node.first_leaf(), self.out)?,
            NodeKind::Static => {
                self.static_value(node, broken.map(|pretty| Pretty { indent, ..pretty }))?
            }
            NodeKind::Unit => self.out.write_str("()")?,
            NodeKind::None => self.out.write_str("None")?,
            NodeKind::UnitStruct | NodeKind::UnitVariant => {}
            kind => {
                if matches!(kind, NodeKind::Struct | NodeKind::StructVariant) {
                    self.out.write_char(' ')?;
                }
                self.out.write_str(start)?;
                let broken = broken.is_some() && !kind.has_one_child() && node.num_children() > 0;
                if is_spaced(node) && !broken {
                    self.out.write_char(' ')?;
                }
                let inserted =
                    self.leaves.keeps_order().then(|| entries_as_inserted(node)).flatten();
                let children = node.children();
                open.push(OpenPrint { node, children, inserted, repeat, broken, indent });
                return Ok(());
            }
        }
        self.times(repeat)
    }

    fn leave(&mut self, open: &OpenPrint<'_>) -> fmt::Result {
        use NodeKind as Is;
        let OpenPrint { node, indent, .. } = *open;
        let tuple_like = matches!(node.kind(), Is::Tuple | Is::TupleStruct | Is::TupleVariant);
        if open.broken {
            write!(self.out, ",\n{:indent$}", "")?;
        } else if is_spaced(node) {
            self.out.write_char(' ')?;
        } else if tuple_like && node.num_children() == 1
            || node.kind() == Is::Tuple && node.num_children() == 0
        {
            self.out.write_char(',')?;
        }
        self.out.write_str(delimiters(node.kind()).1)?;
        self.times(open.repeat)
    }

    fn times(&mut self, repeat: Option<usize>) -> fmt::Result {
        match repeat {
            Some(1) => Ok(()),
            Some(repeat) => write!(self.out, "; {repeat}"),
            None => self.out.write_str("; _"),
        }
    }

    /// A static contains a value, and a value contains no statics, so this recurses only once.
    fn static_value(&mut self, node: NodeRef<'_>, pretty: Option<Pretty>) -> fmt::Result {
        self.out.write_str("static ")?;
        let Some(value) = node.static_value() else { return missing("a static") };
        Printer::new(self.out, &*self.leaves.inside(value), pretty).print(value.root())
    }

    /// Whether the node and one more character fit into the rest of the line.
    fn fits(&self, node: NodeRef<'_>, width: usize) -> bool {
        let left = width.saturating_sub(1).saturating_sub(self.out.column);
        let mut rest = LimitedWriter { text: String::new(), left };
        let out = &mut ColumnWriter::new(&mut rest);
        Printer { out, leaves: self.leaves, pretty: None, lengths: self.lengths }
            .print(node)
            .is_ok()
    }
}

/// The entries of a map in insertion order, with their positions, if that differs from the order of
/// the keys.
fn entries_as_inserted(node: NodeRef<'_>) -> Option<Vec<(usize, NodeRef<'_>)>> {
    let order = node.insertion_order()?;
    let children: Vec<_> = node.children().collect();
    order.iter().map(|&position| Some((position, *children.get(position)?))).collect()
}

pub(super) fn delimiters(kind: NodeKind) -> (&'static str, &'static str) {
    use NodeKind as Is;
    match kind {
        Is::Some => ("Some(", ")"),
        Is::Seq => ("[", "]"),
        Is::Map | Is::Struct | Is::StructVariant => ("{", "}"),
        Is::NewtypeStruct | Is::NewtypeVariant | Is::Tuple | Is::TupleStruct | Is::TupleVariant => {
            ("(", ")")
        }
        Is::Leaf | Is::None | Is::Unit | Is::UnitStruct | Is::UnitVariant | Is::Static => ("", ""),
    }
}

/// Whether there are spaces inside the braces.
fn is_spaced(node: NodeRef<'_>) -> bool {
    matches!(node.kind(), NodeKind::Struct | NodeKind::StructVariant) && node.num_children() > 0
}

pub(super) fn write_options(out: &mut dyn Write, options: Options) -> fmt::Result {
    if options == Options::default() { Ok(()) } else { write!(out, "{options} ") }
}

/// The pretty form: `{:#}`, or `{:#120}` for lines of 120 columns.
fn pretty_form(f: &fmt::Formatter<'_>) -> Option<Pretty> {
    f.alternate().then(|| Pretty { indent: 0, width: f.width().unwrap_or(WIDTH) })
}

pub(crate) fn write_tree(
    f: &mut fmt::Formatter<'_>,
    treedef: &TreeDef,
    leaves: &dyn LeafText,
) -> fmt::Result {
    write(f, treedef, leaves, Lengths::Shown)
}

fn write(
    f: &mut fmt::Formatter<'_>,
    treedef: &TreeDef,
    leaves: &dyn LeafText,
    lengths: Lengths,
) -> fmt::Result {
    let pretty = pretty_form(f);
    let out = &mut ColumnWriter::new(f);
    write_options(out, treedef.encoding.options)?;
    Printer { out, leaves, pretty, lengths }.print(treedef.root())
}

/// Prints a node in one line.
pub(super) fn write_node(
    out: &mut dyn Write,
    node: NodeRef<'_>,
    leaves: &dyn LeafText,
) -> fmt::Result {
    Printer::new(&mut ColumnWriter::new(out), leaves, None).print(node)
}

/// A structure or signature in which each form of element of a sequence is listed once, with `_` as
/// the number.
pub(crate) struct WithoutLengths<T>(pub(crate) T);

impl fmt::Display for WithoutLengths<TreeDef> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, &self.0, &Stars, Lengths::Hidden)
    }
}

impl<L: fmt::Display> fmt::Display for WithoutLengths<Tree<L>> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, &self.0.treedef, &LeafTexts::of(&self.0.leaves)?, Lengths::Hidden)
    }
}

impl fmt::Display for TreeDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tree(f, self, &Stars)
    }
}

impl fmt::Debug for TreeDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreeDef({self})")
    }
}

impl fmt::Display for NodeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pretty = pretty_form(f);
        Printer::new(&mut ColumnWriter::new(f), &Stars, pretty).print(*self)
    }
}

impl fmt::Debug for NodeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeRef({self})")
    }
}

impl NodeRef<'_> {
    /// The node in one line, cut off if it is long.
    pub(crate) fn brief(self) -> String {
        brief(&self)
    }
}

/// Prints the literal.
impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_leaf(f, self, Suffix::Sparing)
    }
}

/// Prints the text of a treedef with literals in place of `*`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_value(f, self, Suffix::Sparing)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({self})")
    }
}
