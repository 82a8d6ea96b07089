//! The findings of one walk through a type: missing and mismatched tensors, and required fields.

use std::collections::{BTreeSet, HashSet};

use crate::load::entry::LoadEntry;
use crate::load::report::TensorRequest;

/// The maximum number of names that are listed as missing before gaps in sequences are skipped.
const ENOUGH: usize = 1_000;

pub(crate) struct Diagnostics {
    pub(crate) missing: Vec<(String, TensorRequest)>,
    /// The name of a tensor, the expected type and the found one.
    pub(crate) changed: Vec<(String, String, String)>,
    /// The names that are in one of these.
    reported: HashSet<String>,
    /// The number of reported differences, including duplicates.
    pub(crate) num_reports: usize,
    /// The structs that are being read, from the root on, and `None` for an absent sequence.
    open: Vec<Option<String>>,
    /// The fields that a struct requires, because serde missed them: the address of its list of
    /// fields, or the name of its value if it has none.
    required: BTreeSet<(String, &'static str)>,
    /// The number of elements without bytes that may still be made, in all walks.
    left: usize,
}

impl Diagnostics {
    pub(crate) fn new(left: usize) -> Self {
        let (missing, changed, reported) = (Vec::new(), Vec::new(), HashSet::new());
        let (open, required) = (Vec::new(), BTreeSet::new());
        Diagnostics { missing, changed, reported, num_reports: 0, open, required, left }
    }

    /// Forgets the diagnostics of the last walk, except the required fields.
    pub(crate) fn reset(&mut self) {
        let required = std::mem::take(&mut self.required);
        *self =
            Diagnostics { required, num_reports: self.num_reports, ..Diagnostics::new(self.left) };
    }

    /// Counts an element without bytes in the file. Returns whether there may be one more.
    pub(crate) fn count_element(&mut self) -> bool {
        let may_be = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may_be
    }

    /// Whether further missing names would add no information.
    pub(crate) fn has_enough(&self) -> bool {
        self.missing.len() >= ENOUGH
    }

    pub(crate) fn report_missing(&mut self, name: &str, requested: TensorRequest) {
        self.num_reports = self.num_reports.saturating_add(1);
        if self.reported.insert(name.to_owned()) {
            self.missing.push((name.to_owned(), requested));
        }
    }

    pub(crate) fn report_mismatch(&mut self, entry: &LoadEntry<'_>, expected: String) {
        self.num_reports = self.num_reports.saturating_add(1);
        if let Some(array) = entry.array()
            && self.reported.insert(entry.name.to_string())
        {
            self.changed.push((entry.name.to_string(), expected, array.display()));
        }
    }

    /// Begins a struct of this type, or an absent sequence.
    pub(crate) fn open(&mut self, type_id: Option<String>) {
        self.open.push(type_id);
    }

    pub(crate) fn close(&mut self) -> Option<String> {
        let closed = self.open.pop();
        debug_assert!(closed.is_some(), "a type is closed that was not open");
        closed.flatten()
    }

    /// Whether an absent sequence that is read is in a struct of this type.
    pub(crate) fn is_recursive(&self, type_id: &str) -> bool {
        let sequence = self.open.iter().rposition(Option::is_none).unwrap_or(0);
        self.open.iter().take(sequence).flatten().any(|outer| outer == type_id)
    }

    /// Learns that a type requires a field. Returns whether this is new.
    pub(crate) fn learn_required(&mut self, of: String, field: &'static str) -> bool {
        self.required.insert((of, field))
    }

    /// The fields that a type requires.
    pub(crate) fn required<'f>(&'f self, of: &'f str) -> impl Iterator<Item = &'static str> + 'f {
        let first = (of.to_owned(), "");
        let fields = self.required.range(first..).take_while(move |(name, _)| name == of);
        fields.map(|(_, field)| *field)
    }
}
