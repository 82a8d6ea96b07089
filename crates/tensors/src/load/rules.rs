//! Patterns over names, and operations on the tensors that they match.

use crate::bug::OrBug;
use crate::error::Result;
use crate::glob::{Glob, parts};
use crate::name_mapping::NameMapping;

/// Operations on tensors while they are loaded, in the order of the rules.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Rename {
        from: String,
        to: String,
        may_match_nothing: bool,
    },
    Names(NameMapping),
    /// An additional name for the tensors that match.
    Tie(String, String),
    Transpose(String),
    ColumnMajor(String),
    Ignore(String),
}

/// The elements of a sequence in a pattern of stacks.
const ELEMENTS: &str = "[*]";

/// One axis of a pattern of stacks: the name of a sequence, and the stacked part of its elements.
pub(crate) struct StackAxis<'a> {
    pub(crate) above: Glob<'a>,
    /// In the names of a file, where stacked sequences have no part.
    pub(crate) below: Glob<'a>,
}

impl<'a> StackAxis<'a> {
    /// The axes of a pattern: each `[*]`, or else its end.
    pub(crate) fn all(pattern: &'a str, separator: &'a str) -> Result<Vec<Self>> {
        let mut steps = Vec::new();
        for part in parts(pattern, separator) {
            let name = part.trim_end_matches(ELEMENTS);
            steps.extend(Some(name).filter(|name| !name.is_empty() || part.is_empty()));
            let wildcards = (part.len() - name.len()) / ELEMENTS.len();
            steps.extend(std::iter::repeat_n(ELEMENTS, wildcards));
        }
        let stack = |at: usize| {
            let (above, below) = steps.split_at_checked(at).or_bug();
            // The part below may be stacked, too, and then has no part in the name; everything
            // below is included.
            let below = below.iter().skip(1).chain([&ELEMENTS]);
            let (above, below) = (replaced(above.iter(), "*"), replaced(below, "**"));
            Ok(StackAxis { above: Glob::of(above)?, below: Glob::of(below)? })
        };
        let elements = steps.iter().enumerate().filter(|(_, step)| **step == ELEMENTS);
        let mut places: Vec<usize> = elements.map(|(at, _)| at).collect();
        if places.is_empty() {
            places.push(steps.len());
        }
        places.into_iter().map(stack).collect()
    }

    /// Whether a tensor of this name has an axis for the elements of a sequence.
    pub(crate) fn stacks(&self, name: &str, separator: &str) -> bool {
        let parts = parts(name, separator);
        let mut sequences = (0..=parts.len()).map(|at| parts.split_at(at));
        sequences.any(|(above, below)| self.above.matches(above) && self.below.matches(below))
    }

    /// Whether a name has the index of an element that may be stacked.
    pub(crate) fn has(&self, name: &str, separator: &str) -> bool {
        let parts = parts(name, separator);
        let mut elements = (0..parts.len()).map(|at| parts.split_at(at));
        elements.any(|(above, below)| {
            let below = below.get(1..).or_bug();
            self.above.matches(above) && self.below.matches(below)
        })
    }
}

/// The parts of a pattern with a wildcard for elements.
fn replaced<'a: 's, 's>(
    steps: impl Iterator<Item = &'s &'a str>,
    by: &'a str,
) -> impl Iterator<Item = &'a str> {
    steps.map(move |step| if *step == ELEMENTS { by } else { step })
}
