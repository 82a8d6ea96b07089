//! Rules that make values leaves or statics, for types that cannot be annotated.

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

/// What a rule makes of a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Becomes {
    /// It is stored in the treedef.
    Static,
    /// It is one leaf.
    Leaf,
    /// It is the bits of a [`Half`], and is that float.
    Half,
}

type IsLeaf = Arc<dyn Fn(&Path, NodeHead<'_>) -> bool + Send + Sync>;
type LeavesWhere = Arc<dyn Fn(LeafKind) -> bool + Send + Sync>;

#[derive(Clone, Default)]
pub(super) struct Rules {
    pub(super) rules: Vec<(Rule, Becomes)>,
    /// The indices of rules that need not match anything.
    pub(super) presets: Vec<usize>,
    pub(super) is_leaf: Option<IsLeaf>,
    pub(super) leaves_where: Option<LeavesWhere>,
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

    /// The kinds of scalars that are leaves.
    pub(super) fn leaf_kinds(&self) -> KindSet {
        let Some(is_leaf) = &self.leaves_where else { return ALL_KINDS };
        // An absent value always is a leaf: the option `none_is_leaf` decides about it.
        let kinds = LeafKind::ALL.iter().filter(|kind| **kind == LeafKind::None || is_leaf(**kind));
        kinds.fold(0, |kinds, kind| kinds | bit(*kind))
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
            Rule::At(Selector::Type(of)) => head.name().is_some_and(|name| name == of),
            Rule::Half => {
                head.kind() == NodeKind::NewtypeStruct
                    && head.name().and_then(Half::named).is_some()
            }
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

/// What serde does not say about the arrays at some paths, and below.
#[derive(Clone, Debug)]
pub(crate) struct ArrayHint {
    pub(crate) pattern: Pattern,
    pub(crate) means: ArrayMeaning,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ArrayMeaning {
    /// Pairs of floats are complex numbers.
    Complex,
    /// Lists of as many numbers as a matrix of this shape has are its columns, one after the other.
    Columns(usize, usize),
}

/// Both ends of a walk that makes one leaf of each array. It is set by
/// [`Flattener::arrays`](crate::Flattener::arrays), so a program that does not ask for arrays does not
/// link what it points to.
#[derive(Clone, Copy)]
pub(crate) struct Collector {
    /// Where the walk puts the leaves.
    pub(crate) sink: fn() -> Sink,
    /// Makes the tree of what is there.
    pub(crate) collect: fn(&TreeDef, Sink, &[ArrayHint]) -> Result<Tree<Leaf>>,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collector")
    }
}
