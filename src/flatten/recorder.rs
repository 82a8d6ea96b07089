//! serde's side of a [recording](super::recording).
//!
//! Only code that depends on the type of a value is here, because it is compiled for each type. The
//! recording does the rest, and is compiled once.

use std::fmt::{self, Display};
use std::mem;

use serde::{Serialize, Serializer};

use crate::call_stack;
use crate::error::{Error, Result};
use crate::leaf::Scalar;
use crate::leaf::sink::Sink;
use crate::model::{NodeHead, NodeKind, TreeDef, Value};

use super::calls::{children, nodes, scalars, text_of};
use super::recording::Recording;
use super::rows::{Progress, put_row};
use super::rules::Keep;

impl Recording {
    /// Records a whole value. Returns its structure, its leaves, and which rules applied.
    pub(super) fn record<T: Serialize + ?Sized>(
        mut self: Box<Self>,
        value: &T,
    ) -> Result<(TreeDef, Sink, Vec<bool>)> {
        value.serialize(Recorder(&mut self))?;
        self.finish()
    }

    /// Records a whole value as one kept value.
    pub(super) fn record_value<T: Serialize + ?Sized>(
        mut self: Box<Self>,
        value: &T,
    ) -> Result<Value> {
        self.begin_keeping(Keep::Static, false)?;
        value.serialize(Recorder(&mut self))?;
        self.finish_value()
    }
}

/// Records the next value.
pub(super) struct Recorder<'r>(&'r mut Recording);

/// The innermost open compound.
pub(super) struct Compound<'r> {
    recording: &'r mut Recording,
    level: usize,
}

impl<'r> Recorder<'r> {
    fn open(self, head: NodeHead<'static>) -> Result<Compound<'r>> {
        self.0.open(head)?;
        Ok(self.compound())
    }

    fn compound(self) -> Compound<'r> {
        Compound { level: self.0.level(), recording: self.0 }
    }
}

impl Compound<'_> {
    #[inline]
    fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let place = Recorder(self.recording.child(const { mem::needs_drop::<T>() }));
        let child = call_stack::grow!(value.serialize(place));
        self.recording.child_came(self.level, child)
    }

    #[inline]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
        let place = Recorder(self.recording.field(name, const { mem::needs_drop::<T>() }));
        let child = call_stack::grow!(value.serialize(place));
        self.recording.child_came(self.level, child)
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        let key = call_stack::grow!(key.serialize(Recorder(self.recording.key()?)));
        self.recording.key_came(key)
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let place = Recorder(self.recording.value(const { mem::needs_drop::<T>() })?);
        let child = call_stack::grow!(value.serialize(place));
        self.recording.child_came(self.level, child)
    }

    /// Records the only child, and closes the compound.
    fn around<T: Serialize + ?Sized>(mut self, value: &T) -> Result<()> {
        self.child(value)?;
        self.end()
    }

    #[inline]
    fn end(self) -> Result<()> {
        self.recording.close()
    }
}

impl<'r> Serializer for Recorder<'r> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'r>;
    type SerializeTuple = Compound<'r>;
    type SerializeTupleStruct = Compound<'r>;
    type SerializeTupleVariant = Compound<'r>;
    type SerializeMap = Compound<'r>;
    type SerializeStruct = Compound<'r>;
    type SerializeStructVariant = Compound<'r>;

    // Compiled once for each kind, so that the kind need not be tested at run time.
    scalars! { |self, scalar|
        #[inline(never)] floats: self.0.scalar(scalar),
        #[inline(never)] others: self.0.scalar(scalar),
    }

    nodes! { |self, head, value|
        atom: self.0.atom(head),
        around: self.open(head)?.around(value),
        open: self.open(head),
        fields: self.open(head),
    }

    fn serialize_none(self) -> Result<()> {
        self.0.none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        self.0.open_some()?;
        self.compound().around(value)
    }

    fn serialize_unit(self) -> Result<()> {
        self.0.unit()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        self.0.open_newtype(name, Keep::marked_by(name))?;
        self.compound().around(value)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'r>> {
        self.open(NodeHead::new(NodeKind::Map))
    }

    /// Records elements that look like the last one in rows.
    fn collect_seq<I: IntoIterator<Item: Serialize>>(self, items: I) -> Result<()> {
        let mut seq = match self.open(NodeHead::new(NodeKind::Seq)) {
            Ok(seq) => seq,
            Err(error) => return Err(error),
        };
        let (mut items, mut progress) = (items.into_iter(), Progress::default());
        let mut next = items.next();
        while let Some(item) = next {
            if let Err(error) = seq.child(&item) {
                return Err(error);
            }
            let hint = items.size_hint();
            next = put_row(seq.recording.row(&mut progress, hint), &mut items);
            if let Err(error) = seq.recording.row_came(&mut progress) {
                return Err(error);
            }
        }
        seq.recording.close()
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<()> {
        self.0.display(format_args!("{value}"))
    }

    fn is_human_readable(&self) -> bool {
        !self.0.is_compact()
    }
}

impl Recording {
    fn display(&mut self, value: fmt::Arguments<'_>) -> Result<()> {
        match text_of(value) {
            Some(text) => self.scalar(Scalar::Str(&text)),
            None => Err(Error::protocol("a `Display` implementation failed")),
        }
    }
}

children! {
    Compound<'_> => (), Error; #[inline];
    SerializeSeq: serialize_element() child;
    SerializeTuple: serialize_element() child;
    SerializeTupleStruct: serialize_field() child;
    SerializeTupleVariant: serialize_field() child;
    SerializeMap: serialize_key() key, serialize_value() value;
    SerializeStruct: serialize_field(name) field;
    SerializeStructVariant: serialize_field(name) field;
}
