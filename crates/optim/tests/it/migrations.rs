//! Reports of migrated states.

use std::collections::BTreeMap;

use treedef::{Key, Leaf, Migration, Object, Path, Tree};
use treedef_optim::transform::{Transform, clip, ema, partition};
use treedef_optim::{Optimiser, State, adam, chain, schedules, sgd};

type Model = BTreeMap<String, Vec<f64>>;

fn model(fields: &[(&str, &[f64])]) -> Model {
    fields.iter().map(|(name, numbers)| ((*name).to_owned(), numbers.to_vec())).collect()
}

fn optimisers() -> Vec<Box<dyn Transform<f64>>> {
    let rate = || schedules::linear(0.1, 0.2, 10);
    let momentum = || sgd(rate()).momentum(0.5);
    vec![
        Box::new(adam(0.1)),
        Box::new(sgd(rate())),
        Box::new(momentum()),
        Box::new(chain!(clip(1.0), adam(0.1))),
        Box::new(chain!(ema(0.5), adam(0.1))),
        Box::new(chain!(adam(1.0), ema(0.9), momentum())),
        Box::new(adam(0.1).only("a")),
        Box::new(adam(0.1).freeze("a[1]")),
        Box::new(partition().group(["a"], adam(0.1)).rest(momentum())),
        Box::new(partition().group(["a[1]"], momentum()).rest(adam(0.1))),
        Box::new(adam(0.1).accumulate(2)),
        Box::new(momentum().accumulate(3)),
        Box::new(adam(0.1).lookahead(3, 0.5)),
        Box::new(momentum().apply_if_finite(2)),
    ]
}

fn number(leaf: &Leaf) -> f64 {
    let count = || leaf.as_u64().map(|count| count as f64);
    leaf.as_f64().or_else(count).unwrap()
}

/// The counts and the moments of a state, without its root, with their paths.
fn memory(state: &State<Model, f64>) -> Vec<(Path, f64)> {
    let tree = Tree::<Leaf>::of(state).unwrap();
    let named = tree.treedef().leaf_paths().zip(tree.leaves());
    let is_memory = |path: &Path| {
        let mut keys = path.keys().iter().filter_map(|key| match key {
            Key::Field(name) => Some(&**name),
            _ => None,
        });
        keys.next_back().is_some_and(|name| ["count", "leaves"].contains(&name))
    };
    let named = named.filter(|(path, _)| is_memory(path));
    named.map(|(path, leaf)| (path, number(leaf))).collect()
}

fn starts_with(path: &Path, start: &Path) -> bool {
    path.keys().starts_with(start.keys())
}

/// The rest of the numbers is what a new state has: of leaves that are not trained, and of counts.
fn check(report: &Migration, before: &[(Path, f64)], fresh: &[(Path, f64)], after: &[(Path, f64)]) {
    let lists = |paths: &[Path], path: &Path| paths.iter().any(|start| starts_with(path, start));
    for ((path, number), (_, fresh)) in after.iter().zip(fresh) {
        let is_origin = |from: &Path| before.iter().any(|(was, old)| was == from && old == number);
        let moved =
            report.renamed.iter().filter(|(_, to)| starts_with(path, to)).any(|(from, to)| {
                let below = path.keys().iter().skip(to.keys().len()).cloned();
                is_origin(&from.keys().iter().cloned().chain(below).collect())
            });
        if lists(&report.filled, path) {
            assert_eq!(number, fresh, "{path} is filled in {report:#}");
        } else {
            assert!(moved || is_origin(path) || number == fresh, "{path} is not in {report:#}");
        }
    }
    // No number is lost silently. No moment is 0 after two steps, but of leaves that are not trained.
    for (path, number) in before.iter().filter(|(_, number)| *number != 0.0) {
        let is_kept = after.iter().any(|(_, now)| now == number);
        assert!(is_kept || lists(&report.dropped, path), "{path} is not in {report:#}");
    }
    for (lists, memory) in [(&report.filled, after), (&report.dropped, before)] {
        for path in lists {
            assert!(
                memory.iter().any(|(leaf, _)| starts_with(leaf, path)),
                "{path} does not exist"
            );
        }
    }
}

/// For each pair of optimisers, and a model that stays, or changes.
#[test]
fn what_is_not_reported_was_kept() {
    let old = model(&[("a", &[1.0, 2.0]), ("b", &[3.0])]);
    let gradient = model(&[("a", &[0.5, 0.25]), ("b", &[0.125])]);
    let changed = model(&[("a", &[1.0, 2.0, 4.0]), ("c", &[5.0])]);
    for before in optimisers() {
        let mut state = before.init::<f64, _>(&old).unwrap();
        for _ in 0..2 {
            before.step(old.clone(), gradient.clone(), &mut state).unwrap();
        }
        let was = memory(&state);
        for after in optimisers() {
            for model in [&old, &changed] {
                let fresh = memory(&after.init::<f64, _>(model).unwrap());
                let (state, report) = state.clone().migrate(&after, model).unwrap();
                check(&report, &was, &fresh, &memory(&state));
            }
        }
        let (same, report) = state.clone().migrate(&before, &old).unwrap();
        assert!(report.is_empty(), "{report:#}");
        assert_eq!(memory(&same), was);
    }
}

#[test]
fn a_mean_of_gradients_of_another_shape_begins_again_for_all() {
    let model = |b: usize| (Object(vec![1.0; 2]), Object(vec![1.0; b]));
    let optimiser = sgd(1.0).accumulate(3);
    let mut state = optimiser.init::<Vec<f64>, _>(&model(2)).unwrap();
    optimiser.step(model(2), model(2), &mut state).unwrap();
    let (mut state, report) = state.migrate(&optimiser, &model(3)).unwrap();
    insta::assert_snapshot!(report, @r#"filled `.leaves["mean"]`; dropped `.count`, `.leaves["mean"]`"#);
    let mut moved = model(3);
    for _ in 0..3 {
        moved = optimiser.step(moved, model(3), &mut state).unwrap();
    }
    assert_eq!((&*moved.0, &*moved.1), (&vec![0.0; 2], &vec![0.0; 3]));
}
