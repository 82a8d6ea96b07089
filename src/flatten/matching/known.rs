//! What a value is compared with.

use std::cell::Cell;

use crate::model::{Arrival, Options, Shape};
use crate::sink::Kinds;

use super::slots::Parted;

/// What holds for the whole structure.
pub(in crate::flatten) struct Known<'t> {
    pub(in crate::flatten) shapes: &'t [Shape],
    pub(in crate::flatten) options: Options,
    pub(in crate::flatten) ignore_statics: bool,
    /// Compounds that may stand inside each other in an opaque leaf, wherever that is.
    pub(in crate::flatten) depth_left: usize,
    /// Maps may come in any order, probably the remembered ones, of which these are to come; if not, in order only.
    pub(in crate::flatten) arrivals: Option<Cell<&'t [Arrival]>>,
    /// Kinds of leaves that may be put as plain data.
    pub(in crate::flatten) kinds: Kinds,
    pub(in crate::flatten) parted: Parted,
}

impl Known<'_> {
    /// The options by which opaque leaves are recorded.
    pub(super) fn of_opaque(&self) -> Options {
        Options { compact: self.options.compact, ..Options::default() }
    }
}
