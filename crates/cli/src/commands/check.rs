//! `check`: a gate for documents.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use treedef::__private::{OrBug, entries, entry};
#[cfg(feature = "schema")]
use treedef::Leaf;
use treedef::{LeafKind, NodeKind, NodeRef, Tree};
use treedef_tensors::__display_shape;

use crate::args::{Check, Folds, Limits};
use crate::color::{counted, grouped};
use crate::comparing::notation::{self, ExpectedKind, FoldedChildren, NumberClass};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::formats::keys::{Pairs, path_in};
use crate::paths::{readable, shown};
use crate::reading::documents::DocumentPlace;
use crate::reading::input::{self, Input};
use crate::reading::parse::{Document, is_saved, read_within};
#[cfg(feature = "schema")]
use crate::schema::validation::Schema;
use crate::tensors::checkpoint::Checkpoint;
use crate::tensors::names::with_ties;
use crate::tensors::trees::kinds;
#[cfg(feature = "schema")]
use crate::tensors::trees::{HalfFormat, numbers};

use super::print::{print, print_json};
use super::scope::Scope;

/// The expected structure or schema.
enum Expected {
    /// A structure. `true` if it is the sequence of several documents: then the checked file is not
    /// split into documents.
    Structure(Box<Tree<ExpectedKind>>, bool, Side),
    #[cfg(feature = "schema")]
    Schema(Box<Schema>),
}

/// The format of a file, and its tied tensors, which other formats have once for each name.
struct Side {
    format: Format,
    ties: BTreeMap<String, String>,
}

impl Side {
    fn of(input: &Input) -> Self {
        let checkpoint = input.checkpoint.as_ref().filter(|_| input.format == Format::Safetensors);
        let ties = checkpoint.map(Checkpoint::aliases).unwrap_or_default();
        Side { format: input.format, ties }
    }
}

impl Expected {
    fn of(args: &Check) -> Result<Self> {
        #[cfg(feature = "schema")]
        if let Some(schema) = &args.schema {
            return Ok(Expected::Schema(Box::new(Schema::read(
                schema,
                &args.schema_dir,
                args.reading.strict,
            )?)));
        }
        let like = args.like.as_deref().unwrap_or(Path::new("-"));
        let input = input::open_like(like, args.reading, notation::is_printed)?;
        let (name, side) = (input.name.clone(), Side::of(&input));
        if side.format == Format::Treedef {
            let (tree, is_many) = input.with_bytes(|bytes, format, limits| {
                match std::str::from_utf8(bytes).ok().filter(|_| !is_saved(bytes)) {
                    Some(text) => Ok((notation::read(text, limits)?, notation::is_of_many(text))),
                    None => Ok((forms(read_within(bytes, format, limits)?, limits)?, false)),
                }
            })?;
            return Ok(Expected::Structure(Box::new(tree), is_many, side));
        }
        let (document, is_many) = input.document_of_many()?;
        let expected = forms(document, args.reading.limits).map_err(|it| it.in_file(&name))?;
        Ok(Expected::Structure(Box::new(expected), is_many, side))
    }

    fn is_many(&self) -> bool {
        matches!(self, Expected::Structure(_, true, _))
    }

    /// The violations of a document. If there are more than `most`, one more is returned.
    #[cfg_attr(not(feature = "schema"), allow(unused_variables, reason = "only a schema warns"))]
    fn violations(
        &self,
        document: Document,
        (args, name, scope): (&Check, &str, &Scope),
        side: &Side,
        most: usize,
    ) -> Result<Vec<Violation>> {
        match (self, document) {
            (Expected::Structure(expected, _, like), document) => {
                forms(document, args.reading.limits).and_then(|found| {
                    let sides = [(&**expected, like), (&found, side)];
                    violations_of_structure(sides, (args, scope), most)
                })
            }
            #[cfg(feature = "schema")]
            (Expected::Schema(schema), Document::Tree(tree)) => {
                violations_of_schema(schema, tree, (args, name, scope), most)
            }
            #[cfg(feature = "schema")]
            _ => Err(Failure::new("it has no values")),
        }
    }
}

