//! Named arrays of numbers, as in the files of Python's libraries.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use bytemuck::{AnyBitPattern, NoUninit};
use serde::ser::{Error as _, Serialize, SerializeSeq, SerializeStruct, Serializer};
pub use treedef::Dtype;

use crate::error::{ErrorKind, Result, quoted};
use crate::shape::{display, size_in_bytes};
use crate::structure::is_of_file;

/// An array: the type of its elements, its shape, and its bytes.
///
/// The bytes are little endian and in row-major order: the last index changes fastest. Their number
/// is the product of the shape and the size of an element. They are borrowed from a file or from a
/// tree where that is possible.
#[derive(Clone, PartialEq, Eq)]
pub struct Tensor<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Tensor<'a> {
    /// Makes a tensor from its parts.
    ///
    /// # Errors
    ///
    /// Returns an error when the number of bytes does not fit the type and the shape.
    pub fn new(dtype: Dtype, shape: Vec<usize>, bytes: impl Into<Cow<'a, [u8]>>) -> Result<Self> {
        let bytes = bytes.into();
        if size_in_bytes(dtype, &shape) != Some(bytes.len()) {
            let (shape, found) = (display(dtype, &shape), bytes.len());
            return Err(ErrorKind::Malformed(format!("{found} bytes cannot be {shape}")).into());
        }
        Ok(Tensor { dtype, shape, bytes })
    }

    /// The type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The number of elements in each dimension, outermost first. It is empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// The elements, little endian and in row-major order.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn into_bytes(self) -> Cow<'a, [u8]> {
        self.bytes
    }

    /// The elements as numbers of a type of the same size, without a copy.
    ///
    /// `None` if the size is another, if the bytes are not aligned in memory, or if this machine is
    /// big endian.
    pub fn as_slice<T: AnyBitPattern + NoUninit>(&self) -> Option<&[T]> {
        let fits = size_of::<T>() == self.dtype.size() && cfg!(target_endian = "little");
        bytemuck::try_cast_slice(&self.bytes).ok().filter(|_| fits)
    }

    /// The tensor with its own copy of the bytes.
    pub fn into_owned(self) -> Tensor<'static> {
        Tensor { bytes: Cow::Owned(self.bytes.into_owned()), ..self }
    }
}

/// `f32[3, 4]`
impl fmt::Display for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&display(self.dtype, &self.shape))
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({self})")
    }
}

/// Serializes the numbers as nested sequences. Half floats are newtypes `f16` and `bf16` around
/// their bits, like the types of the crate `half`, and complex numbers are structs `{ re, im }`. A
/// tensor without elements is an empty sequence, with any other dimensions.
///
/// ```
/// use treedef::Flattener;
/// use treedef_tensors::{Dtype, Tensor};
///
/// let tensor = Tensor::new(Dtype::Bf16, vec![2, 1], vec![0x80, 0x3f, 0, 0x40])?;
/// let tree = Flattener::new().tree(&tensor)?;
/// assert_eq!(tree.to_string(), "[[bf16(16256u16)], [bf16(16384u16)]]");
/// assert_eq!(tree.with_arrays()?.to_string(), "[[bf16(16256u16)], [bf16(16384u16)]]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Serialize for Tensor<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.shape.len() > MAX_LEVELS {
            let dims = self.shape.len();
            return Err(S::Error::custom(format_args!(
                "{dims} dimensions, at most {MAX_LEVELS} are written as sequences"
            )));
        }
        let shape = if self.bytes.is_empty() { &[0] } else { self.shape.as_slice() };
        SubTensor { dtype: self.dtype, shape, bytes: &self.bytes }.serialize(serializer)
    }
}

/// The maximum number of dimensions that become nested sequences, because nesting takes stack.
const MAX_LEVELS: usize = 64;

/// A tensor, or a part of it that has all of its last dimensions.
struct SubTensor<'t> {
    dtype: Dtype,
    shape: &'t [usize],
    bytes: &'t [u8],
}

