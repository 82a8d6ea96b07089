//! The kinds of differences as texts.

use std::fmt;
use std::str::FromStr;

use crate::error::{DifferenceKind, Error};
use crate::text::as_text;

/// The names of the kinds of differences.
const KIND_NAMES: [(DifferenceKind, &str); 10] = {
    use DifferenceKind as Is;
    [
        (Is::Missing, "missing"),
        (Is::Extra, "extra"),
        (Is::Node, "node"),
        (Is::Name, "name"),
        (Is::Variant, "variant"),
        (Is::Length, "length"),
        (Is::Order, "order"),
        (Is::Static, "static"),
        (Is::Leaf, "leaf"),
        (Is::Options, "options"),
    ]
};

impl fmt::Display for DifferenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = KIND_NAMES.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name);
        f.pad(name)
    }
}

impl FromStr for DifferenceKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = KIND_NAMES.iter().find(|(_, name)| *name == text).map(|(kind, _)| *kind);
        known.ok_or_else(|| Error::unknown_text("the kind of a difference", text))
    }
}

as_text! { DifferenceKind }
