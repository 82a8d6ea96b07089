//! The labels of a walk, which are its keys and statics, by number.
//!
//! Words have the numbers of labels instead of the labels. Of `[{"a": 1, "b": 2}, {"a": 3, "b": 4}]`, each map is
//! `Map   KEY 0   LEAVES, after 1   KEY 1   CLOSE, after 1`, so the second is equal to the first, word by word. A walk that follows a
//! script has the labels of the script under the same numbers, and new ones behind them.

use std::mem;
use std::sync::Arc;

use crate::hash_index::HashIndex;
use crate::leaf::Scalar;
use crate::model::{Content, Labels, Leaf, Limits, NodeKind, TreeDef, Value, Word};
use crate::treedef::encoding::{SPARE, empty};

use super::word::{self, Tag, same};

/// After this many new keys, one after the other, keys are not looked up until the next map begins. With 8 or 16, `docs`
/// takes as many instructions.
const MOST_NEW_KEYS: usize = 32;

/// The maximum number of structures of compounds that are remembered, and of the words of one.
const MOST_STRUCTURES: usize = 32;
const MOST_STRUCTURE_WORDS: usize = 64;

/// Distinct keys and statics.
#[derive(Default)]
pub(super) struct LabelTable {
    /// The labels of the script that the walk follows, or followed to its first difference. They have
    /// the first numbers.
    followed: Arc<[Value]>,
    /// The labels that no script has. They have the next numbers.
    own: Vec<Value>,
    /// The number of the label that came last.
    pub(super) last: usize,
    /// The numbers of the first labels, by the hashes of their values. Later labels are added when one is looked up.
    index: HashIndex,
    /// How many keys since the last map began were new, one after the other.
    new_keys: usize,
    /// For each label in `own` whether it occurred again. Behind the last `true` it may end.
    occurred_again: Vec<bool>,
    /// Some labels in `own` may be equal to others, because they were not looked for.
    may_have_equals: bool,
    /// The structure is made of the words for the last time, and then nothing needs the labels any more.
    pub(super) are_moved: bool,
    pub(super) structures: LabelStructures,
}

/// The structures of the last compounds that were captured. The keys of one map mostly have one structure or a few.
#[derive(Default)]
pub(super) struct LabelStructures(Vec<LabelStructure>);

struct LabelStructure {
    words: Box<[Word]>,
    treedef: Arc<TreeDef>,
    hash: u64,
}

impl LabelStructures {
    pub(super) fn get(&self, words: &[Word]) -> Option<&Arc<TreeDef>> {
        self.0.iter().rev().find(|known| same(&known.words, words)).map(|known| &known.treedef)
    }

    /// The hash of a structure, if it is one of these.
    fn hash_of(&self, treedef: &Arc<TreeDef>) -> Option<u64> {
        let known = self.0.iter().rev().find(|known| Arc::ptr_eq(&known.treedef, treedef))?;
        Some(known.hash)
    }

    /// Whether the structure of these words is worth it, and does not have numbers of labels, which belong to
    /// one walk. Few words may stand for many nodes.
    pub(super) fn takes(words: &[Word], treedef: &TreeDef) -> bool {
        let is_small = words.len() <= MOST_STRUCTURE_WORDS
            && treedef.encoding.nodes.len() <= 2 * MOST_STRUCTURE_WORDS;
        is_small && !words.iter().any(|word| word.has_label())
    }

    fn add(&mut self, words: &[Word], treedef: Arc<TreeDef>, hash: u64) {
        if self.0.len() == MOST_STRUCTURES {
            self.0.remove(0);
        }
        self.0.push(LabelStructure { words: words.into(), treedef, hash });
    }

    /// A walk with these limits begins.
    pub(super) fn retain(&mut self, limits: Limits) {
        self.0.retain(|known| known.treedef.limits == limits);
    }
}

/// The number of labels in a script, and what is stored for all of them: 1 for each node, each
/// leaf and each 16 bytes of text.
#[derive(Clone, Copy)]
pub(super) struct LabelLimits {
    pub(super) labels: usize,
    pub(super) stored: usize,
}

impl LabelLimits {
    /// For a structure that a thread remembers: 64 KiB of texts at most.
    pub(super) const OF_THREAD: LabelLimits = LabelLimits { labels: 64, stored: 4_096 };
    pub(super) const NONE: LabelLimits = LabelLimits { labels: usize::MAX, stored: usize::MAX };
}

fn scalar_of(value: &Value) -> Option<Scalar<'_>> {
    value.as_leaf().and_then(Leaf::as_scalar)
}

/// Whether two structures without maps are the same, within the same limits.
fn is_same_structure(a: &TreeDef, b: &TreeDef) -> bool {
    a == b && a.limits == b.limits
}

