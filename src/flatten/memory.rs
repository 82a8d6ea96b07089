//! The small structure that was recorded last on this thread: the next value of the same type is expected to have it.
//!
//! So flattening the same few parameters over and over costs little more than [`flatten_like`](crate::TreeDef::flatten_like),
//! and gives treedefs that share their memory. What is large is not kept: recording it costs nothing beside walking it.

use std::any::type_name;
use std::cell::RefCell;
use std::ptr;

use crate::model::{Labels, Limits, Options, TreeDef, Value};

/// What a structure must not exceed to be kept.
const MOST_LEAVES: usize = 1_024;
const MOST_NODES: usize = 256;
const MOST_LABELS: usize = 256;
const LONGEST_TEXT: usize = 256;

struct Last {
    type_name: &'static str,
    options: Options,
    limits: Limits,
    treedef: TreeDef,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// The structure of the value before, if that was of the same type, and was walked with the same options.
pub(super) fn recall<T: ?Sized>(options: Options, limits: Limits) -> Option<TreeDef> {
    // A thread that ends has no memory left.
    LAST.try_with(|last| {
        let last = last.borrow();
        let known = last.as_ref()?;
        let name = type_name::<T>();
        let same_type = ptr::eq(known.type_name, name) || known.type_name == name;
        let same = same_type && (known.options, known.limits) == (options, limits);
        same.then(|| known.treedef.clone())
    })
    .ok()?
}

pub(super) fn remember<T: ?Sized>(options: Options, limits: Limits, treedef: &TreeDef) {
    if is_small(treedef) {
        let treedef = treedef.clone();
        let last = Last { type_name: type_name::<T>(), options, limits, treedef };
        let _ = LAST.try_with(|memory| memory.replace(Some(last)));
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
