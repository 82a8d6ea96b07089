//! Leaves that are objects: their cost, their places, and errors.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{
    Flattener, LeafKind, Object, Opaque, Tree, as_opaque, as_static, flatten_objects, object,
    unflatten_objects,
};

thread_local! {
    static CLONES: Cell<usize> = const { Cell::new(0) };
    static ALIVE: Cell<isize> = const { Cell::new(0) };
}

/// A tensor, as it were: it has no serde, is not `Send`, and counts its clones and drops.
#[derive(Debug, PartialEq)]
struct Tensor(Rc<RefCell<f64>>);

impl Tensor {
    fn of(number: f64) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Tensor(Rc::new(RefCell::new(number)))
    }
}

impl Clone for Tensor {
    fn clone(&self) -> Self {
        CLONES.set(CLONES.get() + 1);
        ALIVE.set(ALIVE.get() + 1);
        Tensor(Rc::clone(&self.0))
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Linear {
    #[serde(with = "object")]
    w: Tensor,
    #[serde(with = "object::option", default)]
    b: Option<Tensor>,
    dropout: f64,
    heads: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Block {
    Linear(Linear),
    Norm {
        #[serde(with = "object")]
        scale: Tensor,
    },
    Nothing,
    Pair(#[serde(with = "object")] Tensor, bool),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    name: String,
    blocks: Vec<Block>,
    #[serde(with = "object::vec")]
    heads: Vec<Tensor>,
    #[serde(with = "object::map")]
    named: HashMap<String, Tensor>,
    tuple: (Object<Tensor>, u64, [Object<Tensor>; 2]),
}

fn linear(w: f64, b: Option<f64>) -> Linear {
    Linear { w: Tensor::of(w), b: b.map(Tensor::of), dropout: 0.1, heads: 1 }
}

fn model() -> Model {
    let object = |number| Object(Tensor::of(number));
    Model {
        name: "net".to_owned(),
        blocks: vec![
            Block::Linear(linear(1.0, Some(2.0))),
            Block::Linear(linear(3.0, None)),
            Block::Norm { scale: Tensor::of(4.0) },
            Block::Nothing,
            Block::Pair(Tensor::of(5.0), true),
        ],
        heads: vec![Tensor::of(6.0), Tensor::of(7.0)],
        named: (0..9).map(|key| (key.to_string(), Tensor::of(10.0 + f64::from(key)))).collect(),
        tuple: (object(20.0), 7, [object(21.0), object(22.0)]),
    }
}

fn numbers(objects: &[Tensor]) -> Vec<f64> {
    objects.iter().map(|object| *object.0.borrow()).collect()
}

#[test]
fn all_forms_go_there_and_back_and_each_object_is_cloned_once() {
    let model = model();
    let before = CLONES.get();
    let (objects, treedef) = flatten_objects::<Tensor>(&model).unwrap();
    assert_eq!(CLONES.get() - before, 19);
    let expected: Vec<f64> = (1..8).chain(10..19).chain(20..23).map(f64::from).collect();
    assert_eq!(numbers(&objects), expected);
    insta::assert_snapshot!(treedef, @r#"Model { name: static "net", blocks: [Block::Linear(Linear { w: *, b: Some(*), dropout: static 0.1, heads: static 1u64 }), Block::Linear(Linear { w: *, b: None, dropout: static 0.1, heads: static 1u64 }), Block::Norm { scale: * }, Block::Nothing, Block::Pair(*, static true)], heads: [*, *], named: {"0": *, "1": *, "2": *, "3": *, "4": *, "5": *, "6": *, "7": *, "8": *}, tuple: (*, static 7u64, (*, *)) }"#);

    let before = CLONES.get();
    let back: Model = unflatten_objects(&treedef, objects).unwrap();
    assert_eq!((CLONES.get() - before, &back), (0, &model));

    // A map has another order in another instance, and a buffer is used again.
    let mut buffer = Vec::new();
    for _ in 0..8 {
        let again = Model {
            named: back.named.iter().map(|(key, object)| (key.clone(), object.clone())).collect(),
            ..self::model()
        };
        Flattener::new().flatten_objects_like(&treedef, &again, &mut buffer).unwrap();
        assert_eq!(numbers(&buffer), expected);
    }
    drop((model, back, buffer));
    assert_eq!(ALIVE.get(), 0);
}

#[test]
fn the_treedef_is_that_of_any_other_value() {
    let (objects, treedef) = flatten_objects::<Tensor>(&linear(1.0, Some(2.0))).unwrap();
    let floats = Flattener::new().leaves_where(LeafKind::is_float).mark_static(".dropout").unwrap();
    #[derive(Serialize)]
    #[serde(rename = "Linear")]
    struct Plain {
        w: f64,
        b: Option<f64>,
        dropout: f64,
        heads: u64,
    }
    let plain = Plain { w: 1.0, b: Some(2.0), dropout: 0.1, heads: 1 };
    assert_eq!(floats.structure(&plain).unwrap(), treedef);

    let tree = Tree::new(treedef, objects).unwrap();
    let sum = tree.clone().zip_with(tree.clone(), |a, b| *a.0.borrow() + *b.0.borrow()).unwrap();
    assert_eq!(
        sum.to_string(),
        "Linear { w: 2, b: Some(4), dropout: static 0.1, heads: static 1u64 }"
    );
    let (weights, rest) = tree.partition("**.w").unwrap();
    assert_eq!(
        (weights.leaves().iter().flatten().count(), rest.leaves().iter().flatten().count()),
        (1, 1)
    );
}

#[test]
fn a_struct_that_is_generic_over_its_leaf_changes_its_kind() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(bound = "")]
    struct Orbit<T: Clone + 'static> {
        #[serde(with = "object")]
        mass: T,
        #[serde(with = "object::vec")]
        at: Vec<T>,
    }
    let orbit = Orbit { mass: 1.0, at: vec![2.0, 3.0] };
    let tree = Tree::<f64>::of_objects(&orbit).unwrap();
    let ranges: Orbit<(f64, f64)> = tree.map(|x| (x - 1.0, x + 1.0)).into_objects().unwrap();
    assert_eq!(ranges, Orbit { mass: (0.0, 2.0), at: vec![(1.0, 3.0), (2.0, 4.0)] });
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
struct Named<T: Clone + 'static> {
    name: String,
    #[serde(flatten)]
    inside: Inside<T>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
struct Inside<T: Clone + 'static> {
    #[serde(with = "object")]
    w: T,
    #[serde(with = "object::option", default)]
    b: Option<T>,
}

#[test]
fn objects_go_through_the_buffers_of_serde() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Text(String),
        Number(u64),
        Many(Vec<u64>),
        Object(#[serde(with = "object")] Tensor),
        Inside(Inside<Tensor>),
    }
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        A(Inside<Tensor>),
        B {
            #[serde(with = "object")]
            w: Tensor,
        },
    }
    fn back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: T) {
        let (objects, treedef) = flatten_objects::<Tensor>(&value).unwrap();
        assert_eq!(unflatten_objects::<T, Tensor>(&treedef, objects).unwrap(), value);
    }
    let inside = Inside { w: Tensor::of(1.0), b: Some(Tensor::of(2.0)) };
    back(Named { name: "a".to_owned(), inside: inside.clone() });
    back(vec![
        Untagged::Object(Tensor::of(3.0)),
        Untagged::Number(0),
        Untagged::Text("0".to_owned()),
        Untagged::Many(vec![0, 1]),
        Untagged::Inside(inside.clone()),
    ]);
    back(vec![Tagged::A(inside), Tagged::B { w: Tensor::of(4.0) }]);
}

