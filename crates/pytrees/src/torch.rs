//! PyTorch's treespecs: the JSON of `torch.utils._pytree.treespec_dumps`, protocol 1.
//!
//! `None` is a leaf there, and dicts keep the order of their entries.

use treedef::{Key, Path, TreeDef};

use std::collections::HashSet;

use crate::bug::OrBug;
use crate::error::{Error, ErrorKind, Result, malformed, quoted};
use crate::json::Json;
use crate::lower::{Lowered, Lowering};
use crate::py_key::{MAX_DEPTH, MAX_KEY_DEPTH, PyKey};
use crate::pytree::PyTree;
use crate::raise::{Raised, raise};

/// The structure as a treespec, which `torch.utils._pytree.treespec_loads` reads.
///
/// # Errors
///
/// See [`python::literal`](crate::python::literal). Also returns an error for keys that are neither
/// strings, integers, floats, bools nor `None`, because JSON has no others.
///
/// ```
/// use treedef_pytrees::{Lowering, torch};
///
/// let lowered = torch::treespec(&"(*, None)".parse()?, &Lowering::new())?;
/// assert_eq!(lowered.order, [Some(0), None]);
/// assert!(lowered.data.starts_with(r#"[1, {"type": "builtins.tuple", "context": "null", "#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn treespec(treedef: &TreeDef, lowering: &Lowering) -> Result<Lowered<String>> {
    let (tree, statics) = lowering.lower(treedef, false, |key| match key_json(key) {
        Some(_) => None,
        None => Some(format!("the key {key} has no JSON, in which torch stores keys")),
    })?;
    let mut text = "[1, ".to_owned();
    write_spec(&mut text, &tree);
    text.push(']');
    Ok(Lowered::new(text, tree.leaves_and_nones(), statics, treedef))
}

const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;

