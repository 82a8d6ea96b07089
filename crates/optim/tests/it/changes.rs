//! A state that is read into another type, or by an optimiser with other selections.

use insta::assert_snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_optim::transform::{Transform, clip_by_global_norm, ema, partition, scale};
use treedef_optim::{Optimiser, State, adagrad, adam, chain, lion, rmsprop, schedules, sgd};

type Pair = [f64; 2];

/// The state after some steps, from a file.
fn saved<O: Optimiser + Transform<f64>>(optimiser: &O, steps: usize) -> State<Pair, f64> {
    let mut state = optimiser.init::<f64, _>(&[1.0, 1.0]).unwrap();
    (0..steps).for_each(|_| {
        optimiser.step([1.0, 1.0], [0.5, 0.25], &mut state).unwrap();
    });
    again(&state)
}

fn again<A: Serialize, B: DeserializeOwned>(value: &A) -> B {
    Tree::of(value).unwrap().into_typed().unwrap()
}

/// How far a step moves each number.
fn moved<O: Optimiser + Transform<f64>>(optimiser: &O, state: &mut State<Pair, f64>) -> Pair {
    let model = optimiser.step([1.0, 1.0], [0.5, 0.25], state).unwrap();
    model.map(|x| ((1.0 - x) * 1e6).round() / 1e6)
}

fn refused<O: Optimiser + Transform<f64>>(optimiser: &O, mut state: State<Pair, f64>) -> String {
    optimiser.step([1.0, 1.0], [0.5, 0.25], &mut state).unwrap_err().to_string()
}

#[test]
fn groups_in_another_order_do_not_mix_their_moments() {
    let [slow, fast] = [0.1, 0.2].map(|rate| sgd(rate).momentum(0.5));
    let groups = || partition().group([".0"], slow.clone()).group([".1"], fast.clone());
    let swapped = || partition().group([".1"], fast.clone()).group([".0"], slow.clone());
    assert_snapshot!(refused(&swapped(), saved(&groups(), 1)), @"`.0` is trained by the group `.1` in the state, but not in the optimiser (see `State::migrate`)");
    let other = partition().group([".1"], slow.clone()).group([".0"], fast.clone());
    assert_snapshot!(refused(&other, saved(&groups(), 1)), @"`.0` is trained by the group `.1` in the state, but not in the optimiser (see `State::migrate`)");
    let rest = partition().group([".1"], fast.clone()).rest(slow.clone());
    assert_snapshot!(refused(&rest, saved(&groups(), 1)), @"`.0` is trained by the group `.1` in the state, but not in the optimiser (see `State::migrate`)");
    let (mut state, report) = saved(&groups(), 1).migrate(&swapped(), &[1.0, 1.0]).unwrap();
    assert_snapshot!(report, @"renamed `.parts[1].parts[0]` to `.parts[0].parts[0]`, `.parts[0].parts[0]` to `.parts[1].parts[0]`");
    assert_eq!(moved(&swapped(), &mut state), moved(&groups(), &mut saved(&groups(), 1)));
    // The same in memory, and nothing was moved by the step that was refused.
    let mut state = groups().init::<f64, _>(&[1.0, 1.0]).unwrap();
    swapped().step([1.0, 1.0], [0.5, 0.25], &mut state).unwrap_err();
    assert_eq!(
        Tree::of(&state).unwrap(),
        Tree::of(&groups().init::<f64, _>(&[1.0, 1.0]).unwrap()).unwrap()
    );
}

/// Their counts are all that they have.
#[test]
fn groups_without_moments_keep_their_counts_apart() {
    let rate = || schedules::linear(0.0, 1.0, 10);
    let groups = || partition().group([".0"], sgd(rate())).group([".1"], sgd(0.1).momentum(0.0));
    let swapped = || partition().group([".1"], sgd(0.1).momentum(0.0)).group([".0"], sgd(rate()));
    let mut in_memory = groups().init::<f64, _>(&[1.0, 1.0]).unwrap();
    for _ in 0..3 {
        groups().step([1.0, 1.0], [0.5, 0.25], &mut in_memory).unwrap();
    }
    let (mut state, _) = in_memory.migrate(&swapped(), &[1.0, 1.0]).unwrap();
    let (mut read, _) = saved(&groups(), 3).migrate(&swapped(), &[1.0, 1.0]).unwrap();
    assert_eq!(moved(&swapped(), &mut read), moved(&swapped(), &mut state));
    // Schedules alone.
    let groups = || partition().group([".0"], sgd(rate())).group([".1"], sgd(0.1));
    let swapped = || partition().group([".1"], sgd(0.1)).group([".0"], sgd(rate()));
    let (mut read, report) = saved(&groups(), 3).migrate(&swapped(), &[1.0, 1.0]).unwrap();
    assert_snapshot!(report, @"renamed `.parts[1].parts[0]` to `.parts[0].parts[0]`, `.parts[0].parts[0]` to `.parts[1].parts[0]`");
    assert_eq!(moved(&swapped(), &mut read), moved(&groups(), &mut saved(&groups(), 3)));
}

