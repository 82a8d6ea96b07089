//! The objects of a pickle as a tree.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use serde::ser::{Error as _, Serialize, SerializeTuple, Serializer};
use treedef::{Dtype, Key, Leaf, NodeHead, NodeKind, Path, Tree, TreeDef, TreeDefBuilder, Value};

use crate::bug::bug;
use crate::descriptor::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::formats::pytorch::constructors::{self, Made, View};
use crate::formats::pytorch::object::{Call, Graph, Id, Object};
use crate::formats::pytorch::place::Places;
use crate::source::Stored;

/// The maximum nesting of objects, the default limit of structures.
const MAX_DEPTH: usize = 120;
/// An object may be in several places: this many times the number of objects, and some more.
const PLACES: usize = 64;
const MORE_PLACES: usize = 1 << 16;
/// The maximum number of bytes of texts, each of which may be in several places.
const MAX_TEXT: usize = 1 << 29;
/// The maximum number of parts of a key, which may be nested tuples.
const MAX_KEY: usize = 64;

/// A place in the tree that has no children.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    /// The tensor with this number.
    Tensor(usize),
    Value(Leaf),
}

/// The content of a pickle.
pub(super) struct Found<'a> {
    pub(super) tree: Tree<Slot>,
    pub(super) tensors: Vec<(View, Stored<'a>)>,
    /// The tensors that cannot be read, with the reasons.
    pub(super) faults: Vec<(Path, String)>,
}

pub(super) fn found<'a>(root: Id, places: Places<'_, 'a>) -> Result<Found<'a>> {
    let left = places.graph.len().saturating_mul(PLACES).saturating_add(MORE_PLACES);
    let mut walk = Walk {
        graph: places.graph,
        places,
        tensors: Vec::new(),
        faults: Vec::new(),
        path: Vec::new(),
        open: Vec::new(),
        left,
        text: MAX_TEXT,
    };
    let part = walk.part(root)?;
    let tree = Tree::new(part.treedef, part.slots)?;
    let Walk { tensors, faults, .. } = walk;
    Ok(Found { tree, tensors, faults })
}

/// A subtree.
struct Part {
    treedef: TreeDef,
    slots: Vec<Slot>,
}

impl Part {
    fn leaf(leaf: impl Into<Leaf>) -> Self {
        Part { treedef: TreeDef::leaf(), slots: vec![Slot::Value(leaf.into())] }
    }
}

struct Walk<'p, 'a> {
    graph: &'p Graph,
    places: Places<'p, 'a>,
    tensors: Vec<(View, Stored<'a>)>,
    faults: Vec<(Path, String)>,
    path: Vec<Key>,
    /// The objects around the current one.
    open: Vec<Id>,
    /// The number of places that may still follow, and of bytes of texts.
    left: usize,
    text: usize,
}

impl<'p> Walk<'p, '_> {
    fn here(&self) -> Path {
        Path::from(self.path.clone())
    }

    fn beyond(&self, limited: &'static str, what: impl Into<String>) -> Error {
        Error::from(ErrorKind::limit(limited, what)).at_path(self.here())
    }

    fn part(&mut self, id: Id) -> Result<Part> {
        let left = self.left.checked_sub(1);
        self.left = left.ok_or_else(|| {
            self.beyond("places of objects", "the same objects are in too many places")
        })?;
        if self.open.contains(&id) {
            return Ok(Part::leaf("<the object around it>"));
        }
        if self.open.len() >= MAX_DEPTH {
            let what = format!("objects nested deeper than {MAX_DEPTH} levels");
            return Err(self.beyond("levels", what));
        }
        self.open.push(id);
        let part = self.object(id);
        self.open.pop();
        part
    }