impl Serialize for SubTensor<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SubTensor { dtype, shape, bytes } = *self;
        let Some((dim, shape)) = shape.split_first() else { return self.number(serializer) };
        let mut seq = serializer.serialize_seq(Some(*dim))?;
        // Without elements there is nothing to divide, and the size of a part is not 0 otherwise.
        for bytes in bytes.chunks_exact((bytes.len() / dim.max(&1)).max(1)) {
            seq.serialize_element(&SubTensor { dtype, shape, bytes })?;
        }
        seq.end()
    }
}

impl SubTensor<'_> {
    fn number<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The bytes as a number.
        macro_rules! number {
            ($type:ty, $bytes:expr) => {
                match $bytes.try_into() {
                    Ok(bytes) => <$type>::from_le_bytes(bytes),
                    Err(_) => return Err(S::Error::custom("a number of another size")),
                }
            };
        }
        macro_rules! complex {
            ($type:ty) => {{
                let (re, im) = self.bytes.split_at(self.bytes.len() / 2);
                let mut parts = serializer.serialize_struct("Complex", 2)?;
                parts.serialize_field("re", &number!($type, re))?;
                parts.serialize_field("im", &number!($type, im))?;
                parts.end()
            }};
        }
        match self.dtype {
            Dtype::Bool => match number!(u8, self.bytes) {
                0 => serializer.serialize_bool(false),
                1 => serializer.serialize_bool(true),
                byte => Err(S::Error::custom(format_args!("the byte {byte} is not a bool"))),
            },
            Dtype::U8 => serializer.serialize_u8(number!(u8, self.bytes)),
            Dtype::I8 => serializer.serialize_i8(number!(i8, self.bytes)),
            Dtype::U16 => serializer.serialize_u16(number!(u16, self.bytes)),
            Dtype::I16 => serializer.serialize_i16(number!(i16, self.bytes)),
            Dtype::U32 => serializer.serialize_u32(number!(u32, self.bytes)),
            Dtype::I32 => serializer.serialize_i32(number!(i32, self.bytes)),
            Dtype::U64 => serializer.serialize_u64(number!(u64, self.bytes)),
            Dtype::I64 => serializer.serialize_i64(number!(i64, self.bytes)),
            Dtype::F16 => serializer.serialize_newtype_struct("f16", &number!(u16, self.bytes)),
            Dtype::Bf16 => serializer.serialize_newtype_struct("bf16", &number!(u16, self.bytes)),
            Dtype::F32 => serializer.serialize_f32(number!(f32, self.bytes)),
            Dtype::F64 => serializer.serialize_f64(number!(f64, self.bytes)),
            Dtype::C64 => complex!(f32),
            Dtype::C128 => complex!(f64),
            other => Err(S::Error::custom(format_args!("{other} is not written as numbers"))),
        }
    }
}

/// Named tensors in the order of their file, with the metadata of the file.
///
/// `treedef_tensors::safetensors`, `npz` and `flax` read and write them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensors<'a> {
    /// The tensors with their names, which are distinct.
    pub(crate) tensors: Vec<(String, Tensor<'a>)>,
    /// Keys and texts: the `__metadata__` of a safetensors file.
    pub(crate) metadata: Vec<(String, String)>,
}

impl<'a> Tensors<'a> {
    /// Makes tensors from names and arrays, without metadata.
    ///
    /// # Errors
    ///
    /// Returns an error when two names are the same.
    pub fn new(tensors: impl IntoIterator<Item = (String, Tensor<'a>)>) -> Result<Self> {
        let tensors: Vec<_> = tensors.into_iter().collect();
        let mut seen = HashSet::new();
        match tensors.iter().find(|(name, _)| !seen.insert(name)) {
            Some((name, _)) => {
                let what = format!("two tensors have the name {}", quoted(name));
                Err(ErrorKind::Malformed(what).into())
            }
            None => Ok(Tensors { tensors, metadata: Vec::new() }),
        }
    }

    /// Adds a text to the metadata, and replaces one with the same key. Some readers expect
    /// `"format"` to be `"pt"`.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        let (key, text) = (key.into(), text.into());
        self.metadata.retain(|(other, _)| *other != key);
        self.metadata.push((key, text));
        self
    }

