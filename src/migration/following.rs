//! Follows the leaves from a tree to the value that was made of it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use crate::error::{Difference, DifferenceKind, ErrorKind, Result};
use crate::leaf::float::{narrow, widen};
use crate::model::{Leaf, LeafKind, Name, Tree};
use crate::path::{Key, Path};
use crate::pattern::generalised;
use crate::treedef::difference::{is_widened, migration_differences};
use crate::treedef::pairs::equal_subtrees;

use super::origins::{Experiments, MOST_EXPERIMENTS, Origin, items};
use super::report::Migration;
use super::sides::{ChangedNode, Side, Way, ways};

/// The value that a type makes of a tree: as a tree, and only its leaves, if it has the structure
/// that it had first.
pub(super) struct Rebuild<'a> {
    pub(super) tree: &'a dyn Fn(&Tree<Leaf>) -> Result<Tree<Leaf>>,
    pub(super) leaves: &'a RebuildLeaves<'a>,
}

type RebuildLeaves<'a> = dyn Fn(&Tree<Leaf>, &mut Vec<Leaf>) -> Result<()> + 'a;

/// What a type made of a tree.
pub(super) fn what_became(
    old: &Tree<Leaf>,
    new: &Tree<Leaf>,
    widened: bool,
    rebuild: &Rebuild<'_>,
) -> Migration {
    let (mut before, mut after) = (Side::of(old), Side::of(new));
    let mut changed = Vec::new();
    for difference in migration_differences(old, new, widened) {
        let Difference { path, kind, .. } = &difference;
        match kind {
            DifferenceKind::Missing => before.push(path, None),
            DifferenceKind::Extra => after.push(path, None),
            DifferenceKind::Node | DifferenceKind::Variant => {
                before.push(path, Some(changed.len()));
                after.push(path, Some(changed.len()));
                changed.push(difference);
            }
            // A sequence and a tuple. What became of their elements is in the list, too.
            DifferenceKind::Name => {
                changed.push(Difference { kind: DifferenceKind::Node, ..difference });
            }
            _ => changed.push(difference),
        }
    }
    let migration = Migration { changed, ..Migration::default() };
    let (pairs, whole) = (Vec::new(), Vec::new());
    let mut following =
        Following { before, after, widened, pairs, whole, migration, compared: Cell::new(0) };
    if !following.before.nodes.is_empty() && !following.after.nodes.is_empty() {
        following.follow(rebuild);
        following.follow_leafless(rebuild);
    }
    following.finish()
}

/// The search for what became of the leaves.
pub(super) struct Following<'a> {
    pub(super) before: Side<'a>,
    pub(super) after: Side<'a>,
    widened: bool,
    /// A leaf of the tree, and the leaf of the value that it became.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Whole nodes: their indices on the two sides.
    whole: Vec<(usize, usize)>,
    pub(super) migration: Migration,
    compared: Cell<usize>,
}

impl<'a> Following<'a> {
    fn follow(&mut self, rebuild: &Rebuild<'_>) {
        let nodes = self.before.nodes.iter().filter_map(|changed| changed.node);
        let mut asked: Vec<usize> = self.after.nodes.iter().flat_map(ChangedNode::leaves).collect();
        asked.sort_unstable();
        let (old, new) = (self.before.tree, self.after.tree);
        let items = nodes.flat_map(items).collect();
        let (rebuild_leaves, memory) = (rebuild.leaves, RefCell::new((old.clone(), Vec::new())));
        let experiments = Experiments { old, new, rebuild: rebuild_leaves, memory, items, asked };
        let (free, origins) = experiments.origins();
        let (mut leaves_of, mut several) = (BTreeMap::<usize, Vec<usize>>::new(), HashSet::new());
        for (leaf, origin) in experiments.asked.iter().zip(&origins) {
            match origin {
                Origin::Item(item) => leaves_of.entry(*item).or_default().push(*leaf),
                Origin::Several => several.extend([*leaf]),
                Origin::Default => {}
            }
        }
        for (item, leaves) in leaves_of {
            let Some(item) = experiments.items.get(item) else { continue };
            if item.len() == leaves.len() {
                item.clone().zip(leaves).for_each(|(from, to)| self.pair(from, to))
            } else {
                several.extend(leaves)
            }
        }
        self.find_computed(&experiments, &free, &several);
        let free: HashSet<usize> = free.into_iter().collect();
        let items = experiments.items.iter().enumerate();
        let fixed = items.filter(|(item, _)| !free.contains(item));
        let fixed = fixed.flat_map(|(_, leaves)| leaves.clone()).collect();
        let differing = self.follow_fixed(0, &fixed, rebuild);
        self.find_equal(&fixed);
        for (from, to) in differing {
            if !self.before.is_paired(from) && !self.after.is_paired(to) {
                self.pair(from, to);
            }
        }
    }

