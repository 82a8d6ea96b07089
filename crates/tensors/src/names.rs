//! Paths as the parts of names.

use treedef::{Children, Key, NodeKind, NodeRef, Path, Pattern, TreeDef};
use treedef_pytrees::__private::key_text;

use crate::error::Result;

/// A pattern for stacked elements.
#[derive(Clone, Debug)]
pub(crate) struct StackPattern {
    pub(crate) pattern: Pattern,
    /// For each `[*]` the pattern before it, which names the sequence, and the pattern from there
    /// on. Without one, the pattern names the sequence.
    ends: Vec<(Pattern, Pattern)>,
}

impl StackPattern {
    pub(crate) fn new(pattern: Pattern) -> Result<Self> {
        let text = pattern.to_string();
        let ends = text.match_indices("[*]").filter_map(|(at, _)| {
            let (above, below) = text.split_at_checked(at)?;
            Some((above.parse().ok()?, below.parse().ok()?)) // the half of a text in quotes is none
        });
        let mut ends: Vec<(Pattern, Pattern)> = ends.collect();
        if ends.is_empty() {
            ends.push((pattern.clone(), "".parse()?));
        }
        Ok(StackPattern { pattern, ends })
    }

    /// Whether the pattern matches something, or would if a sequence had elements.
    pub(crate) fn is_in(&self, treedef: &TreeDef) -> bool {
        let is_sequence =
            |path: &Path| self.ends.iter().any(|(sequence, _)| sequence.matches(path));
        treedef.nodes().any(|(path, node)| {
            self.pattern.covers(&path) || node.num_leaves() == 0 && is_sequence(&path)
        })
    }

    /// Whether the element that this key names is stacked.
    fn has(&self, path: &[Key], key: usize) -> bool {
        let Some((above, below)) = path.split_at_checked(key) else { return false };
        let above = Path::from(above.to_vec());
        let mut ends = self.ends.iter().filter(|(sequence, _)| sequence.matches(&above));
        ends.any(|(_, rest)| rest.covers(&Path::from(below.to_vec())))
    }
}

/// Turns paths into names, in the order of the structure.
pub(crate) struct NamePrinter<'a> {
    root: NodeRef<'a>,
    path: Path,
    /// For each key of `path`: the node that has it, its children that come later, the position of
    /// the first of these, and the child.
    levels: Vec<(NodeRef<'a>, Children<'a>, usize, NodeRef<'a>)>,
}

#[derive(Default)]
pub(crate) struct TensorName {
    /// The separator of the parts of a name.
    pub(crate) parts: Vec<String>,
    /// The path without the indices in stacked sequences.
    pub(crate) key: Path,
    /// The indices in stacked sequences, and the lengths of these.
    pub(crate) indices: Vec<usize>,
    pub(crate) dims: Vec<usize>,
    /// The patterns that stack these.
    pub(crate) stacked_by: Vec<usize>,
    /// The rules of `Export::rename` that changed the name.
    pub(crate) renamed_by: Vec<usize>,
}

impl<'a> NamePrinter<'a> {
    pub(crate) fn new(treedef: &'a TreeDef) -> Self {
        NamePrinter { root: treedef.root(), path: Path::root(), levels: Vec::new() }
    }

    /// The name of a path, and separately its indices in stacked sequences.
    pub(crate) fn name(&mut self, path: &Path, stacks: &[StackPattern]) -> TensorName {
        self.go_to(path);
        let nodes = path.keys().iter().zip(&self.levels).map(|(key, (node, ..))| (key, *node));
        let mut name = TensorName::default();
        for (depth, (key, node)) in nodes.enumerate() {
            let has = |stack: &StackPattern| stack.has(path.keys(), depth);
            let index = element(key, node);
            let stacks =
                stacks.iter().enumerate().filter(|(_, stack)| index.is_some() && has(stack));
            let by = name.stacked_by.len();
            name.stacked_by.extend(stacks.map(|(stack, _)| stack));
            match index.filter(|_| name.stacked_by.len() > by) {
                Some(index) => {
                    name.indices.push(index);
                    name.dims.push(node.num_children());
                }
                None => {
                    push_parts(node.kind(), key, &mut name.parts);
                    name.key.push(key.clone());
                }
            }
        }
        name
    }

    /// Opens the nodes on a path. Nodes that it shares with the last path stay open.
    fn go_to(&mut self, path: &Path) {
        let same = self.path.keys().iter().zip(path.keys()).take_while(|(a, b)| a == b).count();
        self.levels.truncate(same + 1);
        for (depth, key) in path.keys().iter().enumerate().skip(same) {
            let kept = self.levels.len() > depth;
            if !kept {
                let node = self.levels.last().map_or(self.root, |(.., child)| *child);
                self.levels.push((node, node.children(), 0, node));
            }
            let level = self.levels.last_mut();
            let found = level.and_then(|level| Some((level.0.position(key)?, level)));
            debug_assert!(found.is_some(), "a path of another structure");
            let Some((position, (node, children, next, child))) = found else { return };
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

/// The names that the leaves of a structure have by default, joined by `.`.
pub fn leaf_names(treedef: &TreeDef) -> impl Iterator<Item = String> {
    let mut printer = NamePrinter::new(treedef);
    treedef.leaf_paths().map(move |path| printer.name(&path, &[]).parts.join("."))
}

/// The index of an element of a sequence or a tuple.
fn element(key: &Key, node: NodeRef<'_>) -> Option<usize> {
    match key {
        Key::Index(index) | Key::Position(index) if node.kind() != NodeKind::NewtypeStruct => {
            Some(*index)
        }
        _ => None,
    }
}

/// Appends the parts of a name for a key of a node of this kind.
pub(crate) fn push_parts(kind: NodeKind, key: &Key, parts: &mut Vec<String>) {
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
        Key::Entry(key) => parts.push(key_text(key)),
        // Without a separator, nothing is escaped.
        key => parts.push(Path::from(vec![key.clone()]).to_joined_string("")),
    }
}
