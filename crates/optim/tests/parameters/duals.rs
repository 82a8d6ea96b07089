//! Dual numbers through all transforms, against the derivatives by hand.

use num_dual::{Dual2_64, Dual64, DualSVec64, HyperDual64};
use serde::{Deserialize, Serialize};
use treedef_optim::{Optimiser, Parameters, ParametersError, adam};

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
        .interval("all[2]", 0.0..=1.0)?
        .interval("all[3]", 2.0..)?
        .interval("all[4]", ..0.0)?
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
fn duals_that_did_not_move_are_exact_and_have_derivatives() -> Result {
    let p = parameters()?;
    let model = p.value(p.initial())?;
    let one = numbers(&p.value_as::<Model<Dual64>>(
        &p.initial().iter().map(|x| Dual64::from_re(*x).derivative()).collect::<Vec<_>>(),
    )?);
    assert_eq!(one.iter().map(|dual| dual.re).collect::<Vec<_>>(), numbers(&model));
    let jacobian = p.jacobian(p.initial())?;
    let mut slopes = vec![0.0; one.len()];
    for (leaf, slope) in (0..p.len()).flat_map(|by| jacobian.column(by)) {
        slopes[leaf] += slope;
    }
    for (dual, slope) in one.iter().zip(slopes) {
        assert!((dual.eps - slope).abs() < 1e-14, "{dual} {slope}");
    }

    // The start may be far less than what is rounded.
    fastrand::seed(6);
    for _ in 0..1000 {
        let [a, b] = [(); 2].map(|()| fastrand::f64() * 2f64.powi(fastrand::i32(-60..0)));
        let p = Parameters::new(&(a, b, a))?.positive(".0")?.softplus(".1")?;
        let p = p.interval(".2", -1e6..=1e6)?;
        assert_eq!(p.problem(|m: &(f64, f64, f64)| m.0).value(p.initial())?, a);
        assert_eq!(p.value_as::<(f64, f64, f64)>(p.initial())?, (a, b, a));
    }
    Ok(())
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

/// A model with plain fields, and a constant: no attributes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Dose<D> {
    clearance: D,
    volumes: [D; 2],
    name: String,
}

impl<D: num_dual::DualNum<Primitive = f64> + Copy> Dose<D> {
    fn residuals(&self) -> Vec<D> {
        let [a, b] = self.volumes;
        let times = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
        times
            .map(|t| {
                (-self.clearance / a * t).exp() / a + b * 0.01 * t
                    - (0.1 + 0.05 * f64::sin(5.0 * t))
            })
            .to_vec()
    }

    fn loss(&self) -> D {
        self.residuals().into_iter().map(|residual| residual * residual).sum()
    }
}

fn dose() -> Result<Parameters<Dose<f64>>> {
    let dose = Dose { clearance: 0.5, volumes: [2.0, 0.25], name: "fox".to_owned() };
    Parameters::new(&dose)?.positive("clearance")?.interval("volumes[1]", 0.0..=1.0)
}

/// The derivatives of plain fields, against those by differences of the vector; the Jacobian and the Hessian
/// against the gradient.
#[test]
fn derivatives_of_plain_fields_agree_with_differences() -> Result {
    let p = dose()?;
    let x = [-0.3, 1.7, 0.4];
    let (value, gradient) = p.value_and_grad(|m: &Dose<Dual64>| m.loss(), &x)?;
    let loss = |x: &[f64; 3]| p.value(x).map(|model| model.loss());
    assert!((value - loss(&x)?).abs() < 1e-15);
    let check = treedef_optim::finite::check_gradient::<f64, _, _>(
        loss,
        &x,
        &gradient[..].try_into().unwrap(),
    );
    let check = check.unwrap();
    assert!(check.error < 1e-9 && check.untold.is_empty(), "{check}");

    let (residuals, jacobian) = p.residuals_and_jacobian(|m: &Dose<Dual64>| m.residuals(), &x)?;
    assert_eq!((residuals.len(), jacobian.len()), (6, 18));
    for (by, slope) in gradient.iter().enumerate() {
        let column = &jacobian[6 * by..6 * (by + 1)];
        let sum: f64 = residuals.iter().zip(column).map(|(r, j)| 2.0 * r * j).sum();
        assert!((sum - slope).abs() < 1e-14, "{sum} {slope}");
    }

    let hessian = p.hessian(|m: &Dose<HyperDual64>| m.loss(), &x)?;
    assert!((hessian.value - value).abs() < 1e-15);
    for by in 0..3 {
        assert!((hessian.gradient[by] - gradient[by]).abs() < 1e-14);
        let slope = |x: &[f64; 3]| {
            p.value_and_grad(|m: &Dose<Dual64>| m.loss(), x).map(|(_, gradient)| gradient[by])
        };
        let row: [f64; 3] = hessian.rows[by].clone().try_into().unwrap();
        let check = treedef_optim::finite::check_gradient::<f64, _, _>(slope, &x, &row).unwrap();
        assert!(check.error < 1e-9, "{check}");
        assert_eq!(hessian.rows[by][0], hessian.rows[0][by]);
    }
    Ok(())
}

