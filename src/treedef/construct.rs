//! Constructors for structures, without a value.

use crate::error::Result;
use crate::model::{Limits, Name, NodeHead, NodeKind, TreeDef, Value};

use super::builder::TreeDefBuilder;
use super::encoding::NodeDataRef;
use super::parts::PartsBuilder;

impl TreeDef {
    /// `*`
    pub fn leaf() -> Self {
        atom(NodeKind::Leaf, None)
    }

    /// `None`
    pub fn none() -> Self {
        atom(NodeKind::None, None)
    }

    /// `()`
    pub fn unit() -> Self {
        atom(NodeKind::Unit, None)
    }

    /// `static 1.5`
    pub fn static_value(value: Value) -> Self {
        atom(NodeKind::Static, Some(NodeDataRef::of_static(&value)))
    }

    /// `[*, *]`
    ///
    /// # Errors
    ///
    /// Returns an error when children have different options, or when the result exceeds the most
    /// generous [`Limits`](crate::Limits) of its children.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let point = TreeDef::named_struct("Point", [("x", TreeDef::leaf()), ("y", TreeDef::leaf())])?;
    /// let treedef = TreeDef::seq([point.clone(), TreeDef::none(), point])?;
    /// assert_eq!(treedef.to_string(), "[Point { x: *, y: * }, None, Point { x: *, y: * }]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn seq(children: impl IntoIterator<Item = TreeDef>) -> Result<Self> {
        around(NodeKind::Seq, children)
    }

    /// `[*; 1000]`. The elements are stored once.
    ///
    /// # Errors
    ///
    /// Returns an error when the result exceeds the [`Limits`](crate::Limits) of the child, or when
    /// it has more than `usize::MAX` leaves.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let rows = TreeDef::seq_of(&"(*, *)".parse()?, 1_000_000)?;
    /// assert_eq!(rows.to_string(), "[(*, *); 1000000]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn seq_of(child: &TreeDef, count: usize) -> Result<Self> {
        let mut builder = PartsBuilder::onto(child.root(), child.limits);
        builder.open_new(NodeKind::Seq, None, 1);
        if count > 0 {
            builder.insert_copies(child, count)?;
        }
        builder.close()?;
        builder.finish()
    }

    /// `(*, *)`
    ///
    /// # Errors
    ///
    /// Same as [`seq`](Self::seq).
    pub fn tuple(children: impl IntoIterator<Item = TreeDef>) -> Result<Self> {
        around(NodeKind::Tuple, children)
    }

    /// `Point { x: *, y: * }`
    ///
    /// # Errors
    ///
    /// Same as [`seq`](Self::seq).
    pub fn named_struct<'a>(
        name: &str,
        fields: impl IntoIterator<Item = (&'a str, TreeDef)>,
    ) -> Result<Self> {
        let mut node = NodeOfParts::open(NodeHead::new(NodeKind::Struct).with_name(name))?;
        for (field, child) in fields {
            node.builder.field(field.to_owned())?;
            node.insert(&child)?;
        }
        node.finish()
    }

    /// `{"a": *, "b": *}`. The entries are sorted by their keys, and the order in which they came
    /// is remembered. For a key that occurs twice, see [`parse_with`](Self::parse_with).
    ///
    /// # Errors
    ///
    /// Same as [`seq`](Self::seq).
    ///
    /// ```
    /// use treedef::{TreeDef, Value};
    ///
    /// let entries = [(Value::of("b")?, TreeDef::none()), (Value::of("a")?, TreeDef::leaf())];
    /// assert_eq!(TreeDef::map(entries)?.to_string(), r#"{"a": *, "b": None}"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn map(entries: impl IntoIterator<Item = (Value, TreeDef)>) -> Result<Self> {
        let mut node = NodeOfParts::open(NodeHead::new(NodeKind::Map))?;
        for (key, child) in entries {
            node.builder.key(key)?;
            node.insert(&child)?;
        }
        node.finish()
    }
}

fn atom(kind: NodeKind, data: Option<NodeDataRef<'_, Name>>) -> TreeDef {
    let mut builder = PartsBuilder::default();
    builder.open_new(kind, data, 1);
    builder.finish_part()
}

/// A node without names around some children.
fn around(kind: NodeKind, children: impl IntoIterator<Item = TreeDef>) -> Result<TreeDef> {
    let mut node = NodeOfParts::open(NodeHead::new(kind))?;
    for child in children {
        node.insert(&child)?;
    }
    node.finish()
}

/// A node that is built from its children, within the most generous of their limits.
struct NodeOfParts {
    builder: TreeDefBuilder,
    limits: Option<Limits>,
}

impl NodeOfParts {
    fn open(head: NodeHead<'_>) -> Result<Self> {
        let mut builder = TreeDefBuilder::new();
        builder.open(head)?;
        Ok(NodeOfParts { builder, limits: None })
    }

    fn insert(&mut self, child: &TreeDef) -> Result<()> {
        self.limits = Some(self.limits.map_or(child.limits, |limits| limits.or(child.limits)));
        self.builder.insert(child, 1)
    }

    fn finish(mut self) -> Result<TreeDef> {
        self.builder.close()?;
        let treedef = self.builder.finish()?;
        treedef.with_limits(self.limits.unwrap_or_default()).within_limits()
    }
}
