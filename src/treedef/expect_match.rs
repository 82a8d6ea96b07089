//! Patterns that must match a node, and suggestions for patterns that match none.

use crate::error::{Cause, Error, Result};
use crate::hash_index::HashIndex;
use crate::model::{NodeKind, TreeDef};
use crate::path::Key;
use crate::pattern::{Pattern, PatternStep};
use crate::treedef::lookup::{self, Nearness, RequestedKey, nearness};
use crate::treedef::walk::{Event, Visits, Walk};

/// The maximum number of different names of a structure that are compared with a name that it does
/// not have.
const MOST_NAMES: usize = 1 << 16;

/// The number of nearest names that are tried.
const MOST_TRIED: usize = 16;

/// A pattern with more steps gets no suggestion, because each step is tried at each of these keys.
const MOST_STEPS: usize = 64;

/// The maximum number of nodes whose children are counted for a hint.
const MOST_COUNTED: usize = 1 << 12;

/// Returns an error if a pattern, or one of the names in its braces, matches no node, with the pattern
/// that was probably meant.
pub(super) fn expect_match(treedef: &TreeDef, pattern: &Pattern) -> Result<()> {
    let is_nothing = |pattern: &Pattern| !has_match(treedef, pattern);
    let Some(pattern) = pattern.find_alternative(&is_nothing) else { return Ok(()) };
    let nearest = nearest_pattern(treedef, &pattern);
    let hint = match &nearest {
        Some(meant) => Some(format!("did you mean `{meant}`?")),
        None => beyond_the_end(treedef, &pattern),
    };
    let error = Error::from(Cause::NoMatch { pattern: pattern.to_string(), nearest });
    Err(match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    })
}

/// The pattern at any depth, or with the other wildcard or another name in the first step that matches
/// no node. If the steps after that name match nothing below it, they are left out.
#[cold]
fn nearest_pattern(treedef: &TreeDef, pattern: &Pattern) -> Option<Pattern> {
    let steps = &pattern.0;
    if steps.len() > MOST_STEPS {
        return None;
    }
    let names_one = |pattern: &Pattern| has_match(treedef, pattern);
    let joined = |above: &[PatternStep], step: PatternStep, below: &[PatternStep]| {
        let mut steps = above.to_vec();
        steps.push(step);
        steps.extend_from_slice(below);
        Pattern(steps)
    };

    let (above, first, below) = first_without_match(treedef, pattern)?;
    let deeper = joined(&[], PatternStep::AnySteps, steps);
    if names_one(&deeper) {
        return Some(deeper);
    }
    let asked = match first {
        PatternStep::Key(asked) => asked,
        PatternStep::AnySteps | PatternStep::OneOf(_) | PatternStep::Indices(_) => return None,
        PatternStep::AnyField | PatternStep::AnyEntry => {
            let field = *first == PatternStep::AnyEntry;
            let other = if field { PatternStep::AnyField } else { PatternStep::AnyEntry };
            return Some(joined(above, other, below)).filter(names_one);
        }
    };

    let mut keys = vec![asked];
    for step in below {
        let PatternStep::Key(key) = step else { break };
        keys.push(key);
    }
    let meant = RequestedKey::new(&keys)?;
    let nearness = |key: &Key| {
        let begins = || nearness(asked.text()?, key.text()?);
        meant.distance(key).map(Nearness::Spelled).or_else(begins)
    };
    let names = names(treedef);
    let mut near: Vec<(Nearness, &Key)> = Vec::new();
    for key in &names {
        near.extend(nearness(key).map(|nearness| (nearness, key)));
    }
    for _ in 0..MOST_TRIED {
        let nearest = near.iter().map(|(nearness, _)| *nearness).min()?;
        let at = near.iter().position(|(nearness, _)| *nearness == nearest)?;
        let key = PatternStep::Key(RequestedKey::short(near.remove(at).1));
        let alone = joined(above, key.clone(), &[]);
        if names_one(&alone) {
            return Some(joined(above, key, below)).filter(names_one).or(Some(alone));
        }
    }
    None
}

/// The first step that matches nothing, with the steps before and after it. If some steps match a node, the
/// steps before the last match a node above it.
fn first_without_match<'p>(
    treedef: &TreeDef,
    pattern: &'p Pattern,
) -> Option<(&'p [PatternStep], &'p PatternStep, &'p [PatternStep])> {
    let steps = &pattern.0;
    let lengths: Vec<usize> = (1..=steps.len()).collect();
    let matches = |length: &usize| has_match(treedef, &Pattern(steps[..*length].to_vec()));
    let (above, rest) = steps.split_at_checked(lengths.partition_point(matches))?;
    let (first, below) = rest.split_first()?;
    Some((above, first, below))
}

/// How many elements there are, if the pattern names one beyond the last.
#[cold]
fn beyond_the_end(treedef: &TreeDef, pattern: &Pattern) -> Option<String> {
    if pattern.0.len() > MOST_STEPS {
        return None;
    }
    use NodeKind::{Seq, Tuple, TupleStruct, TupleVariant};
    let (above, first, _) = first_without_match(treedef, pattern)?;
    match first {
        PatternStep::Key(Key::Index(_) | Key::Position(_)) | PatternStep::Indices(_) => {}
        _ => return None,
    }
    let nodes = treedef.matches(Pattern(above.to_vec())).take(MOST_COUNTED);
    let counts = nodes.filter_map(|(mut path, mut node)| {
        lookup::enter(&mut node, &mut path, |_| true);
        matches!(node.kind(), Seq | Tuple | TupleStruct | TupleVariant)
            .then(|| (node.num_children(), path))
    });
    let (count, path) = counts.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    let path = if path.is_root() { "the root".to_owned() } else { format!("`{}`", path.brief()) };
    Some(match count {
        1 => format!("there is 1 element at {path}"),
        _ => format!("there are {count} elements at {path}"),
    })
}

fn has_match(treedef: &TreeDef, pattern: &Pattern) -> bool {
    treedef.matches(pattern.clone()).next().is_some()
}

/// The different names of fields and entries, by first occurrence, up to a maximum.
fn names(treedef: &TreeDef) -> Vec<Key> {
    let mut names: Vec<Key> = Vec::new();
    let mut seen = HashIndex::default();
    let mut walk = Walk::new(treedef.root(), Visits::AtRuns);
    while let Some(event) = walk.next() {
        let Event::Enter { node, .. } = event else { continue };
        let count = if node.is_labelled() { node.num_children() } else { 0 };
        for key in (0..count).map(|position| node.child_key(position)) {
            if names.len() == MOST_NAMES {
                return names;
            }
            let hash = seen.hash(&key);
            if seen.find(hash, &|at| names.get(at) == Some(&key)).is_none() {
                seen.insert(hash, names.len());
                names.push(key);
            }
        }
    }
    names
}
