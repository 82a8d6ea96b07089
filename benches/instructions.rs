//! `cargo bench -p treedef-benches --bench instructions`: counts the instructions of each walk with
//! valgrind, and compares them with `instructions.tsv`.
//!
//! Times on a shared machine differ by a fifth from run to run, instructions by less than a hundredth. A row is a
//! workload and an operation; its figure is the instructions a leaf, after three warm calls. If a figure is not within
//! 3 % of the file, the program fails: `-- bless` writes the counts into the file, for a commit that changes it on
//! purpose. Other arguments are texts: only rows whose name contains one are counted, and nothing is compared. The figures
//! are of one compiler and one architecture, which are in the first line of the file.
//!
//! For a profile: `valgrind --tool=callgrind --toggle-collect='*::counted' BINARY run WORKLOAD OPERATION`.

#[path = "workloads/mod.rs"]
mod workloads;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::hint::black_box;
use std::process::{Command, ExitCode};

use serde::de::DeserializeOwned;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};
use treedef::{Flattener, Leaf, TreeDef, flatten, flatten_as, unflatten};
use workloads::Unit;
use workloads::generated::{One, list};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.tsv");

/// How far a figure may be from the one in the file.
const TOLERANCE: f64 = 0.03;

/// How often an operation is called before it is counted: the third one finds all that is kept between calls.
const WARM: usize = 3;

/// The length of the long vectors.
const LONG: i32 = 100_000;

/// Each workload, with its operations.
const ROWS: &[(&str, &[&str])] = &[
    ("net", NUMBERS),
    ("small", NUMBERS),
    ("orbit", NUMBERS),
    ("mlp", NUMBERS),
    ("mlp", &["unflatten_f32"]),
    ("particles", NUMBERS),
    ("particles", &["unflatten_f32"]),
    ("wide", NUMBERS),
    ("rows", NUMBERS),
    ("rows", &["unflatten_f32"]),
    ("doubles", NUMBERS),
    ("doubles", &["unflatten_f32"]),
    ("singles", NUMBERS),
    ("singles", &["flatten_as f32", "flatten_like f32", "unflatten_f32"]),
    ("blocks", NUMBERS),
    ("few", NUMBERS),
    ("singly", &["flatten_as"]),
    ("integers", &["flatten", "flatten_as i64", "unflatten_i64"]),
    ("bytes", &["flatten", "flatten_as u8"]),
    ("bools", &["flatten", "flatten_as bool"]),
    ("counts", &["flatten", "unflatten_i32", "unflatten_i64", "unflatten_leaves"]),
    ("table", NUMBERS),
    ("objects", NUMBERS),
    ("enums", MIXED),
    ("text", MIXED),
    ("json", MIXED),
    ("pairs", MIXED),
    ("keys", NUMBERS),
    ("people", MIXED),
    ("docs", &["flatten"]),
    ("options", &["flatten"]),
    ("units", &["flatten"]),
    ("orders", &["flatten"]),
    ("flattened", &["flatten"]),
    ("nested", &["flatten"]),
    ("forms", &["flatten"]),
    ("others", &["flatten"]),
    ("ragged", &["flatten_as", "unflatten"]),
    ("u128", &["flatten", "unflatten_leaves"]),
    ("maps of options of maps", &["flatten"]),
    ("options of wrapped options", &["flatten"]),
    ("maps of options", &["flatten"]),
    ("boxed options", &["flatten"]),
    ("small", OTHERS),
    ("net", OTHERS),
    ("net", &["flatten_as rules", "flatten_like rules"]),
    ("after f32", &["flatten_as"]),
    ("people", OTHERS),
];

const NUMBERS: &[&str] =
    &["flatten", "flatten_as", "flatten_like", "unflatten", "unflatten_leaves"];
