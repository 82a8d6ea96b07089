//! The types of the elements of arrays.

use std::fmt;

use crate::model::{Dtype, LeafKind};

/// The table of the types: the name, the size in bytes, and the kind of leaf whose numbers they
/// are.
macro_rules! dtypes {
    ($($dtype:ident $name:literal $bytes:literal $($kind:ident)?;)*) => {
        impl Dtype {
            /// All types.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$dtype),*];

            /// The name in JAX's notation, e.g. `f32`, `bf16`, `c64`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Dtype::$dtype => $name,)*
                }
            }

            /// The size of an element in bytes.
            #[inline]
            pub fn size(self) -> usize {
                match self {
                    $(Dtype::$dtype => $bytes,)*
                }
            }

            /// The type of leaves of a kind. `None` for texts, characters and 128-bit integers.
            pub(crate) fn of_kind(kind: LeafKind) -> Option<Self> {
                match kind {
                    $($(LeafKind::$kind => Some(Dtype::$dtype),)?)*
                    _ => None,
                }
            }
        }
    };
}

dtypes! {
    Bool "bool" 1 Bool;
    U8 "u8" 1 U8;
    I8 "i8" 1 I8;
    U16 "u16" 2 U16;
    I16 "i16" 2 I16;
    U32 "u32" 4 U32;
    I32 "i32" 4 I32;
    U64 "u64" 8 U64;
    I64 "i64" 8 I64;
    F16 "f16" 2;
    Bf16 "bf16" 2;
    F32 "f32" 4 F32;
    F64 "f64" 8 F64;
    C64 "c64" 8;
    C128 "c128" 16;
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
