//! Parses text into structures. Only keys and statics recurse, and their nesting is bounded.

use std::str::FromStr;
use std::sync::Arc;

use crate::bug::OrBug;
use crate::error::{Cause, Error, Result};
use crate::model::{
    Leaf, LeafKind, Limits, MAX_KEY_NESTING, Name, NodeKind, Options, Tree, TreeDef, Value,
};
use crate::treedef::encoding::{NAMELESS, NodeDataRef};
use crate::treedef::parts::PartsBuilder;

use super::lex::Lexer;
use super::syntax::{Syntax, TextLeaf, kinds, literals};

/// A longer path or pattern gets no suggestion.
const LONGEST_RESPELLED: usize = 1000;

struct Parser<'l, 't> {
    lexer: &'l mut Lexer<'t>,
    builder: PartsBuilder,
    /// Empty for a treedef: its leaves have no data, and there may be 2⁶⁰.
    leaves: Vec<TextLeaf>,
    syntax: Syntax,
    limits: Limits,
    /// The number of keys and statics around the parsed node, and of containers around those.
    nesting: usize,
    depth_above: usize,
}

/// A node whose closing delimiter has not been read.
struct OpenBracket {
    bracket: Bracket,
    name: Name,
    variant: Option<Name>,
    fields: Vec<Name>,
    keys: Vec<Value>,
    /// The number of leaves before this node.
    first_leaf: usize,
    children: usize,
    /// Whether a comma or a count followed a child. If so, this is a tuple and not a newtype.
    listed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Some,
    Seq,
    Tuple,
    Map,
    /// `Name(`: a newtype or a tuple struct.
    Parenthesis,
    /// `Name {`
    Braces,
}

impl Parser<'_, '_> {
    /// Parses one node and everything below it.
    fn parse(&mut self) -> Result<()> {
        let mut open = Vec::new();
        let mut complete = self.begin(&mut open)?;
        loop {
            let depth = open.len();
            let Some(top) = open.last_mut() else { return Ok(()) };
            let mut more = true;
            if let Some(first_leaf) = complete {
                self.add(top, first_leaf)?;
                more = self.lexer.eat(",");
                top.listed |= more;
            }
            if self.lexer.peek() == top.bracket.end().chars().next() {
                top.check_children(self.lexer)?;
                self.lexer.eat(top.bracket.end());
                complete = open.pop().map(|node| self.close(node)).transpose()?;
            } else if more {
                self.label(top, depth)?;
                complete = self.begin(&mut open)?;
            } else {
                return self.lexer.fail(top.bracket.expected());
            }
        }
    }

    /// Reads the beginning of a node: everything before the first child, or a whole atom. For an atom it
    /// returns the number of leaves before it, as do all methods that complete a node.
    fn begin(&mut self, open: &mut Vec<OpenBracket>) -> Result<Option<usize>> {
        let (depth, first_leaf) = (open.len(), self.leaves.len());
        if self.lexer.eat("[") {
            return self.open(open, Bracket::Seq, Name::default(), None);
        }
        if self.lexer.eat("{") {
            return self.open(open, Bracket::Map, Name::default(), None);
        }
        if self.lexer.eat("(") {
            return match self.empty()? {
                Some(empty) => Ok(Some(empty)),
                None => self.open(open, Bracket::Tuple, Name::default(), None),
            };
        }
        if let Some(leaf) = (self.syntax.leaf)(self.lexer)? {
            if !matches!(leaf, TextLeaf::Star) {
                self.leaves.push(leaf);
            }
            if self.syntax.arrays {
                self.array(first_leaf, depth)?;
            } else {
                self.atom(NodeKind::Leaf, None)?;
            }
            return Ok(Some(first_leaf));
        }
        if self.syntax.opaque && self.lexer.peek_word() == "opaque" {
            self.lexer.word();
            let value = self.value(depth)?;
            self.leaves.push(TextLeaf::Literal(Leaf::Opaque(Arc::new(value))));
            self.atom(NodeKind::Leaf, None)?;
            return Ok(Some(first_leaf));
        }
        match self.lexer.peek_word() {
            "None" => {
                self.lexer.word();
                self.atom(NodeKind::None, None).map(Some)
            }
            "Some" => {
                self.lexer.word();
                self.lexer.expect("(", "`(`, as in `Some(*)`")?;
                self.open(open, Bracket::Some, Name::default(), None)
            }
            "static" if self.syntax.statics => {
                self.lexer.word();
                let value = self.value(depth)?;
                self.atom(NodeKind::Static, Some(NodeDataRef::of_static(&value))).map(Some)
            }
            "static" | "true" | "false" | "inf" | "nan" => self.lexer.fail(self.syntax.expected),
            _ => match self.lexer.peek() {
                Some('A'..='Z' | 'a'..='z' | '_' | '`') => self.named(open),
                _ => self.lexer.fail(self.syntax.expected),
            },
        }
    }

