//! Replaces or removes subtrees by a function, a path or a pattern.

use std::iter::Take;
use std::vec;

use crate::argument::{ToPath, ToPattern};
use crate::bug::{OrBug, bug};
use crate::error::Result;
use crate::model::{NodeKind, Tree, TreeDef};
use crate::path::Path;
use crate::treedef::limits::in_memory;
use crate::treedef::node_ref::NodeRef;

use crate::treedef::edit::{Edit, EditWalk};
use crate::treedef::walk::Event;

impl<L> Tree<L> {
    /// Edits this tree from the root down: `f` returns whether a node is kept, replaced or removed.
    ///
    /// `f` gets the path of the node, the node, and the leaves at and below it. Nodes below a
    /// replaced or removed node are not visited.
    ///
    /// # Errors
    ///
    /// Returns the first error of `f`, and an error when a replacement has other options; when the
    /// root or the child of a newtype is removed; when there are more nodes than
    /// [`Limits::max_work`](crate::Limits::max_work) allows.
    ///
    /// ```
    /// use treedef::{Edit, NodeKind, Tree};
    ///
    /// let tree = Tree::of(&([1, 2, 3], (4, "a"), None::<u8>))?;
    /// let edited = tree.edit(|path, node, leaves| Ok(match node.kind() {
    ///     NodeKind::None => Edit::Remove,
    ///     NodeKind::Tuple if path.keys().len() == 1 && leaves.len() == 3 => {
    ///         Edit::Replace(Tree::of(&"cut")?)
    ///     }
    ///     _ => Edit::Keep,
    /// }))?;
    /// assert_eq!(edited.to_string(), r#"("cut", (4, "a"))"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "traverse")]
    pub fn edit(
        mut self,
        mut f: impl FnMut(&Path, NodeRef<'_>, &[L]) -> Result<Edit<Tree<L>>>,
    ) -> Result<Tree<L>> {
        let treedef = self.treedef.clone();
        let (edited, cuts) = cuts(&treedef, &self.leaves, false, |path, node, leaves| {
            Ok(match f(path, node, leaves)? {
                Edit::Keep => Action::Enter,
                Edit::Replace(other) => Action::Replace(other),
                Edit::Remove => Action::Remove,
            })
        })?;
        self.apply(edited, cuts, |_, _, old| old.for_each(drop));
        Ok(self)
    }

    /// As [`edit`](Self::edit), but from the leaves up: `f` gets the path of each node in this
    /// tree, and its subtree after the edits below it. The time is proportional to nodes times
    /// depth.
    ///
    /// # Errors
    ///
    /// As [`edit`](Self::edit).
    ///
    /// ```
    /// use treedef::{Edit, NodeKind, Tree};
    ///
    /// let tree = Tree::new("{\"a\": [*, (*, *)], \"b\": *}".parse()?, vec![1, 2, 3, 4])?;
    /// let sums = tree.edit_up(|_, below| Ok(match below.treedef().root().kind() {
    ///     NodeKind::Seq | NodeKind::Tuple => Edit::Replace(Tree::leaf(below.leaves().iter().sum())),
    ///     _ => Edit::Keep,
    /// }))?;
    /// assert_eq!(sums.to_string(), r#"{"a": 6, "b": 4}"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn edit_up(
        self,
        mut f: impl FnMut(&Path, &Tree<L>) -> Result<Edit<Tree<L>>>,
    ) -> Result<Tree<L>> {
        let mut walk = EditWalk::singly(&self.treedef, in_memory(&self.leaves))?;
        let (mut old, mut leaves) = (self.leaves.into_iter(), Vec::new());
        // The index of the first new leaf of each open node.
        let mut starts = Vec::new();
        while let Some(met) = walk.step() {
            if let Event::Enter { node, .. } = met {
                starts.push(leaves.len());
                leaves.extend(if node.is_leaf() { old.next() } else { None });
                walk.enter()?;
                continue;
            }
            let below = leaves.split_off(starts.pop().or_bug());
            let made = walk.leave_apart()?.with_limits(self.treedef.limits);
            let made = Tree::from_parts(made, below);
            let edit = f(walk.path(), &made).map_err(|error| error.or_at(walk.path()))?;
            let edited = match edit {
                Edit::Keep => made,
                Edit::Replace(other) => other,
                Edit::Remove => {
                    walk.remove()?;
                    continue;
                }
            };
            walk.put(&edited.treedef)?;
            leaves.extend(edited.leaves);
        }
        Ok(Tree::from_parts(walk.finish()?, leaves))
    }

