//! Every value round-trips through a file.

use treedef::{Tree, TreeDef};

use super::{check, flatten, hold};
use crate::specimens::WAYS;

#[test]
fn treedefs_come_back_from_their_bytes() {
    hold(|specimen, flattener| {
        let (_, treedef) = flatten(specimen, flattener)?;
        let bytes = treedef.to_bytes().map_err(|error| error.to_string())?;
        let loaded = TreeDef::from_bytes(&bytes).map_err(|error| error.to_string())?;
        check(loaded == treedef, || format!("{treedef} became {loaded}"))?;
        let again = loaded.to_bytes().map_err(|error| error.to_string())?;
        check(again == bytes, || "it is written in another way".to_owned())?;
        let prints = (loaded.fingerprint(), treedef.fingerprint());
        check(matches!(prints, (Ok(a), Ok(b)) if a == b), || "another fingerprint".to_owned())
    });
}

/// The order of maps too, which a treedef alone forgets.
#[test]
fn values_come_back_from_the_bytes_of_their_trees() {
    hold(|specimen, flattener| {
        let (leaves, treedef) = flatten(specimen, flattener)?;
        let tree = Tree::new(treedef, leaves).map_err(|error| error.to_string())?;
        let bytes = tree.to_bytes().map_err(|error| error.to_string())?;
        let loaded = Tree::from_bytes(&bytes).map_err(|error| error.to_string())?;
        check(loaded == tree, || format!("{tree} became {loaded}"))?;
        let again = loaded.to_bytes().map_err(|error| error.to_string())?;
        check(again == bytes, || "it is written in another way".to_owned())?;
        let rebuilt = specimen.laws.rebuild(WAYS[0], loaded.treedef(), loaded.leaves());
        let rebuilt = rebuilt.map_err(|error| error.to_string())?;
        check(specimen.laws.equals(&*rebuilt), || {
            format!("{} became {}", specimen.laws.debug(), rebuilt.debug())
        })
    });
}

/// As text in a format for humans, as bytes in another.
#[test]
fn treedefs_come_back_from_other_formats() {
    hold(|specimen, flattener| {
        let (_, treedef) = flatten(specimen, flattener)?;
        let json = serde_json::to_string(&treedef).map_err(|error| error.to_string())?;
        let text: String = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        check(text == treedef.to_string(), || format!("{treedef} became {json}"))?;
        let loaded: TreeDef = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        check(loaded == treedef, || format!("{treedef} became {loaded} in JSON"))?;

        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(&treedef, config).map_err(|e| e.to_string())?;
        let (loaded, _): (TreeDef, usize) =
            bincode::serde::decode_from_slice(&bytes, config).map_err(|e| e.to_string())?;
        check(loaded == treedef, || format!("{treedef} became {loaded} in bincode"))?;
        // A treedef is a value too.
        let (leaves, of_text) = treedef::flatten(&treedef).map_err(|error| error.to_string())?;
        let again: TreeDef = treedef::unflatten(&of_text, leaves).map_err(|e| e.to_string())?;
        check(again == treedef, || format!("{treedef} became {again}"))
    });
}
