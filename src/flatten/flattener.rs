//! The [`Flattener`], and flattening with its default options.

use std::mem;
use std::sync::Arc;

use serde::Serialize;

use crate::bug::bug;
use crate::error::{Cause, DifferenceKind, Error, Result};
use crate::leaf::buffer::LeafBuffer;
use crate::leaf::leaf_type::{Emit, LeafType};
use crate::leaf::object::{Objects, collecting, in_order};
use crate::leaf::sink::Sink;
use crate::model::{
    Leaf, LeafKind, Limits, MapOrder, NodeData, NodeHead, NodeKind, Options, Tree, TreeDef, Value,
};
use crate::path::{Key, Path};
use crate::pattern::{Pattern, PatternStep};
use crate::selector::Selector;
use crate::treedef::difference::structure_differences;
use crate::treedef::pairs::differ;

use super::apply::{RuledTree, apply};
use super::ruled::{self, RuledParts};
use super::rules::{ArrayHint, ArrayMeaning, ArrayRule, Becomes, Collector, Rule, Rules};
use super::serializer::Writer;
use super::tape::Settings;
use super::walk::ValueWalk;
use super::word::ALL_KINDS;

/// Flattens any `Serialize` value into its leaves and its treedef.
///
/// Leaves are in the order of fields and elements. Map entries are in the canonical order of their
/// keys.
///
/// # When to use which
///
/// | you need | call |
/// |---|---|
/// | a vector and a structure, for code that knows only vectors | `flatten`; if all leaves are of one kind, [`flatten_as`], which returns e.g. a `Vec<f64>` and takes a third of the memory |
/// | to find, map, split or compare by path | [`Tree::of`], [`Tree::of_as`]: leaves and structure in one value with methods |
/// | other leaves: only floats, arrays, other types as a whole | a [`Flattener`], which has methods for all three |
/// | the same structure again and again | [`TreeDef::flatten_like`], which reuses a buffer |
///
/// # Errors
///
/// Returns an error when the `Serialize` implementation of the value fails, or when the value nests
/// deeper than 128 levels ([`Limits::max_depth`]).
///
/// ```
/// use treedef::Leaf;
///
/// let (leaves, treedef) = treedef::flatten(&(1, vec!["a", "b"]))?;
/// assert_eq!(leaves, [Leaf::I32(1), Leaf::from("a"), Leaf::from("b")]);
/// assert_eq!(treedef.to_string(), "(*, [*, *])");
/// # Ok::<(), treedef::Error>(())
/// ```
#[doc(alias = "tree_flatten")]
pub fn flatten<T: Serialize + ?Sized>(value: &T) -> Result<(Vec<Leaf>, TreeDef)> {
    Flattener::new().flatten(value)
}

/// Flattens a value whose leaves are all of one kind.
///
/// # Errors
///
/// As [`flatten`], and when a leaf is of another kind. An `f32` may become an `f64`.
///
/// ```
/// let (mut leaves, treedef) = treedef::flatten_as::<f64>(&(1.0, [2.0, 3.0]))?;
/// for leaf in &mut leaves {
///     *leaf *= 2.0;
/// }
/// assert_eq!(treedef::unflatten::<(f64, [f64; 2])>(&treedef, leaves)?, (2.0, [4.0, 6.0]));
///
/// let error = treedef::flatten_as::<f64>(&(1.0, 2)).unwrap_err();
/// assert!(
///     error
///         .to_string()
///         .starts_with("expected f64, found i32 at `.1` (mark it `treedef::as_static`")
/// );
/// # Ok::<(), treedef::Error>(())
/// ```
pub fn flatten_as<L: LeafType>(value: &(impl Serialize + ?Sized)) -> Result<(Vec<L>, TreeDef)> {
    Flattener::new().flatten_as(value)
}

/// Returns the treedef of a value, without its leaves.
///
/// # Errors
///
/// As [`flatten`].
///
/// ```
/// assert_eq!(treedef::structure(&Some([1, 2]))?.to_string(), "Some((*, *))");
/// # Ok::<(), treedef::Error>(())
/// ```
#[doc(alias = "tree_structure")]
pub fn structure<T: Serialize + ?Sized>(value: &T) -> Result<TreeDef> {
    Flattener::new().structure(value)
}

/// Returns the tree of leaf kinds, which prints like a type.
///
/// # Errors
///
/// As [`flatten`].
///
/// ```
/// use treedef::{LeafKind, Static, Tree};
///
/// let signature = treedef::signature(&(Static("mlp"), vec![([0.5f32; 9], 1u8); 3]))?;
/// assert_eq!(signature.to_string(), r#"(static "mlp", [((f32; 9), u8); 3])"#);
/// assert_eq!(signature.to_string().parse::<Tree<LeafKind>>()?, signature);
/// # Ok::<(), treedef::Error>(())
/// ```
#[doc(alias = "eval_shape")]
pub fn signature<T: Serialize + ?Sized>(value: &T) -> Result<Tree<LeafKind>> {
    Flattener::new().signature(value)
}

