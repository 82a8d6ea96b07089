//! Models of candle's tensors.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor, Var};
use serde::{Deserialize, Serialize};
use treedef::{Tree, flatten_objects, object, unflatten_objects};
use treedef_ecosystem_objects::{described, read, stored};
use treedef_tensors::{Export, Loader, safetensors};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

#[derive(Serialize, Deserialize)]
struct Linear {
    #[serde(with = "object")]
    w: Tensor,
    #[serde(with = "object::option", default)]
    b: Option<Tensor>,
}

#[derive(Serialize, Deserialize)]
struct Mlp {
    layers: Vec<Linear>,
    #[serde(with = "object::map")]
    scales: BTreeMap<String, Tensor>,
    activation: String,
}

impl Linear {
    fn new(inputs: usize, outputs: usize, bias: bool) -> candle_core::Result<Self> {
        let w = (0..inputs * outputs).map(|i| (i as f64).sin()).collect::<Vec<_>>();
        Ok(Linear {
            w: Tensor::from_vec(w, (inputs, outputs), &Device::Cpu)?,
            b: bias.then(|| Tensor::zeros(outputs, DType::F64, &Device::Cpu)).transpose()?,
        })
    }

    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let y = x.matmul(&self.w)?;
        self.b.as_ref().map_or(Ok(y.clone()), |b| y.broadcast_add(b))
    }
}

impl Mlp {
    fn new() -> candle_core::Result<Self> {
        let scale = Tensor::new(2.0, &Device::Cpu)?;
        Ok(Mlp {
            layers: vec![Linear::new(3, 4, true)?, Linear::new(4, 1, false)?],
            scales: [("out".to_owned(), scale)].into(),
            activation: "tanh".to_owned(),
        })
    }

    fn loss(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let mut h = x.clone();
        for layer in &self.layers {
            h = layer.forward(&h)?.tanh()?;
        }
        h.broadcast_mul(&self.scales["out"])?.sqr()?.mean_all()
    }
}

fn input() -> candle_core::Result<Tensor> {
    Tensor::from_vec((0..15).map(|i| (i as f64).cos()).collect::<Vec<_>>(), (5, 3), &Device::Cpu)
}

/// The gradient as a model.
fn gradient(model: &Mlp) -> Result<(f64, Mlp)> {
    let (tensors, treedef) = flatten_objects::<Tensor>(model)?;
    let vars = tensors.iter().map(Var::from_tensor).collect::<candle_core::Result<Vec<_>>>()?;
    let tracked = vars.iter().map(|var| var.as_tensor().clone()).collect();
    let loss = unflatten_objects::<Mlp, Tensor>(&treedef, tracked)?.loss(&input()?)?;
    let store = loss.backward()?;
    let gradients = vars.iter().map(|var| store.get(var).cloned().ok_or("no gradient"));
    let gradients = gradients.collect::<std::result::Result<Vec<_>, _>>()?;
    Ok((loss.to_scalar()?, unflatten_objects(&treedef, gradients)?))
}

#[test]
fn tensors_keep_their_identity_on_the_way() -> Result {
    let model = Mlp::new()?;
    let (tensors, treedef) = flatten_objects::<Tensor>(&model)?;
    assert_eq!(
        treedef.to_string(),
        r#"Mlp { layers: [Linear { w: *, b: Some(*) }, Linear { w: *, b: None }], scales: {"out": *}, activation: static "tanh" }"#
    );
    let ids: Vec<_> = tensors.iter().map(Tensor::id).collect();
    let back: Mlp = unflatten_objects(&treedef, tensors)?;
    let again: Vec<_> = flatten_objects::<Tensor>(&back)?.0.iter().map(Tensor::id).collect();
    assert_eq!(ids, again);
    Ok(())
}

#[test]
fn gradients_are_a_model_and_descend() -> Result {
    let mut model = Mlp::new()?;
    let (first, gradients) = gradient(&model)?;
    // One of them against a central difference.
    let step = 1e-6;
    let moved = |by: f64| -> Result<f64> {
        let tree = Tree::<Tensor>::of_objects(&model)?;
        let tree = tree.map_with_path(|path, tensor| {
            if path.to_string() == ".scales[\"out\"]" { tensor + by } else { Ok(tensor) }
        });
        let tree = tree.try_map(|moved| moved)?;
        Ok(tree.into_objects::<Mlp>()?.loss(&input()?)?.to_scalar()?)
    };
    let expected = (moved(step)? - moved(-step)?) / (2.0 * step);
    let found: f64 = gradients.scales["out"].to_scalar()?;
    assert!((found - expected).abs() < 1e-8, "{found} {expected}");

    for _ in 0..50 {
        let (_, gradients) = gradient(&model)?;
        let (model_tree, gradients) = (Tree::of_objects(&model)?, Tree::of_objects(&gradients)?);
        let pairs = model_tree.zip(gradients)?;
        model = pairs.try_map(|(p, g): (Tensor, Tensor)| p - (g * 0.05)?)?.into_objects()?;
    }
    let (last, _) = gradient(&model)?;
    assert!(last < 0.2 * first, "{first} {last}");
    Ok(())
}

