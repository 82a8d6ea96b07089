//! The distinct shapes of a structure that is being built.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::leaf::Scalar;
use crate::leaf::sink::permute;
use crate::model::{Labels, Leaf, Name, Node, Shape, Value};
use crate::treedef::node_ref::is_name;

/// Distinct shapes, numbered in the order in which they were added.
#[derive(Default)]
pub(super) struct Shapes {
    pub(super) list: Vec<Shape>,
    /// For each shape, what its keys or static add to the work and the depth of a node.
    pub(super) costs: Vec<(usize, u32)>,
    /// The index of each shape by hash, once there are more than [`Shapes::FEW`].
    index: HashTable<usize>,
    hasher: DefaultHashBuilder,
    /// Recently used shapes, by the addresses of their names. This usually avoids comparing names.
    recent: [usize; Shapes::RECENT],
}

/// A borrowed [`Shape`]. Its names are `&'static str`, as serde passes them, or [`Name`]s.
#[derive(Clone, Copy)]
pub(crate) struct ShapeRef<'a, N> {
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

impl Shapes {
    /// Up to this number, shapes are found by comparing each.
    const FEW: usize = 8;
    const RECENT: usize = 32;
    /// The maximum capacity that is kept.
    const MOST_ROOM: usize = 64;

    /// Like [`intern`](Self::intern), for a shape with the names of a type.
    pub(super) fn intern_static(&mut self, shape: ShapeRef<'_, &'static str>) -> usize {
        let fields = if let LabelsRef::Fields(fields) = shape.labels { fields.len() } else { 0 };
        let names = (shape.name.as_ptr().addr() / 8) ^ shape.variant.as_ptr().addr();
        let place = (names ^ fields) % Shapes::RECENT;
        let recent = self.recent[place];
        if self.list.get(recent).is_some_and(|known| shape.is(known)) {
            return recent;
        }
        let index = self.intern(shape);
        self.recent[place] = index;
        index
    }

    pub(super) fn intern<N: AsRef<str> + Clone + Into<Name>>(
        &mut self,
        shape: ShapeRef<'_, N>,
    ) -> usize {
        match self.position(&shape) {
            Some(index) => index,
            None => self.push(shape.into_shape()),
        }
    }

    #[inline]
    pub(super) fn with_key(
        &self,
        shape: usize,
        count: usize,
        is_next: impl Fn(&Value) -> bool,
    ) -> Option<usize> {
        match self.keys(shape)?.get(count) {
            Some(key) if is_next(key) => Some(shape),
            _ => self.newest_with_key(shape, count, is_next),
        }
    }

    fn newest_with_key(
        &self,
        shape: usize,
        count: usize,
        is_next: impl Fn(&Value) -> bool,
    ) -> Option<usize> {
        let first = self.keys(shape)?.get(..count)?;
        self.newest().find(|&other| {
            self.keys(other).is_some_and(|keys| {
                keys.get(count).is_some_and(&is_next) && keys.starts_with(first)
            })
        })
    }

    pub(super) fn static_of(&self, value: Scalar<'_>) -> Option<usize> {
        self.newest().find(|&shape| match self.list.get(shape).map(|shape| &shape.labels) {
            Some(Labels::Static(known)) => known.as_leaf().and_then(Leaf::as_scalar) == Some(value),
            _ => false,
        })
    }

    /// The newest shapes, newest first.
    fn newest(&self) -> impl Iterator<Item = usize> {
        (self.list.len().saturating_sub(Shapes::FEW)..self.list.len()).rev()
    }

    #[inline]
    fn keys(&self, shape: usize) -> Option<&[Value]> {
        match &self.list.get(shape)?.labels {
            Labels::Keys(keys) => Some(keys),
            _ => None,
        }
    }

    pub(super) fn intern_first(&mut self, shape: usize, count: usize) -> usize {
        let Some(Shape { name, variant, labels }) = self.list.get(shape) else { return shape };
        let labels = match labels {
            Labels::Fields(fields) if count < fields.len() => LabelsRef::Fields(&fields[..count]),
            Labels::Keys(keys) if count < keys.len() => LabelsRef::Keys(&keys[..count]),
            _ => return shape,
        };
        let first = ShapeRef { name, variant, labels };
        match self.position(&first) {
            Some(known) => known,
            None => self.push(first.into_shape()),
        }
    }

