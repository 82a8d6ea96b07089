//! Trees whose leaves are [objects](crate::object).

use std::collections::HashMap;
use std::hash::Hash;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bug::OrBug;
use crate::error::Result;
use crate::flatten::flatten_objects;
use crate::model::Tree;
use crate::path::Path;
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

impl<L> Tree<L> {
    /// The paths of leaves that are the same object, such as tied weights: a group for each object
    /// that comes more than once, in the order of its first place.
    ///
    /// `identity` says what makes two leaves the same, for example the address of a buffer.
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// use treedef::{Object, Tree};
    ///
    /// let tied: Rc<str> = "embedding".into();
    /// let model = (Object(Rc::clone(&tied)), Object(Rc::<str>::from("other")), Object(tied));
    /// let tree = Tree::<Rc<str>>::of_objects(&model)?;
    /// let groups = tree.shared_by(|object| Rc::as_ptr(object));
    /// assert_eq!(groups, [[".0".parse()?, ".2".parse()?]]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn shared_by<K: Eq + Hash>(&self, mut identity: impl FnMut(&L) -> K) -> Vec<Vec<Path>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut places = HashMap::new();
        for (index, leaf) in self.leaves.iter().enumerate() {
            let group = *places.entry(identity(leaf)).or_insert(groups.len());
            match groups.get_mut(group) {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
        let path = |index: usize| self.treedef.leaf_path(index).ok().or_bug();
        let shared = groups.into_iter().filter(|group| group.len() > 1);
        shared.map(|group| group.into_iter().map(path).collect()).collect()
    }
}
