//! The cost of a call at the border, with numpy, JAX and pythonize (which knows lists only) beside it. The table has the
//! least of some runs. `cargo bench --bench costs -- 10^7 lists` shows the rows with such a name.
//!
//! A copy of 10^7 numbers is compared with the copy of a `Vec`: most of it is the kernel's work on fresh
//! memory. numpy asks for huge pages, and so is faster; with `NUMPY_MADVISE_HUGEPAGE=0` it takes as long.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pythonize::{depythonize, pythonize};
use serde::{Deserialize, Serialize};
use treedef_python::{
    Like, NdArray, PyTreeDef, Reader, Rules, flat_from_python, flat_to_python, from_python,
    into_python, to_python, to_python_like,
};

macro_rules! scalars {
    ($($name:ident)*) => {
        #[derive(Serialize, Deserialize)]
        struct Scalars { $($name: f64,)* }
    };
}

scalars! { a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 }

#[derive(Serialize)]
struct Pair {
    x: f64,
    y: f64,
}

/// Prints the least time of a call.
fn time<T>(what: &str, mut call: impl FnMut() -> T) {
    time_with(what, || (), |()| call());
}

/// The same, if each call consumes an input whose construction is not timed.
fn time_with<A, T>(what: &str, mut prepare: impl FnMut() -> A, mut call: impl FnMut(A) -> T) {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    if !wanted.is_empty() && !wanted.iter().any(|part| what.contains(part)) {
        return;
    }
    let (mut least, begin, mut runs) = (Duration::MAX, Instant::now(), 0);
    while begin.elapsed() < Duration::from_millis(400) || runs < 5 {
        let argument = prepare();
        let start = Instant::now();
        let result = black_box(call(argument));
        least = least.min(start.elapsed());
        drop(result);
        runs += 1;
    }
    println!("{what:55} {:12.2} µs", least.as_secs_f64() * 1e6);
}

