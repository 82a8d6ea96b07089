//! The methods of [`TreeDef`].

use crate::argument::ToPath;
use crate::bug::OrBug;
use crate::error::{Cause, Error, Result};
use crate::model::{Limits, Node, NodeHead, NodeKind, TreeDef, Value};
use crate::path::Path;
use crate::pattern::Pattern;

use super::builder::TreeDefBuilder;
use super::difference::{expect_none, loose_differences, mismatch_at, subtree_mismatch};
use super::edit::{Edit, EditWalk};
use super::expect_match::expect_match;
use super::lookup::{child, enter, nearest};
use super::matches::Matches;
use super::node_ref::{NodeRef, Overlap};
use super::options::options_mismatch;
use super::pairs::{
    Statics, expect_agreement, expect_equal, expect_prefix, in_same_order, in_step, is_prefix,
    options_fit, same_head,
};
use super::parts::PartsBuilder;
use super::walk::{Event, LeafPaths, Nodes, PairEvent, PairWalk};

/// # Make
impl TreeDef {
    /// The structure of one leaf: `*`.
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

    /// The structure of a sequence with these elements: `[*, *]`.
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

    /// The structure of a sequence with `count` equal elements: `[*; 1000]`. They are stored once.
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

    /// The structure of a tuple or an array with these elements: `(*, *)`.
    ///
    /// # Errors
    ///
    /// Same as [`seq`](Self::seq).
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let pair = TreeDef::tuple([TreeDef::leaf(), TreeDef::leaf()])?;
    /// assert_eq!(pair, treedef::structure(&[0.5, 1.5])?);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn tuple(children: impl IntoIterator<Item = TreeDef>) -> Result<Self> {
        around(NodeKind::Tuple.into(), children.into_iter().map(|it| ((), it)), |_, ()| Ok(()))
    }

    /// The structure of a struct with these fields: `Point { x: *, y: * }`. [`seq`](Self::seq) shows how to
    /// call it.
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

    /// The structure of a map with these entries: `{"a": *, "b": *}`. The entries are sorted by their keys,
    /// and their insertion order is remembered. For a key that occurs twice, see
    /// [`parse_with`](Self::parse_with).
    ///
    /// To apply a function to leaves, use [`Tree::map`](crate::Tree::map).
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

