//! The tensors by name, sorted so that the names below a name are neighbours.

use std::cell::{OnceCell, RefCell, RefMut};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::bug::OrBug;
use crate::error::{ErrorKind, Result};
use crate::glob::parts;
use crate::literal::{is_empty, string};
use crate::load::entry::{Array, Content, Entry, Origin, is_float, most_made};
use crate::load::failure::Failure;
use crate::load::findings::Findings;
use crate::load::forms::{Form, Forms, Keys};
use crate::load::named::named;
use crate::load::numbers::Reading;
use crate::load::report::Asked;
use crate::load::rules::{Rule, Stack};
use crate::shape::display;
use crate::source::Source;
use crate::structure::{is_of_file, is_of_structure};

/// It does not change, except for the [findings](Findings) of a walk.
pub(crate) struct Table<'t> {
    pub(crate) entries: Vec<Entry<'t>>,
    pub(crate) separator: &'t str,
    pub(crate) stacks: Vec<Stack<'t>>,
    pub(crate) convert: bool,
    /// Tensors of another shape or type than the ones that replace them.
    pub(crate) replaced: Vec<(String, String, String)>,
    /// The forms of tensors in buffers, from structures.
    forms: OnceCell<Forms>,
    findings: RefCell<Findings>,
    pub(crate) reading: Reading,
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
        let stacks = stacks.iter().map(|stack| Stack::all(stack, separator));
        let stacks: Vec<Stack<'t>> =
            stacks.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        let mut entries = named(tensors, rules, &stacks, separator)?;
        let mut filling = match base {
            Some(base) => named(base, &[], &stacks, separator)?,
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
        let mut replaced = fewer(&entries, &filling, separator);
        if partial {
            let refused: HashSet<&str> = replaced.iter().map(|(name, ..)| name.as_str()).collect();
            entries.retain(|entry| entry.array().is_none() || !refused.contains(&*entry.name));
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
        let present: HashSet<&str> = entries.iter().map(|entry| entry.name.as_ref()).collect();
        let of_value = entries.iter().filter(|entry| entry.origin != Origin::File);
        let above: HashSet<&str> =
            of_value.flat_map(|entry| with_names_above(&entry.name, separator)).collect();
        let is_stacked = |name: &str| stacks.iter().any(|stack| stack.has(name, separator));
        filling.retain(|entry| {
            let is_there = match entry.origin {
                // It is empty, or a variant: the parts below replace it.
                Origin::Structure => above.contains(entry.name.as_ref()),
                _ => present.contains(entry.name.as_ref()),
            };
            !is_there && !is_stacked(&entry.name)
        });
        entries.extend(filling.into_iter().map(|entry| Entry { filled: true, ..entry }));
        entries.sort_by(|a, b| compare(&a.name, &b.name, separator));
        expect_distinct(&entries)?;
        for pattern in patterns {
            expect_stacked(pattern, &entries, separator)?;
        }
        let reading = Reading::new((!stacks.is_empty()).then_some(entries.len()));
        let made = most_made(entries.len());
        let table = Table {
            entries,
            separator,
            stacks,
            convert,
            replaced,
            forms: OnceCell::new(),
            findings: RefCell::new(Findings::new(made)),
            reading,
        };
        debug_assert!(table.is_sound(), "a table of tensors breaks its rules");
        Ok(table)
    }

    /// Whether the entries are sorted, and have the numbers of their shapes.
    fn is_sound(&self) -> bool {
        let is_before =
            |a: &Entry<'_>, b: &Entry<'_>| compare(&a.name, &b.name, self.separator).is_le();
        let mut arrays = self.entries.iter().filter_map(Entry::array);
        self.entries.is_sorted_by(is_before) && arrays.all(Array::is_sound)
    }

    /// Forgets what the last walk found, except what is required.
    pub(crate) fn reset(&self) {
        self.findings.borrow_mut().begin();
        self.reading.begin();
        for entry in &self.entries {
            entry.forget();
            entry.reported.set(false);
            entry.is_shape_asked.set(false);
            entry.buffered.set(false);
        }
    }

    /// The findings so far. No walk goes on while they are borrowed.
    pub(crate) fn findings(&self) -> RefMut<'_, Findings> {
        self.findings.borrow_mut()
    }

    /// Uses these forms from now on.
    pub(crate) fn learn(&self, forms: Forms) {
        let is_first = self.forms.set(forms).is_ok();
        debug_assert!(is_first, "the forms are learnt twice");
    }

    /// The form of a tensor in a buffer.
    pub(crate) fn form(&self, entry: &Entry<'_>) -> Form {
        self.forms.get().map_or(Form::Nested, |forms| forms.form(entry, self.separator))
    }

    /// The form of the keys below a name in a buffer.
    pub(crate) fn keys_below(&self, name: &str) -> Option<Keys> {
        self.forms.get()?.keys(name, self.separator)
    }

    pub(crate) fn miss(&self, name: &str, asked: Asked) {
        self.reading.lose();
        self.findings().miss(name, asked);
    }

    pub(crate) fn change(&self, entry: &Entry<'_>, expected: String) {
        entry.reported.set(true);
        self.reading.lose();
        self.findings().change(entry, expected);
    }
}

