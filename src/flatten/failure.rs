//! Errors of a walk, and their paths.

use std::mem;

use crate::error::{Error, Result};
use crate::path::{Key, Path};

use super::tape::{Failure, Tape};

const SWALLOWED: &str = "a `Serialize` implementation swallowed an error and went on";

impl Tape {
    /// A child of a compound failed. It began at `at`.
    #[cold]
    #[inline(never)]
    pub(super) fn child_failed(&mut self, at: usize, error: Error) -> Error {
        self.fail(at, false).levels += 1; // at most the open compounds
        error
    }

    /// A key failed, or a compound is not a compound. The path is that of the compound.
    #[cold]
    pub(super) fn compound_failed(&mut self, at: usize, error: Error) -> Error {
        self.fail(at, true).levels = 0;
        error
    }

    /// An error of the tape itself at a place, with its path.
    #[cold]
    pub(super) fn failed_here(&mut self, at: usize, error: Error) -> Error {
        self.fail(at, false).levels = usize::MAX; // all that are open
        let path = self.failed_path();
        error.at(path)
    }

    fn fail(&mut self, at: usize, is_compound: bool) -> &mut Failure {
        (self.takes, self.room, self.keeping.before_label) = (0, 0, None);
        let Tape { words, follow, keeping, pending, cursor, .. } = self;
        self.failure.get_or_insert_with(|| {
            Box::new(Failure {
                words: mem::take(words),
                frames: mem::take(&mut follow.frames),
                kept: mem::take(&mut keeping.values),
                pending: mem::take(pending),
                cursor: *cursor,
                has_begun: at != *cursor,
                is_compound,
                levels: 0,
            })
        })
    }

    /// The error of a value that goes on after an error.
    #[cold]
    pub(super) fn swallowed(&mut self) -> Error {
        if let Some(failure) = &mut self.failure {
            failure.levels = 0;
        }
        Error::protocol(SWALLOWED)
    }

    /// The result of a walk, with the path of its error.
    pub(super) fn ended(&mut self, end: Result<usize>) -> Result<usize> {
        match end {
            Ok(at) if self.failure.is_none() => Ok(at),
            Ok(_) => {
                // The compound around the last one that failed has ignored it.
                let failed = self
                    .failure
                    .as_mut()
                    .map_or(0, |failure| mem::replace(&mut failure.levels, usize::MAX));
                let path = self.failed_path();
                let keys = path.keys().get(..path.keys().len().saturating_sub(failed));
                let path = keys.unwrap_or_default().iter().cloned().collect();
                Err(Error::protocol(SWALLOWED).at(path))
            }
            Err(error) if self.failure.is_none() => Err(error),
            Err(error) => {
                let path = self.failed_path();
                Err(error.at(path))
            }
        }
    }

    /// The path of the failure.
    fn failed_path(&mut self) -> Path {
        let Some(failure) = self.failure.take() else { return Path::root() };
        let Failure { words, frames, mut kept, pending, cursor, has_begun, is_compound, levels } =
            *failure;
        (self.words, self.follow.frames) = (words, frames);
        let (mut at, mut leaves) = (cursor, pending);
        // The compounds inside of a value that is kept are not counted.
        let mut place =
            (Some(levels).filter(|levels| kept.is_empty() && *levels < usize::MAX), has_begun);
        // The keys, the innermost first.
        let mut keys: Vec<Key> = Vec::new();
        loop {
            let innermost = kept.pop();
            if at < self.words.len() {
                self.follow.write_followed(&mut self.words, at);
            }
            let first = innermost.as_ref().map_or(self.follow.base, |kept| kept.word);
            let words = self.words.get(first..).unwrap_or_default();
            let (labels, place) = (&mut self.labels.list, mem::take(&mut place));
            let early = self.early.as_mut().filter(|_| innermost.is_none());
            let nodes = early.and_then(|early| early.as_mut().ok()).unwrap_or(&mut self.nodes);
            let path = nodes.path(words, labels, leaves, place, self.settings.options);
            keys.extend(path.into_iter().rev());
            let Some(value) = innermost else { break };
            if value.is_key() {
                keys.clear();
            }
            self.words.truncate(value.word);
            self.follow.close_to(value.frame);
            (at, leaves) = (value.at, value.pending);
        }
        keys.drain(..keys.len().min(usize::from(is_compound)));
        keys.drain(..keys.len().saturating_sub(levels));
        self.failure = Some(Box::default()); // the walk has still failed
        keys.into_iter().rev().collect()
    }
}