    fn object(&mut self, id: Id) -> Result<Part> {
        let graph = self.graph;
        Ok(match graph.get(id) {
            Object::None => Part { treedef: "None".parse()?, slots: Vec::new() },
            Object::Bool(value) => Part::leaf(*value),
            Object::Int(number) => Part::leaf(integer(*number)),
            Object::Large(bytes) => Part::leaf(large(bytes)),
            Object::Float(number) => Part::leaf(*number),
            Object::Text(text) => self.text(text.len(), || text.to_string().into())?,
            Object::Bytes(bytes) => self.text(bytes.len(), || Leaf::from(bytes.to_vec()))?,
            Object::List(ids) | Object::Set(ids) => self.children(NodeKind::Seq, "", ids)?,
            Object::Tuple(ids) => self.children(NodeKind::Tuple, "", ids)?,
            Object::Dict(entries) => self.map(entries)?,
            Object::Global(name) => self.text(name.len(), || name_of(name).into())?,
            Object::Persistent(inside) => match constructors::storage(graph, id) {
                Some(storage) => self.tensor(constructors::whole(&storage))?,
                None => self.persistent(*inside)?,
            },
            Object::Call(call) => match constructors::made(graph, call) {
                Some(made) => self.made(made)?,
                None => self.opaque(call)?,
            },
        })
    }

    /// `('module', class, file, source)`, as in old files; or an unknown object.
    fn persistent(&mut self, inside: Id) -> Result<Part> {
        match self.graph.elements(inside) {
            Some([kind, class, ..]) if self.graph.text(*kind) == Some("module") => {
                self.part(*class)
            }
            _ => self.children(NodeKind::TupleStruct, "<persistent>", &[inside]),
        }
    }

    fn text(&mut self, length: usize, leaf: impl FnOnce() -> Leaf) -> Result<Part> {
        let left = self.text.checked_sub(length);
        self.text = left.ok_or_else(|| {
            self.beyond("bytes of texts", format!("more than {MAX_TEXT} bytes of texts"))
        })?;
        Ok(Part::leaf(leaf()))
    }

    fn made(&mut self, made: Made) -> Result<Part> {
        match made {
            Made::Same(id) => self.part(id),
            Made::Text(text) => self.text(text.len(), || text.into()),
            Made::Bytes(bytes) => self.text(bytes.len(), || bytes.into()),
            Made::Seq(ids) => self.children(NodeKind::Seq, "", &ids),
            Made::Tuple(ids) => self.children(NodeKind::Tuple, "", &ids),
            Made::Map(entries) => self.map(&entries),
            Made::Struct(name, fields) => {
                let fields = fields.into_iter().map(|(name, id)| (name.to_owned(), id)).collect();
                self.fields(&name, fields)
            }
            Made::Tensor(view) => self.tensor(view),
            Made::Scalar(view) => self.scalar(&view),
        }
    }

    fn tensor(&mut self, view: View) -> Result<Part> {
        match self.places.stored(&view) {
            Ok((stored, fault)) => {
                let here = fault.map(|why| (self.here(), why));
                self.faults.extend(here);
                let slots = vec![Slot::Tensor(self.tensors.len())];
                self.tensors.push((view, stored));
                Ok(Part { treedef: TreeDef::leaf(), slots })
            }
            Err(why) => {
                let part = self.text(why.len(), || format!("<unreadable: {why}>").into());
                self.faults.push((self.here(), why));
                part
            }
        }
    }

    /// A number of numpy. If Rust has no such number, the tensor without dimensions.
    fn scalar(&mut self, view: &View) -> Result<Part> {
        let stored = self.places.stored(view);
        let bytes =
            stored.ok().and_then(|(stored, _)| Some(stored.read_bytes().ok()?.into_owned()));
        let leaf = bytes.and_then(|bytes| number(view.element, &bytes));
        leaf.map_or_else(|| self.tensor(view.clone()), |leaf| Ok(Part::leaf(leaf)))
    }

    fn children(&mut self, kind: NodeKind, name: &str, ids: &[Id]) -> Result<Part> {
        let mut builder = TreeDefBuilder::new();
        builder.open(NodeHead { name, ..kind.into() }, 1)?;
        let mut slots = Vec::new();
        for (position, id) in ids.iter().enumerate() {
            self.path.push(match kind {
                NodeKind::Seq => Key::Index(position),
                _ => Key::Position(position),
            });
            let part = self.part(*id)?;
            self.path.pop();
            builder.insert(&part.treedef, 1)?;
            slots.extend(part.slots);
        }
        builder.close()?;
        Ok(Part { treedef: builder.finish()?, slots })
    }

