//! Values, leaves, paths and patterns.

use serde::de::IgnoredAny;
use treedef::{Key, Leaf, Path, Pattern, Selector, Tree, Value};

use super::{Row, debug, hash, print, to_json};
use crate::structures::long;

pub(super) const ROWS: &[Row] = &[
    ("Value::of", |cases| {
        cases.values(Value::of);
        cases.trees(&(), |tree| Value::of(&tree));
    }),
    ("Value::root", |cases| cases.values(|value| Ok(value.root().num_leaves()))),
    ("Value::leaves", |cases| cases.values(|value| Ok(value.leaves().len()))),
    ("Value::as_str", |cases| cases.values(|value| Ok(value.as_str().is_some()))),
    ("Value::as_leaf", |cases| cases.values(|value| Ok(value.as_leaf().is_some()))),
    ("Value::into_typed", |cases| {
        cases.values(|value| value.clone().into_typed::<IgnoredAny>());
        cases.values(|value| value.clone().into_typed::<Vec<()>>());
        cases.values(|value| value.clone().into_typed::<serde_json::Value>());
    }),
    ("PartialEq for Value", |cases| cases.value_pairs(|a, b| Ok(a == b))),
    ("Hash for Value", |cases| cases.values(|value| Ok(hash(value)))),
    ("Ord for Value", |cases| cases.value_pairs(|a, b| Ok(a.cmp(b)))),
    ("PartialOrd for Value", |cases| cases.value_pairs(|a, b| Ok(a < b))),
    ("Display for Value", |cases| cases.values(print)),
    ("Debug for Value", |cases| cases.values(debug)),
    ("FromStr for Value", |cases| {
        cases.texts(str::parse::<Value>);
        cases.values(|value| value.to_string().parse::<Value>());
    }),
    ("Serialize for Value", |cases| {
        cases.values(to_json);
        cases.values(Tree::of);
    }),
    ("Leaf::kind", |cases| cases.values(|value| Ok(Leaf::from(value.clone()).kind()))),
    ("Leaf::as_str", |cases| {
        cases.values(|value| Ok(Leaf::from(value.clone()).as_str().is_some()));
    }),
    ("Leaf::into_typed", |cases| {
        cases.values(|value| Leaf::from(value.clone()).into_typed::<IgnoredAny>());
        cases.values(|value| Leaf::from(value.clone()).into_typed::<Vec<Vec<()>>>());
    }),
    ("PartialEq for Leaf", |cases| {
        cases.value_pairs(|a, b| Ok(Leaf::from(a.clone()) == Leaf::from(b.clone())));
    }),
    ("Hash for Leaf", |cases| cases.values(|value| Ok(hash(&Leaf::from(value.clone()))))),
    ("Display for Leaf", |cases| cases.values(|value| print(&Leaf::from(value.clone())))),
    ("Serialize for Leaf", |cases| cases.values(|value| to_json(&Leaf::from(value.clone())))),
    ("Path::root", |cases| cases.once("", || Ok(Path::root()))),
    ("Path::keys", |cases| cases.paths(|path| Ok(path.keys().len()))),
    ("Path::is_root", |cases| cases.paths(|path| Ok(path.is_root()))),
    ("Path::child", |cases| {
        cases.paths(|path| Ok(path.child(Key::Index(usize::MAX))));
        cases.values(|value| Ok(Path::root().child(Key::Entry(value.clone())).to_string()));
    }),
    ("Path::join", |cases| cases.paths(|path| Ok(path.join(path)))),
    ("Path::parent", |cases| cases.paths(|path| Ok(path.parent()))),
    ("Path::to_joined_string", |cases| {
        cases.paths(|path| Ok(path.to_joined_string("")));
        cases.paths(|path| Ok(path.to_joined_string("n")));
        cases.values(|value| {
            Ok(Path::root().child(Key::Entry(value.clone())).to_joined_string("/"))
        });
    }),
    ("Display for Path", |cases| cases.paths(print)),
    ("Debug for Path", |cases| cases.paths(debug)),
    ("FromStr for Path", |cases| {
        cases.texts(str::parse::<Path>);
        cases.texts(|text| format!("[{text}]").parse::<Path>());
    }),
    ("Display for Key", |cases| {
        cases.values(|value| print(&Key::Entry(value.clone())));
        cases.once("a long name", || print(&Key::Field(long().into())));
    }),
    ("FromStr for Key", |cases| {
        cases.texts(str::parse::<Key>);
        cases.texts(|text| format!("[{text}]").parse::<Key>());
    }),
    ("Pattern::matches", |cases| cases.patterns(|pattern, path| Ok(pattern.matches(path)))),
    ("Pattern::covers", |cases| cases.patterns(|pattern, path| Ok(pattern.covers(path)))),
    ("Pattern::of_alike", |cases| cases.patterns(|_, path| Ok(Pattern::of_alike([path, path])))),
    ("Display for Pattern", |cases| cases.patterns(|pattern, _| print(pattern))),
    ("FromStr for Pattern", |cases| {
        cases.texts(str::parse::<Pattern>);
        cases.texts(|text| format!("**[{text}]").parse::<Pattern>());
        cases.once("** many times", || "**".repeat(100_000).parse::<Pattern>());
    }),
    ("Display for Selector", |cases| {
        cases.patterns(|pattern, _| print(&Selector::Path(pattern.clone())));
        cases.once("a long name", || print(&Selector::Type("`".repeat(1_000_000).into())));
    }),
    ("FromStr for Selector", |cases| {
        cases.texts(str::parse::<Selector>);
        cases.texts(|text| format!("A.{text}").parse::<Selector>());
    }),
];
