//! Runs random cases, and has the comparisons for them.
//!
//! A case is a *tape* of random bytes. Each decision reads the next byte, so a shorter or smaller
//! tape is a simpler case, and a failure is shrunk by leaving out and lessening bytes. For example,
//! the test of `compose`:
//!
//! 1. `case.pair()` reads bytes, and draws the plain nodes `(*, [*])` and `Some(*)`.
//! 2. The model puts the second in the place of each leaf by a recursion: `(Some(*), [Some(*)])`.
//! 3. `case.treedef` makes treedefs of both, which are composed by the library.
//! 4. `case.gives_structure` compares the two: equal, printed and stored alike, or refused by both.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Mutex;

use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestCaseResult};
use treedef::{Error, Path, Tree, TreeDef, Value};

use crate::plain::build::reads_as;
use crate::plain::{Constant, Node, Shape};
use crate::tape::Tape;

/// Cases of each test.
const CASES: u32 = 100;

/// Bytes of a tape.
const LENGTH: usize = 160;

/// A random case: the decisions, and the values drawn by them.
pub(crate) struct Case {
    pub(crate) tape: Tape,
    /// Whether the entries of maps are in insertion order, for all structures of the case.
    pub(crate) insertion: bool,
    /// The drawn values, if they are printed.
    drawn: Option<Vec<String>>,
}

impl Case {
    fn of(bytes: &[u8], print: bool) -> Case {
        let mut tape = Tape::of(bytes);
        let insertion = tape.one_in(8);
        Case { tape, insertion, drawn: print.then(Vec::new) }
    }

    /// Puts a structure into the form in which it is stored.
    pub(crate) fn ordered<L: Clone + PartialEq>(&self, node: Node<L>) -> Node<L> {
        if self.insertion { node } else { node.sorted() }
    }

    fn print(&mut self, node: &Node<impl Debug + Clone + PartialEq>) {
        if let Some(drawn) = &mut self.drawn {
            drawn.push(format!("{} {:?}", node.structure().text(true), node.leaves()));
        }
    }

    pub(crate) fn note(&mut self, said: impl FnOnce() -> String) {
        if let Some(drawn) = &mut self.drawn {
            drawn.push(said());
        }
    }

    pub(crate) fn draw(&mut self, depth: usize) -> Shape {
        let drawn = Shape::draw(&mut self.tape, depth);
        let drawn = self.ordered(drawn);
        self.print(&drawn);
        drawn
    }

    /// A structure that has to do with another.
    pub(crate) fn relative(&mut self, of: &Shape) -> Shape {
        let drawn = of.relative(&mut self.tape);
        let drawn = self.ordered(drawn);
        self.print(&drawn);
        drawn
    }

    /// Two structures that have to do with each other.
    pub(crate) fn pair(&mut self) -> (Shape, Shape) {
        let first = self.draw(5);
        let second = self.relative(&first);
        (first, second)
    }

    /// The structure with small numbers as leaves, many of them equal.
    pub(crate) fn numbers(&mut self, of: &Shape) -> Node<i32> {
        let tree = of.map(&mut |()| self.tape.below(4) as i32);
        self.print(&tree);
        tree
    }

    /// The structure with the positions of the leaves for leaves.
    pub(crate) fn numbered(&self, of: &Shape) -> Node<i32> {
        let mut next = 0;
        of.map(&mut |()| {
            next += 1;
            next - 1
        })
    }

    /// A value that is not a scalar, or one.
    pub(crate) fn value(&mut self) -> Value {
        Constant::draw(&mut self.tape).value()
    }

    pub(crate) fn treedef(&self, of: &Shape) -> TreeDef {
        of.treedef(self.insertion)
    }

    pub(crate) fn tree<L: Clone + PartialEq>(&self, of: &Node<L>) -> Tree<L> {
        of.tree(self.insertion)
    }

    /// Whether a treedef has the structure of the model, and is stored and read as if it had been built at
    /// once.
    pub(crate) fn is_structure(&self, found: &TreeDef, expected: &Shape) -> TestCaseResult {
        let text = || expected.text(true);
        prop_assert_eq!(found, &self.treedef(expected), "expected {}", text());
        prop_assert!(reads_as(found.root(), expected), "{} is not {}", found, text());
        Ok(())
    }

    pub(crate) fn is_tree<L>(&self, found: &Tree<L>, expected: &Node<L>) -> TestCaseResult
    where
        L: Clone + PartialEq + Debug,
    {
        self.is_structure(found.treedef(), &expected.structure())?;
        prop_assert_eq!(found.leaves(), expected.leaves(), "in {}", found.treedef());
        Ok(())
    }