    fn map(&mut self, entries: &[(Id, Id)]) -> Result<Part> {
        // If two keys are equal, Python has the last value, in the place of the first.
        let (mut order, mut values) = (Vec::new(), HashMap::new());
        for (key, value) in entries {
            let key = self.key(*key)?;
            if values.insert(key.clone(), *value).is_none() {
                order.push(key);
            }
        }
        let mut children = BTreeMap::new();
        let mut treedefs = Vec::new();
        for key in order {
            let id = values.get(&key).ok_or_else(|| bug!("a key without a value"))?;
            self.path.push(Key::Entry(key.clone()));
            let part = self.part(*id)?;
            self.path.pop();
            treedefs.push((key.clone(), part.treedef));
            children.insert(key, part.slots);
        }
        // The leaves of a map are in the order of its keys.
        Ok(Part {
            treedef: TreeDef::map(treedefs)?,
            slots: children.into_values().flatten().collect(),
        })
    }

    fn key(&mut self, id: Id) -> Result<Value> {
        let (parts, text) = (Cell::new(MAX_KEY), Cell::new(self.text));
        let room = Room { parts: &parts, text: &text };
        let key = Value::of(&HashableKey { graph: self.graph, id, room });
        self.text = text.get();
        key.map_err(|_| self.beyond("parts of a key", "a key of a dict that is too large"))
    }

    fn fields(&mut self, name: &str, fields: Vec<(String, Id)>) -> Result<Part> {
        let (mut treedefs, mut slots) = (Vec::new(), Vec::new());
        for (field, id) in fields {
            self.path.push(Key::Field(field.clone().into()));
            let part = self.part(id)?;
            self.path.pop();
            treedefs.push((field, part.treedef));
            slots.extend(part.slots);
        }
        let fields = treedefs.iter().map(|(field, treedef)| (field.as_str(), treedef.clone()));
        Ok(Part { treedef: TreeDef::named_struct(name, fields)?, slots })
    }

    /// An object of an unknown class: a struct with the name of the class and the fields that it would
    /// have. If it has no fields, it has the arguments of the call.
    fn opaque(&mut self, call: &'p Call) -> Result<Part> {
        let graph = self.graph;
        let (class, arguments) = class_of(graph, call);
        let name = match graph.global(class) {
            Some(name) => name_of(name),
            None => "<called>".to_owned(),
        };
        let state = call.state.and_then(|state| attributes(graph, state));
        let is_plain = arguments.is_empty() && call.items.is_empty() && call.entries.is_empty();
        match (state, call.state) {
            (Some(fields), _) if is_plain && call.named.is_none() => self.fields(&name, fields),
            (_, None)
                if call.items.is_empty() && call.entries.is_empty() && call.named.is_none() =>
            {
                self.children(NodeKind::TupleStruct, &name, arguments)
            }
            _ => self.all_of(&name, call, arguments),
        }
    }

    /// Everything that is known about an object, in separate fields.
    fn all_of(&mut self, name: &str, call: &Call, arguments: &[Id]) -> Result<Part> {
        let arguments = Inside::Children(NodeKind::Tuple, arguments);
        let parts = [
            ("arguments", Some(arguments)),
            ("named", call.named.map(Inside::Object)),
            ("state", call.state.map(Inside::Object)),
            ("items", Some(Inside::Children(NodeKind::Seq, &call.items))),
            ("entries", Some(Inside::Entries(&call.entries))),
        ];
        let (mut treedefs, mut slots) = (Vec::new(), Vec::new());
        for (field, inside) in parts {
            let Some(inside) = inside.filter(|inside| !inside.is_empty()) else { continue };
            self.path.push(Key::Field(field.into()));
            let part = match inside {
                Inside::Object(id) => self.part(id)?,
                Inside::Children(kind, ids) => self.children(kind, "", ids)?,
                Inside::Entries(entries) => self.map(entries)?,
            };
            self.path.pop();
            treedefs.push((field, part.treedef));
            slots.extend(part.slots);
        }
        Ok(Part { treedef: TreeDef::named_struct(name, treedefs)?, slots })
    }
}