/// Vector duals, duals with plain fields and no vector at all: one result.
#[test]
fn lanes_change_nothing_and_fixed_numbers_have_none() -> Result {
    let p = parameters()?;
    let x: Vec<f64> = p.initial().iter().map(|x| x + 0.1).collect();
    let sum = |model: &Model<DualSVec64<4>>| {
        numbers(model).iter().enumerate().map(|(at, d)| *d * *d * at as f64).sum::<DualSVec64<4>>()
    };
    let alone = |model: &Model<DualSVec64<1>>| {
        numbers(model).iter().enumerate().map(|(at, d)| *d * *d * at as f64).sum::<DualSVec64<1>>()
    };
    let scalar = |model: &Model<Dual64>| {
        numbers(model).iter().enumerate().map(|(at, d)| *d * *d * at as f64).sum::<Dual64>()
    };
    let calls = std::cell::Cell::new(0);
    let counted = |model: &Model<DualSVec64<4>>| {
        calls.set(calls.get() + 1);
        sum(model)
    };
    let by_four = p.value_and_grad(counted, &x)?;
    assert_eq!(calls.get(), 3); // 11 numbers, 4 at once
    for other in [p.value_and_grad(alone, &x)?, p.value_and_grad(scalar, &x)?] {
        assert_eq!(by_four.0, other.0);
        for (a, b) in by_four.1.iter().zip(&other.1) {
            assert!((a - b).abs() <= 1e-15 * a.abs(), "{a} {b}");
        }
    }
    // Nothing varies.
    let fixed = Parameters::new(&(2.0, 3.0))?.fix("**")?;
    let product = |m: &(Dual64, Dual64)| m.0 * m.1;
    assert_eq!(fixed.value_and_grad(product, &[])?, (6.0, vec![]));
    Ok(())
}

#[test]
fn what_has_no_derivative_is_an_error_with_its_path() -> Result {
    use num_dual::DualNum;
    // 0 times infinity is NaN in every direction, but the root is one of `.1`.
    let p = Parameters::new(&(1.0, 0.0, 2.0))?;
    let root = |m: &(Dual64, Dual64, Dual64)| m.0 + m.1.sqrt() * m.2;
    let error = p.value_and_grad(root, p.initial()).unwrap_err();
    assert_eq!(error.to_string(), "NaN is not a finite derivative at `.1`");
    let residuals = |m: &(Dual64, Dual64, Dual64)| vec![m.0, m.2 * m.1.powf(0.5)];
    let error = p.residuals_and_jacobian(residuals, p.initial()).unwrap_err();
    assert_eq!(error.to_string(), "NaN is not a finite derivative at `.1`");
    let objects = Parameters::new(&[1.0, 0.0].map(treedef::Object))?;
    let ratio = |m: &[treedef::Object<DualSVec64<2>>; 2]| *m[0] + *m[1] / *m[1];
    let error = objects.value_and_grad(ratio, objects.initial()).unwrap_err();
    assert_eq!(error.to_string(), "NaN is not a finite derivative at `.1`");
    // So is the second derivative of the logarithm here, which exceeds the largest number.
    type Three = (HyperDual64, HyperDual64, HyperDual64);
    let bent = |m: &Three| m.0 * m.0 + m.1.ln() * m.2;
    let error = p.hessian(bent, &[1.0, 1e-200, 2.0]).unwrap_err();
    assert_eq!(error.to_string(), "-inf is not a finite second derivative at `.1`");
    let nowhere = |m: &(Dual64, Dual64, Dual64)| m.0 * f64::NAN;
    let error = p.value_and_grad(nowhere, p.initial()).unwrap_err();
    assert_eq!(error.to_string(), "NaN is not a finite derivative at `.0`");

    let calls = std::cell::Cell::new(0);
    let more = |m: &(Dual64, Dual64, Dual64)| {
        calls.set(calls.get() + 1);
        vec![m.0; calls.get()]
    };
    let error = p.residuals_and_jacobian(more, p.initial()).unwrap_err();
    assert_eq!(error.to_string(), "expected 1 numbers in the residuals of this call, found 2");
    let error = p.value_and_grad(|m: &Dual64| *m, p.initial()).unwrap_err();
    assert!(error.to_string().contains(" at "), "{error}");
    Ok(())
}

