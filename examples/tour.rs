//! The main job on real input: the metadata of this very package, as the typed structs of the `cargo_metadata` crate.
//!
//! `cargo run -p examples --bin tour`

use std::error::Error;

use cargo_metadata::{Metadata, MetadataCommand};
use treedef::{Leaf, flatten, unflatten_strict};

fn main() -> Result<(), Box<dyn Error>> {
    let metadata = MetadataCommand::new().no_deps().exec()?;

    // Nobody wrote an impl for treedef: `Metadata` derives `Serialize` and `Deserialize`, and that is enough.
    let (mut leaves, treedef) = flatten(&metadata)?;
    println!("{} leaves in {} nodes", leaves.len(), treedef.num_nodes());
    let this = metadata
        .packages
        .iter()
        .position(|package| package.name == "treedef")
        .ok_or("no such package")?;
    let package = format!(".packages[{this}]");
    let target = treedef.node(format!("{package}.targets[0]"))?;
    println!("\nthe structure of a target of this package:\n{target:#}");

    // From a path to a leaf: the version of this package.
    let version = treedef.leaf_index(format!("{package}.version"))?;
    println!("\nleaf {version} is `{package}.version`: {}", leaves[version]);
    leaves[version] = Leaf::from("9.9.9");

    // From leaves to paths: everything that names a place on this machine.
    let root = metadata.workspace_root.as_str();
    let mut places = Vec::new();
    for (index, leaf) in leaves.iter_mut().enumerate() {
        if let Some(text) = leaf.as_str().filter(|text| text.contains(root)) {
            *leaf = Leaf::from(text.replace(root, "/home"));
            places.push(format!("{} = {leaf}", treedef.leaf_path(index)?));
        }
    }
    println!("\n{} leaves name the folder of this workspace, now `/home`:", places.len());
    places.iter().take(3).for_each(|place| println!("  {place}"));

    // Back into the typed struct, checked: nothing was lost or changed but the leaves that we changed.
    let moved: Metadata = unflatten_strict(&treedef, leaves)?;
    let package = &moved.packages[this];
    assert_eq!(package.version.to_string(), "9.9.9");
    assert_eq!(package.manifest_path, "/home/Cargo.toml");
    assert_eq!(package.features, metadata.packages[this].features);
    println!("\nrebuilt: {} {} at {}", package.name, package.version, moved.workspace_root);
    Ok(())
}
