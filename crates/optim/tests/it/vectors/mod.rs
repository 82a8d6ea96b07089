//! Runs of optax 0.2.8 on JAX in float64. Losses, first gradients, final parameters and
//! averages agree to 1e-9 relative, with gradients from three sources.

#[cfg(feature = "num-dual")]
mod duals;
mod given;
mod model;
#[cfg(feature = "candle")]
mod tensors;

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use treedef_optim::schedules::{
    Schedule, cosine_decay, exponential_decay, join, linear, warmup_cosine,
};
use treedef_optim::transform::{
    Chain, Mask, Partition, Projection, Transform, clip, clip_by_global_norm, partition, project,
    weight_decay,
};
use treedef_optim::{
    Optimiser, Result, State, Trainable, adabelief, adafactor, adagrad, adam, adamw, lamb, lion,
    radam, rmsprop, sgd, tree,
};

use model::{Data, Mlp};

/// What decays in a run: the leaves with more than one dimension.
const MATRICES: &str = "matrices";
const VECTORS: &str = include_str!("../../optax.jsonl");

/// One line.
#[derive(Clone, Deserialize)]
struct Run {
    params: Mlp<f64>,
    #[serde(flatten)]
    data: Data,
    optimiser: Vec<Map<String, Value>>,
    steps: usize,
    losses: Vec<f64>,
    first_grad: Mlp<f64>,
    #[serde(rename = "final")]
    last: Mlp<f64>,
    ema: Option<f64>,
    average: Option<Mlp<f64>>,
    /// The slow parameters of a lookahead.
    slow: Option<Mlp<f64>>,
    /// The decays of adafactor's means, which optax computes in `float32`.
    #[serde(default)]
    decays: Vec<f64>,
    /// The steps whose gradients are NaN.
    #[serde(default)]
    broken: Vec<usize>,
}

impl Run {
    /// Whether adafactor begins with a decay below 0.5: optax computes the weight of the gradient, 1 less the decay, in
    /// `float32`, too, which is exact only above.
    fn has_rounded_weights(&self) -> bool {
        self.decays.iter().any(|decay| *decay < 0.5)
    }

    /// Whether some means of adafactor are of rows and columns, of leaves that have some.
    fn is_factored(&self) -> bool {
        let settings = self.optimiser.iter().filter_map(|part| part.get("adafactor"));
        settings.into_iter().any(|settings| settings.get("min_dim_size_to_factor").is_some())
    }
}

