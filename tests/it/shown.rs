//! The README and the tour show their real output.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::Serialize;

thread_local! {
    static PRINTED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// In the place of the one of std, for the modules below.
macro_rules! println {
    () => { $crate::shown::print("") };
    ($($text:tt)*) => { $crate::shown::print(&format!($($text)*)) };
}

fn print(line: &str) {
    PRINTED.with_borrow_mut(|printed| *printed += &format!("{line}\n"));
}

/// The result of a function, and its output.
fn printed<T>(run: impl FnOnce() -> T) -> (T, String) {
    (run(), PRINTED.take())
}

#[cfg(feature = "persist")]
mod readme {
    include!("shown/readme.rs");

    pub(super) fn run() {
        main().unwrap();
    }
}

#[cfg(all(feature = "persist", feature = "diff"))]
#[path = "../../examples/tour.rs"]
#[allow(dead_code, reason = "the test has a part for each screen")]
mod tour;

#[test]
#[cfg(feature = "persist")]
fn the_readme_prints_what_its_comments_say() {
    let program = include_str!("shown/readme.rs");
    let readme = include_str!("../../README.md");
    let (_, code) = program.split_once("\n\n").unwrap();
    assert!(readme.contains(&format!("```rust\n{code}```\n")), "README.md has another program");
    let said = code.lines().filter(|line| line.contains("println!"));
    let said: String =
        said.map(|line| line.split_once("; // ").unwrap().1.to_owned() + "\n").collect();
    assert_eq!(printed(readme::run).1, said);
}

#[derive(Serialize)]
enum Shape {
    Circle { r: f64 },
}

#[derive(Serialize)]
struct Rgb(u8, u8, u8);

/// Each row of the table: the expression, and the flattened value.
macro_rules! treedefs {
    ($($value:expr;)*) => { [$((stringify!($value), treedef::structure(&$value).unwrap().to_string())),*] };
}

#[test]
fn the_readme_shows_treedefs_as_they_are_printed() {
    let readme = include_str!("../../README.md");
    for (value, treedef) in treedefs! {
        vec![0.5; 1_000];
        (Some("a"), None::<u8>);
        BTreeMap::from([("lr", 0.1), ("wd", 0.0)]);
        Shape::Circle { r: 2.0 };
        Rgb(255, 0, 0);
    } {
        let row = format!("| `{value}` | `{treedef}` |");
        assert!(readme.contains(&row), "README.md has another row than {row}");
    }
}

#[test]
#[cfg(all(feature = "persist", feature = "diff"))]
fn the_tour_fits_two_screens() {
    let (model, short) = printed(|| tour::short().unwrap());
    let ((), long) = printed(|| tour::long(&model).unwrap());
    assert!(short.lines().count() <= 40 && long.lines().count() <= 40);
    insta::assert_snapshot!(short, @r##"
    THE STRUCTURE: equal layers are stored once, and everything but floats is static
    Model {
      name: static "fox",
      epoch: static 7u64,
      layers: [Layer { w: ((*, *); 2), b: Some(*) }; 12],
      head: Layer { w: ((*, *); 2), b: None },
    }

    THE LEAVES: one flat vector for an optimiser, a GPU, a C library
    64 × f64; `.head` is 60..64; 13 is `.layers[2].w.1.1`

    A STEP of an optimiser that knows only slices, on the head
    [0.5, 1.5, 3.0, 4.0]

    THE MODEL BACK, with its types and its name
    fox, head.w: [[0.5, 1.5], [3.0, 4.0]]

    WHAT CHANGED: a report, which is also a patch
    4 changes
    ~ .epoch: 7u64 → 8u64
    ~ .layers[2].b: Some(0.25) → None
    ~ .head.w.0.0: 1.0 → 0.5
    ~ .head.w.0.1: 2.0 → 1.5

    A FILE: later releases read it, and damage is found
    1244 bytes; loaded, it is equal: true

    AN ERROR: the type has changed since
    missing field `dropout`; here are `w`, `b` at `.layers[0]` (renamed? `#[serde(alias = "b")]`; new? `#[serde(default)]`)
    "##);
    insta::assert_snapshot!(long, @r##"
    PATTERNS: the sum of all weights, then without those of the head
    **.w.**: 33
    .layers[*].w.**: 24

    EDITS by path: one more layer, and biases of zero
    [Layer { w: ((*, *); 2), b: Some(*) }; 2, Layer { w: ((*, *); 2), b: None }, Layer { w: ((*, *); 2), b: Some(*) }; 10]

    A RULE for a type of which you may change nothing: a layer is one leaf
    Model { name: *, epoch: *, layers: [*; 12], head: * }

    ONE LEAF FOR A PART: rates of learning
    68 rates for 68 leaves

    OBJECTS as leaves, without a copy of their numbers
    OnDevice { w: *, scale: static 0.5 }, the same tensor: true
    its scale is 0.5

    A KEY: what is compiled for a structure is compiled once
    2 structures of 3 batches
    "##);
}
