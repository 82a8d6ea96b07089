//! Applies rules to a finished tree. A node that a rule names becomes a static or one leaf, with its
//! whole subtree. A subtree in which no rule can name a node is copied as a whole.

use std::{mem, slice, vec};

use crate::bug::{OrBug, bug};
use crate::error::{Cause, Result};
use crate::leaf::float::Half;
use crate::leaf::object::Objects;
use crate::leaf::sink::Sink;
use crate::model::{
    Leaf, LeafKind, Limits, MAX_KEY_NESTING, Node, NodeData, NodeKind, Options, Tree, TreeDef,
    Value,
};
use crate::path::{Key, Path};
use crate::pattern::Pattern;
use crate::selector::Selector;
use crate::treedef::encoding::{LabelsRef, NAMELESS, NodeDataRef};
use crate::treedef::node_ref::{Children, NodeRef};
use crate::treedef::parts::PartsBuilder;
use crate::treedef::walk::{Event, Visits, Walk};

use super::marks::{captured_object, object_in, put_leaf};
use super::ruled::RuledParts;
use super::rules::{Becomes, Rule, Rules};
use super::word::{ALL_KINDS, KindSet, bit};

/// The tree that rules made, and whether each of them applied anywhere.
pub(super) struct RuledTree {
    pub(super) treedef: TreeDef,
    pub(super) leaves: Sink,
    pub(super) hits: Vec<bool>,
    /// What became of each leaf, if this is asked for, and is the same for each value with this structure and statics.
    pub(super) parts: RuledParts,
}

/// Applies rules to a tree, whose leaves go to `to`. If objects are the only leaves, they are
/// [among all others](Objects::AmongLeaves) so far.
pub(super) fn apply(
    rules: &Rules,
    objects: Objects,
    treedef: &TreeDef,
    leaves: Vec<Leaf>,
    to: Sink,
    asks_for_parts: bool,
) -> Result<RuledTree> {
    let limits = Limits { max_nodes: usize::MAX, ..treedef.limits };
    let mut walk = RuleWalk {
        rules,
        objects,
        takes: rules.leaf_kinds,
        named: rules.named(&treedef.encoding.node_data),
        hits: vec![false; rules.rules.len()],
        path: Path::root(),
        open: Vec::new(),
        from: leaves.into_iter(),
        to,
        builder: PartsBuilder::onto(treedef.root(), limits),
        // A function may choose other nodes next time.
        parts: RuledParts::new(asks_for_parts && !objects.are_leaves() && rules.is_leaf.is_none()),
    };
    if let Err(error) = walk.walk(treedef.root()) {
        return Err(error.or_at(&walk.path));
    }
    let mut made = mem::take(&mut walk.builder).finish_unchecked();
    (made.limits, made.walked) = (treedef.limits, treedef.walked);
    let (leaves, hits) = (mem::take(&mut walk.to), mem::take(&mut walk.hits));
    Ok(RuledTree { treedef: made, leaves, hits, parts: walk.parts })
}

/// A walk that applies rules to a tree: the rest of the tree, and the result so far.
struct RuleWalk<'r, 'a> {
    rules: &'r Rules,
    objects: Objects,
    /// The kinds of scalars that are leaves.
    takes: KindSet,
    /// The node data of types that rules are about.
    named: Vec<bool>,
    hits: Vec<bool>,
    /// The place, and the nodes around it.
    path: Path,
    open: Vec<CopiedNode<'r, 'a>>,
    from: vec::IntoIter<Leaf>,
    to: Sink,
    builder: PartsBuilder,
    parts: RuledParts,
}

/// A node whose children are being copied.
struct CopiedNode<'r, 'a> {
    node: NodeRef<'a>,
    children: Children<'a>,
    /// The patterns that may name nodes below this one.
    patterns: Vec<PartialMatch<'r>>,
}

/// A rule whose pattern fits so far, and the steps that may come next.
struct PartialMatch<'r> {
    rule: usize,
    pattern: &'r Pattern,
    steps: Vec<usize>,
}

