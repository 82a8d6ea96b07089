//! Visitors that no derive writes: they refuse one of two ways, read in another order, or stop
//! early.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use indexmap::IndexMap;
use insta::assert_snapshot;
use serde::de::{self, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use treedef::{Flattener, flatten, flatten_as, unflatten};

// Two derives of this type, expanded and edited.

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename = "Point")]
struct ByNameOnly {
    x: f64,
    y: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename = "Point")]
struct Swapped {
    x: f64,
    y: f64,
}

const FIELDS: &[&str] = &["x", "y"];

fn by_name<'de, A: MapAccess<'de>>(mut map: A) -> Result<(f64, f64), A::Error> {
    let (mut x, mut y) = (None, None);
    while let Some(key) = map.next_key::<String>()? {
        match key.as_str() {
            "x" => x = Some(map.next_value()?),
            "y" => y = Some(map.next_value()?),
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
    }
    let missing = de::Error::missing_field;
    Ok((x.ok_or_else(|| missing("x"))?, y.ok_or_else(|| missing("y"))?))
}

const _: () = {
    impl<'de> Deserialize<'de> for ByNameOnly {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct __Visitor<'de> {
                lifetime: PhantomData<&'de ()>,
            }
            impl<'de> Visitor<'de> for __Visitor<'de> {
                type Value = ByNameOnly;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("struct Point")
                }

                fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ByNameOnly, A::Error> {
                    let (x, y) = by_name(map)?;
                    Ok(ByNameOnly { x, y })
                }
            }
            deserializer.deserialize_struct("Point", FIELDS, __Visitor { lifetime: PhantomData })
        }
    }
};

const _: () = {
    impl<'de> Deserialize<'de> for Swapped {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct __Visitor<'de> {
                lifetime: PhantomData<&'de ()>,
            }
            impl<'de> Visitor<'de> for __Visitor<'de> {
                type Value = Swapped;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("struct Point")
                }

                fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Swapped, A::Error> {
                    let y =
                        seq.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
                    let x =
                        seq.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
                    Ok(Swapped { x, y })
                }

                fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Swapped, A::Error> {
                    let (x, y) = by_name(map)?;
                    Ok(Swapped { x, y })
                }
            }
            deserializer.deserialize_struct("Point", FIELDS, __Visitor { lifetime: PhantomData })
        }
    }
};

/// Alone, which is read as a whole, and as one of many, which are read beside each other.
#[test]
fn a_visitor_without_sequences_reads_by_name() {
    let value = ByNameOnly { x: 1.0, y: 2.0 };
    for count in [1, 2, 100] {
        let (leaves, treedef) = flatten_as::<f64>(&vec![value; count]).unwrap();
        assert_eq!(unflatten::<Vec<ByNameOnly>>(&treedef, &leaves).unwrap(), vec![value; count]);
        assert_eq!(unflatten::<Vec<ByNameOnly>>(&treedef, leaves).unwrap(), vec![value; count]);
    }
    let (leaves, treedef) = flatten_as::<f64>(&value).unwrap();
    assert_eq!(unflatten::<ByNameOnly>(&treedef, &leaves).unwrap(), value);
}

/// If a visitor reads by position in another order than it declares, the values are exchanged, and nothing
/// can detect it. By name they are not, as if the structure had another order.
#[test]
fn a_visitor_is_taken_at_its_word() {
    let (leaves, treedef) = flatten_as::<f64>(&Swapped { x: 1.0, y: 2.0 }).unwrap();
    let exchanged = Swapped { x: 2.0, y: 1.0 };
    assert_eq!(unflatten::<Swapped>(&treedef, &leaves).unwrap(), exchanged);
    let treedef: treedef::TreeDef = "Point { y: *, x: * }".parse().unwrap();
    assert_eq!(unflatten::<Swapped>(&treedef, &leaves).unwrap(), exchanged);
}

// A derive whose keys are expanded and edited: their numbers are not in the order of the names.

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename = "Point")]
struct Renumbered {
    x: String,
    y: String,
}

