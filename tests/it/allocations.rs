//! Counts of allocations: the part of speed that a test can check.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use allocation_counter::measure;
use serde::{Serialize, Serializer};
use serde_json::json;
use treedef::{Flattener, Leaf, LeafKind, LeafType, Opaque, flatten, flatten_as, structure};

#[derive(Clone, Serialize)]
enum Shape {
    Empty,
    Circle(f64),
    Box { w: f64, h: f64 },
}

#[derive(Clone, Serialize)]
struct Body {
    position: [f64; 3],
    mass: f64,
    shape: Shape,
    charge: Option<f64>,
    #[serde(serialize_with = "treedef::as_static")]
    name: &'static str,
}

fn bodies(count: usize) -> Vec<Body> {
    let shape = Shape::Box { w: 1.0, h: 2.0 };
    let body = Body { position: [1.0; 3], mass: 2.0, shape, charge: Some(0.5), name: "body" };
    vec![body; count]
}

/// Allocations of a function that is called for the second time.
fn allocations<R>(mut f: impl FnMut() -> R) -> u64 {
    f();
    measure(|| drop(f())).count_total
}

/// Into a vector, and into a slice.
#[track_caller]
fn assert_like_allocates_nothing<L: LeafType>(value: &impl Serialize) {
    let (mut buffer, treedef) = flatten_as::<L>(value).unwrap();
    let count = allocations(|| treedef.flatten_like(value, &mut buffer).unwrap());
    assert_eq!(count, 0, "{treedef}");
    let count = allocations(|| treedef.flatten_like(value, &mut buffer[..]).unwrap());
    assert_eq!(count, 0, "{treedef}, into a slice");
}

#[test]
fn flatten_like_allocates_nothing() {
    assert_like_allocates_nothing::<f64>(&1.0);
    assert_like_allocates_nothing::<f64>(&bodies(100));
    assert_like_allocates_nothing::<f32>(&vec![vec![0.5f32; 100]; 100]);
    assert_like_allocates_nothing::<f64>(&(Shape::Empty, Shape::Circle(1.0), (), [0.5f32; 3]));
    assert_like_allocates_nothing::<f64>(&vec![BTreeMap::from([("a", 1.0), ("b", 2.0)]); 10]);
    let cells = (0..20).map(|cell| ((cell, 1), 1.0));
    assert_like_allocates_nothing::<f64>(&cells.collect::<BTreeMap<_, _>>());
    assert_like_allocates_nothing::<i64>(&vec![(1i64, 2i64); 100]);
    assert_like_allocates_nothing::<bool>(&vec![true; 100]);
    assert_like_allocates_nothing::<Leaf>(&(1u8, -1i64, 0.5, true, 'x', [Some(1), None]));
}

#[test]
fn a_static_that_always_differs_allocates_nothing() {
    let floats = Flattener::new().leaves_where(LeafKind::is_float).ignore_statics(true);
    let (mut leaves, treedef) = floats.flatten_as::<f64>(&(0u64, vec![0.5; 3], "adam")).unwrap();
    let value = |step: u64| (step, [0.25; 3].as_slice(), "adam");
    floats.flatten_like(&treedef, &value(7), &mut leaves).unwrap();
    let counted = measure(|| floats.flatten_like(&treedef, &value(8), &mut leaves).unwrap());
    assert_eq!(counted.count_total, 0);
    assert_eq!(leaves, [0.25; 3]);
    assert!(treedef.flatten_like(&value(8), &mut leaves).is_err());
}

