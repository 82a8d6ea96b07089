//! Structs that hold an array, recognised by their fields.

use crate::arrays::blocks::{dims, is_list, num_elements, rectangle};
use crate::model::{Dtype, LeafKind, Name, NodeKind};
use crate::treedef::node_ref::NodeRef;

/// The maximum number of dimensions, as in numpy. A structure could list any number.
const MAX_DIMS: usize = 64;

/// The fields of a struct that holds an array: `{ v, dim, data }` as in `ndarray`, `{ shape, data }`
/// or `{ dim, data }` as in `rten` and others, `{ bytes, shape, dtype }` as in `burn`.
///
/// [`Flattener::arrays`](crate::Flattener::arrays) and the crate `treedef-tensors` recognise only
/// these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayFields {
    names: &'static [&'static str],
    version: Option<usize>,
    shape: usize,
    data: usize,
    dtype: Option<usize>,
}

/// The array that a struct holds. See [`array_struct`].
#[derive(Clone, Debug)]
pub struct ArrayStruct<'a> {
    fields: ArrayFields,
    data: NodeRef<'a>,
    shape: Vec<usize>,
    dtype: Option<(Dtype, LeafKind)>,
}

impl ArrayFields {
    /// The names of the fields of each such struct: of `ndarray`, of `rten` and others, and of
    /// `burn`.
    pub const NAMES: [&'static [&'static str]; 4] =
        [&["v", "dim", "data"], &["shape", "data"], &["dim", "data"], &["bytes", "shape", "dtype"]];

    /// Finds them among all fields of a struct, in any order. `None` for any other set of fields.
    pub fn of(fields: &[impl AsRef<str>]) -> Option<Self> {
        let at = |name: &str| fields.iter().position(|field| field.as_ref() == name);
        let are = |names: &&&[&str]| {
            names.len() == fields.len() && names.iter().all(|name| at(name).is_some())
        };
        let names = Self::NAMES.iter().find(are)?;
        Some(ArrayFields {
            names,
            version: at("v"),
            shape: at("shape").or_else(|| at("dim"))?,
            data: at("data").or_else(|| at("bytes"))?,
            dtype: at("dtype"),
        })
    }

    /// Their names, in the order in which their crate has them.
    pub fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// The position of the field with the numbers: one by one, or as one byte string if
    /// [`dtype`](Self::dtype) names their type.
    pub fn data(&self) -> usize {
        self.data
    }

    /// The position of the field with the number of elements in each dimension.
    pub fn shape(&self) -> usize {
        self.shape
    }

    /// The position of the field that names the type of the numbers, if there is one.
    pub fn dtype(&self) -> Option<usize> {
        self.dtype
    }

    /// The position of the field with the version of the format, if there is one.
    pub fn version(&self) -> Option<usize> {
        self.version
    }
}

impl<'a> ArrayStruct<'a> {
    /// Where the fields are.
    pub fn fields(&self) -> ArrayFields {
        self.fields
    }

    /// The numbers, in row-major order: a sequence or a tuple, or a leaf that is a byte string.
    pub fn data(&self) -> NodeRef<'a> {
        self.data
    }

    /// The number of elements in each dimension, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The type of the elements and the kind of the numbers in memory, if the numbers are a byte
    /// string: `F16` and `U16`.
    pub fn dtype(&self) -> Option<(Dtype, LeafKind)> {
        self.dtype
    }
}

/// The array that a struct holds, if it has [the fields](ArrayFields) for it and they are
/// consistent: the number of elements fits the shape, and the version, if there is one, is 1. The
/// number of elements in a byte string is not checked, because the structure does not show it.
///
/// `integer` returns the value of an integer leaf.
pub fn array_struct<'a>(
    node: NodeRef<'a>,
    integer: impl Fn(usize) -> Option<u64>,
) -> Option<ArrayStruct<'a>> {
    let fields = array_fields(node)?;
    let shape = sizes(node.child(fields.shape)?, &integer)?;
    let dtype = match fields.dtype {
        Some(dtype) => Some(dtype_of_variant(node.child(dtype)?)?),
        None => None,
    };
    let version = match fields.version {
        Some(version) => sizes(node.child(version)?, &integer)?,
        None => vec![1],
    };
    let data = node.child(fields.data)?;
    let length = match dtype {
        Some(_) => data.is_leaf().then_some(num_elements(&shape)),
        None if data.num_children() == 0 => (!data.is_leaf()).then_some(Some(0)),
        None => Some(rectangle(data).shape.first().copied()),
    };
    let fits = length? == Some(num_elements(&shape)?) && version == [1];
    fits.then_some(ArrayStruct { fields, data, shape, dtype })
}

/// Where a struct has the fields of an array.
fn array_fields(node: NodeRef<'_>) -> Option<ArrayFields> {
    let names: &[Name] = node.fields();
    ArrayFields::of(names).filter(|_| node.kind() == NodeKind::Struct)
}

/// The sizes that a node lists: an integer, a sequence or a tuple of them, or a static that is one.
fn sizes(node: NodeRef<'_>, integer: &impl Fn(usize) -> Option<u64>) -> Option<Vec<usize>> {
    let node = node.inside_newtypes();
    if let Some(value) = node.static_value() {
        return dims(value);
    }
    let leaves = node.leaf_range();
    let all = || {
        leaves.clone().try_fold(Vec::new(), |mut all, leaf| {
            all.push(usize::try_from(integer(leaf)?).ok()?);
            Some(all)
        })
    };
    if leaves.len() <= MAX_DIMS && is_list(node) { all() } else { None }
}

/// The type that a variant of burn's `DType` names, and the kind of its numbers in memory. `None`
/// for quantized numbers, and for booleans of 32 bits.
fn dtype_of_variant(node: NodeRef<'_>) -> Option<(Dtype, LeafKind)> {
    let named =
        |dtype: &Dtype| node.variant().is_some_and(|name| dtype.name().eq_ignore_ascii_case(name));
    match (node.kind(), node.variant()?) {
        (NodeKind::UnitVariant, "Flex32") => Some((Dtype::F32, LeafKind::F32)),
        (NodeKind::UnitVariant, "F16") => Some((Dtype::F16, LeafKind::U16)),
        (NodeKind::UnitVariant, "BF16") => Some((Dtype::Bf16, LeafKind::U16)),
        (NodeKind::UnitVariant, _) => {
            let dtype = Dtype::ALL.iter().copied().find(named)?;
            let is_of_it = |kind: &LeafKind| Dtype::of_kind(*kind) == Some(dtype);
            LeafKind::ALL.iter().copied().find(is_of_it).map(|kind| (dtype, kind))
        }
        (NodeKind::NewtypeVariant, "Bool") => {
            let store = node.child(0).filter(|store| store.num_leaves() == 0)?;
            (store.variant() != Some("U32")).then_some((Dtype::Bool, LeafKind::Bool))
        }
        _ => None,
    }
}
