//! Trees of objects, such as the tensors of a framework, as named tensors.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use treedef::{Tree, TreeDef};

use crate::bug::bug;
use crate::error::{ErrorKind, Result, quoted};
use crate::export::Export;
use crate::source::{Source, StoredTensor};
use crate::structure::{is_of_file, write_renames, write_structure};

impl Export {
    /// The tensors of a tree of [objects](treedef::object), named by their paths, with the structure in the
    /// metadata. [`Loader::objects`](crate::Loader::objects) reads the tree back, and
    /// [`Loader::objects_like`](crate::Loader::objects_like) only the objects. `stored` returns the tensor
    /// of an object under a name: with [`StoredTensor::of`] one in memory, or with [`StoredTensor::read_from`] one that
    /// is read when it is written. Objects with one identity are tied: stored once.
    ///
    /// # Errors
    ///
    /// Returns the first error of `stored`, with the path of its leaf; an error when two paths have the same
    /// name; and when the structure is too large to be written.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use treedef::{Object, Tree};
    /// use treedef_tensors::{Dtype, Error, Export, Loader, StoredTensor, Tensor};
    ///
    /// type Bytes = Arc<[u8]>; // stands for a tensor of your framework
    /// let shared: Bytes = [1, 2].into();
    /// let value = (Object(shared.clone()), 0.5, vec![Object(shared)]);
    /// let tree = Tree::<Bytes>::of_objects(&value)?;
    ///
    /// let source = Export::new().objects(
    ///     &tree,
    ///     |object| object.as_ptr(),
    ///     |name, object| {
    ///         Ok::<_, Error>(StoredTensor::of(name, Tensor::new(Dtype::U8, vec![2], &**object)?))
    ///     },
    /// )?;
    /// assert_eq!(source.aliases().collect::<Vec<_>>(), [("2.0", "0")]);
    ///
    /// let read = |stored: &StoredTensor<'_>| Ok::<_, Error>(Bytes::from(&*stored.read_bytes()?));
    /// let (first, half, list) = Loader::new()
    ///     .objects(&source, read)?
    ///     .into_objects::<(Object<Bytes>, f64, Vec<Object<Bytes>>)>()?;
    /// assert_eq!((&*first.0, half, &*list[0].0), (&[1, 2][..], 0.5, &[1, 2][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn objects<'o, 'a, O, K: Hash + Eq, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        &self,
        tree: &'o Tree<O>,
        identity: impl Fn(&O) -> K,
        mut stored: impl FnMut(&str, &'o O) -> Result<StoredTensor<'a>, E>,
    ) -> Result<Source<'a>> {
        let names = self.names_of(tree.treedef())?;
        let (mut first, mut metadata) = (HashMap::new(), Vec::new());
        let (mut tensors, mut at) = (Vec::new(), names.iter());
        tree.as_ref().try_map(
            |object| -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
                let name = at.next().ok_or_else(|| bug!("a leaf has no name"))?;
                match first.entry(identity(object)) {
                    // A name that the metadata uses for something else is not an alias.
                    Entry::Occupied(_) if is_of_file(name) => {
                        tensors.push(stored(name, object).map_err(Into::into)?);
                    }
                    Entry::Occupied(same) => {
                        metadata.push((name.clone(), String::clone(same.get())))
                    }
                    Entry::Vacant(free) => {
                        free.insert(name.clone());
                        tensors.push(stored(name, object).map_err(Into::into)?);
                    }
                }
                Ok(())
            },
        )?;
        let mut seen = HashSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
            let what = format!("two objects have the name {}", quoted(name));
            return Err(ErrorKind::Malformed(what).into());
        }
        if self.writes_structure() {
            write_structure(tree.treedef(), &mut metadata)?;
            write_renames(self.renames(), &mut metadata)?;
        }
        Source::of(tensors, metadata)
    }

    /// The names of all leaves, in order.
    pub(crate) fn names_of(&self, treedef: &TreeDef) -> Result<Vec<String>> {
        let mut namer = self.namer(treedef)?;
        let paths = treedef.leaf_paths();
        paths.map(|path| Ok(namer.name(&path, &[])?.0)).collect()
    }
}