    fn pair(&mut self, from: usize, to: usize) {
        self.before.pair(from..from + 1);
        self.after.pair(to..to + 1);
        self.pairs.push((from, to));
    }

    /// What depends on several items.
    fn find_computed<R: Fn(&Tree<Leaf>, &mut Vec<Leaf>) -> Result<()>>(
        &mut self,
        experiments: &Experiments<'_, R>,
        free: &[usize],
        several: &HashSet<usize>,
    ) {
        let items = free.iter().filter_map(|item| Some((*item, experiments.items.get(*item)?)));
        let unpaired = |leaves: &Range<usize>| !self.before.is_paired(leaves.start);
        let items = items.filter(|(_, leaves)| !several.is_empty() && unpaired(leaves));
        let mut found = Vec::new();
        for (item, leaves) in items.take(MOST_EXPERIMENTS) {
            let changed = experiments.changed([item]).unwrap_or_default();
            let depend = experiments.asked.iter().zip(changed).filter(|(_, changed)| *changed);
            let depend: Vec<usize> =
                depend.map(|(leaf, _)| *leaf).filter(|leaf| several.contains(leaf)).collect();
            if !depend.is_empty() {
                found.push((leaves.clone(), depend));
            }
        }
        for (leaves, depend) in found {
            let mut from = self.before.path_to(leaves.start);
            if leaves.len() > 1 {
                from.pop();
            }
            self.before.pair(leaves);
            let to = self.after.highest(&depend);
            depend.iter().for_each(|leaf| self.after.pair(*leaf..leaf + 1));
            self.migration.computed.extend(to.into_iter().map(|to| (from.clone(), to)));
        }
    }

    /// Follows what cannot be changed, e.g. an address, or has no leaves: what is missing without
    /// it, or what has its default then? Elements of a sequence that are renamed alike are followed
    /// once. `first` is the index of the first node that is looked at. Returns the leaves that have the same path there and are not equal.
    pub(super) fn follow_fixed(
        &mut self,
        first: usize,
        fixed: &HashSet<usize>,
        rebuild: &Rebuild<'_>,
    ) -> Vec<(usize, usize)> {
        let (mut alike, mut followed, mut differing) = (HashMap::new(), 0, Vec::new());
        let mut after = (0..self.after.nodes.len()).filter(|to| self.is_open(*to));
        let has_leafless = after.any(|to| self.after.nodes[to].leaves().is_empty()); // in range
        let mut by_path: Option<HashMap<Path, usize>> = None;
        for from in first..self.before.nodes.len() {
            let Some(changed) = self.before.nodes.get(from) else { continue };
            let leaves = changed.leaves();
            let lost = |leaf: usize| fixed.contains(&leaf) && !self.before.is_paired(leaf);
            // What is left of the node may have no leaves.
            let dropped = || !leaves.clone().any(|leaf| self.before.is_paired(leaf));
            let may_be_left = leaves.clone().any(lost) || has_leafless && dropped();
            if changed.change.is_some() || !may_be_left && !leaves.is_empty() {
                continue;
            }
            let (general, indices) = generalised(&changed.path);
            let known = alike.get(&general).map(|to| specialised(to, &indices));
            let known = known.and_then(|to| {
                let paths = || self.after.nodes.iter().map(|changed| changed.path.clone());
                by_path.get_or_insert_with(|| paths().zip(0..).collect()).get(&to).copied()
            });
            let to = known.filter(|to| self.is_open(*to)).or_else(|| {
                followed += 1;
                (followed <= MOST_EXPERIMENTS)
                    .then(|| self.missing_without(&changed.path, rebuild))?
            });
            let Some(to) = to else { continue };
            if let Some(changed) = self.after.nodes.get(to) {
                alike.insert(general, generalised(&changed.path).0);
            }
            differing.extend(self.pair_nodes(from, to, fixed));
        }
        differing
    }

