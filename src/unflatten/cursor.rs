//! The cursor of a walk that rebuilds a value: one walk in pre-order.
//!
//! A location is two numbers: the stored nodes from the current one on, and the index of its first
//! leaf. Each compound that is being read keeps the location of its [next child](super::children) for
//! itself. So it does not matter where a child leaves the cursor: it may read all, skip, fail, or
//! have its error ignored. A path is made only for an error, from the positions on the way up.
//!
//! Nothing here depends on the type that is rebuilt. Small steps are compiled once in a dev build,
//! and are inlined in a release build: hence `cfg_attr(not(debug_assertions), inline)` on them.

use crate::call_stack;
use crate::error::{Error, Result};
use crate::leaf::Scalar;
use crate::leaf::float::Half;
use crate::leaf::leaf_type::Source;
use crate::leaf::object::{OBJECT_MARK, Objects, OuterObjects, SCALAR_MARK};
use crate::model::{Labels, Node, NodeData, NodeKind, TreeDef, Value};
use crate::treedef::node_ref::NodeRef;

use super::layout::FixedNode;
use super::supply::Supply;

/// The [`Deserializer`](super::deserializer) of the node at a cursor. It is only a reference, so
/// asking for a scalar moves nothing.
pub(super) struct NodeDeserializer<'c, 'de>(pub(super) &'c mut Cursor<'de>);

/// Where the walk is, and its state. Reading a value moves the cursor on; the code that has read a
/// compound restores what it saved in [`OpenCompound`].
pub(super) struct Cursor<'de> {
    pub(super) found: Found,
    /// Whether there was a request since this was cleared. If not, a value was made without asking
    /// for what is inside.
    pub(super) asked: bool,
    pub(super) compact: bool,
    pub(super) location: Location<'de>,
    pub(super) depth: Depth,
    /// The limit of levels.
    most_levels: u32,
    /// Whether the last request was refused because the compound is too deep.
    pub(super) is_too_deep: bool,
    pub(super) structures: Structures<'de>,
    pub(super) supply: Supply<'de>,
    /// The layout of the elements that are read ahead. It is not with them, because each sequence would
    /// have to drop it.
    pub(super) fixed: Option<Box<FixedNode<'de>>>,
    /// The locations of the children of maps that are read in another order. The children that are read last are
    /// at the end.
    pub(super) locations: Vec<Location<'de>>,
    /// The current name, if a name was found.
    pub(super) text: &'de str,
    /// Room for the text of a character.
    pub(super) character: [u8; 4],
    _outer: OuterObjects,
}

/// A location in a structure: a node, or the end behind the last one.
#[derive(Clone, Copy)]
pub(super) struct Location<'de> {
    /// The stored nodes from here on.
    pub(super) rest: &'de [Node],
    /// The index of the first leaf.
    pub(super) leaf: usize,
    /// How many maps are before it.
    pub(super) map: usize,
}

/// How deep the walk is, and how much deeper it may go. It is copied as a whole.
#[derive(Clone, Copy)]
pub(super) struct Depth {
    /// How many structures are around the current one.
    around: u32,
    /// The number of newtypes around the place that were not asked for.
    pub(super) newtypes: u32,
    /// What is still allowed, before `newtypes` are subtracted. A compound takes a level, and gives it
    /// back at its end.
    pub(super) budget: DepthBudget,
}

/// The structure that is being read, and the structures around it. A key, a static and an opaque leaf are
/// structures of their own: they are entered when they are asked for, and left when the compound
/// around them goes on.
pub(super) struct Structures<'de> {
    pub(super) current: &'de TreeDef,
    /// The key, static or opaque leaf that is the current structure, and holds its leaves.
    pub(super) value: Option<&'de Value>,
    /// The meaning of a leaf in the current structure.
    leaf_found: Found,
    /// The structures around the current one, and the values that have them. The outermost is apart, so that reading
    /// values that nest no further does not allocate.
    outermost: Option<(&'de TreeDef, Option<&'de Value>)>,
    outer: Vec<(&'de TreeDef, Option<&'de Value>)>,
}

