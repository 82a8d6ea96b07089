//! Builds a structure from parts of other structures.

use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Limits, Name, Node, NodeData, NodeKind, Options, TreeDef};
use crate::treedef::difference::options_mismatch;
use crate::treedef::encoding::{EncodingBuilder, NodeDataRef};
use crate::treedef::node_ref::NodeRef;
use crate::treedef::walk::{Event, Stops, Walk};

/// A structure that is built node by node in pre-order. Equal neighbours are merged into runs.
///
/// The insertion order of map entries is not copied, because it is not part of a structure. Parts
/// that depend on options must all have the same options, and the result has these. For example, a
/// struct of numbers without options can be combined with any part. The number of nodes is checked
/// against the [`Limits`] before nodes are added, everything else at the end.
#[derive(Default)]
pub(crate) struct TreeDefBuilder {
    encoding: EncodingBuilder,
    open: Vec<OpenNode>,
    options: Option<Options>,
    /// Whether a part depends on the options.
    depends_on_options: bool,
    limits: Limits,
}

/// A node whose children are still being added.
struct OpenNode {
    at: usize,
    data: usize,
    repeat: usize,
    last: Option<usize>,
}

/// A subtree that can be inserted several times.
pub(crate) struct Fragment {
    nodes: Vec<Node>,
}

impl NodeRef<'_> {
    /// This subtree as a treedef of its own.
    ///
    /// ```
    /// let treedef = treedef::structure(&("a", [1, 2]))?;
    /// let child = treedef.root().child(1).unwrap().to_treedef();
    /// assert_eq!(child, treedef::structure(&[3, 4])?);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn to_treedef(self) -> TreeDef {
        let mut builder = TreeDefBuilder::onto(self, Limits::default());
        let fragment = builder.fragment_of(self);
        builder.encoding.nodes = fragment.nodes;
        builder.encoding.nodes[0].repeat = 1; // a subtree has at least one node
        builder.finish_part()
    }

    /// This node alone, with a leaf for every child.
    ///
    /// ```
    /// let treedef = treedef::structure(&[("a", [1, 2]), ("b", [3, 4])])?;
    /// assert_eq!(treedef.root().one_level()?.to_string(), "(*, *)");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Never fails: the result has as many leaves as this node has children.
    pub fn one_level(self) -> Result<TreeDef> {
        let mut builder = TreeDefBuilder::default();
        builder.open(self, 1)?;
        if self.num_children() > 0 {
            builder.insert(TreeDef::leaf().root(), self.num_children())?;
        }
        builder.close()?;
        Ok(builder.finish_part())
    }
}

impl TreeDefBuilder {
    /// A builder for a structure that is `base` with some nodes changed.
    pub(crate) fn onto(base: NodeRef<'_>, limits: Limits) -> Self {
        let (options, depends_on_options) = (Some(base.options()), base.depends_on_options());
        TreeDefBuilder { options, depends_on_options, limits, ..TreeDefBuilder::default() }
    }

    /// Raises the limits to those of a part, where these are more generous.
    pub(crate) fn allow(&mut self, limits: Limits) {
        self.limits = self.limits.or(limits);
    }

