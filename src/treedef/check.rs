//! Checks that two structures are equal or equivalent.

use crate::error::{Cause, Result};
use crate::model::TreeDef;
use crate::treedef::difference::{expect_none, loose_differences};
use crate::treedef::options::options_mismatch;
use crate::treedef::pairs::expect_equal;

impl TreeDef {
    /// Checks that there are as many leaves as the structure has.
    pub(crate) fn expect_leaves(&self, found: usize) -> Result<()> {
        let expected = self.num_leaves();
        if expected == found { Ok(()) } else { Err(Cause::LeafCount { expected, found }.into()) }
    }

    /// Checks that this structure equals `expected`.
    ///
    /// # Errors
    ///
    /// Returns an error when the two differ. The error lists at most 4,096 differences. Equal
    /// siblings that differ in the same way are listed once.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let (expected, found): (TreeDef, TreeDef) = ("[*, (*, *)]".parse()?, "[*, [*, *]]".parse()?);
    /// let error = found.check_equal(&expected).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `(*, *)`, found `[*, *]` at `[1]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn check_equal(&self, expected: &TreeDef) -> Result<()> {
        if self == expected {
            return Ok(());
        }
        expect_equal(expected, self)?;
        Err(options_mismatch(expected.encoding.options, self.encoding.options))
    }

    /// Checks that this structure equals `expected`, apart from container kinds and type names.
    ///
    /// A sequence may be a tuple, a map with string keys may be a struct, and fields may be in any
    /// order. `Some`, newtypes and variants must match.
    ///
    /// # Errors
    ///
    /// Returns an error when the two differ in anything else. It lists at most 4,096 differences.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let (point, dict): (TreeDef, TreeDef) =
    ///     ("P { x: *, y: [*] }".parse()?, r#"{"y": (*,), "x": *}"#.parse()?);
    /// assert!(dict.check_equivalent(&point).is_ok());
    ///
    /// let error = TreeDef::check_equivalent(&r#"{"y": (*,)}"#.parse()?, &point).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `*`, found nothing at `.x`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn check_equivalent(&self, expected: &TreeDef) -> Result<()> {
        expect_none(loose_differences(expected, self))
    }
}
