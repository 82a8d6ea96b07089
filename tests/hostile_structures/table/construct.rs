//! Structures made of structures.

use treedef::{Edit, NodeKind, TreeDef, Value};

use super::Row;
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

pub(super) const ROWS: &[Row] = &[
    ("TreeDef::leaf", |cases| cases.once("", || Ok(TreeDef::leaf()))),
    ("TreeDef::none", |cases| cases.once("", || Ok(TreeDef::none()))),
    ("TreeDef::unit", |cases| cases.once("", || Ok(TreeDef::unit()))),
    ("TreeDef::unit_struct", |cases| {
        cases.once("a long name", || Ok(TreeDef::unit_struct(&long())));
    }),
    ("TreeDef::unit_variant", |cases| {
        cases.once("long names", || Ok(TreeDef::unit_variant(&long(), &long())));
    }),
    ("TreeDef::static_value", |cases| {
        cases.values(|value| Ok(TreeDef::static_value(value.clone())));
    }),
    ("TreeDef::some", |cases| cases.structures(|child| TreeDef::some(child.clone()))),
    ("TreeDef::newtype_struct", |cases| {
        cases.structures(|child| TreeDef::newtype_struct("N", child.clone()));
    }),
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
    ("TreeDef::tuple_struct", |cases| {
        cases.structures(|child| TreeDef::tuple_struct("T", three(child)));
    }),
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
    ("TreeDef::newtype_variant", |cases| {
        cases.structures(|child| TreeDef::newtype_variant("E", "V", child.clone()));
    }),
    ("TreeDef::tuple_variant", |cases| {
        cases.structures(|child| TreeDef::tuple_variant("E", "V", three(child)));
    }),
    ("TreeDef::struct_variant", |cases| {
        cases.structures(|child| TreeDef::struct_variant("E", "V", two_fields(child)));
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
        cases.structures_and_paths(|treedef, path| treedef.replace(path, &TreeDef::unit()));
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
