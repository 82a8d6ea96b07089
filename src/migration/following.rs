//! Follows the leaves from a tree to the value that was made from it.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::bug::OrBug;
use crate::error::{Difference, Result};
use crate::model::{Leaf, Tree};
use crate::path::{Key, Path};

use super::pairing::{PlacedNode, pairing};
use super::probe::{exact, rounded, varied};
use super::report::Migration;
use super::side::{Side, elements};

/// Rebuilds a tree as a value of a type, and returns the value as a tree.
pub(super) type Rebuild<'a> = dyn Fn(&Tree<Leaf>) -> Result<Tree<Leaf>> + 'a;

/// The value that a type made of a tree. `widened` says whether its `f64` may have been `f32`.
pub(super) fn what_became(
    old: &Tree<Leaf>,
    new: &Tree<Leaf>,
    widened: bool,
    rebuild: &Rebuild<'_>,
) -> Migration {
    let mut following = Following {
        sides: [Side::of(old), Side::of(new)],
        widened,
        uneven: Vec::new(),
        unchanged_texts: [HashSet::new(), HashSet::new()],
        links: Vec::new(),
        changed: Vec::new(),
        renamed: Vec::new(),
    };
    following.compare([PlacedNode::root(old), PlacedNode::root(new)]);
    following.find_partners(rebuild);
    following.pair_elements();
    following.follow_leaves();
    while following.follow_nodes() {}
    following.finish()
}