    fn open(
        &mut self,
        open: &mut Vec<OpenBracket>,
        bracket: Bracket,
        name: Name,
        variant: Option<Name>,
    ) -> Result<Option<usize>> {
        let node = OpenBracket {
            bracket,
            name,
            variant,
            fields: Vec::new(),
            keys: Vec::new(),
            first_leaf: self.leaves.len(),
            children: 0,
            listed: false,
        };
        // `Name(` may be a newtype or a tuple: `close` sets the kind.
        self.builder.open_new(node.kind(), None, 1);
        open.push(node);
        self.limits.expect_depth(self.depth_above + open.len())?;
        Ok(None)
    }

    /// The rest of `()` or `(,)`.
    fn empty(&mut self) -> Result<Option<usize>> {
        if self.lexer.eat(")") {
            return self.atom(NodeKind::Unit, None).map(Some);
        }
        if !self.lexer.eat(",") {
            return Ok(None);
        }
        self.lexer.expect(")", "`)`, for an empty tuple")?;
        self.builder.open_new(NodeKind::Tuple, None, 1);
        self.builder.close()?;
        Ok(Some(self.leaves.len()))
    }

    /// A node that begins with the name of its type.
    fn named(&mut self, open: &mut Vec<OpenBracket>) -> Result<Option<usize>> {
        let name = self.lexer.name()?;
        let variant = if self.lexer.eat("::") { Some(self.lexer.name()?) } else { None };
        if self.lexer.eat("(") {
            return self.open(open, Bracket::Parenthesis, name, variant);
        }
        if self.lexer.eat("{") {
            return self.open(open, Bracket::Braces, name, variant);
        }
        let kind = if variant.is_some() { NodeKind::UnitVariant } else { NodeKind::UnitStruct };
        let names = (&name, variant.as_ref().unwrap_or(NAMELESS));
        self.atom(kind, NodeDataRef::of(kind, names, &[], &[])).map(Some)
    }

    /// Reads the label before a child: a field name or a map key.
    fn label(&mut self, parent: &mut OpenBracket, depth: usize) -> Result<()> {
        match parent.bracket {
            Bracket::Braces => parent.fields.push(self.lexer.name()?),
            Bracket::Map => {
                let key = self.value(depth)?;
                parent.keys.push(key);
            }
            Bracket::Some | Bracket::Seq | Bracket::Tuple | Bracket::Parenthesis => return Ok(()),
        }
        self.lexer.expect(":", "`:`")
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        if self.nesting >= MAX_KEY_NESTING {
            return Err(Cause::Depth { limit: MAX_KEY_NESTING }.into());
        }
        let nesting = (self.nesting + 1, self.depth_above + depth);
        parse_value(self.lexer, self.limits, nesting, self.syntax.keeps_order)
    }

    /// Reads the dimensions after the kind of a leaf, if there are any, and adds the array.
    fn array(&mut self, first_leaf: usize, depth: usize) -> Result<()> {
        let dims = self.dims(depth)?;
        dims.iter().for_each(|(kind, _)| self.builder.open_new(*kind, None, 1));
        self.atom(NodeKind::Leaf, None)?;
        for (_, size) in dims.into_iter().rev() {
            self.repeat_last(first_leaf, size)?;
            self.builder.close()?;
        }
        Ok(())
    }

    /// The containers of an array and their sizes, from the outside in: `[3, 4](2)`, or `[]`.
    fn dims(&mut self, depth: usize) -> Result<Vec<(NodeKind, usize)>> {
        let mut dims = Vec::new();
        loop {
            let (kind, end) = match self.lexer.peek() {
                Some('[') => (NodeKind::Seq, "]"),
                Some('(') => (NodeKind::Tuple, ")"),
                _ => return Ok(dims),
            };
            self.lexer.eat(if kind == NodeKind::Seq { "[" } else { "(" });
            if dims.is_empty() && kind == NodeKind::Seq && self.lexer.eat("]") {
                return Ok(dims);
            }
            loop {
                if self.lexer.peek() == Some('0') {
                    return self.lexer.fail("a size above 0");
                }
                dims.push((kind, self.lexer.count()?));
                self.limits.expect_depth(self.depth_above + depth + dims.len())?;
                if !self.lexer.eat(",") {
                    break;
                }
            }
            self.lexer.expect(end, "`,` or the end of the shape, as in `f32[3, 4]`")?;
        }
    }

