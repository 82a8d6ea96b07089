//! JSON5, which includes JSON with comments. A document is converted to JSON in which the common parts keep
//! their positions.

use treedef::__private::OrBug;
use treedef::{Leaf, Tree};

use crate::formats::cbor_numbers::of_base;
use crate::numbers::exact::{has_texts, is_number, text_of};
use crate::numbers::long_numbers::of_decimal;

/// Reads a document by a reader of JSON.
pub(crate) fn of_json5<E>(
    text: &str,
    read: impl Fn(&[u8]) -> Result<Tree<Leaf>, E>,
) -> Result<Tree<Leaf>, E> {
    // Numbers that occur nowhere else represent the ones that JSON does not have.
    let mut zeros = "1e9".to_owned();
    while text.contains(&zeros) {
        zeros.push('9');
    }
    let infinity = format!("{zeros}99999999999");
    let nan = format!("{zeros}99999999998");
    let mut writer = Json5Writer {
        rest: text,
        json: String::with_capacity(text.len()),
        ..Json5Writer::default()
    };
    (writer.infinity, writer.nan) = (&infinity, &nan);
    writer.all();
    let tree = read(writer.json.as_bytes())?;
    if !has_texts(&tree) {
        return Ok(tree);
    }
    Ok(tree.map(|leaf| match text_of(&leaf).as_deref() {
        Some(text) if text == nan => f64::NAN.into(),
        Some(text) if text.strip_prefix('-').unwrap_or(text) == infinity => {
            f64::INFINITY.copysign(if text == infinity { 1.0 } else { -1.0 }).into()
        }
        _ => leaf,
    }))
}

/// The number of JSON5 that JSON does not have.
pub(crate) fn number_of(leaf: &Leaf) -> Option<String> {
    let number = leaf.as_f64().filter(|number| !number.is_finite())?;
    let word = if number.is_nan() { "NaN" } else { "Infinity" };
    Some(if number == f64::NEG_INFINITY { format!("-{word}") } else { word.to_owned() })
}

#[derive(Default)]
struct Json5Writer<'t> {
    rest: &'t str,
    json: String,
    infinity: &'t str,
    nan: &'t str,
    /// The position of the last comma after a value, if nothing follows it.
    comma: Option<usize>,
    /// Whether a value was the last.
    is_behind_value: bool,
}

fn is_line_end(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Whether a character may be part of a name or a number.
fn is_of_word(char: char) -> bool {
    !char.is_whitespace() && !",:[]{}\"'/\u{feff}".contains(char)
}

/// The length of the space and the comments at the beginning of a text. For an unclosed comment, the slash
/// is left for the reader of JSON.
fn space_len(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = text.get(at..).or_bug();
        let space = rest.find(|char: char| !char.is_whitespace() && char != '\u{feff}');
        let (space, rest) = (
            space.unwrap_or(rest.len()),
            rest.trim_start_matches(|char: char| char.is_whitespace() || char == '\u{feff}'),
        );
        let comment = match (rest.starts_with("//"), rest.strip_prefix("/*")) {
            (true, _) => rest.find(is_line_end).unwrap_or(rest.len()),
            (_, Some(inside)) => inside.find("*/").map_or(0, |end| end + 4),
            _ => 0,
        };
        at += space + comment;
        if comment == 0 {
            return at;
        }
    }
}

