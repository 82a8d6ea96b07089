//! Trees with leaves left out.

use treedef::Path;

use super::Row;

pub(super) const ROWS: &[Row] = &[
    ("Tree::filter", |cases| {
        cases.trees(&(), |tree| tree.filter(|_: &_, _: &()| true));
        cases.trees(&(), |tree| tree.filter(|_: &_, _: &()| false));
        cases.trees(&1.5, |tree| {
            tree.filter(|path: &Path, _: &_| path.to_string().len().is_multiple_of(2))
        });
    }),
    ("Tree::split", |cases| {
        cases.trees(&(), |tree| tree.split(|_: &_, _: &()| true));
        cases.trees(&1.5, |tree| {
            tree.split(|path: &Path, _: &_| path.to_string().len().is_multiple_of(2))
        });
    }),
    ("Tree::split_into", |cases| {
        for parts in [0, 1, 2, 1 << 40, usize::MAX] {
            cases.trees(&(), |tree| tree.split_into(parts, |_, ()| 0));
            cases.trees(&1.5, |tree| tree.split_into(parts, |_, _| parts.wrapping_sub(1)));
        }
        cases.trees(&1.5, |tree| {
            let mut next = 0;
            tree.split_into(1_000, |_, _| {
                next += 1;
                next % 1_000
            })
        });
    }),
];