    pub(super) fn position<N: AsRef<str>>(&self, shape: &ShapeRef<'_, N>) -> Option<usize> {
        if self.index.is_empty() {
            return self.list.iter().position(|known| shape.is(known));
        }
        let is_it = |index: &usize| shape.is(&self.list[*index]);
        self.index.find(self.hasher.hash_one(shape), is_it).copied()
    }

    /// Takes out the shapes that `nodes` use, and numbers them by their first use.
    pub(super) fn take_numbered(&mut self, nodes: &mut [Node]) -> Box<[Shape]> {
        let mut numbers = vec![Shape::NONE; self.list.len()];
        let mut used = 0;
        for node in nodes.iter_mut().filter(|node| node.shape != Shape::NONE) {
            let number = &mut numbers[node.shape];
            if *number == Shape::NONE {
                *number = used;
                used += 1;
            }
            node.shape = *number;
        }
        // The others go behind them.
        let others = numbers.iter_mut().filter(|number| **number == Shape::NONE);
        others.zip(used..).for_each(|(number, next)| *number = next);
        permute(numbers, |a, b| self.list.swap(a, b));
        self.list.drain(..).take(used).collect()
    }

    /// Removes all shapes, and keeps the memory unless it is large.
    pub(super) fn clear(&mut self) {
        match self.list.capacity() <= Shapes::MOST_ROOM {
            true => {
                self.list.clear();
                self.costs.clear();
                self.index.clear();
            }
            false => *self = Shapes::default(),
        }
    }

    /// Adds a shape, which must be new.
    pub(super) fn push(&mut self, mut shape: Shape) -> usize {
        match &mut shape.labels {
            Labels::Keys(keys) => keys.iter_mut().for_each(Value::unpack),
            Labels::Static(value) => value.unpack(),
            Labels::None | Labels::Fields(_) => {}
        }
        self.costs.push(shape.labels.cost());
        self.list.push(shape);
        let (list, hasher) = (&self.list, &self.hasher);
        let first = match list.len() {
            0..=Shapes::FEW => return list.len() - 1,
            _ if self.index.is_empty() => 0,
            more => more - 1,
        };
        let hash = |index: &usize| hasher.hash_one(&list[*index]);
        for index in first..list.len() {
            self.index.insert_unique(hash(&index), index, hash);
        }
        list.len() - 1
    }
}

impl<N: Clone + Into<Name>> ShapeRef<'_, N> {
    fn into_shape(self) -> Shape {
        Shape {
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

impl<N: AsRef<str>> ShapeRef<'_, N> {
    fn is(&self, shape: &Shape) -> bool {
        is_name(&shape.name, self.name.as_ref())
            && is_name(&shape.variant, self.variant.as_ref())
            && match (&self.labels, &shape.labels) {
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

/// Must hash like `Shape`, because shapes are looked up by reference.
impl<N: AsRef<str>> Hash for ShapeRef<'_, N> {
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

impl Labels {
    /// What the labels add to the work and the depth of a node. Keys are one level below their map.
    fn cost(&self) -> (usize, u32) {
        match self {
            Labels::None | Labels::Fields(_) => (0, 0),
            Labels::Static(value) => (value.work(), value.depth()),
            Labels::Keys(keys) => {
                let work = keys.iter().map(Value::work).fold(0, usize::saturating_add);
                let depth = keys.iter().map(Value::depth).max().unwrap_or_default();
                (work, depth.saturating_add(1))
            }
        }
    }
}

impl Shape {
    pub(crate) fn as_ref(&self) -> ShapeRef<'_, Name> {
        let labels = match &self.labels {
            Labels::None => LabelsRef::None,
            Labels::Fields(fields) => LabelsRef::Fields(fields),
            Labels::Keys(keys) => LabelsRef::Keys(keys),
            Labels::Static(value) => LabelsRef::Static(value),
        };
        ShapeRef { name: &self.name, variant: &self.variant, labels }
    }
}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}