impl<'r> PartialMatch<'r> {
    /// How far the pattern comes with a key, if it may name anything below, and whether it names
    /// that place.
    fn behind(&self, above: NodeKind, key: &Key) -> (Option<Self>, bool) {
        let mut steps = self.pattern.steps_behind(&self.steps, above, key);
        let is_named = self.pattern.is_end(&steps);
        if is_named {
            steps.pop();
        }
        let partial = PartialMatch { rule: self.rule, pattern: self.pattern, steps };
        ((!partial.steps.is_empty()).then_some(partial), is_named)
    }

    /// The number of leaves from `first` on, at most `count`, that can be copied without a look at each. An
    /// element of a sequence is like any other if its position is not asked for.
    fn passed_leaves(&self, above: NodeRef<'_>, first: usize, mut count: usize) -> usize {
        for asked in self.pattern.positions(&self.steps) {
            if asked >= first {
                count = count.min(asked - first);
            }
        }
        if let Some(bound) = self.pattern.next_bound(&self.steps, first) {
            count = count.min(bound - first);
        }
        match above.key(first) {
            Some(key) if count > 0 && !self.behind(above.kind(), &key).1 => count,
            _ => 0,
        }
    }
}

impl<'r, 'a> RuleWalk<'r, 'a> {
    fn walk(&mut self, root: NodeRef<'a>) -> Result<()> {
        let mut patterns = Vec::new();
        for (index, (rule, _)) in self.rules.rules.iter().enumerate() {
            if let Rule::At(Selector::Path(pattern)) = rule {
                patterns.push(PartialMatch { rule: index, pattern, steps: pattern.first_steps() });
            }
        }
        self.enter(root, patterns)?;
        while let Some(above) = self.open.last() {
            let Some((child, count)) = above.children.clone().next_run() else {
                self.builder.close()?;
                self.path.0.pop();
                self.open.pop();
                continue;
            };
            let passed = self.passed(above, child, count);
            if let Some(above) = self.open.last_mut() {
                above.children.next_up_to(passed.max(1));
            }
            if passed > 0 { self.copy(child, passed)? } else { self.child(child)? }
        }
        Ok(())
    }

    /// The number of equal children from the first on, at most `count`, in which no rule names a node.
    fn passed(&self, above: &CopiedNode<'_, '_>, child: NodeRef<'_>, mut count: usize) -> usize {
        let position = above.node.num_children() - above.children.len();
        let is_element = child.is_leaf() && !above.node.is_labelled();
        let may_name_below = !is_element && !above.patterns.is_empty();
        if may_name_below || self.is_named(above.node.raw()) || self.may_name_in(child) {
            return 0;
        }
        for partial in &above.patterns {
            count = partial.passed_leaves(above.node, position, count);
        }
        let leaves = self.leaves_before_static(count.saturating_mul(child.num_leaves()));
        leaves.checked_div(child.num_leaves()).unwrap_or(count)
    }

    /// Whether a rule may name a node at or below this one by its type.
    fn may_name_in(&self, node: NodeRef<'_>) -> bool {
        match self.rules.is_leaf {
            Some(_) => !matches!(node.kind(), NodeKind::Leaf | NodeKind::Static),
            None => node.subtree().iter().any(|node| self.is_named(node)),
        }
    }

    /// Whether a rule is about the type of a node, or about a field of it.
    fn is_named(&self, node: &Node) -> bool {
        self.named.get(node.data()).is_some_and(|is_named| *is_named)
    }

    /// The number of the next leaves, at most `count`, before the first that is static by its kind.
    fn leaves_before_static(&self, count: usize) -> usize {
        if self.objects.are_leaves() {
            return 0;
        }
        if self.takes == ALL_KINDS {
            return count;
        }
        let leaves = self.from.as_slice().iter();
        leaves.take(count).position(|leaf| !self.is_leaf(leaf.kind())).unwrap_or(count)
    }

