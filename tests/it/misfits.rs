//! Requests that do not fit the node, although the visitor accepts it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_bytes::{ByteBuf, Bytes};
use treedef::{Leaf, Tree, TreeDef, flatten, unflatten, unflatten_borrowed};

#[test]
fn bytes_are_a_text_to_who_takes_them() {
    let (leaves, treedef) = flatten(&ByteBuf::from("a/b")).unwrap();
    assert_eq!(unflatten::<PathBuf>(&treedef, &leaves).unwrap(), PathBuf::from("a/b"));
    assert_eq!(unflatten::<PathBuf>(&treedef, leaves.clone()).unwrap(), PathBuf::from("a/b"));
    assert_eq!(unflatten::<String>(&treedef, leaves.clone()).unwrap(), "a/b");
    assert_eq!(unflatten_borrowed::<&str>(&treedef, &leaves).unwrap(), "a/b");

    let (leaves, treedef) = flatten(&[ByteBuf::from([0xff])]).unwrap();
    let error = unflatten::<[String; 1]>(&treedef, leaves).unwrap_err();
    assert_snapshot!(error, @"invalid value: byte array, expected a string at `.0`");
}

/// A map whose keys are bytes.
struct ByteKeys(&'static [(&'static [u8], u8)]);

impl Serialize for ByteKeys {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.0 {
            map.serialize_entry(Bytes::new(key), value)?;
        }
        map.end()
    }
}

#[derive(Debug, PartialEq, Deserialize)]
struct Row {
    x: u8,
    #[serde(default)]
    y: u8,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Open {
    x: u8,
    #[serde(flatten)]
    rest: BTreeMap<ByteBuf, u8>,
}

#[derive(Debug, PartialEq, Deserialize)]
enum Choice {
    #[serde(rename = "x")]
    X(u8),
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "tag")]
enum Tagged {
    A { x: u8 },
}

#[derive(Serialize)]
struct TaggedByBytes {
    tag: ByteBuf,
    x: u8,
}

