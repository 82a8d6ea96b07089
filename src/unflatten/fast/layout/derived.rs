//! Recognises visitors that serde_derive wrote. They can read a struct by position, which is much
//! faster than by name.
//!
//! serde allows a visitor to reject one of the two ways, or to read other fields than the names
//! say. So all other visitors read by name, as in other serde formats. Two things prove that a
//! visitor is derived:
//!
//! - The name of its type, which has a form that nobody uses for a type written by hand.
//! - Its place in the source. All code made by a derive has the same place, so the struct and each
//!   of its fields are requested at that place. If somebody expands a derive and edits the result,
//!   each field is requested at another place.
//!
//! If either of these ever changes, nothing breaks: structs are then read by name.
//!
//! Nothing simpler is as safe. That the fields of the type equal those of the structure, in their
//! order, is not enough: a visitor may read another order by position than by name, and nothing
//! fails then. By [number](super::super::numbers) a field takes a turn of a loop, an `Option` and a
//! jump, where by position it takes three instructions.

use std::any::type_name;
use std::cell::Cell;
use std::panic::Location;

use crate::model::{Labels, NodeData};
use crate::treedef::node_ref::is_name;

use super::packed::PackedLayout;

/// Proofs for each struct in a fixed layout: the address of field names that equal those of the
/// struct, in their order, and the address of the type name of a visitor that is derived.
#[derive(Default)]
pub(in crate::unflatten::fast) struct Proofs([Cell<(usize, usize)>; PackedLayout::EXTRAS]);

impl Proofs {
    /// Whether visitor `V` may read struct number `number`, of this node data, by position.
    #[inline(always)]
    pub(in crate::unflatten::fast) fn by_position<V>(
        &self,
        number: usize,
        data: Option<&NodeData>,
        fields: &'static [&'static str],
    ) -> bool {
        let proof = (fields.as_ptr().addr(), type_name::<V>().as_ptr().addr());
        match self.0.get(number) {
            Some(known) if known.get() == proof => true,
            Some(known) => prove(type_name::<V>(), data, fields, known, proof),
            None => false,
        }
    }
}

/// Whether two calls are at the same place in the source.
#[inline(always)]
pub(in crate::unflatten::fast) fn same_place(a: &Location<'_>, b: &Location<'_>) -> bool {
    (a.line(), a.column()) == (b.line(), b.column()) && a.file() == b.file()
}

#[inline(never)]
fn prove(
    visitor: &str,
    data: Option<&NodeData>,
    fields: &[&str],
    known: &Cell<(usize, usize)>,
    proof: (usize, usize),
) -> bool {
    let Some(NodeData { labels: Labels::Fields(own), .. }) = data else { return false };
    let proven = own.len() == fields.len()
        && own.iter().zip(fields).all(|(own, field)| is_name(own, field))
        && is_derived_name(visitor);
    if proven {
        known.set(proof);
    }
    proven
}

/// Whether the name has the form
/// `m::_::<impl serde_core::de::Deserialize<'_> for m::T>::deserialize::__Visitor<…>`. For a struct
/// variant, the form is `<that as serde_core::de::Visitor<'_>>::visit_enum::__Visitor<…>`.
fn is_derived_name(name: &str) -> bool {
    let function = before_generics(name).and_then(|name| name.strip_suffix("::__Visitor"));
    let Some(function) = function else { return false };
    if let Some(implementation) = function.strip_suffix("::deserialize") {
        let of = before_generics(implementation).filter(|of| of.len() < implementation.len());
        return of.is_some_and(|of| {
            of.ends_with("_::") && implementation[of.len()..].starts_with("<impl ")
        });
    }
    function
        .strip_suffix(" as serde_core::de::Visitor<'_>>::visit_enum")
        .and_then(|outer| outer.strip_prefix('<'))
        .is_some_and(is_derived_name)
}

/// A name without the `<…>` at its end. Returns `None` if the brackets do not match.
fn before_generics(name: &str) -> Option<&str> {
    if !name.ends_with('>') {
        return Some(name);
    }
    let mut open = 0;
    for (at, byte) in name.bytes().enumerate().rev() {
        match byte {
            b'>' if at > 0 && name.as_bytes().get(at - 1) == Some(&b'-') => {} // an arrow
            b'>' => open += 1,
            b'<' if open == 1 => return name.get(..at),
            b'<' => open -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::{Deserialize, Deserializer, Visitor};
    use serde::forward_to_deserialize_any;

    /// Reports in its error whether the visitor of a type is recognised as derived.
    struct Ask;

    impl<'de> Deserializer<'de> for Ask {
        type Error = serde::de::value::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(serde::de::Error::custom(is_derived_name(type_name::<V>())))
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
        }
    }

    fn is_derived_visitor_of<'de, T: Deserialize<'de>>() -> bool {
        T::deserialize(Ask).err().is_some_and(|error| error.to_string() == "true")
    }

    #[derive(serde::Deserialize)]
    #[allow(dead_code, reason = "only its visitor is of interest")]
    struct Plain {
        x: f64,
    }

    #[derive(serde::Deserialize)]
    #[allow(dead_code, reason = "only its visitor is of interest")]
    struct Generic<T, const N: usize> {
        x: T,
        f: std::marker::PhantomData<fn(T) -> [u8; N]>,
    }

    /// An implementation by hand that imitates the derive.
    #[derive(Debug)]
    struct Hand;

    impl<'de> Deserialize<'de> for Hand {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct __Visitor<'de>(std::marker::PhantomData<&'de ()>);

            impl<'de> Visitor<'de> for __Visitor<'de> {
                type Value = Hand;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("nothing")
                }
            }

            deserializer.deserialize_struct("Hand", &[], __Visitor(std::marker::PhantomData))
        }
    }

    #[test]
    fn derived_visitors_are_known_by_the_name_of_their_type() {
        assert!(is_derived_visitor_of::<Plain>());
        assert!(is_derived_visitor_of::<Generic<Vec<Option<u8>>, 3>>());
        assert!(is_derived_visitor_of::<Generic<std::marker::PhantomData<fn(u8) -> Plain>, 3>>());
        assert!(!is_derived_visitor_of::<Hand>());
        assert!(!is_derived_visitor_of::<Vec<Plain>>());
        assert!(!is_derived_visitor_of::<String>());
    }

    #[test]
    fn what_wraps_a_derived_visitor_is_not_one() {
        let derived =
            "m::_::<impl serde_core::de::Deserialize<'_> for m::T>::deserialize::__Visitor<'_>";
        assert!(is_derived_name(derived));
        assert!(is_derived_name(&format!(
            "<{derived} as serde_core::de::Visitor<'_>>::visit_enum::__Visitor<'_>"
        )));
        assert!(!is_derived_name(&format!("m::Wrap<{derived}>")));
        assert!(!is_derived_name(&format!("m::__Visitor<{derived}>")));
        assert!(!is_derived_name(&format!("<{derived} as m::Other>::visit_enum::__Visitor<'_>")));
        assert!(!is_derived_name(
            "m::<impl serde_core::de::Deserialize<'_> for n::T>::deserialize::__Visitor<'_>"
        ));
        assert!(!is_derived_name(""));
    }
}
