//! Copies the nodes of children that are like an earlier one, as in a list of enums.

use crate::bug::OrBug;
use crate::error::Result;
use crate::model::{Node, NodeKind, Word};

use super::super::nodes::{Count, SeenChild, UNSEEN, WordReader};
use super::super::word::{self, begins_with};

/// A child of a sequence is copied, not read, if it has the words of one of the first so many.
const MOST_SEEN: usize = 4;

/// The maximum number of words of such a child.
const MOST_SEEN_WORDS: usize = 64;

impl WordReader {
    /// A key was read. If the words of its value are those of the value before, this counts one more
    /// of that, and reads no words of it.
    pub(in crate::flatten) fn count_if_again(&mut self, words: &[Word]) -> Result<()> {
        let (Some(open), begin) = (self.open.last_mut(), self.so_far.word) else { return Ok(()) };
        if let Some(last) = open.last
            && let Some(before) = words.get(open.child.word..begin - 1) // the key was read
            && begins_with(words.get(begin..).or_bug(), before)
            && self.builder.orders.count_from(open.child.map) == 0
            && let Some(Node { leaves, maps, .. }) = self.builder.node(last)
        {
            open.child = self.so_far;
            open.children += 1; // at most the calls
            self.so_far.word += before.len(); // in range
            self.so_far.leaf += leaves; // at most the calls
            self.so_far.map += maps; // as above
            self.builder.lengthen(last, 1)?;
        }
        Ok(())
    }

    /// The first word of a value was read. If the value is a child of a sequence and has the words
    /// of one that came before, this copies the node of that one, and returns true.
    pub(in crate::flatten) fn copy_if_seen(&mut self, words: &[Word]) -> Result<bool> {
        let Some(open) = self.open.last_mut() else { return Ok(false) };
        let pays = self.seen.uncopied <= 4 * self.seen.copied + 64; // at most the words
        if open.head.kind != NodeKind::Seq || !pays {
            return Ok(false);
        }
        let begin = self.so_far.word - 1; // the word was read
        if self.seen.children.len() - open.first_seen < MOST_SEEN
            && let Some(node) = open.last
            && let Some(last) = words.get(open.child.word..begin)
            && self.builder.orders.count_from(open.child.map) == 0
        {
            let counted = last.last().is_some_and(|word| word.tag() == word::REPEAT);
            let words = open.child.word..begin - usize::from(counted); // there is a word
            if words.len() <= MOST_SEEN_WORDS {
                self.seen.children.push(SeenChild { words, node });
            }
        }
        let rest = words.get(begin..).or_bug();
        let is_it = |seen: &&SeenChild| {
            words.get(seen.words.clone()).is_some_and(|seen| begins_with(rest, seen))
        };
        let seen = self.seen.children.get(open.first_seen..).or_bug();
        let Some(SeenChild { words, node }) = seen.iter().find(is_it) else {
            self.seen.uncopied += 1; // at most the words
            return Ok(false);
        };
        let (words, node) = (words.len(), *node);
        self.seen.copied += 1; // at most the words
        open.child = Count { word: UNSEEN, ..self.so_far };
        let copy = self.builder.copy(node);
        if let Some(Node { leaves, maps, .. }) = self.builder.node(copy) {
            self.so_far.leaf += leaves; // at most the calls
            self.so_far.map += maps; // as above
        }
        self.so_far.word = begin + words; // in range
        open.last = Some(self.builder.join(open.last, copy, 1)?);
        open.next = self.builder.len();
        open.children += 1; // at most the calls
        Ok(true)
    }
}
