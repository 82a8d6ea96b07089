//! The distinct structures of many documents, counted.
//!
//! Counting a document costs one hash lookup for each node: each node gets a number, and equal
//! nodes the same number, because a node is looked up with the numbers of its children. So the
//! structure of a document is known as soon as its root is. A folded sequence or map is one node;
//! its distinct elements so far are stored separately, in a pool.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use treedef::__private::{at_most, either, failed, too_large, work, work_of};
use treedef::{Diff, Leaf, Limits, Result, Tree, Value};

use crate::pool::{Pool, cost, growth, join};
use crate::recorder::{Folds, StructureRecorder};
use crate::structure::{Kinds, Structure, StructureLeaf};
use crate::view;

/// The distinct structures of documents, and how often each occurred.
///
/// Memory grows with the number of distinct structures, not of documents. The counts are exact:
/// structures are compared in full, not by their hashes.
///
/// *Folding* counts structures as one that differ only in [lengths](Self::fold_lengths), in [keys
/// that are data](Self::fold_keys), or in the kinds of numbers ([`fold_widths`](Self::fold_widths),
/// [`fold_numbers`](Self::fold_numbers)).
///
/// ```
/// use serde::de::DeserializeSeed;
/// use treedef_structures::Structures;
///
/// let mut structures = Structures::new();
/// for line in [r#"{"id": 1}"#, r#"{"id": 2}"#, r#"{"id": 3, "error": {"code": 7}}"#] {
///     structures.seed().deserialize(&mut serde_json::Deserializer::from_str(line))?;
/// }
/// let all = structures.by_count()?;
/// assert_eq!((all[0].count, all[0].structure.to_string()), (2, r#"{"id": u64}"#.to_owned()));
/// assert_eq!((all[1].count, all[1].first), (1, 2));
/// assert_eq!(all[1].diff().to_string(), "1 change\n+ [\"error\"]: {\"code\": u64}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Structures {
    pub(crate) recorder: StructureRecorder,
    pub(crate) entries: Vec<Entry>,
    documents: u64,
    pub(crate) next_index: u64,
    max_structures: usize,
    /// The size of the recorder without possible garbage.
    clean_size: usize,
    /// Its size before the current document.
    begun_size: usize,
    /// The entry of the last counted document.
    pub(crate) last: Option<usize>,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) root: u32,
    /// The content of the folded parts.
    pub(crate) pools: Vec<Pool>,
    pub(crate) seen: Occurrences,
}

/// The documents that have one structure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Occurrences {
    pub(crate) count: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) example: Option<(u64, Value)>,
}

impl Occurrences {
    fn join(&mut self, other: Occurrences) {
        self.count = self.count.saturating_add(other.count);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        let of = |example: &Option<(u64, Value)>| example.as_ref().map_or(u64::MAX, |(at, _)| *at);
        if self.example.is_none() || of(&other.example) < of(&self.example) {
            self.example = other.example.or(self.example.take());
        }
    }
}

/// A structure and the documents that have it: an item of [`Structures::by_count`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StructureCount {
    /// The structure.
    pub structure: Structure,
    /// The number of documents with this structure.
    pub count: u64,
    /// The index of the first document with this structure.
    pub first: u64,
    /// The index of the last one.
    pub last: u64,
    /// The first document that was passed as a tree, unless it is large. The others can be found by
    /// their index.
    pub example: Option<Value>,
    most_frequent: Arc<Structure>,
}

impl StructureCount {
    /// The changes from the most frequent structure to this one.
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let mut structures = Structures::new();
    /// for text in ["[1]", "[2]", "[true]"] {
    ///     structures.add(&serde_json::from_str(text)?)?;
    /// }
    /// let all = structures.by_count()?;
    /// assert!(all[0].diff().changes.is_empty());
    /// assert_eq!(all[1].diff().to_string(), "1 change\n~ [0]: u64 → bool");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn diff(&self) -> Diff<Structure> {
        self.most_frequent.diff(&self.structure)
    }
}

