//! Builds a treedef node by node, without a value.

use std::fmt;

use crate::error::{Error, Result};
use crate::model::{Limits, Name, NodeHead, NodeKind, TreeDef, Value};
use crate::path::{Key, Path};
use crate::treedef::encoding::NodeDataRef;
use crate::treedef::node_ref::NodeRef;
use crate::treedef::parts::PartsBuilder;

/// Builds a treedef node by node in pre-order: open a node, add its children, close it. It is for
/// structures from another source: another format, another language, a schema.
///
/// A node that cannot have children is complete at once: a leaf, `None`, a unit. Before each child
/// of a struct, call [`field`](Self::field); before each child of a map, [`key`](Self::key). Equal
/// neighbours are stored once.
///
/// ```
/// use treedef::{Limits, NodeHead, NodeKind, TreeDefBuilder, Value};
///
/// let mut builder = TreeDefBuilder::new().limits(Limits { max_depth: 8, ..Limits::default() });
/// builder.open(NodeHead { name: "Net", ..NodeKind::Struct.into() }, 1)?;
/// builder.field("name")?;
/// builder.static_value(&Value::of("mlp")?, 1)?;
/// builder.field("layers")?;
/// builder.open(NodeKind::Seq, 1)?;
/// builder.insert(&"{\"b\": *, \"w\": *}".parse()?, 3)?;
/// builder.close()?;
/// builder.field("scale")?;
/// builder.leaves(1)?;
/// builder.close()?;
/// let treedef = builder.finish()?;
/// assert_eq!(
///     treedef.to_string(),
///     r#"Net { name: static "mlp", layers: [{"b": *, "w": *}; 3], scale: * }"#
/// );
/// # Ok::<(), treedef::Error>(())
/// ```
///
/// # Errors
///
/// A call that does not fit the open node is an error with the path of that node: a child of a struct
/// without a field, the second child of a `Some`, a node after the root. After an error the builder is
/// incomplete: a node that could not be added, e.g. because it is beyond the limits, is missing, and
/// [`finish`](Self::finish) returns an error.
#[derive(Default)]
pub struct TreeDefBuilder {
    parts: PartsBuilder,
    open: Vec<UnfinishedNode>,
    /// The root is complete.
    is_complete: bool,
    /// A node could not be added.
    has_hole: bool,
}

/// A node whose children are not complete.
struct UnfinishedNode {
    kind: NodeKind,
    name: Name,
    variant: Name,
    /// The labels of the children so far, and of the next one.
    fields: Vec<Name>,
    keys: Vec<Value>,
    /// The number of children so far.
    children: usize,
}

impl UnfinishedNode {
    fn new(head: NodeHead<'_>) -> Self {
        let kind = head.kind;
        let name = if kind.is_named() { head.name } else { "" }.to_owned().into();
        let variant = if kind.is_variant() { head.variant } else { "" }.to_owned().into();
        UnfinishedNode { kind, name, variant, fields: Vec::new(), keys: Vec::new(), children: 0 }
    }

    fn has_fields(&self) -> bool {
        matches!(self.kind, NodeKind::Struct | NodeKind::StructVariant)
    }

    fn has_labels(&self) -> bool {
        self.has_fields() || self.kind == NodeKind::Map
    }

    /// The number of labels so far.
    fn num_labels(&self) -> usize {
        self.fields.len() + self.keys.len() // in memory
    }

    fn expects_label(&self) -> bool {
        self.num_labels() == self.children
    }

    fn data(&self) -> Option<NodeDataRef<'_, Name>> {
        NodeDataRef::of(self.kind, (&self.name, &self.variant), &self.fields, &self.keys)
    }

    /// The key of the child at `position`, the last one that has a label.
    fn key(&self, position: usize) -> Key {
        let (field, entry) = (|| self.fields.last().cloned(), || self.keys.last().cloned());
        Key::of_child(self.kind, position, || Some(self.variant.clone()), field, entry)
            .unwrap_or(Key::Position(position)) // its label did not come
    }
}

