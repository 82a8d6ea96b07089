//! Prefixes of structures.

use crate::error::Result;
use crate::model::TreeDef;
use crate::treedef::difference::mismatch_at;
use crate::treedef::node_ref::Overlap;
use crate::treedef::walk::{PairEvent, PairWalk};

use super::pairs::{Statics, expect_agreement, in_same_order, is_prefix, options_fit, same_head};
use super::parts::PartsBuilder;

impl TreeDef {
    /// Whether `full` is this structure with leaves replaced by subtrees.
    ///
    /// This is a partial order. A leaf is a prefix of everything. If two structures are prefixes of
    /// each other, they are equal. `None` is a node, so it is a prefix only of `None`. Both must
    /// have equal options, unless this structure has default ones and no map, `None` or `Some`.
    ///
    /// Operations that need a prefix, such as [`broadcast_to`](crate::Tree::broadcast_to), are more
    /// lenient: options may differ unless both structures have a node that depends on them.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let full: TreeDef = "[(*, *), {\"a\": *}]".parse()?;
    /// assert!("[*, {\"a\": *}]".parse::<TreeDef>()?.is_prefix_of(&full));
    /// assert!("*".parse::<TreeDef>()?.is_prefix_of(&full));
    /// assert!(!"[*]".parse::<TreeDef>()?.is_prefix_of(&full));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "treedef_is_prefix")]
    pub fn is_prefix_of(&self, full: &TreeDef) -> bool {
        options_fit(self, full) && is_prefix(self.root(), full.root(), Statics::Compared)
    }

    /// The smallest structure that has both as prefixes. Where one has a leaf, the result has the
    /// subtree of the other. The entries of a map that both have keep the order of this one.
    ///
    /// # Errors
    ///
    /// Returns an error with the path if the two differ at a node where neither has a leaf.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let left: TreeDef = "[(*, *), *]".parse()?;
    /// let right: TreeDef = "[*, [*, *, *]]".parse()?;
    /// assert_eq!(left.common_suffix(&right)?.to_string(), "[(*, *), [*, *, *]]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_broadcast_common")]
    pub fn common_suffix(&self, other: &TreeDef) -> Result<TreeDef> {
        expect_agreement(self, other)?;
        let mut builder = PartsBuilder::default();
        builder.set_limits(self.limits.max(other.limits));
        builder.unify_options(self)?;
        builder.unify_options(other)?;
        let mut walk = PairWalk::new(self.root(), other.root(), |_, a, b| in_same_order(a, b));
        while let Some(event) = walk.next() {
            match event {
                PairEvent::Enter(Overlap { a, b, count, .. }) if a.is_leaf() || b.is_leaf() => {
                    builder.insert(if a.is_leaf() { b } else { a }, count)?;
                    walk.skip();
                }
                PairEvent::Enter(Overlap { a, b, count, .. }) if same_head(a, b) => {
                    builder.open(a, count)?;
                }
                PairEvent::Enter(Overlap { a, b, .. }) => {
                    return Err(mismatch_at(walk.path(), a, b));
                }
                PairEvent::Leave(..) => builder.close()?,
            }
        }
        builder.finish()
    }
}
