//! The notation of folded structures, as `shapes` prints it: `[str; 0–5]`, `{*: u64}`, `int`; and
//! `{"tls"?: …}` for values that may be missing or null.
//!
//! A folded part is replaced by a newtype with a name of its own, so that the library can read the
//! rest.

use std::fmt;
use std::sync::Arc;

use treedef::__private::OrBug;
use treedef::{Edit, LeafKind, NodeKind, Tree, TreeDef};

use crate::args::Limits;
use crate::color::{tokens, without_null};
use crate::failure::{Failure, Result};
use crate::tensors::trees::TensorLeaf;

/// The expected kind of a leaf.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ExpectedKind {
    /// Unknown.
    Any,
    Kind(LeafKind),
    /// `int`, `float` or `number`.
    Numbers(NumberClass),
    Tensor(TensorLeaf),
    /// A folded sequence.
    List(Arc<FoldedChildren>),
    /// A folded map.
    Map(Arc<FoldedChildren>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NumberClass {
    Integers,
    Floats,
    All,
}

/// The elements of a sequence or the values of a map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FoldedChildren {
    /// The minimum and maximum number; `None` for any.
    pub(crate) lengths: Option<(usize, usize)>,
    /// The alternatives: each child must have one of these forms.
    pub(crate) forms: Vec<Tree<ExpectedKind>>,
}

impl FoldedChildren {
    /// `0–5 elements`
    pub(crate) fn length(&self) -> String {
        match self.lengths {
            None => "any number of elements".to_owned(),
            Some((1, 1)) => "1 element".to_owned(),
            Some((least, most)) if least == most => format!("{least} elements"),
            Some((least, most)) => format!("{least}–{most} elements"),
        }
    }
}

impl fmt::Display for ExpectedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExpectedKind::Any => f.write_str("a scalar"),
            ExpectedKind::Kind(kind) => kind.fmt(f),
            ExpectedKind::Numbers(NumberClass::Integers) => f.write_str("an integer"),
            ExpectedKind::Numbers(NumberClass::Floats) => f.write_str("a float"),
            ExpectedKind::Numbers(NumberClass::All) => f.write_str("a number"),
            ExpectedKind::Tensor(tensor) => tensor.fmt(f),
            ExpectedKind::List(folded) => write!(f, "a sequence of {}", folded.length()),
            ExpectedKind::Map(_) => f.write_str("a map"),
        }
    }
}

/// Whether a text is the output of `show` for several documents in one file.
pub(crate) fn is_of_many(text: &str) -> bool {
    let counts =
        text.lines().next().and_then(|line| Some(line.strip_prefix('#')?.rsplit_once(": ")?.1));
    let count = counts.and_then(|counts| counts.rsplit(", ").next());
    count.is_some_and(|count| count.ends_with(" document") || count.ends_with(" documents"))
}

/// Whether a text begins like the output of `show` or `shapes`.
pub(crate) fn is_printed(start: &[u8]) -> bool {
    start.starts_with(b"#") || number_of_structures(start).is_some()
}

/// The number of structures, if a text is the output of `shapes`: `20,000 documents, 3 structures`.
fn number_of_structures(text: &[u8]) -> Option<&str> {
    let head = std::str::from_utf8(text.split(|byte| *byte == b'\n').next()?).ok()?;
    let (documents, structures) = head.trim_end().split_once(", ")?;
    documents.strip_suffix(" documents").or(documents.strip_suffix(" document"))?;
    structures.strip_suffix(" structures").or(structures.strip_suffix(" structure"))
}

/// The lines of the structure, without the lines before it if `shapes` printed one structure.
fn lines(text: &str) -> Result<std::str::Lines<'_>> {
    let mut lines = text.lines();
    match number_of_structures(text.as_bytes()) {
        None => {}
        Some("1") => drop(lines.by_ref().take(3).last()),
        Some(number) => {
            let message = format!(
                "`shapes` printed {number} structures here: leave only the lines of the expected one"
            );
            return Err(Failure::new(message));
        }
    }
    Ok(lines)
}