fn runs() -> Vec<Run> {
    VECTORS.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How a rate is rounded.
#[derive(Clone, Copy, PartialEq)]
enum Arithmetic {
    /// In `f64`, by the schedules of this crate.
    Ours,
    /// In `float32`, one operation after another.
    Eager,
    /// In `float32`, where XLA has fused a product and a sum: below `MultiSteps`.
    Fused,
}

/// The schedules as optax 0.2.8 computed them: it divides counts of 32 bits in `float32`, even where
/// all parameters are `float64`. Such a rate is rounded to seven digits. So the vectors are met to
/// 1e-9 with these, and with our own to 1e-5.
#[allow(clippy::cast_possible_truncation, reason = "as optax does")]
fn schedule(schedule: &Value, arithmetic: Arithmetic) -> Schedule {
    let (kind, value) = schedule.as_object().unwrap().iter().next().unwrap();
    if let Some(rate) = value.as_f64() {
        assert_eq!(kind, "constant");
        return Schedule::from(rate);
    }
    let field = |name: &str| value[name].as_f64().unwrap();
    let steps = value["steps"].as_u64().unwrap();
    let line = |init: f64, end: f64, steps: u64| {
        if arithmetic == Arithmetic::Ours {
            return linear(init, end, steps);
        }
        Schedule::from(move |count: u64| {
            let left = 1.0 - count.min(steps) as f32 / steps as f32;
            f64::from(match arithmetic {
                Arithmetic::Fused => ((init - end) as f32).mul_add(left, end as f32),
                _ => (init - end) as f32 * left + end as f32,
            })
        })
    };
    match kind.as_str() {
        "linear" => line(field("init"), field("end"), steps),
        "cosine_decay" => cosine_decay(field("init"), steps, field("alpha")),
        "exponential_decay" if arithmetic == Arithmetic::Ours => {
            exponential_decay(field("init"), steps, field("rate"))
        }
        "exponential_decay" => {
            let (init, rate) = (field("init") as f32, field("rate") as f32);
            Schedule::from(move |count: u64| {
                f64::from(init * rate.powf(count as f32 / steps as f32))
            })
        }
        "warmup_cosine" => {
            let (warmup, peak) = (value["warmup"].as_u64().unwrap(), field("peak"));
            if arithmetic == Arithmetic::Ours {
                return warmup_cosine(field("init"), peak, warmup, steps, field("end"));
            }
            let decay = cosine_decay(peak, steps - warmup, field("end") / peak);
            let decay = Schedule::from(move |count: u64| f64::from(decay.at(count) as f32));
            join([line(field("init"), peak, warmup), decay], [warmup])
        }
        other => panic!("no schedule `{other}`"),
    }
}

type Any<L> = Box<dyn Transform<L> + Send + Sync>;

/// The transforms of a run, by their names in the vectors. Numbers that change are those of this count: optax injects
/// them into a state.
fn optimiser<L: Trainable>(run: &Run, arithmetic: Arithmetic, count: u64) -> Any<L> {
    let mut chain: Option<Any<L>> = None;
    let mut around = Vec::new();
    for part in &run.optimiser {
        let (kind, value) = part.iter().next().unwrap();
        let transform: Any<L> = match (kind.as_str(), value.as_f64()) {
            ("accumulate" | "apply_if_finite" | "lookahead", _) => {
                around.push((kind.as_str(), value));
                continue;
            }
            ("clip", Some(limit)) => Box::new(clip(limit)),
            ("clip_by_global_norm", Some(limit)) => Box::new(clip_by_global_norm(limit)),
            ("project", _) => projected(value.as_object().unwrap()),
            _ => {
                let fields = value.as_object().unwrap();
                descent(kind, fields, run, arithmetic, count)
            }
        };
        chain = Some(match chain {
            Some(before) => Box::new(Chain((before, transform))),
            None => transform,
        });
    }
    around.into_iter().fold(chain.unwrap(), |inner, (kind, value)| match kind {
        "accumulate" => Box::new(inner.accumulate(value.as_u64().unwrap())),
        "apply_if_finite" => Box::new(inner.apply_if_finite(value.as_u64().unwrap())),
        _ => {
            let period = value["period"].as_u64().unwrap();
            let lookahead = inner.lookahead(period, value["step_size"].as_f64().unwrap());
            Box::new(lookahead.reset_state(value["reset_state"].as_bool().unwrap()))
        }
    })
}

fn projected<L: Trainable>(fields: &Map<String, Value>) -> Any<L> {
    let (kind, value) = fields.iter().find(|(name, _)| *name != "only").unwrap();
    let field = |name: &str| value[name].as_f64().unwrap();
    let onto = match kind.as_str() {
        "non_negative" => Projection::NonNegative,
        "box" => Projection::Interval { lower: field("lower"), upper: field("upper") },
        "simplex" => Projection::Simplex { sum: field("sum") },
        "l1_ball" => Projection::L1Ball { radius: field("radius") },
        "l2_ball" => Projection::L2Ball { radius: field("radius") },
        other => panic!("no projection `{other}`"),
    };
    Box::new(project(onto).only(fields["only"].as_str().unwrap()))
}

fn adafactor_of(
    rate: Schedule,
    fields: &Map<String, Value>,
    decays: Option<Vec<f64>>,
) -> treedef_optim::AdaFactor {
    let field = |name: &str| fields.get(name).and_then(Value::as_f64);
    let (power, offset) =
        (-field("decay_rate").unwrap_or(0.8), field("decay_offset").unwrap_or(0.0));
    let mut made = adafactor(rate).decay_of_squares(move |count: u64| match &decays {
        Some(decays) => decays[count as usize],
        None => 1.0 - (count as f64 + 1.0 - offset).powf(power),
    });
    if let Some(smallest) = fields.get("min_dim_size_to_factor") {
        made = made.min_dim_size_to_factor(smallest.as_u64().unwrap() as usize);
    }
    if let Some(limit) = fields.get("clipping_threshold") {
        made = made.clipping_threshold(limit.as_f64().unwrap_or(f64::INFINITY));
    }
    if let Some(momentum) = field("momentum") {
        made = made.momentum(momentum);
    }
    if let Some(decay) = field("weight_decay_rate") {
        made = made.weight_decay(decay).decay_only(fields["decay"].as_str().unwrap());
    }
    if let Some(eps) = field("eps") {
        made = made.eps(eps);
    }
    let by_parameters = fields.get("multiply_by_parameter_scale").and_then(Value::as_bool);
    made.multiply_by_parameter_scale(by_parameters.unwrap_or(true))
}

fn descent<L: Trainable>(
    kind: &str,
    fields: &Map<String, Value>,
    run: &Run,
    arithmetic: Arithmetic,
    count: u64,
) -> Any<L> {
    let rate = schedule(&fields["schedule"], arithmetic);
    let decays = (arithmetic != Arithmetic::Ours).then(|| run.decays.clone());
    let field = |name: &str| match &fields[name] {
        Value::Number(number) => number.as_f64().unwrap(),
        injected => schedule(injected, arithmetic).at(count),
    };
    let optimiser: Any<L> = match kind {
        "sgd" => Box::new(sgd(rate)),
        "momentum" => Box::new(sgd(rate).momentum(field("momentum"))),
        "nesterov" => Box::new(sgd(rate).momentum(field("momentum")).nesterov(true)),
        "adam" => Box::new(adam(rate).b1(field("b1")).b2(field("b2")).eps(field("eps"))),
        "adamw" => {
            let adamw = adamw(rate).b1(field("b1")).b2(field("b2")).eps(field("eps"));
            let decay = match fields["decay"].as_str().unwrap() {
                MATRICES => Mask::from(|shape: &[usize]| shape.len() > 1),
                pattern => pattern.into(),
            };
            Box::new(adamw.weight_decay(field("weight_decay")).decay_only(decay))
        }
        "adagrad" => {
            Box::new(adagrad(rate).initial_accumulator(field("initial")).eps(field("eps")))
        }
        "adabelief" => Box::new(adabelief(rate).b1(field("b1")).b2(field("b2")).eps(field("eps"))),
        "radam" => {
            let radam = radam(rate).b1(field("b1")).b2(field("b2"));
            Box::new(radam.threshold(field("threshold")))
        }
        "rmsprop" => Box::new(rmsprop(rate).decay(field("decay")).eps(field("eps"))),
        // The vectors were made with `weight_decay=0.0`: the first step has exactly the length of the rate.
        "lamb" => {
            let lamb = lamb(rate).b1(field("b1")).b2(field("b2")).eps(field("eps"));
            let decay = fields["decay"].as_str().unwrap();
            Box::new(lamb.weight_decay(field("weight_decay")).decay_only(decay))
        }
        "adafactor" => Box::new(adafactor_of(rate, fields, decays)),
        "lion" => Box::new(lion(rate).b1(field("b1")).b2(field("b2")).weight_decay(0.0)),
        other => panic!("no optimiser `{other}`"),
    };
    if let Some(frozen) = fields.get("frozen") {
        return Box::new(optimiser.freeze(frozen.as_str().unwrap()));
    }
    if let Some(rate) = fields.get("last_layer") {
        let group = [format!("layers[{}]", run.params.layers.len() - 1)];
        let groups: Partition<L> =
            partition().group(group, sgd(rate["sgd"].as_f64().unwrap())).rest(optimiser);
        return Box::new(groups);
    }
    optimiser
}

/// Every number within a limit of the expected, relative to it.
fn expect_near(what: &str, limit: f64, expected: &[f64], found: &[f64]) {
    assert_eq!(expected.len(), found.len(), "{what}");
    for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
        let limit = limit * expected.abs().max(RELATIVE_TO);
        assert!((expected - found).abs() <= limit, "{what}, {at}: {expected} {found}");
    }
}