/// One type serves a fit, JSON, files and trees.
#[test]
fn an_object_that_is_a_scalar_is_that_scalar_where_no_objects_are_walked() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(bound = "")]
    struct Drug<T: Clone + 'static> {
        name: String,
        #[serde(with = "object")]
        clearance: T,
        #[serde(with = "object::option", default)]
        lag: Option<T>,
        #[serde(with = "object::vec")]
        volumes: Vec<T>,
        #[serde(with = "object::map")]
        rates: BTreeMap<String, T>,
        dose: f64,
        pair: (Object<T>, u8),
    }
    let drug = Drug {
        name: "theophylline".to_owned(),
        clearance: 0.1,
        lag: Some(f64::MIN_POSITIVE),
        volumes: (1..100).map(|at| f64::from(at) / 4.0).collect(),
        rates: [("in".to_owned(), 1.5), ("out".to_owned(), -0.0)].into(),
        dose: 320.0,
        pair: (Object(2.5), 7),
    };

    // JSON, with the numbers as they would be without a mark.
    let text = serde_json::to_string(&drug).unwrap();
    assert!(text.contains(r#""clearance":0.1,"#) && text.ends_with(r#""pair":[2.5,7]}"#), "{text}");
    assert_eq!(serde_json::from_str::<Drug<f64>>(&text).unwrap(), drug);
    let value = serde_json::to_value(&drug).unwrap();
    assert_eq!(serde_json::from_value::<Drug<f64>>(value.clone()).unwrap(), drug);
    let refused = serde_json::from_str::<Drug<u8>>(&text).unwrap_err().to_string();
    assert!(refused.contains("invalid type: floating point `0.1`, expected u8"), "{refused}");

    // Trees, in several walks of the thread, of all leaves and of floats.
    for _ in 0..3 {
        let tree = Tree::of(&drug).unwrap();
        assert_eq!(tree.leaves().len(), 1 + 1 + 1 + 99 + 2 + 1 + 2);
        assert_eq!(tree.clone().into_typed::<Drug<f64>>().unwrap(), drug);
        assert_eq!(Tree::of(&value).unwrap().get("pair[0]").unwrap(), tree.get("pair.0").unwrap());
        let floats = Flattener::new().leaves_where(LeafKind::is_float);
        let (mut leaves, treedef) = floats.flatten_as::<f64>(&drug).unwrap();
        floats.flatten_like(&treedef, &drug, &mut leaves).unwrap();
        leaves.iter_mut().for_each(|leaf| *leaf *= 2.0);
        let twice: Drug<f64> = treedef::unflatten(&treedef, leaves).unwrap();
        assert_eq!((twice.clearance, twice.dose, twice.pair.0.0), (0.2, 640.0, 5.0));
    }
    // An object of one walk is a static or a key of another.
    let keys: BTreeMap<Object<i32>, Object<bool>> = [(Object(1), Object(true))].into();
    let (leaves, treedef) = treedef::flatten(&keys).unwrap();
    assert_eq!(treedef.to_string(), "{1: *}");
    assert_eq!(
        treedef::unflatten::<BTreeMap<Object<i32>, Object<bool>>>(&treedef, leaves).unwrap(),
        keys
    );
    let fixed = (treedef::Static(Object('a')), Opaque(vec![Object(1u8)]));
    let (leaves, treedef) = treedef::flatten(&fixed).unwrap();
    assert_eq!(treedef.to_string(), "(static 'a', *)");
    let back: (treedef::Static<Object<char>>, Vec<Object<u8>>) =
        treedef::unflatten(&treedef, leaves).unwrap();
    assert_eq!((back.0.0.0, back.1[0].0), ('a', 1));

    // The objects of a walk stay objects: marked numbers are the leaves, and plain ones are static.
    let (numbers, treedef) = flatten_objects::<f64>(&drug).unwrap();
    assert_eq!(numbers.len(), 1 + 1 + 99 + 2 + 1);
    assert_eq!(treedef::unflatten::<Drug<f64>>(&treedef, &numbers).unwrap(), drug);
    let texts = numbers.into_iter().map(|number| number.to_string()).collect();
    let texts: Drug<String> = unflatten_objects(&treedef, texts).unwrap();
    assert_eq!(
        serde_json::from_str::<Drug<String>>(&serde_json::to_string(&texts).unwrap()).unwrap(),
        texts
    );
    assert_eq!(Tree::of(&texts).unwrap().into_typed::<Drug<String>>().unwrap(), texts);
}

#[test]
fn each_scalar_is_itself() {
    fn same<T>(value: T)
    where
        T: Clone + Serialize + DeserializeOwned + PartialEq + std::fmt::Debug + 'static,
    {
        let plain = vec![value.clone(); 20];
        let objects: Vec<Object<T>> = plain.iter().cloned().map(Object).collect();
        assert_eq!(
            serde_json::to_string(&objects).unwrap(),
            serde_json::to_string(&plain).unwrap()
        );
        let text = serde_json::to_string(&plain).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Object<T>>>(&text).unwrap(), objects);
        let tree = Tree::of(&plain).unwrap();
        assert_eq!(Tree::of(&objects).unwrap(), tree);
        assert_eq!(tree.into_typed::<Vec<Object<T>>>().unwrap(), objects);
        let (leaves, treedef) = flatten_objects::<T>(&objects).unwrap();
        assert_eq!(unflatten_objects::<Vec<Object<T>>, T>(&treedef, leaves).unwrap(), objects);
    }
    same(true);
    same('ß');
    same("text".to_owned());
    same(0.1f32);
    same(-0.1f64);
    same(i8::MIN);
    same(i16::MIN);
    same(i32::MIN);
    same(i64::MIN);
    same(i128::from(i64::MIN));
    same(u8::MAX);
    same(u16::MAX);
    same(u32::MAX);
    same(u64::MAX);
    same(u128::from(u64::MAX));
    same(isize::MIN);
    same(usize::MAX);
}

