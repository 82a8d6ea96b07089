//! The tensors by name, in an order in which those below a name are neighbours.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use crate::error::{ErrorKind, Result};
use crate::literal::is_empty;
use crate::load::named::named;
use crate::load::numbers::{Numbers, Reading};
use crate::load::report::Asked;
use crate::load::rules::{Rule, Stack, parts};
use crate::shape::display;
use crate::source::Source;
use crate::structure::is_of_file;
use crate::tensor::Dtype;

/// What a tensor is in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nested sequences, or the numbers of a matrix of columns.
    Nested,
    /// A struct with an array.
    Struct {
        names: &'static [&'static str],
        /// How many dimensions the elements have. The shape has the others.
        inner: usize,
        /// Whether the shape is one integer.
        is_size: bool,
        /// Whether the type of a boolean says what it is in memory, as later versions of burn do.
        has_store: bool,
    },
    /// A tuple of numbers, rows and columns, of which the type may have one.
    Matrix([bool; 2]),
    /// Not known: a text with this number stands for it.
    Unknown(usize),
}

/// The most elements that are made without bytes, or that the file does not have.
const MADE: usize = 1 << 18;
/// How many more are made for each tensor.
const MADE_FOR_EACH: usize = 64;
/// The most names that are listed as missing before gaps in sequences are skipped.
const ENOUGH: usize = 1_000;

/// A tensor or a text under its name in the type.
pub(crate) struct Entry<'t> {
    pub(crate) name: Cow<'t, str>,
    /// The name in the file.
    pub(crate) original: Cow<'t, str>,
    pub(crate) content: Content<'t>,
    pub(crate) origin: Origin,
    /// Whether the type asked for what is here.
    pub(crate) asked: Cell<bool>,
    /// Whether the type was asked for the shape that it has, as there are no elements.
    pub(crate) is_shape_asked: Cell<bool>,
    /// How many numbers of the tensor were read.
    pub(crate) read: Cell<usize>,
    /// Whether a report says already why the tensor cannot be read.
    pub(crate) reported: Cell<bool>,
    /// Whether serde keeps it in a buffer, which hides what the type asks for.
    pub(crate) buffered: Cell<bool>,
    pub(crate) filled: bool,
    /// The number that tied tensors share.
    pub(crate) tie: Option<usize>,
    /// What it is in a buffer.
    pub(crate) form: Cell<Form>,
}

pub(crate) enum Content<'t> {
    Array(Array<'t>),
    /// A literal of the metadata, or what stands for something without a tensor.
    Text(Cow<'t, str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A tensor or a text that is part of a value.
    Value,
    /// What only the structure in the metadata has.
    Structure,
    /// A text for the whole file.
    File,
}

/// A tensor as the type sees it: maybe transposed, and complex numbers as pairs.
pub(crate) struct Array<'t> {
    pub(crate) tensor: Numbers<'t>,
    pub(crate) dtype: Dtype,
    pub(crate) dims: Vec<usize>,
    /// How far the next index of a dimension is, in elements.
    pub(crate) strides: Vec<usize>,
    /// Whether it is a matrix for a type that has its columns one after the other: then the dimensions
    /// are those of the type, columns first.
    pub(crate) column_major: bool,
}

pub(crate) fn is_float(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64)
}

pub(crate) struct Table<'t> {
    pub(crate) entries: Vec<Entry<'t>>,
    pub(crate) separator: &'t str,
    pub(crate) stacks: Vec<Stack<'t>>,
    pub(crate) convert: bool,
    /// Tensors of another shape or type than those that are taken in their place.
    pub(crate) replaced: Vec<(String, String, String)>,
    pub(crate) missing: RefCell<Vec<(String, Asked)>>,
    pub(crate) changed: RefCell<Vec<(String, String, String)>>,
    pub(crate) reported: RefCell<HashSet<String>>,
    num_reports: Cell<usize>,
    /// The fields that a struct has to have, because serde missed them: the address of its list of
    /// fields, or the name of its place if it has none.
    pub(crate) required: RefCell<BTreeSet<(String, &'static str)>>,
    /// Whether the forms of tensors are tried: a field that is missing then says nothing.
    pub(crate) is_trying: Cell<bool>,
    /// How many elements without bytes may still be made, in all walks.
    left: Cell<usize>,
    pub(crate) reading: Reading,
}

