//! `cargo bench -p treedef-benches --bench operations`: single operations, to see the effect of a change
//! on each.

#[path = "workloads/mod.rs"]
mod workloads;

use std::sync::Arc;

use divan::{Bencher, black_box};
use serde::{Deserialize, Serialize};
use treedef::{
    Flattener, Leaf, Path, TreeDef, flatten, flatten_as, flatten_objects, structure, unflatten,
    unflatten_objects,
};
use workloads::{Particle, Shape, Small};

fn main() {
    divan::main();
}

#[divan::bench_group]
mod small {
    use super::*;

    #[divan::bench]
    fn flatten_like(bencher: Bencher<'_, '_>) {
        let value = workloads::small();
        let (mut buffer, treedef) = flatten_as::<f64>(&value).expect("it flattens");
        bencher.bench_local(|| treedef.flatten_like(black_box(&value), &mut buffer));
    }

    #[divan::bench]
    fn flatten_as_the_last(bencher: Bencher<'_, '_>) {
        let value = workloads::small();
        bencher.bench_local(|| flatten_as::<f64>(black_box(&value)));
    }

    #[divan::bench]
    fn flatten_as_never_before(bencher: Bencher<'_, '_>) {
        let (value, once) = (workloads::small(), Flattener::new().serialize_once(true));
        bencher.bench_local(|| once.flatten_as::<f64>(black_box(&value)));
    }

    #[divan::bench]
    fn unflatten_numbers(bencher: Bencher<'_, '_>) {
        let (leaves, treedef) = flatten_as::<f64>(&workloads::small()).expect("it flattens");
        bencher.bench_local(|| unflatten::<Small>(&treedef, black_box(&leaves)));
    }
}

/// A model of 300 objects, each a pointer.
#[divan::bench_group]
mod objects {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Layer {
        #[serde(with = "treedef::object")]
        weight: Arc<f32>,
        #[serde(with = "treedef::object")]
        scale: Arc<f32>,
        #[serde(with = "treedef::object::option")]
        bias: Option<Arc<f32>>,
        dropout: f64,
    }

    fn model() -> Vec<Layer> {
        let object = |number| Arc::new(number);
        let bias = Some(object(0.0));
        let layer =
            |_| Layer { weight: object(1.0), scale: object(2.0), bias: bias.clone(), dropout: 0.1 };
        (0..100).map(layer).collect()
    }

    #[divan::bench]
    fn clone(bencher: Bencher<'_, '_>) {
        let (objects, _) = flatten_objects::<Arc<f32>>(&model()).expect("it flattens");
        bencher.bench_local(|| black_box(&objects).clone());
    }

    #[divan::bench]
    fn flatten(bencher: Bencher<'_, '_>) {
        let model = model();
        bencher.bench_local(|| flatten_objects::<Arc<f32>>(black_box(&model)));
    }

    #[divan::bench]
    fn flatten_like(bencher: Bencher<'_, '_>) {
        let (model, flattener) = (model(), Flattener::new());
        let (mut objects, treedef) = flatten_objects::<Arc<f32>>(&model).expect("it flattens");
        bencher.bench_local(|| {
            flattener.flatten_objects_like(&treedef, black_box(&model), &mut objects)
        });
    }

    #[divan::bench]
    fn unflatten(bencher: Bencher<'_, '_>) {
        let (objects, treedef) = flatten_objects::<Arc<f32>>(&model()).expect("it flattens");
        bencher
            .with_inputs(|| objects.clone())
            .bench_local_values(|objects| unflatten_objects::<Vec<Layer>, _>(&treedef, objects));
    }
}

/// Lookups among neighbours that all differ.
#[divan::bench_group]
mod among_20_000_different_siblings {
    use super::*;

    fn treedef() -> TreeDef {
        let rows: Vec<Option<u8>> = (0..20_000).map(|n| (n % 2 == 0).then_some(1)).collect();
        structure(&rows).expect("it flattens")
    }

    #[divan::bench]
    fn node(bencher: Bencher<'_, '_>) {
        let (treedef, path) = (treedef(), "[19998]".parse::<Path>().expect("it parses"));
        bencher.bench_local(|| treedef.node(black_box(&path)).is_ok());
    }

