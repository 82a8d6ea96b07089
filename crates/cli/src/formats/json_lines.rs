//! JSON lines. Only one line is in memory at a time.

use std::io::{BufRead, BufReader, Read};

use treedef::{Leaf, NodeKind, Tree, TreeDefBuilder, TreeSeed};

use crate::args::{DuplicateKeys, Limits};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::formats::duplicate_keys::{self, resolved};
use crate::formats::json::{BAD, BadLines, NOT_LINES, TWICE, json_failure, json_tree};
use crate::numbers::long_numbers;
use crate::tensors::trees::more_than;

/// Reads lines into one buffer.
pub(crate) struct LineReader<'a> {
    reader: BufReader<Box<dyn Read + Send + 'a>>,
    pub(crate) line: Vec<u8>,
    /// That of the line, from 1.
    pub(crate) number: u64,
}

impl<'a> LineReader<'a> {
    pub(crate) fn of(reader: Box<dyn Read + Send + 'a>) -> Self {
        let reader = BufReader::with_capacity(1 << 16, reader);
        LineReader { reader, line: Vec::new(), number: 0 }
    }

    /// Reads the next line. Returns `false` at the end.
    pub(crate) fn advance(&mut self, limits: Limits) -> Result<bool> {
        let most = limits.max_bytes();
        self.line.clear();
        self.number += 1;
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        let read = self.reader.by_ref().take(limit).read_until(b'\n', &mut self.line)?;
        if self.line.len() > most {
            return Err(Failure::at(self.number, format!("a line of {}", more_than(most))));
        }
        if self.line.ends_with(b"\n") {
            self.line.pop();
        }
        Ok(read > 0)
    }
}

/// Options for the documents of lines.
#[derive(Clone, Copy)]
pub(crate) struct LineOptions {
    pub(crate) skip_bad: bool,
    pub(crate) duplicate_keys: DuplicateKeys,
    pub(crate) limits: Limits,
}

/// The documents of lines, one after another.
pub(crate) struct Lines<'a> {
    lines: LineReader<'a>,
    options: LineOptions,
    /// Skipped lines, and lines with a duplicate key.
    bad: BadLines,
    twice: BadLines,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(reader: Box<dyn Read + Send + 'a>, options: LineOptions) -> Self {
        let (bad, twice) = (BadLines::default(), BadLines::default());
        Lines { lines: LineReader::of(reader), options, bad, twice }
    }

    /// The next document, with the number of its line.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Tree<Leaf>)>> {
        let LineOptions { skip_bad, duplicate_keys, limits } = self.options;
        while self.lines.advance(limits)? {
            let (number, line) = (self.lines.number, &self.lines.line);
            if line.trim_ascii().is_empty() {
                continue;
            }
            let seed = TreeSeed::new(limits.of_trees());
            let error = match long_numbers::of_json(line, |line| json_tree(line, seed)) {
                Ok(tree) => {
                    let resolved = resolved(tree, line, Format::Json, duplicate_keys);
                    if skip_bad
                        && resolved.is_err()
                        && let Err(error) = duplicate_keys::unique(line)
                    {
                        self.bad.add(BadLines::of(number, &error));
                        continue;
                    }
                    let (tree, warning) = resolved.map_err(|failure| failure.on_line(number))?;
                    warning
                        .iter()
                        .for_each(|it| self.twice.add(BadLines::with_message(number, it)));
                    return Ok(Some((number, tree)));
                }
                Err(error) => error,
            };
            if !skip_bad {
                let is_open = matches!(line.trim_ascii(), b"{" | b"[");
                let hint = if is_open { NOT_LINES } else { " (`--skip-bad` skips such lines)" };
                let failure = json_failure(error).on_line(number);
                let message = format!("{}{hint}", failure.message());
                return Err(failure.with_message(message));
            }
            self.bad.add(BadLines::of(number, &error));
        }
        Ok(None)
    }

    /// Lists skipped lines, and lines with a duplicate key.
    pub(crate) fn warn(&self, name: &str) {
        let place = |line| format!("{name}:{line}");
        self.twice.warn(place, TWICE);
        self.bad.warn(place, BAD);
    }

    /// All documents as one sequence, with a function applied to each leaf.
    pub(crate) fn joined<L>(&mut self, make: impl Fn(Leaf) -> L) -> Result<Tree<L>> {
        let mut builder = TreeDefBuilder::new().limits(self.options.limits.of_trees());
        builder.open(NodeKind::Seq, 1)?;
        let mut all = Vec::new();
        while let Some((number, tree)) = self.next()? {
            let (treedef, leaves) = tree.into_parts();
            let inserted = builder.insert(&treedef, 1);
            inserted.map_err(|error| Failure::from(error).on_line(number))?;
            all.extend(leaves.into_iter().map(&make));
        }
        builder.close()?;
        Ok(Tree::new(builder.finish()?, all)?)
    }
}
