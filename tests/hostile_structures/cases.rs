//! The process that runs the cases of some operations, one after the other.
//!
//! It reads a line for each operation, with the number of cases to leave out, and prints lines that
//! begin with `@`: a case before it runs, a panic, a failure after it, and the end.
//! If the process dies, these lines show the case that killed it.

use std::cell::{LazyCell, RefCell};
use std::fmt;
use std::io::BufRead;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;

use treedef::{NodeRef, Path, Pattern, Result, Tree, TreeDef, Value};
use treedef_testing::cases::stride;

use crate::structures::{self, MANY, Structure};
use crate::table;

/// Bytes that an error may print.
const ERROR_BYTES: usize = 2048;

/// The hostile things, and which case is next.
#[derive(Clone)]
pub(crate) struct Cases {
    all: Rc<All>,
    /// Cases that were counted, including those that were left out.
    counted: usize,
    next: usize,
    /// Those before it ran already.
    first: usize,
    /// All cases run, and nothing is printed.
    silent: bool,
}

/// Each is made when the first operation needs it.
struct All {
    structures: Late<Vec<Structure>>,
    values: Late<Vec<(String, Value)>>,
    paths: Late<Vec<(String, Path)>>,
    patterns: Late<Vec<(String, Pattern)>>,
    texts: Late<Vec<String>>,
}

type Late<T> = LazyCell<T, Box<dyn FnOnce() -> T>>;

fn late<T>(make: impl FnOnce() -> T + 'static) -> Late<T> {
    LazyCell::new(Box::new(make))
}

thread_local! {
    /// The message of the last panic, and its location.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the operations that standard input requests, one a line.
pub(crate) fn run_what_is_asked_for() {
    panic::set_hook(Box::new(|info| {
        println!("\n@panic\t{}", line(&info.to_string()));
        PANIC.with(|last| *last.borrow_mut() = info.to_string());
    }));
    let all = Rc::new(All {
        structures: late(structures::structures),
        values: late(structures::values),
        paths: late(structures::paths),
        patterns: late(structures::patterns),
        texts: late(structures::texts),
    });
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let (name, first) = line.split_once('\t').unwrap();
        let all = all.clone();
        let first = first.parse().unwrap();
        let mut cases = Cases { all, counted: 0, next: 0, first, silent: false };
        let row = table::rows().into_iter().find(|(row, _)| *row == name).unwrap();
        row.1(&mut cases);
        println!("\n@done");
    }
}

/// One line of a text.
fn line(text: &str) -> String {
    let mut line: String = text.escape_debug().take(300).collect();
    line = line.replace("\\\"", "\"");
    line
}

impl Cases {
    /// Small structures that no other round has, for an operation that is run silently.
    pub(crate) fn of_round(round: usize) -> Self {
        let all = Rc::new(All {
            structures: late(move || structures::of_round(round)),
            values: late(move || structures::values_of_round(round)),
            paths: late(move || vec![("path".to_owned(), structures::path_of_round(round))]),
            patterns: late(move || {
                let pattern = structures::path_of_round(round).to_string().parse().unwrap();
                vec![("pattern".to_owned(), pattern)]
            }),
            texts: late(move || {
                let structures = structures::of_round(round);
                structures.iter().map(|structure| structure.treedef.to_string()).collect()
            }),
        });
        Cases { all, counted: 0, next: 0, first: 0, silent: true }
    }

