//! What rules made of the last structure of a thread, for the next value that has it.
//!
//! [Rules](super::apply) look at each node of a finished tree, and make another tree. A value with the same structure
//! and the same leaves in statics has the same tree, but for its other leaves. So it is noted what became of each leaf.
//! With the rule `.1`, from `(1, "adam", [0.5, 0.25])`:
//!
//! ```text
//! the leaves     1         "adam"          0.5   0.25
//! noted          an i32    static "adam"   2 f64s
//! ```
//!
//! With two rules, `net` of `benches/instructions` takes 284 instructions a leaf in `flatten_like`, and 2,226 in `flatten_as`,
//! which applies them each time.

use std::cell::Cell;
use std::mem;
use std::sync::Arc;

use crate::bug::OrBug;
use crate::error::Result;
use crate::leaf::sink::Sink;
use crate::model::{Encoding, Leaf, LeafKind, Limits, TreeDef, Value};
use crate::treedef::encoding::empty;

use super::labels::LabelLimits;
use super::marks::put_leaf;
use super::rules::Rules;
use super::script::is_small;
use super::word::MOST_SCRIPT_WORDS;

thread_local! {
    /// The last structure that rules made, if the thread may remember it.
    static LAST: Cell<Option<Box<RuledStructure>>> = const { Cell::new(None) };
    /// Room for the leaves of a value before rules are applied.
    static SPARE: Cell<Vec<Leaf>> = const { Cell::new(Vec::new()) };
}

/// The structure that rules made of another one.
struct RuledStructure {
    rules: Arc<Rules>,
    limits: Limits,
    from: Arc<Encoding>,
    made: Arc<Encoding>,
    /// The statics may differ from the statics of `made`.
    ignores_statics: bool,
    parts: Vec<RuledPart>,
}

/// What became of the next leaves of the value.
enum RuledPart {
    /// This number of leaves, all of this kind, are leaves.
    Leaves(LeafKind, usize),
    /// One leaf, which was this one, is a part of a static.
    Static(Leaf),
}

/// What became of all leaves so far. `None` if nothing asked for it, or if it takes too much memory.
pub(super) struct RuledParts(Option<Vec<RuledPart>>);

impl RuledParts {
    pub(super) fn new(are_asked: bool) -> Self {
        RuledParts(are_asked.then(Vec::new))
    }

    pub(super) fn add_leaves<'l>(&mut self, leaves: impl Iterator<Item = &'l Leaf>) {
        let Some(parts) = &mut self.0 else { return };
        for kind in leaves.map(Leaf::kind) {
            let is_full = parts.len() >= MOST_SCRIPT_WORDS;
            match parts.last_mut() {
                Some(RuledPart::Leaves(last, count)) if *last == kind => *count += 1, // at most the leaves
                _ if is_full => return *self = RuledParts(None),
                _ => parts.push(RuledPart::Leaves(kind, 1)),
            }
        }
    }

    pub(super) fn add_statics(&mut self, leaves: &[Leaf]) {
        let Some(parts) = &mut self.0 else { return };
        if parts.len() + leaves.len() > MOST_SCRIPT_WORDS {
            *self = RuledParts(None);
        } else {
            parts.extend(leaves.iter().cloned().map(RuledPart::Static));
        }
    }

    /// The parts, if a thread may remember them: the statics are limited as the labels of a script.
    fn into_few(self) -> Option<Vec<RuledPart>> {
        let parts = self.0?;
        let mut left = LabelLimits::OF_THREAD.stored;
        for part in &parts {
            match part {
                RuledPart::Static(Leaf::Opaque(_)) => return None,
                RuledPart::Static(leaf) => {
                    left = left.checked_sub(Value::from(leaf.clone()).stored())?;
                }
                RuledPart::Leaves(..) => {}
            }
        }
        Some(parts)
    }
}

/// An empty vector for the leaves of a value.
pub(super) fn spare() -> Vec<Leaf> {
    SPARE.try_with(Cell::take).unwrap_or_default()
}

/// Remembers for the next walk that these rules turn the structure `found` into `like`, and what became of each leaf.
pub(super) fn note(
    (rules, ignores_statics): (&Arc<Rules>, bool),
    found: &TreeDef,
    like: &TreeDef,
    parts: RuledParts,
) {
    // A larger structure is not followed, so it does not come again as the same.
    let are_small = is_small(&found.encoding) && is_small(&like.encoding);
    let Some(parts) = parts.into_few().filter(|_| are_small) else { return };
    let (from, made) = (Arc::clone(&found.encoding), Arc::clone(&like.encoding));
    let (rules, limits) = (Arc::clone(rules), like.limits);
    let ruled = RuledStructure { rules, limits, from, made, ignores_statics, parts };
    let _ = LAST.try_with(|last| last.set(Some(Box::new(ruled)))); // fails only while the thread ends
}

/// Puts the leaves without applying the rules, if the thread remembers that these rules turn `found` into `like`, and
/// the leaves in statics are the same. Returns whether it did.
pub(super) fn put_again(
    (rules, ignores_statics): (&Arc<Rules>, bool),
    found: &TreeDef,
    like: &TreeDef,
    leaves: &mut Vec<Leaf>,
    to: &mut Sink,
) -> Result<bool> {
    let Ok(Some(last)) = LAST.try_with(Cell::take) else { return Ok(false) };
    let is_last = Arc::ptr_eq(&last.rules, rules)
        && Arc::ptr_eq(&last.from, &found.encoding)
        && Arc::ptr_eq(&last.made, &like.encoding)
        && (last.ignores_statics, last.limits) == (ignores_statics, like.limits)
        && last.fits(leaves);
    let put = if is_last { last.put(found, leaves, to) } else { Ok(()) };
    let _ = LAST.try_with(|kept| kept.set(Some(last)));
    if is_last {
        empty(leaves);
        let _ = SPARE.try_with(|spare| spare.set(mem::take(leaves)));
    }
    put.map(|()| is_last)
}

impl RuledStructure {
    /// Whether a value with the structure `from` and these leaves becomes `made`.
    fn fits(&self, leaves: &[Leaf]) -> bool {
        let mut left = leaves;
        for part in &self.parts {
            let count = if let RuledPart::Leaves(_, count) = part { *count } else { 1 };
            let Some((own, after)) = left.split_at_checked(count) else { return false };
            left = after;
            let is_same = |leaf: &Leaf| match part {
                RuledPart::Leaves(kind, _) => leaf.kind() == *kind,
                RuledPart::Static(expected) if self.ignores_statics => {
                    leaf.kind() == expected.kind()
                }
                RuledPart::Static(expected) => leaf == expected,
            };
            if !own.iter().all(is_same) {
                return false;
            }
        }
        left.is_empty()
    }

    /// Moves the leaves that are not in statics.
    fn put(&self, found: &TreeDef, leaves: &mut Vec<Leaf>, to: &mut Sink) -> Result<()> {
        let mut all = leaves.drain(..).enumerate();
        for part in &self.parts {
            let RuledPart::Leaves(_, count) = part else {
                all.next();
                continue;
            };
            for (index, leaf) in all.by_ref().take(*count) {
                if let Err(error) = put_leaf(to, leaf, "a mark") {
                    return Err(error.at(found.leaf_path(index).ok().or_bug()));
                }
            }
        }
        Ok(())
    }
}
