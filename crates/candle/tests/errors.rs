//! The errors that a user sees: a table of faults and their texts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use candle_core::{DType, Device, Module, Tensor};
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef_candle::lora::lora;
use treedef_candle::nn::{Initialiser, LayerNorm, Linear};
use treedef_candle::optim::{Optimiser, adamw};
use treedef_candle::tensors::{
    Descriptor, Dtype, Export, Loader, Source, StoredTensor, safetensors,
};
use treedef_candle::treedef::Object;
use treedef_candle::{
    Gradient, Unreached, load, load_like, load_like_with, load_with, save, source, source_with,
    summary, to_dtype, value_and_grad, value_and_grad_with,
};

type AnyError = Box<dyn std::error::Error + Send + Sync>;
type Result<T = (), E = AnyError> = std::result::Result<T, E>;

#[derive(Clone, Serialize, Deserialize)]
struct Model {
    layers: Vec<Linear>,
    norm: LayerNorm,
    #[serde(with = "treedef::object")]
    steps: Tensor,
}

fn model() -> candle_core::Result<Model> {
    let mut init = Initialiser::new(0);
    Ok(Model {
        layers: vec![Linear::new(3, 4, &mut init)?, Linear::new(4, 4, &mut init)?.without_bias()],
        norm: LayerNorm::new(4, 1e-6, &mut init)?,
        steps: Tensor::new(7i64, &Device::Cpu)?,
    })
}

/// The model with another first layer, another norm, and one layer more.
fn other() -> candle_core::Result<Model> {
    let mut other = model()?;
    let mut init = Initialiser::new(0);
    other.layers[0] = Linear::new(3, 8, &mut init)?;
    other.layers.push(Linear::new(4, 2, &mut init)?.without_bias());
    other.norm.weight = other.norm.weight.to_dtype(DType::F64)?;
    other.norm.bias = None;
    Ok(other)
}

/// Two paths with one name.
#[derive(Serialize)]
struct Clash {
    a: Vec<Linear>,
    #[serde(rename = "a.0")]
    b: Linear,
}

/// The loss of the first layer alone.
fn loss(model: &Model) -> candle_core::Result<Tensor> {
    let x = Tensor::ones((2, 3), model.layers[0].weight.dtype(), &Device::Cpu)?;
    model.layers[0].forward(&x)?.sqr()?.mean_all()
}

