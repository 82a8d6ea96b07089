//! The methods of [`Tree`], in the groups of the table in its docs.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::iter::{Take, Zip};
use std::slice;
use std::vec;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::argument::{ToPath, ToPattern};
use crate::bug::{OrBug, bug};
use crate::error::{Cause, Error, Result};
use crate::flatten::{flatten, flatten_as, flatten_objects};
use crate::leaf::leaf_type::LeafType;
use crate::message::counted;
use crate::model::{Leaf, LeafKind, Limits, NodeKind, Tree, TreeDef};
use crate::path::Path;
use crate::text::{WithoutLengths, parse_signature};
use crate::treedef::edit::{Edit, EditWalk, insert_without, nothing_left};
use crate::treedef::limits::in_memory;
use crate::treedef::node_ref::NodeRef;
use crate::treedef::pairs::{
    Statics, expect_equal, expect_prefix, leaf_steps, unified, with_options_of,
};
use crate::treedef::walk::{Event, LeafPaths};
use crate::unflatten::{unflatten, unflatten_objects};

use super::check_close::{self, Tolerance};
use super::choice::{Choice, Chosen};
use super::cuts::{Action, Cut, cuts};
use super::insert;
use super::merge::{merged, thinned};
use super::ravel::Ravel;
use super::text::{WithShapes, each_form_once};
use super::unique::Unique;

/// # Make
impl Tree<Leaf> {
    /// The tree of `value`.
    ///
    /// # Errors
    ///
    /// As [`flatten`].
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// assert_eq!(Tree::of(&("a", [1, 2]))?.to_string(), r#"("a", (1, 2))"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let (leaves, treedef) = flatten(value)?;
        Ok(Tree { treedef, leaves })
    }
}

impl<L: LeafType> Tree<L> {
    /// The tree of a value whose leaves are all of one kind.
    ///
    /// # Errors
    ///
    /// As [`flatten_as`].
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let model = Tree::<f64>::of_as(&(1.5, [2.5, 3.5]))?;
    /// let doubled = model.map(|leaf| 2.0 * leaf).into_typed::<(f64, [f64; 2])>()?;
    /// assert_eq!(doubled, (3.0, [5.0, 7.0]));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn of_as<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let (leaves, treedef) = flatten_as(value)?;
        Ok(Tree { treedef, leaves })
    }
}

impl<L> Tree<L> {
    /// A tree of `treedef` and leaves.
    ///
    /// # Errors
    ///
    /// Returns an error when there are too many or too few leaves. Also when there are more leaves
    /// of a zero-sized type, e.g. `()`, than [`Limits::max_work`](crate::Limits::max_work): the
    /// leaves use no memory, but results made from them may.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("(*, [*, *])".parse()?, vec!["a", "b", "c"])?;
    /// assert_eq!(tree.to_string(), "(a, [b, c])");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn new(treedef: TreeDef, leaves: Vec<L>) -> Result<Self> {
        treedef.expect_leaves(leaves.len())?;
        if size_of::<L>() == 0 {
            treedef.limits.expect_work(leaves.len(), 0)?;
        }
        Ok(Tree { treedef, leaves })
    }

    /// A tree of one leaf.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// assert_eq!(Tree::leaf("a"), Tree::new("*".parse()?, vec!["a"])?);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn leaf(leaf: L) -> Self {
        Tree::from_parts(TreeDef::leaf(), vec![leaf])
    }
}

impl<O: Clone + 'static> Tree<O> {
    /// The objects of a value with its structure: [`flatten_objects`](crate::flatten_objects()).
    ///
    /// # Errors
    ///
    /// As [`flatten_objects`](crate::flatten_objects()).
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use treedef::{Object, Tree};
    ///
    /// let value: BTreeMap<&str, Object<char>> = [("w", Object('a')), ("b", Object('b'))].into();
    /// let tree = Tree::<char>::of_objects(&value)?;
    /// assert_eq!(tree.get("w")?, &'a');
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn of_objects(value: &(impl Serialize + ?Sized)) -> Result<Self> {
        let (leaves, treedef) = flatten_objects(value)?;
        Ok(Tree { treedef, leaves })
    }
}

/// # Take apart
impl<L> Tree<L> {
    /// The structure of the tree.
    pub fn treedef(&self) -> &TreeDef {
        &self.treedef
    }

    /// The leaves, in order.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::<f64>::of_as(&(1.5, [2.5, 3.5]))?;
    /// assert_eq!(tree.leaves(), [1.5, 2.5, 3.5]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_leaves")]
    #[doc(alias = "tree_reduce")]
    #[doc(alias = "tree_all")]
    pub fn leaves(&self) -> &[L] {
        &self.leaves
    }

    /// The leaves, mutable.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::<f64>::of_as(&(1.5, [2.5, 3.5]))?;
    /// tree.leaves_mut()[1..].fill(0.0);
    /// assert_eq!(tree.to_string(), "(1.5, (0, 0))");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn leaves_mut(&mut self) -> &mut [L] {
        &mut self.leaves
    }

    /// The structure and the leaves. [`new`](Self::new) puts them together again.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let (treedef, leaves) = Tree::<f64>::of_as(&(1.5, [2.5]))?.into_parts();
    /// assert_eq!((treedef.to_string().as_str(), &leaves[..]), ("(*, (*,))", &[1.5, 2.5][..]));
    /// assert_eq!(Tree::new(treedef, leaves)?.into_typed::<(f64, [f64; 1])>()?, (1.5, [2.5]));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn into_parts(self) -> (TreeDef, Vec<L>) {
        (self.treedef, self.leaves)
    }

    /// The number of leaves that use memory: 0 if the type is zero-sized.
    pub(crate) fn leaves_in_memory(&self) -> usize {
        in_memory(&self.leaves)
    }
}

impl<L: LeafType> Tree<L> {
    /// Rebuilds the typed value with [`unflatten`].
    ///
    /// # Errors
    ///
    /// As [`unflatten`].
    ///
    /// ```
    /// use treedef::{Leaf, Tree};
    ///
    /// let mut tree = Tree::of(&(1, "a"))?;
    /// tree.leaves_mut()[0] = Leaf::I32(2);
    /// assert_eq!(tree.into_typed::<(i32, String)>()?, (2, "a".to_owned()));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn into_typed<T: DeserializeOwned>(self) -> Result<T> {
        unflatten(&self.treedef, self.leaves)
    }
}

impl<O: Clone + 'static> Tree<O> {
    /// Rebuilds the typed value: [`unflatten_objects`](crate::unflatten_objects()).
    ///
    /// # Errors
    ///
    /// As [`unflatten_objects`](crate::unflatten_objects()).
    ///
    /// ```
    /// use treedef::{Object, Tree};
    ///
    /// let tree = Tree::<i32>::of_objects(&[Object(1), Object(2)])?.map(|object| 10 * object);
    /// assert_eq!(tree.into_objects::<[Object<i32>; 2]>()?, [Object(10), Object(20)]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn into_objects<T: DeserializeOwned>(self) -> Result<T> {
        unflatten_objects(&self.treedef, self.leaves)
    }
}

