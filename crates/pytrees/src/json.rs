//! JSON with ordered entries, as deep as a structure can be.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use treedef::__private::private_struct;

use crate::error::{Error, ErrorKind, Result, malformed, quoted};
use crate::py_key::MAX_DEPTH;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a whole text.
    pub fn parse(text: &str) -> Result<Json> {
        // A level of a treespec is an object and a list.
        if let Some(offset) = deeper_than(text, 2 * MAX_DEPTH + 8) {
            let what = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(Error::from(ErrorKind::limit("levels", what)).at_byte(offset));
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer.disable_recursion_limit(); // its depth was counted
        let parsed =
            Json::deserialize(&mut deserializer).and_then(|json| deserializer.end().map(|()| json));
        parsed.map_err(|error| malformed(json_offset(text, &error), error.to_string()))
    }

    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(entries) => {
                entries.iter().find(|(key, _)| key == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::Str(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Json]> {
        match self {
            Json::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_entries(&self) -> Option<&[(String, Json)]> {
        match self {
            Json::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// Its kind, for errors.
    pub fn described(&self) -> String {
        match self {
            Json::Null => "null".to_owned(),
            Json::Bool(value) => value.to_string(),
            Json::Int(value) => format!("the number {value}"),
            Json::Float(value) => format!("the number {value}"),
            Json::Str(text) => format!("the text {}", quoted(text)),
            Json::List(_) => "a list".to_owned(),
            Json::Object(_) => "an object".to_owned(),
        }
    }

    pub fn as_usize(&self) -> Option<usize> {
        match self {
            Json::Int(value) => usize::try_from(*value).ok(),
            _ => None,
        }
    }
}

/// The byte at which brackets are nested deeper than `most`.
fn deeper_than(text: &str, most: usize) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > most {
                    return Some(at);
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The byte of an error that has a line and a column.
pub fn json_offset(text: &str, error: &serde_json::Error) -> usize {
    let before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    before.map(str::len).sum::<usize>() + error.column().saturating_sub(1)
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

/// A number as `serde_json` reads it: with its feature `arbitrary_precision`, which another crate of the build may set, it
/// is passed on as a text.
fn number(text: &str) -> Option<Json> {
    match text.parse() {
        Ok(integer) if text != "-0" => Some(Json::Int(integer)),
        _ => text.parse().ok().filter(|float: &f64| float.is_finite()).map(Json::Float),
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Int(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Str(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        // The only private struct of JSON.
        if private_struct::<A>().is_some() {
            map.next_key::<IgnoredAny>()?;
            let text: String = map.next_value()?;
            let number = number(&text);
            return number.ok_or_else(|| A::Error::custom(format_args!("no number: {text}")));
        }
        let (mut entries, mut seen) = (Vec::new(), std::collections::HashSet::new());
        while let Some((key, value)) = map.next_entry::<String, Json>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format_args!("the key {key:?} occurs twice")));
            }
            entries.push((key, value));
        }
        Ok(Json::Object(entries))
    }
}
