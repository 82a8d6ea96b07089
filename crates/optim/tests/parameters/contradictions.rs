//! What contradicts is an error when it is made, with the path and both sides.

use serde::{Deserialize, Serialize};
use treedef_optim::{Parameters, ParametersError};

#[derive(Serialize, Deserialize)]
struct Model {
    name: String,
    epoch: u64,
    #[serde(serialize_with = "treedef::as_static")]
    dropout: f64,
    layers: Vec<Layer>,
    weights: Vec<f64>,
    steps: [f64; 3],
    narrow: f32,
}

#[derive(Serialize, Deserialize)]
struct Layer {
    k: f64,
    sigma: f64,
    rows: [[f64; 2]; 2],
    units: u8,
}

fn model() -> Model {
    let layer = |sigma| Layer { k: 1.5, sigma, rows: [[0.25, 0.75]; 2], units: 3 };
    Model {
        name: "fox".to_owned(),
        epoch: 7,
        dropout: 0.1,
        layers: vec![layer(1.0), layer(2.0)],
        weights: vec![0.5, 0.5],
        steps: [1.0, 2.0, 4.0],
        narrow: 0.1,
    }
}

type P = Parameters<Model>;
type Change = fn(P) -> Result<P, ParametersError>;

#[test]
fn contradictions_are_errors_when_they_are_made() -> Result<(), ParametersError> {
    let table: &[(Change, &str)] = &[
        // Nothing, or no float.
        (|p| p.fix("**.sgima"), "no node matches `**.sgima` (did you mean `**.sigma`?)"),
        (
            |p| p.fix("layers[5]"),
            "no node matches `.layers[5]` (there are 2 elements at `.layers`)",
        ),
        (
            |p| p.fix("layers[*].rows[0][2]"),
            "no node matches `.layers[*].rows[0][2]` (there are 2 elements at `.layers[0].rows.0`)",
        ),
        (
            |p| p.positive("layers[0"),
            "expected `]`, found the end at byte 8 (did you mean `layers[0]`?)",
        ),
        (
            |p| p.fix("['layers'][0]['k']"),
            "expected one character in single quotes, found `ayers'][0]['` at byte 3 (did you mean `[\"layers\"][0][\"k\"]`?)",
        ),
        (|p| p.positive("epoch"), "expected a float that may vary, found u64 7u64 at `.epoch`"),
        (
            |p| p.bounds("layers[*].units", 0.0..=9.0),
            "expected a float that may vary, found u8 3u8 at `.layers[0].units`",
        ),
        (
            |p| p.tie(["layers[*].units"]),
            "expected a float that may vary, found u8 3u8 at `.layers[0].units`",
        ),
        (
            |p| p.bounds("name", 0.0..),
            "expected a float that may vary, found str \"fox\" at `.name`",
        ),
        (
            |p| p.softplus("dropout"),
            "expected a float that may vary, found the static f64 0.1 at `.dropout`",
        ),
        // Twice of one leaf.
        (
            |p| p.fix("layers[0].k")?.bounds("**.k", 0.0..=2.0),
            "`.layers[0].k` is fixed, so it cannot be between the bounds [0, 2]",
        ),
        (
            |p| p.positive("**.sigma")?.fix("layers[1]"),
            "`.layers[1].sigma` is positive, so it cannot be fixed",
        ),
        (
            |p| p.positive("**.k")?.softplus("layers[0].k"),
            "`.layers[0].k` is positive, so it cannot be positive by softplus",
        ),
        (
            |p| p.interval("**.k", 1.0..)?.interval("**.k", 1.0..2.0),
            "`.layers[0].k` is bounded to [1, ∞), so it cannot be bounded to [1, 2)",
        ),
        (
            |p| p.simplex("weights")?.fix("weights[1]"),
            "`.weights[1]` is element 1 of a simplex of 2, so it cannot be fixed",
        ),
        // The start.
        (|p| p.bounds("**.k", 2.0..=3.0), "1.5 is not in [2, 3] at `.layers[0].k`"),
        (
            |p| p.positive("narrow")?.bounds("steps.2", ..=3.5),
            "4 is not in (-∞, 3.5] at `.steps.2`",
        ),
        (
            |p| p.interval("**.k", 1.5..=3.0),
            "1.5 is an end of [1.5, 3] at `.layers[0].k`: a transform reaches it only at infinity \
             (start inside, or use `bounds`)",
        ),
        (|p| p.simplex("steps"), "2 is not in (0, 1), as a part of a simplex at `.steps.1`"),
        (
            |p| p.simplex("layers[*].rows"),
            "`.layers[0].rows` cannot be a simplex: the sum is 2, not 1",
        ),
        (|p| p.ordered("weights"), "0.5 is not above the one before it at `.weights[1]`"),
        (
            |p| p.ordered("steps.*"),
            "`.steps.0` cannot be an ordered list: it is one number (name the node above the numbers)",
        ),
        // Ranges.
        (
            |p| p.bounds("**.k", 2.0..=1.0),
            "no parameter can be in [2, 1]: its ends must be two numbers, the lower one first; \
             see also `fix`",
        ),
        (
            |p| p.bounds("**.k", f64::NAN..),
            "no parameter can be in (NaN, ∞): its ends must be two numbers, the lower one first; \
             see also `fix`",
        ),
        (
            |p| p.bounds("**.k", 0.0..2.0),
            "no parameter can be in [0, 2): a solver may stop at a bound, so include it, as in \
             `0.0..=1.0`",
        ),
        (
            |p| p.interval("**.k", ..),
            "no parameter can be in (-∞, ∞): it has no end: without `interval` the number is free",
        ),
        (
            |p| p.interval("**.k", -1e308..=1e308),
            "no parameter can be in [-1e308, 1e308]: its length is infinite",
        ),
        (
            |p| p.interval("narrow", 0.1..0.1 + 1e-12),
            "no parameter can be in [0.1, 0.10000000000100001): as `f32` both ends are the same",
        ),
        // Ties.
        (|p| p.tie(["layers[0].k"]), "`.layers[0].k` cannot be tied: no other node is named"),
        (
            |p| p.tie(["**.sigma"]),
            "`.layers[0].sigma` and `.layers[1].sigma` are tied, but the first is 1 and the second 2",
        ),
        (
            |p| p.bounds("layers[0].k", 0.0..)?.positive("layers[1].k")?.tie(["**.k"]),
            "`.layers[0].k` and `.layers[1].k` are tied, but the first is between the bounds [0, ∞) \
             and the second positive",
        ),
        (
            |p| p.tie(["weights", "steps"]),
            "`.steps` cannot be tied: compared with `.weights`: expected 2 children, found 3 children at the root",
        ),
        (
            |p| p.tie(["layers[0]", "layers[0].rows"]),
            "`.layers[0].rows` cannot be tied: another node that is named has some of its leaves",
        ),
        (
            |p| p.simplex("layers[0].rows.*")?.tie(["layers[0].rows.*.0"]),
            "`.layers[0].rows.1.1` cannot be tied: only some leaves of a simplex would be tied",
        ),
    ];
    for (change, message) in table {
        let error = change(Parameters::new(&model())?).map(|p| p.names()).expect_err(message);
        assert_eq!(error.to_string(), *message);
    }
    Ok(())
}

