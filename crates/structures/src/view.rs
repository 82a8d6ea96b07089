//! Turns records into trees.

use std::sync::Arc;

use treedef::__private::{OrBug, broken};
use treedef::{NodeHead, NodeKind, Result, Tree, TreeDefBuilder};

use crate::interner::{Child, Head, InternedNode, Interner};
use crate::pool::Pool;
use crate::structure::{Collection, Structure, StructureLeaf};

/// The structure with this root, with these folded parts.
pub(crate) fn structure(interner: &Interner, root: u32, pools: &[Pool]) -> Result<Structure> {
    let mut view = StructureView {
        interner,
        builder: TreeDefBuilder::new().limits(interner.limits),
        leaves: Vec::new(),
    };
    view.node(root, pools, 1)?;
    Tree::new(view.builder.finish()?, view.leaves)
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
            (Head::Seq | Head::Map, None) => return Err(broken("a folded node has no pool")),
        }
        let end = self.leaves.len();
        if end > first {
            (1..repeat).for_each(|_| self.leaves.extend_from_within(first..end));
        }
        Ok(())
    }

    fn leaf(&mut self, leaf: StructureLeaf, repeat: usize) -> Result<()> {
        self.leaves.push(leaf);
        self.builder.leaves(repeat)
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
            let own = self.interner.node(child.node).pools;
            let (own, others) = rest.split_at_checked(own).or_bug();
            rest = others;
            (child, own)
        };
        let mut children: Vec<(&Child, &[Pool])> = node.children.iter().map(with_pools).collect();
        debug_assert!(rest.is_empty(), "a pool belongs to no child");
        let label = |child: &Child| self.interner.label(child.label);
        if kind == NodeKind::Map {
            children.sort_by(|(a, _), (b, _)| label(a).cmp(&label(b)));
        }
        if kind == NodeKind::Static {
            let value = self.interner.label(name).ok_or_else(|| broken("a static has no value"))?;
            return self.builder.static_value(value, repeat);
        }
        let [name, variant] = [name, variant].map(|label| self.interner.text(label));
        let head = NodeHead { kind, name, variant };
        self.builder.open(head, repeat)?;
        if kind.is_atom() {
            return Ok(());
        }
        for (child, pools) in children {
            match (kind, label(child)) {
                (NodeKind::Map, Some(key)) => self.builder.key(key.clone())?,
                (NodeKind::Struct | NodeKind::StructVariant, _) => {
                    self.builder.field(self.interner.text(child.label).to_owned())?;
                }
                _ => {}
            }
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
