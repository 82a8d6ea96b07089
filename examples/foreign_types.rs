//! Rules for types that one cannot annotate: they say which parts are leaves, and which belong to the structure.
//!
//! `cargo run --example foreign_types`

use serde::{Deserialize, Serialize};
use treedef::{Flattener, LeafKind, Result, unflatten};

/// Types of somebody else's crate. An array shows serde its version and its shape as integers, beside its numbers.
mod foreign {
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Array {
        pub(crate) v: u8,
        pub(crate) dim: [usize; 2],
        pub(crate) data: Vec<f64>,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Image {
        pub(crate) size: (u32, u32),
        pub(crate) pixels: Vec<u8>,
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sample {
    label: String,
    weights: foreign::Array,
    image: foreign::Image,
}

fn main() -> Result<()> {
    let weights = foreign::Array { v: 1, dim: [2, 2], data: vec![1.0, 2.0, 3.0, 4.0] };
    let image = foreign::Image { size: (2, 1), pixels: vec![0, 255] };
    let samples = vec![Sample { label: "cat".to_owned(), weights, image }; 2];
    let show = |what: &str, flattener: &Flattener| -> Result<()> {
        let (leaves, treedef) = flattener.flatten(&samples)?;
        println!("{what}: {} leaves\n{treedef:#}\n", leaves.len());
        assert_eq!(unflatten::<Vec<Sample>>(&treedef, leaves)?, samples);
        Ok(())
    };

    show("as serde shows them", &Flattener::new())?;

    // By the names of types and fields: wherever an array or an image stands.
    let by_name = Flattener::new()
        .mark_static("Array.v")?
        .mark_static("Array.dim")?
        .mark_opaque("Image")?
        .mark_static("**.label")?;
    show("bookkeeping static, an image one leaf", &by_name)?;
    assert!(by_name.unmatched_rules(&samples)?.is_empty());

    // By kind: the floats are leaves, all else is structure.
    let floats = Flattener::new().leaves_where(LeafKind::is_float);
    show("floats only", &floats)?;

    // So an optimiser can have the numbers without knowing any of the types.
    let (mut numbers, treedef) = floats.flatten_as::<f64>(&samples)?;
    numbers.iter_mut().for_each(|x| *x *= 0.5);
    let halved: Vec<Sample> = unflatten(&treedef, numbers)?;
    assert_eq!(halved[1].weights.data, [0.5, 1.0, 1.5, 2.0]);
    assert_eq!(halved[1].image, samples[1].image);

    // A rule that applies to nothing is a typo, and can be found.
    let typo = Flattener::new().mark_static("Aray.dim")?;
    println!("rules that matched nothing: {:?}", typo.unmatched_rules(&samples)?);
    Ok(())
}
