//! Trees as nested documents, as their values would be in a format like JSON.

use serde::de::{Deserialize, DeserializeSeed, Deserializer};
use serde::ser::{self, Error, Serialize, SerializeMap, SerializeSeq, SerializeTuple, Serializer};

use crate::bug::{OrBug, bug};
use crate::call_stack;
use crate::flatten::TreeSeed;
use crate::leaf::Scalar;
use crate::leaf::each_scalar;
use crate::model::{Leaf, Limits, NodeKind, Tree, Value};
use crate::tree::private::{self, Form, Private};
use crate::tree::shape;
use crate::treedef::node_ref::NodeRef;

/// Serializes the nested document. Structs become maps of their fields. Unit variants become
/// strings, other variants maps of one entry. Newtypes become their content, and statics are
/// written in their places. In JSON, the result is the same as for the value itself.
///
/// If a format writes structs, variants or newtypes in another way, rebuild the value:
/// [`Tree::into_typed`].
///
/// Some formats have values outside of serde's data model, such as the dates of TOML, and pass them
/// on under private names. In their own format they become such values again, in others texts. The
/// [overview](crate) lists them.
///
/// ```
/// use treedef::Tree;
///
/// let losses = Tree::new(
///     "Model { name: static \"mlp\", layers: [Layer { w: * }; 2] }".parse()?,
///     vec![0.5, 0.25],
/// )?;
/// assert_eq!(
///     serde_json::to_string(&losses)?,
///     r#"{"name":"mlp","layers":[{"w":0.5},{"w":0.25}]}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<L: Serialize> Serialize for Tree<L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        shape::answer(&serializer, || shape::Shape::of_tree(self));
        self.treedef.expect_work(self.leaves_in_memory()).map_err(S::Error::custom)?;
        let root = self.treedef.root();
        call_stack::expect_room(self.treedef.limits, root.levels()).map_err(S::Error::custom)?;
        Document { node: root, leaves: &self.leaves }.serialize(serializer)
    }
}

/// Serializes a scalar as itself, an absent value as none, and an opaque leaf as its document.
impl Serialize for Leaf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        each_scalar! { [sized texts] ($kind $type $serialize $visit) => {
            match (self, self.as_scalar()) {
                $((_, Some(Scalar::$kind(value))) => serializer.$serialize(value),)*
                (Leaf::Opaque(value), _) => value.serialize(serializer),
                _ => serializer.serialize_none(),
            }
        }}
    }
}

/// Serializes the document of the value, as for a [`Tree`].
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let any = Limits { max_depth: usize::MAX, ..Limits::default() };
        call_stack::expect_room(any, self.root().levels()).map_err(S::Error::custom)?;
        Document { node: self.root(), leaves: &self.leaves() }.serialize(serializer)
    }
}

/// A node with everything below it. It recurses as deep as the structure, whose depth was checked
/// at the root.
struct Document<'a, L> {
    node: NodeRef<'a>,
    leaves: &'a [L],
}

impl<L: Serialize> Serialize for Document<'_, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use NodeKind as Is;
        if let Some(private) = Private::of(self.node) {
            return self.private(private, serializer);
        }
        let variant = || self.node.variant().or_bug();
        match self.node.kind() {
            Is::Leaf => there(self.leaves.get(self.node.first_leaf()))?.serialize(serializer),
            Is::None => serializer.serialize_none(),
            Is::Some => serializer.serialize_some(&self.only_child()?),
            Is::Unit | Is::UnitStruct => serializer.serialize_unit(),
            Is::Static => there(self.node.static_value())?.serialize(serializer),
            Is::UnitVariant => serializer.serialize_str(variant()),
            Is::NewtypeStruct | Is::Seq | Is::Tuple | Is::TupleStruct | Is::Map | Is::Struct => {
                self.inside(serializer)
            }
            Is::NewtypeVariant | Is::TupleVariant | Is::StructVariant => {
                let mut entry = serializer.serialize_map(Some(1))?;
                entry.serialize_entry(variant(), &NodeContent(self))?;
                entry.end()
            }
        }
    }
}

/// The content of a node, without the name of its variant.
struct NodeContent<'a, 'd, L>(&'d Document<'a, L>);

impl<L: Serialize> Serialize for NodeContent<'_, '_, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.inside(serializer)
    }
}

impl<'a, L: Serialize> Document<'a, L> {
    fn child(&self, node: NodeRef<'a>) -> Self {
        Document { node, ..*self }
    }

