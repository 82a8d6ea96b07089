//! Leaves that are Rust objects: tensors, dual numbers, handles, anything that is `Clone`.
//!
//! Write `#[serde(with = "treedef::object")]` on a field that is an object, and
//! [`option`], [`vec`](mod@vec) or [`map`] on a field that holds objects. In any other place, put
//! the object into an [`Object`]. [`flatten_objects`](crate::flatten_objects) collects the objects
//! of one type, and [`unflatten_objects`](crate::unflatten_objects) puts other objects in their
//! places. Everything else in the value is static.
//!
//! In a walk for objects, serde never sees an object. It sees the index of the object in the flat vector;
//! the objects themselves are stored beside it, in the thread. An index is only valid during that walk, so other
//! walks and formats return an error, with one exception.
//!
//! An object that is a number, a `bool`, a `char` or a `String` is that scalar wherever no objects are walked: in
//! other formats, and in [`flatten`](crate::flatten()). So one struct, generic over its numbers, is a model of dual
//! numbers in a fit, and plain data in a file:
//!
//! ```
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! #[serde(bound = "")]
//! struct Line<T: Clone + 'static> {
//!     #[serde(with = "treedef::object")]
//!     slope: T,
//!     points: u64,
//! }
//!
//! let line = Line { slope: 0.5, points: 3 };
//! assert_eq!(serde_json::to_string(&line)?, r#"{"slope":0.5,"points":3}"#);
//! assert_eq!(serde_json::from_str::<Line<f64>>(r#"{"slope":0.5,"points":3}"#)?, line);
//! assert_eq!(treedef::Tree::of(&line)?.get("slope")?, &0.5.into());
//! assert_eq!(treedef::flatten_objects::<f64>(&line)?.0, [0.5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! use std::rc::Rc;
//!
//! use serde::{Deserialize, Serialize};
//!
//! /// Stands for a tensor on a device: it has no serde.
//! #[derive(Clone, Debug, PartialEq)]
//! struct Tensor(Rc<[f32]>);
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Linear {
//!     #[serde(with = "treedef::object")]
//!     w: Tensor,
//!     #[serde(with = "treedef::object::option", default)]
//!     b: Option<Tensor>,
//!     dropout: f64,
//! }
//!
//! let tensor = |number| Tensor(Rc::new([number]));
//! let model = Linear { w: tensor(1.0), b: Some(tensor(2.0)), dropout: 0.1 };
//! let (tensors, treedef) = treedef::flatten_objects::<Tensor>(&model)?;
//! assert_eq!(tensors, [tensor(1.0), tensor(2.0)]);
//! assert_eq!(treedef.to_string(), "Linear { w: *, b: Some(*), dropout: static 0.1 }");
//!
//! let model: Linear = treedef::unflatten_objects(&treedef, vec![tensor(3.0), tensor(4.0)])?;
//! assert_eq!(model, Linear { w: tensor(3.0), b: Some(tensor(4.0)), dropout: 0.1 });
//! # Ok::<(), treedef::Error>(())
//! ```

use std::any::{Any, TypeId, type_name};
use std::cell::{Cell, RefCell};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use crate::bug::OrBug;
use crate::leaf::each_scalar;
use crate::type_names::ErrorOwner;

/// The name of the newtype around the number of an object.
pub(crate) const OBJECT_MARK: &str = "__treedef_private_Object";

/// The name of the same newtype in a request for an object that is a scalar elsewhere.
pub(crate) const SCALAR_MARK: &str = "__treedef_private_Scalar";

/// The first bytes of the placeholder for an object in serde's buffers. They are not valid UTF-8.
const BUFFERED: [u8; 8] = *b"\xffobject\xff";

thread_local! {
    /// The objects of the innermost walk that takes any.
    static SCOPE: RefCell<Option<ObjectScope>> = const { RefCell::new(None) };

    /// What objects are in the current walk.
    static OBJECTS: Cell<Objects> = const { Cell::new(Objects::Scalars) };
}

/// What objects are in a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Objects {
    /// The scalars that they are, or errors. Also outside of all walks.
    #[default]
    Scalars,
    /// Errors, also if they are scalars.
    Refused,
    /// The leaves. Scalars are static.
    AmongStatics,
    /// Opaque leaves, and scalars are leaves, too: rules are applied later.
    AmongLeaves,
}

impl Objects {
    /// Whether the objects of the scope are leaves.
    pub(crate) fn are_leaves(self) -> bool {
        matches!(self, Objects::AmongStatics | Objects::AmongLeaves)
    }
}

/// Restores what objects are in the walk around this one, also after a panic.
#[derive(Default)]
pub(crate) struct OuterObjects(Option<Objects>);

