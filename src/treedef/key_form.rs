//! Equality of keys: two keys are the same if they have one value, whatever its width or type.

use std::borrow::Cow;

use crate::bug::{OrBug, bug};
use crate::error::Result;
use crate::model::{Leaf, Limits, NodeHead, NodeKind, Tree, Value};
use crate::positions::sorted_positions;
use crate::treedef::builder::TreeDefBuilder;
use crate::treedef::node_ref::NodeRef;

/// A key of more nodes is its own form.
const MOST_NODES: usize = 1 << 12;

impl Value {
    /// Whether two keys are the same value: an integer or a float of any width, a text, a null, a list or a
    /// map. A number is never the same as a text.
    pub(crate) fn is_same_key(&self, other: &Value) -> bool {
        match (self.as_str(), other.as_str()) {
            (Some(a), Some(b)) => a == b,
            _ if self == other => true,
            _ => KeyShape::of(self) == KeyShape::of(other) && self.key_form() == other.key_form(),
        }
    }

    /// The value of an integer key.
    pub(crate) fn as_integer_key(&self) -> Option<i128> {
        match self.as_leaf() {
            Some(leaf) => leaf.as_i128(),
            None => {
                let node = Some(unwrapped(self)).filter(|node| node.is_leaf())?;
                Leaf::from(self.scalar(node.first_leaf())?).as_i128()
            }
        }
    }

    /// The common form of all keys that are the same. Integers get the width that formats use, a `char`
    /// becomes a text, and a short float becomes the double with the same printed digits. `None` and every
    /// unit become `null`. A tuple becomes a sequence, a struct a map of its fields, and a variant its
    /// name, or a map with its name as key. A `Some` and a newtype become their content.
    pub(crate) fn key_form(&self) -> Cow<'_, Value> {
        let form = match self.as_leaf() {
            Some(leaf) => scalar_form(leaf).map(Value::from),
            None if self.work() > MOST_NODES => None,
            None => KeyForm::of(self).ok(),
        };
        form.map_or(Cow::Borrowed(self), Cow::Owned)
    }
}

/// The node inside each `Some` and newtype, which alone counts in a key.
fn unwrapped(key: &Value) -> NodeRef<'_> {
    let mut node = key.root();
    while let (NodeKind::Some | NodeKind::NewtypeStruct, Some(child)) = (node.kind(), node.child(0))
    {
        node = child;
    }
    node
}

/// A summary that tells most keys apart without reading them to the end.
#[derive(PartialEq, Eq)]
enum KeyShape {
    Scalar,
    Null,
    List(usize),
    Map(usize),
}

impl KeyShape {
    fn of(value: &Value) -> Self {
        use NodeKind as Is;
        let node = unwrapped(value);
        match node.kind() {
            Is::Leaf | Is::UnitVariant => KeyShape::Scalar,
            Is::Seq | Is::Tuple | Is::TupleStruct => KeyShape::List(node.num_children()),
            Is::Map | Is::Struct => KeyShape::Map(node.num_children()),
            Is::NewtypeVariant | Is::TupleVariant | Is::StructVariant => KeyShape::Map(1),
            _ => KeyShape::Null,
        }
    }
}

/// The form of a scalar, unless the scalar is its own form.
fn scalar_form(leaf: &Leaf) -> Option<Leaf> {
    if leaf.kind().is_integer() {
        return match (leaf.as_u64(), leaf.as_i64(), leaf.as_i128()) {
            (Some(number), ..) => Some(number.into()),
            (_, Some(number), _) => Some(number.into()),
            (.., number) => number.map(Leaf::from),
        };
    }
    match leaf {
        Leaf::Char(char) => Some(Leaf::from(char.to_string())),
        Leaf::F32(number) if number.is_nan() => Some(f64::NAN.into()),
        Leaf::F64(number) if number.is_nan() => Some(f64::NAN.into()),
        Leaf::F32(number) => Some(number.to_string().parse::<f64>().ok().or_bug().into()),
        _ => None,
    }
}

