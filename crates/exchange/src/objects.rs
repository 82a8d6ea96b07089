//! Trees of objects, such as the tensors of a framework, as named tensors and back.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use treedef::{Tree, TreeDef};

use crate::error::{ErrorKind, Result, quoted};
use crate::export::Export;
use crate::report::LoadReport;
use crate::source::{Source, Stored};
use crate::structure::{write_renames, write_structure};
use crate::tensor::{Tensor, Tensors};

impl Export {
    /// The tensors of a tree of [objects](treedef::object), by the names of their paths. `tensor`
    /// gives an object as a tensor, which may borrow the numbers. The metadata has no structure.
    ///
    /// # Errors
    ///
    /// Returns the first error of `tensor`, with the path of its leaf, and an error when two paths
    /// have the same name.
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// use serde::{Deserialize, Serialize};
    /// use treedef::Tree;
    /// use treedef_exchange::{Dtype, Error, Export, Tensor};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Linear {
    ///     #[serde(with = "treedef::object")]
    ///     w: Rc<[u8]>, // stands for a tensor of your framework
    ///     dropout: f64,
    /// }
    ///
    /// let model = vec![Linear { w: [1, 2].into(), dropout: 0.1 }];
    /// let tree = Tree::<Rc<[u8]>>::of_objects(&model)?;
    /// let export = Export::new();
    /// let tensors =
    ///     export.objects(&tree, |object| Tensor::new(Dtype::U8, vec![object.len()], &**object))?;
    /// assert_eq!(tensors.get("0.w").unwrap().to_string(), "u8[2]");
    ///
    /// let read = |_: &Rc<[u8]>, tensor: Tensor<'_>| Ok::<_, Error>(tensor.bytes().into());
    /// let tree = export.objects_like(&tree, &tensors, read)?;
    /// assert_eq!(*tree.into_objects::<Vec<Linear>>()?[0].w, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn objects<'o, 'a, O, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        &self,
        tree: &'o Tree<O>,
        mut tensor: impl FnMut(&'o O) -> Result<Tensor<'a>, E>,
    ) -> Result<Tensors<'a>> {
        let names = self.names_of(tree.treedef())?;
        let tensors = tree.as_ref().try_map(&mut tensor)?;
        let (_, tensors) = tensors.into_parts();
        Tensors::new(names.into_iter().zip(tensors))
    }

    /// The tensors of a tree of objects as a source, whose numbers `stored` reads when they are asked for,
    /// with the structure in the metadata: [`Loader::objects`](crate::Loader::objects) reads the tree back.
    /// `stored` is given the name of an object. Objects with one identity are tied: stored once.
    ///
    /// # Errors
    ///
    /// As [`objects`](Self::objects), and when the structure is too large to be written.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use treedef::{Object, Tree};
    /// use treedef_exchange::{Descriptor, Dtype, Error, Export, Loader, Stored};
    ///
    /// type Bytes = Arc<[u8]>; // stands for a tensor of your framework
    /// let shared: Bytes = [1, 2].into();
    /// let value = (Object(shared.clone()), 0.5, vec![Object(shared)]);
    /// let tree = Tree::<Bytes>::of_objects(&value)?;
    ///
    /// let stored = |name: &str, object: &Bytes| {
    ///     let (descriptor, object) = (Descriptor::new(name, Dtype::U8, [2]), object.clone());
    ///     Stored::read_from(descriptor, move |at, bytes| {
    ///         bytes.copy_from_slice(&object[at as usize..][..bytes.len()]);
    ///         Ok(())
    ///     })
    /// };
    /// let source = Export::new().object_source(&tree, |object| object.as_ptr() as usize, stored)?;
    /// assert_eq!(source.aliases().collect::<Vec<_>>(), [("2.0", "0")]);
    ///
    /// let read = |stored: &Stored<'_>| Ok::<_, Error>(Bytes::from(&*stored.read_bytes()?));
    /// let (first, half, list) = Loader::new()
    ///     .objects(&source, read)?
    ///     .into_objects::<(Object<Bytes>, f64, Vec<Object<Bytes>>)>()?;
    /// assert_eq!((&*first.0, half, &*list[0].0), (&[1, 2][..], 0.5, &[1, 2][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn object_source<'a, O, K: Hash + Eq, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        &self,
        tree: &Tree<O>,
        identity: impl Fn(&O) -> K,
        mut stored: impl FnMut(&str, &O) -> Result<Stored<'a>, E>,
    ) -> Result<Source<'a>> {
        let names = self.names_of(tree.treedef())?;
        let (mut first, mut metadata) = (HashMap::new(), Vec::new());
        let (mut tensors, mut at) = (Vec::new(), names.iter());
        tree.as_ref().try_map(|object| -> Result<(), E> {
            let Some(name) = at.next() else { return Ok(()) }; // there is one for each leaf
            match first.entry(identity(object)) {
                Entry::Occupied(same) => metadata.push((name.clone(), String::clone(same.get()))),
                Entry::Vacant(free) => {
                    free.insert(name.clone());
                    tensors.push(stored(name, object)?);
                }
            }
            Ok(())
        })?;
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

    /// Reads the objects of a tree by their names. `object` makes each from the one that is there and
    /// the tensor of its name, so it can compare shapes, and put the new one on the same device. One
    /// tensor is in memory at a time, if `source` is a file.
    ///
    /// # Errors
    ///
    /// Returns an error when a name is missing or a tensor is not used: all of them, as
    /// [`ErrorKind::Load`]. Also the first error of `object`, with the path of its leaf.
    pub fn objects_like<'s, O, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        &self,
        like: &Tree<O>,
        source: impl Into<Source<'s>>,
        mut object: impl FnMut(&O, Tensor<'s>) -> Result<O, E>,
    ) -> Result<Tree<O>> {
        let (source, names) = (source.into(), self.names_of(like.treedef())?);
        let mut report = LoadReport::default();
        let missing = names.iter().filter(|name| source.get(name).is_none());
        report.missing.extend(missing.map(|name| (name.clone(), "an object".to_owned())));
        let known: HashSet<&str> = names.iter().map(String::as_str).collect();
        for stored in source.iter().filter(|stored| !known.contains(stored.name())) {
            let descriptor = stored.descriptor();
            report.dropped.push((stored.name().to_owned(), descriptor.to_string()));
        }
        if !report.is_exact() {
            return Err(ErrorKind::Load(Box::new(report)).into());
        }
        let mut names = names.into_iter();
        let read = |old: &O| -> Result<O, Box<dyn std::error::Error + Send + Sync>> {
            let name = names.next().unwrap_or_default(); // there is one for each leaf
            let stored = source.get(&name).ok_or("the tensor is gone")?;
            object(old, stored.read()?).map_err(Into::into)
        };
        Ok(like.as_ref().try_map(read)?)
    }

    /// The names of all leaves, in order.
    pub(crate) fn names_of(&self, treedef: &TreeDef) -> Result<Vec<String>> {
        let mut namer = self.namer(treedef)?;
        let paths = treedef.leaf_paths();
        paths.map(|path| Ok(namer.name(&path, &[])?.0)).collect()
    }
}
