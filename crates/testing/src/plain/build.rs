//! Conversions between plain nodes and treedefs or trees.

use serde::ser::{Serialize, SerializeTuple, Serializer};
use treedef::{NodeHead, NodeKind, NodeRef, Tree, TreeDef, TreeDefBuilder, Value};

use super::{Constant, Head, Node, Shape, Total, Width};

impl Constant {
    pub fn value(&self) -> Value {
        Value::of(self).expect("constants are values")
    }
}

impl Serialize for Constant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Constant::Bool(value) => serializer.serialize_bool(*value),
            Constant::Integer(value, Width::I8) => serializer.serialize_i8(*value as i8),
            Constant::Integer(value, Width::U8) => serializer.serialize_u8(*value as u8),
            Constant::Integer(value, Width::I32) => serializer.serialize_i32(*value as i32),
            Constant::Integer(value, Width::I64) => serializer.serialize_i64(*value),
            Constant::Float(Total(value)) => serializer.serialize_f64(*value),
            Constant::Char(value) => serializer.serialize_char(*value),
            Constant::Text(value) => serializer.serialize_str(value),
            Constant::None => serializer.serialize_none(),
            Constant::Some(inside) => serializer.serialize_some(inside),
            Constant::Unit => serializer.serialize_unit(),
            Constant::Seq(children) => serializer.collect_seq(children),
            Constant::Tuple(children) => {
                let mut tuple = serializer.serialize_tuple(children.len())?;
                for child in children {
                    tuple.serialize_element(child)?;
                }
                tuple.end()
            }
        }
    }
}

impl Shape {
    /// Made by the builder; the entries of maps are sorted by their keys.
    pub fn constructed(&self) -> TreeDef {
        let mut builder = TreeDefBuilder::new();
        self.build(&mut builder, 1).expect("each call fits");
        builder.finish().expect("a complete structure")
    }

    fn build(&self, builder: &mut TreeDefBuilder, times: usize) -> treedef::Result<()> {
        let Node::Inner(head, children) = self else { return builder.leaves(times) };
        if let Head::Static(constant) = head {
            return builder.static_value(&constant.value(), times);
        }
        let ([name, variant], fields) = match head {
            Head::UnitStruct(name) | Head::NewtypeStruct(name) | Head::TupleStruct(name) => {
                ([*name, ""], None)
            }
            Head::UnitVariant(name, variant)
            | Head::NewtypeVariant(name, variant)
            | Head::TupleVariant(name, variant) => ([*name, variant], None),
            Head::Struct(name, fields) => ([*name, ""], Some(fields)),
            Head::StructVariant(name, variant, fields) => ([*name, variant], Some(fields)),
            _ => (["", ""], None),
        };
        let kind = NodeHead { kind: self.kind(), name, variant };
        builder.open(kind, times)?;
        let mut at = 0;
        while let Some(child) = children.get(at) {
            match (head, fields) {
                (Head::Map(keys), _) => builder.key(keys[at].value())?,
                (_, Some(fields)) => builder.field(fields[at])?,
                _ => {}
            }
            let alike = children[at..].iter().take_while(|other| *other == child).count();
            let times = if head.is_labelled() { 1 } else { alike };
            child.build(builder, times)?;
            at += times;
        }
        if self.kind().is_atom() { Ok(()) } else { builder.close() }
    }

    /// Made from its text, expanded or with runs; the entries of maps stay in their order.
    pub fn parsed(&self, options: &str, runs: bool) -> TreeDef {
        let text = format!("{options}{}", self.text(runs));
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    pub fn treedef(&self, insertion: bool) -> TreeDef {
        if insertion { self.parsed("#[insertion] ", true) } else { self.constructed() }
    }
}

impl<L: Clone + PartialEq> Node<L> {
    pub fn tree(&self, insertion: bool) -> Tree<L> {
        let treedef = self.structure().treedef(insertion);
        Tree::new(treedef, self.leaves()).expect("as many leaves")
    }
}

impl<L> Node<L> {
    pub fn kind(&self) -> NodeKind {
        let Node::Inner(head, _) = self else { return NodeKind::Leaf };
        match head {
            Head::None => NodeKind::None,
            Head::Some => NodeKind::Some,
            Head::Unit => NodeKind::Unit,
            Head::UnitStruct(_) => NodeKind::UnitStruct,
            Head::NewtypeStruct(_) => NodeKind::NewtypeStruct,
            Head::Seq => NodeKind::Seq,
            Head::Tuple => NodeKind::Tuple,
            Head::TupleStruct(_) => NodeKind::TupleStruct,
            Head::Map(_) => NodeKind::Map,
            Head::Struct(..) => NodeKind::Struct,
            Head::UnitVariant(..) => NodeKind::UnitVariant,
            Head::NewtypeVariant(..) => NodeKind::NewtypeVariant,
            Head::TupleVariant(..) => NodeKind::TupleVariant,
            Head::StructVariant(..) => NodeKind::StructVariant,
            Head::Static(_) => NodeKind::Static,
        }
    }
}

/// Whether a structure equals a plain node, compared node by node; equal neighbours have to be one
/// run.
pub fn reads_as(node: NodeRef<'_>, plain: &Shape) -> bool {
    let names = match plain {
        Node::Leaf(()) => (None, None),
        Node::Inner(head, _) => match *head {
            Head::UnitStruct(name)
            | Head::NewtypeStruct(name)
            | Head::TupleStruct(name)
            | Head::Struct(name, _) => (Some(name), None),
            Head::UnitVariant(name, variant)
            | Head::NewtypeVariant(name, variant)
            | Head::TupleVariant(name, variant)
            | Head::StructVariant(name, variant, _) => (Some(name), Some(variant)),
            _ => (None, None),
        },
    };
    let labels = match plain {
        Node::Inner(Head::Map(keys), _) => {
            node.entry_keys().iter().eq(&keys.iter().map(Constant::value).collect::<Vec<_>>())
        }
        Node::Inner(Head::Struct(_, fields) | Head::StructVariant(_, _, fields), _) => {
            node.fields().iter().eq(fields)
        }
        Node::Inner(Head::Static(constant), _) => node.static_value() == Some(&constant.value()),
        _ => {
            node.entry_keys().is_empty()
                && node.fields().is_empty()
                && node.static_value().is_none()
        }
    };
    let runs: Vec<usize> = node.runs().map(|(_, repeat)| repeat).collect();
    let equal: Vec<usize> = plain.children().chunk_by(PartialEq::eq).map(<[_]>::len).collect();
    node.kind() == plain.kind()
        && names == (node.name(), node.variant())
        && labels
        && runs == equal
        && node.num_leaves() == plain.num_leaves()
        && node.num_children() == plain.children().len()
        && node.children().zip(plain.children()).all(|(node, plain)| reads_as(node, plain))
}
