//! Trees whose leaves are [objects](crate::object).

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::flatten::flatten_objects;
use crate::model::Tree;
use crate::unflatten::unflatten_objects;

impl<O: Clone + 'static> Tree<O> {
    /// The objects of a value with its structure: [`flatten_objects`](crate::flatten_objects()).
    ///
    /// # Errors
    ///
    /// As [`flatten_objects`](crate::flatten_objects()).
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use treedef::{Object, Tree};
    ///
    /// let value: BTreeMap<&str, Object<char>> = [("w", Object('a')), ("b", Object('b'))].into();
    /// let tree = Tree::<char>::of_objects(&value)?;
    /// assert_eq!(tree.get("w")?, &'a');
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn of_objects(value: &(impl Serialize + ?Sized)) -> Result<Self> {
        let (leaves, treedef) = flatten_objects(value)?;
        Ok(Tree { treedef, leaves })
    }

    /// Rebuilds the typed value: [`unflatten_objects`](crate::unflatten_objects()).
    ///
    /// # Errors
    ///
    /// As [`unflatten_objects`](crate::unflatten_objects()).
    ///
    /// ```
    /// use treedef::{Object, Tree};
    ///
    /// let tree = Tree::<i32>::of_objects(&[Object(1), Object(2)])?.map(|object| 10 * object);
    /// assert_eq!(tree.into_objects::<[Object<i32>; 2]>()?, [Object(10), Object(20)]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn into_objects<T: DeserializeOwned>(self) -> Result<T> {
        unflatten_objects(&self.treedef, self.leaves)
    }
}