/// # Signatures
impl Tree<LeafKind> {
    /// Parses a signature within `limits`; `parse` uses [`Limits::default`].
    ///
    /// `max_work` bounds the leaves that `; n` expands to, because they are stored one by one.
    ///
    /// # Errors
    ///
    /// As [`TreeDef::parse_with`](crate::TreeDef::parse_with).
    ///
    /// ```
    /// use treedef::{Limits, Tree};
    ///
    /// let limits = Limits { max_work: 2000, ..Limits::default() };
    /// let signature = Tree::parse_with("(str, [f32; 1000])", limits)?;
    /// assert_eq!(signature, treedef::signature(&("a", vec![0.5f32; 1000]))?);
    /// assert!(Tree::parse_with("(str, [f32; 9999])", limits).is_err());
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn parse_with(text: &str, limits: Limits) -> Result<Self> {
        parse_signature(text, limits)
    }
}

impl Tree<LeafKind> {
    /// The signature in the notation of JAX, where an array is its kind and its shape.
    ///
    /// Sequences have brackets, tuples and Rust arrays have parentheses: a `Vec<[f32; 3]>` with 100
    /// elements is `f32[100](3)`. A lone leaf has no dimensions, as `u64[]`. The text parses back
    /// to the same signature. `{:#}` prints one field a line.
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::{LeafKind, Tree};
    ///
    /// #[derive(Serialize)]
    /// struct Layer { w: Vec<Vec<f32>>, b: [f32; 4], step: u64 }
    ///
    /// let layer = Layer { w: vec![vec![0.0; 4]; 3], b: [0.0; 4], step: 7 };
    /// let signature = treedef::signature(&layer)?;
    /// let text = signature.with_shapes().to_string();
    /// assert_eq!(text, "Layer { w: f32[3, 4], b: f32(4), step: u64[] }");
    /// assert_eq!(text.parse::<Tree<LeafKind>>()?, signature);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "eval_shape")]
    #[doc(alias = "ShapeDtypeStruct")]
    pub fn with_shapes(&self) -> impl fmt::Display + fmt::Debug {
        WithShapes(self)
    }
}

impl<L: fmt::Display + Clone + Ord> Tree<L> {
    /// The text without the lengths of sequences, as [`TreeDef::without_lengths`].
    ///
    /// # Errors
    ///
    /// Returns an error when there are more nodes than
    /// [`Limits::max_work`](crate::Limits::max_work) allows.
    ///
    /// ```
    /// let signature = treedef::signature(&vec![("a", vec![1u8, 2]), ("b", vec![3])])?;
    /// assert_eq!(signature.to_string(), "[(str, [u8, u8]), (str, [u8])]");
    /// assert_eq!(signature.without_lengths()?.to_string(), "[(str, [u8; _]); _]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn without_lengths(&self) -> Result<impl fmt::Display + use<L>> {
        let once = self.clone().edit_up(|_, node| match node.treedef.root().kind() {
            NodeKind::Seq if node.treedef.root().num_children() > 1 => {
                Ok(Edit::Replace(each_form_once(node)?))
            }
            _ => Ok(Edit::Keep),
        })?;
        Ok(WithoutLengths(once))
    }
}

/// # Leaf by leaf
impl<L> Tree<L> {
    /// Applies `f` to every leaf. The structure stays the same.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let lengths = Tree::of(&("a", ["bc", ""]))?.map(|leaf| leaf.as_str().map_or(0, str::len));
    /// assert_eq!(lengths.leaves(), [1, 2, 0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[must_use]
    pub fn map<M>(self, f: impl FnMut(L) -> M) -> Tree<M> {
        Tree::from_parts(self.treedef, self.leaves.into_iter().map(f).collect())
    }

    /// Applies `f`, which may fail, to every leaf.
    ///
    /// # Errors
    ///
    /// Returns the first error of `f`, with the path of its leaf. Its
    /// [`source`](std::error::Error::source) is the error that `f` returned, unless that is an
    /// [`Error`] without a path.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let error = Tree::of(&(1.5, "a"))?.try_map(f64::try_from).unwrap_err();
    /// assert_eq!(error.to_string(), "expected f64, found str at `.1`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn try_map<M, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        self,
        mut f: impl FnMut(L) -> Result<M, E>,
    ) -> Result<Tree<M>> {
        let mut leaves = Vec::with_capacity(self.leaves.len());
        for leaf in self.leaves {
            let said = |error| self.treedef.error_at_leaf(leaves.len(), Error::of_function(error));
            let mapped = f(leaf).map_err(said)?;
            leaves.push(mapped);
        }
        Ok(Tree::from_parts(self.treedef, leaves))
    }

    /// Applies `f` to every leaf and its path.
    ///
    /// Each path is an allocation. If `f` needs the paths of few leaves, [`select_mut`](Self::select_mut)
    /// makes only these.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let paths = Tree::of(&("a", ["b"]))?.map_with_path(|path, _| path.to_string());
    /// assert_eq!(paths.leaves(), [".0", ".1.0"]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[must_use]
    pub fn map_with_path<M>(self, mut f: impl FnMut(&Path, L) -> M) -> Tree<M> {
        let paths = self.treedef.leaf_paths();
        let leaves = paths.zip(self.leaves).map(|(path, leaf)| f(&path, leaf)).collect();
        Tree::from_parts(self.treedef, leaves)
    }

    /// The same tree with references to the leaves.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("[*, *]".parse()?, vec![String::from("a"), String::from("bc")])?;
    /// assert_eq!(tree.as_ref().map(|text| text.len()).leaves(), [1, 2]);
    /// assert_eq!(tree.leaves(), ["a", "bc"]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn as_ref(&self) -> Tree<&L> {
        Tree::from_parts(self.treedef.clone(), self.leaves.iter().collect())
    }

    /// The leaves with their paths, in order.
    ///
    /// Each path is an allocation. [`leaves`](Self::leaves) has the leaves alone,
    /// [`blocks`](Self::blocks) one path for each array, and [`select`](Self::select) the leaves that a
    /// pattern matches.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&("a", ["b"]))?;
    /// let (path, leaf) = tree.iter().nth(1).unwrap();
    /// assert_eq!((path.to_string().as_str(), leaf.as_str()), (".1.0", Some("b")));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_flatten_with_path")]
    #[doc(alias = "tree_leaves_with_path")]
    pub fn iter(&self) -> Zip<LeafPaths<'_>, slice::Iter<'_, L>> {
        self.treedef.leaf_paths().zip(&self.leaves)
    }

    /// The leaves with their paths, in order, mutable.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new("(*, [*, *])".parse()?, vec![1, 2, 3])?;
    /// for (path, leaf) in &mut tree {
    ///     *leaf *= path.keys().len();
    /// }
    /// assert_eq!(tree.leaves(), [1, 4, 6]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn iter_mut(&mut self) -> Zip<LeafPaths<'_>, slice::IterMut<'_, L>> {
        self.treedef.leaf_paths().zip(&mut self.leaves)
    }
}

