//! orbax's checkpoints: the structure and the shapes of a saved PyTree, from its file `_METADATA`.
//!
//! The arrays themselves are in a format of TensorStore, which this crate does not read.

use std::collections::{HashMap, HashSet};

use treedef::{Key, Path, Tree, Value};

use crate::bug::bug;
use crate::error::{Error, ErrorKind, Result};
use crate::json::Json;
use crate::py_key::{MAX_DEPTH, PyKey};
use crate::pytree::PyTree;
use crate::raise::{Raised, raise};

/// The information about a leaf in orbax.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeafMetadata {
    /// Its type: `jax.Array`, `np.ndarray`, `scalar`, `string`.
    pub value_type: String,
    /// The shape of an array, if the version of orbax stores it.
    pub write_shape: Option<Vec<usize>>,
}

/// A checkpoint without its arrays.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Metadata {
    /// The structure, with the known information about each leaf.
    pub tree: Tree<LeafMetadata>,
    /// The leaves in the order of the file, which is that in which JAX flattened the saved value;
    /// and the classes that the checkpoint names.
    pub raised: Raised,
}

/// Reads the file `_METADATA` of an orbax checkpoint, from its text.
///
/// A checkpoint that was saved with `support_rich_types` records which containers are tuples and
/// named tuples. In others, a tuple that is not empty looks like a list, and a named tuple like a
/// dict, so it is read as such. The file has no dtypes: orbax stores them with the arrays.
///
/// # Errors
///
/// Returns an error when the text is anything else; when keys contradict each other, or indices
/// leave a gap. The error has the path, or the offset where the text is not JSON.
///
/// ```
/// use treedef_pytrees::orbax;
///
/// let metadata = orbax::metadata(r#"{"tree_metadata": {
///     "('w',)": {
///         "key_metadata": [{"key": "w", "key_type": 2}],
///         "value_metadata": {"value_type": "jax.Array", "write_shape": [3, 4],
///                            "skip_deserialize": false}
///     },
///     "('opt', '0')": {
///         "key_metadata": [{"key": "opt", "key_type": 2}, {"key": "0", "key_type": 1}],
///         "value_metadata": {"value_type": "None", "skip_deserialize": true}
///     }
/// }}"#)?;
/// assert_eq!(metadata.tree.treedef().to_string(), r#"{"opt": [None], "w": *}"#);
/// assert_eq!(metadata.tree.get(r#"["w"]"#)?.write_shape, Some(vec![3, 4]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn metadata(text: &str) -> Result<Metadata> {
    let file = Json::parse(text)?;
    let mut reader = OrbaxReader { leaves: Vec::new(), path: Path::root() };
    let tree = match file.get("value_metadata_tree").and_then(Json::as_str) {
        // The same with the kinds of containers: JSON inside of a text.
        Some(rich) => {
            let rich = Json::parse(rich).map_err(|error| {
                ErrorKind::Malformed(format!("`value_metadata_tree`, decoded: {error}"))
            })?;
            reader.rich(&rich, 0)?
        }
        None => {
            let entries = file.get("tree_metadata").and_then(Json::as_entries);
            let entries = entries.ok_or_else(|| reader.fail("`tree_metadata` is missing"))?;
            let mut root = OrbaxNode::default();
            for (name, entry) in entries {
                root.put(name, entry, &mut reader)?;
            }
            reader.plain(root, 0)?
        }
    };
    let raised = raise(&tree)?;
    let tree = raised.restore(reader.leaves)?;
    Ok(Metadata { tree, raised })
}

fn malformed(what: String) -> Error {
    ErrorKind::Malformed(what).into()
}

