//! orbax's checkpoints: the structure and the shapes of a saved PyTree, from its file `_METADATA`.
//!
//! The arrays themselves are in a format of TensorStore, which is not read.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde_json::Value as Json;
use treedef::Tree;

use crate::error::{ErrorKind, Result, malformed};
use crate::pytree::{MAX_DEPTH, PyKey, PyTree};
use crate::raise::{Raised, raise};

/// What orbax says of a leaf.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct LeafMetadata {
    /// What it is: `jax.Array`, `np.ndarray`, `scalar`, `string`.
    pub value_type: String,
    /// The shape of an array, where the version of orbax stores it.
    #[serde(default)]
    pub write_shape: Option<Vec<usize>>,
}

/// A checkpoint without its arrays.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Metadata {
    /// The structure, with what is known of each leaf.
    pub tree: Tree<LeafMetadata>,
    /// The order of the leaves in JAX, and the classes that the checkpoint names.
    pub raised: Raised,
}

#[derive(Deserialize)]
struct File {
    tree_metadata: BTreeMap<String, Entry>,
    /// The same with the kinds of containers, where orbax was told to store rich types: JSON, as a text.
    #[serde(default)]
    value_metadata_tree: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    key_metadata: Vec<KeyMetadata>,
    value_metadata: LeafMetadata,
}

#[derive(Deserialize)]
struct KeyMetadata {
    key: String,
    /// 1 is an index, 2 the key of a dict.
    key_type: u32,
}

/// Reads `_METADATA`.
///
/// A checkpoint that was saved with `support_rich_types` says which containers are tuples and named tuples. In others a
/// tuple that is not empty looks like a list, and a named tuple like a dict with its fields sorted, so that is what they are
/// here. The file has no dtypes: orbax keeps them beside the arrays.
///
/// # Errors
///
/// When the text is anything else; when keys contradict each other, or indices leave a gap.
///
/// ```
/// use treedef_exchange::orbax;
///
/// let metadata = orbax::metadata(r#"{"tree_metadata": {
///     "('w',)": {
///         "key_metadata": [{"key": "w", "key_type": 2}],
///         "value_metadata": {"value_type": "jax.Array", "skip_deserialize": false, "write_shape": [3, 4]}
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
    let file: File = serde_json::from_str(text)
        .map_err(|error| malformed(crate::torch::offset(text, &error), error.to_string()))?;
    let mut leaves = Vec::new();
    let tree = match file.value_metadata_tree {
        Some(rich) => {
            let rich: Json = serde_json::from_str(&rich)
                .map_err(|error| ErrorKind::Malformed(format!("`value_metadata_tree`: {error}")))?;
            build_rich(&rich, &mut leaves, 0)?
        }
        None => {
            let mut root = Node::default();
            for (name, entry) in file.tree_metadata {
                root.put(&name, &entry.key_metadata, entry.value_metadata)?;
            }
            root.build(&mut leaves, 0)?
        }
    };
    let raised = raise(&tree, false)?;
    let tree = raised.restore(leaves)?;
    Ok(Metadata { tree, raised })
}

fn leaf_or_empty(value: LeafMetadata, leaves: &mut Vec<LeafMetadata>) -> PyTree {
    match value.value_type.as_str() {
        "None" => PyTree::None,
        "Dict" => PyTree::Dict(Vec::new()),
        "List" => PyTree::List(Vec::new()),
        "Tuple" | "NamedTuple" => PyTree::Tuple(Vec::new()),
        _ => {
            leaves.push(value);
            PyTree::Leaf(leaves.len() - 1)
        }
    }
}