const _: () = {
    #[allow(non_camel_case_types, reason = "the name that serde_derive gives it")]
    enum __Field {
        X,
        Y,
        Other,
    }

    struct __FieldVisitor;

    impl Visitor<'_> for __FieldVisitor {
        type Value = __Field;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("field identifier")
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<__Field, E> {
            Ok([__Field::Y, __Field::X].into_iter().nth(number as usize).unwrap_or(__Field::Other))
        }

        fn visit_str<E: de::Error>(self, name: &str) -> Result<__Field, E> {
            Ok(match name {
                "x" => __Field::X,
                "y" => __Field::Y,
                _ => __Field::Other,
            })
        }
    }

    impl<'de> Deserialize<'de> for __Field {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_identifier(__FieldVisitor)
        }
    }

    struct __Visitor;

    impl<'de> Visitor<'de> for __Visitor {
        type Value = Renumbered;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("struct Point")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Renumbered, A::Error> {
            let (mut x, mut y) = (None, None);
            while let Some(key) = map.next_key()? {
                match key {
                    __Field::X => x = Some(map.next_value()?),
                    __Field::Y => y = Some(map.next_value()?),
                    __Field::Other => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            let missing = de::Error::missing_field;
            Ok(Renumbered { x: x.ok_or_else(|| missing("x"))?, y: y.ok_or_else(|| missing("y"))? })
        }
    }

    impl<'de> Deserialize<'de> for Renumbered {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_struct("Point", FIELDS, __Visitor)
        }
    }
};

#[test]
fn fields_whose_numbers_are_not_those_of_their_names_are_read_by_name() {
    let point = Renumbered { x: "x".to_owned(), y: "y".to_owned() };
    let (leaves, treedef) = flatten(&vec![point.clone(); 3]).unwrap();
    for _ in 0..2 {
        assert_eq!(
            unflatten::<Vec<Renumbered>>(&treedef, &leaves).unwrap(),
            vec![point.clone(); 3]
        );
    }
}

/// The names of an alias are among the fields, so the second field does not have number 1.
#[test]
fn fields_with_an_alias_are_read_by_name() {
    #[derive(Serialize)]
    #[serde(rename = "Entry")]
    struct Old {
        id: String,
        name: String,
        note: String,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename = "Entry")]
    struct Entry {
        #[serde(alias = "id")]
        name: String,
        note: String,
    }

    let old = |text: &str| text.to_owned();
    let old = [Old { id: old("1"), name: old("a"), note: old("n") }];
    let (leaves, treedef) = flatten(&old).unwrap();
    let errors = [0; 2].map(|_| unflatten::<[Entry; 1]>(&treedef, &leaves).unwrap_err());
    assert_eq!(errors[0].to_string(), errors[1].to_string());
    assert_snapshot!(errors[0], @"duplicate field `name` at `.0`");
}

/// As in serde_json, where `null` is both.
#[test]
fn a_unit_is_an_absent_option() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Config {
        a: Option<u8>,
        b: Option<()>,
    }

    let (leaves, treedef) = flatten(&serde_json::json!({"a": null, "b": null})).unwrap();
    assert_eq!(treedef.to_string(), r#"{"a": (), "b": ()}"#);
    assert_eq!(unflatten::<Config>(&treedef, leaves).unwrap(), Config { a: None, b: None });

    let nested = (Some(()), None::<()>, Some(Some(())), Some(None::<()>));
    for flattener in [Flattener::new(), Flattener::new().none_is_leaf(true)] {
        let (leaves, treedef) = flattener.flatten(&nested).unwrap();
        type Nested = (Option<()>, Option<()>, Option<Option<()>>, Option<Option<()>>);
        assert_eq!(unflatten::<Nested>(&treedef, leaves).unwrap(), nested, "{treedef}");
    }
}

/// Asks for bytes that it could keep.
struct Lent;

impl<'de> Deserialize<'de> for Lent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Lent)
    }
}

impl<'de> Visitor<'de> for Lent {
    type Value = Lent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a borrowed byte array")
    }

    fn visit_borrowed_bytes<E: de::Error>(self, _: &'de [u8]) -> Result<Lent, E> {
        Ok(Lent)
    }
}