impl<'t> Array<'t> {
    pub(crate) fn new(tensor: Numbers<'t>, transposed: bool) -> Self {
        let mut dims = tensor.shape().to_vec();
        let (dtype, mut stride) = match tensor.dtype() {
            Dtype::C64 => (Dtype::F32, 2),
            Dtype::C128 => (Dtype::F64, 2),
            dtype => (dtype, 1usize),
        };
        let mut strides: Vec<usize> = dims
            .iter()
            .rev()
            .map(|dim| {
                let here = stride;
                stride = stride.saturating_mul(*dim); // saturates only without elements
                here
            })
            .collect();
        strides.reverse();
        if let (true, [.., a, b], [.., c, d]) = (transposed, &mut dims[..], &mut strides[..]) {
            std::mem::swap(a, b);
            std::mem::swap(c, d);
            tensor.read_as_whole();
        }
        if dtype != tensor.dtype() {
            dims.push(2);
            strides.push(1);
        }
        Array { tensor, dtype, dims, strides, column_major: false }
    }

    pub(crate) fn num_numbers(&self) -> usize {
        self.tensor.size() / self.dtype.size()
    }

    /// Swaps the last two dimensions, for a type that has columns.
    pub(crate) fn by_columns(tensor: Numbers<'t>, transposed: bool) -> Self {
        let is_matrix = tensor.shape().len() > 1;
        Array { column_major: true, ..Array::new(tensor, is_matrix && !transposed) }
    }

    /// Whether it has one dimension, beside the parts of complex numbers.
    pub(crate) fn is_vector(&self) -> bool {
        self.tensor.shape().len() == 1
    }

    /// The type and the shape that are printed: those of the file.
    pub(crate) fn display(&self) -> String {
        let mut dims = self.dims.clone();
        let complex = usize::from(self.dtype != self.tensor.dtype());
        let matrix = dims.len().saturating_sub(complex);
        if let (true, Some([.., a, b])) = (self.column_major, dims.get_mut(..matrix)) {
            std::mem::swap(a, b);
        }
        display(self.dtype, &dims)
    }

    /// How far the element with this number is, in row-major order over some of the dimensions.
    pub(crate) fn offset(&self, over: Range<usize>, mut number: usize) -> usize {
        let mut offset = 0;
        let dims = self.dims.get(over.clone()).unwrap_or_default();
        let strides = self.strides.get(over).unwrap_or_default();
        for (dim, stride) in dims.iter().zip(strides).rev() {
            let index = number.checked_rem(*dim).unwrap_or(0);
            offset = index.saturating_mul(*stride).saturating_add(offset);
            number = number.checked_div(*dim).unwrap_or(0);
        }
        offset
    }
}

impl<'t> Entry<'t> {
    pub(crate) fn new(
        name: Cow<'t, str>,
        original: Cow<'t, str>,
        content: Content<'t>,
        origin: Origin,
        tie: Option<usize>,
    ) -> Self {
        Entry {
            name,
            original,
            content,
            origin,
            asked: Cell::new(false),
            is_shape_asked: Cell::new(false),
            read: Cell::new(0),
            reported: Cell::new(false),
            buffered: Cell::new(false),
            filled: false,
            tie,
            form: Cell::new(Form::Nested),
        }
    }

    /// Counts numbers that were read.
    #[inline]
    pub(crate) fn count_read(&self, numbers: usize) {
        self.read.set(self.read.get().saturating_add(numbers));
    }

    /// Takes some of them back.
    pub(crate) fn count_unread(&self, numbers: usize) {
        self.read.set(self.read.get().saturating_sub(numbers));
    }

