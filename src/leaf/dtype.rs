//! The types of the elements of arrays.

use std::fmt;

use crate::model::{Dtype, LeafKind};

impl Dtype {
    /// All types.
    pub const ALL: [Dtype; 15] = [
        Dtype::Bool,
        Dtype::U8,
        Dtype::I8,
        Dtype::U16,
        Dtype::I16,
        Dtype::U32,
        Dtype::I32,
        Dtype::U64,
        Dtype::I64,
        Dtype::F16,
        Dtype::Bf16,
        Dtype::F32,
        Dtype::F64,
        Dtype::C64,
        Dtype::C128,
    ];

    /// The name in JAX's notation, e.g. `f32`, `bf16`, `c64`.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::Bool => "bool",
            Dtype::U8 => "u8",
            Dtype::I8 => "i8",
            Dtype::U16 => "u16",
            Dtype::I16 => "i16",
            Dtype::U32 => "u32",
            Dtype::I32 => "i32",
            Dtype::U64 => "u64",
            Dtype::I64 => "i64",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
            Dtype::C64 => "c64",
            Dtype::C128 => "c128",
        }
    }

    /// The size of an element in bytes.
    #[inline]
    pub fn size(self) -> usize {
        match self {
            Dtype::Bool | Dtype::U8 | Dtype::I8 => 1,
            Dtype::U16 | Dtype::I16 | Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::U32 | Dtype::I32 | Dtype::F32 => 4,
            Dtype::U64 | Dtype::I64 | Dtype::F64 | Dtype::C64 => 8,
            Dtype::C128 => 16,
        }
    }

    /// The type of leaves of a kind. `None` for texts, characters and 128-bit integers.
    pub fn of_kind(kind: LeafKind) -> Option<Self> {
        Some(match kind {
            LeafKind::Bool => Dtype::Bool,
            LeafKind::U8 => Dtype::U8,
            LeafKind::I8 => Dtype::I8,
            LeafKind::U16 => Dtype::U16,
            LeafKind::I16 => Dtype::I16,
            LeafKind::U32 => Dtype::U32,
            LeafKind::I32 => Dtype::I32,
            LeafKind::U64 => Dtype::U64,
            LeafKind::I64 => Dtype::I64,
            LeafKind::F32 => Dtype::F32,
            LeafKind::F64 => Dtype::F64,
            _ => return None,
        })
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
