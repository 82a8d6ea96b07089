//! Replaces or removes subtrees by a function, a path or a pattern.

use std::ops::Range;
use std::vec;

use crate::argument::{ToPath, ToPattern};
use crate::error::{ErrorKind, Result};
use crate::model::{NodeKind, Tree, TreeDef};
use crate::path::Path;
use crate::treedef::limits::in_memory;
use crate::treedef::node_ref::NodeRef;

use crate::treedef::edit::{Edit, EditWalk, Visit};

/// A tree that is edited during a walk, and the leaves of the result so far.
struct Traversal<'a, L> {
    walk: EditWalk<'a>,
    /// The leaves from the current node on.
    old: vec::IntoIter<L>,
    new: Vec<L>,
}

impl<'a, L> Traversal<'a, L> {
    fn new(treedef: &'a TreeDef, leaves: Vec<L>) -> Result<Self> {
        let walk = EditWalk::singly(treedef, in_memory(&leaves))?;
        let new = Vec::with_capacity(leaves.len());
        Ok(Traversal { walk, old: leaves.into_iter(), new })
    }

    /// The leaves at and below the current node.
    fn below(&self, node: NodeRef<'_>) -> &[L] {
        self.old.as_slice().get(..node.num_leaves()).unwrap_or_default()
    }

    fn enter(&mut self, node: NodeRef<'_>) -> Result<()> {
        if node.kind() == NodeKind::Leaf {
            self.new.extend(self.old.next());
        }
        self.walk.enter()
    }

    fn drop_below(&mut self, node: NodeRef<'_>) {
        self.old.by_ref().take(node.num_leaves()).for_each(drop);
    }

    fn put(&mut self, other: Tree<L>) -> Result<()> {
        self.new.extend(other.leaves);
        self.walk.put(other.treedef.root())
    }

    fn finish(self) -> Result<Tree<L>> {
        Ok(Tree::from_parts(self.walk.finish()?, self.new))
    }
}