/// A number from -1 to 1, which nothing larger fits into.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
struct Cosine(f64);

impl From<Cosine> for f64 {
    fn from(Cosine(x): Cosine) -> f64 {
        x
    }
}

impl TryFrom<f64> for Cosine {
    type Error = String;

    fn try_from(x: f64) -> Result<Self, String> {
        if x.abs() <= 1.0 { Ok(Cosine(x)) } else { Err(format!("{x} is not in [-1, 1]")) }
    }
}

/// A file has the moments, and nothing else that the type would have to hold.
#[test]
fn a_type_that_holds_its_moments_is_saved() {
    let mut state = adam(0.1).init::<f64, _>(&vec![Cosine(0.5); 1_000]).unwrap();
    let gradients = vec![Cosine(0.25); 1_000];
    adam(0.1).step(vec![Cosine(0.5); 1_000], gradients, &mut state).unwrap();
    let tree = Tree::of(&state).unwrap();
    assert!(tree.leaves().len() < 2_010, "{}", tree.leaves().len());
    let read: State<Vec<Cosine>, f64> = again(&state);
    assert_eq!(Tree::of(&read).unwrap(), tree);
}

#[test]
fn a_leaf_of_another_group_takes_its_moments_along() {
    let groups = || partition().group([".0"], sgd(0.1)).rest(adam(0.1));
    let state = saved(&groups(), 1);
    let all = adam(0.1);
    let (mut state, report) = state.migrate(&all, &[1.0, 1.0]).unwrap();
    assert_snapshot!(report, @r#"filled `.leaves["mu"].0`, `.leaves["nu"].0`; dropped `.parts[0].parts[0].count`; renamed `.parts[1].parts[0]` to the root"#);
    assert_eq!(moved(&all, &mut state)[1], moved(&groups(), &mut saved(&groups(), 1))[1]);
    // From the rest into a group.
    let both = || partition().group([".0"], adam(0.1)).rest(adam(0.1));
    let all = || partition().group(["*"], adam(0.1)).rest(adam(0.1));
    let (mut state, report) = saved(&both(), 3).migrate(&all(), &[1.0, 1.0]).unwrap();
    assert_snapshot!(report, @"renamed `.parts[1].parts[0]` to `.parts[0].parts[0]`");
    assert_eq!(moved(&all(), &mut state), [0.1, 0.1]);
    // Counts that differ do not come together: one of both begins afresh.
    let (state, _) = saved(&groups(), 1).migrate(&both(), &[1.0, 1.0]).unwrap();
    let (_, report) = state.migrate(&adam(0.1), &[1.0, 1.0]).unwrap();
    assert_snapshot!(report, @r#"filled `.leaves["mu"].0`, `.leaves["nu"].0`; dropped `.parts[0].parts[0].leaves["mu"]`, `.parts[0].parts[0].leaves["nu"]`; renamed `.parts[1].parts[0]` to the root"#);
}

#[test]
fn an_only_that_becomes_wider_begins_afresh_where_it_is_new() {
    let narrow = adam(0.1).only(".0");
    assert_snapshot!(refused(&adam(0.1).only("*"), saved(&narrow, 1)), @"`.1` is trained inside of `only` in the optimiser, but not in the state (see `State::migrate`)");
    assert_snapshot!(refused(&adam(0.1).freeze(".1"), saved(&adam(0.1).freeze(".0"), 1)), @"`.0` is trained outside of `freeze` in the optimiser, but not in the state (see `State::migrate`)");
    let (state, report) = saved(&narrow, 1).migrate(&adam(0.1), &[1.0, 1.0]).unwrap();
    assert_snapshot!(report, @r#"filled `.leaves["mu"].1`, `.leaves["nu"].1`; renamed `.parts[0]` to the root"#);
    let tree = Tree::of(&state).unwrap();
    assert_eq!(tree.get("leaves.mu.0").unwrap().as_f64().map(|mu| (mu * 1e3).round()), Some(50.0));
    assert_eq!(tree.get("leaves.mu.1").unwrap().as_f64(), Some(0.0));
    let (_, report) = state.migrate(&narrow, &[1.0, 1.0]).unwrap();
    assert_snapshot!(report, @r#"dropped `.leaves["mu"].1`, `.leaves["nu"].1`; renamed the root to `.parts[0]`"#);
    // Where it selects the same by another name, nothing has changed.
    assert_eq!(moved(&adam(0.1).only("0"), &mut saved(&narrow, 1)), [0.1, 0.0]);
}

#[test]
fn what_a_chain_loses_is_reported() {
    let rate = || schedules::linear(0.1, 0.0, 10);
    macro_rules! report {
        ($before:expr => $after:expr, $steps:expr) => {
            saved(&$before, $steps).migrate(&$after, &[1.0, 1.0]).unwrap().1
        };
    }
    let clip = || clip_by_global_norm(1.0);
    assert_snapshot!(report!(chain!(clip(), rmsprop(rate())) => chain!(clip(), sgd(rate())), 5), @r#"dropped `.parts[1].count`, `.parts[1].leaves["nu"]`; changed `"rmsprop"` to `"sgd"` at `.parts[1].transform`"#);
    assert_snapshot!(report!(chain!(ema(0.9), adam(0.1)) => adam(0.1), 5), @r#"dropped `.parts[0].count`, `.parts[0].leaves["ema"]`; renamed `.parts[1]` to the root"#);
    assert_snapshot!(report!(chain!(ema(0.9), adam(0.1)) => chain!(adam(0.1), ema(0.9)), 5), @r#"filled `.parts[1].leaves["ema"]`; dropped `.parts[0].count`, `.parts[0].leaves["ema"]`; renamed `.parts[1]` to `.parts[0]`"#);
    assert_snapshot!(report!(sgd(0.1).momentum(0.5) => sgd(0.1), 5), @r#"dropped `.leaves["trace"]`"#);
    assert_snapshot!(report!(sgd(0.1) => sgd(0.1).momentum(0.5), 5), @r#"filled `.leaves["trace"]`"#);
    assert_snapshot!(report!(sgd(rate()) => chain!(scale(0.5), sgd(rate())), 5), @"renamed the root to `.parts[1]`");
    assert_snapshot!(report!(sgd(0.1).accumulate(4) => sgd(0.1), 3), @r#"dropped `.count`, `.leaves["mean"]`"#);
    assert_snapshot!(report!(sgd(0.1).accumulate(4) => sgd(0.1), 4), @r#"dropped `.leaves["mean"]`; renamed `.parts[0]` to the root"#);
    assert_snapshot!(report!(sgd(0.1).accumulate(4) => chain!(clip(), sgd(0.1)).accumulate(4), 3), @"");
    assert_snapshot!(report!(lion(0.1) => adagrad(0.1), 1), @r#"filled `.leaves["sum_of_squares"]`; dropped `.count`, `.leaves["mu"]`; changed `"lion"` to `"adagrad"` at `.transform`"#);
    assert_snapshot!(report!(adam(0.1) => adam(0.1).freeze(".1"), 1), @r#"dropped `.leaves["mu"].1`, `.leaves["nu"].1`; renamed the root to `.parts[0]`"#);
}

#[test]
fn a_leaf_that_is_new_does_not_join_half_an_accumulation() {
    let optimiser = sgd(1.0).accumulate(4);
    let mut state = optimiser.init::<f64, _>(&vec![0.0]).unwrap();
    for _ in 0..3 {
        optimiser.step(vec![0.0], vec![1.0], &mut state).unwrap();
    }
    let (mut state, report) = state.migrate(&optimiser, &vec![0.0, 0.0]).unwrap();
    assert_snapshot!(report, @r#"filled `.leaves["mean"]`; dropped `.count`, `.leaves["mean"]`"#);
    let mut model = vec![0.0, 0.0];
    for _ in 0..4 {
        model = optimiser.step(model, vec![1.0, 1.0], &mut state).unwrap();
    }
    assert_eq!(model, [-1.0, -1.0]);
}

fn minus_one() -> f64 {
    -1.0
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct New {
    #[serde(default = "minus_one")]
    b: f64,
    #[serde(default = "minus_one")]
    c: f64,
    w: f64,
}

#[test]
fn a_field_that_is_new_has_no_moments() {
    #[derive(Serialize, Deserialize)]
    struct Old {
        w: f64,
        c: f64,
    }
    fn changed<O: Optimiser + Transform<f64>>(optimiser: &O, c: f64) -> (String, String, String) {
        let mut state = optimiser.init::<f64, _>(&Old { w: 1.0, c: 1.0 }).unwrap();
        optimiser.step(Old { w: 1.0, c: 1.0 }, Old { w: 0.5, c }, &mut state).unwrap();
        let mut state: State<New, f64> = again(&state);
        let model = || New { b: 1.0, w: 1.0, c: 1.0 };
        let error = optimiser.step(model(), model(), &mut state).unwrap_err().to_string();
        // It may be saved again, and is known still.
        let state: State<New, f64> = again(&state);
        let (mut state, report) = state.migrate(optimiser, &model()).unwrap();
        // As a state that has it from the beginning, with a gradient of zero.
        let mut other = optimiser.init::<f64, _>(&model()).unwrap();
        optimiser.step(model(), New { b: 0.0, w: 0.5, c }, &mut other).unwrap();
        let moved = optimiser.step(model(), model(), &mut state).unwrap();
        assert_eq!(moved, optimiser.step(model(), model(), &mut other).unwrap());
        assert_eq!(Tree::of(&state).unwrap(), Tree::of(&other).unwrap());
        (error, report.to_string(), format!("{moved:?}"))
    }
    let (error, report, moved) = changed(&adam(0.1), 0.25);
    assert_snapshot!(error, @"the state was saved without `.b` (see `State::migrate`)");
    assert_snapshot!(report, @r#"filled `.leaves["mu"].b`, `.leaves["nu"].b`"#);
    assert_snapshot!(moved, @"New { b: 0.9255863186954071, c: 0.9115623521554879, w: 0.9034817986385095 }");
    // Also where a moment that was saved is the default.
    let (_, report, _) = changed(&sgd(0.1).momentum(0.5), -1.0);
    assert_snapshot!(report, @r#"filled `.leaves["trace"].b`"#);
    changed(&adagrad(0.1), 0.25);
    changed(&lion(0.1), 2.0);
    changed(&partition().group(["w"], adam(0.1)).rest(sgd(0.1).momentum(0.5)), 2.0);
}

#[test]
fn arrays_are_resumed_too() {
    use treedef::Object;
    type Model = Vec<Object<Vec<f32>>>;
    let model = || -> Model { vec![Object(vec![1.0; 3]), Object(vec![]), Object(vec![2.0; 2])] };
    let groups = || partition().group(["[0]"], adam(0.1)).rest(sgd(0.1).momentum(0.5));
    let mut state = groups().init::<Vec<f32>, _>(&model()).unwrap();
    let trained = groups().step(model(), model(), &mut state).unwrap();
    let tree = Tree::<Vec<f32>>::of_objects(&state).unwrap();
    let mut read: State<Model, Vec<f32>> = tree.into_objects().unwrap();
    let resumed = groups().step(trained.clone(), model(), &mut read).unwrap();
    let at_once = groups().step(trained.clone(), model(), &mut state).unwrap();
    assert_eq!(resumed, at_once);
    let other = partition().group(["[2]"], adam(0.1)).rest(sgd(0.1).momentum(0.5));
    let mut read: State<Model, Vec<f32>> =
        Tree::<Vec<f32>>::of_objects(&state).unwrap().into_objects().unwrap();
    assert_snapshot!(other.step(trained, model(), &mut read).unwrap_err(), @"`[0]` is trained by the group `[2]` in the state, but not in the optimiser (see `State::migrate`)");
}

#[test]
fn slots_of_ones_own_transform_need_no_order() {
    use treedef_optim::transform::{Number, Rule, Scope, Slots, Step};
    use treedef_optim::{Result, Trainable};

    #[derive(Clone, Copy)]
    struct Own;

    impl Rule<2> for Own {
        fn next<X: Number>(&self, gradient: X, _: X, [slow, fast]: [X; 2]) -> (X, [X; 2]) {
            let slow = slow.times(0.9) + gradient.clone().times(0.1);
            let fast = fast.times(0.5) + gradient.times(0.5);
            ((fast.clone() - slow.clone().times(2.0)).times(-0.1), [slow, fast])
        }
    }

    impl<L: Trainable> Transform<L> for Own {
        fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
            let slots = Slots::new("own").with_filled("slow", 0.0, scope, parameters)?;
            slots.with_filled("fast", 0.0, scope, parameters)
        }

        fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
            let (count, leaves) = slots.counted("own", ["slow", "fast"])?;
            *count += 1;
            step.update(self, leaves)
        }
    }

    let optimiser = chain!(Own);
    let mut state = optimiser.init::<f64, _>(&[1.0, 1.0]).unwrap();
    optimiser.step([1.0, 1.0], [0.5, 0.25], &mut state).unwrap();
    let mut read: State<Pair, f64> = again(&state);
    assert_eq!(moved(&optimiser, &mut read), moved(&optimiser, &mut state));
    assert_eq!(Tree::of(&read).unwrap(), Tree::of(&state).unwrap());
    // A name that it does not have is another transform.
    let mut other: State<Pair, f64> = chain!(ema(0.9)).init(&[1.0, 1.0]).unwrap();
    assert_snapshot!(optimiser.step([1.0; 2], [1.0; 2], &mut other).unwrap_err(), @"the state is that of `ema` with `ema`, the optimiser is `own` with `slow`, `fast` (see `State::migrate`)");
}

#[cfg(feature = "candle")]
mod of_tensors {
    use candle_core::{Device, Tensor};

    use super::*;

    /// A tensor that must be a vector.
    mod vector {
        use serde::de::Error as _;
        use serde::{Deserializer, Serializer};

        use super::Tensor;

        pub(super) fn serialize<S: Serializer>(w: &Tensor, to: S) -> Result<S::Ok, S::Error> {
            treedef::object::serialize(w, to)
        }

        pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Tensor, D::Error> {
            let tensor: Tensor = treedef::object::deserialize(from)?;
            let rank = tensor.dims().len();
            if rank == 1 { Ok(tensor) } else { Err(D::Error::custom("expected a vector")) }
        }
    }

    fn minus_one() -> Tensor {
        Tensor::new(&[-1.0f32], &Device::Cpu).unwrap()
    }

    #[test]
    fn a_tensor_that_is_new_has_no_moments() {
        #[derive(Serialize, Deserialize)]
        struct Old {
            #[serde(with = "vector")]
            w: Tensor,
        }
        #[derive(Debug, Serialize, Deserialize)]
        struct New {
            #[serde(with = "treedef::object", default = "minus_one")]
            b: Tensor,
            #[serde(with = "vector")]
            w: Tensor,
        }
        let old = || Old { w: minus_one() };
        let mut state = adam(0.1).init::<Tensor, _>(&old()).unwrap();
        adam(0.1).step(old(), old(), &mut state).unwrap();
        let tree = Tree::<Tensor>::of_objects(&state).unwrap();
        let state: State<Old, Tensor> = tree.into_objects().unwrap();
        let tree = Tree::<Tensor>::of_objects(&state).unwrap();
        let mut state: State<New, Tensor> = tree.into_objects().unwrap();
        let model = || New { b: minus_one(), w: minus_one() };
        let error = adam(0.1).step(model(), model(), &mut state).unwrap_err();
        assert_snapshot!(error, @"the state was saved without `.b` (see `State::migrate`)");
        let (mut state, report) = state.migrate(&adam(0.1), &model()).unwrap();
        assert_snapshot!(report, @r#"filled `.leaves["mu"].b`, `.leaves["nu"].b`"#);
        adam(0.1).step(model(), model(), &mut state).unwrap();
        let tree = Tree::<Tensor>::of_objects(&state).unwrap();
        let mu = tree.get("leaves.mu.b").unwrap().to_vec1::<f32>().unwrap()[0];
        assert!((mu + 0.1).abs() < 1e-6, "{mu}");
    }
}
