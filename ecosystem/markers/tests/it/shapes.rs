//! The types that hold marks: declared once, expanded without marks and with each way to write one.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, Leaf, Opaque, Result, Static, TreeDef};

use crate::formats::Format;
use crate::payload::Payload;

/// What the laws need of a value, whatever its type.
pub(crate) trait Shape: Debug {
    fn encode(&self, format: Format) -> Result<Vec<u8>, String>;
    /// Whether what was decoded is this value.
    fn decodes(&self, format: Format, bytes: &[u8]) -> Result<bool, String>;
    fn flatten(&self, flattener: &Flattener) -> Result<(Vec<Leaf>, TreeDef)>;
    fn flatten_like(&self, treedef: &TreeDef, leaves: &mut Vec<Leaf>) -> Result<()>;
    /// Rebuilds it in every way there is; the error says which one gives something else.
    fn comes_back(&self, treedef: &TreeDef, leaves: &[Leaf]) -> Result<(), String>;
}

impl<T: Serialize + DeserializeOwned + PartialEq + Debug> Shape for T {
    fn encode(&self, format: Format) -> Result<Vec<u8>, String> {
        format.encode(self)
    }

    fn decodes(&self, format: Format, bytes: &[u8]) -> Result<bool, String> {
        format.decode::<T>(bytes).map(|value| value == *self)
    }

    fn flatten(&self, flattener: &Flattener) -> Result<(Vec<Leaf>, TreeDef)> {
        flattener.flatten(self)
    }

    fn flatten_like(&self, treedef: &TreeDef, leaves: &mut Vec<Leaf>) -> Result<()> {
        treedef.flatten_like(self, leaves)
    }

    fn comes_back(&self, treedef: &TreeDef, leaves: &[Leaf]) -> Result<(), String> {
        let rebuilt: [(_, Result<T>); 3] = [
            ("owned", treedef::unflatten(treedef, leaves.to_vec())),
            ("borrowed", treedef::unflatten_borrowed(treedef, leaves)),
            ("strict", treedef::unflatten_strict(treedef, leaves)),
        ];
        for (way, rebuilt) in rebuilt {
            match rebuilt {
                Ok(value) if value == *self => {}
                other => return Err(format!("{way}, of {treedef}: {other:?}")),
            }
        }
        Ok(())
    }
}

/// A shape with its payload in place.
pub(crate) struct Case {
    pub(crate) shape: &'static str,
    /// What stands around it; empty if nothing does.
    pub(crate) context: &'static str,
    /// How often the payload stands in it.
    pub(crate) marks: usize,
    pub(crate) value: Box<dyn Shape>,
}

impl Case {
    pub(crate) fn name(&self) -> String {
        [self.shape, self.context].join(if self.context.is_empty() { "" } else { ", " })
    }
}

fn case(shape: &'static str, marks: usize, value: impl Shape + 'static) -> Case {
    Case { shape, context: "", marks, value: Box::new(value) }
}

macro_rules! types {
    ($($type:item)*) => {$(
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        $type
    )*};
}