/// The entry for a leaf or an empty container, or its fault.
fn leaf_metadata(json: &Json) -> Result<LeafMetadata, String> {
    let value_type = json.get("value_type").ok_or("`value_type` is missing")?;
    let value_type = value_type
        .as_str()
        .ok_or_else(|| format!("`value_type` is {}, not a text", value_type.described()))?;
    let size = |size: &Json| {
        size.as_usize().ok_or_else(|| format!("`write_shape` has {}, no size", size.described()))
    };
    let write_shape = match json.get("write_shape") {
        None | Some(Json::Null) => None,
        Some(Json::List(sizes)) => Some(sizes.iter().map(size).collect::<Result<_, _>>()?),
        Some(other) => return Err(format!("`write_shape` is {}, not a list", other.described())),
    };
    Ok(LeafMetadata { value_type: value_type.to_owned(), write_shape })
}

/// A node that is being built. Children are in the order of the file.
#[derive(Default)]
struct OrbaxNode {
    /// A leaf or an empty container.
    value: Option<PyTree>,
    children: Vec<(OrbaxKey, OrbaxNode)>,
    positions: HashMap<OrbaxKey, usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum OrbaxKey {
    Index(usize),
    Key(String),
}

impl OrbaxNode {
    fn put(&mut self, name: &str, entry: &Json, reader: &mut OrbaxReader) -> Result<()> {
        let wrong = |what: &str| malformed(format!("`{name}`: {what}"));
        let keys = entry.get("key_metadata").and_then(Json::as_list);
        let keys = keys.ok_or_else(|| wrong("`key_metadata` is missing"))?;
        if keys.len() > MAX_DEPTH {
            return Err(ErrorKind::limit(
                "levels",
                format!("nested deeper than {MAX_DEPTH} levels"),
            )
            .into());
        }
        let mut node = self;
        for key in keys {
            let text = key.get("key").and_then(Json::as_str);
            let text = text.ok_or_else(|| wrong("a key is missing"))?;
            // 1 is an index, 2 the key of a dict.
            let key = match key.get("key_type") {
                Some(Json::Int(1)) => {
                    let index = text.parse().map_err(|_| wrong("an index that is not a number"))?;
                    OrbaxKey::Index(index)
                }
                _ => OrbaxKey::Key(text.to_owned()),
            };
            let next = node.children.len();
            let position = *node.positions.entry(key.clone()).or_insert(next);
            if position == next {
                node.children.push((key, OrbaxNode::default()));
            }
            let child = node.children.get_mut(position);
            let (_, child) = child.ok_or_else(|| bug!("a child has no place"))?;
            node = child;
        }
        let value = entry.get("value_metadata");
        let value = value.ok_or_else(|| wrong("`value_metadata` is missing"))?;
        let value = leaf_metadata(value).map_err(|what| wrong(&what))?;
        match node.value.replace(reader.leaf_or_empty(value)) {
            None => Ok(()),
            Some(_) => Err(wrong("it occurs twice")),
        }
    }
}

struct OrbaxReader {
    leaves: Vec<LeafMetadata>,
    path: Path,
}

impl OrbaxReader {
    fn fail(&self, what: impl Into<String>) -> Error {
        malformed(what.into()).at_path(self.path.clone())
    }

    fn expect_depth(&self, depth: usize) -> Result<()> {
        if depth <= MAX_DEPTH {
            Ok(())
        } else {
            Err(ErrorKind::limit("levels", format!("nested deeper than {MAX_DEPTH} levels")).into())
        }
    }

    fn leaf_or_empty(&mut self, value: LeafMetadata) -> PyTree {
        match value.value_type.as_str() {
            "None" => PyTree::None,
            "Dict" => PyTree::Dict(Vec::new()),
            "List" => PyTree::List(Vec::new()),
            "Tuple" | "NamedTuple" => PyTree::Tuple(Vec::new()),
            _ => {
                self.leaves.push(value);
                PyTree::Leaf(self.leaves.len() - 1)
            }
        }
    }

    fn below<T>(&mut self, key: Key, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.path.push(key);
        let read = read(self)?;
        self.path.pop();
        Ok(read)
    }

