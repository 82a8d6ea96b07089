//! How the leaves of a text are written: as `*`, kinds or literals.

use crate::error::Result;
use crate::model::{Leaf, LeafKind, Tree};
use crate::treedef::limits::in_nodes;

use super::lex::Lexer;

/// The token at a leaf. All leaves of a text are of one variant.
#[derive(Clone)]
pub(super) enum TextLeaf {
    Star,
    Kind(LeafKind),
    Literal(Leaf),
}

impl TextLeaf {
    /// The cost of a copy, in nodes.
    pub(super) fn work(&self) -> usize {
        match self {
            // It is shared, but each is visited.
            TextLeaf::Literal(Leaf::Opaque(value)) => value.work().saturating_add(1),
            TextLeaf::Literal(Leaf::Str(text)) => 1 + in_nodes(text.len()),
            TextLeaf::Literal(Leaf::Bytes(bytes)) => 1 + in_nodes(bytes.len()),
            _ => 1,
        }
    }
}

/// For a text of kinds.
pub(super) fn kinds(tree: Tree<TextLeaf>) -> Tree<LeafKind> {
    tree.map(|leaf| match leaf {
        TextLeaf::Kind(kind) => kind,
        TextLeaf::Star | TextLeaf::Literal(_) => {
            debug_assert!(false, "a signature has another leaf");
            LeafKind::Opaque
        }
    })
}

/// For a text of literals.
pub(super) fn literals(tree: Tree<TextLeaf>) -> Tree<Leaf> {
    tree.map(|leaf| match leaf {
        TextLeaf::Literal(leaf) => leaf,
        TextLeaf::Star | TextLeaf::Kind(_) => {
            debug_assert!(false, "a value has another leaf");
            Leaf::None
        }
    })
}

/// The tokens at the leaves of the text.
#[derive(Clone, Copy)]
pub(super) struct Syntax {
    /// Reads a leaf if one is next.
    pub(super) leaf: fn(&mut Lexer<'_>) -> Result<Option<TextLeaf>>,
    /// Whether a leaf may have the dimensions of an array.
    pub(super) arrays: bool,
    /// Whether statics are allowed. They are not inside a value.
    pub(super) statics: bool,
    /// Whether `_` is a count, of one.
    pub(super) hides_lengths: bool,
    /// Whether the entries of maps are in insertion order in the text. Otherwise the text does not
    /// have that order.
    pub(super) keeps_order: bool,
    /// Whether a value behind `opaque` is a leaf.
    pub(super) opaque: bool,
    /// The name of a missing node in messages.
    pub(super) expected: &'static str,
}

/// `*`
fn star(lexer: &mut Lexer<'_>) -> Result<Option<TextLeaf>> {
    Ok(lexer.eat("*").then_some(TextLeaf::Star))
}

/// `f32`
fn kind(lexer: &mut Lexer<'_>) -> Result<Option<TextLeaf>> {
    let kind = LeafKind::named(lexer.peek_word());
    if kind.is_some() {
        lexer.word();
    }
    Ok(kind.map(TextLeaf::Kind))
}

/// `1.5f32`, or `none`.
#[cfg(feature = "diff")]
fn literal_or_none(lexer: &mut Lexer<'_>) -> Result<Option<TextLeaf>> {
    if lexer.peek_word() == "none" {
        lexer.word();
        return Ok(Some(TextLeaf::Literal(Leaf::None)));
    }
    literal(lexer)
}

/// `1.5f32`
fn literal(lexer: &mut Lexer<'_>) -> Result<Option<TextLeaf>> {
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
    Ok(Some(TextLeaf::Literal(leaf)))
}

impl Syntax {
    /// `[*, (*, *)]`
    pub(super) const STRUCTURE: Self = Syntax {
        leaf: star,
        arrays: false,
        statics: true,
        hides_lengths: false,
        keeps_order: false,
        opaque: false,
        expected: "a node (literals are only for keys and statics)",
    };

    /// `[f32, (u8, str)]`
    pub(super) const SIGNATURE: Self = Syntax {
        leaf: kind,
        arrays: true,
        expected: "a node, or a kind such as `f32`",
        ..Syntax::STRUCTURE
    };

    /// `[1.5f32, (2u8, "a")]`
    pub(super) const VALUE: Self =
        Syntax { leaf: literal, statics: false, expected: "a value", ..Syntax::STRUCTURE };

    /// `[1.5f32, {"b": none, "a": opaque [2u8]}]`: a tree with everything that belongs to it.
    #[cfg(feature = "diff")]
    pub(super) const TREE: Self = Syntax {
        leaf: literal_or_none,
        statics: true,
        keeps_order: true,
        opaque: true,
        ..Syntax::VALUE
    };
}