#[test]
fn the_same_said_twice_is_no_contradiction() -> Result<(), ParametersError> {
    let p = Parameters::new(&model())?
        .positive("**.sigma")?
        .positive("layers[0].sigma")?
        .tie(["**.k"])?
        .tie(["layers[1].k", "layers[0].k"])?
        .bounds("narrow", 0.1..)?
        .simplex("**.rows.*")?
        .tie(["**.rows.*"])?
        .ordered("steps")?
        .simplex("weights")?;
    let names = [
        ".layers[0].k",
        ".layers[0].sigma",
        ".layers[0].rows.0.0",
        ".layers[1].sigma",
        ".weights[0]",
        ".steps.0",
        ".steps.1",
        ".steps.2",
        ".narrow",
    ];
    assert_eq!(p.names(), names);
    // The bound of an `f32` is one.
    assert_eq!(p.lower()[8], f64::from(0.1f32));
    let all = p.value(&[9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])?;
    assert_eq!((all.layers[0].k, all.layers[1].k), (9.0, 9.0));
    assert_eq!(all.layers[1].rows, [[0.5, 0.5]; 2]);
    assert_eq!((all.weights, all.steps), (vec![0.5, 0.5], [0.0, 1.0, 2.0]));
    assert_eq!((&*all.name, all.epoch, all.dropout, all.layers[1].units), ("fox", 7, 0.1, 3));
    Ok(())
}

/// A wildcard means the floats among what it names.
#[test]
fn a_wildcard_passes_what_is_no_float() -> Result<(), ParametersError> {
    let p = Parameters::new(&model())?.bounds("**", -9.0..=9.0)?;
    assert_eq!(p.len(), 18);
    assert!(p.lower().iter().all(|bound| *bound == -9.0));
    let p = Parameters::new(&model())?.fix("layers[0].*")?.fix("layers[1]")?;
    assert_eq!(p.len(), 6);
    Ok(())
}

#[test]
fn what_is_said_of_a_tied_leaf_holds_for_all() -> Result<(), ParametersError> {
    let p = Parameters::new(&(1.0, 1.0, 2.0))?.tie([".0", ".1"])?.positive(".1")?;
    assert_eq!(p.value(&[0.5, 3.0])?, (0.5f64.exp(), 0.5f64.exp(), 3.0));
    assert_eq!(p.fix(".2")?.tie([".0", ".1"])?.len(), 1);
    let fixed = Parameters::new(&(1.0, 1.0))?.tie(["*"])?.fix(".0")?;
    assert_eq!(fixed.len(), 0);
    Ok(())
}