/// A source with a tensor of a type that candle does not have, in a value.
fn of_u16() -> Result<Source<'static>> {
    let zero = StoredTensor::read_from(Descriptor::new("w", Dtype::U16, [1]), |_, bytes| {
        bytes.fill(0);
        Ok(())
    })?;
    Ok(Source::of([zero], [("treedef".to_owned(), r#"{"w": *}"#.to_owned())])?)
}

/// The text of an error without the folder of the test, and without a backtrace.
fn text<T, E: Into<AnyError>>(folder: &Path, wrong: Result<T, E>) -> String {
    let error = match wrong {
        Ok(_) => return "no error".to_owned(),
        Err(error) => error.into(),
    };
    let text = error.to_string().replace(&folder.display().to_string(), "");
    text.split("\n   0: ").next().unwrap_or_default().to_owned()
}

/// A line of the table with a title, and the text below it.
macro_rules! table {
    ($folder:expr; $($title:literal => $wrong:expr,)*) => {
        [$(format!("{}:\n{}", $title, text($folder, $wrong).trim_end())),*].join("\n\n")
    };
}

#[test]
fn files() -> Result {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let cpu = &Device::Cpu;
    let (path, bytes) = (folder.join("model.safetensors"), folder.join("of candle.safetensors"));
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).map(|()| path)
    };
    let model = model()?;
    save(&model, &path)?;
    let whole = fs::read(&path)?;
    candle_core::safetensors::save(&[("w", Tensor::new(1f32, &Device::Cpu)?)].into(), &bytes)?;
    let mut halves = to_dtype(&model, "**", DType::F16)?;
    halves.steps = Tensor::new(7u32, &Device::Cpu)?;
    let renamed = Loader::new().rename("layers.*.kernel", "layers.*.weight");
    let transposed = Loader::new().transpose("layers.0.weight");
    let mut flipped = whole.clone();
    flipped[9] = b'}';
    let open = || safetensors::open(&path);
    let clash = Clash { a: model.layers.clone(), b: model.layers[0].clone() };
    let mistaken = Export::new().rename("norm.weight", "norm.wieght");
    let mistaken = source_with(&mistaken, &model)?;
    let mut small = model.clone();
    small.norm.weight = Tensor::from_raw_buffer(&[0; 4], DType::F8E8M0, &[4], cpu)?;
    let convert = Loader::new().convert_floats(true);
    type Tensors = BTreeMap<String, Object<Tensor>>;
    let empty = folder.join("empty folder");
    fs::create_dir(&empty)?;
    assert_snapshot!(table!(folder;
        "a layer of another size, one more, one less" => load_like(&other()?, &path),
        "a name with a mistake" => load_like_with(&Loader::new(), &model, mistaken),
        "other types" => load_like(&halves, &path),
        "a model of another type" => load::<Linear>(&path, cpu),
        "a file that candle wrote" => load::<Model>(&bytes, cpu),
        "no file" => load::<Model>(folder.join("modle.safetensors"), cpu),
        "no folder" => load_like(&model, folder.join("none/model.safetensors")),
        "a folder without a model" => load_like(&model, &empty),
        "nowhere to save" => save(&model, folder.join("none/model.safetensors")),
        "a file that was cut off" => load::<Model>(file("cut", &whole[..whole.len() - 9])?, cpu),
        "a header that was cut off" => load::<Model>(file("short", &whole[..99])?, cpu),
        "a damaged header" => load::<Model>(file("damaged", &flipped)?, cpu),
        "an empty file" => load::<Model>(file("empty", b"")?, cpu),
        "a file of PyTorch" => load_like(&model, file("model.pt", b"PK\x03\x04\x14\0\0\0\0\0")?),
        "a type that candle does not have" => load_with::<Tensors>(&Loader::new(), of_u16()?, cpu),
        "a type that the device does not have" => load_like_with(&convert, &small, open()?),
        "a rule that matches nothing" => load_like_with(&renamed, &model, open()?),
        "a matrix that is turned in vain" => load_like_with(&transposed, &model, open()?),
        "two tensors of one name" => source(&clash),
    ), @r#"
    a layer of another size, one more, one less:
    /model.safetensors: the tensors do not fit the type
    `layers.0.weight` is f32[4, 3], expected f32[8, 3]
    `layers.0.bias` is f32[4], expected f32[8]
    `norm.weight` is f32[4], expected f64[4] (see `Loader::convert_floats`)
    missing `layers.2.weight`: f32[2, 4]
    unused `norm.bias`: f32[4]

    a name with a mistake:
    the tensors do not fit the type
    missing `norm.weight`: f32[4] (the nearest name is `norm.wieght`, f32[4])
    unused `norm.wieght`: f32[4]

    other types:
    /model.safetensors: the tensors do not fit the type
    `layers.0.weight` is f32[4, 3], expected f16[4, 3] (see `Loader::convert_floats`)
    `layers.0.bias` is f32[4], expected f16[4] (see `Loader::convert_floats`)
    `layers.1.weight` is f32[4, 4], expected f16[4, 4] (see `Loader::convert_floats`)
    `norm.weight` is f32[4], expected f16[4] (see `Loader::convert_floats`)
    `norm.bias` is f32[4], expected f16[4] (see `Loader::convert_floats`)
    `steps` is i64[], expected u32[]

    a model of another type:
    /model.safetensors: missing field `weight`; here are `layers`, `norm`, `steps` at the root (renamed? `#[serde(alias)]`; new? `#[serde(default)]`, or `load_partial` for what has no default)

    a file that candle wrote:
    /of candle.safetensors: the file has tensors, but not the value that they are in, as those of `save` have: `load_like` reads them into a value that is there

    no file:
    /modle.safetensors: No such file or directory (os error 2)

    no folder:
    /none/model.safetensors: No such file or directory (os error 2)

    a folder without a model:
    /empty folder: there is no file `*.safetensors` in it

    nowhere to save:
    /none/model.safetensors: there is no such folder

    a file that was cut off:
    2 faults
    /cut: "norm.bias": cut off by the end of the file
    /cut: "steps": cut off by the end of the file

    a header that was cut off:
    /short: the file ends inside its header at byte 99

    a damaged header:
    /damaged: not a safetensors file: trailing characters at line 1 column 3 at byte 10

    an empty file:
    /empty: the file ends inside its header at byte 0

    a file of PyTorch:
    /model.pt: not a safetensors file: it is a zip file: `pytorch::open` reads those of PyTorch with the feature `pytorch`, `npz::from_bytes` those of numpy with the feature `numpy`

    a type that candle does not have:
    candle has no tensors of u16 at `["w"]`

    a type that the device does not have:
    /model.safetensors: the tensors do not fit the type
    `norm.weight` is f32[4], expected f8_e8m0[4]

    a rule that matches nothing:
    /model.safetensors: `layers.*.kernel` matches no tensor

    a matrix that is turned in vain:
    /model.safetensors: the tensors do not fit the type
    `layers.0.weight` is f32[3, 4], expected f32[4, 3] (see `Loader::transpose`)

    two tensors of one name:
    two objects have the name "a.0.weight"
    "#);
    Ok(())
}

#[test]
fn trainings() -> Result {
    let folder = Path::new("no folder");
    let model = model()?;
    let constant = |patterns: &[&str]| {
        let options = patterns.iter().fold(Gradient::new(), |it, pattern| it.constant(*pattern));
        value_and_grad_with(&options, |model: &Model| loss(model).map(|loss| (loss, ())), &model)
    };
    let strict = Gradient::new().unreached(Unreached::Error);
    let with_output = |model: &Model| loss(model).map(|loss| (loss, ()));
    let x = Tensor::ones((2, 3), DType::F32, &Device::Cpu)?;
    let rows = |model: &Model| model.layers[0].forward(&x);
    let fails = |model: &Model| model.layers[1].forward(&x);
    let (_, gradient) = value_and_grad(loss, &model)?;
    let mut state = adamw(0.1).init::<Tensor, _>(&model)?;
    let of_halves = to_dtype(&gradient, "norm", DType::F16)?;
    let of_other = value_and_grad(loss, &other()?)?.1;
    assert_snapshot!(table!(folder;
        "a pattern of nothing" => adamw(0.1).freeze("layer[0]").init::<Tensor, _>(&model),
        "all is frozen" => adamw(0.1).freeze("**").init::<Tensor, _>(&model),
        "only what is no float" => adamw(0.1).only("steps").init::<Tensor, _>(&model),
        "a pattern with a mistake" => adamw(0.1).only("layers[").init::<Tensor, _>(&model),
        "a constant with a mistake" => constant(&["norm["]),
        "a part with a mistake" => to_dtype(&model, "layers,norm", DType::F16),
        "a table with a mistake" => summary(&model)?.frozen("layers["),
        "adapters with a mistake" => lora(&model, "[layers", 2, 1.0, 0),
        "parameters of another type" => adamw(0.1).init::<f32, _>(&model),
        "all is constant" => constant(&["layers", "norm"]),
        "a constant of nothing" => constant(&["norms"]),
        "what the loss does not depend on" => value_and_grad_with(&strict, with_output, &model),
        "a loss of several numbers" => value_and_grad(rows, &model),
        "a loss of integers" => value_and_grad(|model: &Model| Ok::<_, AnyError>(model.steps.clone()), &model),
        "a loss that fails" => value_and_grad(fails, &model),
        "a gradient of another type" => adamw(0.1).step(model.clone(), of_halves, &mut state),
        "a gradient of another model" => adamw(0.1).step(model.clone(), of_other, &mut state),
        "a table of nothing" => summary(&model)?.frozen("layers[2]"),
        "a type that the device does not have" => to_dtype(&model, "layers[1]", DType::F4),
        "a pattern of no tensor" => to_dtype(&model, "layers[*].wieght", DType::F16),
        "adapters for no matrix" => lora(&model, "norm", 2, 1.0, 0),
        "adapters for nothing" => lora(&model, "**.{q_proj,v_proj}", 2, 1.0, 0),
        "adapters of rank 0" => lora(&model, "layers", 0, 1.0, 0),
    ), @"
    a pattern of nothing:
    no node matches `.layer[0]` (did you mean `.layers[0]`?)

    all is frozen:
    freezing `**` leaves nothing to train in its place

    only what is no float:
    `steps` names nothing that is trained

    a pattern with a mistake:
    the pattern `layers[`: expected a value, found the end at byte 7

    a constant with a mistake:
    the pattern `norm[`: expected a value, found the end at byte 5

    a part with a mistake:
    the pattern `layers,norm`: expected several names in braces: `.{q_proj,v_proj}`, found `,norm` at byte 6

    a table with a mistake:
    the pattern `layers[`: expected a value, found the end at byte 7

    adapters with a mistake:
    the pattern `[layers`: expected `]`, found the end at byte 7 (did you mean `[layers]`?)

    parameters of another type:
    a `candle_core::tensor::Tensor` is an object: the leaves have to be of this type, as in `treedef::flatten_objects::<candle_core::tensor::Tensor>` at `.layers[0].weight`

    all is constant:
    with `layers`, `norm` constant, nothing is trained

    a constant of nothing:
    no node matches `.norms` (did you mean `.norm`?)

    what the loss does not depend on:
    the loss does not depend on the parameters at `.layers[1].weight`, `.norm.weight`, `.norm.bias?`: their gradient is zero (see `Unreached`)

    a loss of several numbers:
    expected a loss of one number, found the shape [2, 4] (take the mean, or the sum)

    a loss of integers:
    expected a loss of floats, found one of i64

    a loss that fails:
    a linear layer of 4 inputs got [2, 3]

    a gradient of another type:
    the gradient is f16[4], the parameter is f32[4], at `.norm.weight`

    a gradient of another model:
    the gradient has another structure than the parameters: expected 2 children, found 3 children at `.layers`, and 1 more difference

    a table of nothing:
    no node matches `.layers[2]` (there are 2 elements at `.layers`)

    a type that the device does not have:
    f32[4, 4] cannot be f4 on Cpu: unsupported dtype F4 for op to_dtype at `.layers[1].weight`

    a pattern of no tensor:
    no node matches `.layers[*].wieght` (did you mean `.layers[*].weight`?)

    adapters for no matrix:
    `norm` names no weight of floats: there is nothing to adapt

    adapters for nothing:
    no node matches `**.q_proj`

    adapters of rank 0:
    an adapter has a rank of at least 1, not 0
    ");
    Ok(())
}
