//! The types of elements, as headers name them.

use std::sync::Arc;

use treedef_pytrees::__private::{Parser, PyKey};

use crate::bug::OrBug;
use crate::datetime::DatetimeUnit;
use crate::descriptor::{ElementType, NumberType};
use crate::error::{Error, ErrorKind, Result, quoted};
use crate::formats::npy::read_options::ReadOptions;
use crate::numpy_type::{NumpyKind, NumpyType, TYPES};
use crate::shape::{MAX_DIMS, num_elements};
use crate::tensor::Dtype;

/// The maximum nesting of records.
const MAX_DEPTH: usize = 32;

/// An element: its bytes, and their meaning.
#[derive(Debug)]
pub(super) struct NpyDtype {
    pub(super) size: usize,
    pub(super) kind: NpyDtypeKind,
}

#[derive(Debug)]
pub(super) enum NpyDtypeKind {
    One {
        elements: ElementType,
        /// The size of the groups of bytes in the other order, if they are.
        reversed: usize,
    },
    Record(Vec<RecordField>),
    /// Objects: the array is a pickle, whose size does not follow from the elements. They may be in a
    /// record.
    Pickled {
        is_record: bool,
    },
}

/// A part of a record.
#[derive(Debug)]
pub(super) struct RecordField {
    pub(super) name: String,
    /// Its position in the record.
    pub(super) at: usize,
    pub(super) dims: Vec<usize>,
    pub(super) dtype: NpyDtype,
}

impl RecordField {
    /// The number of bytes, which is checked where the header is read.
    pub(super) fn size(&self) -> usize {
        self.dtype.size.saturating_mul(num_elements(&self.dims).or_bug())
    }
}

impl NpyDtype {
    pub(super) fn unread(name: &str, code: Option<&str>, size: usize, why: String) -> Self {
        NpyDtype {
            size,
            kind: NpyDtypeKind::One { elements: unread(name, code, size, why), reversed: 0 },
        }
    }

    fn of(kind: NumpyKind, name: String, code: String, size: usize, reversed: usize) -> Self {
        let code = Some(code);
        let elements = ElementType::Numpy(Arc::new(NumpyType { name, code, size, kind }));
        NpyDtype { size, kind: NpyDtypeKind::One { elements, reversed } }
    }

    /// The name for messages.
    pub(super) fn name(&self) -> &str {
        match &self.kind {
            NpyDtypeKind::One { elements, .. } => elements.name(),
            NpyDtypeKind::Record(_) => "record",
            NpyDtypeKind::Pickled { .. } => "object",
        }
    }

    /// Parses a type: a text, or a list of fields.
    pub(super) fn read(
        parser: &mut Parser<'_>,
        reading: &ReadOptions,
        depth: usize,
    ) -> Result<Self> {
        if parser.eat("[") {
            return NpyDtype::record(parser, reading, depth);
        }
        match parser.key(0)? {
            PyKey::Str(descr) => NpyDtype::named(&descr, reading),
            other => {
                let what = format!("{} is not a type of elements", quoted(&other.to_string()));
                Err(ErrorKind::Malformed(what).into())
            }
        }
    }

