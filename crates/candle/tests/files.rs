//! Files of values with tensors in them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use candle_core::{DType, Device, Tensor};
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef_candle::nn::{Initialiser, LayerNorm, Linear};
use treedef_candle::optim::{Optimiser, State, adamw};
use treedef_candle::tensors::{Export, Loader, Source};
use treedef_candle::treedef::Object;
use treedef_candle::{
    latest_checkpoint, load, load_like, load_like_with, load_partial, save, save_checkpoint,
    source, source_with, value_and_grad,
};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;
type Tensors = BTreeMap<String, Object<Tensor>>;

#[derive(Clone, Serialize, Deserialize)]
struct Model {
    body: Vec<Linear>,
    norm: LayerNorm,
    head: Linear,
}

/// All that a training has.
#[derive(Clone, Serialize, Deserialize)]
struct Training {
    model: Model,
    average: Model,
    state: State<Model, Tensor>,
    epoch: u64,
    best: Option<f64>,
    key: [u8; 4],
    files: Vec<String>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Phase {
    Warm,
    Decay { from: u64 },
}

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Result<Place> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("it.safetensors");
    Ok(Place { _folder: folder, path })
}

fn model() -> candle_core::Result<Model> {
    let mut init = Initialiser::new(0);
    Ok(Model {
        body: vec![Linear::new(3, 4, &mut init)?, Linear::new(4, 4, &mut init)?.without_bias()],
        norm: LayerNorm::new(4, 1e-6, &mut init)?,
        head: Linear::new(4, 1, &mut init)?,
    })
}

fn step(training: &mut Training) -> Result {
    let x = Tensor::arange(0f32, 6.0, &Device::Cpu)?.reshape((2, 3))?;
    let loss = |model: &Model| -> candle_core::Result<Tensor> {
        use candle_core::Module;
        let mut x = x.clone();
        for layer in &model.body {
            x = layer.forward(&x)?.tanh()?;
        }
        model.head.forward(&model.norm.forward(&x)?)?.sqr()?.mean_all()
    };
    let (_, gradient) = value_and_grad(loss, &training.model)?;
    adamw(0.1).step_in_place(&mut training.model, &gradient, &mut training.state)?;
    Ok(())
}

fn training() -> Result<Training> {
    let model = model()?;
    Ok(Training {
        state: adamw(0.1).init::<Tensor, _>(&model)?,
        average: model.clone(),
        model,
        epoch: u64::MAX,
        best: Some(0.1),
        key: [1, 2, 3, 255],
        files: vec!["a \"b\"\n.txt".to_owned(), "Größe".to_owned()],
        phase: Phase::Decay { from: 7 },
    })
}

/// The bytes of all tensors, by name.
fn bytes(value: &impl Serialize) -> Result<BTreeMap<String, (String, Vec<u8>)>> {
    let source = source_with(&Export::new(), value)?.separate();
    let bytes = source.iter().map(|stored| {
        let tensor = (stored.descriptor().to_string(), stored.read_bytes()?.into_owned());
        Ok((stored.name().to_owned(), tensor))
    });
    bytes.collect()
}

#[test]
fn a_training_comes_back_and_goes_on_with_the_same_bits() -> Result {
    let Place { path, .. } = &place()?;
    let mut training = training()?;
    (0..3).try_for_each(|_| step(&mut training))?;
    save(&training, path)?;
    let mut loaded: Training = load(path, &Device::Cpu)?;
    assert_eq!(bytes(&loaded)?, bytes(&training)?);
    assert_eq!((loaded.epoch, loaded.best), (u64::MAX, Some(0.1)));
    assert_eq!((loaded.key, &loaded.files), (training.key, &training.files));
    assert_eq!((&loaded.phase, loaded.model.norm.eps), (&training.phase, 1e-6));
    for _ in 0..3 {
        step(&mut training)?;
        step(&mut loaded)?;
    }
    assert_eq!(bytes(&loaded)?, bytes(&training)?);

    // Into a new training, which has its own epoch.
    let begun = Training { epoch: 0, phase: Phase::Warm, ..self::training()? };
    save(&training, path)?;
    let like = load_like(&begun, path)?;
    assert_eq!((bytes(&like)?, like.epoch), (bytes(&training)?, 0));
    Ok(())
}

