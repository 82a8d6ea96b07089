//! Adapters of a small model: the matrices that get one, and the errors.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use candle_core::{DType, Device, Tensor, safetensors};
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_candle::lora::{Adapter, Lora, lora};
use treedef_candle::nn::{
    Conv1d, Conv2d, ConvOptions, ConvTranspose1d, Embedding, Gru, Initialiser, LayerNorm, Linear,
    Lstm,
};
use treedef_candle::{load_like, save};

#[derive(Clone, Serialize, Deserialize)]
struct Model {
    words: Embedding,
    blocks: Vec<Block>,
    #[serde(with = "treedef::object")]
    own: Tensor,
}

#[derive(Clone, Serialize, Deserialize)]
struct Block {
    q_proj: Linear,
    v_proj: Linear,
    norm: LayerNorm,
}

fn model() -> Model {
    let mut init = Initialiser::new(1).dtype(DType::F64);
    let init = &mut init;
    let mut block = || Block {
        q_proj: Linear::new(4, 6, init).unwrap(),
        v_proj: Linear::new(4, 2, init).unwrap().without_bias(),
        norm: LayerNorm::new(6, 1e-5, init).unwrap(),
    };
    let blocks = vec![block(), block()];
    let words = Embedding::new(7, 4, init).unwrap();
    Model { words, blocks, own: init.normal((3, 3)).unwrap() }
}

fn names(lora: &Lora) -> Vec<&str> {
    lora.adapters.keys().map(String::as_str).collect()
}

#[test]
fn a_pattern_names_matrices_or_the_layers_around_them() {
    let of = |pattern: &str| lora(&model(), pattern, 2, 4.0, 0).unwrap();
    let all = ["blocks.0.q_proj", "blocks.0.v_proj", "blocks.1.q_proj", "blocks.1.v_proj"];
    assert_eq!(names(&of("**.{q_proj,v_proj}")), all);
    assert_eq!(names(&of("blocks")), all);
    assert_eq!(names(&of("blocks[1].q_proj.weight")), ["blocks.1.q_proj"]);
    assert_eq!(names(&of("{words,own}")), ["own", "words"]);
    // PEFT matches the ends of names.
    assert_eq!(of("**.q_proj").target_modules, ["q_proj"]);
    assert_eq!(of("blocks[1].q_proj").target_modules, ["blocks.1.q_proj"]);
}

#[test]
fn new_ones_change_nothing_and_depend_on_the_seed() {
    let adapters = lora(&model(), "**.q_proj", 2, 4.0, 0).unwrap();
    let Adapter { a, b, .. } = &adapters.adapters["blocks.0.q_proj"];
    assert_eq!((a.dims(), b.dims(), a.dtype()), (&[2, 4][..], &[6, 2][..], DType::F64));
    let bits = |tensor: &Tensor| tensor.to_vec2::<f64>().unwrap();
    assert!(bits(a).iter().flatten().all(|x| x.abs() <= 0.5 && *x != 0.0));
    let merged = adapters.merge(&model()).unwrap();
    assert_eq!(bits(&merged.blocks[0].q_proj.weight), bits(&model().blocks[0].q_proj.weight));
    let a_of = |seed| {
        bits(&lora(&model(), "**.q_proj", 2, 4.0, seed).unwrap().adapters["blocks.1.q_proj"].a)
    };
    assert_eq!(a_of(5), a_of(5));
    assert_ne!(a_of(5), a_of(6));
}

#[test]
fn the_product_is_added() {
    let mut adapters = lora(&model(), "**.v_proj", 1, 3.0, 0).unwrap();
    let adapter = adapters.adapters.get_mut("blocks.1.v_proj").unwrap();
    adapter.a = Tensor::new(&[[1.0, 2.0, 0.0, -1.0]], &Device::Cpu).unwrap();
    adapter.b = Tensor::new(&[[10.0], [1.0]], &Device::Cpu).unwrap();
    let merged = adapters.merge(&model()).unwrap();
    let [before, after] = [&model(), &merged].map(|it| it.blocks[1].v_proj.weight.clone());
    let difference = (after - before).unwrap().to_vec2::<f64>().unwrap();
    let expected = [[30.0, 60.0, 0.0, -30.0], [3.0, 6.0, 0.0, -3.0]];
    let pairs = difference.iter().flatten().zip(expected.as_flattened());
    pairs.for_each(|(found, expected)| assert!((found - expected).abs() < 1e-12));
}