/// Below `flatten`, `untagged` and a tag, serde keeps values in buffers.
#[test]
fn scalars_go_through_the_buffers_of_serde() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Inside(Inside<f64>),
        Text(Object<String>),
        Number(Object<f64>),
    }
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        A(Inside<f64>),
    }
    fn back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: T) {
        assert_eq!(Tree::of(&value).unwrap().into_typed::<T>().unwrap(), value);
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<T>(&text).unwrap(), value);
        assert_eq!(
            serde_json::from_str::<Tree<treedef::Leaf>>(&text).unwrap().into_typed::<T>().unwrap(),
            value
        );
    }
    let inside = Inside { w: 1.5, b: Some(2.5) };
    back(Named { name: "a".to_owned(), inside: inside.clone() });
    back(vec![
        Untagged::Inside(inside.clone()),
        Untagged::Text(Object("3".to_owned())),
        Untagged::Number(Object(3.5)),
    ]);
    back(Tagged::A(inside));
}

/// serde buffers the enum while it is serialized, and the struct while it is rebuilt.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Buffered {
    #[serde(flatten)]
    e: BufferedEnum,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum BufferedEnum {
    A {
        #[serde(with = "object")]
        x: f64,
    },
}

fn buffered_scalar_is_itself(x: f64) {
    let value = Buffered { e: BufferedEnum::A { x } };
    let (leaves, treedef) = treedef::flatten(&value).unwrap();
    assert_eq!(leaves, [x.into()]);
    assert_eq!(treedef::unflatten::<Buffered>(&treedef, &leaves).unwrap(), value);
    assert_eq!(leaves[0].clone().into_typed::<Object<f64>>().unwrap(), Object(x));
}