impl TreeDefBuilder {
    /// Creates a builder without nodes.
    pub fn new() -> Self {
        TreeDefBuilder::default()
    }

    /// Sets the limits of the treedef, by default [`Limits::default`]. They are raised to the
    /// limits of each [inserted](Self::insert) part.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.parts.set_limits(limits);
        self
    }

    /// Opens a node that occurs `times` times in a row. Add its children once, and then
    /// [`close`](Self::close) it, unless it is of a kind that cannot have children.
    ///
    /// ```
    /// use treedef::{NodeHead, NodeKind, TreeDefBuilder};
    ///
    /// let mut builder = TreeDefBuilder::new();
    /// builder.open(NodeKind::Seq, 1)?;
    /// builder.open(NodeKind::Tuple, 1_000_000)?;
    /// builder.leaves(2)?;
    /// builder.close()?;
    /// builder.close()?;
    /// assert_eq!(builder.finish()?.to_string(), "[(*, *); 1000000]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [above](Self). A static is an error: use [`static_value`](Self::static_value).
    pub fn open<'a>(&mut self, head: impl Into<NodeHead<'a>>, times: usize) -> Result<()> {
        let head = head.into();
        if head.kind == NodeKind::Static {
            self.has_hole = true;
            return self.refuse("a static has a value: see `TreeDefBuilder::static_value`");
        }
        self.child(times)?;
        let open = UnfinishedNode::new(head);
        if head.kind.is_atom() {
            return self.complete(|parts| {
                if head.kind.depends_on_options() {
                    parts.settle_options()?;
                }
                parts.atom(head.kind, open.data(), times)
            });
        }
        self.parts.open_new(head.kind, None, times);
        self.open.push(open);
        Ok(())
    }

    /// Names the field of the next child, in a struct or a struct variant.
    ///
    /// # Errors
    ///
    /// Returns an error if the open node has no fields, or if the field before has no child yet.
    pub fn field(&mut self, name: impl Into<Name>) -> Result<()> {
        let name = name.into();
        match self.open.last_mut() {
            Some(open) if open.has_fields() && open.expects_label() => {
                open.fields.push(name);
                Ok(())
            }
            _ => self.refuse(format_args!("the field `{name}` is not expected here")),
        }
    }

    /// Sets the key of the next child, in a map. Keys may be added in any order; the treedef has its
    /// entries, and so its leaves, in the order of the keys, and remembers the insertion order. If
    /// a part has [the order of insertion](crate::MapOrder::Insertion), the treedef has it, too.
    ///
    /// ```
    /// use treedef::{NodeHead, NodeKind, TreeDefBuilder, Value};
    ///
    /// let mut builder = TreeDefBuilder::new();
    /// builder.open(NodeKind::Map, 1)?;
    /// for key in ["w", "b"] {
    ///     builder.key(Value::of(key)?)?;
    ///     builder.leaves(1)?;
    /// }
    /// builder.close()?;
    /// assert_eq!(builder.finish()?.to_string(), r#"{"b": *, "w": *}"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the open node is no map, or if the key before has no child yet.
    pub fn key(&mut self, key: Value) -> Result<()> {
        match self.open.last_mut() {
            Some(open) if open.kind == NodeKind::Map && open.expects_label() => {
                open.keys.push(key);
                Ok(())
            }
            _ => self.refuse(format_args!("the key {key} is not expected here")),
        }
    }

    /// Adds `count` leaves in a row.
    ///
    /// # Errors
    ///
    /// See [above](Self).
    pub fn leaves(&mut self, count: usize) -> Result<()> {
        self.open(NodeKind::Leaf, count)
    }

    /// Adds a value that is part of the structure, `times` times in a row.
    ///
    /// # Errors
    ///
    /// See [above](Self).
    pub fn static_value(&mut self, value: &Value, times: usize) -> Result<()> {
        self.child(times)?;
        let data = NodeDataRef::of_static(value);
        self.complete(|parts| parts.atom(NodeKind::Static, Some(data), times))
    }

    /// Adds a whole structure, `times` times in a row.
    ///
    /// # Errors
    ///
    /// See [above](Self). Parts that depend on [options](crate::Flattener::none_is_leaf) must have
    /// the same options. A `None`, a `Some` and a map depend on the options of the parts so far.
    pub fn insert(&mut self, treedef: &TreeDef, times: usize) -> Result<()> {
        self.parts.allow(treedef.limits);
        self.child(times)?;
        self.complete(|parts| parts.insert_copies(treedef, times))
    }

    /// Closes the open node, after all its children.
    ///
    /// # Errors
    ///
    /// Returns an error if no node is open, if a field or a key has no child, or if a `Some` or a
    /// newtype has none.
    pub fn close(&mut self) -> Result<()> {
        self.expect_whole()?;
        let Some(mut open) = self.open.pop() else {
            return self.refuse("expected an open node, found none");
        };
        let missing = open.has_labels() && open.num_labels() != open.children;
        if missing || open.kind.has_one_child() && open.children == 0 {
            let key = open.key(open.children);
            self.open.push(open);
            return self.refuse(format_args!("the child `{key}` is missing"));
        }
        self.complete(|parts| {
            if open.kind.depends_on_options() {
                parts.settle_options()?;
            }
            if open.kind == NodeKind::Map {
                parts.sort_entries(&mut open.keys, None);
            }
            parts.set_data(open.kind, open.data());
            parts.close()
        })
    }

    /// Returns the treedef.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no node, if a node is still open, or if the treedef exceeds the
    /// [limits](Self::limits).
    pub fn finish(self) -> Result<TreeDef> {
        self.expect_whole()?;
        if !self.open.is_empty() {
            return self.refuse("expected `TreeDefBuilder::close` before the end");
        }
        if !self.is_complete {
            return self.refuse("expected a node, found none");
        }
        self.parts.finish()
    }

    fn expect_whole(&self) -> Result<()> {
        if self.has_hole {
            self.refuse("an earlier node could not be added, so the structure is incomplete")
        } else {
            Ok(())
        }
    }

    /// Completes a node that was counted as a child already.
    fn complete(&mut self, add: impl FnOnce(&mut PartsBuilder) -> Result<()>) -> Result<()> {
        let added = add(&mut self.parts);
        self.has_hole |= added.is_err();
        added
    }

    /// Counts `times` children that are about to be added.
    fn child(&mut self, times: usize) -> Result<()> {
        let counted = self.count_child(times);
        self.has_hole |= counted.is_err();
        counted
    }

    fn count_child(&mut self, times: usize) -> Result<()> {
        self.expect_whole()?;
        self.parts.expect_room(1)?;
        if times == 0 {
            return self.refuse("expected a child that occurs at least once, found 0 times");
        }
        let Some(open) = self.open.last_mut() else {
            if self.is_complete || times > 1 {
                return self.refuse("expected one root, found more");
            }
            self.is_complete = true;
            return Ok(());
        };
        let children = open.children.saturating_add(times);
        let most = match open.kind {
            kind if kind.has_one_child() => 1,
            _ if open.has_labels() => open.num_labels(),
            _ => usize::MAX,
        };
        if children > most {
            let what = if open.has_labels() {
                "expected a field or a key before this child"
            } else {
                "expected one child, found a second"
            };
            return self.refuse(what);
        }
        open.children = children;
        Ok(())
    }

    fn refuse<T>(&self, what: impl fmt::Display) -> Result<T> {
        let mut path = Path::root();
        if let Some((_, around)) = self.open.split_last() {
            around.iter().for_each(|open| path.push(open.key(open.children.saturating_sub(1))));
        }
        Err(Error::argument(what).at(path))
    }
}

impl fmt::Debug for TreeDefBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeDefBuilder").field("open", &self.open.len()).finish_non_exhaustive()
    }
}

impl<'a> NodeRef<'a> {
    /// The kind and the names of this node.
    pub(crate) fn head(self) -> NodeHead<'a> {
        let (name, variant) = (self.name().unwrap_or_default(), self.variant().unwrap_or_default());
        NodeHead { kind: self.kind(), name, variant }
    }
}
