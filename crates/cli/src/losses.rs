//! What a document lost when it was converted.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use treedef::{Leaf, NodeKind, NodeRef, Tree};

use crate::paint::counted;
use crate::paths::{shown, text_of};

/// What became what, and where first.
type Losses = BTreeMap<(String, String), (u64, String)>;

/// What was lost, as a text; where it is known, what it was, what it became, and how often.
#[derive(Serialize)]
pub(crate) struct Loss {
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    became: Option<Became>,
}

#[derive(Serialize)]
struct Became {
    new: String,
    count: u64,
    first: String,
}

impl Loss {
    pub(crate) fn of(what: String) -> Self {
        Loss { what, became: None }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loss { what, became } = self;
        let Some(Became { new, count, first }) = became else { return f.write_str(what) };
        let first = if first.is_empty() { "the root" } else { first };
        write!(f, "{what} became {new}, {}, first at {first}", counted(*count, "time", "times"))
    }
}

/// Compares a tree with what comes back from the output, so that no loss stays silent. The kind of
/// a number is one only if `widths` matter: where the document is typed.
pub(crate) fn losses(before: &Tree<Leaf>, after: &Tree<Leaf>, widths: bool) -> Vec<Loss> {
    let mut losses = Losses::new();
    let (old, new) = (before.leaves(), after.leaves());
    let mut sides = Sides { before: old, after: new, widths, losses: &mut losses };
    sides.compare(before.treedef().root(), after.treedef().root(), &mut treedef::Path::root());
    let loss =
        |((what, new), (count, first))| Loss { what, became: Some(Became { new, count, first }) };
    losses.into_iter().map(loss).collect()
}

struct Sides<'a> {
    before: &'a [Leaf],
    after: &'a [Leaf],
    widths: bool,
    losses: &'a mut Losses,
}

/// What a node is, for a message.
fn described(node: NodeRef<'_>, leaf: Option<&Leaf>) -> String {
    match (node.kind(), leaf) {
        (NodeKind::Leaf, Some(leaf)) => leaf.kind().to_string(),
        (NodeKind::None | NodeKind::Unit, _) => "an absent value".to_owned(),
        (NodeKind::Seq, _) => "a sequence".to_owned(),
        (NodeKind::Map, _) => "a map".to_owned(),
        (kind, _) => match (node.name(), node.variant()) {
            (Some(name), Some(variant)) => format!("{kind} {name}::{variant}"),
            (Some(name), None) => format!("{kind} {name}"),
            _ => kind.to_string(),
        },
    }
}

impl Sides<'_> {
    fn lost(&mut self, old: String, new: String, path: &treedef::Path) {
        let count = self.losses.entry((old, new)).or_insert_with(|| (0, shown(path)));
        count.0 += 1;
    }

    /// The recursion is as deep as the limits of the trees allow.
    fn compare(&mut self, before: NodeRef<'_>, after: NodeRef<'_>, path: &mut treedef::Path) {
        use NodeKind as Is;
        let (old, new) =
            (self.before.get(before.leaf_range().start), self.after.get(after.leaf_range().start));
        let said = |node, leaf| described(node, leaf);
        match (before.kind(), after.kind()) {
            (Is::Leaf, Is::Leaf) => {
                let (Some(old), Some(new)) = (old, new) else { return };
                if old == new {
                    return;
                }
                let (kind, other) = (old.kind(), new.kind());
                if kind != other {
                    let exact = old.as_i128().is_some() && old.as_i128() == new.as_i128()
                        || old.as_f64().is_some() && old.as_f64() == new.as_f64()
                        || old.as_str().is_some() && old.as_str() == new.as_str();
                    if exact && !self.widths {
                        return;
                    }
                    let changed = if exact { "" } else { " of another value" };
                    self.lost(kind.to_string(), format!("{other}{changed}"), path);
                } else {
                    self.lost(kind.to_string(), "another value".to_owned(), path);
                }
            }
            (Is::None | Is::Unit, Is::None | Is::Unit) => {}
            (Is::Some | Is::NewtypeStruct, kind) if kind != before.kind() => {
                if before.kind() == Is::NewtypeStruct {
                    self.lost(said(before, old), "its content".to_owned(), path);
                }
                let Some(child) = before.child(0) else { return };
                self.compare(child, after, path);
            }
            _ => self.compound(before, after, path, (said(before, old), said(after, new))),
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
            self.lost(old, new, path);
        }
        let alike = before.kind() == after.kind()
            || is_list(before) && is_list(after)
            || is_named(before) && is_named(after);
        if !alike || children != after.num_children() {
            if alike {
                self.lost(format!("{children} children"), after.num_children().to_string(), path);
            }
            return;
        }
        // The children of maps are in the order of their keys, those of structs in that of fields.
        let mut others: BTreeMap<String, NodeRef<'_>> = BTreeMap::new();
        if is_named(after) {
            let keys = (0..children).filter_map(|at| Some(text_of(&after.key(at)?)));
            others = keys.zip(after.children()).collect();
        }
        for (at, (child, same)) in before.children().zip(after.children()).enumerate() {
            let Some(key) = before.key(at) else { continue };
            let other =
                if is_named(after) { others.get(&text_of(&key)).copied() } else { Some(same) };
            path.push(key);
            match other {
                Some(other) => self.compare(child, other, path),
                None => self.lost("a key".to_owned(), "another key".to_owned(), path),
            }
            path.pop();
        }
    }
}
