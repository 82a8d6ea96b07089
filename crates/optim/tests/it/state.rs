//! The state as a value: saved, read, resumed, migrated.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_optim::transform::{
    Projection, check_finite, clip_by_global_norm, ema, partition, project, scale, weight_decay,
};
use treedef_optim::{
    Optimiser, State, adabelief, adafactor, adagrad, adam, adamw, chain, lamb, lion, radam,
    rmsprop, schedules, sgd,
};

use crate::random::{Net, net};

/// What is in the file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Training {
    pub(crate) model: Net,
    pub(crate) state: State<Net, f64>,
    pub(crate) step: u64,
}

/// Trains for ten steps, and for ten more: at once, and by a process that begins with what is in the file.
macro_rules! resumes {
    ($($optimiser:expr),* $(,)?) => {$({
        let optimiser = || $optimiser;
        let train = |Training { mut model, mut state, step }: Training| {
            let optimiser = optimiser();
            for step in step..step + 10 {
                let gradient = model.gradient(step);
                model = optimiser.step(model, gradient, &mut state).unwrap();
            }
            Training { model, state, step: step + 10 }
        };
        let model = net(5, &[3, 2]);
        let begin = || Training {
            state: optimiser().init(&model).unwrap(),
            model: model.clone(),
            step: 0,
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("training.tree");
        Tree::of(&train(begin())).unwrap().save(&file).unwrap();
        let resumed: Training = Tree::load(&file).unwrap().into_typed().unwrap();
        let (resumed, at_once) = (train(resumed), train(train(begin())));
        assert_eq!(resumed.model.bits(), at_once.model.bits(), "{}", stringify!($optimiser));
        // The states are the same, too: all of them.
        let [resumed, at_once] = [&resumed.state, &at_once.state].map(|state| Tree::of(state).unwrap());
        assert_eq!(resumed, at_once, "{}", stringify!($optimiser));
        // JSON will do as well, as exactly as its numbers are read.
        let text = serde_json::to_string(&train(begin())).unwrap();
        let resumed = train(serde_json::from_str(&text).unwrap());
        let tolerance = treedef::Tolerance { rtol: 1e-12, atol: 1e-12, ..treedef::Tolerance::default() };
        Tree::of(&resumed.state).unwrap().check_close(&at_once, tolerance).unwrap();
    })*};
}

#[test]
fn a_count_that_no_training_reaches_is_refused() {
    let state = |count: u64| {
        let state = adam(0.1).init::<f64, _>(&vec![1.0]).unwrap();
        let text = serde_json::to_string(&state).unwrap();
        let text = text.replacen(r#""count":0"#, &format!(r#""count":{count}"#), 1);
        serde_json::from_str::<State<Vec<f64>, f64>>(&text)
    };
    assert_snapshot!(state(u64::MAX).unwrap_err(), @"no training has 18446744073709551615 steps");
    assert_snapshot!(state(1 << 63).unwrap_err(), @"no training has 9223372036854775808 steps");
    let mut state = state((1 << 63) - 1).unwrap();
    assert!(adam(0.1).step(vec![1.0], vec![1.0], &mut state).unwrap()[0] < 1.0);
}

#[test]
fn training_that_is_resumed_gives_the_same_bits() {
    resumes!(
        sgd(0.1),
        sgd(schedules::linear(0.1, 0.0, 15)).momentum(0.9).nesterov(true),
        chain!(clip_by_global_norm(1.0), adam(schedules::warmup_cosine(0.0, 0.1, 4, 18, 0.01))),
        adamw(0.1).weight_decay(0.1).decay_only("**.w"),
        adabelief(0.1),
        radam(0.1),
        adagrad(schedules::exponential_decay(0.1, 7, 0.5)),
        rmsprop(0.01).momentum(0.5),
        rmsprop(0.01).centered(true).momentum(0.5),
        lion(0.01),
        lamb(0.1).weight_decay(0.1).decay_only("**.w"),
        adafactor(0.1).weight_decay(0.1).decay_only("**.w"),
        adafactor(schedules::linear(0.1, 0.0, 15)).momentum(0.9),
        adam(0.1).lookahead(3, 0.5),
        sgd(0.1).momentum(0.9).freeze("layers[0]").lookahead(4, 0.5).reset_state(true),
        adam(0.1).apply_if_finite(2),
        chain!(adam(0.1), project(Projection::L1Ball { radius: 0.5 }).only("**.w")),
        // In the middle of an accumulation: ten is no multiple of three.
        adam(0.1).freeze("layers[0]").accumulate(3),
        chain!(ema(0.9), weight_decay(0.1).only("**.w"), scale(-0.1)),
        partition().group(["**.b"], sgd(0.1)).rest(adam(0.1)),
    );
}

#[test]
fn a_state_prints_as_its_model() {
    let optimiser = chain!(clip_by_global_norm(1.0), adam(0.5));
    let model = net(5, &[1]);
    let mut state = optimiser.init::<f64, _>(&model).unwrap();
    optimiser.step(model.clone(), model.gradient(0), &mut state).unwrap();
    let tree = Tree::of(&state).unwrap();
    assert_snapshot!(format!("{:#}", tree.treedef()), @r#"
    State {
      transform: *,
      count: *,
      leaves: {},
      parts: [
        State {
          transform: *,
          count: *,
          leaves: {},
          parts: [],
          holds: [],
          structure: None,
          absent: [],
        },
        State {
          transform: *,
          count: *,
          leaves: {
            "mu": Net { name: *, layers: [Dense { w: [*], b: * }], scale: * },
            "nu": Net { name: *, layers: [Dense { w: [*], b: * }], scale: * },
          },
          parts: [],
          holds: [],
          structure: None,
          absent: [],
        },
      ],
      holds: [],
      structure: Some(*),
      absent: [],
    }
    "#);
    assert_eq!(tree.get("parts[1].count").unwrap().as_u64(), Some(1));
    assert!(tree.get("parts[1].leaves.mu.layers[0].w[0]").is_ok());
}

#[test]
fn f32_is_resumed_exactly_too() {
    let train = |(mut model, mut state): (Vec<f32>, State<Vec<f32>, f32>)| {
        for _ in 0..7 {
            let gradient = model.iter().map(|x| x * 0.3 + 0.1).collect();
            model = adam(0.1).step(model, gradient, &mut state).unwrap();
        }
        (model, state)
    };
    let begin = || {
        let model = vec![0.1f32, -0.7, 1e-3];
        let state = adam(0.1).init(&model).unwrap();
        (model, state)
    };
    let saved = Tree::of(&train(begin())).unwrap().to_bytes().unwrap();
    let resumed = train(Tree::from_bytes(&saved).unwrap().into_typed().unwrap());
    assert_eq!(resumed.0, train(train(begin())).0);
}

#[test]
fn a_model_of_f32_and_f64_is_resumed_exactly() {
    type Model = (Vec<f32>, f64, f32);
    let optimiser = || adam(0.1).accumulate(2);
    let train = |(mut model, mut state): (Model, State<Model, f64>)| {
        for _ in 0..7 {
            let gradient = (model.0.iter().map(|x| x * 0.3 + 0.1).collect(), 0.3 * model.1, 0.7);
            model = optimiser().step(model, gradient, &mut state).unwrap();
        }
        (model, state)
    };
    let begin = || {
        let model = (vec![0.1f32, -0.7, 1e-3], 0.3, 0.5);
        let state = optimiser().init(&model).unwrap();
        (model, state)
    };
    let saved = Tree::of(&train(begin())).unwrap().to_bytes().unwrap();
    let resumed = train(Tree::from_bytes(&saved).unwrap().into_typed().unwrap());
    let at_once = train(train(begin()));
    assert_eq!(resumed.0, at_once.0);
    assert_eq!(Tree::of(&resumed.1).unwrap(), Tree::of(&at_once.1).unwrap());
}

#[test]
fn safetensors_hold_a_state_of_numbers() {
    use treedef_tensors::{Export, safetensors};
    let optimiser = chain!(clip_by_global_norm(1.0), adam(0.5));
    let model = net(5, &[3]);
    let mut state = optimiser.init::<f64, _>(&model).unwrap();
    optimiser.step(model.clone(), model.gradient(0), &mut state).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.safetensors");
    // Names of transforms are texts, which no tensor holds.
    let export = Export::new().rest_in_metadata(true);
    let tree = Tree::of(&state).unwrap();
    safetensors::save(&export.tensors(&tree).unwrap(), &file).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let read = safetensors::from_bytes(&bytes).unwrap().read().unwrap();
    assert_eq!(read.get("parts.1.leaves.mu.layers.0.w").unwrap().shape(), [3]);
    let state: State<Net, f64> = export.tree::<treedef::Leaf>(&read).unwrap().into_typed().unwrap();
    assert_eq!(Tree::of(&state).unwrap(), tree);
}

#[test]
fn a_model_with_a_layer_more_keeps_its_moments() {
    let optimiser = chain!(clip_by_global_norm(1.0), adamw(0.1).decay_only("**.w"));
    let old = net(5, &[2, 2]);
    let mut state = optimiser.init::<f64, _>(&old).unwrap();
    let trained = optimiser.step(old.clone(), old.gradient(0), &mut state).unwrap();
    let saved = Tree::of(&state).unwrap().to_bytes().unwrap();

    let mut model = trained.clone();
    model.layers[0].w.push(0.5);
    model.layers.push(net(6, &[3]).layers.remove(0));
    let mut state: State<Net, f64> = Tree::from_bytes(&saved).unwrap().into_typed().unwrap();
    // The state does not fit, and the error says what to do.
    let error = optimiser.step(model.clone(), model.gradient(1), &mut state).unwrap_err();
    assert_snapshot!(error, @"the model has another structure than the state (see `State::migrate`): expected 2 children, found 3 children at `.layers`, and 1 more difference");
    let (mut state, report) = state.migrate(&optimiser, &model).unwrap();
    assert_snapshot!(report, @r#"filled `.parts[1].leaves["mu"].layers[0].w[2]`, `.parts[1].leaves["mu"].layers[2]`, `.parts[1].leaves["nu"].layers[0].w[2]` and 1 more"#);
    let tree = Tree::of(&state).unwrap();
    let number = |path: &str| tree.get(path).unwrap().as_f64().unwrap();
    assert!(number("parts[1].leaves.mu.layers[1].w[1]") != 0.0);
    assert!(number("parts[1].leaves.mu.layers[2].w[1]") == 0.0);
    assert_eq!(state.count(), 1);
    optimiser.step(model.clone(), model.gradient(1), &mut state).unwrap();

    // Back to the smaller model.
    let (state, report) = state.migrate(&optimiser, &trained).unwrap();
    assert_snapshot!(report, @r#"dropped `.parts[1].leaves["mu"].layers[0].w[2]`, `.parts[1].leaves["mu"].layers[2]`, `.parts[1].leaves["nu"].layers[0].w[2]` and 1 more"#);
    // What fits is kept as it is.
    let before = Tree::of(&state).unwrap();
    let (state, report) = state.migrate(&optimiser, &trained).unwrap();
    assert_snapshot!(report, @"");
    assert_eq!(Tree::of(&state).unwrap(), before);
    // Another optimiser keeps what it has in common.
    let (_, report) =
        state.migrate(&chain!(clip_by_global_norm(1.0), lion(0.1)), &trained).unwrap();
    assert_snapshot!(report, @r#"filled `.parts[1].leaves["mu"]`; dropped `.parts[1].count`, `.parts[1].leaves["mu"]`, `.parts[1].leaves["nu"]`; changed `"adamw"` to `"lion"` at `.parts[1].transform`"#);
}

#[test]
fn a_chain_that_has_changed_keeps_its_moments() {
    let model = || (1.0, 1.0);
    let frozen = chain!(clip_by_global_norm(1.0), adam(0.1)).freeze(".1");
    let mut state = frozen.init::<f64, _>(&model()).unwrap();
    frozen.step(model(), (0.5, 0.5), &mut state).unwrap();
    // Without the freeze, with a check, with accumulated gradients, alone, and with a mean before it.
    let thawed = chain!(clip_by_global_norm(1.0), adam(0.1));
    let (state, report) = state.migrate(&thawed, &model()).unwrap();
    assert_snapshot!(report, @r#"filled `.parts[1].leaves["mu"].1`, `.parts[1].leaves["nu"].1`; renamed `.parts[0].parts[1]` to `.parts[1]`"#);
    let checked = chain!(check_finite(), clip_by_global_norm(1.0), adam(0.1));
    let (state, report) = state.migrate(&checked, &model()).unwrap();
    assert_snapshot!(report, @"renamed `.parts[1]` to `.parts[2]`");
    let (state, report) = state.migrate(&checked.accumulate(2), &model()).unwrap();
    assert_snapshot!(report, @r#"filled `.leaves["mean"]`; renamed `.parts[2]` to `.parts[0].parts[2]`"#);
    let (state, report) = state.migrate(&adam(0.1), &model()).unwrap();
    assert_snapshot!(report, @r#"dropped `.leaves["mean"]`; renamed `.parts[0].parts[2]` to the root"#);
    let (state, report) = state.migrate(&chain!(ema(0.9), adam(0.1)), &model()).unwrap();
    assert_snapshot!(report, @r#"filled `.parts[0].leaves["ema"]`; renamed the root to `.parts[1]`"#);
    assert_eq!(state.count(), 1);
    let number = |path: &str| Tree::of(&state).unwrap().get(path).unwrap().as_f64();
    assert_eq!(number("parts[1].leaves.mu.0").map(|mu| (mu * 1e6).round()), Some(5e4));
}

#[test]
fn what_was_frozen_begins_as_all_did() {
    let optimiser = adagrad(1.0);
    let frozen = optimiser.clone().freeze(".1");
    let mut state = frozen.init::<f64, _>(&(1.0, 1.0)).unwrap();
    frozen.step((1.0, 1.0), (0.0, 0.0), &mut state).unwrap();
    let (mut state, report) = state.migrate(&optimiser, &(1.0, 1.0)).unwrap();
    assert_snapshot!(report, @r#"filled `.leaves["sum_of_squares"].1`; renamed `.parts[0]` to the root"#);
    let (x, y) = optimiser.step((1.0, 1.0), (0.1, 0.1), &mut state).unwrap();
    assert_eq!(x, y);
}

#[test]
fn names_that_changed_are_followed_by_their_aliases() {
    #[derive(Serialize, Deserialize)]
    struct Old {
        weights: Vec<f64>,
    }
    #[derive(Serialize, Deserialize)]
    struct New {
        #[serde(alias = "weights")]
        w: Vec<f64>,
        #[serde(default)]
        b: f64,
    }
    let old = Old { weights: vec![1.0, 2.0] };
    let mut state = adam(0.1).init::<f64, _>(&old).unwrap();
    adam(0.1).step(old, Old { weights: vec![0.5, 0.25] }, &mut state).unwrap();
    let saved = Tree::of(&state).unwrap();
    let (state, migration) = saved.migrate::<State<New, f64>>().unwrap();
    assert_snapshot!(migration, @r#"filled `.leaves["mu"].b`, `.leaves["nu"].b`, `.absent[*]` (×2); renamed `.leaves["mu"].weights` to `.leaves["mu"].w`, `.leaves["nu"].weights` to `.leaves["nu"].w`; changed `"Old { weights: [*, *] }"` to `"New { w: [*, *], b: * }"` at `.structure?`, 0 children to 2 children at `.absent`"#);
    let model = New { w: vec![1.0, 2.0], b: 0.0 };
    // What was filled begins afresh.
    let (mut state, report) = state.migrate(&adam(0.1), &model).unwrap();
    assert_snapshot!(report, @r#"filled `.leaves["mu"].b`, `.leaves["nu"].b`"#);
    adam(0.1).step(model, New { w: vec![0.0, 0.0], b: 1.0 }, &mut state).unwrap();
}

#[test]
fn a_state_is_not_taken_from_anything() {
    let read = |text: &str| serde_json::from_str::<State<Vec<f64>, f64>>(text);
    let text = |count: i64, leaves: &str, structure: &str| {
        let (count, none) = (format!(r#""count": {count}"#), r#""parts": [], "holds": []"#);
        let structure = format!(r#""structure": {structure}, "absent": []"#);
        read(&format!(
            r#"{{"transform": "adam", {count}, "leaves": {{{leaves}}}, {none}, {structure}}}"#
        ))
    };
    assert_snapshot!(text(-1, "", "null").unwrap_err(), @"invalid value: integer `-1`, expected u64 at line 1 column 33");
    // Moments of two structures, and of none.
    assert_snapshot!(text(1, r#""mu": [1, 2], "nu": [1]"#, r#""[*, *]""#).unwrap_err(), @"a moment of the state has another structure than the first: expected 2 children, found 1 child at the root");
    assert_snapshot!(text(1, r#""mu": [1, 2], "nu": [1, 2]"#, "null").unwrap_err(), @"a state with leaves has no `structure`");
    assert!(text(1, r#""mu": [1, 2], "nu": [1, 2]"#, r#""[*, *]""#).is_ok());
    assert_snapshot!(read("{}").unwrap_err(), @"missing field `transform` at line 1 column 2");
    // A state without the moments of its optimiser, or with those of another.
    let mut state = text(1, "", "null").unwrap();
    assert_snapshot!(adam(0.1).step(vec![1.0], vec![1.0], &mut state).unwrap_err(), @"the state is that of `adam`, the optimiser is `adam` with `mu`, `nu` (see `State::migrate`)");
}

#[cfg(feature = "candle")]
mod of_tensors {
    use candle_core::{DType, Device, Tensor};
    use treedef::Object;
    use treedef_optim::transform::{Transform, clip};
    use treedef_tensors::{Descriptor, Dtype, Export, Loader, StoredTensor, safetensors};

    use super::*;

    type Model = Vec<Object<Tensor>>;
    type Failure = Box<dyn std::error::Error + Send + Sync>;

    /// What a user of candle writes once, here for the three types of a state.
    fn described(name: &str, tensor: &Tensor) -> Result<Descriptor, Failure> {
        let dtype = match tensor.dtype() {
            DType::F32 => Dtype::F32,
            DType::F64 => Dtype::F64,
            DType::I64 => Dtype::I64,
            other => return Err(format!("{other:?}").into()),
        };
        Ok(Descriptor::new(name, dtype, tensor.dims()))
    }

    fn stored(name: &str, tensor: &Tensor) -> Result<StoredTensor<'static>, Failure> {
        let flat = tensor.flatten_all()?;
        let bytes: Vec<u8> = match tensor.dtype() {
            DType::F32 => flat.to_vec1::<f32>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
            DType::F64 => flat.to_vec1::<f64>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
            _ => flat.to_vec1::<i64>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
        };
        let dtype = described(name, tensor)?.dtype().ok_or("no numbers")?;
        let tensor = treedef_tensors::Tensor::new(dtype, tensor.dims().to_vec(), bytes)?;
        Ok(StoredTensor::of(name, tensor))
    }

    fn read(old: &Tensor, stored: &StoredTensor<'_>) -> Result<Tensor, Failure> {
        let (bytes, shape) = (stored.read_bytes()?, stored.descriptor().shape());
        Ok(Tensor::from_raw_buffer(&bytes, old.dtype(), shape, old.device())?)
    }

    fn model() -> Model {
        let tensor = |from: f32| Object(Tensor::new(&[from, from + 0.5], &Device::Cpu).unwrap());
        vec![tensor(0.25), tensor(-1.0)]
    }

    fn bits(model: &Model) -> Vec<Vec<u32>> {
        let numbers = model.iter().map(|tensor| tensor.to_vec1::<f32>().unwrap());
        numbers.map(|numbers| numbers.into_iter().map(f32::to_bits).collect()).collect()
    }

    #[test]
    fn safetensors_hold_a_state_with_its_counts() {
        let optimiser = chain!(clip_by_global_norm(1.0), adam(schedules::linear(0.5, 0.0, 30)))
            .freeze("[1]")
            .accumulate(2);
        let train = |mut model: Model, state: &mut State<Model, Tensor>| {
            for _ in 0..5 {
                let gradient = model.iter().map(|w| Object((&w.0 * 0.7).unwrap())).collect();
                model = optimiser.step(model, gradient, state).unwrap();
            }
            model
        };
        let mut state = optimiser.init::<Tensor, _>(&model()).unwrap();
        let half = train(model(), &mut state);

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state.safetensors");
        let saved = Tree::<Tensor>::of_objects(&(&half, &state)).unwrap();
        let source = Export::new().objects(&saved, Tensor::id, stored).unwrap();
        safetensors::save(source, &file).unwrap();
        let names = candle_core::safetensors::load(&file, &Device::Cpu).unwrap();
        assert_eq!(names["1.count"].to_scalar::<i64>().unwrap(), 1);
        assert!(names.contains_key("1.parts.0.parts.0.parts.1.leaves.mu.0"));

        // Another process: it makes a model and a state, and takes the numbers of the file.
        let begin: (Model, State<Model, Tensor>) = (model(), optimiser.init(&model()).unwrap());
        let like = Tree::<Tensor>::of_objects(&begin).unwrap();
        let found = safetensors::open(&file).unwrap();
        let loaded = Loader::new().objects_like(&like, &found, described, read).unwrap();
        let (resumed, mut resumed_state): (Model, State<Model, Tensor>) =
            loaded.into_objects().unwrap();
        assert_eq!(resumed_state.count(), state.count());
        let resumed = train(resumed, &mut resumed_state);
        let at_once = train(half.clone(), &mut state);
        assert_eq!(bits(&resumed), bits(&at_once));
        assert_ne!(bits(&half), bits(&at_once));
        assert_eq!(bits(&model())[1], bits(&at_once)[1]); // the frozen one
    }

    #[test]
    fn a_state_that_is_held_does_not_change() {
        let mut state = adam(0.1).init::<Tensor, _>(&model()).unwrap();
        let trained = adam(0.1).step(model(), model(), &mut state).unwrap();
        let (held, copy) = (Tree::<Tensor>::of_objects(&state).unwrap(), trained.clone());
        let numbers = |tree: &Tree<Tensor>| -> Vec<Vec<f32>> {
            let moments = tree.leaves().iter().filter(|tensor| tensor.dtype() == DType::F32);
            moments.map(|tensor| tensor.to_vec1().unwrap()).collect()
        };
        let before = (numbers(&held), bits(&copy));
        adam(0.1).step(trained, model(), &mut state).unwrap();
        assert_eq!((numbers(&held), bits(&copy)), before);
    }

    #[test]
    fn moments_of_frozen_tensors_take_no_memory() {
        let optimiser = adam(0.1).freeze("[1]");
        let mut state = optimiser.init::<Tensor, _>(&model()).unwrap();
        optimiser.step(model(), model(), &mut state).unwrap();
        let tree = Tree::<Tensor>::of_objects(&state).unwrap();
        let stride = |path: &str| tree.get(path).unwrap().stride().to_vec();
        assert_eq!(stride("parts[0].leaves.mu[0]"), [1]);
        assert_eq!(stride("parts[0].leaves.mu[1]"), [0]); // one number in all places
    }

    #[test]
    fn arithmetic_is_that_of_the_numbers() {
        use treedef_optim::transform::check_finite;
        use treedef_optim::tree;
        let sum = tree::add_scaled::<Tensor, _>(model(), 2.0, &model()).unwrap();
        assert_eq!(sum[0].to_vec1::<f32>().unwrap(), [0.75, 2.25]);
        let numbers = [0.25f64, 0.75, -1.0, -0.5];
        let norm = numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert_eq!(tree::norm::<Tensor, _>(&model()).unwrap(), norm);
        assert_eq!(tree::sum::<Tensor, _>(&model()).unwrap(), numbers.iter().sum::<f64>());
        assert_eq!(tree::dot::<Tensor, _>(&model(), &model()).unwrap(), norm * norm);
        assert_eq!(
            tree::norm::<Tensor, _>(&tree::zeros_like::<Tensor, _>(&model()).unwrap()).unwrap(),
            0.0
        );
        let to_dtype = |dtype: DType| {
            let tree = treedef::Tree::<Tensor>::of_objects(&model()).unwrap();
            let converted = tree.try_map(|tensor| tensor.to_dtype(dtype)).unwrap();
            converted.into_objects::<Model>().unwrap()
        };
        let halves = to_dtype(DType::BF16);
        assert!((tree::norm::<Tensor, _>(&halves).unwrap() - norm).abs() < 1e-2);

        let broken =
            vec![model().remove(0), Object(Tensor::new(&[1.0, f32::NAN], &Device::Cpu).unwrap())];
        assert!(!tree::is_finite::<Tensor, _>(&broken).unwrap());
        let optimiser = chain!(check_finite(), adam(0.1));
        let mut state = optimiser.init::<Tensor, _>(&model()).unwrap();
        assert_snapshot!(optimiser.step(model(), broken, &mut state).unwrap_err(), @"the gradient is not finite at `[1]`");
        let wide = vec![
            model().remove(0),
            Object(Tensor::zeros((2, 1), DType::F32, &Device::Cpu).unwrap()),
        ];
        assert_snapshot!(optimiser.step(model(), wide, &mut state).unwrap_err(), @"the gradient is f32[2, 1], the parameter is f32[2], at `[1]`");
        let double = to_dtype(DType::F64);
        assert_snapshot!(optimiser.step(model(), double, &mut state).unwrap_err(), @"the gradient is f64[2], the parameter is f32[2], at `[0]`");
    }

    #[test]
    fn gradients_need_not_be_contiguous() {
        let square = |numbers: [[f64; 2]; 2]| Tensor::new(&numbers, &Device::Cpu).unwrap();
        let model = || Object(square([[1.0, 2.0], [3.0, 4.0]]));
        let mut state = sgd(0.5).init::<Tensor, _>(&model()).unwrap();
        let gradient = Object(square([[0.0, 2.0], [4.0, 0.0]]).t().unwrap());
        let trained = sgd(0.5).step(model(), gradient, &mut state).unwrap();
        assert_eq!(trained.to_vec2::<f64>().unwrap(), [[1.0, 0.0], [2.0, 4.0]]);
    }

    #[test]
    fn a_tensor_of_another_type_or_shape_begins_afresh() {
        let mut state = adam(0.1).init::<Tensor, _>(&model()).unwrap();
        adam(0.1).step(model(), model(), &mut state).unwrap();
        let wider = Object(Tensor::zeros(3, DType::F32, &Device::Cpu).unwrap());
        let new = vec![model().remove(0), wider, model().remove(0)];
        let (_, report) = state.migrate(&adam(0.1), &new).unwrap();
        assert_snapshot!(report, @r#"filled `.leaves["mu"][2]`, `.leaves["nu"][2]`; changed f32[2] to f32[3] at `.leaves["mu"][1]`, f32[2] to f32[3] at `.leaves["nu"][1]`"#);
    }

    #[test]
    fn tensors_of_other_types_are_trained() {
        let tensor = |dtype: DType| {
            Object(Tensor::new(&[1.0f32, -2.0], &Device::Cpu).unwrap().to_dtype(dtype).unwrap())
        };
        let model = || vec![tensor(DType::BF16), tensor(DType::F16), tensor(DType::F64)];
        let mut state = adam(0.25).init::<Tensor, _>(&model()).unwrap();
        let trained = adam(0.25).step(model(), model(), &mut state).unwrap();
        for (tensor, before) in trained.iter().zip(model()) {
            assert_eq!(tensor.dtype(), before.dtype());
            let numbers = tensor.to_dtype(DType::F32).unwrap().to_vec1::<f32>().unwrap();
            assert!((numbers[0] - 0.75).abs() < 1e-2 && (numbers[1] + 1.75).abs() < 1e-2);
        }
        // As the docs of `candle` say, a mean of squares in `f16` is lost.
        let small = |dtype: DType| {
            let tensor = |number: f32| {
                let tensor = Tensor::new(&[number], &Device::Cpu).unwrap();
                Object(tensor.to_dtype(dtype).unwrap())
            };
            let mut model = tensor(0.0);
            let mut state = adam(1e-3).init::<Tensor, _>(&model).unwrap();
            for _ in 0..1000 {
                model = adam(1e-3).step(tensor(0.0), tensor(4e-3), &mut state).unwrap();
            }
            model.to_dtype(DType::F32).unwrap().to_vec1::<f32>().unwrap()[0] / -1e-3
        };
        assert!((small(DType::F32) - 1.0).abs() < 1e-3);
        assert!((20.0..32.0).contains(&small(DType::F16)), "{}", small(DType::F16));
        // What is no number stays one, in all types and by all operations.
        for dtype in [DType::BF16, DType::F16, DType::F32, DType::F64] {
            let tensor = |numbers: &[f32; 4]| {
                let tensor = Tensor::new(numbers, &Device::Cpu).unwrap();
                Object(tensor.to_dtype(dtype).unwrap())
            };
            let moved = |optimiser: Box<dyn Transform<Tensor>>| {
                let mut state = optimiser.init::<Tensor, _>(&tensor(&[0.0; 4])).unwrap();
                let gradient = tensor(&[f32::NAN, 3.0, 0.0, f32::NEG_INFINITY]);
                let moved = optimiser.step(tensor(&[0.0; 4]), gradient, &mut state).unwrap();
                let moved = moved.to_dtype(DType::F32).unwrap().to_vec1::<f32>().unwrap();
                format!("{moved:?}")
            };
            assert_eq!(moved(Box::new(lion(0.5))), "[NaN, -0.5, 0.0, 0.5]", "{dtype:?}");
            let clipped = moved(Box::new(chain!(clip(1.0), sgd(0.5))));
            assert_eq!(clipped, "[NaN, -0.5, 0.0, 0.5]", "{dtype:?}");
        }
        // Integers are no parameters: they stay as they are.
        let ids = Object(Tensor::new(&[1u32, 2], &Device::Cpu).unwrap());
        let model = || vec![tensor(DType::F32), ids.clone()];
        let mut state = adam(0.25).init::<Tensor, _>(&model()).unwrap();
        let trained = adam(0.25).step(model(), model(), &mut state).unwrap();
        assert_eq!(trained[1].to_vec1::<u32>().unwrap(), [1, 2]);
        // They need no group, and no pattern may name them alone.
        let groups = partition().group(["[0]"], adam(0.25));
        let mut state = groups.init::<Tensor, _>(&model()).unwrap();
        let grouped = groups.step(model(), model(), &mut state).unwrap();
        assert_eq!(bits(&vec![grouped[0].clone()]), bits(&vec![trained[0].clone()]));
        let error = |optimiser: Box<dyn Transform<Tensor>>| {
            optimiser.init::<Tensor, _>(&model()).unwrap_err().to_string()
        };
        assert_snapshot!(error(Box::new(adam(0.25).only("[1]"))), @"`[1]` names nothing that is trained");
        assert_snapshot!(error(Box::new(adam(0.25).freeze("[1]"))), @"`[1]` names nothing that is trained");
        assert_snapshot!(error(Box::new(adamw(0.25).decay_only("[1]"))), @"`[1]` names nothing that is trained");
        let decay = adamw(0.25).weight_decay(0.1).decay_only("[0]").decay_only("[1]");
        assert_snapshot!(error(Box::new(decay)), @"`[1]` names nothing that is trained");
        assert_snapshot!(error(Box::new(partition().group(["[0]", "[1]"], adam(0.25)))), @"`[1]` names nothing that is trained");
        assert_snapshot!(error(Box::new(groups.only("[1]"))), @"`[1]` names nothing that is trained");
        assert_snapshot!(adam(0.25).init::<Tensor, _>(&ids).unwrap_err(), @"the value has no floats: the leaf at the root is u32[2]");
    }
}
