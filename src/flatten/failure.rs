//! Errors of a walk, and their paths: each compound around the failure adds the key of its child.

use std::mem;

use crate::error::{Error, Result};
use crate::model::Name;
use crate::path::Key;

use super::tape::{Accepts, Failed, Tape};

const SWALLOWED: &str = "a `Serialize` implementation swallowed an error and went on";

impl Tape {
    /// A child of a compound failed. Without a key, the compound has no node.
    #[cold]
    #[inline(never)]
    pub(super) fn child_failed(&mut self, key: Option<Key>, error: Error) -> Error {
        let failed = self.fail();
        failed.in_some = false;
        // The compound that went on is the place.
        if !mem::take(&mut failed.went_on) {
            failed.keys.extend(key);
        }
        error
    }

    /// A compound itself failed, or a key in it. The path is that of the compound.
    #[cold]
    pub(super) fn compound_failed(&mut self, error: Error) -> Error {
        self.fail().forget();
        error
    }

    /// The child of a `Some` failed.
    #[cold]
    pub(super) fn some_failed(&mut self, error: Error) -> Error {
        // With the option `none_is_leaf` it has a node only around another option.
        let has_node = !self.settings.options.none_is_leaf || self.fail().in_some;
        let error = self.child_failed(has_node.then_some(Key::Some), error);
        self.fail().in_some = true;
        error
    }

    /// The value of an entry failed, whose key has this number.
    #[cold]
    pub(super) fn entry_failed(&mut self, key: usize, error: Error) -> Error {
        let key = self.drivers.recorder.labels.value(key).cloned().map(Key::Entry);
        self.child_failed(key, error)
    }

    /// The error of a value that goes on after an error: another child of the compound that ignored
    /// it, or its end.
    #[cold]
    pub(super) fn swallowed(&mut self, is_child: bool) -> Error {
        let failed = self.fail();
        failed.forget();
        failed.went_on = is_child;
        Error::protocol(SWALLOWED)
    }

    /// The result of a walk, with the path of its error.
    pub(super) fn ended(&mut self, end: Result<usize>) -> Result<usize> {
        let keys = self.failed.as_mut().map(|failed| mem::take(&mut failed.keys));
        match (end, keys) {
            (Err(error), Some(keys)) => Err(error.at(keys.into_iter().rev().collect())),
            // A format that is read has ignored it.
            (Ok(_), Some(_)) => Err(Error::protocol(SWALLOWED)),
            (end, None) => end,
        }
    }

    /// From now on nothing is followed or recorded.
    #[cold]
    pub(super) fn fail(&mut self) -> &mut Failed {
        (self.accepts, self.keeping.before_label) = (Accepts::default(), None);
        let Tape { drivers, keeping, failed, .. } = self;
        failed.get_or_insert_with(|| {
            drivers.follower.stop();
            drivers.recorder.open.clear();
            keeping.values.clear();
            Box::default()
        })
    }
}

impl Failed {
    /// The place is that of the compound that is innermost now.
    fn forget(&mut self) {
        self.keys.clear();
        (self.in_some, self.went_on) = (false, false);
    }
}

/// The key of a child that has a position, or a name if its parent has fields; of a variant or not.
#[cold]
pub(super) fn key_of(
    variant: Option<&'static str>,
    field: Option<&'static str>,
    position: usize,
) -> Key {
    match (variant.map(Name::Borrowed), field.map(Name::Borrowed)) {
        (None, None) => Key::Position(position),
        (None, Some(field)) => Key::Field(field),
        (Some(variant), None) => Key::VariantPosition(variant, position),
        (Some(variant), Some(field)) => Key::VariantField(variant, field),
    }
}
