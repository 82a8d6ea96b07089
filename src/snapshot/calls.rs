//! The functions that the macros call. They are public only for the macros.

#![allow(missing_docs, reason = "the names say what the texts are of")]

use std::fmt::Display;

use insta::internals::SettingsBindDropGuard;
use insta::{Comparator, Settings, Snapshot};
use serde::Serialize;

use crate::diff::Diff;
use crate::error::{Error, Result};
use crate::model::{LeafKind, Tree};
use crate::text::{parse_signature_without_lengths, parse_structure_without_lengths};
use crate::tree::shape::Shape;

#[track_caller]
pub fn structure(value: &(impl Serialize + ?Sized)) -> String {
    pretty(Shape::structure_of(value))
}

#[track_caller]
pub fn structure_without_lengths(value: &(impl Serialize + ?Sized)) -> String {
    pretty(Shape::structure_of(value).and_then(|treedef| treedef.without_lengths()))
}

#[track_caller]
pub fn signature(value: &(impl Serialize + ?Sized)) -> String {
    pretty(signature_of(value))
}

#[track_caller]
pub fn signature_without_lengths(value: &(impl Serialize + ?Sized)) -> String {
    pretty(signature_of(value).and_then(|signature| signature.without_lengths()))
}

fn signature_of<T: Serialize + ?Sized>(value: &T) -> Result<Tree<LeafKind>> {
    match Shape::of(value)? {
        Shape::Tree(tree) => Ok(tree.map(|leaf| leaf.kind())),
        Shape::Structure(_) => Err(Error::argument("a treedef has no kinds of leaves")
            .with_hint("see `assert_structure_snapshot`")),
    }
}

#[track_caller]
#[allow(clippy::panic, reason = "an assertion for tests")]
fn pretty<T: std::fmt::Display>(shape: Result<T>) -> String {
    match shape {
        Ok(shape) => format!("{shape:#}"),
        Err(error) => panic!("{error}"),
    }
}

/// Until the result is dropped, a snapshot that differs prints our diff.
pub fn shows_changes() -> SettingsBindDropGuard {
    let mut settings = Settings::clone_current();
    settings.set_comparator(Box::new(ShowsChanges(settings.comparator().dyn_clone())));
    settings.bind_to_scope()
}

/// Compares like another comparator. insta has no hook for a failure, but a comparator sees both
/// texts.
struct ShowsChanges(Box<dyn Comparator>);

impl Comparator for ShowsChanges {
    fn matches(&self, old: &Snapshot, new: &Snapshot) -> bool {
        let same = self.0.matches(old, new);
        if !same {
            print_changes(old, new);
        }
        same
    }

    fn matches_fully(&self, old: &Snapshot, new: &Snapshot) -> bool {
        let same = self.0.matches_fully(old, new);
        if !same {
            print_changes(old, new);
        }
        same
    }

    fn dyn_clone(&self) -> Box<dyn Comparator> {
        Box::new(ShowsChanges(self.0.dyn_clone()))
    }
}

fn print_changes(old: &Snapshot, new: &Snapshot) {
    let text = |snapshot: &Snapshot| snapshot.as_text().map(ToString::to_string);
    // The old text may be empty, or of another kind of snapshot: then only insta's diff is printed.
    if let (Some(old), Some(new)) = (text(old), text(new))
        && old != new
        && let Ok(changes) = changes(&old, &new)
    {
        eprintln!("since the snapshot: {changes}");
    }
}

/// The changes between two structures or two signatures.
fn changes(old: &str, new: &str) -> Result<String> {
    if let Ok(old) = parse_structure_without_lengths(old) {
        return Ok(said(&old.diff(&parse_structure_without_lengths(new)?)));
    }
    let (old, new) = (parse_signature_without_lengths(old)?, parse_signature_without_lengths(new)?);
    Ok(said(&old.diff(&new)))
}

/// The texts differ, whether the structures do or not.
fn said<T>(diff: &Diff<T>) -> String
where
    Diff<T>: Display,
{
    if diff.changes.is_empty() {
        return "the same, with other line breaks (a text wider than 80 columns has several lines)"
            .to_owned();
    }
    diff.to_string()
}