/// Flattens a value into its objects of one type and its treedef. Everything else is static,
/// including [opaque](crate::Opaque) values.
///
/// The [page about objects](crate::object) shows how to make a field an object. Each object is
/// cloned once.
///
/// # Errors
///
/// As [`flatten`](crate::flatten()). Also when there is an object of another type, or an object in a
/// map key, in a static or in an opaque leaf. The error has the path.
///
/// ```
/// use serde::Serialize;
///
/// #[derive(Serialize)]
/// struct Model {
///     #[serde(serialize_with = "treedef::object::vec::serialize")]
///     weights: Vec<std::rc::Rc<str>>,
///     name: &'static str,
/// }
///
/// let model = Model { weights: vec!["a".into(), "b".into()], name: "net" };
/// let (objects, treedef) = treedef::flatten_objects::<std::rc::Rc<str>>(&model)?;
/// assert_eq!(&*objects[1], "b");
/// assert_eq!(treedef.to_string(), r#"Model { weights: [*, *], name: static "net" }"#);
/// # Ok::<(), treedef::Error>(())
/// ```
pub fn flatten_objects<O: Clone + 'static>(
    value: &(impl Serialize + ?Sized),
) -> Result<(Vec<O>, TreeDef)> {
    Flattener::new().flatten_objects(value)
}

/// Flattens with options; see [`flatten`].
///
/// The options that rebuilding needs are stored in the treedef.
///
/// ```
/// use treedef::{Flattener, MapOrder};
///
/// let ordered = Flattener::new().map_order(MapOrder::Insertion).none_is_leaf(true);
/// let (leaves, treedef) = ordered.flatten(&[Some(1.5), None])?;
/// assert_eq!(leaves.len(), 2);
/// assert_eq!(treedef.to_string(), "#[insertion, none_is_leaf] (*, *)");
/// assert_eq!(ordered.structure(&[Some(2.5), None])?, treedef);
/// let signature = ordered.signature(&[Some(2.5), None])?;
/// assert_eq!(signature.to_string(), "#[insertion, none_is_leaf] (f64, none)");
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a flattener does nothing until it flattens"]
pub struct Flattener {
    pub(super) options: Options,
    pub(super) limits: Limits,
    pub(super) rules: Option<Arc<Rules>>,
    pub(super) ignore_statics: bool,
    pub(super) serialize_once: bool,
    pub(crate) objects: Objects,
    pub(crate) arrays: Option<Collector>,
    pub(crate) array_hints: Vec<ArrayHint>,
}