const MIXED: &[&str] = &["flatten", "flatten_like", "unflatten_leaves"];
/// With the option, and like a treedef that was read from its text.
const OTHERS: &[&str] = &["flatten none_is_leaf", "flatten_like loaded"];

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", workload, operation] => run(workload, operation),
        [] => return compare(),
        ["bless"] => {
            let rows = rows(&[]).map(|(row, figure)| line(&row, figure));
            let text =
                format!("# instructions a leaf, {}\n{}", platform(), rows.collect::<String>());
            std::fs::write(FILE, text).expect("the file is writable");
        }
        filters => rows(filters).for_each(|(row, figure)| print!("{}", line(&row, figure))),
    }
    ExitCode::SUCCESS
}

fn line(row: &str, figure: f64) -> String {
    format!("{row}\t{figure:.1}\n")
}

fn platform() -> String {
    let rustc = Command::new("rustc").arg("--version").output().expect("rustc runs");
    let rustc = String::from_utf8(rustc.stdout).expect("its version is a text");
    let rustc = rustc.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    format!("{}, {rustc}", std::env::consts::ARCH)
}

/// Counts all rows, and prints those that are not as in the file.
fn compare() -> ExitCode {
    let file = std::fs::read_to_string(FILE).expect("the file is there");
    let mut known: HashMap<&str, f64> = file
        .lines()
        .filter_map(|line| line.rsplit_once('\t'))
        .map(|(row, figure)| (row, figure.parse().expect("a figure")))
        .collect();
    let mut others = String::new();
    for (row, figure) in rows(&[]) {
        let expected = known.remove(&*row).unwrap_or(f64::NAN);
        println!("{row}\t{figure:.1}\t{expected:.1}");
        let is_as_expected = (figure - expected).abs() <= TOLERANCE * expected;
        if !is_as_expected {
            writeln!(others, "{row}: {figure:.1} instructions a leaf, not {expected:.1}")
                .expect("a text takes all");
        }
    }
    for row in known.keys() {
        writeln!(others, "{row}: only in the file").expect("a text takes all");
    }
    if others.is_empty() {
        return ExitCode::SUCCESS;
    }
    let file =
        file.lines().next().unwrap_or_default().trim_start_matches("# instructions a leaf, ");
    eprintln!(
        "{others}The file is of {file}; this is {}. If it is meant: `-- bless`, and commit the file.",
        platform()
    );
    ExitCode::FAILURE
}

/// The instructions a leaf of each row whose name contains one of the filters.
fn rows<'f>(filters: &'f [&str]) -> impl Iterator<Item = (String, f64)> + 'f {
    let rows = ROWS.iter().flat_map(|(workload, operations)| {
        operations.iter().map(move |operation| (*workload, *operation))
    });
    rows.map(|(workload, operation)| (format!("{workload} {operation}"), workload, operation))
        .filter(|(row, ..)| filters.is_empty() || filters.iter().any(|filter| row.contains(filter)))
        .map(|(row, workload, operation)| (row, count(workload, operation)))
}

