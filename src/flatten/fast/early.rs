//! Makes the nodes of a long sequence while it is walked. So its words, which may need as much memory
//! as the nodes, are never all there.

use std::mem;

use crate::bug::OrBug;
use crate::error::Result;
use crate::model::Options;

use super::super::labels::Label;
use super::super::nodes::{UNSEEN, WordReader};
use super::super::word::Word;
use super::follow::Follow;

/// From this number of words on, nodes are made before the value ends.
pub(in crate::flatten) const EARLY_FROM: usize = 16_384;

/// Makes the nodes of a walk.
#[derive(Default)]
pub(in crate::flatten) struct WalkNodes {
    /// Its memory stays with the thread.
    pub(in crate::flatten) reader: WordReader,
    /// The nodes of the words that are no longer on the tape.
    pub(in crate::flatten) early: Option<Result<WordReader>>,
}

impl Follow {
    /// Takes the words off the tape that no later one is compared with, if they are most of it.
    /// Returns their number.
    #[inline(never)]
    pub(in crate::flatten) fn make_early(
        &mut self,
        words: &mut Vec<Word>,
        labels: &mut [Label],
        nodes: &mut WalkNodes,
        options: Options,
    ) -> usize {
        let Some(end) = self.settled().filter(|end| *end > words.len() / 2) else { return 0 };
        let settled = words.get(self.base..end).or_bug();
        let made = nodes.early.get_or_insert_with(|| Ok(mem::take(&mut nodes.reader)));
        if let Ok(reader) = made
            && let Err(error) = reader.read_part(settled, labels, options)
        {
            *made = Err(error);
        }
        let count = settled.len();
        words.drain(self.base..end);
        self.move_back(count);
        count
    }

    /// The end of the words that no later one is compared with: the outermost sequence may go on
    /// like its last element. `None` if all words are needed.
    fn settled(&self) -> Option<usize> {
        let [frame] = &self.frames[..] else { return None };
        let needs_all = self.follows_known || self.keeps_large || self.checks > 0;
        let end = frame.last.map_or(frame.start, |(first, _)| first);
        (frame.writes && !needs_all && end > self.base).then_some(end)
    }

    /// So many words before the last element were taken off the tape.
    fn move_back(&mut self, count: usize) {
        for frame in &mut self.frames {
            frame.start -= count; // it is behind them
            frame.last = frame.last.map(|(first, end)| (first - count, end - count)); // as above
        }
    }
}

impl WordReader {
    /// Reads the words of complete elements, and of what is around them so far.
    fn read_part(&mut self, words: &[Word], labels: &mut [Label], options: Options) -> Result<()> {
        self.options = options;
        self.read(words, labels)?;
        // No child can be found by its words any more.
        self.seen.children.clear();
        for open in &mut self.open {
            (open.child.word, open.first_seen) = (UNSEEN, 0);
        }
        Ok(())
    }
}
