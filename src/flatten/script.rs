//! The structures that a thread has walked before, and the script of each.
//!
//! A script has the words of a walk, its labels, the swaps that sort its leaves, and the order of the entries of
//! its maps. It is never changed, so any number of walks and threads follow it at a time. When they are stored, and
//! how long: see [`walk`](super::walk).

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;

use crate::model::{Encoding, Insertion, Limits, Options, Script, Swap, TreeDef, Value, Word};

use super::labels::is_same_label;
use super::word::{MOST_SCRIPT_WORDS, same};

/// The maximum number of structures that a thread remembers. With one, two that take turns take three times as
/// long.
const MOST_KNOWN: usize = 8;

impl Script {
    pub(super) fn new(
        words: Vec<Word>,
        labels: Vec<Value>,
        swaps: Vec<Swap>,
        insertions: Option<Arc<[Insertion]>>,
    ) -> Arc<Self> {
        let (words, labels, swaps) = (words.into(), labels.into(), swaps.into());
        Arc::new(Script { words, labels, swaps, insertions })
    }

    /// Whether values of these words and labels are walked in the same way.
    fn is(&self, words: &[Word], labels: &[Value]) -> bool {
        same(&self.words, words)
            && self.labels.len() == labels.len()
            && self.labels.iter().zip(labels).all(|(a, b)| is_same_label(a, b))
    }
}

/// A structure and its script.
#[derive(Clone)]
pub(super) struct KnownStructure {
    pub(super) encoding: Arc<Encoding>,
    pub(super) script: Arc<Script>,
    /// The script is of another structure, which differs in statics alone. The statics of a value are not compared.
    pub(super) ignores_statics: bool,
}

impl KnownStructure {
    pub(super) fn new(encoding: Arc<Encoding>, script: Arc<Script>) -> Self {
        KnownStructure { encoding, script, ignores_statics: false }
    }

    /// The structure `like`, for values that equal it except for statics. The caller knows that this structure is `like`
    /// or differs from it in statics alone.
    pub(super) fn as_ignoring_statics_of(&self, like: &TreeDef) -> Self {
        let (encoding, script) = (Arc::clone(&like.encoding), Arc::clone(&self.script));
        KnownStructure { encoding, script, ignores_statics: true }
    }

    /// The structure `like`, if its script is beside it.
    pub(super) fn beside(like: &TreeDef) -> Option<Self> {
        let script = like.encoding.script.get()?;
        Some(KnownStructure::new(Arc::clone(&like.encoding), script))
    }

    /// Whether both share one [`Encoding`]. An equal one at another address does not count.
    pub(super) fn is_of(&self, like: &TreeDef) -> bool {
        Arc::ptr_eq(&self.encoding, &like.encoding)
    }

    /// The structure of a value that was walked by the script.
    pub(super) fn treedef(&self, limits: Limits) -> TreeDef {
        let encoding = Arc::clone(&self.encoding);
        TreeDef { encoding, insertions: self.script.insertions.clone(), limits, walked: true }
    }
}

/// Whether a thread may keep a structure: few words may stand for many nodes, and few nodes have many keys.
pub(super) fn is_small(encoding: &Encoding) -> bool {
    encoding.nodes.len() <= 2 * MOST_SCRIPT_WORDS && encoding.stored() <= 6 * MOST_SCRIPT_WORDS
}

/// The structures that a thread remembers.
#[derive(Default)]
pub(super) struct Memory {
    /// The structures that occurred twice, or once in `flatten_like`, the most recently used first.
    known: Vec<KnownStructure>,
    /// The structure of the last `flatten_like` that ignored statics, with a script of the walked value.
    pub(super) ignoring_statics: Option<KnownStructure>,
    /// The hashes of the last structures that occurred once. Most of these never occur again, so copies
    /// would not pay.
    once: [u64; MOST_KNOWN],
    next: usize,
    hasher: DefaultHashBuilder,
    /// The number of leaves for which the next walk makes room: as many as the last one had, if few.
    pub(super) leaves: usize,
}

impl Memory {
    /// Notes the hash of these words. Returns whether it was among the last eight hashes: then the words are worth a
    /// copy. If other words have the same hash, the copy was for nothing, and nothing else happens.
    pub(super) fn note(&mut self, words: &[Word]) -> bool {
        let hash = self.hasher.hash_one(words);
        let again = self.once.contains(&hash);
        if !again {
            self.once[self.next] = hash; // in range
            self.next = (self.next + 1) % MOST_KNOWN;
        }
        again
    }

    /// The last structure, if it has these options.
    pub(super) fn last(&self, options: Options) -> Option<&KnownStructure> {
        self.known.first().filter(|last| last.encoding.options == options)
    }

    /// Whether `known` is the structure that this thread used last. A script stored in a treedef is not in the
    /// thread's memory, so for it the answer is no.
    pub(super) fn ends_with(&self, known: Option<&KnownStructure>) -> bool {
        self.known
            .first()
            .zip(known)
            .is_some_and(|(last, known)| Arc::ptr_eq(&last.script, &known.script))
    }

    /// The first structure for which this is true. From now on it is the most recently used one.
    fn find(&mut self, matches: impl Fn(&KnownStructure) -> bool) -> Option<&KnownStructure> {
        let place = self.known.iter().position(matches)?;
        self.known.get_mut(..=place)?.rotate_right(1);
        self.known.first()
    }

    /// The structure that shares its [`Encoding`] with `like`, if the thread or the treedef has its script.
    pub(super) fn like(&mut self, like: &TreeDef, ignores_statics: bool) -> Option<KnownStructure> {
        if !ignores_statics {
            let known = self.find(|known| known.is_of(like)).cloned();
            return known.or_else(|| KnownStructure::beside(like));
        }
        let ignoring = self.ignoring_statics.as_ref().filter(|known| known.is_of(like));
        ignoring.cloned().or_else(|| Some(self.like(like, false)?.as_ignoring_statics_of(like)))
    }

    /// A structure with these options whose script begins with this word.
    pub(super) fn begins_with(&mut self, options: Options, first: Word) -> Option<&KnownStructure> {
        self.find(|known| {
            known.encoding.options == options
                && known.script.words.first().is_some_and(|word| word.is(first))
        })
    }

    /// The structure with these options, words and labels.
    pub(super) fn find_equal(
        &mut self,
        options: Options,
        words: &[Word],
        labels: &[Value],
    ) -> Option<&KnownStructure> {
        self.find(|known| known.encoding.options == options && known.script.is(words, labels))
    }

    pub(super) fn add(&mut self, known: KnownStructure) {
        self.known.truncate(MOST_KNOWN - 1);
        self.known.insert(0, known);
    }

    /// The last structure has an encoding elsewhere, which is equal. It is kept once, if the keys and statics also agree
    /// in what equality ignores: a value that is walked by the script gets those of the encoding.
    pub(super) fn share(&mut self, encoding: &Arc<Encoding>) {
        let are_same = |last: &KnownStructure| {
            let values = last.encoding.node_data.iter().zip(&encoding.node_data);
            let mut values = values.flat_map(|(a, b)| a.values().iter().zip(b.values()));
            values.all(|(a, b)| is_same_label(a, b))
        };
        if let Some(last) = self.known.first_mut().filter(|last| are_same(last)) {
            last.encoding = Arc::clone(encoding);
        }
    }
}
