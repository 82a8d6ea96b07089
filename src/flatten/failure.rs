//! Errors of a recording, and their paths.

use crate::error::{Error, ErrorKind};
use crate::model::{Labels, LeafKind, Name, NodeKind};
use crate::path::{Key, Path};

use super::frame::{Frame, KnownData, Role};
use super::recording::Recording;

impl Recording {
    /// The number of open compounds.
    pub(super) fn level(&self) -> usize {
        self.outer.len()
    }

    /// Closes all compounds inside `level`, and adds the key of the failed child to the path.
    #[cold]
    #[inline(never)]
    pub(super) fn child_failed(&mut self, level: usize, error: Error) -> Error {
        self.failed = true;
        while self.outer.len() > level {
            self.pop();
        }
        match self.frame.role {
            Role::Node => error.under(self.current_key()),
            Role::Through | Role::Kept { .. } => error,
        }
    }

    /// Adds the whole path to an error at the current place, and closes all compounds.
    #[cold]
    pub(super) fn failed_here(&mut self, mut error: Error) -> Error {
        for level in (0..=self.outer.len()).rev() {
            error = self.child_failed(level, error);
        }
        error
    }

    /// The key of an open map failed. The path inside the key is dropped, because it is not a path
    /// inside the value.
    #[cold]
    pub(super) fn key_failed(&mut self, error: Error) -> Error {
        self.failed = true;
        error.at(Path::root())
    }

    #[cold]
    pub(super) fn broken(&mut self, what: &'static str) -> Error {
        self.failed = true;
        Error::protocol(what)
    }

    /// The slots for leaves of one kind do not take a leaf.
    #[cold]
    pub(super) fn refused(&mut self) -> Error {
        let kind = self.leaves.kind();
        self.wrong_scalar(kind)
    }

    #[cold]
    pub(super) fn wrong_scalar(&mut self, found: LeafKind) -> Error {
        let expected = self.leaves.kind();
        self.wrong_kind(found, || {
            if expected.is_float() && found.is_float() {
                // An f32 is widened, so what does not fit is an f64.
                format!("`flatten_as::<{found}>` takes both, `flatten` leaves of every kind")
            } else if expected.is_integer() && found.is_integer() {
                format!("`flatten_as::<{found}>` if all are {found}, else `flatten`")
            } else {
                "mark it `treedef::as_static`, or choose the leaves with `Flattener::leaves_where`"
                    .to_owned()
            }
        })
    }

    /// A leaf of a kind that the typed leaves cannot hold, with what can be done about it.
    #[cold]
    pub(super) fn wrong_kind(&mut self, found: LeafKind, hint: impl FnOnce() -> String) -> Error {
        Error::from(ErrorKind::LeafKind { expected: self.leaves.kind(), found }).with_hint(hint())
    }

    /// The key of the child that is being recorded.
    pub(super) fn current_key(&self) -> Key {
        let Frame { kind, variant, children, first_label, known, .. } = &self.frame;
        let position = *children;
        let variant = || Name::Borrowed(variant);
        let field = || self.fields.get(first_label + position).map(|name| Name::Borrowed(*name));
        let key = || match known {
            Some(KnownData { data, count }) => match &self.builder.node_data.get(*data)?.labels {
                Labels::Keys(keys) => keys.get(count.checked_sub(1)?).cloned(),
                _ => None,
            },
            None => self.keys.get(first_label + position).cloned(),
        };
        let labelled = match kind {
            NodeKind::Map => key().map(Key::Entry),
            NodeKind::Struct => field().map(Key::Field),
            NodeKind::StructVariant => field().map(|name| Key::VariantField(variant(), name)),
            _ => None,
        };
        labelled.unwrap_or_else(|| match kind {
            NodeKind::Some => Key::Some,
            NodeKind::Seq => Key::Index(position),
            NodeKind::NewtypeVariant | NodeKind::TupleVariant => {
                Key::VariantPosition(variant(), position)
            }
            _ => Key::Position(position),
        })
    }
}
