//! Assertions for tests: two values have the same structure, equal leaves, or close leaves.
//!
//! Each assertion panics with a list of the differences and their paths. To get an error instead,
//! use [`TreeDef::check_equal`](crate::TreeDef::check_equal),
//! [`TreeDef::check_equivalent`](crate::TreeDef::check_equivalent) or [`Tree::check_close`].
#![allow(clippy::panic, reason = "an assertion of a test that fails")]

use serde::Serialize;

use crate::error::{Difference, Error, Result};
use crate::model::{Leaf, Tree};
use crate::tree::Tolerance;
use crate::tree::shape::Shape;

/// Asserts that two values have the same structure, with the kinds of containers and all names.
///
/// The kinds of leaves are not part of a structure: `1u8` and `2.5` pass. Compare
/// [signatures](crate::signature) where they matter. A [`TreeDef`](crate::TreeDef) or a [`Tree`] in
/// place of a value has its own structure, with rules and statics.
///
/// # Panics
///
/// When the structures differ; the message lists the first differences.
///
/// ```
/// treedef::assert_same_structure(&[(1, "a")], &[(2, "b")]);
///
/// let expected = treedef::structure(&[(1, "a")])?;
/// treedef::assert_same_structure(&[(2, "b")], &expected);
///
/// assert_eq!(treedef::signature(&[1u8])?, treedef::signature(&[2u8])?);
/// # Ok::<(), treedef::Error>(())
/// ```
#[track_caller]
pub fn assert_same_structure<A, B>(found: &A, expected: &B)
where
    A: Serialize + ?Sized,
    B: Serialize + ?Sized,
{
    let check = || Shape::structure_of(found)?.check_equal(&Shape::structure_of(expected)?);
    report("the structures differ", check());
}

/// Asserts that two values have equivalent structures: names of types and kinds of containers may
/// differ.
///
/// For example, a sequence may be a tuple, and a map with string keys may be a struct. `Some`,
/// newtypes and variants must be the same.
///
/// # Panics
///
/// When the structures are not equivalent; the message lists the first differences.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct Point {
///     x: f64,
///     y: Vec<f64>,
/// }
///
/// let json = serde_json::json!({"y": [1, 2], "x": 0});
/// treedef::assert_equivalent_structure(&json, &Point { x: 0.5, y: vec![1.5, 2.5] });
/// ```
#[track_caller]
pub fn assert_equivalent_structure<A, B>(found: &A, expected: &B)
where
    A: Serialize + ?Sized,
    B: Serialize + ?Sized,
{
    let check = || {
        let expected = Shape::structure_of(expected)?;
        Shape::structure_of(found)?.check_equivalent(&expected)
    };
    report("the structures differ", check());
}

/// Asserts that all leaves of two values are equal: that they have the same structure, and leaves of the
/// same kinds and bits.
///
/// # Panics
///
/// When the values differ; the message lists the first differences.
///
/// ```should_panic
/// treedef::assert_all_equal(&[1.0, f64::NAN], &[1.0, 2.0]); // not equal at `.1`
/// ```
///
/// More than two are compared one after the other:
///
/// ```
/// let replicas = [vec![0.5, 1.5], vec![0.5, 1.5], vec![0.5, 1.5]];
/// for other in &replicas[1..] {
///     treedef::assert_all_equal(other, &replicas[0]);
/// }
/// ```
#[doc(alias = "assert_tree_eq")]
#[doc(alias = "assert_trees_all_equal")]
#[track_caller]
pub fn assert_all_equal<A, B>(found: &A, expected: &B)
where
    A: Serialize + ?Sized,
    B: Serialize + ?Sized,
{
    let check = || tree_of(found)?.check_same(&tree_of(expected)?);
    report("the trees differ", check());
}

/// Asserts that all leaves of two values are close: that they have the same structure, and numbers
/// within a tolerance.
///
/// # Panics
///
/// When the structures differ or leaves are not close; the message lists the first differences.
///
/// ```
/// use treedef::Tolerance;
///
/// treedef::assert_all_close(&[0.1 + 0.2, 1.0], &[0.3, 1.0], Tolerance::new().ulps(1));
/// ```
#[doc(alias = "assert_tree_close")]
#[doc(alias = "assert_trees_all_close")]
#[track_caller]
pub fn assert_all_close<A, B>(found: &A, expected: &B, tolerance: Tolerance)
where
    A: Serialize + ?Sized,
    B: Serialize + ?Sized,
{
    let check = || tree_of(found)?.check_close(&tree_of(expected)?, tolerance);
    report("the trees are not close", check());
}

/// The leaves that an assertion compares, with their structure.
fn tree_of<T: Serialize + ?Sized>(value: &T) -> Result<Tree<Leaf>> {
    match Shape::of(value)? {
        Shape::Tree(tree) => Ok(tree),
        Shape::Structure(_) => Err(Error::argument("a treedef has no leaves")
            .with_hint("see `assert_same_structure`, or compare two with `assert_eq!`")),
    }
}

/// The most differences that a message lists.
const SHOWN_DIFFERENCES: usize = 20;

#[track_caller]
fn report(what: &str, checked: Result<()>) {
    let Err(error) = checked else { return };
    let differences = error.differences();
    if differences.is_empty() {
        failed("the values cannot be compared", &format!(" {error}"));
    }
    let line = |Difference { path, expected, found, .. }: &Difference| {
        let path = if path.is_root() { "the root".to_owned() } else { format!("`{path}`") };
        format!("\n  {path}: expected {expected}, found {found}")
    };
    let lines: String = differences.iter().take(SHOWN_DIFFERENCES).map(line).collect();
    let rest = match differences.len().saturating_sub(SHOWN_DIFFERENCES) {
        0 => String::new(),
        rest => format!("\n  … and {rest} more"),
    };
    failed(what, &format!("{lines}{rest}"));
}

#[track_caller]
fn failed(what: &str, why: &str) {
    panic!("{what}:{why}");
}