impl OuterObjects {
    /// For a walk that begins. It has its own objects or none, but never the objects of the walk around it.
    #[inline]
    pub(crate) fn around(objects: Objects) -> Self {
        OuterObjects(Some(OBJECTS.replace(objects)))
    }
}

impl Drop for OuterObjects {
    #[inline]
    fn drop(&mut self) {
        if let Some(objects) = self.0 {
            OBJECTS.set(objects);
        }
    }
}

struct ObjectScope {
    /// A `Vec<O>` that is collected, or a `Vec<ObjectSlot<O>>` that is handed out.
    objects: Box<dyn Any>,
    type_name: &'static str,
}

/// An object that is handed out.
enum ObjectSlot<O> {
    Here(O),
    /// A clone, for a value that was read from a buffer of serde and may be read again.
    Cloned(O),
    Moved,
}

/// Restores the scope of the walk around this one, also after a panic.
struct OuterScope(Option<ObjectScope>);

impl Drop for OuterScope {
    fn drop(&mut self) {
        replace_scope(self.0.take());
    }
}

/// Makes another scope current, and returns this one.
fn replace_scope(scope: Option<ObjectScope>) -> Option<ObjectScope> {
    let replace = |place: &RefCell<_>| mem::replace(&mut *place.borrow_mut(), scope); // see `with_scope`
    SCOPE.try_with(replace).ok().flatten() // only at the end of the thread there is none
}

/// Runs a walk in a scope. Returns its result, and the content of the scope at the end.
fn within<A: Any, R>(
    objects: A,
    type_name: &'static str,
    walk: impl FnOnce() -> R,
) -> (R, Option<A>) {
    let scope = ObjectScope { objects: Box::new(objects), type_name };
    let outer = OuterScope(replace_scope(Some(scope)));
    let result = walk();
    let scope = replace_scope(None);
    drop(outer);
    let objects = scope.and_then(|scope| scope.objects.downcast().ok()).map(|objects| *objects);
    (result, objects)
}

/// Calls `action` with the scope of the walk. `action` must not run code of the user, so that the
/// scope is never borrowed twice.
fn with_scope<R>(
    action: impl FnOnce(&mut ObjectScope) -> Result<R, String>,
    outside: impl FnOnce() -> String,
) -> Result<R, String> {
    if !OBJECTS.get().are_leaves() {
        return Err(outside());
    }
    let done = SCOPE.try_with(|place| place.borrow_mut().as_mut().map(action));
    done.ok().flatten().unwrap_or_else(|| Err(outside()))
}

/// Collects the objects of a walk into an empty vector.
pub(crate) fn collecting<O: 'static, R>(objects: Vec<O>, walk: impl FnOnce() -> R) -> (R, Vec<O>) {
    let (result, objects) = within(objects, type_name::<O>(), walk);
    (result, objects.or_bug())
}

/// The objects in the order of their numbers. If a number is that of no object, its place.
pub(crate) fn in_order<O: Clone>(objects: Vec<O>, numbers: &[f64]) -> Result<Vec<O>, usize> {
    let numbers = numbers.iter().map(|number| number.to_bits());
    let are_in_order = numbers.len() == objects.len()
        && numbers.clone().zip(0..).all(|(number, place)| number == place);
    if are_in_order {
        return Ok(objects);
    }
    // A buffer that is serialized twice yields an index twice.
    let mut left: Vec<usize> = vec![0; objects.len()];
    let mut places = Vec::with_capacity(numbers.len());
    for number in numbers {
        let place = usize::try_from(number).unwrap_or(usize::MAX); // no place
        *left.get_mut(place).ok_or(places.len())? += 1; // at most the numbers
        places.push(place);
    }
    let mut objects: Vec<Option<O>> = objects.into_iter().map(Some).collect();
    let take = |(index, place): (usize, usize)| {
        let (object, left) = (&mut objects[place], &mut left[place]); // it was counted
        *left -= 1; // as often as it was counted
        let object = if *left == 0 { object.take() } else { object.clone() };
        object.ok_or(index)
    };
    places.into_iter().enumerate().map(take).collect()
}

/// Hands objects out during a walk. Returns its result, and the index of the first object that was
/// not taken.
pub(crate) fn handing_out<O: 'static, R>(
    objects: Vec<O>,
    walk: impl FnOnce() -> R,
) -> (R, Option<usize>) {
    let slots: Vec<ObjectSlot<O>> = objects.into_iter().map(ObjectSlot::Here).collect();
    let (result, slots) = within(slots, type_name::<O>(), walk);
    let is_left = |slot: &ObjectSlot<O>| matches!(slot, ObjectSlot::Here(_));
    (result, slots.and_then(|slots| slots.iter().position(is_left)))
}

