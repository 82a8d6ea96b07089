//! Every treedef of the zoo into every type of the zoo: a helpful error, or a value whose losses
//! `unflatten_strict` reports in full.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use treedef::{Flattener, Key, Leaf, NodeKind, NodeRef, Path, TreeDef, Value};

use crate::specimens::{Specimen, Way, zoo};

/// One specimen of each type.
fn types(zoo: &[Specimen]) -> Vec<&Specimen> {
    let mut seen = HashSet::new();
    zoo.iter().filter(|specimen| seen.insert(specimen.laws.type_name())).collect()
}

#[derive(Clone, Copy)]
struct Place<'a> {
    node: NodeRef<'a>,
    leaves: &'a [Leaf],
}

impl<'a> Place<'a> {
    fn root((leaves, treedef): &'a (Vec<Leaf>, TreeDef)) -> Self {
        Place { node: treedef.root(), leaves }
    }

    fn inside(value: &'a Value) -> Self {
        let Cow::Borrowed(leaves) = value.leaves() else { panic!("{value} is an array") };
        Place { node: value.root(), leaves }
    }

    /// A static and an opaque leaf count as equal if their values are equal.
    fn seen(self) -> Self {
        let opaque = match self.node.kind() {
            NodeKind::Leaf => self.leaves.get(self.node.leaf_range().start),
            _ => None,
        };
        match (self.node.static_value(), opaque) {
            (Some(value), _) => Place::inside(value),
            (_, Some(Leaf::Opaque(value))) => Place::inside(value),
            _ => self,
        }
    }

    /// `None` is a leaf where an absent value was declared one.
    fn is_none(self) -> bool {
        self.node.kind() == NodeKind::None
            || self.node.kind() == NodeKind::Leaf
                && self.leaves.get(self.node.leaf_range().start) == Some(&Leaf::None)
    }

    fn children(self) -> impl Iterator<Item = (Key, Place<'a>)> {
        let keys = (0..self.node.num_children()).filter_map(move |at| self.node.key(at));
        keys.zip(self.node.children()).map(move |(key, node)| (key, Place { node, ..self }))
    }

    /// Children by their names or keys; a map may have several under one.
    fn entries(self) -> BTreeMap<String, (Key, Vec<Place<'a>>)> {
        let mut entries = BTreeMap::new();
        for (key, child) in self.children() {
            let (_, places) = entries.entry(key.to_string()).or_insert((key, Vec::new()));
            places.push(child);
        }
        entries
    }
}

/// Where two trees differ, found as simply as can be: names of types do not count, fields and
/// entries go by their keys.
fn walk(a: Place<'_>, b: Place<'_>, path: &Path, differences: &mut Vec<Path>) {
    let (a, b) = (a.seen(), b.seen());
    if a.is_none() && b.is_none() {
        return;
    }
    let is = |kinds: &[NodeKind]| kinds.contains(&a.node.kind());
    if a.node.kind() != b.node.kind()
        || a.node.variant() != b.node.variant()
        || a.node.static_value() != b.node.static_value()
    {
        differences.push(path.clone());
    } else if is(&[NodeKind::Leaf]) {
        if a.leaves[a.node.leaf_range().start] != b.leaves[b.node.leaf_range().start] {
            differences.push(path.clone());
        }
    } else if is(&[NodeKind::Struct, NodeKind::StructVariant, NodeKind::Map]) {
        let (ours, theirs) = (a.entries(), b.entries());
        for (text, (key, places)) in &ours {
            let others = theirs.get(text).map_or(&[][..], |(_, others)| others);
            if places.len() != others.len() {
                differences.push(path.child(key.clone()));
            }
            for (&place, &other) in places.iter().zip(others) {
                walk(place, other, &path.child(key.clone()), differences);
            }
        }
        let only_theirs = theirs.iter().filter(|(text, _)| !ours.contains_key(*text));
        differences.extend(only_theirs.map(|(_, (key, _))| path.child(key.clone())));
    } else {
        if a.node.num_children() != b.node.num_children() {
            differences.push(path.clone());
        }
        for ((key, child), (_, other)) in a.children().zip(b.children()) {
            walk(child, other, &path.child(key), differences);
        }
    }
}