    #[divan::bench]
    fn leaf_path(bencher: Bencher<'_, '_>) {
        let treedef = treedef();
        bencher.bench_local(|| treedef.leaf_path(black_box(9_998)));
    }
}

/// The cost of a treedef for many values.
#[divan::bench_group]
mod treedef_of_particles {
    use super::*;

    fn treedef() -> TreeDef {
        structure(&workloads::particles(80_000)).expect("it flattens")
    }

    #[divan::bench]
    fn compare(bencher: Bencher<'_, '_>) {
        let (a, b) = (treedef(), treedef().to_string().parse::<TreeDef>().expect("it parses"));
        bencher.bench_local(|| black_box(&a) == black_box(&b));
    }

    #[divan::bench]
    fn print(bencher: Bencher<'_, '_>) {
        let treedef = treedef();
        bencher.bench_local(|| black_box(&treedef).to_string());
    }

    #[divan::bench]
    fn parse(bencher: Bencher<'_, '_>) {
        let text = treedef().to_string();
        bencher.bench_local(|| black_box(&text).parse::<TreeDef>());
    }

    #[divan::bench]
    fn leaf_path(bencher: Bencher<'_, '_>) {
        let treedef = treedef();
        bencher.bench_local(|| treedef.leaf_path(black_box(77_777)));
    }

    #[divan::bench]
    fn flatten_like_after_loading(bencher: Bencher<'_, '_>) {
        let value: Vec<Particle> = workloads::particles(80_000);
        let treedef: TreeDef = treedef().to_string().parse().expect("it parses");
        let mut buffer = Vec::<f64>::new();
        bencher.bench_local(|| treedef.flatten_like(black_box(&value), &mut buffer));
    }
}

/// Elements whose structures all differ from their neighbours: the cost of expecting equal ones.
#[divan::bench_group]
mod divergent {
    use super::*;

    fn alternating() -> Vec<Shape> {
        let shapes = [Shape::Circle(1.0), Shape::Box { w: 1.0, h: 2.0 }, Shape::Empty];
        shapes.into_iter().cycle().take(30_000).collect()
    }

    fn growing() -> Vec<Vec<[f64; 2]>> {
        (0..400).map(|length| vec![[1.0, 2.0]; length % 7 + 1]).collect()
    }

    /// Same to the very end, where each has something that the one before does not.
    fn late() -> Vec<([f64; 30], Option<f64>)> {
        (0..2_000).map(|i| ([0.5; 30], (i % 2 == 0).then_some(1.0))).collect()
    }

    fn compare<T: Serialize>(bencher: Bencher<'_, '_>, value: T, expecting: bool) {
        let flattener = Flattener::new().serialize_once(!expecting);
        bencher.bench_local(|| flattener.flatten_as::<Leaf>(black_box(&value)));
    }

    #[divan::bench(args = [false, true])]
    fn alternating_variants(bencher: Bencher<'_, '_>, expecting: bool) {
        compare(bencher, alternating(), expecting);
    }

    #[divan::bench(args = [false, true])]
    fn growing_sequences(bencher: Bencher<'_, '_>, expecting: bool) {
        compare(bencher, growing(), expecting);
    }

    #[divan::bench(args = [false, true])]
    fn late_differences(bencher: Bencher<'_, '_>, expecting: bool) {
        compare(bencher, late(), expecting);
    }

    #[divan::bench(args = [false, true])]
    fn document(bencher: Bencher<'_, '_>, expecting: bool) {
        compare(bencher, workloads::json(), expecting);
    }
}

/// Without a type: the leaves to which every value can be flattened.
#[divan::bench]
fn flatten_enums(bencher: Bencher<'_, '_>) {
    let value = workloads::enums();
    bencher.bench_local(|| flatten(black_box(&value)));
}

/// Ten megabytes of JSON lines with 50 structures, once sequences are folded.
#[divan::bench_group]
mod json_lines {
    use divan::counter::BytesCount;
    use serde::de::{Deserialize, DeserializeSeed, IgnoredAny};
    use serde_json::{Deserializer, Value, json};
    use treedef::Tree;
    use treedef_structures::Structures;

    use super::*;

