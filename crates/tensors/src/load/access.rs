//! serde's accesses to a value: the elements, entries, fields and variants that a type requests.

use std::collections::HashMap;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

use crate::bug::OrBug;
use crate::literal;
use crate::load::array_repr::KeyType;
use crate::load::context::LoadContext;
use crate::load::failure::Failure;
use crate::load::key::{KeyDeserializer, text};
use crate::load::name_scope::NameScope;
use crate::load::read_ahead::{ReadAhead, may_be_number};
use crate::load::tensor_slice::{Placeholder, TensorSlice};
use crate::load::value_deserializer::ValueDeserializer;
use crate::shape::display;

/// The elements of one dimension of a tensor, or of several as one sequence.
pub(crate) struct TensorSeqAccess<'de> {
    slice: TensorSlice<'de>,
    /// The index of the next element, after the copied ones.
    next: usize,
    length: usize,
    /// The number of dimensions that are one sequence.
    flat: Option<usize>,
    /// The distance of the next element, if all have the same.
    stride: Option<usize>,
    /// Copied elements, which are next.
    ahead: ReadAhead,
}

impl<'de> TensorSeqAccess<'de> {
    pub(crate) fn new(slice: TensorSlice<'de>, length: usize) -> Self {
        let ahead = ReadAhead::of(slice, slice.array.strides.get(slice.depth).copied());
        TensorSeqAccess { slice, next: 0, length, flat: None, stride: None, ahead }
    }

    /// The elements of some dimensions, in row-major order.
    pub(crate) fn flat(slice: TensorSlice<'de>, rank: usize) -> Self {
        let dims = slice.array.dims.iter().skip(slice.depth).take(rank);
        // It saturates only beside a dimension of 0, as the whole fits.
        let length = dims.fold(1usize, |all, dim| all.saturating_mul(*dim));
        let is_empty = slice.array.dims.iter().skip(slice.depth).take(rank).any(|dim| *dim == 0);
        let length = if is_empty { 0 } else { length };
        let stride = slice.flat_stride(rank);
        TensorSeqAccess {
            slice,
            next: 0,
            length,
            flat: Some(rank),
            stride,
            ahead: ReadAhead::of(slice, stride),
        }
    }

    pub(crate) fn visit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failure> {
        let value = visitor.visit_seq(&mut self);
        self.go_back();
        let value = value?;
        if self.next < self.length {
            let TensorSlice { context, entry, array, depth, .. } = self.slice;
            let mut dims = array.dims.clone();
            let read = depth..depth.saturating_add(self.flat.unwrap_or(1)).min(dims.len());
            dims.splice(read, [self.next]);
            context.report_mismatch(entry, display(array.dtype, &dims));
        }
        Ok(value)
    }

    /// Copies the next elements, if they may be numbers of a size.
    #[inline(never)]
    fn copy(&mut self, size: usize) -> bool {
        if self.next == self.length || !self.ahead.may_copy(size) {
            return false;
        }
        let first = element(self.slice, (self.flat, self.stride), self.next);
        let copied = self.ahead.copy(first, self.length - self.next);
        self.next += copied;
        debug_assert!(self.next <= self.length, "more was copied than there is");
        self.slice.entry.count_read(copied);
        copied > 0
    }

    /// Shows the shape of the type, if there is no element that would.
    fn show_shape<S: DeserializeSeed<'de>>(&self, seed: S) -> Result<(), Failure> {
        let TensorSlice { entry, array, .. } = self.slice;
        // `[0]` may be a list of elements without content.
        if self.length > 0
            || array.tensor.shape().len() < 2
            || entry.is_shape_requested.replace(true)
        {
            return Ok(());
        }
        let element = element(self.slice, (self.flat, self.stride), 0);
        seed.deserialize(ValueDeserializer::Placeholder(Box::new(element.mismatch()))).map(drop)
    }

    /// Goes back to the first element that was copied and not read.
    fn go_back(&mut self) {
        let left = self.ahead.forget();
        self.next -= left; // they were added
        self.slice.entry.count_unread(left);
    }
}

