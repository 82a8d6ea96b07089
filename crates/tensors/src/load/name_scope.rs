//! The entries at and below a name.

use std::cmp::Ordering;
use std::ops::Range;
use std::rc::Rc;

use crate::bug::OrBug;
use crate::glob;
use crate::literal;
use crate::load::context::LoadContext;
use crate::load::entry::{ArrayView, Content, LoadEntry, Origin};
use crate::load::failure::Failure;
use crate::load::tensor_slice::{TensorSlice, check_depth};
use crate::shape::display;

/// A set of entries with a name.
#[derive(Clone)]
pub(crate) struct NameScope<'c> {
    pub(crate) context: &'c LoadContext<'c>,
    /// More than one if some tensors have an axis for a sequence above, and others an index.
    views: Vec<EntryView<'c>>,
    /// The parts of the name, with the indices in stacked sequences, if there are any.
    parts: Vec<String>,
    pub(crate) depth: usize,
}

/// The entries with a name and below it.
#[derive(Clone)]
struct EntryView<'c> {
    /// Sorted by name.
    entries: Rc<[&'c LoadEntry<'c>]>,
    /// The entries. The first may have the name itself.
    range: Range<usize>,
    /// The bytes of the name; none for the root.
    length: Option<usize>,
    /// The indices in stacked sequences.
    indices: Vec<usize>,
    separator: &'c str,
}

impl<'c> EntryView<'c> {
    fn all(&self) -> &[&'c LoadEntry<'c>] {
        self.entries.get(self.range.clone()).or_bug()
    }

