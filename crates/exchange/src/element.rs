//! The types of leaves whose blocks are tensors.

use std::borrow::Cow;

use treedef::{Array, Leaf, LeafKind, LeafType, NodeKind, NodeRef, Tree};

use crate::tensor::Dtype;

/// A type of leaves that can be in a [`Tensor`](crate::Tensor): `bool`, an integer of up to 64
/// bits, a float, or [`Leaf`], where each block has the type of its leaves.
///
/// No other type can have it.
pub trait Element: LeafType {
    /// The dtype of a block of leaves, which have one kind: also of no leaves, if all have it.
    #[doc(hidden)]
    fn dtype(leaves: &[Self]) -> Option<Dtype>;

    /// The bytes of a block of leaves, borrowed where they are as in a file.
    #[doc(hidden)]
    fn bytes(leaves: &[Self]) -> Cow<'_, [u8]>;

    /// Appends leaves. Returns whether their type and their bytes fit.
    #[doc(hidden)]
    fn read(dtype: Dtype, bytes: &[u8], into: &mut Vec<Self>) -> bool;

    /// A leaf that is in no tensor.
    #[doc(hidden)]
    fn from_rest(leaf: Leaf) -> Option<Self>;

    /// The tree with each number of an array as a leaf, if there are arrays whose numbers are not
    /// one tensor as they are.
    #[doc(hidden)]
    fn without_arrays(_: &Tree<Self>) -> treedef::Result<Option<Tree<Self>>> {
        Ok(None)
    }

    /// The leaf, if it is of a kind that is in no tensor.
    #[doc(hidden)]
    fn as_leaf(&self) -> Option<&Leaf> {
        None
    }
}

macro_rules! numbers {
    ($($dtype:ident $type:ty;)*) => {
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
                if let [Leaf::Opaque(value)] = leaves {
                    return value.as_array().and_then(array_bytes).unwrap_or_default();
                }
                let size = Leaf::dtype(leaves).map_or(0, Dtype::size);
                let mut bytes = Vec::with_capacity(leaves.len().saturating_mul(size));
                for leaf in leaves {
                    match leaf {
                        Leaf::Bool(value) => bytes.push(u8::from(*value)),
                        $(Leaf::$dtype(value) => bytes.extend_from_slice(&value.to_le_bytes()),)*
                        _ => {} // such a block has no dtype
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

            fn from_rest(leaf: Leaf) -> Option<Self> {
                Some(leaf)
            }

            fn without_arrays(tree: &Tree<Self>) -> treedef::Result<Option<Tree<Self>>> {
                let has_others = tree.leaves().iter().any(|leaf| match leaf {
                    Leaf::Opaque(value) => value.as_array().is_some_and(|array| {
                        array.is_column_major()
                            || array_bytes(array).is_none()
                            || !is_block(value.root(), array.shape())
                    }),
                    _ => false,
                });
                has_others.then(|| tree.clone().without_arrays()).transpose()
            }

            fn as_leaf(&self) -> Option<&Leaf> {
                Some(self)
            }
        }

        /// The numbers of an array. None of complex ones, whose parts are leaves.
        fn array_bytes(array: &Array) -> Option<Cow<'_, [u8]>> {
            match array.dtype() {
                Dtype::Bool => array.as_slice().map(bool::bytes),
                $(Dtype::$dtype => array.as_slice().map(<$type>::bytes),)*
                Dtype::F16 | Dtype::Bf16 => array.as_slice().map(u16::bytes),
                _ => None,
            }
        }
    };
}

/// Whether a structure is one block of this shape.
fn is_block(root: NodeRef<'_>, shape: &[usize]) -> bool {
    let treedef = root.to_treedef();
    let block = treedef.blocks().next();
    block
        .is_some_and(|block| block.shape() == shape && block.leaves().len() == treedef.num_leaves())
}

numbers! {
    U8 u8;
    I8 i8;
    U16 u16;
    I16 i16;
    U32 u32;
    I32 i32;
    U64 u64;
    I64 i64;
    F32 f32;
    F64 f64;
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

    fn from_rest(_: Leaf) -> Option<Self> {
        None
    }
}

/// The type of the half floats in a block: they are the only thing inside newtypes of this name.
pub(crate) fn half_float(block: NodeRef<'_>) -> Option<Dtype> {
    let (mut node, mut above) = (block, block);
    while let Some(child) = node.children().find(|child| child.num_leaves() > 0) {
        (node, above) = (child, node);
    }
    let name = above.name().filter(|_| above.kind() == NodeKind::NewtypeStruct);
    match name {
        Some("f16") => Some(Dtype::F16),
        Some("bf16") => Some(Dtype::Bf16),
        _ => None,
    }
}