#[cfg(feature = "schema")]
fn violations_of_schema(
    schema: &Schema,
    tree: Tree<Leaf>,
    (args, name, scope): (&Check, &str, &Scope),
    most: usize,
) -> Result<Vec<Violation>> {
    args.reading.limits.expect_visits(tree.treedef(), tree.leaves().len())?;
    let tree = scope.of_one(tree)?;
    scope.remember(&[tree.treedef()]);
    let tree = numbers(tree, HalfFormat::Double)?;
    schema.tell_rounding(&tree, name, args.reading.strict)?;
    let all = schema.violations(&tree, most.saturating_add(1))?;
    let all = all.into_iter().filter(|(path, _)| scope.has(path));
    Ok(all.map(|(path, message)| Violation { path, message }).collect())
}

pub(super) fn check(args: &Check) -> Result<bool> {
    let Check { files, reading, max, .. } = args;
    let (expected, scope) = (Expected::of(args)?, Scope::of(&args.part)?);
    let most = if *max == 0 { usize::MAX } else { *max };
    let (mut all, mut is_stopped) = (Vec::new(), false);
    for file in files {
        let input = input::open(file, *reading, Format::Json)?;
        let (name, side) = (input.name.clone(), Side::of(&input));
        let mut found = Vec::new();
        let violations = |place: DocumentPlace, document: Document, reported: usize| {
            let most = most.saturating_sub(reported);
            let found = expected.violations(document, (args, &name, &scope), &side, most);
            found.map_err(|failure| failure.in_file(&place.in_file(&name)))
        };
        let may_be_many = matches!(input.format, Format::Jsonl | Format::Yaml);
        // The header of a file of tensors has no values for a schema.
        let has_values = matches!(expected, Expected::Structure(..));
        if may_be_many && !expected.is_many() {
            let mut documents = input.documents()?;
            while found.len() <= most
                && let Some((place, tree)) = documents.next()?
            {
                let new = violations(place, Document::Tree(tree), found.len())?;
                found.extend(new.into_iter().map(|violation| (place, violation)));
            }
            documents.warn();
        } else {
            if input.format == Format::Treedef {
                return Err(Failure::at(name, "it has no values, pass it as `--like`"));
            }
            let document = if has_values { input.document()? } else { input.values()? };
            let new = violations(DocumentPlace::Whole, document, 0)?;
            found.extend(new.into_iter().map(|violation| (DocumentPlace::Whole, violation)));
        }
        is_stopped |= found.len() > most;
        let found = found.into_iter().take(most);
        all.extend(found.map(|(place, violation)| (name.clone(), place, violation)));
    }
    let is_ok = print_violations(all, is_stopped.then_some(most), args)?;
    if !is_stopped {
        scope.expect_matched()?;
    }
    Ok(is_ok)
}

/// Prints the violations. `stopped` is the number after which the search ended.
fn print_violations(
    all: Vec<(String, DocumentPlace, Violation)>,
    stopped: Option<usize>,
    args: &Check,
) -> Result<bool> {
    let ok = all.is_empty();
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let count = counted(number(all.len()), "violation", "violations");
    let count = match stopped {
        None => count,
        Some(most) => {
            let of_each = if args.files.len() == 1 { "" } else { " of a file" };
            let most = grouped(number(most));
            format!("at least {count}, stopped after {most}{of_each} (`--max`)")
        }
    };
    if args.json.json {
        let object =
            |(file, place, Violation { path, message }): (String, DocumentPlace, Violation)| {
                let mut object = place.to_json(&file);
                object.insert("path".to_owned(), shown(&path).into());
                object.insert("message".to_owned(), message.into());
                object
            };
        print_json(&all.into_iter().map(object).collect::<Vec<_>>())?;
        if stopped.is_some() {
            message!("treedef: {count}");
        }
        return Ok(ok);
    }
    let red = anstyle::AnsiColor::Red.on_default();
    let line = |(file, place, Violation { path, message }): &(String, DocumentPlace, Violation)| {
        let place = place.in_file(file);
        format!("{}: {red}{}{red:#}: {message}\n", place.escape_debug(), readable(path))
    };
    print(&all.iter().map(line).collect::<String>())?;
    if !ok {
        message!("treedef: {count}");
    }
    Ok(ok)
}

/// The leaves of a document.
fn forms(document: Document, limits: Limits) -> Result<Tree<ExpectedKind>> {
    document.expect_visits(limits)?;
    Ok(match document {
        Document::Tree(tree) => kinds(tree)?.map(ExpectedKind::Kind),
        Document::Signature(tree) => tree.map(ExpectedKind::Kind),
        Document::Structure(treedef) => {
            let any = vec![ExpectedKind::Any; treedef.num_leaves()];
            Tree::new(treedef, any)?
        }
        Document::Tensors(tree) => tree.map(|leaf| match &leaf.value {
            Some(value) => ExpectedKind::Kind(value.kind()),
            None => ExpectedKind::Tensor(leaf),
        }),
    })
}

