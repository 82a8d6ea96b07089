//! The places where serde hides a mark: an error that says what to do, and no news to other formats.

use insta::assert_snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Opaque, Static};

use crate::payload::Nested;

type Bare<T> = T;

/// Expands the places with one way to write a mark.
macro_rules! places {
    ($($module:ident: [$($mark:tt)*], $Mark:ident;)*) => {$(
        mod $module {
            use super::*;

            #[derive(Debug, PartialEq, Serialize, Deserialize)]
            pub(super) struct Flattened {
                pub(super) id: u8,
                #[serde(flatten, $($mark)*)]
                pub(super) below: $Mark<Nested>,
            }

            #[derive(Debug, PartialEq, Serialize, Deserialize)]
            #[serde(tag = "tag")]
            pub(super) enum Internal {
                Newtype(#[serde($($mark)*)] $Mark<Nested>),
            }

            #[derive(Debug, PartialEq, Serialize, Deserialize)]
            #[serde(transparent)]
            pub(super) struct Transparent {
                #[serde($($mark)*)]
                pub(super) inside: $Mark<Nested>,
            }

            #[derive(Debug, PartialEq, Serialize, Deserialize)]
            #[serde(tag = "tag")]
            pub(super) enum InternalTransparent {
                Newtype(Transparent),
            }

            pub(super) fn held() -> $Mark<Nested> {
                $Mark::<Nested>::from(Nested { name: "a".to_owned(), size: (1, 0.5) })
            }
        }
    )*};
}

places! {
    plain: [], Bare;
    static_serialize_with: [serialize_with = "treedef::as_static"], Bare;
    static_with: [with = "treedef::as_static"], Bare;
    static_wrapper: [], Static;
    leaf_serialize_with: [serialize_with = "treedef::as_opaque"], Bare;
    leaf_with: [with = "treedef::as_opaque"], Bare;
    leaf_wrapper: [], Opaque;
}

const ADVICE: &str = "mark the inner fields";

/// Refused at this path, and in JSON what it is without its mark.
#[track_caller]
fn is_refused<T>(value: T, path: &str, plain: &impl Serialize)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let (list, mut buffer) = ((0, [&value]), vec![treedef::Leaf::from(1)]);
    let structure = treedef::structure(&(0, [0])).unwrap();
    for error in [
        treedef::flatten(&list).unwrap_err(),
        treedef::structure(&list).unwrap_err(),
        treedef::signature(&list).unwrap_err(),
        structure.flatten_like(&list, &mut buffer).unwrap_err(),
    ] {
        assert!(error.to_string().contains(ADVICE), "{error}");
        assert_eq!(error.path().to_string(), path, "{error}");
    }
    let json = serde_json::to_string(&value).unwrap();
    assert_eq!(json, serde_json::to_string(plain).unwrap());
    assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value);
}

macro_rules! are_refused {
    ($($module:ident)*) => {
        let unmarked = plain::Flattened { id: 1, below: plain::held() };
        $(is_refused($module::Flattened { id: 1, below: $module::held() }, ".1.0", &unmarked);)*
        let unmarked = plain::Internal::Newtype(plain::held());
        $(is_refused($module::Internal::Newtype($module::held()), ".1.0", &unmarked);)*
        let inside = plain::Transparent { inside: plain::held() };
        let unmarked = plain::InternalTransparent::Newtype(inside);
        $(
            let inside = $module::Transparent { inside: $module::held() };
            is_refused($module::InternalTransparent::Newtype(inside), ".1.0", &unmarked);
        )*
    };
}

#[test]
fn on_a_flattened_field_and_on_the_payload_of_an_internal_newtype_variant() {
    are_refused! {
        static_serialize_with static_with static_wrapper leaf_serialize_with leaf_with leaf_wrapper
    }
    let flattened = static_serialize_with::Flattened { id: 1, below: plain::held() };
    assert_snapshot!(treedef::flatten(&[flattened]).unwrap_err(), @"a mark on a flattened field, or on the newtype payload of an internally tagged variant, is hidden by serde: mark the inner fields at `.0`");
    let internal = leaf_wrapper::Internal::Newtype(leaf_wrapper::held());
    assert_snapshot!(treedef::flatten(&internal).unwrap_err(), @"a mark on a flattened field, or on the newtype payload of an internally tagged variant, is hidden by serde: mark the inner fields at the root");
}

#[test]
fn on_the_inside_of_a_flattened_option() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flattened<T> {
        id: u8,
        #[serde(flatten)]
        below: Option<T>,
    }

    let unmarked = Flattened { id: 1, below: Some(plain::held()) };
    is_refused(Flattened { id: 1, below: Some(Static(plain::held())) }, ".1.0", &unmarked);
    is_refused(Flattened { id: 1, below: Some(Opaque(plain::held())) }, ".1.0", &unmarked);
    let absent = Flattened { id: 1, below: None::<Static<Nested>> };
    assert_snapshot!(treedef::structure(&absent).unwrap(), @r#"{"id": *}"#);
}

#[test]
fn a_mark_on_an_enum_that_is_flattened_is_hidden_too() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Choice {
        Newtype(Nested),
        Struct { a: u8 },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flattened<T> {
        #[serde(flatten)]
        below: T,
    }

    let newtype = || Choice::Newtype(plain::held());
    let unmarked = Flattened { below: newtype() };
    is_refused(Flattened { below: Static(newtype()) }, ".1.0", &unmarked);
    let unmarked = Flattened { below: Choice::Struct { a: 1 } };
    is_refused(Flattened { below: Opaque(Choice::Struct { a: 1 }) }, ".1.0", &unmarked);
}

#[test]
fn what_is_flattened_may_hold_marks() {
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flattened {
        id: u8,
        #[serde(flatten)]
        rest: BTreeMap<String, Static<Vec<u8>>>,
    }

    let rest =
        BTreeMap::from([("a".to_owned(), Static(vec![1])), ("z".to_owned(), Static(vec![]))]);
    let value = Flattened { id: 1, rest };
    let (leaves, treedef) = treedef::flatten(&value).unwrap();
    assert_snapshot!(treedef, @r#"{"a": static [1u8], "id": *, "z": static []}"#);
    assert_eq!(treedef::unflatten_strict::<Flattened>(&treedef, &leaves).unwrap(), value);
}