fn first_line(error: candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn wrong_patterns_and_models() {
    let mut long = model();
    let adapters = lora(&long, "**.q_proj", 2, 4.0, 0).unwrap();
    long.blocks[1].q_proj = Linear::new(5, 6, &mut Initialiser::new(0)).unwrap();
    let mut short = model();
    short.blocks.pop();
    let errors = [
        lora(&model(), "**.k_proj", 2, 4.0, 0).unwrap_err(),
        lora(&model(), "**.norm", 2, 4.0, 0).unwrap_err(),
        lora(&model(), "**.q_proj", 0, 4.0, 0).unwrap_err(),
        adapters.merge(&long).map(drop).unwrap_err(),
        adapters.merge(&short).map(drop).unwrap_err(),
    ];
    let errors: Vec<String> = errors.into_iter().map(first_line).collect();
    insta::assert_snapshot!(errors.join("\n"), @"
    no node matches `**.k_proj` (did you mean `**.q_proj`?)
    `**.norm` names no weight of floats: there is nothing to adapt
    an adapter has a rank of at least 1, not 0
    an adapter of [2, 4] and [6, 2] does not fit a weight of [6, 5] at `.blocks[1].q_proj.weight`
    the model has no `blocks.1.q_proj.weight`, for which there is an adapter
    ");
}

/// PEFT adapts the `weight` of a module.
#[test]
fn recurrent_layers_get_none() {
    let init = &mut Initialiser::new(0);
    let errors = [
        lora(&vec![Gru::new(3, 4, init).unwrap()], "**", 2, 4.0, 0).unwrap_err(),
        lora(&Lstm::new(3, 4, init).unwrap(), "weight_hh_l0", 2, 4.0, 0).unwrap_err(),
    ];
    insta::assert_snapshot!(errors.map(first_line).join("\n"), @"
    PEFT has no adapter for `[0].weight_ih_l0`, which is f32[12, 3] of `Gru` (leave it out of the pattern)
    PEFT has no adapter for `.weight_hh_l0`, which is f32[16, 4] of `Lstm` (leave it out of the pattern)
    ");
}

#[test]
fn wrong_files() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let read = |change: &dyn Fn(&str) -> String| {
        lora(&model(), "**.q_proj", 2, 4.0, 0).unwrap().save_peft(folder, "base").unwrap();
        let path = folder.join("adapter_config.json");
        fs::write(&path, change(&fs::read_to_string(&path).unwrap())).unwrap();
        let error = first_line(Lora::load_peft(folder, &Device::Cpu).unwrap_err());
        error.replace(&folder.display().to_string(), "…")
    };
    let mut uneven = lora(&model(), "**.q_proj", 2, 4.0, 0).unwrap();
    let adapter = uneven.adapters["blocks.0.q_proj"].a.narrow(0, 0, 1).unwrap();
    uneven.adapters.get_mut("blocks.0.q_proj").unwrap().a = adapter;
    let errors = [
        read(&|text| text.replace("\"none\"", "\"all\"")),
        read(&|text| text.replace("LORA", "IA3")),
        read(&|text| text.replace('{', "{\"init_lora_weights\": \"pissa_niter_16\",")),
        read(&|text| text.replace('{', "{\"alora_invocation_tokens\": [1, 2],")),
        read(&|text| text.replace("lora_alpha", "lora_dropout")),
        read(&|text| text.replace('{', "")),
        first_line(uneven.save_peft(folder, "base").unwrap_err()),
        first_line(Lora::load_peft(folder.join("none"), &Device::Cpu).unwrap_err())
            .replace(&folder.display().to_string(), "…"),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r#"
    path: "…/adapter_config.json" adapters with `bias` = "all" cannot be read
    path: "…/adapter_config.json" adapters of the kind "IA3" cannot be read, only "LORA"
    path: "…/adapter_config.json" adapters with `init_lora_weights` = "pissa_niter_16" cannot be read
    path: "…/adapter_config.json" adapters with `alora_invocation_tokens` = [1,2] cannot be read
    path: "…/adapter_config.json" there is no `lora_alpha`
    path: "…/adapter_config.json" trailing characters at line 2 column 28
    a file of PEFT has adapters of one rank, not of {1, 2}
    path: "…/none/adapter_config.json" No such file or directory (os error 2)
    "#);

    for (name, expected) in [
        (
            "base_model.model.blocks.0.q_proj.lora_A.weight",
            "has no `base_model.model.blocks.0.q_proj.lora_B.weight`",
        ),
        ("lm_head.weight", "has `lm_head.weight`, which is no half of an adapter"),
    ] {
        lora(&model(), "**.q_proj", 2, 4.0, 0).unwrap().save_peft(folder, "base").unwrap();
        let tensor = model().own;
        tensor.save_safetensors(name, folder.join("adapter_model.safetensors")).unwrap();
        let error = first_line(Lora::load_peft(folder, &Device::Cpu).unwrap_err());
        assert!(error.ends_with(expected), "{error}");
    }
}

/// PEFT compares the names of containers, too, and refuses one that is no layer.
#[test]
fn the_last_part_of_a_name_may_be_another_modules() {
    #[derive(Serialize, Deserialize)]
    struct Model {
        blocks: Vec<Vec<Linear>>,
        head: Vec<Linear>,
    }
    let linear = || Linear::new(3, 3, &mut Initialiser::new(1)).unwrap();
    let targets = |model: &Model, pattern| lora(model, pattern, 1, 1.0, 0).unwrap().target_modules;
    let model = Model { blocks: vec![vec![], vec![linear(), linear()]], head: vec![linear()] };
    assert_eq!(targets(&model, "head"), ["head.0"]);
    assert_eq!(targets(&model, "blocks[1][0]"), ["blocks.1.0"]);
    assert_eq!(targets(&Model { blocks: vec![], ..model }, "head"), ["0"]);
}

/// One layer of each kind that PEFT has adapters for.
#[derive(Clone, Serialize, Deserialize)]
struct Layers {
    words: Embedding,
    line: Linear,
    sequence: Conv1d,
    image: Conv2d,
}

impl Layers {
    fn new(options: ConvOptions) -> Self {
        let init = &mut Initialiser::new(3);
        let words = Embedding::new(7, 4, init).unwrap();
        let line = Linear::new(4, 6, init).unwrap();
        let strided = ConvOptions { stride: 2, padding: 1, ..options };
        let sequence = Conv1d::new(6, 5, 3, strided, init).unwrap();
        let image = Conv2d::new(1, 3, [2, 3], ConvOptions::default(), init).unwrap();
        Layers { words, line, sequence, image }
    }
}

/// The output of `tests/peft/layers.py`.
fn of_peft(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peft").join(name)
}

fn expect_close(found: &Layers, expected: &Layers, tolerance: f32) {
    let numbers = |layers: &Layers| Tree::<Tensor>::of_objects(layers).unwrap();
    for ((path, found), (_, expected)) in numbers(found).iter().zip(numbers(expected).iter()) {
        assert_eq!(found.dims(), expected.dims(), "{path}");
        let off = (found - expected).unwrap().abs().unwrap().flatten_all().unwrap();
        let off = off.max(0).unwrap().to_scalar::<f32>().unwrap();
        assert!(off <= tolerance, "{path} is off by {off}");
    }
}

#[test]
fn adapters_of_each_layer_of_peft() {
    let like = Layers::new(ConvOptions::default());
    let base = load_like(&like, of_peft("base.safetensors")).unwrap();
    let merged: Layers = load_like(&like, of_peft("merged.safetensors")).unwrap();
    let adapters = Lora::load_peft(of_peft(""), &Device::Cpu).unwrap();
    assert_eq!(names(&adapters), ["image", "line", "sequence", "words"]);
    expect_close(&adapters.merge(&base).unwrap(), &merged, 1e-6);
    expect_close(&adapters.unmerge(&merged).unwrap(), &base, 1e-6);
    let moved = (&merged.words.weight - &base.words.weight).unwrap().abs().unwrap();
    assert!(moved.mean_all().unwrap().to_scalar::<f32>().unwrap() > 0.1);

    // The same shapes and names as new adapters.
    let new = lora(&base, "**", 2, 3.0, 0).unwrap();
    let shapes = |lora: &Lora| -> Vec<_> {
        let shapes = |it: &Adapter| (it.a.dims().to_vec(), it.b.dims().to_vec(), it.embedding);
        lora.adapters.iter().map(|(name, it)| (name.clone(), shapes(it))).collect()
    };
    assert_eq!(shapes(&new), shapes(&adapters));
    expect_close(&new.merge(&base).unwrap(), &base, 0.0);
    let folder = tempfile::tempdir().unwrap();
    adapters.save_peft(folder.path(), "base").unwrap();
    let name = "adapter_model.safetensors";
    let tensors = |path: PathBuf| safetensors::load(path, &Device::Cpu).unwrap();
    let (ours, theirs) = (tensors(folder.path().join(name)), tensors(of_peft(name)));
    let mut names: Vec<_> = theirs.keys().collect();
    names.sort();
    assert_eq!(ours.len(), theirs.len());
    for name in names {
        let all = |tensor: &Tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(
            (ours[name].dims(), all(&ours[name])),
            (theirs[name].dims(), all(&theirs[name]))
        );
    }
}

/// PEFT also saves the weight of an embedding, if it belongs to a model of transformers.
#[test]
fn the_weight_of_an_embedding_beside_its_adapter() {
    let folder = tempfile::tempdir().unwrap();
    let adapters = Lora::load_peft(of_peft(""), &Device::Cpu).unwrap();
    adapters.save_peft(folder.path(), "base").unwrap();
    let path = folder.path().join("adapter_model.safetensors");
    let with = |name: &str| {
        let mut tensors = safetensors::load(&path, &Device::Cpu).unwrap();
        tensors.insert(name.to_owned(), model().own);
        safetensors::save(&tensors, &path).unwrap();
        Lora::load_peft(folder.path(), &Device::Cpu)
    };
    let found = with("base_model.model.words.base_layer.weight").unwrap();
    assert_eq!(names(&found), names(&adapters));
    let error = first_line(with("base_model.model.line.base_layer.weight").unwrap_err());
    assert!(
        error
            .ends_with("`base_model.model.line.base_layer.weight`, which is no half of an adapter")
    );
}

/// A name that is read as another layer's, and a layer of two kinds.
#[test]
fn names_that_do_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut adapters = Lora::load_peft(of_peft(""), &Device::Cpu).unwrap();
    let line = adapters.adapters["line"].clone();
    for name in ["", "words.linear.a.q", "base_model.model.q", "q.lora_A.weight"] {
        let one = [(name.to_owned(), line.clone())].into();
        let one = Lora { adapters: one, ..adapters.clone() };
        one.save_peft(folder.path(), "base").unwrap();
        assert_eq!(names(&Lora::load_peft(folder.path(), &Device::Cpu).unwrap()), [name]);
    }
    adapters.save_peft(folder.path(), "base").unwrap();
    let path = folder.path().join("adapter_model.safetensors");
    let mut tensors = safetensors::load(&path, &Device::Cpu).unwrap();
    for (half, tensor) in [("lora_A", &line.a), ("lora_B", &line.b)] {
        tensors.insert(format!("base_model.model.words.{half}.weight"), tensor.clone());
    }
    safetensors::save(&tensors, &path).unwrap();
    let twice = first_line(Lora::load_peft(folder.path(), &Device::Cpu).unwrap_err());
    assert!(twice.ends_with("has two adapters for `words`"), "{twice}");
    adapters.adapters.insert("words.lora_embedding_A.q".to_owned(), line);
    let refused = first_line(adapters.save_peft(folder.path(), "base").unwrap_err());
    insta::assert_snapshot!(refused, @"PEFT has no name for the adapter of `words.lora_embedding_A.q`: the rules rename `linear.a.words.lora_embedding_A.q` to `base_model.model.words.lora_embedding_A.q.lora_A.weight`, and their mirror renames that to `embedding.a.words.q.lora_A.weight`");
}

#[test]
fn layers_that_peft_has_no_adapters_for() {
    let init = &mut Initialiser::new(0);
    let grouped = ConvOptions { groups: 2, ..ConvOptions::default() };
    let grouped = Conv2d::new(4, 4, [3, 3], grouped, init).unwrap();
    let dilated = Layers::new(ConvOptions { dilation: 2, ..ConvOptions::default() });
    let turned = ConvTranspose1d::new(2, 3, 3, Default::default(), init).unwrap();
    let experts = vec![treedef::Object(init.normal((2, 3, 4)).unwrap())];
    let errors = [
        lora(&vec![grouped], "[0]", 2, 4.0, 0).unwrap_err(),
        lora(&dilated, "**", 2, 4.0, 0).unwrap_err(),
        lora(&(turned,), "**", 2, 4.0, 0).unwrap_err(),
        lora(&experts, "**", 2, 4.0, 0).unwrap_err(),
        lora(&model(), "**.q_proj", 2, f64::NAN, 0).unwrap_err(),
    ];
    let errors: Vec<String> = errors.into_iter().map(first_line).collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    PEFT has no adapter for `[0].weight`, which is f32[4, 2, 3, 3] with `groups` = 2 (leave it out of the pattern)
    PEFT has no adapter for `.sequence.weight`, which is f32[5, 6, 3] with `dilation` = 2 (leave it out of the pattern)
    PEFT has no adapter for `.0.weight`, which is f32[2, 3, 3] of `ConvTranspose1d` (leave it out of the pattern)
    PEFT has no adapter for `[0]`, which is f32[2, 3, 4] (leave it out of the pattern)
    expected a finite `alpha`, found NaN
    ");
}

/// `tests/peft/layers.py` loads the files that are written here, and computes with them.
#[test]
#[ignore = "needs a Python with PEFT, named by PYTHON_PEFT"]
fn peft_reads_what_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let base = Layers::new(ConvOptions::default());
    let mut adapters = lora(&base, "**", 2, 3.0, 5).unwrap();
    let mut init = Initialiser::new(6);
    for Adapter { a, b, .. } in adapters.adapters.values_mut() {
        *a = init.normal(a.shape()).unwrap();
        *b = init.normal(b.shape()).unwrap();
    }
    adapters.save_peft(folder.path(), "base").unwrap();
    save(&base, folder.path().join("base.safetensors")).unwrap();
    save(&adapters.merge(&base).unwrap(), folder.path().join("merged.safetensors")).unwrap();
    let python = std::env::var("PYTHON_PEFT").expect("PYTHON_PEFT names a Python with PEFT");
    let arguments = [of_peft("layers.py").into_os_string(), "read".into(), folder.path().into()];
    let output = Command::new(python).args(arguments).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed.trim(), "PEFT has the 7 tensors of the model with adapters");
}