impl<'a, L> IntoIterator for &'a Tree<L> {
    type Item = (Path, &'a L);
    type IntoIter = Zip<LeafPaths<'a>, slice::Iter<'a, L>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, L> IntoIterator for &'a mut Tree<L> {
    type Item = (Path, &'a mut L);
    type IntoIter = Zip<LeafPaths<'a>, slice::IterMut<'a, L>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// # Combine with another
impl<L> Tree<L> {
    /// Combines the leaves of two trees of the same structure with `f`. For more than two trees,
    /// use [`stack`](Self::stack) if their leaves have one type, or [`zip`](Self::zip) otherwise.
    ///
    /// Statics are part of the structure. For two values that differ in one, such as a step
    /// counter, see [`Flattener::ignore_statics`](crate::Flattener::ignore_statics).
    ///
    /// # Errors
    ///
    /// Returns an error when the structures differ; the error has the differences.
    /// To use a prefix, extend it to the whole structure first:
    /// [`broadcast_to`](Self::broadcast_to).
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let weights = Tree::new("[*, (*, *)]".parse()?, vec![1.0, 2.0, 3.0])?;
    /// let steps = Tree::new("[*, (*, *)]".parse()?, vec![0.5, 0.0, 1.0])?;
    /// assert_eq!(weights.clone().zip_with(steps, |w, s| w - s)?.leaves(), [0.5, 2.0, 2.0]);
    ///
    /// let others = Tree::new("[*, [*, *]]".parse()?, vec![0.5, 0.0, 1.0])?;
    /// let error = weights.zip_with(others, |w, s| w - s).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `(*, *)`, found `[*, *]` at `[1]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_multimap")]
    pub fn zip_with<M, N>(self, other: Tree<M>, mut f: impl FnMut(L, M) -> N) -> Result<Tree<N>> {
        let treedef = unified(self.treedef, &other.treedef)?;
        let pairs = self.leaves.into_iter().zip(other.leaves);
        Ok(Tree::from_parts(treedef, pairs.map(|(a, b)| f(a, b)).collect()))
    }

    /// Pairs the leaves of two trees of the same structure. Use it where [`zip_with`](Self::zip_with) does
    /// not suffice: for a function that may fail or needs the path, as in `a.zip(b)?.try_map(f)?`. For
    /// three trees, zip twice and map pairs of pairs. To take pairs apart, use
    /// `leaves.into_iter().unzip()`.
    ///
    /// # Errors
    ///
    /// As [`zip_with`](Self::zip_with).
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = |leaves| Tree::new("(*, [*])".parse()?, leaves);
    /// let (w, g, rate) = (tree(vec![1.0, 2.0])?, tree(vec![10.0, 20.0])?, tree(vec![0.1, 0.5])?);
    /// let stepped = w.zip(g)?.zip(rate)?.map(|((w, g), rate)| w - rate * g);
    /// assert_eq!(stepped.leaves(), [0.0, -8.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn zip<M>(self, other: Tree<M>) -> Result<Tree<(L, M)>> {
        self.zip_with(other, |a, b| (a, b))
    }
}

impl<L: Clone> Tree<L> {
    /// The subtrees in the places of the leaves of `prefix`. [`compose`](Tree::compose) is the
    /// inverse.
    ///
    /// # Errors
    ///
    /// Returns an error when `prefix` is not a prefix of this tree, with the path where they
    /// differ; when it has more leaves than [`Limits::max_work`](crate::Limits::max_work)
    /// allows.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&(vec![(1, "a"), (2, "b")], 3))?;
    /// let subtrees = tree.flatten_up_to(&"([*, *], *)".parse()?)?;
    /// assert_eq!(subtrees.leaves()[1], Tree::of(&(2, "b"))?);
    ///
    /// let sizes = subtrees.map(|subtree| subtree.leaves().len());
    /// assert_eq!(sizes.to_string(), "([2, 2], 1)");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn flatten_up_to(&self, prefix: &TreeDef) -> Result<Tree<Tree<L>>> {
        expect_prefix(prefix, &self.treedef, Statics::Compared)?;
        prefix.limits.expect_work(prefix.num_leaves(), self.leaves_in_memory())?;
        // Equal neighbours share one treedef.
        let mut last: Option<(_, TreeDef)> = None;
        let steps = leaf_steps(prefix.root(), self.treedef.root());
        let subtrees = steps.map(|(_, node)| {
            let treedef = match &last {
                Some((known, treedef))
                    if node.is_same_stored_node(*known) && node.has_same_orders(*known) =>
                {
                    treedef.clone()
                }
                _ => node.to_treedef(),
            };
            last = Some((node, treedef.clone()));
            self.subtree_with(node, treedef)
        });
        Ok(Tree::from_parts(prefix.clone(), subtrees.collect()))
    }

    /// Extends this tree, a prefix of the structure `full`, to that structure. Every leaf is cloned for all
    /// leaves of the subtree in its place; use [`as_ref`](Self::as_ref) first to clone only references. A
    /// static of this tree stands for any static.
    ///
    /// # Errors
    ///
    /// Returns an error when this tree is not a prefix of `full`, with the path where they
    /// differ; when `full` has more leaves than its [`Limits::max_work`](crate::Limits::max_work)
    /// allows, unless it was made by a walk through a value.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let gradients = Tree::new("([*, *], *)".parse()?, vec![1.0, 2.0, 3.0])?;
    /// let rates = Tree::new("(*, *)".parse()?, vec![0.1, 1.0])?;
    /// let rates = rates.broadcast_to(gradients.treedef())?;
    /// assert_eq!(rates.to_string(), "([0.1, 0.1], 1)");
    /// assert_eq!(rates.zip_with(gradients, |rate, g| rate * g)?.leaves(), [0.1, 0.2, 3.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "broadcast_prefix")]
    #[doc(alias = "tree_broadcast_prefix")]
    pub fn broadcast_to(&self, full: &TreeDef) -> Result<Tree<L>> {
        expect_prefix(&self.treedef, full, Statics::Any)?;
        full.expect_made(full.num_leaves(), self.leaves_in_memory())?;
        let mut leaves = Vec::with_capacity(full.num_leaves());
        let steps = leaf_steps(self.treedef.root(), full.root());
        for ((_, subtree), leaf) in steps.zip(&self.leaves) {
            leaves.resize(leaves.len().saturating_add(subtree.num_leaves()), leaf.clone());
        }
        Ok(Tree::from_parts(full.clone(), leaves))
    }
}

/// # Find by path or pattern
impl<L> Tree<L> {
    /// The leaf at a path. Takes as long as [`TreeDef::node`](crate::TreeDef::node).
    ///
    /// # Errors
    ///
    /// Returns an error when the path leads nowhere, or to a node that is not a leaf.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new("Model { w: [*, *], b: * }".parse()?, vec![1.0, 2.0, 3.0])?;
    /// *tree.get_mut(".w[1]")? = 20.0;
    /// assert_eq!(*tree.get(".w[1]")?, 20.0);
    ///
    /// let error = tree.get(".w").unwrap_err();
    /// assert_eq!(error.to_string(), "expected a leaf, found `[*, *]` at `.w`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn get(&self, path: impl ToPath) -> Result<&L> {
        // In bounds: it is the index of a leaf of the treedef.
        Ok(&self.leaves[self.treedef.leaf_index(path)?])
    }

