//! Tensors in a buffer of serde, as below `flatten`: the type does not say what it asks for.
//!
//! They are read as nested sequences. Where the type refuses these, texts stand for the tensors, so
//! that the type says of each what it expects, and is offered what can be that.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use treedef::ArrayFields;

use crate::load::entry::{Entry, Form};
use crate::load::failure::Failure;
use crate::load::key::Keys;
use crate::load::table::{Table, place};
use crate::structure::array_names;

/// So often a value is read to find what its tensors are: with many tensors, fewer times.
const WALKS: usize = 1 << 10;
const FEWEST_WALKS: usize = 1 << 6;
/// The most tensors that are offered in all walks but the fewest.
const OFFERED: usize = 1 << 20;
/// More tensors than these, of a map or the like, are offered at once.
const FEW: usize = 16;

/// Reads a value, with the tensors that serde keeps in a buffer in the forms that the type takes.
pub(crate) fn with_forms<T>(
    table: &Table<'_>,
    structure: Option<&str>,
    walk: impl Fn(&Table<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let first = walk(table);
    let buffered: Vec<&Entry<'_>> = table.entries.iter().filter(is_buffered).collect();
    if buffered.is_empty() {
        return first;
    }
    // Where there is our structure, it says it.
    let names = array_names(structure, table.separator);
    let mut is_known = false;
    for entry in buffered.iter().filter(|entry| !entry.filled) {
        let of_file = names.get(entry.original.as_ref());
        if let Some(names) = of_file.or_else(|| names.get(entry.name.as_ref())) {
            let (inner, is_size, has_store) = (0, false, false);
            entry.form.set(Form::Struct { names, inner, is_size, has_store });
            is_known = true;
        }
    }
    let first = if is_known { walk(table) } else { first };
    if !matches!(first, Err(Failure::Custom(..))) {
        return first;
    }
    let known: Vec<Form> = buffered.iter().map(|entry| entry.form.get()).collect();
    let as_known = || buffered.iter().zip(&known).for_each(|(entry, form)| entry.form.set(*form));
    let most = OFFERED.checked_div(buffered.len()).unwrap_or(WALKS).clamp(FEWEST_WALKS, WALKS);
    let (mut walks, mut best, mut refused_first) = (0..most, Vec::new(), None);
    let places: Vec<String> = table.keys.borrow().keys().cloned().collect();
    for keys in all_keys(&places) {
        table.is_trying.set(true);
        table.keys.borrow_mut().extend(keys.iter().cloned());
        let is_first = keys.iter().all(|(_, keys)| *keys == Keys::Known);
        if !is_first && walks.next().is_some() {
            let result = walk(table);
            if is_read(&result) {
                table.is_trying.set(false);
                return result;
            }
            // It is what misses a field.
            if matches!(result, Err(Failure::Field(_))) && best.is_empty() {
                best = keys.clone();
            }
        }
        // Where the keys are wrong, no form fits, and nothing says so.
        let share = if places.is_empty() { walks.len() } else { walks.len() / 4 };
        let end = walks.start + share;
        let mut share = walks.start..end;
        let found = find(table, &buffered, &walk, &mut share);
        walks.start = share.start;
        table.is_trying.set(false);
        match found {
            Ok(result) => return result,
            Err(refused) => refused_first = refused_first.or(refused),
        }
        as_known();
    }
    let is_first = best.is_empty();
    best.extend(places.into_iter().filter(|_| is_first).map(|place| (place, Keys::Known)));
    table.keys.borrow_mut().extend(best);
    let result = walk(table); // its reports are those of the tensors as they are known
    match (result, refused_first) {
        (Err(Failure::Custom(..)), Some(refused)) => Err(refused),
        (result, _) => result,
    }
}

/// What the keys below these names can be: as they are known, then all numbers, and then otherwise.
fn all_keys(places: &[String]) -> impl Iterator<Item = Vec<(String, Keys)>> {
    const KEYS: [Keys; 3] = [Keys::Known, Keys::Numbers, Keys::Texts];
    const TRIES: usize = 81; // all, up to 4 places
    let all = |keys: Keys| places.iter().map(|place| (place.clone(), keys)).collect();
    let keys_of = |number: usize| {
        let digits = (0..).scan(number, |left, _| {
            let digit = *left % KEYS.len();
            *left /= KEYS.len();
            KEYS.get(digit).copied()
        });
        places.iter().cloned().zip(digits).collect()
    };
    let count = u32::try_from(places.len()).ok().and_then(|count| KEYS.len().checked_pow(count));
    let others = (1..count.unwrap_or(TRIES).min(TRIES)).map(keys_of);
    let numbers = (!places.is_empty()).then(|| all(Keys::Numbers));
    [all(Keys::Known)].into_iter().chain(numbers).chain(others)
}

/// Whether a type took what it was offered up to here.
fn is_read<T>(result: &Result<T, Failure>) -> bool {
    !matches!(result, Err(Failure::Custom(..) | Failure::Field(_)))
}

fn is_buffered(entry: &&Entry<'_>) -> bool {
    entry.buffered.get() && entry.array().is_some()
}

/// Asks the type for the form of one tensor after the other. An error names the one that fits no form.
fn find<T>(
    table: &Table<'_>,
    buffered: &[&Entry<'_>],
    walk: &impl Fn(&Table<'_>) -> Result<T, Failure>,
    walks: &mut Range<usize>,
) -> Result<Result<T, Failure>, Option<Failure>> {
    for (number, entry) in buffered.iter().enumerate() {
        entry.form.set(Form::Unknown(number));
    }
    // What fitted where the type expected the same in words.
    let mut fitted = HashMap::<String, Form>::new();
    // What is expected beside other things where names are alike.
    let mut mixed = HashSet::new();
    walks.next().ok_or(None)?;
    let mut result = walk(table);
    while let Err(Failure::Wish(number, expected)) = result {
        let entry = buffered.get(number).ok_or(None)?;
        let (mut misses_field, mut cause) = (false, None);
        let mut forms = forms(entry, expected.starts_with("struct "));
        if let Some(known) = fitted.get(&expected).filter(|known| forms.contains(known)) {
            forms.insert(0, *known);
        }
        let groups = groups(entry, buffered, table.separator, mixed.contains(&expected));
        let mut tries = forms.iter().flat_map(|form| groups.iter().map(move |all| (all, *form)));
        result = loop {
            walks.next().ok_or(None)?;
            let Some((entries, form)) = tries.next() else {
                let found = entry.array().map(|array| array.display()).unwrap_or_default();
                let what = format!("expected {expected}, found {found}");
                let what = cause.filter(|_| expected.starts_with('a')).unwrap_or(what);
                let refused = Failure::Custom(what, Some(entry.name.to_string()));
                return Err(Some(refused).filter(|_| !misses_field));
            };
            let unknown: Vec<Form> = entries.iter().map(|entry| entry.form.get()).collect();
            entries.iter().for_each(|entry| entry.form.set(form));
            let result = walk(table);
            if is_read(&result) {
                if groups.first().is_some_and(|most| entries.len() < most.len()) {
                    mixed.insert(expected.clone());
                }
                fitted.insert(expected, form);
                break result;
            }
            // It may be missing behind a tensor that fits.
            misses_field |= matches!(result, Err(Failure::Field(_)));
            match result {
                Err(Failure::Custom(text, _)) if form == Form::Nested => cause = Some(text),
                _ => {}
            }
            entries.iter().zip(unknown).for_each(|(entry, form)| entry.form.set(form));
        };
    }
    if !is_read(&result) {
        return Err(None);
    }
    // What was not asked for may still be a text that a type of texts took.
    let unknown = buffered.iter().filter(|entry| matches!(entry.form.get(), Form::Unknown(_)));
    let unknown = unknown.map(|entry| entry.form.set(Form::Nested)).count();
    let result = if unknown > 0 { walk(table) } else { result };
    if is_read(&result) { Ok(result) } else { Err(None) }
}

/// The tensors that are offered in one form, the most first: elements of a sequence mostly have one type,
/// and so have the values of a large map.
fn groups<'b, 't>(
    entry: &'b Entry<'t>,
    buffered: &[&'b Entry<'t>],
    separator: &str,
    is_mixed: bool,
) -> Vec<Vec<&'b Entry<'t>>> {
    let of_place = place(&entry.name, separator);
    let unknown = |most: usize| -> Vec<&'b Entry<'t>> {
        let all = buffered.iter().copied();
        let all = all.filter(|other| matches!(other.form.get(), Form::Unknown(_)));
        all.filter(|other| differ(&place(&other.name, separator), &of_place) <= most).collect()
    };
    let same_place = unknown(0);
    let alike = if is_mixed { Vec::new() } else { unknown(1) };
    let is_many = alike.len() > FEW.max(same_place.len());
    let mut groups = Vec::from_iter(Some(alike).filter(|_| is_many));
    groups.extend(Some(same_place).filter(|same| same.len() > 1));
    groups.push(vec![entry]);
    groups
}

/// In how many of their parts two names differ.
fn differ(first: &[&str], second: &[&str]) -> usize {
    if first.len() != second.len() {
        return usize::MAX;
    }
    first.iter().zip(second).filter(|(first, second)| first != second).count()
}

/// The forms that a tensor can have.
fn forms(entry: &Entry<'_>, is_struct: bool) -> Vec<Form> {
    let Some(array) = entry.array() else { return Vec::new() };
    if array.column_major {
        let sizes = [[true, true], [true, false], [false, true]];
        let sizes = sizes.into_iter().filter(|sizes| *sizes != [true, true] || !array.is_vector());
        return [Form::Nested].into_iter().chain(sizes.map(Form::Matrix)).collect();
    }
    let all = |names: &'static [&'static str]| {
        let form = Form::Struct { names, inner: 0, is_size: false, has_store: false };
        if names.contains(&"dtype") {
            return vec![form, Form::Struct { names, inner: 0, is_size: false, has_store: true }];
        }
        let shapes = (0..=array.dims.len()).flat_map(|inner| [(inner, false), (inner, true)]);
        let struct_of = |(inner, is_size)| Form::Struct { names, inner, is_size, has_store: false };
        shapes.map(struct_of).collect()
    };
    let mut forms: Vec<Form> = ArrayFields::NAMES.iter().flat_map(|names| all(names)).collect();
    forms.insert(if is_struct { forms.len() } else { 0 }, Form::Nested);
    forms
}
