//! Typed values: into structures and leaves, and out of them.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::ser::{Error as _, SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Deserialize, Serialize, Serializer};
use treedef::{Leaf, Object, Tree, TreeDef};

use super::{Row, print};

/// Values that describe themselves wrongly, or never end.
pub(super) enum Wrong {
    LongSequence,
    LongMap,
    LongStruct,
    Deep,
}

impl Wrong {
    pub(super) const ALL: [Wrong; 4] =
        [Wrong::LongSequence, Wrong::LongMap, Wrong::LongStruct, Wrong::Deep];
}

impl Serialize for Wrong {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Wrong::LongSequence => {
                let mut elements = serializer.serialize_seq(Some(usize::MAX))?;
                elements.serialize_element(&())?;
                elements.serialize_element(&1.5)?;
                elements.end()
            }
            Wrong::LongMap => {
                let mut entries = serializer.serialize_map(Some(usize::MAX))?;
                entries.serialize_entry(&0, &1.5)?;
                entries.end()
            }
            Wrong::LongStruct => {
                let mut fields = serializer.serialize_struct("S", usize::MAX)?;
                fields.serialize_field("a", &1.5)?;
                fields.end()
            }
            Wrong::Deep => serializer.serialize_some(&Wrong::Deep),
        }
    }
}

/// Gives nothing of itself but an error.
struct Refusing;

impl Serialize for Refusing {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("refused"))
    }
}

/// Many elements without a leaf.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Columns {
    a: Vec<()>,
    b: Option<f64>,
    c: BTreeMap<String, Vec<Option<()>>>,
}

/// Leaves for a structure that has few.
fn leaves(treedef: &TreeDef) -> treedef::Result<Vec<f64>> {
    match treedef.num_leaves() {
        few @ ..=crate::structures::MANY => Ok(vec![1.5; few]),
        _ => Err(treedef::Error::custom("too many leaves")),
    }
}