    /// Whether an operation has the result of the model, or fails where the model has none.
    pub(crate) fn gives<T: Debug, M: Debug>(
        &self,
        found: Result<T, Error>,
        expected: Option<M>,
        same: impl FnOnce(&T, &M) -> TestCaseResult,
    ) -> TestCaseResult {
        match (found, expected) {
            (Ok(found), Some(expected)) => same(&found, &expected),
            (Err(error), None) => is_short(&error),
            (found, expected) => {
                Err(TestCaseError::fail(format!("found {found:?}, expected {expected:?}")))
            }
        }
    }

    pub(crate) fn gives_structure(
        &self,
        found: Result<TreeDef, Error>,
        expected: Option<Shape>,
    ) -> TestCaseResult {
        self.gives(found, expected, |found, expected| self.is_structure(found, expected))
    }

    pub(crate) fn gives_tree<L: Clone + PartialEq + Debug>(
        &self,
        found: Result<Tree<L>, Error>,
        expected: Option<Node<L>>,
    ) -> TestCaseResult {
        self.gives(found, expected, |found, expected| self.is_tree(found, expected))
    }
}

pub(crate) fn is_short(error: &Error) -> TestCaseResult {
    let message = error.to_string();
    prop_assert!(message.len() <= 2048, "{} bytes: {}", message.len(), message);
    Ok(())
}

/// Whether a structure that the model does not know is one that can be written and read.
pub(crate) fn is_whole(treedef: &TreeDef) -> TestCaseResult {
    let text = treedef.to_string();
    let parsed = text.parse::<TreeDef>();
    prop_assert!(parsed.as_ref().is_ok_and(|parsed| parsed == treedef), "{}: {:?}", text, parsed);
    let loaded = TreeDef::from_bytes(&treedef.to_bytes().unwrap());
    prop_assert!(loaded.as_ref().is_ok_and(|loaded| loaded == treedef), "{}: {:?}", text, loaded);
    Ok(())
}

/// The path of some keys.
pub(crate) fn path(keys: &[treedef::Key]) -> Path {
    keys.iter().cloned().collect()
}

/// Runs a test on its cases.
pub(crate) fn cases(test: fn(&mut Case) -> TestCaseResult) {
    let count = treedef_testing::cases::cases(CASES);
    let first = std::env::var("TREEDEF_MODEL_SEED").map_or(0, |seed| seed.parse().unwrap());
    for seed in first..first + u64::from(count) {
        let mut random = fastrand::Rng::with_seed(seed);
        let bytes: Vec<u8> = (0..LENGTH).map(|_| random.u8(..)).collect();
        if outcome(test, &mut Case::of(&bytes, false)).is_err() {
            fail(test, seed, bytes);
        }
    }
}

/// The outcome of a case; a panic is a failure like others.
fn outcome(test: fn(&mut Case) -> TestCaseResult, case: &mut Case) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(|| test(case))) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => Err(match panic.downcast::<String>() {
            Ok(said) => format!("panicked: {said}"),
            Err(other) => format!("panicked: {:?}", other.downcast_ref::<&str>()),
        }),
    }
}

/// Prints a failure with a tape that is as short and simple as it gets.
fn fail(test: fn(&mut Case) -> TestCaseResult, seed: u64, bytes: Vec<u8>) -> ! {
    static ONE: Mutex<()> = Mutex::new(()); // the hook is that of the whole process
    let guard = ONE.lock();
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let bytes = shrunk(bytes, |bytes| outcome(test, &mut Case::of(bytes, false)).is_err());
    let mut case = Case::of(&bytes, true);
    let said = outcome(test, &mut case).unwrap_err();
    set_hook(hook);
    drop(guard);
    let drawn = case.drawn.unwrap_or_default().join("\n  ");
    let order = if case.insertion { ", in the order of insertion" } else { "" };
    panic!("seed {seed}{order}:\n  {drawn}\n{said}\ntape {bytes:?}");
}

/// Leaves out and lessens bytes for as long as the test fails.
fn shrunk(mut bytes: Vec<u8>, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut before = Vec::new();
    while before != bytes {
        before.clone_from(&bytes);
        for length in [64, 16, 4, 1] {
            let mut at = bytes.len();
            while at > 0 {
                at = at.saturating_sub(length);
                let mut shorter = bytes.clone();
                shorter.drain(at..(at + length).min(bytes.len()));
                if shorter.len() < bytes.len() && fails(&shorter) {
                    bytes = shorter;
                }
            }
        }
        for at in 0..bytes.len() {
            for byte in (0..bytes[at]).take(32) {
                let mut less = bytes.clone();
                less[at] = byte;
                if fails(&less) {
                    bytes = less;
                    break;
                }
            }
        }
    }
    bytes
}
