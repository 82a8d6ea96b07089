//! Adapters of a small model: which matrices get one, and what is an error.

use std::fs;

use candle_core::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};
use treedef_candle::lora::{Adapter, Lora, lora};
use treedef_candle::nn::{Embedding, Initialiser, LayerNorm, Linear};

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
    // PEFT goes by the ends of names.
    assert_eq!(of("**.q_proj").target_modules, ["q_proj"]);
    assert_eq!(of("blocks[1].q_proj").target_modules, ["blocks.1.q_proj"]);
}

#[test]
fn new_ones_change_nothing_and_depend_on_the_seed() {
    let adapters = lora(&model(), "**.q_proj", 2, 4.0, 0).unwrap();
    let Adapter { a, b } = &adapters.adapters["blocks.0.q_proj"];
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
    `**.norm` names no matrix of floats: there is nothing to adapt
    an adapter has a rank of at least 1, not 0
    an adapter of [2, 4] and [6, 2] does not fit a weight of [6, 5] at `.blocks[1].q_proj.weight`
    the model has no `blocks.1.q_proj.weight`, for which there is an adapter
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
        read(&|text| text.replace("lora_alpha", "alpha")),
        read(&|text| text.replace('{', "")),
        first_line(uneven.save_peft(folder, "base").unwrap_err()),
        first_line(Lora::load_peft(folder.join("none"), &Device::Cpu).unwrap_err())
            .replace(&folder.display().to_string(), "…"),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r#"
    path: "…/adapter_config.json" adapters with `bias` = "all" cannot be read
    path: "…/adapter_config.json" adapters of the kind "IA3" cannot be read, only "LORA"
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
