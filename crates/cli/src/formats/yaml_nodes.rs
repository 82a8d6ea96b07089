//! YAML with the tag and the place of each value, for documents that have tags, or numbers that a 64-bit
//! float cannot reproduce.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_saphyr::{Location, Spanned, Tagged};
use treedef::{Flattener, Leaf, Tree, Value};

use crate::args::Limits;
use crate::failure::{Failure, Result};
use crate::formats::cbor_numbers::of_base;
use crate::numbers::exact;
use crate::numbers::long_numbers;

/// The tag of bytes, in any spelling.
const BINARY: &str = "tag:yaml.org,2002:binary";

/// A value with its tag.
pub(crate) struct Node {
    tag: Option<String>,
    at: Location,
    /// That of the file.
    line: usize,
    content: Content,
}

enum Content {
    Null,
    Scalar(Leaf),
    /// The index of a leaf.
    Taken(u64),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// Whether the text may have a tag of bytes or times, such a number, or a text that the reader takes for
/// one. Other tags do not change a value.
pub(crate) fn may_need(text: &str) -> bool {
    let is_between = |c: char| c.is_whitespace() || ",:[]{}\"'".contains(c);
    let is_long = |word: &str| is_long_number(word) || is_foreign_number(word);
    // A tag is written out, or a part of it is in a directive, or a character of it is
    // percent-encoded.
    let is_tag = |(at, _): (usize, &str)| {
        let tag = text.get(at..).and_then(|rest| rest.split(char::is_whitespace).next());
        tag.is_some_and(|tag| ["binary", "timestamp", "%"].iter().any(|part| tag.contains(part)))
    };
    text.contains("%TAG")
        || text.match_indices('!').any(is_tag)
        || text.split(is_between).any(is_long)
}

/// Whether a word is a number that 64 bits cannot hold.
pub(crate) fn is_long_number(word: &str) -> bool {
    exact::long(word).or_else(|| of_base(word)).is_some()
}

/// Whether the reader takes a word for a number although YAML 1.2 does not: an integer with a sign before its
/// base, in base 2, or with a capital letter for the base, or NaN with a sign.
fn is_foreign_number(word: &str) -> bool {
    let number = word.trim_start_matches(['-', '+']);
    if matches!(number, ".nan" | ".NaN" | ".NAN") {
        return number.len() != word.len();
    }
    let (base, letter) = match number.as_bytes() {
        [b'0', letter @ (b'x' | b'X'), ..] => (16, letter),
        [b'0', letter @ (b'o' | b'O'), ..] => (8, letter),
        [b'0', letter @ (b'b' | b'B'), ..] => (2, letter),
        _ => return false,
    };
    let is_of_core = number.len() == word.len() && matches!(letter, b'x' | b'o');
    !is_of_core && number.chars().skip(2).all(|digit| digit.is_digit(base))
}

impl Node {
    /// The node with its scalars verbatim, from the text of a document that begins after this many lines of
    /// its file.
    pub(crate) fn settled(mut self, text: &str, lines: usize) -> Result<Self> {
        YamlText { text, lines }.settle_all(&mut self)?;
        Ok(self)
    }

    pub(crate) fn into_tree(mut self, limits: Limits) -> Result<Tree<Leaf>> {
        let mut leaves = Vec::new();
        self.take(&mut leaves);
        let indices: Tree<u64> = Flattener::new().limits(limits.of_trees()).tree_as(&self)?;
        Ok(indices.map(|index| {
            let leaf = usize::try_from(index).ok().and_then(|index| leaves.get_mut(index));
            leaf.map_or(Leaf::None, |leaf| std::mem::replace(leaf, Leaf::None))
        }))
    }

    /// Takes the leaves out, except leaves in keys. The recursion is as deep as the reader of YAML allows.
    fn take(&mut self, leaves: &mut Vec<Leaf>) {
        match &mut self.content {
            Content::List(all) => all.iter_mut().for_each(|node| node.take(leaves)),
            Content::Map(entries) => entries.iter_mut().for_each(|(_, value)| value.take(leaves)),
            Content::Scalar(leaf) => {
                let index = u64::try_from(leaves.len()).unwrap_or(u64::MAX);
                leaves.push(std::mem::replace(leaf, Leaf::None));
                self.content = Content::Taken(index);
            }
            Content::Null | Content::Taken(_) => {}
        }
    }

    /// Line and column of the first duplicate key.
    pub(crate) fn place_of_second_key(&self) -> Option<String> {
        match &self.content {
            Content::List(all) => all.iter().find_map(Node::place_of_second_key),
            Content::Map(entries) => {
                let mut keys = HashSet::new();
                entries.iter().find_map(|(key, value)| {
                    let is_new = keys.insert(Value::of(key).ok()?);
                    let (line, column) = (key.line, key.at.column());
                    let place = (!is_new).then(|| format!("{line}:{column}"));
                    place.or_else(|| value.place_of_second_key())
                })
            }
            _ => None,
        }
    }