/// A node of `value_metadata_tree`.
fn build_rich(node: &Json, leaves: &mut Vec<LeafMetadata>, depth: usize) -> Result<PyTree> {
    let broken = |what: String| ErrorKind::Malformed(format!("`value_metadata_tree`: {what}"));
    let wrong = |what: String| Err(broken(what).into());
    if depth > MAX_DEPTH {
        return Err(ErrorKind::Limit(format!("nested deeper than {MAX_DEPTH} levels")).into());
    }
    let text = |name: &str| node.get(name).and_then(Json::as_str);
    let entries =
        || node.get("entries").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    match (node, text("category"), text("clazz")) {
        (Json::Array(items), ..) => {
            let items = items.iter().map(|item| build_rich(item, leaves, depth + 1));
            items.collect::<Result<_>>().map(PyTree::List)
        }
        (_, Some("custom"), Some("ValueMetadataEntry")) => {
            let data = node.get("data").cloned().unwrap_or_default();
            match serde_json::from_value(data) {
                Ok(value) => Ok(leaf_or_empty(value, leaves)),
                Err(error) => wrong(error.to_string()),
            }
        }
        (_, Some("custom"), Some("tuple")) => {
            let items = entries().iter().map(|item| build_rich(item, leaves, depth + 1));
            items.collect::<Result<_>>().map(PyTree::Tuple)
        }
        (_, Some("namedtuple"), Some(class)) => {
            let fields = entries().iter().map(|entry| {
                let (Some(key), Some(value)) =
                    (entry.get("key").and_then(Json::as_str), entry.get("value"))
                else {
                    return Err(broken("a field without a name or a value".to_owned()).into());
                };
                Ok((PyKey::Str(key.to_owned()), build_rich(value, leaves, depth + 1)?))
            });
            let fields = fields.collect::<Result<Vec<_>>>()?;
            let names: HashSet<String> = fields.iter().map(|(name, _)| name.identity()).collect();
            if names.len() != fields.len() {
                return wrong(format!("a field of {class} stands twice"));
            }
            let class = match text("module") {
                Some(module) => format!("{module}.{class}"),
                None => class.to_owned(),
            };
            Ok(PyTree::Custom { class, inside: Box::new(PyTree::Dict(fields)) })
        }
        (Json::Object(entries), None, _) => {
            let mut entries: Vec<(&String, &Json)> = entries.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            let entries = entries.into_iter().map(|(key, child)| {
                Ok((PyKey::Str(key.clone()), build_rich(child, leaves, depth + 1)?))
            });
            entries.collect::<Result<_>>().map(PyTree::Dict)
        }
        (_, category, class) => wrong(format!(
            "{} {} is not known",
            category.unwrap_or("a node"),
            class.unwrap_or_default()
        )),
    }
}

/// A node in the making.
#[derive(Default)]
struct Node {
    value: Option<LeafMetadata>,
    by_key: BTreeMap<String, Node>,
    by_index: BTreeMap<usize, Node>,
}

impl Node {
    fn put(&mut self, name: &str, keys: &[KeyMetadata], value: LeafMetadata) -> Result<()> {
        let mut node = self;
        for KeyMetadata { key, key_type } in keys {
            node = match key_type {
                1 => {
                    let index = key.parse().map_err(|_| {
                        ErrorKind::Malformed(format!("`{name}`: the index `{key}` is no number"))
                    })?;
                    node.by_index.entry(index).or_default()
                }
                _ => node.by_key.entry(key.clone()).or_default(),
            };
        }
        match node.value.replace(value) {
            None => Ok(()),
            Some(_) => Err(ErrorKind::Malformed(format!("`{name}` stands twice")).into()),
        }
    }

    fn build(self, leaves: &mut Vec<LeafMetadata>, depth: usize) -> Result<PyTree> {
        let wrong = |what: &str| Err(ErrorKind::Malformed(what.to_owned()).into());
        if depth > MAX_DEPTH {
            return Err(ErrorKind::Limit(format!("nested deeper than {MAX_DEPTH} levels")).into());
        }
        let Node { value, by_key, by_index } = self;
        match (value, by_key.is_empty(), by_index.is_empty()) {
            (Some(value), true, true) => Ok(leaf_or_empty(value, leaves)),
            (Some(_), _, _) => wrong("something stands at a node and below it"),
            (None, _, true) => {
                let entries = by_key
                    .into_iter()
                    .map(|(key, node)| Ok((PyKey::Str(key), node.build(leaves, depth + 1)?)));
                entries.collect::<Result<_>>().map(PyTree::Dict)
            }
            (None, true, _) => {
                if by_index.keys().copied().ne(0..by_index.len()) {
                    return wrong("the indices of a list leave a gap");
                }
                let items = by_index.into_values().map(|node| node.build(leaves, depth + 1));
                items.collect::<Result<_>>().map(PyTree::List)
            }
            (None, false, false) => wrong("a node has keys and indices"),
        }
    }
}
