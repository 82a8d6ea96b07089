//! The fields of a struct by their numbers.
//!
//! serde_derive reads the key of a field from its name or from its number. If both give the same
//! key, for each field of the struct, the number is enough, and no name is compared.
//!
//! They do not agree if a field has an alias, for example, or if somebody wrote the type of keys.
//! So each field's key is read both ways and must be the same variant of an enum, once for each
//! type of keys and thread. Only a type with the name that serde_derive gives it is asked, because
//! reading another may have effects that can be seen.

use std::any::type_name;
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::mem;

use serde::Deserialize;

use crate::model::Name;
use crate::treedef::node_ref::is_name;

use super::super::cursor::{Cursor, NodeDeserializer};

/// Whether the fields of a struct are handed out by their numbers: the address of the [`KeyType`]
/// that takes them, or one of two others.
#[derive(Clone, Copy)]
pub(in crate::unflatten) struct FieldNumbers(usize);

/// Stands for a type of keys. Says which of its variants the key at the cursor is, if serde_derive
/// made the type.
pub(in crate::unflatten) type KeyType<'de> = fn(&mut Cursor<'de>) -> Option<u64>;

/// How many types of keys a thread remembers, each at a place that follows from its address. The
/// first at a place stays.
const REMEMBERED: usize = 128;

type KnownFields = (usize, &'static [&'static str]);

thread_local! {
    /// The address of each [`KeyType`] that was asked, with the names if it said yes.
    static KNOWN: [Cell<KnownFields>; REMEMBERED] =
        const { [const { Cell::new((0, &[])) }; REMEMBERED] };
}

impl FieldNumbers {
    /// It depends on the type of keys.
    const UNKNOWN: Self = FieldNumbers(0);
    /// Names are read.
    pub(in crate::unflatten) const NONE: Self = FieldNumbers(1);

    /// For a struct with fields of these names, that is read as one with `fields`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn of(names: &[Name], fields: &[&str]) -> Self {
        let are_equal = fields.len() == names.len()
            && names.iter().zip(fields).all(|(own, field)| is_name(own, field));
        if are_equal { FieldNumbers::UNKNOWN } else { FieldNumbers::NONE }
    }

    /// Whether this type of keys takes the numbers of these fields.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn suit<'de>(
        &mut self,
        keys: KeyType<'de>,
        fields: &'static [&'static str],
        cursor: &mut Cursor<'de>,
    ) -> bool {
        if self.0 == FieldNumbers::UNKNOWN.0 {
            *self = FieldNumbers::known(keys, fields, cursor);
        }
        self.0 == keys as usize
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn known<'de>(
        keys: KeyType<'de>,
        fields: &'static [&'static str],
        cursor: &mut Cursor<'de>,
    ) -> Self {
        let address = keys as usize;
        let slot = address / 16 % REMEMBERED; // functions are aligned
        let (mut known, mut agreed) = KNOWN.with(|known| known[slot].get());
        if known == 0 {
            (known, agreed) = (address, ask(keys, fields, cursor));
            KNOWN.with(|of| of[slot].set((known, agreed)));
        }
        if known == address && std::ptr::eq(agreed, fields) {
            FieldNumbers(address)
        } else {
            FieldNumbers::NONE
        }
    }
}

/// The fields, if this type of keys takes their numbers.
#[cold]
#[inline(never)]
fn ask<'de>(
    keys: KeyType<'de>,
    fields: &'static [&'static str],
    cursor: &mut Cursor<'de>,
) -> &'static [&'static str] {
    for (number, name) in fields.iter().enumerate() {
        cursor.go_to_name(name);
        let by_name = keys(cursor);
        cursor.go_to_number(fields, number);
        if by_name.is_none() || by_name != keys(cursor) {
            return &[];
        }
    }
    fields
}

/// The [`KeyType`] of `K`. It is compiled for each type of keys, so it is short.
#[cold]
#[inline(never)]
pub(in crate::unflatten) fn variant_of<'de, K: Deserialize<'de>>(
    cursor: &mut Cursor<'de>,
) -> Option<u64> {
    if !is_made_by_derive(type_name::<K>()) {
        return None;
    }
    match K::deserialize(NodeDeserializer(cursor)) {
        Ok(key) => {
            let mut number = VariantNumber(0);
            mem::discriminant(&key).hash(&mut number);
            Some(number.finish())
        }
        Err(_) => None,
    }
}

fn is_made_by_derive(key_type: &str) -> bool {
    key_type.ends_with("::__Field")
}

/// Takes the number of a variant out of its [`Discriminant`](mem::Discriminant).
/// Whatever integer it is hashed as, its bytes come here.
struct VariantNumber(u64);

impl Hasher for VariantNumber {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |number, byte| number << 8 | u64::from(*byte));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::flatten::flatten;
    use crate::model::TreeDef;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Pair {
        left: String,
        #[serde(rename = "r", default)]
        right: String,
    }

    /// This test fails if serde_derive no longer takes numbers. No other test would.
    #[test]
    fn the_keys_of_a_derived_struct_take_numbers() {
        let pair = Pair { left: "a".to_owned(), right: "b".to_owned() };
        let (leaves, treedef) = flatten(&pair).expect("two texts");
        let treedef: TreeDef = treedef.to_string().parse().expect("it was printed");
        let rebuilt: Pair = super::super::super::unflatten(&treedef, leaves).expect("the same");
        assert_eq!(rebuilt, pair);
        let agreed = KNOWN.with(|known| known.iter().any(|known| known.get().1 == ["left", "r"]));
        assert!(agreed);
    }
}