    fn case<T>(&mut self, name: impl fmt::Display, run: impl FnOnce() -> Result<T>) {
        if self.silent {
            drop(run());
            return;
        }
        let (counted, number) = (self.counted, self.next);
        self.counted += 1;
        if !counted.is_multiple_of(stride()) {
            return;
        }
        self.next += 1;
        if number < self.first {
            return;
        }
        println!("\n@case\t{}", line(&name.to_string()));
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            let error = run().err()?;
            let said = error.to_string();
            let long = said.len() > ERROR_BYTES;
            long.then(|| format!("an error of {} bytes: {:.100}…", said.len(), said))
        }));
        match outcome {
            Ok(None) => {}
            Ok(Some(said)) => println!("@failed\t{}", line(&said)),
            Err(_) => println!("@failed\t{}", line(&PANIC.with(|last| last.take()))),
        }
    }

    /// A case that needs no hostile structure from the lists.
    pub(crate) fn once<T>(&mut self, name: &str, run: impl FnOnce() -> Result<T>) {
        self.case(name, run);
    }

    pub(crate) fn structures<T>(&mut self, run: impl Fn(&TreeDef) -> Result<T>) {
        for structure in self.all.clone().structures.iter() {
            self.case(&structure.name, || run(&structure.treedef));
        }
    }

    pub(crate) fn pairs<T>(&mut self, run: impl Fn(&TreeDef, &TreeDef) -> Result<T>) {
        let all = self.all.clone();
        for a in all.structures.iter() {
            for b in all.structures.iter().filter(|b| a.goes_with(b)) {
                let name = format_args!("{} | {}", a.name, b.name);
                self.case(name, || run(&a.treedef, &b.treedef));
            }
        }
    }

    /// The root of each structure, its first and its last child, and a node 50 levels below.
    pub(crate) fn nodes<T>(&mut self, run: impl Fn(NodeRef<'_>) -> Result<T>) {
        for structure in self.all.clone().structures.iter() {
            let root = structure.treedef.root();
            let mut below = root;
            for _ in 0..50 {
                let down = below.child(0).filter(|child| child.num_children() > 0);
                below = down.unwrap_or(below);
            }
            let last = root.num_children().checked_sub(1).and_then(|last| root.child(last));
            let named = [
                ("root", Some(root)),
                ("first", root.child(0)),
                ("last", last),
                ("below", Some(below)),
            ];
            for (name, node) in named.into_iter().filter_map(|(name, node)| Some((name, node?))) {
                self.case(format_args!("{}, {name}", structure.name), || run(node));
            }
        }
    }

    pub(crate) fn structures_and_paths<T>(&mut self, run: impl Fn(&TreeDef, &Path) -> Result<T>) {
        let all = self.all.clone();
        for structure in all.structures.iter() {
            for (text, path) in all.paths.iter() {
                let name = format_args!("{} | path {text}", structure.name);
                self.case(name, || run(&structure.treedef, path));
            }
        }
    }

    /// A tree of each structure with this leaf everywhere, if that fits into memory.
    pub(crate) fn trees<L: Clone, T>(&mut self, leaf: &L, run: impl Fn(Tree<L>) -> Result<T>) {
        for structure in self.all.clone().structures.iter() {
            if fits::<L>(&structure.treedef) {
                let name = format_args!("{} of {}", structure.name, std::any::type_name::<L>());
                self.case(name, || run(tree(&structure.treedef, leaf)?));
            }
        }
    }

    pub(crate) fn trees_and_structures<L: Clone, T>(
        &mut self,
        leaf: &L,
        run: impl Fn(Tree<L>, &TreeDef) -> Result<T>,
    ) {
        let all = self.all.clone();
        for a in all.structures.iter().filter(|a| fits::<L>(&a.treedef)) {
            for b in all.structures.iter().filter(|b| a.goes_with(b)) {
                let kind = std::any::type_name::<L>();
                let name = format_args!("{} of {kind} | {}", a.name, b.name);
                self.case(name, || run(tree(&a.treedef, leaf)?, &b.treedef));
            }
        }
    }

    pub(crate) fn tree_pairs<A: Clone, B: Clone, T>(
        &mut self,
        leaf: &A,
        other: &B,
        run: impl Fn(Tree<A>, Tree<B>) -> Result<T>,
    ) {
        let all = self.all.clone();
        for a in all.structures.iter().filter(|a| fits::<A>(&a.treedef)) {
            let others = all.structures.iter().filter(|b| fits::<B>(&b.treedef));
            for b in others.filter(|b| a.goes_with(b)) {
                let kind = std::any::type_name::<A>();
                let name = format_args!("{} of {kind} | {}", a.name, b.name);
                self.case(name, || run(tree(&a.treedef, leaf)?, tree(&b.treedef, other)?));
            }
        }
    }

    pub(crate) fn trees_and_paths<L: Clone, T>(
        &mut self,
        leaf: &L,
        run: impl Fn(Tree<L>, &Path) -> Result<T>,
    ) {
        let all = self.all.clone();
        for structure in all.structures.iter().filter(|structure| fits::<L>(&structure.treedef)) {
            for (text, path) in all.paths.iter() {
                let name = format_args!("{} | path {text}", structure.name);
                self.case(name, || run(tree(&structure.treedef, leaf)?, path));
            }
        }
    }

    pub(crate) fn trees_and_patterns<L: Clone, T>(
        &mut self,
        leaf: &L,
        run: impl Fn(Tree<L>, &Pattern) -> Result<T>,
    ) {
        let all = self.all.clone();
        for structure in all.structures.iter().filter(|structure| fits::<L>(&structure.treedef)) {
            for (text, pattern) in all.patterns.iter() {
                let name = format_args!("{} | pattern {text}", structure.name);
                self.case(name, || run(tree(&structure.treedef, leaf)?, pattern));
            }
        }
    }

    pub(crate) fn values<T>(&mut self, run: impl Fn(&Value) -> Result<T>) {
        for (name, value) in self.all.clone().values.iter() {
            self.case(format_args!("value {name}"), || run(value));
        }
    }

    pub(crate) fn value_pairs<T>(&mut self, run: impl Fn(&Value, &Value) -> Result<T>) {
        let all = self.all.clone();
        for (name, value) in all.values.iter() {
            for (other_name, other) in all.values.iter() {
                let name = format_args!("value {name} | {other_name}");
                self.case(name, || run(value, other));
            }
        }
    }

    pub(crate) fn paths<T>(&mut self, run: impl Fn(&Path) -> Result<T>) {
        for (name, path) in self.all.clone().paths.iter() {
            self.case(format_args!("path {name}"), || run(path));
        }
    }

    pub(crate) fn patterns<T>(&mut self, run: impl Fn(&Pattern, &Path) -> Result<T>) {
        let all = self.all.clone();
        for (text, pattern) in all.patterns.iter() {
            for (name, path) in all.paths.iter() {
                let name = format_args!("pattern {text} | path {name}");
                self.case(name, || run(pattern, path));
            }
        }
    }

    pub(crate) fn texts<T>(&mut self, run: impl Fn(&str) -> Result<T>) {
        for text in self.all.clone().texts.iter() {
            let name: String = text.chars().take(60).collect();
            self.case(format_args!("text {name}"), || run(text));
        }
    }
}

impl Structure {
    /// Pairs structures of thousands of nodes with each other, and with structures that are compared quickly.
    fn goes_with(&self, other: &Structure) -> bool {
        let is_small = |structure: &Structure| structure.name.len() < 8;
        self.is_wide == other.is_wide || is_small(self) || is_small(other)
    }
}

fn fits<L>(treedef: &TreeDef) -> bool {
    size_of::<L>() == 0 || treedef.num_leaves() <= MANY
}

/// A tree of leaves without memory may have more leaves than a walk could visit; it may be refused.
fn tree<L: Clone>(treedef: &TreeDef, leaf: &L) -> Result<Tree<L>> {
    Tree::new(treedef.clone(), vec![leaf.clone(); treedef.num_leaves()])
}
