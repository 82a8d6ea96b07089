//! Rebuilding in place: values that keep their skipped fields, and values that do not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use treedef::unflatten_into;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Layer {
    w: f64,
    #[serde(skip)]
    cache: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    first: Layer,
    pair: (Layer, u8),
    array: [Layer; 2],
    list: Vec<Layer>,
    option: Option<Layer>,
    map: BTreeMap<u8, Layer>,
    #[serde(skip)]
    name: String,
}

fn layer(w: f64) -> Layer {
    Layer { w, cache: vec![1, 2, 3] }
}

fn model() -> Model {
    Model {
        first: layer(1.0),
        pair: (layer(2.0), 3),
        array: [layer(4.0), layer(5.0)],
        list: vec![layer(6.0), layer(7.0)],
        option: Some(layer(8.0)),
        map: BTreeMap::from([(0, layer(9.0))]),
        name: "mlp".to_owned(),
    }
}

#[test]
fn skipped_fields_keep_what_they_hold_where_serde_allows_it() {
    let mut model = model();
    let (leaves, treedef) = treedef::flatten(&model).unwrap();
    unflatten_into(&mut model, &treedef, leaves).unwrap();

    let kept = [
        &model.first,
        &model.pair.0,
        &model.array[0],
        &model.array[1],
        &model.list[0],
        &model.list[1],
    ];
    assert!(kept.iter().all(|layer| layer.cache == [1, 2, 3]), "{model:?}");
    assert_eq!(model.name, "mlp");
    // serde builds the content of an `Option` or a map anew.
    let lost = [model.option.as_ref().unwrap(), &model.map[&0]];
    assert!(lost.iter().all(|layer| layer.cache.is_empty()), "{model:?}");
}

#[test]
fn the_leaves_are_those_that_were_given() {
    let mut changed = model();
    let (mut leaves, treedef) = treedef::flatten(&changed).unwrap();
    leaves[0] = 10.0.into();
    unflatten_into(&mut changed, &treedef, &leaves).unwrap();
    assert_eq!(treedef::flatten(&changed).unwrap().0, leaves);
    assert_eq!(changed.first.w, 10.0);
}

#[test]
fn an_error_names_the_struct() {
    let (leaves, treedef) = treedef::flatten(&(layer(1.0), 2)).unwrap();
    let error = unflatten_into(&mut (0.0, 0), &treedef, &leaves).unwrap_err();
    let elsewhere = treedef::unflatten::<(f64, i32)>(&treedef, &leaves).unwrap_err();
    assert_eq!(error.to_string(), elsewhere.to_string());
    insta::assert_snapshot!(error, @"invalid type: struct `Layer`, expected f64 at `.0`");
}

#[test]
fn a_list_grows_and_shrinks() {
    let (leaves, treedef) = treedef::flatten(&vec![layer(1.0); 3]).unwrap();
    let mut one = vec![layer(0.0)];
    unflatten_into(&mut one, &treedef, &leaves).unwrap();
    assert_eq!(one.iter().map(|layer| layer.cache.len()).collect::<Vec<_>>(), [3, 0, 0]);
    let mut many = vec![layer(0.0); 5];
    unflatten_into(&mut many, &treedef, leaves).unwrap();
    assert_eq!(many, vec![layer(1.0); 3]);
}

#[test]
fn errors_are_those_of_unflatten() {
    let mut value = (layer(1.0), vec![1u8]);
    let (_, treedef) = treedef::flatten(&value).unwrap();
    let error = unflatten_into(&mut value, &treedef, [1, 300]).unwrap_err();
    assert_eq!(error.to_string(), "invalid value: integer `300`, expected u8 at `.1[0]`");
    let error = unflatten_into(&mut value, &treedef, [1.0]).unwrap_err();
    assert_eq!(error.to_string(), "expected 2 leaves, found 1");
}

/// A number that refuses some values, one that reads another type, and one that reads nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
struct Positive(f64);

impl TryFrom<f64> for Positive {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value > 0.0 { Ok(Positive(value)) } else { Err(format!("{value} is not positive")) }
    }
}

impl From<Positive> for f64 {
    fn from(value: Positive) -> f64 {
        value.0
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Unread;

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Unread)
    }
}

/// Floats in a list are read without a step of the cursor, in place, too.
#[test]
fn a_list_of_floats_is_what_unflatten_gives() {
    fn alike<T>(begin: &T, leaves: impl treedef::Leaves + Clone)
    where
        T: Clone + std::fmt::Debug + PartialEq + for<'de> Deserialize<'de>,
    {
        let (_, treedef) = treedef::flatten(&[1.0, 2.0, 3.0]).unwrap();
        let expected = treedef::unflatten::<T>(&treedef, leaves.clone());
        let mut found = begin.clone();
        let rebuilt = unflatten_into(&mut found, &treedef, leaves).map(|()| found);
        let [expected, found] = [expected, rebuilt].map(|value| value.map_err(|e| e.to_string()));
        assert_eq!(found, expected);
    }
    fn each<T>(of: &T)
    where
        T: Clone + std::fmt::Debug + Default + PartialEq + for<'de> Deserialize<'de>,
    {
        let array = || [of.clone(), of.clone(), of.clone()];
        for length in 0..5 {
            alike(&vec![of.clone(); length], [0.5, -1e300, 2.0]);
            alike(&vec![of.clone(); length], [0.5f32, 3.0, f32::INFINITY]);
        }
        alike(&array(), [1.5, 2.0, 3.0]);
        alike(&<(T, T, T)>::from(array()), [1.5f32, 2.0, 3.0]);
        alike(&(of.clone(), of.clone()), [1.0, 2.0, 3.0]);
        alike(&(array(), 1.0), [1.0, 2.0, 3.0]);
    }
    each(&0.0f64);
    each(&0.0f32);
    each(&0u8);
    each(&String::new());
    each(&Some(1.0));
    each(&std::num::Wrapping(1.0));
    each(&(1.0,));
    each(&Unread);
    alike(&vec![Positive(1.0); 3], [1.0, 2.0, -3.0]);
    alike(&vec![Positive(1.0); 2], [1.0, 2.0, -3.0]);
    alike(&(1.0, Positive(1.0), 1u8), [1.0, 2.0, 3.0]);
}
