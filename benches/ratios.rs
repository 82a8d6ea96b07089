//! `cargo bench -p treedef-benches --bench ratios`: one table, treedef beside the alternatives, in one
//! run.
//!
//! Inputs are opaque to the optimiser. The competitors of a row alternate, so that other work of the machine
//! affects all alike. A figure is the median over the rounds; a ratio the median of the ratios within each
//! round. `cargo bench -p treedef-benches --bench ratios -- mlp` runs the
//! workloads whose name contains `mlp`, `-- generated` lists of types that were drawn at random. With `--tsv` it prints only lines of workload, operation, ns per leaf and ratio
//! to bincode, with tabs between, for `peers/peers.py`.

#[path = "workloads/mod.rs"]
mod workloads;

use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bincode::config::{Configuration, Fixint, LittleEndian};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Leaf, LeafType, flatten, flatten_as, unflatten};
use workloads::{Mlp, Net, Particle, Small, Wide};

const FIXED: Configuration<LittleEndian, Fixint> =
    bincode::config::standard().with_fixed_int_encoding();

/// The minimum time of one measurement, and their number.
const MEASUREMENT: Duration = Duration::from_millis(4);
const ROUNDS: usize = 15;

fn main() {
    let filter =
        std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    if !tsv() {
        println!(
            "ns per leaf, medians of {ROUNDS} rounds; × is the ratio to bincode in the same rounds; serde_json is \
             `to_value` or `from_value`\n"
        );
        println!(
            "{:<32}{:<34}{:>9}{:>9}{:>11}{:>11}{:>12}{:>10}{:>13}",
            "workload",
            "operation",
            "ns",
            "×",
            "bincode",
            "by hand",
            "serde_json",
            "× it",
            "serde-value"
        );
    }
    let wanted = |name: &str| name.contains(&filter);
    if wanted("mlp") {
        numeric(
            "mlp",
            &workloads::mlp(),
            |value, out: &mut Vec<f32>| hand::mlp(value, out),
            hand::mlp_back,
        );
    }
    if wanted("particles") {
        let particles = workloads::particles(800_000);
        numeric(
            "particles",
            &particles,
            |value, out: &mut Vec<f64>| hand::particles(value, out),
            hand::particles_back,
        );
    }
    if wanted("27 numbers") {
        numeric(
            "27 numbers",
            &workloads::net(),
            |value, out: &mut Vec<f64>| hand::net(value, out),
            hand::net_back,
        );
    }
    if wanted("long") {
        // By hand, both ways are a clone.
        numeric(
            "long",
            &(0..10_000_000).map(f64::from).collect::<Vec<_>>(),
            |value, out: &mut Vec<f64>| *out = value.clone(),
            |_, leaves| leaves.to_vec(),
        );
    }
    if wanted("small") {
        numeric(
            "small",
            &workloads::small(),
            |value, out: &mut Vec<f64>| hand::small(value, out),
            hand::small_back,
        );
    }
    if wanted("wide") {
        numeric(
            "wide",
            &workloads::wide(),
            |value, out: &mut Vec<f64>| hand::wide(value, out),
            hand::wide_back,
        );
    }
    if wanted("maps") {
        numeric(
            "maps, one",
            &workloads::table(),
            |value, out: &mut Vec<f64>| hand::table(value, out),
            hand::table_back,
        );
        mixed("maps, many", &workloads::objects());
    }
    if wanted("enums") {
        mixed("enums", &workloads::enums());
    }
    if wanted("text") {
        mixed("text", &workloads::text());
    }
    if wanted("json") {
        mixed("json", &workloads::json());
    }
    if wanted("shapes") {
        workloads::shapes(&mut Contests);
    }
    // Alone, as it takes long.
    if filter == "generated" {
        workloads::generated::generated(&mut Contests);
    }
    if wanted("scale") {
        for magnitude in 3..=7 {
            scale(&format!("scale 10^{magnitude}"), &workloads::particles(10usize.pow(magnitude)));
        }
    }
}

/// Prints the time of each shape beside serde_json, both ways.
struct Contests;

impl workloads::Shapes for Contests {
    fn see<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: &T) {
        let (own, treedef) = flatten(value).expect("the workload flattens");
        // A value without a leaf counts as one of its elements.
        let elements = own.len().max(treedef.root().num_children());
        let (to_json, from_json) = json_runs(value);
        let flattened = run(|| flatten(black_box(value)));
        contest(name, elements, vec![("flatten", flattened)], [None, None, Some(to_json), None]);
        let back = run_with(|| own.clone(), |leaves| unflatten::<T>(&treedef, leaves));
        contest(name, elements, vec![("unflatten", back)], [None, None, Some(from_json), None]);
    }
}

