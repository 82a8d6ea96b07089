//! Laws over random structures.

use indexmap::IndexMap;
use proptest::prelude::*;
use proptest::test_runner::Config;
use treedef::{
    Leaf, NodeHead, NodeKind, NodeRef, Result, Tree, TreeDef, TreeDefBuilder, Value, unflatten,
};
use treedef_testing::cases::config;

use crate::data::{Data, data};

/// For laws that walk each case many times.
pub(crate) fn few() -> Config {
    config(500)
}

fn tree(data: &Data) -> Tree<Leaf> {
    Tree::of(data).unwrap()
}

/// The leaves are their own indices.
pub(crate) fn numbered(treedef: TreeDef) -> Tree<usize> {
    let leaves = (0..treedef.num_leaves()).collect();
    Tree::new(treedef, leaves).unwrap()
}

/// A structure that is small, so that three of them can be composed.
pub(crate) fn small() -> impl Strategy<Value = TreeDef> {
    const TEXTS: [&str; 14] = [
        "*",
        "None",
        "()",
        "[]",
        "[*]",
        "[*; 7]",
        "(*, None, *)",
        "[*, ()]",
        "[(*, *), (*, *), *]",
        "P { x: *, y: [*, *] }",
        "{\"a\": *, \"b\": {1: *}}",
        "E::V(*, *)",
        "(Some(*), N(*))",
        "[static 1, *, [*; 6], [*; 6]]",
    ];
    proptest::sample::select(&TEXTS[..]).prop_map(|text| text.parse().unwrap())
}

