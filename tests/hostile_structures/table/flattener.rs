//! The options of a walk, and the marks.

use treedef::{
    Flattener, Leaf, LeafKind, Limits, MapOrder, Opaque, Pattern, Result, Static, Tree, TreeDef,
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
    ("Flattener::human_readable", |cases| walk(cases, || Flattener::new().human_readable(false))),
    ("Flattener::limits", |cases| {
        walk(cases, || Flattener::new().limits(Limits::default().max_work(0).max_depth(0)));
    }),
    ("Flattener::max_depth", |cases| walk(cases, || Flattener::new().max_depth(0))),
    ("Flattener::leaves_where", |cases| {
        walk(cases, || Flattener::new().leaves_where(LeafKind::is_float));
    }),
    ("Flattener::static_field", |cases| {
        walk(cases, || Flattener::new().static_field("S", "a"));
    }),
    ("Flattener::static_type", |cases| {
        walk(cases, || Flattener::new().static_type("S").static_type(&long()));
    }),
    ("Flattener::static_at", |cases| {
        walk(cases, || Flattener::new().static_at(everything()).unwrap())
    }),
    ("Flattener::opaque_field", |cases| walk(cases, || Flattener::new().opaque_field("S", "a"))),
    ("Flattener::opaque_type", |cases| {
        walk(cases, || Flattener::new().opaque_type("S").opaque_type(&long()));
    }),
    ("Flattener::opaque_at", |cases| {
        walk(cases, || Flattener::new().opaque_at(everything()).unwrap())
    }),
    ("Flattener::is_leaf", |cases| {
        walk(cases, || Flattener::new().is_leaf(|path, _| !path.is_root()));
    }),
    ("NodeHead::kind", |cases| {
        walk(cases, || Flattener::new().is_leaf(|_, node| node.kind().is_variant()));
    }),
    ("NodeHead::name", |cases| {
        walk(cases, || Flattener::new().is_leaf(|_, node| node.name() == Some("S")));
    }),
    ("NodeHead::variant", |cases| {
        walk(cases, || Flattener::new().is_leaf(|_, node| node.variant().is_some()));
    }),
    ("Flattener::apply_rules", |cases| {
        cases.trees(&Leaf::from(1), |tree| {
            let all = || Flattener::new().arrays(true);
            all().apply_rules(tree.clone())?;
            all().is_leaf(|path, _| path.keys().len() == 2).apply_rules(tree.clone())?;
            all().leaves_where(|_| false).static_type("S").apply_rules(tree.clone())?;
            all().static_at(everything())?.apply_rules(tree)
        });
    }),
    ("Flattener::unmatched_rules", |cases| {
        let flattener =
            || Flattener::new().static_field("S", "nothing").opaque_at(everything()).unwrap();
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
    ("Flattener::with_ndarray_rules", |cases| {
        walk(cases, || Flattener::new().with_ndarray_rules());
    }),
    ("Flattener::with_half_rules", |cases| walk(cases, || Flattener::new().with_half_rules())),
    ("Flattener::with_nalgebra_rules_at", |cases| {
        cases.texts(|text| Flattener::new().with_nalgebra_rules_at(text).map(drop));
        cases.trees(&(), |tree| Flattener::new().with_nalgebra_rules_at("**")?.flatten(&tree));
    }),
    ("Flattener::with_complex_rules_at", |cases| {
        let flattener = || Flattener::new().arrays(true);
        cases.texts(|text| flattener().with_complex_rules_at(text).map(drop));
        cases.trees(&0.5, |tree| flattener().with_complex_rules_at("**")?.flatten(&tree));
    }),
    ("Flattener::with_matrix_rules_at", |cases| {
        let flattener = || Flattener::new().arrays(true);
        cases.texts(|text| flattener().with_matrix_rules_at(text, 2, 2).map(drop));
        cases.trees(&0.5, |tree| flattener().with_matrix_rules_at("**", 2, 2)?.flatten(&tree));
    }),
    ("as_static", |cases| {
        cases.trees(&(), |tree| Tree::of(&Marked(tree, true)));
        cases.values(|value| Tree::of(&Marked(value, true)));
        cases.once("a value that lies", || Tree::of(&Marked(Wrong::LongSequence, true)));
    }),
    ("as_opaque", |cases| {
        cases.trees(&(), |tree| Tree::of(&Marked(tree, false)));
        cases.values(|value| Tree::of(&Marked(value, false)));
        cases.once("a value that lies", || Tree::of(&Marked(Wrong::LongMap, false)));
    }),
    // Those of `Static` and of `Opaque`, which a macro makes.
    ("$type::into_inner", |cases| {
        cases.trees(&(), |tree| Tree::of(&Static(tree)));
        cases.trees(&(), |tree| Ok(Opaque(tree).into_inner()));
        cases.values(|value| to_json(&Static(value)));
    }),
    // What is found out about an error.
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