/// Checks that a pattern of stacks matches a tensor, or a sequence without elements.
fn expect_stacked(pattern: &str, entries: &[Entry<'_>], separator: &str) -> Result<()> {
    let stacks = Stack::all(pattern, separator)?;
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
    for (entry, next) in entries.iter().zip(entries.iter().skip(1)) {
        let Entry { name, original, .. } = entry;
        // Texts that any file may have are under the names of tensors, too.
        let is_of_file = |it: &Entry<'_>| it.array().is_none() && is_of_file(&it.original);
        if *name != next.name || is_of_file(entry) || is_of_file(next) {
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
fn differs(
    entry: &Entry<'_>,
    filling: &HashMap<&str, &Array<'_>>,
    convert: bool,
) -> Option<(String, String, String)> {
    let (found, expected) = (entry.array()?, filling.get(entry.name.as_ref())?);
    let is_type = found.dtype == expected.dtype
        || convert && is_float(found.dtype) && is_float(expected.dtype);
    let show = |array: &Array<'_>| array.display();
    // For a type that stores columns, it is flat or in a tuple, so its shape is unknown.
    if found.column_major {
        return None;
    }
    (found.dims != expected.dims || !is_type)
        .then(|| (entry.name.to_string(), show(expected), show(found)))
}

/// The tensors that have fewer elements than their replacements: their names, the larger shapes, and their
/// own. A sequence reads only the existing elements, and would silently lose the rest.
fn fewer(
    entries: &[Entry<'_>],
    filling: &[Entry<'_>],
    separator: &str,
) -> Vec<(String, String, String)> {
    let arrays = entries.iter().filter_map(|entry| Some((&*entry.name, entry.array()?)));
    let arrays: HashMap<&str, &Array<'_>> = arrays.filter(|(_, it)| !it.column_major).collect();
    let mut rooms: BTreeMap<&str, (&Array<'_>, Vec<usize>)> = BTreeMap::new();
    for entry in filling {
        let above =
            with_names_above(&entry.name, separator).filter_map(|name| arrays.get_key_value(name));
        for (name, array) in above {
            let rest = entry.name.get(name.len()..).or_bug();
            let rest =
                if name.is_empty() { rest } else { rest.strip_prefix(separator).unwrap_or(rest) };
            let (_, room) = rooms.entry(name).or_insert_with(|| (array, array.dims.clone()));
            widen(room, &parts(rest, separator), entry.array().map(|array| &*array.dims));
        }
    }
    let fewer = rooms.into_iter().filter(|(_, (array, room))| array.dims != *room);
    let fewer = fewer.map(|(name, (array, room))| {
        (name.to_owned(), display(array.dtype, &room), array.display())
    });
    fewer.collect()
}

/// Enlarges the shape for the element at these indices, which has a shape of its own.
fn widen(room: &mut [usize], indices: &[&str], shape: Option<&[usize]>) {
    let lengths = indices.iter().map(|index| index.parse::<usize>().ok()?.checked_add(1));
    let lengths = lengths.chain(shape.unwrap_or_default().iter().map(|length| Some(*length)));
    // With another number of dimensions, it is a different type.
    if indices.len() + shape.map_or(0, <[usize]>::len) <= room.len() {
        for (room, length) in room.iter_mut().zip(lengths) {
            let Some(length) = length else { return };
            *room = length.max(*room);
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

/// Reads a value. If serde buffers tensors whose forms are in the structures, reads it a second time with
/// these forms.
pub(crate) fn with_forms<'t, T>(
    table: &Table<'t>,
    structures: impl FnOnce() -> Forms,
    walk: impl Fn(&Table<'t>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let first = walk(table);
    if table.entries.iter().all(|entry| !entry.buffered.get()) {
        return first;
    }
    let forms = structures();
    if forms.is_empty() {
        return first;
    }
    table.learn(forms);
    let is_known = table.entries.iter().any(|entry| table.form(entry) != Form::Nested);
    if is_known || first.is_err() { walk(table) } else { first }
}