/// Parses the text of a structure, which may be folded. Lines that begin with `#` are comments, except the
/// options of a structure, such as `#[none_is_leaf]`.
pub(crate) fn read(text: &str, limits: Limits) -> Result<Tree<ExpectedKind>> {
    let lines = lines(text)?.filter(|line| !line.starts_with('#') || line.starts_with("#["));
    let text = without_null(&lines.collect::<Vec<_>>().join("\n"));
    let mut all = Vec::new();
    tokens(&text, |token, _| all.push(token.to_owned()));
    // No other newtype has a name that begins like this.
    let mut name = NAME.to_owned();
    while text.contains(&name) {
        name.push('_');
    }
    let mut reader =
        NotationParser { tokens: &all, at: 0, name, forms: Vec::new(), depth: 0, limits };
    match (reader.whole(), Tree::parse_with(&text, limits.of_trees())) {
        (Ok(plain), _) if plain != text => reader.tree(&plain),
        (_, Ok(tree)) => reader.visited(tree),
        (folded, Err(error)) => match TreeDef::parse_with(&text, limits.of_trees()) {
            Ok(treedef) => {
                limits.expect_visits(&treedef, 0)?;
                let any = vec![ExpectedKind::Any; treedef.num_leaves()];
                Ok(Tree::new(treedef, any)?)
            }
            Err(_) => Err(folded.err().unwrap_or_else(|| error.into())),
        },
    }
}

/// The names of the newtypes, before their numbers.
const NAME: &str = "treedef_folded_";
/// The maximum number of leaves of a tensor that is read as sequences.
const LONGEST: u64 = 1 << 12;
/// The maximum depth of a document.
const DEEPEST: usize = 256;

struct NotationParser<'t> {
    tokens: &'t [String],
    at: usize,
    name: String,
    forms: Vec<ExpectedKind>,
    depth: usize,
    limits: Limits,
}