#[test]
fn names_are_those_of_pytorch() -> Result {
    let source = source(&training()?)?;
    let names: Vec<&str> = source.iter().map(|stored| stored.name()).collect();
    let model: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("model.")).collect();
    assert_eq!(
        model,
        [
            "body.0.weight",
            "body.0.bias",
            "body.1.weight",
            "norm.weight",
            "norm.bias",
            "head.weight",
            "head.bias"
        ]
    );
    assert_eq!(source.metadata("format"), Some("pt"));
    // The average is the model at first.
    assert_eq!(source.aliases().next(), Some(("average.body.0.weight", "model.body.0.weight")));
    Ok(())
}

/// Tensors of all types, each with numbers that differ.
fn all_types() -> Result<Tensors> {
    let counted = |dtype: DType, shape: &[usize], length: u8| {
        let bytes: Vec<u8> = (1..=length).collect();
        let tensor = Tensor::from_raw_buffer(&bytes, dtype, shape, &Device::Cpu)?;
        Ok::<_, candle_core::Error>((format!("{dtype:?}"), Object(tensor)))
    };
    let sized = [
        (DType::U8, 1),
        (DType::U32, 4),
        (DType::I16, 2),
        (DType::I32, 4),
        (DType::I64, 8),
        (DType::BF16, 2),
        (DType::F16, 2),
        (DType::F32, 4),
        (DType::F64, 8),
        (DType::F8E4M3, 1),
        (DType::F8E8M0, 1),
    ];
    let sized = sized.into_iter().map(|(dtype, size)| counted(dtype, &[2, 3], 6 * size));
    let packed = [(DType::F6E2M3, 6), (DType::F6E3M2, 6), (DType::F4, 4)];
    let packed = packed.into_iter().map(|(dtype, bits)| counted(dtype, &[2, 4], bits));
    Ok(sized.chain(packed).collect::<candle_core::Result<_>>()?)
}

#[test]
fn all_types_of_candle() -> Result {
    let Place { path, .. } = &place()?;
    let tensors = all_types()?;
    save(&tensors, path)?;
    let loaded: Tensors = load(path, &Device::Cpu)?;
    for (name, tensor) in &tensors {
        let (loaded, tensor) = (&loaded[name].0, &tensor.0);
        assert_eq!((loaded.dtype(), loaded.dims()), (tensor.dtype(), tensor.dims()), "{name}");
    }
    assert_eq!(bytes(&loaded)?, bytes(&tensors)?);
    for (name, (_, bytes)) in bytes(&tensors)? {
        let counted = bytes.iter().zip(1..).all(|(byte, count): (&u8, u8)| *byte == count);
        assert!(counted, "{name}: {bytes:?}");
    }
    // candle itself reads the file.
    let candles = candle_core::safetensors::load(path, &Device::Cpu)?;
    assert!(candles["F64"].eq(&tensors["F64"].0)?.to_vec2::<u8>()? == [[1; 3]; 2]);
    assert_eq!(candles.len(), tensors.len());
    Ok(())
}

