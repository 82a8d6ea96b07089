//! A step allocates nothing after the first.

use allocation_counter::measure;
use serde::{Deserialize, Serialize};
use treedef_optim::transform::{
    Projection, Transform, check_finite, clip, clip_by_global_norm, partition, project,
    weight_decay,
};
use treedef_optim::{
    Optimiser, adabelief, adafactor, adagrad, adam, adamw, chain, lamb, lion, radam, rmsprop,
    schedules, sgd,
};

/// Thirty numbers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Model {
    layers: [Layer; 6],
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Layer {
    w: [f64; 4],
    b: f64,
}

const MODEL: Model = Model { layers: [Layer { w: [0.5, -0.5, 1.0, 2.0], b: 0.25 }; 6] };

fn allocations(optimiser: impl Transform<f64> + Optimiser) -> u64 {
    let mut state = optimiser.init::<f64, _>(&MODEL).unwrap();
    let mut model = optimiser.step(MODEL, MODEL, &mut state).unwrap();
    let used = measure(|| {
        for _ in 0..100 {
            model = optimiser.step(model, MODEL, &mut state).unwrap();
        }
    });
    used.count_total
}

#[test]
fn a_step_of_a_struct_allocates_nothing() {
    let rate = || schedules::warmup_cosine(0.0, 0.1, 10, 50, 0.01);
    let counts = [
        ("sgd", allocations(sgd(rate()).momentum(0.9).nesterov(true))),
        ("adam", allocations(adam(rate()))),
        ("adamw", allocations(adamw(rate()).weight_decay(0.1).decay_only("**.w"))),
        ("adabelief", allocations(adabelief(rate()))),
        ("radam", allocations(radam(rate()))),
        ("adagrad", allocations(adagrad(rate()))),
        ("rmsprop", allocations(rmsprop(rate()).momentum(0.5))),
        ("lion", allocations(lion(rate()).decay_only("**.w"))),
        ("lamb", allocations(lamb(rate()).weight_decay(0.1).decay_only("**.w"))),
        ("adafactor", allocations(adafactor(rate()).momentum(0.5).weight_decay(0.1))),
        ("lookahead", allocations(adam(rate()).lookahead(3, 0.5))),
        ("apply_if_finite", allocations(adam(rate()).apply_if_finite(3))),
        ("project", allocations(chain!(adam(rate()), project(Projection::L2Ball { radius: 1.0 })))),
        ("accumulate", allocations(adam(rate()).accumulate(3))),
        ("freeze", allocations(adam(rate()).freeze("layers[0]"))),
        ("decay", allocations(chain!(weight_decay(0.1).only("**.w"), sgd(0.1)))),
        (
            "chain",
            allocations(chain!(check_finite(), clip(0.5), clip_by_global_norm(1.0), adam(rate()))),
        ),
        (
            "partition",
            allocations(partition().group(["layers[0]", "**.b"], sgd(0.5)).rest(adam(rate()))),
        ),
    ];
    assert_eq!(
        counts.iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>(),
        [] as [&(&str, u64); 0]
    );
}

#[test]
fn a_step_beside_running_statistics_allocates_nothing() {
    #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
    struct Norm {
        running_mean: [f64; 2],
        weight: [f64; 2],
        running_var: [f64; 2],
    }
    let norm = Norm { running_mean: [1.0; 2], weight: [1.0; 2], running_var: [1.0; 2] };
    let (optimiser, model) = (adam(0.1), [norm; 3]);
    let mut state = optimiser.init::<f64, _>(&model).unwrap();
    let mut moved = optimiser.step(model, model, &mut state).unwrap();
    let used = measure(|| moved = optimiser.step(moved, model, &mut state).unwrap());
    assert_eq!(used.count_total, 0);
    let last = moved[2];
    assert!(last.running_var == [1.0; 2] && last.weight[0] < 1.0, "{last:?}");
}

#[test]
fn the_counter_counts() {
    assert!(measure(|| drop(std::hint::black_box(vec![1]))).count_total > 0);
}