    /// The leaf at a path, mutable. Takes as long as [`get`](Self::get).
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::<i32>::of_as(&(1, [2, 3]))?;
    /// *tree.get_mut(".1.0")? += 10;
    /// assert_eq!(tree.leaves(), [1, 12, 3]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn get_mut(&mut self, path: impl ToPath) -> Result<&mut L> {
        Ok(&mut self.leaves[self.treedef.leaf_index(path)?])
    }

    /// The leaves that `select` chooses, with their paths. For a pattern, the time depends on the number
    /// and the length of the paths that are found, not on the number of leaves.
    ///
    /// # Errors
    ///
    /// As [`Choice`]: for example when a pattern matches no node of this tree.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("[Layer { w: [*; 2], b: * }; 2]".parse()?, vec![1, 2, 3, 4, 5, 6])?;
    /// let weights: Vec<i32> = tree.select("**.w")?.map(|(_, leaf)| *leaf).collect();
    /// assert_eq!(weights, [1, 2, 4, 5]);
    /// assert_eq!(tree.select(|_: &_, leaf: &i32| *leaf > 9)?.count(), 0);
    ///
    /// let error = tree.select("**.bias").err().unwrap();
    /// assert_eq!(error.to_string(), "no node matches `**.bias` (did you mean `**.b`?)");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn select(&self, select: impl Choice<L>) -> Result<impl Iterator<Item = (Path, &L)>> {
        let found = select.chosen(self)?.leaves_of(&self.treedef);
        Ok(found.map(|(path, index)| (path, &self.leaves[index]))) // the index of a leaf
    }

    /// As [`select`](Self::select), with mutable leaves.
    ///
    /// # Errors
    ///
    /// As [`select`](Self::select).
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new("[Layer { w: *, b: * }; 2]".parse()?, vec![1, 2, 3, 4])?;
    /// tree.select_mut("**.b")?.for_each(|(_, leaf)| *leaf = 0);
    /// assert_eq!(tree.leaves(), [1, 0, 3, 0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn select_mut(
        &mut self,
        select: impl Choice<L>,
    ) -> Result<impl Iterator<Item = (Path, &mut L)>> {
        let found = select.chosen(self)?.leaves_of(&self.treedef);
        let (mut leaves, mut next) = (self.leaves.iter_mut(), 0);
        Ok(found.filter_map(move |(path, index)| {
            let leaf = leaves.nth(index - next)?; // the indices grow
            next = index + 1;
            Some((path, leaf))
        }))
    }

    /// For each leaf, whether `select` chooses it. No paths are built for a pattern, so the time does not
    /// depend on their lengths.
    ///
    /// # Errors
    ///
    /// As [`Choice`].
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("[Layer { w: [*; 2], b: * }; 2]".parse()?, vec![1, 2, 3, 4, 5, 6])?;
    /// let mut mask = tree.mask("**.w")?;
    /// assert_eq!(mask.leaves(), [true, true, false, true, true, false]);
    ///
    /// // Another pattern adds to the mask.
    /// mask.select_mut("[0].b")?.for_each(|(_, leaf)| *leaf = true);
    /// let (decayed, others) = tree.partition(&mask)?;
    /// assert_eq!(decayed.leaves().iter().flatten().count(), 5);
    /// assert_eq!(others.leaves().iter().flatten().count(), 1);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn mask(&self, select: impl Choice<L>) -> Result<Tree<bool>> {
        Ok(Tree::from_parts(self.treedef.clone(), self.chosen(select)?))
    }

    /// For each leaf, whether it is chosen.
    pub(super) fn chosen(&self, select: impl Choice<L>) -> Result<Vec<bool>> {
        match select.chosen(self)? {
            Chosen::Leaves(chosen) => Ok(chosen),
            Chosen::Named(pattern) => {
                self.treedef.expect_made(self.leaves.len(), self.leaves_in_memory())?;
                let mut chosen = vec![false; self.leaves.len()];
                let found = self.treedef.matches(pattern).leaf_ranges();
                found.for_each(|range| chosen[range].fill(true)); // of leaves of the structure
                Ok(chosen)
            }
        }
    }
}

impl<L: Clone> Tree<L> {
    /// The subtree at a path.
    ///
    /// # Errors
    ///
    /// Returns an error when the path leads nowhere.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&("a", vec![1, 2]))?;
    /// assert_eq!(tree.subtree(".1")?.to_string(), "[1, 2]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn subtree(&self, path: impl ToPath) -> Result<Tree<L>> {
        let node = self.treedef.node(path)?;
        Ok(self.subtree_with(node, node.to_treedef()))
    }

    /// The subtree at a node of the structure, which is equal to `treedef`.
    fn subtree_with(&self, node: NodeRef<'_>, treedef: TreeDef) -> Tree<L> {
        let leaves = self.leaves.get(node.leaf_range()).or_bug().to_vec();
        Tree::from_parts(treedef.with_limits(self.treedef.limits), leaves)
    }
}

