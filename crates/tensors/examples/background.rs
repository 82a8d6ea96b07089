//! How long a step of training waits while a checkpoint of 1 GB is saved in the background.
//!
//! `cargo run --release -p treedef-tensors --example background -- [MEGABYTES]`

use std::time::{Duration, Instant};

use treedef::{Leaf, Tree};
use treedef_tensors::{Result, Saver, Tensors, safetensors};

fn main() -> Result<()> {
    let megabytes: usize =
        std::env::args().nth(1).map_or(1_000, |text| text.parse().unwrap_or(1_000));
    let folder = tempfile::tempdir()?;
    let path = folder.path().to_owned();
    // Layers of 10 MB, each of which is one leaf.
    let layers: Vec<Tree<Leaf>> = (0..megabytes / 10)
        .map(|layer| Ok(Tree::of(&vec![layer as f32; 2_500_000])?.with_arrays()?))
        .collect::<Result<_>>()?;
    let structure = Tree::of(&vec![0u8; layers.len()])?;
    let mut layers: Vec<Leaf> =
        layers.into_iter().filter_map(|it| it.leaves().first().cloned()).collect();
    let model = |layers: &[Leaf]| Tree::new(structure.treedef().clone(), layers.to_vec());

    let begin = Instant::now();
    let tensors = model(&layers)?;
    safetensors::save_sharded(&Tensors::of(&tensors)?, &path, 500_000_000)?;
    let in_front = begin.elapsed();
    drop(tensors);

    let alone = (0..20).map(|number| step(&mut layers, number)).collect::<Result<Vec<_>>>()?;
    let begin = Instant::now();
    let saver = Saver::new();
    let snapshot = model(&layers)?;
    let saving = saver.save(move || {
        safetensors::save_sharded(&Tensors::of(&snapshot)?, &path, 500_000_000).map(drop)
    })?;
    let pause = begin.elapsed();
    let mut beside = Vec::new();
    for number in 0.. {
        if saving.is_finished() {
            break;
        }
        beside.push(step(&mut layers, number)?);
    }
    saving.wait()?;
    let saved = begin.elapsed();

    let middle = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    let steps = beside.len();
    println!("{megabytes} MB: saved in {in_front:.2?} in front, in {saved:.2?} in the background");
    println!(
        "a step takes {:.2?} alone, {:.2?} beside the save ({steps} of them)",
        middle(alone),
        middle(beside)
    );
    let part = 100.0 * pause.as_secs_f64() / saved.as_secs_f64();
    println!("the pause for the snapshot: {pause:.2?}, {part:.4} % of the save");
    Ok(())
}

/// Makes the numbers of one layer anew. A snapshot keeps the old ones.
fn step(layers: &mut [Leaf], number: usize) -> Result<Duration> {
    let begin = Instant::now();
    let new = Tree::of(&vec![number as f32; 2_500_000])?.with_arrays()?;
    let at = number % layers.len().max(1);
    if let (Some(layer), [new]) = (layers.get_mut(at), new.leaves()) {
        *layer = new.clone();
    }
    Ok(begin.elapsed())
}
