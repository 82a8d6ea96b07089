//! Operations that turn one structure or tree into another.

use treedef::{Change, Diff, Error, TreeDef};

use super::{Row, debug, print, to_json};

pub(super) const ROWS: &[Row] = &[
    ("TreeDef::diff", |cases| cases.pairs(|old, new| Ok(old.diff(new)))),
    ("TreeDef::patch", |cases| {
        cases.pairs(|old, new| {
            let diff = old.diff(new);
            let patched = old.patch(&diff)?;
            assert!(patched == *new, "another structure");
            new.patch(&diff)
        });
    }),
    ("Serialize for Diff", |cases| cases.pairs(|old, new| to_json(&old.diff(new)))),
    ("Deserialize for Diff", |cases| {
        cases.texts(|text| serde_json::from_str::<Diff<TreeDef>>(text).map_err(Error::custom));
    }),
    ("Tree::diff", |cases| {
        cases.tree_pairs(&(), &(), |old, new| Ok(old.diff(&new)));
        cases.tree_pairs(&1.5, &2.5, |old, new| Ok(old.diff(&new)));
    }),
    ("Tree::patch", |cases| {
        cases.tree_pairs(&(), &(), |old, new| {
            let diff = old.diff(&new);
            old.patch(&diff)?;
            new.patch(&diff)
        });
        cases.tree_pairs(&1.5, &2.5, |old, new| old.patch(&old.diff(&new)));
    }),
    ("Change::places", |cases| {
        let places = |diff: Diff<TreeDef>| diff.changes.iter().map(Change::places).max();
        cases.pairs(|old, new| Ok(places(old.diff(new))));
    }),
    ("Display for Diff", |cases| {
        cases.pairs(|old, new| print(&old.diff(new)));
        cases.tree_pairs(&1.5, &2.5, |old, new| print(&old.diff(&new)));
    }),
    ("Display for Change", |cases| {
        cases.pairs(|old, new| {
            old.diff(new).changes.iter().take(10).map(print).sum::<treedef::Result<usize>>()
        });
    }),
    ("Debug for Diff", |cases| cases.pairs(|old, new| debug(&old.diff(new)))),
];