/// # Nodes and leaves
impl TreeDef {
    /// The root node, which describes the whole value.
    pub fn root(&self) -> NodeRef<'_> {
        NodeRef::at(self, 0, 0, 0) // it exists (invariant 1)
    }

    /// The number of leaves of this structure.
    pub fn num_leaves(&self) -> usize {
        self.root().num_leaves()
    }

    /// The number of nodes, including leaves. Returns `usize::MAX` if there are more.
    ///
    /// ```
    /// assert_eq!(treedef::structure(&[(1, 2), (3, 4)])?.num_nodes(), 7);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn num_nodes(&self) -> usize {
        self.root().num_nodes()
    }

    /// The path of the leaf with this index.
    ///
    /// The time grows with the depth, and with the logarithm of the number of different siblings
    /// along the path. The first such call on a structure visits all its nodes once. For the paths
    /// of all leaves, [`leaf_paths`](Self::leaf_paths) takes less time.
    ///
    /// # Errors
    ///
    /// Returns an error when there is no such leaf.
    ///
    /// ```
    /// let treedef = treedef::structure(&vec![("a", 1), ("b", 2)])?;
    /// assert_eq!(treedef.leaf_path(3)?.to_string(), "[1].1");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn leaf_path(&self, index: usize) -> Result<Path> {
        if index >= self.num_leaves() {
            return Err(Cause::NoSuchLeaf { index, leaves: self.num_leaves() }.into());
        }
        Ok(self.root().path_to_leaf(index))
    }

    /// Adds the path of an existing leaf to an error.
    #[cold]
    pub(crate) fn error_at_leaf(&self, index: usize, error: impl Into<Error>) -> Error {
        error.into().at(self.leaf_path(index).ok().or_bug())
    }

    /// The node at a path.
    ///
    /// A key that the node does not have finds the child that it can mean, if there is just one. So
    /// a stored path still leads to its node when `#[serde(flatten)]` has turned a struct into a
    /// map.
    ///
    /// | written | finds |
    /// |---|---|
    /// | `.name` | the field; otherwise the entry `["name"]`, or the field of the present variant |
    /// | `["name"]` | the entry; otherwise the field, or the entry `['c']` of one character |
    /// | `[3]`, `.3` | the element of a sequence or a tuple; otherwise the entry `[3u32]` of any integer type |
    /// | `[3u8]`, `[null]`, `[[1, 2]]` | the entry; otherwise an entry of the same value: an integer or a float of any width, `None` for `()`, a tuple for a list |
    /// | any key below a `Some` or a newtype | the child, without the `?` or the `.0` |
    ///
    /// The time grows with the depth, and with the logarithm of the number of different siblings
    /// and of the number of entries of each map along the path. It grows linearly with the number
    /// of fields of a struct, and with the number of entries under
    /// [`MapOrder::Insertion`](crate::MapOrder::Insertion). The first such call on a structure
    /// visits all its nodes once. So does an error, which looks for the nearest key.
    ///
    /// # Errors
    ///
    /// Returns an error when the path leads nowhere, with the existing part and the nearest key;
    /// and when a key can mean two entries, with both.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// let value = BTreeMap::from([("tls", Some((443, "a")))]);
    /// let treedef = treedef::structure(&value)?;
    /// assert_eq!(treedef.node(".tls.0")?.leaf_range(), 0..1);
    /// assert_eq!(treedef.node(r#"["tls"]?.0"#)?.leaf_range(), 0..1);
    ///
    /// let error = treedef.node(".tsl").unwrap_err();
    /// assert!(error.to_string().ends_with("at the root (did you mean `[\"tls\"]`?)"));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn node(&self, path: impl ToPath) -> Result<NodeRef<'_>> {
        self.find(&*path.to_path()?).map(|(_, node)| node)
    }

    /// The exact path of the node that a path finds.
    pub(crate) fn resolve(&self, path: impl ToPath) -> Result<Path> {
        self.find(&*path.to_path()?).map(|(path, _)| path)
    }

    /// The index of the leaf at a path. The `?` and `.0` of a `Some` and a newtype around it may be left
    /// out.
    pub(crate) fn leaf_index(&self, path: impl ToPath) -> Result<usize> {
        let (mut path, mut node) = self.find(&*path.to_path()?)?;
        let found = node;
        enter(&mut node, &mut path, |_| true);
        match node.kind() {
            NodeKind::Leaf => Ok(node.first_leaf()),
            _ => Err(Error::not_a_leaf(found.brief()).at(path)),
        }
    }

    /// The node that a path finds, and its exact path.
    pub(crate) fn find(&self, asked: &Path) -> Result<(Path, NodeRef<'_>)> {
        let (mut path, mut node) = (Path::root(), self.root());
        for (depth, key) in asked.keys().iter().enumerate() {
            if !child(&mut node, &mut path, key)? {
                let rest = asked.keys().get(depth + 1..).or_bug();
                let nearest = nearest(node, &path, key, rest);
                let (key, here) = (key.clone(), node.brief());
                let missing = Cause::NoSuchChild { key, node: here, nearest };
                return Err(Error::from(missing).at(path));
            }
        }
        Ok((path, node))
    }

    /// The topmost nodes that a pattern matches, in order, with their paths.
    ///
    /// Of equal siblings, only the first is searched if nothing is found there, plus the siblings that the
    /// pattern selects by position. So the time depends on the numbers of stored nodes and of found nodes,
    /// but not on the number of leaves.
    pub(crate) fn matches(&self, pattern: Pattern) -> Matches<'_> {
        Matches::new(self.root(), pattern)
    }

    /// Returns an error if a pattern, or one of the names in its braces, matches no node, with the pattern
    /// that was probably meant.
    pub(crate) fn expect_match(&self, pattern: &Pattern) -> Result<()> {
        expect_match(self, pattern)
    }

    /// All nodes with their paths, parents before children. The iterator is lazy. [`NodeRef::runs`]
    /// groups equal siblings.
    ///
    /// ```
    /// use treedef::NodeKind;
    ///
    /// let treedef = treedef::structure(&("a", Some([1, 2])))?;
    /// let nodes: Vec<(String, NodeKind)> =
    ///     treedef.nodes().map(|(path, node)| (path.to_string(), node.kind())).collect();
    /// assert_eq!(nodes[1], (".0".to_owned(), NodeKind::Leaf));
    /// assert_eq!(nodes[3], (".1?".to_owned(), NodeKind::Tuple));
    /// assert_eq!(nodes.len(), treedef.num_nodes());
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "preorder")]
    #[doc(alias = "descendants")]
    pub fn nodes(&self) -> Nodes<'_> {
        Nodes::of(self)
    }

    /// The paths of all leaves, in leaf order. The iterator is lazy.
    ///
    /// ```
    /// let treedef = treedef::structure(&(1, [2, 3]))?;
    /// let paths: Vec<String> = treedef.leaf_paths().map(|path| path.to_string()).collect();
    /// assert_eq!(paths, [".0", ".1.0", ".1.1"]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_paths")]
    pub fn leaf_paths(&self) -> LeafPaths<'_> {
        LeafPaths::of(self)
    }
}