/// One type through an afternoon: JSON, a fit, its covariance, trees, and JSON again.
#[test]
fn one_type_serves_files_fits_and_trees() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let text = r#"{"clearance":0.5,"volumes":[2.0,0.25],"name":"fox"}"#;
    let plain: Dose<f64> = serde_json::from_str(text)?;
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(bound = "", rename = "Dose")]
    struct Marked<D: Clone + 'static> {
        #[serde(with = "treedef::object")]
        clearance: D,
        #[serde(with = "treedef::object::vec")]
        volumes: Vec<D>,
        name: String,
    }
    let marked: Marked<f64> = serde_json::from_str(text)?;
    assert_eq!(serde_json::to_string(&marked)?, text);
    assert_eq!(serde_json::to_string(&plain)?, text);

    // The same gradient, by plain fields and by objects.
    let (p, q) = (Parameters::new(&plain)?, Parameters::new(&marked)?);
    let a = p.value_and_grad(|m: &Dose<Dual64>| m.loss(), p.initial())?;
    let of_marked = |m: &Marked<DualSVec64<3>>| {
        let volumes = [m.volumes[0], m.volumes[1]];
        Dose { clearance: m.clearance, volumes, name: String::new() }.loss()
    };
    let b = q.value_and_grad(of_marked, q.initial())?;
    assert!(a.1.iter().zip(&b.1).all(|(a, b)| (a - b).abs() < 1e-15), "{a:?} {b:?}");

    // A step, a file, and a table.
    let moved: Vec<f64> = q.initial().iter().zip(&b.1).map(|(x, slope)| x - 0.1 * slope).collect();
    let model = q.value(&moved)?;
    let file = tempfile::NamedTempFile::new()?;
    treedef::Tree::of(&model)?.save(file.path())?;
    let loaded: Marked<f64> = treedef::Tree::<treedef::Leaf>::load(file.path())?.into_typed()?;
    assert_eq!(loaded, model);
    assert_eq!(q.point(&loaded)?, moved);
    let mut state = adam(0.1).init::<f64, _>(&loaded)?;
    let gradient = Marked { clearance: b.1[0], volumes: b.1[1..].to_vec(), name: String::new() };
    let stepped = adam(0.1).step(loaded, gradient, &mut state)?;
    assert!((stepped.clearance - model.clearance).abs() > 0.09);
    Ok(())
}

/// Plain fields and objects of one dual type have one gradient, and a type that takes neither is an error of the
/// form that the model has.
#[test]
fn gradients_of_a_model_with_either_form_of_field() {
    use treedef::Object;
    use treedef_optim::dual;

    let calls = std::cell::Cell::new(0);
    let plain = |m: &(Dual64, [Dual64; 2])| {
        calls.set(calls.get() + 1);
        m.0 * m.1[0] * m.1[1]
    };
    let (value, gradient) = dual::value_and_grad(plain, &(2.0, [3.0, 5.0])).unwrap();
    assert_eq!((value, gradient, calls.get()), (30.0, (15.0, [10.0, 6.0]), 3));
    let objects = |m: &(Object<Dual64>, [Object<Dual64>; 2])| *m.0 * *m.1[0] * *m.1[1];
    let model = (Object(2.0), [Object(3.0), Object(5.0)]);
    let (value, gradient) = dual::value_and_grad(objects, &model).unwrap();
    assert_eq!((value, gradient), (30.0, (Object(15.0), [Object(10.0), Object(6.0)])));
    // Plain numbers, and duals that are objects.
    let (_, gradient) = dual::value_and_grad(objects, &(2.0, [3.0, 5.0])).unwrap();
    assert_eq!(gradient, (15.0, [10.0, 6.0]));
    // What is not marked beside objects is a constant.
    let with_constant = |m: &(Object<Dual64>, f64)| *m.0 * m.1;
    let (_, gradient) = dual::value_and_grad(with_constant, &(Object(2.0), 7.0)).unwrap();
    assert_eq!(gradient, (Object(7.0), 7.0));

    let other = |m: &(Dual64, Dual64)| m.0 * m.1;
    let error = dual::value_and_grad(other, &(2.0, [3.0, 5.0])).unwrap_err().to_string();
    assert_eq!(error, "invalid type: struct `Dual`, expected f64 at `.1.0`");
}