#[test]
fn an_average_keeps_only_what_has_the_same_structure() -> Result {
    let tree = Tree::<Tensor>::of_objects(&Mlp::new()?)?;
    let other = Tree::<Tensor>::of_objects(&Linear::new(1, 1, true)?)?;
    assert!(tree.clone().zip(other).is_err());
    let mean = tree.clone().zip(tree.clone())?.try_map(|(a, b)| (a + b)? * 0.5)?;
    let numbers = |tree: &Tree<Tensor>| -> candle_core::Result<Vec<Vec<f64>>> {
        tree.leaves().iter().map(|tensor| tensor.flatten_all()?.to_vec1()).collect()
    };
    assert_eq!(numbers(&mean)?, numbers(&tree)?);
    // A leaf of another shape is candle's error, with the path.
    let wrong = tree.clone().try_map(|tensor| tensor.reshape((1, 1))).unwrap_err().to_string();
    assert!(wrong.contains(".layers[0].w"), "{wrong}");
    Ok(())
}

#[test]
fn a_model_is_saved_by_its_names_and_loaded_strictly() -> Result {
    let (export, loader) = (Export::new(), Loader::new());
    let tree = Tree::<Tensor>::of_objects(&Mlp::new()?)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("model.safetensors");
    safetensors::save(export.objects(&tree, Tensor::id, stored)?, &file)?;

    // candle reads the file.
    let of_candle = candle_core::safetensors::load(&file, &Device::Cpu)?;
    let mut names: Vec<&str> = of_candle.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["layers.0.b", "layers.0.w", "layers.1.w", "scales.out"]);
    let [first, second] =
        [&of_candle["layers.0.w"], tree.get("layers[0].w")?].map(|tensor| tensor.to_vec2::<f64>());
    assert_eq!(first?, second?);

    // Other numbers of the same shapes are replaced by those of the file.
    let zeros = tree.clone().try_map(|tensor| tensor.zeros_like())?;
    let source = safetensors::open(&file)?;
    let loaded = loader.objects_like(&zeros, &source, described, read)?;
    let model: Mlp = loaded.into_objects()?;
    assert_eq!(model.scales["out"].to_scalar::<f64>()?, 2.0);
    assert_eq!(model.activation, "tanh");

    // A file of another model, and a tensor of another shape.
    let other = Tree::<Tensor>::of_objects(&vec![Linear::new(2, 1, false)?])?;
    let error = loader.objects_like(&other, &source, described, read).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tensors do not fit the type\n\
         missing `0.w`: f64[2, 1] (the nearest name is `layers.0.w`, f64[3, 4])\n\
         unused `layers.0.w`: f64[3, 4]\n\
         unused `layers.0.b`: f64[4]\n\
         unused `layers.1.w`: f64[4, 1]\n\
         unused `scales.out`: f64[]"
    );
    let wide = zeros.map_with_path(|path, tensor| match path.to_string().as_str() {
        ".layers[1].w" => Tensor::zeros((1, 4), DType::F64, &Device::Cpu),
        _ => Ok(tensor),
    });
    let wide = wide.try_map(|tensor| tensor)?;
    let error = loader.objects_like(&wide, &source, described, read).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tensors do not fit the type\n\
         `layers.1.w` is f64[4, 1], expected f64[1, 4] (see `Loader::transpose`)"
    );
    Ok(())
}

/// Reads the file that candle's own `save` wrote, and ours, in Python's safetensors.
const COMPARED: &str = r#"
import sys
from safetensors.numpy import load_file
candles, ours = map(load_file, sys.argv[1:])
assert sorted(candles) == sorted(ours), (sorted(candles), sorted(ours))
for name, a in candles.items():
    b = ours[name]
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), name
print(len(ours))
"#;

#[test]
#[ignore = "needs Python with safetensors and numpy, named by the variable PYTHON"]
fn python_reads_what_candle_reads() -> Result {
    let tree = Tree::<Tensor>::of_objects(&Mlp::new()?)?;
    let folder = tempfile::tempdir()?;
    let [ours, candles] = ["ours", "candles"].map(|name| folder.path().join(name));
    safetensors::save(Export::new().objects(&tree, Tensor::id, stored)?, &ours)?;
    candle_core::safetensors::save(
        &candle_core::safetensors::load(&ours, &Device::Cpu)?,
        &candles,
    )?;
    let python = std::env::var("PYTHON")?;
    let said =
        std::process::Command::new(python).args(["-c", COMPARED]).args([candles, ours]).output()?;
    assert_eq!(String::from_utf8(said.stdout)?, "4\n", "{}", String::from_utf8_lossy(&said.stderr));
    Ok(())
}
