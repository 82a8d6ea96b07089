//! Finds out which leaves of a rebuilt value came from which leaves of the tree: it changes leaves
//! of the tree, rebuilds the value again, and looks which of its leaves are others then.
//!
//! Each item has a code word. The experiment of a bit changes all items whose word has that bit. The
//! experiments in which a leaf of the value changes are the bits of its item's word. So a thousand
//! items need fourteen experiments.

use std::cell::RefCell;
use std::ops::Range;

use crate::error::Result;
use crate::leaf::each_scalar;
use crate::model::{Leaf, Tree, Value};
use crate::treedef::node_ref::NodeRef;
use crate::treedef::walk::{Event, Visits, Walk};

/// At most this many experiments follow what none of the usual ones can tell.
pub(super) const MOST_EXPERIMENTS: usize = 64;

/// Where a leaf of the value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// From none of the items: a default.
    Default,
    /// From the item of this index, and no other.
    Item(usize),
    /// From several.
    Several,
}

pub(super) struct Experiments<'a, R> {
    pub(super) old: &'a Tree<Leaf>,
    /// The value that was rebuilt from `old`.
    pub(super) new: &'a Tree<Leaf>,
    /// Puts the leaves of the value that is rebuilt from a tree into a buffer, if it has the
    /// structure of `new`.
    pub(super) rebuild: R,
    /// A copy of `old` and that buffer. In large trees, new memory for each experiment would take
    /// as much time as the rest.
    pub(super) memory: RefCell<(Tree<Leaf>, Vec<Leaf>)>,
    /// Leaves of `old`: one, or neighbours in a sequence.
    pub(super) items: Vec<Range<usize>>,
    /// The leaves of `new` whose origin is asked for.
    pub(super) asked: Vec<usize>,
}

impl<R: Fn(&Tree<Leaf>, &mut Vec<Leaf>) -> Result<()>> Experiments<'_, R> {
    /// Whether each of the leaves that are asked for is another one if these items are. `None` if
    /// no value can be rebuilt then, or one of another structure.
    pub(super) fn changed(&self, items: impl IntoIterator<Item = usize>) -> Option<Vec<bool>> {
        let (old, buffer) = &mut *self.memory.borrow_mut();
        let ranges: Vec<_> = items.into_iter().filter_map(|item| self.items.get(item)).collect();
        let changed = ranges.iter().flat_map(|range| (*range).clone());
        for index in changed.clone() {
            old.leaves.get_mut(index).map(disturb);
        }
        let rebuilt = (self.rebuild)(old, buffer);
        for index in changed {
            if let Some((leaf, was)) = old.leaves.get_mut(index).zip(self.old.leaves.get(index)) {
                leaf.clone_from(was);
            }
        }
        let differs = |leaf: &usize| buffer.get(*leaf) != self.new.leaves.get(*leaf);
        rebuilt.ok().map(|()| self.asked.iter().map(differs).collect())
    }

    /// The items that may be changed, and the origin of each leaf that is asked for.
    pub(super) fn origins(&self) -> (Vec<usize>, Vec<Origin>) {
        let unknown = || (Vec::new(), vec![Origin::Default; self.asked.len()]);
        // A default that is never the same says nothing.
        let Some(unstable) = self.changed([]) else { return unknown() };
        let free = self.free();
        let code = Code::of(free.len());
        // For each leaf, the bits whose experiments change it.
        let mut spelled = vec![0u128; self.asked.len()];
        for bit in 0..code.bits() {
            let numbers = free.iter().zip(1usize..);
            let chosen = numbers.filter(|(_, number)| code.word(*number) >> bit & 1 == 1);
            let Some(changed) = self.changed(chosen.map(|(item, _)| *item)) else {
                return unknown();
            };
            let changed = spelled.iter_mut().zip(changed).filter(|(_, changed)| *changed);
            changed.for_each(|(word, _)| *word |= 1 << bit);
        }
        let origin = |(word, unstable): (u128, bool)| match code.number(word) {
            _ if word == 0 || unstable => Origin::Default,
            Some(number) => {
                let item = free.get(number.wrapping_sub(1));
                item.map_or(Origin::Several, |item| Origin::Item(*item))
            }
            None => Origin::Several,
        };
        let origins = spelled.into_iter().zip(unstable).map(origin).collect();
        (free, origins)
    }

    /// The items that may be changed. Others stop the type from being rebuilt, e.g. the text of an
    /// address.
    fn free(&self) -> Vec<usize> {
        let leaves = |item: &Range<usize>| self.old.leaves.get(item.clone()).unwrap_or_default();
        let changes =
            |item: &usize| leaves(&self.items[*item]).iter().any(|leaf| disturb(&mut leaf.clone()));
        let able: Vec<usize> = (0..self.items.len()).filter(changes).collect();
        let (mut free, mut groups) = (Vec::new(), vec![&able[..]]);
        for _ in 0..MOST_EXPERIMENTS {
            let Some(group) = groups.pop() else { break };
            if self.changed(group.iter().copied()).is_some() {
                free.extend(group);
            } else if group.len() > 1 {
                let (first, second) = group.split_at(group.len() / 2);
                groups.extend([second, first]);
            }
        }
        free
    }
}

