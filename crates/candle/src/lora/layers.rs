//! The layers that PEFT supports.

use candle_core::{Result, Tensor};
use treedef::{Path, TreeDef};

use crate::parts::plain_error;

/// The layer that a weight belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    Linear,
    Embedding,
    Convolution,
}

/// Whether it is a matrix, or a kernel: not a bias, and not part of a norm.
pub(super) fn is_weight(tensor: &Tensor) -> bool {
    tensor.rank() >= 2 && tensor.dtype().is_float()
}

impl Layer {
    /// The layer around a weight.
    pub(super) fn of(treedef: &TreeDef, path: &Path, weight: &Tensor) -> Result<Self> {
        let around = path.parent().unwrap_or_default();
        let name = treedef.node(&around).ok().and_then(|node| node.name()).unwrap_or_default();
        let refused = |why: &str| {
            let is = format!("{}{:?}", weight.dtype().as_str(), weight.dims());
            Err(plain_error(format_args!(
                "PEFT has no adapter for `{path}`, which is {is}{why} (leave it out of the pattern)"
            )))
        };
        match (name, weight.rank()) {
            ("Embedding", 2) => Ok(Layer::Embedding),
            // PEFT adapts the `weight` of a module, and a recurrent one has others.
            ("Gru" | "Lstm", _) => refused(&format!(" of `{name}`")),
            (_, 2) => Ok(Layer::Linear),
            ("Conv1d", 3) | ("Conv2d", 4) => {
                // PEFT cannot merge groups, and its own convolution has no dilation.
                for option in ["groups", "dilation"] {
                    let found = treedef.node(&*format!("{around}.options.{option}")).ok();
                    let value = found.and_then(|node| node.static_value()?.as_leaf()?.as_u64());
                    if let Some(value) = value.filter(|value| *value != 1) {
                        return refused(&format!(" with `{option}` = {value}"));
                    }
                }
                Ok(Layer::Convolution)
            }
            ("", _) => refused(""),
            _ => refused(&format!(" of `{name}`")),
        }
    }
}