impl<L> Tree<L> {
    /// Edits this tree from the root down: `f` returns whether a node is kept, replaced or removed.
    ///
    /// `f` gets the path of the node, the node, and the leaves at and below it. Nodes below a
    /// replaced or removed node are not visited.
    ///
    /// # Errors
    ///
    /// The first error of `f`; when a replacement has other options; when the root or the child of
    /// a newtype is removed; when there are more nodes than
    /// [`Limits::max_work`](crate::Limits::max_work) allows.
    ///
    /// ```
    /// use treedef::{Edit, NodeKind, Tree};
    ///
    /// let tree = Tree::of(&([1, 2, 3], (4, "a"), None::<u8>))?;
    /// let edited = tree.edit(|path, node, leaves| Ok(match node.kind() {
    ///     NodeKind::None => Edit::Remove,
    ///     NodeKind::Tuple if path.keys().len() == 1 && leaves.len() == 3 => Edit::Replace(Tree::of(&"cut")?),
    ///     _ => Edit::Keep,
    /// }))?;
    /// assert_eq!(edited.to_string(), r#"("cut", (4, "a"))"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "traverse")]
    pub fn edit(
        self,
        mut f: impl FnMut(&Path, NodeRef<'_>, &[L]) -> Result<Edit<Tree<L>>>,
    ) -> Result<Tree<L>> {
        let mut tree = Traversal::new(&self.treedef, self.leaves)?;
        while let Some(met) = tree.walk.step() {
            match met {
                Visit::Before(node) => {
                    let edit = f(tree.walk.path(), node, tree.below(node));
                    match edit.map_err(|error| error.or_at(tree.walk.path()))? {
                        Edit::Keep => tree.enter(node)?,
                        Edit::Replace(other) => {
                            tree.drop_below(node);
                            tree.put(other)?;
                        }
                        Edit::Remove => {
                            tree.walk.remove()?;
                            tree.drop_below(node);
                        }
                    }
                }
                Visit::After => tree.walk.leave()?,
            }
        }
        tree.finish()
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
    /// let sums = tree.edit_up(|_, subtree| Ok(match subtree.treedef().root().kind() {
    ///     NodeKind::Seq | NodeKind::Tuple => Edit::Replace(Tree::leaf(subtree.leaves().iter().sum())),
    ///     _ => Edit::Keep,
    /// }))?;
    /// assert_eq!(sums.to_string(), r#"{"a": 6, "b": 4}"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn edit_up(
        self,
        mut f: impl FnMut(&Path, &Tree<L>) -> Result<Edit<Tree<L>>>,
    ) -> Result<Tree<L>> {
        let mut tree = Traversal::new(&self.treedef, self.leaves)?;
        // The index of the first new leaf of each open node.
        let mut starts = Vec::new();
        while let Some(met) = tree.walk.step() {
            if let Visit::Before(node) = met {
                starts.push(tree.new.len());
                tree.enter(node)?;
                continue;
            }
            let leaves = tree.new.split_off(starts.pop().unwrap_or_default());
            let made = tree.walk.leave_apart()?.with_limits(self.treedef.limits);
            let made = Tree::from_parts(made, leaves);
            let edit = f(tree.walk.path(), &made);
            match edit.map_err(|error| error.or_at(tree.walk.path()))? {
                Edit::Keep => tree.put(made)?,
                Edit::Replace(other) => tree.put(other)?,
                Edit::Remove => tree.walk.remove()?,
            }
        }
        tree.finish()
    }

    /// Replaces the subtrees whose paths match a pattern, and returns the old ones with their
    /// paths.
    ///
    /// `f` gets the path of the node, the node, and the leaves at and below it, and returns the new
    /// subtree. Nodes below a replaced node are not visited.
    ///
    /// # Errors
    ///
    /// The first error of `f`; when a replacement has other options. The tree is then unchanged.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new("[Layer { w: [*, *], b: * }; 2]".parse()?, vec![1, 2, 3, 4, 5, 6])?;
    /// let old = tree.replace_all("**.w", |_, _, leaves| Ok(Tree::leaf(leaves.iter().sum())))?;
    /// assert_eq!(tree.to_string(), "[Layer { w: 3, b: 3 }, Layer { w: 9, b: 6 }]");
    /// assert_eq!((old[1].0.to_string().as_str(), old[1].1.leaves()), ("[1].w", &[4, 5][..]));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn replace_all(
        &mut self,
        pattern: impl ToPattern,
        mut f: impl FnMut(&Path, NodeRef<'_>, &[L]) -> Result<Tree<L>>,
    ) -> Result<Vec<(Path, Tree<L>)>> {
        let pattern = pattern.to_pattern()?;
        self.cut(|path, node, leaves| match pattern.matches(path) {
            true => f(path, node, leaves).map(Action::Replace),
            false => Ok(Action::Enter),
        })
    }

    /// Removes the subtree at a path and returns it. Its field or key is removed too, later
    /// elements move up, and a `Some` becomes `None`.
    ///
    /// # Errors
    ///
    /// When the path leads nowhere, to the root or to the child of a newtype. The tree is then
    /// unchanged.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new("Model { w: [*, *], b: * }".parse()?, vec![1, 2, 3])?;
    /// let removed = tree.remove(".w[0]")?;
    /// assert_eq!((tree.to_string().as_str(), removed.leaves()), ("Model { w: [2], b: 3 }", &[1][..]));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn remove(&mut self, path: impl ToPath) -> Result<Tree<L>> {
        let path = self.treedef.resolve(path)?;
        // If fields or keys are equal, the path leads to the first.
        let mut found = false;
        let mut removed = self.cut(|here, _, _| {
            if found || !path.starts_with(here) {
                return Ok(Action::Keep);
            }
            found = *here == path;
            Ok(if found { Action::Remove } else { Action::Enter })
        })?;
        let removed = removed.pop().map(|(_, tree)| tree);
        removed.ok_or_else(|| ErrorKind::Internal("a node has no path").into())
    }

