//! The treedefs and trees that plain nodes stand for, and back.

use serde::ser::{Serialize, SerializeTuple, Serializer};
use treedef::{NodeKind, NodeRef, Tree, TreeDef, Value};

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
    /// By the constructors; maps stand in the order of their keys.
    pub fn constructed(&self) -> TreeDef {
        let Node::Inner(head, children) = self else { return TreeDef::leaf() };
        let mut made: Vec<TreeDef> = children.iter().map(Shape::constructed).collect();
        let made = match head {
            Head::None => return TreeDef::none(),
            Head::Unit => return TreeDef::unit(),
            Head::UnitStruct(name) => return TreeDef::unit_struct(name),
            Head::UnitVariant(name, variant) => return TreeDef::unit_variant(name, variant),
            Head::Static(constant) => return TreeDef::static_value(constant.value()),
            Head::Some => TreeDef::some(made.remove(0)),
            Head::NewtypeStruct(name) => TreeDef::newtype_struct(name, made.remove(0)),
            Head::NewtypeVariant(name, variant) => {
                TreeDef::newtype_variant(name, variant, made.remove(0))
            }
            // The same without making all of them.
            Head::Seq if children.len() > 1 && children.windows(2).all(|two| two[0] == two[1]) => {
                TreeDef::seq_of(&made[0], made.len())
            }
            Head::Seq => TreeDef::seq(made),
            Head::Tuple => TreeDef::tuple(made),
            Head::TupleStruct(name) => TreeDef::tuple_struct(name, made),
            Head::TupleVariant(name, variant) => TreeDef::tuple_variant(name, variant, made),
            Head::Map(keys) => TreeDef::map(keys.iter().map(Constant::value).zip(made)),
            Head::Struct(name, all) => TreeDef::named_struct(name, all.iter().copied().zip(made)),
            Head::StructVariant(name, variant, all) => {
                TreeDef::struct_variant(name, variant, all.iter().copied().zip(made))
            }
        };
        made.expect("parts without options go together")
    }

    /// By its text, expanded or with runs; maps stand as they do here.
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

/// Whether a structure is the one of a plain node, read node by node; equal neighbours are one run.
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