/// The names of a state-dict are keys with dots.
#[test]
fn adapters_of_a_state_dict_have_the_names_of_its_layers() {
    let matrix = Tensor::new(&[[1.0, 2.0], [3.0, 4.0]], &Device::Cpu).unwrap();
    let key = |name: &str| (name.to_owned(), treedef::Object(matrix.clone()));
    let model = BTreeMap::from([key("layers.0.up.weight"), key("own")]);
    let adapters = lora(&model, "**", 2, 4.0, 0).unwrap();
    assert!(adapters.adapters.keys().eq(["layers.0.up", "own"]));
    assert_eq!(adapters.target_modules, ["own", "up"]);
    let folder = tempfile::tempdir().unwrap();
    adapters.save_peft(&folder, "the model").unwrap();
    let again = Lora::load_peft(&folder, &Device::Cpu).unwrap();
    again.merge(&model).unwrap();
    let file = safetensors::load(folder.path().join("adapter_model.safetensors"), &Device::Cpu);
    assert!(file.unwrap().contains_key("base_model.model.layers.0.up.lora_A.weight"));
    // Two layers of one name.
    let layer = |outside: &str, inside: &str| (outside.to_owned(), BTreeMap::from([key(inside)]));
    let both = BTreeMap::from([layer("a", "b.weight"), layer("a.b", "weight")]);
    let errors = [
        lora(&both, "**", 2, 4.0, 0).map(drop).unwrap_err(),
        lora(&both, "a", 2, 4.0, 0).unwrap().merge(&both).map(drop).unwrap_err(),
    ];
    insta::assert_snapshot!(errors.map(first_line).join("\n"), @r#"
    the model has two layers of the name `a.b`
    the model has two layers of the name `a.b` at `["a.b"]["weight"]`
    "#);
}
