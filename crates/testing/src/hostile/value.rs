//! A value as a plain tree that can be serialized.

use std::cmp::Ordering;

use serde::ser::{
    Serialize, SerializeMap, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use treedef::{Leaf, NodeKind};

use crate::tape::Tape;

/// A value as a plain tree: nothing is shared or compressed.
#[derive(Clone, Debug, PartialEq)]
pub struct Plain {
    pub kind: NodeKind,
    pub name: &'static str,
    pub variant: &'static str,
    /// The fields of a struct or struct variant, one for each child.
    pub fields: Vec<&'static str>,
    /// The keys of a map, one for each child.
    pub keys: Vec<Plain>,
    pub children: Vec<Plain>,
    /// The scalar of a leaf.
    pub scalar: Leaf,
}

/// The number of nodes after which a value gets no more children, because copies of copies only
/// cost time.
const MANY: usize = 60;

pub(super) const KINDS: [NodeKind; 15] = [
    NodeKind::Leaf,
    NodeKind::Seq,
    NodeKind::Struct,
    NodeKind::Tuple,
    NodeKind::Map,
    NodeKind::Some,
    NodeKind::None,
    NodeKind::NewtypeStruct,
    NodeKind::TupleStruct,
    NodeKind::NewtypeVariant,
    NodeKind::TupleVariant,
    NodeKind::StructVariant,
    NodeKind::UnitVariant,
    NodeKind::Unit,
    NodeKind::UnitStruct,
];

impl Plain {
    pub fn leaf(scalar: impl Into<Leaf>) -> Plain {
        Plain { scalar: scalar.into(), ..Plain::of(NodeKind::Leaf) }
    }

    pub fn of(kind: NodeKind) -> Plain {
        Plain {
            kind,
            name: "",
            variant: "",
            fields: Vec::new(),
            keys: Vec::new(),
            children: Vec::new(),
            scalar: Leaf::Bool(false),
        }
    }

    /// A value up to `depth` levels deep, whose siblings are often equal or nearly so.
    pub fn draw(tape: &mut Tape, depth: usize) -> Plain {
        let kind = if depth == 0 { NodeKind::Leaf } else { KINDS[tape.below(KINDS.len())] };
        let mut plain = Plain::of(kind);
        if plain.is_named() {
            plain.name = tape.name();
        }
        if kind.is_variant() {
            plain.variant = tape.name();
        }
        let children = match kind {
            NodeKind::Leaf => {
                plain.scalar = draw_scalar(tape);
                0
            }
            NodeKind::Some | NodeKind::NewtypeStruct | NodeKind::NewtypeVariant => 1,
            _ if plain.is_atom() => 0,
            _ => tape.below(6),
        };
        let mut nodes = 0;
        for _ in 0..children {
            if nodes > MANY {
                break;
            }
            let child = match plain.children.last() {
                Some(last) if !tape.one_in(4) => {
                    let mut child = last.clone();
                    if tape.one_in(3) {
                        child.mutate(tape);
                    }
                    child
                }
                _ => Plain::draw(tape, depth - 1),
            };
            nodes += child.num_nodes();
            plain.push(child, tape, depth);
        }
        plain
    }

    /// Makes all leaves distinct numbers.
    pub fn number(&mut self, next: &mut u32) {
        if self.kind == NodeKind::Leaf {
            self.scalar = Leaf::from(f64::from(*next));
            *next += 1;
        }
        self.children.iter_mut().for_each(|child| child.number(next));
    }

    pub fn push(&mut self, child: Plain, tape: &mut Tape, depth: usize) {
        self.children.push(child);
        match self.kind {
            NodeKind::Struct | NodeKind::StructVariant => self.fields.push(tape.name()),
            NodeKind::Map => {
                let compound = tape.one_in(3);
                let mut key = Plain::draw(tape, if compound { depth - 1 } else { 0 });
                // Repeated keys have a test of their own; here a path has to be unique.
                while self.keys.iter().any(|other| other.order(&key).is_eq()) {
                    key = Plain { children: vec![key], ..Plain::of(NodeKind::Seq) };
                }
                self.keys.push(key);
            }
            _ => {}
        }
    }

    /// Changes one node, at any depth, a little.
    pub fn mutate(&mut self, tape: &mut Tape) {
        if !self.children.is_empty() && !tape.one_in(4) {
            let child = tape.below(self.children.len());
            return self.children[child].mutate(tape);
        }
        match tape.below(5) {
            0 if self.has_any_number() => {
                self.children.pop();
                self.fields.truncate(self.children.len());
                self.keys.truncate(self.children.len());
            }
            1 if self.has_any_number() => {
                let child = self.children.last().cloned().unwrap_or(Plain::leaf(1u8));
                self.push(child, tape, 1);
            }
            2 if self.is_named() => self.name = tape.name(),
            3 if self.kind.is_variant() => self.variant = tape.name(),
            3 if !self.fields.is_empty() => {
                let field = tape.below(self.fields.len());
                self.fields[field] = tape.name();
            }
            _ if self.kind == NodeKind::Leaf => *self = Plain::of(NodeKind::None),
            4 => *self = Plain::leaf(2u8),
            _ => *self = Plain { children: vec![self.clone()], ..Plain::of(NodeKind::Some) },
        }
    }

    pub fn is_named(&self) -> bool {
        use NodeKind::*;
        self.kind.is_variant()
            || matches!(self.kind, UnitStruct | NewtypeStruct | TupleStruct | Struct)
    }

    pub fn is_atom(&self) -> bool {
        use NodeKind::*;
        matches!(self.kind, Leaf | None | Unit | UnitStruct | UnitVariant)
    }

    pub fn has_any_number(&self) -> bool {
        use NodeKind::*;
        !self.is_atom() && !matches!(self.kind, Some | NewtypeStruct | NewtypeVariant)
    }

    /// Sorts the entries of all maps by their keys; with `keys_only`, only of maps inside keys.
    pub fn sort(&mut self, keys_only: bool) {
        self.children.iter_mut().for_each(|child| child.sort(keys_only));
        self.keys.iter_mut().for_each(|key| key.sort(false));
        if self.kind == NodeKind::Map && !keys_only {
            let mut entries: Vec<_> =
                self.keys.drain(..).zip(std::mem::take(&mut self.children)).collect();
            entries.sort_by(|(a, _), (b, _)| a.order_of_sorted(b));
            (self.keys, self.children) = entries.into_iter().unzip();
        }
    }

    pub fn sorted(&self) -> Plain {
        let mut sorted = self.clone();
        sorted.sort(false);
        sorted
    }

    /// The order of map keys, as the documentation of `Value` states it.
    pub fn order(&self, other: &Plain) -> Ordering {
        if self.is_atom() && other.is_atom() {
            return self.order_of_sorted(other);
        }
        self.sorted().order_of_sorted(&other.sorted())
    }

    /// The same order, for nodes with sorted maps.
    pub fn order_of_sorted(&self, other: &Plain) -> Ordering {
        if self.kind == NodeKind::Leaf && other.kind == NodeKind::Leaf {
            return scalar_order(&self.scalar, &other.scalar);
        }
        let head = |plain: &Plain| (plain.kind, plain.name, plain.variant);
        let labels = |at: usize| {
            let keys = self.keys.get(at).zip(other.keys.get(at));
            let keys = keys.map_or(Ordering::Equal, |(a, b)| a.order_of_sorted(b));
            self.fields.get(at).cmp(&other.fields.get(at)).then(keys)
        };
        let children = self.children.iter().zip(&other.children).enumerate();
        let mut order = head(self).cmp(&head(other));
        for (at, (child, other)) in children {
            order = order.then_with(|| labels(at)).then_with(|| child.order_of_sorted(other));
        }
        order.then(self.children.len().cmp(&other.children.len()))
    }

    /// Equality of structure, for nodes whose maps inside keys are sorted. Leaves are compared
    /// inside keys only.
    pub fn same(&self, other: &Plain) -> bool {
        self.kind == other.kind
            && (self.name, self.variant) == (other.name, other.variant)
            && self.fields == other.fields
            && self.keys.len() == other.keys.len()
            && self.keys.iter().zip(&other.keys).all(|(a, b)| a.order_of_sorted(b).is_eq())
            && self.children.len() == other.children.len()
            && self.children.iter().zip(&other.children).all(|(a, b)| a.same(b))
    }

    pub fn leaves(&self, into: &mut Vec<Leaf>) {
        if self.kind == NodeKind::Leaf {
            into.push(self.scalar.clone());
        }
        self.children.iter().for_each(|child| child.leaves(into));
    }

    /// Whether a struct has two fields with the same name, or a map two entries with the same key,
    /// so that their paths are ambiguous. Maps inside keys are sorted.
    pub fn has_twins(&self) -> bool {
        let twins = |at: usize| self.fields[..at].contains(&self.fields[at]);
        let twin_keys = |at: usize| {
            self.keys[..at].iter().any(|key| key.order_of_sorted(&self.keys[at]).is_eq())
        };
        (0..self.fields.len()).any(twins)
            || (0..self.keys.len()).any(twin_keys)
            || self.children.iter().any(Plain::has_twins)
    }

    pub fn num_nodes(&self) -> usize {
        1 + self.children.iter().map(Plain::num_nodes).sum::<usize>()
    }
}

pub(super) fn draw_scalar(tape: &mut Tape) -> Leaf {
    let number = tape.below(4) as i8 - 1;
    match tape.below(8) {
        0 => Leaf::from(number),
        1 => Leaf::from(i64::from(number)),
        2 => Leaf::from(number.unsigned_abs()),
        3 => Leaf::from(f64::from(number)),
        4 => Leaf::from(["", "a", "ab", "\u{e9}"][tape.below(4)]),
        5 => Leaf::from(number > 0),
        6 => Leaf::from(['a', 'b', '\'', '\n'][tape.below(4)]),
        _ => Leaf::from(u128::from(number.unsigned_abs())),
    }
}

fn scalar_order(a: &Leaf, b: &Leaf) -> Ordering {
    let rank = |leaf: &Leaf| match leaf.kind() {
        treedef::LeafKind::Bool => 0,
        kind if kind.is_integer() => 1,
        treedef::LeafKind::F64 => 2,
        treedef::LeafKind::Char => 3,
        _ => 4,
    };
    let integer = |leaf: &Leaf| match leaf {
        Leaf::I8(n) => i128::from(*n),
        Leaf::I64(n) => i128::from(*n),
        Leaf::U8(n) => i128::from(*n),
        Leaf::U128(n) => n.get() as i128,
        _ => 0,
    };
    let width = |leaf: &Leaf| match leaf {
        Leaf::I8(_) | Leaf::U8(_) => 8,
        Leaf::I64(_) => 64,
        _ => 128,
    };
    let by_kind = |a: &Leaf, b: &Leaf| width(a).cmp(&width(b)).then(a.kind().cmp(&b.kind()));
    rank(a).cmp(&rank(b)).then_with(|| match (a, b) {
        (Leaf::Bool(a), Leaf::Bool(b)) => a.cmp(b),
        (Leaf::F64(a), Leaf::F64(b)) => a.total_cmp(b),
        (Leaf::Char(a), Leaf::Char(b)) => a.cmp(b),
        (Leaf::Str(a), Leaf::Str(b)) => a.as_bytes().cmp(b.as_bytes()),
        _ => integer(a).cmp(&integer(b)).then_with(|| by_kind(a, b)),
    })
}

impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Plain { name, variant, ref children, .. } = *self;
        let length = children.len();
        macro_rules! elements {
            ($open:ident($($argument:expr),*), $add:ident) => {{
                let mut compound = serializer.$open($($argument),*)?;
                for child in children {
                    compound.$add(child)?;
                }
                compound.end()
            }};
        }
        macro_rules! fields {
            ($open:ident($($argument:expr),*)) => {{
                let mut compound = serializer.$open($($argument),*)?;
                for (field, child) in self.fields.iter().zip(children) {
                    compound.serialize_field(field, child)?;
                }
                compound.end()
            }};
        }
        match self.kind {
            NodeKind::None => serializer.serialize_none(),
            NodeKind::Some => serializer.serialize_some(&children[0]),
            NodeKind::Unit => serializer.serialize_unit(),
            NodeKind::UnitStruct => serializer.serialize_unit_struct(name),
            NodeKind::NewtypeStruct => serializer.serialize_newtype_struct(name, &children[0]),
            NodeKind::Seq => serializer.collect_seq(children),
            NodeKind::Tuple => elements!(serialize_tuple(length), serialize_element),
            NodeKind::TupleStruct => {
                elements!(serialize_tuple_struct(name, length), serialize_field)
            }
            NodeKind::TupleVariant => {
                elements!(serialize_tuple_variant(name, 0, variant, length), serialize_field)
            }
            NodeKind::Map => {
                let mut map = serializer.serialize_map(Some(length))?;
                for (key, child) in self.keys.iter().zip(children) {
                    map.serialize_entry(key, child)?;
                }
                map.end()
            }
            NodeKind::Struct => fields!(serialize_struct(name, length)),
            NodeKind::StructVariant => fields!(serialize_struct_variant(name, 0, variant, length)),
            NodeKind::UnitVariant => serializer.serialize_unit_variant(name, 0, variant),
            NodeKind::NewtypeVariant => {
                serializer.serialize_newtype_variant(name, 0, variant, &children[0])
            }
            _ => serialize_scalar(&self.scalar, serializer),
        }
    }
}

pub(super) fn serialize_scalar<S: Serializer>(
    scalar: &Leaf,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match scalar {
        Leaf::Bool(value) => serializer.serialize_bool(*value),
        Leaf::I8(value) => serializer.serialize_i8(*value),
        Leaf::I64(value) => serializer.serialize_i64(*value),
        Leaf::U8(value) => serializer.serialize_u8(*value),
        Leaf::U64(value) => serializer.serialize_u64(*value),
        Leaf::U128(value) => serializer.serialize_u128(value.get()),
        Leaf::F64(value) => serializer.serialize_f64(*value),
        Leaf::Char(value) => serializer.serialize_char(*value),
        Leaf::Str(value) => serializer.serialize_str(value),
        Leaf::Bytes(value) => serializer.serialize_bytes(value),
        other => panic!("no test draws {other:?}"),
    }
}
