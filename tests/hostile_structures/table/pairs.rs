//! Two trees, or a tree and a structure.

use std::convert::Infallible;

use treedef::{Leaf, Tolerance, Tree};

use super::Row;
use crate::structures::Lying;

pub(super) const ROWS: &[Row] = &[
    ("Tree::zip_with", |cases| {
        cases.tree_pairs(&(), &(), |a, b| a.zip_with(b, |(), ()| 1u64));
        cases.tree_pairs(&1.5, &(), |a, b| a.zip_with(b, |a, ()| a));
    }),
    ("Tree::zip", |cases| {
        cases.tree_pairs(&(), &(), |a, b| a.zip(b));
        cases.tree_pairs(&1.5, &1.5, |a, b| a.zip(b)?.try_map(|(a, b)| Ok::<_, Infallible>(a + b)));
        cases.tree_pairs(&1.5, &1.5, |a, b| a.zip(b)?.try_map(|_| Err::<(), _>("refused")));
    }),
    ("Tree::broadcast_to", |cases| {
        cases.trees_and_structures(&(), |tree, full| tree.broadcast_to(full));
        cases.trees_and_structures(&1.5, |tree, full| tree.broadcast_to(full));
        cases.trees_and_structures(&1.5, |tree, inner| {
            let full = tree.treedef().compose(inner)?;
            tree.broadcast_to(&full)
        });
    }),
    ("Tree::flatten_up_to", |cases| {
        cases.trees_and_structures(&(), |tree, prefix| tree.flatten_up_to(prefix));
        cases.trees_and_structures(&1.5, |tree, prefix| tree.flatten_up_to(prefix));
        // Without leaves, but in many places.
        cases.pairs(|outer, inner| {
            let full = outer.compose(inner)?;
            let leaves = vec![(); full.num_leaves()];
            Tree::new(full, leaves)?.flatten_up_to(outer)
        });
    }),
    ("Tree::transpose", |cases| {
        cases.trees_and_structures(&(), |tree, inner| {
            let outer = tree.treedef().clone();
            tree.transpose(&outer, inner)
        });
        cases.pairs(|outer, inner| {
            let full = outer.compose(inner)?;
            let leaves = vec![(); full.num_leaves()];
            Tree::new(full, leaves)?.transpose(outer, inner)
        });
    }),
    ("Tree::combine", |cases| {
        cases.tree_pairs(&Some(()), &None, |a, b| Tree::combine(Lying([a, b].into_iter())));
        cases.trees(&Some(1.5), |tree| Tree::combine([tree.clone(), tree]));
        cases.trees(&None::<f64>, |tree| Tree::combine([tree]));
    }),
    ("Tree::merge", |cases| {
        cases.tree_pairs(&(), &(), |a, b| Tree::merge(Lying([a, b].into_iter())));
        cases.tree_pairs(&1.5, &2.5, |a, b| Tree::merge([a, b]));
    }),
    ("Tree::compose", |cases| {
        cases.tree_pairs(&1.5, &(), |outer, inner| outer.map(|_| inner.clone()).compose());
        cases.tree_pairs(&1.5, &2.5, |outer, inner| {
            let few = outer.leaves().len() * inner.leaves().len() <= 1_000_000;
            outer.map(|_| if few { inner.clone() } else { Tree::leaf(0.5) }).compose()
        });
        cases.trees_and_structures(&1.5, |tree, prefix| tree.flatten_up_to(prefix)?.compose());
    }),
    ("Tree::check_close", |cases| {
        let (one, other) = (Leaf::F64(1.5), Leaf::F32(1.5));
        cases.tree_pairs(&one, &other, |a, b| a.check_close(&b, Tolerance::default()));
        cases.trees(&one, |tree| {
            let other = tree.clone().map(|_| Leaf::from("another"));
            tree.check_close(&other, Tolerance { atol: f64::NAN, ..Tolerance::default() })
        });
        cases.values(|value| {
            let tree = Tree::leaf(Leaf::from(value.clone()));
            tree.check_close(&Tree::leaf(Leaf::F64(0.5)), Tolerance::default())
        });
    }),
];
