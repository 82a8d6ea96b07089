//! Numbers that a 64-bit float cannot reproduce, as leaves.

use serde::Serialize;
use treedef::__private::{Decimal, OrBug};
use treedef::{Edit, Leaf, LeafKind, Tree, Value};

use crate::paths::leaf_at;

/// The maximum number of digits that distinguish `f64`s. A number with more digits was not written
/// from a float.
const MOST_DIGITS: usize = 17;

/// serde_json's name for the text of a number.
const RAW: &str = "$serde_json::private::RawValue";

/// The text of a number. serde_json writes a struct of this name verbatim, and trees recognise it.
#[derive(Serialize)]
#[serde(rename = "$serde_json::private::RawValue")]
struct NumberText<'t> {
    #[serde(rename = "$serde_json::private::RawValue")]
    text: &'t str,
}

/// The text around such a number when the library prints it.
const PRINTED: [&str; 2] =
    ["`$serde_json::private::RawValue` { `$serde_json::private::RawValue`: \"", "\" }"];

/// Whether a float has the same digits, if it is written with as many. For a number halfway between two
/// floats, writers may use either.
fn is(decimal: &Decimal, float: f64) -> bool {
    let Some(more) = decimal.digits.len().checked_sub(1) else { return float == 0.0 };
    if decimal.digits.len() > MOST_DIGITS {
        return false;
    }
    if Decimal::of(&format!("{float:.more$e}")).as_ref() == Some(decimal) {
        return true;
    }
    let Some(exact) = Decimal::of(&format!("{float:.60e}")) else { return false };
    let middle = exact.digits.strip_suffix('5').filter(|digits| digits.len() == more + 1);
    let below = middle.and_then(|digits| digits.parse::<u64>().ok());
    let number = decimal.digits.parse::<u64>().ok();
    let is_next =
        below.zip(number).is_some_and(|(below, number)| (below..=below + 1).contains(&number));
    is_next && (exact.exponent, exact.is_negative) == (decimal.exponent, decimal.is_negative)
}

/// One text for all spellings of a number.
fn text(decimal: &Decimal) -> String {
    let sign = if decimal.is_negative { "-" } else { "" };
    let digits = &decimal.digits;
    let whole = usize::try_from(decimal.exponent).map_or(0, |exponent| exponent.saturating_add(1));
    match digits.split_at_checked(whole) {
        Some(("", digits)) if decimal.exponent >= -5 => {
            let zeros = usize::try_from(-1 - decimal.exponent).unwrap_or(0);
            return format!("{sign}0.{}{digits}", "0".repeat(zeros));
        }
        Some((whole, part)) if !whole.is_empty() && !part.is_empty() => {
            return format!("{sign}{whole}.{part}");
        }
        Some((_, "")) => return as_float(format!("{sign}{digits}")),
        None if whole < 60 => return as_float(format!("{sign}{digits:0<whole$}")),
        _ => {}
    }
    let (first, rest) = digits.split_at_checked(1).unwrap_or(("0", ""));
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}e{}", decimal.exponent)
}

/// The digits with a point, if they would be read as an integer without one.
fn as_float(digits: String) -> String {
    if integer(&digits).is_some() { digits + ".0" } else { digits }
}

fn integer(digits: &str) -> Option<Leaf> {
    let signed = digits.parse::<i128>().ok().map(Leaf::from);
    signed.or_else(|| digits.parse::<u128>().ok().map(Leaf::from))
}

/// The number of a text, if 64 bits cannot hold it.
pub(crate) fn long(text: &str) -> Option<Leaf> {
    // All numbers with this few digits can be reproduced.
    if text.len() <= 15 && !text.contains(['e', 'E']) {
        return None;
    }
    if text.parse::<u64>().is_ok() || text.parse::<i64>().is_ok() {
        return None;
    }
    if let Some(number) = integer(text) {
        return Some(number);
    }
    let float = text.parse::<f64>().ok()?;
    let digits = text.split(['e', 'E']).next().unwrap_or(text);
    let is_zero = !digits.contains(|c: char| ('1'..='9').contains(&c));
    if is_zero {
        return None;
    }
    // No float has an exponent of this length.
    if Decimal::of(text).is_some_and(|decimal| is(&decimal, float)) {
        return None;
    }
    Value::of(&NumberText { text }).ok().map(Leaf::from)
}

/// The text of a number that is kept verbatim.
pub(crate) fn text_of(leaf: &Leaf) -> Option<String> {
    let Leaf::Opaque(value) = leaf else { return None };
    let is_text = value.root().name() == Some(RAW);
    let leaves = value.leaves();
    let text = leaves.first().filter(|_| is_text)?.as_str()?;
    // In a file of the library it may be any text.
    is_number(text).then(|| text.to_owned())
}

/// Whether JSON has a number with this spelling.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let has_zero = whole.len() > 1 && whole.starts_with('0');
    digits(whole) && !has_zero && digits(part) && digits(exponent)
}

/// The tree with leaves for such numbers, which are structs when a tree serializes them.
pub(crate) fn as_leaves(tree: Tree<Leaf>) -> treedef::Result<Tree<Leaf>> {
    tree.edit(|_, node, leaves| {
        let [leaf] = leaves else { return Ok(Edit::Keep) };
        let text = leaf.as_str().filter(|text| node.name() == Some(RAW) && is_number(text));
        let Some(text) = text else { return Ok(Edit::Keep) };
        Ok(Edit::Replace(Tree::leaf(Value::of(&NumberText { text })?.into())))
    })
}

/// The leaf with one text for all spellings of its number.
pub(crate) fn by_value(leaf: Leaf) -> Leaf {
    let decimal = text_of(&leaf).and_then(|text| Decimal::of(&text));
    let one = decimal.and_then(|decimal| Value::of(&NumberText { text: &text(&decimal) }).ok());
    one.map_or(leaf, Leaf::from)
}

