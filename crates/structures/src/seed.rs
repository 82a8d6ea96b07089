//! Counts a document while it is read.

use std::fmt;

use serde::de::value::{BytesDeserializer, MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};

use treedef::__private::{CBOR_TAG, at, is_cbor_tag, private_struct};
use treedef::{Leaf, LeafKind, NodeKind, Result, Value};

use crate::count::Structures;
use crate::interner::{Head, NO_ID};
use crate::places::{PlaceStep, Places};
use crate::pool::Pool;
use crate::recorder::{StructureRecorder, ValueStep};

/// Counts a document of a self-describing format while it is read, and returns whether its
/// structure is new. The result is the same as of [`Structures::add`] for a `Tree<Leaf>`, without
/// an example; a document that would only fit after a fold is refused.
///
/// ```
/// use serde::de::DeserializeSeed;
/// use treedef_structures::Structures;
///
/// let mut structures = Structures::new();
/// let mut count =
///     |text| structures.seed().deserialize(&mut serde_json::Deserializer::from_str(text));
/// assert!(count(r#"{"a": 1, "b": [true]}"#)?);
/// assert!(!count(r#"{"b": [false], "a": 2}"#)?);
/// assert_eq!(structures.documents(), 2);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug)]
pub struct StructureSeed<'s> {
    structures: &'s mut Structures,
}

impl Structures {
    /// A seed that counts a document while it is read. No tree of it is made, so this is the
    /// fastest way, and there is no example. See [`StructureSeed`].
    pub fn seed(&mut self) -> StructureSeed<'_> {
        StructureSeed { structures: self }
    }
}

impl<'de> DeserializeSeed<'de> for StructureSeed<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<bool, D::Error> {
        self.structures.begin();
        let recorder = &mut self.structures.recorder;
        let root = StructureReader { recorder, place: Places::ROOT, depth: 0, by: ValueStep::Root }
            .deserialize(document)?;
        let seen = self.structures.next();
        self.structures.count(root, seen).map_err(de::Error::custom)
    }
}

/// Records the next value, and returns the number of its node.
struct StructureReader<'r> {
    recorder: &'r mut StructureRecorder,
    place: u32,
    /// The number of compounds around it.
    depth: usize,
    by: ValueStep,
}

impl<'de> DeserializeSeed<'de> for StructureReader<'_> {
    type Value = u32;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<u32, D::Error> {
        document.deserialize_any(self)
    }
}

impl StructureReader<'_> {
    fn step<E: de::Error>(&mut self, step: PlaceStep) -> Result<u32, E> {
        Ok(self.recorder.places.below(self.place, step).map_err(E::custom)?.0)
    }

    fn descend<E: de::Error>(&mut self) -> Result<(), E> {
        self.recorder.way.truncate(self.depth);
        self.recorder.way.push(self.by);
        self.depth += 1;
        let fits = self.recorder.expect_depth(self.depth);
        fits.map_err(|error| E::custom(at(error, self.recorder.path())))
    }

    /// A reader of the values below.
    #[inline]
    fn inside(&mut self, place: u32, by: ValueStep) -> StructureReader<'_> {
        StructureReader { recorder: self.recorder, place, depth: self.depth, by }
    }

    fn elements<'de, A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<u32, A::Error> {
        let place = self.step(PlaceStep::Inside)?;
        let first = self.recorder.open.len();
        let (mut pools, mut index) = (self.recorder.pools.len(), 0);
        while let Some(node) = seq.next_element_seed(self.inside(place, ValueStep::Index(index)))? {
            self.recorder.element(first, pools, node, 1);
            pools = self.recorder.pools.len();
            index += 1;
        }
        self.recorder.close(Head::of(NodeKind::Seq), first).map_err(de::Error::custom)
    }

    fn folded_elements<'de, A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<u32, A::Error> {
        let place = self.step(PlaceStep::Inside)?;
        let (mut pool, mut last) = (Pool::default(), NO_ID);
        let first = self.recorder.pools.len();
        while let Some(node) =
            seq.next_element_seed(self.inside(place, ValueStep::Index(pool.longest)))?
        {
            pool.longest += 1;
            if node != last || self.recorder.pools.len() > first {
                pool.add(node, &mut self.recorder.pools, first);
                last = node;
            }
        }
        pool.shortest = pool.longest;
        self.recorder.close_pool(Head::Seq, pool).map_err(de::Error::custom)
    }

    /// A struct as which a format tells a value of its own.
    fn private<'de, A: MapAccess<'de>>(
        mut self,
        [name, field]: [&str; 2],
        mut map: A,
    ) -> Result<u32, A::Error> {
        let name = self.recorder.interner.intern_text(name).map_err(de::Error::custom)?;
        let first = self.recorder.open.len();
        if map.next_key::<de::IgnoredAny>()?.is_some() {
            let label = self.recorder.interner.intern_text(field).map_err(de::Error::custom)?;
            let place = self.step(PlaceStep::Field(label))?;
            let node = map.next_value_seed(self.inside(place, ValueStep::AnyKey))?;
            self.recorder.child(label, node);
        }
        let head = Head::Node { kind: NodeKind::Struct, name, variant: NO_ID };
        self.recorder.close(head, first).map_err(de::Error::custom)
    }

    fn entries<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<u32, A::Error> {
        let StructureReader { recorder, place: here, depth, .. } = self;
        let (first, mut guess) = (recorder.open.len(), 0);
        loop {
            let key = LabelReader { recorder, place: here, guess: &mut guess };
            let Some((label, place)) = map.next_key_seed(key)? else { break };
            let node = map.next_value_seed(StructureReader {
                recorder,
                place,
                depth,
                by: ValueStep::Key(label),
            })?;
            recorder.child(label, node);
        }
        if recorder.open.len() == first {
            recorder.places.below(here, PlaceStep::NoKey).map_err(de::Error::custom)?;
        }
        recorder.close(Head::of(NodeKind::Map), first).map_err(de::Error::custom)
    }

    fn folded_entries<'de, A: MapAccess<'de>>(mut self, mut map: A) -> Result<u32, A::Error> {
        let place = self.step(PlaceStep::AnyKey)?;
        let mut pool = Pool::default();
        let first = self.recorder.pools.len();
        while map.next_key::<de::IgnoredAny>()?.is_some() {
            let node = map.next_value_seed(self.inside(place, ValueStep::AnyKey))?;
            pool.add(node, &mut self.recorder.pools, first);
            pool.longest += 1;
        }
        pool.shortest = pool.longest;
        self.recorder.close_pool(Head::Map, pool).map_err(de::Error::custom)
    }
}