/// # Split and join
impl<L> Tree<L> {
    /// Two trees of the same structure: one with the leaves that `first` chooses, one with the others. Each
    /// tree has a hole, `None`, for every leaf of the other.
    ///
    /// The idea is Equinox's `partition`. There, holes are `None` as well, but JAX treats `None` as a node, so
    /// a tree with a `None` of its own cannot be restored.
    ///
    /// # When to use which
    ///
    /// | you want | call | the result |
    /// |---|---|---|
    /// | to treat some leaves differently, and to put all back | [`partition`](Self::partition) | two trees of this structure, with holes; [`combine`](Self::combine) always restores the tree |
    /// | two values, to save or rebuild on their own | [`split`](Self::split) | two smaller trees without holes; [`merge`](Self::merge) restores the tree unless elements of a list were divided |
    /// | only some of the leaves | [`filter`](Self::filter) | one smaller tree; the other leaves are dropped |
    /// | to change some leaves in place | [`select_mut`](Self::select_mut) | no tree is divided |
    /// | more than two parts | [`split_into`](Self::split_into) | smaller trees without holes |
    ///
    /// # Errors
    ///
    /// As [`Choice`].
    ///
    /// ```
    /// use treedef::{Leaf, Tree};
    ///
    /// let tree = Tree::of(&(1.5, "a", 2.5))?;
    /// let (floats, others) = tree.clone().partition(|_: &_, leaf: &Leaf| leaf.kind().is_float())?;
    /// assert_eq!(floats.leaves()[1], None);
    /// assert_eq!(Tree::combine([floats, others])?, tree);
    /// assert_eq!(tree.partition(".1")?.1.leaves()[1], None);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_partition")]
    #[allow(clippy::type_complexity, reason = "two trees with holes")]
    pub fn partition(self, first: impl Choice<L>) -> Result<(Tree<Option<L>>, Tree<Option<L>>)> {
        let chosen = self.chosen(first)?;
        let split = |(leaf, yes)| if yes { (Some(leaf), None) } else { (None, Some(leaf)) };
        let (yes, no) = self.leaves.into_iter().zip(chosen).map(split).unzip();
        Ok((Tree::from_parts(self.treedef.clone(), yes), Tree::from_parts(self.treedef, no)))
    }
}

impl<L> Tree<Option<L>> {
    /// Combines the trees of a partition: exactly one of them must have each leaf.
    ///
    /// # Errors
    ///
    /// Returns an error when `parts` is empty; when two parts have different structures; when a
    /// leaf is in none of the parts or in two of them. The error has the path.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let part = |leaves| Tree::new("[*, *]".parse()?, leaves);
    /// let error =
    ///     Tree::combine([part(vec![Some(1), None])?, part(vec![Some(2), None])?]).unwrap_err();
    /// assert_eq!(error.to_string(), "two parts have this leaf at `[0]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn combine(parts: impl IntoIterator<Item = Tree<Option<L>>>) -> Result<Tree<L>> {
        let mut parts = parts.into_iter();
        let mut combined = parts.next().ok_or(Cause::Nothing("there are no parts to combine"))?;
        for part in parts {
            combined.treedef = unified(combined.treedef, &part.treedef)?;
            let pairs = combined.leaves.iter_mut().zip(part.leaves).enumerate();
            for (index, (leaf, other)) in pairs {
                if leaf.is_some() && other.is_some() {
                    let twice = Error::argument("two parts have this leaf");
                    return Err(combined.treedef.error_at_leaf(index, twice));
                }
                *leaf = leaf.take().or(other);
            }
        }
        let missing = combined.leaves.iter().position(Option::is_none);
        if let Some(index) = missing {
            let none = Error::argument("no part has this leaf");
            return Err(combined.treedef.error_at_leaf(index, none));
        }
        let leaves = combined.leaves.into_iter().flatten().collect();
        Ok(Tree::from_parts(combined.treedef, leaves))
    }
}