fn differences(expected: &(Vec<Leaf>, TreeDef), found: &(Vec<Leaf>, TreeDef)) -> Vec<Path> {
    let mut differences = Vec::new();
    walk(Place::root(expected), Place::root(found), &Path::root(), &mut differences);
    differences
}

fn covers(reported: &[Path], difference: &Path) -> bool {
    reported.iter().any(|path| difference.keys().starts_with(path.keys()))
}

/// The outcome of one pair.
#[derive(Default)]
struct Outcomes {
    refused: usize,
    lossless: usize,
    lossy: usize,
}

fn try_pair(
    given: &(Vec<Leaf>, TreeDef),
    into: &Specimen,
    outcomes: &mut Outcomes,
) -> Result<(), String> {
    let (leaves, treedef) = given;
    let value = match into.laws.rebuild(Way::Shared, treedef, leaves) {
        Ok(value) => value,
        Err(error) => {
            outcomes.refused += 1;
            let strict = into.laws.rebuild(Way::Strict, treedef, leaves);
            return match (error.to_string().trim().is_empty(), strict) {
                (true, _) => Err("an error that says nothing".to_owned()),
                (_, Ok(_)) => Err(format!("refused ({error}), but not by unflatten_strict")),
                _ => Ok(()),
            };
        }
    };
    let again = value.flatten(&Flattener::new()).map_err(|error| format!("again: {error}"))?;
    let seen = differences(given, &again);
    let trees = || format!("\n  given {}\n  again {}", given.1, again.1);
    match into.laws.rebuild(Way::Strict, treedef, leaves) {
        Ok(_) if seen.is_empty() => outcomes.lossless += 1,
        Ok(_) => return Err(format!("unflatten_strict passes over {seen:?}{}", trees())),
        Err(error) if error.differences().is_empty() => {
            return Err(format!("unflatten_strict without differences: {error}"));
        }
        Err(error) => {
            outcomes.lossy += 1;
            let reported: Vec<_> =
                error.differences().iter().map(|difference| difference.path.clone()).collect();
            if let Some(missed) = seen.iter().find(|path| !covers(&reported, path)) {
                return Err(format!("`{missed}` is not reported: {error}{}", trees()));
            }
            let is_seen =
                |path: &&Path| seen.iter().any(|seen| seen.keys().starts_with(path.keys()));
            if let Some(extra) = reported.iter().find(|path| !is_seen(path)) {
                return Err(format!("`{extra}` is reported and no difference: {error}{}", trees()));
            }
            if error.path() != &reported[0] {
                return Err(format!("an error at `{}`: {error}", error.path()));
            }
        }
    }
    Ok(())
}

#[test]
fn every_treedef_into_every_type_is_refused_or_accounted_for() {
    let zoo = zoo();
    let types = types(&zoo);
    let mut outcomes = Outcomes::default();
    let mut broken = Vec::new();
    for specimen in &zoo {
        let given = specimen.laws.flatten(&Flattener::new()).unwrap();
        for into in &types {
            let pair = || format!("`{}` into {}", specimen.name, into.laws.type_name());
            match catch_unwind(AssertUnwindSafe(|| try_pair(&given, into, &mut outcomes))) {
                Ok(Ok(())) => {}
                Ok(Err(how)) => broken.push(format!("{}: {how:.1000}", pair())),
                Err(_) => broken.push(format!("{}: panicked", pair())),
            }
        }
    }
    let Outcomes { refused, lossless, lossy } = outcomes;
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
    // Were all pairs refused, the rest would have been tested on nothing.
    assert!(
        refused > 10_000 && lossless > zoo.len() && lossy > 500,
        "{refused} {lossless} {lossy}"
    );
}
