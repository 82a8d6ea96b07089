//! Patterns over names, and what is done to the tensors that they match.

use std::ops::Range;

use crate::error::{ErrorKind, Result};

/// What happens to tensors on the way into a type, in the order of the rules.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Rename(String, String),
    Transpose(String),
    ColumnMajor(String),
    Ignore(String),
}

/// A name with wildcards: `*` is one part of it, `**` any number of them.
#[derive(Clone, Debug)]
pub(crate) struct Glob<'a> {
    separator: &'a str,
    parts: Vec<&'a str>,
}

/// The elements of a sequence in a pattern of stacks.
const ELEMENTS: &str = "[*]";

/// A place in a pattern of stacks: the name of a sequence, and what of its elements is stacked.
pub(crate) struct Stack<'a> {
    pub(crate) above: Glob<'a>,
    /// In the names of a file, where stacked sequences have no part.
    pub(crate) below: Glob<'a>,
}

impl<'a> Stack<'a> {
    /// The places of a pattern: each `[*]`, or else its end.
    pub(crate) fn all(pattern: &'a str, separator: &'a str) -> Vec<Self> {
        let mut steps = Vec::new();
        for part in parts(pattern, separator) {
            let name = part.trim_end_matches(ELEMENTS);
            steps.extend(Some(name).filter(|name| !name.is_empty() || part.is_empty()));
            let wildcards = (part.len() - name.len()) / ELEMENTS.len();
            steps.extend(std::iter::repeat_n(ELEMENTS, wildcards));
        }
        let stack = |at: usize| {
            let (above, below) = steps.split_at_checked(at).unwrap_or_default();
            // What is below may be stacked, too, and has no part then; and all below that is meant.
            let below = below.iter().skip(1).chain([&ELEMENTS]);
            Stack {
                above: Glob { separator, parts: replaced(above.iter(), "*") },
                below: Glob { separator, parts: replaced(below, "**") },
            }
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
            let below = below.get(1..).unwrap_or_default();
            self.above.matches(above) && self.below.matches(below)
        })
    }
}

/// The parts of a pattern with a wildcard for elements.
fn replaced<'a: 's, 's>(steps: impl Iterator<Item = &'s &'a str>, by: &'a str) -> Vec<&'a str> {
    steps.map(|step| if *step == ELEMENTS { by } else { step }).collect()
}

/// The parts of a name. The empty name, that of the root, has none.
pub(crate) fn parts<'a>(name: &'a str, separator: &'a str) -> Vec<&'a str> {
    if name.is_empty() {
        Vec::new()
    } else if separator.is_empty() {
        vec![name]
    } else {
        name.split(separator).collect()
    }
}

impl<'a> Glob<'a> {
    pub(crate) fn new(pattern: &'a str, separator: &'a str) -> Self {
        Glob { separator, parts: parts(pattern, separator) }
    }

    pub(crate) fn matches(&self, name: &[&str]) -> bool {
        self.captures(name).is_some()
    }

    /// The parts of a name that each wildcard stands for. Greedy matching that only goes back to
    /// the last `**`: the time is at most the product of the lengths.
    fn captures(&self, name: &[&str]) -> Option<Vec<Range<usize>>> {
        let (mut captures, mut step, mut at) = (Vec::<Range<usize>>::new(), 0, 0);
        // The step after the last `**`, and the number of captures up to it.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match (self.parts.get(step), name.get(at)) {
                (None, None) => return Some(captures),
                (Some(&"**"), _) => {
                    captures.push(at..at);
                    step += 1;
                    retry = Some((step, captures.len()));
                    continue;
                }
                (Some(&"*"), Some(_)) => {
                    captures.push(at..at + 1);
                    (step, at) = (step + 1, at + 1);
                    continue;
                }
                (Some(part), Some(found)) if part == found => {
                    (step, at) = (step + 1, at + 1);
                    continue;
                }
                _ => {}
            }
            let (from, count) = retry?;
            captures.truncate(count);
            let any = captures.last_mut().filter(|any| any.end < name.len())?;
            any.end += 1;
            (step, at) = (from, any.end);
        }
    }

    /// The name with what the wildcards of this pattern stand for in those of another. `None` if it
    /// does not match.
    pub(crate) fn rename(&self, to: &Glob<'_>, name: &str) -> Option<String> {
        let name = parts(name, self.separator);
        let mut captures = self.captures(&name)?.into_iter();
        let mut renamed = Vec::new();
        for part in &to.parts {
            if is_wildcard(part) {
                renamed.extend(name.get(captures.next()?)?)
            } else {
                renamed.push(*part)
            }
        }
        Some(renamed.join(self.separator))
    }

    /// Checks that the other has the wildcards of this in their order.
    pub(crate) fn expect_same_wildcards(&self, to: &Glob<'_>) -> Result<()> {
        let wildcards = |glob: &Glob<'a>| {
            glob.parts.iter().copied().filter(|part| is_wildcard(part)).collect::<Vec<_>>()
        };
        let to_wildcards: Vec<&str> =
            to.parts.iter().copied().filter(|part| is_wildcard(part)).collect();
        if wildcards(self) == to_wildcards {
            return Ok(());
        }
        let (from, to) = (self.parts.join(self.separator), to.parts.join(self.separator));
        let what = format!("`{from}` and `{to}` do not have the same wildcards in the same order");
        Err(ErrorKind::Rule(what).into())
    }
}

fn is_wildcard(part: &str) -> bool {
    matches!(part, "*" | "**")
}
