//! Converts our structures to Python's containers.

use std::collections::HashSet;

use treedef::{Key, NodeKind, NodeRef, Path, Tree, TreeDef, Value};

use crate::bug::{OrBug, bug};
use crate::error::{Error, ErrorKind, Result};
use crate::py_key::{MAX_DEPTH, NameBytes, PyKey, py_key};
use crate::pytree::{PyTree, sort};

/// How nodes that Python does not have are replaced.
///
/// | here | in Python |
/// |---|---|
/// | sequence, tuple, map, `None` | list, tuple, dict, `None` |
/// | struct | dict of its fields |
/// | tuple struct | tuple |
/// | newtype, `Some` | its content |
/// | variant `Circle(…)`, `Circle { … }`, `Circle` | `{'Circle': …}`: the content, a tuple, a dict, or `()` |
/// | unit, unit struct | `()` |
/// | static | nothing: it is kept in [`Lowered::statics`] |
/// | opaque leaf | a leaf |
///
/// [`Lowering::strict`] makes each of these an error with its path instead.
///
/// ```
/// use treedef_pytrees::{Lowering, python};
///
/// let treedef = "Model { w: [*; 2], act: static \"relu\", shape: Shape::Circle(*) }".parse()?;
/// let lowered = python::literal(&treedef, &Lowering::new())?;
/// assert_eq!(lowered.data, "{'shape': {'Circle': 2}, 'w': [0, 1]}");
/// assert_eq!(lowered.statics[0].0.to_string(), ".act");
///
/// let error = python::literal(&treedef, &Lowering::strict()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "a struct has no counterpart in Python (see `Lowering`) at the root"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lowering {
    /// Whether nodes that Python does not have are errors.
    strict: bool,
    max_nodes: usize,
}

impl Default for Lowering {
    fn default() -> Self {
        Lowering { strict: false, max_nodes: 1 << 24 }
    }
}

impl Lowering {
    /// Replaces all nodes that Python does not have.
    pub fn new() -> Self {
        Lowering::default()
    }

    /// Replaces nothing: a node that Python does not have is an error.
    pub fn strict() -> Self {
        Lowering { strict: true, ..Lowering::default() }
    }

    /// Sets the maximum number of nodes of a structure, because Python stores each of them: 2²⁴ by
    /// default.
    #[must_use]
    pub fn max_nodes(self, max_nodes: usize) -> Self {
        Lowering { max_nodes, ..self }
    }

    /// The containers of a structure with sorted dicts, our index of each leaf, and the statics
    /// that were left out. `refuse` is as in [`lower`](Self::lower).
    pub(crate) fn lower_sorted(
        &self,
        treedef: &TreeDef,
        refuse: fn(&PyKey) -> Option<String>,
    ) -> Result<(PyTree, Vec<Option<usize>>, Statics)> {
        let (tree, statics) = self.lower(treedef, true, refuse)?;
        let order = tree.leaves().into_iter().map(Some).collect();
        Ok((tree, order, statics))
    }

    /// The containers of a structure, and the parts that were left out.
    ///
    /// `refuse` returns the reason if the format does not have a key. The entries of dicts are
    /// `sorted` in the order of JAX and optree, or keep the order of their declaration.
    pub(crate) fn lower(
        &self,
        treedef: &TreeDef,
        sorted: bool,
        refuse: fn(&PyKey) -> Option<String>,
    ) -> Result<(PyTree, Statics)> {
        if treedef.num_nodes() > self.max_nodes {
            let (nodes, limit) = (treedef.num_nodes(), self.max_nodes);
            let what = format!("{nodes} nodes, the limit is {limit}");
            return Err(ErrorKind::limit("nodes", what).into());
        }
        let mut lowerer = Lowerer {
            lowering: self,
            sorted,
            refuse,
            path: Path::root(),
            statics: Vec::new(),
            bytes: NameBytes::default(),
        };
        let tree = lowerer.node(treedef.root(), 0)?;
        let nothing = || ErrorKind::Structure("nothing is left without the statics".to_owned());
        Ok((tree.ok_or_else(nothing)?, lowerer.statics))
    }
}

pub(crate) type Statics = Vec<(Path, Value)>;

struct Lowerer<'l> {
    lowering: &'l Lowering,
    sorted: bool,
    refuse: fn(&PyKey) -> Option<String>,
    path: Path,
    statics: Statics,
    /// The bytes of all keys and statics.
    bytes: NameBytes,
}

