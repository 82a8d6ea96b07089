//! The requests of a type, the unused tensors, and probable renames.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::load::entry::LoadEntry;
use crate::load::tensor_reader::TensorReader;
use crate::report::LoadReport;
use crate::shape::display;
use crate::source::{Source, StoredTensor};
use crate::tensor::Dtype;

/// A request of a type: a type of elements, and lengths, if they are fixed.
#[derive(Clone, Debug)]
pub(crate) struct TensorRequest {
    pub(crate) dtype: Option<Dtype>,
    pub(crate) dims: Vec<Option<usize>>,
    pub(crate) kind: &'static str,
}

impl TensorRequest {
    pub(crate) fn matches(&self, tensor: &TensorReader<'_>) -> bool {
        let fits = |(requested, found): (&Option<usize>, &usize)| {
            requested.is_none_or(|dim| dim == *found)
        };
        self.dtype == Some(tensor.dtype())
            && self.dims.len() == tensor.shape().len()
            && self.dims.iter().zip(tensor.shape()).all(fits)
    }
}

/// `f32[3, _]`, `str`
impl fmt::Display for TensorRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dtype) = self.dtype else { return f.write_str(self.kind) };
        let dims = self.dims.iter().map(|dim| dim.map_or("_".to_owned(), |dim| dim.to_string()));
        f.write_str(&display(dtype, &dims.collect::<Vec<_>>()))
    }
}

/// A tensor whose numbers are not all in the value.
pub(crate) struct UnusedTensor<'t> {
    pub(crate) name: String,
    /// Its name after the rules.
    pub(crate) renamed: Option<String>,
    pub(crate) tensor: &'t TensorReader<'t>,
    /// The number of unread numbers, and of all, if the type requested the tensor.
    pub(crate) unread: Option<(usize, usize)>,
}

/// `f32[3, 2]`, or another type that is requested there.
impl fmt::Display for UnusedTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tensor.display())?;
        if let Some(name) = &self.renamed {
            write!(f, ", which `Loader::rename` renamed to `{name}`")?;
        }
        match self.unread {
            None => Ok(()),
            Some((unread, all)) if unread == all => {
                f.write_str(", of which the type reads no number (`Loader::ignore` leaves it out)")
            }
            Some((unread, all)) => {
                write!(f, ", of which the type does not read {unread} of {all} numbers")
            }
        }
    }
}

/// The maximum number of pairs that are compared to find renames.
const COMPARED: usize = 1 << 20;

impl LoadReport {
    /// Adds the arrays of texts with texts that are not in the value. Texts that a rule ignores have no
    /// entries.
    pub(crate) fn drop_texts(
        &mut self,
        source: &Source<'_>,
        entries: &[LoadEntry<'_>],
        separator: &str,
    ) {
        let texts = source.iter().filter(|it| it.descriptor().numpy().is_some());
        let names: HashMap<&str, (usize, &StoredTensor<'_>)> =
            texts.zip(0..).map(|(stored, at)| (stored.name(), (at, stored))).collect();
        if names.is_empty() {
            return;
        }
        let mut unread = BTreeMap::<usize, (&StoredTensor<'_>, usize)>::new();
        for entry in entries.iter().filter(|it| it.array().is_none() && !it.is_read()) {
            let mut name = &*entry.original;
            while !names.contains_key(name) && !name.is_empty() {
                name = name.rsplit_once(separator).map_or("", |(above, _)| above);
            }
            if let Some((at, stored)) = names.get(name) {
                unread.entry(*at).or_insert((stored, 0)).1 += 1;
            }
        }
        for (stored, count) in unread.into_values() {
            let what = format!(
                "{}, of which the type does not read {count} elements",
                stored.descriptor()
            );
            self.dropped.push((stored.name().to_owned(), what));
        }
    }

    /// Treats a missing and an unused name as renamed if each is the only one with its shape.
    pub(crate) fn find_renamed(
        &mut self,
        missing: &[(String, TensorRequest)],
        unused: &[UnusedTensor<'_>],
    ) {
        let mut candidates = HashMap::<usize, Vec<usize>>::new();
        if missing.len().saturating_mul(unused.len()) <= COMPARED {
            for (to, (_, requested)) in missing.iter().enumerate() {
                let fits = |found: &UnusedTensor<'_>| {
                    found.renamed.is_none() && requested.matches(found.tensor)
                };
                let fitting = (0..unused.len()).filter(|from| unused.get(*from).is_some_and(fits));
                fitting.for_each(|from| candidates.entry(from).or_default().push(to));
            }
        }
        let mut count = HashMap::<usize, usize>::new();
        candidates.values().flatten().for_each(|to| *count.entry(*to).or_default() += 1);
        for (from, found) in unused.iter().enumerate() {
            let name = &found.name;
            match candidates.get(&from).map(Vec::as_slice) {
                Some([to]) if count.get(to) == Some(&1) => {
                    self.renamed.extend(missing.get(*to).map(|(to, _)| (name.clone(), to.clone())));
                }
                _ => self.dropped.push((name.clone(), found.to_string())),
            }
        }
        let of = missing.iter().map(|(name, requested)| (name.clone(), requested.to_string()));
        self.missing =
            of.filter(|(name, _)| self.renamed.iter().all(|(_, to)| to != name)).collect();
    }
}