/// What a difference is relative to, where a number is nearly zero.
const RELATIVE_TO: f64 = 1e-3;

fn numbers(model: &Mlp<f64>) -> Vec<f64> {
    treedef::flatten_as(model).unwrap().0
}

#[allow(clippy::cast_possible_truncation, reason = "it is rounded")]
fn round_number(number: f64) -> f64 {
    f64::from(number as f32)
}

/// Models of one kind.
struct Kind<L, M, G, P, R> {
    make: fn(&Mlp<f64>) -> M,
    value_and_grad: G,
    plain: P,
    /// Rounds a leaf to `float32`.
    round: R,
    leaf: PhantomData<L>,
}

impl<L, M, G, P, R> Kind<L, M, G, P, R>
where
    L: Trainable,
    M: Serialize + DeserializeOwned,
    G: Fn(&M, &Data) -> Result<(f64, M)>,
    P: Fn(&M) -> Mlp<f64>,
    R: Fn(L) -> L,
{
    /// Runs all vectors, and compares to 1e-9.
    fn replay(&self) -> usize {
        let runs = runs();
        // Plain numbers have neither rows nor columns.
        let runs = runs.iter().enumerate().filter(|(_, run)| !(L::IS_NUMBER && run.is_factored()));
        runs.map(|(line, run)| self.run(line, run, true)).count()
    }

    /// Runs a vector. Rounds as optax does, or does not, which makes a difference of up to 1e-5.
    fn run(&self, line: usize, run: &Run, as_optax: bool) {
        let near = |what: &str, expected: &[f64], found: &[f64]| {
            let as_exact = if run.has_rounded_weights() { 1e-8 } else { 1e-9 };
            let limit = if as_optax { as_exact } else { 1e-5 };
            expect_near(&format!("line {line}: {what}"), limit, expected, found);
        };
        let accumulates = run.optimiser.iter().any(|part| part.contains_key("accumulate"));
        let arithmetic = match (as_optax, accumulates) {
            (false, _) => Arithmetic::Ours,
            (true, true) => Arithmetic::Fused,
            (true, false) => Arithmetic::Eager,
        };
        let optimiser = |count: u64| optimiser::<L>(run, arithmetic, count);
        let mut model = (self.make)(&run.params);
        let mut average = (self.make)(&run.params);
        let mut state: State<M, L> = optimiser(0).init(&model).unwrap();
        let mut losses = Vec::new();
        for step in 0..run.steps {
            let (loss, gradient) = (self.value_and_grad)(&model, &run.data).unwrap();
            if step == 0 {
                let [expected, found] = [&run.first_grad, &(self.plain)(&gradient)].map(numbers);
                near("gradient", &expected, &found);
            }
            losses.push(loss);
            let is_broken = run.broken.contains(&step);
            let gradient =
                if is_broken { tree::scale::<L, M>(f64::NAN, gradient).unwrap() } else { gradient };
            model = optimiser(state.count()).step(model, gradient, &mut state).unwrap();
            if as_optax && accumulates {
                state = self.with_rounded_mean(&state);
            }
            if let Some(ema) = run.ema {
                tree::incremental_update::<L, M>(&model, &mut average, 1.0 - ema).unwrap();
            }
        }
        near("losses", &run.losses, &losses);
        let found = numbers(&(self.plain)(&model));
        near("parameters", &numbers(&run.last), &found);
        if let Some(expected) = &run.slow {
            let found = L::tree(&state).unwrap().subtree("leaves.slow").unwrap();
            let (treedef, mut leaves) = found.into_parts();
            let found: M = L::rebuild(&treedef, &mut leaves).unwrap();
            near("slow", &numbers(expected), &numbers(&(self.plain)(&found)));
        }
        if let Some(expected) = &run.average {
            let found = numbers(&(self.plain)(&average));
            near("average", &numbers(expected), &found);
        }
    }

    /// optax's `MultiSteps` keeps the mean of gradients in `float32` unless it is told otherwise. Ours
    /// keeps it in the type of the parameters. So the mean in the state is rounded after each step.
    fn with_rounded_mean(&self, state: &State<M, L>) -> State<M, L> {
        let mut tree = L::tree(state).unwrap();
        for (_, leaf) in tree.select_mut("leaves.mean").unwrap() {
            *leaf = (self.round)(leaf.clone());
        }
        let (treedef, mut leaves) = tree.into_parts();
        L::rebuild(&treedef, &mut leaves).unwrap()
    }
}

