//! Parts of MessagePack that are not in the tree.

use std::iter;

/// Whether a document has extensions. serde sees an extension as a list of the number and the bytes.
pub(crate) fn has_extensions(bytes: &[u8]) -> bool {
    heads(bytes).any(|(head, _)| matches!(head, 0xc7..=0xc9 | 0xd4..=0xd8))
}

/// Whether a document has texts that are not UTF-8. serde sees bytes.
pub(crate) fn has_damaged_texts(bytes: &[u8]) -> bool {
    heads(bytes).any(|(head, content)| {
        matches!(head, 0xa0..=0xbf | 0xd9..=0xdb) && str::from_utf8(content).is_err()
    })
}

/// The first byte of each value, and its content. The content of a container follows its head, so its end
/// need not be known.
fn heads(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    iter::from_fn(move || {
        let (head, rest) = bytes.split_first()?;
        let (size, fixed) = match head {
            0xa0..=0xbf => (0, usize::from(head & 0x1f)),
            0xc4..=0xc6 => (1 << (head - 0xc4), 0),
            0xc7..=0xc9 => (1 << (head - 0xc7), 1),
            0xd4..=0xd8 => (0, 1 + (1 << (head - 0xd4))),
            0xd9..=0xdb => (1 << (head - 0xd9), 0),
            0xcc | 0xd0 => (0, 1),
            0xcd | 0xd1 | 0xdc | 0xde => (0, 2),
            0xca | 0xce | 0xd2 | 0xdd | 0xdf => (0, 4),
            0xcb | 0xcf | 0xd3 => (0, 8),
            _ => (0, 0),
        };
        let (digits, rest) = rest.split_at_checked(size)?;
        let length = digits.iter().fold(0, |length, digit| (length << 8) | usize::from(*digit));
        let (content, rest) = rest.split_at_checked(length.checked_add(fixed)?)?;
        bytes = rest;
        Some((*head, content))
    })
}
