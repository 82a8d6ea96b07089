//! Records the structure of one document: its nodes, and the content of its folded parts.

use std::fmt;

use treedef::__private::{OrBug, broken, deepest, entry, later, too_deep, under};
use treedef::{Error, Key, LeafKind, Limits, NodeKind, NodeRef, Path, Result, TreeDef};

use crate::interner::{Child, Head, Interner, NO_ID};
use crate::places::{PlaceStep, Places};
use crate::pool::{Pool, join};
use crate::structure::{Collection, Kinds, StructureLeaf};

/// The folding options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Folds {
    pub(crate) lengths: bool,
    pub(crate) keys: Option<usize>,
    pub(crate) widths: bool,
    pub(crate) numbers: bool,
}

impl fmt::Display for Folds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys.map(|keys| format!("more than {keys} keys"));
        let of = |yes: bool, what: &str| yes.then(|| what.to_owned());
        let (widths, numbers) = (of(self.widths, "widths"), of(self.numbers, "numbers"));
        let all = [of(self.lengths, "lengths"), keys, widths, numbers];
        let all: Vec<String> = all.into_iter().flatten().collect();
        if all.is_empty() {
            f.write_str("nothing folded")
        } else {
            write!(f, "{} folded", all.join(", "))
        }
    }
}

impl Folds {
    fn kinds(self, kinds: Kinds) -> Kinds {
        let (is_integer, is_number) = match kinds {
            Kinds::One(kind) => (kind.is_integer(), kind.is_number()),
            Kinds::Integers => (true, true),
            Kinds::Floats => (false, true),
            Kinds::Numbers => return kinds,
        };
        match is_number {
            true if self.numbers => Kinds::Numbers,
            true if self.widths && is_integer => Kinds::Integers,
            true if self.widths => Kinds::Floats,
            _ => kinds,
        }
    }
}

/// How a reader got to a value: for the path in an error.
#[derive(Clone, Copy)]
pub(crate) enum ValueStep {
    Root,
    Key(u32),
    /// A key that nobody needs.
    AnyKey,
    Index(u64),
    Some,
}

/// A node is recorded after its children, whose numbers are then on top of `open`. The pools inside
/// of it are on top of `pools`, in the order of its children.
#[derive(Clone)]
pub(crate) struct StructureRecorder {
    pub(crate) folds: Folds,
    pub(crate) interner: Interner,
    pub(crate) places: Places,
    pub(crate) open: Vec<Child>,
    pub(crate) pools: Vec<Pool>,
    /// For a document that is read: how each open compound was reached.
    pub(crate) way: Vec<ValueStep>,
    /// The number of open compounds of a tree.
    depth: usize,
    /// The number of each node that has no children and no name, if there was one.
    atoms: [u32; 32],
}

impl StructureRecorder {
    pub(crate) fn new(folds: Folds) -> Self {
        let places = Places::new(folds.keys.unwrap_or(usize::MAX));
        StructureRecorder {
            folds,
            interner: Interner::default(),
            places,
            open: Vec::new(),
            pools: Vec::new(),
            way: Vec::new(),
            depth: 0,
            atoms: [NO_ID; 32],
        }
    }

    /// Changes the folding options. Earlier records are folded later.
    pub(crate) fn refold(&mut self) {
        self.places.most_keys = self.folds.keys.unwrap_or(usize::MAX);
        self.places.changed = true;
        self.atoms = [NO_ID; 32];
    }

    pub(crate) fn limit(&mut self, limits: Limits) {
        (self.interner.limits, self.places.limits) = (limits, limits);
    }

    /// Forgets everything but the places.
    pub(crate) fn forget_nodes(&mut self) {
        self.interner.forget_nodes();
        (self.atoms, self.places.changed) = ([NO_ID; 32], false);
    }

    /// Forgets the remains of an earlier document that could not be read to its end.
    pub(crate) fn begin(&mut self) {
        self.places.undo();
        self.open.clear();
        self.pools.clear();
    }

    /// The approximate size in memory, including garbage.
    pub(crate) fn size(&self) -> usize {
        self.interner.cost.saturating_add(self.places.len())
    }

    pub(crate) fn is_half_full(&self) -> bool {
        self.interner.cost > self.interner.limits.max_nodes / 2
    }

    pub(crate) fn expect_depth(&self, depth: usize) -> Result<()> {
        let deepest = deepest(self.interner.limits).min(DEEPEST_STRUCTURE);
        if depth <= deepest { Ok(()) } else { Err(too_deep(deepest)) }
    }

    /// The path of the innermost open compound of a document, or of one around it if a key is
    /// unknown.
    #[cold]
    pub(crate) fn path(&self) -> Path {
        let key = |by: &ValueStep| match by {
            ValueStep::Root | ValueStep::AnyKey => None,
            ValueStep::Key(label) => self.interner.label(*label).cloned().map(Key::Entry),
            ValueStep::Index(index) => usize::try_from(*index).ok().map(Key::Index),
            ValueStep::Some => Some(Key::Some),
        };
        self.way.iter().skip(1).map_while(key).collect()
    }

