//! Constructors for structures, without a value.

use std::sync::Arc;

use crate::error::Result;
use crate::model::{Name, NodeHead, NodeKind, TreeDef, Value};
use crate::treedef::encoding::{LabelsRef, NodeDataRef};

use super::insertion::insertion_order;
use super::parts::PartsBuilder;

impl TreeDef {
    /// `*`
    pub fn leaf() -> Self {
        atom(NodeHead::new(NodeKind::Leaf))
    }

    /// `None`
    pub fn none() -> Self {
        atom(NodeHead::new(NodeKind::None))
    }

    /// `()`
    pub fn unit() -> Self {
        atom(NodeHead::new(NodeKind::Unit))
    }

    /// `static 1.5`
    pub fn static_value(value: Value) -> Self {
        let mut builder = PartsBuilder::default();
        NodeHead::new(NodeKind::Static).open(&mut builder, LabelsRef::Static(&value));
        builder.finish_part()
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
        NodeHead::new(NodeKind::Seq).around(LabelsRef::None, children)
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
        NodeHead::new(NodeKind::Seq).open(&mut builder, LabelsRef::None);
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
        NodeHead::new(NodeKind::Tuple).around(LabelsRef::None, children)
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
        NodeHead { name, ..NodeHead::new(NodeKind::Struct) }.around_fields(fields)
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
        let mut entries: Vec<_> = collected(entries).into_iter().enumerate().collect();
        let children = entries.iter().map(|(_, (_, child))| child);
        let options = PartsBuilder::options_of(children)?;
        if !options.insertion {
            entries.sort_by(|(_, (a, _)), (_, (b, _))| a.cmp(b));
        }
        let (ranks, entries): (Vec<usize>, Vec<(Value, TreeDef)>) = entries.into_iter().unzip();
        let (keys, children): (Vec<Value>, Vec<TreeDef>) = entries.into_iter().unzip();
        let order = insertion_order(&ranks);
        NodeHead::new(NodeKind::Map).around_in_order(LabelsRef::Keys(&keys), order, children)
    }
}

/// Collects all items without trusting the iterator's `size_hint`.
fn collected<T>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    items.into_iter().for_each(|item| all.push(item));
    all
}

fn atom(head: NodeHead<'_>) -> TreeDef {
    let mut builder = PartsBuilder::default();
    head.open(&mut builder, LabelsRef::None);
    builder.finish_part()
}

impl NodeHead<'_> {
    fn open(self, builder: &mut PartsBuilder, labels: LabelsRef<'_, Name>) {
        let NodeHead { kind, name, variant } = self;
        let (name, variant) = (Name::from(name.to_owned()), Name::from(variant.to_owned()));
        let data = NodeDataRef { name: &name, variant: &variant, labels };
        let has_data = kind.is_named() || matches!(kind, NodeKind::Map | NodeKind::Static);
        builder.open_new(kind, has_data.then_some(data), 1);
    }

    fn around_fields<'a>(
        self,
        fields: impl IntoIterator<Item = (&'a str, TreeDef)>,
    ) -> Result<TreeDef> {
        let owned = |(field, child): (&str, TreeDef)| (Name::from(field.to_owned()), child);
        let fields = collected(fields.into_iter().map(owned));
        let (fields, children): (Vec<Name>, Vec<TreeDef>) = fields.into_iter().unzip();
        self.around(LabelsRef::Fields(&fields), children)
    }

    fn around(
        self,
        labels: LabelsRef<'_, Name>,
        children: impl IntoIterator<Item = TreeDef>,
    ) -> Result<TreeDef> {
        self.around_in_order(labels, None, children)
    }

    /// As [`around`](Self::around), for a map whose entries came in this order.
    fn around_in_order(
        self,
        labels: LabelsRef<'_, Name>,
        order: Option<Arc<[usize]>>,
        children: impl IntoIterator<Item = TreeDef>,
    ) -> Result<TreeDef> {
        let mut builder = PartsBuilder::default();
        self.open(&mut builder, labels);
        builder.set_insertion_order(order);
        for child in children {
            builder.allow(child.limits);
            builder.insert(child.root(), 1)?;
        }
        builder.close()?;
        builder.finish()
    }
}
