//! What cannot come back: the errors are pinned, so that a change in serde or in a crate is noticed.

use crate::laws::error_of;

#[test]
fn spanned_asks_for_more_than_it_gives() {
    insta::assert_snapshot!(error_of(&serde_spanned::Spanned::new(0..1, 1.5)), @"invalid type: floating point `1.5`, expected a spanned value at the root (a `Spanned` serializes as its value alone and cannot come back: keep spans elsewhere)");
}

#[test]
fn wide_integers_in_a_buffer() {
    use crate::laws::{error_of_buffered, holds_unbuffered};

    holds_unbuffered(u128::MAX);
    insta::assert_snapshot!(error_of_buffered(u128::MAX), @"invalid type: integer `340282366920938463463374607431768211455` as u128, expected any value at `.value` (below `flatten`, `untagged` and an internal `tag` serde buffers values, and its buffer has no 128-bit integers: serde issue 1682; serialize them as strings there)");
}

#[test]
fn plain_slices_of_bytes() {
    let (leaves, treedef) = treedef::flatten(&(b"abc".as_slice(),)).unwrap();
    let error = treedef::unflatten_borrowed::<(&[u8],)>(&treedef, &leaves).unwrap_err();
    insta::assert_snapshot!(error, @"invalid type: byte array, expected a borrowed byte array at `.0` (a plain `&[u8]` serializes as a sequence and cannot come back: annotate it with `serde_bytes`)");
    let (leaves, treedef) = treedef::flatten(&(serde_bytes::Bytes::new(b"abc"),)).unwrap();
    let (slice,): (&[u8],) = treedef::unflatten_borrowed(&treedef, &leaves).unwrap();
    assert_eq!(slice, b"abc");
}