/// Runs this program in valgrind for one row.
fn count(workload: &str, operation: &str) -> f64 {
    let own = std::env::current_exe().expect("the program has a path");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*::counted"])
        .arg(own)
        .args(["run", workload, operation])
        .output()
        .expect("valgrind runs: is it installed?");
    let (report, leaves) =
        (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let count = report.split("Collected :").nth(1).and_then(|rest| number(rest.lines().next()?));
    match (count, number(&leaves)) {
        (Some(count), Some(leaves)) if output.status.success() => count / leaves,
        _ => panic!("{workload} {operation}: {report}"),
    }
}

/// Where valgrind counts.
#[inline(never)]
fn counted(calls: usize, call: &mut dyn FnMut()) {
    for _ in 0..calls {
        call();
    }
}

/// Runs a row, and prints the number of leaves that all counted calls have.
fn run(workload: &str, operation: &str) {
    fn first<T: Clone>(all: Vec<T>, count: usize) -> Vec<T> {
        all[..count].to_vec()
    }
    match workload {
        "net" => numeric(&workloads::net(), operation),
        "small" => numeric(&workloads::small(), operation),
        "orbit" => numeric(&workloads::orbit(), operation),
        "mlp" => numeric(&workloads::mlp().layers[0], operation),
        "particles" => numeric(&workloads::particles(8_000), operation),
        "wide" => numeric(&first(workloads::wide(), 100), operation),
        "rows" => {
            numeric(&(0..1_000).map(|i| vec![f64::from(i); 8]).collect::<Vec<_>>(), operation)
        }
        "doubles" => numeric(&(0..LONG).map(f64::from).collect::<Vec<_>>(), operation),
        "singles" => numeric(&(0..LONG).map(|i| i as f32).collect::<Vec<_>>(), operation),
        "blocks" => {
            numeric(&(0..1_000).map(|i| vec![f64::from(i); 64]).collect::<Vec<_>>(), operation)
        }
        "few" => {
            let few = (0..2_000).map(|i| vec![f64::from(i); 1 + (i / 500) as usize]);
            numeric(&few.collect::<Vec<_>>(), operation)
        }
        "singly" => numeric(&Singly((0..LONG).map(f64::from).collect()), operation),
        "integers" => mixed(&(0..LONG).map(i64::from).collect::<Vec<_>>(), operation),
        "bytes" => mixed(&(0..LONG).map(|i| (i % 251) as u8).collect::<Vec<_>>(), operation),
        "bools" => mixed(&(0..LONG).map(|i| i % 3 == 0).collect::<Vec<_>>(), operation),
        "counts" => {
            mixed(&(0..100).map(|i| (i..i + 100).collect()).collect::<Vec<Vec<i32>>>(), operation)
        }
        // With one hasher all maps have one order.
        "table" => {
            let table = workloads::table().into_iter().collect::<BTreeMap<_, _>>();
            let table: HashMap<_, _, BuildHasherDefault<DefaultHasher>> =
                table.into_iter().take(1_000).collect();
            numeric(&table, operation);
        }
        "objects" => numeric(&first(workloads::objects(), 1_000), operation),
        "enums" => mixed(&first(workloads::enums(), 5_000), operation),
        "text" => mixed(&first(workloads::text(), 5_000), operation),
        "json" => mixed(
            &first(workloads::json()["records"].as_array().expect("an array").clone(), 2_000),
            operation,
        ),
        "pairs" => mixed(
            &(0..2_000).map(|i| (format!("k{i}"), f64::from(i))).collect::<Vec<_>>(),
            operation,
        ),
        // More compound keys than a thread keeps.
        "keys" => numeric(
            &(0..300).map(|i| ((i / 20, i % 20), f64::from(i))).collect::<BTreeMap<_, _>>(),
            operation,
        ),
        "people" => mixed(&people(2_000), operation),
        "docs" => documents(),
        "options" => {
            let numbers = (0..5_000).map(|i| (i % 3 != 0).then(|| f64::from(i)));
            varied(&numbers.collect::<Vec<_>>(), operation);
        }
        // Numbers beside them, because a unit variant has no leaf.
        "units" => {
            let units = [Unit::Metre, Unit::Second, Unit::Gram];
            let unit = |i: usize| (units[i * 7 % 5 % 3], 0.5);
            varied(&(0..5_000).map(unit).collect::<Vec<_>>(), operation);
        }
        "orders" => varied(&(0..1_000).map(Shuffled).collect::<Vec<_>>(), operation),
        "flattened" => {
            let extra = |i: usize| [("a", 1.0), ("b", 2.0)].into_iter().skip(i % 3).collect();
            let point = |i| Extended { x: 0.5, extra: extra(i) };
            varied(&(0..1_000).map(point).collect::<Vec<_>>(), operation);
        }
        "nested" => {
            let some =
                |i: usize| (!i.is_multiple_of(3)).then(|| (!i.is_multiple_of(4)).then_some(0.5));
            varied(&(0..5_000).map(some).collect::<Vec<_>>(), operation);
        }
        "forms" => varied(&(0..4_000).map(perhaps).collect::<Vec<_>>(), operation),
        // Maps without a common key.
        "others" => {
            let map = |i| (0..5).map(|key| (format!("{i} {key}"), 0.5)).collect();
            varied(&(0..1_000).map(map).collect::<Vec<BTreeMap<_, _>>>(), operation);
        }
        // The worst of `ratios -- generated`.
        "maps of options of maps" => {
            varied(&list::<BTreeMap<String, Option<BTreeMap<u32, Unit>>>>(), operation);
        }
        "options of wrapped options" => varied(&list::<Option<One<Option<i64>>>>(), operation),
        "maps of options" => varied(&list::<BTreeMap<u32, Option<bool>>>(), operation),
        "boxed options" => varied(&list::<[Box<Option<u8>>; 3]>(), operation),
        "ragged" => {
            let list = |i: usize| vec![0.5; i * 7 % 11];
            numeric(&(0..2_000).map(list).collect::<Vec<_>>(), operation);
        }
        "after f32" => {
            let layer = |i: u16| AfterF32 { b: 0.5, w: vec![f64::from(i); 16] };
            numeric(&(0..1_000).map(layer).collect::<Vec<_>>(), operation);
        }
        "u128" => mixed(&(0..5_000).collect::<Vec<u128>>(), operation),
        _ => panic!("no workload {workload}"),
    }
}

/// `Net` without the fields that are no parameters.
fn by_rules<T: Serialize>(net: &T) -> (Flattener, Vec<f64>, TreeDef) {
    let rules = Flattener::new().mark_static("lr").and_then(|rules| rules.mark_static("**.gain"));
    let flattener = rules.expect("two patterns");
    let (numbers, treedef) = flattener.flatten_as(net).expect("a net has both");
    (flattener, numbers, treedef)
}

/// A number of another kind before a list.
#[derive(Serialize, Deserialize)]
struct AfterF32 {
    b: f32,
    w: Vec<f64>,
}

/// Serializes its elements one by one, as `ndarray` does.
#[derive(Deserialize)]
#[serde(transparent)]
struct Singly(Vec<f64>);

impl Serialize for Singly {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.0.len()))?;
        self.0.iter().try_for_each(|number| seq.serialize_element(number))?;
        seq.end()
    }
}