impl<L> Tree<L> {
    /// Keeps the leaves that `kept` chooses.
    ///
    /// A node that loses all its leaves is removed with its field or key. A node that never had
    /// leaves stays if its parent stays. Elements after a removed element move up. The root stays: if it
    /// loses all its leaves, a `Some` becomes `None`.
    ///
    /// # When to use which
    ///
    /// If you also need the other leaves, use [`split`](Self::split), which fails if one of the two parts
    /// is not a tree, e.g. if all leaves below a newtype are kept. If every leaf has to keep its place, use
    /// [`partition`](Self::partition), whose table compares the three.
    ///
    /// # Errors
    ///
    /// As [`Choice`]. Also when no leaf remains and the root is a leaf or a newtype; when there are
    /// more nodes than [`Limits::max_work`](crate::Limits::max_work) allows.
    ///
    /// ```
    /// use treedef::{Leaf, Tree};
    ///
    /// let tree = Tree::of(&(1, ["a", "b"], Some(2.5)))?;
    /// let numbers = tree.filter(|_: &_, leaf: &Leaf| leaf.kind().is_number())?;
    /// assert_eq!(numbers.to_string(), "(1, Some(2.5))");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn filter(self, kept: impl Choice<L>) -> Result<Tree<L>> {
        let stays = self.chosen(kept)?;
        let treedef = thinned(&self.treedef, &stays, self.leaves_in_memory())?;
        let leaves = self.leaves.into_iter().zip(stays);
        let kept = leaves.filter_map(|(leaf, stays)| stays.then_some(leaf)).collect();
        Ok(Tree::from_parts(treedef, kept))
    }

    /// Two trees without holes: the leaves that `first` chooses, and the others.
    ///
    /// [`merge`](Self::merge) puts them together again, perhaps with fields and entries in another
    /// order. It cannot if elements of a sequence or tuple were removed, if the root is a `Some`,
    /// or if a map has a key twice.
    ///
    /// # When to use which
    ///
    /// If you need only one part, use [`filter`](Self::filter). If leaves have to keep their places, or the
    /// elements of a sequence are divided, use [`partition`](Self::partition), whose table compares the
    /// three.
    ///
    /// # Errors
    ///
    /// As [`filter`](Self::filter), of both parts.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree =
    ///     Tree::new(r#"{"linear": {"b": *, "w": *}, "out": {"w": *}}"#.parse()?, vec![2, 1, 3])?;
    /// let (weights, others) = tree.clone().split("**.w")?;
    /// assert_eq!(weights.to_string(), r#"{"linear": {"w": 1}, "out": {"w": 3}}"#);
    /// assert_eq!(others.to_string(), r#"{"linear": {"b": 2}}"#);
    /// assert_eq!(Tree::merge([weights, others])?, tree);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn split(self, first: impl Choice<L>) -> Result<(Tree<L>, Tree<L>)> {
        let chosen = self.chosen(first)?;
        let part = |yes: bool| usize::from(!yes);
        let mut parts = self.parted(2, chosen.into_iter().map(part).collect())?.into_iter();
        match (parts.next(), parts.next()) {
            (Some(yes), Some(no)) => Ok((yes, no)),
            _ => Err(bug!("two parts are not two")),
        }
    }

    /// Splits the tree into `parts` trees; `part` returns the index of the tree for each leaf. With
    /// two parts it is [`split`](Self::split).
    ///
    /// # Errors
    ///
    /// As [`filter`](Self::filter). Also when `part` returns an index that is not less than
    /// `parts`; the error has the path. Also when visiting every node for each part exceeds
    /// [`Limits::max_work`](crate::Limits::max_work).
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new(r#"{"a": *, "b": {"c": *}, "d": *}"#.parse()?, vec![0, 1, 0])?;
    /// let parts = tree.split_into(3, |_, leaf| *leaf)?;
    /// let printed: Vec<String> = parts.iter().map(Tree::to_string).collect();
    /// assert_eq!(printed, [r#"{"a": 0, "d": 0}"#, r#"{"b": {"c": 1}}"#, "{}"]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn split_into(
        self,
        parts: usize,
        mut part: impl FnMut(&Path, &L) -> usize,
    ) -> Result<Vec<Tree<L>>> {
        self.expect_parts(parts)?;
        let mut chosen = Vec::with_capacity(self.leaves.len());
        for (path, leaf) in self.iter() {
            let number = part(&path, leaf);
            if number >= parts {
                let none = format_args!("there is no part {number} among {parts}");
                return Err(Error::argument(none).at(path));
            }
            chosen.push(number);
        }
        self.parted(parts, chosen)
    }

    /// Refuses too many parts: each part visits the whole structure, and may be a copy of it.
    fn expect_parts(&self, parts: usize) -> Result<()> {
        let looked_at = self.treedef.root().work().saturating_mul(parts);
        self.treedef.limits.expect_work(looked_at, self.leaves_in_memory())
    }

    /// The parts. `chosen` has the number of the part for each leaf.
    fn parted(self, parts: usize, chosen: Vec<usize>) -> Result<Vec<Tree<L>>> {
        self.expect_parts(parts)?;
        let there = self.leaves_in_memory();
        let mut leaves: Vec<Vec<L>> = (0..parts).map(|_| Vec::new()).collect();
        for (leaf, number) in self.leaves.into_iter().zip(&chosen) {
            leaves[*number].push(leaf); // less than `parts`, as checked before
        }
        let tree = |(number, leaves)| {
            let stays: Vec<bool> = chosen.iter().map(|chosen| *chosen == number).collect();
            Ok(Tree::from_parts(thinned(&self.treedef, &stays, there)?, leaves))
        };
        leaves.into_iter().enumerate().map(tree).collect()
    }

    /// Merges the fields and entries of all `parts` into one tree.
    ///
    /// Elements and positions are merged by index, so their number must be the same in all parts. Fields
    /// are in the order of their first occurrence. Entries are sorted by their keys, and their insertion
    /// order is also the order of their first occurrence.
    ///
    /// # When to use which
    ///
    /// `merge` puts parts together that have no leaf in common. [`patch`](Self::patch) applies changes,
    /// which may replace and remove leaves, and checks the old leaves. [`migrate`](Self::migrate) reads an
    /// older tree into a type; the type picks the parts that it knows and fills the rest with its defaults.
    ///
    /// # Errors
    ///
    /// Returns an error when `parts` is empty; when two parts have different nodes, or both a leaf,
    /// in one place. The error has the path.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let a = Tree::new(r#"{"l": {"w": *}}"#.parse()?, vec![1])?;
    /// let b = Tree::new(r#"{"l": {"b": *}, "m": *}"#.parse()?, vec![2, 3])?;
    /// let merged = Tree::merge([a.clone(), b])?;
    /// assert_eq!(merged.to_string(), r#"{"l": {"b": 2, "w": 1}, "m": 3}"#);
    ///
    /// let error = Tree::merge([a.clone(), a]).unwrap_err();
    /// assert_eq!(error.to_string(), r#"two parts have this leaf at `["l"]["w"]`"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn merge(parts: impl IntoIterator<Item = Tree<L>>) -> Result<Tree<L>> {
        let mut parts = parts.into_iter();
        let first = parts.next().ok_or(Cause::Nothing("there are no parts to merge"))?;
        parts.try_fold(first, merged)
    }
}

/// # Change the structure
///
/// ## When to use which
///
/// | | |
/// |---|---|
/// | one place, by its path | [`replace`](Tree::replace), [`remove`](Tree::remove); a new entry or element: [`insert`](Tree::insert) |
/// | the leaf there | `*tree.get_mut(path)? = leaf`; by a text: [`set_text`](Tree::set_text) |
/// | all places that a pattern matches | [`edit_at`](Tree::edit_at); a pattern that matches nothing is an error |
/// | the leaves there | [`select_mut`](Tree::select_mut); to keep or remove some of them: [`filter`](Tree::filter), [`split`](Tree::split) |
/// | the places that a function chooses | [`edit`](Tree::edit) from the root down, [`edit_up`](Tree::edit_up) from the leaves up |
///
/// A [`TreeDef`](crate::TreeDef) has `replace`, `edit` and `edit_up` as well, with the same meaning.
impl<L> Tree<L> {
    /// Replaces the subtree at `path` by `new`, and returns the old one.
    ///
    /// # Errors
    ///
    /// As [`TreeDef::replace`](crate::TreeDef::replace); the tree is then unchanged.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::of(&vec![(1, 2), (3, 4)])?;
    /// let old = tree.replace("[0].1", Tree::of(&[7, 8, 9])?)?;
    /// assert_eq!(tree.to_string(), "[(1, (7, 8, 9)), (3, 4)]");
    /// assert_eq!(old.to_string(), "2");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_at")]
    pub fn replace(&mut self, path: impl ToPath, new: Tree<L>) -> Result<Tree<L>> {
        let path = self.treedef.resolve(path)?;
        let replaced = self.treedef.replace(&path, &new.treedef)?;
        self.exchange(&path, replaced, new.leaves)
    }

    /// Sets the structure, in which the node at an existing path has other leaves. Returns the old subtree.
    fn exchange(&mut self, path: &Path, edited: TreeDef, new: Vec<L>) -> Result<Tree<L>> {
        let node = self.treedef.node(path)?;
        let (old, range) = (node.to_treedef(), node.leaf_range());
        let taken = self.leaves.splice(range, new).collect();
        self.treedef = edited;
        Ok(Tree::from_parts(old, taken))
    }

    /// Inserts a subtree into a map or a sequence, and returns the subtree that it replaces.
    ///
    /// In a map, an entry with the same key is replaced in its place. A new entry is sorted in by its key;
    /// if entries are in [insertion order](crate::MapOrder), as in a document, it is the last. Its key
    /// becomes like the others: beside `[1u8]`, the key `[3]` is `[3u8]`. In a sequence, the elements from
    /// the index on move up; the index may be the length.
    ///
    /// # Errors
    ///
    /// Returns an error when the path of the parent leads nowhere, when the parent is neither a map
    /// nor a sequence with a place for the key, or when the structures have different options. The
    /// tree is then unchanged.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new(r#"{"a": *, "c": [*, *]}"#.parse()?, vec![1, 3, 4])?;
    /// assert_eq!(tree.insert(r#"["b"]"#, Tree::leaf(2))?, None);
    /// tree.insert(r#"["c"][2]"#, Tree::leaf(5))?;
    /// assert_eq!(tree.to_string(), r#"{"a": 1, "b": 2, "c": [3, 4, 5]}"#);
    ///
    /// let old = tree.insert(".c", Tree::leaf(6))?;
    /// assert_eq!(old.map(|old| old.to_string()), Some("[3, 4, 5]".to_owned()));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn insert(&mut self, path: impl ToPath, new: Tree<L>) -> Result<Option<Tree<L>>> {
        insert::insert(self, &*path.to_path()?, new)
    }
}

