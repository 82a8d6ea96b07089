//! Scripts of hostile `Deserialize` implementations.

use treedef_testing::hostile::Tape;
use treedef_testing::hostile::deserialize::hands_out_no_wrong_leaf;

use super::{choice, hold};

pub fn run(bytes: &[u8]) {
    let (function, tape) = choice(bytes, 3);
    let function = usize::from(function);
    hold(hands_out_no_wrong_leaf(Tape::of(tape), function..function + 1));
}