    #[inline]
    pub(crate) fn kind(&mut self, kind: LeafKind) -> Result<u32> {
        self.atom(kind as usize, |folds| Head::Scalar(folds.kinds(Kinds::One(kind))))
    }

    pub(crate) fn unit(&mut self) -> Result<u32> {
        self.atom(28, |_| Head::of(NodeKind::Unit))
    }

    pub(crate) fn none(&mut self) -> Result<u32> {
        self.atom(29, |_| Head::of(NodeKind::None))
    }

    /// A node without children, which is looked up once.
    #[inline]
    fn atom(&mut self, slot: usize, head: impl FnOnce(Folds) -> Head) -> Result<u32> {
        match self.atoms.get(slot) {
            Some(known) if *known != NO_ID => Ok(*known),
            _ => self.new_atom(slot, head(self.folds)),
        }
    }

    #[cold]
    fn new_atom(&mut self, slot: usize, head: Head) -> Result<u32> {
        let node = self.interner.intern(head, &[])?;
        if let Some(known) = self.atoms.get_mut(slot) {
            *known = node;
        }
        Ok(node)
    }

    /// Adds a child to the innermost compound.
    #[inline]
    pub(crate) fn child(&mut self, label: u32, node: u32) {
        self.open.push(Child { label, node, repeat: 1 });
    }

    /// Adds elements to the innermost sequence, whose children are those from index `first` on. The
    /// pools of an element are those from index `pools` on.
    pub(crate) fn element(&mut self, first: usize, pools: usize, node: u32, repeat: usize) {
        match self.open.get_mut(first..).and_then(<[Child]>::last_mut) {
            Some(last) if last.node == node => {
                last.repeat = last.repeat.saturating_add(repeat);
                let these: Vec<Pool> = self.pools.drain(pools..).collect();
                let own = pools.saturating_sub(these.len());
                join(self.pools.get_mut(own..).or_bug(), these);
            }
            _ => self.open.push(Child { label: NO_ID, node, repeat }),
        }
    }

    /// Records a compound whose children are those from index `first` on.
    pub(crate) fn close(&mut self, head: Head, first: usize) -> Result<u32> {
        let is_map = matches!(head, Head::Node { kind: NodeKind::Map, .. });
        let children = self.open.get(first..).or_bug();
        if is_map && !children.is_sorted_by_key(|child| child.label) {
            self.sort(first);
        }
        let node = self.interner.intern(head, self.open.get(first..).or_bug())?;
        self.open.truncate(first);
        Ok(node)
    }

    /// Sorts children by their labels, with their pools. Equal labels keep their order.
    fn sort(&mut self, first: usize) {
        let children = self.open.get_mut(first..).or_bug();
        let of = |child: &Child| self.interner.node(child.node).pools;
        let all: usize = children.iter().map(of).sum();
        if all == 0 {
            return children.sort_by_key(|child| child.label);
        }
        let mut pools = self.pools.drain(self.pools.len().saturating_sub(all)..);
        let with_pools = |child: &Child| (*child, pools.by_ref().take(of(child)).collect());
        let mut sorted: Vec<(Child, Vec<Pool>)> = children.iter().map(with_pools).collect();
        drop(pools);
        sorted.sort_by_key(|(child, _)| child.label);
        for (slot, (child, pools)) in children.iter_mut().zip(sorted) {
            *slot = child;
            self.pools.extend(pools);
        }
    }

    /// Records a folded sequence or map.
    pub(crate) fn close_pool(&mut self, head: Head, pool: Pool) -> Result<u32> {
        self.pools.push(pool);
        let slot = if head == Head::Seq { 30 } else { 31 };
        self.atom(slot, |_| head)
    }

    /// Records a tree, whose leaves are given by their index.
    pub(crate) fn root(
        &mut self,
        treedef: &TreeDef,
        leaf: &dyn Fn(usize) -> Option<StructureLeaf>,
    ) -> Result<u32> {
        self.depth = 0;
        self.node(treedef.root(), leaf, Places::ROOT)
    }

    /// Records the structure at a node. The recursion is as deep as the limits allow.
    fn node(
        &mut self,
        node: NodeRef<'_>,
        leaf: &dyn Fn(usize) -> Option<StructureLeaf>,
        place: u32,
    ) -> Result<u32> {
        use NodeKind as Is;
        let folded = match node.kind() {
            Is::Leaf => match leaf(node.leaf_range().start) {
                Some(StructureLeaf::Scalar(kinds)) => {
                    let head = Head::Scalar(self.folds.kinds(kinds));
                    return self.interner.intern(head, &[]);
                }
                None => return Err(broken("a leaf has no structure")),
                folded => folded,
            },
            kind if kind.is_atom() => return self.compound(node, leaf, place),
            _ => None,
        };
        self.depth += 1;
        self.expect_depth(self.depth)?;
        let node = match (folded, node.kind()) {
            (Some(StructureLeaf::Seq(folded)), _) => self.collection(Head::Seq, &folded, place),
            (Some(StructureLeaf::Map(folded)), _) => self.collection(Head::Map, &folded, place),
            (_, Is::Seq) if self.folds.lengths => self.folded(Head::Seq, node, leaf, place),
            (_, Is::Map) if self.places.is_folded(place) => {
                self.folded(Head::Map, node, leaf, place)
            }
            _ => self.compound(node, leaf, place),
        };
        self.depth -= 1;
        node
    }