    fn plain(&mut self, node: OrbaxNode, depth: usize) -> Result<PyTree> {
        self.expect_depth(depth)?;
        let OrbaxNode { value, children, .. } = node;
        if let Some(value) = value {
            return if children.is_empty() {
                Ok(value)
            } else {
                Err(self.fail("the node has a value and children"))
            };
        }
        let (mut entries, mut items) = (Vec::new(), Vec::new());
        for (key, child) in children {
            match key {
                OrbaxKey::Key(key) => {
                    let step = Key::Entry(Value::of(&key)?);
                    let child = self.below(step, |reader| reader.plain(child, depth + 1))?;
                    entries.push((PyKey::Str(key), child));
                }
                OrbaxKey::Index(index) if index == items.len() => {
                    let step = Key::Index(index);
                    items.push(self.below(step, |reader| reader.plain(child, depth + 1))?);
                }
                OrbaxKey::Index(index) => {
                    let next = items.len();
                    return Err(self.fail(format!("the index {index}, where {next} is the next")));
                }
            }
        }
        match (entries.is_empty(), items.is_empty()) {
            (false, false) => Err(self.fail("the node has keys and indices")),
            (true, false) => Ok(PyTree::List(items)),
            (_, true) => Ok(PyTree::Dict(entries)),
        }
    }

    /// A node of `value_metadata_tree`.
    fn rich(&mut self, node: &Json, depth: usize) -> Result<PyTree> {
        self.expect_depth(depth)?;
        let text = |name: &str| node.get(name).and_then(Json::as_str);
        let entries = || {
            let entries = node.get("entries").and_then(Json::as_list);
            entries.ok_or_else(|| self.fail("a tuple without `entries`"))
        };
        match (node, text("category"), text("clazz")) {
            (Json::List(items), ..) => self.items(items, Key::Index, depth).map(PyTree::List),
            (_, Some("custom"), Some("ValueMetadataEntry")) => {
                let value = leaf_metadata(node.get("data").unwrap_or(&Json::Null));
                Ok(self.leaf_or_empty(value.map_err(|what| self.fail(what))?))
            }
            (_, Some("custom"), Some("tuple")) => {
                self.items(entries()?, Key::Position, depth).map(PyTree::Tuple)
            }
            (_, Some("namedtuple"), Some(class)) => {
                let mut fields = Vec::new();
                for entry in entries()? {
                    let key = entry.get("key").and_then(Json::as_str);
                    let (Some(key), Some(value)) = (key, entry.get("value")) else {
                        return Err(self.fail("a field without a name or a value"));
                    };
                    let step = Key::Field(key.to_owned().into());
                    let value = self.below(step, |reader| reader.rich(value, depth + 1))?;
                    fields.push((PyKey::Str(key.to_owned()), value));
                }
                let names: HashSet<String> =
                    fields.iter().map(|(name, _)| name.identity()).collect();
                if names.len() != fields.len() {
                    return Err(self.fail("a field occurs twice"));
                }
                let class = match text("module") {
                    Some(module) => format!("{module}.{class}"),
                    None => class.to_owned(),
                };
                Ok(PyTree::Custom { class, inside: Box::new(PyTree::Dict(fields)) })
            }
            (Json::Object(entries), None, _) => {
                let mut children = Vec::with_capacity(entries.len());
                for (key, child) in entries {
                    let step = Key::Entry(Value::of(key)?);
                    let child = self.below(step, |reader| reader.rich(child, depth + 1))?;
                    children.push((PyKey::Str(key.clone()), child));
                }
                Ok(PyTree::Dict(children))
            }
            (_, Some(category), class) => {
                let class = class.unwrap_or("without a class");
                Err(self.fail(format!("a node of the category {category:?}, {class}")))
            }
            (_, None, _) => Err(self.fail("neither an object nor a list")),
        }
    }

    fn items(
        &mut self,
        items: &[Json],
        key: fn(usize) -> Key,
        depth: usize,
    ) -> Result<Vec<PyTree>> {
        let mut children = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            children.push(self.below(key(index), |reader| reader.rich(item, depth + 1))?);
        }
        Ok(children)
    }
}
