//! `cargo bench`: what a step costs, beside the loop that one writes by hand. Each figure is the least of rounds that take
//! turns: what else the machine does only adds to it. `crates/candle/benches/steps.rs` does the same for tensors.

mod turns;

use std::hint::black_box;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_optim::{Optimiser, adam};

use turns::{Result, least};

/// `cargo bench --bench steps -- four million` runs two of them.
fn main() -> Result {
    let mut wanted: Vec<String> =
        std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    if wanted.is_empty() {
        wanted = ["small", "nested", "four", "million", "large"].map(str::to_owned).to_vec();
    }
    wanted.iter().try_for_each(|name| match &**name {
        "small" => small(),
        "nested" => small_nested(),
        "four" => four(),
        "million" => million(),
        "large" => large(),
        _ => Err(format!("there is no `{name}`").into()),
    })
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Decay {
    amplitude: f64,
    rate: f64,
    offset: f64,
    delay: f64,
}

/// Each way to make a step, beside the loop by hand on slices.
fn beside(hand: f64, name: &str, ways: [(&str, f64); 3]) {
    let ways = ways.map(|(way, time)| format!("`{way}` {:.2} ×", time / hand));
    println!("{name}: by hand {hand:.0} ns; {}", ways.join(", "));
}

fn four() -> Result {
    let gradient = Decay { amplitude: 0.5, rate: -0.25, offset: 1.0, delay: 0.125 };
    let optimiser = adam(1e-3);
    let (mut p, g, mut m, mut v) = ([0.0; 4], [0.5, -0.25, 1.0, 0.125], [0.0; 4], [0.0; 4]);
    let mut count = 0;
    let mut model = Decay::default();
    let mut state = optimiser.init::<f64, _>(&model)?;
    let mut moved = model;
    let mut moved_state = optimiser.init::<f64, _>(&moved)?;
    let mut tree = Tree::<f64>::of_as(&model)?;
    let mut tree_state = optimiser.init_tree(&tree)?;
    let mut gradients = Tree::<f64>::of_as(&gradient)?;
    let [hand, flat, in_place, typed] = least(
        31,
        10_000,
        [
            &mut || {
                count += 1;
                by_hand_f64(count, black_box(&mut p), black_box(&g), &mut m, &mut v);
                Ok(())
            },
            &mut || Ok(optimiser.step_tree(&mut tree, &mut gradients, &mut tree_state)?),
            &mut || Ok(optimiser.step_in_place(black_box(&mut model), &gradient, &mut state)?),
            &mut || {
                moved = optimiser.step(black_box(moved), gradient, &mut moved_state)?;
                Ok(())
            },
        ],
    )?;
    let ways = [("step_tree", flat), ("step_in_place", in_place), ("step", typed)];
    beside(hand, "4 f64 in a struct", ways);
    Ok(())
}

/// Each round with vectors of its own, as below.
fn million() -> Result {
    let mut least = [f64::INFINITY; 4];
    for _ in 0..8 {
        for (least, found) in least.iter_mut().zip(million_once()?) {
            *least = least.min(found);
        }
    }
    let [hand, flat, in_place, typed] = least;
    let ways = [("step_tree", flat), ("step_in_place", in_place), ("step", typed)];
    beside(hand, "10⁶ f64 in a `Vec`", ways);
    Ok(())
}

fn million_once() -> Result<[f64; 4]> {
    let g: Vec<f64> = (0..1_000_000).map(|at| f64::from(at).sin()).collect();
    let optimiser = adam(1e-3);
    let (mut p, mut m, mut v) = (g.clone(), vec![0.0; g.len()], vec![0.0; g.len()]);
    let mut count = 0;
    let mut model = g.clone();
    let mut state = optimiser.init::<f64, _>(&model)?;
    let mut moved = g.clone();
    let mut moved_state = optimiser.init::<f64, _>(&moved)?;
    let mut tree = Tree::<f64>::of_as(&model)?.clone();
    let mut tree_state = optimiser.init_tree(&tree)?;
    let mut gradients = tree.clone();
    least(
        5,
        8,
        [
            &mut || {
                count += 1;
                by_hand_f64(count, &mut p, &g, &mut m, &mut v);
                Ok(())
            },
            &mut || Ok(optimiser.step_tree(&mut tree, &mut gradients, &mut tree_state)?),
            &mut || Ok(optimiser.step_in_place(&mut model, &g, &mut state)?),
            &mut || {
                let gradient = g.clone();
                moved = optimiser.step(std::mem::take(&mut moved), gradient, &mut moved_state)?;
                Ok(())
            },
        ],
    )
}

/// Adam as one writes it by hand.
#[inline(never)]
fn by_hand_f64(count: i32, p: &mut [f64], g: &[f64], m: &mut [f64], v: &mut [f64]) {
    let (b1, b2, eps, rate) = (0.9f64, 0.999f64, 1e-8, 1e-3);
    let (first, second) = (1.0 / (1.0 - b1.powi(count)), 1.0 / (1.0 - b2.powi(count)));
    for (((p, g), m), v) in p.iter_mut().zip(g).zip(m).zip(v) {
        *m = b1 * *m + (1.0 - b1) * g;
        *v = b2 * *v + (1.0 - b2) * g * g;
        *p -= rate * (*m * first) / ((*v * second).sqrt() + eps);
    }
}

macro_rules! thirty {
    ($($field:ident)*) => {
        #[derive(Clone, Copy, Default, Serialize, Deserialize)]
        struct Thirty { $($field: f64,)* }
    };
}

thirty! { a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 }

fn small() -> Result {
    let gradient = Thirty { a0: 0.5, b5: -0.25, c9: 1.0, ..Thirty::default() };
    let optimiser = adam(1e-3);
    let mut model = Thirty::default();
    let mut state = optimiser.init::<f64, _>(&model)?;
    let mut tree = Tree::<f64>::of_as(&model)?;
    let mut tree_state = optimiser.init_tree(&tree)?;
    let gradients = Tree::<f64>::of_as(&gradient)?;
    let [typed, flat] = least(
        31,
        10_000,
        [
            &mut || {
                model = optimiser.step(model, black_box(gradient), &mut state)?;
                Ok(())
            },
            &mut || {
                let mut gradients = gradients.clone();
                Ok(optimiser.step_tree(&mut tree, black_box(&mut gradients), &mut tree_state)?)
            },
        ],
    )?;
    println!("30 f64 in a struct: {typed:.0} ns, of a tree {flat:.0} ns");
    Ok(())
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Layer {
    w: [f64; 4],
    b: f64,
}

fn small_nested() -> Result {
    type Model = [Layer; 6];
    let gradient: Model = [Layer { w: [0.5, -0.5, 0.25, 1.0], b: 0.1 }; 6];
    let optimiser = adam(1e-3);
    let mut model = Model::default();
    let mut state = optimiser.init::<f64, _>(&model)?;
    let [typed] = least(
        31,
        10_000,
        [&mut || {
            model = optimiser.step(model, black_box(gradient), &mut state)?;
            Ok(())
        }],
    )?;
    println!("30 f64 in six structs: {typed:.0} ns");
    Ok(())
}

#[derive(Clone, Serialize, Deserialize)]
struct Vectors {
    a: Vec<f32>,
    b: Vec<f32>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Arrays {
    #[serde(with = "treedef::object")]
    a: Arc<[f32]>,
    #[serde(with = "treedef::object")]
    b: Arc<[f32]>,
}

/// Adam as one writes it by hand.
#[inline(never)]
fn by_hand(count: i32, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
    let (b1, b2, eps, rate) = (0.9f32, 0.999f32, 1e-8f32, 1e-3f32);
    let (first, second) = (1.0 / (1.0 - b1.powi(count)), 1.0 / (1.0 - b2.powi(count)));
    for (((p, g), m), v) in p.iter_mut().zip(g).zip(m).zip(v) {
        *m = b1 * *m + (1.0 - b1) * g;
        *v = b2 * *v + (1.0 - b2) * g * g;
        *p -= rate * (*m * first) / ((*v * second).sqrt() + eps);
    }
}

/// Each program several times with vectors of its own: where they lie in memory makes up to a factor of two.
fn large() -> Result {
    let mut least = [f64::INFINITY; 4];
    for _ in 0..4 {
        for (least, found) in least.iter_mut().zip(large_once()?) {
            *least = least.min(found);
        }
    }
    let [hand, tree, arrays, vectors] = least;
    println!(
        "10⁷ f32: by hand {:.1} ms; a tree {:.2} ×, `Arc<[f32]>` {:.2} ×, `Vec<f32>` {:.2} ×",
        hand / 1e6,
        tree / hand,
        arrays / hand,
        vectors / hand
    );
    Ok(())
}

fn large_once() -> Result<[f64; 4]> {
    const HALF: usize = 5_000_000;
    let numbers: Vec<f32> = (0..HALF).map(|at| (at as f32).sin()).collect();
    let gradient = Vectors { a: numbers.clone(), b: numbers };
    let optimiser = adam(1e-3);

    let mut by_hand_model = [gradient.clone(), gradient.clone(), gradient.clone()];
    by_hand_model[1..].iter_mut().for_each(|slot| {
        slot.a.fill(0.0);
        slot.b.fill(0.0);
    });
    let mut count = 0;

    // A clone, as the other vectors are: memory that grew while it was filled is slower here.
    let mut tree = Tree::<f32>::of_as(&gradient)?.clone();
    let mut tree_state = optimiser.init_tree(&tree)?;
    let mut gradients = tree.clone();

    let arrays = |vectors: &Vectors| Arrays { a: (&*vectors.a).into(), b: (&*vectors.b).into() };
    let array_gradient = arrays(&gradient);
    let mut array_model = Some(arrays(&gradient));
    let mut array_state = optimiser.init::<Arc<[f32]>, _>(&array_gradient)?;

    let mut model = gradient.clone();
    let mut state = optimiser.init::<f32, _>(&model)?;

    least(
        5,
        8,
        [
            &mut || {
                count += 1;
                let [p, m, v] = &mut by_hand_model;
                by_hand(count, &mut p.a, &gradient.a, &mut m.a, &mut v.a);
                by_hand(count, &mut p.b, &gradient.b, &mut m.b, &mut v.b);
                Ok(())
            },
            &mut || Ok(optimiser.step_tree(&mut tree, &mut gradients, &mut tree_state)?),
            &mut || {
                let model = array_model.take().ok_or("the model")?;
                array_model =
                    Some(optimiser.step(model, array_gradient.clone(), &mut array_state)?);
                Ok(())
            },
            &mut || Ok(optimiser.step_in_place(&mut model, &gradient, &mut state)?),
        ],
    )
}
