//! Fields marked static or as one leaf, around every kind and inside serde's buffers.

use std::collections::BTreeMap;

use serde_bytes::ByteBuf;
use treedef::{Opaque, Static};

use super::maps::{Ordered, ordered};
use super::{Specimen, specimens, types};

types! {
    struct Layer { #[serde(serialize_with = "treedef::as_static")] activation: String, w: [f32; 2] }
    struct Image { name: String, #[serde(serialize_with = "treedef::as_opaque")] pixels: Vec<[u8; 3]> }
    struct Point { x: i32, y: i32 }
    enum Plain { Unit, Newtype(u8), Tuple(u8, char), Struct { a: Option<u8> } }
}

// Marks around every kind.
types! {
    struct Kept {
        float: Static<f64>, text: Static<String>, bytes: Static<ByteBuf>, unit: Static<()>, none: Static<Option<u8>>,
        some: Static<Option<Option<u8>>>, seq: Static<Vec<Plain>>, tuple: Static<(u8, char)>, point: Static<Point>,
        map: Static<Ordered<String, (u8, u8)>>, variant: Static<Plain>, empty: Static<Vec<u8>>,
    }
    struct Whole {
        float: Opaque<f64>, text: Opaque<String>, bytes: Opaque<ByteBuf>, unit: Opaque<()>, none: Opaque<Option<u8>>,
        some: Opaque<Option<Option<u8>>>, seq: Opaque<Vec<Plain>>, tuple: Opaque<(u8, char)>, point: Opaque<Point>,
        map: Opaque<Ordered<String, (u8, u8)>>, variant: Opaque<Plain>, empty: Opaque<Vec<u8>>,
    }
}

// Marks below everything.
types! {
    struct Under {
        some: Option<Static<u8>>, list: Vec<Opaque<Point>>, map: BTreeMap<u8, Static<Point>>, pair: (Static<u8>, Opaque<Plain>),
        keys: BTreeMap<Static<u8>, u8>, twice: Static<(u8, Static<u8>)>, both: Static<Opaque<Vec<u8>>>, turned: Opaque<Static<Vec<u8>>>,
    }
    enum External { Newtype(Static<Plain>), Tuple(Opaque<Plain>, u8), Struct { a: Static<Point>, b: Opaque<Point> } }
    #[serde(tag = "t")]
    enum Internal { Struct { a: Static<Point>, b: Opaque<Plain>, c: Static<Plain> }, Layer(Layer) }
    #[serde(tag = "t", content = "c")]
    enum Adjacent { Newtype(Static<Plain>), Tuple(Opaque<Plain>, u8), Struct { a: Static<Point> } }
    #[serde(untagged)]
    enum Untagged { Layer(Layer), Plain { only: Static<Plain> }, Image(Image) }
    struct Flat { id: u8, #[serde(flatten)] layer: Layer, #[serde(flatten)] image: Image }
}

fn layer(activation: &str) -> Layer {
    Layer { activation: activation.to_owned(), w: [1.0, 2.0] }
}

fn image() -> Image {
    Image { name: "a".to_owned(), pixels: vec![[1, 2, 3]; 7] }
}

fn plain() -> Vec<Plain> {
    vec![
        Plain::Unit,
        Plain::Unit,
        Plain::Newtype(1),
        Plain::Tuple(1, 'a'),
        Plain::Struct { a: None },
    ]
}

fn map() -> Ordered<String, (u8, u8)> {
    ordered([("b".to_owned(), (1, 2)), ("a".to_owned(), (1, 2))])
}

const POINT: Point = Point { x: 1, y: -1 };

pub(super) fn specimens() -> Vec<Specimen> {
    specimens! {
        "static field" => layer("relu"),
        "static fields in a run" => ["a", "a", "b", "b", "a"].map(layer).to_vec(),
        "leaf field" => image(),
        "leaf fields in a run" => vec![image(); 3],
        "statics" => Kept {
            float: Static(-0.5), text: Static("`\"\n".to_owned()), bytes: Static(ByteBuf::from([0, 255])),
            unit: Static(()), none: Static(None), some: Static(Some(None)), seq: Static(plain()),
            tuple: Static((1, '\'')), point: Static(POINT), map: Static(map()), variant: Static(Plain::Tuple(1, 'b')),
            empty: Static(vec![]),
        },
        "opaque leaves" => Whole {
            float: Opaque(f64::INFINITY), text: Opaque("a".to_owned()), bytes: Opaque(ByteBuf::from([0, 255])),
            unit: Opaque(()), none: Opaque(None), some: Opaque(Some(None)), seq: Opaque(plain()),
            tuple: Opaque((1, 'a')), point: Opaque(POINT), map: Opaque(map()), variant: Opaque(Plain::Unit),
            empty: Opaque(vec![]),
        },
        "marks below everything" => Under {
            some: Some(Static(1)), list: vec![Opaque(POINT); 2], map: [(2, Static(POINT)), (1, Static(POINT))].into(),
            pair: (Static(1), Opaque(Plain::Newtype(1))), keys: [(Static(2), 1), (Static(1), 2)].into(),
            twice: Static((1, Static(2))), both: Static(Opaque(vec![1])), turned: Opaque(Static(vec![1])),
        },
        "static" => Static(POINT),
        "opaque" => Opaque(plain()),
        "marks in external variants" => vec![
            External::Newtype(Static(Plain::Unit)), External::Tuple(Opaque(Plain::Newtype(1)), 1),
            External::Struct { a: Static(POINT), b: Opaque(POINT) },
        ],
        "marks in internal variants" => vec![
            Internal::Struct { a: Static(POINT), b: Opaque(Plain::Tuple(1, 'a')), c: Static(Plain::Unit) },
            Internal::Layer(layer("a")),
        ],
        "marks in adjacent variants" => vec![
            Adjacent::Newtype(Static(Plain::Struct { a: Some(1) })), Adjacent::Tuple(Opaque(Plain::Unit), 1),
            Adjacent::Struct { a: Static(POINT) },
        ],
        "marks in untagged variants" => vec![
            Untagged::Layer(layer("a")), Untagged::Plain { only: Static(Plain::Newtype(1)) }, Untagged::Image(image()),
        ],
        "marks in flattened structs" => Flat { id: 1, layer: layer("a"), image: image() },
    }
}
