//! Converts Python's containers to our structures.

use treedef::{Key, Limits, NodeHead, NodeKind, Path, Tree, TreeDef, TreeDefBuilder, Value};

use crate::error::{ErrorKind, Result};
use crate::lower::{path_bytes, permuted, restored};
use crate::py_key::{MAX_DEPTH, NameBytes, PyKey};
use crate::pytree::PyTree;

/// A structure that was read from a format of Python, and the order of its leaves there.
#[derive(Clone, Debug)]
pub struct Raised {
    /// The structure: lists as sequences, dicts as maps.
    pub treedef: TreeDef,
    /// Our index of each leaf, in Python's order. It is `None` for a `None` of Python that is a
    /// leaf to torch.
    pub order: Vec<Option<usize>>,
    /// The path and the name of each class that only Python has, such as `collections.OrderedDict`.
    pub classes: Vec<(Path, String)>,
}

impl Raised {
    /// Our leaves in Python's order, with `None` for each `None` of Python.
    ///
    /// # Errors
    ///
    /// Returns an error when the number of leaves differs from the structure.
    pub fn permute<L: Clone>(&self, leaves: &[L]) -> Result<Vec<Option<L>>> {
        permuted(&self.order, leaves, self.treedef.num_leaves())
    }

    /// The tree of these leaves, which are in Python's order.
    ///
    /// # Errors
    ///
    /// Returns an error when the number of leaves differs from the format.
    ///
    /// ```
    /// let raised = treedef_pytrees::python::from_literal("{'b': 0, 'a': (0, None)}")?;
    /// assert_eq!(raised.treedef.to_string(), r#"{"a": (*, None), "b": *}"#);
    /// let tree = raised.restore(vec!["first in the text", "second"])?;
    /// assert_eq!(tree.get(r#"["b"]"#)?, &"first in the text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore<L>(&self, leaves: impl IntoIterator<Item = L>) -> Result<Tree<L>> {
        restored(&self.order, leaves, &self.treedef)
    }
}

/// Makes our structure of `tree`, with leaves numbered in Python's order.
pub(crate) fn raise(tree: &PyTree) -> Result<Raised> {
    let limits = Limits::default();
    let limits = Limits { max_depth: limits.max_depth.max(2 * MAX_DEPTH), ..limits };
    let treedef = TreeDefBuilder::new().limits(limits);
    let bytes = NameBytes::default();
    let mut builder = RaisedBuilder { treedef, leaves: Vec::new(), classes: Vec::new(), bytes };
    builder.node(tree, &mut Path::root())?;
    let treedef = builder.treedef.finish()?;
    // `leaves` has Python's number of each leaf, so this is the inverse.
    let mut ours = vec![None; builder.leaves.len()];
    for (index, leaf) in builder.leaves.iter().enumerate() {
        if let Some(slot) = ours.get_mut(*leaf) {
            *slot = Some(index);
        }
    }
    let order = ours;
    Ok(Raised { treedef, order, classes: builder.classes })
}

struct RaisedBuilder {
    treedef: TreeDefBuilder,
    leaves: Vec<usize>,
    classes: Vec<(Path, String)>,
    /// The bytes of all names and paths.
    bytes: NameBytes,
}

impl RaisedBuilder {
    fn spend(&mut self, bytes: usize) -> Result<()> {
        self.bytes.spend(bytes, "names")
    }

    fn node(&mut self, tree: &PyTree, path: &mut Path) -> Result<()> {
        match tree {
            PyTree::Leaf(index) => {
                self.leaves.push(*index);
                self.treedef.leaves(1)?;
            }
            PyTree::None => self.treedef.open(NodeKind::None, 1)?,
            PyTree::List(children) => {
                self.items(NodeKind::Seq.into(), children, Key::Index, path)?;
            }
            PyTree::Tuple(children) => {
                self.items(NodeKind::Tuple.into(), children, Key::Position, path)?;
            }
            PyTree::Dict(entries) => self.map(entries, path)?,
            PyTree::Custom { class, inside } => {
                self.spend(class.len() + 16 * path.keys().len() + path_bytes(path))?;
                self.classes.push((path.clone(), class.clone()));
                match &**inside {
                    PyTree::Tuple(children) if is_named(class) => {
                        let head = NodeHead { name: class, ..NodeKind::TupleStruct.into() };
                        self.items(head, children, Key::Position, path)?;
                    }
                    PyTree::Dict(entries) if is_named(class) => {
                        self.fields(class, entries, path)?;
                    }
                    inside => self.node(inside, path)?,
                }
            }
        }
        Ok(())
    }

    fn items(
        &mut self,
        head: NodeHead<'_>,
        children: &[PyTree],
        key: fn(usize) -> Key,
        path: &mut Path,
    ) -> Result<()> {
        self.treedef.open(head, 1)?;
        for (index, child) in children.iter().enumerate() {
            path.push(key(index));
            self.node(child, path)?;
            path.pop();
        }
        Ok(self.treedef.close()?)
    }

    /// The entries sorted by their keys, as in a treedef.
    fn map(&mut self, entries: &[(PyKey, PyTree)], path: &mut Path) -> Result<()> {
        let keyed = entries.iter().map(|(key, child)| Ok((value(key)?, child)));
        let mut entries = keyed.collect::<Result<Vec<(Value, &PyTree)>>>()?;
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.treedef.open(NodeKind::Map, 1)?;
        for (key, child) in entries {
            self.spend(key.as_str().map_or(16, str::len))?;
            self.treedef.key(key.clone())?;
            path.push(Key::Entry(key));
            self.node(child, path)?;
            path.pop();
        }
        Ok(self.treedef.close()?)
    }

    fn fields(&mut self, class: &str, entries: &[(PyKey, PyTree)], path: &mut Path) -> Result<()> {
        self.treedef.open(NodeHead { name: class, ..NodeKind::Struct.into() }, 1)?;
        for (key, child) in entries {
            let PyKey::Str(field) = key else {
                let what = format!("{key} is not the name of a field");
                return Err(ErrorKind::Key(what).into());
            };
            self.spend(field.len())?;
            self.treedef.field(field.clone())?;
            path.push(Key::Field(field.clone().into()));
            self.node(child, path)?;
            path.pop();
        }
        Ok(self.treedef.close()?)
    }
}

/// Whether a class is not one of Python's own containers, which have counterparts here.
fn is_named(class: &str) -> bool {
    let own = ["collections.", "builtins.", "torch.fx.immutable_collections."];
    !own.iter().any(|module| class.starts_with(module))
}

fn value(key: &PyKey) -> Result<Value> {
    let value = match key {
        PyKey::None | PyKey::Other => Value::of(&None::<()>),
        PyKey::Bool(value) => Value::of(value),
        PyKey::Int(value) => match i64::try_from(*value) {
            Ok(value) => Value::of(&value),
            Err(_) => Value::of(value),
        },
        PyKey::Large(value) => Value::of(value),
        PyKey::Float(value) => Value::of(value),
        PyKey::Str(text) => Value::of(text),
        PyKey::Bytes(bytes) => return Ok(Value::from(treedef::Leaf::from(bytes.clone()))),
        PyKey::Tuple(keys) => {
            let keys = keys.iter().map(value).collect::<Result<Vec<Value>>>()?;
            let texts: String = keys.iter().map(|key| format!("{key},")).collect();
            let text = if texts.is_empty() { "(,)".to_owned() } else { format!("({texts})") };
            text.parse()
        }
    };
    Ok(value?)
}
