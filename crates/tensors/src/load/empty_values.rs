//! Parts without a tensor, from the structure in the metadata: empty containers, `None` and units.

use treedef::__private::ArrayFields;
use treedef::{Leaf, NodeKind, NodeRef};

use crate::literal::{ABSENT, EMPTY, NO_ELEMENTS, PRESENT, UNIT};
use crate::names::push_parts;

/// The names of the parts without a tensor, with texts that represent them.
pub(crate) struct EmptyValues<'a> {
    pub(crate) separator: &'a str,
    /// Whether a tensor or a text has this name.
    pub(crate) is_there: &'a dyn Fn(&str) -> bool,
    /// Whether an axis of a tensor may replace an index of this name.
    pub(crate) is_stacked: &'a dyn Fn(&str) -> bool,
    /// The number of nodes that may still be visited.
    pub(crate) left: usize,
    pub(crate) parts: Vec<String>,
    pub(crate) found: Vec<(String, String)>,
}

impl EmptyValues<'_> {
    /// Adds the parts at and below a node. `None` if there are too many.
    pub(crate) fn add(&mut self, node: NodeRef<'_>, is_field: bool) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        if node.num_leaves() > 0 && !self.is_known(node) {
            return Some(());
        }
        let found = self.found.len();
        match text(node) {
            // A field that is missing is one of these.
            Some(text) if !is_field || !matches!(&*text, ABSENT | UNIT) => self.push(text),
            Some(_) => {}
            None => self.children(node)?,
        }
        if node.num_leaves() == 0 && self.found.len() == found {
            match node.kind() {
                NodeKind::Struct => self.push(EMPTY.to_owned()),
                NodeKind::TupleVariant | NodeKind::StructVariant => {
                    self.parts.extend(node.variant().map(str::to_owned));
                    self.push(EMPTY.to_owned());
                    self.parts.pop();
                }
                _ => {}
            }
        }
        Some(())
    }

    fn children(&mut self, node: NodeRef<'_>) -> Option<()> {
        let are_fields = matches!(node.kind(), NodeKind::Struct | NodeKind::StructVariant);
        let mut position = 0;
        for (child, repeat) in node.runs() {
            let end = position + repeat; // at most the number of children
            let positions = if has_empty(child) { position..end } else { end..end };
            for key in positions.filter_map(|position| node.key(position)) {
                let length = self.parts.len();
                push_parts(node.kind(), &key, &mut self.parts);
                self.add(child, are_fields)?;
                self.parts.truncate(length);
            }
            position = end;
        }
        Some(())
    }

    fn push(&mut self, text: String) {
        self.found.push((self.parts.join(self.separator), text));
    }

    /// Whether the file has the content of a node under names of the structure, and not as one
    /// tensor.
    fn is_known(&self, mut node: NodeRef<'_>) -> bool {
        let name = self.parts.join(self.separator);
        if ArrayFields::of(node.fields()).is_some() || (self.is_there)(&name) {
            return false;
        }
        let mut parts = self.parts.clone();
        while !node.is_leaf() {
            let mut runs = node.runs();
            let mut position = 0;
            let first = runs.find(|(child, repeat)| {
                let has_leaves = child.num_leaves() > 0;
                position += if has_leaves { 0 } else { *repeat };
                has_leaves
            });
            let found = first.zip(node.key(position));
            debug_assert!(found.is_some(), "no child has the leaves of its node");
            let Some(((child, _), key)) = found else { return false };
            push_parts(node.kind(), &key, &mut parts);
            if (self.is_there)(&parts.join(self.separator)) {
                return true;
            }
            node = child;
        }
        (self.is_stacked)(&parts.join(self.separator))
    }
}

fn has_empty(node: NodeRef<'_>) -> bool {
    !node.is_leaf() && (node.num_leaves() == 0 || node.runs().any(|(child, _)| has_empty(child)))
}

/// The text for a node without children. A variant with fields has a name, and a static has none.
fn text(node: NodeRef<'_>) -> Option<String> {
    if node.num_children() > 0 {
        let is_absent = |child: NodeRef<'_>| child.kind() == NodeKind::None;
        let is_present = node.kind() == NodeKind::Some && node.child(0).is_some_and(is_absent);
        return is_present.then(|| PRESENT.to_owned());
    }
    let text = match node.kind() {
        NodeKind::None => ABSENT,
        NodeKind::Unit | NodeKind::UnitStruct => UNIT,
        NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct => NO_ELEMENTS,
        NodeKind::Map | NodeKind::Struct => EMPTY,
        NodeKind::UnitVariant => return Some(Leaf::from(node.variant()?).to_string()),
        _ => return None,
    };
    Some(text.to_owned())
}