/// A text that becomes static is a leaf before, which owns it.
#[test]
fn flatten_like_with_rules_allocates_only_texts() {
    #[derive(Clone, Serialize)]
    struct Layer {
        size: (u32, u32),
        weights: Vec<f64>,
    }

    let layer = Layer { size: (2, 3), weights: vec![0.5; 6] };
    let model = (vec![layer; 3], 7u8, 0.25);
    let rules = ["Layer.size", ".1", ".0[*].weights[0]"];
    let flattener = rules
        .into_iter()
        .fold(Flattener::new(), |flattener, rule| flattener.mark_static(rule).unwrap());
    let floats = flattener.clone().leaves_where(treedef::LeafKind::is_float);
    for flattener in [flattener.clone(), flattener.ignore_statics(true), floats] {
        let (mut buffer, treedef) = flattener.flatten_as::<f64>(&model).unwrap();
        let mut like = || flattener.flatten_like(&treedef, &model, &mut buffer).unwrap();
        (0..3).for_each(|_| like());
        assert_eq!(measure(like).count_total, 0, "{treedef}");
    }
    let texts = Flattener::new().mark_static(".0").unwrap();
    let (mut buffer, treedef) = texts.flatten_as::<f64>(&("adam", 0.5)).unwrap();
    let mut like = || texts.flatten_like(&treedef, &("adam", 0.5), &mut buffer).unwrap();
    (0..3).for_each(|_| like());
    assert_eq!(measure(like).count_total, 1);
}

/// Entries that are out of order are looked up, and ticked off.
#[test]
fn a_map_in_random_order_costs_flatten_like_a_few_allocations() {
    for entries in [100, 10_000] {
        let map: HashMap<String, f64> = (0..entries).map(|i| (i.to_string(), 1.0)).collect();
        let (mut buffer, treedef) = flatten_as::<f64>(&map).unwrap();
        let count = allocations(|| treedef.flatten_like(&map, &mut buffer).unwrap());
        assert!(count <= 4, "{count} allocations for {entries} entries");
    }
}

#[test]
fn uniform_data_allocates_its_leaves_and_little_else() {
    for flattened in [
        |count| allocations(|| flatten_as::<f64>(&bodies_of(count)).unwrap()),
        |count| allocations(|| flatten(&bodies_of(count)).unwrap()),
    ] {
        let (few, many) = (flattened(2_000), flattened(64_000));
        assert!(few <= 40, "{few} allocations");
        // The vector of leaves doubles five times.
        assert!(many <= few + 5, "{few} allocations, then {many}");
    }
}

/// Allocations for some elements, and for ten times as many.
fn recorded<T: Serialize>(elements: impl Fn(usize) -> T) -> [u64; 2] {
    [300, 3_000].map(|count| {
        let elements = elements(count);
        allocations(|| structure(&elements).unwrap())
    })
}

/// Labels in common are not allocated again, and there is still room for the nodes.
#[test]
fn the_structure_of_different_elements_is_allocated_at_once() {
    #[derive(Serialize)]
    struct Record {
        id: usize,
        scores: Vec<f64>,
    }
    let scores = |id: usize| vec![0.5; id % 3];
    let records =
        |count| -> Vec<Record> { (0..count).map(|id| Record { id, scores: scores(id) }).collect() };
    let maps = |count| -> serde_json::Value {
        (0..count).map(|id| json!({ "id": id, "scores": scores(id) })).collect()
    };
    // Maps without a template. Some have only the first key.
    let between = |count| -> serde_json::Value {
        let map = |id| if id % 4 == 0 { json!({ "id": id }) } else { json!({ "id": id, "x": 1 }) };
        (0..count).flat_map(|id| [map(id), json!(0)]).collect()
    };
    // Neighbours without common keys.
    let others = |count| -> serde_json::Value {
        let maps = [json!({ "id": 1 }), json!({ "name": 2, "x": 3 }), json!({ "id": 4, "y": 5 })];
        (0..count).map(|id: usize| maps[id * 7 % 3].clone()).collect()
    };
    for [few, many] in [recorded(records), recorded(maps), recorded(between), recorded(others)] {
        assert!(few <= 32 && many <= few, "{few} allocations, then {many}");
    }
}

