//! The types of numbers by their names in torch and in numpy.

use treedef::Dtype;

use crate::descriptor::NumberType;

/// The names of a type in torch, the class of its storages, and its name in safetensors. Storages
/// without a class of their own are untyped.
const TYPES: [(&str, &str, &str); 23] = [
    ("float64", "DoubleStorage", "F64"),
    ("float32", "FloatStorage", "F32"),
    ("float16", "HalfStorage", "F16"),
    ("bfloat16", "BFloat16Storage", "BF16"),
    ("int64", "LongStorage", "I64"),
    ("int32", "IntStorage", "I32"),
    ("int16", "ShortStorage", "I16"),
    ("int8", "CharStorage", "I8"),
    ("uint8", "ByteStorage", "U8"),
    ("uint8", "UntypedStorage", "U8"),
    ("bool", "BoolStorage", "BOOL"),
    ("complex64", "ComplexFloatStorage", "C64"),
    ("qint8", "QInt8Storage", "I8"),
    ("quint8", "QUInt8Storage", "U8"),
    ("qint32", "QInt32Storage", "I32"),
    ("uint16", "", "U16"),
    ("uint32", "", "U32"),
    ("uint64", "", "U64"),
    ("float8_e4m3fn", "", "F8_E4M3"),
    ("float8_e5m2", "", "F8_E5M2"),
    ("float8_e8m0fnu", "", "F8_E8M0"),
    ("float8_e4m3fnuz", "", "F8_E4M3FNUZ"),
    ("float8_e5m2fnuz", "", "F8_E5M2FNUZ"),
];

/// The type of this name in torch: `torch.float32`.
pub(super) fn of_torch(name: &str) -> Option<NumberType> {
    let name = name.strip_prefix("torch.")?;
    if name == "complex128" {
        return Some(NumberType::Dtype(Dtype::C128));
    }
    let (.., element) = TYPES.iter().find(|(torch, ..)| *torch == name)?;
    NumberType::of_safetensors(element)
}

/// Whether a name in torch is a type or a layout, so that nothing is called.
pub(super) fn is_dtype(name: &str) -> bool {
    const KINDS: [&str; 11] = [
        "float", "bfloat", "complex", "int", "uint", "bool", "qint", "quint", "bits", "sparse",
        "strided",
    ];
    let name = name.strip_prefix("torch.").filter(|name| !name.contains('.'));
    name.is_some_and(|name| KINDS.iter().any(|kind| name.starts_with(kind)))
}

/// The type of the numbers in storages of this class: `torch.FloatStorage`.
pub(super) fn of_storage(class: &str) -> Option<NumberType> {
    let name = ["torch.cuda.", "torch.storage.", "torch."]
        .iter()
        .find_map(|module| class.strip_prefix(module))?;
    if name == "ComplexDoubleStorage" {
        return Some(NumberType::Dtype(Dtype::C128));
    }
    let (.., element) = TYPES.iter().find(|(_, storage, _)| *storage == name)?;
    NumberType::of_safetensors(element)
}

/// The type of this code in numpy: `f4`.
pub(super) fn of_numpy(code: &str) -> Option<Dtype> {
    Some(match code {
        "b1" | "?" => Dtype::Bool,
        "u1" => Dtype::U8,
        "i1" => Dtype::I8,
        "u2" => Dtype::U16,
        "i2" => Dtype::I16,
        "u4" => Dtype::U32,
        "i4" => Dtype::I32,
        "u8" => Dtype::U64,
        "i8" => Dtype::I64,
        "f2" => Dtype::F16,
        "f4" => Dtype::F32,
        "f8" => Dtype::F64,
        "c8" => Dtype::C64,
        "c16" => Dtype::C128,
        _ => return None,
    })
}

/// The bytes of an element.
pub(super) fn size_of(element: NumberType) -> u64 {
    element.bits() / 8
}

/// The bytes of a part of an element that is one number: for a complex number, half of it.
pub(super) fn part_of(element: NumberType) -> u64 {
    match element {
        NumberType::Dtype(Dtype::C64 | Dtype::C128) => size_of(element) / 2,
        _ => size_of(element),
    }
}