#[test]
fn parts_of_tensors_and_odd_offsets() -> Result {
    let all = Tensor::arange(0i32, 24, &Device::Cpu)?.reshape((4, 6))?;
    let views = [
        ("part", all.narrow(0, 1, 2)?),
        ("turned", all.t()?),
        ("columns", all.narrow(1, 2, 3)?),
        ("repeated", all.get(3)?.narrow(0, 5, 1)?.broadcast_as((2, 3))?),
        ("one", all.get(1)?.get(1)?),
        ("none", all.narrow(0, 0, 0)?),
    ];
    let views: Tensors =
        views.into_iter().map(|(name, it)| (name.to_owned(), Object(it))).collect();
    let source = source(&views)?;
    for (name, tensor) in &views {
        let numbers = tensor.0.flatten_all()?.to_vec1::<i32>()?;
        let expected: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let stored = source.get(name).ok_or("no tensor")?;
        assert_eq!(stored.read_bytes()?, expected, "{name}");
        for start in 0..expected.len().min(11) {
            for end in start..expected.len().min(23) {
                let mut piece = vec![0; end - start];
                stored.read_at(start as u64, &mut piece)?;
                assert_eq!(piece, expected[start..end], "{name} {start}..{end}");
            }
        }
    }
    Ok(())
}

/// Also of types that candle stores as bytes.
#[test]
fn parts_of_all_types() -> Result {
    for (name, tensor) in all_types()? {
        let whole = source(&Tensors::from([(name.clone(), tensor.clone())]))?;
        let whole = whole.get(&name).ok_or("no tensor")?.read_bytes()?.into_owned();
        let part = Object(tensor.0.get(1)?);
        let part = source(&Tensors::from([(name.clone(), part)]))?;
        let part = part.get(&name).ok_or("no tensor")?.read_bytes()?;
        assert_eq!(*part, whole[whole.len() / 2..], "{name}");
    }
    let packed = Tensor::from_raw_buffer(&[1, 2, 3], DType::F4, &[6], &Device::Cpu)?;
    let source = source(&Tensors::from([("part".to_owned(), Object(packed.narrow(0, 1, 2)?))]))?;
    let error = source.get("part").ok_or("no tensor")?.read_bytes().unwrap_err();
    assert_snapshot!(error, @"the part of a tensor begins inside a byte (save the whole tensor)");
    Ok(())
}

#[test]
fn ties_stay_ties() -> Result {
    let Place { path, .. } = &place()?;
    let mut model = model()?;
    model.head.weight = model.body[0].weight.clone();
    save(&model, path)?;
    assert!(!candle_core::safetensors::load(path, &Device::Cpu)?.contains_key("head.weight"));
    let loaded: Model = load(path, &Device::Cpu)?;
    assert_eq!(loaded.head.weight.id(), loaded.body[0].weight.id());
    let like = load_like(&model, path)?;
    assert_eq!(like.head.weight.id(), like.body[0].weight.id());
    // A file that has one of the two, and nothing about the other.
    let export = Export::new().structure_in_metadata(false);
    let source = source_with(&export, &model)?;
    let others = source.iter().filter(|stored| stored.name() != "head.bias").cloned();
    let source = Source::of(others, [])?;
    assert!(load_like_with(&Loader::new(), &model, source.clone()).is_err());
    let loader = Loader::new().tie("head.weight", "body.0.weight").tie("head.bias", "norm.bias");
    model.head = Linear { bias: model.norm.bias.clone(), ..model.head };
    let like = load_like_with(&loader, &model, source)?;
    assert_eq!(like.head.weight.id(), like.body[0].weight.id());
    Ok(())
}

#[test]
fn tied_tensors_of_two_types_are_read_apart() -> Result {
    let third = Tensor::new(1.0 / 3.0, &Device::Cpu)?;
    let source = source(&[Object(third.clone()), Object(third.clone())])?;
    let example = [Object(third.to_dtype(DType::F32)?), Object(third)];
    let loader = Loader::new().convert_floats(true);
    let [narrow, wide] = load_like_with(&loader, &example, source)?;
    assert_eq!(narrow.0.to_scalar::<f32>()?, 1.0 / 3.0);
    assert_eq!(wide.0.to_scalar::<f64>()?, 1.0 / 3.0);
    Ok(())
}

