//! The results of the classes and functions that PyTorch uses in its files.

use std::borrow::Cow;
use std::sync::Arc;

use crate::descriptor::NumberType;
use crate::formats::pytorch::object::{Call, Graph, Object, ObjectId};
use crate::formats::pytorch::types;

/// The result of a call.
#[derive(Debug)]
pub(super) enum CallResult {
    /// Another object, such as the tensor of a parameter.
    Same(ObjectId),
    Text(String),
    Bytes(Vec<u8>),
    Seq(Vec<ObjectId>),
    Tuple(Vec<ObjectId>),
    Map(Vec<(ObjectId, ObjectId)>),
    /// A struct of this name.
    Struct(String, Vec<(&'static str, ObjectId)>),
    Tensor(StorageView),
    /// A number of numpy.
    Scalar(StorageView),
}

/// A tensor: a part of a storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StorageView {
    pub(super) data: DataLocation,
    pub(super) element: NumberType,
    /// In elements, like the strides.
    pub(super) offset: u64,
    pub(super) shape: Vec<u64>,
    pub(super) strides: Vec<u64>,
}

/// The location of the numbers of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum DataLocation {
    /// In the storage of this key, beside the pickle.
    StoredTensor(Arc<str>),
    /// In the pickle itself, as the bytes of this object. The numbers may be big endian.
    Pickled { object: ObjectId, big_endian: bool },
}

/// A storage: its key, the type and the count of its numbers, and the beginning of a view of it.
#[derive(Debug)]
pub(super) struct Storage<'g> {
    pub(super) key: &'g str,
    pub(super) element: NumberType,
    pub(super) count: u64,
    start: u64,
}

/// The storage of a persistent object: `('storage', class, key, location, count, view)`.
pub(super) fn storage(graph: &Graph, id: ObjectId) -> Option<Storage<'_>> {
    let Object::Persistent(id) = graph.get(id) else { return None };
    let ids = graph.elements(*id)?;
    let [kind, class, key, _location, count, rest @ ..] = ids else { return None };
    if graph.text(*kind) != Some("storage") {
        return None;
    }
    let element = types::of_storage(graph.global(*class).or_else(|| graph.text(*class))?)?;
    let view = rest.first().and_then(|view| graph.elements(*view));
    let start = match view {
        Some([_key, start, _count]) => graph.size(*start)?,
        _ => 0,
    };
    Some(Storage { key: graph.text(*key)?, element, count: graph.size(*count)?, start })
}

/// The whole of a storage.
pub(super) fn whole(storage: &Storage<'_>) -> StorageView {
    StorageView {
        data: DataLocation::StoredTensor(storage.key.into()),
        element: storage.element,
        offset: storage.start,
        shape: vec![storage.count],
        strides: vec![1],
    }
}

/// The result of a call. `None` if the callee is unknown, or the arguments are unusual.
pub(super) fn call_result(graph: &Graph, call: &Call) -> Option<CallResult> {
    let name = graph.global(call.callee)?;
    let ids = graph.arguments(call);
    match name.split_once('.')?.0 {
        "torch" => of_torch(graph, name, ids),
        "numpy" => of_numpy(graph, name, (ids, call)),
        _ => of_python(graph, name, (ids, call)),
    }
}

/// Whether this is a class or a function of the table, so that it need not be reported.
pub(super) fn is_known(name: &str) -> bool {
    TORCH.contains(&name)
        || NUMPY.contains(&name)
        || PYTHON.contains(&&*of_python_3(name))
        || types::is_dtype(name)
        || types::of_storage(name).is_some()
}

/// The name of a module in Python 3: protocol 2 has the names of Python 2.
fn of_python_3(name: &str) -> Cow<'_, str> {
    match name.strip_prefix("__builtin__.") {
        Some("long") => Cow::Borrowed("builtins.int"),
        Some(name) => Cow::Owned(format!("builtins.{name}")),
        None => Cow::Borrowed(name),
    }
}

