//! Trees and signatures as text: printing and parsing.

use std::fmt;
use std::str::FromStr;

use crate::bug::OrBug;
use crate::error::{Error, Result};
use crate::model::{LeafKind, Limits, Tree, TreeDef};
use crate::positions::distinct_positions;
use crate::text::{KindsAndShapes, LeafTexts, write_tree};

/// Prints the structure with the leaves in their places. Siblings are equal if they print the same.
///
/// ```
/// use treedef::Tree;
///
/// let tree = Tree::new("Model { w: [*; 9], b: (*, *) }".parse()?, vec!["up"; 11])?;
/// assert_eq!(tree.to_string(), "Model { w: [up; 9], b: (up, up) }");
/// assert_eq!(format!("{tree:#24}"), "Model {\n  w: [up; 9],\n  b: (up, up),\n}");
/// # Ok::<(), treedef::Error>(())
/// ```
impl<L: fmt::Display> fmt::Display for Tree<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tree(f, &self.treedef, &LeafTexts::of(&self.leaves)?)
    }
}

impl<L: fmt::Debug> fmt::Debug for Tree<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("treedef", &self.treedef)
            .field("leaves", &self.leaves)
            .finish()
    }
}

/// A signature whose arrays print with their shapes.
pub(super) struct WithShapes<'a>(pub(super) &'a Tree<LeafKind>);

impl fmt::Display for WithShapes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tree(f, &self.0.treedef, &KindsAndShapes(&self.0.leaves))
    }
}

impl fmt::Debug for WithShapes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WithShapes({self})")
    }
}

impl FromStr for Tree<LeafKind> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse_with(text, Limits::default())
    }
}

/// A sequence with one element of each form, in the order of their texts.
pub(super) fn each_form_once<L: fmt::Display + Clone + Ord>(sequence: &Tree<L>) -> Result<Tree<L>> {
    let mut forms: Vec<(String, Tree<L>)> = Vec::new();
    let mut rest = sequence.leaves();
    let limits = sequence.treedef.limits;
    for (element, count) in sequence.treedef.root().runs() {
        let (run, after) = rest.split_at_checked(element.num_leaves() * count).or_bug();
        rest = after;
        let parts: Vec<&[L]> = match element.num_leaves() {
            0 => vec![&[]],
            leaves => run.chunks(leaves).collect(),
        };
        for at in distinct_positions(parts.len(), &mut |a, b| parts[a].cmp(parts[b])) {
            let treedef = element.to_treedef().with_limits(limits);
            let form = Tree::from_parts(treedef, parts[at].to_vec());
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
