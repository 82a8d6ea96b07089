//! What of the tensors did not fit the type.

use std::collections::HashMap;
use std::fmt;

use crate::load::numbers::Numbers;
use crate::tensor::Dtype;

/// How the tensors of a file differ from those that a type reads. Shapes are in JAX's notation; `_`
/// is any length.
///
/// It prints as one line with the words of `treedef::Migration`, and is empty if there is no
/// difference. An error has a line for each (see [`ErrorKind::Load`](crate::ErrorKind::Load)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadReport {
    /// The type reads them and the file does not have them:
    /// [`Loader::fill_from`](crate::Loader::fill_from) has their values.
    pub filled: Vec<String>,
    /// The file has them and the type does not read them, or not all of their numbers: the name, and
    /// what the tensor is.
    pub dropped: Vec<(String, String)>,
    /// A tensor of the file that the type does not read, and the only one that it misses of that
    /// shape: perhaps they are the same (see [`Loader::rename`](crate::Loader::rename)).
    pub renamed: Vec<(String, String)>,
    /// The tensors of another shape or type: the name, what is expected, and what was found.
    pub changed: Vec<(String, String, String)>,
    /// The type reads them and nobody has them: the name, and what is expected.
    pub missing: Vec<(String, String)>,
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
    pub(crate) fn is(&self, tensor: &Numbers<'_>) -> bool {
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

/// A tensor whose numbers are not all in the value.
pub(crate) struct Unused<'t> {
    pub(crate) name: String,
    pub(crate) tensor: &'t Numbers<'t>,
    /// How many of how many were not read, if the type asked for what is there.
    pub(crate) unread: Option<(usize, usize)>,
}

/// `f32[3, 2]`, or what else a type asks for there.
impl fmt::Display for Unused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tensor.display())?;
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

/// So many pairs are compared to find what was renamed.
const COMPARED: usize = 1 << 20;

impl LoadReport {
    /// Takes what is missing and what is unused for renamed, where only one of each has a shape.
    pub(crate) fn find_renamed(&mut self, missing: &[(String, Asked)], unused: &[Unused<'_>]) {
        let mut candidates = HashMap::<usize, Vec<usize>>::new();
        if missing.len().saturating_mul(unused.len()) <= COMPARED {
            for (to, (_, asked)) in missing.iter().enumerate() {
                let fitting = (0..unused.len())
                    .filter(|from| unused.get(*from).is_some_and(|found| asked.is(found.tensor)));
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
        let of = missing.iter().map(|(name, asked)| (name.clone(), asked.to_string()));
        self.missing =
            of.filter(|(name, _)| self.renamed.iter().all(|(_, to)| to != name)).collect();
    }

    /// Whether the tensors are those that the type reads, except those that it was asked to fill.
    pub fn is_exact(&self) -> bool {
        let LoadReport { filled: _, dropped, renamed, changed, missing, stopped } = self;
        missing.is_empty()
            && dropped.is_empty()
            && renamed.is_empty()
            && changed.is_empty()
            && stopped.is_none()
    }

    /// A line for each difference.
    pub(crate) fn lines(&self) -> String {
        const SHOWN: usize = 100;
        let changed = self.changed.iter();
        let renamed = self.renamed.iter();
        let lines = changed
            .map(|(name, expected, found)| format!("`{name}` is {found}, expected {expected}"))
            .chain(renamed.map(|(from, to)| {
                format!("missing `{to}`: perhaps it is `{from}`, which is unused")
            }))
            .chain(self.missing.iter().map(|(name, asked)| format!("missing `{name}`: {asked}")))
            .chain(self.dropped.iter().map(|(name, found)| format!("unused `{name}`: {found}")))
            .chain(self.stopped.iter().map(|error| format!("stopped: {error}")))
            .chain(self.filled.iter().map(|name| format!("filled `{name}`")));
        let mut lines: Vec<String> = lines.collect();
        if lines.len() > SHOWN {
            let more = format!("and {} more", lines.len() - SHOWN);
            lines.truncate(SHOWN);
            lines.push(more);
        }
        lines.join("\n")
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_shape = |(name, shape): &(String, String)| format!("`{name}` ({shape})");
        let clauses = [
            clause("filled", &self.filled, |name| format!("`{name}`")),
            clause("dropped", &self.dropped, with_shape),
            clause("renamed", &self.renamed, |(from, to)| format!("`{from}` to `{to}`")),
            clause("changed", &self.changed, |(name, expected, found)| {
                format!("{found} to {expected} at `{name}`")
            }),
            clause("missing", &self.missing, with_shape),
            self.stopped.as_ref().map(|error| format!("stopped: {error}")),
        ];
        let clauses: Vec<String> = clauses.into_iter().flatten().collect();
        f.write_str(&clauses.join("; "))
    }
}

/// A verb with the first few of what it applies to.
fn clause<T>(verb: &str, all: &[T], print: impl Fn(&T) -> String) -> Option<String> {
    const SHOWN: usize = 3;
    let shown: Vec<String> = all.iter().take(SHOWN).map(print).collect();
    let more = Some(all.len()).filter(|count| *count > SHOWN);
    let more = more.map_or(String::new(), |count| format!(" and {} more", count - SHOWN));
    (!all.is_empty()).then(|| format!("{verb} {}{more}", shown.join(", ")))
}