impl Flattener {
    /// Creates a flattener with the options of [`flatten`].
    ///
    /// ```
    /// use treedef::Flattener;
    ///
    /// let value = (1, [2.5, 3.5]);
    /// assert_eq!(Flattener::new().flatten(&value)?, treedef::flatten(&value)?);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn new() -> Self {
        Flattener::default()
    }

    /// A flattener with the options and limits of a treedef.
    pub(crate) fn with_options_of(treedef: &TreeDef) -> Self {
        let (options, limits) = (treedef.encoding.options, treedef.limits);
        Flattener { options, limits, ..Flattener::default() }
    }

    /// Sets the order of map entries: by key, which is the default, or as they arrive.
    pub fn map_order(mut self, order: MapOrder) -> Self {
        self.options.insertion = order == MapOrder::Insertion;
        self
    }

    /// Makes `None` a leaf and `Some(x)` just `x`, so that `Vec<Option<f64>>` has the structure of
    /// `Vec<f64>`.
    ///
    /// A `Some` remains a node in two cases, which keep nested options apart, also in serde's buffers:
    ///
    /// - around a `None` or a unit, also with newtypes or a mark between them: `Some(None)`, `Some(())`;
    /// - directly around another `Some`, or around a mark on one: `Some(Some(x))`.
    ///
    /// Rules see the tree without the other `Some`s. A rule that makes the field `Some(3)` static stores `3`.
    ///
    /// ```
    /// use treedef::{Flattener, Leaf};
    ///
    /// let (leaves, treedef) =
    ///     Flattener::new().none_is_leaf(true).flatten(&(None::<u8>, Some(None::<u8>)))?;
    /// assert_eq!(leaves, [Leaf::None, Leaf::None]);
    /// assert_eq!(treedef.to_string(), "#[none_is_leaf] (*, Some(*))");
    /// assert_eq!(
    ///     treedef::unflatten::<(Option<u8>, Option<Option<u8>>)>(&treedef, leaves)?,
    ///     (None, Some(None))
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn none_is_leaf(mut self, yes: bool) -> Self {
        self.options.none_is_leaf = yes;
        self
    }

    /// Sets what serde's `is_human_readable` returns to the value: `false` with `compact(true)`. Some types
    /// then serialize in another way.
    ///
    /// serde's own buffers (`flatten`, `untagged`, internal tags) are always human-readable.
    ///
    /// ```
    /// use std::net::Ipv4Addr;
    ///
    /// use treedef::{Flattener, Leaf};
    ///
    /// let address = Ipv4Addr::LOCALHOST;
    /// assert_eq!(Flattener::new().flatten(&address)?.0, [Leaf::from("127.0.0.1")]);
    /// assert_eq!(Flattener::new().compact(true).flatten_as::<u8>(&address)?.0, [127, 0, 0, 1]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "human_readable")]
    pub fn compact(mut self, yes: bool) -> Self {
        self.options.compact = yes;
        self
    }

    /// Sets the limits of new treedefs: how deep containers may nest, and the cost of rebuilding,
    /// printing and saving.
    ///
    /// Each level of containers uses stack, here and in the code of the value. More than 256 levels
    /// need the feature `stacker`, which grows the stack, and are an error without it.
    ///
    /// ```
    /// use treedef::{Flattener, Limits, Static};
    ///
    /// let table = Static(vec![7u8; 1000]);
    /// let limits = Limits { max_work: 100, ..Limits::default() };
    /// let error = Flattener::new().limits(limits).structure(&table).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "1001 nodes to visit, the limit is 100 (see `Limits::max_work`)"
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Makes leaves only of scalars of the kinds that `is_leaf` accepts. The others become static. It
    /// is called at once for each kind, not during a walk. A second call replaces the first. A `None` that
    /// [`none_is_leaf`](Self::none_is_leaf) makes a leaf stays one.
    ///
    /// For example, an optimiser sees only the floats of a value. A `half::f16` is not a float to
    /// serde, but an integer with its bits: see [`ArrayRule::Half`](crate::ArrayRule::Half).
    ///
    /// ```
    /// use treedef::{Flattener, LeafKind};
    ///
    /// let floats = Flattener::new().leaves_where(LeafKind::is_float);
    /// let (leaves, treedef) = floats.flatten_as::<f64>(&("adam", 3, [0.5, 0.25]))?;
    /// assert_eq!(leaves, [0.5, 0.25]);
    /// assert_eq!(treedef.to_string(), r#"(static "adam", static 3, (*, *))"#);
    /// let rebuilt: (String, i32, [f64; 2]) = treedef::unflatten(&treedef, [1.0, 2.0])?;
    /// assert_eq!(rebuilt, ("adam".to_owned(), 3, [1.0, 2.0]));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn leaves_where(self, is_leaf: impl Fn(LeafKind) -> bool + Send + Sync + 'static) -> Self {
        self.with_rules(|rules| rules.leaves_where(is_leaf))
    }

    /// Makes the values that a selector matches static: they are stored in the treedef. For types that
    /// cannot be [annotated](fn@crate::as_static).
    ///
    /// The first mark of a node wins. A selector that matches nothing is not an error;
    /// [`unmatched_rules`](Self::unmatched_rules) lists such selectors.
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a [`Selector`].
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::Flattener;
    ///
    /// #[derive(Serialize)]
    /// struct Linear { name: &'static str, w: [f64; 2] }
    ///
    /// let layers = [("in", Linear { name: "first", w: [1.0, 2.0] })];
    /// let flattener = Flattener::new().mark_static("Linear.name")?.mark_static("[*].0")?;
    /// assert_eq!(
    ///     flattener.structure(&layers.as_slice())?.to_string(),
    ///     r#"[(static "in", Linear { name: static "first", w: (*, *) })]"#
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn mark_static(self, selector: impl TryInto<Selector, Error: Into<Error>>) -> Result<Self> {
        self.with_rule(selector, Becomes::Static)
    }

    /// Makes each value that a selector matches one leaf, with its whole subtree. For types that cannot be
    /// [annotated](fn@crate::as_opaque).
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a [`Selector`].
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use treedef::Flattener;
    ///
    /// #[derive(Debug, PartialEq, Serialize, Deserialize)]
    /// struct Tensor { shape: [usize; 2], data: Vec<f32> }
    ///
    /// let tensors = vec![Tensor { shape: [1, 2], data: vec![1.0, 2.0] }];
    /// let (leaves, treedef) = Flattener::new().mark_opaque("Tensor")?.flatten(&tensors)?;
    /// assert_eq!(treedef.to_string(), "[*]");
    /// assert_eq!(leaves[0].clone().into_typed::<Tensor>()?, tensors[0]);
    /// assert_eq!(treedef::unflatten::<Vec<Tensor>>(&treedef, leaves)?, tensors);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn mark_opaque(self, selector: impl TryInto<Selector, Error: Into<Error>>) -> Result<Self> {
        self.with_rule(selector, Becomes::Leaf)
    }

    /// Makes each node that a function chooses one leaf, with its whole subtree. The function is called for
    /// every node that is not a scalar, from the root down, but not inside a leaf or a static. A second call
    /// replaces the first.
    ///
    /// ```
    /// use treedef::{Flattener, NodeKind};
    ///
    /// let flattener = Flattener::new().opaque_where(|_, node| node.kind == NodeKind::Tuple);
    /// let (_, treedef) = flattener.flatten(&vec![(1, 2), (3, 4)])?;
    /// assert_eq!(treedef.to_string(), "[*, *]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "is_leaf")]
    pub fn opaque_where(
        self,
        is_leaf: impl Fn(&Path, NodeHead<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with_rules(|rules| rules.is_leaf = Some(Arc::new(is_leaf)))
    }

    /// Applies the rules, and [`arrays`](Self::arrays), to a tree that was loaded, parsed or made by other
    /// rules. The result is the same as flattening its value with these rules.
    ///
    /// Options and limits are taken from `tree`, not from this flattener. If a rule turns a static into a
    /// leaf, its value moves from the treedef into the leaves.
    ///
    /// # Errors
    ///
    /// Returns an error when there are more nodes than
    /// [`Limits::max_work`](crate::Limits::max_work) allows.
    ///
    /// ```
    /// use treedef::{Flattener, Leaf, LeafKind, Tree};
    ///
    /// let json = r#"{"name": "adam", "steps": [1, 2], "rate": 0.5}"#;
    /// let tree: Tree<Leaf> = serde_json::from_str(json).unwrap();
    /// let flattener = Flattener::new().leaves_where(LeafKind::is_float).mark_opaque(".steps")?;
    /// let tree = flattener.apply_rules(tree)?;
    /// assert_eq!(tree.treedef().to_string(), r#"{"name": static "adam", "rate": *, "steps": *}"#);
    /// assert_eq!(tree.get("rate")?.as_f64(), Some(0.5));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn apply_rules(&self, tree: Tree<Leaf>) -> Result<Tree<Leaf>> {
        let (treedef, leaves) = tree.into_parts();
        treedef.expect_work(leaves.len())?;
        let none = Rules::default();
        let rules = self.rules.as_deref().unwrap_or(&none);
        let to = self.sink(Sink::Leaves(Vec::new()));
        let RuledTree { treedef, leaves, .. } =
            apply(rules, Objects::Scalars, &treedef, leaves, to, false)?;
        let treedef = treedef.within_limits()?;
        match self.arrays {
            Some(arrays) => (arrays.collect)(&treedef, leaves, &self.array_hints),
            None => Ok(Tree::from_parts(treedef, leaves.into_leaves())),
        }
    }

    /// Returns the rules about types, fields and paths that match nothing in a value, for example
    /// because of a typo.
    ///
    /// # Errors
    ///
    /// As [`flatten`](crate::flatten()).
    ///
    /// ```
    /// use treedef::Flattener;
    ///
    /// let flattener = Flattener::new().mark_static("Linaer.name")?.mark_static(".0")?;
    /// assert_eq!(flattener.unmatched_rules(&("a", 1))?, ["Linaer.name"]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn unmatched_rules<T: Serialize + ?Sized>(&self, value: &T) -> Result<Vec<String>> {
        Ok(self.unmatched(&self.walk_any(Sink::Counted(0), value)?.hits))
    }

    fn unmatched(&self, hits: &[bool]) -> Vec<String> {
        let Some(rules) = &self.rules else { return Vec::new() };
        let hits = rules.rules.iter().zip(hits).enumerate();
        let unmatched = hits.filter(|(index, (_, hit))| !**hit && !rules.presets.contains(index));
        unmatched.map(|(_, ((rule, _), _))| rule.to_string()).collect()
    }

    /// Serializes every value only once.
    ///
    /// By default, an element of a long sequence that follows plain data, like a number or a struct of
    /// numbers, is first compared with its predecessor. If it differs, it is serialized again.
    ///
    /// This is fast, and a normal `Serialize` implementation does not notice. But an implementation
    /// that gives its content away, such as an iterator in a cell, has less the second time. Turn
    /// this option on for such values.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// use serde::{Serialize, Serializer};
    /// use treedef::Flattener;
    ///
    /// struct Once(Cell<Option<f64>>);
    ///
    /// impl Serialize for Once {
    ///     fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
    ///         (0.5, self.0.take()).serialize(serializer)
    ///     }
    /// }
    ///
    /// let values = || -> Vec<Once> {
    ///     (0..30).map(|at| Once(Cell::new((at == 20).then_some(1.5)))).collect()
    /// };
    /// let error = treedef::flatten_as::<f64>(&values()).unwrap_err();
    /// assert!(error.to_string().contains("returned less on its second call"));
    ///
    /// let (leaves, _) = Flattener::new().serialize_once(true).flatten_as::<f64>(&values())?;
    /// assert_eq!(leaves.len(), 31);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn serialize_once(mut self, yes: bool) -> Self {
        self.serialize_once = yes;
        self
    }

    pub(super) fn with_rules(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(Arc::make_mut(self.rules.get_or_insert_default()));
        self
    }

    fn with_rule<S>(self, selector: S, becomes: Becomes) -> Result<Self>
    where
        S: TryInto<Selector, Error: Into<Error>>,
    {
        let rule = Rule::At(selector.try_into().map_err(Into::into)?);
        Ok(self.with_rules(|rules| rules.rules.push((rule, becomes))))
    }

    /// As [`flatten`](crate::flatten()), with these options.
    ///
    /// # Errors
    ///
    /// As [`flatten`](crate::flatten()).
    pub fn flatten<T: Serialize + ?Sized>(&self, value: &T) -> Result<(Vec<Leaf>, TreeDef)> {
        self.flatten_as(value)
    }

    /// As [`flatten_as`], with these options.
    ///
    /// # Errors
    ///
    /// As [`flatten_as`].
    pub fn flatten_as<L: LeafType>(
        &self,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(Vec<L>, TreeDef)> {
        let tree = self.tree_of_value(value)?;
        Ok((tree.leaves, tree.treedef))
    }

    /// The tree of a value: its structure and its leaves together.
    ///
    /// # Errors
    ///
    /// As [`flatten`](Self::flatten).
    ///
    /// ```
    /// use treedef::Flattener;
    ///
    /// let tree = Flattener::new().none_is_leaf(true).tree(&(1, None::<i32>))?;
    /// assert_eq!(tree.leaves().len(), 2);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn tree<T: Serialize + ?Sized>(&self, value: &T) -> Result<Tree<Leaf>> {
        self.tree_of_value(value)
    }

    /// The tree of a value whose leaves are all of one kind.
    ///
    /// # Errors
    ///
    /// As [`flatten_as`](Self::flatten_as).
    ///
    /// ```
    /// use treedef::{Flattener, LeafKind};
    ///
    /// let floats = Flattener::new().leaves_where(LeafKind::is_float);
    /// let tree = floats.tree_as::<f64>(&("adam", 0.5))?;
    /// assert_eq!(tree.to_string(), r#"(static "adam", 0.5)"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn tree_as<L: LeafType>(&self, value: &(impl Serialize + ?Sized)) -> Result<Tree<L>> {
        self.tree_of_value(value)
    }

    /// As [`structure`], with these options.
    ///
    /// # Errors
    ///
    /// As [`structure`].
    pub fn structure<T: Serialize + ?Sized>(&self, value: &T) -> Result<TreeDef> {
        let (treedef, leaves) = self.walk(self.sink(Sink::Counted(0)), value)?;
        match self.arrays {
            Some(arrays) => Ok((arrays.collect)(&treedef, leaves, &self.array_hints)?.treedef),
            None => Ok(treedef),
        }
    }

    /// As [`signature`], with these options.
    ///
    /// # Errors
    ///
    /// As [`signature`].
    pub fn signature<T: Serialize + ?Sized>(&self, value: &T) -> Result<Tree<LeafKind>> {
        self.tree_of_value(value)
    }

    /// Puts the leaves of a value with a known structure into `buffer`, and replaces its content.
    ///
    /// The buffer is a `Vec`, or a slice of the right length: see [`LeafBuffer`].
    ///
    /// The options of the walk are taken from the treedef, the rules from this flattener: use the
    /// rules that the treedef was made with. Without rules, [`TreeDef::flatten_like`] does the
    /// same. Map entries are found by their keys.
    ///
    /// # Errors
    ///
    /// Returns an error when the value has another structure, and lists the differences. A `Vec` is
    /// empty then, and a slice is as before. Also when the length of a slice differs from the number of leaves.
    ///
    /// ```
    /// use treedef::{Flattener, LeafKind};
    ///
    /// let floats = Flattener::new().leaves_where(LeafKind::is_float);
    /// let (mut buffer, treedef) = floats.flatten_as::<f64>(&("adam", 1, 0.5))?;
    ///
    /// let error = floats.flatten_like(&treedef, &("adam", 2, 0.25), &mut buffer).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "expected `static 1`, found `static 2` at `.1` \
    ///      (statics are part of the structure; see `ignore_statics`)"
    /// );
    /// floats.ignore_statics(true).flatten_like(&treedef, &("adam", 2, 0.25), &mut buffer)?;
    /// assert_eq!(buffer, [0.25]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn flatten_like<B: LeafBuffer + ?Sized>(
        &self,
        treedef: &TreeDef,
        value: &(impl Serialize + ?Sized),
        buffer: &mut B,
    ) -> Result<()> {
        let mut leaves = buffer.begin(treedef)?;
        self.walk_like(treedef, value, &mut leaves.0)?;
        buffer.end(leaves)
    }

    pub(super) fn walk_like<T: Serialize + ?Sized>(
        &self,
        treedef: &TreeDef,
        value: &T,
        sink: &mut Sink,
    ) -> Result<()> {
        let leaves = match self.arrays {
            Some(arrays) => (arrays.sink)(),
            None => mem::replace(sink, Sink::Counted(0)),
        };
        let options = treedef.encoding.options;
        if self.arrays.is_none() && self.node_rules().is_none() {
            let settings = Settings { limits: treedef.limits, options, ..self.settings() };
            let like = Some((treedef, self.ignore_statics));
            let mut walk = ValueWalk::begin(leaves, settings, like);
            let end = value.serialize(Writer { tape: &mut walk.tape, at: 0 });
            let walked = walk.finish_like(end, treedef, |found| self.expect_same(treedef, found));
            *sink = walked.map_err(|error| perhaps_of_rules(treedef, error))?;
            return Ok(());
        }
        let like = Flattener { options, limits: treedef.limits, ..self.clone() };
        if let Some(arrays) = self.arrays {
            let RuledTree { treedef: found, leaves, .. } = like.walk_any(leaves, value)?;
            let found = (arrays.collect)(&found, leaves, &self.array_hints)?;
            self.expect_same(treedef, &found.treedef)?;
            return put_all(treedef, found.leaves, sink);
        }
        let (mut walk, to) = like.begin(leaves);
        let end = value.serialize(Writer { tape: &mut walk.tape, at: 0 });
        *sink = like.end_like(walk.finish(end), to, treedef)?;
        Ok(())
    }

    /// Applies the rules to a value that should become like a treedef.
    fn end_like(
        &self,
        walked: Result<(TreeDef, Sink)>,
        mut to: Sink,
        like: &TreeDef,
    ) -> Result<Sink> {
        let (found, leaves) = walked?;
        let Some(rules) = &self.rules else { return Err(bug!("there are no rules")) };
        let mut leaves: Vec<Leaf> = leaves.into_leaves();
        if !self.objects.are_leaves()
            && ruled::put_again((rules, self.ignore_statics), &found, like, &mut leaves, &mut to)?
        {
            return Ok(to);
        }
        let ruled = apply(rules, self.objects, &found, leaves, to, true)?;
        self.expect_same(like, &ruled.treedef)?;
        ruled::note((rules, self.ignore_statics), &found, like, ruled.parts);
        Ok(ruled.leaves)
    }

    fn expect_same(&self, expected: &TreeDef, found: &TreeDef) -> Result<()> {
        if expected == found {
            return Ok(());
        }
        let differences = structure_differences(expected, found, self.ignore_statics);
        // Only ignored statics differ, so the leaves are in the same order.
        if differences.is_empty() {
            return Ok(());
        }
        Err(differ(differences, "statics are part of the structure; see `ignore_statics`"))
    }

    /// Lets [`flatten_like`](Self::flatten_like) accept a static with another value, such as a step
    /// counter. The default is `false`.
    ///
    /// Only that function is affected. Functions of two trees, such as [`Tree::zip_with`], always
    /// compare the statics. To combine two values that differ in a static, flatten the second like
    /// the first, which keeps the statics of the first:
    ///
    /// ```
    /// use treedef::{Flattener, LeafKind, Tree};
    ///
    /// let floats = Flattener::new().leaves_where(LeafKind::is_float).ignore_statics(true);
    /// let (old, new) = (("step", 1, 0.5), ("step", 2, 0.75));
    /// let tree: Tree<f64> = floats.tree_as(&old)?;
    ///
    /// let error = tree.clone().zip_with(floats.tree_as(&new)?, |a, b: f64| a + b).unwrap_err();
    /// assert!(error.to_string().starts_with("expected `static 1`, found `static 2` at `.1`"));
    ///
    /// let mut leaves: Vec<f64> = Vec::new();
    /// floats.flatten_like(tree.treedef(), &new, &mut leaves)?;
    /// let sum = tree.clone().zip_with(Tree::new(tree.treedef().clone(), leaves)?, |a, b| a + b)?;
    /// assert_eq!(sum.to_string(), r#"(static "step", static 1, 1.25)"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn ignore_statics(mut self, yes: bool) -> Self {
        self.ignore_statics = yes;
        self
    }

    fn tree_of_value<L: Emit, T: Serialize + ?Sized>(&self, value: &T) -> Result<Tree<L>> {
        let (treedef, leaves) = self.walk(self.sink(Sink::of::<L>(Vec::new())), value)?;
        self.tree_of(treedef, leaves)
    }

    /// The tree of what a walk has put into [`sink`](Self::sink).
    fn tree_of<L: Emit>(&self, treedef: TreeDef, leaves: Sink) -> Result<Tree<L>> {
        let Some(arrays) = self.arrays else {
            return Ok(Tree::from_parts(treedef, leaves.into_leaves()));
        };
        let tree = (arrays.collect)(&treedef, leaves, &self.array_hints)?;
        let mut leaves = Sink::of::<L>(Vec::new());
        put_all(&tree.treedef, tree.leaves, &mut leaves)?;
        Ok(Tree::from_parts(tree.treedef, leaves.into_leaves()))
    }

    pub(super) fn walk<T: Serialize + ?Sized>(
        &self,
        sink: Sink,
        value: &T,
    ) -> Result<(TreeDef, Sink)> {
        let RuledTree { treedef, leaves, .. } = self.walk_any(sink, value)?;
        // If the whole is within the limit, so are its keys and statics.
        if treedef.root().work() > self.limits.max_work {
            self.limits.expect_work(treedef.encoding.printed(&NodeData::expanded), 0)?;
        }
        Ok((treedef, leaves))
    }

    /// Returns the structure, the leaves, and for each rule whether it applied.
    fn walk_any<T: Serialize + ?Sized>(&self, sink: Sink, value: &T) -> Result<RuledTree> {
        let (mut walk, to) = self.begin(sink);
        let end = value.serialize(Writer { tape: &mut walk.tape, at: 0 });
        self.end(walk.finish(end), to)
    }

    /// A walk, and where its leaves go then: rules choose leaves of the finished tree.
    fn begin(&self, sink: Sink) -> (ValueWalk, Sink) {
        let mut settings = self.settings();
        if self.node_rules().is_none() {
            return (ValueWalk::begin(sink, settings, None), Sink::Counted(0));
        }
        settings.takes = ALL_KINDS;
        if self.objects.are_leaves() {
            settings.objects = Objects::AmongLeaves;
        }
        (ValueWalk::begin(Sink::Leaves(ruled::spare()), settings, None), sink)
    }

    fn end(&self, walked: Result<(TreeDef, Sink)>, to: Sink) -> Result<RuledTree> {
        let (treedef, leaves) = walked?;
        match self.node_rules() {
            Some(rules) => apply(rules, self.objects, &treedef, leaves.into_leaves(), to, false),
            None => {
                Ok(RuledTree { treedef, leaves, hits: Vec::new(), parts: RuledParts::new(false) })
            }
        }
    }

    /// The rules, if there are any about nodes and places.
    fn node_rules(&self) -> Option<&Rules> {
        self.rules.as_deref().filter(|rules| rules.need_nodes())
    }

    /// The settings of a walk with the options of this flattener.
    fn settings(&self) -> Settings {
        let by_kind = self.rules.as_ref().filter(|rules| !rules.need_nodes());
        Settings {
            takes: by_kind.map_or(ALL_KINDS, |rules| rules.leaf_kinds),
            predicts: !self.serialize_once && !self.objects.are_leaves(),
            objects: self.objects,
            ..Settings::new(self.options, self.limits)
        }
    }

    /// Tells the flattener how an array crate serializes its types. For example,
    /// [`ArrayRule::Ndarray`] makes the version and the sizes of an `ndarray` array static, so that only
    /// its numbers are leaves. The page about [arrays](crate::_guide::arrays) lists the types that need a
    /// rule.
    ///
    /// ```
    /// use treedef::{ArrayRule, Flattener};
    ///
    /// let model = (0.5, (vec![1.0, 2.0], 1u64, 2u64));
    /// let flattener = Flattener::new().array_rule(ArrayRule::Nalgebra(".1".parse()?));
    /// assert_eq!(
    ///     flattener.structure(&model)?.to_string(),
    ///     "(*, ([*, *], static 1u64, static 2u64))"
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn array_rule(self, rule: ArrayRule) -> Self {
        let field = |name: &'static str| Rule::At(Selector::Field("Array".into(), name.into()));
        let below = |mut pattern: Pattern, position| {
            pattern.0.push(PatternStep::Key(Key::Position(position)));
            Rule::At(Selector::Path(pattern))
        };
        match rule {
            ArrayRule::Ndarray => self.with_preset([field("v"), field("dim")], Becomes::Static),
            ArrayRule::Nalgebra(at) => {
                let (rows, columns) = (below(at.clone(), 1), below(at, 2));
                self.with_preset([rows, columns], Becomes::Static)
            }
            ArrayRule::Half => self.with_preset([Rule::Half], Becomes::Half),
            ArrayRule::Complex(at) => self.with_hint(at, ArrayMeaning::Complex),
            ArrayRule::Matrix(at, rows, columns) => {
                self.with_hint(at, ArrayMeaning::Columns(rows, columns))
            }
        }
    }

    fn with_preset<const N: usize>(self, preset: [Rule; N], becomes: Becomes) -> Self {
        self.with_rules(|rules| {
            for rule in preset {
                rules.presets.push(rules.rules.len());
                rules.rules.push((rule, becomes));
            }
        })
    }

    fn with_hint(mut self, pattern: Pattern, means: ArrayMeaning) -> Self {
        self.array_hints.push(ArrayHint { pattern, means });
        self
    }

    /// As [`flatten_objects`](crate::flatten_objects()), with these options and rules.
    /// [`leaves_where`](Self::leaves_where) is ignored.
    ///
    /// # Errors
    ///
    /// As [`flatten_objects`](crate::flatten_objects()); also with
    /// [`none_is_leaf`](Self::none_is_leaf), because an absent value is not an object.
    ///
    /// ```
    /// use treedef::{Flattener, Object};
    ///
    /// let value = (Object('a'), [1, 2]);
    /// let (objects, treedef) = Flattener::new().mark_static(".1")?.flatten_objects::<char>(&value)?;
    /// assert_eq!((objects, treedef.to_string()), (vec!['a'], "(*, static (1, 2))".to_owned()));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn flatten_objects<O: Clone + 'static>(
        &self,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(Vec<O>, TreeDef)> {
        if self.options.none_is_leaf {
            return Err(Error::protocol(
                "an absent value is not an object: leave out `none_is_leaf`",
            ));
        }
        let walk = self.for_objects();
        let numbers = Sink::F64(Vec::new());
        let (walked, objects) = collecting(Vec::new(), || walk.walk(numbers, value));
        let (treedef, numbers) = walked?;
        Ok((in_order_of(numbers, objects, &treedef)?, treedef))
    }

    /// Puts the objects of a value with a known structure into `buffer`, and replaces its content.
    ///
    /// # Errors
    ///
    /// As [`flatten_like`](Self::flatten_like) and [`flatten_objects`](Self::flatten_objects).
    ///
    /// ```
    /// use treedef::{Flattener, Object};
    ///
    /// let (mut objects, treedef) = treedef::flatten_objects::<char>(&[Object('a'), Object('b')])?;
    /// let flattener = Flattener::new();
    /// flattener.flatten_objects_like(&treedef, &[Object('c'), Object('d')], &mut objects)?;
    /// assert_eq!(objects, ['c', 'd']);
    /// assert!(flattener.flatten_objects_like(&treedef, &[Object('c')], &mut objects).is_err());
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn flatten_objects_like<O: Clone + 'static>(
        &self,
        treedef: &TreeDef,
        value: &(impl Serialize + ?Sized),
        buffer: &mut Vec<O>,
    ) -> Result<()> {
        let walk = self.for_objects();
        let mut numbers = Sink::F64(Vec::new());
        let mut objects = mem::take(buffer);
        objects.clear();
        let (walked, objects) =
            collecting(objects, || walk.walk_like(treedef, value, &mut numbers));
        walked.map_err(|error| match error.cause() {
            Cause::LeafKind { found: LeafKind::None, .. } => {
                Error::argument("an absent value is not an object")
                    .with_hint("make the treedef without `none_is_leaf`")
                    .at(error.path().clone())
            }
            _ => error,
        })?;
        *buffer = in_order_of(numbers, objects, treedef)?;
        Ok(())
    }

    /// The same options and rules for a walk whose leaves are objects.
    fn for_objects(&self) -> Self {
        Flattener { objects: Objects::AmongStatics, arrays: None, ..self.clone() }
    }

    /// Where a walk puts the leaves.
    fn sink(&self, other: Sink) -> Sink {
        self.arrays.map_or(other, |arrays| (arrays.sink)())
    }
}