    /// Whether a leaf of this kind stays one. Rules about kinds are about scalars.
    fn is_leaf(&self, kind: LeafKind) -> bool {
        kind == LeafKind::Opaque || self.takes & bit(kind) != 0
    }

    /// Copies equal siblings that no rule names.
    fn copy(&mut self, node: NodeRef<'_>, count: usize) -> Result<()> {
        if node.is_leaf() {
            self.builder.atom(NodeKind::Leaf, None, count)?;
        } else {
            self.builder.insert(node, count)?;
        }
        let leaves = self.from.as_slice().iter().take(count * node.num_leaves());
        self.parts.add_leaves(leaves);
        if let Sink::Leaves(to) = &mut self.to {
            to.extend(self.from.by_ref().take(count * node.num_leaves())); // there are as many
            return Ok(());
        }
        for index in node.first_leaf()..node.first_leaf() + count * node.num_leaves() {
            let Some(leaf) = self.from.next() else { return Err(bug!("a leaf is missing")) };
            if let Err(error) = put_leaf(&mut self.to, leaf, "a mark") {
                return Err(error.at(node.treedef.leaf_path(index).ok().or_bug()));
            }
        }
        Ok(())
    }

    /// Copies a child that a rule may name, or puts in its place what the rule makes of it.
    fn child(&mut self, child: NodeRef<'a>) -> Result<()> {
        let Some(CopiedNode { node, children, patterns }) = self.open.last() else {
            return Err(bug!("no node is open"));
        };
        let Some(key) = node.key(node.num_children() - children.len() - 1) else {
            return Err(bug!("a child has no key"));
        };
        let (mut places, mut begun_below) = (Vec::new(), Vec::new());
        for partial in patterns {
            let (below, is_named) = partial.behind(node.kind(), &key);
            if is_named {
                places.push(partial.rule);
            }
            begun_below.extend(below);
        }
        let above = *node;
        let mut first = self.first_of(places);
        if self.is_named(above.raw()) {
            first = first.min(self.first_that(|rule| rule.names_field(above.name(), &key)));
        }
        self.path.0.push(key);
        let depth = self.open.len();
        match self.rules.rules.get(first) {
            Some((_, becomes)) => {
                if self.is_named(child.raw()) {
                    self.first_that(|rule| rule.names_node(child.head())); // these name it, too
                }
                self.put(child, *becomes)?
            }
            None => self.enter(child, begun_below)?,
        }
        if self.open.len() == depth {
            self.path.0.pop();
        }
        Ok(())
    }

    /// The first of the rules that name a node, which is the one that applies. If there is none, the
    /// number of rules. All of them matched something.
    fn first_of(&mut self, rules: impl IntoIterator<Item = usize>) -> usize {
        let mut first = self.rules.rules.len();
        for rule in rules {
            self.hits[rule] = true; // there is one for each rule
            first = first.min(rule);
        }
        first
    }

    /// As [`first_of`](Self::first_of), among the rules for which this is true.
    fn first_that(&mut self, matches: impl Fn(&Rule) -> bool) -> usize {
        let rules = self.rules.rules.iter().enumerate();
        self.first_of(rules.filter(|(_, (rule, _))| matches(rule)).map(|(index, _)| index))
    }

    /// Copies a node whose place no rule names, or puts in its place what a rule about its type
    /// makes of it.
    fn enter(&mut self, node: NodeRef<'a>, patterns: Vec<PartialMatch<'r>>) -> Result<()> {
        match node.kind() {
            NodeKind::Leaf => return self.leaf(node),
            NodeKind::Static => return self.builder.insert(node, 1),
            _ => {}
        }
        let head = node.head();
        let mut becomes = None;
        if self.is_named(node.raw()) {
            let first = self.first_that(|rule| rule.names_node(head));
            becomes = self.rules.rules.get(first).map(|(_, becomes)| *becomes);
        }
        if becomes.is_none()
            && let Some(is_leaf) = &self.rules.is_leaf
            && is_leaf(&self.path, head)
        {
            becomes = Some(Becomes::Leaf);
        }
        if let Some(becomes) = becomes {
            return self.put(node, becomes);
        }
        self.builder.open(node, 1)?;
        self.open.push(CopiedNode { node, children: node.children(), patterns });
        Ok(())
    }

