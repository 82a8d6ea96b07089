//! Rules that make values leaves or statics, for types that cannot be annotated.
//!
//! Rules for array crates use the names that these crates pass to serde, which tests check. Such a rule is
//! never reported as unmatched.

use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use crate::leaf::float::Half;
use crate::leaf::sink::Sink;
use crate::model::{Leaf, LeafKind, NodeHead, NodeKind, Tree, TreeDef};
use crate::path::{Key, Path};
use crate::pattern::Pattern;
use crate::selector::Selector;

use super::word::{ALL_KINDS, KindSet, bit};

/// The effect of a rule on a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Becomes {
    /// It is stored in the treedef.
    Static,
    /// It is one leaf.
    Leaf,
    /// It is the bits of a [`Half`], and becomes that float.
    Half,
}

type IsLeaf = Arc<dyn Fn(&Path, NodeHead<'_>) -> bool + Send + Sync>;

#[derive(Clone)]
pub(super) struct Rules {
    pub(super) rules: Vec<(Rule, Becomes)>,
    /// The indices of rules that need not match anything.
    pub(super) presets: Vec<usize>,
    pub(super) is_leaf: Option<IsLeaf>,
    /// The kinds of scalars that are leaves.
    pub(super) leaf_kinds: KindSet,
}

#[derive(Clone)]
pub(super) enum Rule {
    At(Selector),
    /// A newtype with the name of a [`Half`].
    Half,
}

impl Rules {
    /// Whether there are rules about nodes and places. A walk knows only marks and the kinds of scalars.
    pub(super) fn need_nodes(&self) -> bool {
        self.is_leaf.is_some() || !self.rules.is_empty()
    }

    /// Makes leaves of scalars of these kinds only.
    pub(super) fn leaves_where(&mut self, is_leaf: impl Fn(LeafKind) -> bool) {
        // An absent value always is a leaf: the option `none_is_leaf` decides about it.
        let kinds = LeafKind::ALL.iter().filter(|kind| **kind == LeafKind::None || is_leaf(**kind));
        self.leaf_kinds = kinds.fold(0, |kinds, kind| kinds | bit(*kind));
    }
}

impl Default for Rules {
    fn default() -> Self {
        Rules { rules: Vec::new(), presets: Vec::new(), is_leaf: None, leaf_kinds: ALL_KINDS }
    }
}

impl Rule {
    /// Whether it is about types of this name, or about a field of them.
    pub(super) fn is_about_type(&self, name: &str) -> bool {
        match self {
            Rule::At(Selector::Type(of) | Selector::Field(of, _)) => of == name,
            Rule::Half => Half::named(name).is_some(),
            Rule::At(Selector::Path(_)) => false,
        }
    }

    /// Whether it is about the type of such a node.
    pub(super) fn names_node(&self, head: NodeHead<'_>) -> bool {
        match self {
            Rule::At(Selector::Type(of)) => head.kind.is_named() && head.name == of,
            Rule::Half => head.kind == NodeKind::NewtypeStruct && Half::named(head.name).is_some(),
            Rule::At(Selector::Field(..) | Selector::Path(_)) => false,
        }
    }

    /// Whether it is about this field of a type.
    pub(super) fn names_field(&self, name: Option<&str>, key: &Key) -> bool {
        let Rule::At(Selector::Field(of, field)) = self else { return false };
        name.is_some_and(|name| name == of)
            && match key {
                Key::Field(name) | Key::VariantField(_, name) => name == field,
                Key::Position(position) | Key::VariantPosition(_, position) => {
                    position.to_string() == *field
                }
                Key::Index(_) | Key::Entry(_) | Key::Some => false,
            }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::At(selector) => selector.fmt(f),
            Rule::Half => f.write_str("f16, bf16"),
        }
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.rules.iter().map(|(rule, becomes)| format!("{becomes:?} {rule}")))
            .finish()
    }
}

/// Facts about the arrays at some paths that serde does not show.
#[derive(Clone, Debug)]
pub(crate) struct ArrayHint {
    pub(crate) pattern: Pattern,
    pub(crate) means: ArrayMeaning,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ArrayMeaning {
    /// Pairs of floats are complex numbers.
    Complex,
    /// Lists of as many numbers as a matrix of this shape has are stored by columns.
    Columns(usize, usize),
}

/// Both ends of a walk that makes one leaf of each array. It is set by
/// [`Flattener::arrays`](crate::Flattener::arrays), so a program that does not ask for arrays does not
/// link what it points to.
#[derive(Clone, Copy)]
pub(crate) struct Collector {
    /// Where the walk puts the leaves.
    pub(crate) sink: fn() -> Sink,
    /// Makes the tree from the leaves in the sink.
    pub(crate) collect: fn(&TreeDef, Sink, &[ArrayHint]) -> Result<Tree<Leaf>>,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collector")
    }
}

