//! What makes people stay, in one screen: a model, its treedef, one flat vector, a step of an optimiser, the model back, what
//! changed, a file, and an error that says where.
//!
//! `cargo run --example tour`, and a second screen with `cargo run --example tour -- --long`

use std::collections::HashMap;
use std::error::Error;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use treedef::{Flattener, LeafKind, Tree, TreeDef, structure, unflatten};

/// Nobody wrote an impl for treedef: the derives are enough.
#[derive(Serialize, Deserialize)]
pub(crate) struct Model {
    name: String,
    epoch: u64,
    layers: Vec<Layer>,
    head: Layer,
}

#[derive(Clone, Serialize, Deserialize)]
struct Layer {
    w: [[f64; 2]; 2],
    b: Option<f64>,
}

/// The model of a later release, with a field that its files lack.
#[derive(Debug, Deserialize)]
struct Later {
    #[serde(rename = "layers")]
    _layers: Vec<LaterLayer>,
}

#[derive(Debug, Deserialize)]
struct LaterLayer {
    #[serde(rename = "w")]
    _w: [[f64; 2]; 2],
    #[serde(rename = "dropout")]
    _dropout: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let model = short()?;
    if std::env::args().any(|argument| argument == "--long") {
        long(&model)?;
    }
    Ok(())
}

pub(crate) fn short() -> Result<Model, Box<dyn Error>> {
    let layer = Layer { w: [[0.5; 2]; 2], b: Some(0.25) };
    let head = Layer { w: [[1.0, 2.0], [3.0, 4.0]], b: None };
    let model = Model { name: "fox".into(), epoch: 7, layers: vec![layer; 12], head };

    println!("THE STRUCTURE: equal layers are stored once, and everything but floats is static");
    let floats = Flattener::new().leaves_where(LeafKind::is_float);
    let (mut leaves, treedef) = floats.flatten_as::<f64>(&model)?;
    println!("{treedef:#}");

    println!("\nTHE LEAVES: one flat vector for an optimiser, a GPU, a C library");
    let head = treedef.node(".head")?.leaf_range();
    println!("{} × f64; `.head` is {head:?}; 13 is `{}`", leaves.len(), treedef.leaf_path(13)?);

    println!("\nA STEP of an optimiser that knows only slices, on the head");
    descend(&mut leaves[head.clone()], &[4.0, 4.0, 0.0, 0.0]);
    println!("{:?}", &leaves[head]);

    println!("\nTHE MODEL BACK, with its types and its name");
    let before = Tree::of(&model)?;
    let mut model: Model = unflatten(&treedef, leaves)?;
    println!("{}, head.w: {:?}", model.name, model.head.w);

    println!("\nWHAT CHANGED: a report, which is also a patch");
    model.epoch += 1;
    model.layers[2].b = None;
    let after = Tree::of(&model)?;
    println!("{}", before.diff(&after));

    println!("\nA FILE: later releases read it, and damage is found");
    let path = std::env::temp_dir().join(format!("tour-{}.tree", std::process::id()));
    after.save(&path)?;
    let loaded = Tree::load(&path)?;
    let size = std::fs::metadata(&path)?.len();
    std::fs::remove_file(&path)?;
    println!("{size} bytes; loaded, it is equal: {}", loaded == after);

    println!("\nAN ERROR: the type has changed since");
    println!("{}", loaded.into_typed::<Later>().expect_err("a field is missing"));
    Ok(model)
}

fn descend(parameters: &mut [f64], gradient: &[f64]) {
    for (x, slope) in parameters.iter_mut().zip(gradient) {
        *x -= 0.125 * slope;
    }
}

/// A leaf may be an object, without serde: a tensor of your framework, a handle.
#[derive(Serialize, Deserialize)]
struct OnDevice {
    #[serde(with = "treedef::object")]
    w: Rc<[f32]>,
    scale: f64,
}

pub(crate) fn long(model: &Model) -> Result<(), Box<dyn Error>> {
    println!("\nPATTERNS: the sum of all weights, then without those of the head");
    let mut tree = Flattener::new().leaves_where(LeafKind::is_float).tree_as::<f64>(model)?;
    for pattern in ["**.w.**", ".layers[*].w.**"] {
        println!("{pattern}: {}", tree.select(pattern)?.map(|(_, x)| x).sum::<f64>());
    }

    println!("\nEDITS by path: one more layer, and biases of zero");
    for (_, bias) in tree.select_mut("**.b")? {
        *bias = 0.0;
    }
    let first = tree.subtree(".layers[0]")?;
    tree.insert(".layers[12]", first)?;
    println!("{}", tree.treedef().node(".layers")?);

    println!("\nA RULE for a type of which you may change nothing: a layer is one leaf");
    let layers = Flattener::new().mark_opaque("Layer")?.structure(model)?;
    println!("{layers}");

    println!("\nONE LEAF FOR A PART: rates of learning");
    let rates = Tree::new(structure(&(0.1, 0.0))?, vec![0.1, 0.0])?;
    let model = (tree.subtree(".layers")?.into_typed::<Vec<Layer>>()?, model.head.w);
    let parts = Flattener::new().tree_as::<f64>(&model)?;
    let rates = rates.broadcast_to(parts.treedef())?;
    println!("{} rates for {} leaves", rates.leaves().len(), parts.leaves().len());

    println!("\nOBJECTS as leaves, without a copy of their numbers");
    let part = OnDevice { w: [1.0, 2.0, 3.0].into(), scale: 0.5 };
    let (tensors, treedef) = treedef::flatten_objects::<Rc<[f32]>>(&part)?;
    println!("{treedef}, the same tensor: {}", Rc::ptr_eq(&tensors[0], &part.w));
    println!("its scale is {}", part.scale);

    println!("\nA KEY: what is compiled for a structure is compiled once");
    let mut compiled: HashMap<TreeDef, usize> = HashMap::new();
    for batch in [vec![(1, 2.0)], vec![(3, 4.0)], vec![(5, 6.0), (7, 8.0)]] {
        let number = compiled.len();
        compiled.entry(structure(&batch)?).or_insert(number);
    }
    println!("{} structures of 3 batches", compiled.len());
    Ok(())
}
