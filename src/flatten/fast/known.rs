//! The structures that a thread has walked before.

use std::mem;
use std::sync::Arc;

use crate::bug::{OrBug, bug};
use crate::error::Result;
use crate::model::{Insertion, Options, TreeDef};
use crate::positions::Swap;

use super::super::labels::{Label, LabelTable, Most};
use super::super::nodes::{Made, WordReader, empty};
use super::super::word::{self, Word, same};
use super::early::WalkNodes;
use super::follow::{Follow, KnownStructure, MOST_KNOWN};

/// The maximum number of words of a structure that a thread remembers.
const MOST_KEPT_WORDS: usize = 1_024;

/// The labels of such a structure: 64 KiB of texts at most.
const MOST_LABELS: Most = Most { labels: 64, stored: 4_096 };

/// The maximum number of words for which a thread keeps room.
const MOST_SPARE_WORDS: usize = 131_072;

/// The maximum number of labels for which a thread keeps room.
const MOST_SPARE_LABELS: usize = 4_096;

/// The maximum number of open sequences for which a thread keeps room.
const MOST_SPARE_FRAMES: usize = 4_096;

fn is_small(words: usize, labels: usize) -> bool {
    words <= MOST_KEPT_WORDS && labels <= MOST_LABELS.labels
}

impl KnownStructure {
    /// What is lent has no words here, and is small.
    fn is_small(&self) -> bool {
        is_small(self.words.len(), self.labels.len())
    }

    /// Whether values of this structure are walked in the same way.
    fn is(&self, words: &[Word], labels: &[Label]) -> bool {
        same(&self.words, words)
            && self.labels.len() == labels.len()
            && self.labels.iter().zip(labels).all(|(a, b)| a.is_of(&b.value))
    }
}

/// A known structure as its treedef keeps it: without the encoding, which would own itself.
struct Cached {
    words: Vec<Word>,
    labels: Vec<Label>,
    swaps: Vec<Swap>,
    insertions: Option<Arc<[Insertion]>>,
}

impl Cached {
    /// Puts a structure beside its encoding.
    fn put(KnownStructure { words, labels, made }: KnownStructure) {
        let Made { treedef: TreeDef { encoding, insertions, .. }, swaps } = made;
        encoding.walk_cache.put(Box::new(Cached { words, labels, swaps, insertions }));
    }

    /// Takes the structure that is beside the encoding of `like`.
    fn take(like: &TreeDef) -> Option<KnownStructure> {
        let cached = like.encoding.walk_cache.take()?.downcast().ok()?;
        let Cached { words, labels, swaps, insertions } = *cached;
        let made = Made { treedef: TreeDef { insertions, ..like.clone() }, swaps };
        Some(KnownStructure { words, labels, made })
    }
}

impl Follow {
    /// Expects the structure of the last walk, or that of `like`, whose statics may be ignored.
    pub(in crate::flatten) fn begin(
        &mut self,
        words: &mut Vec<Word>,
        labels: &mut LabelTable,
        options: Options,
        like: Option<(&TreeDef, bool)>,
    ) {
        if let Some((like, ignore_statics)) = like {
            let is_it =
                |known: &KnownStructure| Arc::ptr_eq(&known.made.treedef.encoding, &like.encoding);
            match self.known.iter().position(is_it) {
                Some(0) => {}
                Some(place) => {
                    self.take_back(words, labels);
                    self.known.swap(0, place);
                }
                None => {
                    if let Some(large) = Cached::take(like) {
                        self.take_back(words, labels);
                        self.known.insert(0, large);
                    }
                }
            }
            (self.ignore_statics, self.keeps_large) = (ignore_statics, true);
        }
        let is_first = |first: &KnownStructure| first.made.treedef.encoding.options == options;
        if self.lent.is_none() || !self.known.first().is_some_and(is_first) {
            self.take_back(words, labels);
            self.lend(words, labels, options);
        } else {
            self.follows_known = true;
        }
    }

    /// Puts the words of the first known structure on the tape. They stay there when the walk ends,
    /// for the next one.
    fn lend(&mut self, words: &mut Vec<Word>, labels: &mut LabelTable, options: Options) {
        let Some(first) = self.known.first_mut() else { return };
        if first.made.treedef.encoding.options == options {
            self.lent = Some((first.words.len(), first.labels.len()));
            self.follows_known = true;
            *words = mem::take(&mut first.words);
            first.labels = labels.replace(mem::take(&mut first.labels));
        }
    }

    /// Takes them back.
    pub(in crate::flatten) fn take_back(&mut self, words: &mut Vec<Word>, labels: &mut LabelTable) {
        self.follows_known = false;
        let Some((num_words, num_labels)) = self.lent.take() else { return };
        let Some(first) = self.known.first_mut() else {
            return debug_assert!(false, "it was lent");
        };
        words.truncate(num_words);
        first.words = mem::take(words);
        first.labels = labels.replace(mem::take(&mut first.labels));
        first.labels.truncate(num_labels);
    }

