//! JSON lines, counted in parallel in bounded memory.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use serde::de::{DeserializeSeed, Deserializer, Visitor};
use treedef::__private::{OrBug, limited};
use treedef::TreeSeed;
use treedef_structures::Structures;

use crate::args::{DuplicateKeys, ReadArgs};
use crate::failure::{Failure, Result};
use crate::formats::duplicate_keys::{self, last_ones};
use crate::formats::json::{BadLines, json_of, json_tree};
use crate::numbers::exact;
use crate::numbers::long_numbers;

/// The approximate number of bytes that one thread gets at once.
const BLOCK: usize = 1 << 20;
/// The maximum length of a line.
const LONGEST: usize = 1 << 30;
/// Whole lines, and the index of the first.
struct Block {
    first: u64,
    bytes: Vec<u8>,
}

/// Options for counting documents.
#[derive(Clone, Copy)]
pub(crate) struct CountOptions {
    /// Whether keys are folded. Then structures do not contain them.
    pub(crate) folds_keys: bool,
    /// Whether numbers that an `f64` cannot reproduce have their own kind.
    pub(crate) decimals: bool,
}

/// The counts of all lines and documents so far.
pub(crate) struct Tally {
    pub(crate) structures: Structures,
    pub(crate) bad: BadLines,
    /// The lines with duplicate keys, if the structures do not show them.
    pub(crate) twice: BadLines,
    /// The number of lines or documents that were read.
    pub(crate) lines: u64,
}

/// Counts lines.
pub(crate) struct LineCounter<'a> {
    /// An empty counter with the same options.
    pub(crate) nothing: Structures,
    pub(crate) options: CountOptions,
    pub(crate) reading: ReadArgs,
    pub(crate) threads: usize,
    pub(crate) strict: bool,
    /// Called with the number of bytes that were read.
    pub(crate) progress: &'a dyn Fn(usize),
}

impl LineCounter<'_> {
    /// Counts the documents of all lines. The index of a document is the number of its line,
    /// counted over all files.
    pub(crate) fn count(&self, reader: &mut dyn Read, tally: &mut Tally) -> Result<()> {
        let (to_workers, blocks) = mpsc::sync_channel::<Block>(self.threads);
        let (to_reader, empty) = mpsc::channel::<Vec<u8>>();
        let (blocks, stop) = (Mutex::new(blocks), AtomicBool::new(false));
        let nothing = self.nothing.clone();
        let (strict, reading, options) = (self.strict, self.reading, self.options);
        let mut read = Ok(());
        let work = |to_reader: mpsc::Sender<Vec<u8>>, structures: Structures| {
            let (bad, twice, fatal) = (BadLines::default(), BadLines::default(), None);
            let mut worker = Worker { structures, reading, options, bad, twice, fatal };
            loop {
                let next = blocks.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(block) = next else { break };
                worker.lines(&block);
                if worker.fatal.is_some() || strict && worker.bad.count > 0 {
                    stop.store(true, Ordering::Relaxed);
                }
                // The reader may have ended.
                let _ = to_reader.send(block.bytes);
            }
            worker
        };
        let results = std::thread::scope(|scope| {
            let work = &work;
            let start = |_| {
                let (to_reader, structures) = (to_reader.clone(), nothing.clone());
                scope.spawn(move || work(to_reader, structures))
            };
            let workers: Vec<_> = (0..self.threads.max(1)).map(start).collect();
            read = self.read(reader, &mut tally.lines, &to_workers, &empty, &stop);
            drop(to_workers);
            workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>()
        });
        for result in results {
            let worker = result.map_err(|_| Failure::new("a thread failed"))?;
            if let Some(failure) = worker.fatal {
                return Err(failure);
            }
            tally.bad.add(worker.bad);
            tally.twice.add(worker.twice);
            tally.structures.merge(&worker.structures)?;
        }
        read
    }

    fn read(
        &self,
        reader: &mut dyn Read,
        lines: &mut u64,
        workers: &mpsc::SyncSender<Block>,
        empty: &mpsc::Receiver<Vec<u8>>,
        stop: &AtomicBool,
    ) -> Result<()> {
        let mut rest = Vec::new();
        loop {
            let mut bytes = empty.try_recv().unwrap_or_default();
            bytes.clear();
            bytes.append(&mut rest);
            let is_end = fill(reader, &mut bytes, self.progress)?;
            let whole = match memchr::memrchr(b'\n', &bytes) {
                Some(last) if !is_end => last + 1,
                _ => bytes.len(),
            };
            rest.extend_from_slice(bytes.get(whole..).or_bug());
            bytes.truncate(whole);
            let first = *lines;
            *lines += lines_in(&bytes);
            if !bytes.is_empty() && workers.send(Block { first, bytes }).is_err() {
                return Err(Failure::new("a thread failed"));
            }
            if is_end || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }
}

fn lines_in(bytes: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', bytes).count();
    let open = usize::from(!bytes.is_empty() && !bytes.ends_with(b"\n"));
    u64::try_from(ends + open).unwrap_or(u64::MAX)
}

