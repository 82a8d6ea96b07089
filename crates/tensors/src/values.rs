//! The elements of a tensor as a tree, for all types.

use treedef::{Flattener, Leaf, Tree, TreeDef};

use crate::error::{ErrorKind, Result, quoted};
use crate::numpy_type::NumpyType;
use crate::source::StoredTensor;

impl StoredTensor<'_> {
    /// Reads the elements as a tree. Numbers are one leaf, an array; floats of at most 8 bits become `f32`.
    /// Strings and dates of numpy are strings in nested sequences.
    ///
    /// # Errors
    ///
    /// See [`read_bytes`](Self::read_bytes). Also returns an error when the type of the elements
    /// cannot be read: see [`Descriptor::unread`](crate::Descriptor::unread).
    ///
    /// ```
    /// use treedef_tensors::npy;
    ///
    /// let header = "{'descr': '<M8[D]', 'fortran_order': False, 'shape': (2,), }";
    /// let start = [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..]].concat();
    /// let days = [0i64, 19_000].map(i64::to_le_bytes);
    /// let file = [&start, header.as_bytes(), days.as_flattened()].concat();
    ///
    /// let source = npy::from_bytes(&file)?; // `numpy.array(["1970-01-01", "2022-01-08"], "M8[D]")`
    /// let stored = source.iter().next().unwrap();
    /// assert_eq!(stored.descriptor().to_string(), "datetime64[D][2]");
    /// assert_eq!(stored.tree()?.to_string(), r#"["1970-01-01", "2022-01-08"]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tree(&self) -> Result<Tree<Leaf>> {
        let Some(numpy) = self.descriptor().numpy() else {
            return Ok(Flattener::new().arrays(true).tree(&self.widened().read()?)?);
        };
        let leaves = self.elements(numpy)?;
        let shape = if leaves.is_empty() { &[0] } else { self.descriptor().shape() };
        let seq = |of: TreeDef, size: &usize| TreeDef::seq_of(&of, *size);
        let treedef = shape.iter().rev().try_fold(TreeDef::leaf(), seq)?;
        Ok(Tree::new(treedef, leaves)?)
    }

    /// The elements that are not numbers, in row-major order.
    pub(crate) fn elements(&self, numpy: &NumpyType) -> Result<Vec<Leaf>> {
        if let Some(why) = self.descriptor().unread() {
            let what = format!("{} is {}: {why}", quoted(self.name()), self.descriptor());
            return Err(ErrorKind::Unsupported(what).into());
        }
        let bytes = self.read_bytes()?;
        // Without bytes there are no elements, because types without bytes are not read.
        let leaves = bytes.chunks_exact(numpy.size.max(1)).map(|element| {
            let wrong = |what| ErrorKind::Unsupported(format!("{}: {what}", quoted(self.name())));
            Ok(numpy.leaf(element).map_err(wrong)?)
        });
        leaves.collect()
    }
}