/// Whether two equal values also agree in what equality ignores: the limits, and the orders in which the entries of
/// all maps came.
fn have_equal_details(a: &Value, b: &Value) -> bool {
    let (Content::Tree(a, _), Content::Tree(b, _)) = (&a.0, &b.0) else { return true };
    let (orders, others) = (a.insertions(), b.insertions());
    a.limits == b.limits
        && orders.len() == others.len()
        && orders.iter().zip(others).all(|(a, b)| a.map == b.map && a.order == b.order)
        && a.encoding.node_data.iter().zip(&b.encoding.node_data).all(|(a, b)| {
            match (&a.labels, &b.labels) {
                (Labels::Keys(a), Labels::Keys(b)) => {
                    a.iter().zip(b).all(|(a, b)| have_equal_details(a, b))
                }
                _ => true,
            }
        })
}

/// Most keys are texts: compared without a call, the leaves of maps of floats take 4 instructions less.
#[inline]
fn is_scalar(value: &Value, scalar: Scalar<'_>) -> bool {
    match (value.as_leaf(), scalar) {
        (Some(Leaf::Str(text)), Scalar::Str(other)) => **text == *other,
        (leaf, scalar) => is_other_scalar(leaf, scalar),
    }
}

#[inline(never)]
fn is_other_scalar(leaf: Option<&Leaf>, scalar: Scalar<'_>) -> bool {
    leaf.and_then(Leaf::as_scalar) == Some(scalar)
}

fn value_of(scalar: Scalar<'_>) -> Value {
    match scalar {
        Scalar::None => Leaf::None.into(),
        other => Value(Content::Scalar(other.into())),
    }
}

/// Whether two values are one label: they are equal, also in what equality ignores.
pub(super) fn is_same_label(a: &Value, b: &Value) -> bool {
    a == b && have_equal_details(a, b)
}

/// Whether a value is an option or a unit, possibly inside newtypes.
pub(super) fn is_nothing(value: &Value) -> bool {
    let kind = value.root().inside_newtypes().kind();
    matches!(kind, NodeKind::None | NodeKind::Some | NodeKind::Unit | NodeKind::UnitStruct)
}

impl LabelTable {
    /// From now on these labels have the first numbers. The walk needs none of its own.
    pub(super) fn follow(&mut self, labels: Option<&Arc<[Value]>>) {
        self.followed = labels.map(Arc::clone).unwrap_or_default();
        self.clear();
    }

    #[inline]
    pub(super) fn value(&self, number: usize) -> Option<&Value> {
        self.followed.get(number).or_else(|| self.own.get(number - self.followed.len())) // not below
    }

    /// Whether a `Some` around this static has a node with the option `none_is_leaf`.
    pub(super) fn is_nothing(&self, number: usize) -> bool {
        self.value(number).is_some_and(is_nothing)
    }

    fn len(&self) -> usize {
        self.followed.len() + self.own.len() // both are in memory
    }

    /// Whether there are so few that a thread may remember them. Asked first, because it costs nothing.
    pub(super) fn are_few(&self) -> bool {
        self.own.len() <= LabelLimits::OF_THREAD.labels
    }

    /// The value of a key. A key that occurred once is moved out if it can be: `table` of `benches/instructions` takes
    /// 1.3 times as long if each key is cloned.
    pub(super) fn take_value(&mut self, number: usize) -> Option<Value> {
        match number.checked_sub(self.followed.len()) {
            Some(own) if self.are_moved && self.occurred_again.get(own) != Some(&true) => {
                let moved = Value(Content::Scalar(Leaf::Bool(false)));
                self.own.get_mut(own).map(|value| mem::replace(value, moved))
            }
            _ => self.value(number).cloned(),
        }
    }

    /// Whether the label of that number is surely equal to none before it. A compound may be equal to another label:
    /// see [`compound`](Self::compound).
    pub(super) fn is_new(&self, number: usize) -> bool {
        number >= self.followed.len()
            && !self.may_have_equals
            && self.value(number).is_some_and(|label| label.as_leaf().is_some())
    }

    /// Whether a scalar is the label of that number.
    #[inline]
    pub(super) fn is(&self, number: usize, scalar: Scalar<'_>) -> bool {
        self.value(number).is_some_and(|value| is_scalar(value, scalar))
    }

    /// A map begins.
    #[inline]
    pub(super) fn begin_map(&mut self) {
        self.new_keys = 0;
    }

    /// The number of a scalar that is a key. In a large map it is not looked for: then equal keys of
    /// two maps have two numbers.
    pub(super) fn key(&mut self, scalar: Scalar<'_>) -> usize {
        if self.expects_new_keys() {
            return self.push_unsought(value_of(scalar));
        }
        let labels = self.len();
        let number = self.scalar(scalar);
        self.count_if_new(number, labels)
    }

    fn expects_new_keys(&self) -> bool {
        self.new_keys >= MOST_NEW_KEYS
    }

    fn push(&mut self, label: Value) -> usize {
        self.own.push(label);
        self.len() - 1 // it was pushed
    }

    fn push_unsought(&mut self, label: Value) -> usize {
        self.may_have_equals = true;
        self.push(label)
    }

