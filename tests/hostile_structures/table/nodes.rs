//! Nodes and their children.

use treedef::__private::{array_struct, next_block};
use treedef::{Key, NodeRef, Path};

use super::{Row, debug, print};

/// Positions at the beginning, at the end and beyond it.
fn positions(node: NodeRef<'_>) -> [usize; 5] {
    let children = node.num_children();
    [0, children / 2, children.saturating_sub(1), children, usize::MAX]
}

pub(super) const ROWS: &[Row] = &[
    ("NodeRef::kind", |cases| cases.nodes(|node| Ok(node.kind()))),
    ("NodeRef::is_leaf", |cases| cases.nodes(|node| Ok(node.is_leaf()))),
    ("NodeRef::name", |cases| cases.nodes(|node| Ok(node.name().is_some()))),
    ("NodeRef::variant", |cases| cases.nodes(|node| Ok(node.variant().is_some()))),
    ("NodeRef::fields", |cases| cases.nodes(|node| Ok(node.fields().len()))),
    ("NodeRef::entry_keys", |cases| cases.nodes(|node| Ok(node.entry_keys().len()))),
    ("NodeRef::static_value", |cases| cases.nodes(|node| Ok(node.static_value().is_some()))),
    ("NodeRef::num_children", |cases| cases.nodes(|node| Ok(node.num_children()))),
    ("NodeRef::num_leaves", |cases| cases.nodes(|node| Ok(node.num_leaves()))),
    ("NodeRef::leaf_range", |cases| cases.nodes(|node| Ok(node.leaf_range()))),
    ("NodeRef::children", |cases| {
        cases.nodes(|node| Ok(node.children().take(10).count()));
        cases.nodes(|node| {
            let nth = |position| node.children().nth(position).map(NodeRef::kind);
            Ok(positions(node).map(nth))
        });
        cases.nodes(|node| Ok((node.children().len(), node.children().size_hint())));
    }),
    ("NodeRef::inside_newtypes", |cases| cases.nodes(|node| Ok(node.inside_newtypes().kind()))),
    ("TreeDef::blocks", |cases| {
        cases.structures(|treedef| Ok(treedef.blocks().take(10).count()));
        cases.nodes(|node| Ok(array_struct(node, |_| Some(1)).map(|array| array.shape().len())));
        cases.structures(|treedef| {
            let mut blocks = treedef.blocks();
            let shape = |_: &Path, node| Some(array_struct(node, |_| Some(1))?.shape().to_vec());
            let next = || next_block(&mut blocks, shape, |leaves| leaves.len() < 9);
            Ok(std::iter::from_fn(next).take(10).count())
        });
    }),
    ("Iterator for Blocks", |cases| {
        cases.structures(|treedef| {
            let shapes = treedef.blocks().take(10).map(|block| block.shape.len());
            Ok(shapes.sum::<usize>())
        });
    }),
    ("Debug for Blocks", |cases| cases.structures(|treedef| Ok(format!("{:?}", treedef.blocks())))),
    ("Debug for Children", |cases| cases.nodes(|node| Ok(format!("{:?}", node.children())))),
    ("Iterator for Children", |cases| {
        cases.nodes(|node| {
            let mut children = node.children();
            let first = children.nth(usize::MAX / 2).is_some();
            Ok((
                first,
                children.nth(usize::MAX).is_some(),
                children.next().is_some(),
                children.len(),
            ))
        });
    }),
    ("NodeRef::child", |cases| {
        cases.nodes(|node| {
            Ok(positions(node).map(|position| node.child(position).map(NodeRef::leaf_range)))
        });
    }),
    ("NodeRef::key", |cases| {
        cases.nodes(|node| Ok(positions(node).map(|position| node.key(position))));
    }),
    ("NodeRef::position", |cases| {
        cases.nodes(|node| {
            let position = |position| node.position(&Key::Position(position));
            Ok(positions(node).map(position))
        });
        cases.structures_and_paths(|treedef, path| {
            Ok(path.keys().first().and_then(|key| treedef.root().position(key)))
        });
    }),
    ("NodeRef::runs", |cases| {
        cases.nodes(|node| Ok(node.runs().take(10).map(|(_, repeat)| repeat).max()));
    }),
    ("NodeRef::to_treedef", |cases| cases.nodes(|node| Ok(node.to_treedef()))),
    ("Display for NodeRef", |cases| cases.nodes(|node| print(&node))),
    ("Debug for NodeRef", |cases| cases.nodes(|node| debug(&node))),
];