/// How an array crate serializes a type: an argument of
/// [`Flattener::array_rule`](crate::Flattener::array_rule).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArrayRule {
    /// The version and the shape of an `Array` of `ndarray` 0.15 to 0.17 are static.
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::{ArrayRule, Flattener};
    ///
    /// // An `ndarray::Array`, as serde sees it.
    /// #[derive(Serialize)]
    /// struct Array { v: u8, dim: [usize; 2], data: Vec<f64> }
    ///
    /// let array = Array { v: 1, dim: [1, 2], data: vec![1.0, 2.0] };
    /// let flattener = Flattener::new().array_rule(ArrayRule::Ndarray);
    /// let (leaves, treedef) = flattener.flatten_as::<f64>(&array)?;
    /// assert_eq!(leaves, [1.0, 2.0]);
    /// assert_eq!(
    ///     treedef.to_string(),
    ///     "Array { v: static 1u8, dim: static (1u64, 2u64), data: [*, *] }"
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Ndarray,
    /// The numbers of rows and columns are static, in dynamic matrices and vectors of `nalgebra` 0.32 to
    /// 0.35 at this pattern.
    ///
    /// A dynamic matrix serializes as a tuple `(numbers, rows, columns)` without a name, so only a
    /// path can find it. Matrices of fixed size consist of numbers only, and need no rule.
    ///
    /// ```
    /// use treedef::{ArrayRule, Flattener};
    ///
    /// let model = (0.5, (vec![1.0, 2.0], 1u64, 2u64));
    /// let flattener = Flattener::new().array_rule(ArrayRule::Nalgebra(".1".parse()?));
    /// let (leaves, _) = flattener.flatten_as::<f64>(&model)?;
    /// assert_eq!(leaves, [0.5, 1.0, 2.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Nalgebra(Pattern),
    /// An `f16` or `bf16` of `half` 2.7 is an `f32` leaf, instead of a newtype around its bits, a `u16`.
    ///
    /// It is a leaf even if [`leaves_where`](crate::Flattener::leaves_where) excludes it. The conversion is
    /// lossless: an unchanged leaf rebuilds the same 16 bits, even of a NaN. A changed leaf is rounded to
    /// the nearest, with ties to even; a finite number that would become infinite is an error. In `f64`
    /// leaves the floats are widened, like `f32`s.
    ///
    /// Below `flatten`, `untagged` and an internal `tag` such a value cannot be rebuilt: serde's
    /// buffers hold the float there, and `half` requests the bits.
    ///
    /// A field with `#[serde(serialize_with = "f16::serialize_as_f32")]` needs no rule: it is an
    /// `f32` in every format, and is rebuilt from it.
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::{ArrayRule, Flattener, LeafKind};
    ///
    /// // A `half::f16`, as serde sees it.
    /// #[derive(Serialize)]
    /// #[allow(non_camel_case_types)]
    /// struct f16(u16);
    ///
    /// let one_and_a_half = f16(0x3e00);
    /// let floats = Flattener::new().leaves_where(LeafKind::is_float);
    /// let (_, treedef) = floats.flatten(&one_and_a_half)?;
    /// assert_eq!(treedef.to_string(), "f16(static 15872u16)");
    ///
    /// let (leaves, treedef) =
    ///     floats.array_rule(ArrayRule::Half).flatten_as::<f32>(&one_and_a_half)?;
    /// assert_eq!((leaves, treedef.to_string().as_str()), (vec![1.5], "*"));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Half,
    /// Pairs of floats are complex numbers, in the [arrays](crate::Flattener::arrays) at this pattern and
    /// below.
    ///
    /// A `num_complex::Complex` is a pair to serde, like any other, so only a path can find it. A
    /// struct with the fields `re` and `im` needs no rule. A lone number stays two leaves.
    ///
    /// ```
    /// use treedef::{ArrayRule, Dtype, Flattener};
    ///
    /// let (signal, spectrum) = (vec![[0.5f32; 2]; 3], vec![(0.5f32, 1.0f32); 3]);
    /// let flattener = Flattener::new().arrays(true).array_rule(ArrayRule::Complex(".1".parse()?));
    /// let (leaves, treedef) = flattener.flatten(&(signal, &spectrum))?;
    /// let shapes: Vec<_> =
    ///     leaves.iter().filter_map(|leaf| Some(leaf.as_array()?.to_string())).collect();
    /// assert_eq!(shapes, ["f32[3, 2]", "c64[3]"]);
    /// assert_eq!(leaves[1].clone().into_typed::<Vec<(f32, f32)>>()?, spectrum);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Complex(Pattern),
    /// Lists of `rows * columns` numbers are matrices stored by columns, in the
    /// [arrays](crate::Flattener::arrays) at this pattern and below.
    ///
    /// To serde, a matrix of fixed size is its numbers without its shape: an `SMatrix` of
    /// `nalgebra` 0.32 to 0.35, and a `Mat3` of `glam`. In a list of such matrices, each is an
    /// array.
    ///
    /// ```
    /// use treedef::{ArrayRule, Flattener};
    ///
    /// // A `nalgebra::SMatrix<f64, 2, 3>`, as serde sees it.
    /// let matrix = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
    /// let rule = ArrayRule::Matrix("".parse()?, 2, 3);
    /// let (leaves, _) = Flattener::new().arrays(true).array_rule(rule).flatten(&matrix)?;
    /// let array = leaves[0].as_array().unwrap();
    /// assert_eq!((array.shape(), array.is_column_major()), (&[2, 3][..], true));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Matrix(Pattern, usize, usize),
}