const TORCH: [&str; 21] = [
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor",
    "torch._utils._rebuild_meta_tensor_no_storage",
    "torch._utils._rebuild_sparse_tensor",
    "torch._utils._rebuild_nested_tensor",
    "torch._utils._rebuild_qtensor",
    "torch._utils._rebuild_sparse_csr_tensor",
    "torch._tensor._rebuild_from_type_v2",
    "torch.nn.parameter.Parameter",
    "torch.nn.parameter.Buffer",
    "torch.nn.parameter.UninitializedParameter",
    "torch.Tensor",
    "torch.Size",
    "torch.device",
    "torch.serialization._get_layout",
    "torch.per_tensor_affine",
    "torch.per_channel_affine",
];

const NUMPY: [&str; 9] = [
    "numpy.core.multiarray._reconstruct",
    "numpy._core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar",
    "numpy._core.multiarray.scalar",
    "numpy.core.numeric._frombuffer",
    "numpy._core.numeric._frombuffer",
    "numpy.ndarray",
    "numpy.dtype",
    "numpy.bool_",
];

const PYTHON: [&str; 16] = [
    "collections.OrderedDict",
    "collections.defaultdict",
    "collections.Counter",
    "collections.deque",
    "_codecs.encode",
    "builtins.set",
    "builtins.frozenset",
    "builtins.complex",
    "builtins.bytearray",
    "builtins.bytes",
    "builtins.dict",
    "builtins.list",
    "builtins.int",
    "builtins.float",
    "builtins.object",
    "copyreg._reconstructor",
];

fn of_torch(graph: &Graph, name: &str, ids: &[ObjectId]) -> Option<CallResult> {
    match (name, ids) {
        ("torch._utils._rebuild_tensor", [data, offset, shape, strides]) => {
            strided(graph, [*data, *offset, *shape, *strides], None)
        }
        (
            "torch._utils._rebuild_tensor_v2",
            [data, offset, shape, strides, _gradient, _hooks, rest @ ..],
        ) => {
            is_plain(graph, rest.first())?;
            strided(graph, [*data, *offset, *shape, *strides], None)
        }
        (
            "torch._utils._rebuild_tensor_v3",
            [data, offset, shape, strides, _gradient, _hooks, dtype, rest @ ..],
        ) => {
            is_plain(graph, rest.first())?;
            let element = types::of_torch(graph.global(*dtype)?)?;
            strided(graph, [*data, *offset, *shape, *strides], Some(element))
        }
        (
            "torch._utils._rebuild_parameter"
            | "torch._utils._rebuild_parameter_with_state"
            | "torch._utils._rebuild_device_tensor_from_cpu_tensor"
            | "torch.nn.parameter.Parameter"
            | "torch.nn.parameter.Buffer",
            [data, ..],
        ) => Some(CallResult::Same(*data)),
        // A tensor of another class, or one with attributes, which are left out.
        ("torch._tensor._rebuild_from_type_v2", [function, _class, arguments, ..]) => {
            match graph.global(*function)? {
                "torch._tensor._rebuild_from_type_v2" => None,
                function => of_torch(graph, function, graph.elements(*arguments)?),
            }
        }
        ("torch.Size", [sizes]) => Some(CallResult::Tuple(graph.elements(*sizes)?.to_vec())),
        ("torch.device", ids) => {
            let mut text = graph.text(*ids.first()?)?.to_owned();
            if let Some(number) = ids.get(1).and_then(|id| graph.integer(*id)) {
                text = format!("{text}:{number}");
            }
            Some(CallResult::Text(text))
        }
        ("torch.serialization._get_layout", [layout]) => {
            Some(CallResult::Text(graph.text(*layout)?.to_owned()))
        }
        (
            "torch._utils._rebuild_sparse_tensor" | "torch._utils._rebuild_sparse_csr_tensor",
            [layout, data],
        ) => sparse(graph, *layout, graph.elements(*data)?),
        _ => None,
    }
}

