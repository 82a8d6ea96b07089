//! Integers beyond 64 or 128 bits that are not written in decimals. In CBOR, the reader returns bytes or
//! refuses the file, and the writer has no such integers. In YAML, they are written in other bases.

use std::ops::Range;

use treedef::{Edit, Leaf, Tree};

use crate::failure::Result;
use crate::formats::cbor_tags::with_tag;
use crate::numbers::exact::{long, text_of};
use crate::numbers::long_numbers::{joined, replaced};

/// An integer that would take longer to convert to decimals stays bytes with a tag.
const LONGEST: usize = 512;

/// The first byte of the tag of a positive number; a negative one has the next tag.
const POSITIVE: u8 = 0xc2;

/// An integer or a tag that the reader cannot represent, and its position.
struct Bignum {
    place: Range<usize>,
    number: BigInteger,
    is_key: bool,
}

enum BigInteger {
    /// The digits of an integer beyond 128 bits.
    Long(String),
    /// An integer whose bytes are in pieces, joined.
    InPieces(Vec<u8>),
    /// The tag of a key, which is left out.
    Tag,
}

impl BigInteger {
    fn of(content: &[u8], is_negative: bool, in_pieces: bool) -> Option<BigInteger> {
        if let Some(digits) = digits(content, is_negative) {
            return Some(BigInteger::Long(digits));
        }
        let zeros = content.iter().take_while(|byte| **byte == 0).count();
        let content = content.get(zeros..).filter(|content| in_pieces && content.len() <= 16)?;
        let length = u8::try_from(content.len()).ok()?;
        let head = [POSITIVE + u8::from(is_negative), 0x40 | length];
        Some(BigInteger::InPieces([&head[..], content].concat()))
    }
}

impl Bignum {
    fn digits(&self) -> Option<&str> {
        match &self.number {
            BigInteger::Long(digits) => Some(digits),
            BigInteger::InPieces(_) | BigInteger::Tag => None,
        }
    }
}

/// Reads CBOR, with such integers unchanged. A key that is one becomes the text of its digits. Other tags of
/// keys are dropped: also returns whether there are some.
pub(crate) fn of_cbor(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<Tree<Leaf>>,
) -> Result<(Tree<Leaf>, bool)> {
    let numbers = bignums(bytes);
    if numbers.is_empty() {
        return Ok((read(bytes)?, false));
    }
    let has_dropped = numbers.iter().any(|number| matches!(number.number, BigInteger::Tag));
    let places: Vec<_> = numbers.iter().map(|number| number.place.clone()).collect();
    // The parts that do not depend on the leaves.
    let fixed = |at: usize| match numbers.get(at)? {
        Bignum { number: BigInteger::InPieces(whole), .. } => Some(whole.clone()),
        Bignum { number: BigInteger::Tag, .. } => Some(Vec::new()),
        Bignum { number: BigInteger::Long(digits), is_key: true, .. } => {
            let head = if digits.len() < 256 { 2 } else { 3 };
            Some([&head_of_text(digits.len() + head)[..], digits.as_bytes()].concat())
        }
        Bignum { number: BigInteger::Long(_), is_key: false, .. } => None,
    };
    // Errors keep the positions of the file, because a text is as long as the number.
    let text = |at: usize| {
        let length = places.get(at).map_or(0, Range::len);
        let head = head_of_text(length);
        let mut text = vec![b' '; length];
        text.iter_mut().zip(&head).for_each(|(byte, of_head)| *byte = *of_head);
        text
    };
    let index = |at: usize| {
        let at = u64::try_from(at).unwrap_or(u64::MAX);
        [&[0x1b][..], &at.to_be_bytes()].concat()
    };
    let with = |value: &dyn Fn(usize) -> Vec<u8>| {
        read(&replaced(bytes, &places, |at| fixed(at).unwrap_or_else(|| value(at))))
    };
    let tree = with(&text)?;
    let indices = with(&index).ok();
    let joined = joined(tree, indices, |at| long(numbers.get(at)?.digits()?));
    Ok((joined.or_else(|_| read(bytes))?, has_dropped))
}

/// The integer of a text in another base, if 64 bits do not hold it.
pub(crate) fn of_base(text: &str) -> Option<Leaf> {
    let (digits, bits) = match text.split_at_checked(2)? {
        ("0x", digits) => (digits, 4),
        ("0o", digits) => (digits, 3),
        _ => return None,
    };
    let digits = digits.trim_start_matches('0');
    if digits.len() > LONGEST * 8 / bits {
        return None;
    }
    // The last byte first.
    let (mut bytes, mut pending, mut count) = (Vec::new(), 0_u32, 0);
    for digit in digits.chars().rev() {
        pending |= digit.to_digit(1 << bits)? << count;
        count += bits;
        while count >= 8 {
            bytes.push((pending & 0xff) as u8);
            (pending, count) = (pending >> 8, count - 8);
        }
    }
    bytes.extend((count > 0).then_some((pending & 0xff) as u8));
    bytes.reverse();
    let decimals = decimals(&bytes, false)?;
    decimals.parse::<u64>().is_err().then(|| long(&decimals)).flatten()
}