impl Tree<Leaf> {
    /// Sets the leaf at a path to the value of a text, as on a command line: `server.port=443`.
    ///
    /// The text is parsed as the kind of the present leaf; a string is set to the text itself.
    /// Inside a `Some`, its content is set. A `None` becomes a `Some` of a bool, a number or a
    /// string, the first that the text parses as, because the tree does not know the type. For an
    /// `Option<String>` that should hold `443`, use [`replace`](Tree::replace). A variant without
    /// fields is replaced by the variant that the text names. Returns the old subtree.
    ///
    /// # Errors
    ///
    /// Returns an error when the path leads nowhere, when the text does not parse as the kind of
    /// the leaf, or when the node is a container. The tree is then unchanged.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::of(&(80u16, "localhost", None::<f32>))?;
    /// assert_eq!(tree.set_text(".0", "443")?.to_string(), "80u16");
    /// tree.set_text(".1", "example.org")?;
    /// tree.set_text(".2", "0.5")?;
    /// assert_eq!(
    ///     tree.clone().into_typed::<(u16, String, Option<f32>)>()?,
    ///     (443, "example.org".to_owned(), Some(0.5))
    /// );
    ///
    /// let error = tree.set_text(".0", "http").unwrap_err();
    /// assert_eq!(error.to_string(), "expected u16, found `http` at `.0`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn set_text(&mut self, path: impl ToPath, text: &str) -> Result<Tree<Leaf>> {
        insert::set_text(self, &*path.to_path()?, text)
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
                if node.is_leaf() {
                    leaves.push(old.next().ok_or_else(|| bug!("a leaf is missing"))?);
                }
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
        let Some(above) = path.parent() else { return Err(nothing_left()) };
        let parent = self.treedef.node(&above)?;
        let position = path.keys().last().and_then(|key| parent.position(key)).or_bug();
        let rebuilt = self.treedef.rebuilt(&above, |builder, parent| {
            insert_without(builder, parent, position).map_err(|error| error.at(above.clone()))
        })?;
        self.exchange(&path, rebuilt, Vec::new())
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
        let (mut leaves, mut done) = (Vec::with_capacity(rest.len()), 0);
        for Cut { path, node, new } in cuts {
            let range = node.leaf_range();
            leaves.extend(rest.by_ref().take(range.start - done)); // cuts are in order
            removed(path, node, rest.by_ref().take(range.len()));
            leaves.extend(new);
            done = range.end;
        }
        leaves.extend(rest);
        *self = Tree::from_parts(edited, leaves);
    }
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
                    let Some(tree) = inner.next() else { return Err(bug!("a leaf is missing")) };
                    walk.put(&tree.treedef)?;
                    leaves.extend(tree.leaves);
                }
                _ => walk.enter()?,
            }
        }
        Ok(Tree::from_parts(walk.finish()?, leaves))
    }
}

impl<L> Tree<L> {
    /// Turns a tree of the structure `outer` composed with `inner` into a tree of `inner` composed
    /// with `outer`: a list of structs becomes a struct of lists.
    ///
    /// The structures are compared, not only the numbers of leaves. If `inner` is not known, use
    /// [`TreeDef::inner_of`].
    ///
    /// # Errors
    ///
    /// Returns an error when the tree has another structure; the error has the path. Also when the result exceeds
    /// the limits of the tree.
    ///
    /// ```
    /// use treedef::{Tree, TreeDef};
    ///
    /// let points = Tree::of(&vec![(1, 2), (3, 4), (5, 6)])?;
    /// let outer: TreeDef = "[*, *, *]".parse()?;
    /// let inner = points.treedef().inner_of(&outer)?;
    /// assert_eq!(points.transpose(&outer, &inner)?.to_string(), "([1, 3, 5], [2, 4, 6])");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_transpose")]
    pub fn transpose(self, outer: &TreeDef, inner: &TreeDef) -> Result<Tree<L>> {
        expect_equal(&outer.compose(inner)?, &self.treedef)?;
        let treedef = inner.compose(outer)?.with_limits(self.treedef.limits());
        let treedef = with_options_of(treedef, &self.treedef)?.within_limits()?;
        if self.leaves.is_empty() {
            return Ok(Tree::from_parts(treedef, Vec::new())); // one of the two may have any number of leaves
        }
        let mut columns: Vec<Vec<L>> =
            (0..inner.num_leaves()).map(|_| Vec::with_capacity(outer.num_leaves())).collect();
        let mut column = (0..inner.num_leaves()).cycle();
        for leaf in self.leaves {
            // In bounds: the range, which repeats, is as long as `columns`.
            columns[column.next().or_bug()].push(leaf);
        }
        Ok(Tree::from_parts(treedef, columns.into_iter().flatten().collect()))
    }

    /// One tree whose leaves are vectors: each has the leaves of all `trees` at that place. Its
    /// [`map`](Self::map) applies a function to many trees at once.
    ///
    /// # Errors
    ///
    /// Returns an error when `trees` is empty, because then the structure is not known; when two
    /// trees have different structures.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let batch = [(1, 10), (2, 20), (3, 30)].map(|sample| Tree::of(&sample));
    /// let stacked = Tree::stack(batch.into_iter().collect::<Result<Vec<_>, _>>()?)?;
    /// assert_eq!(stacked.treedef().to_string(), "(*, *)");
    /// assert_eq!(stacked.leaves()[1].len(), 3);
    /// assert_eq!(stacked.clone().unstack()?[2], Tree::of(&(3, 30))?);
    ///
    /// let sizes = stacked.map(|column| column.len());
    /// assert_eq!(sizes.leaves(), [3, 3]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn stack(trees: impl IntoIterator<Item = Tree<L>>) -> Result<Tree<Vec<L>>> {
        let mut treedef: Option<TreeDef> = None;
        let mut rows = Vec::new();
        for (index, tree) in trees.into_iter().enumerate() {
            treedef = Some(match treedef {
                Some(first) => {
                    unified(first, &tree.treedef).map_err(|error| error.in_tree(index))?
                }
                None => tree.treedef,
            });
            rows.push(tree.leaves.into_iter());
        }
        let treedef = treedef.ok_or(Cause::Nothing("there are no trees to stack"))?;
        let columns = (0..treedef.num_leaves()).map(|_| {
            let mut column = Vec::with_capacity(rows.len());
            column.extend(rows.iter_mut().filter_map(Iterator::next));
            column
        });
        let leaves = columns.collect();
        Ok(Tree::from_parts(treedef, leaves))
    }
}