/// Puts leaves into a sink, which may take only one kind.
fn put_all(treedef: &TreeDef, leaves: Vec<Leaf>, sink: &mut Sink) -> Result<()> {
    for (index, leaf) in leaves.into_iter().enumerate() {
        let found = leaf.kind();
        if !sink.push_leaf(leaf) {
            let error = Cause::LeafKind { expected: sink.kind(), found };
            return Err(treedef.error_at_leaf(index, error).with_hint("see `Flattener::arrays`"));
        }
    }
    Ok(())
}

/// The objects whose numbers were leaves.
fn in_order_of<O: Clone>(numbers: Sink, objects: Vec<O>, treedef: &TreeDef) -> Result<Vec<O>> {
    in_order(objects, &numbers.into_leaves::<Vec<f64>>()).map_err(|index| {
        let said =
            "a `Serialize` implementation wrote the number of an object that it does not have";
        treedef.error_at_leaf(index, Error::protocol(said))
    })
}

/// A walk without rules came to a place where the treedef has a static, or one leaf for a compound.
#[cold]
fn perhaps_of_rules(treedef: &TreeDef, error: Error) -> Error {
    let differs = error.differences().first().map(|first| first.kind);
    let is_of_rules = treedef.find(error.path()).is_ok_and(|(_, node)| match node.kind() {
        NodeKind::Static => differs != Some(DifferenceKind::Static),
        NodeKind::Leaf => differs == Some(DifferenceKind::Node),
        _ => false,
    });
    if !is_of_rules {
        return error;
    }
    error.with_other_hint(
        "did a `Flattener` with rules make the treedef? `Flattener::flatten_like` applies them",
    )
}