#[test]
fn bytes_name_fields_and_variants() {
    let (leaves, treedef) = flatten(&ByteKeys(&[(b"x", 1), (b"z", 2)])).unwrap();
    assert_eq!(treedef.to_string(), r#"{b"x": *, b"z": *}"#);
    assert_eq!(unflatten::<Row>(&treedef, &leaves).unwrap(), Row { x: 1, y: 0 });
    let rest = BTreeMap::from([(ByteBuf::from("z"), 2)]);
    assert_eq!(unflatten::<Open>(&treedef, &leaves).unwrap(), Open { x: 1, rest });
    let (leaves, treedef) = flatten(&ByteKeys(&[(b"x", 1), (b"\xff", 2)])).unwrap();
    let error = unflatten::<Row>(&treedef, &leaves).unwrap_err();
    assert_snapshot!(error, @r#"invalid type: byte array, expected field identifier at `[b"\xff"]`"#);

    let (leaves, treedef) = flatten(&ByteKeys(&[(b"x", 1)])).unwrap();
    assert_eq!(unflatten::<Choice>(&treedef, leaves).unwrap(), Choice::X(1));

    let (leaves, treedef) = flatten(&TaggedByBytes { tag: ByteBuf::from("A"), x: 3 }).unwrap();
    assert_eq!(unflatten::<Tagged>(&treedef, leaves).unwrap(), Tagged::A { x: 3 });
}

/// Asks for bytes, and takes a map as well, as `ObjectId` of the crate `bson` does.
#[derive(Debug, PartialEq)]
struct Id(Vec<u8>);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdVisitor;

        impl<'de> Visitor<'de> for IdVisitor {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Id, E> {
                Ok(Id(bytes.to_vec()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Id, E> {
                Ok(Id(value.to_be_bytes().to_vec()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Id, A::Error> {
                let entry: Option<(String, String)> = map.next_entry()?;
                Ok(Id(entry.map(|(_, text)| text.into_bytes()).unwrap_or_default()))
            }
        }

        deserializer.deserialize_bytes(IdVisitor)
    }
}

#[derive(Serialize)]
struct Extended {
    #[serde(rename = "$oid")]
    id: &'static str,
}

#[test]
fn a_request_for_bytes_takes_what_is_there() {
    let (leaves, treedef) = flatten(&(Extended { id: "ab" }, ByteBuf::from("cd"), 7u64)).unwrap();
    let ids: (Id, Id, Id) = unflatten(&treedef, leaves).unwrap();
    assert_eq!(ids, (Id(b"ab".into()), Id(b"cd".into()), Id(vec![0, 0, 0, 0, 0, 0, 0, 7])));

    let (leaves, treedef) = flatten(&[Some('c')]).unwrap();
    let error = unflatten::<[ByteBuf; 1]>(&treedef, leaves).unwrap_err();
    assert_snapshot!(error, @"invalid type: Option value, expected byte array at `.0?`");
}

#[derive(Serialize)]
#[serde(rename = "$link")]
struct Link(ByteBuf);

#[derive(Serialize)]
struct Meters(u8);

/// As `Ipld` of the crate `ipld-core`: a newtype that the visitor knows by its name.
#[derive(Debug, PartialEq)]
enum Data {
    Link(Vec<u8>),
    Bytes(Vec<u8>),
    Integer(u64),
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DataVisitor;

        impl<'de> Visitor<'de> for DataVisitor {
            type Value = Data;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("data")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Data, E> {
                Ok(Data::Bytes(bytes.to_vec()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Data, E> {
                Ok(Data::Integer(value))
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Data, D::Error> {
                ByteBuf::deserialize(deserializer).map(|bytes| Data::Link(bytes.into_vec()))
            }
        }

        deserializer.deserialize_any(DataVisitor)
    }
}

#[test]
fn a_newtype_that_is_a_message_reaches_its_visitor() {
    let (link, bytes) = (Link(ByteBuf::from("x")), ByteBuf::from("y"));
    let (leaves, treedef) = flatten(&(link, bytes, Meters(3))).unwrap();
    let data: (Data, Data, Data) = unflatten(&treedef, leaves).unwrap();
    assert_eq!(data, (Data::Link(b"x".into()), Data::Bytes(b"y".into()), Data::Integer(3)));
    // A type that does not know the name still reads the inside.
    let tree = Tree::of(&Link(ByteBuf::from("x"))).unwrap();
    assert_eq!(tree.into_typed::<ByteBuf>().unwrap(), b"x");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[allow(non_camel_case_types)]
struct f16(u16);

/// A type may overlook the error. The levels of a newtype around the place are given back before.
#[test]
fn an_enum_that_is_refused_in_a_newtype_takes_no_levels() {
    #[derive(Debug, PartialEq, Deserialize)]
    enum E {
        A(String),
        B,
    }
    #[derive(Debug, PartialEq)]
    struct Lenient(Option<E>);
    impl<'de> Deserialize<'de> for Lenient {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Ok(Lenient(E::deserialize(deserializer).ok()))
        }
    }
    let newtype: TreeDef = "W(*)".parse().unwrap();
    assert_eq!(unflatten::<Lenient>(&newtype, [1]).unwrap(), Lenient(None));
    assert_eq!(unflatten::<E>(&newtype, ["B".to_owned()]).unwrap(), E::B);
    assert_snapshot!(unflatten::<E>(&newtype, [1]).unwrap_err(), @"invalid type: integer `1`, expected enum E at `.0`");
    assert_snapshot!(unflatten::<bool>(&newtype, [1]).unwrap_err(), @"invalid type: integer `1`, expected a boolean at `.0`");

    let many: TreeDef = "[W(*); 130, E::A(*)]".parse().unwrap();
    let leaves: Vec<Leaf> = (0..130).map(Leaf::I32).chain([Leaf::from("a")]).collect();
    let read: Vec<Lenient> = unflatten(&many, leaves).unwrap();
    assert_eq!(read.last().unwrap().0, Some(E::A("a".to_owned())));
}

#[test]
fn strict_rebuilding_knows_halves() {
    let floats = treedef::Flattener::new().array_rule(treedef::ArrayRule::Half);
    let halves = vec![f16(0x3e00), f16(0x7e01)];
    let (leaves, treedef) = floats.flatten(&halves).unwrap();
    assert_eq!(treedef::unflatten_strict::<Vec<f16>>(&treedef, leaves.clone()).unwrap(), halves);
    let wide = floats.flatten_as::<f64>(&halves).unwrap().0;
    assert_eq!(treedef::unflatten_strict::<Vec<f16>>(&treedef, wide).unwrap(), halves);

    let rounded = vec![Leaf::from(0.1f32), leaves[0].clone()];
    let error = treedef::unflatten_strict::<Vec<f16>>(&treedef, rounded).unwrap_err();
    assert_snapshot!(error, @"expected `0.1f32`, found `0.099975586f32` at `[0]`");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Skipping(
    #[serde(skip_serializing_if = "Option::is_none", default)] Option<u8>,
    #[serde(default)] u8,
);

/// As in the overview, and as in serde_json: no format sees that a field was skipped.
#[test]
fn the_fields_behind_a_skipped_one_move_up_in_a_tuple_struct() {
    let value = Skipping(None, 5);
    let (leaves, treedef) = flatten(&value).unwrap();
    assert_eq!(treedef.to_string(), "Skipping(*,)");
    assert_eq!(unflatten::<Skipping>(&treedef, leaves).unwrap(), Skipping(Some(5), 0));
    let json = serde_json::to_string(&value).unwrap();
    assert_eq!(serde_json::from_str::<Skipping>(&json).unwrap(), Skipping(Some(5), 0));
}
