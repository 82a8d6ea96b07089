//! Turns what was recorded into trees.

use std::sync::Arc;

use crate::error::Result;
use crate::model::{Name, NodeKind, Tree, Value};
use crate::treedef::encoding::{LabelsRef, NodeDataRef};
use crate::treedef::treedef_builder::TreeDefBuilder;

use super::interner::{Child, Head, InternedNode, Interner};
use super::pool::Pool;
use super::structure::{Collection, Structure, StructureLeaf};

/// The structure with this root, in which these are folded.
pub(super) fn structure(interner: &Interner, root: u32, pools: &[Pool]) -> Result<Structure> {
    let mut view =
        StructureView { interner, builder: TreeDefBuilder::default(), leaves: Vec::new() };
    view.builder.allow(interner.limits);
    view.node(root, pools, 1)?;
    Ok(Tree::from_parts(view.builder.finish()?, view.leaves))
}

struct StructureView<'i> {
    interner: &'i Interner,
    builder: TreeDefBuilder,
    leaves: Vec<StructureLeaf>,
}

impl<'i> StructureView<'i> {
    /// Adds a node. The recursion is as deep as a document that was recorded.
    fn node(&mut self, id: u32, pools: &[Pool], repeat: usize) -> Result<()> {
        let node = self.interner.node(id);
        let first = self.leaves.len();
        match (node.head, pools.first()) {
            (Head::Node { kind, name, variant }, _) => {
                self.compound(node, kind, [name, variant], pools, repeat)?;
            }
            (Head::Scalar(kinds), _) => self.leaf(StructureLeaf::Scalar(kinds), repeat)?,
            (Head::Seq, Some(pool)) => {
                self.leaf(StructureLeaf::Seq(collection(self.interner, pool)?), repeat)?;
            }
            (Head::Map, Some(pool)) => {
                self.leaf(StructureLeaf::Map(collection(self.interner, pool)?), repeat)?;
            }
            (Head::Seq | Head::Map, None) => {}
        }
        let end = self.leaves.len();
        if end > first {
            (1..repeat).for_each(|_| self.leaves.extend_from_within(first..end));
        }
        Ok(())
    }

    fn leaf(&mut self, leaf: StructureLeaf, repeat: usize) -> Result<()> {
        self.leaves.push(leaf);
        self.builder.open_new(NodeKind::Leaf, None, repeat);
        self.builder.close()
    }

    fn compound(
        &mut self,
        node: &'i InternedNode,
        kind: NodeKind,
        [name, variant]: [u32; 2],
        pools: &[Pool],
        repeat: usize,
    ) -> Result<()> {
        let mut rest = pools;
        let with_pools = |child: &'i Child| {
            let (own, others) = rest.split_at(self.interner.node(child.node).pools.min(rest.len()));
            rest = others;
            (child, own)
        };
        let mut children: Vec<(&Child, &[Pool])> = node.children.iter().map(with_pools).collect();
        let label = |child: &Child| self.interner.label(child.label);
        if kind == NodeKind::Map {
            children.sort_by(|(a, _), (b, _)| label(a).cmp(&label(b)));
        }
        let owned = |label| Name::from(self.interner.text(label).to_owned());
        let (mut name, variant) = (owned(name), owned(variant));
        let keys: Vec<Value> =
            children.iter().filter_map(|(child, _)| label(child).cloned()).collect();
        let fields: Vec<Name> = children.iter().map(|(child, _)| owned(child.label)).collect();
        let Head::Node { name: number, .. } = node.head else { return Ok(()) };
        let labels = match (kind, self.interner.label(number)) {
            (NodeKind::Map, _) => LabelsRef::Keys(&keys),
            (NodeKind::Struct | NodeKind::StructVariant, _) => LabelsRef::Fields(&fields),
            (NodeKind::Static, Some(value)) => {
                name = Name::Borrowed("");
                LabelsRef::Static(value)
            }
            _ => LabelsRef::None,
        };
        let has_data = kind.is_named() || matches!(kind, NodeKind::Map | NodeKind::Static);
        let data = NodeDataRef { name: &name, variant: &variant, labels };
        self.builder.open_new(kind, has_data.then_some(data), repeat);
        for (child, pools) in children {
            self.node(child.node, pools, child.repeat)?;
        }
        self.builder.close()
    }
}

fn collection(interner: &Interner, pool: &Pool) -> Result<Arc<Collection>> {
    let of = |(id, pools): (&u32, &Vec<Pool>)| structure(interner, *id, pools);
    let mut elements = pool.elements.iter().map(of).collect::<Result<Vec<_>>>()?;
    elements.sort_by_cached_key(Structure::to_string);
    let Pool { shortest, longest, .. } = *pool;
    Ok(Arc::new(Collection { shortest, longest, elements }))
}