/// The hint if only a length differs.
const ANY_LENGTH: &str = " (`--fold-lengths` allows any number)";

struct Violation {
    path: treedef::Path,
    message: String,
}

struct Checker<'a> {
    expected: &'a [ExpectedKind],
    found: &'a [ExpectedKind],
    folds: Folds,
    /// Whether one of the formats has only texts as keys.
    are_texts: bool,
    scope: &'a Scope,
    /// The maximum number of violations that are printed. One more is searched, to know whether
    /// there are more.
    most: usize,
    violations: Vec<Violation>,
}

fn is_list(node: NodeRef<'_>) -> bool {
    matches!(node.kind(), NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct)
}

/// The name of the half floats in a node: bits in a struct of their own.
fn half_of<'n>(mut node: NodeRef<'n>) -> Option<&'n str> {
    while is_list(node) {
        node = node.child(0)?;
    }
    let is_half = |name: &&str| matches!(*name, "f16" | "bf16");
    node.name().filter(|_| node.kind() == NodeKind::NewtypeStruct).filter(is_half)
}

fn is_named(node: NodeRef<'_>) -> bool {
    matches!(node.kind(), NodeKind::Map | NodeKind::Struct)
}

fn is_nothing(node: NodeRef<'_>) -> bool {
    matches!(node.kind(), NodeKind::None | NodeKind::Unit | NodeKind::UnitStruct)
}

/// The violations of a document. There is one more than `most` if there are more.
fn violations_of_structure(
    [(expected, like), (found, side)]: [(&Tree<ExpectedKind>, &Side); 2],
    (args, scope): (&Check, &Scope),
    most: usize,
) -> Result<Vec<Violation>> {
    let are_texts = like.format.has_text_keys() || side.format.has_text_keys();
    let mut sides = [Cow::Borrowed(expected), Cow::Borrowed(found)];
    // Files of PyTorch have a tree of their own. In two files of one format, a tie is metadata.
    if like.format != side.format && ![like.format, side.format].contains(&Format::Pytorch) {
        let tied = [
            with_ties(expected, &like.ties, found.treedef())?,
            with_ties(found, &side.ties, expected.treedef())?,
        ];
        for (side, tied) in sides.iter_mut().zip(tied) {
            *side = tied.map_or_else(|| side.clone(), Cow::Owned);
        }
    }
    let [expected, found] = scope.of_both(sides, |tree, at| {
        let spelled = path_in(tree.treedef(), at, are_texts);
        tree.subtree(spelled.as_ref().unwrap_or(at)).map(Cow::Owned)
    })?;
    scope.remember(&[expected.treedef(), found.treedef()]);
    let mut checker = Checker {
        expected: expected.leaves(),
        found: found.leaves(),
        folds: args.folds,
        are_texts,
        scope,
        most,
        violations: Vec::new(),
    };
    let (root, found) = (expected.treedef().root(), found.treedef().root());
    checker.node(root, found, &mut treedef::Path::root());
    Ok(checker.violations)
}

impl<'a> Checker<'a> {
    fn is_stopped(&self) -> bool {
        self.violations.len() > self.most
    }

    /// Adds a violation of a node, unless the node is excluded from the comparison.
    fn violation(&mut self, path: &treedef::Path, node: NodeRef<'_>, message: String) {
        if !self.is_stopped() && self.scope.has_some(path, node) {
            self.violations.push(Violation { path: path.clone(), message });
        }
    }

    fn description(&self, node: NodeRef<'_>, form: Option<&ExpectedKind>) -> String {
        match (node.kind(), form) {
            (NodeKind::Leaf, Some(form)) => form.to_string(),
            _ if is_list(node) => {
                format!("a sequence of {}", node.num_children())
            }
            _ if is_named(node) => "a map".to_owned(),
            _ if is_nothing(node) => "null".to_owned(),
            (kind, _) => kind.to_string(),
        }
    }