    /// Pairs leaves that cannot be changed with the only one that equals them.
    fn find_equal(&mut self, fixed: &HashSet<usize>) {
        let unpaired = |side: &Side<'a>| {
            let leaves = side.nodes.iter().flat_map(ChangedNode::leaves);
            let mut found = HashMap::<&'a Leaf, Vec<usize>>::new();
            for index in leaves.filter(|leaf| !side.is_paired(*leaf)) {
                let leaf = side.tree.leaves.get(index);
                leaf.into_iter().for_each(|leaf| found.entry(leaf).or_default().push(index));
            }
            found
        };
        let (before, after) = (unpaired(&self.before), unpaired(&self.after));
        for (leaf, from) in before {
            if let ([from], Some([to])) = (&*from, after.get(leaf).map(|to| &**to))
                && fixed.contains(from)
            {
                self.pair(*from, *to);
            }
        }
    }

    /// Whether a node of the value may be what became of one of the tree.
    fn is_open(&self, changed: usize) -> bool {
        self.after.nodes.get(changed).is_some_and(|changed| {
            let unpaired = |leaf: usize| !self.after.is_paired(leaf);
            let leaves = changed.leaves();
            let open = leaves.is_empty() || leaves.clone().any(unpaired);
            changed.change.is_none() && !changed.paired && open
        })
    }

    /// The node of the value that is missing or another one if the tree has nothing at a path.
    fn missing_without(&self, path: &Path, rebuild: &Rebuild<'_>) -> Option<usize> {
        let mut without = self.before.tree.clone();
        without.remove(path).ok()?;
        let open = (0..self.after.nodes.len()).filter(|changed| self.is_open(*changed));
        let mut open =
            open.filter_map(|changed| Some((changed, &self.after.nodes.get(changed)?.path)));
        let found = match (rebuild.tree)(&without) {
            Ok(other) => {
                let compared = self.compared.get();
                let mut left = MOST_COMPARED.saturating_sub(compared);
                let found = open.find(|(_, path)| {
                    left = left.saturating_sub(1);
                    left == 0 || !is_same_at(self.after.tree, &other, path)
                });
                self.compared.set(MOST_COMPARED - left);
                found.filter(|_| left > 0)
            }
            Err(error) => match error.kind() {
                ErrorKind::MissingField { field, .. } => {
                    let field = Key::Field(Name::Borrowed(*field));
                    match self.after.tree.treedef.find(&error.path().child(field.clone())) {
                        Ok((to, _)) => open.find(|(_, path)| **path == to),
                        // What is around it was renamed, too.
                        Err(_) => {
                            let (_, indices) = generalised(path);
                            let mut named = open.filter(|(_, to)| {
                                to.keys().last() == Some(&field) && generalised(to).1 == indices
                            });
                            named.next().filter(|_| named.next().is_none())
                        }
                    }
                }
                _ => None,
            },
        };
        found.map(|(changed, _)| changed)
    }

    /// Pairs the equal leaves of two nodes that have the same path there, or else the wholes, if
    /// one has no leaves. Returns the others with the same path.
    fn pair_nodes(
        &mut self,
        from: usize,
        to: usize,
        fixed: &HashSet<usize>,
    ) -> Vec<(usize, usize)> {
        let mut differing = Vec::new();
        let (before, after) = (self.before.nodes.get(from), self.after.nodes.get(to));
        let (Some(before), Some(after)) = (before, after) else { return differing };
        let (treedef, depth, target) =
            (&self.after.tree.treedef, before.path.keys().len(), after.path.clone());
        let (leaves, taken) = (before.leaves(), after.leaves());
        let (mut paired, no_leaves) = (false, leaves.is_empty() || taken.is_empty());
        for leaf in leaves.filter(|leaf| fixed.contains(leaf)) {
            let below = self.before.path_to(leaf).keys().iter().skip(depth).cloned().collect();
            let other = treedef.leaf_index(target.join(&below)).ok();
            let other = other.filter(|other| taken.contains(other));
            let is_free =
                |other: &usize| !self.before.is_paired(leaf) && !self.after.is_paired(*other);
            let Some(other) = other.filter(is_free) else { continue };
            let (old, new) = (self.before.tree.leaves.get(leaf), self.after.tree.leaves.get(other));
            if old == new {
                self.pair(leaf, other)
            } else {
                differing.push((leaf, other))
            }
            paired = true;
        }
        if !paired && no_leaves {
            self.whole.push((from, to));
            self.before.pair_whole(from);
            self.after.pair_whole(to);
        }
        differing
    }

    /// The nodes that were followed as wholes, on the two sides.
    pub(super) fn whole_nodes(&self) -> impl Iterator<Item = (&ChangedNode<'a>, &ChangedNode<'a>)> {
        self.whole.iter().filter_map(|(from, to)| {
            Some((self.before.nodes.get(*from)?, self.after.nodes.get(*to)?))
        })
    }

    fn finish(mut self) -> Migration {
        let whole = self.whole_nodes();
        let whole =
            whole.map(|(from, to)| (from.leaves().start, from.path.clone(), to.path.clone()));
        let mut found: Vec<_> = whole.collect();
        self.pairs.sort_unstable();
        let mut nodes = RenamedNodes::default();
        for Way { from, to, pairs } in ways(&self.before, &self.after, &self.pairs) {
            match self.retyped(&to, &pairs) {
                None => {
                    nodes.spoil(&self.before, &self.after, &pairs);
                    self.migration.computed.push((from, to));
                }
                Some(retyped) => {
                    nodes.add(&self.before, &self.after, &from, &to, &pairs);
                    let containers = self.changed_containers(&from, &to);
                    self.migration.changed.extend(containers);
                    self.migration.changed.extend(retyped);
                    found.push((pairs.first().map_or(0, |(from, _)| *from), from, to));
                }
            }
        }
        found.sort_by_key(|(first, ..)| *first);
        let renamed = found.into_iter().map(|(_, from, to)| (from, to)).collect();
        let (dropped, filled) = (self.before.without_pair(), self.after.without_pair());
        let renamed_nodes = nodes.paths(&self.before, &self.after);
        Migration { dropped, filled, renamed, renamed_nodes, ..self.migration }
    }

    /// The sequences that became tuples, or the other way round, in a node with another name.
    fn changed_containers(&self, from: &Path, to: &Path) -> Vec<Difference> {
        let at = |tree: &Tree<Leaf>, path: &Path| tree.subtree(path).ok();
        let (Some(old), Some(new)) = (at(self.before.tree, from), at(self.after.tree, to)) else {
            return Vec::new();
        };
        let differences = migration_differences(&old, &new, self.widened).into_iter();
        let containers = differences.filter(|found| found.kind == DifferenceKind::Name);
        let in_value = |found: Difference| {
            let path = to.join(&found.path);
            let path = self.after.tree.treedef.resolve(&path).unwrap_or(path);
            Difference { kind: DifferenceKind::Node, path, ..found }
        };
        containers.map(in_value).collect()
    }

    /// The kinds of leaves that differ, where these became those at a path. `None` if a value
    /// differs.
    fn retyped(&self, to: &Path, pairs: &[(usize, usize)]) -> Option<Vec<Difference>> {
        let mut retyped = Vec::new();
        for (from, to) in pairs {
            let (old, new) =
                (self.before.tree.leaves.get(*from)?, self.after.tree.leaves.get(*to)?);
            if old == new || self.widened && is_widened(old, new) {
                continue;
            }
            if !is_converted(old, new) {
                return None;
            }
            retyped.push((old.kind(), new.kind(), *to));
        }
        let difference = |(old, new, path): (LeafKind, LeafKind, Path)| Difference {
            path,
            kind: DifferenceKind::Leaf,
            expected: old.name().to_owned(),
            found: new.name().to_owned(),
        };
        let first = retyped.first().map(|(old, new, _)| (*old, *new));
        let alike = retyped.iter().all(|(old, new, _)| first == Some((*old, *new)));
        let each = |(old, new, leaf)| difference((old, new, self.after.path_to(leaf)));
        Some(match first {
            Some((old, new)) if alike && retyped.len() == pairs.len() => {
                vec![difference((old, new, to.clone()))]
            }
            _ => retyped.into_iter().map(each).collect(),
        })
    }
}

