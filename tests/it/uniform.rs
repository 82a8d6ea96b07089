//! Uniform data is small: repeated parts are stored, compared, hashed and printed once.

use std::hash::{Hash, Hasher};

use allocation_counter::measure;
use serde::{Deserialize, Serialize};
use serde_json::json;
use treedef::{Flattener, MapOrder, TreeDef, structure, unflatten};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Point {
    x: f64,
    y: f64,
    colour: Option<[u8; 3]>,
}

const POINT: Point = Point { x: 1.0, y: 2.0, colour: Some([1, 2, 3]) };

/// Counts the bytes that a value feeds to its hash: a measure of the work of hash and equality that
/// is no time.
#[derive(Default)]
struct Counted(u64);

impl Hasher for Counted {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

fn hashed_bytes(treedef: &TreeDef) -> u64 {
    let mut counted = Counted::default();
    treedef.hash(&mut counted);
    counted.finish()
}

#[test]
fn a_million_points_take_under_a_kibibyte() {
    let points = vec![POINT; 1_000_000];
    structure(&points[..20]).unwrap(); // leaves room for nodes and a row to the thread
    let mut treedef = None;
    let held = measure(|| treedef = Some(structure(&points).unwrap()));
    let treedef = treedef.unwrap();
    assert_eq!(treedef.num_leaves(), 5_000_000);
    assert!(held.bytes_current <= 1024, "{} bytes", held.bytes_current);
    assert!(held.bytes_max <= 16 * 1024, "{} bytes while it was made", held.bytes_max);
    assert_eq!(treedef.to_string(), "[Point { x: *, y: *, colour: Some((*, *, *)) }; 1000000]");
}

#[test]
fn comparing_and_hashing_do_not_grow_with_the_length() {
    let (few, many) =
        (structure(&vec![POINT; 2]).unwrap(), structure(&vec![POINT; 100_000]).unwrap());
    assert_eq!(hashed_bytes(&few), hashed_bytes(&many));
    assert_ne!(few, many);
    // The hash covers everything, so equality compares no more.
    assert!(hashed_bytes(&many) < 1024);
    assert_eq!(many, structure(&vec![POINT; 100_000]).unwrap());
}

#[test]
fn runs_inside_runs_are_stored_once() {
    let grid = vec![vec![vec![0u8; 100]; 100]; 100];
    let treedef = structure(&grid).unwrap();
    assert_eq!(treedef.to_string(), "[[[*; 100]; 100]; 100]");
    assert_eq!(
        hashed_bytes(&treedef),
        hashed_bytes(&structure(&vec![vec![vec![0u8; 2]; 2]; 2]).unwrap())
    );
}

#[test]
fn one_that_differs_costs_itself() {
    let mut points = vec![POINT; 100_000];
    points[50_000].colour = None;
    let treedef = structure(&points).unwrap();
    assert_eq!(
        treedef.to_string(),
        "[Point { x: *, y: *, colour: Some((*, *, *)) }; 50000, Point { x: *, y: *, colour: None }, \
         Point { x: *, y: *, colour: Some((*, *, *)) }; 49999]"
    );
    assert!(hashed_bytes(&treedef) < 2048);
}

#[test]
fn sixty_doublings_print_in_under_a_kibibyte() {
    let text = (0..60).fold("*".to_owned(), |inside, _| format!("[{inside}; 2]"));
    let treedef: TreeDef = text.parse().unwrap();
    assert_eq!(treedef.num_leaves(), 1 << 60);
    assert!(treedef.to_string().len() < 1024);
    assert_eq!(treedef.to_string().parse::<TreeDef>().unwrap(), treedef);
    assert_eq!(treedef.leaf_path((1 << 60) - 1).unwrap().keys().len(), 60);
}

#[test]
fn what_is_expected_of_the_values_of_a_map_changes_nothing() {
    let values = [
        json!([1.0, 2.0, 3.0]),
        json!([1.0, 2.0]),
        json!({ "a": [1.0], "b": null }),
        json!({ "a": [1.0], "b": "text" }),
        json!(null),
        json!("text"),
    ];
    let plain = Flattener::new().serialize_once(true);
    let mut rng = fastrand::Rng::with_seed(8);
    for runs in 1..40 {
        let mut map = indexmap::IndexMap::new();
        for _ in 0..runs {
            let value = rng.choice(&values).unwrap();
            for _ in 0..rng.usize(..20) {
                map.insert(format!("key {:03}", rng.u16(..1000)), value.clone());
            }
        }
        for order in [MapOrder::Canonical, MapOrder::Insertion] {
            let (leaves, treedef) = Flattener::new().map_order(order).flatten(&map).unwrap();
            let expected = plain.clone().map_order(order).flatten(&map).unwrap();
            assert_eq!((leaves.clone(), treedef.clone()), expected);
            assert_eq!(treedef.to_string().parse::<TreeDef>().unwrap(), treedef);
            let back: indexmap::IndexMap<String, serde_json::Value> =
                unflatten(&treedef, leaves).unwrap();
            assert!(back.iter().eq(&map));
        }
    }
}