    /// Takes it for not asked for.
    pub(crate) fn forget(&self) {
        self.asked.set(false);
        self.read.set(0);
    }

    /// How many numbers of the tensor are not in the value. A tensor without numbers has one if it
    /// was not asked for. None are if another report has the tensor.
    pub(crate) fn unread(&self) -> usize {
        let Some(array) = self.array().filter(|_| !self.reported.get()) else { return 0 };
        match array.num_numbers() {
            0 => usize::from(!self.asked.get()),
            // A number that is read twice takes the place of none.
            numbers => numbers.abs_diff(self.read.get()),
        }
    }

    /// Whether some of it is in the value.
    pub(crate) fn is_read(&self) -> bool {
        self.asked.get() || self.read.get() > 0
    }

    pub(crate) fn array(&self) -> Option<&Array<'_>> {
        match &self.content {
            Content::Array(array) => Some(array),
            Content::Text(_) => None,
        }
    }
}

impl<'t> Table<'t> {
    pub(crate) fn new(
        tensors: &'t Source<'t>,
        base: Option<&'t Source<'t>>,
        rules: &'t [Rule],
        stacks: &'t [String],
        (separator, convert): (&'t str, bool),
        partial: bool,
    ) -> Result<Self> {
        let patterns = stacks;
        let stacks: Vec<Stack<'t>> =
            stacks.iter().flat_map(|stack| Stack::all(stack, separator)).collect();
        let mut entries = named(tensors, rules, &stacks, separator)?;
        let mut filling = match base {
            Some(base) => named(base, &[], &stacks, separator)?,
            None => Vec::new(),
        };
        // What the file has no tensor for is filled.
        let filled: HashSet<&str> =
            filling.iter().flat_map(|entry| with_names_above(&entry.name, separator)).collect();
        entries.retain(|entry| {
            entry.origin != Origin::Structure || !filled.contains(entry.name.as_ref())
        });
        let mut replaced = Vec::new();
        if partial {
            let arrays =
                filling.iter().filter_map(|entry| Some((entry.name.as_ref(), entry.array()?)));
            let arrays = arrays.collect();
            entries.retain(|entry| match differs(entry, &arrays, convert) {
                Some(difference) => {
                    replaced.push(difference);
                    false
                }
                None => true,
            });
        }
        let present: HashSet<Cow<'t, str>> =
            entries.iter().map(|entry| entry.name.clone()).collect();
        let is_stacked = |name: &str| stacks.iter().any(|stack| stack.has(name, separator));
        filling.retain(|entry| !present.contains(&entry.name) && !is_stacked(&entry.name));
        entries.extend(filling.into_iter().map(|entry| Entry { filled: true, ..entry }));
        entries.sort_by(|a, b| compare(&a.name, &b.name, separator));
        expect_distinct(&entries)?;
        for pattern in patterns {
            expect_stacked(pattern, &entries, separator)?;
        }
        let reading = Reading::new((!stacks.is_empty()).then_some(entries.len()));
        let made = most_made(entries.len());
        Ok(Table {
            entries,
            separator,
            stacks,
            convert,
            replaced,
            missing: RefCell::default(),
            changed: RefCell::default(),
            reported: RefCell::default(),
            num_reports: Cell::new(0),
            required: RefCell::default(),
            is_trying: Cell::new(false),
            left: Cell::new(made),
            reading,
        })
    }

    /// Forgets what the last walk found, except what is required.
    pub(crate) fn reset(&self) {
        self.missing.borrow_mut().clear();
        self.changed.borrow_mut().clear();
        self.reported.borrow_mut().clear();
        self.reading.begin();
        for entry in &self.entries {
            entry.forget();
            entry.reported.set(false);
            entry.is_shape_asked.set(false);
            entry.buffered.set(false);
        }
    }

    /// Counts an element that takes no bytes of the file. Returns whether there may be one more.
    pub(crate) fn make(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }

    /// Whether so much is missing that more of the same says nothing.
    pub(crate) fn misses_enough(&self) -> bool {
        self.missing.borrow().len() >= ENOUGH
    }

    pub(crate) fn miss(&self, name: &str, asked: Asked) {
        self.count_report();
        if self.reported.borrow_mut().insert(name.to_owned()) {
            self.missing.borrow_mut().push((name.to_owned(), asked));
        }
    }

    /// How many differences were reported, be it twice.
    pub(crate) fn num_reports(&self) -> usize {
        self.num_reports.get()
    }

    fn count_report(&self) {
        self.reading.lose();
        self.num_reports.set(self.num_reports.get().saturating_add(1));
    }

    pub(crate) fn change(&self, entry: &Entry<'_>, expected: String) {
        entry.reported.set(true);
        self.count_report();
        if let Some(array) = entry.array()
            && self.reported.borrow_mut().insert(entry.name.to_string())
        {
            let found = array.display();
            self.changed.borrow_mut().push((entry.name.to_string(), expected, found));
        }
    }
}

/// Checks that a pattern of stacks names a tensor, or a sequence without elements.
fn expect_stacked(pattern: &str, entries: &[Entry<'_>], separator: &str) -> Result<()> {
    let stacks = Stack::all(pattern, separator);
    let is_named = |entry: &Entry<'_>| {
        let has = |stack: &Stack<'_>| match &entry.content {
            Content::Array(_) => {
                stack.stacks(&entry.name, separator) || stack.has(&entry.name, separator)
            }
            Content::Text(text) => {
                is_empty(text) && stack.above.matches(&parts(&entry.name, separator))
            }
        };
        stacks.iter().any(has)
    };
    if entries.iter().any(is_named) {
        return Ok(());
    }
    Err(ErrorKind::Rule(format!("`{pattern}` stacks no tensor")).into())
}

