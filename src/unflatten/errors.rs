//! The errors at a [`Cursor`]. Their paths are made on the way up, from the position in each compound.

use std::mem;

use serde::de::{self, Expected, Unexpected};

use crate::error::{Cause, Error};
use crate::leaf::Scalar;
use crate::leaf::leaf_type::Number;
use crate::model::NodeKind;
use crate::path::Key;
use crate::treedef::node_ref::NodeRef;

use super::cursor::{Cursor, Found, Interior, LEAF, OpenCompound};
use super::hints;

impl<'de> Cursor<'de> {
    /// The error for a visitor that expected something else.
    #[cold]
    #[inline(never)]
    pub(super) fn unexpected(&mut self, expected: &dyn Expected) -> Error {
        if mem::take(&mut self.is_too_deep) {
            return self.too_deep();
        }
        if let Some(error) = self.beyond_half() {
            return error;
        }
        if let Err(error) = self.settle() {
            return error;
        }
        let other;
        let found = match (self.found, self.scalar()) {
            (_, Some(Scalar::Bool(value))) => Unexpected::Bool(value),
            (_, Some(Scalar::Char(value))) => Unexpected::Char(value),
            (_, Some(Scalar::Str(text))) => Unexpected::Str(text),
            (_, Some(Scalar::Bytes(bytes))) => Unexpected::Bytes(bytes),
            (_, Some(Scalar::None)) => Unexpected::Option,
            (_, Some(number)) => match Number::of(number) {
                Some(Number::U64(value)) => Unexpected::Unsigned(value),
                Some(Number::I64(value)) => Unexpected::Signed(value),
                Some(Number::F64(value)) => Unexpected::Float(value),
                Some(Number::F32(value)) => Unexpected::Float(value.into()),
                Some(Number::I128(value)) => {
                    other = format!("integer `{}` as i128", value.get());
                    Unexpected::Other(&other)
                }
                Some(Number::U128(value)) => {
                    other = format!("integer `{}` as u128", value.get());
                    Unexpected::Other(&other)
                }
                None => Unexpected::Other("something else"),
            },
            (LEAF, _) if self.supply.are_objects() => Unexpected::Other("an object"),
            (Found::Node(NodeKind::None | NodeKind::Some), _) => Unexpected::Option,
            (Found::Node(NodeKind::Unit | NodeKind::UnitStruct | NodeKind::Static), _) => {
                Unexpected::Unit
            }
            (found, _) if found.is_sequence() => Unexpected::Seq,
            _ => Unexpected::Map,
        };
        let error = de::Error::invalid_type(found, expected);
        self.outside(error)
    }

    /// Adds the newtypes around the place to the path of an error by a visitor.
    #[cold]
    #[inline(never)]
    pub(super) fn outside(&self, error: Error) -> Error {
        outside(self.here(), self.depth.newtypes, error)
    }

    /// A compound that is being read, which is around the place. Not for its leaves: where they begin is
    /// not known here.
    pub(super) fn node_of(&mut self, parent: &OpenCompound) -> NodeRef<'de> {
        self.back_to(parent);
        let treedef = self.structures.current;
        NodeRef::at(treedef, treedef.encoding.nodes.len() - parent.rest, 0, 0)
    }

    /// Adds the newtypes around a compound to the path of its error.
    #[cold]
    #[inline(never)]
    pub(super) fn outside_of(&mut self, parent: &OpenCompound, error: Error) -> Error {
        outside(self.node_of(parent), parent.depth.newtypes, error)
    }

    /// Adds the key of a child of a compound to the path of its error, but not the newtypes around
    /// the compound: see [`outside_of`](Self::outside_of).
    #[cold]
    #[inline(never)]
    pub(super) fn under(&mut self, parent: &OpenCompound, position: usize, error: Error) -> Error {
        match self.node_of(parent).key(position) {
            Some(key) => error.under(key),
            None => error,
        }
    }

    /// The error for a value that was made although `left` children were not read.
    #[cold]
    #[inline(never)]
    pub(super) fn unread(&mut self, parent: &OpenCompound, left: usize) -> Error {
        let children = self.node_of(parent).num_children();
        self.outside_of(parent, Cause::Unread { children, read: children - left }.into())
    }

    /// Completes an error of the inside of an option or a newtype.
    #[cold]
    #[inline(never)]
    pub(super) fn inside_failed(
        &mut self,
        parent: &OpenCompound,
        inside: Interior,
        error: Error,
    ) -> Error {
        self.ascend(parent);
        self.asked = true; // the error says what was wrong
        match inside {
            Interior::Child => {
                let error = self.under(parent, 0, error);
                self.outside_of(parent, error)
            }
            _ => error,
        }
    }

    /// The error for not asking for the inside.
    #[cold]
    #[inline(never)]
    pub(super) fn inside_unread(&mut self, parent: &OpenCompound) -> Error {
        self.asked = true;
        self.unread(parent, 1)
    }

    /// The error for a float that is too large for the newtype of 16 bits around it.
    #[cold]
    pub(super) fn beyond_half(&self) -> Option<Error> {
        let Some(half) = self.found.half() else { return None };
        self.bits(half).filter(|(_, is_beyond)| *is_beyond)?;
        let found = match self.scalar()? {
            Scalar::F32(value) => format!("floating point `{value:?}`"),
            Scalar::F64(value) => format!("floating point `{value:?}`"),
            _ => return None,
        };
        let error = de::Error::invalid_value(Unexpected::Other(&found), &half.name());
        Some(self.outside(error))
    }
}

#[cold]
fn outside(node: NodeRef<'_>, newtypes: u32, error: Error) -> Error {
    let error = hints::of_untagged(node, error);
    (0..newtypes).fold(error, |error, _| error.under(Key::Position(0)))
}
