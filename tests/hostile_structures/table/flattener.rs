//! The options of a walk, and the marks.

use treedef::{
    ArrayRule, Flattener, Leaf, LeafKind, Limits, MapOrder, Opaque, Pattern, Result, Selector,
    Static, Tree, TreeDef,
};

use super::typed::Wrong;
use super::{Row, to_json};
use crate::cases::Cases;
use crate::structures::long;

/// Walks values that lie, and trees that are huge.
fn walk(cases: &mut Cases, flattener: impl Fn() -> Flattener) {
    for value in Wrong::ALL {
        cases.once("a value that lies", || flattener().flatten(&value));
    }
    cases.trees(&(), |tree| flattener().flatten(&tree));
}

fn everything() -> Pattern {
    "**".parse().unwrap()
}

/// A field with a mark.
struct Marked<T>(T, bool);

impl<T: serde::Serialize> serde::Serialize for Marked<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.1 {
            treedef::as_static(&self.0, serializer)
        } else {
            treedef::as_opaque(&self.0, serializer)
        }
    }
}

pub(super) const ROWS: &[Row] = &[
    ("Flattener::new", |cases| walk(cases, Flattener::new)),
    ("Flattener::map_order", |cases| {
        walk(cases, || Flattener::new().map_order(MapOrder::Insertion));
    }),
    ("Flattener::none_is_leaf", |cases| walk(cases, || Flattener::new().none_is_leaf(true))),
    ("Flattener::compact", |cases| walk(cases, || Flattener::new().compact(true))),
    ("Flattener::limits", |cases| {
        walk(cases, || {
            Flattener::new().limits(Limits { max_work: 0, max_depth: 0, ..Limits::default() })
        });
    }),
    ("Flattener::leaves_where", |cases| {
        walk(cases, || Flattener::new().leaves_where(LeafKind::is_float));
    }),
    ("Flattener::mark_static", |cases| {
        walk(cases, || Flattener::new().mark_static("S.a").unwrap());
        let long = || Selector::Type(long().into());
        walk(cases, || Flattener::new().mark_static("S").unwrap().mark_static(long()).unwrap());
        walk(cases, || Flattener::new().mark_static(everything()).unwrap());
        cases.texts(|text| Flattener::new().mark_static(text).map(drop));
    }),
    ("Flattener::mark_opaque", |cases| {
        walk(cases, || Flattener::new().mark_opaque("S.a").unwrap());
        let long = || Selector::Type(long().into());
        walk(cases, || Flattener::new().mark_opaque("S").unwrap().mark_opaque(long()).unwrap());
        walk(cases, || Flattener::new().mark_opaque(everything()).unwrap());
    }),
    ("Flattener::opaque_where", |cases| {
        walk(cases, || Flattener::new().opaque_where(|path, _| !path.is_root()));
        walk(cases, || Flattener::new().opaque_where(|_, node| node.kind.is_variant()));
        walk(cases, || Flattener::new().opaque_where(|_, node| node.name == "S"));
    }),
    ("Flattener::apply_rules", |cases| {
        cases.trees(&Leaf::from(1), |tree| {
            let all = || Flattener::new().arrays(true);
            all().apply_rules(tree.clone())?;
            all().opaque_where(|path, _| path.keys().len() == 2).apply_rules(tree.clone())?;
            all().leaves_where(|_| false).mark_static("S").unwrap().apply_rules(tree.clone())?;
            all().mark_static(everything())?.apply_rules(tree)
        });
    }),
    ("Flattener::unmatched_rules", |cases| {
        let flattener = || {
            Flattener::new().mark_static("S.nothing").unwrap().mark_opaque(everything()).unwrap()
        };
        for value in Wrong::ALL {
            cases.once("a value that lies", || flattener().unmatched_rules(&value));
        }
        cases.trees(&(), |tree| flattener().unmatched_rules(&tree));
    }),
    ("Flattener::serialize_once", |cases| walk(cases, || Flattener::new().serialize_once(true))),
    ("Flattener::ignore_statics", |cases| walk(cases, || Flattener::new().ignore_statics(true))),
    ("Flattener::flatten", |cases| walk(cases, Flattener::default)),
    ("Flattener::flatten_as", |cases| {
        cases.trees(&1.5, |tree| Flattener::new().flatten_as::<f64>(&tree));
        cases.trees(&1.5, |tree| Flattener::new().flatten_as::<u8>(&tree));
    }),
    ("Flattener::structure", |cases| {
        cases.trees(&(), |tree| Flattener::new().structure(&tree));
    }),
    ("Flattener::signature", |cases| {
        cases.trees(&(), |tree| Flattener::new().signature(&tree));
    }),
    ("Flattener::flatten_like", |cases| {
        let flattener = Flattener::new().ignore_statics(true);
        cases.structures(|treedef| {
            flattener.flatten_like(treedef, &vec![(); 10], &mut Vec::<f64>::new())
        });
        cases.tree_pairs(&1.5, &1.5, |a, b| {
            flattener.flatten_like(a.treedef(), &b, &mut Vec::<f64>::new())
        });
    }),
    ("Flattener::array_rule", |cases| {
        walk(cases, || Flattener::new().array_rule(ArrayRule::Ndarray));
        walk(cases, || Flattener::new().array_rule(ArrayRule::Half));
        let all = everything;
        cases.trees(&(), |tree| {
            Flattener::new().array_rule(ArrayRule::Nalgebra(all())).flatten(&tree)
        });
        let arrays = || Flattener::new().arrays(true);
        cases.trees(&0.5, |tree| arrays().array_rule(ArrayRule::Complex(all())).flatten(&tree));
        let matrix = || ArrayRule::Matrix(all(), 2, 2);
        cases.trees(&0.5, |tree| arrays().array_rule(matrix()).flatten(&tree));
    }),
    ("as_static", |cases| {
        cases.trees(&(), |tree| Tree::of(&Static(tree)));
        cases.values(|value| to_json(&Static(value)));
        cases.trees(&(), |tree| Tree::of(&Marked(tree, true)));
        cases.values(|value| Tree::of(&Marked(value, true)));
        cases.once("a value that lies", || Tree::of(&Marked(Wrong::LongSequence, true)));
    }),
    ("as_opaque", |cases| {
        cases.trees(&(), |tree| Tree::of(&Opaque(tree)));
        cases.trees(&(), |tree| Tree::of(&Marked(tree, false)));
        cases.values(|value| Tree::of(&Marked(value, false)));
        cases.once("a value that lies", || Tree::of(&Marked(Wrong::LongMap, false)));
    }),
    // The parts of an error.
    ("Error::kind", |cases| {
        cases.pairs(|a, b| Ok(a.check_equal(b).is_err_and(|error| !error.to_string().is_empty())));
    }),
    ("Error::path", |cases| {
        cases.pairs(|a, b| Ok(a.check_equal(b).is_err_and(|error| error.path().is_root())));
        cases.values(|value| {
            let wrong = TreeDef::leaf();
            let tree = Tree::new(TreeDef::map([(value.clone(), wrong)])?, vec![Leaf::from("a")])?;
            tree.try_map(|_| Err::<(), _>("refused"))
        });
    }),
    ("Error::differences", |cases| {
        cases.pairs(|a, b| Ok(a.check_equal(b).is_err_and(|error| error.differences().len() > 1)));
    }),
];