/// serde asks for an object when it fills its buffer, not when the walk comes to it.
#[test]
fn an_object_in_a_buffer_leaves_nothing_for_the_next_walk() {
    buffered_scalar_is_itself(0.5);
    assert_eq!(flatten_objects::<f64>(&[Object(0.25), Object(7.0)]).unwrap().0, [0.25, 7.0]);
    let value = Buffered { e: BufferedEnum::A { x: 0.5 } };
    let (objects, treedef) = flatten_objects::<f64>(&value).unwrap();
    buffered_scalar_is_itself(0.5);
    assert_eq!(unflatten_objects::<Buffered, f64>(&treedef, objects).unwrap(), value);

    // A walk that refuses objects refuses those in buffers and in rows.
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Number {
        Plain(f64),
        Object(Object<f64>),
    }
    let refusing = treedef::__private::without_objects(Flattener::new());
    insta::assert_snapshot!(refused(refusing.flatten(&value)), @"a `f64` is an object: the leaves have to be of this type, as in `treedef::flatten_objects::<f64>` at the root");
    let numbers: Vec<Number> =
        (0..20).map(|_| Number::Plain(0.5)).chain([Number::Object(Object(1.5))]).collect();
    insta::assert_snapshot!(refused(refusing.flatten(&numbers)), @"a `f64` is an object: the leaves have to be of this type, as in `treedef::flatten_objects::<f64>` at `[20]`");
    assert_eq!(flatten_objects::<f64>(&[Object(0.25)]).unwrap().0, [0.25]);
    assert_eq!(treedef::flatten(&numbers).unwrap().0.len(), 21);
}

