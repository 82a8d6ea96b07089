//! The deserializer of a value, by its source: names below a prefix, a slice of a tensor, or nothing.

use treedef::{Leaf, Value};

use crate::bug::OrBug;
use crate::load::entry::is_float;
use crate::load::failure::Failure;
use crate::load::name_scope::NameScope;
use crate::load::primitive::{Primitive, float, too_large};
use crate::load::tensor_slice::{Placeholder, TensorSlice};
use crate::shape::display;
use crate::tensor::Dtype;

/// A source of a value, which deserializes it.
#[derive(Clone)]
pub(crate) enum ValueDeserializer<'de> {
    /// The entries at and below a name.
    Scope(NameScope<'de>),
    Slice(TensorSlice<'de>),
    /// The elements of this number of dimensions as one sequence.
    Flat(TensorSlice<'de>, usize),
    /// Nothing: the name is missing, or its tensor does not fit.
    Placeholder(Box<Placeholder<'de>>),
}

impl<'de> ValueDeserializer<'de> {
    pub(crate) fn name(&self) -> String {
        match self {
            ValueDeserializer::Scope(scope) => scope.name().to_owned(),
            ValueDeserializer::Slice(slice) | ValueDeserializer::Flat(slice, _) => {
                slice.entry.name.to_string()
            }
            ValueDeserializer::Placeholder(placeholder) => placeholder.full_name(),
        }
    }

    /// The tensor that is here, if there is one.
    pub(crate) fn slice(&self) -> Option<TensorSlice<'de>> {
        match self {
            ValueDeserializer::Scope(scope) => scope.tensor(),
            ValueDeserializer::Slice(slice) => Some(*slice),
            ValueDeserializer::Flat(..) | ValueDeserializer::Placeholder(_) => None,
        }
    }

    /// A replacement that shows the requested type if it cannot be provided.
    pub(crate) fn placeholder(&self) -> Placeholder<'de> {
        match self {
            ValueDeserializer::Scope(scope) => {
                Placeholder::new(scope.context, scope.name().to_owned(), scope.depth)
            }
            ValueDeserializer::Slice(slice) | ValueDeserializer::Flat(slice, _) => slice.mismatch(),
            ValueDeserializer::Placeholder(placeholder) => Placeholder::clone(placeholder),
        }
    }

    /// The same without a tensor, for code that needs names.
    pub(crate) fn without_tensor(self) -> Self {
        match self {
            ValueDeserializer::Slice(slice) | ValueDeserializer::Flat(slice, _) => {
                let name = slice.entry.name.to_string();
                ValueDeserializer::Placeholder(Box::new(Placeholder::new(
                    slice.context,
                    name,
                    slice.depth,
                )))
            }
            other => other,
        }
    }

    #[inline]
    pub(crate) fn number<N: Primitive>(self) -> Result<N, Failure> {
        if let ValueDeserializer::Slice(slice) = &self
            && slice.array.dtype == N::DTYPE
            && let Some(number) = slice.bytes().and_then(N::read)
        {
            slice.entry.count_read(1);
            return Ok(number);
        }
        self.number_of_file()
    }

    /// A number of a tensor in a file.
    #[inline(never)]
    fn number_of_file<N: Primitive>(self) -> Result<N, Failure> {
        if let ValueDeserializer::Slice(slice) = &self
            && slice.array.dtype == N::DTYPE
            && let Some(number) = slice.with_bytes(N::read).flatten()
        {
            slice.entry.count_read(1);
            return Ok(number);
        }
        self.other_number()
    }

    /// A number of another type, or a failure.
    #[cold]
    fn other_number<N: Primitive>(self) -> Result<N, Failure> {
        let Some(slice) = self.slice() else {
            self.placeholder().report(Some(N::DTYPE), "");
            return Ok(N::default());
        };
        slice.entry.count_read(1);
        let dtype = slice.array.dtype;
        match slice.with_bytes(|bytes| (N::read(bytes), float(dtype, bytes))) {
            Some((number, _)) if dtype == N::DTYPE => return Ok(number.or_bug()),
            Some((_, value)) if slice.context.convert && is_float(dtype) && is_float(N::DTYPE) => {
                return value
                    .and_then(N::from_f64)
                    .ok_or_else(|| too_large(value.or_bug(), N::DTYPE, self.name()));
            }
            Some(_) => {
                let expected = display(N::DTYPE, &slice.array.dims);
                slice.context.report_mismatch(slice.entry, expected);
            }
            None => slice.mismatch().report(Some(N::DTYPE), ""),
        }
        Ok(N::default())
    }

    pub(crate) fn bool(self) -> Result<bool, Failure> {
        let Some(slice) = self.slice() else {
            self.placeholder().report(Some(Dtype::Bool), "");
            return Ok(false);
        };
        slice.entry.count_read(1);
        match (slice.with_bytes(|bytes| bytes.first().copied()), slice.array.dtype) {
            (Some(Some(0)), Dtype::Bool) => Ok(false),
            (Some(Some(1)), Dtype::Bool) => Ok(true),
            (Some(Some(byte)), Dtype::Bool) => {
                Err(Failure::Custom(format!("the byte {byte} is not a bool"), Some(self.name())))
            }
            (Some(_), _) => {
                slice.context.report_mismatch(slice.entry, display(Dtype::Bool, &slice.array.dims));
                Ok(false)
            }
            (None, _) => {
                slice.mismatch().report(Some(Dtype::Bool), "");
                Ok(false)
            }
        }
    }

    /// The leaf that the metadata has under this name.
    pub(crate) fn text(&self, kind: &'static str) -> Result<Option<Leaf>, Failure> {
        let text = match self {
            ValueDeserializer::Scope(scope) => scope.text(),
            _ => None,
        };
        let Some(text) = text else {
            self.clone().without_tensor().placeholder().report(None, kind);
            return Ok(None);
        };
        let value: Result<Value, treedef::Error> = text.parse();
        let value = value.map_err(|error| Failure::Custom(error.to_string(), Some(self.name())))?;
        Ok(Some(value.into()))
    }
}
