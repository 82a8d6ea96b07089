//! Leaves that are whole values: arrays, and values that a mark makes one leaf.

use insta::assert_snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, Tree};

#[derive(Serialize, Deserialize)]
struct Marked {
    #[serde(serialize_with = "treedef::as_opaque")]
    w: Vec<f32>,
    b: f32,
}

#[derive(Serialize, Deserialize)]
struct Renamed<T> {
    #[serde(alias = "w")]
    weights: T,
    b: f32,
}

/// The value has a leaf for each number, and the tree one for all.
#[test]
fn the_numbers_of_a_leaf_are_followed_to_a_field_of_another_name() {
    fn migrated<T: Serialize + DeserializeOwned>() -> String {
        let old = Marked { w: vec![1.0, 2.0, 3.0], b: 0.5 };
        let trees = [
            Flattener::new().arrays(true).tree(&old).unwrap(),
            Tree::of(&old).unwrap(),
            Tree::from_bytes(&Tree::of(&old).unwrap().to_bytes().unwrap()).unwrap(),
        ];
        let [array, opaque, loaded] = trees.map(|tree| tree.migrate::<T>().unwrap().1.to_string());
        assert_eq!([&opaque, &loaded], [&array; 2]);
        array
    }
    assert_snapshot!(migrated::<Marked>(), @"");
    assert_snapshot!(migrated::<Renamed<Vec<f32>>>(), @"renamed `.w` to `.weights`");
    assert_snapshot!(migrated::<Renamed<[f32; 3]>>(), @"renamed `.w` to `.weights`; changed `[*, *, *]` to `(*, *, *)` at `.weights`");
    assert_snapshot!(migrated::<Renamed<Vec<f64>>>(), @"renamed `.w` to `.weights`; changed f32 to f64 at `.weights`");
}
