//! The texts that are values: literals, and flax's texts for values without one.

use treedef::{Leaf, Value};

/// flax's text for an absent value and for any empty container.
pub(crate) const ABSENT: &str = "null";
pub(crate) const EMPTY: &str = "{}";
/// The text for a present value that is an absent one, where a structure requires it.
pub(crate) const PRESENT: &str = "Some(null)";
/// The text for an empty sequence and for a unit, where a structure requires one.
pub(crate) const NO_ELEMENTS: &str = "[]";
pub(crate) const UNIT: &str = "()";

/// Whether a text represents an empty container.
pub(crate) fn is_empty(text: &str) -> bool {
    matches!(text, EMPTY | NO_ELEMENTS)
}

/// Whether a text can be a value without numbers.
pub(crate) fn is_value(text: &str) -> bool {
    let is_literal = |value: Value| {
        use Leaf as Is;
        let leaf = Leaf::from(value);
        matches!(leaf, Is::Str(_) | Is::Char(_) | Is::Bytes(_) | Is::I128(_) | Is::U128(_))
    };
    matches!(text, ABSENT | EMPTY) || text.parse().is_ok_and(is_literal)
}

/// The string or the char of a literal.
pub(crate) fn string(text: &str) -> Option<String> {
    match Leaf::from(text.parse::<Value>().ok()?) {
        Leaf::Str(text) => Some(text.into()),
        Leaf::Char(char) => Some(char.into()),
        _ => None,
    }
}
