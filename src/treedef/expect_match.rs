//! Patterns that must match a node, and suggestions for patterns that match none.

use std::borrow::Cow;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::error::{Cause, Error, Result};
use crate::model::TreeDef;
use crate::path::Key;
use crate::pattern::{Pattern, PatternStep};
use crate::treedef::lookup::{Asked, Nearness, nearness};
use crate::treedef::walk::{Event, Visits, Walk};

/// The maximum number of different names of a structure that are compared with a name that it does
/// not have.
const MOST_NAMES: usize = 1 << 16;

/// The number of nearest names that are tried.
const MOST_TRIED: usize = 16;

/// A pattern with more steps gets no suggestion, because each step is tried at each of these keys.
const MOST_STEPS: usize = 64;

impl TreeDef {
    /// Returns an error if a pattern, or one of the names in its braces, matches no node, with the pattern
    /// that was probably meant.
    pub(crate) fn expect_match(&self, pattern: &Pattern) -> Result<()> {
        let is_nothing = |pattern: &Cow<'_, Pattern>| {
            self.matches(pattern.clone().into_owned()).next().is_none()
        };
        let Some(pattern) = pattern.alternatives().find(is_nothing) else { return Ok(()) };
        let nearest = self.nearest_pattern(&pattern);
        let hint = nearest.as_ref().map(|meant| format!("did you mean `{meant}`?"));
        let error = Error::from(Cause::NoMatch { pattern: pattern.to_string(), nearest });
        Err(match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        })
    }

    /// The pattern at any depth, or with the other wildcard or another name in the first step that matches
    /// no node. If the steps after that name match nothing below it, they are left out.
    #[cold]
    fn nearest_pattern(&self, pattern: &Pattern) -> Option<Pattern> {
        let steps = &pattern.0;
        if steps.len() > MOST_STEPS {
            return None;
        }
        let names_one = |pattern: &Pattern| self.matches(pattern.clone()).next().is_some();

        // If some steps match a node, the steps before the last match a node above it.
        let lengths: Vec<usize> = (1..=steps.len()).collect();
        let fits = lengths.partition_point(|length| {
            names_one(&Pattern(steps.iter().take(*length).cloned().collect()))
        });
        let (above, rest) = steps.split_at_checked(fits)?;
        let (first, below) = rest.split_first()?;
        let deeper = Pattern([&[PatternStep::AnySteps], &steps[..]].concat());
        if names_one(&deeper) {
            return Some(deeper);
        }
        let asked = match first {
            PatternStep::Key(asked) => asked,
            PatternStep::AnySteps | PatternStep::OneOf(_) | PatternStep::Indices(_) => return None,
            PatternStep::AnyField | PatternStep::AnyEntry => {
                let field = *first == PatternStep::AnyEntry;
                let other = if field { PatternStep::AnyField } else { PatternStep::AnyEntry };
                return Some(Pattern([above, &[other], below].concat())).filter(names_one);
            }
        };
        let with = |key: &Key, below: &[PatternStep]| {
            Pattern([above, &[PatternStep::Key(key.clone())], below].concat())
        };

        let keys = [asked].into_iter().chain(below.iter().map_while(|step| match step {
            PatternStep::Key(key) => Some(key),
            _ => None,
        }));
        let meant = Asked::new(keys)?;
        let near = |key: Key| {
            let begins = || nearness(asked.text()?, key.text()?);
            let near = meant.distance(&key).map(Nearness::Spelled).or_else(begins)?;
            Some((near, Asked::short(&key)))
        };
        let mut near: Vec<(Nearness, Key)> = self.names().into_iter().filter_map(near).collect();
        for _ in 0..MOST_TRIED {
            let (at, _) = near.iter().enumerate().min_by_key(|(_, (nearness, _))| *nearness)?;
            let (_, key) = near.remove(at);
            if names_one(&with(&key, &[])) {
                let whole = with(&key, below);
                return Some(if names_one(&whole) { whole } else { with(&key, &[]) });
            }
        }
        None
    }

    /// The different names of fields and entries, by first occurrence, up to a maximum.
    fn names(&self) -> Vec<Key> {
        let mut names: Vec<Key> = Vec::new();
        let (mut seen, hasher) = (HashTable::<(u64, usize)>::new(), DefaultHashBuilder::default());
        let mut walk = Walk::new(self.root(), Visits::AtRuns);
        while let Some(event) = walk.next() {
            let Event::Enter { node, .. } = event else { continue };
            let count = if node.is_labelled() { node.num_children() } else { 0 };
            for key in (0..count).map(|position| node.child_key(position)) {
                if names.len() == MOST_NAMES {
                    return names;
                }
                let hash = hasher.hash_one(&key);
                let is_it =
                    |(other, at): &(u64, usize)| *other == hash && names.get(*at) == Some(&key);
                if seen.find(hash, is_it).is_none() {
                    seen.insert_unique(hash, (hash, names.len()), |(hash, _)| *hash);
                    names.push(key);
                }
            }
        }
        names
    }
}
