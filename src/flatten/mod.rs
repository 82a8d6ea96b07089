//! Value → leaves and treedef.

mod recording;
mod serializer;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::leaf::{Ignored, LeafType};
use crate::model::{Leaf, Limits, MapOrder, Options, Tree, TreeDef, Value};

use recording::{Recording, Settings};

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
/// assert_eq!(error.to_string(), "expected f64, found i32 at `.1`");
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
pub fn structure<T: Serialize + ?Sized>(value: &T) -> Result<TreeDef> {
    Ok(Flattener::new().flatten_as::<Ignored>(value)?.1)
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
}

impl Flattener {
    /// The options of [`flatten`].
    pub fn new() -> Self {
        Flattener::default()
    }

    /// The options that a treedef was made with, and its limit of depth.
    pub(crate) fn with_options_of(treedef: &TreeDef) -> Self {
        Flattener {
            options: treedef.encoding.options,
            limits: Limits::default().depth(treedef.limits.depth),
        }
    }

    /// Whether maps stand in the order of their keys, the default, or as they come.
    pub fn map_order(mut self, order: MapOrder) -> Self {
        self.options.insertion = order == MapOrder::Insertion;
        self
    }

    /// Whether `None` is a leaf and `Some(x)` just `x`, so that `Vec<Option<f64>>` has the structure of `Vec<f64>`.
    ///
    /// The node of a `Some` around a `None`, a `Some` or a unit stays, so that nested options are exact.
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
    /// Each level takes stack, here and in the value's own code: with the feature `stacker` the stack grows.
    pub fn max_depth(mut self, depth: usize) -> Self {
        self.limits.depth = depth;
        self
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
        let settings =
            Settings { options: self.options, max_depth: self.limits.depth, keys_above: 0 };
        let tree = Recording::of(value, settings, 0)?;
        let work = self.limits.work.max(tree.treedef.num_nodes());
        Ok((tree.leaves, tree.treedef.with_limits(self.limits.work(work))))
    }
}

impl Tree<Leaf> {
    /// The tree of a value.
    ///
    /// # Errors
    ///
    /// As [`flatten`].
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let (leaves, treedef) = flatten(value)?;
        Ok(Tree { treedef, leaves })
    }
}

impl<L> Tree<L> {
    /// A treedef with its leaves.
    ///
    /// # Errors
    ///
    /// When there are more or fewer leaves than the treedef has.
    pub fn new(treedef: TreeDef, leaves: Vec<L>) -> Result<Self> {
        treedef.expect_leaves(leaves.len())?;
        Ok(Tree { treedef, leaves })
    }

    /// The structure.
    pub fn treedef(&self) -> &TreeDef {
        &self.treedef
    }

    /// The leaves, in order.
    pub fn leaves(&self) -> &[L] {
        &self.leaves
    }

    /// The leaves, to be changed.
    pub fn leaves_mut(&mut self) -> &mut [L] {
        &mut self.leaves
    }

    /// The structure and the leaves.
    pub fn into_parts(self) -> (TreeDef, Vec<L>) {
        (self.treedef, self.leaves)
    }
}

impl TreeDef {
    pub(crate) fn expect_leaves(&self, found: usize) -> Result<()> {
        match self.num_leaves() {
            expected if expected == found => Ok(()),
            expected => Err(crate::error::ErrorKind::LeafCount { expected, found }.into()),
        }
    }
}

impl Value {
    /// Records any serde value.
    ///
    /// # Errors
    ///
    /// As [`flatten`].
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        let settings = Settings {
            options: Options::default(),
            max_depth: Limits::default().depth,
            keys_above: 0,
        };
        Ok(Value::from_tree(Recording::of(value, settings, 0)?))
    }
}
