//! The form of a structure that does not depend on the lengths of its sequences.

use std::fmt::Display;

use crate::error::Result;
use crate::model::{NodeKind, TreeDef};
use crate::positions::distinct_positions;
use crate::treedef::edit::Edit;

use super::print::WithoutLengths;

impl TreeDef {
    /// The text without the lengths of sequences. `_` stands for the number of elements.
    ///
    /// Elements of several forms are listed once each, in the order of their texts. The number of
    /// elements of a tuple or an array is part of its type and is printed, and so are the keys of a
    /// map. An empty sequence prints as `[]`. The text does not parse back. With `{:#}` it has
    /// several lines, like the text of a treedef.
    ///
    /// # Errors
    ///
    /// Never fails for a structure within its limits: the result is not larger.
    ///
    /// ```
    /// let shapes = |sizes: &[usize]| -> treedef::Result<String> {
    ///     let rows: Vec<(&str, Vec<u8>, [f32; 9])> =
    ///         sizes.iter().map(|n| ("row", vec![0; *n], [0.0; 9])).collect();
    ///     Ok(treedef::structure(&rows)?.without_lengths()?.to_string())
    /// };
    /// assert_eq!(shapes(&[3])?, "[(*, [*; _], (*; 9)); _]");
    /// assert_eq!(shapes(&[1, 2, 3, 2])?, "[(*, [*; _], (*; 9)); _]");
    /// assert_eq!(shapes(&[2, 0])?, "[(*, [*; _], (*; 9)); _, (*, [], (*; 9)); _]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn without_lengths(&self) -> Result<impl Display + use<>> {
        let once = self.edit_up(|node| match node.root().kind() {
            NodeKind::Seq if node.root().num_children() > 1 => {
                let forms = node.root().runs().map(|(element, _)| {
                    let form = element.to_treedef().with_limits(self.limits);
                    (form.to_string(), form)
                });
                let forms: Vec<(String, TreeDef)> = forms.collect();
                let once = distinct_positions(forms.len(), &mut |a, b| forms[a].0.cmp(&forms[b].0));
                Ok(Edit::Replace(TreeDef::seq(once.into_iter().map(|at| forms[at].1.clone()))?))
            }
            _ => Ok(Edit::Keep),
        })?;
        Ok(WithoutLengths(once))
    }
}
