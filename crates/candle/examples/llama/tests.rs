//! What JAX computes in `f64`, from the same weights.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use candle_core::{DType, Device, IndexOp, Module, Tensor};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_candle::lora::Lora;
use treedef_candle::tensors::safetensors;
use treedef_candle::{to_dtype, value_and_grad};

use super::*;
use crate::model::Config;

#[derive(Deserialize)]
struct Expected {
    tokens: Vec<Vec<u32>>,
    logits_of_first: Vec<Vec<f64>>,
    loss: f64,
    gradient_norms: BTreeMap<String, f64>,
    full: Run,
    frozen: Run,
    lora: Run,
}

#[derive(Deserialize)]
struct Run {
    losses: Vec<f64>,
    last_loss: f64,
    ema_loss: f64,
    /// Of each tensor the sum, and the norm.
    r#final: BTreeMap<String, [f64; 2]>,
    ema: BTreeMap<String, [f64; 2]>,
}

fn tiny() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/llama/tiny"))
}

/// Where the model is, and what JAX computes with it: another one by the variable.
fn folder() -> PathBuf {
    std::env::var_os("TREEDEF_LLAMA").map_or_else(tiny, PathBuf::from)
}

struct Given {
    expected: Expected,
    tokens: Tensor,
    config: Config,
    model: Llama,
}

fn given(dtype: DType, folder: &Path) -> Given {
    let text = fs::read(folder.join("expected.json")).unwrap();
    let expected: Expected = serde_json::from_slice(&text).unwrap();
    let tokens = Tensor::new(expected.tokens.clone(), &Device::Cpu).unwrap();
    let (config, model) = files::load_model(folder).unwrap();
    Given { expected, tokens, config, model: to_dtype(&model, "**", dtype).unwrap() }
}

/// How far losses may be off.
fn tolerance(dtype: DType) -> f64 {
    if dtype == DType::F64 { 1e-9 } else { 1e-4 }
}

fn number(tensor: candle_core::Result<Tensor>) -> f64 {
    tensor.unwrap().to_dtype(DType::F64).unwrap().to_scalar().unwrap()
}

fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let allowed = tolerance * expected.abs().max(1.0);
    assert!((found - expected).abs() < allowed, "{what}: {found}, expected {expected}");
}

fn by_name<T: Serialize>(value: &T) -> BTreeMap<String, Tensor> {
    let tree = Tree::<Tensor>::of_objects(value).unwrap();
    tree.iter().map(|(path, tensor)| (path.to_joined_string("."), tensor.clone())).collect()
}

#[test]
fn logits_loss_and_gradients() {
    for dtype in [DType::F32, DType::F64] {
        let Given { expected, tokens, model, .. } = given(dtype, &folder());
        let logits = model.forward(&tokens).unwrap().i(0).unwrap();
        let logits = logits.to_dtype(DType::F64).unwrap().to_vec2::<f64>().unwrap();
        let pairs = logits.iter().flatten().zip(expected.logits_of_first.iter().flatten());
        pairs.for_each(|(&found, &expected)| {
            close("a logit", found, expected, tolerance(dtype) / 10.0)
        });

        let (loss, gradient) = value_and_grad(|m: &Llama| m.loss(&tokens), &model).unwrap();
        close("the loss", loss, expected.loss, tolerance(dtype) / 10.0);
        let gradient = by_name(&gradient);
        assert!(gradient.keys().eq(expected.gradient_norms.keys()));
        for (name, norm) in &expected.gradient_norms {
            let found = number(gradient[name].sqr().unwrap().sum_all().unwrap().sqrt());
            close(name, found, *norm, tolerance(dtype) / 10.0);
        }
    }
}

