//! JSON and JSON lines.

use std::borrow::Cow;

use serde::de::DeserializeSeed;
use serde::{Deserialize, Serialize};
use treedef::__private::OrBug;
use treedef::{Leaf, Tree, TreeSeed};

use crate::color::{counted, grouped};
use crate::failure::Failure;

/// A reader of JSON without a limit of depth, which the tree has.
pub(crate) fn json_of(bytes: &[u8]) -> serde_json::Deserializer<serde_json::de::SliceRead<'_>> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    json.disable_recursion_limit();
    json
}

/// Reads a document with nothing after it.
pub(crate) fn json_tree(bytes: &[u8], seed: TreeSeed) -> serde_json::Result<Tree<Leaf>> {
    let mut json = json_of(bytes);
    let tree = seed.deserialize(&mut json)?;
    json.end()?;
    Ok(tree)
}

/// JSON whose texts have `\\u202e` for characters that a terminal would interpret instead of
/// showing.
pub(crate) fn visible(json: &str) -> Cow<'_, str> {
    let is_invisible = |char: char| char != '\n' && treedef::__private::is_invisible(char);
    if !json.contains(is_invisible) {
        return json.into();
    }
    let mut shown = String::with_capacity(json.len() + 8);
    for char in json.chars() {
        if is_invisible(char) {
            let units = char.encode_utf16(&mut [0; 2]).to_vec();
            shown.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            shown.push(char);
        }
    }
    shown.into()
}

/// The maximum number of lines that are listed.
const LISTED: usize = 10;

/// Lines with something to report.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct BadLines {
    pub(crate) count: u64,
    /// The indices of the first ones, with column and message.
    pub(crate) first: Vec<(u64, Option<usize>, String)>,
}

impl BadLines {
    pub(crate) fn of(index: u64, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        let message = message.get(..end).or_bug().to_owned();
        BadLines { count: 1, first: vec![(index, Some(error.column()), message)] }
    }

    pub(crate) fn with_message(index: u64, message: &str) -> Self {
        BadLines { count: 1, first: vec![(index, None, message.to_owned())] }
    }

    pub(crate) fn add(&mut self, other: BadLines) {
        self.count += other.count;
        self.first.extend(other.first);
        self.first.sort();
        self.first.truncate(LISTED);
    }

    /// The same with greater indices.
    pub(crate) fn shifted(mut self, by: u64) -> Self {
        for (index, ..) in &mut self.first {
            *index += by;
        }
        self
    }

    /// The first lines, each with its column and its message. `place` converts an index to a place.
    pub(crate) fn listed(&self, place: impl Fn(u64) -> String) -> impl Iterator<Item = Failure> {
        self.first.iter().map(move |(index, column, message)| match column {
            Some(column) => Failure::at(format!("{}:{column}", place(*index)), message),
            None => Failure::at(place(*index), message),
        })
    }

    /// Lists them on standard error, with a heading for one and for many.
    pub(crate) fn warn(&self, place: impl Fn(u64) -> String, [one, many]: [&str; 2]) {
        self.listed(place).for_each(|failure| message!("treedef: {failure}"));
        let listed = u64::try_from(self.first.len()).unwrap_or(u64::MAX);
        let rest = match self.count.saturating_sub(listed) {
            0 => String::new(),
            more => format!(" ({} not listed)", grouped(more)),
        };
        if self.count > 0 {
            message!("treedef: {}{rest}", counted(self.count, one, many));
        }
    }
}

/// The headings for lines that are skipped.
pub(crate) const BAD: [&str; 2] =
    ["line cannot be read and is skipped", "lines cannot be read and are skipped"];
/// The headings for lines with duplicate keys.
pub(crate) const TWICE: [&str; 2] =
    ["line has a key twice, and both are kept", "lines have a key twice, and both are kept"];

/// The hint for documents as jq prints them.
pub(crate) const NOT_LINES: &str =
    " (documents over several lines: `jq -c .` writes each on one line)";

/// The failure of a document in JSON, whose message ends with the position.
pub(crate) fn json_failure(error: serde_json::Error) -> Failure {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let position = format!(" at line {line} column {column}");
    match message.strip_suffix(&position) {
        Some(message) if column == 0 => Failure::at(line, message),
        Some(message) => Failure::at(format!("{line}:{column}"), message),
        None => Failure::new(message),
    }
}
