//! Every public operation on structures, trees and values that are small to write down and huge to
//! walk.
//!
//! `structures` lists hostile structures, `table` has a row for each public operation, `source` finds
//! the required rows in the sources, `run` runs them in processes of their own, with little memory
//! and a deadline, and `cases` is the code of such a process.
//!
//! For example, the row `("TreeDef::compose", |cases| cases.pairs(TreeDef::compose))`:
//!
//! 1. `source` has found `pub fn compose` in an `impl TreeDef`, so this row has to be there.
//! 2. `run` starts this test binary again, with 4 GiB, and writes `TreeDef::compose` to it.
//! 3. That process composes each pair of structures, such as `[*; 18446744073709551615]` with
//!    itself. It prints `@case` and the name of the pair before each, and `@done` at the end.
//! 4. A result and a short error are both right. If the process dies or prints nothing for 20 s, the
//!    pair that it named last has failed, and a new process continues after it.
//!
//! `leaks` runs the same table round by round, each round with other structures, and counts the memory
//! that is not freed.
//!
//! `TREEDEF_ONLY=compose` runs the operations that have this in their names, `TREEDEF_DEADLINE=60`
//! sets the seconds for each.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]
#![cfg(unix)]

mod structures;
mod cases;
mod table;
mod source;
mod run;
mod leaks;

#[test]
fn every_operation_holds_the_limits() {
    let failures = run::all();
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_operation_has_a_row() {
    let wrong = source::compare(&source::public_operations(), &table::names());
    assert!(
        wrong.is_empty(),
        "tests/hostile_structures/table is not up to date:\n{}",
        wrong.join("\n")
    );
}

/// The process that [`run::all`] starts. In any other process, it does nothing.
#[test]
#[ignore = "started by `every_operation_holds_the_limits`"]
fn operations_that_are_asked_for() {
    if std::env::var_os(run::STARTED).is_some() {
        cases::run_what_is_asked_for();
    }
}
