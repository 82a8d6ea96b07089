//! Value → leaves and treedef.
//!
//! A value flows so: the [`recorder`] is what serde calls, and the [`recording`] what it has come to, with a [`frame`] for
//! each open compound. That is all that is needed to flatten. Two things predict, and are for speed alone: [`rows`] take
//! elements that look like the one before, if they are numbers or have a fixed [`layout`]; the [`matcher`] puts a value
//! beside a structure that is [`known`], which is what `flatten_like` asks for, or the [`last`] of a small type.

#![allow(
    clippy::question_mark,
    reason = "`?` is one more function for each type that is walked: see the page about speed"
)]

mod rules;
mod calls;
mod rows;
mod frame;
mod recording;
mod kept;
mod failure;
mod elements;
mod recorder;
mod reader;
mod matcher;
mod presets;

use std::any::type_name;
use std::mem;
use std::sync::Arc;

use serde::Serialize;

use crate::argument::ToPattern;
use crate::error::{DifferenceKind, ErrorKind, Result};
use crate::leaf::leaf_type::{Emit, LeafType};
use crate::leaf::sink::Sink;
use crate::model::{Leaf, LeafKind, Limits, MapOrder, NodeHead, Options, Tree, TreeDef, Value};
use crate::path::Path;
use crate::treedef::builder::ways_agree;
use crate::treedef::difference::{structure_differences, structure_mismatch};
use crate::treedef::limits::PrintCost;

use elements::gave_less;
use matcher::known::{Divergence, Expectation};
use matcher::last::WalkId;
pub use reader::TreeSeed;
use recording::Recording;
use rules::{Keep, Rule, Rules};

/// A treedef of a few bytes may claim any number of leaves: so many are believed before they were seen.
const BELIEVED: usize = 1 << 20;

/// Flattens any `Serialize` value into its leaves and its treedef.
///
/// Leaves come in the order of the fields and elements; those of a map in the canonical order of its keys.
///
/// # Errors
///
/// When the value's own `Serialize` fails, or when it nests deeper than 128 levels ([`Flattener::max_depth`]).
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
/// As [`flatten`]; also when a leaf is of another kind. An `f32` may become an `f64`.
///
/// ```
/// let (mut leaves, treedef) = treedef::flatten_as::<f64>(&(1.0, [2.0, 3.0]))?;
/// for leaf in &mut leaves {
///     *leaf *= 2.0;
/// }
/// assert_eq!(treedef::unflatten::<(f64, [f64; 2])>(&treedef, leaves)?, (2.0, [4.0, 6.0]));
///
/// let error = treedef::flatten_as::<f64>(&(1.0, 2)).unwrap_err();
/// assert!(error.to_string().starts_with("expected f64, found i32 at `.1` (mark it `treedef::as_static`"));
/// # Ok::<(), treedef::Error>(())
/// ```
pub fn flatten_as<L: LeafType>(value: &(impl Serialize + ?Sized)) -> Result<(Vec<L>, TreeDef)> {
    Flattener::new().flatten_as(value)
}

/// The treedef of a value, without its leaves.
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

/// The tree of leaf kinds, which prints as a type would read.
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

/// The leaves of a value, without its treedef.
///
/// # Errors
///
/// As [`flatten`].
///
/// ```
/// assert_eq!(treedef::leaves(&Some([1u8, 2]))?, [1u8.into(), 2u8.into()]);
/// # Ok::<(), treedef::Error>(())
/// ```
pub fn leaves<T: Serialize + ?Sized>(value: &T) -> Result<Vec<Leaf>> {
    Ok(flatten(value)?.0)
}

/// [`flatten`] with options.
///
/// What rebuilding needs to know of them becomes part of the treedef.
///
/// ```
/// use treedef::{Flattener, MapOrder};
///
/// let ordered = Flattener::new().map_order(MapOrder::Insertion).none_is_leaf(true);
/// let (leaves, treedef) = ordered.flatten(&[Some(1.5), None])?;
/// assert_eq!(leaves.len(), 2);
/// assert_eq!(treedef.to_string(), "#[insertion, none_is_leaf] (*, *)");
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a flattener does nothing until it flattens"]
pub struct Flattener {
    options: Options,
    limits: Limits,
    rules: Option<Arc<Rules>>,
    ignore_statics: bool,
    serialize_once: bool,
}

impl Flattener {
    /// The options of [`flatten`].
    pub fn new() -> Self {
        Flattener::default()
    }

    /// The options that a treedef was made with, and its limits.
    pub(crate) fn with_options_of(treedef: &TreeDef) -> Self {
        let (options, limits) = (treedef.encoding.options, treedef.limits);
        Flattener { options, limits, ..Flattener::default() }
    }