    /// Ties two tensors: one is stored, and the other becomes an alias, which is a name of it in
    /// the metadata, as `safetensors.torch.save_model` writes tied weights. A
    /// [`Loader`](crate::Loader) reads both.
    ///
    /// # Errors
    ///
    /// Returns an error when a tensor is missing, when the two differ, or when the metadata cannot have the
    /// alias: it has another text of this name, or the name belongs to the file, such as `format`.
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_tensors::{Tensors, safetensors};
    ///
    /// #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    /// struct Model { wte: [f32; 2], head: [f32; 2] }
    ///
    /// let model = Model { wte: [0.5, 1.5], head: [0.5, 1.5] };
    /// let tree = Tree::of(&model)?;
    /// let tensors = Tensors::of(&tree)?.tie("head", "wte")?;
    /// assert_eq!((tensors.iter().len(), tensors.metadata("head")), (1, Some("wte")));
    /// let file = safetensors::to_bytes(&tensors)?;
    /// assert_eq!(safetensors::from_bytes(&file)?.load::<Model>()?, model);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tie(mut self, alias: &str, stored: &str) -> Result<Self> {
        let missing = |name: &str| {
            ErrorKind::Structure(format!("there is no tensor {}, to be tied", quoted(name)))
        };
        let both = (self.get(alias), self.get(stored));
        match both {
            (None, _) => return Err(missing(alias).into()),
            (_, None) => return Err(missing(stored).into()),
            (Some(one), Some(other)) if one != other || alias == stored => {
                let (alias, stored) = (quoted(alias), quoted(stored));
                let what = format!(
                    "{alias}, {one}, cannot be tied to {stored}, {other}: two equal tensors can be"
                );
                return Err(ErrorKind::Structure(what).into());
            }
            _ if is_of_file(alias) => return Err(ErrorKind::Reserved(alias.to_owned()).into()),
            _ => {}
        }
        if let Some(text) = self.metadata(alias).filter(|text| *text != stored) {
            let (alias, text) = (quoted(alias), quoted(text));
            let what = format!("{alias} cannot be tied: its text in the metadata is {text}");
            return Err(ErrorKind::Structure(what).into());
        }
        let names: HashSet<&str> = self.tensors.iter().map(|(name, _)| name.as_str()).collect();
        let is_alias = |key: &str| !is_of_file(key) && !names.contains(key);
        let tied = |(key, text): &&mut (String, String)| text == alias && is_alias(key);
        for (_, text) in self.metadata.iter_mut().filter(tied) {
            stored.clone_into(text); // it was tied to the alias
        }
        self.tensors.retain(|(name, _)| name != alias);
        Ok(self.with_metadata(alias, stored))
    }

    /// The tensors with their own copies of the bytes.
    #[must_use]
    pub fn into_owned(self) -> Tensors<'static> {
        let owned = self.tensors.into_iter().map(|(name, tensor)| (name, tensor.into_owned()));
        Tensors { tensors: owned.collect(), metadata: self.metadata }
    }

    /// The tensors with their names, in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor<'a>)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The tensor of this name.
    pub fn get(&self, name: &str) -> Option<&Tensor<'a>> {
        self.tensors.iter().find(|(other, _)| other == name).map(|(_, tensor)| tensor)
    }

    /// The keys of the metadata, in the order of the file.
    pub fn metadata_keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.metadata.iter().map(|(key, _)| key.as_str())
    }

    /// The text of this key in the metadata.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(other, _)| other == key).map(|(_, text)| text.as_str())
    }
}
