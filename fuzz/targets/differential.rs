//! The run-compressed encoding beside a plain tree.

use treedef_testing::hostile::Tape;
use treedef_testing::hostile::differential::{
    agrees, agrees_in_order_of_insertion, neighbours_agree, numbers_agree, values_agree,
};

use super::{choice, hold};

pub fn run(bytes: &[u8]) {
    let (choice, tape) = choice(bytes, 5);
    let tape = Tape::of(tape);
    match choice {
        0 => hold(agrees(tape)),
        1 => hold(neighbours_agree(tape)),
        2 => hold(agrees_in_order_of_insertion(tape)),
        3 => hold(values_agree(tape)),
        _ => hold(numbers_agree(tape)),
    }
}
