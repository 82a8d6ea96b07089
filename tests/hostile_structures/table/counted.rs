//! Counting structures.

use serde::de::DeserializeSeed;
use treedef::{Error, Leaf, Limits, Result, Tree};
use treedef_structures::Structures;

use super::{Row, debug, print, to_json};
use crate::cases::Cases;

/// With all that can be folded, and with nothing.
fn empty() -> [Structures; 3] {
    let folded = Structures::new().fold_lengths(true).fold_numbers(true);
    [Structures::new(), folded.clone(), folded.fold_keys(1)]
}

/// Those that a tree can be counted in.
fn counted(cases: &mut Cases, run: impl Fn(Structures) -> Result<()>) {
    cases.trees(&Leaf::U8(1), |tree| {
        empty().into_iter().try_for_each(|mut structures| {
            structures.add(&tree)?;
            structures.add(&tree)?;
            run(structures)
        })
    });
    cases.values(|value| {
        empty().into_iter().try_for_each(|mut structures| {
            structures.add(&Tree::of(value)?)?;
            run(structures)
        })
    });
}

pub(super) const ROWS: &[Row] = &[
    ("Structures::add", |cases| counted(cases, |_| Ok(()))),
    ("Structures::by_count", |cases| counted(cases, |it| it.by_count().map(drop))),
    ("Structures::settle", |cases| counted(cases, |mut it| it.settle())),
    ("Structures::fold_lengths", |cases| {
        counted(cases, |it| it.fold_lengths(true).by_count().map(drop));
    }),
    ("Structures::fold_keys", |cases| {
        counted(cases, |it| it.fold_keys(0).by_count().map(drop));
    }),
    ("Structures::fold_widths", |cases| {
        counted(cases, |it| it.fold_widths(true).by_count().map(drop));
    }),
    ("Structures::fold_numbers", |cases| {
        counted(cases, |it| it.fold_numbers(true).by_count().map(drop));
    }),
    ("Structures::limits", |cases| {
        counted(cases, |it| {
            it.limits(Limits { max_nodes: 1, ..Limits::default() }).by_count().map(drop)
        });
    }),
    ("Structures::shift", |cases| {
        counted(cases, |mut it| {
            it.shift(u64::MAX);
            it.by_count().map(drop)
        });
    }),
    ("Structures::merge", |cases| {
        counted(cases, |mut it| {
            let other = it.clone();
            it.merge(&other)?;
            it.by_count().map(drop)
        });
    }),
    ("Structures::to_json_schema", |cases| counted(cases, |it| it.to_json_schema().map(drop))),
    ("Structures::seed", |cases| {
        cases.texts(|text| {
            empty().into_iter().try_for_each(|mut structures| {
                let json = &mut serde_json::Deserializer::from_str(text);
                structures.seed().deserialize(json).map(drop).map_err(Error::custom)
            })
        });
    }),
    ("StructureCount::diff", |cases| {
        counted(cases, |mut it| {
            it.add(&Tree::of(&((), vec![1, 2]))?)?;
            it.by_count()?.iter().for_each(|it| drop(it.diff()));
            Ok(())
        });
    }),
    ("Display for StructureLeaf", |cases| {
        counted(cases, |it| {
            let all = it.by_count()?;
            all.iter().flat_map(|it| it.structure.leaves()).try_for_each(|it| print(it).map(drop))
        });
    }),
    ("Debug for Structures", |cases| counted(cases, |it| debug(&it).map(drop))),
    ("PartialEq for Structures", |cases| {
        counted(cases, |it| {
            if it == it.clone() || it.by_count().is_err() {
                Ok(())
            } else {
                Err(Error::custom("differs from itself"))
            }
        });
    }),
    ("Serialize for Structures", |cases| counted(cases, |it| to_json(&it))),
    ("Deserialize for Structures", |cases| {
        cases.texts(|text| serde_json::from_str::<Structures>(text).map_err(Error::custom));
        counted(cases, |it| {
            let text = serde_json::to_string(&it).map_err(Error::custom)?;
            serde_json::from_str::<Structures>(&text).map(drop).map_err(Error::custom)
        });
    }),
];
