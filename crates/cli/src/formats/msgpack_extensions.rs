//! Extensions of MessagePack, which are not in the tree.

/// Whether a document has any. serde sees an extension as a list of the number and the bytes.
pub(crate) fn has_extensions(mut bytes: &[u8]) -> bool {
    // The content of a container follows its head, so its end need not be known.
    while let Some((head, rest)) = bytes.split_first() {
        let length = |size: usize| {
            let digits = rest.get(..size).unwrap_or_default();
            size + digits.iter().fold(0, |length, digit| (length << 8) | usize::from(*digit))
        };
        let skipped = match head {
            0xc7..=0xc9 | 0xd4..=0xd8 => return true,
            0xa0..=0xbf => usize::from(head & 0x1f),
            0xc4 | 0xd9 => length(1),
            0xc5 | 0xda => length(2),
            0xc6 | 0xdb => length(4),
            0xcc | 0xd0 => 1,
            0xcd | 0xd1 | 0xdc | 0xde => 2,
            0xca | 0xce | 0xd2 | 0xdd | 0xdf => 4,
            0xcb | 0xcf | 0xd3 => 8,
            _ => 0,
        };
        bytes = rest.get(skipped..).unwrap_or_default();
    }
    false
}
