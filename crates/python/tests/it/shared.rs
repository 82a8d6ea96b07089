//! Arrays of numpy as they are.

use std::collections::BTreeMap;

use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};
use treedef_python::{
    Like, NdArray, Reader, SharedArray, from_python, into_python, to_python, to_python_like,
};

use crate::{eval, python, run};

#[derive(Debug, Serialize, Deserialize)]
struct Field {
    values: SharedArray<f64>,
    more: Vec<SharedArray<f32>>,
    none: Option<SharedArray<i64>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    Field { values: SharedArray<f64> },
}

fn address(array: &Bound<'_, PyAny>) -> usize {
    let address = array.getattr("__array_interface__").unwrap().get_item("data").unwrap();
    address.get_item(0).unwrap().extract().unwrap()
}

#[test]
fn nothing_is_copied() {
    python(|names| {
        let py = names.py();
        run(names, "jax_array = jnp.arange(3, dtype='float32')");
        run(
            names,
            "field = {'values': np.ones((2, 3)), 'more': [np.ones(2, 'f4'), jax_array], 'none': None}",
        );
        let object = eval(names, "field");
        let field: Field = from_python(&object).unwrap();
        assert_eq!(address(field.values.bind(py)), address(&eval(names, "field['values']")));
        let jax = eval(names, "np.asarray(jax_array)");
        assert_eq!(address(field.more[1].bind(py)), address(&jax));
        // Numbers are written in place.
        field.values.bind(py).readwrite().as_slice_mut().unwrap()[4] = 7.0;
        assert_eq!(eval(names, "field['values'][1, 1]").extract::<f64>().unwrap(), 7.0);

        let is_same = |back: Bound<'_, PyAny>| {
            back.get_item("values").unwrap().is(object.get_item("values").unwrap())
        };
        assert!(is_same(to_python(py, &field).unwrap()));
        assert!(is_same(into_python(py, field.clone_all()).unwrap()));
        assert!(is_same(to_python_like(py, &field, &object).unwrap()));
        assert!(is_same(Like::of(&object).unwrap().to_python(&field).unwrap()));
        let back = to_python(py, &field).unwrap().get_item("more").unwrap();
        assert_eq!(address(&back.get_item(1).unwrap()), address(&jax));
    });
}

impl Field {
    fn clone_all(&self) -> Field {
        let Field { values, more, none } = self;
        Field { values: values.clone(), more: more.clone(), none: none.clone() }
    }
}

#[test]
fn views_and_other_formats() {
    python(|names| {
        let py = names.py();
        let sum = |expression: &str| {
            let array: SharedArray<f64> = from_python(&eval(names, expression)).unwrap();
            array.bind(py).readonly().as_array().sum()
        };
        assert_eq!(sum("np.arange(6.0)[::2]"), 6.0);
        assert_eq!(sum("np.arange(6.0).reshape(2, 3).T"), 15.0);
        assert_eq!(sum("np.array(1.5)"), 1.5);
        assert_eq!(sum("memoryview(np.arange(3.0))"), 3.0);
        // There is no array of numpy: a new one is made.
        assert_eq!(sum("[[1, 2.5], (3, 4)]"), 10.5);
        let tagged: Tagged =
            from_python(&eval(names, "{'kind': 'Field', 'values': np.ones((2, 2))}")).unwrap();
        let Tagged::Field { values } = &tagged;
        assert_eq!(values.bind(py).readonly().as_array().sum(), 4.0);

        let array: SharedArray<f64> = from_python(&eval(names, "np.arange(4.0)[::2]")).unwrap();
        let json = serde_json::to_string(&array).unwrap();
        assert_eq!(json, r#"{"shape":[2],"data":[0.0,2.0]}"#);
        let read: SharedArray<f64> = serde_json::from_str(&json).unwrap();
        assert_eq!(read.bind(py).readonly().as_slice().unwrap(), [0.0, 2.0]);
        let plain: NdArray<f64> = serde_json::from_str(&json).unwrap();
        assert_eq!(plain.data(), [0.0, 2.0]);
        // A tree of the library has the numbers.
        let flattener = treedef::Flattener::new().arrays(true);
        let (leaves, _) = flattener.flatten(&BTreeMap::from([("a", array)])).unwrap();
        let numbers = leaves[0].as_array().and_then(|array| array.as_slice::<f64>()).unwrap();
        assert_eq!((leaves.len(), numbers), (1, &[0.0, 2.0][..]));
    });
}

#[test]
fn another_type_is_an_error() {
    fn error(names: &Bound<'_, PyDict>, expression: &str) -> String {
        let reader = Reader::new().convert_numbers(true).name("o");
        let error = reader.read::<Vec<SharedArray<f64>>>(&eval(names, expression)).unwrap_err();
        PyErr::from(error).to_string()
    }
    python(|names| {
        assert_eq!(
            error(names, "[np.ones(2, 'f4')]"),
            "TypeError: o[0]: expected an array of f64 as it is, found float32[2]"
        );
        assert_eq!(
            error(names, "[np.ones(2, '>f8')]"),
            "TypeError: o[0]: expected an array of f64 as it is, found float64[2] of another byte order"
        );
        assert_eq!(
            error(names, "['a']"),
            "TypeError: o[0]: expected NdArray (a dict or an object with attributes), found str 'a'"
        );
    });
}