/// A walk inside of a walk for objects takes none, so there they are scalars.
#[test]
fn a_walk_inside_of_one_for_objects_takes_scalars() {
    #[derive(Clone, PartialEq, Debug)]
    struct Nested(f64);
    impl Serialize for Nested {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let inner = (Object(self.0), Object("text".to_owned()));
            let (leaves, treedef) = treedef::flatten(&inner).map_err(serde::ser::Error::custom)?;
            assert_eq!(treedef.to_string(), "(*, *)");
            let back: (Object<f64>, Object<String>) = treedef::unflatten(&treedef, leaves).unwrap();
            assert_eq!(back, inner);
            buffered_scalar_is_itself(self.0);
            object::serialize(&self.0, serializer)
        }
    }
    impl<'de> Deserialize<'de> for Nested {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let (leaves, treedef) = treedef::flatten(&Object(0.5)).unwrap();
            assert_eq!(treedef::unflatten::<Object<f64>>(&treedef, leaves).unwrap(), Object(0.5));
            buffered_scalar_is_itself(0.5);
            object::deserialize(deserializer).map(Nested)
        }
    }
    let value = [Nested(1.0), Nested(2.0)];
    let (objects, treedef) = flatten_objects::<f64>(&value).unwrap();
    assert_eq!(objects, [1.0, 2.0]);
    assert_eq!(unflatten_objects::<[Nested; 2], f64>(&treedef, objects).unwrap(), value);
    assert_eq!(Tree::of(&value).unwrap().into_typed::<[Nested; 2]>().unwrap(), value);
}

/// The message of a failed walk.
fn refused<T: std::fmt::Debug>(result: treedef::Result<T>) -> String {
    result.unwrap_err().to_string().replace(module_path!(), "objects")
}

#[test]
fn what_does_not_fit_is_an_error_with_its_path() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Wrong {
        #[serde(with = "object")]
        b: Option<Tensor>,
    }
    let wrong = vec![Wrong { b: Some(Tensor::of(1.0)) }];
    insta::assert_snapshot!(refused(flatten_objects::<Tensor>(&wrong)), @r#"expected an object `objects::Tensor`, found `core::option::Option<objects::Tensor>` (write `with = "treedef::object::option"`) at `[0].b`"#);
    insta::assert_snapshot!(refused(flatten_objects::<f64>(&model())), @"expected an object `f64`, found `objects::Tensor` at `.blocks[0]::Linear.0.w`");
    insta::assert_snapshot!(refused(treedef::flatten(&model())), @"a `objects::Tensor` is an object: the leaves have to be of this type, as in `treedef::flatten_objects::<objects::Tensor>` at `.blocks[0]::Linear.0.w`");
    insta::assert_snapshot!(serde_json::to_string(&model()).unwrap_err().to_string().replace(module_path!(), "objects"), @"a `objects::Tensor` is an object, which has no form in this format: flatten the value by `treedef::flatten_objects::<objects::Tensor>`");

    let keys: BTreeMap<Object<i32>, i32> = [(Object(1), 2)].into();
    insta::assert_snapshot!(refused(flatten_objects::<i32>(&keys)), @"an object cannot be in a key, in a static or in an opaque leaf at the root");
    #[derive(Serialize)]
    struct Marked {
        #[serde(serialize_with = "as_static")]
        a: Vec<Object<i32>>,
    }
    insta::assert_snapshot!(refused(flatten_objects::<i32>(&Marked { a: vec![Object(1)] })), @"an object cannot be in a key, in a static or in an opaque leaf at `.a[0]`");
    #[derive(Serialize)]
    struct Whole {
        #[serde(serialize_with = "as_opaque")]
        a: Vec<Object<i32>>,
    }
    insta::assert_snapshot!(refused(flatten_objects::<i32>(&Whole { a: vec![Object(1)] })), @"an object cannot be in a key, in a static or in an opaque leaf at `.a[0]`");
    let by_rule = Flattener::new().mark_static("[0]").unwrap();
    insta::assert_snapshot!(refused(by_rule.flatten_objects::<i32>(&[Object(1)])), @"an object cannot be in a key, in a static or in an opaque leaf at `.0`");
    let absent = Flattener::new().none_is_leaf(true);
    insta::assert_snapshot!(refused(absent.flatten_objects::<i32>(&[Object(1)])), @"an absent value is not an object: leave out `none_is_leaf` at the root");
    let treedef = absent.structure(&(1, [Some(2)])).unwrap();
    let value = (Object(1), [None::<Object<i32>>]);
    insta::assert_snapshot!(refused(Flattener::new().flatten_objects_like(&treedef, &value, &mut Vec::<i32>::new())), @"an absent value is not an object at `.1.0` (make the treedef without `none_is_leaf`)");
}

