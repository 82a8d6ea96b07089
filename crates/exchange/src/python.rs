//! Python literals: `{'a': [0, (1, None)]}`. Every library of pytrees makes its own structure of one, by
//! `ast.literal_eval` and its `tree_structure`.
//!
//! A leaf is written as its index among ours. So the leaves of the literal, as any library flattens it, say how the leaves
//! are ordered there:
//!
//! ```
//! use treedef_exchange::python;
//!
//! let lowered = python::literal(&"Layer { w: [*; 2], b: * }".parse()?)?;
//! assert_eq!(lowered.data, "{'b': 2, 'w': [0, 1]}");
//! assert_eq!(lowered.order, [Some(2), Some(0), Some(1)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::HashSet;
use std::fmt::{self, Write};

use treedef::TreeDef;

use crate::error::{ErrorKind, Result, malformed};
use crate::lower::{Lowered, Lowering};
use crate::pytree::{MAX_DEPTH, PyKey, PyTree};
use crate::raise::{Raised, raise};

/// The structure as a literal, lowered as [`Lowering::new`] says. Dicts have their keys in order, so that JAX, optree and
/// torch flatten it alike; but `None` is a leaf to torch, which `order` does not count.
///
/// # Errors
///
/// When a key of a map cannot be a key of a dict, or two are the same to Python (`1` and `True`); when the structure is
/// nested deeper than 256 levels or has more nodes than [`Lowering::max_nodes`].
pub fn literal(treedef: &TreeDef) -> Result<Lowered<String>> {
    literal_with(treedef, &Lowering::new())
}

/// As [`literal`], with a choice of what is lowered.
///
/// # Errors
///
/// As there, and for what is not lowered.
pub fn literal_with(treedef: &TreeDef, lowering: &Lowering) -> Result<Lowered<String>> {
    let (tree, statics) = lowering.lower(treedef, |_| None)?;
    let tree = tree.sorted();
    let order = tree.leaves().into_iter().map(Some).collect();
    Ok(Lowered::new(tree.to_string(), order, statics, treedef))
}

/// The structure of a literal: of lists, tuples, dicts, `None`, and anything else that is a literal as a leaf.
///
/// The leaves are counted in the order of the text, which is that of JAX and optree where the keys of dicts stand in order.
///
/// # Errors
///
/// When the text is no literal, with the byte; when a key stands twice in a dict; when it is nested deeper than 256 levels.
///
/// ```
/// use treedef_exchange::python;
///
/// let raised = python::from_literal("{'w': [0.5, -1], 3: ('a', None)}")?;
/// assert_eq!(raised.treedef.to_string(), r#"{3i64: (*, None), "w": [*, *]}"#);
///
/// let error = python::from_literal("[1, {2}]").unwrap_err();
/// assert_eq!(error.to_string(), "expected `:`, found `}]` at byte 6");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_literal(text: &str) -> Result<Raised> {
    let mut parser = Parser { text, at: 0, leaves: 0 };
    let tree = parser.node(0)?;
    parser.skip_space();
    match parser.rest().is_empty() {
        true => raise(&tree, false),
        false => Err(parser.expected("the end")),
    }
}

/// As Python prints it, with the index of each leaf.
impl fmt::Display for PyTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PyTree::Leaf(index) => write!(f, "{index}"),
            PyTree::None => f.write_str("None"),
            PyTree::Tuple(children) => {
                write_items(f, '(', children)?;
                f.write_str(if children.len() == 1 { ",)" } else { ")" })
            }
            PyTree::List(children) => {
                write_items(f, '[', children)?;
                f.write_char(']')
            }
            PyTree::Dict(entries) => {
                f.write_char('{')?;
                for (index, (key, child)) in entries.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    write!(f, "{key}: {child}")?;
                }
                f.write_char('}')
            }
            PyTree::Custom { inside, .. } => inside.fmt(f),
        }
    }
}