    /// Follows another structure, whose first word this is.
    #[inline(never)]
    pub(in crate::flatten) fn follow_other(
        &mut self,
        words: &mut Vec<Word>,
        labels: &mut LabelTable,
        options: Options,
        first: Word,
    ) -> bool {
        let is_it = |known: &KnownStructure| {
            known.made.treedef.encoding.options == options
                && known.words.first().is_some_and(|word| word.is(first))
        };
        // The words of the first one are on the tape. A label has a number that is only known there.
        let other = self.known.iter().position(is_it);
        let Some(other) = other.filter(|_| !first.has_label()) else { return false };
        self.take_back(words, labels);
        if self.known.first().is_some_and(KnownStructure::is_small) {
            self.known.swap(0, other);
            self.lend(words, labels, options);
        }
        self.follows_known
    }

    /// Whether another label may come instead of the one at `at`.
    pub(in crate::flatten) fn overlooks(&self, at: usize, tag: word::Tag) -> bool {
        self.ignore_statics && tag == word::STATIC && self.lent.is_some_and(|(words, _)| at < words)
    }

    /// The structure of the value that ends at `at`.
    pub(in crate::flatten) fn structure(
        &mut self,
        words: &mut Vec<Word>,
        labels: &mut LabelTable,
        WalkNodes { reader, early }: &mut WalkNodes,
        options: Options,
        mut at: usize,
    ) -> Result<&Made> {
        if self.follows_known && at < words.len() {
            at = self.write_followed(words, at); // it ends earlier than was expected
        }
        // They are large: they are moved only if they are there.
        if early.is_some()
            && let Some(early) = early.take()
        {
            // What is read last goes on with the room of the early nodes.
            *reader = early?;
            let own = words.get(self.base..at).or_bug();
            self.large = Some(reader.made_of(own, &mut labels.list, options)?);
        } else if !self.follows_known {
            self.make(words, labels, reader, options, at)?;
        }
        let made = self.large.as_ref().or(self.known.first().map(|known| &known.made));
        made.ok_or_else(|| bug!("no structure was made"))
    }

    /// Makes the structure of the words that were written.
    fn make(
        &mut self,
        words: &mut Vec<Word>,
        labels: &mut LabelTable,
        reader: &mut WordReader,
        options: Options,
        at: usize,
    ) -> Result<()> {
        let own = words.get(self.base..at).or_bug();
        if own.len() <= MOST_KEPT_WORDS && (self.keeps_large || self.seen.come(own)) {
            let mut own = own.to_vec();
            if let Some(used) = labels.used(&mut own, MOST_LABELS) {
                self.take_back(words, labels);
                return self.remember(own, used, reader, options);
            }
        }
        if !self.keeps_large {
            labels.mark_single_uses(own, self.lent.map_or(0, |(_, labels)| labels));
        }
        self.large = Some(reader.made_of(own, &mut labels.list, options)?);
        Ok(())
    }

    /// Makes a structure that the thread may keep, unless it is known.
    fn remember(
        &mut self,
        words: Vec<Word>,
        mut labels: Vec<Label>,
        reader: &mut WordReader,
        options: Options,
    ) -> Result<()> {
        let known = &mut self.known;
        let is_it = |known: &KnownStructure| {
            known.made.treedef.encoding.options == options && known.is(&words, &labels)
        };
        if let Some(place) = known.iter().position(is_it) {
            known.swap(0, place);
            return Ok(());
        }
        let made = reader.made_of(&words, &mut labels, options)?;
        if let Some(first) = known.first_mut() {
            // Its room goes to the new one.
            let copy = first.words.as_slice().to_vec();
            let mut room = mem::replace(&mut first.words, copy);
            room.clear();
            room.extend_from_slice(&words);
            known.truncate(MOST_KNOWN - 1);
            known.insert(0, KnownStructure { words: room, labels, made });
        } else {
            known.push(KnownStructure { words, labels, made });
        }
        Ok(())
    }

    /// Remembers how a value of the structure `like` is walked: that of the value is equal.
    pub(in crate::flatten) fn remember_as(
        &mut self,
        words: &mut Vec<Word>,
        labels: &LabelTable,
        like: &TreeDef,
    ) {
        if let Some(mut made) = self.large.take() {
            made.treedef.encoding = Arc::clone(&like.encoding);
            let mut words = words.split_off(self.base.min(words.len()));
            if let Some(labels) = labels.used(&mut words, Most::ANY) {
                Cached::put(KnownStructure { words, labels, made });
            }
        } else if let Some(known) = self.known.first_mut() {
            known.made.treedef.encoding = Arc::clone(&like.encoding);
        }
    }

    /// Ends the walk. Only what the thread may keep stays.
    pub(in crate::flatten) fn end(&mut self, words: &mut Vec<Word>, labels: &mut LabelTable) {
        if self.keeps_large {
            if self.lent.is_some_and(|(words, labels)| !is_small(words, labels)) {
                self.take_back(words, labels);
            }
            if let Some(place) = self.known.iter().position(|known| !known.is_small()) {
                Cached::put(self.known.remove(place));
            }
        }
        let (num_words, num_labels) = self.lent.unwrap_or_default();
        words.truncate(num_words);
        words.shrink_to(MOST_SPARE_WORDS);
        labels.truncate(num_labels, MOST_SPARE_LABELS);
        if let Some(first) = self.known.first_mut() {
            first.words.shrink_to(MOST_SPARE_WORDS);
        }
        (self.base, self.ignore_statics, self.large) = (0, false, None);
        (self.follows_known, self.keeps_large, self.checks) = (false, false, 0);
        empty(&mut self.frames, MOST_SPARE_FRAMES);
    }
}