    /// A key was searched among `labels` labels, and has this number.
    fn count_if_new(&mut self, number: usize, labels: usize) -> usize {
        self.new_keys = if number == labels { self.new_keys + 1 } else { 0 }; // at most the keys
        number
    }

    /// The number of a scalar.
    pub(super) fn scalar(&mut self, scalar: Scalar<'_>) -> usize {
        let hash = hash_of(&self.index, scalar);
        let known = self.find(hash, |label| is_scalar(label, scalar));
        self.add_if_new(known, hash, || value_of(scalar))
    }

    /// Whether the label of that number has this structure, which has no keys, and these leaves.
    pub(super) fn is_compound(
        &self,
        number: usize,
        structure: &Arc<TreeDef>,
        own: &[Leaf],
    ) -> bool {
        let known = self.value(number).map(|value| &value.0);
        let Some(Content::Tree(treedef, leaves)) = known else { return false };
        is_same_structure(treedef, structure) && **leaves == *own
    }

    /// The structure of the label of that number, if it is equal to this one.
    pub(super) fn shared(&self, number: usize, structure: &TreeDef) -> Option<&Arc<TreeDef>> {
        match &self.value(number)?.0 {
            Content::Tree(treedef, _) if is_same_structure(treedef, structure) => Some(treedef),
            _ => None,
        }
    }

    /// The number of a compound. Equal values whose maps had other orders are different labels.
    pub(super) fn compound(&mut self, tag: Tag, value: Value) -> usize {
        if tag == word::KEY && self.expects_new_keys() {
            return self.push_unsought(value);
        }
        let (labels, hash) = (self.len(), self.hash_of_compound(&value));
        let known = self.find(hash, |label| is_same_label(label, &value));
        let number = self.add_if_new(known, hash, || value);
        if tag == word::KEY { self.count_if_new(number, labels) } else { number }
    }

    fn hash_of_compound(&self, value: &Value) -> u64 {
        let structure = match &value.0 {
            Content::Tree(treedef, _) => {
                self.structures.hash_of(treedef).unwrap_or_else(|| self.index.hash(treedef))
            }
            _ => self.index.hash(value.root().treedef),
        };
        self.index.hash((structure, value.leaves()))
    }

    /// Remembers the structure of compounds with these words.
    pub(super) fn note_structure(&mut self, words: &[Word], structure: &Arc<TreeDef>) {
        let hash = self.index.hash(structure);
        self.structures.add(words, Arc::clone(structure), hash);
    }

    fn find(&mut self, hash: u64, is_equal: impl Fn(&Value) -> bool) -> Option<usize> {
        for number in self.index.len()..self.len() {
            let hash = match self.value(number) {
                Some(value) => match scalar_of(value) {
                    Some(scalar) => hash_of(&self.index, scalar),
                    None => self.hash_of_compound(value),
                },
                None => 0, // each number belongs to a label
            };
            self.index.insert(hash, number);
        }
        self.index.find(hash, &|number| self.value(number).is_some_and(&is_equal))
    }

    /// The number of a label that was looked for, and is added if it is not known.
    fn add_if_new(
        &mut self,
        known: Option<usize>,
        hash: u64,
        new: impl FnOnce() -> Value,
    ) -> usize {
        let Some(number) = known else {
            let number = self.push(new());
            self.index.insert(hash, number);
            return number;
        };
        if let Some(own) = number.checked_sub(self.followed.len()) {
            self.occurred_again.resize(self.occurred_again.len().max(own + 1), false); // it is in memory
            self.occurred_again[own] = true; // as above
        }
        number
    }

    /// Numbers the labels in the words anew, by first use. Returns the words, and the labels that they use. `None` if
    /// there are more than the limits allow.
    pub(super) fn used(
        &self,
        mut words: Vec<Word>,
        limits: LabelLimits,
    ) -> Option<(Vec<Word>, Vec<Value>)> {
        let (mut used, mut places) = (Vec::new(), vec![None; self.len()]);
        for word in words.iter_mut().filter(|word| word.has_label()) {
            let place = places.get_mut(word.number())?;
            let place = match *place {
                Some(place) => place,
                None if used.len() == limits.labels => return None,
                None => {
                    used.push(self.value(word.number())?);
                    *place.insert(used.len() - 1)
                }
            };
            *word = Word::new(word.tag(), "", place as u64);
        }
        let (mut stored, mut labels) = (limits.stored, Vec::with_capacity(used.len()));
        for label in used {
            stored = stored.checked_sub(label.stored())?;
            labels.push(label.clone());
        }
        Some((words, labels))
    }

    /// Removes its own labels, and keeps the memory unless it is large.
    pub(super) fn clear(&mut self) {
        (self.are_moved, self.may_have_equals) = (false, false);
        empty(&mut self.own);
        empty(&mut self.occurred_again);
        self.index.clear(SPARE);
    }
}

fn hash_of(index: &HashIndex, scalar: Scalar<'_>) -> u64 {
    match scalar {
        Scalar::Str(text) => index.hash(text),
        other => index.hash(Leaf::from(other)), // it owns no memory, or is one of a few bytes
    }
}
