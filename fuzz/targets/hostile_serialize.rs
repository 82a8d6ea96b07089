//! Scripts of hostile `Serialize` implementations.

use treedef_testing::hostile::Tape;
use treedef_testing::hostile::serialize::{
    emits_in_order_of_insertion, emits_none_as_a_leaf, errs_or_emits,
};

use super::{choice, hold};

pub fn run(bytes: &[u8]) {
    let (choice, tape) = choice(bytes, 4);
    let tape = Tape::of(tape);
    match choice {
        0 | 1 => hold(errs_or_emits(tape)),
        2 => hold(emits_in_order_of_insertion(tape)),
        _ => hold(emits_none_as_a_leaf(tape)),
    }
}
