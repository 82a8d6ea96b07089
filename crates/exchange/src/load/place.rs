//! Where a type is read from: names below a prefix, a part of a tensor, or nothing.

use std::cmp::Ordering;
use std::ops::Range;

use crate::load::failure::Failure;
use crate::load::report::Asked;
use crate::load::table::{Array, Content, Entry, Table};
use crate::tensor::{Dtype, display};

/// As deep as serde's recursion may go.
const MAX_DEPTH: usize = 128;

/// The entries with a name and those below it.
#[derive(Clone)]
pub(crate) struct Names<'c> {
    pub(crate) table: &'c Table<'c>,
    /// The entries, of which the first may have the name itself.
    pub(crate) range: Range<usize>,
    /// The bytes of the name; none for the root.
    pub(crate) length: Option<usize>,
    /// The indices in stacked sequences.
    pub(crate) indices: Vec<usize>,
    pub(crate) depth: usize,
}

/// A part of a tensor: what is left after `depth` dimensions.
#[derive(Clone, Copy)]
pub(crate) struct Part<'c> {
    pub(crate) table: &'c Table<'c>,
    pub(crate) entry: &'c Entry<'c>,
    pub(crate) array: &'c Array<'c>,
    pub(crate) depth: usize,
    pub(crate) offset: usize,
}

/// A name that is not there, or not as it is asked for. What is read from it is thrown away, but
/// shows what the type asks for.
#[derive(Clone)]
pub(crate) struct Absent<'c> {
    pub(crate) table: &'c Table<'c>,
    pub(crate) name: String,
    /// The lengths of the sequences that were asked for since, and the indices in them.
    pub(crate) dims: Vec<(Option<usize>, usize)>,
    /// The tensor that has another shape.
    pub(crate) instead: Option<&'c Entry<'c>>,
    pub(crate) depth: usize,
}

impl<'c> Names<'c> {
    pub(crate) fn root(table: &'c Table<'c>) -> Self {
        let range = 0..table.entries.len();
        Names { table, range, length: None, indices: Vec::new(), depth: 0 }
    }

    pub(crate) fn entries(&self) -> &'c [Entry<'c>] {
        self.table.entries.get(self.range.clone()).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &'c str {
        let first = self.entries().first();
        first.and_then(|entry| entry.name.get(..self.length.unwrap_or(0))).unwrap_or_default()
    }

    /// The entries that have the name itself: a tensor, and maybe a text.
    fn own(&self) -> &'c [Entry<'c>] {
        let length = self.length.unwrap_or(0);
        let all = self.entries();
        let own = all.partition_point(|entry| entry.name.len() == length);
        all.get(..own).unwrap_or_default()
    }

    /// The tensor of this name, at the indices in its stacks.
    pub(crate) fn tensor(&self) -> Option<Part<'c>> {
        let (entry, array) = self.own().iter().find_map(|entry| Some((entry, entry.array()?)))?;
        let places = self.indices.iter().zip(&array.strides);
        let offset = places.map(|(index, stride)| index.saturating_mul(*stride));
        let (offset, depth) = (offset.fold(0, usize::saturating_add), self.indices.len());
        (depth <= array.dims.len()).then_some(Part {
            table: self.table,
            entry,
            array,
            depth,
            offset,
        })
    }

    pub(crate) fn text(&self) -> Option<&'c str> {
        self.own().iter().find_map(|entry| match &entry.content {
            Content::Text(text) => {
                entry.used.set(true);
                Some(*text)
            }
            Content::Array(_) => None,
        })
    }

    /// The entries below the name, and where their next part begins.
    fn below(&self) -> (Range<usize>, usize) {
        let start = self.length.map_or(0, |length| length + self.table.separator.len());
        (self.range.start + self.own().len()..self.range.end, start)
    }

    fn part_at(&self, index: usize, start: usize) -> &'c str {
        let entry = self.table.entries.get(index);
        let rest = entry.and_then(|entry| entry.name.get(start..)).unwrap_or_default();
        match self.table.separator {
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

    /// What is below the name under one more part.
    pub(crate) fn child(&self, part: &str) -> Option<Names<'c>> {
        let (below, start) = self.below();
        let first = self.search(below.clone(), start, part, Ordering::Less);
        let last = self.search(first..below.end, start, part, Ordering::Equal);
        let length = Some(start + part.len());
        let child = Names { range: first..last, length, depth: self.depth + 1, ..self.clone() };
        (first < last).then_some(child)
    }

    /// The distinct next parts. Texts at the root belong to the whole file.
    pub(crate) fn children(&self) -> Vec<&'c str> {
        let (below, start) = self.below();
        let (mut parts, mut at) = (Vec::new(), below.start);
        while at < below.end {
            let part = self.part_at(at, start);
            let next = self.search(at..below.end, start, part, Ordering::Equal).max(at + 1);
            let entries = self.table.entries.get(at..next).unwrap_or_default();
            if self.length.is_some() || entries.iter().any(|entry| entry.array().is_some()) {
                parts.push(part);
            }
            at = next;
        }
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

    /// The length of a stacked sequence: the dimension that all tensors below have next.
    pub(crate) fn stacked(&self) -> Option<usize> {
        if !self.table.stacks.iter().any(|stack| stack.matches(self.name())) {
            return None;
        }
        let mut arrays = self.entries().iter().filter_map(|entry| Some((entry, entry.array()?)));
        let depth = self.indices.len();
        let (_, first) = arrays.next()?;
        let length = first.dims.get(depth).copied()?;
        for (entry, array) in arrays {
            if array.dims.get(depth) != Some(&length) {
                let mut dims = array.dims.clone();
                match dims.get_mut(depth) {
                    Some(dim) => *dim = length,
                    None => dims.push(length),
                }
                self.table.change(entry, display(array.dtype, &dims));
                self.entries().iter().for_each(|entry| entry.used.set(true));
                return Some(0);
            }
        }
        Some(length)
    }

    pub(crate) fn check_depth(&self) -> Result<(), Failure> {
        check_depth(self.depth)
    }
}