/// The node at the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A node. The payload of a variant has the kind that it has without the variant. A leaf was
    /// given for rebuilding.
    Node(NodeKind),
    /// A leaf of a key, a static or an opaque leaf.
    ValueLeaf,
    /// The name of a field or a variant, which is read like a leaf.
    Name,
    /// A leaf that is a float, where a newtype of 16 bits was asked for: `half::f16`.
    F16,
    /// The same for `half::bf16`.
    Bf16,
}

/// A leaf that was given for rebuilding.
pub(super) const LEAF: Found = Found::Node(NodeKind::Leaf);

/// How much deeper the walk may go.
#[derive(Clone, Copy)]
pub(super) struct DepthBudget {
    /// How many more levels of compounds are allowed.
    pub(super) levels: u32,
    /// How often a node may still stand for its own content, where the type asks for an option or a newtype
    /// that the tree lacks. Without this bound `struct W(Box<W>)` would ask forever.
    passes: u32,
}

/// A compound that is being read: its place, for errors, and the state that is restored after it.
#[derive(Clone, Copy)]
pub(super) struct OpenCompound {
    /// The number of stored nodes from this one on.
    pub(super) rest: usize,
    pub(super) depth: Depth,
}

/// Where the inside of an option or of a newtype is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Interior {
    /// There is none.
    Nothing,
    /// In the only child.
    Child,
    /// It is the node itself.
    Same,
    /// In the entries of a struct of the same name.
    Entries,
    /// In a child that is too deep.
    TooDeep,
    /// An object was asked for, and the leaf is one.
    Object,
    /// An object was asked for, and there is something else.
    NoObject,
}