/// An element of one dimension, or of the `flat` ones, which may be equally far apart.
#[inline]
fn element<'de>(
    slice: TensorSlice<'de>,
    (flat, stride): (Option<usize>, Option<usize>),
    index: usize,
) -> TensorSlice<'de> {
    match (flat, stride) {
        (Some(rank), Some(stride)) => slice.strided_element(rank, index, stride),
        (Some(rank), None) => slice.flat_element(rank, index),
        (None, _) => slice.element(index),
    }
}

fn count_element(context: &LoadContext<'_>) -> Result<(), Failure> {
    if context.diagnostics().count_element() {
        Ok(())
    } else {
        Err(Failure::Limit("too many elements that take no bytes of the file".to_owned()))
    }
}

impl<'de> SeqAccess<'de> for &mut TensorSeqAccess<'de> {
    type Error = Failure;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        self.go_back();
        if self.next == self.length {
            self.show_shape(seed)?;
            return Ok(None);
        }
        let array = self.slice.array;
        if array.tensor.is_empty() {
            count_element(self.slice.context)?;
        }
        let element = element(self.slice, (self.flat, self.stride), self.next);
        self.next += 1;
        seed.deserialize(ValueDeserializer::Slice(element)).map(Some)
    }

    #[inline]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>, Failure> {
        if const { may_be_number::<T>() } {
            if let Some(number) = self.ahead.next() {
                return Ok(Some(number));
            }
            if self.copy(size_of::<T>())
                && let Some(number) = self.ahead.next()
            {
                return Ok(Some(number));
            }
        }
        self.next_element_seed(PhantomData)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.length - self.next + self.ahead.left())
    }
}

/// Elements that have names, elements of stacked tensors, or placeholders.
pub(crate) struct NameSeqAccess<'de> {
    source: SeqSource<'de>,
    next: usize,
    length: usize,
}