impl Json5Writer<'_> {
    fn all(&mut self) {
        loop {
            let (space, rest) = self.rest.split_at(space_len(self.rest)); // of whole characters
            self.space(space);
            self.rest = rest;
            let Some(first) = rest.chars().next() else { return };
            match first {
                '"' | '\'' => self.text(first),
                ',' => {
                    self.comma = Some(self.json.len()).filter(|_| self.is_behind_value);
                    self.mark(first, false);
                    continue;
                }
                ']' | '}' => {
                    if let Some(at) = self.comma {
                        self.json.replace_range(at..=at, " ");
                    }
                    self.mark(first, true);
                }
                _ if is_of_word(first) => self.word(),
                _ => self.mark(first, false),
            }
            self.comma = None;
        }
    }

    /// Writes as many bytes and lines.
    fn space(&mut self, space: &str) {
        for char in space.chars() {
            match char {
                '\n' | '\r' | '\t' => self.json.push(char),
                _ => self.json.extend(std::iter::repeat_n(' ', char.len_utf8())),
            }
        }
    }

    fn mark(&mut self, char: char, is_value: bool) {
        self.json.push(char);
        self.rest = self.rest.get(char.len_utf8()..).or_bug();
        self.is_behind_value = is_value;
    }

    fn word(&mut self) {
        let end = self.rest.find(|char| !is_of_word(char)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end); // of whole characters
        let behind = rest.get(space_len(rest)..).or_bug();
        let is_name = word.starts_with(|char: char| char.is_alphabetic() || "_$\\".contains(char));
        if behind.starts_with(':') && is_name {
            self.json += &format!("\"{word}\"");
        } else {
            self.json += &self.value(word).unwrap_or_else(|| word.to_owned());
        }
        self.rest = rest;
        self.is_behind_value = true;
    }

    /// The number in JSON that a word represents.
    fn value(&self, word: &str) -> Option<String> {
        let number = word.strip_prefix(['-', '+']).unwrap_or(word);
        let sign = if word.starts_with('-') { "-" } else { "" };
        match number {
            "Infinity" => return Some(format!("{sign}{}", self.infinity)),
            "NaN" => return Some(self.nan.to_owned()),
            _ => {}
        }
        let lower = number.to_ascii_lowercase();
        if let Some(digits) = lower.strip_prefix("0x") {
            let short = u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
            let long = || match of_base(&lower)? {
                Leaf::I128(number) => Some(number.get().to_string()),
                Leaf::U128(number) => Some(number.get().to_string()),
                leaf => text_of(&leaf),
            };
            return Some(format!("{sign}{}", short.map(|it| it.to_string()).or_else(long)?));
        }
        let mantissa = number.split(['e', 'E']).next().or_bug();
        let has_digit = mantissa.bytes().any(|byte| byte.is_ascii_digit());
        let digits = mantissa.strip_prefix('0').and_then(|rest| rest.chars().next());
        let has_zero = digits.is_some_and(|next| next.is_ascii_digit());
        // A point makes it a float.
        let zero = if number.ends_with('.') { "0" } else { "" };
        let decimal = format!("{sign}{}", of_decimal(&format!("{number}{zero}")));
        (has_digit && !has_zero && !word.contains('_') && is_number(&decimal)).then_some(decimal)
    }

    /// Writes a text. Invalid parts are kept, so that the reader of JSON reports them.
    fn text(&mut self, quote: char) {
        self.json.push('"');
        let mut chars = self.rest.chars();
        chars.next();
        // Line continuations.
        let mut line_ends = String::new();
        while let Some(char) = chars.next() {
            if char == quote {
                self.json.push('"');
                break;
            }
            match char {
                '"' => self.json += "\\\"",
                '\t' => self.json += "\\t",
                '\\' => match chars.next() {
                    Some(end) if is_line_end(end) => {
                        line_ends.push(end);
                        if end == '\r' && chars.as_str().starts_with('\n') {
                            line_ends.extend(chars.next());
                        }
                    }
                    Some('v') => self.json += "\\u000b",
                    Some('0') if !chars.as_str().starts_with(|c: char| c.is_ascii_digit()) => {
                        self.json += "\\u0000";
                    }
                    Some('x') => {
                        let digits: String = chars.by_ref().take(2).collect();
                        self.json += &format!("\\u00{digits}");
                    }
                    Some(
                        char @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u' | '1'..='9'),
                    ) => {
                        self.json.push('\\');
                        self.json.push(char);
                    }
                    Some(char) => self.json.push(char),
                    None => self.json.push('\\'),
                },
                _ => self.json.push(char),
            }
        }
        self.space(&line_ends);
        self.rest = chars.as_str();
        self.is_behind_value = true;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let read = |bytes: &[u8]| {
            crate::numbers::long_numbers::of_json(bytes, |it| serde_json::from_slice(it))
        };
        let tree = of_json5(text, read).map_err(|error: serde_json::Error| error.to_string())?;
        Ok(tree.to_string())
    }

    #[test]
    fn documents_are_read_as_they_stand() {
        for (text, tree) in [
            (
                "{\"a\": 1, // one, \"b\": 2\n \"c\": [1, /* , */ 2 /**/ , ], }",
                r#"{"a": 1u64, "c": [1u64, 2u64]}"#,
            ),
            ("{a: 'it''s', }", "error"),
            (
                r#"{a: 'it\'s "x"', $b_1: "y\'", ü: 'z\
 on', "//": "/* x */, ]"}"#,
                r#"{"$b_1": "y'", "//": "/* x */, ]", "a": "it's \"x\"", "ü": "z on"}"#,
            ),
            (r"'\x41\v\0\u0042\a'", r#""A\u{b}\u{0}Ba""#),
            (
                "[+1, -.5, 5., 0xFF, -0x1f, 0xFFFFFFFFFFFFFFFFFF, 1e3, 5.e3]",
                "[1u64, -0.5, 5.0, 255u64, -31i64, 4722366482869645213695i128, 1000.0, 5000.0]",
            ),
            ("[Infinity, -Infinity, +Infinity, null, true]", "[inf, -inf, inf, (), true]"),
            ("{true: {null: 1}, Infinity: 0}", r#"{"Infinity": 0u64, "true": {"null": 1u64}}"#),
            ("\u{feff}\u{a0}[1]// end", "[1u64]"),
            ("// only\n/* a */ 7", "7u64"),
            (
                "{\"$serde_json::private::RawValue\": 'x',}",
                r#"{"$serde_json::private::RawValue": "x"}"#,
            ),
            ("[1e9, Infinity, 1e99]", "[1000000000.0, inf, 1e99]"),
        ] {
            match tree {
                "error" => assert!(read(text).is_err(), "{text}"),
                _ => assert_eq!(read(text).unwrap(), tree, "{text}"),
            }
        }
        assert!(read("[NaN]").unwrap().contains("nan"));
    }

    #[test]
    fn errors_have_the_places_of_the_document() {
        for (text, error) in [
            ("// x\n{\"a\": /* y */ x}", "expected value at line 2 column 15"),
            ("[,]", "expected value at line 1 column 2"),
            ("[1,,]", "expected value at line 1 column 4"),
            ("{,}", "key must be a string at line 1 column 2"),
            ("{a:}", "expected value at line 1 column 6"),
            ("[01]", "invalid number at line 1 column 3"),
            ("[1_0]", "expected `,` or `]` at line 1 column 3"),
            ("'x", "EOF while parsing a string at line 1 column 2"),
            ("/* x", "expected value at line 1 column 1"),
            (
                "['a\nb']",
                "control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0",
            ),
            ("'\\x4'", "invalid escape at line 1 column 7"),
            ("[1 2]", "expected `,` or `]` at line 1 column 4"),
        ] {
            assert_eq!(read(text).unwrap_err(), error, "{text}");
        }
    }

    /// A valid JSON document stays the same.
    #[test]
    fn json_is_json5() {
        let mut rng = fastrand::Rng::with_seed(9);
        let parts = [
            "[",
            "]",
            "{",
            "}",
            ",",
            ":",
            "\"a\"",
            "\"\\n\\\"\"",
            "1",
            "-0.5e3",
            "null",
            " ",
            "\n",
            "true",
            "\"//\"",
        ];
        let mut is_json = 0;
        for _ in 0..30_000 {
            let text: String = (0..rng.usize(1..9)).map(|_| *rng.choice(&parts).unwrap()).collect();
            let Ok(tree) = serde_json::from_str::<Tree<Leaf>>(&text) else {
                let _ = read(&text);
                continue;
            };
            assert_eq!(read(&text).unwrap(), tree.to_string(), "{text}");
            is_json += 1;
        }
        assert!(is_json > 1_000, "{is_json}");
    }
}