/// # Compare
impl TreeDef {
    /// Checks that there are as many leaves as the structure has.
    pub(crate) fn expect_leaves(&self, found: usize) -> Result<()> {
        let expected = self.num_leaves();
        if expected == found { Ok(()) } else { Err(Cause::LeafCount { expected, found }.into()) }
    }

    /// Checks that this structure equals `expected`.
    ///
    /// # Errors
    ///
    /// Returns an error when the two differ. The error lists the first 4,096 differences or a few more. Equal
    /// siblings that differ in the same way are listed once.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let (expected, found): (TreeDef, TreeDef) = ("[*, (*, *)]".parse()?, "[*, [*, *]]".parse()?);
    /// let error = found.check_equal(&expected).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `(*, *)`, found `[*, *]` at `[1]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn check_equal(&self, expected: &TreeDef) -> Result<()> {
        if self == expected {
            return Ok(());
        }
        expect_equal(expected, self)?;
        Err(options_mismatch(expected.encoding.options, self.encoding.options))
    }

    /// Checks that this structure equals `expected`, apart from container kinds, type names and options.
    ///
    /// A sequence may be a tuple, a map with string keys may be a struct, and fields may be in any
    /// order. Keys are equal if they have one value in any type: `1u8` and `1u32`, `"A"` and `Kind::A`. `Some`,
    /// newtypes and variants must match. With [`none_is_leaf`](crate::Flattener::none_is_leaf), a
    /// leaf may hold an absent value; that is not compared.
    ///
    /// # Errors
    ///
    /// Returns an error when the two differ in anything else. It lists the first 4,096 differences or a few more.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let (point, dict): (TreeDef, TreeDef) =
    ///     ("P { x: *, y: [*] }".parse()?, r#"{"y": (*,), "x": *}"#.parse()?);
    /// assert!(dict.check_equivalent(&point).is_ok());
    ///
    /// let error = TreeDef::check_equivalent(&r#"{"y": (*,)}"#.parse()?, &point).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `*`, found nothing at `.x`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn check_equivalent(&self, expected: &TreeDef) -> Result<()> {
        expect_none(loose_differences(expected, self))
    }

    /// Whether `full` is this structure with leaves replaced by subtrees.
    ///
    /// This is a partial order. A leaf is a prefix of everything. If two structures are prefixes of
    /// each other, they are equal. `None` is a node, so it is a prefix only of `None`. Both must
    /// have equal options, unless this structure has default ones and no map, `None` or `Some`.
    ///
    /// Operations that need a prefix, such as [`broadcast_to`](crate::Tree::broadcast_to), are more
    /// lenient: options may differ unless both structures have a node that depends on them.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let full: TreeDef = "[(*, *), {\"a\": *}]".parse()?;
    /// assert!("[*, {\"a\": *}]".parse::<TreeDef>()?.is_prefix_of(&full));
    /// assert!("*".parse::<TreeDef>()?.is_prefix_of(&full));
    /// assert!(!"[*]".parse::<TreeDef>()?.is_prefix_of(&full));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "treedef_is_prefix")]
    pub fn is_prefix_of(&self, full: &TreeDef) -> bool {
        options_fit(self, full) && is_prefix(self.root(), full.root(), Statics::Compared)
    }

    /// The smallest structure that has both as prefixes. Where one has a leaf, the result has the
    /// subtree of the other. The entries of a map that both have keep the order of this one.
    ///
    /// # Errors
    ///
    /// Returns an error with the path if the two differ at a node where neither has a leaf.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let left: TreeDef = "[(*, *), *]".parse()?;
    /// let right: TreeDef = "[*, [*, *, *]]".parse()?;
    /// assert_eq!(left.common_suffix(&right)?.to_string(), "[(*, *), [*, *, *]]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_broadcast_common")]
    pub fn common_suffix(&self, other: &TreeDef) -> Result<TreeDef> {
        expect_agreement(self, other)?;
        let mut builder = PartsBuilder::default();
        builder.set_limits(self.limits.max(other.limits));
        builder.unify_options(self)?;
        builder.unify_options(other)?;
        let mut walk =
            PairWalk::new(self.root(), other.root(), |_, a, b, count| in_same_order(a, b, count));
        while let Some(event) = walk.next() {
            match event {
                PairEvent::Enter(Overlap { a, b, count, .. }) if a.is_leaf() || b.is_leaf() => {
                    builder.insert(if a.is_leaf() { b } else { a }, count)?;
                    walk.skip();
                }
                PairEvent::Enter(Overlap { a, b, count, .. }) if same_head(a, b) => {
                    builder.open(a, count)?;
                }
                PairEvent::Enter(Overlap { a, b, .. }) => {
                    return Err(mismatch_at(walk.path(), a, b));
                }
                PairEvent::Leave(..) => builder.close()?,
            }
        }
        builder.finish()
    }
}

