//! Making the new of the old.

use std::collections::{HashMap, HashSet};
use std::{mem, vec};

use crate::algebra::{Graft, same_structure};
use crate::diff::mismatch_at;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Labels, Name, Shape, Tree, TreeDef};
use crate::node::{Children, NodeRef};
use crate::path::{Key, Path};

use super::{Change, ChangeKind, Diff, Side, Subtree};

impl TreeDef {
    /// This structure with the changes of a [`diff`](TreeDef::diff) that was made with it. It may differ from that where
    /// nothing changes.
    ///
    /// # Errors
    ///
    /// When something else stands where something changes; the error has the path.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let old: TreeDef = "[(*, *), *]".parse()?;
    /// let diff = old.diff(&"[(*, None), *]".parse()?);
    /// let other: TreeDef = "[(*, *), [*; 1000]]".parse()?;
    /// assert_eq!(other.patch(&diff)?.to_string(), "[(*, None), [*; 1000]]");
    ///
    /// let error = TreeDef::patch(&"[(*, ()), *]".parse()?, &diff).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `*`, found `()` at `[0].1`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn patch(&self, diff: &Diff<TreeDef>) -> Result<TreeDef> {
        patch(self, diff)
    }
}

impl<L: Clone + PartialEq> Tree<L> {
    /// This tree with the changes of a [`diff`](Tree::diff) that was made with it. It may differ from that where nothing
    /// changes.
    ///
    /// # Errors
    ///
    /// When something else stands where something changes; the error has the path.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let (old, new) = (Tree::of(&vec![1, 2, 3])?, Tree::of(&vec![1, 5, 3])?);
    /// let diff = old.diff(&new);
    /// assert_eq!(Tree::of(&vec![9, 2, 9])?.patch(&diff)?, Tree::of(&vec![9, 5, 9])?);
    ///
    /// let error = new.patch(&diff).unwrap_err();
    /// assert_eq!(error.to_string(), "another leaf than the one that was changed at `[1]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn patch(&self, diff: &Diff<Tree<L>>) -> Result<Tree<L>> {
        patch(self, diff)
    }
}