/// Compares a training with what JAX gave, and returns it.
fn compare<P: Clone + Serialize + DeserializeOwned>(
    parameters: P,
    recipe: &Recipe,
    loss: impl Fn(&P) -> candle_core::Result<Tensor>,
    expected: &Run,
    dtype: DType,
    name: impl Fn(&str) -> String,
) {
    let mut training = Training::new(parameters.clone(), recipe).unwrap();
    let losses = training.run(recipe, RATE.steps, &loss, None).unwrap();
    assert_eq!(losses.len(), expected.losses.len());
    for (step, (found, expected)) in losses.iter().zip(&expected.losses).enumerate() {
        close(&format!("the loss of step {step}"), *found, *expected, tolerance(dtype));
    }
    close(
        "the last loss",
        number(loss(&training.parameters)),
        expected.last_loss,
        tolerance(dtype),
    );
    close(
        "the average's loss",
        number(loss(&training.average)),
        expected.ema_loss,
        tolerance(dtype),
    );
    let before = by_name(&parameters);
    for (value, expected) in
        [(&training.parameters, &expected.r#final), (&training.average, &expected.ema)]
    {
        let mut trained = 0;
        for (path, tensor) in by_name(value) {
            let Some(&[sum, norm]) = expected.get(&name(&path)) else {
                let difference = (tensor - &before[&path]).unwrap().abs().unwrap().max_all();
                let difference = number(difference);
                // The mean of a number and itself is rounded.
                assert!(difference < 1e-6, "{path} was trained by {difference}");
                continue;
            };
            trained += 1;
            // Sums of a thousand numbers.
            let tolerance = 10.0 * tolerance(dtype);
            close(&path, number(tensor.sum_all()), sum, tolerance);
            close(&path, number(tensor.sqr().unwrap().sum_all().unwrap().sqrt()), norm, tolerance);
        }
        assert_eq!(trained, expected.len());
    }
}

#[test]
fn everything() {
    for dtype in [DType::F32, DType::F64] {
        let Given { expected, tokens, config, model } = given(dtype, &folder());
        let recipe = Recipe::all(&config, RATE);
        compare(model, &recipe, |m| m.loss(&tokens), &expected.full, dtype, str::to_owned);
    }
}

#[test]
fn the_last_layer() {
    for dtype in [DType::F32, DType::F64] {
        let Given { expected, tokens, config, model } = given(dtype, &folder());
        let recipe = Recipe::last(&config, RATE);
        compare(model, &recipe, |m| m.loss(&tokens), &expected.frozen, dtype, str::to_owned);
    }
}

#[test]
fn adapters() {
    for dtype in [DType::F32, DType::F64] {
        let Given { expected, tokens, model, .. } = given(dtype, &folder());
        let adapters =
            to_dtype(&Lora::load_peft(folder(), &Device::Cpu).unwrap(), "**", dtype).unwrap();
        let recipe = Recipe::adapters(RATE);
        let loss = |adapters: &Lora| adapters.merge(&model)?.loss(&tokens);
        // The key of an adapter has dots, which the name escapes.
        let name = |path: &str| {
            format!("{}.weight", path.replace('\\', "").trim_start_matches("adapters."))
        };
        compare(adapters, &recipe, loss, &expected.lora, dtype, name);
    }
}

#[test]
fn generation_is_that_of_whole_sequences() {
    let Given { expected, model, .. } = given(DType::F32, &tiny());
    let mut all = expected.tokens[0][..4].to_vec();
    let generated = model.generate(&all, 12).unwrap();
    for _ in 0..12 {
        let tokens = Tensor::new(all.as_slice(), &Device::Cpu).unwrap().unsqueeze(0).unwrap();
        let last = model.forward(&tokens).unwrap().i((0, all.len() - 1)).unwrap();
        all.push(last.argmax(0).unwrap().to_scalar().unwrap());
    }
    assert_eq!(generated, all[4..]);
    assert_eq!(generated, peft().generated);
}

/// What transformers and PEFT give: `adapters.py` has written it.
#[derive(Deserialize)]
struct OfPeft {
    generated: Vec<u32>,
    logits: Vec<Vec<f32>>,
}

fn peft() -> OfPeft {
    serde_json::from_slice(&fs::read(tiny().with_file_name("peft").join("expected.json")).unwrap())
        .unwrap()
}

#[test]
fn adapters_of_peft_and_back() {
    let Given { tokens, model, .. } = given(DType::F32, &tiny());
    let adapters = Lora::load_peft(tiny().with_file_name("peft"), &Device::Cpu).unwrap();
    let folder = tempfile::tempdir().unwrap();
    adapters.save_peft(folder.path(), "tiny").unwrap();
    let again = Lora::load_peft(folder.path(), &Device::Cpu).unwrap();
    assert_eq!((&again.target_modules, again.alpha), (&adapters.target_modules, 5.0));

    for adapters in [adapters, again] {
        let merged = adapters.merge(&model).unwrap();
        let logits = merged.forward(&tokens).unwrap().i(0).unwrap().to_vec2::<f32>().unwrap();
        for (found, expected) in logits.iter().flatten().zip(peft().logits.iter().flatten()) {
            close("a logit", f64::from(*found), f64::from(*expected), 1e-5);
        }
        let unmerged = by_name(&adapters.unmerge(&merged).unwrap());
        for (name, tensor) in by_name(&model) {
            let difference = number((tensor - &unmerged[&name]).unwrap().abs().unwrap().max_all());
            assert!(difference < 1e-6, "{name}: {difference}");
        }
    }
}

#[test]
fn a_model_in_shards() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(tiny().join("config.json"), folder.path().join("config.json")).unwrap();
    let source = safetensors::open(tiny().join("model.safetensors")).unwrap();
    let files = safetensors::save_sharded(&source, folder.path(), 20_000).unwrap();
    assert!(files.len() > 3);
    let [(_, whole), (_, shards)] =
        [&tiny(), folder.path()].map(|folder| files::load_model(folder).unwrap());
    let bits = |model: &Llama| -> Vec<Vec<f32>> {
        by_name(model).values().map(|x| x.flatten_all().unwrap().to_vec1().unwrap()).collect()
    };
    assert_eq!(bits(&whole), bits(&shards));
}

/// The folder of the process that is killed.
const OUT: &str = "TREEDEF_LLAMA_OUT";

/// The process that is killed: it does nothing when the tests are run.
#[test]
fn the_training_of_another_process() {
    if let Some(out) = std::env::var_os(OUT) {
        let Given { tokens, .. } = given(DType::F32, &tiny());
        let what = std::env::var("TREEDEF_LLAMA_WHAT").unwrap();
        train(&what, tiny().to_str().unwrap(), &tokens, Path::new(&out)).unwrap();
    }
}

#[test]
fn a_training_that_is_killed_ends_with_the_same_bits() {
    for (what, result) in [("all", "model.safetensors"), ("lora", "adapter_model.safetensors")] {
        let [killed, at_once] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let start = |out: &Path| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "tests::the_training_of_another_process"])
                .envs([(OUT, out.as_os_str()), ("TREEDEF_LLAMA_WHAT", what.as_ref())])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        let checkpoint = format!("{what}.training.safetensors");
        let file = killed.path().join(&checkpoint);
        let mut before = None;
        for _ in 0..2 {
            let mut process = start(killed.path());
            let deadline = Instant::now() + Duration::from_secs(120);
            // It is somewhere behind a new checkpoint then.
            let saved = || fs::metadata(&file).and_then(|file| file.modified()).ok();
            while saved() == before {
                assert!(Instant::now() < deadline, "no checkpoint");
                std::thread::sleep(Duration::from_millis(2));
            }
            process.kill().unwrap();
            process.wait().unwrap();
            before = saved();
            assert!(!killed.path().join(result).exists(), "it had ended");
        }
        assert!(start(killed.path()).wait().unwrap().success());
        assert!(start(at_once.path()).wait().unwrap().success());
        for file in [result, &checkpoint] {
            let [killed, at_once] =
                [&killed, &at_once].map(|out| fs::read(out.path().join(file)).unwrap());
            assert!(killed == at_once, "{what}: {file} differs");
        }
    }
}

