//! Structures as text.

use treedef::{Error, LeafKind, Limits, Tree, TreeDef};

use super::{Row, debug, print, to_json};

pub(super) const ROWS: &[Row] = &[
    ("Display for TreeDef", |cases| {
        cases.structures(|treedef| Ok(treedef.to_string()));
        cases.structures(print);
        cases.structures(|treedef| Ok(format!("{treedef:#60000}")));
    }),
    ("Debug for TreeDef", |cases| cases.structures(debug)),
    ("FromStr for TreeDef", |cases| {
        cases.texts(str::parse::<TreeDef>);
        cases.structures(|treedef| treedef.to_string().parse::<TreeDef>());
    }),
    ("TreeDef::parse_with", |cases| {
        cases.texts(|text| TreeDef::parse_with(text, Limits::default()));
        cases.texts(|text| {
            TreeDef::parse_with(text, Limits { max_work: 0, max_depth: 0, ..Limits::default() })
        });
    }),
    ("TreeDef::without_lengths", |cases| {
        cases.structures(|treedef| Ok(treedef.without_lengths()?.to_string()));
        cases.structures(|treedef| Ok(format!("{:#}", treedef.without_lengths()?)));
    }),
    ("Tree::without_lengths", |cases| {
        cases.trees(&LeafKind::F64, |tree| Ok(tree.without_lengths()?.to_string()));
    }),
    ("Tree::parse_with", |cases| {
        cases.texts(|text| Tree::<LeafKind>::parse_with(text, Limits::default()));
        cases.texts(|text| {
            Tree::<LeafKind>::parse_with(
                text,
                Limits { max_work: 0, max_depth: 0, ..Limits::default() },
            )
        });
    }),
    ("FromStr for Tree", |cases| cases.texts(str::parse::<Tree<LeafKind>>)),
    #[cfg(feature = "persist")]
    ("Serialize for TreeDef", |cases| {
        cases.structures(to_json);
        let limit = bincode::config::standard();
        cases.structures(|treedef| {
            bincode::serde::encode_to_vec(treedef, limit).map_err(Error::custom)
        });
        cases.structures(treedef::Value::of);
    }),
    #[cfg(feature = "persist")]
    ("Deserialize for TreeDef", |cases| {
        cases.texts(|text| {
            let quoted = serde_json::to_string(text).map_err(Error::custom)?;
            serde_json::from_str::<TreeDef>(&quoted).map_err(Error::custom)
        });
        let limit = bincode::config::standard();
        cases.structures(|treedef| {
            let bytes = bincode::serde::encode_to_vec(treedef, limit).map_err(Error::custom)?;
            let read = bincode::serde::decode_from_slice::<TreeDef, _>(&bytes, limit);
            Ok(read.map_err(Error::custom)?.0)
        });
    }),
];