impl Lowerer<'_> {
    /// The container that replaces the node, or nothing for a static. `depth` is the number of containers
    /// around it; a node around one value counts as one.
    fn node(&mut self, node: NodeRef<'_>, depth: usize) -> Result<Option<PyTree>> {
        use NodeKind as Is;
        self.expect_depth(depth + levels(node.kind()))?;
        let strict = self.lowering.strict;
        let what = match node.kind() {
            Is::Unit | Is::UnitStruct => Some("a unit").filter(|_| strict),
            Is::Struct => Some("a struct").filter(|_| strict),
            Is::TupleStruct => Some("a tuple struct").filter(|_| strict),
            Is::NewtypeStruct => Some("a newtype").filter(|_| strict),
            Is::Some => Some("a `Some`").filter(|_| strict),
            Is::Static => Some("a static").filter(|_| strict),
            kind if kind.is_variant() => Some("a variant").filter(|_| strict),
            _ => None,
        };
        if let Some(what) = what {
            return Err(self.fail(ErrorKind::NoCounterpart(what.to_owned())));
        }
        Ok(Some(match node.kind() {
            Is::Leaf => PyTree::Leaf(node.leaf_range().start),
            Is::None => PyTree::None,
            Is::Unit | Is::UnitStruct => PyTree::Tuple(Vec::new()),
            Is::Static => {
                let value = node.static_value().ok_or_else(|| bug!("a static without a value"))?;
                // The content of a static is shared; its path is not.
                let size = value.root().num_leaves() + 16 * self.path.keys().len();
                self.spend(size.saturating_add(path_bytes(&self.path)))?;
                self.statics.push((self.path.clone(), value.clone()));
                return Ok(None);
            }
            Is::Some | Is::NewtypeStruct => return Ok(self.children(node, depth)?.pop()),
            Is::Seq => PyTree::List(self.children(node, depth)?),
            Is::Tuple | Is::TupleStruct => PyTree::Tuple(self.children(node, depth)?),
            Is::Struct | Is::Map => PyTree::Dict(self.entries(node, depth)?),
            _ => {
                let inside = match node.kind() {
                    Is::NewtypeVariant => self.children(node, depth)?.pop(),
                    Is::StructVariant => Some(PyTree::Dict(self.entries(node, depth)?)),
                    _ => Some(PyTree::Tuple(self.children(node, depth)?)),
                };
                let Some(inside) = inside else { return Ok(None) };
                let variant = PyKey::Str(node.variant().or_bug().to_owned());
                PyTree::Dict(vec![(variant, inside)])
            }
        }))
    }

    fn expect_depth(&self, depth: usize) -> Result<()> {
        if depth <= MAX_DEPTH {
            Ok(())
        } else {
            Err(self
                .fail(ErrorKind::limit("levels", format!("nested deeper than {MAX_DEPTH} levels"))))
        }
    }

    fn children(&mut self, node: NodeRef<'_>, depth: usize) -> Result<Vec<PyTree>> {
        let mut children = Vec::with_capacity(node.num_children());
        for (position, child) in node.children().enumerate() {
            children.extend(self.below(node, position, child, depth)?);
        }
        Ok(children)
    }

    fn entries(&mut self, node: NodeRef<'_>, depth: usize) -> Result<Vec<(PyKey, PyTree)>> {
        let mut entries = Vec::with_capacity(node.num_children());
        let mut seen = HashSet::new();
        for (position, child) in node.children().enumerate() {
            let key = match node.entry_keys().get(position) {
                Some(key) => py_key(key.root(), &key.leaves(), 0).ok_or_else(|| {
                    let what = format!("`{key}` cannot be the key of a dict");
                    self.fail(ErrorKind::Key(what))
                })?,
                None => {
                    let field = node.fields().get(position).map(ToString::to_string);
                    PyKey::Str(field.or_bug())
                }
            };
            if let Some(what) = (self.refuse)(&key) {
                return Err(self.fail(ErrorKind::Key(what)));
            }
            self.expect_depth(depth + levels(node.kind()) + key.depth())?;
            if !seen.insert(key.identity()) {
                let what = format!("two keys of the dict are {key} to Python");
                return Err(self.fail(ErrorKind::Key(what)));
            }
            self.spend(key.num_bytes())?;
            entries.extend(self.below(node, position, child, depth)?.map(|child| (key, child)));
        }
        if self.sorted
            && let Some((a, b)) = sort(&mut entries)
        {
            let what =
                format!("the keys {a} and {b} have no order in Python, so JAX takes neither");
            return Err(self.fail(ErrorKind::Key(what)));
        }
        Ok(entries)
    }

    fn spend(&mut self, bytes: usize) -> Result<()> {
        self.bytes.spend(bytes, "keys").map_err(|error| error.at_path(self.path.clone()))
    }

    fn below(
        &mut self,
        node: NodeRef<'_>,
        position: usize,
        child: NodeRef<'_>,
        depth: usize,
    ) -> Result<Option<PyTree>> {
        self.path.push(node.key(position).ok_or_else(|| bug!("a child has no key"))?);
        let child = self.node(child, depth + levels(node.kind()));
        self.path.pop();
        child
    }

    fn fail(&self, kind: ErrorKind) -> Error {
        Error::from(kind).at_path(self.path.clone())
    }
}