/// What a node of the new tree is.
enum Part<'a, 'c, T: Subtree> {
    /// So many equal ones of the old tree.
    Old(NodeRef<'a>, usize),
    /// So many with changes below them.
    Changed(NodeRef<'a>, usize, &'c [Change<T>]),
    New(&'c T, usize),
}

fn patch<T: Subtree>(old: &T, diff: &Diff<T>) -> Result<T> {
    let side = Side::of(old);
    let mut next = match &diff.changes[..] {
        [] => return Ok(old.clone()),
        [Change { path, kind: ChangeKind::Replaced { old, new, .. }, .. }] if path.is_root() => {
            expect(old, side, path)?;
            return Ok(new.clone());
        }
        changes => Some(Part::Changed(side.node, 1, changes)),
    };
    let (mut graft, mut leaves) = (Graft::default(), Vec::new());
    let mut open: Vec<vec::IntoIter<Part<'_, '_, T>>> = Vec::new();
    loop {
        match next {
            Some(Part::Old(node, repeat)) => {
                graft.insert(node, repeat)?;
                leaves.extend_from_slice(side.at(node).below(repeat));
            }
            Some(Part::New(new, repeat)) => {
                graft.insert(new.structure().root(), repeat)?;
                leaves.extend_from_slice(new.own_leaves().unwrap_or_default());
            }
            Some(Part::Changed(node, repeat, changes)) => {
                let plan = Plan::of(side.at(node), changes, open.len())?;
                let shape = plan.shape(node);
                graft.open_new(node.kind(), shape.as_ref().map(Shape::as_ref), repeat);
                let parts: Vec<_> = plan.children.into_iter().map(|(_, part)| part).collect();
                open.push(parts.into_iter());
            }
            None => {
                graft.close()?;
                open.pop();
            }
        }
        let Some(parts) = open.last_mut() else { break };
        next = parts.next();
    }
    let treedef = old.structure();
    Ok(T::join(graft.finish(treedef.encoding.options, treedef.limits()), leaves))
}

/// Refuses another subtree than the one that changes.
fn expect<T: Subtree>(old: &T, found: Side<'_, T::Leaf>, path: &Path) -> Result<()> {
    let root = old.structure().root();
    if !same_structure(root, found.node) {
        return Err(mismatch_at(path.clone(), root, found.node));
    }
    let same = |(old, found): (&T::Leaf, &T::Leaf)| old == found || !equals_itself(old);
    match old.own_leaves().unwrap_or_default().iter().zip(found.below(1)).all(same) {
        true => Ok(()),
        false => {
            let said = "another leaf than the one that was changed";
            Err(Error::from(ErrorKind::Protocol(said)).at(path.clone()))
        }
    }
}

/// A NaN does not, and still is what it was.
fn equals_itself<L: PartialEq>(leaf: &L) -> bool {
    let again = leaf;
    leaf == again
}

/// The children of a node of the new tree.
struct Plan<'a, 'c, T: Subtree> {
    /// With their keys, if they are fields or entries.
    children: Vec<(Option<Key>, Part<'a, 'c, T>)>,
    name: Option<&'c Name>,
}

impl<'a, 'c, T: Subtree> Plan<'a, 'c, T> {
    /// What becomes of a node, `depth` below the root, by the changes there and below.
    fn of(side: Side<'a, T::Leaf>, changes: &'c [Change<T>], depth: usize) -> Result<Self> {
        let node = side.node;
        let mut plan = Plan { children: Vec::new(), name: None };
        let (mut added, mut order) = (Vec::new(), None);
        let mut rest = changes;
        let (mut old, mut position) = (node.children(), 0);
        while let Some(change) = rest.first() {
            let keys = change.path.keys();
            let here = || keys.iter().take(depth).cloned().collect::<Path>();
            let Some(key) = keys.get(depth) else {
                match &change.kind {
                    ChangeKind::Retyped { new, .. } => plan.name = Some(new),
                    ChangeKind::Reordered { keys } => order = Some((here(), keys)),
                    _ => {}
                }
                rest = &rest[1..]; // there is a first
                continue;
            };
            if change.adds_at(depth) {
                added.push(change);
                rest = &rest[1..]; // there is a first
                continue;
            }
            let is_below = |other: &&Change<T>| {
                other.path.keys().get(depth) == Some(key) && !other.adds_at(depth)
            };
            let (group, after) = rest.split_at(rest.iter().take_while(is_below).count());
            rest = after;

            let missing = || ErrorKind::NoSuchChild { key: key.clone(), node: node.brief() };
            let found = node.position(key).ok_or_else(|| Error::from(missing()).at(here()))?;
            let ahead = found.checked_sub(position).ok_or_else(|| moved(here()))?;
            plan.keep(node, &mut old, position, ahead);
            let span = change.spans.get(depth).copied().unwrap_or(1);
            let (child, count) = old.next_up_to(span).unwrap_or((node, 0));
            if count < span {
                let said = format!("expected {span} equal children, found {count}");
                return Err(Error::from(ErrorKind::Message(said)).at(here().child(key.clone())));
            }
            position = found + span;
            plan.change(side.at(child), span, group, depth)?;
        }
        plan.keep(node, &mut old, position, node.num_children() - position);
        if let Some((here, keys)) = order {
            plan.reorder(keys).ok_or_else(|| moved(here))?;
        }
        if !added.is_empty() {
            plan.add(node, &added, depth)?;
        }
        if node.is_sorted_map() {
            let entry = |key: &Option<Key>| key.as_ref().and_then(Key::entry).cloned();
            plan.children.sort_by_cached_key(|(key, _)| entry(key));
        }
        Ok(plan)
    }

    /// The next so many children of the old node, as they are.
    fn keep(
        &mut self,
        node: NodeRef<'a>,
        old: &mut Children<'a>,
        mut position: usize,
        count: usize,
    ) {
        let end = position + count;
        while position < end {
            let most = if node.is_labelled() { 1 } else { end - position };
            let Some((child, count)) = old.next_up_to(most) else { return };
            let key = node.key(position).filter(|_| node.is_labelled());
            self.children.push((key, Part::Old(child, count)));
            position += count;
        }
    }

    /// Children of the old node with the changes that are theirs.
    fn change(
        &mut self,
        child: Side<'a, T::Leaf>,
        span: usize,
        group: &'c [Change<T>],
        depth: usize,
    ) -> Result<()> {
        let Some(change) = group.first() else { return Ok(()) };
        let key = change.path.keys().get(depth).cloned();
        let part = match &change.kind {
            _ if change.path.keys().len() > depth + 1 => Part::Changed(child.node, span, group),
            ChangeKind::Removed(old) => return expect(old, child, &change.path),
            ChangeKind::Replaced { old, new, .. } => {
                expect(old, child, &change.path)?;
                Part::New(new, span)
            }
            ChangeKind::Renamed { to } => {
                self.children.push((Some(to.clone()), Part::Old(child.node, span)));
                return Ok(());
            }
            _ => Part::Changed(child.node, span, group),
        };
        self.children.push((key, part));
        Ok(())
    }

    /// Puts what stays into the order of these keys, if they are the same.
    fn reorder(&mut self, keys: &[Key]) -> Option<()> {
        let places: HashMap<&Key, usize> = keys.iter().zip(0..).collect();
        let place = |key: &Option<Key>| places.get(key.as_ref()?).copied();
        let all = self.children.len() == places.len();
        if !all || self.children.iter().any(|(key, _)| place(key).is_none()) {
            return None;
        }
        self.children.sort_by_key(|(key, _)| place(key));
        Some(())
    }

    /// Puts in what was added, in the order of the positions.
    fn add(&mut self, node: NodeRef<'a>, added: &[&'c Change<T>], depth: usize) -> Result<()> {
        let mut keys: HashSet<Key> =
            self.children.iter().filter_map(|(key, _)| key.clone()).collect();
        let mut old = mem::take(&mut self.children).into_iter();
        let (mut next, mut count) = (old.next(), 0);
        for change in added {
            let ChangeKind::Added { position, new } = &change.kind else { continue };
            let refused =
                |said| Err(Error::from(ErrorKind::Protocol(said)).at(change.path.clone()));
            let key = change.path.keys().get(depth).cloned().filter(|_| node.is_labelled());
            if key.clone().is_some_and(|key| !keys.insert(key)) {
                return refused("something stands already where something was added");
            }
            while count < *position
                && let Some((key, part)) = next
            {
                let (before, rest) = part.split(position - count);
                count += before.count();
                self.children.push((key, before));
                next = rest.map(|rest| (None, rest)).or_else(|| old.next());
            }
            if count != *position {
                return refused("too few children stand before what was added");
            }
            let span = change.spans.get(depth).copied().unwrap_or(1);
            count += span;
            self.children.push((key, Part::New(new, span)));
        }
        self.children.extend(next);
        self.children.extend(old);
        Ok(())
    }

    fn shape(&self, old: NodeRef<'_>) -> Option<Shape> {
        let shape = old.shape()?;
        let keys = || self.children.iter().filter_map(|(key, _)| key.as_ref());
        let labels = match shape.labels {
            Labels::Keys(_) => Labels::Keys(keys().filter_map(Key::entry).cloned().collect()),
            Labels::Fields(_) => Labels::Fields(keys().filter_map(Key::field).cloned().collect()),
            Labels::None | Labels::Static(_) => shape.labels.clone(),
        };
        let name = self.name.unwrap_or(&shape.name).clone();
        Some(Shape { name, labels, ..shape.clone() })
    }
}

#[cold]
fn moved(path: Path) -> Error {
    Error::from(ErrorKind::Protocol("the fields or keys stand in another order")).at(path)
}

impl<T: Subtree> Part<'_, '_, T> {
    /// At most so many, and the rest.
    fn split(self, most: usize) -> (Self, Option<Self>) {
        let left = self.count().saturating_sub(most);
        if left == 0 {
            return (self, None);
        }
        let (first, rest) = match self {
            Part::Old(node, _) => (Part::Old(node, most), Part::Old(node.later(most), left)),
            Part::Changed(node, _, changes) => {
                let rest = Part::Changed(node.later(most), left, changes);
                (Part::Changed(node, most, changes), rest)
            }
            Part::New(new, _) => (Part::New(new, most), Part::New(new, left)),
        };
        (first, Some(rest))
    }

    fn count(&self) -> usize {
        match self {
            Part::Old(_, count) | Part::Changed(_, count, _) | Part::New(_, count) => *count,
        }
    }
}

impl<T> Change<T> {
    /// Whether this adds a child to the node so far below the root.
    fn adds_at(&self, depth: usize) -> bool {
        matches!(self.kind, ChangeKind::Added { .. }) && self.path.keys().len() == depth + 1
    }
}
