//! Trees in which a rule made values static that are leaves of the type.

use serde::{Deserialize, Serialize};
use treedef::{Flattener, LeafKind};

#[test]
fn what_rules_made_static_is_followed_like_leaves() {
    #[derive(Serialize, Deserialize)]
    struct Layer {
        w: f32,
        heads: u32,
        name: Option<String>,
    }
    #[derive(Serialize, Deserialize)]
    enum Mode {
        Slow { retries: u32 },
    }
    #[derive(Serialize)]
    struct Before {
        l: Vec<Layer>,
        mode: Mode,
    }
    #[derive(Serialize, Deserialize)]
    struct After {
        #[serde(alias = "l")]
        body: Vec<Layer>,
        mode: Mode,
        #[serde(default, with = "treedef::as_static")]
        version: u8,
    }
    let layer = |w, heads| Layer { w, heads, name: None };
    let old = Before { l: vec![layer(1.0, 4), layer(2.0, 5)], mode: Mode::Slow { retries: 3 } };
    for none_is_leaf in [false, true] {
        let rules = Flattener::new().leaves_where(LeafKind::is_float).none_is_leaf(none_is_leaf);
        let (value, migration) = rules.tree(&old).unwrap().migrate::<After>().unwrap();
        assert_eq!(value.body[1].heads, 5);
        assert_eq!(migration.to_string(), "filled `.version`; renamed `.l` to `.body`");
    }
}