/// Memory has the value, and beside it a piece of a tensor.
#[test]
fn nothing_is_copied_twice() -> Result {
    const MIB: u64 = 1 << 20;
    let Place { path, .. } = &place()?;
    let tensor = |number: f32| Tensor::full(number, (4, 1 << 20), &Device::Cpu)?.contiguous();
    let value = [1.0, 2.0, 3.0].map(|number| tensor(number).map(Object));
    let value = value.into_iter().collect::<candle_core::Result<Vec<_>>>()?;
    let saving = allocation_counter::measure(|| save(&value, path).unwrap());
    assert!(saving.bytes_max < 2 * MIB, "{saving:?}");
    let loading = allocation_counter::measure(|| {
        load::<Vec<Object<Tensor>>>(path, &Device::Cpu).unwrap();
    });
    assert!(loading.bytes_max < (48 + 2) * MIB, "{loading:?}");
    assert!(loading.bytes_total < (48 + 4) * MIB, "{loading:?}");
    Ok(())
}

/// Reads a file, and writes it back with each tensor doubled.
const DOUBLED: &str = r#"
import sys
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
tensors = load_file(sys.argv[1])
metadata = safe_open(sys.argv[1], "numpy").metadata()
for name in sorted(tensors):
    print(name, tensors[name].dtype, list(tensors[name].shape))
save_file({name: 2 * tensor for name, tensor in tensors.items()}, sys.argv[2], metadata)
"#;