enum SeqSource<'de> {
    Named(NameScope<'de>),
    /// The sequence, its tensors with an axis for the elements, their number, and the other names.
    Stacked(NameScope<'de>, NameScope<'de>, usize, NameScope<'de>),
    Placeholder(Placeholder<'de>, Option<usize>),
}

impl<'de> NameSeqAccess<'de> {
    pub(crate) fn named(scope: &NameScope<'de>, length: usize) -> Self {
        NameSeqAccess { source: SeqSource::Named(scope.clone()), next: 0, length }
    }

    /// The elements of a sequence that has at least some stacked tensors.
    pub(crate) fn stacked(scope: &NameScope<'de>) -> Option<Self> {
        let (stacked, axis, others) = scope.stacked()?;
        if axis == 0 {
            stacked.mark_requested(); // no element does
        }
        let length = others.count().unwrap_or(0).max(axis);
        Some(NameSeqAccess {
            source: SeqSource::Stacked(scope.clone(), stacked, axis, others),
            next: 0,
            length,
        })
    }

    fn context(&self) -> &'de LoadContext<'de> {
        match &self.source {
            SeqSource::Named(scope) | SeqSource::Stacked(scope, ..) => scope.context,
            SeqSource::Placeholder(placeholder, _) => placeholder.context,
        }
    }

    /// Whether there may be no element; a tuple always has its elements.
    fn is_absent_sequence(&self) -> bool {
        matches!(self.source, SeqSource::Placeholder(_, None))
    }

    /// One element represents all.
    pub(crate) fn placeholder(placeholder: Placeholder<'de>, length: Option<usize>) -> Self {
        NameSeqAccess {
            source: SeqSource::Placeholder(placeholder, length),
            next: 0,
            length: length.unwrap_or(1),
        }
    }

    pub(crate) fn visit<V: Visitor<'de>>(
        mut self,
        length: Option<usize>,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match (&self.source, length) {
            (SeqSource::Placeholder(placeholder, _), _) => placeholder.check_depth()?,
            (SeqSource::Stacked(scope, stacked, axis, _), Some(length)) if length != *axis => {
                stacked.expect_lengths(length);
                scope.mark_reported();
                return Err(Failure::Reported);
            }
            _ => {}
        }
        let context = self.context();
        let reports = context.diagnostics().num_reports;
        let is_absent = self.is_absent_sequence();
        if is_absent {
            context.diagnostics().open(None);
        }
        let value = visitor.visit_seq(&mut self);
        if is_absent {
            context.diagnostics().close();
        }
        let value = value?;
        match &self.source {
            // The source of the elements is unknown, so the sequence itself is reported.
            SeqSource::Placeholder(placeholder, _)
                if context.diagnostics().num_reports == reports =>
            {
                placeholder.report_sequence(length);
                Ok(value)
            }
            SeqSource::Stacked(_, _, axis, _) if self.next < *axis => {
                let what = format!("only {} of {axis} elements were read", self.next);
                Err(Failure::Custom(what, None))
            }
            _ => Ok(value), // names that were not read are unused
        }
    }
}

impl<'de> SeqAccess<'de> for &mut NameSeqAccess<'de> {
    type Error = Failure;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        if let SeqSource::Named(scope) = &self.source {
            let is_there = |index: usize| scope.child(&index.to_string()).is_some();
            while scope.context.diagnostics().has_enough()
                && self.next < self.length
                && !is_there(self.next)
            {
                count_element(scope.context)?;
                self.next += 1;
            }
        }
        if self.next == self.length {
            return Ok(None);
        }
        let index = self.next;
        self.next += 1;
        let source = match &self.source {
            SeqSource::Named(scope) => child(scope, &index.to_string())?,
            SeqSource::Stacked(scope, stacked, axis, others) => {
                let stacked = Some(stacked).filter(|_| index < *axis);
                for _ in 0..stacked.map_or(1, NameScope::count_empty) {
                    count_element(scope.context)?;
                }
                match others.element(stacked, index) {
                    Some(element) => ValueDeserializer::Scope(element),
                    None => placeholder_child(scope, &index.to_string()),
                }
            }
            SeqSource::Placeholder(placeholder, length) => {
                count_element(placeholder.context)?;
                ValueDeserializer::Placeholder(Box::new(placeholder.element(*length, index)))
            }
        };
        match deserialize(source, seed) {
            // Without elements, the sequence itself is reported.
            Err(Failure::Recursive) if self.is_absent_sequence() => {
                self.next = self.length;
                Ok(None)
            }
            element => element.map(Some),
        }
    }
}

/// Reads a value. An error without a name gets the name of the value.
fn deserialize<'de, S: DeserializeSeed<'de>>(
    source: ValueDeserializer<'de>,
    seed: S,
) -> Result<S::Value, Failure> {
    let name = source.name();
    seed.deserialize(source).map_err(|error| error.at(|| name))
}

/// A type requests a value without its key, which serde forbids.
fn without_key() -> Failure {
    Failure::Custom("the type asks for a value before its key".to_owned(), None)
}

/// The scope of a child, or a placeholder.
fn child<'de>(scope: &NameScope<'de>, part: &str) -> Result<ValueDeserializer<'de>, Failure> {
    match scope.child(part) {
        Some(child) => Ok(ValueDeserializer::Scope(child)),
        None => {
            count_element(scope.context)?;
            Ok(placeholder_child(scope, part))
        }
    }
}

fn placeholder_child<'de>(scope: &NameScope<'de>, part: &str) -> ValueDeserializer<'de> {
    let above = Placeholder::new(scope.context, scope.name().to_owned(), scope.depth);
    ValueDeserializer::Placeholder(Box::new(above.child(part)))
}

/// The fields of a struct that exist or are required.
pub(crate) struct StructAccess<'de> {
    source: ValueDeserializer<'de>,
    /// Backwards.
    fields: Vec<(&'static str, ValueDeserializer<'de>)>,
    type_id: String,
    value: Option<ValueDeserializer<'de>>,
}