    /// A node without children and without leaves in memory.
    fn atom(&mut self, kind: NodeKind, data: Option<NodeDataRef<'_, Name>>) -> Result<usize> {
        self.builder.atom(kind, data, 1)?;
        Ok(self.leaves.len())
    }

    /// Reads `; count` if it is next, and adds the child to its parent.
    fn add(&mut self, parent: &mut OpenBracket, first_leaf: usize) -> Result<()> {
        let repeatable =
            matches!(parent.bracket, Bracket::Seq | Bracket::Tuple | Bracket::Parenthesis);
        let mut count = 1;
        if repeatable && self.lexer.eat(";") {
            if self.lexer.peek() == Some('0') {
                return self.lexer.fail("a count above 0");
            }
            if !(self.syntax.hides_lengths && self.lexer.eat("_")) {
                count = self.lexer.count()?;
                self.repeat_last(first_leaf, count)?;
            }
            parent.listed = true;
        }
        parent.children = parent.children.checked_add(count).ok_or(Cause::TooLarge)?;
        Ok(())
    }

    /// Repeats the last child and its leaves, so that they occur `count` times. Each copy of a leaf and of the
    /// insertion order of a map takes memory.
    fn repeat_last(&mut self, first_leaf: usize, count: usize) -> Result<()> {
        let end = self.leaves.len();
        let leaves = self.leaves.get(first_leaf..).or_bug();
        let mut work = self.builder.orders_of_last();
        for leaf in leaves {
            work = work.saturating_add(leaf.work());
        }
        self.lexer.spend(work.saturating_mul(count - 1))?;
        if first_leaf < end {
            self.leaves.reserve((end - first_leaf) * (count - 1)); // not more than the work
            (1..count).for_each(|_| self.leaves.extend_from_within(first_leaf..end));
        }
        self.builder.repeat_last(count)
    }

    /// Completes a node. Its closing delimiter was read.
    fn close(&mut self, mut node: OpenBracket) -> Result<usize> {
        let OpenBracket { first_leaf, .. } = node;
        if node.bracket == Bracket::Map {
            let leaves = self.leaves.get_mut(first_leaf..).or_bug();
            let first = (!leaves.is_empty()).then_some(0);
            let swaps = self.builder.sort_entries(&mut node.keys, first);
            swaps.into_iter().for_each(|swap| swap.apply(leaves));
            if !self.syntax.keeps_order {
                self.builder.forget_orders(); // the order in the text does not belong to a value
            }
        }
        let (kind, names) = (node.kind(), (&node.name, node.variant.as_ref().unwrap_or(NAMELESS)));
        self.builder.set_data(kind, NodeDataRef::of(kind, names, &node.fields, &node.keys));
        self.builder.close()?;
        Ok(first_leaf)
    }
}

impl OpenBracket {
    fn kind(&self) -> NodeKind {
        match (self.bracket, &self.variant) {
            (Bracket::Some, _) => NodeKind::Some,
            (Bracket::Seq, _) => NodeKind::Seq,
            (Bracket::Tuple, _) => NodeKind::Tuple,
            (Bracket::Map, _) => NodeKind::Map,
            (Bracket::Parenthesis, None) if self.has_one() => NodeKind::NewtypeStruct,
            (Bracket::Parenthesis, None) => NodeKind::TupleStruct,
            (Bracket::Parenthesis, Some(_)) if self.has_one() => NodeKind::NewtypeVariant,
            (Bracket::Parenthesis, Some(_)) => NodeKind::TupleVariant,
            (Bracket::Braces, None) => NodeKind::Struct,
            (Bracket::Braces, Some(_)) => NodeKind::StructVariant,
        }
    }

    /// Whether it has one child, without a comma or a count.
    fn has_one(&self) -> bool {
        self.children == 1 && !self.listed
    }