#[test]
fn a_type_that_does_not_fit_is_an_error_with_its_path() {
    let (objects, treedef) = flatten_objects::<Tensor>(&vec![linear(1.0, None)]).unwrap();
    let objects = || objects.clone();
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Numbers {
        w: u64,
    }
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Static {
        #[serde(with = "object")]
        heads: Tensor,
    }
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Ignores {
        heads: u64,
    }
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Option_ {
        w: Option<()>,
    }
    insta::assert_snapshot!(refused(unflatten_objects::<Vec<Numbers>, _>(&treedef, objects())), @"invalid type: an object, expected u64 at `[0].w`");
    insta::assert_snapshot!(refused(unflatten_objects::<Vec<Static>, _>(&treedef, objects())), @"invalid type: integer `1`, expected an object `objects::Tensor` at `[0].heads`");
    insta::assert_snapshot!(refused(unflatten_objects::<Vec<Ignores>, _>(&treedef, objects())), @r#"the type did not read this object at `[0].w` (a field that it ignores or skips, or one without `with = "treedef::object"`)"#);
    insta::assert_snapshot!(refused(unflatten_objects::<Vec<Option_>, _>(&treedef, objects())), @"invalid type: an object, expected unit at `[0].w`");
    insta::assert_snapshot!(refused(unflatten_objects::<Tree<treedef::Leaf>, _>(&treedef, objects())), @r#"the type did not read this object at `[0].w` (a field that it ignores or skips, or one without `with = "treedef::object"`)"#);
    insta::assert_snapshot!(refused(unflatten_objects::<Vec<Linear>, _>(&treedef, vec![1.0])), @"expected an object `f64`, found `objects::Tensor` at `[0].w`");
    insta::assert_snapshot!(refused(unflatten_objects::<Vec<Linear>, Tensor>(&treedef, vec![])), @"expected 1 leaf, found 0");
    insta::assert_snapshot!(refused(treedef::unflatten::<Vec<Linear>>(&treedef, [0u64])), @"invalid type: integer `0`, expected an object `objects::Tensor` at `[0].w`");
}

#[test]
fn walks_inside_walks_failures_and_panics_leave_nothing_behind() {
    /// Flattens a model of its own while it is flattened.
    struct Nested(Tensor);
    impl Serialize for Nested {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let (objects, _) = flatten_objects::<Tensor>(&linear(1.0, Some(2.0))).unwrap();
            assert_eq!(numbers(&objects), [1.0, 2.0]);
            assert!(flatten_objects::<i32>(&linear(1.0, None)).is_err());
            assert!(treedef::flatten(&linear(1.0, None)).is_err());
            let inner = catch_unwind(|| flatten_objects::<i32>(&Panics));
            assert!(inner.is_err());
            assert!(catch_unwind(|| treedef::flatten(&Panics)).is_err());
            object::serialize(&self.0, serializer)
        }
    }
    struct Panics;
    impl Serialize for Panics {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("as it must")
        }
    }
    let value = [Nested(Tensor::of(5.0)), Nested(Tensor::of(6.0))];
    let (objects, treedef) = flatten_objects::<Tensor>(&value).unwrap();
    assert_eq!((numbers(&objects), treedef.to_string()), (vec![5.0, 6.0], "(*, *)".to_owned()));
    let _ = catch_unwind(AssertUnwindSafe(|| flatten_objects::<Tensor>(&(value, Panics))));
    let outside = treedef::flatten(&Object(&1)).unwrap_err().to_string();
    assert!(outside.contains("flatten_objects"), "{outside}");
    drop(objects);
    assert_eq!(ALIVE.get(), 0);
}

#[test]
fn rules_and_alternating_objects() {
    // Copies own nothing, so plain elements would be taken in rows.
    let value: Vec<(Object<char>, u64, f64)> =
        (0..100).map(|at| (Object(if at % 3 == 0 { 'a' } else { 'b' }), at, 0.5)).collect();
    let (objects, treedef) = flatten_objects::<char>(&value).unwrap();
    assert_eq!(objects.iter().filter(|object| **object == 'a').count(), 34);
    assert_eq!(
        unflatten_objects::<Vec<(Object<char>, u64, f64)>, _>(&treedef, objects.clone()).unwrap(),
        value
    );

    let ruled = Flattener::new().mark_static("[*].1").unwrap().mark_static("[*].2").unwrap();
    let (by_rules, same) = ruled.flatten_objects::<char>(&value).unwrap();
    assert_eq!((by_rules, same), (objects, treedef));
}

