//! The vectors, and how a layer is compared with one of them.

use std::collections::{BTreeMap, BTreeSet};

use candle_core::{DType, Device, Module, Result, Tensor, Var};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::Tree;

/// The results of PyTorch for one layer.
pub(crate) struct Case {
    name: &'static str,
    tensors: BTreeMap<String, Tensor>,
    /// The tensors that have not been compared yet.
    unused: BTreeSet<String>,
}

impl Case {
    pub(crate) fn new(name: &'static str) -> Case {
        let all = include_bytes!("vectors.safetensors");
        let all = candle_core::safetensors::load_buffer(all, &Device::Cpu).unwrap();
        let tensors: BTreeMap<String, Tensor> = all
            .into_iter()
            .filter_map(|(key, tensor)| {
                Some((key.strip_prefix(name)?.strip_prefix('/')?.to_owned(), tensor))
            })
            .collect();
        assert!(!tensors.is_empty(), "no vectors of {name}");
        let unused = tensors.keys().cloned().collect();
        Case { name, tensors, unused }
    }

    fn get(&mut self, key: &str) -> Option<Tensor> {
        self.unused.remove(key);
        self.tensors.get(key).cloned()
    }

    pub(crate) fn input(&mut self) -> Tensor {
        self.numbered("in").remove(0)
    }

    fn numbered(&mut self, what: &str) -> Vec<Tensor> {
        (0..).map_while(|at| self.get(&format!("{what}.{at}"))).collect()
    }

    pub(crate) fn close(&mut self, key: &str, found: &Tensor, tolerance: f64) {
        let Some(expected) = self.get(key) else { panic!("{}: no {key}", self.name) };
        assert_eq!(found.dims(), expected.dims(), "{}: {key}", self.name);
        let numbers = |tensor: &Tensor| -> Vec<f64> {
            tensor.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
        };
        let expected = numbers(&expected);
        let largest = expected.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
        for (found, expected) in numbers(found).into_iter().zip(&expected) {
            // The terms of a gradient may be larger than their sum.
            let scale = if key.starts_with("grad") { largest } else { expected.abs().max(1.0) };
            let close = (found - expected).abs() <= tolerance * scale;
            assert!(close, "{}: {key} is {found}, expected {expected}", self.name);
        }
    }

    /// The layer with the parameters of PyTorch, whose names, shapes and types must be the same.
    pub(crate) fn layer<L: Serialize + DeserializeOwned>(&mut self, layer: &L) -> L {
        let tree = Tree::<Tensor>::of_objects(layer).unwrap();
        let loaded = tree.map_with_path(|path, old| {
            let key = format!("state.{}", name(&path.to_string()));
            let Some(new) = self.get(&key) else { panic!("{}: no {key}", self.name) };
            assert_eq!(
                (new.dims(), new.dtype()),
                (old.dims(), old.dtype()),
                "{}: {key}",
                self.name
            );
            new
        });
        loaded.into_objects().unwrap()
    }

    /// Runs the layer, and compares outputs, gradients and names.
    pub(crate) fn run<L: Serialize + DeserializeOwned>(
        mut self,
        layer: L,
        run: impl Fn(&L, &[Tensor]) -> Result<Vec<Tensor>>,
    ) {
        let layer = self.layer(&layer);
        let mut inputs = self.numbered("in");
        // Everything of floats is a variable.
        let tracked = |tensor: Tensor| {
            if !tensor.dtype().is_float() {
                return tensor;
            }
            Var::from_tensor(&tensor).unwrap().into_inner()
        };
        let tree = Tree::<Tensor>::of_objects(&layer).unwrap().map(tracked);
        inputs.splice(..1, inputs.first().cloned().map(tracked));
        let layer: L = tree.clone().into_objects().unwrap();

        let outputs = run(&layer, &inputs).unwrap();
        for (at, output) in outputs.iter().enumerate() {
            self.close(&format!("out.{at}"), output, 1e-6);
        }
        let squares = outputs.iter().map(|output| output.sqr()?.sum_all()? / 2.0);
        let loss = squares.reduce(|a, b| a? + b?).unwrap().unwrap();
        let gradients = loss.backward().unwrap();
        if let Some(gradient) = gradients.get(&inputs[0]) {
            self.close("grad.in.0", gradient, 1e-5);
        }
        for (path, tensor) in tree.iter() {
            if let Some(gradient) = gradients.get(tensor) {
                self.close(&format!("grad.{}", name(&path.to_string())), gradient, 1e-5);
            }
        }
        self.unused.retain(|key| !key.starts_with("after."));
        assert!(self.unused.is_empty(), "{}: not compared: {:?}", self.name, self.unused);
    }

    pub(crate) fn module<L: Module + Serialize + DeserializeOwned>(self, layer: L) {
        self.run(layer, |layer, inputs| Ok(vec![layer.forward(&inputs[0])?]));
    }
}

/// A path as PyTorch writes it: `.layers[0].bias?` is `layers.0.bias`.
fn name(path: &str) -> String {
    path.replace('[', ".").replace([']', '?'], "").trim_start_matches('.').to_owned()
}