/// The tree with tagged bytes for such integers.
pub(crate) fn for_cbor(tree: &Tree<Leaf>) -> treedef::Result<Tree<Leaf>> {
    tree.clone().edit(|_, node, leaves| {
        let text = leaves.first().filter(|_| node.is_leaf()).and_then(text_of);
        let Some((tag, bytes)) = text.and_then(|text| bytes_of(&text)) else {
            return Ok(Edit::Keep);
        };
        Ok(Edit::Replace(with_tag(&tag.into(), Tree::leaf(Leaf::from(bytes)))?))
    })
}

/// The tag and the bytes of an integer that is written as digits only.
fn bytes_of(text: &str) -> Option<(u64, Vec<u8>)> {
    let (tag, digits) = text.strip_prefix('-').map_or((2, text), |digits| (3, digits));
    // A digit takes less than half a byte.
    if digits.len() > LONGEST * 3 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // The last byte first.
    let mut bytes = Vec::new();
    for digit in digits.bytes() {
        let mut carry = u32::from(digit - b'0');
        for byte in &mut bytes {
            let all = u32::from(*byte) * 10 + carry;
            (*byte, carry) = ((all & 0xff) as u8, all >> 8);
        }
        bytes.extend(u8::try_from(carry).ok().filter(|carry| *carry > 0));
    }
    if tag == 3 {
        // It is one less than minus the number.
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        bytes.iter_mut().take(zeros).for_each(|byte| *byte = 0xff);
        *bytes.get_mut(zeros)? -= 1;
    }
    bytes.reverse();
    (bytes.len() <= LONGEST).then_some((tag, bytes))
}

/// The head of a text whose length, with the head, is this: from 18 to some thousand bytes.
fn head_of_text(length: usize) -> Vec<u8> {
    match (u8::try_from(length - 2), u16::try_from(length - 3)) {
        (Ok(rest), _) => vec![0x78, rest],
        (_, Ok(rest)) => [&[0x79][..], &rest.to_be_bytes()].concat(),
        _ => Vec::new(),
    }
}

/// A file is one head after another. The content of bytes and texts follows their heads.
fn bignums(bytes: &[u8]) -> Vec<Bignum> {
    // The tag of an integer before the next head: its place, and whether the integer is negative.
    let (mut numbers, mut at, mut tag) = (Vec::new(), 0, None::<(usize, bool)>);
    let mut open = Vec::<OpenContainer>::new();
    while let Some((kind, value, length)) = head(bytes, at) {
        let start = at;
        at += length;
        let is_break = (kind, value) == (7, None);
        if is_break {
            open.pop();
        }
        let is_key = open.last().is_some_and(OpenContainer::is_at_key);
        if let (2 | 3, Some(value)) = (kind, value) {
            let end = usize::try_from(value).ok().and_then(|value| at.checked_add(value));
            let Some(content) = end.and_then(|end| bytes.get(at..end)) else { break };
            if let (2, Some((start, is_negative))) = (kind, tag)
                && let Some(number) = BigInteger::of(content, is_negative, false)
            {
                numbers.push(Bignum { place: start..at + content.len(), number, is_key });
            }
            at += content.len();
        }
        if let (2, None, Some((start, is_negative))) = (kind, value, tag)
            && let Some((content, end)) = pieces(bytes, at)
            && let Some(number) = BigInteger::of(&content, is_negative, true)
        {
            numbers.push(Bignum { place: start..end, number, is_key });
        }
        tag = match (kind, value) {
            (6, Some(number @ (2 | 3))) => Some((start, number == 3)),
            _ => None,
        };
        let is_of_number = tag.is_some() && head(bytes, at).is_some_and(|(kind, ..)| kind == 2);
        if kind == 6 && is_key && !is_of_number {
            numbers.push(Bignum { place: start..at, number: BigInteger::Tag, is_key });
        }
        if kind != 6 && !is_break {
            open.last_mut().into_iter().for_each(|it| it.count += 1);
        }
        let is_map = kind == 5;
        match value {
            Some(value) if kind == 4 || is_map => {
                let length = Some(if is_map { value.saturating_mul(2) } else { value });
                open.push(OpenContainer { length, is_map, is_in_key: is_key, count: 0 });
            }
            None if !is_break => {
                open.push(OpenContainer { length: None, is_map, is_in_key: is_key, count: 0 });
            }
            _ => {}
        }
        while kind != 6 && open.last().is_some_and(|it| it.length == Some(it.count)) {
            open.pop();
        }
    }
    numbers
}

