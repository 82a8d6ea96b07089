//! The types of elements that numpy has beside numbers.

use treedef::Leaf;

use crate::datetime::Step;

/// A type of elements that are no numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NumpyType {
    /// `str`, `datetime64[ns]`
    pub(crate) name: String,
    /// How numpy's files name it in our order of bytes, `<U3`. `None` for what is no array.
    pub(crate) code: Option<String>,
    /// The bytes of an element.
    pub(crate) size: usize,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Four bytes for each character.
    Str,
    Bytes,
    Date(Step),
    Span(Step),
    /// Not read, with the reason.
    Unread(String),
}

impl NumpyType {
    /// An element as a leaf, or why it is none.
    pub(crate) fn leaf(&self, bytes: &[u8]) -> Result<Leaf, String> {
        let integer = || bytes.try_into().map_or(i64::MIN, i64::from_le_bytes); // 8 bytes
        match &self.kind {
            Kind::Str => {
                let codes = bytes.as_chunks().0.iter().map(|code| u32::from_le_bytes(*code));
                let text: Option<String> = codes.map(char::from_u32).collect();
                let text = text.ok_or("a text is no Unicode, as it has half of a character")?;
                Ok(text.trim_end_matches('\0').into())
            }
            Kind::Bytes => {
                let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                let bytes = bytes.get(..end).unwrap_or_default();
                Ok(match str::from_utf8(bytes) {
                    Ok(text) => text.into(),
                    Err(_) => Leaf::Bytes(bytes.into()),
                })
            }
            Kind::Date(step) => Ok(step.date(integer()).as_str().into()),
            Kind::Span(step) => Ok(step.span(integer()).as_str().into()),
            Kind::Unread(why) => Err(why.clone()),
        }
    }
}
