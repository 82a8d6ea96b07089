//! Files: what loads is written as it was read and can be used; what does not says why, shortly.

use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write};
use std::io::Cursor;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use treedef::{
    Error, Fingerprint, Leaf, Limits, NodeRef, Path, Tree, TreeDef, TreeReader, unflatten,
};

/// Bytes of a text that is made of what was loaded: a short file can stand for a long one.
const TEXT: usize = 1 << 16;
/// Leaves that are made for what was loaded, for the same reason.
const LEAVES: usize = 4096;

pub fn run(bytes: &[u8]) {
    let _ = load(bytes);
}

/// Says what became of the bytes as a treedef and as a tree.
pub(crate) fn load(bytes: &[u8]) -> [Result<(), Error>; 2] {
    let treedef = TreeDef::from_bytes(bytes).map(|treedef| {
        assert_eq!(treedef.to_bytes().unwrap(), bytes);
        comes_back_from_bytes(&treedef);
        use_treedef(&treedef);
    });
    let tree = Tree::<Leaf>::from_bytes(bytes).map(|tree| {
        assert_eq!(tree.to_bytes().unwrap(), bytes);
        assert_eq!(Tree::from_bytes(bytes).unwrap(), tree);
        comes_back_from_bytes(tree.treedef());
        use_treedef(tree.treedef());
        use_tree(tree);
    });
    for result in [&treedef, &tree] {
        if let Err(error) = result {
            let message = error.to_string();
            assert!(message.len() <= 1024, "{} bytes: {message}", message.len());
        }
    }
    by_parts(bytes);
    let limits = Limits::default();
    let _ = Tree::from_bytes_as::<f64>(bytes, limits);
    let _ = Tree::from_bytes_as::<String>(bytes, limits);
    [treedef, tree]
}

/// A tree is the same if it is read by its parts, and what is no tree is none.
fn by_parts(bytes: &[u8]) {
    let reader = TreeReader::new(Cursor::new(bytes), Limits::default());
    let by_parts = reader.and_then(|mut reader| Ok((reader.subtree("")?, reader)));
    let (tree, (part, mut reader)) = match (Tree::from_bytes(bytes), by_parts) {
        (Ok(tree), Ok(by_parts)) => (tree, by_parts),
        (tree, by_parts) => return assert_eq!(tree.is_ok(), by_parts.is_ok()),
    };
    assert_eq!(part.to_bytes().unwrap(), bytes);
    if has_twins(tree.treedef().root()) {
        return;
    }
    for (path, _) in tree.treedef().nodes().take(20) {
        assert_eq!(reader.subtree(&path).unwrap(), tree.subtree(&path).unwrap(), "{path}");
    }
    for (path, part) in reader.subtrees("**.*").into_iter().flatten().take(20).map(Result::unwrap) {
        assert_eq!(part, tree.subtree(&path).unwrap(), "{path}");
    }
}

pub(crate) fn comes_back_from_bytes(treedef: &TreeDef) {
    let bytes = treedef.to_bytes().unwrap();
    let loaded = TreeDef::from_bytes(&bytes).unwrap_or_else(|error| panic!("{treedef}: {error}"));
    assert_eq!(&loaded, treedef);
    assert_eq!(loaded.to_bytes().unwrap(), bytes);
    let fingerprint = treedef.fingerprint().unwrap();
    assert_eq!(loaded.fingerprint().unwrap(), fingerprint);
    assert_eq!(fingerprint.to_string().parse::<Fingerprint>().unwrap(), fingerprint);
}

