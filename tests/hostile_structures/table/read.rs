//! Reading a structure, and comparing two.

use treedef::{Limits, TreeDef};

use super::{Row, hash};

/// Indices at the beginning, in the middle, at the end and beyond it.
fn indices(treedef: &TreeDef) -> [usize; 6] {
    let leaves = treedef.num_leaves();
    [0, 1, leaves / 2, leaves.saturating_sub(1), leaves, usize::MAX]
}

pub(super) const ROWS: &[Row] = &[
    ("TreeDef::root", |cases| cases.structures(|treedef| Ok(treedef.root().kind()))),
    ("TreeDef::num_leaves", |cases| cases.structures(|treedef| Ok(treedef.num_leaves()))),
    ("TreeDef::num_nodes", |cases| cases.structures(|treedef| Ok(treedef.num_nodes()))),
    ("TreeDef::limits", |cases| {
        cases.structures(|treedef| {
            Ok(treedef.clone().with_limits(Limits { max_depth: 1, ..Limits::default() }).limits())
        });
    }),
    ("TreeDef::leaf_path", |cases| {
        cases.structures(|treedef| {
            indices(treedef)
                .map(|index| treedef.leaf_path(index))
                .into_iter()
                .collect::<Result<Vec<_>, _>>()
        });
        cases.structures(|treedef| treedef.leaf_path(treedef.num_leaves().saturating_sub(1)));
    }),
    ("TreeDef::node", |cases| {
        cases.structures_and_paths(|treedef, path| Ok(treedef.node(path)?.kind()));
    }),
    ("TreeDef::nodes", |cases| {
        cases.structures(|treedef| Ok(treedef.nodes().take(10).count()));
    }),
    ("Iterator for Nodes", |cases| {
        cases.structures(|treedef| Ok(treedef.nodes().next().map(|(path, _)| path)));
    }),
    ("Debug for Nodes", |cases| {
        cases.structures(|treedef| Ok(format!("{:?}", treedef.nodes())));
    }),
    ("Debug for LeafPaths", |cases| {
        cases.structures(|treedef| Ok(format!("{:?}", treedef.leaf_paths())));
    }),
    ("Iterator for LeafPaths", |cases| {
        cases.structures(|treedef| Ok(treedef.leaf_paths().next()));
    }),
    ("TreeDef::leaf_paths", |cases| {
        cases.structures(|treedef| Ok(treedef.leaf_paths().take(10).count()));
    }),
    ("PartialEq for TreeDef", |cases| cases.pairs(|a, b| Ok(a == b))),
    ("Hash for TreeDef", |cases| cases.structures(|treedef| Ok(hash(treedef)))),
    ("TreeDef::check_equal", |cases| cases.pairs(TreeDef::check_equal)),
    ("TreeDef::check_equivalent", |cases| cases.pairs(TreeDef::check_equivalent)),
];