/// The number of nested containers that replace a node: a variant is a dict around the tuple or
/// dict of its fields.
fn levels(kind: NodeKind) -> usize {
    match kind {
        NodeKind::Leaf | NodeKind::None | NodeKind::Static => 0,
        NodeKind::UnitVariant | NodeKind::TupleVariant | NodeKind::StructVariant => 2,
        _ => 1,
    }
}

/// The bytes of the names in a path.
pub(crate) fn path_bytes(path: &Path) -> usize {
    let bytes = |key: &Key| match key {
        Key::Field(name) | Key::VariantPosition(name, _) => name.len(),
        Key::VariantField(name, field) => name.len() + field.len(),
        Key::Entry(value) => value.as_str().map_or(16, str::len),
        _ => 0,
    };
    path.keys().iter().map(bytes).sum()
}

/// A structure in a format of Python, and the order of its leaves there.
///
/// JAX and optree flatten dicts in the order of their keys, and structs here keep the order of
/// their declaration. If `order` is ignored, the leaves silently end up in the wrong places.
#[derive(Clone, Debug)]
pub struct Lowered<T> {
    /// The structure in the format.
    pub data: T,
    /// Our index of each leaf, in Python's order. It is `None` for a `None` of Python that is a
    /// leaf to torch.
    pub order: Vec<Option<usize>>,
    /// The parts that were left out, with their paths.
    pub statics: Vec<(Path, Value)>,
    treedef: TreeDef,
}

impl<T> Lowered<T> {
    pub(crate) fn new(
        data: T,
        order: Vec<Option<usize>>,
        statics: Statics,
        treedef: &TreeDef,
    ) -> Self {
        Lowered { data, order, statics, treedef: treedef.clone() }
    }

    /// Our leaves in Python's order, with `None` for each `None` of Python.
    ///
    /// # Errors
    ///
    /// Returns an error when the number of leaves differs from the structure.
    ///
    /// ```
    /// # use treedef_pytrees::Lowering;
    /// let treedef = "Layer { w: *, b: * }".parse()?;
    /// let lowered = treedef_pytrees::jax::proto(&treedef, &Lowering::new())?;
    /// assert_eq!(lowered.permute(&["w", "b"])?, [Some("b"), Some("w")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn permute<L: Clone>(&self, leaves: &[L]) -> Result<Vec<Option<L>>> {
        permuted(&self.order, leaves, self.treedef.num_leaves())
    }

    /// The tree of these leaves, which are in Python's order, and the statics. Leaves for a `None`
    /// of Python are ignored, and can be omitted.
    ///
    /// # Errors
    ///
    /// Returns an error when the number of leaves differs from the format.
    ///
    /// ```
    /// # use treedef_pytrees::Lowering;
    /// let treedef = "Layer { w: *, name: static \"a\", b: * }".parse()?;
    /// let lowered = treedef_pytrees::jax::proto(&treedef, &Lowering::new())?;
    /// let tree = lowered.restore(vec!["b", "w"])?;
    /// assert_eq!(tree.to_string(), r#"Layer { w: w, name: static "a", b: b }"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore<L>(&self, leaves: impl IntoIterator<Item = L>) -> Result<Tree<L>> {
        restored(&self.order, leaves, &self.treedef)
    }
}

pub(crate) fn permuted<L: Clone>(
    order: &[Option<usize>],
    leaves: &[L],
    expected: usize,
) -> Result<Vec<Option<L>>> {
    if leaves.len() == expected {
        Ok(order.iter().map(|ours| leaves.get((*ours)?).cloned()).collect())
    } else {
        Err(ErrorKind::Leaves { expected, found: leaves.len() }.into())
    }
}

pub(crate) fn restored<L>(
    order: &[Option<usize>],
    leaves: impl IntoIterator<Item = L>,
    treedef: &TreeDef,
) -> Result<Tree<L>> {
    let leaves: Vec<L> = leaves.into_iter().collect();
    let ours = order.iter().flatten().count();
    let mut placed: Vec<(usize, L)> = if leaves.len() == order.len() {
        let pairs = order.iter().zip(leaves);
        pairs.filter_map(|(ours, leaf)| Some(((*ours)?, leaf))).collect()
    } else if leaves.len() == ours {
        order.iter().flatten().copied().zip(leaves).collect()
    } else {
        return Err(ErrorKind::Leaves { expected: order.len(), found: leaves.len() }.into());
    };
    placed.sort_unstable_by_key(|(ours, _)| *ours);
    Ok(Tree::new(treedef.clone(), placed.into_iter().map(|(_, leaf)| leaf).collect())?)
}