/// The maximum size of an example, in nodes. 16 bytes of text count as one.
const LARGEST_EXAMPLE: usize = 1 << 10;
/// The maximum number of structures, unless [`Structures::max_structures`] is called.
pub(crate) const MOST_STRUCTURES: usize = 1 << 16;
/// An amount of garbage that is not worth a collection.
const LITTLE: usize = 1 << 12;
/// Instead of a size without garbage: no garbage is removed.
const NEVER_CLEAN: usize = usize::MAX;

impl Default for Structures {
    fn default() -> Self {
        let folds = Folds { lengths: false, keys: None, widths: false, numbers: false };
        Structures::with(folds, Limits::default(), MOST_STRUCTURES)
    }
}

impl Structures {
    /// No structures yet. Nothing is folded.
    pub fn new() -> Self {
        Structures::default()
    }

    pub(crate) fn with(folds: Folds, limits: Limits, max_structures: usize) -> Self {
        let mut recorder = StructureRecorder::new(folds);
        recorder.limit(limits);
        Structures {
            recorder,
            entries: Vec::new(),
            documents: 0,
            next_index: 0,
            max_structures,
            clean_size: 0,
            begun_size: 0,
            last: None,
        }
    }

    /// Counts the sequences of all lengths as one structure: `[str, u64; 0–512]` has one of each
    /// distinct element, and the shortest and the greatest length.
    ///
    /// Structures that differ only inside such sequences are one, too. Distinct elements are
    /// distinguished like documents. All `fold_…` methods can also be called later and then change
    /// previous counts; but folded parts stay folded.
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let mut structures = Structures::new();
    /// for text in ["[]", r#"[{"a": 1}, {"a": 2}]"#, r#"[{"a": 1}, {"a": 1, "b": 2}]"#] {
    ///     structures.add(&serde_json::from_str(text)?)?;
    /// }
    /// assert_eq!(structures.by_count()?.len(), 3);
    /// let all = structures.fold_lengths(true).by_count()?;
    /// assert_eq!(all[0].structure.to_string(), r#"[{"a": u64, "b": u64}, {"a": u64}; 0–2]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fold_lengths(self, yes: bool) -> Self {
        self.refold(|folds| folds.lengths = yes)
    }

    /// Folds the keys of the maps at a place if they have more than `more_than` distinct keys
    /// together: such keys are data, not structure. `{*: f64; 3–90}` has one of each distinct
    /// value, and the minimum and maximum number of entries.
    ///
    /// A place is everything at the same keys, with any index in sequences, in all documents. The
    /// result does not depend on the order of the documents.
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let mut structures = Structures::new().fold_keys(2);
    /// for text in [r#"{"age": {"Ada": 36}}"#, r#"{"age": {"Bob": 7}}"#, r#"{"age": {"Cay": 1}}"#] {
    ///     structures.add(&serde_json::from_str(text)?)?;
    /// }
    /// let all = structures.by_count()?;
    /// assert_eq!((all.len(), all[0].count), (1, 3));
    /// assert_eq!(all[0].structure.to_string(), r#"{"age": {*: u64; 1}}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fold_keys(self, more_than: usize) -> Self {
        self.refold(|folds| folds.keys = Some(more_than))
    }

    /// Counts all integers as `int` and all floats as `float`. JSON readers return `u64` for 1, and
    /// `i64` for -1.
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let mut structures = Structures::new().fold_widths(true);
    /// structures.add(&serde_json::from_str("[-1, 1, 0.5]")?)?;
    /// assert_eq!(structures.by_count()?[0].structure.to_string(), "[int, int, float]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fold_widths(self, yes: bool) -> Self {
        self.refold(|folds| folds.widths = yes)
    }

    /// Counts all numbers as `number`.
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let mut structures = Structures::new().fold_numbers(true);
    /// structures.add(&serde_json::from_str("[-1, 1, 0.5]")?)?;
    /// assert_eq!(structures.by_count()?[0].structure.to_string(), "[number, number, number]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fold_numbers(self, yes: bool) -> Self {
        self.refold(|folds| folds.numbers = yes)
    }

    /// Sets the maximum number of distinct structures, instead of 65,536. A document with one more
    /// is refused, because a dropped structure would have a wrong count from then on; documents
    /// with known structures are still counted.
    ///
    /// With [`fold_keys`](Self::fold_keys), such a document may fit, because it folds maps of
    /// earlier documents. [`add`](Self::add) tries this in a copy of all structures, so that a
    /// refusal takes as long as [`settle`](Self::settle). A [`seed`](Self::seed) refuses without
    /// trying.
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let mut structures = Structures::new().max_structures(1);
    /// structures.add(&serde_json::from_str("1")?)?;
    /// let error = structures.add(&serde_json::from_str("true")?).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "2 distinct structures, the limit is 1 \
    ///      (see `Structures::max_structures` and `fold_lengths`)"
    /// );
    /// structures.add(&serde_json::from_str("2")?)?;
    /// assert_eq!(structures.documents(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_structures(self, max_structures: usize) -> Self {
        Structures { max_structures, ..self }
    }

    /// Sets the limits. `max_nodes` is for all structures together; text counts as one node for 16
    /// bytes.
    ///
    /// ```
    /// use treedef::Limits;
    /// use treedef_structures::Structures;
    ///
    /// let limits = Limits { max_depth: 1, ..Limits::default() };
    /// let mut structures = Structures::new().limits(limits);
    /// let error = structures.add(&serde_json::from_str("[[1]]")?).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "nested deeper than 1 level at `[0]` \
    ///      (see `Limits::max_depth`)"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.recorder.limit(limits);
        self
    }

    fn refold(mut self, change: impl FnOnce(&mut Folds)) -> Self {
        change(&mut self.recorder.folds);
        self.recorder.refold();
        self
    }

    /// How many documents were counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The index of the next document: 0 at first, and one more after each counted document.
    pub fn next_index(&self) -> u64 {
        self.next_index
    }

    /// Sets the index of the next document, e.g. to the number of its line.
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let mut second_half = Structures::new();
    /// second_half.set_next_index(500);
    /// second_half.add(&serde_json::from_str("[]")?)?;
    /// assert_eq!(second_half.by_count()?[0].first, 500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_next_index(&mut self, index: u64) {
        self.next_index = index;
    }

    /// Adds to all indices, for documents whose index was not known when they were counted.
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let mut structures = Structures::new();
    /// structures.add(&serde_json::from_str("[]")?)?;
    /// structures.shift(500);
    /// assert_eq!((structures.by_count()?[0].last, structures.next_index()), (500, 501));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shift(&mut self, by: u64) {
        let indices = self.entries.iter_mut().flat_map(|Entry { seen, .. }| {
            let example = seen.example.as_mut().map(|(index, _)| index);
            [&mut seen.first, &mut seen.last].into_iter().chain(example)
        });
        for index in indices.chain([&mut self.next_index]) {
            *index = index.saturating_add(by);
        }
    }

    /// Counts a document. Returns whether its structure is new. A structure that is folded after it was
    /// counted is new once more, unless [`settle`](Self::settle) was called; its count is right.
    ///
    /// Keys of equal value are the same, whatever the width of their numbers. A structure has integer keys as
    /// `u64`, or as `i64` if they are negative. A unit and a `None` are `null`, and a `char` or the name of a
    /// variant is a text.
    ///
    /// An [array](treedef::Array) counts like the nested sequences that it represents, which takes
    /// the time and memory of [`without_arrays`](Tree::without_arrays). Every other
    /// [opaque](fn@treedef::as_opaque) leaf is one scalar, `opaque`.
    ///
    /// # Errors
    ///
    /// Returns an error when there are too many structures, or too large ones; see
    /// [`max_structures`](Self::max_structures) and [`limits`](Self::limits). The document is then
    /// not counted, and the next one may be.
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_structures::Structures;
    ///
    /// let mut structures = Structures::new();
    /// assert!(structures.add(&Tree::of(&("a", 1.5))?)?);
    /// assert!(!structures.add(&Tree::of(&("b", 2.5))?)?);
    /// assert_eq!(structures.by_count()?[0].example.as_ref().unwrap().to_string(), r#"("a", 1.5)"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn add(&mut self, document: &Tree<Leaf>) -> Result<bool> {
        let has_arrays = document.leaves().iter().any(|leaf| leaf.as_array().is_some());
        let plain = has_arrays.then(|| document.clone().without_arrays()).transpose()?;
        let document = plain.as_ref().unwrap_or(document);
        let leaf = |at: usize| {
            let leaf: &Leaf = document.leaves().get(at)?;
            Some(StructureLeaf::Scalar(Kinds::One(leaf.kind())))
        };
        self.attempt(|these| {
            let root = these.recorder.root(document.treedef(), &leaf)?;
            let mut seen = these.next();
            if these.wants_example(root, seen.first) {
                seen.example = example(document).map(|example| (seen.first, example));
            }
            these.count(root, seen)
        })
    }

    /// Records and counts something. If its structure does not fit, but folds earlier maps, it may
    /// need less space after that.
    fn attempt(&mut self, count: impl Fn(&mut Self) -> Result<bool>) -> Result<bool> {
        self.begin();
        let outcome = count(self);
        let is_full = self.entries.len() >= self.max_structures;
        if outcome.is_ok() || !is_full || !self.recorder.places.folds_earlier() {
            return outcome;
        }
        let mut folded = self.clone();
        folded.max_structures = usize::MAX;
        folded.begin();
        let is_new = count(&mut folded)?;
        folded.settle()?;
        if folded.entries.len() > self.max_structures {
            return outcome;
        }
        folded.max_structures = self.max_structures;
        *self = folded;
        Ok(is_new)
    }

    /// Adds all counts of another value, in the time of copying this one. The order in which parts are
    /// merged does not matter: indices stay the same; see [`set_next_index`](Self::set_next_index) and
    /// [`shift`](Self::shift). The next index is the greater of the two.
    ///
    /// # Errors
    ///
    /// Returns an error when the other is folded in another way, or when the structures of both are more, or
    /// larger, than the greater limits of both allow. Nothing is then added.
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let (mut one, mut two) = (Structures::new(), Structures::new());
    /// one.add(&serde_json::from_str("[1]")?)?;
    /// two.set_next_index(1);
    /// two.add(&serde_json::from_str("[2]")?)?;
    /// one.merge(&two)?;
    /// let all = one.by_count()?;
    /// assert_eq!((all[0].count, all[0].first, all[0].last), (2, 0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge(&mut self, other: &Structures) -> Result<()> {
        if self.recorder.folds != other.recorder.folds {
            let (expected, found) = (self.recorder.folds, other.recorder.folds);
            let message = format!(
                "expected structures with {expected}, found some with {found}: fold both the same"
            );
            return Err(failed(message));
        }
        let mut all = self.clone();
        all.recorder.limit(either(self.recorder.interner.limits, other.recorder.interner.limits));
        all.max_structures = self.max_structures.max(other.max_structures);
        all.insert_all(other)?;
        all.next_index = self.next_index.max(other.next_index);
        all.last = None;
        *self = all.checked();
        Ok(())
    }

    /// All structures, the most frequent first. Of equally frequent ones, the one that occurred
    /// first.
    ///
    /// # Errors
    ///
    /// Returns an error when a structure exceeds the [limits](Self::limits) on text.
    pub fn by_count(&self) -> Result<Vec<StructureCount>> {
        let these = self.clean()?;
        let mut all = Vec::with_capacity(these.entries.len());
        for Entry { root, pools, seen } in &these.entries {
            let structure = view::structure(&these.recorder.interner, *root, pools)?;
            all.push((structure, seen.clone()));
        }
        all.sort_by(|(a, seen), (b, other)| {
            let frequent = other.count.cmp(&seen.count).then(seen.first.cmp(&other.first));
            frequent.then_with(|| a.to_string().cmp(&b.to_string()))
        });
        let Some((first, _)) = all.first() else { return Ok(Vec::new()) };
        let most_frequent = Arc::new(first.clone());
        let count = |(structure, seen): (Structure, Occurrences)| {
            let Occurrences { count, first, last, example } = seen;
            let (example, most_frequent) = (example.map(|(_, it)| it), most_frequent.clone());
            StructureCount { structure, count, first, last, example, most_frequent }
        };
        Ok(all.into_iter().map(count).collect())
    }

    /// The index of the first document that has the structure of the last counted document. So a
    /// second pass over the documents can find the documents of one structure. Nothing until a document is
    /// counted, here or after a [`merge`](Self::merge).
    ///
    /// With [`fold_keys`](Self::fold_keys), call [`settle`](Self::settle) before the second pass.
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let documents = ["[1]", "true", "[2]"].map(serde_json::from_str);
    /// let mut structures = Structures::new();
    /// for document in &documents {
    ///     structures.add(document.as_ref().unwrap())?;
    /// }
    /// structures.add(documents[2].as_ref().unwrap())?;
    /// assert_eq!(structures.first_alike(), Some(0));
    /// structures.add(documents[1].as_ref().unwrap())?;
    /// assert_eq!(structures.first_alike(), Some(1));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn first_alike(&self) -> Option<u64> {
        Some(self.entries.get(self.last?)?.seen.first)
    }

    /// Folds earlier counts whose keys have turned out to be [data](Self::fold_keys).
    /// [`by_count`](Self::by_count) does this each time, in a copy.
    ///
    /// # Errors
    ///
    /// Returns an error when the structures exceed the [limits](Self::limits).
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let mut structures = Structures::new().fold_keys(1);
    /// for text in [r#"{"a": 1}"#, r#"{"b": 1}"#] {
    ///     structures.add(&serde_json::from_str(text)?)?;
    /// }
    /// structures.settle()?;
    /// structures.add(&serde_json::from_str(r#"{"c": 1}"#)?)?;
    /// assert_eq!(structures.first_alike(), Some(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settle(&mut self) -> Result<()> {
        if self.recorder.places.changed {
            *self = self.rebuilt()?;
        }
        Ok(())
    }

    /// One document at the next index.
    pub(crate) fn next(&self) -> Occurrences {
        Occurrences { count: 1, first: self.next_index, last: self.next_index, example: None }
    }

    /// Prepares for a document.
    pub(crate) fn begin(&mut self) {
        self.recorder.begin();
        // Remains of documents that were refused, or from before a place was folded. Removing them
        // costs as much as recording everything else again, so there must be many.
        let garbage = self.recorder.size().saturating_sub(self.clean_size);
        let is_much = garbage > LITTLE || self.recorder.is_half_full();
        let is_full = self.entries.len() >= self.max_structures && self.recorder.places.changed;
        if garbage > self.clean_size / 4 && is_much || is_full && self.clean_size != NEVER_CLEAN {
            match self.rebuilt() {
                Ok(clean) => *self = clean,
                // It exceeds a limit, and would again before each document.
                Err(_) => self.clean_size = NEVER_CLEAN,
            }
        }
        self.begun_size = self.recorder.size();
    }

    /// Counts the document whose root was recorded last.
    pub(crate) fn count(&mut self, root: u32, seen: Occurrences) -> Result<bool> {
        let documents = self.documents.checked_add(seen.count).ok_or_else(too_large)?;
        let next_index = seen.last.saturating_add(1);
        let StructureRecorder { interner, pools, .. } = &mut self.recorder;
        debug_assert_eq!(pools.len(), interner.node(root).pools, "a pool belongs to no node");
        let at = interner.node(root).entry;
        let is_new = match self.entries.get_mut(at) {
            Some(entry) => {
                interner.charge(growth(&entry.pools, pools))?;
                join(&mut entry.pools, pools.drain(..));
                entry.seen.join(seen);
                self.last = Some(at);
                false
            }
            None => {
                let needed = self.entries.len().saturating_add(1);
                let hint = "see `Structures::max_structures` and `fold_lengths`";
                at_most("distinct structures", needed, self.max_structures, hint)?;
                interner.charge(interner.node(root).size.saturating_add(cost(pools)))?;
                interner.nodes[root as usize].entry = self.entries.len();
                self.last = Some(self.entries.len());
                self.entries.push(Entry { root, pools: pools.split_off(0), seen });
                true
            }
        };
        // After a place was folded, earlier nodes may be garbage.
        if !self.recorder.places.changed {
            let added = self.recorder.size().saturating_sub(self.begun_size);
            self.clean_size = self.clean_size.saturating_add(added);
        }
        (self.documents, self.next_index) = (documents, next_index);
        self.recorder.places.keep()?;
        Ok(is_new)
    }

    fn wants_example(&self, root: u32, index: u64) -> bool {
        let entry = self.entries.get(self.recorder.interner.node(root).entry);
        let example = entry.and_then(|entry| entry.seen.example.as_ref());
        example.is_none_or(|(known, _)| index < *known)
    }

    pub(crate) fn insert(&mut self, structure: &Structure, seen: &Occurrences) -> Result<bool> {
        let leaf = |at: usize| structure.leaves().get(at).cloned();
        self.attempt(|these| {
            let root = these.recorder.root(structure.treedef(), &leaf)?;
            these.count(root, seen.clone())
        })
    }

    fn insert_all(&mut self, other: &Structures) -> Result<()> {
        let mut last = None;
        for (at, Entry { root, pools, seen }) in other.entries.iter().enumerate() {
            let structure = view::structure(&other.recorder.interner, *root, pools)?;
            self.insert(&structure, seen)?;
            if other.last == Some(at) {
                last = self.last;
            }
        }
        self.last = last;
        Ok(())
    }

    /// The same, folded everywhere.
    pub(crate) fn clean(&self) -> Result<Cow<'_, Self>> {
        if self.recorder.places.changed {
            self.rebuilt().map(Cow::Owned)
        } else {
            Ok(Cow::Borrowed(self))
        }
    }

    /// The same without garbage, and with all documents folded as the last.
    fn rebuilt(&self) -> Result<Self> {
        let StructureRecorder { folds, ref interner, .. } = self.recorder;
        let mut clean = Structures::with(folds, interner.limits, usize::MAX); // there are no more
        clean.clean_size = NEVER_CLEAN; // nothing is removed meanwhile
        clean.insert_all(self)?;
        if clean.recorder.places.changed {
            // Now all places are known.
            clean.recorder.forget_nodes();
            (clean.entries, clean.documents) = (Vec::new(), 0);
            clean.insert_all(self)?;
        }
        (clean.next_index, clean.max_structures) = (self.next_index, self.max_structures);
        clean.clean_size = clean.recorder.size();
        Ok(clean.checked())
    }
}

/// The document, unless it is large.
fn example(document: &Tree<Leaf>) -> Option<Value> {
    let is_small = |cost: usize| cost <= LARGEST_EXAMPLE;
    let value = is_small(work(document.treedef().root())).then(|| Value::of(document).ok())??;
    Some(value).filter(|value| is_small(work_of(value)))
}

impl PartialEq for Structures {
    /// Whether both have counted the same, folded in the same way. Limits make no difference.
    fn eq(&self, other: &Self) -> bool {
        let same = self.recorder.folds == other.recorder.folds
            && (self.documents, self.next_index) == (other.documents, other.next_index);
        same && matches!((self.by_count(), other.by_count()), (Ok(a), Ok(b)) if a == b)
    }
}

impl fmt::Debug for Structures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        match self.by_count() {
            Ok(all) => map.entries(all.iter().map(|it| (it.structure.to_string(), it.count))),
            Err(error) => map.entry(&"error", &error),
        };
        map.finish()
    }
}