/// The form that holds objects of this type, if the type is such a form.
fn form_of(found: &str, object: &str) -> Option<&'static str> {
    let forms = [
        ("core::option::Option<", "option"),
        ("alloc::vec::Vec<", "vec"),
        ("alloc::collections::btree::map::BTreeMap<", "map"),
        ("std::collections::hash::map::HashMap<", "map"),
    ];
    let inside = forms.iter().find_map(|(begin, form)| Some((found.strip_prefix(begin)?, form)));
    inside.filter(|(inside, _)| inside.contains(object)).map(|(_, form)| *form)
}

fn another_type<T>(scope: &ObjectScope) -> String {
    let (found, expected) = (type_name::<T>(), scope.type_name);
    match form_of(found, expected) {
        Some(form) => format!(
            "expected an object `{expected}`, found `{found}` (write `with = \"treedef::object::{form}\"`)"
        ),
        None => format!("expected an object `{expected}`, found `{found}`"),
    }
}

/// Puts an object into the flat vector. Returns its index.
fn collect<T: Clone + 'static>(value: &T) -> Result<u64, String> {
    // A refused object is dropped outside of `put`, because dropping runs code of the user.
    let mut object = Some(value.clone());
    let put = |scope: &mut ObjectScope| match scope.objects.downcast_mut::<Vec<T>>() {
        Some(objects) => {
            objects.extend(object.take());
            Ok(objects.len() as u64 - 1) // not wider, and it was pushed
        }
        None => Err(another_type::<T>(scope)),
    };
    with_scope(put, not_walked::<T>)
}

fn not_walked<T>() -> String {
    let name = type_name::<T>();
    format!(
        "a `{name}` is an object: the leaves have to be of this type, as in \
         `treedef::flatten_objects::<{name}>`"
    )
}

/// Moves the object of an index out, or clones it.
fn take<T: Clone + 'static>(number: u64, clones: bool) -> Result<T, String> {
    let object = replace_slot::<T>(number, ObjectSlot::Moved)?;
    match object {
        ObjectSlot::Here(object) | ObjectSlot::Cloned(object) => {
            if clones {
                replace_slot(number, ObjectSlot::Cloned(object.clone()))?;
            }
            Ok(object)
        }
        ObjectSlot::Moved => Err("the object was taken before".to_owned()),
    }
}

/// Replaces the content of the slot of an index, and returns the old content.
fn replace_slot<T: 'static>(number: u64, mut new: ObjectSlot<T>) -> Result<ObjectSlot<T>, String> {
    let replace = |scope: &mut ObjectScope| {
        let Some(slots) = scope.objects.downcast_mut::<Vec<ObjectSlot<T>>>() else {
            return Err(another_type::<T>(scope));
        };
        let slot = usize::try_from(number).ok().and_then(|number| slots.get_mut(number));
        let Some(slot) = slot else { return Err("there is no such object".to_owned()) };
        mem::swap(slot, &mut new);
        Ok(())
    };
    with_scope(replace, not_given_back::<T>)?;
    Ok(new)
}

fn not_given_back<T>() -> String {
    let name = type_name::<T>();
    format!("a `{name}` is an object, which only `treedef::unflatten_objects` gives back")
}

fn no_form<T>() -> String {
    let name = type_name::<T>();
    format!(
        "a `{name}` is an object, which has no form in this format: flatten the value by \
         `treedef::flatten_objects::<{name}>`"
    )
}

/// Serializes a field that is an object: for `#[serde(with = "treedef::object")]`.
///
/// # Errors
///
/// Returns an error in the walk of [`flatten_objects`](crate::flatten_objects) for objects of another type. A
/// type that is no scalar is an error in all other walks and formats, too.
///
/// ```
/// use std::rc::Rc;
///
/// #[derive(serde::Serialize)]
/// struct Model(#[serde(serialize_with = "treedef::object::serialize")] Rc<str>);
///
/// let error = treedef::flatten(&Model("a".into())).unwrap_err();
/// assert!(error.to_string().contains("as in `treedef::flatten_objects"));
/// ```
pub fn serialize<T: Clone + 'static, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match ErrorOwner::of::<S::Error>() {
        ErrorOwner::Walk => serializer.serialize_newtype_struct(OBJECT_MARK, &MarkedObject(value)),
        ErrorOwner::Guess => MarkedObject(value).serialize(serializer),
        ErrorOwner::Format => scalar(value, serializer, no_form::<T>),
    }
}