/// For each node of the tree the one of the value that all its leaves went to, and the other way
/// round. `None` if there are several.
#[derive(Default)]
struct RenamedNodes {
    to: BTreeMap<usize, Option<usize>>,
    from: HashMap<usize, Option<usize>>,
    /// The nodes that were renamed as a whole, which the report says anyway.
    whole: HashSet<usize>,
}

impl RenamedNodes {
    fn add(
        &mut self,
        before: &Side<'_>,
        after: &Side<'_>,
        from: &Path,
        to: &Path,
        pairs: &[(usize, usize)],
    ) {
        if generalised(from).1 != generalised(to).1 {
            return self.spoil(before, after, pairs);
        }
        for (a, b) in indices(before, after, pairs) {
            let other = self.to.entry(a).or_insert(Some(b));
            *other = other.filter(|other| *other == b);
            let other = self.from.entry(b).or_insert(Some(a));
            *other = other.filter(|other| *other == a);
            if before.nodes.get(a).is_some_and(|node| node.path == *from) {
                self.whole.insert(a);
            }
        }
    }

    /// Says that some leaves went elsewhere.
    fn spoil(&mut self, before: &Side<'_>, after: &Side<'_>, pairs: &[(usize, usize)]) {
        for (a, b) in indices(before, after, pairs) {
            self.to.insert(a, None);
            self.from.insert(b, None);
        }
    }

