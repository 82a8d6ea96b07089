//! Constructors for structures, without a value.

use crate::error::Result;
use crate::model::{Limits, NodeHead, NodeKind, TreeDef, Value};

use super::builder::TreeDefBuilder;
use super::parts::PartsBuilder;

impl TreeDef {
    /// `*`
    ///
    /// # When to use which
    ///
    /// - From a value: [`structure`](crate::structure()). For example, `structure(&())` is `()`,
    ///   `structure(&None::<()>)` is `None`, and a [`Static`](crate::Static) is a static.
    /// - From a text: `"[*; 3]".parse::<TreeDef>()`.
    /// - From parts that are structures already: `leaf`, [`seq`](Self::seq), [`seq_of`](Self::seq_of),
    ///   [`tuple`](Self::tuple), [`map`](Self::map) and [`named_struct`](Self::named_struct).
    /// - Node by node, for all other kinds, and without a structure for each part:
    ///   [`TreeDefBuilder`](crate::TreeDefBuilder).
    pub fn leaf() -> Self {
        let mut builder = PartsBuilder::default();
        builder.open_new(NodeKind::Leaf, None, 1);
        builder.finish_part()
    }

    /// `[*, *]`
    ///
    /// # Errors
    ///
    /// Returns an error when children have different options, or when the result exceeds the
    /// greatest [`Limits`](crate::Limits) of its children.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let point = TreeDef::named_struct("Point", [("x", TreeDef::leaf()), ("y", TreeDef::leaf())])?;
    /// let treedef = TreeDef::seq([point.clone(), "None".parse()?, point])?;
    /// assert_eq!(treedef.to_string(), "[Point { x: *, y: * }, None, Point { x: *, y: * }]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn seq(children: impl IntoIterator<Item = TreeDef>) -> Result<Self> {
        around(NodeKind::Seq.into(), children.into_iter().map(|it| ((), it)), |_, ()| Ok(()))
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
        around(NodeKind::Tuple.into(), children.into_iter().map(|it| ((), it)), |_, ()| Ok(()))
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
        let head = NodeHead { name, ..NodeKind::Struct.into() };
        around(head, fields, |builder, field| builder.field(field.to_owned()))
    }

    /// `{"a": *, "b": *}`. The entries are sorted by their keys, and their insertion order is
    /// remembered. For a key that occurs twice, see [`parse_with`](Self::parse_with).
    ///
    /// # Errors
    ///
    /// Same as [`seq`](Self::seq).
    ///
    /// ```
    /// use treedef::{TreeDef, Value};
    ///
    /// let entries = [(Value::of("b")?, "None".parse()?), (Value::of("a")?, TreeDef::leaf())];
    /// assert_eq!(TreeDef::map(entries)?.to_string(), r#"{"a": *, "b": None}"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn map(entries: impl IntoIterator<Item = (Value, TreeDef)>) -> Result<Self> {
        around(NodeKind::Map.into(), entries, TreeDefBuilder::key)
    }
}

/// A node around children, each with its label, within the greatest of their limits.
fn around<L>(
    head: NodeHead<'_>,
    children: impl IntoIterator<Item = (L, TreeDef)>,
    mut label: impl FnMut(&mut TreeDefBuilder, L) -> Result<()>,
) -> Result<TreeDef> {
    let mut builder = TreeDefBuilder::new();
    builder.open(head, 1)?;
    let mut limits: Option<Limits> = None;
    for (key, child) in children {
        label(&mut builder, key)?;
        limits = Some(limits.map_or(child.limits, |limits| limits.max(child.limits)));
        builder.insert(&child, 1)?;
    }
    builder.close()?;
    builder.finish()?.with_limits(limits.unwrap_or_default()).within_limits()
}