/// The long way: transforms one after another give what the optimisers do in one pass.
#[test]
fn adamw_is_a_chain_of_its_parts() {
    use treedef_optim::chain;
    use treedef_optim::transform::{ema, scale};
    // Without the root of the second moment this is momentum; the decay and its mask are the same.
    let parts = chain!(ema(0.5).debias(false), weight_decay(0.1).only("[0]"), scale(-0.25));
    let mut state = parts.init::<f64, _>(&vec![1.0, 1.0]).unwrap();
    let model = parts.step(vec![1.0, 1.0], vec![2.0, 2.0], &mut state).unwrap();
    assert_eq!(model, [1.0 - 0.25 * (1.0 + 0.1), 0.75]);
}

/// By rounding, the mean of squares is below the square of the mean.
#[test]
fn centered_means_of_equal_gradients_are_finite() {
    for gradient in [26_731.6, 208_801.0, 5_322_042.8] {
        let optimiser = rmsprop(1e-3).centered(true);
        let mut state = optimiser.init::<f64, _>(&0.0).unwrap();
        let mut model = 0.0f64;
        for _ in 0..400 {
            model = optimiser.step(model, gradient, &mut state).unwrap();
            assert!(model.is_finite(), "{gradient}");
        }
    }
}

/// What optax 0.2.8 makes of five given gradients, in float64. Its runs above have no centered means.
#[test]
fn centered_means_are_those_of_optax() {
    let gradients = [[0.5, -2.0], [0.25, -1.0], [-0.75, 3.0], [1.5, 0.125], [0.5, -0.5]];
    let centered = || rmsprop(0.1).decay(0.75).eps(1e-6).centered(true);
    let cases = [
        (centered(), [0.5486345258427867, -0.7871294786417713]),
        (centered().momentum(0.5), [0.254809457218639, -0.5944029755790822]),
        (centered().momentum(0.5).nesterov(true), [0.17603925445210616, -0.5843309664313124]),
        (centered().initial_scale(1.0), [0.7913678370307439, -0.8808260553460675]),
    ];
    for (optimiser, expected) in cases {
        let mut state = optimiser.init::<f64, _>(&[1.0, -1.0]).unwrap();
        let mut found = [1.0f64, -1.0];
        for gradient in gradients {
            found = optimiser.step(found, gradient, &mut state).unwrap();
        }
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{optimiser:?}: {found}, not {expected}");
        }
    }
}
