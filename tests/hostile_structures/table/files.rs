//! Structures and trees as bytes and files.

use std::path::PathBuf;

use treedef::{Leaf, Limits, Tree, TreeDef};

use super::Row;

/// A file of this process.
fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("treedef-hostile-{}", std::process::id()))
}

/// Calls a function with the file in which something was saved.
fn with_file<T>(
    save: impl FnOnce(&PathBuf) -> treedef::Result<()>,
    load: impl FnOnce(&PathBuf) -> treedef::Result<T>,
) -> treedef::Result<T> {
    let file = file();
    let loaded = save(&file).and_then(|()| load(&file));
    let _ = std::fs::remove_file(&file); // it is not there if saving was refused
    loaded
}

pub(super) const ROWS: &[Row] = &[
    ("TreeDef::fingerprint", |cases| cases.structures(TreeDef::fingerprint)),
    ("TreeDef::to_bytes", |cases| cases.structures(TreeDef::to_bytes)),
    ("TreeDef::from_bytes", |cases| {
        cases.structures(|treedef| TreeDef::from_bytes(&treedef.to_bytes()?));
    }),
    ("TreeDef::from_bytes_with", |cases| {
        cases.structures(|treedef| {
            TreeDef::from_bytes_with(
                &treedef.to_bytes()?,
                Limits { max_work: 1 << 27, ..Limits::default() },
            )
        });
    }),
    ("TreeDef::save", |cases| {
        cases.structures(|treedef| with_file(|file| treedef.save(file), |_| Ok(())));
    }),
    ("TreeDef::load", |cases| {
        cases
            .structures(|treedef| with_file(|file| treedef.save(file), |file| TreeDef::load(file)));
    }),
    ("Tree::to_bytes", |cases| {
        cases.trees(&1.5, |tree| tree.to_bytes());
        cases.values(|value| Tree::leaf(Leaf::from(value.clone())).to_bytes());
    }),
    ("Tree::from_bytes", |cases| {
        cases.trees(&1.5, |tree| Tree::from_bytes(&tree.to_bytes()?));
        cases.values(|value| Tree::from_bytes(&Tree::leaf(Leaf::from(value.clone())).to_bytes()?));
    }),
    ("Tree::from_bytes_as", |cases| {
        cases.trees(&1.5, |tree| Tree::from_bytes_as::<f64>(&tree.to_bytes()?, Limits::default()));
        cases.trees(&1.5, |tree| Tree::from_bytes_as::<u8>(&tree.to_bytes()?, Limits::default()));
    }),
    ("Tree::save", |cases| {
        cases.trees(&1.5, |tree| with_file(|file| tree.save(file), |_| Ok(())));
    }),
    ("Tree::load", |cases| {
        cases.trees(&1.5, |tree| with_file(|file| tree.save(file), |file| Tree::load(file)));
    }),
];