/// An object in its mark.
struct MarkedObject<'a, T>(&'a T);

impl<T: Clone + 'static> Serialize for MarkedObject<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if OBJECTS.get() == Objects::Scalars {
            return scalar(self.0, serializer, not_walked::<T>);
        }
        match collect(self.0) {
            // As bits, because a walk collects floats in chunks.
            Ok(number) => serializer.serialize_f64(f64::from_bits(number)),
            Err(message) => Err(ser::Error::custom(message)),
        }
    }
}

// The types are arguments, so that a type of a user does not cost a copy of the code for each scalar.
each_scalar! { [floats bool integers char { Isize: isize; Usize: usize; Str: String; }] ($kind $type) => {
    /// Serializes an object that is a scalar. Any other is an error.
    fn scalar<S: Serializer>(
        value: &dyn Any,
        serializer: S,
        refused: fn() -> String,
    ) -> Result<S::Ok, S::Error> {
        let id = value.type_id();
        $(if id == TypeId::of::<$type>() && let Some(value) = value.downcast_ref::<$type>() {
            return value.serialize(serializer);
        })*
        Err(ser::Error::custom(refused()))
    }

    /// Deserializes an object that is a scalar into an `Option` of its type. Any other is an error.
    fn read_scalar<'de, D: Deserializer<'de>>(
        deserializer: D,
        into: &mut dyn Any,
        refused: fn() -> String,
    ) -> Result<(), D::Error> {
        let id = (*into).type_id();
        $(if id == TypeId::of::<Option<$type>>() && let Some(into) = into.downcast_mut() {
            *into = Some(<$type>::deserialize(deserializer)?);
            return Ok(());
        })*
        Err(de::Error::custom(refused()))
    }

    fn is_scalar<T: 'static>() -> bool {
        $(TypeId::of::<T>() == TypeId::of::<$type>())||*
    }
} }

fn scalar_of<'de, T: 'static, D: Deserializer<'de>>(
    deserializer: D,
    refused: fn() -> String,
) -> Result<T, D::Error> {
    let mut value = None::<T>;
    read_scalar(deserializer, &mut value, refused)?;
    value.ok_or_else(|| de::Error::custom("a scalar has another type than itself"))
}

/// Takes the object for a field: for `#[serde(with = "treedef::object")]`. The object is moved, or
/// cloned if serde reads from a buffer, below `untagged` and `flatten`. In such a buffer the object is a placeholder
/// of bytes: in an `untagged` enum, a variant that takes any bytes must come after the variants with objects.
///
/// # Errors
///
/// Returns an error in the walk of [`unflatten_objects`](crate::unflatten_objects) with objects of another type,
/// and when the leaf is not an object. A type that is no scalar is an error in all other walks and formats,
/// too.
pub fn deserialize<'de, T: Clone + 'static, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    match ErrorOwner::of::<D::Error>() {
        ErrorOwner::Walk => {
            let mark = if is_scalar::<T>() { SCALAR_MARK } else { OBJECT_MARK };
            deserializer.deserialize_newtype_struct(mark, ObjectVisitor(PhantomData))
        }
        ErrorOwner::Guess => scalar_of(deserializer, || "an object".to_owned()),
        ErrorOwner::Format => scalar_of(deserializer, no_form::<T>),
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Clone + 'static> de::Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object `{}`", type_name::<T>())
    }

    /// Only the walk answers a request for a newtype with an index, and only at an object.
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        take(number, false).map_err(E::custom)
    }

    /// A buffer of serde answers with its content, and the walk with a scalar where it takes no objects.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, buffer: D) -> Result<T, D::Error> {
        if OBJECTS.get() == Objects::Scalars {
            return scalar_of(buffer, not_given_back::<T>);
        }
        buffer.deserialize_bytes(BufferedVisitor(PhantomData))
    }
}

/// Reads an object that serde has buffered.
struct BufferedVisitor<T>(PhantomData<T>);

impl<T: Clone + 'static> de::Visitor<'_> for BufferedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ObjectVisitor::<T>(PhantomData).expecting(f)
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<T, E> {
        match number_in(bytes) {
            Some(number) => take(number, true).map_err(E::custom),
            None => Err(E::invalid_type(de::Unexpected::Bytes(bytes), &self)),
        }
    }
}

/// The value that serde buffers for the object of an index.
pub(crate) fn buffered(number: u64) -> Vec<u8> {
    [BUFFERED, number.to_le_bytes()].concat()
}

fn number_in(bytes: &[u8]) -> Option<u64> {
    let number = bytes.strip_prefix(&BUFFERED)?;
    Some(u64::from_le_bytes(number.try_into().ok()?))
}