#[derive(Serialize, Deserialize)]
struct Person {
    name: String,
    age: u8,
    mail: Option<String>,
    height: Option<f64>,
    tags: Vec<String>,
}

/// People with mostly different fields.
fn people(count: usize) -> Vec<Person> {
    let person = |i: usize| Person {
        name: format!("person {i}"),
        age: 20 + (i % 60) as u8,
        mail: (!i.is_multiple_of(3)).then(|| format!("{i}@example.org")),
        height: (i % 5 > 1).then_some(1.5),
        tags: (0..i % 4).map(|tag| format!("tag {tag}")).collect(),
    };
    (0..count).map(person).collect()
}

/// A map of five entries in one of many orders.
struct Shuffled(usize);

impl Serialize for Shuffled {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = ["height", "identity", "mass", "radius", "speed"];
        let mut rng = fastrand::Rng::with_seed(self.0 as u64);
        rng.shuffle(&mut keys);
        serializer.collect_map(keys.map(|key| (key, 0.5)))
    }
}

/// Six optional numbers, present in one of 20 patterns.
fn perhaps(i: usize) -> [Option<f64>; 6] {
    let present = fastrand::Rng::with_seed(i as u64).u8(12..32);
    [0, 1, 2, 3, 4, 5].map(|bit| (present >> bit & 1 == 1).then_some(0.5))
}

#[derive(Serialize)]
struct Extended {
    x: f64,
    #[serde(flatten)]
    extra: BTreeMap<&'static str, f64>,
}

/// A row of elements that vary. `serde_json` is there to compare.
fn varied<T: Serialize>(value: &T, operation: &str) {
    let (leaves, treedef) = flatten(value).expect("the workload flattens");
    // Of a list without a leaf, an element counts.
    let leaves = if leaves.is_empty() { treedef.root().num_children() } else { leaves.len() };
    match operation {
        "to_value" => repeat(leaves, || serde_json::to_value(black_box(value))),
        _ => repeat(leaves, || flatten(black_box(value))),
    }
}

/// Documents that all differ, flattened one after the other.
fn documents() {
    let all = workloads::json();
    let all = all["records"].as_array().expect("an array");
    let all: Vec<_> = all.iter().filter(|one| one.is_object()).take(300).collect();
    let count = |one| flatten(one).expect("the workload flattens").0.len();
    let leaves = all.iter().map(|one| count(*one)).sum();
    repeat(leaves, || all.iter().try_for_each(|one| flatten(black_box(*one)).map(drop)));
}