fn use_treedef(treedef: &TreeDef) {
    if let Some(text) = text(format_args!("{treedef}")) {
        let parsed = text.parse::<TreeDef>().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(&parsed, treedef);
        assert_eq!(parsed.to_bytes().unwrap(), treedef.to_bytes().unwrap());
    }
    text(format_args!("{treedef:#}"));
    text(format_args!("{treedef:?}"));

    let has_twins = has_twins(treedef.root());
    for (index, path) in treedef.leaf_paths().take(100).enumerate() {
        assert_eq!(treedef.leaf_path(index).unwrap(), path);
        assert_eq!(path.to_string().parse::<Path>().unwrap(), path);
        let found = treedef.node(&path);
        assert!(
            has_twins || found.is_ok_and(|found| found.leaf_range() == (index..index + 1)),
            "{path}"
        );
    }
    let num_leaves = treedef.num_leaves();
    for index in [num_leaves / 2, num_leaves.saturating_sub(1)] {
        assert_eq!(treedef.leaf_path(index).is_ok(), num_leaves > 0);
    }
    assert!(treedef.leaf_path(num_leaves).is_err());
    let _ = treedef.flatten_like(&(1, "a"), &mut Vec::<Leaf>::new());

    let treedef = treedef.clone().with_limits(Limits { max_work: LEAVES, ..Limits::default() });
    if num_leaves <= LEAVES {
        for_types(|rebuild| {
            rebuild(Tree::new(treedef.clone(), vec![Leaf::from(1.5); num_leaves]).unwrap())
        });
    }
}

fn use_tree(tree: Tree<Leaf>) {
    text(format_args!("{tree}"));
    text(format_args!("{tree:?}"));
    let (treedef, leaves) = tree.into_parts();
    let treedef = treedef.with_limits(Limits { max_work: LEAVES, ..Limits::default() });
    for_types(|rebuild| rebuild(Tree::new(treedef.clone(), leaves.clone()).unwrap()));
}

/// A struct that the seeds have.
#[derive(Deserialize)]
#[allow(dead_code, reason = "only read")]
struct Point {
    x: f64,
    #[serde(default)]
    y: Option<Vec<f64>>,
}

/// An enum that the seeds have.
#[derive(Deserialize)]
#[allow(dead_code, reason = "only read")]
enum Shape {
    Empty,
    Circle(f64),
    Line(f64, String),
    Box { w: f64, h: Vec<u8> },
}

fn for_types(mut rebuild: impl FnMut(fn(Tree<Leaf>))) {
    fn rebuilt<T: DeserializeOwned>(tree: Tree<Leaf>) {
        let (treedef, leaves) = tree.into_parts();
        if let Err(error) = unflatten::<T>(&treedef, leaves) {
            text(format_args!("{error}"));
        }
    }
    rebuild(rebuilt::<IgnoredAny>);
    rebuild(rebuilt::<serde_json::Value>);
    rebuild(rebuilt::<Vec<Option<f64>>>);
    rebuild(rebuilt::<BTreeMap<String, Vec<f64>>>);
    rebuild(rebuilt::<BTreeMap<(i32, String), IgnoredAny>>);
    rebuild(rebuilt::<(f64, Vec<Point>)>);
    rebuild(rebuilt::<Vec<Point>>);
    rebuild(rebuilt::<Vec<Shape>>);
    rebuild(rebuilt::<String>);
}

/// Whether a struct has two fields of one name, or a map two entries of one key: their paths are ambiguous.
fn has_twins(node: NodeRef<'_>) -> bool {
    let (mut fields, mut keys) = (HashSet::new(), HashSet::new());
    !node.fields().iter().all(|field| fields.insert(field))
        || !node.entry_keys().iter().all(|key| keys.insert(key))
        || node.runs().any(|(child, _)| has_twins(child))
}

/// What prints, if it is not too long.
pub(crate) fn text(printed: fmt::Arguments<'_>) -> Option<String> {
    struct Bounded(String);

    impl Write for Bounded {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            if self.0.len() + text.len() > TEXT {
                return Err(fmt::Error);
            }
            self.0.push_str(text);
            Ok(())
        }
    }

    let mut out = Bounded(String::new());
    out.write_fmt(printed).ok().map(|()| out.0)
}