/// Room is made for elements like the first ones, and given back.
#[test]
fn large_elements_make_no_room_for_small_ones() {
    for large in [1, 2] {
        let mut rows = vec![vec![0.5; 10_000]; large];
        rows.resize(1_000, vec![0.5]);
        let (leaves, _) = flatten(&rows).unwrap();
        assert_eq!(leaves.len(), 1_000 + large * 9_999);
        let most = 2 * leaves.len() + 2_000;
        assert!(leaves.capacity() < most, "{large}: room for {}", leaves.capacity());
        let (leaves, _) = flatten_as::<f64>(&rows).unwrap();
        assert!(leaves.capacity() < most, "{large}: room for {}", leaves.capacity());
    }
}

thread_local! {
    static BODIES: Vec<Body> = bodies(64_000);
}

/// Some of many bodies that exist already, so that only flattening them is counted.
fn bodies_of(count: usize) -> impl Serialize {
    struct First(usize);

    impl Serialize for First {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            BODIES.with(|bodies| serializer.collect_seq(&bodies[..self.0]))
        }
    }

    First(count)
}

/// They are no scalars on the way, and leaves in the end.
#[test]
fn marked_elements_may_be_asked_twice() {
    let texts = vec![Opaque("a"); 3];
    for _ in 0..2 {
        let (mut leaves, treedef) = flatten(&texts).unwrap();
        assert_eq!((leaves.len(), treedef.to_string().as_str()), (3, "[*, *, *]"));
        treedef.flatten_like(&texts, &mut leaves).unwrap();
        assert_eq!(leaves, ["a", "a", "a"].map(Leaf::from));
    }
}

/// Gives its numbers only once.
struct Once(Cell<Vec<u8>>);

impl Serialize for Once {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.take())
    }
}

fn onces(lengths: &[usize]) -> Vec<Once> {
    lengths.iter().map(|length| Once(Cell::new(vec![1; *length]))).collect()
}

#[test]
fn what_gives_its_content_only_once_is_never_lost_in_silence() {
    for lengths in [&[2, 2, 2][..], &[2, 3], &[3, 2, 2], &[1, 1, 1, 0, 5], &[0, 1]] {
        let once = Flattener::new().serialize_once(true);
        let (leaves, treedef) = once.flatten_as::<u8>(&onces(lengths)).unwrap();
        assert_eq!(leaves.len(), lengths.iter().sum::<usize>(), "{treedef}");
        match flatten_as::<u8>(&onces(lengths)) {
            Ok((found, _)) => assert_eq!(found, leaves),
            Err(error) => insta::allow_duplicates! {
                insta::assert_snapshot!(error, @"this `Serialize` implementation returned less on its second call at the root (use `Flattener::serialize_once(true)`)");
            },
        }
        let mut buffer: Vec<u8> = Vec::new();
        once.flatten_like(&treedef, &onces(lengths), &mut buffer).unwrap();
        assert_eq!(buffer, leaves);
        treedef.flatten_like(&onces(lengths), &mut buffer).unwrap();
        assert_eq!(buffer, leaves);
    }
    for lengths in
        [[2; 12], [2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 2], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 5]]
    {
        let values = || onces(&lengths).into_iter().enumerate().collect::<BTreeMap<usize, Once>>();
        let once = Flattener::new().serialize_once(true);
        let (leaves, _) = once.flatten_as::<u8>(&values()).unwrap();
        assert_eq!(leaves.len(), lengths.iter().sum::<usize>());
        match flatten_as::<u8>(&values()) {
            Ok((found, _)) => assert_eq!(found, leaves),
            Err(error) => insta::allow_duplicates! {
                insta::assert_snapshot!(error, @"this `Serialize` implementation returned less on its second call at the root (use `Flattener::serialize_once(true)`)");
            },
        }
    }
    // Empty on the second call, as expected.
    let (mut buffer, nothing) = flatten_as::<u8>(&onces(&[0])).unwrap();
    nothing.flatten_like(&onces(&[3]), &mut buffer).unwrap_err();
    assert!(buffer.is_empty());
}
