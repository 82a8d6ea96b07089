//! JAX's treedefs: their text, the protocol buffer of `PyTreeDef.serialize_using_proto`, the flatbuffer of
//! `jax.export`, and the directory that `jax.experimental.array_serialization` opens.
//!
//! JAX flattens dicts in the order of their keys, and has only strings for keys in its files.
//! `None` is a node there.

mod flatbuffer;
mod proto;
mod text;

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use treedef::{Dtype, Edit, LeafKind, NodeKind, NodeRef, Tree, TreeDef};

use crate::bug::OrBug;
use crate::error::{Error, ErrorKind, Result, malformed, quoted};
use crate::half_float::half_float;
use crate::json::Json;
use crate::lower::{Lowered, Lowering, Statics};
use crate::py_key::PyKey;
use crate::pytree::PyTree;
use crate::raise::{Raised, raise};

pub use text::{keystrs, text};

/// The structure as `serialize_using_proto` writes it, byte for byte.
///
/// # Errors
///
/// See [`python::literal`](crate::python::literal). Also returns an error for keys that are not
/// strings.
///
/// ```
/// use treedef_pytrees::{Lowering, jax};
///
/// let lowered = jax::proto(&"[*, *]".parse()?, &Lowering::new())?;
/// assert_eq!(lowered.data, b"\x0a\x02\x10\x01\x0a\x02\x10\x01\x0a\x04\x08\x02\x10\x02");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn proto(treedef: &TreeDef, lowering: &Lowering) -> Result<Lowered<Vec<u8>>> {
    let (tree, order, statics) = lower(treedef, lowering)?;
    Ok(Lowered::new(proto::write(&tree)?, order, statics, treedef))
}

/// Reads a structure that `serialize_using_proto` wrote. It is checked completely, unlike in JAX.
///
/// # Errors
///
/// Returns an error when the bytes are anything else, with the offset.
///
/// ```
/// use treedef_pytrees::jax;
///
/// let bytes = b"\x0a\x02\x10\x01\x0a\x02\x10\x03\x0a\x04\x08\x02\x10\x04";
/// assert_eq!(jax::from_proto(bytes)?.treedef.to_string(), "(*, None)");
///
/// let error = jax::from_proto(b"\x0a\x04\x08\x02\x10\x04").unwrap_err();
/// assert_eq!(error.to_string(), "a node of 2 children, where 0 came before it at byte 0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_proto(bytes: &[u8]) -> Result<Raised> {
    raise(&proto::read(bytes)?)
}

/// The structure as the flatbuffer that `jax.export` stores: a table `PyTreeDef`, alone.
///
/// It is [`proto`] in another format.
///
/// # Errors
///
/// As [`proto`].
///
/// ```
/// use treedef_pytrees::{Lowering, jax};
///
/// let lowered = jax::flatbuffer(&"Layer { w: *, b: * }".parse()?, &Lowering::new())?;
/// assert_eq!(jax::from_flatbuffer(&lowered.data)?.treedef.to_string(), r#"{"b": *, "w": *}"#);
/// assert_eq!(lowered.order, [Some(1), Some(0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn flatbuffer(treedef: &TreeDef, lowering: &Lowering) -> Result<Lowered<Vec<u8>>> {
    let (tree, order, statics) = lower(treedef, lowering)?;
    Ok(Lowered::new(flatbuffer::write(&tree)?, order, statics, treedef))
}

/// The structure of a flatbuffer of a `PyTreeDef`. A registered class is a tuple struct of its
/// name, an `OrderedDict` a map; both are named in [`Raised::classes`].
///
/// # Errors
///
/// Returns an error when the bytes are anything else, with the offset.
pub fn from_flatbuffer(bytes: &[u8]) -> Result<Raised> {
    raise(&flatbuffer::read(bytes)?)
}

fn lower(treedef: &TreeDef, lowering: &Lowering) -> Result<(PyTree, Vec<Option<usize>>, Statics)> {
    lowering.lower_sorted(treedef, |key| match key {
        PyKey::Str(_) => None,
        other => Some(format!("the key {other} is not a string, as JAX's files want")),
    })
}

/// The type of the leaf for a `None` of Python.
const NONE: &str = "null";

/// A key, which is a string, because lowering refuses other keys.
fn string_key(key: &PyKey) -> &str {
    let text = if let PyKey::Str(key) = key { Some(key.as_str()) } else { None };
    text.or_bug()
}

/// An array without its numbers: `jax.ShapeDtypeStruct`. It prints as in JAX's files,
/// `Array(float32[3, 4])`, and parses back. Other leaves are the name of their type in Python.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ShapeDtype {
    /// An array.
    Array {
        /// Its dtype, in numpy's notation.
        dtype: String,
        /// The length of each axis.
        shape: Vec<usize>,
    },
    /// Any other leaf, by the name of its type; `null` is Python's `None`.
    Other(String),
}