impl<'de> Cursor<'de> {
    /// A cursor at the root of a structure.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn new(
        treedef: &'de TreeDef,
        leaves: Source<'de>,
        compact: bool,
        max_depth: usize,
    ) -> Self {
        // A limit beyond 2³² limits nothing: that many nodes do not fit into memory.
        let levels = u32::try_from(max_depth).unwrap_or(u32::MAX);
        let rest = &*treedef.encoding.nodes;
        Cursor {
            found: Found::Node(rest[0].kind), // the root exists (invariant 1 of the encoding)
            asked: false,
            compact,
            location: Location { rest, leaf: 0, map: 0 },
            depth: Depth { around: 0, newtypes: 0, budget: DepthBudget { levels, passes: levels } },
            most_levels: levels,
            is_too_deep: false,
            structures: Structures {
                current: treedef,
                value: None,
                leaf_found: LEAF,
                outermost: None,
                outer: Vec::new(),
            },
            _outer: OuterObjects::around(match leaves {
                Source::Objects(_) => Objects::AmongStatics,
                _ => Objects::Scalars,
            }),
            supply: Supply::new(leaves),
            fixed: None,
            locations: Vec::new(),
            text: "",
            character: [0; 4],
        }
    }

    /// At the end of a walk, the structures around the cursor are counted, and all levels are given back.
    #[inline]
    pub(super) fn check_end(&self) {
        let Structures { outermost, outer, .. } = &self.structures;
        let around = outer.len() + usize::from(outermost.is_some());
        debug_assert_eq!(self.depth.around as usize, around, "structures around the cursor");
        debug_assert_eq!(self.depth.budget.levels, self.most_levels, "levels at the end of a walk");
    }

    /// A node of the current structure, without a layout.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn fixed_node(&self) -> FixedNode<'de> {
        FixedNode::new(&self.structures.current.encoding.node_data, self.compact)
    }

    /// Fills in the layout of the first of these nodes, if it has one and is not too deep.
    pub(super) fn lay_out(&self, fixed: &mut FixedNode<'de>, nodes: &[Node]) -> Option<()> {
        let may_be_read = nodes.first()?.depth <= self.depth.budget.levels;
        if may_be_read { fixed.fill(nodes) } else { None }
    }

    /// The node at the cursor.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn node(&self) -> &'de Node {
        &self.location.rest[0] // a cursor is always at a node
    }

    /// The same node, with all that is known of it.
    pub(super) fn here(&self) -> NodeRef<'de> {
        let Location { rest, leaf, map } = self.location;
        let index = self.structures.current.encoding.nodes.len() - rest.len();
        NodeRef::at(self.structures.current, index, leaf, map)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn data(&self) -> Option<&'de NodeData> {
        self.structures.current.encoding.node_data.get(self.node().data())
    }

    /// What a node of this kind is in the current structure.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn found_of(&self, kind: NodeKind) -> Found {
        if kind == NodeKind::Leaf { self.structures.leaf_found } else { Found::Node(kind) }
    }

    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn go_to_name(&mut self, name: &'de str) {
        self.text = name;
        self.found = Found::Name;
        self.depth.newtypes = 0;
    }

    /// Goes to a key, which is a structure of its own unless it is a text.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn go_to_key(&mut self, key: &'de Value) {
        match key.as_str() {
            Some(text) => self.go_to_name(text),
            None => {
                self.depth.newtypes = 0;
                self.enter(key);
            }
        }
    }

    /// Goes to the only child.
    #[cfg_attr(not(debug_assertions), inline)]
    fn go_down(&mut self) {
        let node = self.node();
        self.location.map += usize::from(node.kind == NodeKind::Map);
        self.location.rest = &self.location.rest[1..]; // the child (invariant 2 of the encoding)
        self.found = self.found_of(self.node().kind);
    }

    /// Goes to the root of a key, a static or an opaque leaf.
    #[inline(never)]
    fn enter(&mut self, value: &'de Value) {
        let structures = &mut self.structures;
        let current = (structures.current, structures.value);
        match &structures.outermost {
            None => structures.outermost = Some(current),
            Some(_) => structures.outer.push(current),
        }
        self.depth.around += 1; // at most the depth of the call stack
        structures.current = value.root().treedef;
        (structures.value, structures.leaf_found) = (Some(value), Found::ValueLeaf);
        self.location = Location { rest: &structures.current.encoding.nodes, leaf: 0, map: 0 };
        self.found = self.found_of(self.node().kind);
    }

    /// Goes back to the structure with `around` others around it.
    #[inline(never)]
    fn leave(&mut self, around: u32) {
        let structures = &mut self.structures;
        while self.depth.around > around
            && let Some((treedef, value)) =
                structures.outer.pop().or_else(|| structures.outermost.take())
        {
            (structures.current, structures.value) = (treedef, value);
            structures.leaf_found = if value.is_some() { Found::ValueLeaf } else { LEAF };
            self.depth.around -= 1;
            self.location.rest = &treedef.encoding.nodes; // a location in this structure, until there is a better one
        }
    }

    /// Goes back to the structure of a compound.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn back_to(&mut self, parent: &OpenCompound) {
        if !self.is_in_structure_of(parent) {
            self.leave(parent.depth.around);
        }
    }

    /// Whether this is in the same structure as a compound around it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_in_structure_of(&self, parent: &OpenCompound) -> bool {
        self.depth.around == parent.depth.around
    }

    /// Goes back to a compound itself, to the kind that it had.
    pub(super) fn go_to_parent(
        &mut self,
        parent: &OpenCompound,
        found: Found,
        location: Location<'de>,
    ) {
        self.back_to(parent);
        (self.location, self.found, self.depth.newtypes) = (location, found, 0);
    }

    /// The compound at the cursor, before any of it is read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn parent(&self) -> OpenCompound {
        OpenCompound { rest: self.location.rest.len(), depth: self.depth }
    }

    /// Whether one more level of compounds is allowed.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn may_descend(&self) -> bool {
        self.depth.newtypes < self.depth.budget.levels
    }

    /// The same; if not, [`unexpected`](Self::unexpected) says so.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn expect_level(&mut self) -> bool {
        self.may_descend() || self.refuse()
    }

    #[cold]
    fn refuse(&mut self) -> bool {
        self.is_too_deep = true;
        false
    }

    /// Counts the newtypes around the place and `levels` more. There [are as many](Self::may_descend).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn descend(&mut self, levels: u32) {
        self.depth.budget.levels -= self.depth.newtypes + levels;
        self.depth.newtypes = 0;
    }

    /// Puts back what [`descend`](Self::descend) and [`pass`](Self::pass) took, after a compound.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn ascend(&mut self, parent: &OpenCompound) {
        self.depth.budget = parent.depth.budget;
    }

    /// Rejects the inside of an option or of a newtype that was made without asking for it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn end_inside(&mut self, parent: &OpenCompound) -> Result<()> {
        self.ascend(parent);
        if self.asked { Ok(()) } else { Err(self.inside_unread(parent)) }
    }

    #[cold]
    pub(super) fn too_deep(&self) -> Error {
        // The limit, or 2³² − 1 for one beyond.
        call_stack::too_deep(self.most_levels as usize)
    }

    /// The value in place of the node: a static, or the content of an opaque leaf.
    fn inside(&self) -> Option<&'de Value> {
        match self.found {
            Found::Node(NodeKind::Static) => match &self.data()?.labels {
                Labels::Static(value) => Some(value),
                _ => None,
            },
            LEAF => self.supply.opaque(self.location.leaf),
            _ => None,
        }
    }

    /// Goes to the value in place of the node, if there is one.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn enter_kept(&mut self) {
        self.asked = true;
        match self.found {
            Found::Node(NodeKind::Static | NodeKind::Leaf) | Found::F16 | Found::Bf16 => {
                self.enter_kept_value();
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn enter_kept_value(&mut self) {
        if let Found::F16 | Found::Bf16 = self.found {
            self.found = self.found_of(NodeKind::Leaf);
        }
        while let Some(value) = self.inside() {
            self.enter(value);
        }
    }

    /// Goes inside a static or an opaque leaf, and the newtypes around a node.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn settle(&mut self) -> Result<()> {
        self.asked = true;
        match self.found {
            Found::Node(NodeKind::Static | NodeKind::Leaf | NodeKind::NewtypeStruct)
            | Found::F16
            | Found::Bf16 => self.unwrap(false),
            _ => Ok(()),
        }
    }

    /// The same, but not into a newtype whose name no Rust type can have: the visitor knows it.
    pub(super) fn settle_to_message(&mut self) -> Result<()> {
        self.asked = true;
        self.unwrap(true)
    }

    #[inline(never)]
    fn unwrap(&mut self, to_message: bool) -> Result<()> {
        self.enter_kept();
        while self.found == Found::Node(NodeKind::NewtypeStruct)
            && !(to_message && self.is_message())
        {
            if !self.may_descend() {
                return Err(self.too_deep());
            }
            self.depth.newtypes += 1; // at most the number of levels
            self.go_down();
            self.enter_kept();
        }
        Ok(())
    }

    fn is_message(&self) -> bool {
        self.data().is_some_and(|data| data.name.starts_with('$'))
    }

    /// Stays at the node, which answers in place of its inside.
    pub(super) fn pass(&mut self) -> Interior {
        match self.depth.budget.passes.checked_sub(1) {
            Some(left) => self.depth.budget.passes = left,
            None => return Interior::TooDeep,
        }
        Interior::Same
    }

    /// Goes to the only child, which is asked for.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn go_inside(&mut self) -> Interior {
        if !self.may_descend() {
            return Interior::TooDeep;
        }
        self.descend(1);
        self.go_down();
        self.asked = false;
        Interior::Child
    }

    /// Goes to the option, if it is in place of the node.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn enter_kept_option(&mut self) {
        self.asked = true;
        if !matches!(self.found, Found::Node(NodeKind::None | NodeKind::Some | NodeKind::Unit)) {
            self.enter_kept_value();
        }
    }

    /// Goes inside an option.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn option(&mut self) -> Interior {
        match self.found {
            // A unit is read as `None`, because `Some(())` has a `Some` node.
            Found::Node(NodeKind::None | NodeKind::Unit) => Interior::Nothing,
            Found::Node(NodeKind::Some) => self.go_inside(),
            _ => self.other_option(),
        }
    }

    #[inline(never)]
    fn other_option(&mut self) -> Interior {
        match self.found {
            LEAF | Found::ValueLeaf if matches!(self.scalar(), Some(Scalar::None)) => {
                Interior::Nothing
            }
            _ => self.pass(),
        }
    }

    /// Goes inside a newtype struct of this name.
    #[inline(never)]
    pub(super) fn newtype(&mut self, name: &str) -> Interior {
        if name == OBJECT_MARK || name == SCALAR_MARK {
            return self.object(name == SCALAR_MARK);
        }
        match self.found {
            Found::Node(NodeKind::NewtypeStruct) => self.go_inside(),
            Found::Node(NodeKind::Struct) if self.data().is_some_and(|data| data.name == name) => {
                Interior::Entries
            }
            LEAF | Found::ValueLeaf => match (Half::named(name), self.scalar()) {
                (Some(half), Some(Scalar::F32(_) | Scalar::F64(_))) => {
                    self.found = match half {
                        Half::F16 => Found::F16,
                        Half::Bf16 => Found::Bf16,
                    };
                    Interior::Same
                }
                _ => self.pass(),
            },
            _ => self.pass(),
        }
    }

    /// An object is asked for, which may be a scalar where there are no objects.
    #[cold]
    fn object(&mut self, may_be_scalar: bool) -> Interior {
        if may_be_scalar && !self.supply.are_objects() {
            return self.pass();
        }
        if self.settle().is_err() {
            return Interior::TooDeep;
        }
        let is_object = self.found == LEAF && self.supply.are_objects();
        if is_object { Interior::Object } else { Interior::NoObject }
    }

    /// Goes to the payload of a variant, which is then read as a value of its own. Returns whether
    /// it may be read.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn go_to_payload(&mut self) -> bool {
        let may_descend = self.found != Found::Node(NodeKind::NewtypeVariant) || self.may_descend();
        if may_descend {
            self.enter_payload();
        }
        may_descend
    }

    /// The same for a payload that may be read.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn enter_payload(&mut self) {
        let kind = match self.found {
            Found::Node(NodeKind::NewtypeVariant) => {
                self.descend(1);
                return self.go_down();
            }
            Found::Node(NodeKind::UnitVariant) => NodeKind::Unit,
            Found::Node(NodeKind::TupleVariant) => NodeKind::Tuple,
            _ => NodeKind::Struct,
        };
        self.descend(0);
        self.found = Found::Node(kind);
    }

    /// Goes to the only child of a map of one entry.
    pub(super) fn go_to_entry(&mut self) -> bool {
        let may_descend = self.may_descend();
        if may_descend {
            self.descend(1);
            self.go_down();
        }
        may_descend
    }

    /// Whether this is a unit.
    #[inline(never)]
    pub(super) fn is_unit(&mut self) -> bool {
        self.settle().is_ok()
            && matches!(self.found, Found::Node(NodeKind::Unit | NodeKind::UnitStruct))
    }

    /// Whether this is a sequence, a tuple or a tuple struct that may be read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_sequence(&mut self) -> bool {
        self.asked = true;
        (self.found.is_sequence() || self.settles_at_sequence()) && self.expect_level()
    }

    #[inline(never)]
    fn settles_at_sequence(&mut self) -> bool {
        self.settle().is_ok() && self.found.is_sequence()
    }

    /// Whether this is a map that may be read, or a struct: something with entries. If a struct
    /// with `fields` is asked for, a sequence is one, too.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn is_map(&mut self, fields: Option<&[&str]>) -> bool {
        self.asked = true;
        match self.found {
            Found::Node(NodeKind::Struct | NodeKind::Map) => self.expect_level(),
            _ => self.settles_at_map(fields),
        }
    }

    #[inline(never)]
    fn settles_at_map(&mut self, fields: Option<&[&str]>) -> bool {
        if self.settle().is_err() {
            return false;
        }
        match self.found {
            Found::Node(NodeKind::Struct | NodeKind::Map | NodeKind::NewtypeVariant) => {
                self.expect_level()
            }
            Found::Node(NodeKind::TupleVariant | NodeKind::StructVariant) => true,
            // An empty sequence is probably of another type, not a struct whose fields are absent.
            found if found.is_sequence() => {
                fields.is_some_and(|fields| fields.is_empty() || self.node().children > 0)
                    && self.expect_level()
            }
            _ => false,
        }
    }
}

impl Found {
    /// The newtype of 16 bits that was asked for.
    pub(super) fn half(self) -> Option<Half> {
        match self {
            Found::F16 => Some(Half::F16),
            Found::Bf16 => Some(Half::Bf16),
            _ => None,
        }
    }

    /// Whether nothing else may answer in place of the node.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn is_itself(self) -> bool {
        use NodeKind as Is;
        matches!(self, Found::Node(kind) if !matches!(kind, Is::Leaf | Is::Static | Is::NewtypeStruct))
    }

    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn is_variant(self) -> bool {
        matches!(self, Found::Node(kind) if kind.is_variant())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_sequence(self) -> bool {
        matches!(self, Found::Node(NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct))
    }
}
