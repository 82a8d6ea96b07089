//! Flattens values whose leaves are [objects](crate::object).

use std::mem;

use serde::Serialize;

use crate::error::{Cause, Error, Result};
use crate::flatten::Flattener;
use crate::leaf::object::{collecting, in_order};
use crate::leaf::sink::Sink;
use crate::model::{LeafKind, TreeDef};

use super::marks::Objects;

/// Flattens a value into its objects of one type and its treedef. All that is no object is static,
/// [opaque](crate::Opaque) values as well.
///
/// The [page about objects](crate::object) says how a field becomes one. Each object is cloned once.
///
/// # Errors
///
/// As [`flatten`](crate::flatten()). Also when there is an object of another type, or an object in a
/// map key, in a static or in an opaque leaf. The error has the path.
///
/// ```
/// use serde::Serialize;
///
/// #[derive(Serialize)]
/// struct Model {
///     #[serde(serialize_with = "treedef::object::vec::serialize")]
///     weights: Vec<std::rc::Rc<str>>,
///     name: &'static str,
/// }
///
/// let model = Model { weights: vec!["a".into(), "b".into()], name: "net" };
/// let (objects, treedef) = treedef::flatten_objects::<std::rc::Rc<str>>(&model)?;
/// assert_eq!(&*objects[1], "b");
/// assert_eq!(treedef.to_string(), r#"Model { weights: [*, *], name: static "net" }"#);
/// # Ok::<(), treedef::Error>(())
/// ```
pub fn flatten_objects<O: Clone + 'static>(
    value: &(impl Serialize + ?Sized),
) -> Result<(Vec<O>, TreeDef)> {
    Flattener::new().flatten_objects(value)
}

impl Flattener {
    /// As [`flatten_objects`](crate::flatten_objects()), with these options and rules. Which scalars
    /// are leaves plays no part.
    ///
    /// # Errors
    ///
    /// As [`flatten_objects`](crate::flatten_objects()); also with
    /// [`none_is_leaf`](Self::none_is_leaf), because an absent value is no object.
    ///
    /// ```
    /// use treedef::{Flattener, Object};
    ///
    /// let value = (Object('a'), [1, 2]);
    /// let (objects, treedef) = Flattener::new().mark_static(".1")?.flatten_objects::<char>(&value)?;
    /// assert_eq!((objects, treedef.to_string()), (vec!['a'], "(*, static (1, 2))".to_owned()));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn flatten_objects<O: Clone + 'static>(
        &self,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(Vec<O>, TreeDef)> {
        if self.options.none_is_leaf {
            return Err(Error::protocol("an absent value is no object: leave out `none_is_leaf`"));
        }
        let walk = self.for_objects();
        let numbers = Sink::F64(Vec::new());
        let (walked, objects) = collecting(Vec::new(), || walk.walk(numbers, value));
        let (treedef, numbers) = walked?;
        Ok((in_order(objects, &numbers.into_leaves::<Vec<f64>>()), treedef))
    }

    /// Puts the objects of a value with a known structure into `buffer`, and replaces its content.
    ///
    /// # Errors
    ///
    /// As [`flatten_like`](Self::flatten_like) and [`flatten_objects`](Self::flatten_objects).
    ///
    /// ```
    /// use treedef::{Flattener, Object};
    ///
    /// let (mut objects, treedef) = treedef::flatten_objects::<char>(&[Object('a'), Object('b')])?;
    /// let flattener = Flattener::new();
    /// flattener.flatten_objects_like(&treedef, &[Object('c'), Object('d')], &mut objects)?;
    /// assert_eq!(objects, ['c', 'd']);
    /// assert!(flattener.flatten_objects_like(&treedef, &[Object('c')], &mut objects).is_err());
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn flatten_objects_like<O: Clone + 'static>(
        &self,
        treedef: &TreeDef,
        value: &(impl Serialize + ?Sized),
        buffer: &mut Vec<O>,
    ) -> Result<()> {
        let walk = self.for_objects();
        let mut numbers = Sink::F64(Vec::new());
        let mut objects = mem::take(buffer);
        objects.clear();
        let (walked, objects) =
            collecting(objects, || walk.walk_like(treedef, value, &mut numbers));
        walked.map_err(|error| match error.cause() {
            Cause::LeafKind { found: LeafKind::None, .. } => {
                Error::argument("an absent value is no object")
                    .with_hint("make the treedef without `none_is_leaf`")
                    .at(error.path().clone())
            }
            _ => error,
        })?;
        *buffer = in_order(objects, &numbers.into_leaves::<Vec<f64>>());
        Ok(())
    }

    /// The same options and rules for a walk whose leaves are objects.
    fn for_objects(&self) -> Self {
        Flattener { objects: Objects::AmongStatics, arrays: None, ..self.clone() }
    }
}