    /// Parses the fields after `[`: `('x', '<f4')`, `(('title', 'x'), '<f4', (3,))`.
    fn record(parser: &mut Parser<'_>, reading: &ReadOptions, depth: usize) -> Result<Self> {
        if depth >= MAX_DEPTH {
            let what = format!("records nested deeper than {MAX_DEPTH} levels");
            return Err(ErrorKind::limit("levels", what).into());
        }
        let (mut fields, mut size, mut is_pickled) = (Vec::new(), 0_usize, false);
        let mut comma = true;
        while !parser.eat("]") {
            if !comma {
                return Err(parser.expected("`,` or `]`").into());
            }
            if !parser.eat("(") {
                return Err(parser.expected("`(`").into());
            }
            let name = match parser.key(0)? {
                PyKey::Str(name) => name,
                PyKey::Tuple(names) => match names.into_iter().next_back() {
                    Some(PyKey::Str(name)) => name,
                    _ => return Err(parser.expected("a name before").into()),
                },
                _ => return Err(parser.expected("a name before").into()),
            };
            if !parser.eat(",") {
                return Err(parser.expected("`,`").into());
            }
            let dtype = NpyDtype::read(parser, reading, depth + 1)?;
            let mut dims = Vec::new();
            let mut is_closed = parser.eat(",") && parser.eat(")") || parser.eat(")");
            if !is_closed {
                dims = read_shape(match parser.key(0)? {
                    one @ PyKey::Int(_) => PyKey::Tuple(vec![one]),
                    dims => dims,
                })?;
                parser.eat(",");
                is_closed = parser.eat(")");
            }
            if !is_closed {
                return Err(parser.expected("`)`").into());
            }
            comma = parser.eat(",");
            is_pickled |= matches!(dtype.kind, NpyDtypeKind::Pickled { .. });
            let count = num_elements(&dims);
            let end = count.and_then(|count| dtype.size.checked_mul(count)?.checked_add(size));
            let end = end.ok_or_else(|| {
                Error::from(ErrorKind::Malformed("records of more than 2⁶⁴ bytes".to_owned()))
            })?;
            // Without a name, it only fills a hole.
            if !name.is_empty() {
                fields.push(RecordField { name, at: size, dims, dtype });
            }
            size = end;
        }
        let kind = if is_pickled {
            NpyDtypeKind::Pickled { is_record: true }
        } else {
            NpyDtypeKind::Record(fields)
        };
        Ok(NpyDtype { size, kind })
    }

    fn named(descr: &str, reading: &ReadOptions) -> Result<Self> {
        let shown = quoted(descr);
        let code = descr.trim_start_matches(['<', '>', '|', '=']);
        let is_reversed = match descr.strip_suffix(code).unwrap_or_default() {
            "<" => Some(false),
            ">" => Some(true),
            "" | "=" | "|" => Some(cfg!(target_endian = "big")),
            _ => None,
        };
        let code = if code == "?" { "b1" } else { code };
        let found = TYPES.iter().find(|(_, other, _)| *other == code).map(|(dtype, ..)| *dtype);
        let unknown = || {
            let what = format!(
                "{shown} is not read, only bool, integers, floats up to `f8` and complex numbers"
            );
            Error::from(ErrorKind::Unsupported(what))
        };
        let is_reversed = is_reversed.ok_or_else(unknown)?;
        if let Some(dtype) =
            found.filter(|dtype| *dtype != Dtype::Bf16 || reading.bf16 && !is_reversed)
        {
            let part = if matches!(dtype, Dtype::C64 | Dtype::C128) { 2 } else { 1 };
            let reversed = if is_reversed { dtype.size() / part } else { 0 };
            let elements = ElementType::Number(NumberType::Dtype(dtype));
            return Ok(NpyDtype {
                size: dtype.size(),
                kind: NpyDtypeKind::One { elements, reversed },
            });
        }
        let reversed = |size| if is_reversed { size } else { 0 };
        let (letter, number) = code.split_at_checked(1).ok_or_else(unknown)?;
        let size = || number.parse::<usize>().ok().ok_or_else(unknown);
        let unit = || {
            let unit = number.strip_prefix('8').ok_or_else(unknown)?;
            let unit =
                unit.strip_prefix('[').and_then(|unit| unit.strip_suffix(']')).unwrap_or(unit);
            Ok::<_, Error>((unit.to_owned(), DatetimeUnit::parse(unit).ok_or_else(unknown)?))
        };
        let with_unit = |name: &str, unit: &str| match unit {
            "" => name.to_owned(),
            unit => format!("{name}[{unit}]"),
        };
        let dtype = match letter {
            "U" => {
                let size = size()?.checked_mul(4).ok_or_else(unknown)?;
                NpyDtype::of(
                    NumpyKind::Str,
                    "str".to_owned(),
                    format!("<{code}"),
                    size,
                    reversed(4),
                )
            }
            "S" | "a" => {
                let size = size()?;
                NpyDtype::of(NumpyKind::Bytes, "bytes".to_owned(), format!("|S{size}"), size, 0)
            }
            "M" => {
                let (text, unit) = unit()?;
                let name = with_unit("datetime64", &text);
                NpyDtype::of(NumpyKind::Date(unit), name, format!("<{code}"), 8, reversed(8))
            }
            "m" => {
                let (text, unit) = unit()?;
                let name = with_unit("timedelta64", &text);
                NpyDtype::of(NumpyKind::Span(unit), name, format!("<{code}"), 8, reversed(8))
            }
            "O" => NpyDtype { size: 0, kind: NpyDtypeKind::Pickled { is_record: false } },
            "V" => {
                let why = match size()? {
                    2 => {
                        "two bytes of any kind: if they are bfloat16, see `npy::ReadOptions::bf16`"
                    }
                    _ => "bytes of any kind, as numpy writes types that it does not have",
                };
                NpyDtype::unread("void", Some(descr), size()?, format!("{shown} is {why}"))
            }
            "f" | "c" if matches!(size()?, 12 | 16 | 24 | 32) => {
                let name = if letter == "f" { "float" } else { "complex" };
                let name = format!("{name}{}", 8 * size()?); // at most 256
                let why = format!("{shown} is not read, only floats up to `f8`");
                NpyDtype::unread(&name, Some(descr), size()?, why)
            }
            _ => return Err(unknown()),
        };
        // The number of elements is not bounded.
        Ok(match (&dtype.kind, dtype.size) {
            (NpyDtypeKind::One { elements, .. }, 0) => {
                NpyDtype::unread(elements.name(), Some(descr), 0, format!("{shown} has no bytes"))
            }
            _ => dtype,
        })
    }
}