    /// Whether maps stand in the order of their keys, the default, or as they come.
    pub fn map_order(mut self, order: MapOrder) -> Self {
        self.options.insertion = order == MapOrder::Insertion;
        self
    }

    /// Whether `None` is a leaf and `Some(x)` just `x`, so that `Vec<Option<f64>>` has the structure of `Vec<f64>`.
    ///
    /// The node of a `Some` around a `None`, a `Some` or a unit stays, newtypes and marks between them or not, so that
    /// nested options are exact in serde's buffers too. That it stays shows only below it, so rules about paths see the
    /// inside without the `?` that its path has then.
    ///
    /// ```
    /// use treedef::{Flattener, Leaf};
    ///
    /// let (leaves, treedef) = Flattener::new().none_is_leaf(true).flatten(&(None::<u8>, Some(None::<u8>)))?;
    /// assert_eq!(leaves, [Leaf::None, Leaf::None]);
    /// assert_eq!(treedef.to_string(), "#[none_is_leaf] (*, Some(*))");
    /// assert_eq!(treedef::unflatten::<(Option<u8>, Option<Option<u8>>)>(&treedef, leaves)?, (None, Some(None)));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn none_is_leaf(mut self, yes: bool) -> Self {
        self.options.none_is_leaf = yes;
        self
    }

    /// Whether types that have two forms are asked for the readable one: an `IpAddr` is one string leaf by default,
    /// four numbers with `false`.
    ///
    /// serde's own buffers (`flatten`, `untagged`, internal tags) always assume `true`.
    pub fn human_readable(mut self, yes: bool) -> Self {
        self.options.compact = !yes;
        self
    }

    /// How many containers may stand inside each other, map keys included; 128 by default.
    ///
    /// Each level takes stack, here and in the value's own code. More than 256 levels need the feature `stacker`, which
    /// grows the stack; without it they are refused. This is [`Limits::max_depth`].
    pub fn max_depth(mut self, depth: usize) -> Self {
        self.limits.max_depth = depth;
        self
    }

    /// The limits of the treedefs that are made: of the depth, and of what rebuilding, printing and saving may cost.
    ///
    /// ```
    /// use treedef::{Flattener, Limits, Static};
    ///
    /// let table = Static(vec![7u8; 1000]);
    /// let error = Flattener::new().limits(Limits::default().max_work(100)).structure(&table).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "1001 nodes to visit, the limit is 100 at the root (see `Limits::max_work`)"
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Only scalars of these kinds are leaves; the others become static.
    ///
    /// So an optimiser sees the floats of any type, whatever else it holds.
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
        self.with_rules(|rules| rules.leaves_where = Some(Arc::new(is_leaf)))
    }

    /// A field of a type is static: it travels in the treedef. Both by the names that serde sees.
    ///
    /// A position of a tuple struct is named by its number. Where type names collide, use [`static_at`](Self::static_at).
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::Flattener;
    ///
    /// #[derive(Serialize)]
    /// struct Linear { name: &'static str, w: [f64; 2] }
    ///
    /// let flattener = Flattener::new().static_field("Linear", "name");
    /// let (_, treedef) = flattener.flatten(&Linear { name: "first", w: [1.0, 2.0] })?;
    /// assert_eq!(treedef.to_string(), r#"Linear { name: static "first", w: (*, *) }"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn static_field(self, type_name: &str, field: &str) -> Self {
        self.with_rule(field_rule(type_name, field), Keep::Static)
    }

    /// Values of a type are static: they travel in the treedef.
    pub fn static_type(self, type_name: &str) -> Self {
        self.with_rule(Rule::Type(type_name.to_owned()), Keep::Static)
    }

    /// What stands at these paths is static: it travels in the treedef.
    ///
    /// The way to name a field of a struct that contains a `#[serde(flatten)]` field: serde shows it as a map, and
    /// maps have no type name.
    ///
    /// # Errors
    ///
    /// When the text is no pattern.
    ///
    /// ```
    /// use treedef::Flattener;
    ///
    /// let flattener = Flattener::new().static_at("[*].0")?;
    /// let (leaves, treedef) = flattener.flatten(&vec![("a", 1.0), ("a", 2.0)])?;
    /// assert_eq!(treedef.to_string(), r#"[(static "a", *); 2]"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn static_at(self, pattern: impl ToPattern) -> Result<Self> {
        let pattern = pattern.to_pattern()?.into_owned();
        Ok(self.with_rule(Rule::Path(pattern), Keep::Static))
    }

    /// A field of a type is one leaf, with all below it.
    pub fn opaque_field(self, type_name: &str, field: &str) -> Self {
        self.with_rule(field_rule(type_name, field), Keep::Leaf)
    }

    /// Values of a type are one leaf each, with all below them.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use treedef::Flattener;
    ///
    /// #[derive(Debug, PartialEq, Serialize, Deserialize)]
    /// struct Tensor { shape: [usize; 2], data: Vec<f32> }
    ///
    /// let tensors = vec![Tensor { shape: [1, 2], data: vec![1.0, 2.0] }];
    /// let (leaves, treedef) = Flattener::new().opaque_type("Tensor").flatten(&tensors)?;
    /// assert_eq!(treedef.to_string(), "[*]");
    /// assert_eq!(leaves[0].clone().into_typed::<Tensor>()?, tensors[0]);
    /// assert_eq!(treedef::unflatten::<Vec<Tensor>>(&treedef, leaves)?, tensors);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn opaque_type(self, type_name: &str) -> Self {
        self.with_rule(Rule::Type(type_name.to_owned()), Keep::Leaf)
    }

    /// What stands at these paths is one leaf each, with all below it.
    ///
    /// # Errors
    ///
    /// When the text is no pattern.
    pub fn opaque_at(self, pattern: impl ToPattern) -> Result<Self> {
        let pattern = pattern.to_pattern()?.into_owned();
        Ok(self.with_rule(Rule::Path(pattern), Keep::Leaf))
    }

    /// Nodes for which this holds are one leaf each, with all below them. Asked at every node that is no scalar, from
    /// the root down; not below a leaf or a static.
    ///
    /// ```
    /// use treedef::{Flattener, NodeKind};
    ///
    /// let flattener = Flattener::new().is_leaf(|_, node| node.kind() == NodeKind::Tuple);
    /// let (_, treedef) = flattener.flatten(&vec![(1, 2), (3, 4)])?;
    /// assert_eq!(treedef.to_string(), "[*, *]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn is_leaf(
        self,
        is_leaf: impl Fn(&Path, NodeHead<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with_rules(|rules| rules.is_leaf = Some(Arc::new(is_leaf)))
    }

    /// The rules about types, fields and paths that apply to nothing in a value, as they were given: typos.
    ///
    /// # Errors
    ///
    /// As [`flatten`](crate::flatten()).
    ///
    /// ```
    /// use treedef::Flattener;
    ///
    /// let flattener = Flattener::new().static_field("Linaer", "name").static_at(".0")?;
    /// assert_eq!(flattener.unmatched_rules(&("a", 1))?, ["Linaer.name"]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn unmatched_rules<T: Serialize + ?Sized>(&self, value: &T) -> Result<Vec<String>> {
        let (_, _, hits) = self.recording(Sink::Counted(0)).record(value)?;
        let Some(rules) = &self.rules else { return Ok(Vec::new()) };
        let hits = rules.rules.iter().zip(hits).enumerate();
        let unmatched = hits.filter(|(index, (_, hit))| !hit && !rules.presets.contains(index));
        Ok(unmatched.map(|(_, ((rule, _), _))| rule.to_string()).collect())
    }

    /// Whether every value is serialized only once.
    ///
    /// By default a value is compared with the structure that it is expected to have: in
    /// [`flatten_like`](Self::flatten_like), where a small value follows another of its type, and where an element of a
    /// sequence follows another and both are plain data, as numbers and structs of numbers are. If it has another structure,
    /// it is serialized again.
    /// That is fast, and makes no difference to any `Serialize` that can be asked twice. One that gives something away, an
    /// iterator in a cell for instance, has less to give the second time. Then this is the way.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// use serde::{Serialize, Serializer};
    /// use treedef::Flattener;
    ///
    /// struct Once(Cell<std::ops::Range<u8>>);
    ///
    /// impl Serialize for Once {
    ///     fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
    ///         serializer.collect_seq(self.0.take())
    ///     }
    /// }
    ///
    /// let values = |count| vec![Once(Cell::new(0..2)), Once(Cell::new(0..count))];
    /// let once = Flattener::new().serialize_once(true);
    /// let (mut leaves, treedef) = once.flatten_as::<u8>(&values(3))?;
    /// assert_eq!(treedef.to_string(), "[[*, *], [*, *, *]]");
    ///
    /// let error = once.flatten_like(&treedef, &values(4), &mut leaves).unwrap_err();
    /// assert_eq!(error.to_string(), "expected 3 children, found 4 children at `[1]`");
    /// let error = treedef.flatten_like(&values(4), &mut leaves).unwrap_err();
    /// assert!(error.to_string().contains("found 0 children"));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn serialize_once(mut self, yes: bool) -> Self {
        self.serialize_once = yes;
        self
    }

    fn with_rules(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(Arc::make_mut(self.rules.get_or_insert_default()));
        self
    }

    fn with_rule(self, rule: Rule, keep: Keep) -> Self {
        self.with_rules(|rules| rules.rules.push((rule, keep)))
    }

    fn recording(&self, leaves: Sink) -> Recording {
        let predicts = self.predicts(self.options);
        Recording::new(leaves, self.options, self.limits, predicts, self.rules.clone())
    }

    /// [`flatten`](crate::flatten()) with these options.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn flatten<T: Serialize + ?Sized>(&self, value: &T) -> Result<(Vec<Leaf>, TreeDef)> {
        self.flatten_as(value)
    }

    /// [`flatten_as`] with these options.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn flatten_as<L: LeafType>(
        &self,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(Vec<L>, TreeDef)> {
        let tree = self.tree(value)?;
        Ok((tree.leaves, tree.treedef))
    }

    /// [`structure`] with these options.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn structure<T: Serialize + ?Sized>(&self, value: &T) -> Result<TreeDef> {
        Ok(self.walk(Sink::Counted(0), value)?.0)
    }

    /// [`signature`] with these options.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn signature<T: Serialize + ?Sized>(&self, value: &T) -> Result<Tree<LeafKind>> {
        self.tree(value)
    }

    /// [`flatten_as`] with these options, into the end of a buffer.
    ///
    /// # Errors
    ///
    /// As there; then the buffer is as it was.
    ///
    /// ```
    /// use treedef::Flattener;
    ///
    /// let mut buffer = vec![1.0];
    /// let treedef = Flattener::new().flatten_append(&[2.0, 3.0], &mut buffer)?;
    /// assert_eq!(buffer, [1.0, 2.0, 3.0]);
    /// assert_eq!(treedef.num_leaves(), 2);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn flatten_append<L: LeafType>(
        &self,
        value: &(impl Serialize + ?Sized),
        buffer: &mut Vec<L>,
    ) -> Result<TreeDef> {
        let (leaves, treedef) = self.flatten_as(value)?;
        buffer.extend(leaves);
        Ok(treedef)
    }

    /// Puts the leaves of a value with a known structure into a buffer, in place of what was there.
    ///
    /// The options of the walk are those of the treedef; the rules are this flattener's, and should be those that the
    /// treedef was made with. Entries of maps are found by their keys.
    ///
    /// # Errors
    ///
    /// When the value has another structure; then the buffer is empty. The error has the differences.
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
    ///     "expected `static 1`, found `static 2` at `.1` (statics are part of the structure; see `ignore_statics`)"
    /// );
    /// floats.ignore_statics(true).flatten_like(&treedef, &("adam", 2, 0.25), &mut buffer)?;
    /// assert_eq!(buffer, [0.25]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn flatten_like<L: LeafType>(
        &self,
        treedef: &TreeDef,
        value: &(impl Serialize + ?Sized),
        buffer: &mut Vec<L>,
    ) -> Result<()> {
        let mut sink = L::sink(mem::take(buffer));
        self.walk_like(treedef, value, &mut sink)?;
        *buffer = L::from_sink(sink);
        Ok(())
    }

    fn walk_like<T: Serialize + ?Sized>(
        &self,
        treedef: &TreeDef,
        value: &T,
        sink: &mut Sink,
    ) -> Result<()> {
        let options = treedef.encoding.options;
        let predicts = self.predicts(options);
        let mut mismatch = Divergence::Perhaps;
        let count = treedef.num_leaves();
        if predicts && (count <= BELIEVED || count <= sink.capacity()) {
            sink.resize(count);
            let how =
                Expectation { ignore_statics: self.ignore_statics, in_order: options.insertion };
            match matcher::children::fill(treedef, sink.slots(), how, value) {
                Ok(()) => return Ok(()),
                Err(difference) => mismatch = difference,
            }
        }
        sink.resize(0);
        let leaves = mem::replace(sink, Sink::Counted(0));
        let recording =
            Recording::new(leaves, options, treedef.limits, predicts, self.rules.clone());
        let (found, leaves, _) = recording.record(value)?;
        *sink = leaves;
        self.expect_same(treedef, &found)?;
        match mismatch {
            Divergence::Perhaps => Ok(()),
            // It was different before.
            Divergence::After { .. } => Err(gave_less()),
        }
    }

    fn expect_same(&self, expected: &TreeDef, found: &TreeDef) -> Result<()> {
        if expected == found {
            return Ok(());
        }
        let differences = structure_differences(expected, found, self.ignore_statics);
        // Only statics differ; and entries of maps stand in the order of their keys in any case.
        let Some(first) = differences.first() else { return Ok(()) };
        let statics = first.kind == DifferenceKind::Static;
        let error = structure_mismatch(differences);
        Err(match statics {
            true => error.with_hint("statics are part of the structure; see `ignore_statics`"),
            false => error,
        })
    }

    /// Whether [`flatten_like`](Self::flatten_like) accepts a static of another value in the place of a static: a step
    /// counter, say. No by default.
    pub fn ignore_statics(mut self, yes: bool) -> Self {
        self.ignore_statics = yes;
        self
    }

    fn tree<L: Emit, T: Serialize + ?Sized>(&self, value: &T) -> Result<Tree<L>> {
        let (treedef, leaves) = self.walk(L::sink(Vec::new()), value)?;
        Ok(Tree::from_parts(treedef, L::from_sink(leaves)))
    }

    fn walk<T: Serialize + ?Sized>(&self, mut sink: Sink, value: &T) -> Result<(TreeDef, Sink)> {
        let (options, limits) = (self.options, self.limits);
        let walk = WalkId { type_name: type_name::<T>(), options, limits };
        let last = if self.predicts(options) { walk.recall() } else { None };
        let mut mismatch = None;
        if let Some(treedef) = &last {
            sink.resize(treedef.num_leaves());
            // In another order a map has the same structure, and something to be remembered beside it.
            let how = Expectation { ignore_statics: false, in_order: true };
            match matcher::children::fill(treedef, sink.slots(), how, value) {
                Ok(()) => return Ok((treedef.clone(), sink)),
                Err(difference) => mismatch = Some((treedef, difference)),
            }
            sink.resize(0);
        }
        let (treedef, leaves, _) = self.recording(sink).record(value)?;
        let treedef = self.walked(treedef, mismatch)?;
        if self.predicts(options) {
            walk.remember(&treedef);
        }
        Ok((treedef, leaves))
    }

    /// What a walk has made. What was seen of it before has to be there still.
    fn walked(
        &self,
        mut treedef: TreeDef,
        before: Option<(&TreeDef, Divergence)>,
    ) -> Result<TreeDef> {
        if let Some((last, Divergence::After { leaves, in_any_order })) = before {
            let leaves = if treedef.arrivals.is_none() { leaves } else { in_any_order };
            if *last == treedef
                || !ways_agree(&last.encoding.nodes, &treedef.encoding.nodes, leaves)
            {
                return Err(gave_less());
            }
        }
        treedef.walked = true;
        // Where all of it is within the limit, its keys and statics are.
        if treedef.root().work() > self.limits.max_work {
            self.limits.expect_work(PrintCost::of(&treedef.encoding).work(), 0)?;
        }
        Ok(treedef)
    }

    /// Whether values may be serialized twice, and mean the same wherever they stand.
    fn predicts(&self, options: Options) -> bool {
        self.rules.is_none() && !self.serialize_once && !options.none_is_leaf
    }
}