/// A part of an object of an unknown class.
enum Inside<'g> {
    Object(Id),
    Children(NodeKind, &'g [Id]),
    Entries(&'g [(Id, Id)]),
}

impl Inside<'_> {
    fn is_empty(&self) -> bool {
        match self {
            Inside::Object(_) => false,
            Inside::Children(_, ids) => ids.is_empty(),
            Inside::Entries(entries) => entries.is_empty(),
        }
    }
}

fn name_of(global: &str) -> String {
    format!("<{global}>")
}

/// The class of an object, also where a function makes it: `copyreg._reconstructor(class, object, None)`.
fn class_of<'g>(graph: &'g Graph, call: &'g Call) -> (Id, &'g [Id]) {
    let arguments = graph.arguments(call);
    match (graph.global(call.callee), arguments) {
        (Some("copyreg._reconstructor" | "copy_reg._reconstructor"), [class, ..]) => (*class, &[]),
        (Some("copyreg.__newobj__" | "copy_reg.__newobj__"), [class, rest @ ..]) => (*class, rest),
        _ => (call.callee, arguments),
    }
}

/// A state as the attributes of an object: from its dict and its slots.
fn attributes(graph: &Graph, state: Id) -> Option<Vec<(String, Id)>> {
    let dicts = match graph.get(state) {
        Object::Tuple(both) if both.len() == 2 => both.to_vec(),
        _ => vec![state],
    };
    let mut fields: Vec<(String, Id)> = Vec::new();
    let mut places = HashMap::new();
    for dict in dicts {
        let entries = match graph.get(dict) {
            Object::Dict(entries) => entries,
            Object::None => continue,
            _ => return None,
        };
        for (key, value) in entries {
            let key = graph.text(*key)?;
            let at = *places.entry(key).or_insert(fields.len());
            match fields.get_mut(at) {
                Some((_, old)) => *old = *value,
                None => fields.push((key.to_owned(), *value)),
            }
        }
    }
    Some(fields)
}

fn integer(number: i128) -> Leaf {
    i64::try_from(number).map_or_else(|_| Leaf::from(number), Leaf::from)
}

/// The maximum number of bytes of an integer that is converted to decimal digits.
const DECIMAL: usize = 1 << 10;

/// An integer of more than 128 bits with a sign: its digits, which are hexadecimal if there are many.
fn large(bytes: &[u8]) -> Leaf {
    let (low, high) = bytes.split_at_checked(16).unwrap_or((bytes, &[]));
    if let ([0], Ok(low)) = (high, low.try_into()) {
        return Leaf::from(u128::from_le_bytes(low));
    }
    let is_negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
    let mut carry = is_negative;
    let magnitude: Vec<u8> = bytes
        .iter()
        .map(|byte| {
            let byte = if is_negative { !byte } else { *byte };
            let (sum, over) = byte.overflowing_add(u8::from(carry));
            carry = over;
            sum
        })
        .collect();
    let sign = if is_negative { "-" } else { "" };
    if magnitude.len() <= DECIMAL {
        return Leaf::from(format!("{sign}{}", decimal(magnitude)));
    }
    let digits: String = magnitude.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    Leaf::from(format!("{sign}0x{}", digits.trim_start_matches('0')))
}

/// The digits of a number, lowest byte first.
fn decimal(mut number: Vec<u8>) -> String {
    let mut digits = Vec::new();
    while number.iter().any(|byte| *byte > 0) {
        let mut rest = 0_u16;
        for byte in number.iter_mut().rev() {
            let dividend = rest * 256 + u16::from(*byte); // below 2560
            *byte = u8::try_from(dividend / 10).unwrap_or(u8::MAX); // at most 255
            rest = dividend % 10;
        }
        digits.push(char::from(b'0' + u8::try_from(rest).unwrap_or(0))); // a digit
    }
    digits.iter().rev().collect()
}

