//! Reads a value from JSON and does one thing with it: see the script beside this.

use serde::Serialize;
use serde::de::DeserializeOwned;

#[cfg(feature = "five")]
mod five;

#[cfg(feature = "five")]
type Measured = five::Model;
#[cfg(feature = "metadata")]
type Measured = cargo_metadata::Metadata;
#[cfg(feature = "openapi")]
type Measured = openapiv3::OpenAPI;
#[cfg(feature = "pod")]
type Measured = k8s_openapi::api::core::v1::Pod;
#[cfg(feature = "generated")]
type Measured = generated::T59;

#[cfg(feature = "generated")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/generated.rs"));
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// There and back.
fn round_trip<T: Serialize + DeserializeOwned>(value: T) -> Outcome<T> {
    #[cfg(feature = "json")]
    let value = serde_json::from_value(serde_json::to_value(&value)?)?;
    #[cfg(feature = "bincode")]
    let value = {
        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(&value, config)?;
        bincode::serde::decode_from_slice(&bytes, config)?.0
    };
    #[cfg(feature = "serde_value")]
    let value = serde_value::to_value(&value)?.deserialize_into()?;
    #[cfg(feature = "treedef")]
    let value = {
        let (leaves, treedef) = treedef::flatten(&value)?;
        also(&value, &treedef, &leaves)?;
        treedef::unflatten(&treedef, leaves)?
    };
    Ok(value)
}

#[cfg(feature = "treedef")]
#[allow(unused_variables, reason = "each call has a feature of its own")]
fn also<T: Serialize + DeserializeOwned>(
    value: &T,
    treedef: &treedef::TreeDef,
    leaves: &[treedef::Leaf],
) -> Outcome<()> {
    #[cfg(feature = "structure")]
    println!("{}", treedef::structure(value)?);
    #[cfg(feature = "signature")]
    println!("{}", treedef::signature(value)?);
    #[cfg(feature = "flatten_as")]
    println!("{:?}", treedef::flatten_as::<f64>(value).map(|(leaves, _)| leaves.len()));
    #[cfg(feature = "map")]
    drop(treedef::map(value, |leaf: treedef::Leaf| leaf)?);
    #[cfg(feature = "tree")]
    println!("{}", treedef::Tree::of(value)?);
    #[cfg(feature = "borrowed")]
    drop(treedef::unflatten_borrowed::<T>(treedef, leaves)?);
    #[cfg(feature = "strict")]
    drop(treedef::unflatten_strict::<T>(treedef, leaves)?);
    #[cfg(feature = "like")]
    {
        let mut buffer = Vec::<treedef::Leaf>::new();
        treedef.flatten_like(value, &mut buffer)?;
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let path = std::env::args().nth(1).ok_or("the path of a JSON file")?;
    let value: Measured = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    println!("{:?}", std::hint::black_box(round_trip(value)?));
    Ok(())
}
