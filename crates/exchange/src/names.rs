//! Paths as the parts of names.

use treedef::{Children, Key, NodeKind, NodeRef, Path, Pattern, TreeDef};

/// Turns paths into names, in the order of the structure.
pub(crate) struct NamePrinter<'a> {
    root: NodeRef<'a>,
    path: Path,
    /// For each key of `path`: the node that has it, its children that come later, the position of
    /// the first of these, and the child.
    levels: Vec<(NodeRef<'a>, Children<'a>, usize, NodeRef<'a>)>,
}

pub(crate) struct Name {
    /// What is joined to a name.
    pub(crate) parts: Vec<String>,
    /// The path without the indices in stacked sequences.
    pub(crate) key: Path,
    /// These indices, and the lengths of the sequences.
    pub(crate) indices: Vec<usize>,
    pub(crate) dims: Vec<usize>,
}

impl<'a> NamePrinter<'a> {
    pub(crate) fn new(treedef: &'a TreeDef) -> Self {
        NamePrinter { root: treedef.root(), path: Path::root(), levels: Vec::new() }
    }

    /// The name of a path. Its indices in sequences at `stacks` are apart.
    pub(crate) fn name(&mut self, path: &Path, stacks: &[Pattern]) -> Name {
        self.go_to(path);
        let mut name = Name { parts: vec![], key: Path::root(), indices: vec![], dims: vec![] };
        let mut above = Path::root();
        for (key, (node, ..)) in path.keys().iter().zip(&self.levels) {
            let index = match key {
                Key::Index(index) | Key::Position(index)
                    if node.kind() != NodeKind::NewtypeStruct =>
                {
                    Some(*index).filter(|_| stacks.iter().any(|stack| stack.matches(&above)))
                }
                _ => None,
            };
            match index {
                Some(index) => {
                    name.indices.push(index);
                    name.dims.push(node.num_children());
                }
                None => {
                    push_parts(node.kind(), key, &mut name.parts);
                    name.key.push(key.clone());
                }
            }
            if !stacks.is_empty() {
                above.push(key.clone());
            }
        }
        name
    }

    /// Opens the nodes on a path. What it has in common with the last one stays open.
    fn go_to(&mut self, path: &Path) {
        let same = self.path.keys().iter().zip(path.keys()).take_while(|(a, b)| a == b).count();
        self.levels.truncate(same + 1);
        for (depth, key) in path.keys().iter().enumerate().skip(same) {
            let kept = self.levels.len() > depth;
            if !kept {
                let node = self.levels.last().map_or(self.root, |(.., child)| *child);
                self.levels.push((node, node.children(), 0, node));
            }
            let Some((node, children, next, child)) = self.levels.last_mut() else { return };
            let Some(position) = node.position(key) else { return }; // paths are of this structure
            if position < *next {
                (*children, *next) = (node.children(), 0);
            }
            if let Some(found) = children.nth(position - *next) {
                (*child, *next) = (found, position + 1);
            }
        }
        self.path = path.clone();
    }
}

fn push_parts(kind: NodeKind, key: &Key, parts: &mut Vec<String>) {
    match key {
        Key::Some => {}
        Key::Position(_) if kind == NodeKind::NewtypeStruct => {}
        Key::VariantPosition(variant, _) if kind == NodeKind::NewtypeVariant => {
            parts.push(variant.to_string());
        }
        Key::VariantPosition(variant, position) => {
            parts.extend([variant.to_string(), position.to_string()]);
        }
        Key::VariantField(variant, field) => parts.extend([variant.to_string(), field.to_string()]),
        // Without a separator, nothing is escaped.
        key => parts.push(Path::from(vec![key.clone()]).to_joined_string("")),
    }
}
