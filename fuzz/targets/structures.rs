//! Random structures that may stand for more leaves than a machine can count, and places in them.

use treedef::{Key, Limits, Path, Pattern, TreeDef};

use treedef_testing::plain::{Constant, Shape};
use treedef_testing::tape::Tape;

use super::checked;

/// How often something stands in a sequence.
const COUNTS: [usize; 14] = [
    2,
    0,
    1,
    3,
    7,
    100,
    1 << 16,
    1 << 20,
    1 << 32,
    1 << 40,
    1 << 60,
    usize::MAX / 2,
    usize::MAX - 1,
    usize::MAX,
];

/// What stands for more than its text lets one think.
const TEXTS: [&str; 12] = [
    "*",
    "[*, ()]",
    "[*; 1000]",
    "[(); 1099511627776]",
    "[*; 1099511627776]",
    "[*; 18446744073709551615]",
    "[(); 18446744073709551615]",
    "[[[[(); 1048576]; 1048576]; 1048576]; 1048576]",
    "([None; 4294967296], *, [(*, *); 4294967296])",
    "A { a: [*; 1048576], b: [[]; 1099511627776] }",
    "[{1: *, 2: [Some(None); 1000000]}; 1000000]",
    "E::V([static (1, 2); 1099511627776], *)",
];

const PATTERNS: [&str; 10] =
    ["**", "[*]", "**[0]", "*", ".a", "**.a", "**.*[*]", "**?", "**[1:3]", "**.{a,0}"];

/// A structure that may be of any size.
pub(super) fn structure(tape: &mut Tape) -> TreeDef {
    let shape = Shape::draw(tape, 4).sorted();
    let mut made =
        if tape.one_in(2) { shape.parsed("", tape.one_in(2)) } else { shape.constructed() };
    for _ in 0..tape.below(4) {
        made = grown(made, tape);
    }
    made
}

pub(super) fn count(tape: &mut Tape) -> usize {
    COUNTS[tape.below(COUNTS.len())]
}

fn huge(tape: &mut Tape) -> TreeDef {
    TEXTS[tape.below(TEXTS.len())].parse().unwrap()
}

/// The structure with something more, where that is possible.
pub(super) fn grown(treedef: TreeDef, tape: &mut Tape) -> TreeDef {
    let made = match tape.below(9) {
        0 => TreeDef::seq_of(&treedef, count(tape)),
        1 => format!("({treedef}; {})", count(tape)).parse(),
        2 => format!("E::V({treedef}, (); {})", count(tape)).parse(),
        3 => treedef.compose(&huge(tape)),
        4 => treedef.replace(place(&treedef, tape), &huge(tape)),
        5 => TreeDef::seq([treedef.clone(), huge(tape), treedef.clone()]),
        6 => huge(tape).compose(&treedef),
        7 => format!("#[{}] {treedef}", ["insertion", "compact"][tape.below(2)]).parse(),
        _ => Ok(treedef.clone().with_limits(limits(tape))),
    };
    checked(made).unwrap_or(treedef)
}

pub(super) fn limits(tape: &mut Tape) -> Limits {
    Limits {
        max_work: count(tape).min(1 << 16),
        max_depth: count(tape).min(1 << 16),
        ..Limits::default()
    }
}

/// The path of some node, or a path that leads nowhere.
pub(super) fn place(treedef: &TreeDef, tape: &mut Tape) -> Path {
    let (mut node, mut path) = (treedef.root(), Path::root());
    for _ in 0..tape.below(6) {
        let last = node.num_children().saturating_sub(1);
        let position = [0, last, last / 2, 1, usize::MAX][tape.below(5)];
        let (Some(key), Some(child)) = (node.key(position), node.child(position)) else { break };
        (node, path) = (child, path.child(key));
    }
    match tape.below(8) {
        0 => path.child(Key::Index(count(tape))),
        1 => path.child(Key::Position(count(tape))),
        2 => path.child(Key::Entry(Constant::draw(tape).value())),
        _ => path,
    }
}

pub(super) fn pattern(treedef: &TreeDef, tape: &mut Tape) -> Pattern {
    match tape.below(2 * PATTERNS.len()) {
        at if at < PATTERNS.len() => PATTERNS[at].parse().unwrap(),
        _ => place(treedef, tape).to_string().parse().unwrap(),
    }
}