/// What never varies is fixed already.
#[test]
fn what_is_no_float_may_be_fixed() -> Result<(), ParametersError> {
    let all = Parameters::new(&model())?.len();
    for pattern in ["name", "epoch", "dropout", "layers[*].units"] {
        assert_eq!(Parameters::new(&model())?.fix(pattern)?.len(), all, "{pattern}");
    }
    Ok(())
}

#[test]
fn a_variant_that_is_named_as_a_field_is_meant() {
    #[derive(Serialize, Deserialize)]
    enum Kernel {
        Rbf { gamma: f64 },
    }
    #[derive(Serialize, Deserialize)]
    struct Model {
        kernel: Kernel,
    }
    let p = || Parameters::new(&Model { kernel: Kernel::Rbf { gamma: 1.0 } }).unwrap();
    assert_eq!(p().fix("kernel::Rbf.gamma").unwrap().len(), 0);
    insta::assert_snapshot!(p().fix("kernel.Rbf.gamma").unwrap_err(), @"no node matches `.kernel.Rbf.gamma` (did you mean `.kernel::Rbf.gamma`?)");
    insta::assert_snapshot!(p().fix("kernel.Rbf.gama").unwrap_err(), @"no node matches `.kernel.Rbf.gama`");
}

/// A simplex of one element is the number 1.
#[test]
fn what_takes_no_number_is_checked_too() {
    for start in [vec![5.0], vec![0.5, 0.5], vec![f64::NEG_INFINITY]] {
        assert!(Parameters::new(&start).unwrap().simplex("[*]").is_err(), "{start:?}");
    }
    // A list of one has an order, too.
    assert_eq!(Parameters::new(&vec![5.0]).unwrap().ordered("").unwrap().initial(), [5.0]);
    let one = Parameters::new(&vec![1.0]).unwrap().simplex("").unwrap();
    assert!(one.point(&vec![5.0]).is_err());
    assert!(one.value(&[]).is_ok_and(|value| value == [1.0]));
}

#[test]
fn floats_of_two_types_are_no_bounds_and_no_tie() {
    let error = |p: Result<Parameters<(f64, f32)>, ParametersError>| p.unwrap_err().to_string();
    let p = || Parameters::new(&(0.5, 0.5f32)).unwrap();
    insta::assert_snapshot!(error(p().tie(["*"])), @"`.0` and `.1` are tied, but the first is `f64` and the second `f32`");
    insta::assert_snapshot!(error(p().bounds(".1", 0.0..=1e39)), @"no parameter can be in [0, 1e39]: an end is beyond the largest `f32`");
    insta::assert_snapshot!(error(p().interval(".1", 0.0..=1e39)), @"no parameter can be in [0, 1e39]: an end is beyond the largest `f32`");
    insta::assert_snapshot!(error(p().bounds(".1", 0.1..=0.1 + 1e-12)), @"no parameter can be in [0.1, 0.10000000000100001]: as `f32` both ends are the same");
}

/// A tie and a constraint of one of its sides may come in any order.
#[test]
fn ties_and_constraints_come_in_any_order() -> Result<(), ParametersError> {
    type Pair = Parameters<(f64, f64, f64)>;
    let constraints: [fn(Pair) -> Result<Pair, ParametersError>; 5] = [
        |p| p.bounds(".0", 0.0..=9.0),
        |p| p.bounds(".1", 0.0..=9.0),
        |p| p.positive(".1"),
        |p| p.interval(".0", 0.0..=4.0),
        |p| p.fix(".1"),
    ];
    for constraint in constraints {
        let start = || Parameters::new(&(1.5, 1.5, 2.0));
        let before = constraint(start()?)?.tie([".0", ".1"])?;
        let after = constraint(start()?.tie([".0", ".1"])?)?;
        assert_eq!(before.names(), after.names());
        assert_eq!((before.lower(), before.upper()), (after.lower(), after.upper()));
        let x: Vec<f64> = before.initial().iter().map(|x| x + 0.25).collect();
        assert_eq!(before.value(&x)?, after.value(&x)?);
        assert_eq!(before.value(&x)?.0, before.value(&x)?.1);
    }
    let p = Parameters::new(&(1.5, 1.5))?.positive(".0")?.bounds(".1", 0.0..=9.0)?;
    let error = p.tie([".0", ".1"]).unwrap_err().to_string();
    let expected = "`.0` and `.1` are tied, but the first is positive and the second between the bounds [0, 9]";
    assert_eq!(error, expected);
    Ok(())
}