/// The leaf as an integer, or else as a float of 64 bits, if it is a text or a long integer of the same value.
pub(crate) fn by_integer(leaf: Leaf) -> Leaf {
    let digits = match &leaf {
        Leaf::U128(number) => number.get().to_string(),
        _ => match text_of(&by_value(leaf.clone())) {
            Some(text) => text.strip_suffix(".0").unwrap_or(&text).to_owned(),
            None => return leaf,
        },
    };
    if let Ok(number) = digits.parse::<i128>() {
        return number.into();
    }
    let float = digits.parse().unwrap_or(f64::NAN);
    // All digits of a float decide whether it equals the integer.
    if float.is_finite() && Decimal::of(&format!("{float:.0}")) == Decimal::of(&digits) {
        return float.into();
    }
    integer(&digits).unwrap_or(leaf)
}

/// The name of a float that is not finite, which JSON does not have: `NaN`, `inf` or `-inf`.
pub(crate) fn name_of(leaf: &Leaf) -> Option<String> {
    leaf.as_f64().filter(|float| !float.is_finite()).map(|float| float.to_string())
}

/// Whether both are texts of the same number.
pub(crate) fn is_same(old: &Leaf, new: &Leaf) -> bool {
    text_of(old).is_some() && by_value(old.clone()) == by_value(new.clone())
}

/// The new tree with the old text wherever both are the same number.
pub(crate) fn as_in(old: &Tree<Leaf>, new: Tree<Leaf>) -> Tree<Leaf> {
    new.map_with_path(|path, leaf| match leaf_at(old, path) {
        Some(old) if is_same(old, &leaf) => old.clone(),
        _ => leaf,
    })
}

/// The leaf as a float, if it is kept as a text.
pub(crate) fn rounded(leaf: Leaf) -> Leaf {
    let float = text_of(&leaf).and_then(|text| text.parse::<f64>().ok());
    float.map_or(leaf, Leaf::from)
}

/// An integer as the kind of formats that have only one.
pub(crate) fn with_free_width(leaf: Leaf) -> Leaf {
    let Some(number) = leaf.as_i128() else { return leaf };
    match (u64::try_from(number), i64::try_from(number)) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => number.into(),
    }
}

/// The leaf as a 64-bit number, for formats without longer ones.
pub(crate) fn within_64_bits(leaf: Leaf) -> Leaf {
    let leaf = match leaf {
        Leaf::I128(_) | Leaf::U128(_) => with_free_width(leaf),
        _ => leaf,
    };
    match &leaf {
        Leaf::I128(number) => number.get().to_string(),
        Leaf::U128(number) => number.get().to_string(),
        _ => return rounded(leaf),
    }
    .parse::<f64>()
    .map_or(leaf, Leaf::from)
}

/// The tree with doubles for shorter floats of the same value.
pub(crate) fn with_doubles(tree: Tree<Leaf>) -> Tree<Leaf> {
    tree.map(|leaf| match leaf {
        Leaf::F32(number) => f64::from(number).into(),
        other => other,
    })
}

/// The kind of a leaf. A number that is kept as a text is a float.
pub(crate) fn kind(leaf: &Leaf) -> LeafKind {
    if text_of(leaf).is_some() { LeafKind::F64 } else { leaf.kind() }
}

/// Whether a tree has numbers that are kept as texts.
pub(crate) fn has_texts(tree: &Tree<Leaf>) -> bool {
    tree.leaves().iter().any(|leaf| text_of(leaf).is_some())
}

/// A float of a kind with its own name: `decimal(f64)`.
#[derive(Serialize)]
#[serde(rename = "decimal")]
struct DecimalFloat(f64);

/// The tree with floats for numbers that are kept as texts. If `named`, their kind has its own name.
pub(crate) fn rounded_for_shapes(tree: Tree<Leaf>, named: bool) -> treedef::Result<Tree<Leaf>> {
    if !named || !has_texts(&tree) {
        return Ok(all_rounded(tree));
    }
    tree.edit(|_, node, leaves| {
        let text = leaves.first().filter(|_| node.is_leaf()).and_then(text_of);
        let Some(float) = text.and_then(|text| text.parse().ok()) else { return Ok(Edit::Keep) };
        Ok(Edit::Replace(Tree::of(&DecimalFloat(float))?))
    })
}

/// The tree with floats for numbers that are kept as texts.
pub(crate) fn all_rounded(tree: Tree<Leaf>) -> Tree<Leaf> {
    if has_texts(&tree) { tree.map(rounded) } else { tree }
}

/// Whether the library printed such a number, perhaps cut off.
pub(crate) fn is_printed(text: &str) -> bool {
    text.contains("`$serde_json::private::Ra")
}

/// The output of the library, with such numbers verbatim.
pub(crate) fn printed(text: &str) -> String {
    let [before, after] = PRINTED;
    let mut parts = text.split(before);
    let mut all = parts.next().or_bug().to_owned();
    for part in parts {
        let (number, rest) = part.split_once(after).unwrap_or((part, ""));
        all += number;
        all += rest;
    }
    all
}

/// The tree with numbers that RON writes verbatim.
pub(crate) fn for_ron(tree: Tree<Leaf>) -> Tree<Leaf> {
    #[derive(Serialize)]
    #[serde(rename = "$ron::private::RawValue")]
    struct RonText<'t>(&'t str);

    tree.map(|leaf| {
        let number = text_of(&leaf).and_then(|text| Value::of(&RonText(&text)).ok());
        number.map_or(leaf, Leaf::from)
    })
}
