//! A checkpoint in shards, written and read, beside the bytes alone.
//!
//! `cargo run --release -p treedef-tensors --example shards_speed -- [MEGABYTES] [FOLDER]`
//!
//! The best of three. The files are read from the memory of the operating system.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Instant;

use treedef::{Object, Tree};
use treedef_tensors::{
    Descriptor, Dtype, Error, Loader, Result, StoredTensor, Tensor, Tensors, safetensors,
};

/// The shortest of some runs, in seconds.
fn best(mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let begin = Instant::now();
        run()?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(best)
}

type Model = BTreeMap<String, BTreeMap<String, Object<Tensor<'static>>>>;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let megabytes: usize = args.next().map_or(2_000, |text| text.parse().unwrap_or(2_000));
    let temporary = tempfile::tempdir()?;
    let folder = args.next().map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let layers: Vec<Vec<f32>> = (0..megabytes / 20).map(|at| vec![at as f32; 5_000_000]).collect();
    let tensors = layers.iter().enumerate().map(|(at, layer)| {
        let bytes: &[u8] = bytemuck::cast_slice(layer);
        Ok((format!("layers.{at:03}"), Tensor::new(Dtype::F32, vec![5_000, 1_000], bytes)?))
    });
    let tensors = Tensors::new(tensors.collect::<Result<Vec<_>>>()?)?;
    println!("{megabytes} MB in tensors of 20 MB");

    let raw = folder.join("raw");
    let written = best(|| {
        let mut file = File::create(&raw)?;
        for (_, tensor) in tensors.iter() {
            file.write_all(tensor.bytes())?;
        }
        Ok(file.sync_all()?)
    })?;
    println!("write the bytes, flushed      {written:6.2} s");
    let shards = folder.join("shards");
    let saved = best(|| {
        let _ = fs::remove_dir_all(&shards);
        safetensors::save_sharded(&tensors, &shards, 500_000_000).map(drop)
    })?;
    println!("save_sharded, four files      {saved:6.2} s  {:.2} x", saved / written);

    let read = best(|| {
        let mut file = File::open(&raw)?;
        let mut buffer = vec![0; 1 << 20];
        while file.read(&mut buffer)? > 0 {
            black_box(&buffer);
        }
        Ok(())
    })?;
    println!("read the bytes by pieces      {read:6.2} s");
    let kept = best(|| {
        black_box(fs::read(&raw)?);
        Ok(())
    })?;
    println!("read the bytes, and keep them {kept:6.2} s");
    let source = best(|| {
        black_box(safetensors::open(&shards)?.read()?);
        Ok(())
    })?;
    println!("open and read all tensors     {source:6.2} s  {:.2} x", source / kept);
    // A model whose leaves are tensors, as they are on a device.
    let empty = || Ok::<_, Error>(Object(Tensor::new(Dtype::F32, vec![0], Vec::new())?));
    let names = layers.iter().enumerate().map(|(at, _)| Ok((format!("{at:03}"), empty()?)));
    let model: Model = [("layers".to_owned(), names.collect::<Result<_>>()?)].into();
    let tree = Tree::<Tensor<'static>>::of_objects(&model)?;
    let objects = best(|| {
        let shards = safetensors::open(&shards)?;
        let described =
            |name: &str, _: &Tensor<'_>| Ok(Descriptor::new(name, Dtype::F32, [5_000, 1_000]));
        let read =
            |_: &Tensor<'_>, stored: &StoredTensor<'_>| Ok::<_, Error>(stored.read()?.into_owned());
        let tree = Loader::new().objects_like(&tree, &shards, described, read)?;
        black_box(tree.into_objects::<Model>()?);
        Ok(())
    })?;
    println!("load into a model of tensors  {objects:6.2} s  {:.2} x", objects / kept);
    let typed = best(|| {
        type Layers = BTreeMap<String, BTreeMap<String, Vec<Vec<f32>>>>;
        black_box(safetensors::open(&shards)?.load::<Layers>()?);
        Ok(())
    })?;
    println!("load into nested vectors      {typed:6.2} s  {:.2} x", typed / kept);
    let arrays = best(|| {
        type Layers = BTreeMap<String, BTreeMap<String, ndarray::Array2<f32>>>;
        black_box(safetensors::open(&shards)?.load::<Layers>()?);
        Ok(())
    })?;
    println!("load into arrays              {arrays:6.2} s  {:.2} x", arrays / kept);
    Ok(())
}