impl NotationParser<'_> {
    fn failure(&self, expected: &str) -> Failure {
        let found = self.peek().map_or("the end".to_owned(), |token| format!("`{token}`"));
        let before = self.tokens.get(..self.at).or_bug().concat();
        let line = before.lines().count().max(1);
        Failure::at(line, format!("expected {expected}, found {found}"))
    }

    fn skip_space(&mut self) {
        while self.tokens.get(self.at).is_some_and(|token| token.trim().is_empty()) {
            self.at += 1;
        }
    }

    /// The next token that is not a space.
    fn peek(&self) -> Option<&str> {
        let rest = self.tokens.get(self.at..).or_bug();
        rest.iter().map(String::as_str).find(|token| !token.trim().is_empty())
    }

    fn eat(&mut self, token: &str) -> bool {
        let is_next = self.peek() == Some(token);
        if is_next {
            self.skip_space();
            self.at += 1;
        }
        is_next
    }

    /// The text that stands for a form.
    fn stand_in(&mut self, form: ExpectedKind) -> String {
        self.forms.push(form);
        format!("{}{}(opaque)", self.name, self.forms.len() - 1)
    }

    /// The plain text, parsed, with the forms in their places.
    fn tree(&self, plain: &str) -> Result<Tree<ExpectedKind>> {
        let tree = self.visited(Tree::parse_with(plain, self.limits.of_trees())?)?;
        Ok(tree.edit(|_, node, _| {
            let number =
                node.name().and_then(|name| name.strip_prefix(self.name.as_str())?.parse().ok());
            let number = number.filter(|_| node.kind() == NodeKind::NewtypeStruct);
            let form = number.and_then(|number: usize| self.forms.get(number));
            Ok(form.map_or(Edit::Keep, |form| Edit::Replace(Tree::leaf(form.clone()))))
        })?)
    }

    /// A tree each of whose nodes may be visited.
    fn visited(&self, tree: Tree<LeafKind>) -> Result<Tree<ExpectedKind>> {
        self.limits.expect_visits(tree.treedef(), tree.leaves().len())?;
        Ok(tree.map(ExpectedKind::Kind))
    }

    /// Reads everything, and returns its plain text, which is the same if nothing is folded.
    fn whole(&mut self) -> Result<String> {
        let plain = self.value()?;
        self.skip_space();
        if self.at < self.tokens.len() {
            return Err(self.failure("the end"));
        }
        let same = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let text = self.tokens.concat();
        Ok(if same(&plain) == same(&text) { text } else { plain })
    }

    /// Reads a value, and returns its plain text.
    fn value(&mut self) -> Result<String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Failure::new(format!("nested deeper than {DEEPEST} levels")));
        }
        let mut plain = String::new();
        // A name may be before a bracket, and more after a value.
        while let Some(token) = self.tokens.get(self.at) {
            match token.as_str() {
                "," | ";" | "]" | "}" | ")" => break,
                "[" => plain += &self.list()?,
                "{" => plain += &self.map()?,
                "(" => plain += &self.tuple()?,
                word => {
                    let numbers = match word {
                        "int" => Some(NumberClass::Integers),
                        "float" => Some(NumberClass::Floats),
                        "number" => Some(NumberClass::All),
                        _ => None,
                    };
                    match (numbers, self.tensor()) {
                        (Some(numbers), _) => {
                            self.at += 1;
                            plain += &self.stand_in(ExpectedKind::Numbers(numbers));
                        }
                        (None, Some((tensor, end))) => {
                            self.at = end;
                            plain += &self.stand_in(ExpectedKind::Tensor(tensor));
                        }
                        (None, None) => {
                            self.at += 1;
                            plain += word;
                        }
                    }
                }
            }
        }
        self.depth -= 1;
        Ok(plain)
    }

    /// A tensor, `q8_0[2, 32]` or `datetime64[D][3]`, and the token after it. `None` for a text that the
    /// library reads as sequences of a kind, unless these would be empty or long.
    fn tensor(&self) -> Option<(TensorLeaf, usize)> {
        let is_word = |token: &&String| token.starts_with(char::is_alphabetic);
        let mut dtype = self.tokens.get(self.at).filter(is_word)?.clone();
        let mut at = self.at + 1;
        let is_open = |at: usize| self.tokens.get(at).is_some_and(|token| token == "[");
        let sizes = loop {
            let inside = self.tokens.get(at + 1..).filter(|_| is_open(at))?;
            let length = inside.iter().position(|token| matches!(token.as_str(), "[" | "]"))?;
            let inside = inside.get(..length)?.concat();
            at += length + 2;
            if !is_open(at) {
                break inside;
            }
            dtype += &format!("[{inside}]");
        };
        let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
        let shape: Vec<u64> = sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?;
        let count = shape.iter().fold(1_u64, |count, size| count.saturating_mul(*size));
        if (1..=LONGEST).contains(&count) && dtype.parse::<LeafKind>().is_ok() {
            return None;
        }
        Some((TensorLeaf { dtype, shape, size: 0, value: None }, at))
    }

    /// `(a, b; 3)`. Only its parts can be folded.
    fn tuple(&mut self) -> Result<String> {
        let mut plain = "(".to_owned();
        self.at += 1;
        loop {
            plain += &self.value()?;
            let token = self.peek().ok_or_else(|| self.failure("`)`"))?.to_owned();
            self.skip_space();
            self.at += 1;
            plain += &token;
            match token.as_str() {
                ")" => return Ok(plain),
                "," | ";" => {}
                _ => return Err(self.failure("`,` or `)`")),
            }
        }
    }

    /// `[a, b; 3]`, or `[a, b; 0–3]` and `[a; _]`, which are folded.
    fn list(&mut self) -> Result<String> {
        self.at += 1;
        let mut elements = Vec::new();
        let mut plain = "[".to_owned();
        let mut lengths = None;
        loop {
            if self.eat("]") {
                break;
            }
            let element = self.value()?;
            plain += &element;
            elements.push(element);
            if self.eat(";") {
                match self.lengths()? {
                    Lengths::Times(times) => plain += &format!("; {times}"),
                    Lengths::FoldedChildren(folded) => lengths = Some(folded),
                }
            }
            if self.eat(",") {
                plain += ",";
            } else if self.peek() != Some("]") {
                return Err(self.failure("`,` or `]`"));
            }
        }
        let Some(lengths) = lengths else { return Ok(plain + "]") };
        let forms = elements.iter().map(|element| self.tree(element)).collect::<Result<_>>()?;
        Ok(self.stand_in(ExpectedKind::List(Arc::new(FoldedChildren { lengths, forms }))))
    }

    /// `{"a": x, "b"?: y}`, or `{*: x, y; 3–90}`, which is folded.
    fn map(&mut self) -> Result<String> {
        self.at += 1;
        if self.eat("*") {
            return self.any_keys();
        }
        let mut plain = "{".to_owned();
        while !self.eat("}") {
            // The key, which may be any literal, to its colon.
            let mut depth = 0;
            let mut is_optional = false;
            loop {
                let token = self.tokens.get(self.at).ok_or_else(|| self.failure("`}`"))?;
                self.at += 1;
                match token.as_str() {
                    ":" if depth == 0 => break,
                    "?" if depth == 0 && self.peek() == Some(":") => {
                        is_optional = true;
                        continue;
                    }
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => depth -= 1,
                    _ => {}
                }
                plain += token;
            }
            let value = self.value()?;
            let value = value.trim();
            plain += &if is_optional { format!(": Some({value})") } else { format!(": {value}") };
            if self.eat(",") {
                plain += ",";
            } else if self.peek() != Some("}") {
                return Err(self.failure("`,` or `}`"));
            }
        }
        Ok(plain + "}")
    }

    fn any_keys(&mut self) -> Result<String> {
        let (mut forms, mut lengths) = (Vec::new(), None);
        if self.eat(":") {
            while !matches!(self.peek(), Some(";" | "}")) {
                let element = self.value()?;
                forms.push(self.tree(&element)?);
                if !self.eat(",") {
                    break;
                }
            }
        }
        if self.eat(";") {
            lengths = match self.lengths()? {
                Lengths::Times(times) => Some((times, times)),
                Lengths::FoldedChildren(lengths) => lengths,
            };
        }
        self.eat(",");
        if !self.eat("}") {
            return Err(self.failure("`}`"));
        }
        Ok(self.stand_in(ExpectedKind::Map(Arc::new(FoldedChildren { lengths, forms }))))
    }

    /// The part after `;`.
    fn lengths(&mut self) -> Result<Lengths> {
        self.skip_space();
        let mut text = String::new();
        while let Some(token) = self.tokens.get(self.at) {
            if matches!(token.as_str(), "," | "]" | "}") {
                break;
            }
            text += token.trim();
            self.at += 1;
        }
        let folded = |(least, most): (&str, &str)| Some((least.parse().ok()?, most.parse().ok()?));
        if text == "_" {
            return Ok(Lengths::FoldedChildren(None));
        }
        match (text.parse(), text.split_once(['–', '-']).and_then(folded)) {
            (Ok(times), _) => Ok(Lengths::Times(times)),
            (_, Some(lengths)) => Ok(Lengths::FoldedChildren(Some(lengths))),
            _ => {
                Err(Failure::new(format!("expected a length such as `0–5` or `_`, found `{text}`")))
            }
        }
    }
}