/// Only objects are leaves: a mark or a rule that makes one leaf of another value makes it static.
#[test]
fn opaque_values_among_objects_are_static() {
    let value = (Opaque(0.0), Object('b'), Opaque(1e-300f32), Opaque(vec![1, 2]), Object('c'));
    let (objects, treedef) = flatten_objects::<char>(&value).unwrap();
    assert_eq!(objects, ['b', 'c']);
    insta::assert_snapshot!(treedef, @"(static 0.0, *, static 0.0f32, static [1, 2], *)");
    type Back = (Opaque<f64>, Object<char>, Opaque<f32>, Opaque<Vec<i32>>, Object<char>);
    let back: Back = unflatten_objects(&treedef, vec!['x', 'y']).unwrap();
    assert_eq!((back.0.0, back.1.0, back.3.0, back.4.0), (0.0, 'x', vec![1, 2], 'y'));
    let tree = Tree::<char>::of_objects(&value).unwrap();
    assert_eq!(tree.get(".4").unwrap(), &'c');

    let mut again: Vec<char> = Vec::new();
    let flattener = Flattener::new();
    flattener.flatten_objects_like(&treedef, &value, &mut again).unwrap();
    assert_eq!(again, ['b', 'c']);

    let ruled = Flattener::new().mark_opaque("[*].0").unwrap().mark_opaque("Half").unwrap();
    #[derive(Serialize)]
    struct Half(f64);
    let value = vec![(1.5, Object('a'), Half(0.0)), (2.5, Object('b'), Half(0.0))];
    let (objects, treedef) = ruled.flatten_objects::<char>(&value).unwrap();
    assert_eq!(objects, ['a', 'b']);
    insta::assert_snapshot!(treedef, @"[(static 1.5, *, static Half(0.0)), (static 2.5, *, static Half(0.0))]");
    ruled.flatten_objects_like(&treedef, &value, &mut again).unwrap();
    assert_eq!(again, ['a', 'b']);
}

/// Writes the number of an object without the object.
#[derive(Clone, Copy)]
struct NumberOfAnObject(u64);

impl Serialize for NumberOfAnObject {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct("__treedef_private_Object", &f64::from_bits(self.0))
    }
}

#[test]
fn a_number_without_an_object_is_an_error() {
    let value = |number| (Object('a'), vec![NumberOfAnObject(number)]);
    let (mut objects, treedef) = flatten_objects::<char>(&value(0)).unwrap();
    assert_eq!(objects, ['a', 'a']);
    for number in [1, 7, u64::MAX] {
        let error = flatten_objects::<char>(&value(number)).unwrap_err();
        insta::allow_duplicates! { insta::assert_snapshot!(error, @"a `Serialize` implementation wrote the number of an object that it does not have at `.1[0]`"); }
        let like = Flattener::new().flatten_objects_like(&treedef, &value(number), &mut objects);
        assert_eq!(like.unwrap_err().to_string(), error.to_string());
    }
}

/// A dropped value may begin a walk itself.
#[test]
fn a_refused_object_is_dropped_outside_of_the_walk() {
    #[derive(Clone)]
    struct Walking;

    impl Drop for Walking {
        fn drop(&mut self) {
            assert_eq!(flatten_objects::<char>(&Object('a')).unwrap().0, ['a']);
        }
    }

    assert!(flatten_objects::<char>(&[Object(Walking)]).is_err());
    assert!(treedef::flatten(&[Object(Walking)]).is_err());
    let (objects, treedef) = flatten_objects::<Walking>(&[Object(Walking)]).unwrap();
    assert!(unflatten_objects::<Vec<Object<char>>, _>(&treedef, objects).is_err());
}

#[test]
fn each_thread_has_its_own_objects() {
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                for _ in 0..100 {
                    let model = linear(f64::from(number), Some(-1.0));
                    let (objects, treedef) = flatten_objects::<Tensor>(&model).unwrap();
                    assert_eq!(numbers(&objects), [f64::from(number), -1.0]);
                    let back: Linear = unflatten_objects(&treedef, objects).unwrap();
                    assert_eq!(back, model);
                }
            });
        }
    });
}
