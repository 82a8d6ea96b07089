//! Leaves and subtrees by path and pattern.

use treedef::{Edit, Tree};

use super::Row;

pub(super) const ROWS: &[Row] = &[
    ("Tree::get", |cases| cases.trees_and_paths(&(), |tree, path| tree.get(path).copied())),
    ("Tree::get_mut", |cases| {
        cases.trees_and_paths(&(), |mut tree, path| tree.get_mut(path).copied());
    }),
    ("Tree::subtree", |cases| {
        cases.trees_and_paths(&(), |tree, path| tree.subtree(path));
        cases.trees_and_paths(&1.5, |tree, path| tree.subtree(path));
    }),
    ("Tree::select", |cases| {
        cases.trees_and_patterns(&(), |tree, pattern| Ok(tree.select(pattern)?.take(10).count()));
    }),
    ("Tree::mask", |cases| {
        cases.trees_and_patterns(&1.5, |tree, pattern| tree.mask(pattern));
    }),
    ("Tree::insert", |cases| {
        cases.trees_and_paths(&(), |mut tree, path| tree.insert(path, Tree::leaf(())));
        cases.trees_and_paths(&1.5, |mut tree, path| tree.insert(path, tree.clone()));
    }),
    ("Tree::set_text", |cases| {
        let leaf = treedef::Leaf::from(1.5);
        cases.trees_and_paths(&leaf, |mut tree, path| tree.set_text(path, "2.5"));
    }),
    ("Tree::select_mut", |cases| {
        cases.trees_and_patterns(&(), |mut tree, pattern| {
            Ok(tree.select_mut(pattern)?.take(10).count())
        });
    }),
    ("Tree::replace", |cases| {
        cases.trees_and_paths(&(), |mut tree, path| tree.replace(path, Tree::leaf(())));
        cases.trees_and_paths(&(), |mut tree, path| tree.replace(path, tree.clone()));
        cases.trees_and_paths(&1.5, |mut tree, path| tree.replace(path, tree.clone()));
    }),
    ("Tree::remove", |cases| {
        cases.trees_and_paths(&(), |mut tree, path| tree.remove(path));
        cases.trees_and_paths(&1.5, |mut tree, path| tree.remove(path));
    }),
    ("Tree::edit_at", |cases| {
        cases.trees_and_patterns(&(), |mut tree, pattern| {
            tree.edit_at(pattern, |_, _, _| Ok(Edit::Remove))
        });
        cases.trees_and_patterns(&1.5, |mut tree, pattern| {
            tree.edit_at(pattern, |_, _, _| Ok(Edit::Remove))
        });
        cases.trees_and_patterns(&(), |mut tree, pattern| {
            tree.edit_at(pattern, |_, _, _| Ok(Edit::Replace(Tree::leaf(()))))
        });
        cases.trees_and_patterns(&1.5, |mut tree, pattern| {
            let other = tree.clone();
            tree.edit_at(pattern, |_, _, _| Ok(Edit::Replace(other.clone())))
        });
        cases.trees_and_patterns(&1.5, |mut tree, pattern| {
            tree.edit_at(pattern, |_, _, _| Ok(Edit::Keep))
        });
    }),
    ("Tree::edit", |cases| {
        cases.trees(&(), |tree| tree.edit(|_, _, _| Ok(Edit::Keep)));
        cases.trees(&(), |tree| {
            let other = tree.clone();
            tree.edit(|_, node, _| match node.num_children() {
                0 => Ok(Edit::Replace(other.clone())),
                _ => Ok(Edit::Keep),
            })
        });
        cases.trees(&1.5, |tree| {
            tree.edit(|path, _, _| Ok(if path.is_root() { Edit::Keep } else { Edit::Remove }))
        });
    }),
    ("Tree::edit_up", |cases| {
        cases.trees(&(), |tree| tree.edit_up(|_, _| Ok(Edit::Keep)));
        cases.trees(&1.5, |tree| {
            tree.edit_up(|path, _| Ok(if path.is_root() { Edit::Keep } else { Edit::Remove }))
        });
    }),
];