    /// Removes the subtrees whose paths match a pattern, and returns them with their paths.
    ///
    /// # Errors
    ///
    /// When the root or the child of a newtype matches. The tree is then unchanged.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new("[Layer { w: [*, *], b: * }; 2]".parse()?, vec![1, 2, 3, 4, 5, 6])?;
    /// let removed = tree.remove_all("**.b")?;
    /// assert_eq!(tree.to_string(), "[Layer { w: [1, 2] }, Layer { w: [4, 5] }]");
    /// assert_eq!((removed[1].0.to_string().as_str(), removed[1].1.leaves()), ("[1].b", &[6][..]));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn remove_all(&mut self, pattern: impl ToPattern) -> Result<Vec<(Path, Tree<L>)>> {
        let pattern = pattern.to_pattern()?;
        self.cut(|path, _, _| {
            Ok(if pattern.matches(path) { Action::Remove } else { Action::Enter })
        })
    }

    /// Replaces or removes subtrees, as `f` returns for each node, and returns the old ones with
    /// their paths. On an error the tree is unchanged.
    fn cut(
        &mut self,
        mut f: impl FnMut(&Path, NodeRef<'_>, &[L]) -> Result<Action<L>>,
    ) -> Result<Vec<(Path, Tree<L>)>> {
        let mut walk = EditWalk::singly(&self.treedef, self.leaves_in_memory())?;
        let mut cuts = Vec::new();
        while let Some(met) = walk.step() {
            let Visit::Before(node) = met else {
                walk.leave()?;
                continue;
            };
            let below = self.leaves.get(node.leaf_range()).unwrap_or_default();
            let step = f(walk.path(), node, below);
            let new = match step.map_err(|error| error.or_at(walk.path()))? {
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
                    walk.put(new.treedef.root())?;
                    new.leaves
                }
            };
            let old = node.to_treedef().with_limits(self.treedef.limits);
            cuts.push(Cut { path: walk.path().clone(), old, range: node.leaf_range(), new });
        }
        let treedef = walk.finish()?;
        Ok(self.apply(treedef, cuts))
    }

    /// Replaces the structure, moves the leaves of the cut subtrees out, and returns these
    /// subtrees.
    fn apply(&mut self, treedef: TreeDef, cuts: Vec<Cut<L>>) -> Vec<(Path, Tree<L>)> {
        let mut rest = std::mem::take(&mut self.leaves).into_iter();
        let (mut leaves, mut came, mut removed) = (Vec::with_capacity(rest.len()), 0, Vec::new());
        for Cut { path, old, range, new } in cuts {
            leaves.extend(rest.by_ref().take(range.start - came)); // cuts are in order
            let below = rest.by_ref().take(range.len()).collect();
            leaves.extend(new);
            removed.push((path, Tree::from_parts(old, below)));
            came = range.end;
        }
        leaves.extend(rest);
        *self = Tree::from_parts(treedef, leaves);
        removed
    }
}

/// What to do with a node.
enum Action<L> {
    /// Keep the node, and visit the nodes below it.
    Enter,
    /// Keep the node with everything below it.
    Keep,
    Remove,
    Replace(Tree<L>),
}

/// A subtree that was cut out, and the leaves that replace its own.
struct Cut<L> {
    path: Path,
    old: TreeDef,
    range: Range<usize>,
    new: Vec<L>,
}

/// # Trees in trees
impl<L> Tree<Tree<L>> {
    /// Puts each inner tree in the place of its leaf: a tree of trees becomes one tree.
    /// [`flatten_up_to`](Tree::flatten_up_to) is the inverse.
    ///
    /// # Errors
    ///
    /// When an inner tree has other options than this one; when the result exceeds the limits.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let wanted = Tree::new("{\"x\": *, \"y\": *}".parse()?, vec![2, 1])?;
    /// let outer = wanted.treedef().clone();
    /// let fanned = wanted.try_map(|n| Tree::new(format!("[*; {n}]").parse()?, vec![n; n]))?.compose()?;
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
            let Visit::Before(node) = met else {
                walk.leave()?;
                continue;
            };
            match node.kind() {
                NodeKind::Leaf => {
                    if let Some(tree) = inner.next() {
                        walk.put(tree.treedef.root())?;
                        leaves.extend(tree.leaves);
                    }
                }
                _ => walk.enter()?,
            }
        }
        Ok(Tree::from_parts(walk.finish()?, leaves))
    }
}
