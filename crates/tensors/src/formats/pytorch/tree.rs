//! The objects of a pickle as a tree.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use serde::ser::{Error as _, Serialize, SerializeTuple, Serializer};
use treedef::{Dtype, Key, Leaf, NodeHead, NodeKind, Path, Tree, TreeDef, TreeDefBuilder, Value};

use crate::bug::bug;
use crate::descriptor::NumberType;
use crate::error::{Error, ErrorKind, Result};
use crate::formats::pytorch::constructors::{self, CallResult, StorageView};
use crate::formats::pytorch::object::{Call, Graph, Object, ObjectId};
use crate::formats::pytorch::tensor_locator::TensorLocator;
use crate::source::StoredTensor;

/// The maximum nesting of objects, the default limit of structures.
const MAX_DEPTH: usize = 120;
/// An object may be in several places: this many times the number of objects, and some more.
const OCCURRENCES: usize = 64;
const MORE_OCCURRENCES: usize = 1 << 16;
/// The maximum number of bytes of texts, each of which may be in several places.
const MAX_TEXT: usize = 1 << 29;
/// The maximum number of parts of a key, which may be nested tuples.
const MAX_KEY: usize = 64;

/// A leaf of the tree of a pickle.
#[derive(Clone, Debug)]
pub(super) enum PickledLeaf {
    /// The tensor with this number.
    Tensor(usize),
    Value(Leaf),
}

/// The content of a pickle.
pub(super) struct PickledTree<'a> {
    pub(super) tree: Tree<PickledLeaf>,
    pub(super) tensors: Vec<(StorageView, StoredTensor<'a>)>,
    /// The tensors that cannot be read, with the reasons.
    pub(super) faults: Vec<(Path, String)>,
}

pub(super) fn tree<'a>(root: ObjectId, locator: TensorLocator<'_, 'a>) -> Result<PickledTree<'a>> {
    let left = locator.graph.len().saturating_mul(OCCURRENCES).saturating_add(MORE_OCCURRENCES);
    let mut walk = GraphWalk {
        graph: locator.graph,
        locator,
        tensors: Vec::new(),
        faults: Vec::new(),
        path: Vec::new(),
        open: Vec::new(),
        left,
        text: MAX_TEXT,
    };
    let subtree = walk.subtree(root)?;
    let tree = Tree::new(subtree.treedef, subtree.leaves)?;
    let GraphWalk { tensors, faults, .. } = walk;
    Ok(PickledTree { tree, tensors, faults })
}

/// A subtree.
struct Subtree {
    treedef: TreeDef,
    leaves: Vec<PickledLeaf>,
}

impl Subtree {
    fn leaf(leaf: impl Into<Leaf>) -> Self {
        Subtree { treedef: TreeDef::leaf(), leaves: vec![PickledLeaf::Value(leaf.into())] }
    }
}

struct GraphWalk<'p, 'a> {
    graph: &'p Graph,
    locator: TensorLocator<'p, 'a>,
    tensors: Vec<(StorageView, StoredTensor<'a>)>,
    faults: Vec<(Path, String)>,
    path: Vec<Key>,
    /// The objects around the current one.
    open: Vec<ObjectId>,
    /// The number of places that may still follow, and of bytes of texts.
    left: usize,
    text: usize,
}

impl<'p> GraphWalk<'p, '_> {
    fn here(&self) -> Path {
        Path::from(self.path.clone())
    }

    fn beyond(&self, limited: &'static str, what: impl Into<String>) -> Error {
        Error::from(ErrorKind::limit(limited, what)).at_path(self.here())
    }

    fn subtree(&mut self, id: ObjectId) -> Result<Subtree> {
        let left = self.left.checked_sub(1);
        self.left = left.ok_or_else(|| {
            self.beyond("places of objects", "the same objects are in too many places")
        })?;
        if self.open.contains(&id) {
            return Ok(Subtree::leaf("<the object around it>"));
        }
        if self.open.len() >= MAX_DEPTH {
            let what = format!("objects nested deeper than {MAX_DEPTH} levels");
            return Err(self.beyond("levels", what));
        }
        self.open.push(id);
        let subtree = self.object(id);
        self.open.pop();
        subtree
    }

