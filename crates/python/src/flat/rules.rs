//! The rules for nodes and for the order of entries.

use pyo3::prelude::*;

use crate::error::{Error, ErrorKind, Result};

/// The rules that decide which objects are nodes or leaves of a pytree, and the order of the entries of a dict.
///
/// For both, `dict`, `list`, `tuple`, named tuples, `OrderedDict` and `defaultdict` are nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rules {
    /// As `jax.tree_util`: the entries of a dict are sorted by key, and `None` is a node without
    /// leaves. The classes that are registered with JAX are nodes, too: dataclasses, Equinox modules,
    /// structs of flax. All other objects are leaves.
    #[default]
    Jax,
    /// As `torch.utils._pytree`: the entries of a dict are in the order of insertion, which is part of
    /// the structure, and `None` is a leaf. A `deque` is a node. All other objects are leaves.
    Torch,
}

impl Rules {
    /// The name in Python.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rules::Jax => "jax",
            Rules::Torch => "torch",
        }
    }

    pub(crate) fn named(name: &str) -> Result<Self> {
        let all = [Rules::Jax, Rules::Torch];
        all.into_iter().find(|rules| rules.name() == name).ok_or_else(|| {
            let message = format!("expected the rules 'jax' or 'torch', found '{name}'");
            Error::new(ErrorKind::Value, message)
        })
    }
}

/// In Python, rules are their name.
impl<'py> FromPyObject<'_, 'py> for Rules {
    type Error = Error;

    fn extract(name: Borrowed<'_, 'py, PyAny>) -> Result<Self> {
        Rules::named(name.extract()?)
    }
}