    /// Checks that the node may end here.
    fn check_children(&self, lexer: &mut Lexer<'_>) -> Result<()> {
        match self.bracket {
            Bracket::Some if self.children == 0 => lexer.fail("a node: `Some` holds one"),
            Bracket::Some if !self.has_one() => lexer.fail("one node in `Some`, without a comma"),
            Bracket::Tuple if self.has_one() => lexer.fail("`,`, as in a tuple of one: `(*,)`"),
            _ => Ok(()),
        }
    }
}

impl Bracket {
    fn end(self) -> &'static str {
        match self {
            Bracket::Some | Bracket::Tuple | Bracket::Parenthesis => ")",
            Bracket::Seq => "]",
            Bracket::Map | Bracket::Braces => "}",
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Bracket::Some => "`)`",
            Bracket::Tuple | Bracket::Parenthesis => "`,`, `;` or `)`",
            Bracket::Seq => "`,`, `;` or `]`",
            Bracket::Map | Bracket::Braces => "`,` or `}`",
        }
    }
}

pub(super) fn parse(
    lexer: &mut Lexer<'_>,
    syntax: Syntax,
    options: Options,
    limits: Limits,
    (nesting, depth_above): (usize, usize),
) -> Result<Tree<TextLeaf>> {
    let mut parser = Parser {
        lexer,
        builder: PartsBuilder::with_options(options, limits),
        leaves: Vec::new(),
        syntax,
        limits,
        nesting,
        depth_above,
    };
    parser.parse()?;
    Ok(Tree { treedef: parser.builder.finish_unchecked(), leaves: parser.leaves })
}

fn parse_tree(text: &str, limits: Limits, syntax: Syntax) -> Result<Tree<TextLeaf>> {
    parse_all(text, limits, |lexer| {
        let options = parse_options(lexer)?;
        parse(lexer, syntax, options, limits, (0, 0))
    })
}

pub(crate) fn parse_signature(text: &str, limits: Limits) -> Result<Tree<LeafKind>> {
    let Tree { treedef, leaves } = kinds(parse_tree(text, limits, Syntax::SIGNATURE)?);
    Ok(Tree { treedef: treedef.within_limits()?, leaves })
}

/// Parses a structure. `_` as the count of an element means one.
#[cfg(feature = "insta")]
pub(crate) fn parse_structure_without_lengths(text: &str) -> Result<TreeDef> {
    let syntax = Syntax { hides_lengths: true, ..Syntax::STRUCTURE };
    Ok(parse_tree(text, Limits::default(), syntax)?.treedef)
}

/// As [`parse_structure_without_lengths`], for a signature.
#[cfg(feature = "insta")]
pub(crate) fn parse_signature_without_lengths(text: &str) -> Result<Tree<LeafKind>> {
    let syntax = Syntax { hides_lengths: true, ..Syntax::SIGNATURE };
    Ok(kinds(parse_tree(text, Limits::default(), syntax)?))
}

pub(super) fn parse_value(
    lexer: &mut Lexer<'_>,
    limits: Limits,
    nesting: (usize, usize),
    keeps_order: bool,
) -> Result<Value> {
    let syntax = Syntax { keeps_order, ..Syntax::VALUE };
    let tree = parse(lexer, syntax, Options::default(), limits, nesting)?;
    // Its leaves were counted when they were repeated.
    lexer.spend(tree.treedef.root().work().saturating_sub(tree.leaves.len()))?;
    Ok(Value::from_tree(literals(tree)))
}