enum Lengths {
    /// `[a; 3]`
    Times(usize),
    /// `[a; 0–3]`, or `[a; _]`
    FoldedChildren(Option<(usize, usize)>),
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn text(structure: &str) -> String {
        let tree = read(structure, Limits::default()).unwrap();
        tree.to_string()
    }

    #[test]
    fn folded_parts_become_leaves() {
        for (structure, read) in [
            ("{\"a\": u64}", "{\"a\": u64}"),
            ("[*, *]", "[a scalar, a scalar]"),
            ("[str; 0–5]", "a sequence of 0–5 elements"),
            ("[str, u64; 0-5]", "a sequence of 0–5 elements"),
            ("[str, u64; 2]", "[str, u64, u64]"),
            ("[str; _, u64; _]", "a sequence of any number of elements"),
            ("{*: u64}", "a map"),
            ("{*: str, [u64; _]; 3}", "a map"),
            ("{\"a\": [int; 1], \"b\": float}", "{\"a\": [an integer], \"b\": a float}"),
            ("{\"tls\"?: {\"x\"?: u64}}", "{\"tls\": Some({\"x\": Some(u64)})}"),
            (
                "Model { w: bf16[2, 3], b: [f32; 0–2] }",
                "Model { w: bf16[2, 3], b: a sequence of 0–2 elements }",
            ),
            (
                "(int, [str; _]; 2)",
                "(an integer, a sequence of any number of elements, a sequence of any number of elements)",
            ),
            ("{\"; 0–1\": [\n  str;\n 0–1,\n],}", "{\"; 0–1\": a sequence of 0–1 elements}"),
            ("null", "()"),
            // The reader's replacement for a form.
            ("[treedef_folded_0(opaque), int]", "[treedef_folded_0(opaque), an integer]"),
        ] {
            assert_eq!(text(structure), read, "{structure}");
        }
    }

    #[test]
    fn wrong_notation_is_an_error_with_its_line() {
        for (structure, error) in [
            ("[str; 0–x]", "expected a length such as `0–5` or `_`, found `0–x`"),
            ("{\n\"a\": [str; 0–1\n", "2: expected `,` or `]`, found the end"),
            ("{*: u64", "1: expected `}`, found the end"),
            ("[u64; _]]", "1: expected the end, found `]`"),
        ] {
            assert_eq!(
                read(structure, Limits::default()).unwrap_err().to_string(),
                error,
                "{structure}"
            );
        }
        assert!(read(&"[".repeat(100_000), Limits::default()).is_err());
        assert!(read(&"{*:".repeat(100_000), Limits::default()).is_err());
    }
}