/// # Flatten again
impl TreeDef {
    /// Puts the leaves of a value with this structure into `buffer`, and replaces its content.
    ///
    /// # When to use which
    ///
    /// This is [`Flattener::flatten_like`] with the options of the treedef and without rules. If the
    /// structure was made with rules, or its statics may differ, use the flattener. For objects, use
    /// [`Flattener::flatten_objects_like`].
    ///
    /// # Errors
    ///
    /// Returns an error when the value has another structure, and lists the differences. A `Vec` is
    /// empty then, and a slice is as before. Also when the length of a slice differs from the number of leaves.
    ///
    /// ```
    /// let (mut buffer, treedef) = treedef::flatten_as::<f64>(&vec![(1.0, 2.0), (3.0, 4.0)])?;
    /// treedef.flatten_like(&vec![(5.0, 6.0), (7.0, 8.0)], &mut buffer)?;
    /// assert_eq!(buffer, [5.0, 6.0, 7.0, 8.0]);
    ///
    /// let error = treedef.flatten_like(&vec![(1.0, 2.0)], &mut buffer).unwrap_err();
    /// assert_eq!(error.to_string(), "expected 2 children, found 1 child at the root");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn flatten_like<B: LeafBuffer + ?Sized>(
        &self,
        value: &(impl Serialize + ?Sized),
        buffer: &mut B,
    ) -> Result<()> {
        Flattener::new().flatten_like(self, value, buffer)
    }
}

impl Value {
    /// The value with its structure, for example to use it as a map key, a static or an opaque leaf. It is
    /// recorded with the default options.
    ///
    /// # Errors
    ///
    /// As [`flatten`].
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let mut walk = ValueWalk::begin_captured();
        let end = value.serialize(Writer { tape: &mut walk.tape, at: 0 });
        walk.finish_captured(end)
    }
}