/// Parses a whole text with `parse`.
pub(super) fn parse_all<T>(
    text: &str,
    limits: Limits,
    parse: impl FnOnce(&mut Lexer<'_>) -> Result<T>,
) -> Result<T> {
    parse_part(text, &mut { limits.max_work }, parse)
}

/// Parses a path or a pattern, whose counts may expand to `work` nodes. The error has the spelling that was probably
/// meant.
pub(super) fn parse_keys<T>(
    text: &str,
    work: &mut usize,
    parse: impl Fn(&mut Lexer<'_>) -> Result<T>,
) -> Result<T> {
    let left = *work;
    parse_part(text, work, &parse).map_err(|error| {
        let meant = respelled(text)
            .into_iter()
            .find(|meant| *meant != text && parse_part(meant, &mut { left }, &parse).is_ok());
        match meant {
            Some(meant) => error.with_other_hint(format!("did you mean `{meant}`?")),
            None => error,
        }
    })
}

/// Keys as other tools write them: `['a'][0]` as JAX does, and with a bracket that is missing.
#[cold]
fn respelled(text: &str) -> Vec<String> {
    if text.len() > LONGEST_RESPELLED {
        return Vec::new();
    }
    let quoted = text.replace("['", "[\"").replace("']", "\"]");
    let closed = |text: &str, end: &str| {
        let mut closed = String::new();
        let mut is_open = false;
        for char in text.chars() {
            if is_open && matches!(char, '.' | '[') {
                closed += end;
                is_open = false;
            }
            is_open = char == '[' || is_open && char != ']';
            closed.push(char);
        }
        closed + if is_open { end } else { "" }
    };
    let all = [closed(&quoted, "]"), closed(&quoted, "\"]")];
    [quoted].into_iter().chain(all).collect()
}

/// Parses one of several texts, whose counts may expand to `work` more nodes in total.
pub(super) fn parse_part<T>(
    text: &str,
    work: &mut usize,
    parse: impl FnOnce(&mut Lexer<'_>) -> Result<T>,
) -> Result<T> {
    let mut lexer = Lexer::new(text, *work);
    let parsed = parse(&mut lexer).map_err(|error| error.at_byte(lexer.offset()))?;
    *work = lexer.left();
    if lexer.at_end() { Ok(parsed) } else { lexer.fail("the end") }
}

/// `#[insertion, none_is_leaf, compact]`
pub(super) fn parse_options(lexer: &mut Lexer<'_>) -> Result<Options> {
    let mut options = Options::default();
    if lexer.eat("#[") {
        loop {
            match lexer.peek_word() {
                "insertion" => options.insertion = true,
                "none_is_leaf" => options.none_is_leaf = true,
                "compact" => options.compact = true,
                _ => return lexer.fail("`insertion`, `none_is_leaf` or `compact`"),
            }
            lexer.word();
            if lexer.eat("]") {
                break;
            }
            lexer.expect(",", "`,` or `]`")?;
        }
    }
    Ok(options)
}

/// # Text
impl TreeDef {
    /// Parses a treedef within `limits`, which may be larger or smaller than [`Limits::default`].
    ///
    /// `max_depth` bounds the nesting of containers. `max_work` bounds the nodes that the counts
    /// `; n` in keys and statics expand to, where 16 bytes of text count as one.
    ///
    /// A name or key may occur twice, because a `Serialize` implementation may write it twice. Both
    /// children are kept, with equal paths. A [lookup](TreeDef::node) finds the first. When a value
    /// is rebuilt, its type decides: derived structs refuse the second, and the maps of `std` keep
    /// the last.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use treedef::{TreeDef, unflatten};
    ///
    /// let twice: TreeDef = r#"{"a": *, "b": *, "a": *}"#.parse()?;
    /// assert_eq!(twice.to_string(), r#"{"a": *, "a": *, "b": *}"#);
    /// assert_eq!((twice.num_leaves(), twice.node(r#"["a"]"#)?.leaf_range()), (3, 0..1));
    /// let map: BTreeMap<String, i32> = unflatten(&twice, [1, 2, 3])?;
    /// assert_eq!(map, [("a".to_owned(), 2), ("b".to_owned(), 3)].into());
    ///
    /// #[derive(Debug, serde::Deserialize)]
    /// struct Named { a: i32, b: i32 }
    /// let error = unflatten::<Named>(&twice, [1, 2, 3]).unwrap_err();
    /// assert_eq!(error.to_string(), "duplicate field `a` at the root");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a treedef, with the position and the expected token,
    /// or when it exceeds a limit.
    ///
    /// ```
    /// use treedef::{Limits, TreeDef};
    ///
    /// let limits = Limits { max_depth: 2, ..Limits::default() };
    /// let error = TreeDef::parse_with("[[[*]]]", limits).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "nested deeper than 2 levels at byte 3 (see `Limits::max_depth`)"
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn parse_with(text: &str, limits: Limits) -> Result<Self> {
        // The error of a structure that is too large has the position, too.
        parse_all(text, limits, |lexer| {
            let options = parse_options(lexer)?;
            parse(lexer, Syntax::STRUCTURE, options, limits, (0, 0))?.treedef.within_limits()
        })
    }
}

impl FromStr for LeafKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        LeafKind::named(text).ok_or_else(|| Error::unknown_text("the kind of a leaf", text))
    }
}

impl FromStr for TreeDef {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        TreeDef::parse_with(text, Limits::default())
    }
}

impl FromStr for Value {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse_all(text, Limits::default(), |lexer| {
            parse_value(lexer, Limits::default(), (0, 0), false)
        })
    }
}
