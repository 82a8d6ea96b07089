//! Structures made of structures.

use treedef::{Edit, NodeHead, NodeKind, Result, TreeDef, TreeDefBuilder, Value};

use super::Row;
use crate::cases::Cases;
use crate::structures::{Lying, long};

/// Children, with and without a truth about their number.
fn three(child: &TreeDef) -> impl Iterator<Item = TreeDef> {
    Lying([child.clone(), TreeDef::leaf(), child.clone()].into_iter())
}

fn two_fields(child: &TreeDef) -> impl Iterator<Item = (&'static str, TreeDef)> {
    Lying([("a", child.clone()), ("b", child.clone())].into_iter())
}

fn entries(child: &TreeDef) -> impl Iterator<Item = (Value, TreeDef)> {
    let key = Value::of("key").unwrap();
    Lying([(key.clone(), child.clone()), (key, child.clone())].into_iter())
}

/// Opens nodes of all kinds, with some children, and goes on after errors.
fn built(kind: NodeKind, child: &TreeDef, times: usize) -> Result<TreeDef> {
    let mut builder = TreeDefBuilder::new();
    let name = long();
    builder.open(NodeKind::Seq, 1)?;
    let _ = builder.open(NodeHead { kind, name: &name, variant: "V" }, times);
    for key in ["b", "a"] {
        let _ = builder.field(key);
        let _ = builder.key(Value::of(key)?);
        let _ = builder.insert(child, times);
        let _ = builder.leaves(times);
        let _ = builder.static_value(&Value::of(&name)?, times);
    }
    while builder.close().is_ok() {}
    builder.finish()
}

/// All of the builder's calls, on each structure.
fn build(cases: &mut Cases) {
    for kind in KINDS {
        for times in [0, 1, 3, 10_000_000_000, usize::MAX] {
            cases.structures(|child| built(kind, child, times));
        }
    }
}

const KINDS: [NodeKind; 8] = [
    NodeKind::Some,
    NodeKind::UnitStruct,
    NodeKind::Seq,
    NodeKind::TupleStruct,
    NodeKind::Map,
    NodeKind::Struct,
    NodeKind::StructVariant,
    NodeKind::NewtypeVariant,
];

pub(super) const ROWS: &[Row] = &[
    ("TreeDefBuilder::open", build),
    ("TreeDef::leaf", |cases| cases.once("", || Ok(TreeDef::leaf()))),
    ("TreeDef::seq", |cases| {
        cases.structures(|child| TreeDef::seq(three(child)));
        cases.structures(|child| TreeDef::seq(std::iter::repeat_n(child.clone(), 1_000)));
        cases.pairs(|a, b| TreeDef::seq([a.clone(), b.clone()]));
    }),
    ("TreeDef::seq_of", |cases| {
        for count in [0, 1, 2, 10_000_000_000, usize::MAX] {
            cases.structures(|child| TreeDef::seq_of(child, count));
        }
    }),
    ("TreeDef::tuple", |cases| cases.structures(|child| TreeDef::tuple(three(child)))),
    ("TreeDef::named_struct", |cases| {
        cases.structures(|child| TreeDef::named_struct("S", two_fields(child)));
        // The text is twice as long with each level.
        cases.structures(|child| {
            (0..100).try_fold(child.clone(), |inside, _| {
                TreeDef::named_struct("S", two_fields(&inside))
            })
        });
    }),
    ("TreeDef::map", |cases| {
        cases.structures(|child| TreeDef::map(entries(child)));
        cases.structures(|child| {
            (0..100).try_fold(child.clone(), |inside, _| TreeDef::map(entries(&inside)))
        });
        cases.values(|key| TreeDef::map([(key.clone(), TreeDef::leaf())]));
        cases.value_pairs(|a, b| {
            TreeDef::map([(a.clone(), TreeDef::leaf()), (b.clone(), TreeDef::leaf())])
        });
    }),
    ("TreeDef::compose", |cases| cases.pairs(TreeDef::compose)),
    ("TreeDef::inner_of", |cases| {
        cases.pairs(TreeDef::inner_of);
        cases.pairs(|outer, inner| outer.compose(inner)?.inner_of(outer));
    }),
    ("TreeDef::is_prefix_of", |cases| {
        cases.pairs(|a, b| Ok(a.is_prefix_of(b)));
        cases.pairs(|a, b| Ok(a.is_prefix_of(&a.compose(b)?)));
    }),
    ("TreeDef::common_suffix", |cases| {
        cases.pairs(TreeDef::common_suffix);
        cases.pairs(|a, b| a.compose(b)?.common_suffix(a));
    }),
    ("TreeDef::replace", |cases| {
        cases.structures_and_paths(|treedef, path| treedef.replace(path, &"()".parse().unwrap()));
        cases.structures_and_paths(|treedef, path| treedef.replace(path, treedef));
    }),
    ("TreeDef::edit", |cases| {
        let is_leaf = |kind| kind == NodeKind::Leaf;
        cases.structures(|treedef| treedef.edit(|_| Ok(Edit::Keep)));
        cases.structures(|treedef| {
            treedef.edit(|node| Ok(if is_leaf(node.kind()) { Edit::Remove } else { Edit::Keep }))
        });
        cases.pairs(|treedef, other| {
            treedef.edit(|node| {
                if is_leaf(node.kind()) { Ok(Edit::Replace(other.clone())) } else { Ok(Edit::Keep) }
            })
        });
    }),
    ("TreeDef::edit_up", |cases| {
        let is_leaf = |treedef: &TreeDef| treedef.root().kind() == NodeKind::Leaf;
        cases.structures(|treedef| treedef.edit_up(|_| Ok(Edit::Keep)));
        cases.structures(|treedef| {
            treedef.edit_up(|node| Ok(if is_leaf(node) { Edit::Remove } else { Edit::Keep }))
        });
        cases.pairs(|treedef, other| {
            treedef.edit_up(|node| {
                if is_leaf(node) { Ok(Edit::Replace(other.clone())) } else { Ok(Edit::Keep) }
            })
        });
        cases.structures(|treedef| {
            treedef.edit_up(|node| Ok(Edit::Replace(TreeDef::seq_of(node, 1 << 40)?)))
        });
    }),
];