#[test]
fn scalings_other_than_llama_3s_are_refused() {
    let config = |rope: &str| {
        let text = fs::read_to_string(tiny().join("config.json")).unwrap();
        let text = text.replacen('{', &format!("{{{rope},"), 1);
        serde_json::from_str::<Config>(&text).map(|config| config.rope())
    };
    let llama3 = r#""rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 32"#;
    for (rope, theta, factor) in [
        (r#""rope_scaling": null"#.to_owned(), 10_000.0, None),
        (r#""rope_parameters": {"rope_theta": 5.0}"#.to_owned(), 5.0, None),
        (r#""rope_parameters": {"rope_type": "default", "rope_theta": 5.0}"#.to_owned(), 5.0, None),
        (format!(r#""rope_parameters": {{{llama3}, "rope_theta": 5.0}}"#), 5.0, Some(8.0)),
        (format!(r#""rope_scaling": {{{llama3}}}"#), 10_000.0, Some(8.0)),
    ] {
        let found = config(&rope).unwrap();
        assert_eq!((found.theta, found.scaling.map(|scaling| scaling.factor)), (theta, factor));
    }
    let wrong = llama3.replace("low_freq", "lower_freq");
    for (rope, expected) in [
        (r#""type": "linear", "factor": 2.0"#.to_owned(), "found \"linear\""),
        (llama3.replace("llama3", "yarn"), "found \"yarn\""),
        (wrong, "missing field `low_freq_factor`"),
    ] {
        for rope in [
            format!(r#""rope_scaling": {{{rope}}}"#),
            format!(r#""rope_parameters": {{{rope}, "rope_theta": 5.0}}"#),
        ] {
            let error = config(&rope).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
