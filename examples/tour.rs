//! The main job on real input: the lock file of this very workspace, as a typed struct.
//!
//! `cargo run --example tour`

use std::error::Error;
use std::fs;

use serde::{Deserialize, Serialize};
use treedef::{Leaf, flatten, unflatten_strict};

/// Nobody wrote an impl for treedef: the derives are enough.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Lock {
    version: u32,
    #[serde(rename = "package")]
    packages: Vec<Package>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Package {
    name: String,
    version: String,
    source: Option<String>,
    checksum: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"))?;
    let lock: Lock = toml::from_str(&text)?;

    let (mut leaves, treedef) = flatten(&lock)?;
    println!("{} leaves in {} nodes", leaves.len(), treedef.num_nodes());
    let is_this = |package: &Package| package.name == "treedef";
    let this = lock.packages.iter().position(is_this).ok_or("no such package")?;
    let node = treedef.node(format!(".package[{this}]"))?;
    println!("\nthe structure of this package:\n{node:#}");

    // From a path to a leaf: the version of this package.
    let version = treedef.leaf_index(format!(".package[{this}].version"))?;
    println!("\nleaf {version} is its version: {}", leaves[version]);
    leaves[version] = Leaf::from("9.9.9");

    // From leaves to paths: everything that names where a package comes from.
    let mut sources = Vec::new();
    for (index, leaf) in leaves.iter_mut().enumerate() {
        if leaf.as_str().is_some_and(|text| text.starts_with("registry+")) {
            *leaf = Leaf::from("a mirror");
            sources.push(treedef.leaf_path(index)?);
        }
    }
    println!("\n{} leaves name a registry, now a mirror:", sources.len());
    sources.iter().take(3).for_each(|path| println!("  {path}"));

    // Back into the typed struct, checked: nothing was lost or changed but the leaves that we changed.
    let moved: Lock = unflatten_strict(&treedef, leaves)?;
    let package = &moved.packages[this];
    assert_eq!(package.version, "9.9.9");
    assert_eq!(package.dependencies, lock.packages[this].dependencies);
    println!("\nrebuilt: {} {} of {}", package.name, package.version, moved.packages.len());
    Ok(())
}