    fn only_child<E: ser::Error>(&self) -> Result<Self, E> {
        there(self.node.children().next()).map(|node| self.child(node))
    }

    /// A value of a format outside of serde's data model. That format and trees recognise it by its name;
    /// other formats get a text, or the tagged value.
    fn private<S: Serializer>(
        &self,
        private: &'static Private,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let is_ours = private::is_ours::<S>();
        let is_known = is_ours || private.is_known_to::<S>();
        let children: Vec<_> = self.node.children().take(3).collect();
        match (private.form, children.as_slice()) {
            (Form::Tag { .. }, [tag, value]) if is_known && tag.is_leaf() => {
                private.tag(&self.child(*tag), &self.child(*value), serializer)
            }
            (Form::Tag { .. }, [_, value]) => {
                call_stack::grow!(self.child(*value).serialize(serializer))
            }
            (Form::Newtype | Form::Text { .. } | Form::Number { .. }, [value]) => {
                let value = self.child(*value);
                let text = shape::text_of(&value);
                let is_kept = match &text {
                    Some(text) => private.is_written(text),
                    None => matches!(private.form, Form::Newtype),
                };
                match (text, private.form) {
                    _ if is_ours || is_known && is_kept => private.known(&value, serializer),
                    (Some(text), Form::Number { .. }) => {
                        private::serialize_number(&text, serializer)
                    }
                    (Some(text), _) => serializer.serialize_str(&text),
                    (None, _) => self.inside(serializer),
                }
            }
            _ => self.inside(serializer),
        }
    }

    fn inside<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use NodeKind as Is;
        let (children, count) = (self.node.children(), self.node.num_children());
        match self.node.kind() {
            Is::NewtypeStruct | Is::NewtypeVariant => {
                let child = self.only_child()?;
                call_stack::grow!(child.serialize(serializer))
            }
            Is::Tuple | Is::TupleStruct | Is::TupleVariant => {
                let mut tuple = serializer.serialize_tuple(count)?;
                for child in children {
                    call_stack::grow!(tuple.serialize_element(&self.child(child)))?;
                }
                tuple.end()
            }
            Is::Map => self.entries(serializer),
            Is::Struct | Is::StructVariant => {
                let mut fields = serializer.serialize_map(Some(count))?;
                for (field, child) in self.node.fields().iter().zip(children) {
                    call_stack::grow!(fields.serialize_entry(field.as_ref(), &self.child(child)))?;
                }
                fields.end()
            }
            _ => {
                let mut seq = serializer.serialize_seq(Some(count))?;
                for child in children {
                    call_stack::grow!(seq.serialize_element(&self.child(child)))?;
                }
                seq.end()
            }
        }
    }

    /// Serializes the entries of a map, in insertion order.
    fn entries<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (keys, children) = (self.node.entry_keys(), self.node.children());
        let mut entries = serializer.serialize_map(Some(keys.len()))?;
        let Some(order) = self.node.insertion_order() else {
            for (key, child) in keys.iter().zip(children) {
                call_stack::grow!(entries.serialize_entry(key, &self.child(child)))?;
            }
            return entries.end();
        };
        let children: Vec<NodeRef<'a>> = children.collect();
        for &position in order.iter() {
            let (key, child) = there(keys.get(position).zip(children.get(position)))?;
            call_stack::grow!(entries.serialize_entry(key, &self.child(*child)))?;
        }
        entries.end()
    }
}

/// Reads a document of any self-describing format in one pass, without an intermediate value. The
/// tree has maps, sequences and scalars of the kinds that the format distinguishes. Use
/// [`TreeSeed`](crate::TreeSeed) for other limits.
///
/// ```
/// use treedef::{Leaf, Tree};
///
/// let tree: Tree<Leaf> = serde_json::from_str(r#"{"b": [1, 2.5], "a": null}"#)?;
/// assert_eq!(tree.to_string(), r#"{"a": (), "b": [1u64, 2.5]}"#);
/// assert_eq!(tree, Tree::of(&serde_json::json!({"b": [1, 2.5], "a": null}))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<'de> Deserialize<'de> for Tree<Leaf> {
    fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
        TreeSeed::default().deserialize(document)
    }
}

/// The node of a structure at a place.
fn there<T, E: ser::Error>(found: Option<T>) -> Result<T, E> {
    found.ok_or_else(|| E::custom(bug!("a structure lacks what it says")))
}
