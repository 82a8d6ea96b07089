//! Ways to choose leaves: a pattern, a function or a mask.

use crate::argument::ToPattern;
use crate::error::Result;
use crate::model::{Tree, TreeDef};
use crate::path::Path;
use crate::pattern::Pattern;
use crate::treedef::pairs::{Statics, expect_prefix, leaf_steps};

/// An argument that chooses leaves of a tree:
///
/// | | chooses |
/// |---|---|
/// | a pattern: its text, a [`Pattern`] or a [`Path`] | the leaves at and below the nodes that it matches |
/// | a function of path and leaf | the leaves for which it returns `true` |
/// | a mask, `&Tree<bool>` | the leaves where it is `true`. It is a prefix: a leaf of the mask applies to the whole subtree in its place, and a static of it stands for any static |
///
/// A closure has to state the type of a leaf, as in `|_: &_, leaf: &f64| *leaf > 0.0`.
///
/// # Errors
///
/// A function with a `Choice` returns an error when a text is not a pattern; when a pattern, or one of the
/// names in its braces, matches no node of the tree; when a mask is not a prefix of the tree, with the path
/// where they differ. A function may choose no leaf.
///
/// ```
/// use treedef::Tree;
///
/// let tree = Tree::new("Layer { w: [*, *], b: * }".parse()?, vec![1, 2, 3])?;
/// let odd = |_: &_, leaf: &i32| leaf % 2 == 1;
/// let mask = Tree::new("Layer { w: *, b: * }".parse()?, vec![true, false])?;
/// assert_eq!(tree.clone().filter(odd)?.to_string(), "Layer { w: [1], b: 3 }");
/// assert_eq!(tree.clone().filter("b")?.to_string(), "Layer { b: 3 }");
/// assert_eq!(tree.filter(&mask)?.to_string(), "Layer { w: [1, 2] }");
/// # Ok::<(), treedef::Error>(())
/// ```
pub trait Choice<L> {
    #[doc(hidden)]
    fn chosen(self, tree: &Tree<L>) -> Result<Chosen>;
}

/// The leaves that a [`Choice`] chooses. Code outside of the crate cannot name it, and so cannot
/// implement the trait.
#[derive(Debug)]
pub enum Chosen {
    /// The leaves at and below the nodes that the pattern matches. There is at least one such node.
    Named(Pattern),
    /// For each leaf of the tree, whether it is chosen.
    Leaves(Vec<bool>),
}

impl Chosen {
    /// The chosen leaves of a structure, with their paths and indices.
    pub(super) fn leaves_of(self, treedef: &TreeDef) -> impl Iterator<Item = (Path, usize)> {
        let (pattern, leaves) = match self {
            Chosen::Named(pattern) => (Some(pattern), Vec::new()),
            Chosen::Leaves(leaves) => (None, leaves),
        };
        let named = pattern.into_iter().flat_map(|pattern| treedef.matches(pattern).leaves());
        let paths = treedef.leaf_paths().zip(0..).zip(leaves);
        named.chain(paths.filter_map(|(leaf, is_chosen)| is_chosen.then_some(leaf)))
    }
}

impl<L, F: FnMut(&Path, &L) -> bool> Choice<L> for F {
    fn chosen(mut self, tree: &Tree<L>) -> Result<Chosen> {
        Ok(Chosen::Leaves(tree.iter().map(|(path, leaf)| self(&path, leaf)).collect()))
    }
}

impl<L> Choice<L> for &Tree<bool> {
    fn chosen(self, tree: &Tree<L>) -> Result<Chosen> {
        expect_prefix(&self.treedef, &tree.treedef, Statics::Any)?;
        tree.treedef.expect_made(tree.leaves.len(), tree.leaves_in_memory())?;
        let steps = leaf_steps(self.treedef.root(), tree.treedef.root());
        let mut chosen = Vec::with_capacity(tree.leaves.len());
        for ((_, subtree), yes) in steps.zip(&self.leaves) {
            chosen.resize(chosen.len() + subtree.num_leaves(), *yes);
        }
        Ok(Chosen::Leaves(chosen))
    }
}

/// A generic implementation would overlap with the one for functions.
macro_rules! patterns {
    ($($pattern:ty),*) => {$(
        impl<L> Choice<L> for $pattern {
            fn chosen(self, tree: &Tree<L>) -> Result<Chosen> {
                let pattern = self.to_pattern()?.into_owned();
                tree.treedef.expect_match(&pattern)?;
                Ok(Chosen::Named(pattern))
            }
        }
    )*};
}

patterns!(&str, String, &String, Pattern, &Pattern, Path, &Path);
