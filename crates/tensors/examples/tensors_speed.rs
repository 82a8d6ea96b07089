//! How long a model of a gigabyte takes to and from safetensors, beside its raw bytes: `-- MEGABYTES`.
//!
//! `cargo run --release -p treedef-tensors --example tensors_speed`

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_tensors::{Tensors, safetensors};

#[derive(Clone, Serialize, Deserialize)]
struct Layer {
    w: Vec<Vec<f32>>,
    b: Vec<f32>,
}

/// The least time of some runs.
fn least<T>(
    mut run: impl FnMut() -> Result<T, Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut least = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        std::hint::black_box(run()?);
        least = least.min(start.elapsed());
    }
    Ok(least)
}

fn main() -> Result<(), Box<dyn Error>> {
    let megabytes = std::env::args().nth(1).map_or(Ok(1024), |count| count.parse::<usize>())?;
    let layer = || Layer { w: vec![vec![0.5; 1024]; 1024], b: vec![1.5; 1024] };
    let model: Vec<Layer> = (0..megabytes.div_ceil(4)).map(|_| layer()).collect();
    let tree = Tree::<f32>::of_as(&model)?;
    let raw: &[u8] = bytemuck::cast_slice(tree.leaves());
    let folder = tempfile::tempdir()?;
    let (raw_path, path) = (folder.path().join("raw"), folder.path().join("model.safetensors"));

    let raw_time = least(|| {
        let mut file = File::create(&raw_path)?;
        file.write_all(raw)?;
        Ok(file.sync_all()?)
    })?;
    let write_time = least(|| {
        let mut file = File::create(&path)?;
        safetensors::write(&Tensors::of(&tree)?, &mut file)?;
        Ok(file.sync_all()?)
    })?;
    let save_time = least(|| Ok(safetensors::save(&Tensors::of(&tree)?, &path)?))?;
    let memory_time = least(|| Ok(raw.to_vec()))?;
    let bytes_time = least(|| Ok(safetensors::to_bytes(&Tensors::of(&tree)?)?))?;
    let bytes = fs::read(&path)?;
    let read_time = least(|| Ok(safetensors::from_bytes(&bytes)?.read()?.iter().len()))?;
    let copy_time = least(|| Ok(model.clone()))?;
    let load_time = least(|| Ok(safetensors::from_bytes(&bytes)?.load::<Vec<Layer>>()?))?;

    let ratio = |time: Duration, than: Duration| time.as_secs_f64() / than.as_secs_f64();
    println!("{} MB, {} tensors", raw.len() >> 20, 2 * model.len());
    println!("raw bytes to a file  {raw_time:?}");
    println!("write                {write_time:?}, {:.2} of it", ratio(write_time, raw_time));
    println!("save                 {save_time:?}, {:.2} of it", ratio(save_time, raw_time));
    println!("raw bytes copied     {memory_time:?}");
    println!("to_bytes             {bytes_time:?}, {:.2} of it", ratio(bytes_time, memory_time));
    println!("from_bytes           {read_time:?}");
    println!("the model cloned     {copy_time:?}");
    println!("load into the struct {load_time:?}, {:.2} of it", ratio(load_time, copy_time));
    Ok(())
}
