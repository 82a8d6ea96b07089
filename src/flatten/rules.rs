//! Rules that make values leaves or statics, for types that cannot be annotated.

use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use crate::leaf::float::Half;
use crate::leaf::markers;
use crate::leaf::object::OBJECT_MARK;
use crate::leaf::sink::Sink;
use crate::model::{Leaf, LeafKind, NodeHead, NodeKind, Tree, TreeDef};
use crate::path::{Key, Path};
use crate::pattern::Pattern;

use super::word::{KindSet, bit};

/// What a subtree is that is kept as one value, by a mark or a rule or as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// The subtree is the key of an entry.
    Key,
    /// The subtree is stored in the treedef.
    Static,
    /// The subtree is one leaf.
    Leaf,
    /// The subtree is the bits of a [`Half`], and is that float.
    Half,
    /// The subtree is the number of an object.
    Object,
}

/// Whether objects are leaves, and scalars are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Objects {
    /// Scalars are leaves, and an object is an error.
    #[default]
    None,
    /// Scalars are static.
    AmongStatics,
    /// A scalar that no mark or rule makes static is an error.
    Alone,
}

impl Keep {
    /// The meaning of a newtype of this name, if it is a mark.
    pub(super) fn marked_by(name: &str) -> Option<Self> {
        match name {
            markers::STATIC_MARK => Some(Keep::Static),
            markers::LEAF_MARK => Some(Keep::Leaf),
            OBJECT_MARK => Some(Keep::Object),
            _ => None,
        }
    }

    /// What it is among such leaves: where objects are the only leaves, one of another value is
    /// static.
    pub(super) fn among(self, objects: Objects) -> Self {
        match self {
            Keep::Leaf | Keep::Half if objects != Objects::None => Keep::Static,
            keep => keep,
        }
    }
}

type IsLeaf = Arc<dyn Fn(&Path, NodeHead<'_>) -> bool + Send + Sync>;
type LeavesWhere = Arc<dyn Fn(LeafKind) -> bool + Send + Sync>;

#[derive(Clone, Default)]
pub(super) struct Rules {
    pub(super) rules: Vec<(Rule, Keep)>,
    /// The indices of rules that need not match anything.
    pub(super) presets: Vec<usize>,
    pub(super) is_leaf: Option<IsLeaf>,
    pub(super) leaves_where: Option<LeavesWhere>,
}

#[derive(Clone)]
pub(super) enum Rule {
    Field {
        type_name: String,
        field: String,
    },
    Type(String),
    Path(Pattern),
    /// A newtype with the name of a [`Half`].
    Half,
}

impl Rules {
    /// Whether there are rules about nodes and places. A walk knows only the kinds of its scalars.
    pub(super) fn need_nodes(&self) -> bool {
        self.is_leaf.is_some() || !self.rules.is_empty()
    }

    /// The kinds of scalars that are leaves.
    pub(super) fn leaf_kinds(&self) -> KindSet {
        let kinds = LeafKind::ALL.iter().filter(|kind| self.is_leaf_kind(**kind));
        kinds.fold(0, |kinds, kind| kinds | bit(*kind))
    }

    /// The first rule about a child, by its place.
    pub(super) fn place(
        &self,
        parent: NodeHead<'_>,
        path: &Path,
        hits: &mut [bool],
    ) -> Option<Keep> {
        self.first(hits, |rule| match rule {
            Rule::Field { type_name, field } => {
                parent.name().is_some_and(|name| name == type_name)
                    && path.keys().last().is_some_and(|key| is_field(key, field))
            }
            Rule::Path(pattern) => pattern.matches(path),
            Rule::Type(_) | Rule::Half => false,
        })
    }

    /// The first rule about a node, by its type or by `is_leaf`.
    pub(super) fn node(&self, head: NodeHead<'_>, path: &Path, hits: &mut [bool]) -> Option<Keep> {
        let by_type = self.first(hits, |rule| match rule {
            Rule::Type(type_name) => head.name().is_some_and(|name| name == type_name),
            Rule::Half => {
                head.kind() == NodeKind::NewtypeStruct
                    && head.name().and_then(Half::named).is_some()
            }
            Rule::Field { .. } | Rule::Path(_) => false,
        });
        by_type.or_else(|| {
            let is_leaf = self.is_leaf.as_ref()?;
            is_leaf(path, head).then_some(Keep::Leaf)
        })
    }

    /// Whether a scalar of this kind is a leaf. An absent value always is: the option
    /// `none_is_leaf` decides about it.
    pub(super) fn is_leaf_kind(&self, kind: LeafKind) -> bool {
        kind == LeafKind::None || self.leaves_where.as_ref().is_none_or(|is_leaf| is_leaf(kind))
    }

    fn first(&self, hits: &mut [bool], applies: impl Fn(&Rule) -> bool) -> Option<Keep> {
        let index = self.rules.iter().position(|(rule, _)| applies(rule))?;
        if let Some(hit) = hits.get_mut(index) {
            *hit = true;
        }
        self.rules.get(index).map(|(_, keep)| *keep)
    }
}

fn is_field(key: &Key, field: &str) -> bool {
    match key {
        Key::Field(name) | Key::VariantField(_, name) => name == field,
        Key::Position(position) | Key::VariantPosition(_, position) => {
            position.to_string() == field
        }
        Key::Index(_) | Key::Entry(_) | Key::Some => false,
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Field { type_name, field } => write!(f, "{type_name}.{field}"),
            Rule::Type(type_name) => f.write_str(type_name),
            Rule::Half => f.write_str("f16, bf16"),
            Rule::Path(pattern) => write!(f, "{pattern}"),
        }
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.rules.iter().map(|(rule, keep)| format!("{keep:?} {rule}")))
            .finish()
    }
}

/// What serde does not say about the arrays at some paths, and below.
#[derive(Clone, Debug)]
pub(crate) struct ArrayRule {
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
    pub(crate) collect: fn(&TreeDef, Sink, &[ArrayRule]) -> Result<Tree<Leaf>>,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collector")
    }
}
