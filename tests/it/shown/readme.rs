// The program of the README.

use serde::{Deserialize, Serialize};
use treedef::TreeDef;

#[derive(Serialize, Deserialize)]
struct Model {
    #[serde(serialize_with = "treedef::as_static")]
    name: String, // part of the treedef, not a leaf
    layers: Vec<Layer>,
}

#[derive(Serialize, Deserialize)]
struct Layer {
    w: [f64; 2],
}

fn main() -> treedef::Result<()> {
    let layers = vec![Layer { w: [1.0, 2.0] }, Layer { w: [3.0, 4.0] }];
    let model = Model { name: "fox".to_owned(), layers };

    // The numbers as one flat vector, and the structure beside it.
    let (mut leaves, treedef) = treedef::flatten_as::<f64>(&model)?;
    println!("{leaves:?}"); // [1.0, 2.0, 3.0, 4.0]
    println!("{treedef}"); // Model { name: static "fox", layers: [Layer { w: (*, *) }; 2] }
    println!("{}", treedef.leaf_path(3)?); // .layers[1].w.1

    // Any code that works on slices changes the leaves; the treedef rebuilds the struct.
    leaves.iter_mut().for_each(|x| *x *= 2.0);
    let doubled: Model = treedef::unflatten(&treedef, leaves)?;
    println!("{} {:?}", doubled.name, doubled.layers[1].w); // fox [6.0, 8.0]

    // A treedef is a value: save it, load it, compare it, use it as a key.
    let file = std::env::temp_dir().join("fox.treedef");
    treedef.save(&file)?;
    println!("{}", TreeDef::load(&file)? == treedef); // true
    Ok(())
}