    fn folded(
        &mut self,
        head: Head,
        node: NodeRef<'_>,
        leaf: &dyn Fn(usize) -> Option<StructureLeaf>,
        place: u32,
    ) -> Result<u32> {
        let below = self.any_below(head, place)?;
        let length = node.num_children() as u64; // usize has at most 64 bits
        let mut pool = Pool { shortest: length, longest: length, ..Pool::default() };
        let mut position = 0usize;
        for (child, repeat) in distinct(node) {
            let first = self.pools.len();
            let id =
                self.node(child, leaf, below).map_err(|error| within(node, position, error))?;
            pool.add(id, &mut self.pools, first);
            position = position.saturating_add(repeat);
        }
        self.close_pool(head, pool)
    }

    fn compound(
        &mut self,
        node: NodeRef<'_>,
        leaf: &dyn Fn(usize) -> Option<StructureLeaf>,
        place: u32,
    ) -> Result<u32> {
        let (head, first) = (self.head(node)?, self.open.len());
        if node.kind() == NodeKind::Map && node.num_children() == 0 {
            self.places.below(place, PlaceStep::NoKey)?;
        }
        let mut position = 0usize;
        for (child, repeat) in distinct(node) {
            // A run of entries or fields has a label for each.
            let (times, repeat) = if is_labelled(node) { (repeat, 1) } else { (1, repeat) };
            for _ in 0..times {
                let (label, step) = self.step(node, position)?;
                let (below, _) = self.places.below(place, step)?;
                let pools = self.pools.len();
                let id =
                    self.node(child, leaf, below).map_err(|error| within(node, position, error))?;
                match label {
                    NO_ID => self.element(first, pools, id, repeat),
                    label => self.child(label, id),
                }
                position = position.saturating_add(repeat);
            }
        }
        self.close(head, first)
    }

    fn head(&mut self, node: NodeRef<'_>) -> Result<Head> {
        let name = match (node.name(), node.static_value()) {
            (Some(name), _) => self.interner.intern_text(name)?,
            (_, Some(value)) => self.interner.intern_label(value)?,
            (None, None) => NO_ID,
        };
        let variant = node.variant().map(|variant| self.interner.intern_text(variant));
        Ok(Head::Node { kind: node.kind(), name, variant: variant.transpose()?.unwrap_or(NO_ID) })
    }

    /// The label of a child, and the step to it.
    fn step(&mut self, node: NodeRef<'_>, position: usize) -> Result<(u32, PlaceStep)> {
        if let Some(field) = node.fields().get(position) {
            let label = self.interner.intern_text(field)?;
            return Ok((label, PlaceStep::Field(label)));
        }
        if let Some(key) = node.entry_keys().get(position) {
            let label = self.interner.intern_key(key)?;
            return Ok((label, PlaceStep::Key(label)));
        }
        Ok(match node.kind() {
            NodeKind::Seq => (NO_ID, PlaceStep::Inside),
            _ => (NO_ID, PlaceStep::Position(u32::try_from(position).unwrap_or(NO_ID))),
        })
    }

    /// The place of everything inside something folded.
    fn any_below(&mut self, head: Head, place: u32) -> Result<u32> {
        let step = if head == Head::Map { PlaceStep::AnyKey } else { PlaceStep::Inside };
        Ok(self.places.below(place, step)?.0)
    }

    /// Records something that is folded already.
    fn collection(&mut self, head: Head, folded: &Collection, place: u32) -> Result<u32> {
        let below = self.any_below(head, place)?;
        let (shortest, longest) = (folded.shortest, folded.longest);
        let mut pool = Pool { shortest, longest, ..Pool::default() };
        for element in &folded.elements {
            let first = self.pools.len();
            let id = self.node(
                element.treedef().root(),
                &|at| element.leaves().get(at).cloned(),
                below,
            )?;
            pool.add(id, &mut self.pools, first);
        }
        self.close_pool(head, pool)
    }
}

#[cold]
fn within(node: NodeRef<'_>, position: usize, error: Error) -> Error {
    under(error, entry(node, position).0)
}

/// Whether each child has a field or a key.
fn is_labelled(node: NodeRef<'_>) -> bool {
    matches!(node.kind(), NodeKind::Struct | NodeKind::StructVariant | NodeKind::Map)
}

/// The children. Equal neighbours without leaves are one.
fn distinct(node: NodeRef<'_>) -> impl Iterator<Item = (NodeRef<'_>, usize)> {
    node.runs().flat_map(|(first, repeat)| {
        let (times, repeat) = if first.num_leaves() == 0 { (1, repeat) } else { (repeat, 1) };
        (0..times).map(move |skip| (later(first, skip), repeat))
    })
}

/// The deepest structure, because folded parts are compared and dropped by recursion.
pub(crate) const DEEPEST_STRUCTURE: usize = 256;
