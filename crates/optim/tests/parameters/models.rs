//! Models and vectors: exact both ways, shared by threads, without allocations.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use treedef_optim::{Parameters, ParametersError};

type Result<T = ()> = std::result::Result<T, ParametersError>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Mixed {
    a: f32,
    b: f64,
    name: String,
    map: BTreeMap<String, (f32, f64)>,
    some: Option<f32>,
    none: Option<f64>,
    steps: Vec<f64>,
    mix: Vec<f32>,
    count: u32,
}

fn mixed() -> Mixed {
    let scale = || fastrand::f64() * 2f64.powi(fastrand::i32(-60..60));
    let narrow = || scale() as f32;
    let mut mix: Vec<f32> = (0..5).map(|_| fastrand::f32() + 0.01).collect();
    let sum: f32 = mix.iter().sum();
    mix.iter_mut().for_each(|part| *part /= sum);
    Mixed {
        a: narrow(),
        b: scale(),
        name: "fox".to_owned(),
        map: [("x", 0.0), ("y", 1.0)]
            .map(|(key, add)| (key.to_owned(), (narrow(), scale() + add)))
            .into(),
        some: Some(narrow()),
        none: None,
        steps: (0..4).map(|at| f64::from(at) + fastrand::f64()).collect(),
        mix,
        count: 3,
    }
}

