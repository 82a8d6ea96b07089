//! Files of several documents, one after another.

use std::io::{BufRead, BufReader, Read};
use std::vec;

use serde::de::DeserializeSeed;
use treedef::{Leaf, Tree, TreeSeed};

use crate::args::{DuplicateKeys, Limits};
use crate::duplicates::{self, resolved};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::input::{Document, Input, text, warn};
use crate::json::{BAD, Bad, TWICE, json_failure, json_of};
use crate::tensors::more_than;
use crate::yaml;

/// Where a document is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is the file.
    Whole,
    /// It is a line, from 1.
    Line(u64),
    /// It is one of several, from 1.
    Document(u64),
}

impl Place {
    /// The place with the name of the file: `log.jsonl:3`, `service.yaml: document 2`.
    pub(crate) fn in_file(self, name: &str) -> String {
        match self {
            Place::Whole => name.to_owned(),
            Place::Line(line) => format!("{name}:{line}"),
            Place::Document(number) => format!("{name}: document {number}"),
        }
    }

    /// The name of the file and the place in it, for JSON.
    pub(crate) fn to_json(self, name: &str) -> serde_json::Map<String, serde_json::Value> {
        let place = match self {
            Place::Whole => None,
            Place::Line(line) => Some(("line", line)),
            Place::Document(number) => Some(("document", number)),
        };
        let place = place.map(|(key, number)| (key.to_owned(), number.into()));
        [("file".to_owned(), name.into())].into_iter().chain(place).collect()
    }
}

/// The documents of a file.
pub(crate) struct Documents {
    name: String,
    source: Source,
}

enum Source {
    Lines(Lines),
    All(vec::IntoIter<(Place, Tree<Leaf>)>),
}

struct Lines {
    lines: LineReader,
    /// What was passed over, and what has a key twice.
    bad: Bad,
    twice: Bad,
    skip_bad: bool,
    choice: DuplicateKeys,
    limits: Limits,
}

impl Documents {
    /// A file that is one document.
    pub(crate) fn of(name: String, tree: Tree<Leaf>) -> Self {
        Documents { name, source: Source::All(vec![(Place::Whole, tree)].into_iter()) }
    }

    /// The next document.
    pub(crate) fn next(&mut self) -> Result<Option<(Place, Tree<Leaf>)>> {
        let name = &self.name;
        let Lines { lines, bad, twice, skip_bad, choice, limits } = match &mut self.source {
            Source::All(all) => return Ok(all.next()),
            Source::Lines(lines) => lines,
        };
        while lines.advance(*limits).map_err(|failure| failure.in_file(name))? {
            let (number, line) = (lines.number, &lines.line);
            if line.trim_ascii().is_empty() {
                continue;
            }
            let mut json = json_of(line);
            let read = TreeSeed::new(limits.of_trees()).deserialize(&mut json);
            let place = Place::Line(number);
            let of_line = |failure: Failure| failure.on_line(number).in_file(name);
            let error = match read.and_then(|tree| json.end().map(|()| tree)) {
                Ok(tree) => {
                    let resolved = resolved(tree, line, Format::Json, *choice);
                    if *skip_bad
                        && resolved.is_err()
                        && let Err(error) = duplicates::unique(line)
                    {
                        bad.add(Bad::of(number, &error));
                        continue;
                    }
                    let (tree, warning) = resolved.map_err(of_line)?;
                    warning.iter().for_each(|warning| twice.add(Bad::said(number, warning)));
                    return Ok(Some((place, tree)));
                }
                Err(error) => error,
            };
            if !*skip_bad {
                return Err(of_line(json_failure(error)));
            }
            bad.add(Bad::of(number, &error));
        }
        Ok(None)
    }

    /// Lists the lines that were passed over, and those that have a key twice.
    pub(crate) fn tell(&self) {
        if let Source::Lines(Lines { bad, twice, .. }) = &self.source {
            let place = |line| Place::Line(line).in_file(&self.name);
            twice.tell(place, TWICE);
            bad.tell(place, BAD);
        }
    }
}

/// Reads lines into one buffer.
pub(crate) struct LineReader {
    reader: BufReader<Box<dyn Read + Send>>,
    pub(crate) line: Vec<u8>,
    /// That of the line, from 1.
    pub(crate) number: u64,
}

impl LineReader {
    pub(crate) fn of(reader: Box<dyn Read + Send>) -> Self {
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

impl Input {
    /// As [`document`](Self::document), and whether it is a sequence of documents: of JSON lines,
    /// or of a YAML file with several.
    pub(crate) fn document_of_many(self) -> Result<(Document, bool)> {
        match self.format {
            Format::Yaml => {
                let Source::All(all) = self.documents()?.source else {
                    return Err(Failure::new("no documents"));
                };
                let is_many = all.len() > 1;
                let joined = yaml::joined(all.map(|(_, tree)| tree).collect())?;
                Ok((Document::Tree(joined), is_many))
            }
            format => Ok((self.document()?, format == Format::Jsonl)),
        }
    }

    /// The documents one after another, with their places. Of JSON lines, one is in memory at a
    /// time.
    pub(crate) fn documents(self) -> Result<Documents> {
        let Input { skip_bad, duplicate_keys: choice, limits, format, .. } = self;
        let name = self.name.clone();
        let all = match format {
            Format::Jsonl => {
                let lines = LineReader::of(self.reader);
                let (bad, twice) = (Bad::default(), Bad::default());
                let lines = Lines { lines, bad, twice, skip_bad, choice, limits };
                return Ok(Documents { name, source: Source::Lines(lines) });
            }
            Format::Yaml => self.with_bytes(|bytes, format, limits| {
                let strict = choice == DuplicateKeys::Error;
                let trees = yaml::trees(text(bytes)?, limits, strict)?;
                let is_one = trees.len() == 1;
                let placed = (1..).zip(trees).map(|(number, tree)| {
                    let place = if is_one { Place::Whole } else { Place::Document(number) };
                    let (tree, warning) = resolved(tree, bytes, format, choice)?;
                    warning.iter().for_each(|it| warn(&place.in_file(&name), it));
                    Ok((place, tree))
                });
                placed.collect::<Result<Vec<_>>>()
            })?,
            _ => return Ok(Documents::of(name, self.tree()?)),
        };
        Ok(Documents { name, source: Source::All(all.into_iter()) })
    }
}
