//! A model in Rust, one step of gradient descent in JAX, and the model in Rust again.
//!
//! `cargo run -p treedef-pytrees --example step -- PYTHON`: a Python that has JAX, such as the one that `python/check`
//! installs.

use std::error::Error;
use std::io::Write;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::json;
use treedef_pytrees::{Lowering, jax};

/// JAX sorts the fields of each layer: `b` before `w`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Layer {
    w: Vec<f64>,
    b: f64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    #[serde(serialize_with = "treedef::as_static")]
    name: String,
    layers: Vec<Layer>,
    gain: Option<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let python = std::env::args().nth(1).unwrap_or_else(|| "python3".to_owned());
    let layer = || Layer { w: vec![0.5, -0.25], b: 0.125 };
    let model = Model { name: "demo".to_owned(), layers: vec![layer(), layer()], gain: Some(2.0) };

    let (leaves, treedef) = treedef::flatten_as::<f64>(&model)?;
    let lowered = jax::proto(&treedef, &Lowering::new())?;
    let there: Vec<f64> = lowered.permute(&leaves)?.into_iter().flatten().collect();
    let sent = json!({ "structure": BASE64.encode(&lowered.data), "leaves": there });
    println!("{treedef}\nsent to JAX: {there:?}");

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/step.py");
    let mut child = Command::new(&python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{python}: {error} (see `crates/tensors/README.md`)"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(sent.to_string().as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("{python} {script} failed: is JAX installed?").into());
    }
    let stepped: Vec<f64> = serde_json::from_slice(&output.stdout)?;
    println!("came back:   {stepped:?}");

    let after: Model = lowered.restore(stepped)?.into_typed()?;
    println!("{after:?}");
    // The loss is the sum of `gain * (w[0] + 10 * w[1] + 100 * b)` over the layers. JAX finds the weights by their names.
    let gain = model.gain.unwrap_or_default();
    for (before, after) in model.layers.iter().zip(&after.layers) {
        let expected = Layer {
            w: vec![before.w[0] - 0.1 * gain, before.w[1] - 0.1 * 10.0 * gain],
            b: before.b - 0.1 * 100.0 * gain,
        };
        assert_eq!(*after, expected);
    }
    assert_eq!(after.name, "demo");
    Ok(())
}