/// The form of a compound while it is built. It uses a loop, because a value may nest deeply; it recurses
/// only for keys in keys.
struct KeyForm<'v> {
    leaves: &'v [Leaf],
    builder: TreeDefBuilder,
    made: Vec<Leaf>,
    /// The stack of open nodes. The last is next.
    next: Vec<FormStep<'v>>,
}

enum FormStep<'v> {
    Node(NodeRef<'v>),
    /// The content of a variant.
    Inside(NodeRef<'v>),
    Key(Value),
    Close,
}

impl<'v> KeyForm<'v> {
    fn of(value: &Value) -> Result<Value> {
        let leaves = value.leaves();
        let builder =
            TreeDefBuilder::new().limits(Limits { max_depth: usize::MAX, ..Limits::default() });
        let mut form = KeyForm { leaves: &leaves, builder, made: Vec::new(), next: Vec::new() };
        form.next.push(FormStep::Node(value.root()));
        while let Some(step) = form.next.pop() {
            match step {
                FormStep::Node(node) => form.node(node)?,
                FormStep::Inside(node) => form.inside(node)?,
                FormStep::Key(key) => form.builder.key(key)?,
                FormStep::Close => form.builder.close()?,
            }
        }
        Ok(Value::from_tree(Tree::from_parts(form.builder.finish()?, form.made)))
    }

    fn node(&mut self, node: NodeRef<'v>) -> Result<()> {
        let Some(variant) = node.variant() else { return self.inside(node) };
        if node.kind() == NodeKind::UnitVariant {
            return self.leaf(Leaf::from(variant));
        }
        self.builder.open(NodeKind::Map, 1)?;
        let key = FormStep::Key(Leaf::from(variant).into());
        self.next.extend([FormStep::Close, FormStep::Inside(node), key]);
        Ok(())
    }

    fn leaf(&mut self, leaf: Leaf) -> Result<()> {
        self.made.push(leaf);
        self.builder.leaves(1)
    }

    /// A node, without regard to its variant.
    fn inside(&mut self, node: NodeRef<'v>) -> Result<()> {
        use NodeKind as Is;
        match node.kind() {
            Is::Leaf => {
                let leaf = self.leaves.get(node.first_leaf());
                let leaf = leaf.ok_or_else(|| bug!("a leaf is missing"))?;
                return self.leaf(scalar_form(leaf).unwrap_or_else(|| leaf.clone()));
            }
            Is::Some | Is::NewtypeStruct | Is::NewtypeVariant => {
                self.next.extend(node.children().map(FormStep::Node));
                return Ok(());
            }
            Is::Seq | Is::Tuple | Is::TupleStruct | Is::TupleVariant => {
                self.builder.open(Is::Seq, 1)?;
                self.next.push(FormStep::Close);
                let from = self.next.len();
                self.next.extend(node.children().map(FormStep::Node));
                self.next[from..].reverse(); // at most the length
            }
            Is::Map | Is::Struct | Is::StructVariant => {
                self.builder.open(Is::Map, 1)?;
                self.next.push(FormStep::Close);
                let children: Vec<NodeRef<'v>> = node.children().collect();
                let mut keys: Vec<Value> = Vec::with_capacity(children.len());
                for field in node.fields() {
                    keys.push(Leaf::from(&**field).into());
                }
                for key in node.entry_keys() {
                    keys.push(key.key_form().into_owned());
                }
                debug_assert_eq!(keys.len(), children.len());
                for at in sorted_positions(keys.len(), &mut |a, b| keys[b].cmp(&keys[a])) {
                    self.next.push(FormStep::Node(children[at]));
                    self.next.push(FormStep::Key(keys[at].clone()));
                }
            }
            _ => self.builder.open(NodeHead { name: "null", ..Is::UnitStruct.into() }, 1)?,
        }
        Ok(())
    }
}