/// The search for the fate of each leaf.
struct Following<'a> {
    /// The tree, and the value.
    sides: [Side<'a>; 2],
    widened: bool,
    /// Sequences of different lengths, whose elements are not paired yet.
    uneven: Vec<[PlacedNode<'a>; 2]>,
    /// The texts that could not be changed, because the type refused other texts. Nothing but their values
    /// tells where they are in the value.
    unchanged_texts: [HashSet<&'a Leaf>; 2],
    /// For each renamed node: one of its leaves, and the leaf of the value that it became.
    links: Vec<[usize; 2]>,
    /// With the first leaf of the node.
    changed: Vec<(usize, Difference)>,
    /// With the first leaf of the node.
    renamed: Vec<(usize, Path, Path)>,
}

impl<'a> Following<'a> {
    /// Compares a node with the node that it became.
    fn compare(&mut self, places: [PlacedNode<'a>; 2]) {
        let [old, new] = &self.sides;
        let are_elsewhere = |a: usize, b: usize| {
            let (a, b) = (old.tree.leaves.get(a), new.tree.leaves.get(b));
            let [of_old, of_new] = &self.unchanged_texts;
            let is_in = |of: &HashSet<_>, leaf: Option<_>| leaf.is_some_and(|it| of.contains(it));
            a != b && (is_in(of_new, a) || is_in(of_old, b))
        };
        let may_pair = |a: usize, b: usize| {
            let are_open = old.settled.get(a) == Some(&false) && new.settled.get(b) == Some(&false);
            let partners =
                [old.partner.get(a), new.partner.get(b)].map(|found| found.copied().flatten());
            let is_unknown = partners == [None, None] && !are_elsewhere(a, b);
            are_open && (is_unknown || partners[0] == Some(b))
        };
        let found = pairing([old.tree, new.tree], self.widened, places, &may_pair);
        for (a, b) in found.settled {
            for (side, leaves) in self.sides.iter_mut().zip([a, b]) {
                side.settled.get_mut(leaves).or_bug().fill(true);
            }
        }
        for (side, alone) in self.sides.iter_mut().zip(found.alone) {
            alone.into_iter().for_each(|(place, said)| side.push(place, said));
        }
        self.changed.extend(found.changed);
        self.uneven.extend(found.uneven);
    }

    /// Reports that one node became the other under another name, and compares them.
    fn rename(&mut self, places: [PlacedNode<'a>; 2]) {
        let [from, to] = &places;
        self.renamed.push((from.node.first_leaf(), from.path.clone(), to.path.clone()));
        self.compare(places);
    }

    /// Rebuilds the value once more, from changed leaves that can be told apart, and looks where
    /// they appear in the value.
    fn find_partners(&mut self, rebuild: &Rebuild<'_>) {
        let open = [0, 1].map(|side| {
            let uneven = self.uneven.iter().map(|places| places[side].node);
            self.sides[side].open(uneven)
        });
        if open.iter().any(|open| !open.contains(&true)) {
            return;
        }
        let leaves = self.sides[0].tree.leaves.iter().zip(&open[0]);
        let has_texts =
            leaves.into_iter().any(|(leaf, open)| *open && matches!(leaf, Leaf::Str(_)));
        // A text is more likely to be checked than a number.
        for texts in [true, false] {
            let probe = varied(self.sides[0].tree, &open[0], texts);
            let found = if texts || has_texts { rebuild(&probe).ok() } else { None };
            if !texts {
                self.unchanged_texts = [0, 1].map(|side| self.sides[side].texts(&open[side]));
            }
            if let Some(found) = found {
                return self.pair_partners([&probe, &found], &open);
            }
        }
    }

    /// Pairs a leaf of each side if no other leaf has the same old value and the same new value: in
    /// the same kind or in another, or at the same place of a node.
    fn pair_partners(&mut self, probes: [&Tree<Leaf>; 2], open: &[Vec<bool>; 2]) {
        let images = [probes[0].leaves.iter().map(Some).collect(), self.images(probes[1])];
        for round in 0..3 {
            let mut alike = HashMap::<([Leaf; 2], Option<Path>), [Vec<usize>; 2]>::new();
            for (at, side) in self.sides.iter().enumerate() {
                let leaves = side.tree.leaves.iter().zip(&images[at]).zip(&open[at]).enumerate();
                for (leaf, ((old, new), open)) in leaves {
                    let Some(new) = new.filter(|new| *open && *new != old) else { continue };
                    if side.partner.get(leaf) != Some(&None) {
                        continue;
                    }
                    let value = if round == 0 { exact } else { rounded };
                    let place = if round == 2 { side.place_below(leaf) } else { None };
                    alike.entry(([old, new].map(value), place)).or_default()[at].push(leaf);
                }
            }
            for leaves in alike.into_values() {
                if let [[a], [b]] = leaves.each_ref().map(|leaves| &**leaves) {
                    self.sides[0].partner[*a] = Some(*b); // its leaves were counted
                    self.sides[1].partner[*b] = Some(*a);
                }
            }
        }
    }

    /// For each leaf of the value, the leaf at its place in another value of the type.
    fn images<'t>(&self, other: &'t Tree<Leaf>) -> Vec<Option<&'t Leaf>> {
        let new = self.sides[1].tree;
        let mut images = vec![None; new.leaves.len()];
        let places = [PlacedNode::root(new), PlacedNode::root(other)];
        for (a, b) in pairing([new, other], false, places, &|_, _| true).settled {
            let found = other.leaves.get(b.clone()).or_bug();
            if a.len() == b.len() {
                let images = images.get_mut(a).or_bug();
                images.iter_mut().zip(found).for_each(|(image, leaf)| *image = Some(leaf));
            }
        }
        images
    }

    /// Pairs the elements of sequences whose lengths differ: first elements with a leaf that became
    /// a leaf of the other element, then elements with the same leaves.
    fn pair_elements(&mut self) {
        while let Some([a, b]) = self.uneven.pop() {
            let (olds, news) = (elements(a.node), elements(b.node));
            let mut origins = vec![None; news.len()];
            let mut taken = vec![false; olds.len()];
            for ((_, new), origin) in news.iter().zip(&mut origins) {
                let partners = new.leaf_range().filter_map(|leaf| self.sides[1].open_partner(leaf));
                let mut found = partners.filter_map(|leaf| {
                    let at = olds.partition_point(|(_, old)| old.leaf_range().end <= leaf);
                    (a.node.leaf_range().contains(&leaf) && !taken[at]).then_some(at)
                });
                *origin = found.next();
                origin.iter().for_each(|at| taken[*at] = true);
            }
            let mut equal = HashMap::<_, VecDeque<usize>>::new();
            for (at, (_, old)) in olds.iter().enumerate().filter(|(at, _)| !taken[*at]) {
                equal.entry(self.sides[0].content(*old)).or_default().push_back(at);
            }
            for ((_, new), origin) in news.iter().zip(&mut origins) {
                if origin.is_none() && !equal.is_empty() {
                    let same = equal.get_mut(&self.sides[1].content(*new));
                    *origin = same.and_then(VecDeque::pop_front);
                    origin.iter().for_each(|at| taken[*at] = true);
                }
            }
            let mut last = None;
            for ((position, new), origin) in news.iter().zip(origins) {
                let new = b.child(*position, *new);
                let old = origin.and_then(|at| olds.get(at));
                let Some((position, old)) = old else {
                    self.sides[1].push(new, false);
                    continue;
                };
                let places = [a.child(*position, *old), new];
                if origin > last {
                    last = origin;
                    self.compare(places);
                } else {
                    self.rename(places);
                }
            }
            for ((position, old), _) in olds.iter().zip(&taken).filter(|(_, taken)| !**taken) {
                self.sides[0].push(a.child(*position, *old), false);
            }
        }
    }

    /// For each leaf that was carried over, goes up to the highest nodes below which the keys are
    /// the same.
    fn follow_leaves(&mut self) {
        for a in 0..self.sides[0].partner.len() {
            let Some(b) = self.sides[0].open_partner(a) else { continue };
            let leaves = [a, b];
            let paths = self.renamed_paths(leaves);
            for paths in [paths, [0, 1].map(|side| self.sides[side].path_to(leaves[side]))] {
                // It may have been paired already, below nodes that were renamed before.
                if self.sides[0].open_partner(a).is_none() {
                    break;
                }
                let found = [0, 1].map(|side| self.sides[side].tree.treedef.find(&paths[side]));
                let [Ok(from), Ok(to)] = found else { continue };
                let places = [from, to].map(|(path, node)| PlacedNode { node, path });
                for ((side, place), leaf) in self.sides.iter_mut().zip(&places).zip(leaves) {
                    let alone = side.alone_around(leaf);
                    if let Some(alone) = alone.filter(|alone| alone.place.path == place.path) {
                        alone.renamed = true;
                    }
                }
                self.links.push(leaves);
                self.rename(places);
                self.pair_elements();
            }
        }
    }

    /// The paths of two leaves without their common end, but not shorter than the path of the node
    /// that only one side has.
    fn renamed_paths(&self, leaves: [usize; 2]) -> [Path; 2] {
        let mut paths = [0, 1].map(|side| self.sides[side].path_to(leaves[side]));
        let tops = [0, 1].map(|side| {
            self.sides[side].depth_around(leaves[side]).unwrap_or(paths[side].keys().len())
        });
        loop {
            let may_shorten = [0, 1].map(|side| paths[side].keys().len() > tops[side]);
            let [old, new] = &mut paths;
            match ((old.keys().last(), new.keys().last()), may_shorten) {
                ((Some(Key::Some), _), [true, _]) => drop(old.pop()),
                ((_, Some(Key::Some)), [_, true]) => drop(new.pop()),
                ((Some(a), Some(b)), [true, true]) if a.form() == b.form() => {
                    old.pop();
                    new.pop();
                }
                _ => return paths,
            }
        }
    }

    /// Reports two nodes as renamed if all leaves that were carried over from one are in the other,
    /// and compares them. Returns whether there were any.
    fn follow_nodes(&mut self) -> bool {
        let (mut to, mut from) = (BTreeMap::new(), HashMap::new());
        for [a, b] in &self.links {
            let (a, b) = (self.sides[0].outermost(*a), self.sides[1].outermost(*b));
            if let Some(a) = a {
                let other = to.entry(a).or_insert(b);
                *other = other.filter(|other| b == Some(*other));
            }
            if let Some(b) = b {
                let other = from.entry(b).or_insert(a);
                *other = other.filter(|other| a == Some(*other));
            }
        }
        let pairs = to.into_iter().filter_map(|(a, b)| Some((a, b?)));
        let is_leaf = |side: usize, at: usize| self.sides[side].alone[at].place.node.is_leaf();
        let pairs = pairs.filter(|(a, b)| from.get(b) == Some(&Some(*a)));
        let pairs: Vec<_> = pairs.filter(|(a, b)| !is_leaf(0, *a) && !is_leaf(1, *b)).collect();
        let known = self.renamed.iter().map(|(_, from, to)| (from.clone(), to.clone()));
        let known: HashSet<(Path, Path)> = known.collect();
        for (a, b) in &pairs {
            let [old, new] = &mut self.sides;
            let (old, new) = (&mut old.alone[*a], &mut new.alone[*b]); // they were found there
            (old.renamed, new.renamed) = (true, true);
            let places = [old, new].map(|alone| alone.place.clone());
            if !known.contains(&(places[0].path.clone(), places[1].path.clone())) {
                self.rename(places);
                self.pair_elements();
            }
        }
        !pairs.is_empty()
    }

    fn finish(mut self) -> Migration {
        let [dropped, filled] = self.sides.each_mut().map(Side::unsettled);
        self.changed.sort_by_key(|(first, _)| *first);
        self.renamed.sort_by_key(|(first, from, _)| (*first, from.keys().len()));
        let changed = self.changed.into_iter().map(|(_, difference)| difference).collect();
        let renamed = self.renamed.into_iter().map(|(_, from, to)| (from, to)).collect();
        Migration { filled, dropped, renamed, changed }
    }
}