macro_rules! kinds {
    ($($method:ident($type:ty): $kind:ident),*) => {$(
        #[inline]
        fn $method<E: de::Error>(self, _: $type) -> Result<u32, E> {
            self.recorder.kind(LeafKind::$kind).map_err(E::custom)
        }
    )*};
}

impl<'de> Visitor<'de> for StructureReader<'_> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    kinds! {
        visit_bool(bool): Bool, visit_i8(i8): I8, visit_i16(i16): I16, visit_i32(i32): I32,
        visit_i64(i64): I64, visit_i128(i128): I128, visit_u8(u8): U8, visit_u16(u16): U16,
        visit_u32(u32): U32, visit_u64(u64): U64, visit_u128(u128): U128, visit_f32(f32): F32,
        visit_f64(f64): F64, visit_char(char): Char, visit_str(&str): Str, visit_bytes(&[u8]): Bytes
    }

    fn visit_unit<E: de::Error>(self) -> Result<u32, E> {
        self.recorder.unit().map_err(E::custom)
    }

    fn visit_none<E: de::Error>(self) -> Result<u32, E> {
        self.recorder.none().map_err(E::custom)
    }

    fn visit_some<D: Deserializer<'de>>(mut self, inside: D) -> Result<u32, D::Error> {
        self.descend()?;
        let place = self.step(PlaceStep::Inside)?;
        let first = self.recorder.open.len();
        let node = self.inside(place, ValueStep::Some).deserialize(inside)?;
        self.recorder.child(NO_ID, node);
        self.recorder.close(Head::of(NodeKind::Some), first).map_err(de::Error::custom)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inside: D) -> Result<u32, D::Error> {
        self.deserialize(inside)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, seq: A) -> Result<u32, A::Error> {
        self.descend()?;
        if self.recorder.folds.lengths { self.folded_elements(seq) } else { self.elements(seq) }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<u32, A::Error> {
        self.descend()?;
        if let Some(names) = private_struct::<A>() {
            self.private(names, map)
        } else if self.recorder.places.is_folded(self.place) {
            self.folded_entries(map)
        } else {
            self.entries(map)
        }
    }

    /// A variant becomes a map of one entry, from its name to its payload.
    fn visit_enum<A: EnumAccess<'de>>(mut self, data: A) -> Result<u32, A::Error> {
        self.descend()?;
        let (name, variant) = data.variant::<String>()?;
        if is_cbor_tag::<A>() {
            return variant.tuple_variant(2, TagReader(self));
        }
        let label = self.recorder.interner.intern_text(&name).map_err(de::Error::custom)?;
        let (is_folded, first) =
            (self.recorder.places.is_folded(self.place), self.recorder.open.len());
        let pools = self.recorder.pools.len();
        let place = self.step(if is_folded { PlaceStep::AnyKey } else { PlaceStep::Key(label) })?;
        let node = variant.newtype_variant_seed(self.inside(place, ValueStep::Key(label)))?;
        let closed = if is_folded {
            let mut pool = Pool { shortest: 1, longest: 1, ..Pool::default() };
            pool.add(node, &mut self.recorder.pools, pools);
            self.recorder.close_pool(Head::Map, pool)
        } else {
            self.recorder.child(label, node);
            self.recorder.close(Head::of(NodeKind::Map), first)
        };
        closed.map_err(de::Error::custom)
    }
}