/// Checks that no two entries, which are sorted, have one name.
fn expect_distinct(entries: &[Entry<'_>]) -> Result<()> {
    for pair in entries.windows(2) {
        let [Entry { name, original, .. }, next] = pair else { continue };
        // Texts that any file may have are under the names of tensors, too.
        let is_of_file = |it: &Entry<'_>| it.array().is_none() && is_of_file(&it.original);
        if *name != next.name || pair.iter().any(is_of_file) {
            continue;
        }
        let what = if *original == next.original {
            format!("a tensor and a text of the metadata are both named `{name}`")
        } else {
            format!("`{original}` and `{}` are both named `{name}`", next.original)
        };
        return Err(ErrorKind::Rule(what).into());
    }
    Ok(())
}

/// How a tensor differs from that which may be taken in its place.
fn differs(
    entry: &Entry<'_>,
    filling: &HashMap<&str, &Array<'_>>,
    convert: bool,
) -> Option<(String, String, String)> {
    let (found, expected) = (entry.array()?, filling.get(entry.name.as_ref())?);
    let is_type = found.dtype == expected.dtype
        || convert && is_float(found.dtype) && is_float(expected.dtype);
    let show = |array: &Array<'_>| array.display();
    // What a type with columns has is flat, or in a tuple, so its shape is not known.
    if found.column_major {
        return None;
    }
    (found.dims != expected.dims || !is_type)
        .then(|| (entry.name.to_string(), show(expected), show(found)))
}

/// How many elements without bytes may be made for so many tensors.
pub(crate) fn most_made(tensors: usize) -> usize {
    tensors.saturating_mul(MADE_FOR_EACH).saturating_add(MADE)
}

/// The name and those that lead to it.
fn with_names_above<'n>(name: &'n str, separator: &'n str) -> impl Iterator<Item = &'n str> {
    let ends = name.match_indices(separator).map(|(at, _)| at).filter(|_| !separator.is_empty());
    [0].into_iter().chain(ends).chain([name.len()]).filter_map(|end| name.get(..end))
}

/// By parts, so that those below a name follow it.
fn compare(a: &str, b: &str, separator: &str) -> Ordering {
    if separator.is_empty() { a.cmp(b) } else { a.split(separator).cmp(b.split(separator)) }
}