    fn object(&mut self, id: ObjectId) -> Result<Subtree> {
        let graph = self.graph;
        Ok(match graph.get(id) {
            Object::None => Subtree { treedef: "None".parse()?, leaves: Vec::new() },
            Object::Bool(value) => Subtree::leaf(*value),
            Object::Int(number) => Subtree::leaf(integer(*number)),
            Object::Large(bytes) => Subtree::leaf(large(bytes)),
            Object::Float(number) => Subtree::leaf(*number),
            Object::Text(text) => self.text(text.len(), || text.to_string().into())?,
            Object::Bytes(bytes) => self.text(bytes.len(), || Leaf::from(bytes.to_vec()))?,
            Object::List(ids) | Object::Set(ids) => self.children(NodeKind::Seq, "", ids)?,
            Object::Tuple(ids) => self.children(NodeKind::Tuple, "", ids)?,
            Object::Dict(entries) => self.map(entries)?,
            Object::Global(name) => self.text(name.len(), || name_of(name).into())?,
            Object::Persistent(part) => match constructors::storage(graph, id) {
                Some(storage) => self.tensor(constructors::whole(&storage))?,
                None => self.persistent(*part)?,
            },
            Object::Call(call) => match constructors::call_result(graph, call) {
                Some(result) => self.call_result(result)?,
                None => self.opaque(call)?,
            },
        })
    }

    /// `('module', class, file, source)`, as in old files; or an unknown object.
    fn persistent(&mut self, part: ObjectId) -> Result<Subtree> {
        match self.graph.elements(part) {
            Some([kind, class, ..]) if self.graph.text(*kind) == Some("module") => {
                self.subtree(*class)
            }
            _ => self.children(NodeKind::TupleStruct, "<persistent>", &[part]),
        }
    }

    fn text(&mut self, length: usize, leaf: impl FnOnce() -> Leaf) -> Result<Subtree> {
        let left = self.text.checked_sub(length);
        self.text = left.ok_or_else(|| {
            self.beyond("bytes of texts", format!("more than {MAX_TEXT} bytes of texts"))
        })?;
        Ok(Subtree::leaf(leaf()))
    }

    fn call_result(&mut self, result: CallResult) -> Result<Subtree> {
        match result {
            CallResult::Same(id) => self.subtree(id),
            CallResult::Text(text) => self.text(text.len(), || text.into()),
            CallResult::Bytes(bytes) => self.text(bytes.len(), || bytes.into()),
            CallResult::Seq(ids) => self.children(NodeKind::Seq, "", &ids),
            CallResult::Tuple(ids) => self.children(NodeKind::Tuple, "", &ids),
            CallResult::Map(entries) => self.map(&entries),
            CallResult::Struct(name, fields) => {
                let fields = fields.into_iter().map(|(name, id)| (name.to_owned(), id)).collect();
                self.fields(&name, fields)
            }
            CallResult::Tensor(view) => self.tensor(view),
            CallResult::Scalar(view) => self.scalar(&view),
        }
    }

    fn tensor(&mut self, view: StorageView) -> Result<Subtree> {
        match self.locator.stored(&view) {
            Ok((stored, fault)) => {
                let here = fault.map(|why| (self.here(), why));
                self.faults.extend(here);
                let leaves = vec![PickledLeaf::Tensor(self.tensors.len())];
                self.tensors.push((view, stored));
                Ok(Subtree { treedef: TreeDef::leaf(), leaves })
            }
            Err(why) => {
                let subtree = self.text(why.len(), || format!("<unreadable: {why}>").into());
                self.faults.push((self.here(), why));
                subtree
            }
        }
    }

    /// A number of numpy. If Rust has no such number, the tensor without dimensions.
    fn scalar(&mut self, view: &StorageView) -> Result<Subtree> {
        let stored = self.locator.stored(view);
        let bytes =
            stored.ok().and_then(|(stored, _)| Some(stored.read_bytes().ok()?.into_owned()));
        let leaf = bytes.and_then(|bytes| number(view.element, &bytes));
        leaf.map_or_else(|| self.tensor(view.clone()), |leaf| Ok(Subtree::leaf(leaf)))
    }