    fn paths(self, before: &Side<'_>, after: &Side<'_>) -> Vec<(Path, Path)> {
        let nodes = self.to.iter().filter_map(|(a, b)| Some((*a, (*b)?)));
        let nodes =
            nodes.filter(|(a, b)| self.from.get(b) == Some(&Some(*a)) && !self.whole.contains(a));
        let paths = nodes.filter_map(|(a, b)| {
            let (a, b) = (before.nodes.get(a)?, after.nodes.get(b)?);
            let named = a.change.is_none() && b.change.is_none();
            named.then(|| (a.path.clone(), b.path.clone()))
        });
        paths.collect()
    }
}

/// The nodes that the leaves of pairs are in, without neighbours that are equal.
fn indices(before: &Side<'_>, after: &Side<'_>, pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let nodes =
        pairs.iter().filter_map(|(from, to)| Some((before.index_of(*from)?, after.index_of(*to)?)));
    let mut nodes: Vec<_> = nodes.collect();
    nodes.dedup();
    nodes
}

/// How many nodes are compared at most to find those that are others without what is fixed.
const MOST_COMPARED: usize = 1 << 22;

/// Whether two trees have the same node at a path, with the same leaves.
fn is_same_at(a: &Tree<Leaf>, b: &Tree<Leaf>, path: &Path) -> bool {
    match (a.treedef.node(path), b.treedef.node(path)) {
        (Ok(x), Ok(y)) => {
            let same = a.leaves.get(x.leaf_range()) == b.leaves.get(y.leaf_range());
            same && equal_subtrees(x, y)
        }
        (Err(_), Err(_)) => true,
        _ => false,
    }
}

/// Whether a leaf of another kind is the same value: a number may be rounded, and a text may be
/// what the other prints as.
fn is_converted(old: &Leaf, new: &Leaf) -> bool {
    let number = |leaf: &Leaf| match leaf {
        Leaf::Bool(value) => Some(f64::from(u8::from(*value))),
        Leaf::Str(text) => text.parse().ok(),
        leaf => leaf.as_scalar()?.nearest_f64(),
    };
    let text = |leaf: &Leaf| match leaf {
        Leaf::Str(text) => Some(text.to_string()),
        Leaf::Char(char) => Some(char.to_string()),
        Leaf::Bool(value) => Some(value.to_string()),
        _ => None,
    };
    if old.kind() == new.kind() {
        return false;
    }
    let rounds = |number: f64| match new {
        Leaf::F32(_) => widen(narrow(number)),
        _ => number,
    };
    match (number(old), number(new)) {
        (Some(old), Some(new)) => rounds(old).to_bits() == new.to_bits(),
        _ => text(old).is_some_and(|old| text(new) == Some(old)),
    }
}

/// The path that has these indices.
fn specialised(general: &Path, indices: &[usize]) -> Path {
    let mut indices = indices.iter();
    let keys = general.keys().iter().map(|key| match key {
        Key::Index(_) => Key::Index(indices.next().copied().unwrap_or(0)),
        key => key.clone(),
    });
    keys.collect()
}
