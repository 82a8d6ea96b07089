//! What of the tensors did not fit the type.

use std::collections::HashMap;
use std::fmt;

use crate::tensor::{Dtype, Tensor};

/// How the tensors of a file differ from those that a type reads. Shapes are in JAX's notation; `_`
/// is any length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadReport {
    /// What the type reads and the file does not have: the name, and what is expected.
    pub missing: Vec<(String, String)>,
    /// The tensors that the type does not read: the name, and what it is.
    pub unused: Vec<(String, String)>,
    /// A tensor of the file that the type does not read, and the only one that it misses of that
    /// shape: perhaps they are the same (see [`Loader::rename`](crate::Loader::rename)).
    pub renamed: Vec<(String, String)>,
    /// The tensors of another shape or type: the name, what is expected, and what was found.
    pub changed: Vec<(String, String, String)>,
    /// The names that the file does not have, with values of
    /// [`Loader::fill_from`](crate::Loader::fill_from).
    pub filled: Vec<String>,
    /// Where the type refused to be read further, and why.
    pub stopped: Option<String>,
}

/// What a type asks for: a type of elements, and lengths, where it says them.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) dtype: Option<Dtype>,
    pub(crate) dims: Vec<Option<usize>>,
    pub(crate) kind: &'static str,
}

impl Asked {
    pub(crate) fn is(&self, tensor: &Tensor<'_>) -> bool {
        let fits = |(asked, found): (&Option<usize>, &usize)| asked.is_none_or(|dim| dim == *found);
        self.dtype == Some(tensor.dtype())
            && self.dims.len() == tensor.shape().len()
            && self.dims.iter().zip(tensor.shape()).all(fits)
    }
}

/// `f32[3, _]`, `str`
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dtype) = self.dtype else { return f.write_str(self.kind) };
        let dims = self.dims.iter().map(|dim| dim.map_or("_".to_owned(), |dim| dim.to_string()));
        write!(f, "{dtype}[{}]", dims.collect::<Vec<_>>().join(", "))
    }
}

/// So many pairs are compared to find what was renamed.
const COMPARED: usize = 1 << 20;

impl LoadReport {
    /// Takes what is missing and what is unused for renamed, where only one of each has a shape.
    pub(crate) fn find_renamed(
        &mut self,
        missing: &[(String, Asked)],
        unused: &[(String, &Tensor<'_>)],
    ) {
        let mut candidates = HashMap::<usize, Vec<usize>>::new();
        if missing.len().saturating_mul(unused.len()) <= COMPARED {
            for (to, (_, asked)) in missing.iter().enumerate() {
                let fitting = (0..unused.len())
                    .filter(|from| unused.get(*from).is_some_and(|(_, tensor)| asked.is(tensor)));
                fitting.for_each(|from| candidates.entry(from).or_default().push(to));
            }
        }
        let mut count = HashMap::<usize, usize>::new();
        candidates.values().flatten().for_each(|to| *count.entry(*to).or_default() += 1);
        for (from, (name, tensor)) in unused.iter().enumerate() {
            match candidates.get(&from).map(Vec::as_slice) {
                Some([to]) if count.get(to) == Some(&1) => {
                    self.renamed.extend(missing.get(*to).map(|(to, _)| (name.clone(), to.clone())));
                }
                _ => self.unused.push((name.clone(), tensor.to_string())),
            }
        }
        let of = missing.iter().map(|(name, asked)| (name.clone(), asked.to_string()));
        self.missing =
            of.filter(|(name, _)| self.renamed.iter().all(|(_, to)| to != name)).collect();
    }

    /// Whether the tensors are those that the type reads, but for what it was asked to fill.
    pub fn is_exact(&self) -> bool {
        let LoadReport { missing, unused, renamed, changed, filled: _, stopped } = self;
        missing.is_empty()
            && unused.is_empty()
            && renamed.is_empty()
            && changed.is_empty()
            && stopped.is_none()
    }
}

/// A line for each difference.
impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 100;
        let changed = self.changed.iter();
        let renamed = self.renamed.iter();
        let missing = self.missing.iter();
        let unused = self.unused.iter();
        let lines = changed
            .map(|(name, expected, found)| format!("`{name}` is {found}, expected {expected}"))
            .chain(renamed.map(|(from, to)| {
                format!("missing `{to}`: perhaps it is `{from}`, which is unused")
            }))
            .chain(missing.map(|(name, expected)| format!("missing `{name}`: {expected}")))
            .chain(unused.map(|(name, found)| format!("unused `{name}`: {found}")))
            .chain(self.stopped.iter().map(|error| format!("stopped: {error}")))
            .chain(self.filled.iter().map(|name| format!("filled `{name}`")));
        let lines: Vec<String> = lines.collect();
        let shown: Vec<&str> = lines.iter().take(SHOWN).map(String::as_str).collect();
        f.write_str(&shown.join("\n"))?;
        match lines.len() > SHOWN {
            true => write!(f, "\nand {} more", lines.len() - SHOWN),
            false => Ok(()),
        }
    }
}