    /// Whether a leaf is as expected, as far as kinds are distinguished.
    fn is_form(&self, expected: &ExpectedKind, found: &ExpectedKind) -> bool {
        let Folds { fold_widths, fold_numbers, .. } = self.folds;
        match (expected, found) {
            (ExpectedKind::Any, _) => true,
            (ExpectedKind::Numbers(numbers), ExpectedKind::Kind(found)) => match numbers {
                NumberClass::Integers => found.is_integer(),
                NumberClass::Floats => found.is_float() || fold_numbers && found.is_number(),
                NumberClass::All => found.is_number(),
            },
            (ExpectedKind::Kind(expected), ExpectedKind::Kind(found)) => {
                expected == found
                    || fold_numbers && expected.is_number() && found.is_number()
                    || fold_widths && expected.is_integer() && found.is_integer()
                    || fold_widths && expected.is_float() && found.is_float()
            }
            (ExpectedKind::Tensor(expected), ExpectedKind::Tensor(found)) => {
                expected.to_string() == found.to_string()
            }
            (ExpectedKind::Kind(kind), ExpectedKind::Tensor(tensor))
            | (ExpectedKind::Tensor(tensor), ExpectedKind::Kind(kind)) => {
                format!("{kind}[]") == tensor.to_string()
            }
            _ => false,
        }
    }

    /// Whether nested sequences of numbers match this tensor.
    fn is_tensor(&self, expected: NodeRef<'_>, found: &ExpectedKind) -> bool {
        let ExpectedKind::Tensor(tensor) = found else { return false };
        if expected.num_children() == 0 {
            return tensor.shape.first() == Some(&0);
        }
        let kind = self.expected.get(expected.leaf_range().start);
        let treedef = expected.to_treedef();
        let block = treedef.blocks().next().filter(|block| block.path.is_root());
        let (Some(ExpectedKind::Kind(kind)), Some(block)) = (kind, block) else { return false };
        let text = match half_of(expected) {
            Some(half) => __display_shape(half, &block.shape),
            None => __display_shape(kind, &block.shape),
        };
        text == tensor.to_string()
    }

    /// Whether nested sequences match this tensor.
    fn is_array(&self, expected: &ExpectedKind, found: NodeRef<'_>) -> bool {
        let ExpectedKind::Tensor(tensor) = expected else { return false };
        // The other dimensions of an empty array are not known.
        if found.num_children() == 0 {
            return self.folds.fold_lengths || tensor.shape.first() == Some(&0);
        }
        let kind = match half_of(found) {
            Some(half) => (half == tensor.dtype).then_some(LeafKind::U16),
            None => tensor.dtype.parse().ok(),
        };
        let treedef = found.to_treedef();
        let Some((block, kind)) = treedef.blocks().next().zip(kind) else { return false };
        let sizes = block.shape.iter().map(|size| u64::try_from(*size).unwrap_or(u64::MAX));
        let is_shape = if self.folds.fold_lengths {
            sizes.len() == tensor.shape.len()
        } else {
            sizes.eq(tensor.shape.iter().copied())
        };
        let leaves = self.found.get(found.leaf_range()).or_bug();
        let kind = ExpectedKind::Kind(kind);
        is_shape && block.path.is_root() && leaves.iter().all(|leaf| self.is_form(&kind, leaf))
    }

    /// Compares two nodes. The recursion is as deep as the limits of the trees allow.
    fn node(&mut self, expected: NodeRef<'a>, found: NodeRef<'_>, path: &mut treedef::Path) {
        use NodeKind as Is;
        if self.is_stopped() {
            return;
        }
        let wanted = self.expected.get(expected.leaf_range().start);
        match wanted.filter(|_| expected.is_leaf()) {
            Some(ExpectedKind::List(folded)) if is_list(found) => {
                return self.folded(folded, found, path);
            }
            Some(ExpectedKind::Map(folded)) if is_named(found) => {
                return self.folded(folded, found, path);
            }
            _ => {}
        }
        let form = self.found.get(found.leaf_range().start);
        let fits = match (expected.kind(), found.kind()) {
            (Is::Leaf, Is::Leaf) => wanted.zip(form).is_some_and(|(a, b)| self.is_form(a, b)),
            (Is::Seq, Is::Leaf) => form.is_some_and(|form| self.is_tensor(expected, form)),
            (Is::Leaf, _) if is_list(found) || half_of(found).is_some() => {
                wanted.is_some_and(|it| self.is_array(it, found))
            }
            (Is::NewtypeStruct, Is::Leaf) if half_of(expected).is_some() => {
                form.is_some_and(|form| self.is_tensor(expected, form))
            }
            (Is::Some, Is::None | Is::Unit) | (Is::Static, Is::Static | Is::Leaf) => true,
            (Is::Some | Is::NewtypeStruct, other) => {
                let inner = if other == expected.kind() { found.child(0) } else { Some(found) };
                let (Some(child), Some(inner)) = (expected.child(0), inner) else { return };
                return self.node(child, inner, path);
            }
            _ if is_nothing(expected) => is_nothing(found),
            _ if is_list(expected) && is_list(found) => return self.list(expected, found, path),
            _ if is_named(expected) && is_named(found) => return self.named(expected, found, path),
            (a, b) if a == b && a.is_variant() && expected.variant() == found.variant() => {
                return self.pairs(expected, found, path);
            }
            _ => false,
        };
        if !fits {
            let (wanted, form) =
                (self.description(expected, wanted), self.description(found, form));
            self.violation(path, found, format!("expected {wanted}, found {form}"));
        }
    }

