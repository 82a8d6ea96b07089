//! The types of leaves whose blocks are tensors.

use std::borrow::Cow;

use treedef::__private::ArrayFields;
use treedef::{Array, Dtype, Edit, Leaf, LeafKind, LeafType, NodeKind, NodeRef, Tree};

use crate::bug::OrBug;

/// A type of leaves that can be in a [`Tensor`](crate::Tensor): `bool`, an integer of up to 64
/// bits, a float, or [`Leaf`], where each block has the type of its leaves.
///
/// The trait is sealed.
pub trait Element: LeafType {
    /// The dtype of a block of leaves of one kind, even of an empty block if the type has only one
    /// kind.
    #[doc(hidden)]
    fn dtype(leaves: &[Self]) -> Option<Dtype>;

    /// The bytes of a block of leaves, borrowed if they are in memory as in a file.
    #[doc(hidden)]
    fn bytes(leaves: &[Self]) -> Cow<'_, [u8]>;

    /// Appends leaves. Returns whether their type and their bytes fit.
    #[doc(hidden)]
    fn read(dtype: Dtype, bytes: &[u8], into: &mut Vec<Self>) -> bool;

    /// The value of an integer leaf.
    #[doc(hidden)]
    fn as_size(&self) -> Option<u64>;

    /// A leaf beside the numbers of an array.
    #[doc(hidden)]
    fn from_integer(leaf: Leaf) -> Option<Self>;

    /// Whether all leaves have the kind of the first.
    #[doc(hidden)]
    fn have_one_kind(_: &[Self]) -> bool {
        true
    }

    /// A leaf that is in no tensor.
    #[doc(hidden)]
    fn from_rest(leaf: Leaf) -> Option<Self>;

    /// The tree in which arrays that are not one tensor are replaced by a leaf for each number, if there
    /// are such arrays.
    #[doc(hidden)]
    fn without_arrays(_: &Tree<Self>) -> treedef::Result<Option<Tree<Self>>> {
        Ok(None)
    }

    /// The leaf, if no tensor can hold its kind.
    #[doc(hidden)]
    fn as_leaf(&self) -> Option<&Leaf> {
        None
    }
}

macro_rules! integers {
    (integer $type:ty) => {
        fn as_size(&self) -> Option<u64> {
            (*self).try_into().ok()
        }

        fn from_integer(leaf: Leaf) -> Option<Self> {
            leaf.as_u64()?.try_into().ok()
        }
    };
    (other $type:ty) => {
        fn as_size(&self) -> Option<u64> {
            None
        }

        fn from_integer(_: Leaf) -> Option<Self> {
            None
        }
    };
}

macro_rules! numbers {
    ($($dtype:ident $type:ty, $integer:ident;)*) => {
        $(impl Element for $type {
            fn dtype(_: &[Self]) -> Option<Dtype> {
                Some(Dtype::$dtype)
            }

            fn bytes(leaves: &[Self]) -> Cow<'_, [u8]> {
                if cfg!(target_endian = "little") {
                    Cow::Borrowed(bytemuck::cast_slice(leaves)) // any bytes are a `[u8]`
                } else {
                    leaves.iter().flat_map(|leaf| leaf.to_le_bytes()).collect()
                }
            }

            fn read(dtype: Dtype, bytes: &[u8], into: &mut Vec<Self>) -> bool {
                let (numbers, rest) = bytes.as_chunks();
                into.extend(numbers.iter().map(|number| <$type>::from_le_bytes(*number)));
                // A half float is the bits of a `u16` inside a newtype.
                let is_half = matches!(dtype, Dtype::F16 | Dtype::Bf16);
                (dtype == Dtype::$dtype || is_half && Dtype::$dtype == Dtype::U16) && rest.is_empty()
            }

            integers! { $integer $type }

            fn from_rest(_: Leaf) -> Option<Self> {
                None
            }
        })*

        impl Element for Leaf {
            fn dtype(leaves: &[Self]) -> Option<Dtype> {
                if let Some(array) = leaves.first()?.as_array() {
                    return Some(array.dtype());
                }
                match leaves.first()?.kind() {
                    LeafKind::Bool => Some(Dtype::Bool),
                    $(LeafKind::$dtype => Some(Dtype::$dtype),)*
                    _ => None,
                }
            }

            fn bytes(leaves: &[Self]) -> Cow<'_, [u8]> {
                match leaves {
                    [Leaf::Opaque(value)] => {
                        return value.as_array().and_then(array_bytes).or_bug();
                    }
                    [Leaf::Bytes(bytes)] => return Cow::Borrowed(bytes), // the bytes of an array
                    _ => {}
                }
                let size = Leaf::dtype(leaves).map_or(0, Dtype::size);
                let mut bytes = Vec::with_capacity(leaves.len().saturating_mul(size));
                for leaf in leaves {
                    match leaf {
                        Leaf::Bool(value) => bytes.push(u8::from(*value)),
                        $(Leaf::$dtype(value) => bytes.extend_from_slice(&value.to_le_bytes()),)*
                        _ => debug_assert!(false, "a leaf without a dtype in a tensor"),
                    }
                }
                bytes.into()
            }

            fn read(dtype: Dtype, bytes: &[u8], into: &mut Vec<Self>) -> bool {
                fn read<L: Element + Into<Leaf>>(
                    dtype: Dtype,
                    bytes: &[u8],
                    into: &mut Vec<Leaf>,
                ) -> bool {
                    let mut leaves = Vec::<L>::new();
                    let fits = L::read(dtype, bytes, &mut leaves);
                    into.extend(leaves.into_iter().map(L::into));
                    fits
                }
                match dtype {
                    Dtype::Bool => read::<bool>(dtype, bytes, into),
                    $(Dtype::$dtype => read::<$type>(dtype, bytes, into),)*
                    Dtype::F16 | Dtype::Bf16 => read::<u16>(dtype, bytes, into),
                    _ => false, // complex numbers
                }
            }

            fn as_size(&self) -> Option<u64> {
                self.as_u64()
            }

            fn from_integer(leaf: Leaf) -> Option<Self> {
                Some(leaf)
            }

            fn have_one_kind(leaves: &[Self]) -> bool {
                leaves.windows(2).all(|pair| matches!(pair, [a, b] if a.kind() == b.kind()))
            }

            fn from_rest(leaf: Leaf) -> Option<Self> {
                Some(leaf)
            }

            fn without_arrays(tree: &Tree<Self>) -> treedef::Result<Option<Tree<Self>>> {
                let arrays = tree.leaves().iter().filter_map(|leaf| match leaf {
                    Leaf::Opaque(value) => Some((value.as_array()?, value.root())),
                    _ => None,
                });
                let mut arrays = arrays.peekable();
                let has_others = arrays.peek().is_some() && has_array_fields(tree.treedef().root())
                    || arrays.any(|(array, root)| is_other(array, root));
                if !has_others {
                    return Ok(None);
                }
                // The fields of a struct may be arrays, and the struct may be one only with its
                // elements.
                let mut fields = 0..0;
                let edited = tree.clone().edit(|_, node, leaves| {
                    if node.kind() == NodeKind::Struct && ArrayFields::of(node.fields()).is_some() {
                        fields = node.leaf_range();
                    }
                    Ok(match leaves.first().filter(|_| node.is_leaf()) {
                        Some(Leaf::Opaque(value)) => match value.as_array() {
                            Some(array)
                                if is_other(array, value.root())
                                    || fields.contains(&node.leaf_range().start) =>
                            {
                                Edit::Replace(array.to_tree())
                            }
                            _ => Edit::Keep,
                        },
                        _ => Edit::Keep,
                    })
                });
                edited.map(Some)
            }

            fn as_leaf(&self) -> Option<&Leaf> {
                Some(self)
            }
        }

        /// Whether an array is a tensor only if each of its numbers is a leaf.
        fn is_other(array: &Array, root: NodeRef<'_>) -> bool {
            array_bytes(array).is_none() || !is_tensor(array, root)
        }

        /// The numbers of an array; two for each complex one.
        fn array_bytes(array: &Array) -> Option<Cow<'_, [u8]>> {
            match array.dtype() {
                Dtype::Bool => array.as_slice().map(bool::bytes),
                $(Dtype::$dtype => array.as_slice().map(<$type>::bytes),)*
                Dtype::F16 | Dtype::Bf16 => array.as_slice().map(u16::bytes),
                Dtype::C64 => array.as_slice().map(f32::bytes),
                Dtype::C128 => array.as_slice().map(f64::bytes),
                _ => None,
            }
        }
    };
}