impl ShapeDtype {
    /// A scalar for a kind of leaves: an array without axes if numpy has its dtype.
    fn scalar(kind: LeafKind) -> Self {
        let dtype = match kind {
            LeafKind::Bool => "bool",
            LeafKind::I8 => "int8",
            LeafKind::I16 => "int16",
            LeafKind::I32 => "int32",
            LeafKind::I64 => "int64",
            LeafKind::U8 => "uint8",
            LeafKind::U16 => "uint16",
            LeafKind::U32 => "uint32",
            LeafKind::U64 => "uint64",
            LeafKind::F32 => "float32",
            LeafKind::F64 => "float64",
            LeafKind::I128 | LeafKind::U128 => return ShapeDtype::Other("int".to_owned()),
            LeafKind::Char | LeafKind::Str => return ShapeDtype::Other("str".to_owned()),
            LeafKind::Bytes => return ShapeDtype::Other("bytes".to_owned()),
            LeafKind::None => return ShapeDtype::Other(NONE.to_owned()),
            _ => return ShapeDtype::Other("object".to_owned()),
        };
        ShapeDtype::Array { dtype: dtype.to_owned(), shape: Vec::new() }
    }
}

impl fmt::Display for ShapeDtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeDtype::Array { dtype, shape } => write!(f, "Array({dtype}{shape:?})"),
            ShapeDtype::Other(name) => f.write_str(name),
        }
    }
}

impl FromStr for ShapeDtype {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let inside = text.strip_prefix("Array(").and_then(|rest| rest.strip_suffix("])"));
        let Some((dtype, shape)) = inside.and_then(|inside| inside.split_once('[')) else {
            return Ok(ShapeDtype::Other(text.to_owned()));
        };
        let wrong = |what: &str| ErrorKind::Malformed(format!("{} {what}", quoted(text)));
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        if dtype.is_empty() || !dtype.chars().all(is_name) {
            return Err(wrong("has no dtype, as in `Array(float32[3])`").into());
        }
        let axes = Some(shape.trim()).filter(|shape| !shape.is_empty());
        let axes = axes.into_iter().flat_map(|shape| shape.split(',')).map(str::trim);
        let shape = axes.map(str::parse).collect::<Result<Vec<usize>, _>>();
        let shape = shape.map_err(|_| wrong("has an axis that is not a number"))?;
        Ok(ShapeDtype::Array { dtype: dtype.to_owned(), shape })
    }
}

/// The arrays of a signature: nested sequences and tuples of the same number are one array, with
/// its shape. Half floats are newtypes `f16` and `bf16` around a `u16`.
///
/// A struct that holds an array, such as `ndarray`'s, stays a struct, and a matrix of `nalgebra` a
/// tuple, because their shapes are numbers, and a signature has only the kinds of numbers.
/// `Tensors::of` of `treedef-tensors` finds them in a tree of values.
///
/// # Errors
///
/// Returns an error when the signature has more leaves than its limits allow to be visited.
///
/// ```
/// use treedef_pytrees::jax;
///
/// let signature =
///     "Layer { w: [[f32; 4]; 3], b: [f32; 4], ragged: [[u8; 2], [u8]], step: u64 }".parse()?;
/// let shapes = jax::shapes(&signature)?;
/// assert_eq!(
///     shapes.to_string(),
///     "Layer { w: Array(float32[3, 4]), b: Array(float32[4]), \
///      ragged: [Array(uint8[2]), Array(uint8[1])], step: Array(uint64[]) }"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shapes(signature: &Tree<LeafKind>) -> Result<Tree<ShapeDtype>> {
    let mut shapes = Vec::new();
    let arrays = signature.clone().edit(|_, node, kinds| {
        let Some(shape) = shape_of(node) else { return Ok(Edit::Keep) };
        let (Some(kind), true) =
            (kinds.first(), kinds.iter().all(|kind| kinds.first() == Some(kind)))
        else {
            return Ok(Edit::Keep);
        };
        let half = half_float(node).filter(|_| *kind == LeafKind::U16);
        shapes.push(match ShapeDtype::scalar(*kind) {
            ShapeDtype::Array { dtype, .. } => {
                let half = half.map(|half| if half == Dtype::F16 { "float16" } else { "bfloat16" });
                ShapeDtype::Array { dtype: half.map_or(dtype, str::to_owned), shape }
            }
            // numpy has no dtype for it.
            _ if !shape.is_empty() => return Ok(Edit::Keep),
            other => other,
        });
        Ok(Edit::Replace(Tree::leaf(*kind)))
    })?;
    Ok(Tree::new(arrays.treedef().clone(), shapes)?)
}