    /// Edits the subtrees at the topmost nodes that a pattern matches, and returns the subtrees
    /// that were replaced or removed, with their paths.
    ///
    /// `f` gets the path of the node, the node, and the leaves at and below it.
    ///
    /// # Errors
    ///
    /// As [`edit`](Self::edit). Also returns an error when the pattern matches nothing, with the nearest
    /// pattern that does. The tree is unchanged on error.
    ///
    /// ```
    /// use treedef::{Edit, Tree};
    ///
    /// let mut tree = Tree::new("[Layer { w: [*, *], b: * }; 2]".parse()?, vec![1, 2, 3, 4, 5, 6])?;
    /// tree.edit_at("**.w", |_, _, leaves| Ok(Edit::Replace(Tree::leaf(leaves.iter().sum()))))?;
    /// assert_eq!(tree.to_string(), "[Layer { w: 3, b: 3 }, Layer { w: 9, b: 6 }]");
    ///
    /// let removed = tree.edit_at("**.b", |_, _, _| Ok(Edit::Remove))?;
    /// assert_eq!(tree.to_string(), "[Layer { w: 3 }, Layer { w: 9 }]");
    /// assert_eq!((removed[1].0.to_string().as_str(), removed[1].1.leaves()), ("[1].b", &[6][..]));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn edit_at(
        &mut self,
        pattern: impl ToPattern,
        mut f: impl FnMut(&Path, NodeRef<'_>, &[L]) -> Result<Edit<Tree<L>>>,
    ) -> Result<Vec<(Path, Tree<L>)>> {
        let treedef = self.treedef.clone();
        let pattern = pattern.to_pattern()?;
        treedef.expect_match(&pattern)?;
        let mut named = treedef.matches(pattern.into_owned()).peekable();
        self.cut(|path, node, leaves| match named.next_if(|(named, _)| named == path) {
            Some(_) => Ok(match f(path, node, leaves)? {
                Edit::Keep => Action::Keep,
                Edit::Replace(other) => Action::Replace(other),
                Edit::Remove => Action::Remove,
            }),
            None => Ok(Action::Enter),
        })
    }

    /// Removes the subtree at a path and returns it. Its field or key is removed too, later
    /// elements move up, and a `Some` becomes `None`.
    ///
    /// # Errors
    ///
    /// Returns an error when the path leads nowhere, to the root or to the child of a newtype. The
    /// tree is then unchanged.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new("Model { w: [*, *], b: * }".parse()?, vec![1, 2, 3])?;
    /// let removed = tree.remove(".w[0]")?;
    /// assert_eq!(
    ///     (tree.to_string().as_str(), removed.leaves()),
    ///     ("Model { w: [2], b: 3 }", &[1][..])
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn remove(&mut self, path: impl ToPath) -> Result<Tree<L>> {
        let path = self.treedef.resolve(path)?;
        // If fields or keys are equal, the path leads to the first.
        let mut found = false;
        let mut removed = self.cut(|here, _, _| {
            if found || !path.keys().starts_with(here.keys()) {
                return Ok(Action::Keep);
            }
            found = *here == path;
            Ok(if found { Action::Remove } else { Action::Enter })
        })?;
        let removed = removed.pop().map(|(_, tree)| tree);
        removed.ok_or_else(|| bug!("a node has no path"))
    }