fn check_depth(depth: usize) -> Result<(), Failure> {
    match depth > MAX_DEPTH {
        true => Err(Failure::Limit(format!("names of more than {MAX_DEPTH} parts"))),
        false => Ok(()),
    }
}

impl<'c> Part<'c> {
    /// The bytes of the element, if no dimension is left.
    #[inline]
    pub(crate) fn bytes(&self) -> Option<&'c [u8]> {
        let size = self.array.dtype.size();
        let start = self.offset.checked_mul(size)?;
        let bytes = self.array.tensor.bytes().get(start..start.checked_add(size)?)?;
        (self.depth == self.array.dims.len()).then_some(bytes)
    }

    pub(crate) fn length(&self) -> Option<usize> {
        self.array.dims.get(self.depth).copied()
    }

    #[inline]
    pub(crate) fn element(&self, index: usize) -> Part<'c> {
        let stride = self.array.strides.get(self.depth).copied().unwrap_or(0);
        Part {
            depth: self.depth + 1,
            offset: self.offset.saturating_add(index.saturating_mul(stride)),
            ..*self
        }
    }

    /// What is read instead to find out which shape the type expects.
    pub(crate) fn mismatch(&self) -> Absent<'c> {
        let dims = self.array.dims.iter().take(self.depth).map(|dim| (Some(*dim), 0)).collect();
        let (table, name) = (self.table, self.entry.name.to_string());
        Absent { table, name, dims, instead: Some(self.entry), depth: 0 }
    }
}

impl<'c> Absent<'c> {
    pub(crate) fn new(table: &'c Table<'c>, name: String, depth: usize) -> Self {
        Absent { table, name, dims: Vec::new(), instead: None, depth }
    }

    /// Reports what the type asks for here.
    pub(crate) fn report(&self, dtype: Option<Dtype>, kind: &'static str) {
        let dims = self.dims.iter().map(|(dim, _)| *dim).collect();
        let asked = Asked { dtype, dims, kind };
        match self.instead {
            Some(entry) if dtype.is_some() => {
                entry.used.set(true);
                self.table.change(entry, asked.to_string());
            }
            _ => self.table.miss(&self.name, asked),
        }
    }

    /// The name with the indices in the sequences above.
    pub(crate) fn full_name(&self) -> String {
        let indices = self.dims.iter().map(|(_, index)| index.to_string());
        join(&self.name, indices, self.table.separator)
    }

    pub(crate) fn child(&self, part: &str) -> Self {
        let name = join(&self.full_name(), [part.to_owned()].into_iter(), self.table.separator);
        Absent::new(self.table, name, self.depth + 1)
    }

    pub(crate) fn element(&self, length: Option<usize>, index: usize) -> Self {
        let mut element = self.clone();
        element.dims.push((length, index));
        element.depth += 1;
        element
    }

    pub(crate) fn check_depth(&self) -> Result<(), Failure> {
        check_depth(self.depth)
    }
}

fn join(name: &str, parts: impl Iterator<Item = String>, separator: &str) -> String {
    let parts = Some(name.to_owned()).filter(|name| !name.is_empty()).into_iter().chain(parts);
    parts.collect::<Vec<_>>().join(separator)
}