fn write_spec(text: &mut String, tree: &PyTree) {
    let (class, context, children): (&str, String, Vec<&PyTree>) = match tree {
        PyTree::Leaf(_) | PyTree::None => {
            text.push_str(LEAF);
            return;
        }
        PyTree::Tuple(children) => ("builtins.tuple", "null".to_owned(), children.iter().collect()),
        PyTree::List(children) => ("builtins.list", "null".to_owned(), children.iter().collect()),
        PyTree::Dict(entries) => {
            let keys: Vec<String> = entries.iter().map(|(key, _)| key_json(key).or_bug()).collect();
            let context = format!("[{}]", keys.join(", "));
            ("builtins.dict", context, entries.iter().map(|(_, child)| child).collect())
        }
        PyTree::Custom { inside, .. } => return write_spec(text, inside),
    };
    text.push_str(&format!(r#"{{"type": "{class}", "context": "#));
    write_json_str(text, &context);
    text.push_str(r#", "children_spec": ["#);
    for (index, child) in children.into_iter().enumerate() {
        text.push_str(if index > 0 { ", " } else { "" });
        write_spec(text, child);
    }
    text.push_str("]}");
}

/// The key as JSON, if it has one.
fn key_json(key: &PyKey) -> Option<String> {
    match key {
        PyKey::None => Some("null".to_owned()),
        PyKey::Bool(value) => Some(value.to_string()),
        PyKey::Int(_) | PyKey::Large(_) => Some(key.to_string()),
        PyKey::Float(value) => value.is_finite().then(|| key.to_string()),
        PyKey::Str(key) => {
            let mut text = String::new();
            write_json_str(&mut text, key);
            Some(text)
        }
        PyKey::Bytes(_) | PyKey::Tuple(_) | PyKey::Other => None,
    }
}

/// A string as Python's `json.dumps` writes it: everything except ASCII is escaped.
fn write_json_str(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            ' '..='~' => out.push(char),
            _ => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

/// The structure of a treespec. Containers that only Python has become the closest equivalent, and
/// are listed in [`Raised::classes`]:
///
/// | there | here |
/// |---|---|
/// | `OrderedDict`, `defaultdict` | map |
/// | `deque` | sequence |
/// | named tuple, and any unknown class | tuple struct of the name |
/// | registered dataclass | struct of the name; fields that are None are last |
///
/// # Errors
///
/// Returns an error when the text is not a treespec of protocol 1, or when a context does not fit the
/// children. Also for keys that are not supported: infinite floats and NaN, lone surrogates, enums, and
/// floats from 2⁵³ on without a fraction, which JSON cannot tell from large integers.
///
/// ```
/// use treedef_pytrees::torch;
///
/// let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
/// let raised = torch::from_treespec(&format!(
///     r#"[1, {{"type": "demo.Linear", "context": "[[\"w\", \"b\"], []]",
///              "children_spec": [{leaf}, {leaf}]}}]"#
/// ))?;
/// assert_eq!(raised.treedef.to_string(), "`demo.Linear` { w: *, b: * }");
/// assert_eq!(raised.classes[0].1, "demo.Linear");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_treespec(text: &str) -> Result<Raised> {
    let json = Json::parse(text)?;
    let Some([protocol, spec]) = json.as_list() else {
        return Err(malformed(0, "no list of a protocol and a treespec"));
    };
    if *protocol != Json::Int(1) {
        return Err(malformed(0, "another protocol than 1"));
    }
    let mut reader = TreeSpecReader { leaves: 0, path: Path::root() };
    raise(&reader.spec(spec, 0)?)
}

struct TreeSpecReader {
    leaves: usize,
    path: Path,
}

impl TreeSpecReader {
    fn fail(&self, what: impl Into<String>) -> Error {
        Error::from(ErrorKind::Malformed(what.into())).at_path(self.path.clone())
    }

    fn spec(&mut self, spec: &Json, depth: usize) -> Result<PyTree> {
        if depth > MAX_DEPTH {
            let what = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(ErrorKind::limit("levels", what).into());
        }
        let below = spec.get("children_spec").and_then(Json::as_list);
        let below = below.ok_or_else(|| self.fail("a node without `children_spec`"))?;
        let class = match spec.get("type") {
            Some(Json::Null) if !below.is_empty() => {
                return Err(self.fail("a leaf that has children"));
            }
            Some(Json::Null) => {
                self.leaves += 1;
                return Ok(PyTree::Leaf(self.leaves - 1));
            }
            Some(Json::Str(class)) => class,
            _ => return Err(self.fail("a node without a `type`")),
        };
        let mut children = Vec::with_capacity(below.len());
        for (index, child) in below.iter().enumerate() {
            self.path.push(Key::Index(index));
            children.push(self.spec(child, depth + 1)?);
            self.path.pop();
        }
        let context = self.context(spec);
        let custom = |inside| PyTree::Custom { class: class.clone(), inside: Box::new(inside) };
        Ok(match class.as_str() {
            "builtins.tuple" => PyTree::Tuple(children),
            "builtins.list" => PyTree::List(children),
            "torch.fx.immutable_collections.immutable_list" | "collections.deque" => {
                custom(PyTree::List(children))
            }
            "builtins.dict" => PyTree::Dict(self.entries(&context?, children)?),
            "collections.OrderedDict" | "torch.fx.immutable_collections.immutable_dict" => {
                custom(PyTree::Dict(self.entries(&context?, children)?))
            }
            "collections.defaultdict" => {
                let context = context?;
                let keys = context.get("dict_context").unwrap_or(&Json::Null);
                custom(PyTree::Dict(self.entries(keys, children)?))
            }
            "collections.namedtuple" => {
                // Not JSON, but the name.
                let name = spec.get("context").and_then(Json::as_str).unwrap_or(class).to_owned();
                PyTree::Custom { class: name, inside: Box::new(PyTree::Tuple(children)) }
            }
            _ => custom(match context.ok().and_then(|context| fields(&context, &children)) {
                Some(fields) => PyTree::Dict(fields),
                None => PyTree::Tuple(children),
            }),
        })
    }

    /// The context of a node: usually a text of JSON, sometimes JSON itself.
    fn context(&self, spec: &Json) -> Result<Json> {
        match spec.get("context") {
            Some(Json::Str(text)) => Json::parse(text).map_err(|error| {
                self.fail(format!("the context {} is not read as JSON: {error}", quoted(text)))
            }),
            other => Ok(other.cloned().unwrap_or(Json::Null)),
        }
    }

    fn entries(&self, keys: &Json, children: Vec<PyTree>) -> Result<Vec<(PyKey, PyTree)>> {
        let Some(keys) = keys.as_list() else {
            let what = format!("a context that is {}, not a list of keys", keys.described());
            return Err(self.fail(what));
        };
        if keys.len() != children.len() {
            let what = format!("{} keys for {} children", keys.len(), children.len());
            return Err(self.fail(what));
        }
        let mut seen = HashSet::new();
        let keyed = keys.iter().zip(children).map(|(key, child)| {
            let key = read_key(key, 0).map_err(|what| self.fail(what))?;
            if seen.insert(key.identity()) {
                Ok((key, child))
            } else {
                Err(self.fail(format!("the key {key} occurs twice")))
            }
        });
        keyed.collect()
    }
}

/// A key, or the reason why it is not supported.
fn read_key(key: &Json, depth: usize) -> Result<PyKey, String> {
    Ok(match key {
        Json::Null => PyKey::None,
        Json::Bool(value) => PyKey::Bool(*value),
        Json::Str(text) => PyKey::Str(text.clone()),
        Json::Int(value) => PyKey::Int(*value),
        // serde_json reads an integer that is too large as a float.
        Json::Float(value) if value.fract() != 0.0 || value.abs() < 2f64.powi(53) => {
            PyKey::Float(*value)
        }
        // Python's tuples become lists in JSON.
        Json::List(keys) if depth < MAX_KEY_DEPTH => {
            let keys = keys.iter().map(|key| read_key(key, depth + 1));
            PyKey::Tuple(keys.collect::<Result<_, _>>()?)
        }
        Json::Float(value) => {
            return Err(format!("the key {value:e} may be a float or a large integer"));
        }
        Json::List(_) => {
            return Err(format!("a key nested deeper than {MAX_KEY_DEPTH} levels"));
        }
        Json::Object(_) => return Err("a key that is an object, as those of enums".to_owned()),
    })
}

/// The fields of a registered dataclass, whose context is `[[present], [None]]`.
fn fields(context: &Json, children: &[PyTree]) -> Option<Vec<(PyKey, PyTree)>> {
    let [present, absent] = context.as_list()? else { return None };
    let names = |list: &Json| -> Option<Vec<PyKey>> {
        list.as_list()?.iter().map(|name| Some(PyKey::Str(name.as_str()?.to_owned()))).collect()
    };
    let (present, absent) = (names(present)?, names(absent)?);
    let all = present.iter().chain(&absent).map(PyKey::identity);
    let distinct: HashSet<String> = all.collect();
    if present.len() != children.len() || distinct.len() != present.len() + absent.len() {
        return None;
    }
    let none = absent.into_iter().map(|name| (name, PyTree::None));
    Some(present.into_iter().zip(children.iter().cloned()).chain(none).collect())
}