#[test]
#[ignore = "needs Python with safetensors and numpy, named by the variable PYTHON"]
fn python_reads_a_file_and_writes_one() -> Result {
    let place = place()?;
    let (path, back) = (&place.path, &place.path.with_extension("back"));
    let value = (model()?, "text".to_owned());
    save(&value, path)?;
    let python = std::env::var("PYTHON")?;
    let said = Command::new(python).args(["-c", DOUBLED]).args([path, back]).output()?;
    let (said, errors) = (String::from_utf8(said.stdout)?, String::from_utf8(said.stderr)?);
    assert_snapshot!(format!("{said}{errors}"), @"
    0.body.0.bias float32 [4]
    0.body.0.weight float32 [4, 3]
    0.body.1.weight float32 [4, 4]
    0.head.bias float32 [1]
    0.head.weight float32 [1, 4]
    0.norm.bias float32 [4]
    0.norm.weight float32 [4]
    ");
    let (doubled, text): (Model, String) = load(back, &Device::Cpu)?;
    let like = load_like(&value, back)?.0;
    let expected = (&value.0.body[0].weight * 2.0)?.to_vec2::<f32>()?;
    assert_eq!(doubled.body[0].weight.to_vec2::<f32>()?, expected);
    assert_eq!((like.body[0].weight.to_vec2::<f32>()?, text.as_str()), (expected, "text"));
    Ok(())
}

#[test]
fn a_number_that_is_too_large_for_its_type() -> Result {
    let tensor = |number: f64, dtype| -> candle_core::Result<_> {
        Ok(Object(Tensor::new(&[1.0, number], &Device::Cpu)?.to_dtype(dtype)?))
    };
    let convert = Loader::new().convert_floats(true);
    let read = |number: f64, from, to| -> Result<_> {
        let found: (Object<Tensor>,) =
            load_like_with(&convert, &(tensor(0.0, to)?,), source(&(tensor(number, from)?,))?)?;
        Ok(found.0.to_dtype(DType::F64)?.to_vec1::<f64>()?[1])
    };
    use DType::{BF16, F16, F32, F64};
    let error = |number, from, to| read(number, from, to).unwrap_err().to_string();
    assert_snapshot!(error(1e38, F32, F16), @"1e38 is too large for f16 at `.0`");
    assert_snapshot!(error(-65_520.0, F32, F16), @"-6.552e4 is too large for f16 at `.0`");
    assert_snapshot!(error(1e39, F64, F32), @"1e39 is too large for f32 at `.0`");
    assert_snapshot!(error(f64::from(f32::MAX), F32, BF16), @"3.4028235e38 is too large for bf16 at `.0`");
    assert_snapshot!(error(1e6, BF16, F16), @"9.99424e5 is too large for f16 at `.0`");
    // The largest numbers that are rounded to one of the type, and those that were infinite before.
    assert_eq!(read(65_519.99, F32, F16)?, 65_504.0);
    assert_eq!(read(f64::from(f32::MAX), F64, F32)?, f64::from(f32::MAX));
    assert_eq!(read(3.395e38, F32, BF16)?, 3.3895313892515355e38);
    assert_eq!(read(f64::NEG_INFINITY, F32, F16)?, f64::NEG_INFINITY);
    assert!(read(f64::NAN, F64, F16)?.is_nan());
    let example = (tensor(0.0, F16)?,);
    let partly = load_partial(&convert, &example, source(&(tensor(1e38, F32)?,))?);
    assert_eq!(partly.map(drop).unwrap_err().to_string(), error(1e38, F32, F16));
    // Beyond the first piece of a large tensor.
    let mut numbers = vec![1f32; 3 << 20];
    numbers[(2 << 20) + 5] = 7e4;
    let large =
        |dtype| Object(Tensor::new(&*numbers, &Device::Cpu).unwrap().to_dtype(dtype).unwrap());
    let small = (large(F16),);
    let beyond = load_like_with(&convert, &small, source(&(large(F32),))?).map(drop).unwrap_err();
    assert_snapshot!(beyond, @"7e4 is too large for f16 at `.0`");
    Ok(())
}

#[test]
fn the_last_checkpoints_are_kept() -> Result {
    let folder = tempfile::tempdir()?;
    let folder = folder.path().join("a").join("b");
    let model = Linear::new(2, 2, &mut Initialiser::new(0))?;
    let names = || -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder)? {
            names.push(entry?.file_name().into_string().unwrap());
        }
        names.sort();
        Ok(names)
    };
    assert_eq!(latest_checkpoint(&folder)?, None);
    for step in [8, 9, 10, 100] {
        save_checkpoint(&(step, &model), &folder, step, 3)?;
    }
    // By numbers, not by letters.
    let kept =
        ["checkpoint_10.safetensors", "checkpoint_100.safetensors", "checkpoint_9.safetensors"];
    assert_eq!(names()?, kept);
    // Other files and folders are not removed.
    for name in [
        "checkpoint_007.safetensors",
        "checkpoint_+1.safetensors",
        "checkpoint_1.pt",
        "best.safetensors",
    ] {
        std::fs::write(folder.join(name), "")?;
    }
    std::fs::create_dir(folder.join("checkpoint_11.safetensors"))?;
    std::fs::create_dir(folder.join("checkpoint_101.safetensors"))?;
    let path = save_checkpoint(&(7u64, &model), &folder, 100, 1)?;
    assert_eq!(latest_checkpoint(&folder)?, Some(path.clone()));
    assert_eq!(load::<(u64, Linear)>(&path, &Device::Cpu)?.0, 7);
    assert_eq!(names()?.len(), 7);

    let text = |wrong: treedef_candle::tensors::Result<PathBuf>| {
        wrong.unwrap_err().to_string().replace(&folder.display().to_string(), "…")
    };
    assert_snapshot!(text(save_checkpoint(&model, &folder, 99, 2)), @"…: there is a checkpoint of step 100, which is later than 99 (remove it, or take another folder)");
    assert_snapshot!(text(save_checkpoint(&model, &folder, 101, 0)), @"…: expected 1 or more checkpoints to keep, found 0");
    assert_snapshot!(text(save_checkpoint(&model, folder.join("best.safetensors"), 1, 1)), @"…/best.safetensors: Not a directory (os error 20)");
    // One that cannot be written costs none of those that are there.
    std::fs::create_dir(folder.join("checkpoint_200.safetensors"))?;
    assert!(save_checkpoint(&model, &folder, 200, 1).is_err());
    assert!(path.exists());
    Ok(())
}