    fn name(&self) -> &'c str {
        let length = self.length.unwrap_or(0);
        self.all().first().map_or("", |entry| entry.name.get(..length).or_bug())
    }

    /// The entries that have the name itself: a tensor, and maybe a text.
    fn own(&self) -> &[&'c LoadEntry<'c>] {
        let length = self.length.unwrap_or(0);
        let all = self.all();
        let own = all.partition_point(|entry| entry.name.len() == length);
        all.get(..own).or_bug()
    }

    /// The beginning of the next part of a name below.
    fn start(&self) -> usize {
        self.length.map_or(0, |length| length + self.separator.len())
    }

    /// The entries below the name, and the beginning of their next part.
    fn below(&self) -> (Range<usize>, usize) {
        (self.range.start + self.own().len()..self.range.end, self.start())
    }

    fn part_at(&self, index: usize, start: usize) -> &'c str {
        let rest = self.entries.get(index).and_then(|entry| entry.name.get(start..)).or_bug();
        match self.separator {
            "" => rest,
            separator => rest.split(separator).next().unwrap_or_default(),
        }
    }

    /// The first entry in a range whose next part is not before `part`, or not `upto` it.
    fn search(&self, range: Range<usize>, start: usize, part: &str, upto: Ordering) -> usize {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low.midpoint(high);
            match self.part_at(middle, start).cmp(part) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal if upto == Ordering::Equal => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// The entries below the name under one more part.
    fn child(&self, part: &str) -> Option<EntryView<'c>> {
        let (below, start) = self.below();
        let first = self.search(below.clone(), start, part, Ordering::Less);
        let last = self.search(first..below.end, start, part, Ordering::Equal);
        let length = Some(start + part.len());
        (first < last).then(|| EntryView { range: first..last, length, ..self.clone() })
    }

    /// The distinct next parts, without texts for the whole file.
    fn children(&self) -> Vec<&'c str> {
        let (below, start) = self.below();
        let (mut parts, mut at) = (Vec::new(), below.start);
        while at < below.end {
            let part = self.part_at(at, start);
            let next = self.search(at..below.end, start, part, Ordering::Equal).max(at + 1);
            let entries = self.entries.get(at..next).or_bug();
            if self.length.is_some() || entries.iter().any(|entry| entry.origin != Origin::File) {
                parts.push(part);
            }
            at = next;
        }
        parts
    }

    /// The entries that `keep` accepts. `None` if there are none.
    fn filtered(&self, keep: impl Fn(&LoadEntry<'c>) -> bool) -> Option<EntryView<'c>> {
        let kept = self.all().iter().copied().filter(|entry| keep(entry));
        let entries: Rc<[_]> = kept.collect();
        (!entries.is_empty()).then(|| EntryView {
            range: 0..entries.len(),
            entries,
            ..self.clone()
        })
    }
}

impl<'c> NameScope<'c> {
    pub(crate) fn root(context: &'c LoadContext<'c>) -> Self {
        let entries: Rc<[_]> = context.entries.iter().collect();
        let separator = context.separator;
        let range = 0..entries.len();
        let root = EntryView { entries, range, length: None, indices: Vec::new(), separator };
        NameScope { context, views: vec![root], parts: Vec::new(), depth: 0 }
    }

    fn with(&self, views: Vec<EntryView<'c>>) -> Self {
        NameScope { views, ..self.clone() }
    }

    /// The tensors, each with the number of its axes that are above.
    fn arrays(&self) -> impl Iterator<Item = (&'c LoadEntry<'c>, &'c ArrayView<'c>, usize)> {
        let entries = self
            .views
            .iter()
            .flat_map(|view| view.all().iter().map(|entry| (*entry, view.indices.len())));
        entries.filter_map(|(entry, depth)| Some((entry, entry.array()?, depth)))
    }

    pub(crate) fn name(&self) -> &'c str {
        self.views.first().map(EntryView::name).unwrap_or_default()
    }

    /// The tensor of this name, at the indices in its stacks.
    pub(crate) fn tensor(&self) -> Option<TensorSlice<'c>> {
        let own = |view: &'_ EntryView<'c>| {
            let mut own = view.own().iter();
            own.find_map(|entry| Some((*entry, entry.array()?)))
        };
        let (view, (entry, array)) = self.views.iter().find_map(|view| Some((view, own(view)?)))?;
        let places = view.indices.iter().zip(&array.strides);
        let offset = places.map(|(index, stride)| index.saturating_mul(*stride));
        let (offset, depth) = (offset.fold(0, usize::saturating_add), view.indices.len());
        (depth <= array.dims.len()).then_some(TensorSlice {
            context: self.context,
            entry,
            array,
            depth,
            offset,
        })
    }

    /// The text of this name: a literal, or flax's text in place of one. Beside a tensor, a text that is not
    /// part of the value is not it.
    pub(crate) fn text(&self) -> Option<&'c str> {
        let own = || self.views.iter().flat_map(EntryView::own);
        let has_array = own().any(|entry| entry.array().is_some());
        let is_it = |entry: &&LoadEntry<'_>| !has_array || entry.origin != Origin::File;
        own().copied().filter(is_it).find_map(|entry| match &entry.content {
            Content::Text(text) => {
                entry.requested.set(true);
                Some(text.as_ref())
            }
            Content::Array(_) => None,
        })
    }

    /// Whether the file has nothing with this name.
    pub(crate) fn is_filled(&self) -> bool {
        self.views.iter().flat_map(EntryView::all).all(|entry| entry.filled)
    }

    /// Whether the text of this name represents an empty container.
    pub(crate) fn is_empty(&self) -> bool {
        self.text().is_some_and(literal::is_empty)
    }

    /// The entries below the name under one more part.
    pub(crate) fn child(&self, part: &str) -> Option<NameScope<'c>> {
        let views: Vec<_> = self.views.iter().filter_map(|view| view.child(part)).collect();
        (!views.is_empty()).then(|| self.joined(views, part))
    }

    /// The name with one more part.
    fn joined(&self, views: Vec<EntryView<'c>>, part: &str) -> Self {
        let mut parts = self.parts.clone();
        if !self.context.stacks.is_empty() {
            parts.push(part.to_owned());
        }
        NameScope { context: self.context, views, parts, depth: self.depth + 1 }
    }

    /// The distinct next parts.
    pub(crate) fn children(&self) -> Vec<&'c str> {
        let mut parts: Vec<_> = self.views.iter().flat_map(EntryView::children).collect();
        parts.sort_unstable();
        parts.dedup();
        parts
    }

    /// The number of elements, if the parts below are indices; gaps count.
    pub(crate) fn count(&self) -> Option<usize> {
        let index = |part: &str| {
            let index: usize = part.parse().ok()?;
            (index.to_string() == part).then_some(index)
        };
        let last = self.children().into_iter().filter_map(index).max()?;
        last.checked_add(1)
    }

    /// The tensors that have an axis for this sequence, with its length, and the other names.
    /// `None` if the lengths differ, after a report.
    pub(crate) fn stacked(&self) -> Option<(NameScope<'c>, usize, NameScope<'c>)> {
        let context = self.context;
        let place: Vec<&str> = self.parts.iter().map(String::as_str).collect();
        let here: Vec<_> =
            context.stacks.iter().filter(|stack| stack.above.matches(&place)).collect();
        if here.is_empty() {
            return None;
        }
        let is_stacked = |view: &EntryView<'_>, entry: &LoadEntry<'_>| {
            let below = match entry.name.get(view.start()..) {
                Some(rest) if entry.name.len() > view.length.unwrap_or(0) => {
                    glob::parts(rest, context.separator)
                }
                _ => Vec::new(),
            };
            entry.array().is_some() && here.iter().any(|stack| stack.below.matches(&below))
        };
        let side = |yes: bool| {
            let views = self.views.iter();
            let views =
                views.filter_map(|view| view.filtered(|entry| is_stacked(view, entry) == yes));
            self.with(views.collect())
        };
        let (stacked, named) = (side(true), side(false));
        let (_, first, depth) = stacked.arrays().next()?;
        let length = first.dims.get(depth).copied()?;
        let differs = |array: &ArrayView<'_>, depth: usize| array.dims.get(depth) != Some(&length);
        let other = stacked.arrays().find(|(_, array, depth)| differs(array, *depth));
        let Some((entry, array, depth)) = other else { return Some((stacked, length, named)) };
        self.expect_length(entry, array, depth, length);
        self.mark_reported();
        let none = self.with(Vec::new());
        Some((none.clone(), 0, none))
    }

    /// Reports a tensor whose axis for a sequence has another length.
    fn expect_length(
        &self,
        entry: &LoadEntry<'_>,
        array: &ArrayView<'_>,
        depth: usize,
        length: usize,
    ) {
        let mut dims = array.dims.clone();
        match dims.get_mut(depth) {
            Some(dim) => *dim = length,
            None => dims.push(length),
        }
        self.context.report_mismatch(entry, display(array.dtype, &dims));
    }

    /// Reports all tensors, because the sequence above them has this length.
    pub(crate) fn expect_lengths(&self, length: usize) {
        self.arrays()
            .for_each(|(entry, array, depth)| self.expect_length(entry, array, depth, length));
    }

    /// Marks all tensors as requested.
    pub(crate) fn mark_requested(&self) {
        self.arrays().for_each(|(entry, ..)| entry.requested.set(true));
    }

    /// Prevents a report that they are unused: they cannot be read.
    pub(crate) fn mark_reported(&self) {
        self.arrays().for_each(|(entry, ..)| entry.reported.set(true));
    }

    /// An element of a sequence for which some tensors may be stacked, and others have its index.
    pub(crate) fn element(
        &self,
        stacked: Option<&NameScope<'c>>,
        index: usize,
    ) -> Option<NameScope<'c>> {
        let part = index.to_string();
        let named = self.views.iter().filter_map(|view| view.child(&part));
        let stacked = stacked.into_iter().flat_map(|names| &names.views).map(|view| {
            let indices = view.indices.iter().copied().chain([index]).collect();
            EntryView { indices, ..view.clone() }
        });
        let views: Vec<_> = named.chain(stacked).collect();
        (!views.is_empty()).then(|| self.joined(views, &part))
    }

    /// The number of tensors without bytes.
    pub(crate) fn count_empty(&self) -> usize {
        self.arrays().filter(|(_, array, _)| array.tensor.is_empty()).count()
    }

    pub(crate) fn check_depth(&self) -> Result<(), Failure> {
        check_depth(self.depth)
    }
}