    /// Whether a text contains this.
    pub(crate) fn has_text(&self, part: &str) -> bool {
        match &self.content {
            Content::List(all) => all.iter().any(|node| node.has_text(part)),
            Content::Map(entries) => {
                entries.iter().any(|(key, value)| key.has_text(part) || value.has_text(part))
            }
            Content::Scalar(leaf) => leaf.as_str().is_some_and(|text| text.contains(part)),
            Content::Null | Content::Taken(_) => false,
        }
    }
}

/// The text of a document, and the number of lines of the file before it.
struct YamlText<'t> {
    text: &'t str,
    lines: usize,
}

impl YamlText<'_> {
    /// The recursion is as deep as the reader of YAML allows.
    fn settle_all(&self, node: &mut Node) -> Result<()> {
        self.settle(node, false)?;
        match &mut node.content {
            Content::List(all) => all.iter_mut().try_for_each(|node| self.settle_all(node)),
            Content::Map(entries) => entries.iter_mut().try_for_each(|(key, value)| {
                self.settle_key(key)?;
                self.settle_all(value)
            }),
            _ => Ok(()),
        }
    }

    fn settle_key(&self, node: &mut Node) -> Result<()> {
        self.settle(node, true)?;
        match &mut node.content {
            Content::List(all) => all.iter_mut().try_for_each(|node| self.settle_key(node)),
            Content::Map(entries) => entries.iter_mut().try_for_each(|(key, value)| {
                self.settle_key(key)?;
                self.settle_key(value)
            }),
            _ => Ok(()),
        }
    }

    /// Converts a scalar: to bytes, or to a number that was rounded.
    fn settle(&self, node: &mut Node, is_key: bool) -> Result<()> {
        let line = usize::try_from(node.at.line()).unwrap_or(usize::MAX);
        node.line = line.saturating_add(self.lines);
        let Content::Scalar(leaf) = &mut node.content else { return Ok(()) };
        if let (Some(BINARY), Some(text)) = (node.tag.as_deref(), leaf.as_str()) {
            let text: String = text.split_ascii_whitespace().collect();
            let bytes = STANDARD.decode(text).map_err(|_| {
                let place = format!("{}:{}", node.line, node.at.column());
                Failure::at(place, "tagged as `!!binary`, and is not base64")
            })?;
            *leaf = Leaf::from(bytes);
            return Ok(());
        }
        let is_untagged = node.tag.as_deref().is_none_or(|tag| tag.ends_with(":inT"));
        let word = place(node.at).and_then(|place| self.text.get(place)).unwrap_or_default();
        let number = match leaf {
            Leaf::F64(_) | Leaf::U64(_) | Leaf::I64(_)
                if node.tag.is_none() && is_foreign_number(word) =>
            {
                Some(Leaf::from(word))
            }
            Leaf::F64(float) => {
                // A number with the tag of a number may be in quotes.
                let word = word.trim_matches(['"', '\'']);
                let is_exact = word.parse() == Ok(*float);
                exact::long(&long_numbers::of_decimal(word)).filter(|_| is_exact)
            }
            // The reader returns a text for such an integer; one in quotes is a text.
            Leaf::Str(text) if is_untagged && **text == *word => of_base(word),
            _ => None,
        };
        if let Some(number) = number {
            // A key that is compared with no number is a text.
            *leaf = match exact::text_of(&number).filter(|_| is_key) {
                Some(text) => Leaf::from(text),
                None => number,
            };
        }
        Ok(())
    }
}

/// The bytes of a scalar.
pub(crate) fn place(at: Location) -> Option<Range<usize>> {
    let start = usize::try_from(at.span().byte_offset()?).ok()?;
    let length = usize::try_from(at.span().byte_len()?).ok()?;
    Some(start..start.checked_add(length)?)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(yaml: D) -> Result<Self, D::Error> {
        let Tagged(spanned, tag) = Tagged::<Spanned<Content>>::deserialize(yaml)?;
        Ok(Node { tag, at: spanned.defined, line: 0, content: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(yaml: D) -> Result<Self, D::Error> {
        yaml.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Content, E> {
        Ok(Content::Scalar(bool.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Content, E> {
        Ok(Content::Scalar(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Content, E> {
        Ok(Content::Scalar(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Content, E> {
        Ok(Content::Scalar(number.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Scalar(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
        let mut all = Vec::new();
        while let Some(node) = seq.next_element()? {
            all.push(node);
        }
        Ok(Content::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Content::Map(entries))
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.content {
            Content::Null => to.serialize_unit(),
            Content::Scalar(leaf) => leaf.serialize(to),
            Content::Taken(index) => to.serialize_u64(*index),
            Content::List(all) => to.collect_seq(all),
            Content::Map(entries) => {
                to.collect_map(entries.iter().map(|(key, value)| (key, value)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::may_need;

    #[test]
    fn tags_and_marks_that_say_nothing_of_a_value_cost_nothing() {
        for text in ["a: hello!\n", "- !Ref x\n", "a: '!'\nb: 100%\nc: timestamp\n", "! [1]"] {
            assert!(!may_need(text), "{text}");
        }
        for text in ["!!binary aGk=", "[!<tag:yaml.org,2002:bin%61ry> x]", "- !!timestamp 2001\n"] {
            assert!(may_need(text), "{text}");
        }
        for text in ["%TAG !z! tag:yaml.org,2002:bin\n--- !z!ary x", "!!float \"1e400\""] {
            assert!(may_need(text), "{text}");
        }
    }
}
