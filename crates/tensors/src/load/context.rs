//! The state of one load: the tensors by name, and how they differ from the type.

use std::cell::{OnceCell, RefCell, RefMut};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::bug::OrBug;
use crate::error::{ErrorKind, Result};
use crate::glob::parts;
use crate::literal::{is_empty, string};
use crate::load::array_repr::{ArrayRepr, ArrayReprs, KeyType};
use crate::load::diagnostics::Diagnostics;
use crate::load::entry::{ArrayView, Content, LoadEntry, Origin, element_budget, is_float};
use crate::load::entry_builder;
use crate::load::failure::Failure;
use crate::load::report::TensorRequest;
use crate::load::rules::{Rule, StackAxis};
use crate::load::tensor_reader::ReadState;
use crate::shape::display;
use crate::source::Source;
use crate::structure::{is_of_file, is_of_structure};

/// The entries are sorted, so that the names below a name are neighbours. Only the [`Diagnostics`] and the
/// marks of the entries change during a walk.
pub(crate) struct LoadContext<'t> {
    pub(crate) entries: Vec<LoadEntry<'t>>,
    pub(crate) separator: &'t str,
    pub(crate) stacks: Vec<StackAxis<'t>>,
    pub(crate) convert: bool,
    /// Tensors of another shape or type than the ones that replace them.
    pub(crate) replaced: Vec<(String, String, String)>,
    /// How the type represents tensors in buffers, from structures.
    reprs: OnceCell<ArrayReprs>,
    diagnostics: RefCell<Diagnostics>,
    pub(crate) reading: ReadState,
}

impl<'t> LoadContext<'t> {
    pub(crate) fn new(
        tensors: &'t Source<'t>,
        base: Option<&'t Source<'t>>,
        rules: &'t [Rule],
        stacks: &'t [String],
        (separator, convert): (&'t str, bool),
        partial: bool,
    ) -> Result<Self> {
        let patterns = stacks;
        let stacks = stacks.iter().map(|stack| StackAxis::all(stack, separator));
        let stacks: Vec<StackAxis<'t>> =
            stacks.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        let mut entries = entry_builder::entries(tensors, rules, &stacks, separator)?;
        let mut filling = match base {
            Some(base) => entry_builder::entries(base, &[], &stacks, separator)?,
            None => Vec::new(),
        };
        filling.retain(|entry| !is_of_structure(&entry.original));
        // Parts without a tensor in the file are filled, except variants without fields.
        let numbers = filling.iter().filter(|entry| entry.origin == Origin::Value);
        let filled: HashSet<&str> =
            numbers.flat_map(|entry| with_names_above(&entry.name, separator)).collect();
        entries.retain(|entry| {
            entry.origin != Origin::Structure
                || !filled.contains(entry.name.as_ref())
                || matches!(&entry.content, Content::Text(text) if string(text).is_some())
        });
        let mut replaced = with_fewer_elements(&entries, &filling, separator);
        if partial {
            let refused: HashSet<&str> = replaced.iter().map(|(name, ..)| name.as_str()).collect();
            entries.retain(|entry| entry.array().is_none() || !refused.contains(&*entry.name));
            let arrays =
                filling.iter().filter_map(|entry| Some((entry.name.as_ref(), entry.array()?)));
            let arrays = arrays.collect();
            entries.retain(|entry| match difference(entry, &arrays, convert) {
                Some(difference) => {
                    replaced.push(difference);
                    false
                }
                None => true,
            });
        }
        let present: HashSet<&str> = entries.iter().map(|entry| entry.name.as_ref()).collect();
        let of_value = entries.iter().filter(|entry| entry.origin != Origin::File);
        let above: HashSet<&str> =
            of_value.flat_map(|entry| with_names_above(&entry.name, separator)).collect();
        let is_stacked = |name: &str| stacks.iter().any(|stack| stack.has(name, separator));
        filling.retain(|entry| {
            let is_there = match entry.origin {
                // The entry is an empty container or a variant: the parts below replace it.
                Origin::Structure => above.contains(entry.name.as_ref()),
                _ => present.contains(entry.name.as_ref()),
            };
            !is_there && !is_stacked(&entry.name)
        });
        entries.extend(filling.into_iter().map(|entry| LoadEntry { filled: true, ..entry }));
        entries.sort_by(|a, b| compare(&a.name, &b.name, separator));
        expect_distinct(&entries)?;
        for pattern in patterns {
            expect_stacked(pattern, &entries, separator)?;
        }
        let reading = ReadState::new((!stacks.is_empty()).then_some(entries.len()));
        let made = element_budget(entries.len());
        let context = LoadContext {
            entries,
            separator,
            stacks,
            convert,
            replaced,
            reprs: OnceCell::new(),
            diagnostics: RefCell::new(Diagnostics::new(made)),
            reading,
        };
        debug_assert!(context.is_sound(), "a table of tensors breaks its rules");
        Ok(context)
    }

    /// Whether the entries are sorted, and have the numbers of their shapes.
    fn is_sound(&self) -> bool {
        let is_before = |a: &LoadEntry<'_>, b: &LoadEntry<'_>| {
            compare(&a.name, &b.name, self.separator).is_le()
        };
        let mut arrays = self.entries.iter().filter_map(LoadEntry::array);
        self.entries.is_sorted_by(is_before) && arrays.all(ArrayView::is_sound)
    }

    /// Forgets the diagnostics of the last walk, except the required fields.
    pub(crate) fn reset(&self) {
        self.diagnostics.borrow_mut().reset();
        self.reading.reset();
        for entry in &self.entries {
            entry.forget();
            entry.reported.set(false);
            entry.is_shape_requested.set(false);
            entry.buffered.set(false);
        }
    }

    /// The diagnostics so far. They are borrowed for one call only.
    pub(crate) fn diagnostics(&self) -> RefMut<'_, Diagnostics> {
        self.diagnostics.borrow_mut()
    }