#[test]
fn hints_are_given_where_they_are_true() {
    let error = |result: treedef::Result<()>| result.unwrap_err().to_string();
    let (leaves, treedef) = flatten(&serde_bytes::Bytes::new(b"a\0b")).unwrap();
    // It has a zero inside, and borrowing would not help.
    let text = unflatten::<std::ffi::CString>(&treedef, &leaves).map(drop);
    assert_snapshot!(error(text), @"nul byte found in provided data at position: 1 at the root");
    assert!(unflatten::<Lent>(&treedef, &leaves).is_ok());
    let lent = unflatten::<Lent>(&treedef, leaves).map(drop);
    assert_snapshot!(error(lent), @"invalid type: byte array, expected a borrowed byte array at the root (a type that borrows its bytes needs `unflatten_borrowed`)");

    let (leaves, treedef) = flatten(&300u128).unwrap();
    let small = unflatten::<u8>(&treedef, &leaves).map(drop);
    assert_snapshot!(error(small), @"invalid type: integer `300` as u128, expected u8 at the root");
    let buffered =
        unflatten::<serde_json::Value>(&flatten(&u128::MAX).unwrap().1, [u128::MAX]).map(drop);
    assert_snapshot!(error(buffered), @"JSON number out of range at the root");
}

/// Reads the name of a variant and not its content; reads a `Some` and not its content.
#[derive(Debug)]
struct Incurious;

impl<'de> Deserialize<'de> for Incurious {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Incurious)
    }
}

impl<'de> Visitor<'de> for Incurious {
    type Value = Incurious;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_some<D: Deserializer<'de>>(self, _: D) -> Result<Incurious, D::Error> {
        Ok(Incurious)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, _: D) -> Result<Incurious, D::Error> {
        Ok(Incurious)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<Incurious, A::Error> {
        variant.variant::<String>().map(|_| Incurious)
    }
}

#[derive(Debug)]
struct IncuriousOfVariants;

impl<'de> Deserialize<'de> for IncuriousOfVariants {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("E", &["A", "B"], Incurious).map(|_| IncuriousOfVariants)
    }
}

#[derive(Debug)]
struct IncuriousOfNewtypes;

impl<'de> Deserialize<'de> for IncuriousOfNewtypes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct("N", Incurious).map(|_| IncuriousOfNewtypes)
    }
}

/// The first key of a map, which is the name of a variant.
#[derive(Debug)]
struct OnlyName;

impl<'de> Deserialize<'de> for OnlyName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OnlyName)
    }
}

impl<'de> Visitor<'de> for OnlyName {
    type Value = OnlyName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OnlyName, A::Error> {
        assert!(map.next_key::<String>()?.is_some());
        Ok(OnlyName)
    }
}

#[test]
fn what_nobody_looked_at_is_reported() {
    #[derive(Serialize)]
    enum E {
        A,
        B(u8, u8),
        C(u8),
    }
    #[derive(Serialize)]
    struct N(u8);

    fn read<T: de::DeserializeOwned>(value: impl Serialize) -> Result<T, String> {
        let (leaves, treedef) = flatten(&value).unwrap();
        unflatten(&treedef, leaves).map_err(|error| error.to_string())
    }
    assert_snapshot!(read::<Vec<Incurious>>([Some(1)].as_slice()).unwrap_err(), @"the type read 0 of 1 child at `[0]`");
    assert_snapshot!(read::<IncuriousOfVariants>(E::B(1, 2)).unwrap_err(), @"the type read 0 of 2 children at the root");
    assert_snapshot!(read::<IncuriousOfVariants>(BTreeMap::from([("B", 1)])).unwrap_err(), @"the type read 0 of 1 child at the root");
    assert_snapshot!(read::<IncuriousOfNewtypes>(N(1)).unwrap_err(), @"the type read 0 of 1 child at the root");
    assert_snapshot!(read::<OnlyName>(BTreeMap::from([("B", 1)])).unwrap_err(), @"the type read 0 of 1 child at the root");
    assert_snapshot!(read::<OnlyName>(E::B(1, 2)).unwrap_err(), @"the type read 0 of 2 children at the root");
    assert_snapshot!(read::<Vec<OnlyName>>([E::C(1)].as_slice()).unwrap_err(), @"the type read 0 of 1 child at `[0]`");
    // There is nothing behind the name; and who asks to ignore has looked.
    read::<IncuriousOfVariants>(E::A).unwrap();
    read::<IgnoredAny>(Some(E::B(1, 2))).unwrap();
    read::<IgnoredAny>(N(1)).unwrap();
}