/// Reads a block that contains the end of a line. Returns whether there is no more.
fn fill(reader: &mut dyn Read, bytes: &mut Vec<u8>, progress: &dyn Fn(usize)) -> Result<bool> {
    loop {
        let before = bytes.len();
        let limit = u64::try_from(BLOCK).unwrap_or(u64::MAX);
        let read = (&mut *reader).take(limit).read_to_end(bytes)?;
        progress(read);
        if read == 0 {
            return Ok(true);
        }
        let new = bytes.get(before..).or_bug();
        if memchr::memchr(b'\n', new).is_some() {
            return Ok(false);
        }
        if bytes.len() > LONGEST {
            let error = io::Error::other("a line of more than 1 GiB; is this JSON lines?");
            return Err(error.into());
        }
    }
}

/// The reason why the document of a line was not counted.
pub(crate) enum Uncounted {
    /// It cannot be read.
    Unread(serde_json::Error),
    /// It can be read, but not be counted.
    Refused(treedef::Error),
}

/// Counts the document of a line with this index. If keys are folded, returns whether it has a
/// duplicate key.
pub(crate) fn count_line(
    structures: &mut Structures,
    (line, index): (&[u8], u64),
    reading: ReadArgs,
    options: CountOptions,
) -> Result<Option<String>, Uncounted> {
    structures.set_next_index(index);
    // Only the tree shows long integers and numbers beyond the range of `f64`.
    let is_plain = reading.duplicate_keys != DuplicateKeys::Last && !options.folds_keys;
    if is_plain && !options.decimals && !long_numbers::has_long_digits(line) {
        match structures.seed().deserialize(OneDocument(&mut json_of(line))) {
            Ok(_) => return Ok(None),
            // The tree gives the reason for the refusal.
            Err(_) => structures.set_next_index(index),
        }
    }
    let seed = TreeSeed::new(reading.limits.of_trees());
    let tree =
        long_numbers::of_json(line, |line| json_tree(line, seed)).map_err(Uncounted::Unread)?;
    let mut tree = exact::rounded_for_shapes(tree, options.decimals).map_err(Uncounted::Refused)?;
    let mut twice = None;
    if reading.duplicate_keys == DuplicateKeys::Last {
        tree = last_ones(tree).map_err(Uncounted::Refused)?;
    } else if options.folds_keys {
        twice =
            duplicate_keys::first(&tree).map(|(path, key)| duplicate_keys::message(&path, &key));
    }
    structures.add(&tree).map_err(Uncounted::Refused)?;
    Ok(twice)
}

struct Worker {
    structures: Structures,
    reading: ReadArgs,
    options: CountOptions,
    bad: BadLines,
    twice: BadLines,
    fatal: Option<Failure>,
}

impl Worker {
    fn lines(&mut self, block: &Block) {
        let mut start = 0;
        let mut index = block.first;
        let ends = memchr::memchr_iter(b'\n', &block.bytes).chain([block.bytes.len()]);
        for end in ends {
            if self.fatal.is_some() {
                break;
            }
            let line = block.bytes.get(start..end).or_bug();
            if !line.trim_ascii().is_empty() {
                self.line(line, index);
            }
            (start, index) = (end + 1, index + 1);
        }
    }

    fn line(&mut self, line: &[u8], index: u64) {
        let line = (line, index);
        match count_line(&mut self.structures, line, self.reading, self.options) {
            Ok(twice) => {
                twice
                    .iter()
                    .for_each(|message| self.twice.add(BadLines::with_message(index, message)));
            }
            Err(Uncounted::Unread(error)) => self.bad.add(BadLines::of(index, &error)),
            Err(Uncounted::Refused(error)) => {
                // All structures together exceed a limit, and so would each further line.
                let is_fatal = limited(&error)
                    .is_some_and(|what| !matches!(what, "levels" | "nodes to visit"));
                let failure = Failure::from(error);
                self.bad.add(BadLines::with_message(index, failure.message()));
                if is_fatal {
                    self.fatal.get_or_insert(failure);
                }
            }
        }
    }
}

/// A document with nothing after it, so that a document with trailing text is not counted.
struct OneDocument<'a, R>(&'a mut serde_json::Deserializer<R>);

impl<'de, R: serde_json::de::Read<'de>> Deserializer<'de> for OneDocument<'_, R> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        let value = self.0.deserialize_any(visitor)?;
        self.0.end()?;
        Ok(value)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    #[test]
    fn nothing_is_read_after_the_line_that_exceeds_a_limit() {
        let Command::Shapes(args) = Args::try_parse_from(["treedef", "shapes"]).unwrap().command
        else {
            panic!("another command")
        };
        let mut worker = Worker {
            structures: Structures::new().max_structures(1),
            reading: args.reading,
            options: CountOptions { folds_keys: false, decimals: false },
            bad: BadLines::default(),
            twice: BadLines::default(),
            fatal: None,
        };
        worker.lines(&Block { first: 0, bytes: b"[1]\n{\n[2]\ntrue\n{\n[3]\n".to_vec() });
        assert!(worker.fatal.is_some());
        assert_eq!((worker.structures.documents(), worker.bad.count), (2, 2));
    }
}
