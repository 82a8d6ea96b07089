//! Patterns over the parts of names.

use std::ops::Range;

use crate::error::{ErrorKind, Result};

/// A name with wildcards: `*` is one part of it, `**` any number of them.
#[derive(Clone, Debug)]
pub(crate) struct Glob<'a> {
    pub(crate) separator: &'a str,
    pub(crate) parts: Vec<&'a str>,
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

/// The name that a rule gives to one that matches, with the wildcards of the other pattern.
pub fn renamed(from: &str, to: &str, separator: &str, name: &str) -> Result<Option<String>> {
    let (from, to) = (Glob::new(from, separator), Glob::new(to, separator));
    from.expect_same_wildcards(&to)?;
    Ok(from.rename(&to, &parts(name, separator)).map(|name| name.join(separator)))
}

/// Rules that rename, each a pattern and what it becomes, split into parts once for all names.
pub(crate) struct Renames<'a> {
    separator: &'a str,
    rules: Vec<(Glob<'a>, Glob<'a>)>,
}

impl<'a> Renames<'a> {
    pub(crate) fn new(
        rules: impl IntoIterator<Item = (&'a String, &'a String)>,
        separator: &'a str,
    ) -> Result<Self> {
        let rule = |(from, to): (&'a String, &'a String)| {
            let (from, to) = (Glob::new(from, separator), Glob::new(to, separator));
            from.expect_same_wildcards(&to)?;
            Ok((from, to))
        };
        Ok(Renames { separator, rules: rules.into_iter().map(rule).collect::<Result<_>>()? })
    }

    /// The name after all rules. The function is called with the number of each that matches, and the
    /// name that it gives.
    pub(crate) fn rename(&self, name: &str, mut matched: impl FnMut(usize, &[&str])) -> String {
        let mut here = parts(name, self.separator);
        for (number, (from, to)) in self.rules.iter().enumerate() {
            if let Some(new) = from.rename(to, &here) {
                here = new;
                matched(number, &here);
            }
        }
        here.join(self.separator)
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
    pub(crate) fn rename<'n>(&self, to: &Glob<'n>, name: &[&'n str]) -> Option<Vec<&'n str>> {
        let mut captures = self.captures(name)?.into_iter();
        let mut renamed = Vec::new();
        for part in &to.parts {
            if is_wildcard(part) {
                renamed.extend(name.get(captures.next()?)?)
            } else {
                renamed.push(*part)
            }
        }
        // One empty part is the name of the root, which has none.
        Some(if renamed == [""] { Vec::new() } else { renamed })
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