// Contexts, around a type that holds marks.
types! {
    struct Flattened<T> { id: u8, #[serde(flatten)] below: T, end: bool }
    #[serde(untagged)]
    enum Untagged<T> { Short(bool, u8), Below { below: T } }
    #[serde(tag = "tag")]
    enum Internal<T> { Below { below: T }, Newtype(T) }
    #[serde(tag = "tag", content = "content")]
    enum Adjacent<T> { Below { below: T }, Newtype(T), Tuple(u8, T) }
    struct Generic<T> { before: u8, inside: T }
}

/// What the values of a test are.
trait Value: Clone + Debug + Serialize + DeserializeOwned + PartialEq + 'static {}

impl<T: Clone + Debug + Serialize + DeserializeOwned + PartialEq + 'static> Value for T {}

fn flattened(shape: &'static str, marks: usize, below: impl Value) -> Case {
    Case { context: "flattened", ..case(shape, marks, Flattened { id: 1, below, end: true }) }
}

fn untagged(shape: &'static str, marks: usize, below: impl Value) -> Case {
    Case { context: "untagged", ..case(shape, marks, Untagged::Below { below }) }
}

/// A value, and the same in each context.
fn contexts<T: Value>(cases: &mut Vec<Case>, shape: &'static str, marks: usize, value: T) {
    let below = || value.clone();
    cases.extend([
        case(shape, marks, below()),
        flattened(shape, marks, below()),
        untagged(shape, marks, below()),
    ]);
    let values: [(_, Box<dyn Shape>); 5] = [
        ("internal struct", Box::new(Internal::Below { below: below() })),
        ("internal newtype", Box::new(Internal::Newtype(below()))),
        ("adjacent struct", Box::new(Adjacent::Below { below: below() })),
        ("adjacent newtype", Box::new(Adjacent::Newtype(below()))),
        ("adjacent tuple", Box::new(Adjacent::Tuple(1, below()))),
    ];
    cases.extend(values.map(|(context, value)| Case { shape, context, marks, value }));
}

// Where only a wrapper can stand.
types! {
    struct Wrapped<H> {
        option: Option<H>, list: Vec<H>, map: BTreeMap<String, H>, generic: Generic<H>, pair: (H, u8),
    }
}

/// Those with marks that an attribute cannot write.
fn wrapped_cases<H: Value + From<Payload>>(payload: &Payload) -> Vec<Case> {
    let held = || H::from(payload.clone());
    let map = [("b", held()), ("a", held())].map(|(key, value)| (key.to_owned(), value));
    let generic = || Generic { before: 1, inside: held() };
    let mut cases = vec![
        case("option", 1, Some(held())),
        case("list", 3, vec![held(), held(), held()]),
        case("map", 2, BTreeMap::from(map.clone())),
        case("generic", 1, generic()),
    ];
    let (option, list, pair) = (Some(held()), vec![held(), held()], (held(), 1));
    contexts(
        &mut cases,
        "wrapped",
        7,
        Wrapped { option, list, map: map.into(), generic: generic(), pair },
    );
    cases
}

/// Expands every shape with one way to write a mark: an attribute on the field, or a type around the payload.
macro_rules! shapes {
    ($($module:ident: [$($mark:tt)*], $Mark:ident;)*) => {$(
        pub(crate) mod $module {
            use super::*;

            type Held = $Mark<Payload>;

            // Marks on fields, of every kind of field.
            types! {
                struct Struct { first: u8, #[serde($($mark)*)] held: Held, last: bool }
                struct Newtype(#[serde($($mark)*)] Held);
                struct Tuple(u8, #[serde($($mark)*)] Held, bool);
                enum Variant {
                    Newtype(#[serde($($mark)*)] Held),
                    Tuple(u8, #[serde($($mark)*)] Held, bool),
                    Struct { first: u8, #[serde($($mark)*)] held: Held },
                }
                struct Positions { newtype: Newtype, tuple: Tuple, variants: [Variant; 3], twice: (Struct, Struct) }
            }

            // Marks on the fields of variants that are not written as variants.
            types! {
                #[serde(untagged)]
                enum UntaggedMarks {
                    Struct { first: u8, #[serde($($mark)*)] held: Held },
                    Tuple(u8, #[serde($($mark)*)] Held, bool),
                    Newtype(#[serde($($mark)*)] Held),
                }
                #[serde(tag = "tag")]
                enum InternalMarks { Struct { first: u8, #[serde($($mark)*)] held: Held } }
                #[serde(tag = "tag", content = "content")]
                enum AdjacentMarks {
                    Newtype(#[serde($($mark)*)] Held),
                    Tuple(u8, #[serde($($mark)*)] Held, bool),
                    Struct { first: u8, #[serde($($mark)*)] held: Held },
                }
            }

            pub(crate) fn cases(payload: &Payload) -> Vec<Case> {
                let held = || Held::from(payload.clone());
                let first = 1;
                let newtype = || Newtype(held());
                let tuple = || Tuple(1, held(), true);
                let fields = || Struct { first, held: held(), last: true };
                let variants = [
                    Variant::Newtype(held()), Variant::Tuple(1, held(), true), Variant::Struct { first, held: held() },
                ];
                let positions = Positions {
                    newtype: newtype(), tuple: tuple(), variants: variants.clone(), twice: (fields(), fields()),
                };
                let mut cases = vec![
                    case("newtype struct", 1, newtype()),
                    case("tuple struct", 1, tuple()),
                    case("untagged struct", 1, UntaggedMarks::Struct { first, held: held() }),
                    case("untagged tuple", 1, UntaggedMarks::Tuple(1, held(), true)),
                    case("untagged newtype", 1, UntaggedMarks::Newtype(held())),
                    case("internal struct", 1, InternalMarks::Struct { first, held: held() }),
                    case("adjacent newtype", 1, AdjacentMarks::Newtype(held())),
                    case("adjacent tuple", 1, AdjacentMarks::Tuple(1, held(), true)),
                    case("adjacent struct", 1, AdjacentMarks::Struct { first, held: held() }),
                ];
                contexts(&mut cases, "struct", 1, fields());
                for (name, variant) in ["newtype variant", "tuple variant", "struct variant"].into_iter().zip(variants) {
                    contexts(&mut cases, name, 1, variant);
                }
                cases.extend([
                    case("positions", 7, positions.clone()),
                    flattened("positions", 7, positions.clone()),
                    untagged("positions", 7, positions),
                ]);
                cases
            }
        }
    )*};
}

/// No mark.
type Bare<T> = T;

shapes! {
    plain: [], Bare;
    static_serialize_with: [serialize_with = "treedef::as_static"], Bare;
    static_with: [with = "treedef::as_static"], Bare;
    static_wrapper: [], Static;
    leaf_serialize_with: [serialize_with = "treedef::as_opaque"], Bare;
    leaf_with: [with = "treedef::as_opaque"], Bare;
    leaf_wrapper: [], Opaque;
}

/// One way to write a mark: as a static, and as a leaf.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) statics: fn(&Payload) -> Vec<Case>,
    pub(crate) leaves: fn(&Payload) -> Vec<Case>,
}

fn all_static(payload: &Payload) -> Vec<Case> {
    let mut cases = static_wrapper::cases(payload);
    cases.extend(wrapped_cases::<Static<Payload>>(payload));
    cases
}

fn all_leaf(payload: &Payload) -> Vec<Case> {
    let mut cases = leaf_wrapper::cases(payload);
    cases.extend(wrapped_cases::<Opaque<Payload>>(payload));
    cases
}

/// Without marks; those that only a wrapper can mark come last.
pub(crate) fn plain(payload: &Payload) -> Vec<Case> {
    let mut cases = plain::cases(payload);
    cases.extend(wrapped_cases::<Payload>(payload));
    cases
}

pub(crate) const WAYS: [Way; 3] = [
    Way {
        name: "serialize_with",
        statics: static_serialize_with::cases,
        leaves: leaf_serialize_with::cases,
    },
    Way { name: "with", statics: static_with::cases, leaves: leaf_with::cases },
    Way { name: "wrapper", statics: all_static, leaves: all_leaf },
];