/// Elements that cannot be read, with the reason.
pub(super) fn unread(name: &str, code: Option<&str>, size: usize, why: String) -> ElementType {
    let (name, code, kind) = (name.to_owned(), code.map(str::to_owned), NumpyKind::Unread(why));
    ElementType::Numpy(Arc::new(NumpyType { name, code, size, kind }))
}

/// The reason why objects are not read.
pub(super) fn pickled() -> String {
    let what =
        "the elements are objects, which are pickled: save numbers, as by `array.astype(float)`";
    what.to_owned()
}

/// Checks that an array in a field has no more dimensions than numpy allows.
pub(super) fn joined(shape: &[usize], dims: &[usize]) -> Result<Vec<usize>> {
    let joined = [shape, dims].concat();
    if joined.len() > MAX_DIMS {
        let what = format!("{} dimensions; numpy has at most {MAX_DIMS}", joined.len());
        return Err(ErrorKind::Malformed(what).into());
    }
    Ok(joined)
}

/// The sizes of the dimensions, which are a tuple.
pub(super) fn read_shape(key: PyKey) -> Result<Vec<usize>> {
    let wrong = |what: String| Error::from(ErrorKind::Malformed(what));
    let PyKey::Tuple(dims) = &key else {
        return Err(wrong(format!("the shape {} is not a tuple", quoted(&key.to_string()))));
    };
    if dims.len() > MAX_DIMS {
        return Err(wrong(format!("{} dimensions; numpy has at most {MAX_DIMS}", dims.len())));
    }
    let dim = |dim: &PyKey| match dim {
        PyKey::Int(dim) => usize::try_from(*dim).ok(),
        _ => None,
    };
    dims.iter()
        .map(|size| {
            dim(size).ok_or_else(|| {
                wrong(format!("{} is not the size of a dimension", quoted(&size.to_string())))
            })
        })
        .collect()
}
