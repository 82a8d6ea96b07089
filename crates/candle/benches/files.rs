//! `cargo bench --bench files`: 1 GB of tensors to a file and back, beside `candle_core::safetensors`. Each figure is the
//! least of alternating rounds, in the folder of temporary files: `TMPDIR=/dev/shm` leaves the disk out. The memory is
//! the peak without the tensors.
//!
//! `save` waits until the disk has the file, because the file must be complete at any time. Candle's does not, so it is
//! here a second time with a flush.

use std::collections::HashMap;
use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use candle_core::{Device, Tensor};
use serde::{Deserialize, Serialize};
use treedef_candle::nn::{Initialiser, Linear};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const ROUNDS: usize = 5;
/// Of 64 MiB each.
const LAYERS: usize = 16;
const SIZE: usize = 4096;

#[derive(Serialize, Deserialize)]
struct Model {
    layers: Vec<Linear>,
}

type Turn<'a> = (&'a str, &'a dyn Fn() -> Result);

/// Runs some alternately. The others are compared with the last in the list.
fn race(turns: &[Turn<'_>]) -> Result {
    let mut least = vec![f64::INFINITY; turns.len()];
    for _ in 0..ROUNDS {
        for ((_, run), least) in turns.iter().zip(&mut least) {
            let begin = Instant::now();
            run()?;
            *least = least.min(begin.elapsed().as_secs_f64());
        }
    }
    let last = least[turns.len() - 1];
    for ((name, run), least) in turns.iter().zip(least) {
        let mut done = Ok(());
        let memory = allocation_counter::measure(|| done = run()).bytes_max >> 20;
        done?;
        println!("{name:44} {:5.0} ms {:5.2} ×  {memory:5} MiB", least * 1e3, least / last);
    }
    Ok(())
}

fn main() -> Result {
    let mut init = Initialiser::new(0);
    let layers = (0..LAYERS).map(|_| Ok(Linear::new(SIZE, SIZE, &mut init)?.without_bias()));
    let model = Model { layers: layers.collect::<Result<_>>()? };
    let names = model.layers.iter().enumerate();
    let tensors: HashMap<String, Tensor> =
        names.map(|(at, layer)| (format!("layers.{at}.weight"), layer.weight.clone())).collect();
    let folder = tempfile::tempdir()?;
    let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
    let by_candle = |path: &Path| -> Result {
        candle_core::safetensors::save(&tensors, path)?;
        Ok(())
    };
    race(&[
        ("treedef_candle::save", &|| Ok(treedef_candle::save(&model, &ours)?)),
        ("candle_core, until the disk has it", &|| {
            by_candle(&theirs)?;
            Ok(File::open(&theirs)?.sync_all()?)
        }),
        ("candle_core::safetensors::save", &|| by_candle(&theirs)),
    ])?;
    race(&[
        ("treedef_candle::load", &|| {
            black_box(treedef_candle::load::<Model>(&ours, &Device::Cpu)?);
            Ok(())
        }),
        ("treedef_candle::load_like", &|| {
            black_box(treedef_candle::load_like(&model, &theirs)?);
            Ok(())
        }),
        ("candle_core::safetensors::load", &|| {
            black_box(candle_core::safetensors::load(&theirs, &Device::Cpu)?);
            Ok(())
        }),
    ])
}