fn field_rule(type_name: &str, field: &str) -> Rule {
    Rule::Field { type_name: type_name.to_owned(), field: field.to_owned() }
}

impl TreeDef {
    /// Puts the leaves of a value that has this structure into a buffer, in place of what was there.
    ///
    /// For structures made with rules there is [`Flattener::flatten_like`].
    ///
    /// # Errors
    ///
    /// When the value has another structure; then the buffer is empty. The error has the differences.
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
    pub fn flatten_like<L: LeafType>(
        &self,
        value: &(impl Serialize + ?Sized),
        buffer: &mut Vec<L>,
    ) -> Result<()> {
        Flattener::new().flatten_like(self, value, buffer)
    }

    pub(crate) fn expect_leaves(&self, found: usize) -> Result<()> {
        match self.num_leaves() {
            expected if expected == found => Ok(()),
            expected => Err(ErrorKind::LeafCount { expected, found }.into()),
        }
    }
}

impl Value {
    /// Records any serde value.
    ///
    /// # Errors
    ///
    /// As [`flatten`].
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        Value::recorded(value, Options::default(), Limits::default())
    }

    pub(crate) fn recorded<T: Serialize + ?Sized>(
        value: &T,
        options: Options,
        limits: Limits,
    ) -> Result<Self> {
        Recording::of_value(options, limits).record_value(value)
    }
}