    /// Puts a leaf that no rule about places names.
    fn leaf(&mut self, node: NodeRef<'_>) -> Result<()> {
        if self.leaves_before_static(1) == 1 {
            return self.copy(node, 1);
        }
        let Some(leaf) = self.from.next() else { return Err(bug!("a leaf is missing")) };
        match object_in(&leaf).filter(|_| self.objects.are_leaves()) {
            None => {
                self.parts.add_statics(slice::from_ref(&leaf));
                self.put_static(&leaf.into())
            }
            Some(number) => {
                self.to.push_leaf(number.clone()); // it takes any
                self.builder.atom(NodeKind::Leaf, None, 1)
            }
        }
    }

    fn put_static(&mut self, value: &Value) -> Result<()> {
        self.builder.atom(NodeKind::Static, Some(NodeDataRef::of_static(value)), 1)
    }

    /// Puts what a rule makes of a node in its place.
    fn put(&mut self, node: NodeRef<'_>, becomes: Becomes) -> Result<()> {
        let has_objects = self.objects.are_leaves();
        let mut leaves = Vec::with_capacity(node.num_leaves()); // they are in memory
        while leaves.len() < node.num_leaves() {
            let Some(leaf) = self.from.next() else { return Err(bug!("a leaf is missing")) };
            if has_objects && object_in(&leaf).is_some() {
                return Err(captured_object());
            }
            leaves.push(leaf);
        }
        match becomes {
            Becomes::Static => self.parts.add_statics(&leaves),
            Becomes::Leaf | Becomes::Half => self.parts = RuledParts::new(false), // a leaf of another kind
        }
        let value = value_of(node, leaves)?;
        // Where objects are the only leaves, one of another value is static.
        if becomes == Becomes::Static || has_objects {
            return self.put_static(&value);
        }
        let leaf = if becomes == Becomes::Half { float_of(value) } else { Leaf::from(value) };
        self.builder.atom(NodeKind::Leaf, None, 1)?;
        put_leaf(&mut self.to, leaf, "a rule")
    }
}

impl Rules {
    /// For each node data, whether a rule names its type.
    fn named(&self, data: &[NodeData]) -> Vec<bool> {
        let is_named =
            |data: &NodeData| self.rules.iter().any(|(rule, _)| rule.is_about_type(&data.name));
        data.iter().map(is_named).collect()
    }
}

/// The value of a subtree with these leaves. A value has no statics and no opaque leaves, its maps are
/// sorted, and `None` is a node.
pub(super) fn value_of(root: NodeRef<'_>, mut leaves: Vec<Leaf>) -> Result<Value> {
    if root.is_leaf()
        && let Some(leaf) = leaves.pop()
    {
        return Ok(leaf.into());
    }
    if is_value(root, &leaves) {
        return Ok(Value::from_tree(Tree::from_parts(root.to_structure_of_value(), leaves)));
    }
    let limits = Limits { max_nodes: usize::MAX, ..root.treedef.limits };
    let mut parts = Parts {
        builder: PartsBuilder::with_options(Options::default(), limits),
        leaves: Vec::with_capacity(leaves.len()),
        from: leaves.into_iter(),
        open: Vec::new(),
    };
    parts.copy(root)?;
    let (builder, leaves) = (mem::take(&mut parts.builder), mem::take(&mut parts.leaves));
    let value = Value::from_tree(Tree::from_parts(builder.finish_part(), leaves));
    if value.root().levels() >= MAX_KEY_NESTING && nesting(value.root()) >= MAX_KEY_NESTING {
        return Err(Cause::Depth { limit: MAX_KEY_NESTING }.into());
    }
    Ok(value)
}

