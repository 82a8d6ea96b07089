//! numpy's names for types of numbers, and its other types of elements.

use treedef::Leaf;

use crate::datetime::DatetimeUnit;
use crate::tensor::Dtype;

/// numpy's names for the types: in the header of a file, and elsewhere.
pub(crate) const TYPES: [(Dtype, &str, &str); 15] = [
    (Dtype::Bool, "b1", "bool"),
    (Dtype::U8, "u1", "uint8"),
    (Dtype::I8, "i1", "int8"),
    (Dtype::U16, "u2", "uint16"),
    (Dtype::I16, "i2", "int16"),
    (Dtype::U32, "u4", "uint32"),
    (Dtype::I32, "i4", "int32"),
    (Dtype::U64, "u8", "uint64"),
    (Dtype::I64, "i8", "int64"),
    (Dtype::F16, "f2", "float16"),
    (Dtype::Bf16, "V2", "bfloat16"), // two bytes of any kind, named by `ml_dtypes`
    (Dtype::F32, "f4", "float32"),
    (Dtype::F64, "f8", "float64"),
    (Dtype::C64, "c8", "complex64"),
    (Dtype::C128, "c16", "complex128"),
];

/// A type of elements that are not numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NumpyType {
    /// `str`, `datetime64[ns]`
    pub(crate) name: String,
    /// The name in numpy's files, in our byte order: `<U3`. `None` for a type that is not an array.
    pub(crate) code: Option<String>,
    /// The bytes of an element.
    pub(crate) size: usize,
    pub(crate) kind: NumpyKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NumpyKind {
    /// Four bytes for each character.
    Str,
    Bytes,
    Date(DatetimeUnit),
    Span(DatetimeUnit),
    /// Not read, with the reason.
    Unread(String),
}

impl NumpyType {
    /// An element as a leaf, or the reason why it cannot be one.
    pub(crate) fn leaf(&self, bytes: &[u8]) -> Result<Leaf, String> {
        let integer = || bytes.try_into().map_or(i64::MIN, i64::from_le_bytes); // 8 bytes
        match &self.kind {
            NumpyKind::Str => {
                let codes = bytes.as_chunks().0.iter().map(|code| u32::from_le_bytes(*code));
                let text: Option<String> = codes.map(char::from_u32).collect();
                let text = text.ok_or("a text is not Unicode: it has half of a character")?;
                Ok(text.trim_end_matches('\0').into())
            }
            NumpyKind::Bytes => {
                let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                let bytes = bytes.get(..end).unwrap_or_default();
                Ok(match str::from_utf8(bytes) {
                    Ok(text) => text.into(),
                    Err(_) => Leaf::Bytes(bytes.into()),
                })
            }
            NumpyKind::Date(unit) => Ok(unit.date(integer()).as_str().into()),
            NumpyKind::Span(unit) => Ok(unit.span(integer()).as_str().into()),
            NumpyKind::Unread(why) => Err(why.clone()),
        }
    }
}