impl<'de> StructAccess<'de> {
    pub(crate) fn new(
        source: ValueDeserializer<'de>,
        name: &str,
        fields: &'static [&'static str],
    ) -> Result<Self, Failure> {
        let type_id = format!("{name} {:p}", fields.as_ptr());
        source.expect_not_in_itself(&type_id)?;
        let mut all = Vec::new();
        for field in fields.iter().rev() {
            let here = match &source {
                ValueDeserializer::Scope(scope) => {
                    scope.check_depth()?;
                    scope.child(field).map(ValueDeserializer::Scope)
                }
                _ => None,
            };
            let here = here.or_else(|| {
                let placeholder = source.as_placeholder()?;
                placeholder.check_depth().ok()?;
                let required =
                    placeholder.context.diagnostics().required(&type_id).any(|it| it == *field);
                required.then(|| ValueDeserializer::Placeholder(Box::new(placeholder.child(field))))
            });
            all.extend(here.map(|here| (*field, here)));
        }
        Ok(StructAccess { source, fields: all, type_id, value: None })
    }

    pub(crate) fn visit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failure> {
        let Some(context) = self.source.as_placeholder().map(|above| above.context) else {
            return visitor.visit_map(&mut self);
        };
        let type_id = std::mem::take(&mut self.type_id);
        context.diagnostics().open(Some(type_id));
        let result = visitor.visit_map(&mut self);
        let type_id = context.diagnostics().close();
        learn_required(result, &self.source, type_id.or_bug())
    }
}

/// Learns from an error of serde that a field is required.
fn learn_required<T>(
    result: Result<T, Failure>,
    source: &ValueDeserializer<'_>,
    of: String,
) -> Result<T, Failure> {
    let (Err(Failure::Field(field)), Some(placeholder)) = (&result, source.as_placeholder()) else {
        return result;
    };
    if placeholder.context.diagnostics().learn_required(of, field) {
        Err(Failure::Restart)
    } else {
        result
    }
}

impl<'de> ValueDeserializer<'de> {
    /// Checks that the elements of an absent sequence do not contain the sequence.
    fn expect_not_in_itself(&self, type_id: &str) -> Result<(), Failure> {
        match self {
            ValueDeserializer::Placeholder(placeholder)
                if placeholder.context.diagnostics().is_recursive(type_id) =>
            {
                Err(Failure::Recursive)
            }
            _ => Ok(()),
        }
    }

    /// Reads a tuple struct, and marks its type as open inside.
    pub(crate) fn open<T>(
        self,
        name: &'static str,
        read: impl FnOnce(Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Some(context) = self.as_placeholder().map(|above| above.context) else {
            return read(self);
        };
        let type_id = format!("{name} {:p}", name.as_ptr());
        self.expect_not_in_itself(&type_id)?;
        context.diagnostics().open(Some(type_id));
        let result = read(self);
        context.diagnostics().close();
        result
    }

    /// A placeholder of this name, whose children are placeholders.
    fn as_placeholder(&self) -> Option<Placeholder<'de>> {
        match self {
            ValueDeserializer::Scope(scope) => {
                Some(Placeholder::new(scope.context, scope.name().to_owned(), scope.depth))
            }
            ValueDeserializer::Placeholder(placeholder) => Some(Placeholder::clone(placeholder)),
            ValueDeserializer::Slice(_) | ValueDeserializer::Flat(..) => None,
        }
    }
}

impl<'de> MapAccess<'de> for &mut StructAccess<'de> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        let Some((field, source)) = self.fields.pop() else { return Ok(None) };
        self.value = Some(source);
        seed.deserialize(text(field)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        deserialize(self.value.take().ok_or_else(without_key)?, seed)
    }
}