/// The tensors that make up a sparse one, in a struct with the name of its layout.
fn sparse(graph: &Graph, layout: ObjectId, data: &[ObjectId]) -> Option<CallResult> {
    let layout = graph.call(layout).and_then(|call| graph.text(*graph.arguments(call).first()?))?;
    let names: &[&'static str] = match layout {
        "torch.sparse_coo" => &["indices", "values", "size", "is_coalesced"],
        "torch.sparse_csr" | "torch.sparse_bsr" => {
            &["crow_indices", "col_indices", "values", "size"]
        }
        "torch.sparse_csc" | "torch.sparse_bsc" => {
            &["ccol_indices", "row_indices", "values", "size"]
        }
        _ => return None,
    };
    let fields = names.iter().copied().zip(data.iter().copied()).collect();
    (data.len() <= names.len()).then(|| CallResult::Struct(format!("<{layout}>"), fields))
}

/// Whether numbers are stored as they are: torch has tensors that are negated or conjugated on reading.
fn is_plain(graph: &Graph, metadata: Option<&ObjectId>) -> Option<()> {
    let Some(Object::Dict(entries)) = metadata.map(|id| graph.get(*id)) else { return Some(()) };
    let is_set =
        |(_, value): &(ObjectId, ObjectId)| matches!(graph.get(*value), Object::Bool(true));
    (!entries.iter().any(is_set)).then_some(())
}

fn strided(
    graph: &Graph,
    [data, offset, shape, strides]: [ObjectId; 4],
    element: Option<NumberType>,
) -> Option<CallResult> {
    let storage = storage(graph, data)?;
    let (shape, strides) = (graph.sizes(shape)?, graph.sizes(strides)?);
    if shape.len() != strides.len() {
        return None;
    }
    let offset = graph.size(offset)?.checked_add(storage.start)?;
    let element = element.unwrap_or(storage.element);
    let data = DataLocation::StoredTensor(storage.key.into());
    Some(CallResult::Tensor(StorageView { data, element, offset, shape, strides }))
}

fn of_numpy(graph: &Graph, name: &str, (ids, call): (&[ObjectId], &Call)) -> Option<CallResult> {
    let (_, function) = name.rsplit_once('.')?;
    match (function, ids) {
        ("_reconstruct", _) => {
            let [_version, shape, dtype, fortran, data] = graph.elements(call.state?)? else {
                return None;
            };
            let fortran = matches!(graph.get(*fortran), Object::Bool(true));
            Some(CallResult::Tensor(array(graph, [*data, *dtype, *shape], fortran)?))
        }
        ("_frombuffer", [data, dtype, shape, order]) => {
            let fortran = graph.text(*order) == Some("F");
            Some(CallResult::Tensor(array(graph, [*data, *dtype, *shape], fortran)?))
        }
        ("scalar", [dtype, data]) => {
            let (element, big_endian) = numpy_dtype(graph, *dtype)?;
            let data = DataLocation::Pickled { object: *data, big_endian };
            let (shape, strides) = (Vec::new(), Vec::new());
            Some(CallResult::Scalar(StorageView { data, element, offset: 0, shape, strides }))
        }
        _ => None,
    }
}

fn array(graph: &Graph, [data, dtype, shape]: [ObjectId; 3], fortran: bool) -> Option<StorageView> {
    let (element, big_endian) = numpy_dtype(graph, dtype)?;
    let shape = graph.sizes(shape)?;
    let mut strides = vec![1_u64; shape.len()];
    let mut all = 1_u64;
    let set = |(stride, size): (&mut u64, &u64)| {
        *stride = all;
        all = all.saturating_mul(*size);
    };
    if fortran {
        strides.iter_mut().zip(&shape).for_each(set);
    } else {
        strides.iter_mut().zip(&shape).rev().for_each(set);
    }
    Some(StorageView {
        data: DataLocation::Pickled { object: data, big_endian },
        element,
        offset: 0,
        shape,
        strides,
    })
}

