//! The losses of a document that was written in another format.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::Hasher;
use std::io;

use serde::Serialize;
use treedef::__private::{entries, entry, key_form};
use treedef::{Key, Leaf, NodeKind, NodeRef, Tree, Value};

use crate::color::counted;
use crate::formats::keys::Pairs;
use crate::numbers::exact;
use crate::paths::shown;

/// A loss, with the number of its occurrences and the first place if these are known.
#[derive(Serialize)]
pub(crate) struct Loss {
    what: String,
    /// The new value, if a value changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    became: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<String>,
}

impl Loss {
    pub(crate) fn of(what: impl Into<String>) -> Self {
        Loss { what: what.into(), became: None, count: None, first: None }
    }

    /// The line that says so.
    pub(crate) fn line(&self, format: &str) -> String {
        let verb = if self.became.is_some() { "changed" } else { "not kept" };
        format!("{verb} in {format}: {self}")
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(new) = &self.became {
            write!(f, " became {new}")?;
        }
        let (Some(count), Some(first)) = (self.count, &self.first) else { return Ok(()) };
        let first = if first.is_empty() { "the root" } else { first };
        write!(f, ", {}, first at {first}", counted(count, "time", "times"))
    }
}

/// A part that changed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum LossKind {
    /// The kind of a Rust value; its content is kept: `struct Complex`, `a map`.
    Form(String, String),
    /// A value, and its new value.
    Value(String, String),
}

/// Compares a tree with the result of reading the output, so that no loss stays silent. The type of
/// a number counts only if the document is `typed`. `types` are lost already.
pub(crate) fn losses(
    before: &Tree<Leaf>,
    after: &Tree<Leaf>,
    typed: bool,
    types: BTreeSet<String>,
) -> Vec<Loss> {
    let (old, new) = (before.leaves(), after.leaves());
    let mut sides = LossCollector {
        before: old,
        after: new,
        typed,
        types,
        is_alike: true,
        lost: BTreeMap::new(),
    };
    sides.compare(before.treedef().root(), after.treedef().root(), &mut treedef::Path::root());
    let LossCollector { types, lost, is_alike, .. } = sides;
    let mut all = Vec::new();
    if !types.is_empty() {
        let types: Vec<String> = types.into_iter().collect();
        all.push(Loss::of(format!("the types of values: {}", types.join(", "))));
    }
    if !typed && is_alike && order_of(before) != order_of(after) {
        all.push(Loss::of("the order of keys"));
    }
    all.extend(lost.into_iter().map(|(lost, (count, first))| {
        let (what, became) = match lost {
            LossKind::Form(old, new) => (format!("{old}, which is {new} there"), None),
            LossKind::Value(old, new) => (old, Some(new)),
        };
        Loss { what, became, count: Some(count), first: Some(first) }
    }));
    all
}

/// A hash of the keys in insertion order. `None` if the tree has keys that JSON does not have.
fn order_of(tree: &Tree<Leaf>) -> Option<u64> {
    struct Hashed(DefaultHasher);

    impl io::Write for Hashed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let keys = Tree::new(tree.treedef().clone(), vec![(); tree.leaves().len()]).ok()?;
    let mut hashed = Hashed(DefaultHasher::new());
    serde_json::to_writer(io::BufWriter::new(&mut hashed), &keys).ok()?;
    Some(hashed.0.finish())
}

struct LossCollector<'a> {
    before: &'a [Leaf],
    after: &'a [Leaf],
    typed: bool,
    types: BTreeSet<String>,
    /// Whether all nodes and keys have a counterpart, so that their orders are compared.
    is_alike: bool,
    lost: BTreeMap<LossKind, (u64, String)>,
}

/// The kind of a node, for a message.
fn described(node: NodeRef<'_>, leaf: Option<&Leaf>) -> String {
    match (node.kind(), leaf) {
        (NodeKind::Leaf, Some(leaf)) => exact::kind(leaf).to_string(),
        (NodeKind::None | NodeKind::Unit, _) => "null".to_owned(),
        (NodeKind::Seq, _) => "a sequence".to_owned(),
        (NodeKind::Map, _) => "a map".to_owned(),
        (kind, _) => match (node.name(), node.variant()) {
            (Some(name), Some(variant)) => format!("the {kind} {name}::{variant}"),
            (Some(name), None) => format!("the {kind} {name}"),
            _ => format!("a {kind}"),
        },
    }
}

/// Whether both are the same number or text, as far as the first type can represent it.
fn is_same(old: &Leaf, new: &Leaf) -> bool {
    #[allow(clippy::cast_possible_truncation, reason = "that is the question")]
    let is_near = |old: f32| new.as_f64().is_some_and(|new| new as f32 == old);
    let is_nan = |leaf: &Leaf| leaf.as_f64().is_some_and(f64::is_nan);
    match old {
        // The formats keep different bits of it.
        _ if is_nan(old) => is_nan(new),
        Leaf::Char(char) => new.as_str().is_some_and(|new| new.chars().eq([*char])),
        Leaf::F32(number) => is_near(*number) || old.as_f64() == new.as_f64(),
        _ => {
            old.as_i128().is_some() && old.as_i128() == new.as_i128()
                || old.as_f64().is_some() && old.as_f64() == new.as_f64()
                || old.as_str().is_some() && old.as_str() == new.as_str()
                || exact::is_same(old, new)
        }
    }
}