/// Nodes one by one, without runs, as in another library.
fn composed(outer: NodeRef<'_>, inner: &str) -> String {
    let children: Vec<String> = outer.children().map(|child| composed(child, inner)).collect();
    match outer.kind() {
        NodeKind::Leaf => inner.to_owned(),
        _ => format!(
            "{:?} {:?} {children:?}",
            outer.kind(),
            (outer.name(), outer.fields(), outer.entry_keys())
        ),
    }
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn composing_is_associative(a in small(), b in small(), c in small()) {
        let left = a.compose(&b).unwrap().compose(&c).unwrap();
        let right = a.compose(&b.compose(&c).unwrap()).unwrap();
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(left.num_leaves(), a.num_leaves() * b.num_leaves() * c.num_leaves());
        prop_assert_eq!(left.to_string().parse::<TreeDef>().unwrap(), right);
    }

    #[test]
    fn a_leaf_changes_nothing(a in data()) {
        let a = tree(&a).into_parts().0;
        prop_assert_eq!(&a.compose(&TreeDef::leaf()).unwrap(), &a);
        prop_assert_eq!(&TreeDef::leaf().compose(&a).unwrap(), &a);
    }

    #[test]
    fn composing_puts_the_inner_structure_at_every_leaf(outer in data(), inner in small()) {
        let outer = tree(&outer).into_parts().0;
        let composition = outer.compose(&inner).unwrap();
        let expected = composed(outer.root(), &composed(inner.root(), "*"));
        prop_assert_eq!(composed(composition.root(), "*"), expected);
        prop_assert!(outer.is_prefix_of(&composition));
        if outer.num_leaves() > 0 {
            prop_assert_eq!(composition.inner_of(&outer).unwrap(), inner);
        }
    }

    #[test]
    fn transposing_twice_changes_nothing(outer in small(), inner in small()) {
        let treedef = outer.compose(&inner).unwrap();
        let leaves: Vec<usize> = (0..treedef.num_leaves()).collect();
        let tree = Tree::new(treedef, leaves).unwrap();
        let turned = tree.clone().transpose(&outer, &inner).unwrap();
        prop_assert_eq!(turned.treedef(), &inner.compose(&outer).unwrap());
        let (rows, columns) = (outer.num_leaves(), inner.num_leaves());
        for (index, leaf) in turned.leaves().iter().enumerate() {
            prop_assert_eq!(*leaf, index % rows * columns + index / rows);
        }
        prop_assert_eq!(turned.transpose(&inner, &outer).unwrap(), tree);
    }

    #[test]
    fn prefixes_are_a_partial_order(a in small(), b in small(), c in small()) {
        prop_assert!(a.is_prefix_of(&a));
        if a.is_prefix_of(&b) && b.is_prefix_of(&a) {
            prop_assert_eq!(&a, &b);
        }
        let (ab, abc) = (a.compose(&b).unwrap(), a.compose(&b).unwrap().compose(&c).unwrap());
        prop_assert!(a.is_prefix_of(&ab) && ab.is_prefix_of(&abc) && a.is_prefix_of(&abc));
    }

    #[test]
    fn the_common_suffix_is_the_least_upper_bound(a in small(), b in small(), c in small()) {
        let (left, right) = (a.compose(&b).unwrap(), a.compose(&c).unwrap());
        let suffix = left.common_suffix(&right);
        prop_assert_eq!(suffix.as_ref().ok().cloned(), right.common_suffix(&left).ok());
        match suffix {
            Ok(suffix) => {
                prop_assert!(left.is_prefix_of(&suffix) && right.is_prefix_of(&suffix));
                prop_assert_eq!(&left.common_suffix(&suffix).unwrap(), &suffix);
                if left.is_prefix_of(&right) {
                    prop_assert_eq!(&suffix, &right);
                }
            }
            Err(error) => {
                prop_assert!(!left.is_prefix_of(&right) && !right.is_prefix_of(&left));
                prop_assert!(left.node(error.path()).is_ok() && right.node(error.path()).is_ok());
            }
        }
    }

    #[test]
    fn subtrees_are_the_tree_below(outer in data(), inner in small()) {
        let outer = tree(&outer).into_parts().0;
        let treedef = outer.compose(&inner).unwrap();
        let leaves: Vec<usize> = (0..treedef.num_leaves()).collect();
        let tree = Tree::new(treedef.clone(), leaves).unwrap();
        let (_, subtrees) = tree.flatten_up_to(&outer).unwrap().into_parts();
        prop_assert_eq!(subtrees.len(), outer.num_leaves());
        prop_assert!(subtrees.iter().all(|subtree| *subtree.treedef() == inner));
        let below: Vec<usize> = subtrees.iter().flat_map(|tree| tree.leaves()).copied().collect();
        prop_assert_eq!(&below, tree.leaves());

        let numbers = Tree::new(outer.clone(), (0..outer.num_leaves()).collect()).unwrap();
        let broadcast = numbers.broadcast_to(&treedef).unwrap();
        let expected: Vec<usize> = below.iter().map(|leaf| leaf / inner.num_leaves()).collect();
        prop_assert_eq!(broadcast.leaves(), expected);
    }

    /// Taken apart node by node, with the entries of maps the other way round, and put together.
    #[test]
    fn the_builder_makes_every_structure(data in data()) {
        let treedef = tree(&data).into_parts().0;
        let mut builder = TreeDefBuilder::new();
        rebuild(&mut builder, treedef.root()).unwrap();
        prop_assert_eq!(builder.finish().unwrap(), treedef);
    }

    /// Keys that were inserted in another order are restored in it, in maps of maps, too.
    #[test]
    fn the_builder_remembers_the_order_of_keys(
        entries in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..4)), 0..5)
    ) {
        let maps: IndexMap<u8, IndexMap<u8, u8>> = entries
            .into_iter()
            .map(|(key, inside)| (key, inside.into_iter().map(|key| (key, 0)).collect()))
            .collect();
        let mut builder = TreeDefBuilder::new();
        builder.open(NodeKind::Map, 1).unwrap();
        for (key, inside) in &maps {
            builder.key(Value::of(key).unwrap()).unwrap();
            builder.open(NodeKind::Map, 1).unwrap();
            for key in inside.keys() {
                builder.key(Value::of(key).unwrap()).unwrap();
                builder.leaves(1).unwrap();
            }
            builder.close().unwrap();
        }
        builder.close().unwrap();
        let treedef = builder.finish().unwrap();
        let leaves = vec![Leaf::U8(0); treedef.num_leaves()];
        let back: IndexMap<u8, IndexMap<u8, u8>> = unflatten(&treedef, leaves).unwrap();
        let orders = |maps: &IndexMap<u8, IndexMap<u8, u8>>| format!("{maps:?}");
        prop_assert_eq!(orders(&back), orders(&maps));
    }
}

fn rebuild(builder: &mut TreeDefBuilder, node: NodeRef<'_>) -> Result<()> {
    match node.kind() {
        NodeKind::Static => return builder.static_value(node.static_value().unwrap(), 1),
        kind => {
            let (name, variant) = (node.name().unwrap_or(""), node.variant().unwrap_or(""));
            builder.open(NodeHead { kind, name, variant }, 1)?;
        }
    }
    if node.kind() == NodeKind::Map {
        let entries: Vec<_> = node.entry_keys().iter().zip(node.children()).collect();
        for (key, child) in entries.into_iter().rev() {
            builder.key(key.clone())?;
            rebuild(builder, child)?;
        }
    } else {
        for (position, child) in node.children().enumerate() {
            if let Some(field) = node.fields().get(position) {
                builder.field(field.clone())?;
            }
            rebuild(builder, child)?;
        }
    }
    if node.kind().is_atom() { Ok(()) } else { builder.close() }
}
