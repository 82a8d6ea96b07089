//! Building a structure out of parts of others.

use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Limits, Name, Node, NodeKind, Options, Shape, TreeDef};
use crate::treedef::builder::{Builder, ShapeRef};
use crate::treedef::difference::options_mismatch;
use crate::treedef::node::NodeRef;
use crate::treedef::walk::{Event, Stops, Walk};

/// A structure in the making, node by node in pre-order. Equal neighbours become runs by themselves.
///
/// The order in which entries of maps arrived is not among what is copied: it says nothing about a structure.
/// Its options are those of its parts, which have to agree where they depend on them: a struct of numbers that was made
/// without options goes with all. It holds its [`Limits`]: nodes are counted before they are made, all else when it is
/// finished.
#[derive(Default)]
pub(crate) struct Graft {
    builder: Builder,
    open: Vec<Open>,
    options: Option<Options>,
    /// A part depends on the options.
    bound: bool,
    limits: Limits,
}

/// A node whose children have not all come, or the place of the root.
struct Open {
    at: usize,
    shape: usize,
    repeat: usize,
    last: Option<usize>,
}

/// The numbers in the making of the shapes of another structure.
#[derive(Default)]
struct Numbers(HashMap<usize, usize>);

impl Numbers {
    fn of(&mut self, shape: usize, root: NodeRef<'_>, builder: &mut Builder) -> usize {
        let Some(known) = root.shapes().get(shape) else { return Shape::NONE };
        *self.0.entry(shape).or_insert_with(|| builder.intern(known.as_ref()))
    }
}

/// A part of a structure that may be put in at many places.
pub(crate) struct Scion {
    nodes: Vec<Node>,
}

impl NodeRef<'_> {
    /// The structure from this node on, as a treedef of its own.
    ///
    /// ```
    /// let treedef = treedef::structure(&("a", [1, 2]))?;
    /// let child = treedef.root().child(1).unwrap().to_treedef();
    /// assert_eq!(child, treedef::structure(&[3, 4])?);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn to_treedef(self) -> TreeDef {
        let mut graft = Graft::onto(self, Limits::default());
        let scion = graft.cut(self);
        graft.builder.nodes = scion.nodes;
        graft.builder.nodes[0].repeat = 1; // a subtree has a node
        graft.finish_part()
    }

    /// The structure of this node alone: every child is a leaf.
    ///
    /// ```
    /// let treedef = treedef::structure(&[("a", [1, 2]), ("b", [3, 4])])?;
    /// assert_eq!(treedef.root().one_level()?.to_string(), "(*, *)");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// None that can be reached: it has no more leaves than this structure has nodes.
    pub fn one_level(self) -> Result<TreeDef> {
        let mut graft = Graft::default();
        graft.open(self, 1)?;
        if self.num_children() > 0 {
            graft.insert(TreeDef::leaf().root(), self.num_children())?;
        }
        graft.close()?;
        Ok(graft.finish_part())
    }
}

impl Graft {
    /// A structure that will be another one with some nodes changed.
    pub(crate) fn onto(stock: NodeRef<'_>, limits: Limits) -> Self {
        let (options, bound) = (Some(stock.options()), stock.depends_on_options());
        Graft { options, bound, limits, ..Graft::default() }
    }

    /// Takes the more generous limits of a part, too.
    pub(crate) fn allow(&mut self, limits: Limits) {
        self.limits = self.limits.or(limits);
    }