    fn children(&mut self, kind: NodeKind, name: &str, ids: &[ObjectId]) -> Result<Subtree> {
        let mut builder = TreeDefBuilder::new();
        builder.open(NodeHead { name, ..kind.into() }, 1)?;
        let mut leaves = Vec::new();
        for (position, id) in ids.iter().enumerate() {
            self.path.push(match kind {
                NodeKind::Seq => Key::Index(position),
                _ => Key::Position(position),
            });
            let subtree = self.subtree(*id)?;
            self.path.pop();
            builder.insert(&subtree.treedef, 1)?;
            leaves.extend(subtree.leaves);
        }
        builder.close()?;
        Ok(Subtree { treedef: builder.finish()?, leaves })
    }

    fn map(&mut self, entries: &[(ObjectId, ObjectId)]) -> Result<Subtree> {
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
            let subtree = self.subtree(*id)?;
            self.path.pop();
            treedefs.push((key.clone(), subtree.treedef));
            children.insert(key, subtree.leaves);
        }
        // The leaves of a map are in the order of its keys.
        Ok(Subtree {
            treedef: TreeDef::map(treedefs)?,
            leaves: children.into_values().flatten().collect(),
        })
    }

    fn key(&mut self, id: ObjectId) -> Result<Value> {
        let (parts, text) = (Cell::new(MAX_KEY), Cell::new(self.text));
        let budget = KeyBudget { parts: &parts, text: &text };
        let key = Value::of(&HashableKey { graph: self.graph, id, budget });
        self.text = text.get();
        key.map_err(|_| self.beyond("parts of a key", "a key of a dict that is too large"))
    }

    fn fields(&mut self, name: &str, fields: Vec<(String, ObjectId)>) -> Result<Subtree> {
        let (mut treedefs, mut leaves) = (Vec::new(), Vec::new());
        for (field, id) in fields {
            self.path.push(Key::Field(field.clone().into()));
            let subtree = self.subtree(id)?;
            self.path.pop();
            treedefs.push((field, subtree.treedef));
            leaves.extend(subtree.leaves);
        }
        let fields = treedefs.iter().map(|(field, treedef)| (field.as_str(), treedef.clone()));
        Ok(Subtree { treedef: TreeDef::named_struct(name, fields)?, leaves })
    }

    /// An object of an unknown class: a struct with the name of the class and the fields that it would
    /// have. If it has no fields, it has the arguments of the call.
    fn opaque(&mut self, call: &'p Call) -> Result<Subtree> {
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
    fn all_of(&mut self, name: &str, call: &Call, arguments: &[ObjectId]) -> Result<Subtree> {
        let arguments = ObjectPart::Children(NodeKind::Tuple, arguments);
        let parts = [
            ("arguments", Some(arguments)),
            ("named", call.named.map(ObjectPart::Object)),
            ("state", call.state.map(ObjectPart::Object)),
            ("items", Some(ObjectPart::Children(NodeKind::Seq, &call.items))),
            ("entries", Some(ObjectPart::Entries(&call.entries))),
        ];
        let (mut treedefs, mut leaves) = (Vec::new(), Vec::new());
        for (field, part) in parts {
            let Some(part) = part.filter(|part| !part.is_empty()) else { continue };
            self.path.push(Key::Field(field.into()));
            let subtree = match part {
                ObjectPart::Object(id) => self.subtree(id)?,
                ObjectPart::Children(kind, ids) => self.children(kind, "", ids)?,
                ObjectPart::Entries(entries) => self.map(entries)?,
            };
            self.path.pop();
            treedefs.push((field, subtree.treedef));
            leaves.extend(subtree.leaves);
        }
        Ok(Subtree { treedef: TreeDef::named_struct(name, treedefs)?, leaves })
    }
}

