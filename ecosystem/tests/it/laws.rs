//! What holds for every value, alone and wherever it stands.
//!
//! Every subject instantiates what is generic here, so whatever can do without its type is a function of its own, and
//! the wrappers borrow their leaves: for leaves that are lent as typed slices serde's code is made four times.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{
    Flattener, Leaf, LeafKind, MapOrder, NodeKind, NodeRef, Path, TreeDef, flatten, unflatten,
    unflatten_borrowed, unflatten_strict,
};

pub(crate) trait Subject: Serialize + DeserializeOwned + PartialEq + Debug + Clone {}

impl<T: Serialize + DeserializeOwned + PartialEq + Debug + Clone> Subject for T {}

/// For types without `==`: compares what `Debug` shows.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ByDebug<T>(pub(crate) T);

impl<T: Debug> PartialEq for ByDebug<T> {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

impl<T: Debug> Debug for ByDebug<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Inside<T> {
    seq: Vec<T>,
    option: Option<T>,
    map: BTreeMap<String, T>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged<T> {
    Value { value: T },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Flattened<T> {
    before: bool,
    #[serde(flatten)]
    value: T,
    after: f32,
}

/// The laws for a value alone, in a `Vec`, an `Option`, a map, and below `untagged`; and alone with every option.
#[track_caller]
pub(crate) fn holds<T: Subject>(value: T) {
    with_options(&value);
    holds_by_default(value);
}

/// The same, and below `#[serde(flatten)]`: for what serde shows as a struct, a map or a variant.
#[track_caller]
pub(crate) fn holds_flattened<T: Subject>(value: T) {
    holds(value.clone());
    everywhere(&Flattened { before: true, value, after: 0.5 });
}

/// The same without serde's buffers: for types that those lose. Whoever calls this says why.
#[track_caller]
pub(crate) fn holds_unbuffered<T: Subject>(value: T) {
    with_options(&value);
    alone_and_inside(value);
}

/// The same without options: for types that one of those changes. Whoever calls this says why.
#[track_caller]
pub(crate) fn holds_by_default<T: Subject>(value: T) {
    alone_and_inside(value.clone());
    everywhere(&Untagged::Value { value });
}

#[track_caller]
fn alone_and_inside<T: Subject>(value: T) {
    let (leaves, treedef) = flatten(&value).unwrap();
    assert_eq!(unflatten::<T>(&treedef, &leaves).unwrap(), value, "{treedef}");
    assert_eq!(unflatten_strict::<T>(&treedef, &leaves).unwrap(), value, "{treedef}");
    everywhere(&value);
    let map = ["a", "b"].map(|key| (key.to_owned(), value.clone()));
    everywhere(&Inside { seq: vec![value.clone(); 3], option: Some(value), map: map.into() });
}

#[track_caller]
fn with_options<T: Subject>(value: &T) {
    for flattener in options() {
        let (leaves, treedef) = Flattener::flatten(&flattener, value).unwrap();
        assert_eq!(unflatten_strict::<T>(&treedef, &leaves).unwrap(), *value, "{treedef}");
        texts_parse_back(&treedef);
    }
}

#[track_caller]
fn everywhere<T: Subject>(value: &T) {
    let (leaves, treedef) = flatten(value).unwrap();
    let rebuilt: T = unflatten_borrowed(&treedef, &leaves).unwrap();
    assert_eq!(rebuilt, *value, "{treedef}");
    assert_same(flatten(&rebuilt).unwrap(), (leaves.clone(), treedef.clone()));
    texts_parse_back(&treedef);
    paths_lead_to_leaves(&treedef);

    // Floats alone as leaves: everything else is static, and scaling them changes nothing else.
    let (floats, kept) = floats(&leaves, Flattener::flatten(&by_floats(), value).unwrap());
    assert_eq!(unflatten_borrowed::<T>(&kept, &floats).unwrap(), *value, "{kept}");
    let floats = doubled(&floats);
    let scaled: T = unflatten_borrowed(&kept, &floats).unwrap();
    assert_same(flatten(&scaled).unwrap(), (doubled(&leaves), treedef));
}

#[track_caller]
fn assert_same(found: (Vec<Leaf>, TreeDef), expected: (Vec<Leaf>, TreeDef)) {
    assert_eq!(found, expected);
}

#[track_caller]
pub(crate) fn texts_parse_back(treedef: &TreeDef) {
    assert_eq!(treedef.to_string().parse::<TreeDef>().unwrap(), *treedef, "{treedef}");
    assert_eq!(format!("{treedef:#}").parse::<TreeDef>().unwrap(), *treedef, "{treedef:#}");
}

#[track_caller]
fn paths_lead_to_leaves(treedef: &TreeDef) {
    for (index, path) in treedef.leaf_paths().enumerate() {
        assert_eq!(path.to_string().parse::<Path>().unwrap(), path);
        assert_eq!(treedef.node(&path).unwrap().leaf_range(), index..index + 1, "{path}");
        assert_eq!(treedef.node(&path).unwrap().kind(), NodeKind::Leaf, "{path}");
    }
}

/// Each option alone, and all together.
fn options() -> [Flattener; 5] {
    let new = Flattener::new;
    [
        new().map_order(MapOrder::Insertion),
        new().none_is_leaf(true),
        new().arrays(true),
        new().compact(true),
        new().map_order(MapOrder::Insertion).none_is_leaf(true).compact(true),
    ]
}

fn by_floats() -> Flattener {
    Flattener::new().leaves_where(LeafKind::is_float)
}

/// Holds what was flattened by floats against the plain leaves.
#[track_caller]
fn floats(plain: &[Leaf], by_floats: (Vec<Leaf>, TreeDef)) -> (Vec<Leaf>, TreeDef) {
    let (floats, kept) = by_floats;
    let expected: Vec<Leaf> = plain.iter().filter(|leaf| leaf.kind().is_float()).cloned().collect();
    assert_eq!(floats, expected, "{kept}");
    assert_eq!(floats.len() + statics(kept.root()), plain.len(), "{kept}");
    texts_parse_back(&kept);
    (floats, kept)
}

pub(crate) fn doubled(leaves: &[Leaf]) -> Vec<Leaf> {
    let doubled = |leaf: &Leaf| match leaf {
        Leaf::F32(x) => Leaf::F32(x * 2.0),
        Leaf::F64(x) => Leaf::F64(x * 2.0),
        other => other.clone(),
    };
    leaves.iter().map(doubled).collect()
}

fn statics(node: NodeRef<'_>) -> usize {
    match node.kind() {
        NodeKind::Static => 1,
        _ => node.runs().map(|(child, repeat)| repeat * statics(child)).sum(),
    }
}

/// The error of bringing a value back, where it cannot come back.
#[track_caller]
pub(crate) fn error_of<T: Serialize + DeserializeOwned + Debug>(value: &T) -> String {
    let (leaves, treedef) = flatten(value).unwrap();
    unflatten::<T>(&treedef, &leaves).unwrap_err().to_string()
}

/// The same below `untagged`, where serde's buffer stands in between.
#[track_caller]
pub(crate) fn error_of_buffered<T: Subject>(value: T) -> String {
    error_of(&Untagged::Value { value })
}