/// The name of a variant is read as an enum of its own.
#[test]
fn a_variant_may_be_named_by_an_enum() {
    #[derive(Serialize)]
    enum Net {
        V4([u8; 5]),
    }

    #[derive(Debug, Deserialize)]
    enum Kind {
        V4,
    }

    #[derive(Debug)]
    struct Read([u8; 5]);

    impl<'de> Deserialize<'de> for Read {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct OfEnum;

            impl<'de> Visitor<'de> for OfEnum {
                type Value = Read;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a net")
                }

                fn visit_enum<A: de::EnumAccess<'de>>(self, data: A) -> Result<Read, A::Error> {
                    let (Kind::V4, payload) = data.variant()?;
                    de::VariantAccess::newtype_variant(payload).map(Read)
                }
            }

            deserializer.deserialize_enum("Net", &["V4"], OfEnum)
        }
    }

    let (leaves, treedef) = flatten(&Net::V4([1, 2, 3, 4, 5])).unwrap();
    assert_eq!(unflatten::<Read>(&treedef, leaves).unwrap().0, [1, 2, 3, 4, 5]);
}

/// A map of maps that drops entries that it cannot read.
#[derive(Debug, PartialEq)]
struct Lenient(Vec<(String, Option<Entries>)>);

type Entries = Vec<(String, Vec<u8>)>;

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Inner(Option<Entries>);

        impl<'de> Deserialize<'de> for Inner {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let map = IndexMap::<String, Vec<u8>>::deserialize(deserializer);
                Ok(Inner(map.ok().map(|map| map.into_iter().collect())))
            }
        }

        let map = IndexMap::<String, Inner>::deserialize(deserializer)?;
        Ok(Lenient(map.into_iter().map(|(key, Inner(inner))| (key, inner)).collect()))
    }
}

#[test]
fn maps_keep_their_orders_around_an_inner_one_that_fails() {
    // No two values have one structure, and no map is in the order of its keys.
    let inner = |keys: &[(&str, &[i16])]| -> IndexMap<String, Vec<i16>> {
        keys.iter().map(|(key, bytes)| ((*key).to_owned(), bytes.to_vec())).collect()
    };
    let maps = [
        ("c", inner(&[("z", &[1]), ("y", &[2, 3]), ("x", &[4, 5, 6])])),
        ("b", inner(&[("z", &[1, 2]), ("y", &[-1]), ("x", &[7])])),
        ("d", inner(&[("y", &[8]), ("x", &[9, 10])])),
        ("a", inner(&[("x", &[]), ("w", &[11])])),
    ];
    let map: IndexMap<&str, _> = maps.clone().into_iter().collect();
    let (leaves, treedef) = flatten(&map).unwrap();
    let Lenient(read) = unflatten(&treedef, leaves).unwrap();
    let expected = maps.map(|(key, inner)| {
        let bytes = inner.into_iter().map(|(key, numbers)| {
            Some((key, numbers.into_iter().map(|n| u8::try_from(n).ok()).collect::<Option<_>>()?))
        });
        (key.to_owned(), bytes.collect())
    });
    assert_eq!(read, expected);
    assert!(read[1].1.is_none());
}

/// Only where a value would read as another one without it.
#[test]
fn a_some_around_an_option_has_a_node() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inside<T>(T);
    type Nested = Option<Inside<Option<u8>>>;
    let options = Flattener::new().none_is_leaf(true);
    let nested: [(Nested, &str); 3] = [
        (None, "*"),
        (Some(Inside(None)), "Some(Inside(*))"),
        (Some(Inside(Some(1))), "Inside(*)"),
    ];
    for (value, text) in nested {
        let (leaves, treedef) = options.flatten(&value).unwrap();
        assert_eq!(treedef.to_string(), format!("#[none_is_leaf] {text}"));
        assert_eq!(treedef::unflatten::<Nested>(&treedef, leaves).unwrap(), value);
    }
}
