//! Fingerprints of structures: hashes of their bytes in a file, which depend on no machine.

use std::fmt;
use std::str::FromStr;

use hmac_sha256::Hash;

use crate::error::{Cause, Error, Result};
use crate::model::TreeDef;
use crate::text::as_text;

use super::container::option_bits;
use super::encode::encode_part;

/// A 128-bit hash of a structure. It is the same on every machine, in every process and release.
///
/// It is the first 16 bytes of the SHA-256 of the options, as in the header of a file (`u32`, little endian),
/// followed by the part *Structure* of the [file format](crate::_guide::files). It is not the hash of a file,
/// and does not depend on the leaves: two checkpoints with different numbers have the same one.
///
/// Two structures share one by accident with a probability of 2⁻¹²⁸, and finding two that do takes some
/// 2⁶⁴ hashes. It prints as 32 hexadecimal digits and parses back, for example as the name of a directory
/// in a cache.
///
/// ```
/// use treedef::Fingerprint;
///
/// let treedef = treedef::structure(&vec![(1.0, "a"); 3])?;
/// let fingerprint = treedef.fingerprint()?;
/// assert_eq!(fingerprint.to_string(), "4b0a39d6e8035035ba00462d87214e74");
/// assert_eq!(fingerprint.to_string().parse::<Fingerprint>()?, fingerprint);
/// assert_eq!(Fingerprint::from_bits(fingerprint.to_bits()), fingerprint);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u128);

impl TreeDef {
    /// A short identifier of this structure with its names, keys, variants, statics and options.
    ///
    /// # Errors
    ///
    /// Returns an error when the structure has more than 2³² nodes or names.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        // Frozen with format 1. A later format gets another encoding, but fingerprints keep this.
        let mut hash = Hash::new();
        hash.update(option_bits(self.encoding.options).to_le_bytes());
        hash.update(encode_part(std::iter::empty(), Some(self))?.part()?);
        let hash = hash.finalize();
        let bits = hash.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte));
        Ok(Fingerprint(bits))
    }
}

impl Fingerprint {
    /// The fingerprint as a number.
    pub fn to_bits(self) -> u128 {
        self.0
    }

    /// The fingerprint with these bits.
    pub fn from_bits(bits: u128) -> Self {
        Fingerprint(bits)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits = |text: &str| {
            let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            text.len() == 32 && text.bytes().all(digit)
        };
        let bits = u128::from_str_radix(text, 16).ok().filter(|_| digits(text));
        bits.map(Fingerprint).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            let expected = "32 hexadecimal digits in lower case";
            let found = format!("`{}`", shown.escape_debug());
            Cause::Syntax { offset: 0, expected, found }.into()
        })
    }
}

as_text! { Fingerprint }