fn main() -> PyResult<()> {
    Python::attach(|py| {
        let eval = |code| py.eval(code, None, None);
        let object = eval(c"{a + str(i): 1.5 for a in 'abc' for i in range(10)}")?;
        let scalars: Scalars = from_python(&object)?;
        time("30 scalars, in", || from_python::<Scalars>(&object).is_ok());
        time("30 scalars, in, by pythonize", || depythonize::<Scalars>(&object).is_ok());
        time("30 scalars, out", || to_python(py, &scalars).is_ok());
        time("30 scalars, out, by pythonize", || pythonize(py, &scalars).is_ok());

        // The README leads with it: in one run with `to_python`, and with PyO3 by hand.
        let like = Like::of(&object)?;
        time("30 scalars, like a dict", || to_python_like(py, &scalars, &object).unwrap());
        time("30 scalars, like a dict, planned", || like.to_python(&scalars).unwrap());
        let fields = c"__import__('dataclasses').make_dataclass('Scalars', [a + str(i) for a in 'abc' for i in range(10)])(*[1.5] * 30)";
        let dataclass = eval(fields)?;
        let like = Like::of(&dataclass)?;
        time("30 scalars, like a dataclass", || to_python_like(py, &scalars, &dataclass).unwrap());
        time("30 scalars, like a dataclass, planned", || like.to_python(&scalars).unwrap());
        let numbers = vec![1.5; 10_000];
        let list = eval(c"[1.5] * 10_000")?;
        time("10^4 floats, out", || to_python(py, &numbers).unwrap());
        time("10^4 floats, as a list by hand", || PyList::new(py, &numbers).unwrap());
        time("10^4 floats, like a list", || to_python_like(py, &numbers, &list).unwrap());
        let structs: Vec<Pair> = (0..1000).map(|_| Pair { x: 1.5, y: 2.5 }).collect();
        time("1000 structs, out", || to_python(py, &structs).unwrap());
        let dicts = eval(c"[{'x': 1.5, 'y': 2.5} for _ in range(1000)]")?;
        time("1000 structs, like dicts", || to_python_like(py, &structs, &dicts).unwrap());
        let objects = eval(c"(lambda c: [c(1.5, 2.5) for _ in range(1000)])(__import__('dataclasses').make_dataclass('Pair', 'xy'))")?;
        time("1000 structs, like dataclasses", || to_python_like(py, &structs, &objects).unwrap());

        let large = eval(c"__import__('numpy').ones(10_000_000)")?;
        time("10^7 f64: a copy by numpy", || large.call_method0("copy").is_ok());
        time("10^7 f64, in as NdArray", || from_python::<NdArray<f64>>(&large).unwrap());
        time("10^7 f64, in as Vec<f64>", || from_python::<Vec<f64>>(&large).unwrap());
        let single = eval(c"__import__('numpy').ones(10_000_000, 'f4')")?;
        let reader = Reader::new().convert_numbers(true);
        time("10^7 f32: astype of numpy", || single.call_method1("astype", ("f8",)).is_ok());
        time("10^7 f32, converted to Vec<f64>", || reader.read::<Vec<f64>>(&single).unwrap());
        time("10^7 f32, converted to NdArray<f64>", || {
            reader.read::<NdArray<f64>>(&single).unwrap()
        });
        let vec = vec![1.0; 10_000_000];
        time("10^7 f64: a copy of a Vec", || vec.clone());
        let prepare = || {
            let array = NdArray::new(vec![10_000_000], vec.clone()).unwrap();
            // The copy has filled the caches of the processor.
            into_python(py, NdArray::new(vec![1], vec![1.0])).unwrap();
            array
        };
        time_with("10^7 f64, out as NdArray, moved", prepare, |array| {
            into_python(py, array).unwrap()
        });
        time("10^7 f64, out as Vec<f64>", || to_python(py, &vec).unwrap());

        let names = eval(c"{f'layer{i}': __import__('numpy').ones(64) for i in range(300)}")?;
        let tree_flatten = py.import("jax.tree_util")?.getattr("tree_flatten")?;
        time("300 arrays of 64: tree_flatten of JAX", || tree_flatten.call1((&names,)).is_ok());
        time("300 arrays of 64, in as Vec", || {
            from_python::<BTreeMap<String, Vec<f64>>>(&names).unwrap()
        });
        time("300 arrays of 64, in as NdArray", || {
            from_python::<BTreeMap<String, NdArray<f64>>>(&names).unwrap()
        });
        let vecs: BTreeMap<String, Vec<f64>> = from_python(&names)?;
        let arrays: BTreeMap<String, NdArray<f64>> = from_python(&names)?;
        time("300 arrays of 64, out as Vec", || to_python(py, &vecs).unwrap());
        time("300 arrays of 64, out by hand", || {
            let dict = PyDict::new(py);
            for (name, numbers) in &vecs {
                dict.set_item(name, PyArray1::from_slice(py, numbers)).unwrap();
            }
            dict
        });
        time("300 arrays of 64, in by hand", || {
            let entries = names.cast::<PyDict>().unwrap().iter().map(|(name, array)| {
                let array = array.extract::<PyReadonlyArray1<'_, f64>>().unwrap();
                (name.extract::<String>().unwrap(), array.as_slice().unwrap().to_vec())
            });
            entries.collect::<BTreeMap<_, _>>()
        });
        time("300 arrays of 64, out as NdArray", || to_python(py, &arrays).unwrap());
        time("300 arrays of 64, out as the example", || to_python_like(py, &vecs, &names).unwrap());
        let flatten = || PyTreeDef::flatten(&names, Rules::Jax).unwrap();
        time("300 arrays of 64: leaves and treedef", flatten);
        let flat = || flat_from_python::<f64>(&names, Rules::Jax).unwrap();
        time("300 arrays of 64, in as one vector", flat);
        let numbers = flat().0;
        time("300 arrays of 64, out of one vector", || {
            flat_to_python(py, &numbers, &names, Rules::Jax).unwrap()
        });
        let lists = eval(c"{f'layer{i}': [1.0] * 64 for i in range(300)}")?;
        time("300 lists of 64, in as Vec", || {
            from_python::<BTreeMap<String, Vec<f64>>>(&lists).unwrap()
        });
        time("300 lists of 64, in as Vec, by pythonize", || {
            depythonize::<BTreeMap<String, Vec<f64>>>(&lists).unwrap()
        });
        time("300 lists of 64, out of Vec, by pythonize", || pythonize(py, &vecs).unwrap());
        Ok(())
    })
}