/// The lengths of the axes, if all children of each node are equal down to the leaves.
fn shape_of(mut node: NodeRef<'_>) -> Option<Vec<usize>> {
    let mut shape = Vec::new();
    loop {
        match node.kind() {
            NodeKind::Leaf => return Some(shape),
            NodeKind::NewtypeStruct => {}
            NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct => {
                shape.push(node.num_children())
            }
            _ => return None,
        }
        let mut runs = node.runs();
        match (runs.next(), runs.next()) {
            (Some((child, _)), None) => node = child,
            _ => return None,
        }
    }
}

/// The content of `pytreedef.json`: in a directory of its own, JAX opens it with
/// `array_serialization.pytree_serialization.load_pytreedef(directory)` as a pytree of
/// `ShapeDtypeStruct`.
///
/// # Errors
///
/// See [`proto`].
///
/// ```
/// use treedef::Tree;
/// use treedef_pytrees::jax;
///
/// let treedef = "Layer { w: *, b: * }".parse()?;
/// let shapes = vec!["Array(float32[3, 4])".parse()?, "Array(bfloat16[4])".parse()?];
/// let lowered = jax::pytreedef_json(&Tree::new(treedef, shapes)?)?;
/// assert!(
///     lowered
///         .data
///         .ends_with(r#""__jax_leaf_ids": ["Array(bfloat16[4])", "Array(float32[3, 4])"]}"#)
/// );
/// let (raised, shapes) = jax::from_pytreedef_json(&lowered.data)?;
/// assert_eq!(
///     raised.restore(shapes)?.to_string(),
///     r#"{"b": Array(bfloat16[4]), "w": Array(float32[3, 4])}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pytreedef_json(shapes: &Tree<ShapeDtype>) -> Result<Lowered<String>> {
    let lowered = flatbuffer(shapes.treedef(), &Lowering::new())?;
    let leaves = lowered.permute(shapes.leaves())?;
    let ids: Vec<String> = leaves
        .into_iter()
        .map(|leaf| leaf.map(|leaf| leaf.to_string()).filter(|name| name != NONE))
        .map(|name| serde_json::Value::from(name).to_string())
        .collect();
    let text = format!(
        r#"{{"__jax_pytreedef_repr": "{}", "__jax_leaf_ids": [{}]}}"#,
        BASE64.encode(&lowered.data),
        ids.join(", ")
    );
    Ok(Lowered::new(text, lowered.order, lowered.statics, shapes.treedef()))
}

/// The structure of a `pytreedef.json`, and the types of its leaves, in their order there.
///
/// # Errors
///
/// Returns an error when the text is anything else; when it has more or fewer leaves than the
/// structure; when it does not state the type of a leaf. The last happens with the output of JAX's
/// own `serialize_pytreedef`, before `save` adds the types: its leaves are only numbered.
pub fn from_pytreedef_json(text: &str) -> Result<(Raised, Vec<ShapeDtype>)> {
    let json = Json::parse(text)?;
    let missing = |what: &str| malformed(0, format!("`{what}` is missing"));
    let repr = json.get("__jax_pytreedef_repr").and_then(Json::as_str);
    let ids = json.get("__jax_leaf_ids").and_then(Json::as_list);
    let repr = repr.ok_or_else(|| missing("__jax_pytreedef_repr"))?;
    let ids = ids.ok_or_else(|| missing("__jax_leaf_ids"))?;
    let bytes = BASE64
        .decode(repr)
        .map_err(|error| ErrorKind::Malformed(format!("`__jax_pytreedef_repr`: {error}")))?;
    // Its offsets are in the decoded bytes.
    let raised = from_flatbuffer(&bytes).map_err(|error| {
        ErrorKind::Malformed(format!("`__jax_pytreedef_repr`, decoded: {error}"))
    })?;
    let shapes = ids.iter().map(|id| match id {
        Json::Null => Ok(ShapeDtype::Other(NONE.to_owned())),
        Json::Str(id) => id.parse(),
        other => {
            let what = "where a type of leaves is expected, as \"Array(float32[3])\" or null";
            let what = format!("`__jax_leaf_ids` has {}, {what}", other.described());
            Err(ErrorKind::Malformed(what).into())
        }
    });
    let shapes = shapes.collect::<Result<Vec<ShapeDtype>>>()?;
    if shapes.len() == raised.order.len() {
        Ok((raised, shapes))
    } else {
        let (expected, found) = (raised.order.len(), shapes.len());
        Err(ErrorKind::Leaves { expected, found }.into())
    }
}
