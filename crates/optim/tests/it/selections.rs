//! Parts of a model: only, freeze, partition.

use insta::assert_snapshot;
use treedef::Object;
use treedef_optim::schedules::linear;
use treedef_optim::transform::{
    Transform, clip_by_global_norm, partition, scale, scale_by_schedule, set_to_zero, weight_decay,
};
use treedef_optim::{Optimiser, Result, State, adam, adamw, chain, sgd};

use crate::random::{Net, net};

/// The parts of a model that a step changes.
fn moved(step: impl Fn(Net, Net) -> Result<Net>) -> String {
    let before = net(7, &[2, 2]);
    let after = step(before.clone(), before.gradient(1)).unwrap();
    let mut moved = Vec::new();
    for (at, (before, after)) in before.layers.iter().zip(&after.layers).enumerate() {
        moved.extend((before.w != after.w).then(|| format!("w{at}")));
        moved.extend((before.b != after.b).then(|| format!("b{at}")));
    }
    moved.extend((before.scale != after.scale).then(|| "scale".to_owned()));
    moved.join(" ")
}

macro_rules! moved_by {
    ($optimiser:expr) => {
        moved(|model, gradient| {
            let optimiser = $optimiser;
            let mut state = optimiser.init::<f64, _>(&model)?;
            optimiser.step(model, gradient, &mut state)
        })
    };
}

#[test]
fn patterns_choose_what_moves() {
    assert_eq!(moved_by!(sgd(0.1)), "w0 b0 w1 b1 scale");
    assert_eq!(moved_by!(sgd(0.1).freeze("layers[0]")), "w1 b1 scale");
    assert_eq!(moved_by!(adamw(0.1).weight_decay(0.5).freeze("**.w")), "b0 b1 scale");
    assert_eq!(moved_by!(chain!(adamw(0.1), set_to_zero().only("**.b"))), "w0 w1 scale");
    assert_eq!(moved_by!(sgd(0.1).only("**.w")), "w0 w1");
    assert_eq!(moved_by!(chain!(sgd(0.1), scale(0.0))), "");
    // A transform without a rate lets the other gradients through.
    assert_eq!(moved_by!(chain!(scale(0.0).only("**.w"), sgd(0.1))), "b0 b1 scale");
    assert_eq!(moved_by!(adam(0.1).freeze("layers[0]").accumulate(1)), "w1 b1 scale");
    assert_eq!(
        moved_by!(
            partition()
                .group(["layers[0]"], set_to_zero())
                .group(["layers[1].b"], sgd(0.1))
                .rest(adam(0.1))
        ),
        "w1 b1 scale"
    );
    assert_eq!(
        moved_by!(chain!(
            partition().group(["layers"], sgd(0.1)).rest(set_to_zero()),
            set_to_zero().only("layers[1]")
        )),
        "w0 b0"
    );
}

#[test]
fn a_schedule_that_begins_at_zero_is_a_descent() {
    let warmup = linear(0.0, 0.1, 10);
    let factor = scale_by_schedule(move |count: u64| -warmup.at(count));
    let optimiser = chain!(factor).only(".0");
    let mut state = optimiser.init::<f64, _>(&(1.0, 1.0)).unwrap();
    let model = optimiser.step((1.0, 1.0), (5.0, 5.0), &mut state).unwrap();
    let (x, y) = optimiser.step(model, (5.0, 5.0), &mut state).unwrap();
    assert!((x - 0.95f64).abs() < 1e-9 && y == 1.0, "{x} {y}");
}

#[test]
fn a_schedule_is_a_learning_rate_whatever_its_signs() {
    // It is below zero at one count alone, where nobody would look.
    let factor = |count: u64| if count == 1 { -1.0 } else { 0.5 };
    let optimiser = scale_by_schedule(factor).only(".0");
    let mut state = optimiser.init::<f64, _>(&(1.0, 1.0)).unwrap();
    assert_eq!(optimiser.step((1.0, 1.0), (1.0, 1.0), &mut state).unwrap(), (1.5, 1.0));
    // A table is not asked for what is not in it.
    let table = [-0.5, -0.25];
    let optimiser = scale_by_schedule(move |count: u64| table[count as usize]).only(".0");
    let mut state = optimiser.init::<f64, _>(&(1.0, 1.0)).unwrap();
    assert_eq!(optimiser.step((1.0, 1.0), (1.0, 1.0), &mut state).unwrap(), (0.5, 1.0));
    let optimiser = chain!(sgd(0.1), scale_by_schedule(factor).only(".1"));
    assert_snapshot!(optimiser.init::<f64, _>(&(1.0, 1.0)).unwrap_err(), @"`.0` is outside of an `only` with a learning rate and stands still, so the other learning rate of the chain does not reach it (give each part its own by `partition`, or put `only` around the chain)");
}

