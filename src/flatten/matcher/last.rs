//! Remembers the small structures that were recorded last on this thread.
//!
//! The next value of the same type is expected to have the same structure. So flattening the same
//! few parameters repeatedly costs little more than [`flatten_like`](crate::TreeDef::flatten_like),
//! and the treedefs share their memory: row `small` in `benches/ratios`. Large structures are not
//! kept, because recording them costs little compared with the walk.

use std::cell::RefCell;

use crate::model::{Labels, Limits, Options, TreeDef, Value};

/// The limits for a structure that is kept.
const MOST_LEAVES: usize = 1_024;
const MOST_NODES: usize = 256;
const MOST_LABELS: usize = 256;
const LONGEST_TEXT: usize = 256;

/// Number of structures that a thread keeps.
const KEPT: usize = 4;

/// What two walks must have in common to expect the same structure.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::flatten) struct WalkId {
    pub(in crate::flatten) type_name: &'static str,
    pub(in crate::flatten) options: Options,
    pub(in crate::flatten) limits: Limits,
}

struct Last {
    walk: WalkId,
    treedef: TreeDef,
    /// How often the next value had another structure (at most 6), and how many of the next values
    /// are therefore not compared.
    misses: u32,
    skip: u32,
}

thread_local! {
    static LAST: RefCell<[Option<Last>; KEPT]> = const { RefCell::new([const { None }; KEPT]) };
}

impl WalkId {
    /// The structure of the last value, if the next one is expected to have it.
    pub(in crate::flatten) fn recall(self) -> Option<TreeDef> {
        self.with_last(|last| {
            let last = last.as_mut().filter(|last| last.walk == self)?;
            let Some(left) = last.skip.checked_sub(1) else { return Some(last.treedef.clone()) };
            last.skip = left;
            None
        })?
    }

    /// Keeps a recorded structure. If it replaces another one of the same type, that counts as a
    /// miss.
    pub(in crate::flatten) fn remember(self, treedef: &TreeDef) {
        if !is_small(treedef) {
            return;
        }
        self.with_last(|last| {
            let before = last.as_ref().filter(|last| last.walk == self);
            let (misses, skip) = match before {
                None => (0, 0),
                Some(before) if before.skip > 0 => (before.misses, before.skip),
                Some(before) => ((before.misses + 1).min(6), (1 << before.misses) - 1),
            };
            *last = Some(Last { walk: self, treedef: treedef.clone(), misses, skip });
        });
    }

    fn with_last<R>(self, then: impl FnOnce(&mut Option<Last>) -> R) -> Option<R> {
        let place = self.type_name.as_ptr().addr() / 16 % KEPT;
        // While a thread ends, its structures may already be dropped.
        LAST.try_with(|all| all.borrow_mut().get_mut(place).map(then)).ok()?
    }
}

fn is_small(treedef: &TreeDef) -> bool {
    let small = |value: &Value| {
        value
            .as_leaf()
            .is_some_and(|leaf| leaf.as_str().is_none_or(|text| text.len() <= LONGEST_TEXT))
    };
    treedef.arrivals.is_none()
        && treedef.num_leaves() <= MOST_LEAVES
        && treedef.encoding.nodes.len() <= MOST_NODES
        && treedef.encoding.shapes.iter().all(|shape| match &shape.labels {
            Labels::None => true,
            Labels::Fields(fields) => fields.len() <= MOST_LABELS,
            Labels::Keys(keys) => keys.len() <= MOST_LABELS && keys.iter().all(small),
            Labels::Static(value) => small(value),
        })
}