fn write_items(f: &mut fmt::Formatter<'_>, open: char, children: &[PyTree]) -> fmt::Result {
    f.write_char(open)?;
    for (index, child) in children.iter().enumerate() {
        f.write_str(if index > 0 { ", " } else { "" })?;
        write!(f, "{child}")?;
    }
    Ok(())
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    leaves: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip_space(&mut self) {
        let space = |char: char| matches!(char, ' ' | '\t' | '\n' | '\r');
        self.at += self.rest().len() - self.rest().trim_start_matches(space).len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expected(&self, what: &str) -> crate::Error {
        let found: String = self.rest().chars().take(20).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        malformed(self.at, format!("expected {what}, found {found}"))
    }

    fn node(&mut self, depth: usize) -> Result<PyTree> {
        if depth > MAX_DEPTH {
            let what = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(crate::Error::from(ErrorKind::Limit(what)).at_byte(self.at));
        }
        if self.eat("[") {
            return Ok(PyTree::List(self.items("]", depth)?.0));
        }
        if self.eat("(") {
            let (mut items, comma) = self.items(")", depth)?;
            return Ok(match (items.len(), comma) {
                (1, false) => items.pop().unwrap_or(PyTree::None), // there is one
                _ => PyTree::Tuple(items),
            });
        }
        if self.eat("{") {
            return self.dict(depth).map(PyTree::Dict);
        }
        match self.scalar()? {
            PyKey::None => Ok(PyTree::None),
            _ => {
                self.leaves += 1;
                Ok(PyTree::Leaf(self.leaves - 1))
            }
        }
    }

    /// Items up to `close`, and whether a comma follows the last.
    fn items(&mut self, close: &str, depth: usize) -> Result<(Vec<PyTree>, bool)> {
        let (mut items, mut comma) = (Vec::new(), false);
        while !self.eat(close) {
            if !items.is_empty() && !comma {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
            items.push(self.node(depth + 1)?);
            comma = self.eat(",");
        }
        Ok((items, comma))
    }

    fn dict(&mut self, depth: usize) -> Result<Vec<(PyKey, PyTree)>> {
        let (mut entries, mut comma) = (Vec::new(), true);
        let mut seen = HashSet::new();
        while !self.eat("}") {
            if !comma {
                return Err(self.expected("`,` or `}`"));
            }
            self.skip_space();
            let start = self.at;
            let key = self.key(depth)?;
            if !seen.insert(key.identity()) {
                return Err(malformed(start, format!("the key {key} stands twice")));
            }
            if !self.eat(":") {
                return Err(self.expected("`:`"));
            }
            entries.push((key, self.node(depth + 1)?));
            comma = self.eat(",");
        }
        Ok(entries)
    }

    fn key(&mut self, depth: usize) -> Result<PyKey> {
        if depth > MAX_DEPTH {
            let what = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(crate::Error::from(ErrorKind::Limit(what)).at_byte(self.at));
        }
        if !self.eat("(") {
            return self.scalar();
        }
        let (mut keys, mut comma) = (Vec::new(), false);
        while !self.eat(")") {
            if !keys.is_empty() && !comma {
                return Err(self.expected("`,` or `)`"));
            }
            keys.push(self.key(depth + 1)?);
            comma = self.eat(",");
        }
        Ok(match (keys.len(), comma) {
            (1, false) => keys.pop().unwrap_or(PyKey::None), // there is one
            _ => PyKey::Tuple(keys),
        })
    }

    fn scalar(&mut self) -> Result<PyKey> {
        self.skip_space();
        let rest = self.rest();
        let word = rest.split(|char: char| !char.is_alphanumeric() && char != '_').next();
        match (word.unwrap_or_default(), self.peek()) {
            ("None", _) => Ok(self.word("None", PyKey::None)),
            ("True", _) => Ok(self.word("True", PyKey::Bool(true))),
            ("False", _) => Ok(self.word("False", PyKey::Bool(false))),
            (_, Some('\'' | '"')) => self.string(),
            ("b" | "B", _)
                if rest.chars().nth(1).is_some_and(|quote| matches!(quote, '\'' | '"')) =>
            {
                self.at += 1;
                self.bytes()
            }
            (_, Some('-' | '+' | '.' | '0'..='9')) => self.number(),
            _ => Err(self.expected("a literal")),
        }
    }

    fn word(&mut self, word: &str, key: PyKey) -> PyKey {
        self.at += word.len();
        key
    }

    fn number(&mut self) -> Result<PyKey> {
        let start = self.at;
        let number = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '_');
        let mut digits = String::new();
        if let Some(sign @ ('-' | '+')) = self.peek() {
            digits.push(sign);
            self.at += 1;
        }
        while let Some(char) = self.peek() {
            let exponent = digits.ends_with(['e', 'E']) && matches!(char, '-' | '+');
            if !number(char) && !exponent {
                break;
            }
            digits.push(char);
            self.at += 1; // these are ASCII
        }
        digits.retain(|char| char != '_');
        if let Ok(value) = digits.parse::<i128>() {
            return Ok(PyKey::Int(value));
        }
        if let Ok(value) = digits.parse::<u128>() {
            return Ok(PyKey::Large(value));
        }
        // Rust reads `inf` and `nan` too, which are names in Python.
        let plain = digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'-' | b'+'));
        match digits.parse::<f64>() {
            Ok(value) if plain => Ok(PyKey::Float(value)),
            _ => {
                self.at = start;
                Err(self.expected("a number"))
            }
        }
    }

    fn string(&mut self) -> Result<PyKey> {
        let quote = self.bump();
        let mut text = String::new();
        loop {
            let start = self.at;
            match self.bump() {
                None | Some('\n') => return Err(malformed(start, "a string that does not end")),
                char if char == quote => return Ok(PyKey::Str(text)),
                Some('\\') => text.extend(self.escape(start, true)?),
                Some(char) => text.push(char),
            }
        }
    }

    fn bytes(&mut self) -> Result<PyKey> {
        let quote = self.bump();
        let mut bytes = Vec::new();
        loop {
            let start = self.at;
            let char = match self.bump() {
                None | Some('\n') => return Err(malformed(start, "a string that does not end")),
                char if char == quote => return Ok(PyKey::Bytes(bytes)),
                Some('\\') => self.escape(start, false)?,
                Some(char) if char.is_ascii() => Some(char),
                Some(_) => return Err(malformed(start, "bytes have ASCII characters only")),
            };
            let byte = char.map(|char| u8::try_from(u32::from(char)));
            bytes.extend(byte.transpose().map_err(|_| malformed(start, "no byte"))?);
        }
    }

    /// What follows a backslash; nothing, if that is the end of a line.
    fn escape(&mut self, start: usize, is_text: bool) -> Result<Option<char>> {
        let unknown = || malformed(start, "an escape that is not known");
        Ok(Some(match self.bump().ok_or_else(unknown)? {
            '\n' => return Ok(None),
            char @ ('\\' | '\'' | '"') => char,
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'v' => '\x0b',
            'x' => self.hex(2).ok_or_else(unknown)?,
            'u' if is_text => self.hex(4).ok_or_else(unknown)?,
            'U' if is_text => self.hex(8).ok_or_else(unknown)?,
            '0'..='7' => {
                self.at -= 1;
                let octal: String =
                    self.rest().chars().take(3).take_while(|char| char.is_digit(8)).collect();
                self.at += octal.len();
                let code = u32::from_str_radix(&octal, 8).ok().and_then(char::from_u32);
                code.ok_or_else(unknown)?
            }
            _ => return Err(unknown()),
        }))
    }

    fn hex(&mut self, digits: usize) -> Option<char> {
        let text = self.rest().get(..digits)?;
        let all = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = u32::from_str_radix(text, 16).ok().filter(|_| all)?;
        self.at += digits;
        char::from_u32(code)
    }
}
