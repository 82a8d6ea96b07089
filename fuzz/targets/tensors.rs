//! Files of tensors: whatever is read is written and read as the same, and fits a type or is refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use treedef::{Leaf, Tree};
use treedef_tensors::{Error, Export, Loader, Tensors, safetensors};

#[derive(Serialize, Deserialize)]
struct Layer {
    w: Vec<Vec<f32>>,
    b: Option<Vec<f64>>,
}

#[derive(Serialize, Deserialize)]
struct Model {
    layers: Vec<Layer>,
    #[serde(default)]
    ends: (i64, [bool; 2], Option<String>),
    #[serde(flatten)]
    rest: BTreeMap<String, Vec<u8>>,
}

pub fn run(bytes: &[u8]) {
    let Some((how, bytes)) = bytes.split_first() else { return };
    let tensors = match safetensors::from_bytes(bytes).and_then(|it| it.read()) {
        Ok(tensors) => tensors,
        Err(error) => return is_short(&error),
    };
    let again = safetensors::to_bytes(&tensors).unwrap();
    assert_eq!(safetensors::from_bytes(&again).unwrap().read().unwrap(), tensors);
    if let Ok(tree) = Export::new().tree::<Leaf>(&tensors) {
        let export = Export::new().rest_in_metadata(true);
        let tensors = export.tensors(&tree).unwrap();
        assert_eq!(export.tree::<Leaf>(&tensors).unwrap(), tree);
        if let Ok(arrays) = tree.clone().with_arrays() {
            assert_eq!(export.tensors(&arrays).unwrap(), tensors);
        }
        let stacked = export.stack(["**", "[*]", "**[*].b", "layers[*].w"][usize::from(how & 3)]);
        if let Ok(tensors) = stacked.tensors(&tree) {
            assert_eq!(stacked.tree::<Leaf>(&tensors).unwrap(), tree);
        }
    }
    let loader = Loader::new().convert_floats(how & 1 == 1);
    let loader = if how & 2 == 2 { loader.stack("**") } else { loader };
    let loader = if how & 4 == 4 { loader.transpose("layers.**").ignore("x.*") } else { loader };
    let loader = if how & 32 == 32 { loader.stack("layers[*].w").stack("**[*].b") } else { loader };
    match how >> 3 & 3 {
        0 => read::<Model>(&loader, &tensors),
        1 => read::<Vec<Layer>>(&loader, &tensors),
        2 => read::<serde_json::Value>(&loader, &tensors),
        _ => read::<BTreeMap<String, Vec<Option<f64>>>>(&loader, &tensors),
    }
}

fn read<T: Serialize + for<'de> Deserialize<'de>>(loader: &Loader, tensors: &Tensors<'_>) {
    match loader.load::<T>(tensors) {
        // What was read has tensors of its own.
        Ok(value) => drop(Tree::of(&value).unwrap()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn is_short(error: &Error) {
    let message = error.to_string();
    assert!(!message.is_empty(), "{message}");
}