    /// The options of a structure with these parts.
    pub(crate) fn options_of<'p>(parts: impl IntoIterator<Item = &'p TreeDef>) -> Result<Options> {
        let mut builder = TreeDefBuilder::default();
        for part in parts {
            builder.unify_options(part)?;
        }
        Ok(builder.options.unwrap_or_default())
    }

    /// Takes the options of a structure whose parts will be inserted.
    pub(crate) fn unify_options(&mut self, part: &TreeDef) -> Result<()> {
        self.unify(part.encoding.options, part.root().depends_on_options())
    }

    /// Takes the options of a part. Returns an error if another part depends on different options.
    fn unify(&mut self, options: Options, depends_on_options: bool) -> Result<()> {
        match self.options {
            Some(known) if known != options && depends_on_options && self.depends_on_options => {
                return Err(options_mismatch(known, options));
            }
            Some(known) if known == options || !depends_on_options => {}
            _ => self.options = Some(options),
        }
        self.depends_on_options |= depends_on_options;
        Ok(())
    }

    /// Opens a copy of a node that occurs `repeat` times. Its children come next.
    pub(crate) fn open(&mut self, like: NodeRef<'_>, repeat: usize) -> Result<()> {
        let options = like.options();
        let depends_on_options = options != Options::default() || like.kind().depends_on_options();
        self.unify(options, depends_on_options)?;
        self.expect_room(1)?;
        let data = like.data().map(NodeData::as_ref);
        self.open_new(like.kind(), data, repeat);
        Ok(())
    }

    pub(crate) fn open_new(
        &mut self,
        kind: NodeKind,
        data: Option<NodeDataRef<'_, Name>>,
        repeat: usize,
    ) {
        let data = data.map_or(NodeData::NONE, |data| self.encoding.node_data.intern(data));
        let at = self.encoding.open(kind, data);
        self.open.push(OpenNode { at, data, repeat, last: None });
    }

    /// Copies a subtree. For each node, `replace` may insert something else and return `true`; the
    /// node is then skipped.
    pub(crate) fn copy<'a>(
        &mut self,
        root: NodeRef<'a>,
        mut replace: impl FnMut(&mut Self, NodeRef<'a>, usize) -> Result<bool>,
    ) -> Result<()> {
        let mut walk = Walk::new(root, Stops::AtRuns);
        while let Some(event) = walk.next() {
            match event {
                Event::Enter { node, repeat } if replace(self, node, repeat)? => walk.skip(),
                Event::Enter { node, repeat } => self.open(node, repeat)?,
                Event::Leave(_) => self.close()?,
            }
        }
        Ok(())
    }

    /// Closes the current node. All its children have been added.
    pub(crate) fn close(&mut self) -> Result<()> {
        match self.complete()? {
            Some((at, repeat)) => self.join(at, repeat),
            None => Ok(()),
        }
    }

    /// Changes the kind and node data of the current node. They must fit its children.
    pub(crate) fn relabel(&mut self, kind: NodeKind, data: Option<NodeDataRef<'_, Name>>) {
        let data = data.map_or(NodeData::NONE, |data| self.encoding.node_data.intern(data));
        if let Some(open) = self.open.last_mut() {
            open.data = data;
            // `at` is the index of the open node.
            self.encoding.nodes[open.at].kind = kind;
        }
    }

    /// Closes the current node, removes it from the builder and returns it.
    pub(crate) fn close_apart(&mut self) -> Result<TreeDef> {
        let nothing = || Error::from(ErrorKind::Internal("no node is open"));
        let (at, _) = self.complete()?.ok_or_else(nothing)?;
        Ok(self.encoding.extract(at, self.options.unwrap_or_default(), Vec::new()))
    }

    fn complete(&mut self) -> Result<Option<(usize, usize)>> {
        let Some(OpenNode { at, data, repeat, .. }) = self.open.pop() else { return Ok(None) };
        // `at` is the index of the open node.
        if !self.encoding.nodes[at].kind.is_atom() {
            self.encoding.close(at, data)?;
        }
        Ok(Some((at, repeat)))
    }

    /// Inserts a subtree `repeat` times.
    pub(crate) fn insert(&mut self, node: NodeRef<'_>, repeat: usize) -> Result<()> {
        let fragment = self.fragment(node)?;
        self.insert_fragment(&fragment, repeat)
    }

    /// Prepares a subtree that will be inserted several times.
    pub(crate) fn fragment(&mut self, root: NodeRef<'_>) -> Result<Fragment> {
        self.unify(root.options(), root.depends_on_options())?;
        Ok(self.fragment_of(root))
    }

    fn fragment_of(&mut self, root: NodeRef<'_>) -> Fragment {
        // The node data of the other structure, by its numbers there.
        let mut numbers = HashMap::new();
        let nodes = root.subtree().iter().map(|node| {
            let data = match root.node_data().get(node.data) {
                Some(data) => *numbers
                    .entry(node.data)
                    .or_insert_with(|| self.encoding.node_data.intern(data.as_ref())),
                None => NodeData::NONE,
            };
            Node { data, ..*node }
        });
        Fragment { nodes: nodes.collect() }
    }

    /// Returns an error if `nodes` more nodes exceed the limits.
    pub(crate) fn expect_room(&self, nodes: usize) -> Result<()> {
        self.limits.expect_nodes(self.encoding.nodes.len().saturating_add(nodes))
    }

    pub(crate) fn insert_fragment(&mut self, fragment: &Fragment, repeat: usize) -> Result<()> {
        self.expect_room(fragment.nodes.len())?;
        let at = self.encoding.nodes.len();
        self.encoding.nodes.extend_from_slice(&fragment.nodes);
        self.encoding.nodes[at].repeat = 1; // a subtree has at least one node
        self.join(at, repeat)
    }

    /// Returns the structure. Its root must be closed.
    pub(crate) fn finish(self) -> Result<TreeDef> {
        self.end().within_limits()
    }

    /// Returns a part of a structure, or an atom, without checking the limits. Raises `max_depth`
    /// to the depth of the part.
    pub(crate) fn finish_part(self) -> TreeDef {
        let mut part = self.end();
        part.limits.max_depth = part.limits.max_depth.max(part.root().levels());
        part
    }

    /// Returns the structure of a value, which has default options.
    pub(crate) fn finish_value(mut self, limits: Limits) -> TreeDef {
        self.encoding.finish(Options::default(), Vec::new(), limits)
    }

    fn end(mut self) -> TreeDef {
        self.encoding.finish(self.options.unwrap_or_default(), Vec::new(), self.limits)
    }

    fn join(&mut self, at: usize, repeat: usize) -> Result<()> {
        if let Some(parent) = self.open.last_mut() {
            parent.last = Some(self.encoding.join(parent.last, at, repeat)?);
        }
        Ok(())
    }
}