    fn pairs(&mut self, expected: NodeRef<'a>, found: NodeRef<'_>, path: &mut treedef::Path) {
        let (wanted, there) = (expected.num_children(), found.num_children());
        if wanted != there {
            let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
            let wanted = counted(wanted, "element", "elements");
            let hint = if expected.kind() == NodeKind::Seq { ANY_LENGTH } else { "" };
            self.violation(path, found, format!("expected {wanted}, found {there}{hint}"));
        }
        for (at, (expected, element)) in expected.children().zip(found.children()).enumerate() {
            let Some(key) = found.key(at) else { continue };
            path.push(key);
            self.node(expected, element, path);
            path.pop();
        }
    }

    fn list(&mut self, expected: NodeRef<'a>, found: NodeRef<'_>, path: &mut treedef::Path) {
        if !self.folds.fold_lengths || expected.kind() != NodeKind::Seq {
            return self.pairs(expected, found, path);
        }
        let mut known = HashSet::new();
        let forms = expected
            .children()
            .filter(|form| known.insert((form.to_treedef(), self.expected.get(form.leaf_range()))))
            .map(|form| (form, self.expected))
            .collect::<Vec<_>>();
        self.each(&forms, found, path);
    }

    /// Compares the children of a sequence or a map with a folded form.
    fn folded(&mut self, folded: &'a FoldedChildren, found: NodeRef<'_>, path: &mut treedef::Path) {
        let there = found.num_children();
        let fits = folded.lengths.is_none_or(|(least, most)| (least..=most).contains(&there));
        if !fits && !self.folds.fold_lengths {
            let length = folded.length();
            self.violation(path, found, format!("expected {length}, found {there}{ANY_LENGTH}"));
        }
        let forms = folded.forms.iter().map(|form| (form.treedef().root(), form.leaves()));
        self.each(&forms.collect::<Vec<_>>(), found, path);
    }

    /// Compares each child with the form that fits best. A form has its own leaves.
    fn each(
        &mut self,
        forms: &[(NodeRef<'a>, &'a [ExpectedKind])],
        found: NodeRef<'_>,
        path: &mut treedef::Path,
    ) {
        let leaves = self.expected;
        for (key, element) in entries(found) {
            path.push(key);
            let before = self.violations.len();
            let mut best: Option<Vec<Violation>> = None;
            for (form, of_form) in forms {
                self.expected = of_form;
                self.node(*form, element, path);
                let violations = self.violations.split_off(before);
                if best.as_ref().is_none_or(|best| violations.len() < best.len()) {
                    best = Some(violations);
                }
                if best.as_ref().is_some_and(Vec::is_empty) {
                    break;
                }
            }
            self.violations.extend(best.unwrap_or_default());
            path.pop();
        }
        self.expected = leaves;
    }

    fn named(&mut self, named: NodeRef<'a>, found: NodeRef<'_>, path: &mut treedef::Path) {
        let Pairs { of_first, only_second } = Pairs::of(named, found, self.are_texts);
        for ((key, expected), pair) in entries(named).zip(of_first) {
            match pair.map(|at| entry(found, at)) {
                Some((key, found)) => {
                    path.push(key);
                    self.node(expected, found, path);
                    path.pop();
                }
                None if expected.kind() == NodeKind::Some => {}
                None => {
                    self.violation(&path.child(key), expected, "missing".to_owned());
                }
            }
        }
        for at in only_second {
            let (key, inner) = entry(found, at);
            self.violation(&path.child(key), inner, "not expected here".to_owned());
        }
    }
}