/// Numbers as words with a checksum: the count of the bits that are clear. If some bits are set
/// that should be clear, as where the words of two numbers are mixed, the checksum does not fit: it
/// cannot become less. (It is the code of J. M. Berger.)
struct Code {
    /// The number of bits of a number, and of the checksum.
    number: u32,
    check: u32,
}

impl Code {
    fn of(greatest: usize) -> Self {
        let number = usize::BITS - greatest.leading_zeros();
        Code { number, check: u32::BITS - number.leading_zeros() }
    }

    fn bits(&self) -> u32 {
        self.number + self.check
    }

    fn word(&self, number: usize) -> u128 {
        let clear = self.number.saturating_sub(number.count_ones());
        u128::from(clear) << self.number | number as u128 // `usize` has at most 64 bits
    }

    /// The number of a word; `None` if it is a mixture.
    fn number(&self, word: u128) -> Option<usize> {
        let number = usize::try_from(word & ((1 << self.number) - 1)).ok()?;
        (self.word(number) == word).then_some(number)
    }
}

/// The leaves below a node: neighbours in a sequence are one item.
pub(super) fn items(node: NodeRef<'_>) -> Vec<Range<usize>> {
    let (mut items, mut walk) = (Vec::new(), Walk::new(node, Visits::AtLeafRuns));
    while let Some(event) = walk.next() {
        if let Event::Enter { node, repeat } = event
            && node.is_leaf()
        {
            let run = node.first_leaf()..node.first_leaf() + repeat;
            if walk.parent().is_some_and(|(parent, _)| parent.is_labelled()) {
                items.extend(run.map(|leaf| leaf..leaf + 1));
            } else {
                items.push(run);
            }
        }
    }
    items
}

/// Makes it another leaf of the same kind that the type is likely to take too. Returns whether it
/// is another one.
fn disturb(leaf: &mut Leaf) -> bool {
    let before = leaf.clone();
    macro_rules! disturb {
        ($($kind:ident: $type:ty, $calls:tt;)*) => {
            match leaf {
                Leaf::Bool(value) => *value = !*value,
                // Half of it is in the range of every type that it was in, and is not zero.
                $(Leaf::$kind(value) => {
                    *value = match <$type>::from(*value) {
                        0 => 1,
                        value if value / 2 == 0 => value.wrapping_add(value),
                        value => value / 2,
                    }
                    .into();
                })*
                Leaf::F32(value) if !value.is_finite() => *value = 1.0,
                Leaf::F64(value) if !value.is_finite() => *value = 1.0,
                Leaf::F32(value) => *value = if value.abs() < 1e3 { *value + 1.0 } else { *value / 2.0 },
                Leaf::F64(value) => *value = if value.abs() < 1e3 { *value + 1.0 } else { *value / 2.0 },
                Leaf::Char(value) => *value = if *value == 'a' { 'b' } else { 'a' },
                Leaf::Str(text) => *text = other_text(text).into(),
                Leaf::Bytes(bytes) => bytes.iter_mut().take(1).for_each(|byte| *byte ^= 1),
                Leaf::Opaque(value) => {
                    let mut inside = value.to_tree();
                    inside.leaves.iter_mut().for_each(|leaf| {
                        disturb(leaf);
                    });
                    *value = Value::from_tree(inside).into();
                }
                Leaf::None => {}
            }
        };
    }
    each_scalar!([integers] => disturb);
    *leaf != before
}

/// Another text: with another last digit, so that a date stays one and an address too; or longer.
fn other_text(text: &str) -> String {
    match text.rsplit_once(|char: char| char.is_ascii_digit()) {
        Some((before, after)) => {
            let digit = if text[before.len()..].starts_with('1') { '2' } else { '1' };
            format!("{before}{digit}{after}")
        }
        None => format!("{text}_"),
    }
}