/// An object in any place: in a tuple, an enum, a type parameter, a type with `#[serde(transparent)]`.
///
/// ```
/// use treedef::Object;
///
/// let layers = vec![(Object("a"), 1), (Object("b"), 2)];
/// let (objects, treedef) = treedef::flatten_objects::<&str>(&layers)?;
/// assert_eq!(objects, ["a", "b"]);
/// assert_eq!(treedef.to_string(), "[(*, static 1), (*, static 2)]");
/// let back: Vec<(Object<&str>, i32)> = treedef::unflatten_objects(&treedef, objects)?;
/// assert_eq!(back, layers);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object<T>(pub T);

impl<T> Deref for Object<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Object<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> From<T> for Object<T> {
    fn from(object: T) -> Self {
        Object(object)
    }
}

impl<T: Display> Display for Object<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Clone + 'static> Serialize for Object<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de, T: Clone + 'static> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Object)
    }
}

/// A borrowed object.
struct BorrowedObject<'a, T>(&'a T);

impl<T: Clone + 'static> Serialize for BorrowedObject<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.0, serializer)
    }
}

/// For a field `Option<T>` of objects: `#[serde(with = "treedef::object::option")]`.
pub mod option {
    use super::*;

    /// Serializes the field.
    ///
    /// # Errors
    ///
    /// As [`object::serialize`](super::serialize()).
    pub fn serialize<T: Clone + 'static, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(BorrowedObject).serialize(serializer)
    }

    /// Takes the object, if there is one.
    ///
    /// # Errors
    ///
    /// As [`object::deserialize`](super::deserialize()).
    pub fn deserialize<'de, T: Clone + 'static, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|object| object.0))
    }
}

/// For a field `Vec<T>` of objects: `#[serde(with = "treedef::object::vec")]`.
pub mod vec {
    use super::*;

    /// Serializes the field.
    ///
    /// # Errors
    ///
    /// As [`object::serialize`](super::serialize()).
    pub fn serialize<T: Clone + 'static, S: Serializer>(
        value: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(value.iter().map(BorrowedObject))
    }

    /// Takes the objects.
    ///
    /// # Errors
    ///
    /// As [`object::deserialize`](super::deserialize()).
    pub fn deserialize<'de, T: Clone + 'static, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        let objects = Vec::<Object<T>>::deserialize(deserializer)?;
        Ok(objects.into_iter().map(|object| object.0).collect())
    }
}

/// For a field `BTreeMap<K, T>` or `HashMap<K, T>` of objects:
/// `#[serde(with = "treedef::object::map")]`.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Model {
///     #[serde(with = "treedef::object::map")]
///     layers: BTreeMap<String, &'static str>,
/// }
///
/// let model = Model { layers: [("b".to_owned(), "2"), ("a".to_owned(), "1")].into() };
/// let (objects, treedef) = treedef::flatten_objects::<&str>(&model)?;
/// assert_eq!(objects, ["1", "2"]);
/// assert_eq!(treedef.to_string(), r#"Model { layers: {"a": *, "b": *} }"#);
/// # Ok::<(), treedef::Error>(())
/// ```
pub mod map {
    use super::*;

    /// Serializes the field.
    ///
    /// # Errors
    ///
    /// As [`object::serialize`](super::serialize()).
    pub fn serialize<'a, M, K, T, S>(value: &'a M, serializer: S) -> Result<S::Ok, S::Error>
    where
        &'a M: IntoIterator<Item = (&'a K, &'a T)>,
        K: Serialize + 'a,
        T: Clone + 'static,
        S: Serializer,
    {
        serializer.collect_map(value.into_iter().map(|(key, object)| (key, BorrowedObject(object))))
    }

    /// Takes the objects, with their keys.
    ///
    /// # Errors
    ///
    /// As [`object::deserialize`](super::deserialize()).
    pub fn deserialize<'de, M, K, T, D>(deserializer: D) -> Result<M, D::Error>
    where
        M: IntoIterator<Item = (K, T)> + FromIterator<(K, T)>,
        K: Deserialize<'de>,
        T: Clone + 'static,
        D: Deserializer<'de>,
    {
        struct ObjectEntries<K, T>(PhantomData<(K, T)>);

        impl<'de, K: Deserialize<'de>, T: Clone + 'static> de::Visitor<'de> for ObjectEntries<K, T> {
            type Value = Vec<(K, T)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of objects")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, object)) = map.next_entry::<K, Object<T>>()? {
                    entries.push((key, object.0));
                }
                Ok(entries)
            }
        }

        Ok(deserializer.deserialize_map(ObjectEntries(PhantomData))?.into_iter().collect())
    }
}