impl<L> Tree<Vec<L>> {
    /// Undoes [`stack`](Self::stack): a tree whose leaves are vectors of `n` elements becomes `n` trees.
    ///
    /// # Errors
    ///
    /// Returns an error when two leaves have different numbers of elements, with the path;
    /// when there is no leaf, because then the number of trees is not known; when there are more
    /// elements of a zero-sized type than [`Limits::max_work`](crate::Limits::max_work) allows.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let points = Tree::new("(*, *)".parse()?, vec![vec![1, 2, 3], vec![10, 20, 30]])?.unstack()?;
    /// assert_eq!(points.len(), 3);
    /// assert_eq!(points[2].to_string(), "(3, 30)");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn unstack(self) -> Result<Vec<Tree<L>>> {
        let first = self.leaves.first().map(Vec::len);
        let count = first.ok_or(Cause::Nothing("without leaves there is nothing to unstack"))?;
        let other = self.leaves.iter().position(|column| column.len() != count);
        if let Some(index) = other {
            let found = self.leaves.get(index).map_or(0, Vec::len);
            let expected = counted(count, "element", "elements");
            let said = format!("expected {expected} as in the first leaf, found {found}");
            return Err(self.treedef.error_at_leaf(index, Error::argument(said)));
        }
        let width = self.leaves.len();
        let in_memory = self.leaves.iter().map(|column| in_memory(column)).sum();
        self.treedef.limits.expect_work(count, in_memory)?;
        let mut columns: Vec<_> = self.leaves.into_iter().map(Vec::into_iter).collect();
        let rows = (0..count).map(|_| {
            let mut row = Vec::with_capacity(width);
            row.extend(columns.iter_mut().filter_map(Iterator::next));
            Tree::from_parts(self.treedef.clone(), row)
        });
        Ok(rows.collect())
    }
}

/// # Vectors
impl Tree<Leaf> {
    /// All numbers as `f64`, and a `Ravel` that turns them back into a tree. A `bool` becomes 0 or
    /// 1.
    ///
    /// # When to use which
    ///
    /// If you want only the floats, use [`Flattener::leaves_where`](crate::Flattener::leaves_where) and
    /// [`flatten_as`](crate::Flattener::flatten_as), which keep integers in the structure. `ravel` includes
    /// integers and `bool`s, and `unravel` gives each number its kind again.
    ///
    /// # Errors
    ///
    /// Returns an error when a leaf is not a number, or an `f64` cannot hold it exactly; the error
    /// has its path.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&(1u8, [0.5f32, 1.5], true))?;
    /// let (mut vector, ravel) = tree.ravel()?;
    /// assert_eq!(vector, [1.0, 0.5, 1.5, 1.0]);
    ///
    /// vector[1] = 0.25;
    /// assert_eq!(
    ///     ravel.unravel(&vector)?.into_typed::<(u8, [f32; 2], bool)>()?,
    ///     (1, [0.25, 1.5], true)
    /// );
    ///
    /// vector[0] = 0.5;
    /// assert_eq!(
    ///     ravel.unravel(&vector).unwrap_err().to_string(),
    ///     "0.5 does not fit into u8 at `.0`"
    /// );
    ///
    /// let error = Tree::of(&[9007199254740993i64])?.ravel().unwrap_err();
    /// assert_eq!(error.to_string(), "9007199254740993i64 does not fit into f64 at `.0`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "ravel_pytree")]
    pub fn ravel(&self) -> Result<(Vec<f64>, Ravel)> {
        Ravel::of(self)
    }
}

impl<L> Tree<L> {
    /// Lists each distinct leaf once, with the places where it occurs. Leaves are equal if `key` returns equal
    /// values for them: a leaf itself, a part of it, or its address.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let wanted = Tree::new("{\"loss\": *, \"both\": (*, *)}".parse()?, vec!["x", "y", "x"])?;
    /// let unique = wanted.unique_by(|name| *name);
    /// assert_eq!(unique.leaves, ["x", "y"]);
    ///
    /// // The results for the two distinct leaves go to the places of all three.
    /// let found = unique.rebuild(&[1.5, 2.5])?;
    /// assert_eq!(found.leaves(), [1.5, 2.5, 1.5]);
    ///
    /// let tree = Tree::new("[*, *, *]".parse()?, vec![0.5, -0.5, 2.0])?;
    /// assert_eq!(tree.unique_by(|leaf: &f64| leaf.abs().to_bits()).leaves, [0.5, 2.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn unique_by<K: Eq + Hash>(self, mut key: impl FnMut(&L) -> K) -> Unique<L> {
        let (mut leaves, mut numbers) = (Vec::new(), HashMap::new());
        let index = self.map(|leaf| {
            *numbers.entry(key(&leaf)).or_insert_with(|| {
                leaves.push(leaf);
                leaves.len() - 1
            })
        });
        Unique { leaves, inverse: index }
    }
}

/// # Compare
impl Tree<Leaf> {
    /// Checks that the structures are equal and the leaves close. Numbers may be of different
    /// kinds, also in arrays; all other leaves must be equal.
    ///
    /// # When to use which
    ///
    /// In a test, `unwrap` prints all differences. To compare only structures, use
    /// [`TreeDef::check_equal`](crate::TreeDef::check_equal) or
    /// [`check_equivalent`](crate::TreeDef::check_equivalent); to compare leaves by kind and bits,
    /// use `==`, and [`diff`](Self::diff) to see where they differ.
    ///
    /// # Errors
    ///
    /// Returns an error when the trees differ; the error has all differences between the leaves.
    ///
    /// ```
    /// use treedef::{Tolerance, Tree};
    ///
    /// let (found, expected) = (Tree::of(&(1.0f32, 2, "a"))?, Tree::of(&(1.001f64, 2.0, "a"))?);
    /// let hundredth = Tolerance { atol: 0.01, ..Tolerance::default() };
    /// assert!(found.check_close(&expected, hundredth).is_ok());
    ///
    /// let error = found.check_close(&expected, Tolerance::default()).unwrap_err();
    /// assert_eq!(error.to_string(), "expected 1.001, found 1.0f32 at `.0`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "assert_tree_close")]
    #[doc(alias = "assert_trees_all_close")]
    pub fn check_close(&self, expected: &Tree<Leaf>, tolerance: Tolerance) -> Result<()> {
        check_close::check_close(self, expected, tolerance)
    }
}
