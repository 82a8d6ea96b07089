// The program of the README.

use serde::{Deserialize, Serialize};
use treedef::{Flattener, LeafKind};

#[derive(Serialize, Deserialize)]
struct Layer {
    w: [f64; 2],
    b: f64,
}

#[derive(Serialize, Deserialize)]
struct Model {
    name: String,
    layers: Vec<Layer>,
}

fn main() -> treedef::Result<()> {
    let layer = Layer { w: [1.0, 2.0], b: 0.5 };
    let (leaves, treedef) = treedef::flatten(&layer)?;
    println!("{leaves:?}"); // [F64(1.0), F64(2.0), F64(0.5)]
    println!("{treedef}"); // Layer { w: (*, *), b: * }
    let layer: Layer = treedef::unflatten(&treedef, leaves)?;

    let layers = vec![layer, Layer { w: [3.0, 4.0], b: 0.25 }];
    let model = Model { name: "fox".to_owned(), layers };

    // All floats as one vector, for the optimiser, the C library or the GPU …
    let floats = Flattener::new().leaves_where(LeafKind::is_float);
    let (mut leaves, treedef) = floats.flatten_as::<f64>(&model)?;
    println!("{leaves:?}"); // [1.0, 2.0, 0.5, 3.0, 4.0, 0.25]
    println!("{}", treedef.node(".layers")?); // [Layer { w: (*, *), b: * }; 2]

    // … that knows where each number came from …
    println!("{}", treedef.leaf_path(3)?); // .layers[1].w.0
    println!("{:?}", treedef.leaf_range(".layers[1].w")?); // 3..5

    // … and becomes the model again, with its name.
    leaves.iter_mut().for_each(|x| *x *= 2.0);
    let model: Model = treedef::unflatten(&treedef, leaves)?;
    println!("{} {:?}", model.name, model.layers[1].w); // fox [6.0, 8.0]
    Ok(())
}