/// A row of a value whose leaves are all numbers.
fn numeric<T: Serialize + DeserializeOwned>(value: &T, operation: &str) {
    let (mut numbers, treedef) = flatten_as::<f64>(value).expect("the workload flattens");
    let count = numbers.len();
    match operation {
        "flatten_as" => repeat(count, || flatten_as::<f64>(black_box(value))),
        "flatten_as f32" => repeat(count, || flatten_as::<f32>(black_box(value))),
        "flatten_like f32" => {
            let mut numbers = flatten_as::<f32>(value).expect("the workload flattens").0;
            repeat(count, || treedef.flatten_like(black_box(value), &mut numbers));
        }
        "flatten_like" => repeat(count, || treedef.flatten_like(black_box(value), &mut numbers)),
        "flatten_as rules" => {
            let (flattener, numbers, _) = by_rules(value);
            repeat(numbers.len(), || flattener.flatten_as::<f64>(black_box(value)));
        }
        "flatten_like rules" => {
            let (flattener, mut numbers, treedef) = by_rules(value);
            repeat(numbers.len(), || {
                flattener.flatten_like(&treedef, black_box(value), &mut numbers)
            });
        }
        "unflatten" => repeat(count, || unflatten::<T>(&treedef, black_box(&numbers[..]))),
        "unflatten_f32" => {
            let numbers: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
            repeat(count, || unflatten::<T>(&treedef, black_box(&numbers[..])));
        }
        _ => mixed(value, operation),
    }
}

/// A row of a value with leaves of any kind.
fn mixed<T: Serialize + DeserializeOwned>(value: &T, operation: &str) {
    let (mut leaves, treedef) = flatten(value).expect("the workload flattens");
    let count = leaves.len();
    match operation {
        "flatten" => repeat(count, || flatten(black_box(value))),
        "flatten_like" => repeat(count, || treedef.flatten_like(black_box(value), &mut leaves)),
        "flatten_as i64" => repeat(count, || flatten_as::<i64>(black_box(value))),
        "flatten_as u8" => repeat(count, || flatten_as::<u8>(black_box(value))),
        "flatten_as bool" => repeat(count, || flatten_as::<bool>(black_box(value))),
        "flatten none_is_leaf" => {
            let flattener = Flattener::new().none_is_leaf(true);
            let count = flattener.flatten(value).expect("the workload flattens").0.len();
            repeat(count, || flattener.flatten(black_box(value)));
        }
        "flatten_like loaded" => {
            let loaded: TreeDef = treedef.to_string().parse().expect("the text of a treedef");
            repeat(count, || loaded.flatten_like(black_box(value), &mut leaves));
        }
        // The call consumes a clone, which counts.
        "unflatten_leaves" => {
            repeat(count, || unflatten::<T>(&treedef, black_box(&leaves).clone()))
        }
        "unflatten_i32" => {
            let integers: Vec<i32> = flatten_as(value).expect("integers").0;
            repeat(count, || unflatten::<T>(&treedef, black_box(&integers[..])));
        }
        "unflatten_i64" => {
            let integers: Vec<Leaf> = flatten(value).expect("integers").0;
            let integers: Vec<i64> = integers.iter().filter_map(Leaf::as_i64).collect();
            repeat(count, || unflatten::<T>(&treedef, black_box(&integers[..])));
        }
        _ => panic!("no operation {operation}"),
    }
}

fn repeat<R, E: std::fmt::Debug>(leaves: usize, mut call: impl FnMut() -> Result<R, E>) {
    let calls = calls(leaves);
    (0..WARM).for_each(|_| drop(black_box(call().expect("it succeeds"))));
    counted(calls, &mut || drop(black_box(call().expect("it succeeds"))));
    println!("{}", calls * leaves);
}

/// Enough calls to average out their differences.
fn calls(leaves: usize) -> usize {
    if leaves < 100 { 50 } else { 3 }
}
