//! Operations on all leaves of one tree.

use std::convert::Infallible;

use treedef::{Error, Leaf, LeafKind, Tree, Value};

use super::{Row, debug, hash, print, to_json};
use crate::structures::Lying;

/// A vector of units takes no memory.
fn units() -> Vec<()> {
    vec![(); 1 << 60]
}

/// A tree of leaves that are whole values.
fn opaque(value: &Value) -> Tree<Leaf> {
    let leaf = Leaf::from(value.clone());
    Tree::new("[*, *, *]".parse().unwrap(), vec![leaf.clone(), Leaf::F64(0.5), leaf]).unwrap()
}

pub(super) const ROWS: &[Row] = &[
    ("Tree::new", |cases| {
        cases.structures(|treedef| Tree::new(treedef.clone(), units()));
        cases.structures(|treedef| Tree::new(treedef.clone(), Vec::<f64>::new()));
        cases.trees(&(), Ok);
        cases.trees(&Some(()), Ok);
    }),
    ("Tree::leaf", |cases| cases.once("units", || Ok(Tree::leaf(units())))),
    ("Tree::treedef", |cases| cases.trees(&(), |tree| Ok(tree.treedef().clone()))),
    ("Tree::leaves", |cases| cases.trees(&(), |tree| Ok(tree.leaves().len()))),
    ("Tree::leaves_mut", |cases| cases.trees(&(), |mut tree| Ok(tree.leaves_mut().len()))),
    ("Tree::into_parts", |cases| cases.trees(&(), |tree| Ok(tree.into_parts()))),
    ("Clone for Tree", |cases| cases.trees(&(), |tree| Ok(tree.clone()))),
    ("PartialEq for Tree", |cases| cases.trees(&(), |tree| Ok(tree == tree.clone()))),
    ("Hash for Tree", |cases| {
        cases.trees(&(), |tree| Ok(hash(&tree)));
        cases.values(|value| Ok(hash(&opaque(value))));
    }),
    ("Tree::map", |cases| {
        cases.trees(&(), |tree| Ok(tree.map(|()| 1u64)));
        cases.trees(&(), |tree| Ok(tree.map(|()| ())));
        cases.trees(&1.5, |tree| Ok(tree.map(|leaf| leaf as u8)));
    }),
    ("Tree::try_map", |cases| {
        cases.trees(&(), |tree| tree.try_map(|()| Ok::<_, Infallible>(1u64)));
        cases.trees(&(), |tree| tree.try_map(|()| Err::<(), _>("refused")));
    }),
    ("Tree::map_with_path", |cases| {
        cases.trees(&(), |tree| Ok(tree.map_with_path(|_, ()| 1u64)));
        cases.trees(&1.5, |tree| Ok(tree.map_with_path(|_, leaf| leaf)));
    }),
    ("Tree::as_ref", |cases| {
        cases.trees(&(), |tree| Ok(tree.as_ref().leaves().len()));
        cases.trees(&1.5, |tree| Ok(tree.as_ref().leaves().len()));
    }),
    ("Tree::iter", |cases| {
        cases.trees(&(), |tree| Ok(tree.iter().take(10).count()));
        cases.trees(&(), |tree| Ok(tree.iter().size_hint()));
    }),
    ("Tree::iter_mut", |cases| {
        cases.trees(&(), |mut tree| Ok(tree.iter_mut().take(10).count()));
    }),
    ("Tree::with_arrays", |cases| {
        cases.trees(&Leaf::F32(1.5), |tree| Ok(tree.with_arrays()?.leaves().len()));
    }),
    ("Tree::without_arrays", |cases| {
        cases.trees(&Leaf::F32(1.5), |tree| {
            Ok(tree.with_arrays()?.without_arrays()?.leaves().len())
        });
        cases.trees(&Leaf::F32(1.5), |tree| Ok(tree.without_arrays()?.leaves().len()));
    }),
    ("Tree::blocks", |cases| {
        cases.trees(&1.5, |tree| Ok(tree.blocks().take(10).map(|(_, leaves)| leaves.len()).max()));
        cases.trees(&1.5, |tree| Ok(format!("{:?}", tree.blocks())));
    }),
    ("Tree::summary", |cases| {
        cases.trees(&1.5, |tree| Ok(tree.summary().to_string()));
        cases.trees(&1.5, |tree| print(&format_args!("{:#}", tree.summary())));
        cases.values(|value| Ok(opaque(value).summary().to_string()));
        cases.trees(&1.5, |tree| debug(&tree.summary()));
    }),
    ("Tree::with_shapes", |cases| {
        cases.trees(&LeafKind::F32, |tree| Ok(tree.with_shapes().to_string()));
        cases.trees(&LeafKind::F32, |tree| print(&format_args!("{:#}", tree.with_shapes())));
        cases.trees(&LeafKind::F32, |tree| debug(&tree.with_shapes()));
    }),
    ("Tree::partition", |cases| {
        cases.tree_pairs(&(), &true, |tree, mask| tree.partition(&mask));
        cases.tree_pairs(&1.5, &false, |tree, mask| tree.partition(&mask));
        cases.trees(&(), |tree| tree.partition(|_: &_, _: &()| true));
        cases.trees(&1.5, |tree| tree.partition(|_: &_, _: &_| false));
    }),
    ("Tree::unique_by", |cases| {
        cases.trees(&(), |tree| Ok(tree.unique_by(Clone::clone)));
        cases.trees(&7, |tree| Ok(tree.unique_by(Clone::clone)));
        cases.trees(&(), |tree| {
            let mut next = 0u64;
            Ok(tree.unique_by(|()| {
                next += 1;
                next
            }))
        });
    }),
    ("Unique::rebuild", |cases| {
        cases.trees(&7, |tree| tree.unique_by(Clone::clone).rebuild(&[(), ()]));
        cases.trees(&7, |tree| tree.unique_by(Clone::clone).rebuild(&[Some(units())]));
    }),
    ("Tree::stack", |cases| {
        cases.trees(&(), |tree| Tree::stack([tree.clone(), tree]));
        cases.trees(&(), |tree| Tree::stack(Lying([tree.clone(), tree].into_iter())));
        cases.trees(&1.5, |tree| Tree::stack(Lying([tree.clone(), tree].into_iter())));
        cases.once("no trees", || Tree::<f64>::stack(Lying(std::iter::empty())));
    }),
    ("Tree::unstack", |cases| {
        cases.trees(&units(), Tree::unstack);
        cases.trees(&Vec::<()>::new(), Tree::unstack);
        cases.trees(&vec![1.5; 10], Tree::unstack);
        cases.trees(&(), |tree| tree.map(|()| units()).unstack());
    }),
    ("Tree::ravel", |cases| {
        cases.trees(&Leaf::F64(1.5), |tree| tree.ravel());
        cases.values(|value| opaque(value).ravel());
    }),
    ("Ravel::treedef", |cases| {
        cases.trees(&Leaf::F64(1.5), |tree| Ok(tree.ravel()?.1.treedef().clone()));
    }),
    ("Ravel::unravel", |cases| {
        cases.trees(&Leaf::F64(1.5), |tree| {
            let (vector, ravel) = tree.ravel()?;
            ravel.unravel(&vector)
        });
        cases.trees(&Leaf::U8(1), |tree| tree.ravel()?.1.unravel(&[0.5]));
    }),
    ("Display for Tree", |cases| {
        cases.trees(&1.5, |tree| print(&tree));
        cases.values(|value| print(&opaque(value)));
    }),
    ("Debug for Tree", |cases| {
        cases.trees(&(), |tree| debug(&tree));
        cases.trees(&1.5, |tree| debug(&tree));
        cases.values(|value| debug(&opaque(value)));
    }),
    ("Serialize for Tree", |cases| {
        cases.trees(&(), |tree| to_json(&tree));
        cases.trees(&1.5, |tree| to_json(&tree));
        cases.trees(&(), |tree| Tree::of(&tree));
        cases.trees(&1.5, |tree| Tree::of(&tree));
        cases.values(|value| to_json(&opaque(value)));
    }),
    ("Deserialize for Tree", |cases| {
        cases.texts(|text| serde_json::from_str::<Tree<Leaf>>(text).map_err(Error::custom));
    }),
    ("Deserialize for Value", |cases| {
        cases.texts(|text| serde_json::from_str::<Value>(text).map_err(Error::custom));
    }),
    ("Deserialize for Leaf", |cases| {
        cases.texts(|text| serde_json::from_str::<Leaf>(text).map_err(Error::custom));
    }),
];
