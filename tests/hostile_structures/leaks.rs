//! Every public operation frees its memory. After any number of rounds, each with structures of its
//! own, the number of live bytes is the same as before, except for bounded caches.

use std::alloc::System;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::thread;

use cap::Cap;
use serde::{Serialize, Serializer};
use treedef::{Flattener, Value};
use treedef_testing::cases::{all, cases};
use treedef_testing::leaks::{self, SLACK};

use crate::cases::Cases;
use crate::run::STARTED;
use crate::table::{self, Row};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// In a process of its own, as all threads of a process share an allocator.
#[test]
fn every_operation_gives_back_its_memory() {
    for name in ["in_rounds", "of_threads_that_end", "after_large_values"] {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("leaks::{name}"), "--ignored", "--nocapture"])
            .env(STARTED, "yes")
            .envs(Path::new("/dev/shm").is_dir().then_some(("TMPDIR", "/dev/shm"))) // files are quick
            .status();
        assert!(status.unwrap().success(), "{name}");
    }
}

fn is_started() -> bool {
    std::env::var_os(STARTED).is_some()
}

fn rows() -> Vec<Row> {
    let only = std::env::var("TREEDEF_ONLY").unwrap_or_default();
    table::rows().into_iter().filter(|(name, _)| name.contains(&only)).collect()
}

fn run(row: Row, round: usize) {
    row.1(&mut Cases::of_round(round));
}

/// How many more bytes are live after a number of calls.
fn growth(calls: impl FnOnce()) -> usize {
    let before = ALLOCATOR.allocated();
    calls();
    ALLOCATOR.allocated().saturating_sub(before)
}

#[test]
#[ignore = "started by `every_operation_gives_back_its_memory`"]
fn in_rounds() {
    if !is_started() {
        return;
    }
    let rounds = cases(40) as usize; // a leak of 52 bytes a call exceeds the slack
    let live = || ALLOCATOR.allocated();
    let grows = |row: &Row| {
        let growth = leaks::growth(live, rounds, |round| run(*row, round))?;
        Some(format!("{}: {growth} bytes in {rounds} rounds", row.0))
    };
    let leaks: Vec<String> = rows().iter().filter_map(grows).collect();
    assert!(leaks.is_empty(), "not given back:\n{}", leaks.join("\n"));
}

/// The caches of a thread are freed at its end.
#[test]
#[ignore = "started by `every_operation_gives_back_its_memory`"]
fn of_threads_that_end() {
    if !is_started() {
        return;
    }
    let (all, threads) = (rows(), 64);
    let round = |round: usize| {
        thread::scope(|scope| {
            let spawn = |thread| {
                let rows = all.iter().skip(thread).step_by(threads);
                scope.spawn(move || rows.for_each(|row| run(*row, threads * round + thread)))
            };
            let started: Vec<_> = (0..threads).map(spawn).collect();
            // A scope waits only for the closures, a join also for the values that a thread drops at its end.
            started.into_iter().for_each(|thread| thread.join().unwrap());
        });
    };
    round(0);
    let growth = growth(|| (1..cases(8).max(3) as usize).for_each(round));
    assert!(growth <= SLACK, "{growth} bytes are not given back");
}

/// Less than the 4.5 MiB on the page about speed: no walk here puts leaves into a slice, for which a thread keeps up to
/// 512 KiB more.
const MOST_KEPT: usize = 4 << 20;

#[derive(Serialize)]
enum Side {
    Left(u8),
    Right { x: f64 },
}

/// A value that becomes a static, a key or an opaque leaf.
struct Marked<T>(T);

impl<T: Serialize> Serialize for Marked<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        treedef::as_static(&self.0, serializer)
    }
}

/// The number of large values of one kind. Four exceed the bound, too.
fn times() -> usize {
    if all() { 20 } else { 4 }
}

/// Walks a value in all ways, often enough to be remembered.
fn walk(value: &impl Serialize) {
    for _ in 0..3 {
        let (mut leaves, treedef) = treedef::flatten(value).unwrap();
        treedef.flatten_like(value, &mut leaves).unwrap();
        drop(Value::of(value));
    }
}

#[test]
#[ignore = "started by `every_operation_gives_back_its_memory`"]
fn after_large_values() {
    if !is_started() {
        return;
    }
    let walks: [(&str, fn()); 11] = [
        ("variants", || {
            let side = |i| if i % 3 == 0 { Side::Left(1) } else { Side::Right { x: 0.5 } };
            walk(&(0..100_000).map(side).collect::<Vec<_>>());
        }),
        ("keys", || walk(&(0..100_000).map(|i| (i.to_string(), i)).collect::<BTreeMap<_, _>>())),
        ("compound keys", || {
            walk(&(0..20_000).map(|i| ((i, [i; 3]), i)).collect::<BTreeMap<_, _>>());
        }),
        ("statics", || (0..times()).for_each(|i| walk(&Marked("x".repeat(2_000_000 + i))))),
        ("a static of many parts", || {
            (0..times()).for_each(|i| walk(&Marked((0..20_000 + i).collect::<Vec<_>>())));
        }),
        ("a long key", || {
            (0..times()).for_each(|i| walk(&BTreeMap::from([("k".repeat(2_000_000 + i), 1)])));
        }),
        ("keys beside a static by a rule", || {
            let keys = (0..100_000).map(|i| (i.to_string(), i)).collect::<BTreeMap<_, _>>();
            let flattener = Flattener::new().mark_static(".1").unwrap();
            let value = (keys, "adam");
            let (mut leaves, treedef) = flattener.flatten(&value).unwrap();
            (0..3).for_each(|_| flattener.flatten_like(&treedef, &value, &mut leaves).unwrap());
        }),
        ("statics that are ignored", || {
            let flattener = Flattener::new().ignore_statics(true);
            let (mut leaves, treedef) =
                flattener.flatten(&(Marked("x".repeat(8_000_000)), 1)).unwrap();
            let value = (Marked(String::new()), 2);
            (0..3).for_each(|_| flattener.flatten_like(&treedef, &value, &mut leaves).unwrap());
        }),
        ("few words for many nodes", || {
            for size in 281..281 + times() {
                let row = |i| (0..size).map(move |j| ((i + j) % 2 == 0).then_some(0.5)).collect();
                walk(&(0..size).map(row).collect::<Vec<Vec<_>>>());
            }
        }),
        ("few words for many nodes of a value", || {
            let pair = |inside: String| format!("[{inside}, null, {inside}, null, {inside}]");
            for size in 0..times() {
                let inside = format!("[{}]", ["{}"; 5][..size.min(5)].join(","));
                let document = (0..10).fold(inside, |inside, _| pair(inside));
                drop(serde_json::from_str::<Value>(&document).unwrap());
            }
        }),
        ("statics by a rule", || {
            for rule in [".0", ".1", ".2"] {
                let flattener = Flattener::new().mark_static(rule).unwrap();
                let value = ("x".repeat(2_000_000), vec![0.5; 1_000_000], [1; 9]);
                let (mut leaves, treedef) = flattener.flatten(&value).unwrap();
                (0..3).for_each(|_| flattener.flatten_like(&treedef, &value, &mut leaves).unwrap());
            }
        }),
    ];
    for (name, walk) in walks {
        let kept = thread::spawn(move || growth(walk)).join().unwrap();
        assert!(kept <= MOST_KEPT, "{name}: a thread keeps {kept} bytes");
    }
}