/// Whether a document has `undefined`, which serde has as null.
pub(crate) fn has_undefined(bytes: &[u8]) -> bool {
    let mut at = 0_usize;
    while let Some((kind, value, length)) = head(bytes, at) {
        if bytes.get(at) == Some(&0xf7) {
            return true;
        }
        let content = value.filter(|_| matches!(kind, 2 | 3)).unwrap_or_default();
        at = at.saturating_add(length).saturating_add(content.try_into().unwrap_or(usize::MAX));
    }
    false
}

/// The bytes in pieces from a position on, and their end.
fn pieces(bytes: &[u8], mut at: usize) -> Option<(Vec<u8>, usize)> {
    let mut all = Vec::new();
    loop {
        let (kind, value, length) = head(bytes, at)?;
        at += length;
        match (kind, value) {
            (7, None) => return Some((all, at)),
            (2, Some(value)) => {
                let end = at.checked_add(usize::try_from(value).ok()?)?;
                all.extend_from_slice(bytes.get(at..end)?);
                at = end;
            }
            _ => return None,
        }
    }
}

/// A list, a map or a text in pieces that has not ended.
struct OpenContainer {
    /// The number of its values, including keys.
    length: Option<u64>,
    count: u64,
    is_map: bool,
    is_in_key: bool,
}

impl OpenContainer {
    fn is_at_key(&self) -> bool {
        self.is_in_key || self.is_map && self.count.is_multiple_of(2)
    }
}

/// The kind of the value at a position, its number if it has one, and the length of both.
fn head(bytes: &[u8], at: usize) -> Option<(u8, Option<u64>, usize)> {
    let first = *bytes.get(at)?;
    let (kind, short) = (first >> 5, first & 0x1f);
    let length = match short {
        0..24 => return Some((kind, Some(short.into()), 1)),
        24..28 => 1_usize << (short - 24),
        _ => return Some((kind, None, 1)),
    };
    let number = bytes.get(at + 1..at + 1 + length)?;
    let number = number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    Some((kind, Some(number), 1 + length))
}

/// The digits of an integer, if 128 bits do not hold it.
fn digits(bytes: &[u8], is_negative: bool) -> Option<String> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = bytes.get(zeros..)?;
    let fits = bytes.len() < 16
        || bytes.len() == 16 && !(is_negative && bytes.first().is_some_and(|first| *first > 0x7f));
    if fits { None } else { decimals(bytes, is_negative) }
}

/// The digits of an integer, unless it is too long.
fn decimals(bytes: &[u8], is_negative: bool) -> Option<String> {
    const LIMB: u64 = 1_000_000_000;
    if bytes.len() > LONGEST {
        return None;
    }
    // The last limb first.
    let mut limbs = vec![0_u64];
    let mut step = |factor: u64, more: u64| {
        let mut carry = more;
        for limb in &mut limbs {
            let all = *limb * factor + carry;
            (*limb, carry) = (all % LIMB, all / LIMB);
        }
        if carry > 0 {
            limbs.push(carry);
        }
    };
    bytes.iter().for_each(|byte| step(256, u64::from(*byte)));
    // It is one less than minus the number.
    step(1, u64::from(is_negative));
    let (first, rest) = limbs.split_last()?;
    let sign = if is_negative { "-" } else { "" };
    let rest = rest.iter().rev().map(|limb| format!("{limb:09}"));
    Some(format!("{sign}{first}{}", rest.collect::<String>()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_bytes() {
        let all = [0xff; 16];
        assert_eq!(digits(&all, false), None);
        assert_eq!(digits(&all, true).unwrap(), "-340282366920938463463374607431768211456");
        let one = [&[0, 1][..], &[0; 16]].concat();
        assert_eq!(digits(&one, false).unwrap(), "340282366920938463463374607431768211456");
        assert_eq!(digits(&[0x7f; 16], true), None);
        let least = [&[0x80][..], &[0; 15]].concat();
        assert_eq!(digits(&least, true).unwrap(), "-170141183460469231731687303715884105729");
        assert_eq!(digits(&[1; LONGEST + 1], false), None);
    }

    #[test]
    fn bytes_are_those_of_the_digits() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..2_000 {
            let count = rng.usize(17..=LONGEST);
            let mut bytes: Vec<u8> =
                (0..count).map(|_| *rng.choice(&[0, 1, 0xff, 7]).unwrap()).collect();
            bytes[0] = rng.u8(1..);
            let is_negative = rng.bool();
            let text = digits(&bytes, is_negative).unwrap();
            assert_eq!(bytes_of(&text), Some((2 + u64::from(is_negative), bytes)), "{text}");
        }
        assert_eq!(bytes_of("1e400"), None);
        assert_eq!(bytes_of(&"9".repeat(LONGEST * 3)), None);
    }

    #[test]
    fn what_stands_for_a_number_is_as_long() {
        for length in [19, 100, 257, 258, 259, 516] {
            let head = head_of_text(length);
            assert_eq!(super::head(&head, 0).unwrap().2, head.len());
            let rest = super::head(&head, 0).unwrap().1.unwrap();
            assert_eq!(head.len() + usize::try_from(rest).unwrap(), length);
        }
    }
}
