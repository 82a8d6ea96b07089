//! The content of a pickle: descriptions of objects that refer to each other. No object is made.

/// The number of an object.
pub(super) type ObjectId = u32;

/// An object of Python.
#[derive(Debug)]
pub(super) enum Object {
    None,
    Bool(bool),
    Int(i128),
    /// An integer of more than 128 bits in two's complement, lowest byte first.
    Large(Box<[u8]>),
    Float(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
    List(Vec<ObjectId>),
    Tuple(Box<[ObjectId]>),
    Dict(Vec<(ObjectId, ObjectId)>),
    Set(Vec<ObjectId>),
    /// A class or a function: `torch.FloatStorage`.
    Global(Box<str>),
    Call(Box<Call>),
    /// A value that is stored beside the pickle.
    Persistent(ObjectId),
}

/// A call of a class or a function, and the operations on the result.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) callee: ObjectId,
    /// A tuple, unless the pickle is unusual.
    pub(super) arguments: ObjectId,
    /// The arguments by name.
    pub(super) named: Option<ObjectId>,
    pub(super) state: Option<ObjectId>,
    /// The appended items.
    pub(super) items: Vec<ObjectId>,
    /// The items that are set under keys.
    pub(super) entries: Vec<(ObjectId, ObjectId)>,
}

/// The objects of a pickle.
#[derive(Debug, Default)]
pub(super) struct Graph {
    objects: Vec<Object>,
}

impl Graph {
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The names of all classes and functions, even if nothing refers to them any more.
    pub(super) fn globals(&self) -> impl Iterator<Item = &str> {
        self.objects.iter().filter_map(|object| match object {
            Object::Global(name) => Some(&**name),
            _ => None,
        })
    }

    pub(super) fn add(&mut self, object: Object) -> ObjectId {
        // There are fewer objects than the unpickler allows.
        let id = ObjectId::try_from(self.objects.len()).unwrap_or(ObjectId::MAX);
        self.objects.push(object);
        id
    }

    pub(super) fn get(&self, id: ObjectId) -> &Object {
        let object = usize::try_from(id).ok().and_then(|at| self.objects.get(at));
        debug_assert!(object.is_some(), "an object that was never made");
        object.unwrap_or(&Object::None)
    }

    pub(super) fn get_mut(&mut self, id: ObjectId) -> Option<&mut Object> {
        self.objects.get_mut(usize::try_from(id).ok()?)
    }

    pub(super) fn call(&self, id: ObjectId) -> Option<&Call> {
        match self.get(id) {
            Object::Call(call) => Some(call),
            _ => None,
        }
    }

    pub(super) fn text(&self, id: ObjectId) -> Option<&str> {
        match self.get(id) {
            Object::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn global(&self, id: ObjectId) -> Option<&str> {
        match self.get(id) {
            Object::Global(name) => Some(name),
            _ => None,
        }
    }

    /// The elements of a list or a tuple; for a `torch.Size`, the elements of its tuple.
    pub(super) fn elements(&self, id: ObjectId) -> Option<&[ObjectId]> {
        match self.get(id) {
            Object::List(ids) => Some(ids),
            Object::Tuple(ids) => Some(ids),
            Object::Call(call) if self.global(call.callee) == Some("torch.Size") => {
                match self.get(*self.arguments(call).first()?) {
                    Object::List(ids) => Some(ids),
                    Object::Tuple(ids) => Some(ids),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    pub(super) fn arguments(&self, call: &Call) -> &[ObjectId] {
        match self.get(call.arguments) {
            Object::Tuple(ids) => ids,
            _ => &[],
        }
    }

    pub(super) fn integer(&self, id: ObjectId) -> Option<i128> {
        match self.get(id) {
            Object::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// A number of elements or bytes.
    pub(super) fn size(&self, id: ObjectId) -> Option<u64> {
        u64::try_from(self.integer(id)?).ok()
    }

    pub(super) fn sizes(&self, id: ObjectId) -> Option<Vec<u64>> {
        self.elements(id)?.iter().map(|id| self.size(*id)).collect()
    }
}