/// Whether lines for another program are printed, rather than a table.
fn tsv() -> bool {
    std::env::args().any(|argument| argument == "--tsv")
}

/// A competitor: runs a number of times, and returns the duration. It runs once before, so that it does not pay for memory
/// that the previous one returned to the system.
type Run<'a> = Box<dyn FnMut(u64) -> Duration + 'a>;

fn run<'a, R>(mut once: impl FnMut() -> R + 'a) -> Run<'a> {
    Box::new(move |times| {
        black_box(once());
        let start = Instant::now();
        for _ in 0..times {
            black_box(once());
        }
        start.elapsed()
    })
}

/// As [`run`], for a function that consumes an input. Making the input is not timed.
fn run_with<'a, I, R>(
    mut input: impl FnMut() -> I + 'a,
    mut once: impl FnMut(I) -> R + 'a,
) -> Run<'a> {
    Box::new(move |times| {
        let inputs: Vec<I> = (0..times).map(|_| input()).collect();
        black_box(once(input()));
        let start = Instant::now();
        for input in inputs {
            black_box(once(input));
        }
        start.elapsed()
    })
}

/// Prints a row for each operation. `peers` are bincode, the hand-written loop, serde_json and serde-value.
fn contest(
    workload: &str,
    leaves: usize,
    operations: Vec<(&str, Run<'_>)>,
    peers: [Option<Run<'_>>; 4],
) {
    let (names, mut runs): (Vec<&str>, Vec<Option<Run<'_>>>) =
        operations.into_iter().map(|(name, run)| (name, Some(run))).unzip();
    runs.extend(peers);
    let times: Vec<u64> = runs
        .iter_mut()
        .map(|run| {
            let once = run.as_mut().map_or(Duration::ZERO, |run| run(1).min(run(1)));
            (MEASUREMENT.as_nanos() / once.as_nanos().max(1)).clamp(1, 100_000) as u64
        })
        .collect();
    let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); runs.len()];
    for _ in 0..ROUNDS {
        for ((run, times), measured) in runs.iter_mut().zip(&times).zip(&mut rounds) {
            let spent = run.as_mut().map(|run| run(*times).as_secs_f64() / *times as f64);
            measured.push(spent.map_or(f64::NAN, |spent| spent * 1e9 / leaves as f64));
        }
    }
    let (operations, peers) = rounds.split_at(names.len());
    let figure = |value: f64| if value.is_nan() { "–".to_owned() } else { format!("{value:.2}") };
    for (name, measured) in names.into_iter().zip(operations) {
        let ratio_to = |peer: &[f64]| -> f64 {
            median(&measured.iter().zip(peer).map(|(own, peer)| own / peer).collect::<Vec<f64>>())
        };
        let (to_bincode, to_json) = (ratio_to(&peers[0]), ratio_to(&peers[2]));
        if tsv() {
            println!("{workload}\t{name}\t{}\t{}", figure(median(measured)), figure(to_bincode));
            continue;
        }
        let workload = if workload.chars().count() < 32 {
            workload
        } else {
            println!("{workload}");
            ""
        };
        println!(
            "{workload:<32}{name:<34}{:>9}{:>9}{:>11}{:>11}{:>12}{:>10}{:>13}",
            figure(median(measured)),
            figure(to_bincode),
            figure(median(&peers[0])),
            figure(median(&peers[1])),
            figure(median(&peers[2])),
            figure(to_json),
            figure(median(&peers[3])),
        );
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// A value whose leaves are all of one kind.
fn numeric<T, L>(
    workload: &str,
    value: &T,
    by_hand: impl Fn(&T, &mut Vec<L>),
    back: impl Fn(&T, &[L]) -> T,
) where
    T: Serialize + DeserializeOwned,
    L: LeafType + Copy,
    Leaf: From<L>,
    for<'a> &'a [L]: treedef::Leaves,
{
    let (numbers, treedef) = flatten_as::<L>(value).expect("the workload flattens");
    let leaves = numbers.len();
    let (mut buffer, mut by_hand_buffer) = (numbers.clone(), Vec::new());
    let (encode, decode) = bincode_runs(value);
    let (to_json, from_json) = json_runs(value);
    let (to_value, from_value) = serde_value_runs(value);
    contest(
        workload,
        leaves,
        vec![
            (
                "flatten_like",
                run(|| {
                    treedef.flatten_like(black_box(value), &mut buffer).expect("the same structure")
                }),
            ),
            ("flatten_as", run(|| flatten_as::<L>(black_box(value)))),
            ("flatten", run(|| flatten(black_box(value)))),
            // The cost of the leaves alone: nothing is walked.
            ("a slice collected into leaves", run(|| collected(black_box(&numbers)))),
        ],
        [
            Some(encode),
            Some(run(|| {
                by_hand_buffer.clear();
                by_hand(black_box(value), &mut by_hand_buffer);
            })),
            Some(to_json),
            Some(to_value),
        ],
    );
    let (own, _) = flatten(value).expect("the workload flattens");
    contest(
        workload,
        leaves,
        vec![
            ("unflatten, numbers lent", run(|| unflatten::<T>(&treedef, black_box(&numbers[..])))),
            (
                "unflatten, leaves handed over",
                run_with(|| own.clone(), |leaves| unflatten::<T>(&treedef, leaves)),
            ),
        ],
        [
            Some(decode),
            Some(run(|| back(value, black_box(&numbers)))),
            Some(from_json),
            Some(from_value),
        ],
    );
}

fn collected<L: Copy>(numbers: &[L]) -> Vec<Leaf>
where
    Leaf: From<L>,
{
    numbers.iter().map(|&number| Leaf::from(number)).collect()
}

/// A value with leaves of any kind.
fn mixed<T: Serialize + DeserializeOwned>(workload: &str, value: &T) {
    let (own, treedef) = flatten(value).expect("the workload flattens");
    let leaves = own.len();
    let mut buffer: Vec<Leaf> = own.clone();
    let (encode, decode) = bincode_runs(value);
    let (to_json, from_json) = json_runs(value);
    let (to_value, from_value) = serde_value_runs(value);
    contest(
        workload,
        leaves,
        vec![
            (
                "flatten_like",
                run(|| {
                    treedef.flatten_like(black_box(value), &mut buffer).expect("the same structure")
                }),
            ),
            ("flatten", run(|| flatten(black_box(value)))),
        ],
        [Some(encode), None, Some(to_json), Some(to_value)],
    );
    contest(
        workload,
        leaves,
        vec![
            ("unflatten, leaves lent", run(|| unflatten::<T>(&treedef, black_box(&own)))),
            (
                "unflatten, leaves handed over",
                run_with(|| own.clone(), |leaves| unflatten::<T>(&treedef, leaves)),
            ),
        ],
        [Some(decode).filter(|_| workload != "json"), None, Some(from_json), Some(from_value)],
    );
}

fn scale(workload: &str, value: &Vec<Particle>) {
    let (numbers, treedef) = flatten_as::<f64>(value).expect("the workload flattens");
    let mut buffer = numbers.clone();
    let (encode, decode) = bincode_runs(value);
    let flattening = vec![
        (
            "flatten_like",
            run(|| {
                treedef.flatten_like(black_box(value), &mut buffer).expect("the same structure")
            }),
        ),
        ("flatten_as", run(|| flatten_as::<f64>(black_box(value)))),
    ];
    contest(workload, numbers.len(), flattening, [Some(encode), None, None, None]);
    let rebuilding = vec![(
        "unflatten, numbers lent",
        run(|| unflatten::<Vec<Particle>>(&treedef, black_box(&numbers))),
    )];
    contest(workload, numbers.len(), rebuilding, [Some(decode), None, None, None]);
}

fn bincode_runs<T: Serialize + DeserializeOwned>(value: &T) -> (Run<'_>, Run<'_>) {
    let bytes = bincode::serde::encode_to_vec(value, FIXED).expect("bincode encodes");
    let mut buffer = bytes.clone();
    (
        run(move || bincode::serde::encode_into_slice(black_box(value), &mut buffer, FIXED)),
        run(move || bincode::serde::decode_from_slice::<T, _>(black_box(&bytes), FIXED)),
    )
}

fn json_runs<T: Serialize + DeserializeOwned>(value: &T) -> (Run<'_>, Run<'_>) {
    let json = serde_json::to_value(value).expect("serde_json converts");
    (
        run(move || serde_json::to_value(black_box(value))),
        run_with(move || json.clone(), |json| serde_json::from_value::<T>(json)),
    )
}

fn serde_value_runs<T: Serialize + DeserializeOwned>(value: &T) -> (Run<'_>, Run<'_>) {
    let own = serde_value::to_value(value).expect("serde-value converts");
    (
        run(move || serde_value::to_value(black_box(value))),
        run_with(move || own.clone(), |own| T::deserialize(own)),
    )
}

/// The code that one would write without a library: a bound for every general one.
mod hand {
    use super::*;

    pub(crate) fn mlp(value: &Mlp, out: &mut Vec<f32>) {
        for layer in &value.layers {
            layer.w.iter().for_each(|row| out.extend_from_slice(row));
            out.extend_from_slice(&layer.b);
            out.push(layer.gain);
        }
    }

    pub(crate) fn mlp_back(shape: &Mlp, mut leaves: &[f32]) -> Mlp {
        let mut take = |n: usize| {
            let (taken, rest) = leaves.split_at(n);
            leaves = rest;
            taken.to_vec()
        };
        let layers = shape.layers.iter().map(|layer| workloads::Layer {
            w: layer.w.iter().map(|row| take(row.len())).collect(),
            b: take(layer.b.len()),
            gain: take(1)[0],
        });
        Mlp { layers: layers.collect() }
    }

    pub(crate) fn net(value: &Net, out: &mut Vec<f64>) {
        for layer in &value.layers {
            layer.w.iter().for_each(|row| out.extend_from_slice(row));
            out.extend_from_slice(&layer.b);
            out.push(layer.gain);
        }
        out.push(value.lr);
    }

    pub(crate) fn net_back(shape: &Net, mut leaves: &[f64]) -> Net {
        let mut take = |n: usize| {
            let (taken, rest) = leaves.split_at(n);
            leaves = rest;
            taken.to_vec()
        };
        let layers = shape.layers.iter().map(|layer| workloads::Dense {
            w: layer.w.iter().map(|row| take(row.len())).collect(),
            b: take(layer.b.len()),
            gain: take(1)[0],
        });
        Net { layers: layers.collect(), lr: take(1)[0] }
    }

    pub(crate) fn particles(value: &Vec<Particle>, out: &mut Vec<f64>) {
        for Particle { position, velocity, mass, charge } in value {
            out.extend_from_slice(position);
            out.extend_from_slice(velocity);
            out.extend([mass, charge]);
        }
    }

    pub(crate) fn particles_back(_: &Vec<Particle>, leaves: &[f64]) -> Vec<Particle> {
        let particle = |x: &[f64]| Particle {
            position: [x[0], x[1], x[2]],
            velocity: [x[3], x[4], x[5]],
            mass: x[6],
            charge: x[7],
        };
        leaves.chunks_exact(8).map(particle).collect()
    }

    pub(crate) fn small(value: &Small, out: &mut Vec<f64>) {
        out.extend(value.matrix.as_flattened());
        out.extend_from_slice(&value.bias);
        out.extend([value.prior.mean, value.prior.deviation, value.prior.weight]);
        out.extend_from_slice(&value.points);
        out.push(value.scale);
        out.extend(value.offset);
    }

    pub(crate) fn small_back(shape: &Small, leaves: &[f64]) -> Small {
        let mut next = leaves.iter().copied();
        let mut take = || next.next().unwrap_or_default();
        Small {
            matrix: std::array::from_fn(|_| std::array::from_fn(|_| take())),
            bias: std::array::from_fn(|_| take()),
            prior: workloads::Prior { mean: take(), deviation: take(), weight: take() },
            points: shape.points.iter().map(|_| take()).collect(),
            scale: take(),
            offset: shape.offset.map(|_| take()),
        }
    }

    pub(crate) fn wide(value: &[Wide], out: &mut Vec<f64>) {
        value.iter().for_each(|wide| out.extend(wide.numbers()));
    }

    pub(crate) fn wide_back(_: &Vec<Wide>, leaves: &[f64]) -> Vec<Wide> {
        leaves.as_chunks().0.iter().map(|numbers| Wide::from_numbers(*numbers)).collect()
    }

    pub(crate) fn table(value: &HashMap<String, [f64; 3]>, out: &mut Vec<f64>) {
        let mut entries: Vec<_> = value.iter().collect();
        entries.sort_by_key(|(key, _)| *key);
        entries.iter().for_each(|(_, numbers)| out.extend_from_slice(*numbers));
    }

    pub(crate) fn table_back(
        shape: &HashMap<String, [f64; 3]>,
        leaves: &[f64],
    ) -> HashMap<String, [f64; 3]> {
        let mut keys: Vec<_> = shape.keys().cloned().collect();
        keys.sort();
        keys.into_iter().zip(leaves.as_chunks::<3>().0.iter().copied()).collect()
    }
}
