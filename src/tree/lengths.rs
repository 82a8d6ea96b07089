//! The form of a signature that does not depend on the lengths of its sequences.

use std::fmt::Display;

use crate::bug::OrBug;
use crate::error::Result;
use crate::model::{LeafKind, NodeKind, Tree, TreeDef};
use crate::positions::distinct_positions;
use crate::text::WithoutLengths;
use crate::treedef::edit::Edit;

impl Tree<LeafKind> {
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
    pub fn without_lengths(&self) -> Result<impl Display + use<>> {
        let once = self.clone().edit_up(|_, node| match node.treedef.root().kind() {
            NodeKind::Seq if node.treedef.root().num_children() > 1 => {
                Ok(Edit::Replace(each_form_once(node)?))
            }
            _ => Ok(Edit::Keep),
        })?;
        Ok(WithoutLengths(once))
    }
}

/// A sequence with one element of each form, in the order of their texts.
fn each_form_once(sequence: &Tree<LeafKind>) -> Result<Tree<LeafKind>> {
    let mut forms: Vec<(String, Tree<LeafKind>)> = Vec::new();
    let mut rest = sequence.leaves();
    let limits = sequence.treedef.limits;
    for (element, count) in sequence.treedef.root().runs() {
        let (run, after) = rest.split_at_checked(element.num_leaves() * count).or_bug();
        rest = after;
        let kinds: Vec<&[LeafKind]> = match element.num_leaves() {
            0 => vec![&[]],
            leaves => run.chunks(leaves).collect(),
        };
        for at in distinct_positions(kinds.len(), &mut |a, b| kinds[a].cmp(kinds[b])) {
            let treedef = element.to_treedef().with_limits(limits);
            let form = Tree::from_parts(treedef, kinds[at].to_vec());
            forms.push((form.to_string(), form));
        }
    }
    let once = distinct_positions(forms.len(), &mut |a, b| forms[a].0.cmp(&forms[b].0));
    let (mut treedefs, mut leaves) = (Vec::new(), Vec::new());
    for at in once {
        let (_, form) = &forms[at];
        treedefs.push(form.treedef.clone());
        leaves.extend_from_slice(&form.leaves);
    }
    Ok(Tree::from_parts(TreeDef::seq(treedefs)?, leaves))
}