/// # Change the structure
impl TreeDef {
    /// Returns this structure with `inner` in the place of every leaf.
    ///
    /// The number of leaves is the product of both. A run remains one run.
    ///
    /// # Errors
    ///
    /// Returns an error when the two have different options, or when the result exceeds the greater
    /// [`Limits`](crate::Limits) of the two.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let outer: TreeDef = "[*, None, *]".parse()?;
    /// let inner: TreeDef = "Point { x: *, y: * }".parse()?;
    /// let composed = outer.compose(&inner)?;
    /// assert_eq!(composed.to_string(), "[Point { x: *, y: * }, None, Point { x: *, y: * }]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn compose(&self, inner: &TreeDef) -> Result<TreeDef> {
        let mut builder = PartsBuilder::onto(self.root(), self.limits);
        builder.allow(inner.limits);
        let is_leaf = |node: &&Node| node.kind == NodeKind::Leaf;
        let places = self.encoding.nodes.iter().filter(is_leaf).count();
        let more = places.saturating_mul(inner.encoding.nodes.len());
        builder.expect_room(more.saturating_add(self.encoding.nodes.len() - places))?;
        let fragment = builder.fragment(inner.root())?;
        builder.copy(self.root(), |builder, node, repeat| {
            let is_leaf = node.kind() == NodeKind::Leaf;
            if is_leaf {
                builder.insert_fragment(&fragment, repeat)?;
            }
            Ok(is_leaf)
        })?;
        builder.finish()
    }

    /// Returns the structure that is at every leaf of `outer`. This is the inverse of
    /// [`compose`](Self::compose).
    ///
    /// # Errors
    ///
    /// Returns an error when `outer` is not a prefix of this structure, when the subtrees at its
    /// leaves differ, or when it has no leaf.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let composed: TreeDef = "[(*, *), (*, *)]".parse()?;
    /// assert_eq!(composed.inner_of(&"[*, *]".parse()?)?.to_string(), "(*, *)");
    ///
    /// let error = "[(*, *), *]".parse::<TreeDef>()?.inner_of(&"[*, *]".parse()?).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `(*, *)`, found `*` at `[1]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn inner_of(&self, outer: &TreeDef) -> Result<TreeDef> {
        expect_prefix(outer, self, Statics::Compared)?;
        let mut inner = None;
        for (leaf, subtree) in
            in_step(outer.root(), self.root(), Statics::Compared, |_, _, _, count| count).flatten()
        {
            let first = *inner.get_or_insert(subtree);
            if !first.is_like(subtree) {
                let path = outer.leaf_path(leaf.first_leaf())?;
                return Err(subtree_mismatch(&path, first, subtree));
            }
        }
        match inner {
            Some(node) => Ok(node.to_treedef()),
            None => Err(Cause::Nothing("a structure without leaves has no inner structure").into()),
        }
    }

    /// This structure with the subtree at a path replaced by `new`. A run around it is split.
    ///
    /// # Errors
    ///
    /// Returns an error when no node is at the path, or when the structures have different options.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let treedef: TreeDef = "Model { layers: [(*, *); 3], step: * }".parse()?;
    /// let replaced = treedef.replace(".layers[1]", &"None".parse()?)?;
    /// assert_eq!(replaced.to_string(), "Model { layers: [(*, *), None, (*, *)], step: * }");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn replace(&self, path: impl ToPath, new: &TreeDef) -> Result<TreeDef> {
        self.rebuilt(&self.resolve(path)?, |builder, _| {
            builder.allow(new.limits);
            builder.insert(new.root(), 1)
        })
    }

    /// This structure with the node at an existing path replaced by whatever `put` inserts.
    pub(crate) fn rebuilt<'a>(
        &'a self,
        path: &Path,
        mut put: impl FnMut(&mut PartsBuilder, NodeRef<'a>) -> Result<()>,
    ) -> Result<TreeDef> {
        let mut builder = PartsBuilder::onto(self.root(), self.limits);
        builder.assemble((self.root(), 1, true), |builder, depth, (node, repeat, is_above)| {
            if !is_above {
                builder.insert(node, repeat)?;
                return Ok(None);
            }
            let Some(key) = path.keys().get(depth) else {
                return put(builder, node).map(|()| None);
            };
            builder.open(node, 1)?;
            Ok(Some(node.runs_around(node.position(key).or_bug())))
        })?;
        builder.finish()
    }

    /// Calls `f` for each node and keeps, replaces or removes the node, as `f` returns.
    ///
    /// It starts at the root, and skips everything below a replaced or removed node. For equal
    /// siblings whose maps have the same insertion order, `f` is called once, with the first.
    ///
    /// # Errors
    ///
    /// Returns the first error of `f`. Also returns an error when a replacement has other options,
    /// or when `f` removes the root or the child of a newtype.
    ///
    /// ```
    /// use treedef::{Edit, TreeDef};
    ///
    /// let treedef: TreeDef = "Model { w: [*; 1000000], seed: static 7 }".parse()?;
    /// let bare = treedef.edit(|node| Ok(match node.static_value() {
    ///     Some(_) => Edit::Remove,
    ///     None => Edit::Keep,
    /// }))?;
    /// assert_eq!(bare.to_string(), "Model { w: [*; 1000000] }");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn edit(&self, mut f: impl FnMut(NodeRef<'_>) -> Result<Edit<TreeDef>>) -> Result<TreeDef> {
        let mut walk = EditWalk::runs(self);
        while let Some(met) = walk.step() {
            match met {
                Event::Enter { node, .. } => match f(node)? {
                    Edit::Keep => walk.enter()?,
                    Edit::Replace(other) => walk.put(&other)?,
                    Edit::Remove => walk.remove()?,
                },
                Event::Leave => walk.leave()?,
            }
        }
        walk.finish()
    }

    /// Like [`edit`](Self::edit), but from the leaves up: `f` gets nodes with edited children.
    ///
    /// # Errors
    ///
    /// Same as [`edit`](Self::edit).
    ///
    /// ```
    /// use treedef::{Edit, NodeKind, NodeRef, TreeDef};
    ///
    /// let treedef: TreeDef = "{\"a\": [*, [*, *]], \"b\": None}".parse()?;
    /// let tuples = treedef.edit_up(|node| Ok(match node.root().kind() {
    ///     NodeKind::Seq => {
    ///         let children = node.root().children().map(NodeRef::to_treedef);
    ///         Edit::Replace(TreeDef::tuple(children)?)
    ///     }
    ///     _ => Edit::Keep,
    /// }))?;
    /// assert_eq!(tuples.to_string(), "{\"a\": (*, (*, *)), \"b\": None}");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn edit_up(&self, mut f: impl FnMut(&TreeDef) -> Result<Edit<TreeDef>>) -> Result<TreeDef> {
        let mut walk = EditWalk::runs(self);
        while let Some(met) = walk.step() {
            match met {
                Event::Enter { .. } => walk.enter()?,
                Event::Leave => {
                    let made = walk.leave_apart()?.with_limits(self.limits);
                    match f(&made)? {
                        Edit::Keep => walk.put(&made)?,
                        Edit::Replace(other) => walk.put(&other)?,
                        Edit::Remove => walk.remove()?,
                    }
                }
            }
        }
        walk.finish()
    }
}

/// # Limits
impl TreeDef {
    /// The limits for the cost of this treedef.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Replaces the limits.
    ///
    /// They also bound the work of rebuilding. Without this call, a treedef that was made from a
    /// value allows any amount of that work.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        (self.limits, self.walked) = (limits, false);
        self
    }

    /// Returns the structure, or an error if it exceeds its limits.
    pub(crate) fn within_limits(self) -> Result<TreeDef> {
        self.limits.check(&self)?;
        Ok(self)
    }

    /// Checks that all nodes may be visited while `leaves` leaves are in memory.
    pub(crate) fn expect_work(&self, leaves: usize) -> Result<()> {
        self.expect_made(self.root().work(), leaves)
    }

    /// Checks that `needed` parts of this structure may be made while `leaves` leaves are in
    /// memory. Always succeeds if the treedef was made from a value.
    pub(crate) fn expect_made(&self, needed: usize, leaves: usize) -> Result<()> {
        if self.walked { Ok(()) } else { self.limits.expect_work(needed, leaves) }
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