    fn lines() -> String {
        let mut random = fastrand::Rng::with_seed(1);
        let mut text = String::new();
        while text.len() < 10_000_000 {
            let kind = random.usize(0..50);
            let tags: Vec<String> = (0..random.u8(0..8)).map(|tag| format!("tag {tag}")).collect();
            let user = json!({"name": format!("user {}", random.u32(..)), "age": random.u8(..)});
            let mut line =
                json!({"id": random.u64(..), "user": user, "score": random.f64(), "tags": tags});
            for field in (0..6).filter(|bit| kind >> bit & 1 == 1) {
                line[format!("field {field}")] = json!(format!("some text {}", random.u32(..)));
            }
            text += &format!("{line}\n");
        }
        text
    }

    /// Reads line by line.
    fn run(
        bencher: Bencher<'_, '_>,
        mut read: impl FnMut(&mut Deserializer<serde_json::de::StrRead<'_>>),
    ) {
        let text = lines();
        let bencher = bencher.counter(BytesCount::new(text.len()));
        bencher.bench_local(|| {
            black_box(&text).lines().for_each(|line| read(&mut Deserializer::from_str(line)));
        });
    }

    #[divan::bench(sample_count = 20)]
    fn read_nothing(bencher: Bencher<'_, '_>) {
        run(bencher, |json| drop(black_box(IgnoredAny::deserialize(json))));
    }

    #[divan::bench(sample_count = 20)]
    fn read_values(bencher: Bencher<'_, '_>) {
        run(bencher, |json| drop(black_box(Value::deserialize(json))));
    }

    #[divan::bench(sample_count = 20)]
    fn read_trees(bencher: Bencher<'_, '_>) {
        run(bencher, |json| drop(black_box(Tree::<Leaf>::deserialize(json))));
    }

    #[divan::bench(sample_count = 20)]
    fn count(bencher: Bencher<'_, '_>) {
        let mut structures = Structures::new();
        run(bencher, |json| drop(black_box(structures.seed().deserialize(json))));
    }

    #[divan::bench(sample_count = 20)]
    fn count_folded(bencher: Bencher<'_, '_>) {
        let mut structures = Structures::new().fold_lengths(true).fold_keys(100).fold_widths(true);
        run(bencher, |json| drop(black_box(structures.seed().deserialize(json))));
        assert_eq!(structures.by_count().map(|all| all.len()).ok(), Some(50));
    }
}

/// Elements that all differ from their neighbours in structure, of a type whose field was renamed.
#[divan::bench_group(sample_count = 5)]
mod irregular_100_000 {
    use super::*;
    use serde::Deserialize;
    use treedef::Tree;

    #[derive(Serialize, Clone)]
    enum Figure {
        Circle { r: f64, id: u32 },
        Square { side: f64, id: u32, tag: Option<u8> },
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename = "Figure")]
    enum Renamed {
        Circle {
            #[serde(alias = "r")]
            radius: f64,
            id: u32,
        },
        Square {
            side: f64,
            id: u32,
            tag: Option<u8>,
        },
    }

    fn figures() -> Vec<Figure> {
        let figure = |n: u32| match n % 2 {
            0 => Figure::Circle { r: f64::from(n), id: n },
            _ => {
                Figure::Square { side: f64::from(n), id: n, tag: n.is_multiple_of(3).then_some(7) }
            }
        };
        (0..100_000).map(figure).collect()
    }

    #[divan::bench]
    fn migrate(bencher: Bencher<'_, '_>) {
        let tree = Tree::of(&figures()).expect("it flattens");
        let migrated = |tree: Tree<Leaf>| tree.migrate::<Vec<Renamed>>();
        bencher.with_inputs(|| tree.clone()).bench_local_values(migrated);
    }

    /// One element in a thousand was removed.
    #[divan::bench]
    fn diff(bencher: Bencher<'_, '_>) {
        let old = figures();
        let kept = old.iter().enumerate().filter(|(at, _)| at % 1_000 != 500);
        let new: Vec<Figure> = kept.map(|(_, figure)| figure.clone()).collect();
        let (old, new) = (Tree::of(&old), Tree::of(&new));
        let (old, new) = (old.expect("it flattens"), new.expect("it flattens"));
        bencher.bench_local(|| black_box(&old).diff(&new));
    }
}
