//! The distinct node data of a structure that is being built.

use std::hash::{Hash, Hasher};

use crate::hash_index::HashIndex;
use crate::model::{Labels, Name, Node, NodeData, NodeKind, Value};
use crate::positions::permute;
use crate::treedef::node_ref::is_name;

pub(crate) const NAMELESS: &Name = &Name::Borrowed("");

/// Distinct node data, numbered in the order in which it was added.
#[derive(Default)]
pub(crate) struct NodeDataTable {
    pub(crate) list: Vec<NodeData>,
    /// For each of `list`, its part of the work and the depth of a node.
    pub(super) costs: Vec<(usize, u32)>,
    /// The indices of `list` by hash, once there are more than [`NodeDataTable::UNINDEXED`].
    index: HashIndex,
    /// Keys that are not in the index, because no keys were looked for since they were added.
    later: Vec<usize>,
}

/// A borrowed [`NodeData`]. Its names are `&'static str`, as serde passes them, or [`Name`]s.
#[derive(Clone, Copy)]
pub(crate) struct NodeDataRef<'a, N> {
    pub(crate) name: &'a N,
    pub(crate) variant: &'a N,
    pub(crate) labels: LabelsRef<'a, N>,
}

#[derive(Clone, Copy)]
pub(crate) enum LabelsRef<'a, N> {
    None,
    Fields(&'a [N]),
    Keys(&'a [Value]),
    Static(&'a Value),
}

impl<'a> NodeDataRef<'a, Name> {
    /// The node data of a node of this kind, if it has any.
    pub(crate) fn of(
        kind: NodeKind,
        (name, variant): (&'a Name, &'a Name),
        fields: &'a [Name],
        keys: &'a [Value],
    ) -> Option<Self> {
        let labels = match kind {
            NodeKind::Struct | NodeKind::StructVariant => LabelsRef::Fields(fields),
            NodeKind::Map => LabelsRef::Keys(keys),
            kind if kind.is_named() => LabelsRef::None,
            _ => return None,
        };
        Some(NodeDataRef { name, variant, labels })
    }

    /// The node data of a static.
    pub(crate) fn of_static(value: &'a Value) -> Self {
        NodeDataRef { name: NAMELESS, variant: NAMELESS, labels: LabelsRef::Static(value) }
    }
}

impl NodeDataTable {
    /// Up to this number, node data is found by comparing each.
    const UNINDEXED: usize = 8;
    /// The maximum capacity that is kept.
    const MOST_SPARE: usize = 64;

    /// The index of node data, which is added if it is new.
    pub(crate) fn intern<N: AsRef<str> + Clone + Into<Name>>(
        &mut self,
        data: NodeDataRef<'_, N>,
    ) -> usize {
        match self.position(&data) {
            Ok(index) => index,
            Err(hash) => self.push(data.into_owned(), hash),
        }
    }

    /// Like [`intern`](Self::intern), for the node data of a map, which may be known to be new.
    pub(crate) fn intern_keys(&mut self, keys: Vec<Value>, are_new: bool) -> usize {
        let (name, variant) = (Name::Borrowed(""), Name::Borrowed(""));
        if are_new && self.index.len() > 0 {
            self.later.push(self.list.len());
            return self.append(NodeData { name, variant, labels: Labels::Keys(keys.into()) });
        }
        for index in self.later.drain(..) {
            self.index.insert(self.index.hash(&self.list[index]), index);
        }
        let labels = LabelsRef::Keys(&keys);
        match self.position(&NodeDataRef { name: NAMELESS, variant: NAMELESS, labels }) {
            Ok(known) => known,
            Err(hash) => {
                self.push(NodeData { name, variant, labels: Labels::Keys(keys.into()) }, hash)
            }
        }
    }

    /// Like [`intern`](Self::intern), for node data that is already owned.
    #[cfg(feature = "persist")]
    pub(crate) fn add(&mut self, data: NodeData) -> usize {
        self.position(&data.as_ref()).unwrap_or_else(|hash| self.push(data, hash))
    }

    pub(crate) fn get(&self, index: usize) -> Option<&NodeData> {
        self.list.get(index)
    }

    /// The index of node data. If there is none, its hash, unless no hashes are needed yet.
    fn position<N: AsRef<str>>(&self, data: &NodeDataRef<'_, N>) -> Result<usize, Option<u64>> {
        if self.index.len() == 0 {
            return self.list.iter().position(|known| data.is(known)).ok_or(None);
        }
        let hash = self.index.hash(data);
        self.index.find(hash, &|index| data.is(&self.list[index])).ok_or(Some(hash))
    }

    /// Takes out the node data that `nodes` use, and numbers it by first use.
    pub(super) fn take_numbered(&mut self, nodes: &mut [Node]) -> Box<[NodeData]> {
        let mut numbers = vec![NodeData::NONE; self.list.len()];
        let mut used = 0;
        for node in nodes.iter_mut().filter(|node| node.data() != NodeData::NONE) {
            let number = &mut numbers[node.data()];
            if *number == NodeData::NONE {
                *number = used;
                used += 1;
            }
            node.set_data(*number);
        }
        // Unused node data follows it.
        let others = numbers.iter_mut().filter(|number| **number == NodeData::NONE);
        others.zip(used..).for_each(|(number, next)| *number = next);
        permute(numbers, |a, b| self.list.swap(a, b));
        self.list.drain(..).take(used).collect()
    }

    /// Removes all node data, and keeps the memory unless it is large.
    pub(super) fn clear(&mut self) {
        if self.list.capacity() <= NodeDataTable::MOST_SPARE {
            self.list.clear();
            self.costs.clear();
            self.index.clear(NodeDataTable::MOST_SPARE);
            self.later.clear();
        } else {
            *self = NodeDataTable::default()
        }
    }

    /// Adds node data, which must be new and has this hash.
    fn push(&mut self, data: NodeData, hash: Option<u64>) -> usize {
        let last = self.append(data);
        match hash {
            Some(hash) => self.index.insert(hash, last),
            None if last < NodeDataTable::UNINDEXED => {}
            None => {
                for (index, data) in self.list.iter().enumerate() {
                    self.index.insert(self.index.hash(data), index);
                }
            }
        }
        last
    }

    /// Adds node data to the list alone.
    fn append(&mut self, mut data: NodeData) -> usize {
        match &mut data.labels {
            Labels::Keys(keys) => keys.iter_mut().for_each(Value::unpack),
            Labels::Static(value) => value.unpack(),
            Labels::None | Labels::Fields(_) => {}
        }
        self.costs.push((data.work(), data.depth()));
        self.list.push(data);
        self.list.len() - 1 // it was pushed
    }
}

impl<N: Clone + Into<Name>> NodeDataRef<'_, N> {
    fn into_owned(self) -> NodeData {
        NodeData {
            name: self.name.clone().into(),
            variant: self.variant.clone().into(),
            labels: match self.labels {
                LabelsRef::None => Labels::None,
                LabelsRef::Fields(fields) => {
                    Labels::Fields(fields.iter().cloned().map(Into::into).collect())
                }
                LabelsRef::Keys(keys) => Labels::Keys(keys.into()),
                LabelsRef::Static(value) => Labels::Static(value.clone()),
            },
        }
    }
}

impl<N: AsRef<str>> NodeDataRef<'_, N> {
    fn is(&self, data: &NodeData) -> bool {
        is_name(&data.name, self.name.as_ref())
            && is_name(&data.variant, self.variant.as_ref())
            && match (&self.labels, &data.labels) {
                (LabelsRef::None, Labels::None) => true,
                (LabelsRef::Fields(a), Labels::Fields(b)) => {
                    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_name(b, a.as_ref()))
                }
                (LabelsRef::Keys(a), Labels::Keys(b)) => *a == b.as_ref(),
                (LabelsRef::Static(a), Labels::Static(b)) => *a == b,
                _ => false,
            }
    }
}