/// The entries of a map: the distinct parts below a name.
pub(crate) struct NameMapAccess<'de> {
    source: ValueDeserializer<'de>,
    /// Backwards.
    keys: Vec<&'de str>,
    /// The numbers that were keys.
    numbers: HashMap<String, &'de str>,
    value: Option<ValueDeserializer<'de>>,
}

impl<'de> NameMapAccess<'de> {
    pub(crate) fn new(source: ValueDeserializer<'de>) -> Self {
        let (mut keys, is_empty) = match &source {
            ValueDeserializer::Scope(scope) => (scope.children(), scope.is_empty()),
            _ => (Vec::new(), false),
        };
        if let (true, Some(placeholder)) = (
            keys.is_empty() && !is_empty,
            source.as_placeholder().filter(|_| !source.name().is_empty()),
        ) {
            placeholder.report(None, "a map");
        }
        // Fields of a struct that serde flattens.
        let name = source.name();
        if let Some(above) = source.as_placeholder() {
            let diagnostics = above.context.diagnostics();
            let fields = diagnostics.required(&name).filter(|field| !keys.contains(field));
            let fields: Vec<&str> = fields.collect();
            keys.extend(fields);
        }
        keys.reverse();
        NameMapAccess { source, keys, numbers: HashMap::new(), value: None }
    }

    pub(crate) fn visit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failure> {
        let result = visitor.visit_map(&mut self);
        let name = self.source.name();
        learn_required(result, &self.source, name)
    }
}

impl<'de> MapAccess<'de> for &mut NameMapAccess<'de> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        let Some(key) = self.keys.pop() else { return Ok(None) };
        self.value = Some(match &self.source {
            ValueDeserializer::Scope(scope) => child(scope, key)?,
            other => other.as_placeholder().map_or_else(
                || other.clone(),
                |above| ValueDeserializer::Placeholder(Box::new(above.child(key))),
            ),
        });
        let source = &self.source;
        let in_buffer = || match source {
            ValueDeserializer::Scope(scope) => scope.context.keys_below(scope.name()),
            _ => Some(KeyType::Texts),
        };
        let numbers = &mut self.numbers;
        seed.deserialize(KeyDeserializer { key, in_buffer: &in_buffer, numbers }).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        deserialize(self.value.take().ok_or_else(without_key)?, seed)
    }
}

/// The variant whose name is below, or the text here.
pub(crate) struct NameEnumAccess<'de> {
    variant: &'static str,
    source: ValueDeserializer<'de>,
}

impl<'de> NameEnumAccess<'de> {
    pub(crate) fn new(
        source: ValueDeserializer<'de>,
        variants: &'static [&'static str],
    ) -> Option<Self> {
        let ValueDeserializer::Scope(scope) = source else { return None };
        if let Some(text) = scope.text().and_then(literal::string) {
            let variant = variants.iter().find(|variant| **variant == text)?;
            return Some(NameEnumAccess { variant, source: ValueDeserializer::Scope(scope) });
        }
        let found = variants.iter().filter_map(|variant| Some((*variant, scope.child(variant)?)));
        // The variant of the file comes before a variant of a value that fills.
        let (of_file, filled): (Vec<_>, Vec<_>) =
            found.partition(|(_, inside)| !inside.is_filled());
        let mut found = if of_file.is_empty() { filled } else { of_file }.into_iter();
        let (variant, inside) = found.next()?;
        // Several variants are ambiguous.
        found
            .next()
            .is_none()
            .then_some(NameEnumAccess { variant, source: ValueDeserializer::Scope(inside) })
    }
}

impl<'de> EnumAccess<'de> for NameEnumAccess<'de> {
    type Error = Failure;
    type Variant = ValueDeserializer<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, ValueDeserializer<'de>), Failure> {
        Ok((seed.deserialize(text(self.variant))?, self.source))
    }
}

impl<'de> VariantAccess<'de> for ValueDeserializer<'de> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        Ok(()) // the tensors below stay unused
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Failure> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.fields("", fields, visitor)
    }
}
