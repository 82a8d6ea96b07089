//! Dual numbers through all transforms, against the derivatives by hand.

use num_dual::{Dual2_64, Dual64, DualSVec64};
use serde::{Deserialize, Serialize};
use treedef_optim::{Parameters, ParametersError};

type Result<T = ()> = std::result::Result<T, ParametersError>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
struct Model<D: Clone + 'static> {
    #[serde(with = "treedef::object::vec")]
    all: Vec<D>,
    #[serde(with = "treedef::object::vec")]
    mix: Vec<D>,
    #[serde(with = "treedef::object::vec")]
    steps: Vec<D>,
    name: String,
}

fn parameters() -> Result<Parameters<Model<f64>>> {
    let model = Model {
        all: vec![1.0, 2.0, 0.25, 3.0, -1.0, 5.0, 6.0, 5.0],
        mix: vec![0.2, 0.3, 0.5],
        steps: vec![1.0, 2.0, 3.0],
        name: "fox".to_owned(),
    };
    let p = Parameters::new(&model)?
        .positive("all[0]")?
        .softplus("all[1]")?
        .bounded("all[2]", 0.0..=1.0)?
        .bounded("all[3]", 2.0..)?
        .bounded("all[4]", ..0.0)?
        .tie(["all[5]", "all[7]"])?
        .fix("all[6]")?
        .simplex("mix")?
        .ordered("steps")?;
    assert_eq!(p.value(p.initial())?, model);
    assert_eq!(p.point(&model)?, p.initial());
    Ok(p)
}

fn numbers<D: Clone>(model: &Model<D>) -> Vec<D> {
    [&model.all[..], &model.mix, &model.steps].concat()
}

#[test]
fn duals_agree_with_the_chain_rule() -> Result {
    let p = parameters()?;
    fastrand::seed(5);
    for _ in 0..1000 {
        let x: Vec<f64> = (0..p.len()).map(|_| 20.0 * fastrand::f64() - 10.0).collect();
        let leaves = p.leaves(&x)?;
        let jacobian = p.jacobian(&x)?;
        for by in 0..p.len() {
            let dual = |(at, x): (usize, &f64)| Dual64::new(*x, if at == by { 1.0 } else { 0.0 });
            let duals: Vec<Dual64> = x.iter().enumerate().map(dual).collect();
            let model = p.value_as::<Model<Dual64>>(&duals)?;
            assert_eq!(model.name, "fox");
            let mut expected = vec![0.0; leaves.len()];
            jacobian.column(by).into_iter().for_each(|(leaf, slope)| expected[leaf] = slope);
            for ((dual, leaf), slope) in numbers(&model).iter().zip(&leaves).zip(expected) {
                assert!((dual.re - leaf).abs() <= 1e-14 * leaf.abs());
                assert!(
                    (dual.eps - slope).abs() <= 1e-13 * slope.abs().max(1e-300),
                    "{dual} {slope}"
                );
            }
        }
    }
    Ok(())
}

/// Also vectors of derivatives, and second derivatives: here of eˣ, which is its own.
#[test]
fn any_dual_goes_through() -> Result {
    let p = parameters()?;
    let x = p.initial();
    let unit = |(at, x): (usize, &f64)| DualSVec64::<11>::from_re(*x).derivative(at);
    let all: Vec<DualSVec64<11>> = x.iter().enumerate().map(unit).collect();
    assert_eq!(p.value_as::<Model<DualSVec64<11>>>(&all)?.all.len(), 8);

    let mut second: Vec<Dual2_64> = x.iter().map(|x| Dual2_64::from_re(*x)).collect();
    second[0] = Dual2_64::from_re(0.5).derivative();
    let e = p.value_as::<Model<Dual2_64>>(&second)?.all[0];
    assert_eq!((e.re, e.v1, e.v2), (0.5f64.exp(), 0.5f64.exp(), 0.5f64.exp()));

    let error = p.value_as::<Model<Dual64>>(&[Dual64::from_re(f64::NAN); 11]).unwrap_err();
    assert_eq!(error.to_string(), "NaN is not finite at `.all[0]`");
    let none: &[Dual64] = &[];
    let error = p.value_as::<Model<Dual64>>(none).unwrap_err();
    assert_eq!(error.to_string(), "expected 11 numbers in the vector, found 0");
    Ok(())
}

/// A struct of plain floats becomes another one of duals, field by field.
#[test]
fn a_plain_model_becomes_one_of_duals() -> Result {
    #[derive(Serialize, Deserialize)]
    struct Line {
        slope: f32,
        offset: f64,
    }
    #[derive(Serialize, Deserialize)]
    struct LineOf<D: Clone + 'static> {
        #[serde(with = "treedef::object")]
        slope: D,
        #[serde(with = "treedef::object")]
        offset: D,
    }
    let p = Parameters::new(&Line { slope: 2.0, offset: 1.0 })?.positive("slope")?;
    let line = p.value_as::<LineOf<Dual64>>(&[Dual64::new(0.0, 1.0), Dual64::new(3.0, 0.0)])?;
    assert_eq!((line.slope, line.offset), (Dual64::new(1.0, 1.0), Dual64::new(3.0, 0.0)));
    Ok(())
}