/// Must hash like `NodeData`, because node data is looked up by reference.
impl<N: AsRef<str>> Hash for NodeDataRef<'_, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.as_ref().hash(state);
        self.variant.as_ref().hash(state);
        match self.labels {
            LabelsRef::None => state.write_u8(0),
            LabelsRef::Fields(fields) => {
                state.write_usize(fields.len());
                fields.iter().for_each(|field| field.as_ref().hash(state));
            }
            LabelsRef::Keys(keys) => keys.hash(state),
            LabelsRef::Static(value) => value.hash(state),
        }
    }
}

#[cfg(any(debug_assertions, feature = "persist"))]
impl Node {
    /// Whether a node has the data of its kind, with a label for each child.
    pub(crate) fn has_its_data(&self, data: Option<&NodeData>) -> bool {
        use NodeKind as Is;
        let Some(NodeData { name, variant, labels }) = data else {
            return !self.kind.is_named() && !matches!(self.kind, Is::Map | Is::Static);
        };
        let fits = match (self.kind, labels) {
            (Is::Struct | Is::StructVariant, Labels::Fields(fields)) => {
                fields.len() == self.children
            }
            (Is::Map, Labels::Keys(keys)) => keys.len() == self.children,
            (Is::Static, Labels::Static(_)) => true,
            (Is::Struct | Is::StructVariant | Is::Map | Is::Static, _) => false,
            (kind, labels) => kind.is_named() && *labels == Labels::None,
        };
        let has_names = (self.kind.is_named() || name.is_empty())
            && (self.kind.is_variant() || variant.is_empty());
        fits && has_names
    }
}

impl NodeData {
    /// The nesting depth of the labels. Keys are one level below their map.
    pub(crate) fn depth(&self) -> u32 {
        let deepest = self.values().iter().map(Value::depth).max().unwrap_or_default();
        deepest.saturating_add(u32::from(matches!(self.labels, Labels::Keys(_))))
    }

    pub(crate) fn as_ref(&self) -> NodeDataRef<'_, Name> {
        let labels = match &self.labels {
            Labels::None => LabelsRef::None,
            Labels::Fields(fields) => LabelsRef::Fields(fields),
            Labels::Keys(keys) => LabelsRef::Keys(keys),
            Labels::Static(value) => LabelsRef::Static(value),
        };
        NodeDataRef { name: &self.name, variant: &self.variant, labels }
    }
}

impl Hash for NodeData {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}