pub(super) const ROWS: &[Row] = &[
    ("flatten", |cases| {
        for value in Wrong::ALL {
            cases.once("a value that lies", || treedef::flatten(&value));
        }
        cases.once("a value that refuses", || treedef::flatten(&Refusing));
        cases.trees(&(), |tree| treedef::flatten(&tree));
        cases.values(treedef::flatten);
    }),
    ("flatten_as", |cases| {
        for value in Wrong::ALL {
            cases.once("a value that lies", || treedef::flatten_as::<f64>(&value));
        }
        cases.trees(&1.5, |tree| treedef::flatten_as::<f64>(&tree));
    }),
    ("flatten_objects", |cases| {
        for value in Wrong::ALL {
            cases.once("a value that lies", || treedef::flatten_objects::<f64>(&value));
        }
        cases.once("a value that refuses", || treedef::flatten_objects::<f64>(&Refusing));
        cases.trees(&(), |tree| treedef::flatten_objects::<f64>(&tree));
    }),
    ("Tree::of_objects", |cases| {
        cases.once("objects", || Tree::<f64>::of_objects(&vec![Object(1.5); 1_000]));
        cases.once("other objects", || Tree::<f64>::of_objects(&vec![Object(1); 1_000]));
    }),
    ("unflatten_objects", |cases| {
        cases.structures(|treedef| {
            treedef::unflatten_objects::<IgnoredAny, _>(treedef, leaves(treedef)?)
        });
        cases.structures(|treedef| {
            treedef::unflatten_objects::<Vec<Object<f64>>, _>(treedef, leaves(treedef)?)
        });
        cases.structures(|treedef| {
            treedef::unflatten_objects::<serde_json::Value, _>(treedef, leaves(treedef)?)
        });
        cases.structures(|treedef| {
            treedef::unflatten_objects::<Vec<()>, _>(treedef, Vec::<u8>::new())
        });
    }),
    ("Tree::into_objects", |cases| {
        cases.trees(&1.5, |tree| tree.into_objects::<Vec<Object<f64>>>());
        cases.trees(&1.5, |tree| tree.into_objects::<BTreeMap<String, Vec<Object<f64>>>>());
    }),
    ("structure", |cases| {
        for value in Wrong::ALL {
            cases.once("a value that lies", || treedef::structure(&value));
        }
        cases.trees(&(), |tree| treedef::structure(&tree));
    }),
    ("signature", |cases| {
        for value in Wrong::ALL {
            cases.once("a value that lies", || treedef::signature(&value));
        }
        cases.trees(&(), |tree| treedef::signature(&tree));
    }),
    ("Tree::of", |cases| {
        for value in Wrong::ALL {
            cases.once("a value that lies", || Tree::of(&value));
        }
        cases.trees(&(), |tree| Tree::of(&tree));
    }),
    ("TreeDef::flatten_like", |cases| {
        cases.structures(|treedef| treedef.flatten_like(&vec![(); 10], &mut Vec::<f64>::new()));
        cases.structures(|treedef| {
            treedef.flatten_like(&Wrong::LongSequence, &mut Vec::<Leaf>::new())
        });
        cases.structures(|treedef| treedef.flatten_like(&Wrong::Deep, &mut Vec::<Leaf>::new()));
        cases.tree_pairs(&1.5, &1.5, |a, b| a.treedef().flatten_like(&b, &mut Vec::<f64>::new()));
    }),
    ("unflatten", |cases| {
        cases.structures(|treedef| treedef::unflatten::<IgnoredAny>(treedef, leaves(treedef)?));
        cases.structures(|treedef| treedef::unflatten::<Vec<()>>(treedef, leaves(treedef)?));
        cases.structures(|treedef| treedef::unflatten::<Vec<Vec<()>>>(treedef, leaves(treedef)?));
        cases.structures(|treedef| treedef::unflatten::<Columns>(treedef, leaves(treedef)?));
        cases.structures(|treedef| {
            treedef::unflatten::<serde_json::Value>(treedef, leaves(treedef)?)
        });
        cases.structures(|treedef| {
            treedef::unflatten::<BTreeMap<String, IgnoredAny>>(treedef, leaves(treedef)?)
        });
        cases.structures(|treedef| treedef::unflatten::<Vec<()>>(treedef, Vec::<u8>::new()));
    }),
    ("unflatten_borrowed", |cases| {
        cases.structures(|treedef| {
            let leaves: Vec<Leaf> = leaves(treedef)?.into_iter().map(Leaf::F64).collect();
            treedef::unflatten_borrowed::<IgnoredAny>(treedef, &leaves)
        });
        cases.structures(|treedef| treedef::unflatten_borrowed::<Vec<()>>(treedef, &[]));
    }),
    ("unflatten_strict", |cases| {
        cases.structures(|treedef| treedef::unflatten_strict::<Columns>(treedef, leaves(treedef)?));
        cases.structures(|treedef| {
            treedef::unflatten_strict::<serde_json::Value>(treedef, leaves(treedef)?)
        });
        cases.structures(|treedef| treedef::unflatten_strict::<Vec<()>>(treedef, Vec::<u8>::new()));
    }),
    #[cfg(feature = "in_place")]
    ("unflatten_into", |cases| {
        cases.structures(|treedef| {
            treedef::unflatten_into(&mut Columns::default(), treedef, leaves(treedef)?)
        });
        cases.structures(|treedef| {
            treedef::unflatten_into(&mut Vec::<()>::new(), treedef, leaves(treedef)?)
        });
    }),
    ("Tree::into_typed", |cases| {
        cases.trees(&1.5, |tree| tree.into_typed::<IgnoredAny>());
        cases.trees(&1.5, |tree| tree.into_typed::<Vec<()>>());
        cases.values(|value| Tree::leaf(Leaf::from(value.clone())).into_typed::<Vec<()>>());
        cases.values(|value| Tree::leaf(Leaf::from(value.clone())).into_typed::<IgnoredAny>());
    }),
    ("Tree::migrate", |cases| {
        cases.trees(&1.5, |tree| tree.migrate::<Columns>());
        cases.trees(&1.5, |tree| tree.migrate::<Vec<()>>());
        cases.trees(&1.5, |tree| tree.migrate::<serde_json::Value>());
    }),
    ("Migration::is_empty", |cases| {
        cases.trees(&1.5, |tree| Ok(tree.migrate::<Columns>()?.1.is_empty()));
    }),
    ("Display for Migration", |cases| {
        cases.trees(&1.5, |tree| print(&tree.migrate::<Columns>()?.1));
        cases.trees(&1.5, |tree| print(&tree.migrate::<serde_json::Value>()?.1));
        cases.trees(&1.5, |tree| Ok(format!("{:#}", tree.migrate::<Columns>()?.1)));
    }),
    ("map", |cases| {
        cases.once("units", || treedef::map(&vec![(); 1_000], |leaf: Leaf| leaf));
        cases.once("units", || treedef::map(&vec![(); 1_000], |leaf: f64| leaf));
    }),
];
