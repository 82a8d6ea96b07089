//! Scripts of hostile `Deserialize` implementations.

use crate::hostile::Tape;
use crate::hostile::deserialize::hands_out_no_wrong_leaf;

use super::hold;

pub fn run(bytes: &[u8]) {
    hold(hands_out_no_wrong_leaf(Tape::of(bytes)));
}