/// A part of an object of an unknown class.
enum ObjectPart<'g> {
    Object(ObjectId),
    Children(NodeKind, &'g [ObjectId]),
    Entries(&'g [(ObjectId, ObjectId)]),
}

impl ObjectPart<'_> {
    fn is_empty(&self) -> bool {
        match self {
            ObjectPart::Object(_) => false,
            ObjectPart::Children(_, ids) => ids.is_empty(),
            ObjectPart::Entries(entries) => entries.is_empty(),
        }
    }
}

fn name_of(global: &str) -> String {
    format!("<{global}>")
}

/// The class of an object, also where a function makes it: `copyreg._reconstructor(class, object, None)`.
fn class_of<'g>(graph: &'g Graph, call: &'g Call) -> (ObjectId, &'g [ObjectId]) {
    let arguments = graph.arguments(call);
    match (graph.global(call.callee), arguments) {
        (Some("copyreg._reconstructor" | "copy_reg._reconstructor"), [class, ..]) => (*class, &[]),
        (Some("copyreg.__newobj__" | "copy_reg.__newobj__"), [class, rest @ ..]) => (*class, rest),
        _ => (call.callee, arguments),
    }
}

/// A state as the attributes of an object: from its dict and its slots.
fn attributes(graph: &Graph, state: ObjectId) -> Option<Vec<(String, ObjectId)>> {
    let dicts = match graph.get(state) {
        Object::Tuple(both) if both.len() == 2 => both.to_vec(),
        _ => vec![state],
    };
    let mut fields: Vec<(String, ObjectId)> = Vec::new();
    let mut locator = HashMap::new();
    for dict in dicts {
        let entries = match graph.get(dict) {
            Object::Dict(entries) => entries,
            Object::None => continue,
            _ => return None,
        };
        for (key, value) in entries {
            let key = graph.text(*key)?;
            let at = *locator.entry(key).or_insert(fields.len());
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
fn number(element: NumberType, bytes: &[u8]) -> Option<Leaf> {
    macro_rules! leaf {
        ($type:ty) => {
            Leaf::from(<$type>::from_le_bytes(bytes.try_into().ok()?))
        };
    }
    let NumberType::Dtype(dtype) = element else { return None };
    Some(match dtype {
        Dtype::Bool => Leaf::from(bytes.first().filter(|byte| **byte < 2)? == &1),
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
struct KeyBudget<'r> {
    parts: &'r Cell<usize>,
    text: &'r Cell<usize>,
}

impl KeyBudget<'_> {
    fn spend(self, text: usize) -> Option<()> {
        self.parts.set(self.parts.get().checked_sub(1)?);
        self.text.set(self.text.get().checked_sub(text)?);
        Some(())
    }
}

/// A key of a dict: a scalar, or a tuple of keys. An object becomes the tuple of its class and its
/// arguments; an object with more data also gets its number.
struct HashableKey<'g> {
    graph: &'g Graph,
    id: ObjectId,
    budget: KeyBudget<'g>,
}

impl Serialize for HashableKey<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let HashableKey { graph, id, budget } = *self;
        let length = match graph.get(id) {
            Object::Text(text) | Object::Global(text) => text.len(),
            Object::Bytes(bytes) | Object::Large(bytes) => bytes.len(),
            _ => 0,
        };
        budget.spend(length).ok_or_else(|| S::Error::custom("too large"))?;
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
                    tuple.serialize_element(&HashableKey { graph, id: *id, budget })?;
                }
                tuple.end()
            }
            Object::Call(call) => match constructors::call_result(graph, call) {
                Some(CallResult::Text(text)) => serializer.serialize_str(&text),
                Some(CallResult::Bytes(bytes)) => serializer.serialize_bytes(&bytes),
                Some(CallResult::Same(id)) => {
                    HashableKey { graph, id, budget }.serialize(serializer)
                }
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
                        tuple.serialize_element(&HashableKey { graph, id: *id, budget })?;
                    }
                    tuple.end()
                }
            },
            _ => serializer.serialize_str(&format!("<object {id}>")),
        }
    }
}