    /// Replaces or removes subtrees, as `f` returns for each node, and returns the old ones with
    /// their paths. On an error the tree is unchanged.
    fn cut(
        &mut self,
        f: impl FnMut(&Path, NodeRef<'_>, &[L]) -> Result<Action<L>>,
    ) -> Result<Vec<(Path, Tree<L>)>> {
        let treedef = self.treedef.clone();
        let (edited, cuts) = cuts(&treedef, &self.leaves, true, f)?;
        let mut removed = Vec::new();
        self.apply(edited, cuts, |path, node, leaves| {
            let old = node.to_treedef();
            removed.push((path, Tree::from_parts(old, leaves.collect())));
        });
        Ok(removed)
    }

    /// Replaces the structure, and moves the leaves of the cut subtrees out.
    fn apply(
        &mut self,
        edited: TreeDef,
        cuts: Vec<Cut<'_, L>>,
        mut removed: impl FnMut(Path, NodeRef<'_>, Take<&mut vec::IntoIter<L>>),
    ) {
        let mut rest = std::mem::take(&mut self.leaves).into_iter();
        let (mut leaves, mut came) = (Vec::with_capacity(rest.len()), 0);
        for Cut { path, node, new } in cuts {
            let range = node.leaf_range();
            leaves.extend(rest.by_ref().take(range.start - came)); // cuts are in order
            removed(path, node, rest.by_ref().take(range.len()));
            leaves.extend(new);
            came = range.end;
        }
        leaves.extend(rest);
        *self = Tree::from_parts(edited, leaves);
    }
}

/// The edited structure, and the subtrees that are replaced or removed, with their paths or
/// without.
fn cuts<'a, L>(
    treedef: &'a TreeDef,
    leaves: &[L],
    with_paths: bool,
    mut f: impl FnMut(&Path, NodeRef<'_>, &[L]) -> Result<Action<L>>,
) -> Result<(TreeDef, Vec<Cut<'a, L>>)> {
    let mut walk = EditWalk::singly(treedef, in_memory(leaves))?;
    let mut cuts = Vec::new();
    while let Some(met) = walk.step() {
        let Event::Enter { node, .. } = met else {
            walk.leave()?;
            continue;
        };
        let below = leaves.get(node.leaf_range()).or_bug();
        let new = match f(walk.path(), node, below).map_err(|error| error.or_at(walk.path()))? {
            Action::Enter => {
                walk.enter()?;
                continue;
            }
            Action::Keep => {
                walk.keep()?;
                continue;
            }
            Action::Remove => {
                walk.remove()?;
                Vec::new()
            }
            Action::Replace(new) => {
                walk.put(&new.treedef)?;
                new.leaves
            }
        };
        let path = if with_paths { walk.path().clone() } else { Path::root() };
        cuts.push(Cut { path, node, new });
    }
    Ok((walk.finish()?, cuts))
}

/// The action for a node.
enum Action<L> {
    /// Keep the node, and visit the nodes below it.
    Enter,
    /// Keep the node with everything below it.
    Keep,
    Remove,
    Replace(Tree<L>),
}

/// A subtree that is cut out, and the leaves that replace its own.
struct Cut<'a, L> {
    path: Path,
    node: NodeRef<'a>,
    new: Vec<L>,
}

/// # Trees in trees
impl<L> Tree<Tree<L>> {
    /// Puts each inner tree in the place of its leaf: a tree of trees becomes one tree.
    /// [`flatten_up_to`](Tree::flatten_up_to) is the inverse.
    ///
    /// # Errors
    ///
    /// Returns an error when an inner tree has other options than this one; when the result exceeds
    /// the limits.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let wanted = Tree::new("{\"x\": *, \"y\": *}".parse()?, vec![2, 1])?;
    /// let outer = wanted.treedef().clone();
    /// let fanned =
    ///     wanted.try_map(|n| Tree::new(format!("[*; {n}]").parse()?, vec![n; n]))?.compose()?;
    /// assert_eq!(fanned.to_string(), r#"{"x": [2, 2], "y": [1]}"#);
    /// assert_eq!(fanned.flatten_up_to(&outer)?.leaves()[0].leaves(), [2, 2]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn compose(self) -> Result<Tree<L>> {
        let in_memory = self.leaves_in_memory();
        let mut inner = self.leaves.into_iter();
        let mut leaves = Vec::new();
        let mut walk = EditWalk::singly(&self.treedef, in_memory)?;
        while let Some(met) = walk.step() {
            let Event::Enter { node, .. } = met else {
                walk.leave()?;
                continue;
            };
            match node.kind() {
                NodeKind::Leaf => {
                    if let Some(tree) = inner.next() {
                        walk.put(&tree.treedef)?;
                        leaves.extend(tree.leaves);
                    }
                }
                _ => walk.enter()?,
            }
        }
        Ok(Tree::from_parts(walk.finish()?, leaves))
    }
}