    /// The options of a structure made of these.
    pub(crate) fn options_of<'p>(parts: impl IntoIterator<Item = &'p TreeDef>) -> Result<Options> {
        let mut graft = Graft::default();
        for part in parts {
            graft.agree_with(part)?;
        }
        Ok(graft.options.unwrap_or_default())
    }

    /// Takes the options of a structure, parts of which are put in.
    pub(crate) fn agree_with(&mut self, part: &TreeDef) -> Result<()> {
        self.agree(part.encoding.options, part.root().depends_on_options())
    }

    /// Takes the options of a part, unless another part is bound to others.
    fn agree(&mut self, options: Options, bound: bool) -> Result<()> {
        match self.options {
            Some(known) if known != options && bound && self.bound => {
                return Err(options_mismatch(known, options));
            }
            Some(known) if known == options || !bound => {}
            _ => self.options = Some(options),
        }
        self.bound |= bound;
        Ok(())
    }

    /// Begins a node like another, of which there are `repeat`; its children come next.
    pub(crate) fn open(&mut self, like: NodeRef<'_>, repeat: usize) -> Result<()> {
        let options = like.options();
        let bound = options != Options::default() || like.kind().depends_on_options();
        self.agree(options, bound)?;
        self.expect_room(1)?;
        let shape = like.shape().map(Shape::as_ref);
        self.open_new(like.kind(), shape, repeat);
        Ok(())
    }

    pub(crate) fn open_new(
        &mut self,
        kind: NodeKind,
        shape: Option<ShapeRef<'_, Name>>,
        repeat: usize,
    ) {
        let shape = shape.map_or(Shape::NONE, |shape| self.builder.intern(shape));
        let at = self.builder.open(kind, shape);
        self.open.push(Open { at, shape, repeat, last: None });
    }

    /// Copies a subtree, but for the nodes that `replace` puts something in the place of; it says whether it did.
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

    /// Ends the node that was begun last, all of whose children have come.
    pub(crate) fn close(&mut self) -> Result<()> {
        match self.complete()? {
            Some((at, repeat)) => self.join(at, repeat),
            None => Ok(()),
        }
    }

    /// Gives the node that was begun last another head, which fits the children that came.
    pub(crate) fn reshape(&mut self, kind: NodeKind, shape: Option<ShapeRef<'_, Name>>) {
        let shape = shape.map_or(Shape::NONE, |shape| self.builder.intern(shape));
        if let Some(open) = self.open.last_mut() {
            open.shape = shape;
            // `at` is where the node was opened.
            self.builder.nodes[open.at].kind = kind;
        }
    }

    /// Ends the node that was begun last, and takes it out.
    pub(crate) fn close_apart(&mut self) -> Result<TreeDef> {
        let nothing = || Error::from(ErrorKind::Internal("no node is open"));
        let (at, _) = self.complete()?.ok_or_else(nothing)?;
        Ok(self.builder.extract(at, self.options.unwrap_or_default(), Vec::new()))
    }

    fn complete(&mut self) -> Result<Option<(usize, usize)>> {
        let Some(Open { at, shape, repeat, .. }) = self.open.pop() else { return Ok(None) };
        // `at` is where the node was opened.
        if !self.builder.nodes[at].kind.is_atom() {
            self.builder.close(at, shape)?;
        }
        Ok(Some((at, repeat)))
    }

    /// Puts in a copy of a whole subtree, `repeat` times.
    pub(crate) fn insert(&mut self, node: NodeRef<'_>, repeat: usize) -> Result<()> {
        let scion = self.scion(node)?;
        self.insert_scion(&scion, repeat)
    }

    /// Prepares a subtree that is to be put in more than once.
    pub(crate) fn scion(&mut self, root: NodeRef<'_>) -> Result<Scion> {
        self.agree(root.options(), root.depends_on_options())?;
        Ok(self.cut(root))
    }

    fn cut(&mut self, root: NodeRef<'_>) -> Scion {
        let mut numbers = Numbers::default();
        let nodes = root.subtree().iter().map(|node| {
            let shape = numbers.of(node.shape, root, &mut self.builder);
            Node { shape, ..*node }
        });
        Scion { nodes: nodes.collect() }
    }

    /// Refuses so many more nodes, unless the limits allow them.
    pub(crate) fn expect_room(&self, nodes: usize) -> Result<()> {
        self.limits.expect_nodes(self.builder.nodes.len().saturating_add(nodes))
    }

    pub(crate) fn insert_scion(&mut self, scion: &Scion, repeat: usize) -> Result<()> {
        self.expect_room(scion.nodes.len())?;
        let at = self.builder.nodes.len();
        self.builder.nodes.extend_from_slice(&scion.nodes);
        self.builder.nodes[at].repeat = 1; // a subtree has a node
        self.join(at, repeat)
    }

    /// The structure, whose root has come.
    pub(crate) fn finish(self) -> Result<TreeDef> {
        self.end().within_limits()
    }

    /// A part of a structure, or an atom. What is as deep as this is allowed to be as deep.
    pub(crate) fn finish_part(self) -> TreeDef {
        let mut part = self.end();
        part.limits.max_depth = part.limits.max_depth.max(part.root().levels());
        part
    }

    fn end(self) -> TreeDef {
        self.builder.finish(self.options.unwrap_or_default(), Vec::new(), self.limits)
    }

    fn join(&mut self, at: usize, repeat: usize) -> Result<()> {
        if let Some(parent) = self.open.last_mut() {
            parent.last = Some(self.builder.join(parent.last, at, repeat)?);
        }
        Ok(())
    }
}
