//! Files of several documents, one after another.

use std::vec;

use treedef::{Leaf, Tree};

use crate::args::DuplicateKeys;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::formats::duplicate_keys::resolved;
use crate::formats::json_lines::Lines;
use crate::formats::yaml;
use crate::reading::input::{Input, warn};
use crate::reading::parse::{Document, text};

/// The place of a document in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentPlace {
    /// It is the file.
    Whole,
    /// It is a line, from 1.
    Line(u64),
    /// It is one of several, from 1.
    Document(u64),
}

impl DocumentPlace {
    /// The place with the name of the file: `log.jsonl:3`, `service.yaml: document 2`.
    pub(crate) fn in_file(self, name: &str) -> String {
        match self {
            DocumentPlace::Whole => name.to_owned(),
            DocumentPlace::Line(line) => format!("{name}:{line}"),
            DocumentPlace::Document(number) => format!("{name}: document {number}"),
        }
    }

    /// A finding in one of several documents, with its place.
    pub(crate) fn with(self, name: &str, mut found: serde_json::Value) -> serde_json::Value {
        if let Some(object) = found.as_object_mut().filter(|_| self != DocumentPlace::Whole) {
            object.extend(self.to_json(name));
        }
        found
    }

    /// The name of the file and the place in it, for JSON.
    pub(crate) fn to_json(self, name: &str) -> serde_json::Map<String, serde_json::Value> {
        let place = match self {
            DocumentPlace::Whole => None,
            DocumentPlace::Line(line) => Some(("line", line)),
            DocumentPlace::Document(number) => Some(("document", number)),
        };
        let place = place.map(|(key, number)| (key.to_owned(), number.into()));
        [("file".to_owned(), name.into())].into_iter().chain(place).collect()
    }
}

/// The documents of a file.
pub(crate) struct Documents {
    name: String,
    source: DocumentSource,
}

enum DocumentSource {
    Lines(Lines<'static>),
    All(vec::IntoIter<(DocumentPlace, Tree<Leaf>)>),
}

impl Documents {
    /// A file that is one document.
    pub(crate) fn of(name: String, tree: Tree<Leaf>) -> Self {
        Documents {
            name,
            source: DocumentSource::All(vec![(DocumentPlace::Whole, tree)].into_iter()),
        }
    }

    /// The next document.
    pub(crate) fn next(&mut self) -> Result<Option<(DocumentPlace, Tree<Leaf>)>> {
        match &mut self.source {
            DocumentSource::All(all) => Ok(all.next()),
            DocumentSource::Lines(lines) => {
                let next = lines.next().map_err(|failure| failure.in_file(&self.name))?;
                Ok(next.map(|(number, tree)| (DocumentPlace::Line(number), tree)))
            }
        }
    }

    /// Lists the lines that were skipped, and the lines that have a key twice.
    pub(crate) fn warn(&self) {
        if let DocumentSource::Lines(lines) = &self.source {
            lines.warn(&self.name);
        }
    }
}

impl Input {
    /// As [`document`](Self::document), and whether it is a sequence of documents: of JSON lines,
    /// or of a YAML file with several.
    pub(crate) fn document_of_many(self) -> Result<(Document, bool)> {
        match self.format {
            Format::Yaml => {
                let DocumentSource::All(all) = self.documents()?.source else {
                    return Err(Failure::new("no documents"));
                };
                let is_many = all.len() > 1;
                let joined = yaml::joined(all.map(|(_, tree)| tree).collect())?;
                Ok((Document::Tree(joined), is_many))
            }
            format => Ok((self.document()?, format == Format::Jsonl)),
        }
    }

    /// The documents one after another, with their places. Of JSON lines, only one is in memory at
    /// a time.
    pub(crate) fn documents(self) -> Result<Documents> {
        let (choice, format) = (self.duplicate_keys, self.format);
        let name = self.name.clone();
        let all = match format {
            Format::Jsonl => {
                let lines = DocumentSource::Lines(self.lines());
                return Ok(Documents { name, source: lines });
            }
            Format::Yaml => self.with_bytes(|bytes, format, limits| {
                let strict = choice == DuplicateKeys::Error;
                let trees = yaml::trees(text(bytes)?, limits, strict)?;
                let is_one = trees.len() == 1;
                let placed = (1..).zip(trees).map(|(number, tree)| {
                    let place =
                        if is_one { DocumentPlace::Whole } else { DocumentPlace::Document(number) };
                    let (tree, warning) = resolved(tree, bytes, format, choice)?;
                    warning.iter().for_each(|it| warn(&place.in_file(&name), it));
                    Ok((place, tree))
                });
                placed.collect::<Result<Vec<_>>>()
            })?,
            _ => return Ok(Documents::of(name, self.tree()?)),
        };
        Ok(Documents { name, source: DocumentSource::All(all.into_iter()) })
    }
}