#[test]
fn a_chain_with_a_second_rate_beside_an_only_is_refused() {
    let model = std::collections::BTreeMap::from(["a", "b"].map(|name| (name.to_owned(), 1.0)));
    let each = chain!(sgd(0.1).only("a"), sgd(0.2).only("b"));
    let error = each.init::<f64, _>(&model).unwrap_err();
    assert_snapshot!(error, @r#"`["b"]` is outside of an `only` with a learning rate and stands still, so the other learning rate of the chain does not reach it (give each part its own by `partition`, or put `only` around the chain)"#);
    assert_eq!(error.path().unwrap().to_string(), r#"["b"]"#);
    // Behind other transforms, too, and for a factor that turns the sign of some.
    let hidden = chain!(chain!(scale(1.0), adam(0.1).only("a").accumulate(2)), sgd(0.2));
    assert!(hidden.init::<f64, _>(&model).is_err());
    assert!(chain!(sgd(0.1), scale(-1.0).only("a")).init::<f64, _>(&model).is_err());
    // What the error says.
    let groups = partition().group(["a"], sgd(0.1)).group(["b"], sgd(0.2));
    let around = chain!(sgd(0.1), scale(-1.0)).only("a");
    let all = chain!(sgd(0.1).only(""), scale(-1.0));
    for (optimiser, expected) in [
        (Box::new(groups) as Box<dyn Transform<f64>>, [0.9, 0.8]),
        (Box::new(around), [1.1, 1.0]),
        (Box::new(all), [1.1, 1.1]),
    ] {
        let mut state = optimiser.init::<f64, _>(&model).unwrap();
        let moved = optimiser.step(model.clone(), model.clone(), &mut state).unwrap();
        assert_eq!([moved["a"], moved["b"]], expected);
    }
}

#[test]
fn groups_inside_a_group_may_name_leaves_of_others() {
    let model = || ((1.0, 1.0), (1.0, 1.0));
    let both = || partition::<f64>().group(["*.0"], sgd(0.5)).group([".0.1", ".1.1"], sgd(0.25));
    let optimiser = partition().group([".1"], both()).rest(sgd(1.0));
    let mut state = optimiser.init::<f64, _>(&model()).unwrap();
    let moved = optimiser.step(model(), model(), &mut state).unwrap();
    assert_eq!(moved, ((0.0, 0.0), (0.5, 0.75)));
}

#[test]
fn a_selection_that_is_empty_in_its_place_is_an_error() {
    fn refused(optimiser: impl Transform<f64> + 'static) -> String {
        let optimiser = Box::new(optimiser) as Box<dyn Transform<f64>>;
        optimiser.init::<f64, _>(&[1.0, 1.0, 1.0]).unwrap_err().to_string()
    }
    assert_snapshot!(refused(adam(0.1).only(".0").only(".1")), @"`.0` names none of the leaves that are trained in its place: that is `.1` alone");
    let decay = adamw(0.1).weight_decay(0.9).decay_only(".2");
    assert_snapshot!(refused(partition().group([".0", ".1"], decay).rest(sgd(0.1))), @"`.2` names none of the leaves that are trained in its place: these are `.0` and 1 more");
    let group = partition().group([".0"], sgd(0.1).only(".1")).rest(sgd(0.1));
    assert_snapshot!(refused(group), @"`.1` names none of the leaves that are trained in its place: that is `.0` alone");
    let group = partition().group([".0"], sgd(0.1)).rest(sgd(0.1)).only(".1");
    assert_snapshot!(refused(group), @"`.0` names none of the leaves that are trained in its place: that is `.1` alone");
    let rest = partition().group(["*"], sgd(0.1)).rest(sgd(0.1).only(".1"));
    assert_snapshot!(refused(rest), @"`.1` names none of the leaves that are trained in its place: there is nothing to train");
    assert_snapshot!(refused(sgd(0.1).freeze(".0").freeze(".1").freeze(".2")), @"freezing `.0` leaves nothing to train in its place");
    assert_snapshot!(refused(sgd(0.1).freeze("*")), @"freezing `*` leaves nothing to train in its place");
    // Patterns that change later are looked at, too.
    let mut state = sgd(0.1).only(".0").only("*").init::<f64, _>(&[1.0; 3]).unwrap();
    let error = sgd(0.1).only(".0").only(".1").step([1.0; 3], [1.0; 3], &mut state).unwrap_err();
    assert_snapshot!(error, @"`.0` names none of the leaves that are trained in its place: that is `.1` alone");
    assert_snapshot!(refused(sgd(0.1).freeze(".0").only(".1")), @"`.0` names none of the leaves that are trained in its place: that is `.1` alone");
}

#[test]
fn a_pattern_more_decays_more() {
    let optimiser = adamw(0.1).weight_decay(0.5).decay_only(".0").decay_only(".2");
    let mut state = optimiser.init::<f64, _>(&[1.0; 3]).unwrap();
    assert_eq!(optimiser.step([1.0; 3], [0.0; 3], &mut state).unwrap(), [0.95, 1.0, 0.95]);
}

#[test]
fn a_norm_of_f32_is_of_f64() {
    let optimiser = chain!(clip_by_global_norm(1.0), sgd(1.0));
    let mut state = optimiser.init::<f32, _>(&[0.0f32; 2]).unwrap();
    let [x, y] = optimiser.step([0.0f32; 2], [-3e20, -4e20], &mut state).unwrap();
    assert!((x - 0.6).abs() < 1e-6 && (y - 0.8).abs() < 1e-6, "{x} {y}");
}

#[test]
fn a_norm_beyond_the_largest_number_clips_too() {
    let optimiser = chain!(clip_by_global_norm(1.0), sgd(1.0));
    let large = vec![1e38f32; 1024];
    let mut state = optimiser.init::<f32, _>(&large).unwrap();
    let moved = optimiser.step(vec![0.0f32; 1024], large, &mut state).unwrap();
    assert!(moved.iter().all(|x| (x + 1.0 / 32.0).abs() < 1e-8), "{}", moved[0]);
    let mut state = optimiser.init::<f64, _>(&[0.0; 4]).unwrap();
    for large in [1e150, 1e200, f64::MAX] {
        let moved = optimiser.step([0.0; 4], [large, -large, large, 1.0], &mut state).unwrap();
        let third = 3f64.sqrt().recip();
        assert!((moved[0] + third).abs() < 1e-15 && (moved[1] - third).abs() < 1e-15, "{moved:?}");
    }
    #[cfg(feature = "candle")]
    for dtype in [candle_core::DType::BF16, candle_core::DType::F32] {
        let tensor = |number: f32| {
            let numbers = candle_core::Tensor::new(&[number; 1024], &candle_core::Device::Cpu);
            treedef::Object(numbers.unwrap().to_dtype(dtype).unwrap())
        };
        let mut state = optimiser.init::<candle_core::Tensor, _>(&tensor(0.0)).unwrap();
        let moved = optimiser.step(tensor(0.0), tensor(1e38), &mut state).unwrap();
        let moved = moved.to_dtype(candle_core::DType::F32).unwrap().to_vec1::<f32>().unwrap();
        assert!((moved[0] + 1.0 / 32.0).abs() < 1e-3, "{}", moved[0]);
    }
    // What is infinite has no direction.
    let moved = optimiser.step([0.0; 4], [f64::INFINITY, 1.0, 1.0, 1.0], &mut state).unwrap();
    assert!(moved[0].is_nan());
}

#[test]
fn each_group_has_its_own_norm() {
    let optimiser = partition()
        .group([".0"], chain!(clip_by_global_norm(1.0), sgd(1.0)))
        .group([".1"], chain!(clip_by_global_norm(1.0), sgd(1.0)));
    let mut state = optimiser.init::<f64, _>(&([0.0, 0.0], 0.0)).unwrap();
    let (a, b) = optimiser.step(([0.0, 0.0], 0.0), ([3.0, 4.0], 100.0), &mut state).unwrap();
    assert_eq!((a, b), ([-0.6, -0.8], -1.0));
    // Together, the large one would have made the others small.
    let optimiser = chain!(clip_by_global_norm(1.0), sgd(1.0));
    let mut state = optimiser.init::<f64, _>(&([0.0, 0.0], 0.0)).unwrap();
    let (a, _) = optimiser.step(([0.0, 0.0], 0.0), ([3.0, 4.0], 100.0), &mut state).unwrap();
    assert!(a[0] > -0.05);
}

#[test]
fn patterns_may_change_from_step_to_step() {
    // Layers are thawed one after another; each step has another optimiser, and its state.
    let mut model = net(7, &[2, 2]);
    let all = adam(0.1);
    let mut state = all.clone().freeze("layers").init::<f64, _>(&model).unwrap();
    let mut moved = Vec::new();
    for pattern in ["layers", "layers[0]", "layers[1]"] {
        let before = model.clone();
        let optimiser = all.clone().freeze(pattern);
        state = state.migrate(&optimiser, &model).unwrap().0;
        model = optimiser.step(model.clone(), model.gradient(1), &mut state).unwrap();
        moved.push([0, 1].map(|layer| before.layers[layer] != model.layers[layer]));
    }
    assert_eq!(moved, [[false, false], [false, true], [true, false]]);

    // What has no moments needs no other state.
    let groups = |first: &str| {
        partition().group([first], set_to_zero()).group(["scale"], set_to_zero()).rest(sgd(0.1))
    };
    let mut state = groups("layers").init::<f64, _>(&model).unwrap();
    let mut moved = Vec::new();
    for pattern in ["layers", "layers[0]", "layers[1]"] {
        let before = model.clone();
        model = groups(pattern).step(model.clone(), model.gradient(1), &mut state).unwrap();
        moved.push([0, 1].map(|layer| before.layers[layer] != model.layers[layer]));
    }
    assert_eq!(moved, [[false, false], [false, true], [true, false]]);

    // What decays changes, too.
    let step = |pattern: &str, state: &mut _| {
        let optimiser = adamw(0.1).weight_decay(0.5).decay_only(pattern);
        optimiser.step((1.0, 1.0), (0.0, 0.0), state).unwrap()
    };
    let mut state = adamw(0.1).init::<f64, _>(&(1.0, 1.0)).unwrap();
    assert_eq!(step(".0", &mut state), (0.95, 1.0));
    assert_eq!(step(".1", &mut state), (1.0, 0.95));
}

#[test]
fn updates_and_descent_agree() {
    // A transform behind the optimiser needs its updates; at the end, it moves the parameters itself.
    let model = net(3, &[2, 1]);
    macro_rules! both {
        ($($optimiser:expr),*) => {$(
            let (alone, before) = ($optimiser, chain!($optimiser, scale(1.0)));
            let mut states =
                (alone.init::<f64, _>(&model).unwrap(), before.init::<f64, _>(&model).unwrap());
            let mut models = (model.clone(), model.clone());
            for step in 0..7 {
                let gradients = (models.0.gradient(step), models.1.gradient(step));
                models.0 = alone.step(models.0, gradients.0, &mut states.0).unwrap();
                models.1 = before.step(models.1, gradients.1, &mut states.1).unwrap();
                assert_eq!(models.0.bits(), models.1.bits(), stringify!($optimiser));
            }
            assert_ne!(models.0.bits(), model.bits(), stringify!($optimiser));
        )*};
    }
    use treedef_optim::{adabelief, adafactor, adagrad, lamb, lion, radam, rmsprop};
    both!(
        sgd(0.1),
        sgd(0.1).momentum(0.9),
        adam(0.1),
        adamw(0.1).decay_only("**.w"),
        adabelief(0.1),
        lion(0.1),
        lamb(0.1).weight_decay(0.1).decay_only("**.w"),
        adafactor(0.1).momentum(0.9).weight_decay(0.1).decay_only("**.w"),
        adam(0.1).lookahead(2, 0.5),
        adam(0.1).apply_if_finite(2),
        radam(0.1),
        adagrad(0.1),
        rmsprop(0.1).momentum(0.5),
        adam(0.1).accumulate(2),
        adam(0.1).freeze("scale"),
        sgd(0.1).only("**.w"),
        chain!(weight_decay(0.1), sgd(0.5)),
        partition().group(["scale"], sgd(0.1)).rest(adam(0.1))
    );
}

/// A state that remembers the leaves of `before`, and a step with another optimiser.
fn refused_in_every_try(
    before: impl Optimiser + Transform<f64>,
    now: impl Optimiser + Transform<f64>,
) -> Vec<String> {
    let text = |state: &State<[f64; 3], f64>| serde_json::to_string(state).unwrap();
    let (mut model, mut state) = ([1.0; 3], before.init::<f64, _>(&[1.0; 3]).unwrap());
    before.step_in_place(&mut model, &[1.0; 3], &mut state).unwrap();
    let (held, saved) = (model, text(&state));
    let mut errors = Vec::new();
    for _ in 0..3 {
        let error = now.step_in_place(&mut model, &[1.0; 3], &mut state).unwrap_err();
        errors.push(error.to_string());
        assert_eq!((model, text(&state)), (held, saved.clone()), "{error}");
    }
    // The first optimiser goes on.
    before.step_in_place(&mut model, &[1.0; 3], &mut state).unwrap();
    errors.dedup();
    errors
}

#[test]
fn a_state_of_other_groups_is_refused_in_every_try() {
    let groups =
        |first: &[&'static str]| partition().group(first.iter().copied(), sgd(0.1)).rest(adam(0.1));
    let still = |first: &'static str| partition().group([first], set_to_zero()).rest(adam(0.1));
    let masked =
        |first: &str, second: &str| chain!(weight_decay(0.1).only(first), adam(0.1).only(second));
    let inside = |first: &'static str| chain!(weight_decay(0.1).freeze(first), groups(&[first]));
    let found = [
        refused_in_every_try(groups(&[".0"]), groups(&[".0", ".1"])),
        refused_in_every_try(groups(&[".0", ".1"]), groups(&[".0"])),
        refused_in_every_try(still(".0"), still(".1")),
        refused_in_every_try(masked(".0", ".0"), masked(".1", ".1")),
        refused_in_every_try(inside(".0"), inside(".1")),
    ];
    assert_snapshot!(found.map(|errors| errors.join("\n")).join("\n"), @r"
    `.1` is trained by the rest in the state, but not in the optimiser (see `State::migrate`)
    `.1` is trained by the rest in the optimiser, but not in the state (see `State::migrate`)
    `.0` is trained by the rest in the optimiser, but not in the state (see `State::migrate`)
    `.0` is trained inside of `only` in the state, but not in the optimiser (see `State::migrate`)
    `.0` is trained by the rest in the optimiser, but not in the state (see `State::migrate`)
    ");
}

#[test]
fn a_selection_without_memory_follows_its_masks() {
    // A group of the rest alone, in another scope.
    let rest = |mask: &str| partition().rest(sgd(0.1)).only(mask.to_owned());
    let mut state = rest(".0").init::<f64, _>(&(1.0, 1.0)).unwrap();
    let model = rest(".0").step((1.0, 1.0), (1.0, 1.0), &mut state).unwrap();
    let model = rest(".1").step(model, (1.0, 1.0), &mut state).unwrap();
    assert_eq!(model, (0.9, 0.9));
    // What a state says that was saved after the step.
    let holds =
        |state: &State<(f64, f64), f64>| serde_json::to_value(state).unwrap()["holds"].to_string();
    let (one, other) = (sgd(0.1).only(".0"), sgd(0.1).only(".1"));
    let mut state = one.init::<f64, _>(&model).unwrap();
    let before = holds(&state);
    let model = other.step(model, (1.0, 1.0), &mut state).unwrap();
    let after = holds(&state);
    one.step(model, (1.0, 1.0), &mut state).unwrap();
    assert!(before != after && holds(&state) == before, "{before} {after}");
}

#[test]
fn a_test_of_shapes_is_asked_again_when_they_change() {
    type Model = (Object<Vec<f64>>, Object<Vec<f64>>);
    let model = |a: usize, b: usize| -> Model { (Object(vec![1.0; a]), Object(vec![1.0; b])) };
    // Without moments, a state fits all shapes.
    let decay = || weight_decay(0.5).only(|shape: &[usize]| shape == [2]);
    let groups = partition().group([|shape: &[usize]| shape == [2]], sgd(0.5)).rest(sgd(0.0));
    let zeros = |a: usize, b: usize| -> Model { (Object(vec![0.0; a]), Object(vec![0.0; b])) };
    type Optimiser = Box<dyn Transform<Vec<f64>>>;
    let optimisers: [(Optimiser, bool); 4] = [
        (Box::new(sgd(0.5).only(|shape: &[usize]| shape == [2])), false),
        (Box::new(sgd(0.5).freeze(|shape: &[usize]| shape == [3])), false),
        (Box::new(groups), false),
        (Box::new(chain!(decay(), sgd(1.0))), true),
    ];
    for (optimiser, decays) in optimisers {
        let gradient = |a, b| if decays { zeros(a, b) } else { model(a, b) };
        let mut state = optimiser.init(&model(2, 3)).unwrap();
        for (a, b) in [(2, 3), (3, 2), (2, 3)] {
            let (first, second) = optimiser.step(model(a, b), gradient(a, b), &mut state).unwrap();
            let expected = if a == 2 { (0.5, 1.0) } else { (1.0, 0.5) };
            assert_eq!((first[0], second[0]), expected, "{a} {b}");
        }
    }
}

#[test]
fn each_of_several_masks_has_to_select_a_leaf_in_its_place() {
    let decay = || adamw(0.1).weight_decay(0.1).decay_only(".0").decay_only(".2");
    assert!(decay().init::<f64, _>(&[1.0; 3]).is_ok());
    let inside = partition().group([".0", ".1"], decay()).rest(sgd(0.1));
    let error = inside.init::<f64, _>(&[1.0; 3]).unwrap_err();
    assert_snapshot!(error, @"`.2` names none of the leaves that are trained in its place: these are `.0` and 1 more");
}
