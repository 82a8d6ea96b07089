//! A thread that has walked other values returns the same as a new one: on random values, which also fail,
//! continue after an error, and walk other values meanwhile.

use std::collections::HashMap;
use std::fmt::Debug;
use std::thread;

use allocation_counter::measure;
use fastrand::Rng;
use insta::assert_snapshot;
use serde::ser::{Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple};
use serde::{Serialize, Serializer};
use treedef::{
    Flattener, Leaf, LeafKind, Limits, MapOrder, NodeKind, Tree, TreeDef, flatten, structure,
};
use treedef_testing::cases::{all, cases};

#[derive(Clone, Debug)]
enum Model {
    Number(f64),
    Text(&'static str),
    Nothing,
    Present(Box<Model>),
    Newtype(Box<Model>),
    Seq(Vec<Model>),
    Collected(Vec<Model>),
    Tuple(Vec<Model>),
    Struct(Vec<(&'static str, Model)>),
    Map(Vec<(Model, Model)>),
    Variant(&'static str),
    Static(Box<Model>),
    /// Fails.
    Fails,
    /// A sequence that goes on after its first element has failed.
    GoesOn(Vec<Model>),
    /// Walks the value by itself, and then as a part.
    Walks(Box<Model>),
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

impl Serialize for Model {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Model::Number(number) => serializer.serialize_f64(*number),
            Model::Text(text) => serializer.serialize_str(text),
            Model::Nothing => serializer.serialize_none(),
            Model::Present(inside) => serializer.serialize_some(inside),
            Model::Newtype(inside) => serializer.serialize_newtype_struct("N", inside),
            Model::Seq(elements) => {
                let mut seq = serializer.serialize_seq(None)?;
                elements.iter().try_for_each(|element| seq.serialize_element(element))?;
                seq.end()
            }
            Model::Collected(elements) => serializer.collect_seq(elements),
            Model::Tuple(elements) => {
                let mut tuple = serializer.serialize_tuple(elements.len())?;
                elements.iter().try_for_each(|element| tuple.serialize_element(element))?;
                tuple.end()
            }
            Model::Struct(fields) => {
                let mut fields_of = serializer.serialize_struct("S", fields.len())?;
                fields
                    .iter()
                    .try_for_each(|(name, field)| fields_of.serialize_field(name, field))?;
                fields_of.end()
            }
            Model::Map(entries) => {
                let mut map = serializer.serialize_map(None)?;
                entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
            Model::Variant(name) => serializer.serialize_unit_variant("E", 0, name),
            Model::Static(inside) => treedef::as_static(inside, serializer),
            Model::Fails => Err(S::Error::custom("fails")),
            Model::GoesOn(elements) => {
                let mut seq = serializer.serialize_seq(None)?;
                for element in elements {
                    let _ = seq.serialize_element(element);
                }
                seq.end()
            }
            Model::Walks(inside) => {
                let _ = flatten(inside);
                inside.serialize(serializer)
            }
        }
    }
}

fn draw(rng: &mut Rng, depth: usize, fails: bool) -> Model {
    let inside = |rng: &mut Rng| Box::new(draw(rng, depth - 1, fails));
    let several = |rng: &mut Rng| -> Vec<Model> {
        let mut elements: Vec<Model> = Vec::new();
        for _ in 0..rng.usize(..5) {
            let element = match elements.first() {
                Some(_) if rng.bool() => elements[rng.usize(..elements.len())].clone(),
                _ => draw(rng, depth - 1, fails),
            };
            let times = if rng.u8(..4) == 0 { rng.usize(1..9) } else { 1 };
            elements.extend(std::iter::repeat_n(element, times));
        }
        elements
    };
    match if depth == 0 { rng.u8(..4) } else { rng.u8(..16) } {
        0 | 1 => Model::Number(rng.f64()),
        2 => Model::Text("text"),
        3 => Model::Nothing,
        4 => Model::Present(inside(rng)),
        5 => Model::Newtype(inside(rng)),
        6 => Model::Seq(several(rng)),
        7 | 8 => Model::Collected(several(rng)),
        9 => Model::Tuple(several(rng)),
        10 => Model::Struct(
            NAMES.iter().take(rng.usize(..5)).map(|name| (*name, *inside(rng))).collect(),
        ),
        11 => Model::Map(
            several(rng)
                .into_iter()
                .map(|value| (Model::Text(NAMES[rng.usize(..4)]), value))
                .collect(),
        ),
        12 => Model::Variant(NAMES[rng.usize(..4)]),
        13 => Model::Static(inside(rng)),
        14 if fails => match rng.u8(..3) {
            0 => Model::Fails,
            1 => Model::GoesOn(several(rng)),
            _ => Model::Walks(inside(rng)),
        },
        _ => Model::Seq(several(rng)),
    }
}

/// Changes a part of a value, so that it is followed for a while.
fn change(rng: &mut Rng, value: &mut Model) {
    match value {
        Model::Present(inside) | Model::Newtype(inside) | Model::Static(inside) if rng.bool() => {
            change(rng, inside)
        }
        Model::Seq(elements) | Model::Collected(elements) | Model::Tuple(elements)
            if !elements.is_empty() =>
        {
            let place = rng.usize(..elements.len());
            match rng.u8(..4) {
                0 => drop(elements.remove(place)),
                1 => elements.insert(place, elements[place].clone()),
                2 => elements.truncate(place),
                _ => change(rng, &mut elements[place]),
            }
        }
        Model::Struct(fields) if !fields.is_empty() => {
            let place = rng.usize(..fields.len());
            change(rng, &mut fields[place].1);
        }
        Model::Map(entries) if !entries.is_empty() => {
            let place = rng.usize(..entries.len());
            change(rng, &mut entries[place].1);
        }
        other => *other = draw(rng, 2, false),
    }
}

/// The leaves, the structure and a text with the entries of maps in insertion order; or the error.
type Outcome = Result<(Vec<Leaf>, TreeDef, String), String>;

fn outcome(value: &Model, flattener: &Flattener) -> Outcome {
    let (leaves, treedef) = flattener.flatten(value).map_err(|error| error.to_string())?;
    let tree = Tree::new(treedef.clone(), leaves.clone()).unwrap();
    let text = serde_json::to_string(&tree).map_err(|error| error.to_string())?;
    Ok((leaves, treedef, text))
}

#[test]
fn a_thread_that_walked_other_values_gives_what_a_new_one_gives() {
    let seeds = cases(4_000);
    let mut followed = 0;
    for seed in 0..seeds.into() {
        let mut rng = Rng::with_seed(seed);
        let mut value = draw(&mut rng, 4, seed % 4 == 0);
        for _ in 0..4 {
            let (any, once) = (Flattener::new(), Flattener::new().serialize_once(true));
            let new = |flattener: &Flattener| {
                thread::scope(|scope| scope.spawn(|| outcome(&value, flattener)).join().unwrap())
            };
            let found = outcome(&value, &any);
            assert_eq!(found, new(&any), "{value:?}");
            assert_eq!(found.ok(), new(&once).ok(), "{value:?}");
            // The second time on this thread: the next walk expects it.
            let counted = measure(|| drop(structure(&value)));
            followed += u32::from(counted.count_total == 0);
            if rng.bool() {
                change(&mut rng, &mut value);
            }
        }
    }
    assert!(followed > seeds / 4, "only {followed} values were followed to the end");
}

/// `flatten` makes nodes while a long sequence is walked, and `flatten_like` does not, so that it can keep the words.
#[test]
fn nodes_that_are_made_early_are_those_that_are_made_at_the_end() {
    for seed in (0..400).step_by(if all() { 1 } else { 80 }) {
        let mut rng = Rng::with_seed(seed);
        let pool: Vec<Model> = (0..40).map(|_| draw(&mut rng, 2, false)).collect();
        let mut some = |count: usize| -> Vec<Model> {
            (0..count).map(|_| pool[rng.usize(..pool.len())].clone()).collect()
        };
        let [long, other] = [some(8_000), some(2)].map(Model::Seq);
        let keys = ["a", "b", "c", "d"].map(Model::Text);
        let values = [other.clone(), long, other.clone(), other];
        let value = Model::Struct(vec![("a", Model::Map(keys.into_iter().zip(values).collect()))]);
        let (leaves, treedef) = flatten(&value).unwrap();
        let mut again = Vec::<Leaf>::new();
        treedef.flatten_like(&value, &mut again).unwrap();
        assert_eq!(again, leaves, "{seed}");
    }
}

#[derive(Serialize)]
struct Fitted {
    steps: u32,
    by_name: HashMap<String, f64>,
    weights: Vec<f32>,
}

fn fitted(steps: u32, weights: usize) -> Fitted {
    let by_name = (0..9).map(|i| (format!("n{i}"), f64::from(i))).collect();
    Fitted { steps, by_name, weights: (0..weights).map(|i| i as f32).collect() }
}

/// An option of a static, which has a `Some` with a node around some statics only.
fn draw_optional(rng: &mut Rng) -> Model {
    let inside = match rng.u8(..4) {
        0 => Model::Nothing,
        1 => Model::Present(Box::new(Model::Nothing)),
        _ => draw(rng, 1, false),
    };
    let marked = Box::new(Model::Static(Box::new(inside)));
    Model::Present(if rng.bool() { Box::new(Model::Newtype(marked)) } else { marked })
}

/// With any options, kinds of leaves and rules.
fn draw_flattener(rng: &mut Rng) -> Flattener {
    let order = if rng.bool() { MapOrder::Canonical } else { MapOrder::Insertion };
    let options = Flattener::new().none_is_leaf(rng.bool()).compact(rng.u8(..4) == 0);
    let mut flattener = options.map_order(order).ignore_statics(rng.bool());
    match rng.u8(..4) {
        0 => flattener = flattener.leaves_where(LeafKind::is_float),
        1 => flattener = flattener.leaves_where(|kind| !kind.is_float()),
        _ => {}
    }
    for selector in ["S.a", "**.b", "N", "[1]", ".c"] {
        match rng.u8(..8) {
            0 => flattener = flattener.mark_static(selector).unwrap(),
            1 => flattener = flattener.mark_opaque(selector).unwrap(),
            _ => {}
        }
    }
    if rng.u8(..8) == 0 {
        flattener = flattener.limits(Limits { max_depth: 3, ..Limits::default() });
    }
    flattener
}

/// The results of all ways to flatten a value, also like these treedefs, as texts.
fn all_outcomes(flattener: &Flattener, value: &Model, treedefs: &[TreeDef]) -> Vec<String> {
    fn text(outcome: treedef::Result<impl Debug>) -> String {
        format!("{:?}", outcome.map_err(|error| error.to_string()))
    }
    let mut all = vec![
        format!("{:?}", outcome(value, flattener)),
        text(flattener.flatten_as::<f64>(value)),
        text(flattener.flatten_as::<f32>(value)),
        text(flattener.flatten_as::<String>(value)),
        text(flattener.structure(value)),
        text(flattener.signature(value)),
    ];
    for treedef in treedefs {
        let (mut leaves, mut floats): (Vec<Leaf>, Vec<f64>) = Default::default();
        let mut places = vec![f64::NAN; treedef.num_leaves()];
        all.push(text(flattener.flatten_like(treedef, value, &mut leaves).map(|()| leaves)));
        all.push(text(flattener.flatten_like(treedef, value, &mut floats).map(|()| floats)));
        all.push(text(flattener.flatten_like(treedef, value, &mut places[..]).map(|()| places)));
    }
    all
}

/// Also with options and rules, and like other structures.
#[test]
fn a_thread_that_walked_other_values_compares_as_a_new_one() {
    let (seeds, mut accepted) = (cases(400), 0);
    for seed in 0..seeds.into() {
        let mut rng = Rng::with_seed(seed);
        let flatteners = [draw_flattener(&mut rng), draw_flattener(&mut rng)];
        let mut value = draw(&mut rng, 3, false);
        if rng.bool() {
            value = Model::Tuple(vec![draw_optional(&mut rng), value]);
        }
        let mut treedefs: Vec<TreeDef> = Vec::new();
        for _ in 0..3 {
            for flattener in &flatteners {
                treedefs.extend(flattener.structure(&value));
                let of = |flattener: &Flattener| all_outcomes(flattener, &value, &treedefs);
                let new = thread::scope(|scope| scope.spawn(|| of(flattener)).join().unwrap());
                let once = of(&flattener.clone().serialize_once(true));
                for found in [of(flattener), of(flattener), once] {
                    assert_eq!(found, new, "{seed}: {value:?} by {flattener:?}");
                }
                accepted += new[6..].iter().filter(|outcome| outcome.starts_with("Ok")).count();
            }
            change(&mut rng, &mut value);
        }
    }
    assert!(accepted > 10 * seeds as usize, "only {accepted} values were as a treedef");
}

/// As into a vector: with rules, different statics, and maps in different orders.
#[test]
fn a_slice_gets_the_leaves_of_a_vector() {
    let flattener = Flattener::new().leaves_where(LeafKind::is_float).ignore_statics(true);
    let by_name = flattener.clone().mark_static("Fitted.steps").unwrap();
    for flattener in [flattener, by_name] {
        let (mut leaves, treedef) = flattener.flatten_as::<f64>(&fitted(1, 700)).unwrap();
        let mut places = vec![f64::NAN; leaves.len()];
        for step in 0..4 {
            let value = fitted(step, 700);
            flattener.flatten_like(&treedef, &value, &mut leaves).unwrap();
            flattener.flatten_like(&treedef, &value, &mut places[..]).unwrap();
            assert_eq!(places, leaves);
            places.fill(f64::NAN);
        }
    }
    // Types alternate.
    for _ in 0..3 {
        let mut texts = [const { String::new() }; 2];
        structure(&["", ""]).unwrap().flatten_like(&["a", "b"], &mut texts[..]).unwrap();
        let mut any = [Leaf::None, Leaf::None];
        structure(&("", 0)).unwrap().flatten_like(&("c", 1), &mut any[..]).unwrap();
        let mut integers = [0i64; 2];
        structure(&[0, 0]).unwrap().flatten_like(&[2i64, 3], &mut integers[..]).unwrap();
        assert_eq!(
            (texts.concat(), any, integers),
            ("ab".into(), [Leaf::from("c"), 1.into()], [2, 3])
        );
    }
}

/// What rules made of the last value is looked up again. A new thread has none.
#[test]
fn rules_make_the_same_of_a_value_whatever_came_before() {
    #[derive(Clone, Debug, Serialize)]
    #[serde(untagged)]
    enum Any {
        Float(f64),
        Text(&'static str),
    }

    type Ruled = (u8, Vec<Any>, Option<(f64, f32)>, Option<()>);
    let floats = |value| vec![Any::Float(value); 3];
    let mixed = vec![Any::Float(0.5), Any::Text("a"), Any::Float(-0.0)];
    let values: [Ruled; 7] = [
        (1, floats(0.5), Some((1.0, 2.0)), None),
        (2, floats(0.5), Some((1.0, 2.0)), None),
        (1, floats(f64::NAN), Some((1.0, 2.0)), None),
        (1, mixed, Some((1.0, 2.0)), None),
        (1, floats(0.0), Some((3.0, 2.0)), None),
        (1, floats(0.0), None, None),
        (1, floats(-0.0), Some((1.0, 2.0)), Some(())),
    ];
    let statics = |selector: &str| Flattener::new().mark_static(selector).unwrap();
    let flatteners = [
        statics(".0"),
        statics(".0"),
        statics(".0").ignore_statics(true),
        statics(".2").leaves_where(LeafKind::is_float),
        statics(".1[*]").none_is_leaf(true).ignore_statics(true),
        Flattener::new().mark_opaque(".2").unwrap(),
        Flattener::new().opaque_where(|_, node| node.kind == NodeKind::Some),
    ];
    let mut rng = Rng::with_seed(68);
    for _ in 0..500 {
        let (flattener, first) = (rng.choice(&flatteners).unwrap(), rng.choice(&values).unwrap());
        let (_, treedef) = flattener.flatten(first).unwrap();
        for _ in 0..rng.usize(1..9) {
            let value = rng.choice(&values).unwrap();
            let like = || {
                let (mut any, mut floats) = (Vec::<Leaf>::new(), Vec::<f64>::new());
                let any = flattener.flatten_like(&treedef, value, &mut any).map(|()| any);
                let floats = flattener.flatten_like(&treedef, value, &mut floats).map(|()| floats);
                format!("{any:?} {floats:?}")
            };
            let alone = thread::scope(|scope| scope.spawn(like).join().unwrap());
            assert_eq!(like(), alone, "{value:?} like {treedef}");
        }
    }
}

/// The places of a slice are written at the end of the walk.
#[test]
fn a_slice_is_as_before_if_the_value_is_not_like_the_treedef() {
    let treedef = structure(&(1.0, vec![2.0, 3.0])).unwrap();
    let mut places = [0.5; 3];
    let error = treedef.flatten_like(&(1.0, vec![2.0]), &mut places[..]).unwrap_err();
    assert_snapshot!(error, @"expected 2 children, found 1 child at `.1`");
    let error = treedef.flatten_like(&(1.0, vec![2, 3]), &mut places[..]).unwrap_err();
    assert_snapshot!(error, @"expected f64, found i32 at `.1[0]` (mark it `treedef::as_static`, or choose the leaves with `Flattener::leaves_where`)");
    for places in [&mut [0.5; 2][..], &mut [0.5; 4], &mut []] {
        let before = places.to_vec();
        let error = treedef.flatten_like(&(1.0, vec![2.0, 3.0]), places).unwrap_err();
        assert!(error.to_string().starts_with("expected 3 leaves, found "), "{error}");
        assert_eq!(places, before);
    }
    let error = treedef.flatten_like(&(1.0, vec![2.0, 3.0]), &mut places[..2]).unwrap_err();
    assert_snapshot!(error, @"expected 3 leaves, found 2 (the buffer is a slice, which needs a place for each leaf)");
    assert_eq!(places, [0.5; 3]);
    treedef.flatten_like(&(1.0, vec![2.0, 3.0]), &mut places[..]).unwrap();
    assert_eq!(places, [1.0, 2.0, 3.0]);
}
