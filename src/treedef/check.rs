//! Refusing another structure.

use crate::error::Result;
use crate::model::TreeDef;
use crate::treedef::difference::{expect_none, loose_differences, options_mismatch};
use crate::treedef::pairs::expect_equal;

impl TreeDef {
    /// Refuses another structure.
    ///
    /// # Errors
    ///
    /// When the two differ; the error has all differences.
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

    /// Refuses a structure that differs by more than the kinds of containers and the names of types: a sequence may be a
    /// tuple, a map with strings for keys a struct, fields stand in any order. `Some`, newtypes and variants are what
    /// they are.
    ///
    /// # Errors
    ///
    /// When the two differ by more; the error has all differences.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let (point, dict): (TreeDef, TreeDef) = ("P { x: *, y: [*] }".parse()?, r#"{"y": (*,), "x": *}"#.parse()?);
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
