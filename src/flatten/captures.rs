//! Keys, statics and opaque leaves: values that become one value during a walk.
//!
//! A scalar key is a label at once. Any other is recorded by itself, with leaves of its own, although the
//! value around it may be followed. When it is complete, its words and leaves are taken off again, and the
//! value made of them is a label. The walk of `BTreeMap::from([((1, 2), 0.5)])`, whose leaves are `f64`s:
//!
//! ```text
//!                    words                         leaves   its leaves   labels
//! the key begins     Map                           -        -            -
//! it ends            Map  Tuple  CLOSE, after 2    -        1, 2         -
//! it was taken off   Map  KEY 0                    -        -            0: (1, 2)
//! the map ends       Map  KEY 0  CLOSE, after 1    0.5      -            0: (1, 2)
//! ```
//!
//! The next key `(1, 3)` has the same words, so it gets the structure of `(1, 2)`, which
//! [`LabelStructures`](super::labels::LabelStructures) has. While the map is followed, a key is still recorded in
//! this way, and then compared with the label that the script expects in its place.

use std::mem;

use crate::leaf::sink::Sink;
use crate::treedef::encoding::empty;

use super::marks::Role;
use super::word::KindSet;

/// The keys, statics and opaque leaves that are being recorded.
#[derive(Default)]
pub(super) struct Captures {
    /// A key or a static comes next.
    pub(super) next_label: Option<NextLabel>,
    /// The open captures, the outermost first.
    pub(super) open: Vec<Capture>,
    /// A buffer for their leaves. It is swapped with `Tape::leaves` while a capture is open, so that the leaves of the walk wait here.
    pub(super) aside: Sink,
    /// The position behind the last float that was not pushed at once: the vector was full or has another type, or the float was a label.
    pub(super) after_float: usize,
}

/// The leaves and levels that the next value may have, or the rest of a value that is being captured.
#[derive(Clone, Copy, Default)]
pub(super) struct Accepts {
    /// The kinds of scalars that are leaves.
    pub(super) leaves: KindSet,
    /// How many more compounds may be nested.
    pub(super) levels: usize,
}

/// A label that comes next, and the leaves and levels that were accepted before it.
pub(super) struct NextLabel {
    pub(super) role: Role,
    pub(super) accepts: Accepts,
}

/// A value that is being captured.
pub(super) struct Capture {
    pub(super) role: Role,
    /// The position of the value, and its first word and leaf.
    pub(super) at: usize,
    pub(super) word: usize,
    pub(super) leaf: usize,
    pub(super) accepts: Accepts,
    pub(super) pending: u64,
}

impl Captures {
    /// A value begins: the leaves of the outermost go into the buffer.
    pub(super) fn begin(&mut self, leaves: &mut Sink) {
        if self.open.is_empty() {
            mem::swap(leaves, &mut self.aside);
            if !matches!(leaves, Sink::Leaves(_)) {
                *leaves = Sink::Leaves(Vec::new()); // the first of the thread, or after a failure
            }
        }
    }

    /// The last value was taken off.
    pub(super) fn end(&mut self, leaves: &mut Sink) {
        if self.open.is_empty() {
            mem::swap(leaves, &mut self.aside);
        }
    }

    /// Whether the current value is part of a captured one.
    pub(super) fn is_inside(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.next_label = None;
        empty(&mut self.open);
        if let Sink::Leaves(leaves) = &mut self.aside {
            empty(leaves);
        } else {
            self.aside = Sink::default(); // the walk failed while a capture was open
        }
    }
}