    /// Uses these representations from now on.
    pub(crate) fn set_reprs(&self, reprs: ArrayReprs) {
        let is_first = self.reprs.set(reprs).is_ok();
        debug_assert!(is_first, "the representations are set twice");
    }

    /// How the type represents a tensor in a buffer.
    pub(crate) fn repr(&self, entry: &LoadEntry<'_>) -> ArrayRepr {
        self.reprs.get().map_or(ArrayRepr::Nested, |reprs| reprs.repr(entry, self.separator))
    }

    /// The type of the keys below a name in a buffer.
    pub(crate) fn keys_below(&self, name: &str) -> Option<KeyType> {
        self.reprs.get()?.keys(name, self.separator)
    }

    pub(crate) fn report_missing(&self, name: &str, requested: TensorRequest) {
        self.reading.stop();
        self.diagnostics().report_missing(name, requested);
    }

    pub(crate) fn report_mismatch(&self, entry: &LoadEntry<'_>, expected: String) {
        entry.reported.set(true);
        self.reading.stop();
        self.diagnostics().report_mismatch(entry, expected);
    }
}

/// Checks that a pattern of stacks matches a tensor, or a sequence without elements.
fn expect_stacked(pattern: &str, entries: &[LoadEntry<'_>], separator: &str) -> Result<()> {
    let stacks = StackAxis::all(pattern, separator)?;
    let is_named = |entry: &LoadEntry<'_>| {
        let has = |stack: &StackAxis<'_>| match &entry.content {
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
fn expect_distinct(entries: &[LoadEntry<'_>]) -> Result<()> {
    // A text that is not part of the value may have the name of a tensor.
    let is_beside = |it: &LoadEntry<'_>| {
        it.array().is_none() && (it.origin == Origin::File || is_of_file(&it.original))
    };
    let of_value = || entries.iter().filter(|it| !is_beside(it));
    for (entry, next) in of_value().zip(of_value().skip(1)) {
        let LoadEntry { name, original, .. } = entry;
        if *name != next.name {
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

/// The difference between a tensor and its replacement.
fn difference(
    entry: &LoadEntry<'_>,
    filling: &HashMap<&str, &ArrayView<'_>>,
    convert: bool,
) -> Option<(String, String, String)> {
    let (found, expected) = (entry.array()?, filling.get(entry.name.as_ref())?);
    let is_type = found.dtype == expected.dtype
        || convert && is_float(found.dtype) && is_float(expected.dtype);
    let show = |array: &ArrayView<'_>| array.display();
    // For a type that stores columns, it is flat or in a tuple, so its shape is unknown.
    if found.column_major {
        return None;
    }
    (found.dims != expected.dims || !is_type)
        .then(|| (entry.name.to_string(), show(expected), show(found)))
}

/// The tensors that have fewer elements than their replacements: their names, the larger shapes, and their
/// own. A sequence reads only the existing elements, and would silently lose the rest.
fn with_fewer_elements(
    entries: &[LoadEntry<'_>],
    filling: &[LoadEntry<'_>],
    separator: &str,
) -> Vec<(String, String, String)> {
    let arrays = entries.iter().filter_map(|entry| Some((&*entry.name, entry.array()?)));
    let arrays: HashMap<&str, &ArrayView<'_>> = arrays.filter(|(_, it)| !it.column_major).collect();
    let mut shapes: BTreeMap<&str, (&ArrayView<'_>, Vec<usize>)> = BTreeMap::new();
    for entry in filling {
        let above =
            with_names_above(&entry.name, separator).filter_map(|name| arrays.get_key_value(name));
        for (name, array) in above {
            let rest = entry.name.get(name.len()..).or_bug();
            let rest =
                if name.is_empty() { rest } else { rest.strip_prefix(separator).unwrap_or(rest) };
            let (_, shape) = shapes.entry(name).or_insert_with(|| (array, array.dims.clone()));
            enlarge(shape, &parts(rest, separator), entry.array().map(|array| &*array.dims));
        }
    }
    let fewer = shapes.into_iter().filter(|(_, (array, shape))| array.dims != *shape);
    let fewer = fewer.map(|(name, (array, shape))| {
        (name.to_owned(), display(array.dtype, &shape), array.display())
    });
    fewer.collect()
}

/// Enlarges the shape for the element at these indices, which has a shape of its own.
fn enlarge(shape: &mut [usize], indices: &[&str], element: Option<&[usize]>) {
    let lengths = indices.iter().map(|index| index.parse::<usize>().ok()?.checked_add(1));
    let lengths = lengths.chain(element.unwrap_or_default().iter().map(|length| Some(*length)));
    // With another number of dimensions, it is a different type.
    if indices.len() + element.map_or(0, <[usize]>::len) <= shape.len() {
        for (dim, length) in shape.iter_mut().zip(lengths) {
            let Some(length) = length else { return };
            *dim = length.max(*dim);
        }
    }
}

/// The name and the names above it.
fn with_names_above<'n>(name: &'n str, separator: &'n str) -> impl Iterator<Item = &'n str> {
    let ends = name.match_indices(separator).map(|(at, _)| at).filter(|_| !separator.is_empty());
    [0].into_iter().chain(ends).chain([name.len()]).map(|end| name.get(..end).or_bug())
}

/// By parts, so that the names below a name follow it.
fn compare(a: &str, b: &str, separator: &str) -> Ordering {
    if separator.is_empty() { a.cmp(b) } else { a.split(separator).cmp(b.split(separator)) }
}

/// Reads a value. If serde buffers tensors whose representations are in the structures, reads the value a
/// second time with these.
pub(crate) fn with_reprs<'t, T>(
    context: &LoadContext<'t>,
    structures: impl FnOnce() -> ArrayReprs,
    walk: impl Fn(&LoadContext<'t>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let first = walk(context);
    if context.entries.iter().all(|entry| !entry.buffered.get()) {
        return first;
    }
    let reprs = structures();
    if reprs.is_empty() {
        return first;
    }
    context.set_reprs(reprs);
    let is_known = context.entries.iter().any(|entry| context.repr(entry) != ArrayRepr::Nested);
    if is_known || first.is_err() { walk(context) } else { first }
}