impl LossCollector<'_> {
    fn lost(&mut self, lost: LossKind, path: &treedef::Path) {
        self.lost.entry(lost).or_insert_with(|| (0, shown(path))).0 += 1;
    }

    fn leaves(&mut self, old: &Leaf, new: &Leaf, path: &treedef::Path) {
        if old == new {
            return;
        }
        let (kind, other) = (exact::kind(old), exact::kind(new));
        match (is_same(old, new), kind == other) {
            (true, _) if !self.typed => {}
            (true, true) if exact::text_of(old).is_some() => {}
            (true, _) => drop(self.types.insert(kind.to_string())),
            (false, _) if exact::text_of(old).is_some() => {
                let became = format!("{other} of another value");
                self.lost(LossKind::Value("number of more digits".to_owned(), became), path);
            }
            (false, true) => {
                self.lost(LossKind::Value(kind.to_string(), "another value".to_owned()), path);
            }
            // All digits of a float decide whether it equals the integer.
            (false, false)
                if old.as_i128().is_some_and(|old| {
                    new.as_f64().is_some_and(|new| format!("{new:.0}") == old.to_string())
                }) =>
            {
                self.lost(LossKind::Value(kind.to_string(), other.to_string()), path);
            }
            (false, false) => {
                self.lost(
                    LossKind::Value(kind.to_string(), format!("{other} of another value")),
                    path,
                );
            }
        }
    }

    /// The recursion is as deep as the limits of the trees allow.
    fn compare(&mut self, before: NodeRef<'_>, after: NodeRef<'_>, path: &mut treedef::Path) {
        use NodeKind as Is;
        let (old, new) =
            (self.before.get(before.leaf_range().start), self.after.get(after.leaf_range().start));
        match (before.kind(), after.kind()) {
            (Is::Leaf, Is::Leaf) => {
                if let (Some(old), Some(new)) = (old, new) {
                    self.leaves(old, new, path);
                }
            }
            (Is::None | Is::Unit, Is::None | Is::Unit) => {}
            (Is::Some | Is::NewtypeStruct, kind) if kind != before.kind() => {
                match before.name() {
                    Some(half @ ("f16" | "bf16")) => drop(self.types.insert(half.to_owned())),
                    Some(_) => {
                        let form = LossKind::Form(described(before, old), "its content".to_owned());
                        self.lost(form, path);
                    }
                    None => {}
                }
                let Some(child) = before.child(0) else { return };
                self.compare(child, after, path);
            }
            _ => {
                self.compound(before, after, path, (described(before, old), described(after, new)))
            }
        }
    }

    fn compound(
        &mut self,
        before: NodeRef<'_>,
        after: NodeRef<'_>,
        path: &mut treedef::Path,
        (old, new): (String, String),
    ) {
        use NodeKind as Is;
        let children = before.num_children();
        let is_list =
            |node: NodeRef<'_>| matches!(node.kind(), Is::Seq | Is::Tuple | Is::TupleStruct);
        let is_named = |node: NodeRef<'_>| matches!(node.kind(), Is::Map | Is::Struct);
        if old != new {
            let is_form = !before.is_leaf() && !after.is_leaf();
            self.lost(
                if is_form { LossKind::Form(old, new) } else { LossKind::Value(old, new) },
                path,
            );
        }
        let alike = before.kind() == after.kind()
            || is_list(before) && is_list(after)
            || is_named(before) && is_named(after);
        if !alike || children != after.num_children() {
            self.is_alike = false;
            if alike {
                let many = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
                let [one, more] =
                    if is_named(before) { ["entry", "entries"] } else { ["element", "elements"] };
                let old = counted(many(children), one, more);
                self.lost(LossKind::Value(old, after.num_children().to_string()), path);
            }
            return;
        }
        let positions = if is_named(after) {
            Pairs::of(before, after, true).of_first
        } else {
            (0..children).map(Some).collect()
        };
        for ((key, child), other) in entries(before).zip(positions) {
            let other = other.map(|at| entry(after, at));
            let became = other.as_ref().map_or(Some("another key"), |(new, _)| self.key(&key, new));
            path.push(key);
            if let Some(new) = became {
                self.is_alike &= new != "another key";
                self.lost(LossKind::Value("a key".to_owned(), new.to_owned()), path);
            }
            if let Some((_, other)) = other {
                self.compare(child, other, path);
            }
            path.pop();
        }
    }

    /// The new form of a key that is paired with another, if it differs.
    fn key(&mut self, old: &Key, new: &Key) -> Option<&'static str> {
        let (Key::Entry(old), Key::Entry(new)) = (old, new) else { return None };
        let is_text = |key: &Value| key_form(key).as_str().is_some();
        let [a, b] = [old, new].map(|key| exact::kind(&Leaf::from(key.clone())));
        match (is_text(old), is_text(new)) {
            (false, true) => Some("a text"),
            (true, false) => Some("another key"),
            _ => {
                self.types.extend((self.typed && a != b).then(|| a.to_string()));
                None
            }
        }
    }
}
