//! Integers of CBOR beyond 128 bits, whose reader has bytes for them, or refuses the file.

use std::ops::Range;

use treedef::{Leaf, Tree};

use crate::exact::{joined, long, replaced};

/// What takes longer to be written in decimals stays bytes with a tag.
const LONGEST: usize = 512;

/// The first byte of a positive number's tag; that of a negative one is the next.
const POSITIVE: u8 = 0xc2;

/// An integer beyond 128 bits, and where it is.
struct Bignum {
    place: Range<usize>,
    digits: String,
}

/// Reads CBOR, with such integers as they stand.
pub(crate) fn of_cbor<E>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<Tree<Leaf>, E>,
) -> Result<Tree<Leaf>, E> {
    let numbers = bignums(bytes);
    if numbers.is_empty() {
        return read(bytes);
    }
    let places: Vec<_> = numbers.iter().map(|number| number.place.clone()).collect();
    // Errors have the places of the file: a text is as long as the number.
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
    let tree = read(&replaced(bytes, &places, text))?;
    let indices = read(&replaced(bytes, &places, index)).ok();
    joined(tree, indices, |at| long(&numbers.get(at)?.digits)).or_else(|_| read(bytes))
}

/// The head of a text that has this length with it, which is from 18 to some thousand bytes.
fn head_of_text(length: usize) -> Vec<u8> {
    match (u8::try_from(length - 2), u16::try_from(length - 3)) {
        (Ok(rest), _) => vec![0x78, rest],
        (_, Ok(rest)) => [&[0x79][..], &rest.to_be_bytes()].concat(),
        _ => Vec::new(),
    }
}

/// A file is one head after another, with bytes behind those of bytes and texts.
fn bignums(bytes: &[u8]) -> Vec<Bignum> {
    let (mut numbers, mut at, mut tag) = (Vec::new(), 0, None);
    while let Some((kind, value, length)) = head(bytes, at) {
        let start = at;
        at += length;
        if let (2 | 3, Some(value)) = (kind, value) {
            let end = usize::try_from(value).ok().and_then(|value| at.checked_add(value));
            let Some(content) = end.and_then(|end| bytes.get(at..end)) else { break };
            if let (2, Some(is_negative)) = (kind, tag)
                && let Some(digits) = digits(content, is_negative)
            {
                numbers.push(Bignum { place: start - 1..at + content.len(), digits });
            }
            at += content.len();
        }
        tag = match bytes.get(start) {
            Some(&POSITIVE) => Some(false),
            Some(byte) if *byte == POSITIVE + 1 => Some(true),
            _ => None,
        };
    }
    numbers
}

/// The kind of what is at a place, its number unless it has none, and how long both are.
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
    const LIMB: u64 = 1_000_000_000;
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = bytes.get(zeros..).filter(|bytes| bytes.len() <= LONGEST)?;
    let fits = bytes.len() < 16
        || bytes.len() == 16 && !(is_negative && bytes.first().is_some_and(|first| *first > 0x7f));
    if fits {
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
#[allow(clippy::unwrap_used)]
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
    fn what_stands_for_a_number_is_as_long() {
        for length in [19, 100, 257, 258, 259, 516] {
            let head = head_of_text(length);
            assert_eq!(super::head(&head, 0).unwrap().2, head.len());
            let rest = super::head(&head, 0).unwrap().1.unwrap();
            assert_eq!(head.len() + usize::try_from(rest).unwrap(), length);
        }
    }
}