/// Whether a subtree is a value as it is.
fn is_value(root: NodeRef<'_>, leaves: &[Leaf]) -> bool {
    let mut nodes = root.subtree().iter();
    let is_scalar = |leaf: &Leaf| !matches!(leaf, Leaf::Opaque(_) | Leaf::None);
    root.levels() < MAX_KEY_NESTING
        && (!root.options().insertion || root.raw().maps == 0)
        && leaves.iter().all(is_scalar)
        && nodes.all(|node| node.kind != NodeKind::Static)
}

/// A value that is made of a subtree.
struct Parts<'a> {
    builder: PartsBuilder,
    leaves: Vec<Leaf>,
    /// The leaves of the subtree that are left.
    from: vec::IntoIter<Leaf>,
    /// The open nodes, each with the number of leaves before it.
    open: Vec<(NodeRef<'a>, usize)>,
}

impl<'a> Parts<'a> {
    fn copy(&mut self, root: NodeRef<'a>) -> Result<()> {
        let mut walk = Walk::new(root, Visits::Everywhere);
        while let Some(event) = walk.next() {
            match event {
                Event::Enter { node, .. } => self.enter(node)?,
                Event::Leave => self.leave()?,
            }
        }
        Ok(())
    }

    fn enter(&mut self, node: NodeRef<'a>) -> Result<()> {
        self.open.push((node, self.leaves.len()));
        if let Some(value) = node.static_value() {
            return self.insert(value);
        }
        if !node.is_leaf() {
            self.builder.open_new(node.kind(), node.data().map(NodeData::as_ref), 1);
            if !node.options().insertion {
                self.builder.set_insertion_order(node.insertion_order().cloned());
            }
            return Ok(());
        }
        match self.from.next() {
            Some(Leaf::Opaque(value)) => self.insert(&value),
            Some(Leaf::None) => self.builder.atom(NodeKind::None, None, 1),
            Some(leaf) => {
                self.leaves.push(leaf);
                self.builder.atom(NodeKind::Leaf, None, 1)
            }
            None => Err(bug!("a leaf is missing")),
        }
    }

    fn insert(&mut self, value: &Value) -> Result<()> {
        self.leaves.extend_from_slice(&value.leaves());
        self.builder.insert(value.root(), 1)
    }

    fn leave(&mut self) -> Result<()> {
        let Some((node, first)) = self.open.pop() else { return Err(bug!("no node is open")) };
        match node.kind() {
            NodeKind::Leaf | NodeKind::Static => return Ok(()),
            NodeKind::Map if node.options().insertion => {
                let mut keys = node.entry_keys().to_vec();
                let swaps = self.builder.sort_entries(&mut keys, Some(first));
                swaps.into_iter().for_each(|swap| swap.apply(&mut self.leaves));
                let labels = LabelsRef::Keys(&keys);
                let data = NodeDataRef { name: NAMELESS, variant: NAMELESS, labels };
                self.builder.set_data(NodeKind::Map, Some(data));
            }
            _ => {}
        }
        self.builder.close()
    }
}

/// How many levels of keys are in keys.
fn nesting(node: NodeRef<'_>) -> usize {
    let mut most = 0;
    for data in node.node_data() {
        for key in data.values() {
            if key.as_leaf().is_none() {
                most = most.max(1 + nesting(key.root())); // each is in memory
            }
        }
    }
    most
}

/// The float whose bits are in a newtype. Another newtype of that name holds a scalar already, or
/// is one opaque leaf.
pub(super) fn float_of(value: Value) -> Leaf {
    let half = value.root().name().and_then(Half::named);
    match (half, &*value.leaves()) {
        (Some(half), [Leaf::U16(bits)]) => Leaf::F32(half.widen(*bits)),
        (Some(_), [leaf]) if value.root().child(0).is_some_and(NodeRef::is_leaf) => leaf.clone(),
        _ => Leaf::from(value),
    }
}
