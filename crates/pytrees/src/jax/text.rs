//! Structures and paths as JAX prints them.
//!
//! Source: `PyTreeDef::ToString` in jaxlib's `pytree.cc`, and `keystr` in `jax.tree_util`.

use std::fmt::Display;

use treedef::TreeDef;

use crate::error::Result;
use crate::lower::{Lowered, Lowering};
use crate::py_key::{NameBytes, Notation, PyDisplay};
use crate::pytree::PyTree;

/// The structure as `str(jax.tree_util.tree_structure(value))` prints it.
///
/// # Errors
///
/// See [`python::literal`](crate::python::literal).
///
/// ```
/// use treedef_pytrees::jax;
///
/// let treedef = treedef::structure(&(vec![Some((1, "a")), None], [("w", 0.5)]))?;
/// assert_eq!(jax::text(&treedef)?.data, "PyTreeDef(([(*, *), None], ((*, *),)))");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn text(treedef: &TreeDef) -> Result<Lowered<String>> {
    let (tree, order, statics) = Lowering::new().lower_sorted(treedef, |_| None)?;
    let text = format!("PyTreeDef({})", PyDisplay(&tree, Notation::Repr));
    Ok(Lowered::new(text, order, statics, treedef))
}

/// The path of each leaf as `jax.tree_util.keystr` prints it, in the order in which JAX flattens
/// them.
///
/// # Errors
///
/// See [`text`]. Also returns an error when the paths have more than 2²⁸ bytes in total.
///
/// ```
/// use std::collections::HashMap;
/// use treedef_pytrees::jax;
///
/// let model = HashMap::from([("w", vec![0.5, 1.5]), ("b", vec![2.5])]);
/// let (leaves, treedef) = treedef::flatten(&model)?;
/// let paths = jax::keystrs(&treedef)?;
/// assert_eq!(paths.data, ["['b'][0]", "['w'][0]", "['w'][1]"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn keystrs(treedef: &TreeDef) -> Result<Lowered<Vec<String>>> {
    let (tree, order, statics) = Lowering::new().lower_sorted(treedef, |_| None)?;
    let mut paths =
        KeystrPrinter { path: String::new(), all: Vec::new(), bytes: NameBytes::default() };
    paths.add(&tree)?;
    Ok(Lowered::new(paths.all, order, statics, treedef))
}

struct KeystrPrinter {
    path: String,
    all: Vec<String>,
    /// The total number of bytes.
    bytes: NameBytes,
}

impl KeystrPrinter {
    fn add(&mut self, tree: &PyTree) -> Result<()> {
        match tree {
            PyTree::Leaf(_) => {
                self.bytes.spend(self.path.len(), "paths")?;
                self.all.push(self.path.clone());
            }
            PyTree::None => {}
            PyTree::Tuple(children) | PyTree::List(children) => {
                for (index, child) in children.iter().enumerate() {
                    self.add_child(index, child)?;
                }
            }
            PyTree::Dict(entries) => {
                for (key, child) in entries {
                    self.add_child(PyDisplay(key, Notation::Repr), child)?;
                }
            }
            PyTree::Custom { inside, .. } => self.add(inside)?,
        }
        Ok(())
    }

    fn add_child(&mut self, key: impl Display, child: &PyTree) -> Result<()> {
        let length = self.path.len();
        self.path.push_str(&format!("[{key}]"));
        self.add(child)?;
        self.path.truncate(length);
        Ok(())
    }
}