numbers! {
    U8 u8, integer;
    I8 i8, integer;
    U16 u16, integer;
    I16 i16, integer;
    U32 u32, integer;
    I32 i32, integer;
    U64 u64, integer;
    I64 i64, integer;
    F32 f32, other;
    F64 f64, other;
}

impl Element for bool {
    fn dtype(_: &[Self]) -> Option<Dtype> {
        Some(Dtype::Bool)
    }

    fn bytes(leaves: &[Self]) -> Cow<'_, [u8]> {
        Cow::Borrowed(bytemuck::cast_slice(leaves))
    }

    fn read(dtype: Dtype, bytes: &[u8], into: &mut Vec<Self>) -> bool {
        into.extend(bytes.iter().map(|byte| *byte == 1));
        dtype == Dtype::Bool && bytes.iter().all(|byte| *byte <= 1)
    }

    integers! { other bool }

    fn from_rest(_: Leaf) -> Option<Self> {
        None
    }
}

/// Whether a struct of a structure has the fields of an array.
fn has_array_fields(root: NodeRef<'_>) -> bool {
    let mut nodes = vec![root];
    while let Some(node) = nodes.pop() {
        if node.kind() == NodeKind::Struct && ArrayFields::of(node.fields()).is_some() {
            return true;
        }
        nodes.extend(node.runs().map(|(child, _)| child).filter(|child| child.num_leaves() > 0));
    }
    false
}

/// Whether an array that is one leaf is a tensor without changes: a matrix stored by columns, or an
/// array whose numbers form one block of the structure.
fn is_tensor(array: &Array, root: NodeRef<'_>) -> bool {
    if array.is_column_major() {
        return true;
    }
    let root = root.inside_newtypes();
    let fields = ArrayFields::of(root.fields()).filter(|_| root.kind() == NodeKind::Struct);
    let is_complex = matches!(array.dtype(), Dtype::C64 | Dtype::C128);
    let parts = is_complex.then_some(2);
    match fields {
        Some(fields) if fields.dtype().is_some() => true,
        Some(fields) => {
            let length = array.shape().iter().product();
            let data = root.child(fields.data());
            data.is_some_and(|data| is_block(data, [length].into_iter().chain(parts)))
        }
        None => is_block(root, array.shape().iter().copied().chain(parts)),
    }
}

/// Whether a structure is one block of this shape.
fn is_block(root: NodeRef<'_>, shape: impl Iterator<Item = usize>) -> bool {
    let treedef = root.to_treedef();
    let mut blocks = treedef.blocks();
    blocks.next().is_some_and(|block| {
        block.shape.iter().copied().eq(shape)
            && block.node.leaf_range().len() == treedef.num_leaves()
    })
}