/// A number has all its bits again after every transform, if it has not moved.
#[test]
fn what_did_not_move_is_exact() -> Result {
    fastrand::seed(4);
    for _ in 0..1000 {
        let model = mixed();
        let p = Parameters::new(&model)?
            .positive("a")?
            .softplus("b")?
            .interval(r#"map["x"]"#, 0.0..)?
            .interval("some", ..1e30)?
            .ordered("steps")?
            .simplex("mix")?;
        assert_eq!(p.value(p.initial())?, model);
        assert_eq!(p.point(&model)?, p.initial());
        // One moves, the others stay.
        for at in 0..p.len() {
            let mut x = p.initial().to_vec();
            x[at] += 0.125;
            let Ok(moved) = p.value(&x) else { continue };
            let same = |ours: bool, names: &str| ours || p.names()[at].starts_with(names);
            assert!(same(moved.a == model.a, ".a") && same(moved.b == model.b, ".b"));
            assert!(same(moved.steps == model.steps, ".steps"));
            assert!(
                same(moved.mix == model.mix, ".mix") && same(moved.some == model.some, ".some")
            );
        }
    }
    Ok(())
}

#[test]
fn floats_of_32_bits_are_checked_as_such() -> Result {
    let p = Parameters::new(&(1.0f32, 1.0f64))?;
    let error = p.value(&[1e39, 0.0]).unwrap_err();
    assert_eq!(error.to_string(), "1e39 is not finite as `f32` at `.0`");
    assert_eq!(p.value(&[0.1, 0.1])?, (0.1f32, 0.1f64));
    assert_eq!(p.leaves(&[0.1, 0.1])?, [f64::from(0.1f32), 0.1]);

    // Positive as an `f64`, and zero as an `f32`.
    let p = p.positive("*")?;
    assert!(p.value(&[0.0, -110.0]).is_ok());
    let error = p.value(&[-110.0, 0.0]).unwrap_err();
    assert!(error.to_string().ends_with("is not in (0, ∞) at `.0`"), "{error}");

    let p = Parameters::new(&[1.0f32, 2.0])?.ordered("")?;
    assert_eq!(
        p.value(&[1.0, -20.0]).unwrap_err().to_string().split(" is").nth(1),
        Some(" not above the one before it at `.1`")
    );
    Ok(())
}

#[test]
fn a_point_is_refused_with_its_path() -> Result {
    let model = (1.0, [2.0, 2.0], "text".to_owned());
    let p = Parameters::new(&model)?.bounds(".0", 0.0..=5.0)?.tie([".1.*"])?;
    let refused =
        |a, b, c, text: &str| p.point(&(a, [b, c], text.to_owned())).unwrap_err().to_string();
    assert_eq!(p.point(&(3.0, [4.0, 4.0], "text".to_owned()))?, [3.0, 4.0]);
    assert_eq!(refused(6.0, 2.0, 2.0, "text"), "6 is not in [0, 5] at `.0`");
    assert_eq!(
        refused(1.0, 2.0, 3.0, "text"),
        "expected 2, found 3 at `.1.1`: it is tied to `.1.0`"
    );
    assert_eq!(refused(1.0, f64::NAN, f64::NAN, "text"), "NaN is not finite at `.1.0`");
    assert!(refused(1.0, 2.0, 2.0, "other").contains("at `.2`"));
    let error = Parameters::new(&vec![1.0, 2.0])?.point(&vec![1.0]).unwrap_err();
    assert_eq!(error.to_string(), "expected 2 children, found 1 child at the root");
    Ok(())
}

#[test]
fn vectors_are_refused_with_the_path() -> Result {
    let p = Parameters::new(&vec![1.0; 5])?.fix("[2]")?;
    let refused = |x: &[f64]| p.value(x).unwrap_err().to_string();
    assert_eq!(refused(&[1.0; 5]), "expected 4 numbers in the vector, found 5");
    assert_eq!(refused(&[0.0, 0.0, 0.0, f64::NAN]), "NaN is not finite at `[4]`");
    // Also where the vector is the leaves.
    let p = Parameters::new(&vec![1.0; 1000])?;
    for (at, bad) in [(0, f64::NAN), (500, f64::INFINITY), (999, f64::NEG_INFINITY), (7, -f64::NAN)]
    {
        let mut x = vec![f64::MAX; 1000];
        x[at] = bad;
        let error = p.value(&x).unwrap_err().to_string();
        assert!(error.ends_with(&format!("is not finite at `[{at}]`")), "{error}");
    }
    // A model that begins with a NaN may fix it.
    let p = Parameters::new(&(f64::NAN, 1.0))?;
    assert!(p.value(p.initial()).is_err());
    assert!(p.fix(".0")?.value(&[2.0])?.0.is_nan());
    Ok(())
}

/// The numbers of a model that threads cannot share are shared all the same.
#[test]
fn threads_share_parameters() -> Result {
    #[derive(Serialize, Deserialize)]
    struct Model {
        a: f64,
        #[serde(skip)]
        cache: Cell<Option<Rc<f64>>>,
    }
    let p = Parameters::new(&Model { a: 2.0, cache: Cell::default() })?.positive("a")?;
    let sums: Vec<f64> = std::thread::scope(|scope| {
        let run = |thread: i32| {
            let p = &p;
            scope.spawn(move || {
                let values = (0..1000).map(|at| p.value(&[f64::from(thread + at) / 500.0]));
                values.map(|model| model.map_or(f64::NAN, |model| model.a)).sum()
            })
        };
        let threads: Vec<_> = (0..4).map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (thread, sum) in sums.into_iter().enumerate() {
        let expected: f64 = (0..1000).map(|at| ((thread + at) as f64 / 500.0).exp()).sum();
        assert_eq!(sum, expected);
    }
    assert!(p.value(&[0.0])?.cache.take().is_none());
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Plain {
    first: Peak,
    second: Peak,
    offset: f64,
    rates: [f64; 5],
    count: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Peak {
    height: f64,
    at: f32,
    mix: (f64, u8),
}

#[test]
fn a_plain_model_is_made_without_an_allocation() -> Result {
    let peak = Peak { height: 1.0, at: 2.0, mix: (0.5, 3) };
    let (second, rates) = (peak.clone(), [0.2; 5]);
    let start = Plain { first: peak, second, offset: 0.5, rates, count: 7 };
    let all = Parameters::new(&start)?;
    let some = all.clone().positive("**.height")?.interval("**.mix.0", 0.0..=1.0)?.fix("offset")?;
    let some = some.simplex("rates")?;
    let mut model = start.clone();
    for p in [all, some] {
        assert_eq!(p.value(p.initial())?, start);
        let x: Vec<f64> = p.initial().iter().map(|x| x + 0.25).collect();
        let expected = p.value(&x)?;
        let mut result = Ok(());
        let counted = allocation_counter::measure(|| {
            for _ in 0..100 {
                result = result
                    .as_ref()
                    .map_err(|_| ())
                    .and_then(|()| p.value_into(&x, &mut model).map_err(|_| ()));
            }
        });
        assert_eq!((result, counted.count_total), (Ok(()), 0));
        assert_eq!(model, expected);
        assert_ne!(model, start);
    }
    Ok(())
}

#[cfg(feature = "in_place")]
#[test]
fn vectors_keep_their_memory_and_skipped_fields_stay() -> Result {
    #[derive(Serialize, Deserialize)]
    struct Model {
        w: Vec<f64>,
        #[serde(skip)]
        cache: u8,
    }
    let mut model = Model { w: vec![1.0; 100], cache: 7 };
    let p = Parameters::new(&model)?.positive("w")?;
    let x = vec![0.5; 100];
    p.value_into(&x, &mut model)?;
    let counted = allocation_counter::measure(|| drop(p.value_into(&x, &mut model)));
    assert_eq!((counted.count_total, model.w[99], model.cache), (0, 0.5f64.exp(), 7));
    Ok(())
}

#[test]
fn a_gradient_is_a_model() -> Result {
    #[derive(Clone, Serialize, Deserialize)]
    struct Model {
        layers: Vec<Layer>,
        scale: f32,
        epoch: u64,
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct Layer {
        w: [f64; 2],
        k: f64,
    }
    let layer = Layer { w: [0.25, 0.75], k: 2.0 };
    let model = Model { layers: vec![layer; 2], scale: 3.0, epoch: 7 };
    let p =
        Parameters::new(&model)?.tie(["**.k"])?.positive("**.k")?.simplex("**.w")?.fix("scale")?;
    let x = [0.3, 0.7, -0.4];
    // f = Σᵢ (1 + i) (w₀² kᵢ + w₁) + scale
    let loss = |model: &Model| {
        let of = |(at, layer): (usize, &Layer)| {
            (1.0 + at as f64) * (layer.w[0].powi(2) * layer.k + layer.w[1])
        };
        model.layers.iter().enumerate().map(of).sum::<f64>() + f64::from(model.scale)
    };
    let at = p.value(&x)?;
    let mut slopes = at.clone();
    for (number, (slope, layer)) in slopes.layers.iter_mut().zip(&at.layers).enumerate() {
        let factor = 1.0 + number as f64;
        slope.w = [factor * 2.0 * layer.w[0] * layer.k, factor];
        slope.k = factor * layer.w[0].powi(2);
    }
    (slopes.scale, slopes.epoch) = (1.0, 0); // what is no float plays no part
    let gradient = p.gradient(&x, &slopes)?;
    let by_leaves = [
        slopes.layers[0].w[0],
        slopes.layers[0].w[1],
        slopes.layers[0].k,
        slopes.layers[1].w[0],
        slopes.layers[1].w[1],
        slopes.layers[1].k,
        1.0,
    ];
    let chained = p.jacobian(&x)?.chain(&by_leaves)?;
    for (by, (gradient, chained)) in gradient.iter().zip(&chained).enumerate() {
        let moved = |step: f64| {
            let mut x = x;
            x[by] += step;
            p.value(&x).map(|model| loss(&model))
        };
        let slope = (moved(1e-6)? - moved(-1e-6)?) / 2e-6;
        assert!((gradient - slope).abs() < 1e-8 && (gradient - chained).abs() < 1e-14);
    }
    slopes.layers[1].k = f64::NAN;
    let error = p.gradient(&x, &slopes).unwrap_err().to_string();
    assert_eq!(error, "NaN is not a finite derivative at `.layers[0].k`");
    Ok(())
}

#[test]
fn models_without_anything_to_vary_are_fine() -> Result {
    let p = Parameters::new(&("text", 3, ()))?;
    assert!(p.is_empty() && p.dims().is_empty() && p.names().is_empty());
    let p = Parameters::new(&(1.0, 2.0))?.fix("*")?;
    assert_eq!((p.len(), p.value(&[])?), (0, (1.0, 2.0)));
    assert_eq!(p.log_jacobian(&[], None)?, 0.0);
    assert_eq!(p.covariance(&[], &[])?.matrix()?, [0.0; 4]);
    let p = Parameters::new(&2.5)?.positive("")?;
    assert_eq!((p.value(&[0.0])?, &*p.names()), (1.0, &["".to_owned()][..]));
    assert_eq!(p.value(&[f64::NAN]).unwrap_err().to_string(), "NaN is not finite at the root");
    Ok(())
}

/// Ties, patterns and blocks of very many leaves take no time that grows with their square.
#[test]
fn many_leaves_can_be_tied() -> Result {
    let count = 100_000;
    let p = Parameters::new(&vec![(0.5, 1.0, 2u8); count])?.tie(["[*].0"])?;
    assert_eq!(p.len(), count + 1);
    let mut x = p.initial().to_vec();
    x[0] = 3.0;
    let model = p.value(&x)?;
    assert_eq!((model[0], model[count - 1]), ((3.0, 1.0, 2), (3.0, 1.0, 2)));
    let gradient = p.gradient(&x, &vec![(1.0, 2.0, 0); count])?;
    assert_eq!((gradient[0], gradient[1]), (count as f64, 2.0));
    let chained = p.jacobian(&x)?.chain(&[1.0, 2.0].repeat(count))?;
    assert_eq!(chained, gradient);
    Ok(())
}

/// What is no float may differ among nodes that are tied, and three ties in a row are one.
#[test]
fn ties_are_transitive() -> Result {
    let model = [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0)].map(|(a, b)| (a.to_owned(), b));
    let p = Parameters::new(&model)?.tie([".2", ".3"])?.tie([".1", ".2"])?;
    let p = p.tie([".0", ".3"])?;
    assert_eq!(p.names(), [".0.1"]);
    let expected = model.clone().map(|(name, _)| (name, 5.0));
    assert_eq!(p.value(&[5.0])?, expected);
    assert_eq!(p.point(&expected)?, [5.0]);
    Ok(())
}

#[test]
fn constants_beside_objects_of_another_type_do_not_vary() {
    let error = Parameters::new(&(treedef::Object(1.0f32), 2.0)).unwrap_err().to_string();
    assert!(error.contains("a `f32` is an object"), "{error}");
}

thread_local! {
    static NEWTYPES: Cell<u32> = const { Cell::new(0) };
}

/// An object below as many transparent newtypes as the thread says.
struct Below;

impl<'de> Deserialize<'de> for Below {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        struct Inner;
        impl<'de> serde::de::Visitor<'de> for Inner {
            type Value = Below;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number")
            }

            fn visit_newtype_struct<D: serde::Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> std::result::Result<Below, D::Error> {
                Below::deserialize(deserializer)
            }
        }
        match NEWTYPES.get().checked_sub(1) {
            Some(left) => {
                NEWTYPES.set(left);
                deserializer.deserialize_newtype_struct("Other", Inner)
            }
            None => treedef::Object::<f64>::deserialize(deserializer).map(|_| Below),
        }
    }
}

/// The walk ends at the request for the object, which is then not taken.
#[test]
fn a_walk_that_is_too_deep_leaves_nothing_behind() -> Result {
    let (leaves, treedef) = treedef::flatten(&1.0)?;
    let mut refused = 0;
    for newtypes in 0..300 {
        NEWTYPES.set(newtypes);
        refused += u32::from(treedef::unflatten::<Below>(&treedef, &leaves).is_err());
        let p = Parameters::new(&(treedef::Object(1.0), 2.0))?;
        assert_eq!(p.value(&[3.0])?, (treedef::Object(3.0), 2.0), "{newtypes}");
        let (_, treedef) = treedef::flatten_objects::<f64>(&(treedef::Object(1.0), 2.0))?;
        assert_eq!(treedef.num_leaves(), 1);
    }
    assert!(refused > 0);
    Ok(())
}
