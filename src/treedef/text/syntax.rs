//! How the leaves of a text are written: as `*`, kinds or literals.

use crate::error::Result;
use crate::model::{Leaf, LeafKind, Value};

use super::lex::Lexer;

/// What the text contains at its leaves.
#[derive(Clone, Copy)]
pub(super) struct Syntax<L> {
    /// Reads a leaf if one is next.
    pub(super) leaf: fn(&mut Lexer<'_>) -> Result<Option<L>>,
    /// Whether a leaf may have the dimensions of an array.
    pub(super) arrays: bool,
    /// Whether statics are allowed. They are not inside a value.
    pub(super) statics: bool,
    /// Whether `_` is a count, of one.
    pub(super) hides_lengths: bool,
    /// Whether the entries of maps came in the order of the text. Otherwise the text has none.
    pub(super) keeps_order: bool,
    /// The leaf of a value behind `opaque`, if there are such leaves.
    pub(super) opaque: Option<fn(Value) -> L>,
    /// What messages say if a node is missing.
    pub(super) expected: &'static str,
}

/// `*`
fn star(lexer: &mut Lexer<'_>) -> Result<Option<()>> {
    Ok(lexer.eat("*").then_some(()))
}

/// `f32`
fn kind(lexer: &mut Lexer<'_>) -> Result<Option<LeafKind>> {
    let kind = LeafKind::named(lexer.peek_word());
    if kind.is_some() {
        lexer.word();
    }
    Ok(kind)
}

/// `1.5f32`, or `none`.
#[cfg(feature = "diff")]
fn literal_or_none(lexer: &mut Lexer<'_>) -> Result<Option<Leaf>> {
    if lexer.peek_word() == "none" {
        lexer.word();
        return Ok(Some(Leaf::None));
    }
    literal(lexer)
}

/// `1.5f32`
fn literal(lexer: &mut Lexer<'_>) -> Result<Option<Leaf>> {
    let leaf = match lexer.peek() {
        Some('"') if lexer.eat("\"") => Leaf::from(lexer.quoted('"')?),
        Some('\'') if lexer.eat("'") => match (lexer.char('\'')?, lexer.eat_here("'")) {
            (Some(char), true) => Leaf::Char(char),
            _ => return lexer.fail("one character in single quotes"),
        },
        Some('-' | '0'..='9') => lexer.number()?,
        Some('b') if lexer.eat("b\"") => Leaf::from(lexer.bytes()?),
        _ => match lexer.peek_word() {
            word @ ("true" | "false") => {
                lexer.word();
                Leaf::Bool(word == "true")
            }
            "inf" | "inff32" | "inff64" => lexer.number()?,
            "nan" => match lexer.number() {
                Ok(nan) => nan,
                Err(_) => {
                    return lexer.fail("the bits of the NaN, as in `nan(0x7ff8000000000000)`");
                }
            },
            _ => return Ok(None),
        },
    };
    Ok(Some(leaf))
}

impl Syntax<()> {
    /// `[*, (*, *)]`
    pub(super) const STRUCTURE: Self = Syntax {
        leaf: star,
        arrays: false,
        statics: true,
        hides_lengths: false,
        keeps_order: false,
        opaque: None,
        expected: "a node (literals are only for keys and statics)",
    };
}

impl Syntax<LeafKind> {
    /// `[f32, (u8, str)]`
    pub(super) const SIGNATURE: Self = Syntax {
        leaf: kind,
        arrays: true,
        statics: true,
        hides_lengths: false,
        keeps_order: false,
        opaque: None,
        expected: "a node, or a kind such as `f32`",
    };
}

impl Syntax<Leaf> {
    /// `[1.5f32, (2u8, "a")]`
    pub(super) const VALUE: Self = Syntax {
        leaf: literal,
        arrays: false,
        statics: false,
        hides_lengths: false,
        keeps_order: false,
        opaque: None,
        expected: "a value",
    };

    /// `[1.5f32, {"b": none, "a": opaque [2u8]}]`: a tree with all that belongs to it.
    #[cfg(feature = "diff")]
    pub(super) const TREE: Self = Syntax {
        leaf: literal_or_none,
        statics: true,
        keeps_order: true,
        opaque: Some(|value| Leaf::Opaque(std::sync::Arc::new(value))),
        ..Syntax::VALUE
    };
}