/// Records a tag of CBOR, which was entered.
struct TagReader<'r>(StructureReader<'r>);

impl<'de> Visitor<'de> for TagReader<'_> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tag and a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<u32, A::Error> {
        let TagReader(mut reader) = self;
        let intern = CBOR_TAG.map(|text| reader.recorder.interner.intern_text(text));
        let [name, variant] = intern.map(|label| label.map_err(de::Error::custom));
        let first = reader.recorder.open.len();
        for position in 0..2 {
            let pools = reader.recorder.pools.len();
            let place = reader.step(PlaceStep::Position(position))?;
            let Some(node) = pair.next_element_seed(reader.inside(place, ValueStep::AnyKey))?
            else {
                break;
            };
            reader.recorder.element(first, pools, node, 1);
        }
        let head = Head::Node { kind: NodeKind::TupleVariant, name: name?, variant: variant? };
        reader.recorder.close(head, first).map_err(de::Error::custom)
    }
}

/// Reads the key of an entry: its label, and the place below it.
struct LabelReader<'r> {
    recorder: &'r mut StructureRecorder,
    place: u32,
    /// The index of the key that followed the last key in an earlier document.
    guess: &'r mut usize,
}

impl LabelReader<'_> {
    fn found<E: de::Error>(self, label: Result<u32>) -> Result<(u32, u32), E> {
        let label = label.map_err(E::custom)?;
        let found = self.recorder.places.below(self.place, PlaceStep::Key(label));
        let (place, index) = found.map_err(E::custom)?;
        *self.guess = index + 1;
        Ok((label, place))
    }

    fn value<'de, D: Deserializer<'de>>(self, key: D) -> Result<(u32, u32), D::Error> {
        let key = Value::deserialize(key)?;
        let label = self.recorder.interner.intern_key(&key);
        self.found(label)
    }
}

impl<'de> DeserializeSeed<'de> for LabelReader<'_> {
    type Value = (u32, u32);

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<(u32, u32), D::Error> {
        key.deserialize_any(self)
    }
}

macro_rules! keys {
    ($($method:ident($type:ty)),*) => {$(
        fn $method<E: de::Error>(self, key: $type) -> Result<(u32, u32), E> {
            self.value(key.into_deserializer())
        }
    )*};
}

impl<'de> Visitor<'de> for LabelReader<'_> {
    type Value = (u32, u32);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    #[inline]
    fn visit_str<E: de::Error>(self, key: &str) -> Result<(u32, u32), E> {
        if let Some((label, place)) = self.recorder.places.guess(self.place, *self.guess)
            && self.recorder.interner.text_is(label, key)
        {
            *self.guess += 1;
            return Ok((label, place));
        }
        let label = self.recorder.interner.intern_text(key);
        self.found(label)
    }

    keys! {
        visit_bool(bool), visit_i8(i8), visit_i16(i16), visit_i32(i32), visit_i64(i64),
        visit_i128(i128), visit_u8(u8), visit_u16(u16), visit_u32(u32), visit_u64(u64),
        visit_u128(u128), visit_f32(f32), visit_f64(f64), visit_char(char)
    }

    fn visit_bytes<E: de::Error>(self, key: &[u8]) -> Result<(u32, u32), E> {
        self.value(BytesDeserializer::new(key))
    }

    fn visit_unit<E: de::Error>(self) -> Result<(u32, u32), E> {
        self.value(().into_deserializer())
    }

    fn visit_none<E: de::Error>(self) -> Result<(u32, u32), E> {
        let label = self.recorder.interner.intern_key(&Value::from(Leaf::None));
        self.found(label)
    }

    fn visit_some<D: Deserializer<'de>>(self, key: D) -> Result<(u32, u32), D::Error> {
        self.value(SomeDeserializer(key))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, key: D) -> Result<(u32, u32), D::Error> {
        self.deserialize(key)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, key: A) -> Result<(u32, u32), A::Error> {
        self.value(SeqAccessDeserializer::new(key))
    }

    fn visit_map<A: MapAccess<'de>>(self, key: A) -> Result<(u32, u32), A::Error> {
        self.value(MapAccessDeserializer::new(key))
    }
}

/// A present value, whose content is next.
struct SomeDeserializer<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for SomeDeserializer<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        visitor.visit_some(self.0)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}