/// A number of numpy as a leaf.
fn number(element: ElementType, bytes: &[u8]) -> Option<Leaf> {
    macro_rules! leaf {
        ($type:ty) => {
            Leaf::from(<$type>::from_le_bytes(bytes.try_into().ok()?))
        };
    }
    let ElementType::Dtype(dtype) = element else { return None };
    Some(match dtype {
        Dtype::Bool => Leaf::from(bytes == [1]),
        Dtype::U8 => leaf!(u8),
        Dtype::I8 => leaf!(i8),
        Dtype::U16 => leaf!(u16),
        Dtype::I16 => leaf!(i16),
        Dtype::U32 => leaf!(u32),
        Dtype::I32 => leaf!(i32),
        Dtype::U64 => leaf!(u64),
        Dtype::I64 => leaf!(i64),
        Dtype::F32 => leaf!(f32),
        Dtype::F64 => leaf!(f64),
        _ => return None,
    })
}

/// The number of parts, and of bytes of text, that a key may still have.
#[derive(Clone, Copy)]
struct Room<'r> {
    parts: &'r Cell<usize>,
    text: &'r Cell<usize>,
}

impl Room<'_> {
    fn take(self, text: usize) -> Option<()> {
        self.parts.set(self.parts.get().checked_sub(1)?);
        self.text.set(self.text.get().checked_sub(text)?);
        Some(())
    }
}

/// A key of a dict: a scalar, or a tuple of keys. An object becomes the tuple of its class and its
/// arguments; an object with more data also gets its number.
struct HashableKey<'g> {
    graph: &'g Graph,
    id: Id,
    room: Room<'g>,
}

impl Serialize for HashableKey<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let HashableKey { graph, id, room } = *self;
        let length = match graph.get(id) {
            Object::Text(text) | Object::Global(text) => text.len(),
            Object::Bytes(bytes) | Object::Large(bytes) => bytes.len(),
            _ => 0,
        };
        room.take(length).ok_or_else(|| S::Error::custom("too large"))?;
        match graph.get(id) {
            Object::None => serializer.serialize_none(),
            Object::Text(text) => serializer.serialize_str(text),
            Object::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Object::Bool(value) => serializer.serialize_bool(*value),
            Object::Float(number) => serializer.serialize_f64(*number),
            Object::Global(name) => serializer.serialize_str(&name_of(name)),
            Object::Int(number) => match i64::try_from(*number) {
                Ok(number) => serializer.serialize_i64(number),
                Err(_) => serializer.serialize_i128(*number),
            },
            Object::Large(bytes) => large(bytes).serialize(serializer),
            Object::Tuple(ids) => {
                let mut tuple = serializer.serialize_tuple(ids.len())?;
                for id in ids {
                    tuple.serialize_element(&HashableKey { graph, id: *id, room })?;
                }
                tuple.end()
            }
            Object::Call(call) => match constructors::made(graph, call) {
                Some(Made::Text(text)) => serializer.serialize_str(&text),
                Some(Made::Bytes(bytes)) => serializer.serialize_bytes(&bytes),
                Some(Made::Same(id)) => HashableKey { graph, id, room }.serialize(serializer),
                _ => {
                    let (class, arguments) = class_of(graph, call);
                    let name = graph.global(class).unwrap_or("object");
                    let has_more = call.named.or(call.state).is_some()
                        || !(call.items.is_empty() && call.entries.is_empty());
                    if has_more || arguments.is_empty() {
                        return serializer.serialize_str(&format!("<{name} {id}>"));
                    }
                    // Such as a member of an enum, by its value.
                    let mut tuple =
                        serializer.serialize_tuple(arguments.len().saturating_add(1))?;
                    tuple.serialize_element(&name_of(name))?;
                    for id in arguments {
                        tuple.serialize_element(&HashableKey { graph, id: *id, room })?;
                    }
                    tuple.end()
                }
            },
            _ => serializer.serialize_str(&format!("<object {id}>")),
        }
    }
}