/// `dtype('f4', False, True)` with the state `(3, '<', …)`, which has the byte order.
fn numpy_dtype(graph: &Graph, id: ObjectId) -> Option<(NumberType, bool)> {
    let call = graph.call(id).filter(|call| graph.global(call.callee) == Some("numpy.dtype"))?;
    let code = graph.text(*graph.arguments(call).first()?)?;
    let order = call.state.and_then(|state| graph.text(*graph.elements(state)?.get(1)?));
    Some((NumberType::Dtype(types::of_numpy(code)?), order == Some(">")))
}

/// The bytes in an object. Protocol 2 writes them as a text in Latin-1.
pub(super) fn bytes(graph: &Graph, id: ObjectId) -> Option<Vec<u8>> {
    match graph.get(id) {
        Object::Bytes(bytes) => Some(bytes.to_vec()),
        Object::Text(text) => latin1(text),
        Object::Call(call) => {
            let name = graph.global(call.callee)?;
            is_of_bytes(name).then(|| bytes_of(graph, call))?
        }
        _ => None,
    }
}

fn is_of_bytes(name: &str) -> bool {
    matches!(&*of_python_3(name), "_codecs.encode" | "builtins.bytearray" | "builtins.bytes")
}

/// `encode('…', 'latin1')`, `bytearray(b'…')`, where these bytes may be encoded.
fn bytes_of(graph: &Graph, call: &Call) -> Option<Vec<u8>> {
    match graph.arguments(call) {
        [] => Some(Vec::new()),
        [first, rest @ ..] => match (graph.get(*first), rest) {
            (Object::Text(text), [coding]) => {
                let coding = graph.text(*coding)?;
                latin1(text).filter(|_| matches!(coding, "latin1" | "latin-1"))
            }
            (Object::Bytes(bytes), []) => Some(bytes.to_vec()),
            (Object::Call(inner), []) if graph.global(inner.callee) == Some("_codecs.encode") => {
                latin1(graph.text(*graph.arguments(inner).first()?)?)
            }
            _ => None,
        },
    }
}

fn latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|char| u8::try_from(u32::from(char)).ok()).collect()
}

fn of_python(graph: &Graph, name: &str, (ids, call): (&[ObjectId], &Call)) -> Option<CallResult> {
    let name = of_python_3(name);
    let elements = |id: &ObjectId| match graph.get(*id) {
        Object::Set(ids) => Some(ids.clone()),
        _ => graph.elements(*id).map(<[ObjectId]>::to_vec),
    };
    match (&*name, ids) {
        ("collections.OrderedDict" | "builtins.dict", ids) => {
            let mut entries = match ids.first() {
                Some(id) => pairs(graph, *id)?,
                None => Vec::new(),
            };
            entries.extend(&call.entries);
            Some(CallResult::Map(entries))
        }
        ("collections.defaultdict", _) => Some(CallResult::Map(call.entries.clone())),
        ("collections.Counter", [counts]) => Some(CallResult::Map(pairs(graph, *counts)?)),
        ("collections.deque" | "builtins.list" | "builtins.set" | "builtins.frozenset", ids) => {
            let mut items = ids.first().map_or(Some(Vec::new()), elements)?;
            items.extend(&call.items);
            Some(CallResult::Seq(items))
        }
        ("builtins.complex", [re, im]) => {
            Some(CallResult::Struct("Complex".to_owned(), vec![("re", *re), ("im", *im)]))
        }
        (name, _) if is_of_bytes(name) => bytes_of(graph, call).map(CallResult::Bytes),
        _ => None,
    }
}

/// The entries of a dict, or of a list of pairs.
fn pairs(graph: &Graph, id: ObjectId) -> Option<Vec<(ObjectId, ObjectId)>> {
    if let Object::Dict(entries) = graph.get(id) {
        return Some(entries.clone());
    }
    let pair = |id: &ObjectId| match graph.elements(*id)? {
        [key, value] => Some((*key, *value)),
        _ => None,
    };
    graph.elements(id)?.iter().map(pair).collect()
}
