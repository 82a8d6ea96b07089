//! Values that JSON cannot hold: keys that are not texts and cannot become one, two keys that become one,
//! and numbers that are not finite.

use std::collections::HashMap;

use treedef::{Key, Leaf, NodeKind, NodeRef, Path, Tree, Value};

use crate::format::Format;
use crate::formats::keys::{has_others, json_text};

/// A place, and the value there that a format cannot hold.
pub(crate) struct UnsupportedValue {
    pub(crate) path: Path,
    pub(crate) what: String,
    /// Whether it is the key of the place.
    #[cfg_attr(not(feature = "schema"), allow(dead_code, reason = "a schema is for both"))]
    pub(crate) is_key: bool,
    /// The place whose key becomes the same text.
    #[cfg_attr(not(feature = "schema"), allow(dead_code, reason = "a schema is for both"))]
    pub(crate) same: Option<Path>,
}

/// The keys that a format cannot hold: JSON, unless it is TOML. At most `most`.
pub(crate) fn keys<L>(tree: &Tree<L>, format: Format, most: usize) -> Vec<UnsupportedValue> {
    let mut walk = KeyWalk { format, most, path: Path::root(), found: Vec::new() };
    walk.node(tree.treedef().root());
    walk.found.truncate(most);
    walk.found
}

/// The values that JSON cannot hold, at most `most` of them numbers.
pub(crate) fn in_json(tree: &Tree<Leaf>, most: usize) -> Vec<UnsupportedValue> {
    let mut found = keys(tree, Format::Json, usize::MAX);
    let infinite = |leaf: &Leaf| leaf.as_f64().filter(|number| !number.is_finite());
    let numbers = tree.leaves().iter().enumerate();
    let numbers = numbers.filter_map(|(at, leaf)| Some((at, infinite(leaf)?)));
    found.extend(numbers.take(most).filter_map(|(at, number)| {
        let path = tree.treedef().leaf_path(at).ok()?;
        // The number of a half float is in a struct without a key of its own.
        let above = path.parent().filter(|above| {
            let node = tree.treedef().node(above);
            node.is_ok_and(|node| node.kind() == NodeKind::NewtypeStruct)
        });
        let path = above.unwrap_or(path);
        let what = format!("{number} is not a number there");
        Some(UnsupportedValue { path, what, is_key: false, same: None })
    }));
    found
}

struct KeyWalk {
    format: Format,
    most: usize,
    path: Path,
    found: Vec<UnsupportedValue>,
}

impl KeyWalk {
    /// The recursion is as deep as the limits of the tree allow.
    fn node(&mut self, node: NodeRef<'_>) {
        if has_others(node) {
            self.keys_of(node.entry_keys());
        }
        let mut position = 0;
        for (child, count) in node.runs() {
            let before = self.found.len();
            // If there is nothing in one sibling, there is nothing in its equals.
            for at in position..position + count {
                let key = node.key(at).filter(|_| child.num_children() > 0);
                let Some(key) = key.filter(|_| self.found.len() < self.most) else { break };
                self.path.push(key);
                self.node(child);
                self.path.pop();
                if self.found.len() == before {
                    break;
                }
            }
            position += count; // at most the children
        }
    }

    fn keys_of(&mut self, keys: &[Value]) {
        let place = |key: &Value| self.path.child(Key::Entry(key.clone()));
        let mut texts: HashMap<String, &Value> = HashMap::new();
        // Keys that are texts are first, so that the others are reported.
        let (of_text, others): (Vec<&Value>, Vec<_>) =
            keys.iter().partition(|key| key.as_str().is_some());
        let mut found = Vec::new();
        for key in of_text.into_iter().chain(others) {
            let is_float = || key.as_leaf().is_some_and(|leaf| leaf.kind().is_float());
            let text = json_text(key).filter(|_| self.format != Format::Toml || !is_float());
            let (what, same) = match text {
                None => ("the key is not a text and cannot become one".to_owned(), None),
                Some(text) => match texts.insert(text.clone(), key) {
                    Some(same) if same != key => {
                        let what =
                            format!("the key becomes the text {text:?}, which another key is");
                        (what, Some(place(same)))
                    }
                    _ => continue,
                },
            };
            found.push(UnsupportedValue { path: place(key), what, is_key: true, same });
        }
        self.found.append(&mut found);
    }
}
