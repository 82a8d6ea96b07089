//! State dicts as the Python code of two models makes them, in structs as one writes them in Rust.

use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_tensors::{ErrorKind, Loader, Tensors, safetensors};

/// A file with the names and shapes of `python/layouts.py`: the elements count on from 0.
fn file(layout: &str) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    let mut next = 0u16;
    for line in layout.lines() {
        let mut parts = line.split(' ');
        let (name, dtype) = (parts.next().unwrap(), parts.next().unwrap());
        let dims = parts.next().unwrap_or_default();
        let size =
            dims.split(',').filter(|dim| !dim.is_empty()).map(|dim| dim.parse::<usize>().unwrap());
        let begin = data.len();
        for _ in 0..size.product() {
            match dtype {
                "F32" => data.extend(f32::from(next).to_le_bytes()),
                "BF16" => data.extend(next.to_le_bytes()),
                _ => data.extend(i64::from(next).to_le_bytes()),
            }
            next = (next + 1) % 30_000;
        }
        let end = data.len();
        entries.push(format!(
            r#""{name}":{{"dtype":"{dtype}","shape":[{dims}],"data_offsets":[{begin},{end}]}}"#
        ));
    }
    let header = format!("{{{}}}", entries.join(","));
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// `w` is `[out, in]`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Linear {
    #[serde(rename = "weight")]
    w: Vec<Vec<f32>>,
    #[serde(rename = "bias")]
    b: Vec<f32>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Attention {
    qkv: Linear,
    out: Linear,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Mlp {
    up: Linear,
    down: Linear,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Block {
    ln_1: Norm,
    attn: Attention,
    ln_2: Norm,
    mlp: Mlp,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Gpt2 {
    tokens: Vec<[f32; 6]>,
    positions: Vec<[f32; 6]>,
    blocks: Vec<Block>,
    norm: Norm,
}

/// Ten rules for the file of the hub.
fn gpt2() -> Loader {
    Loader::new()
        .ignore("h.*.attn.bias") // the mask
        .rename("wte.weight", "tokens")
        .rename("wpe.weight", "positions")
        .rename("ln_f.*", "norm.*")
        .rename("h.**", "blocks.**")
        .transpose("blocks.*.*.*.weight") // `Conv1D` has `[in, out]`
        .rename("**.attn.c_attn.*", "**.attn.qkv.*")
        .rename("**.attn.c_proj.*", "**.attn.out.*")
        .rename("**.mlp.c_fc.*", "**.mlp.up.*")
        .rename("**.mlp.c_proj.*", "**.mlp.down.*")
}

#[test]
fn gpt2_is_read_by_ten_rules() {
    let bytes = file(include_str!("../vectors/layouts/gpt2_hub.txt"));
    let tensors = safetensors::from_bytes(&bytes).unwrap().read().unwrap();
    let model: Gpt2 = gpt2().load(&tensors).unwrap();
    assert_eq!((model.tokens.len(), model.positions.len(), model.blocks.len()), (11, 5, 2));
    let qkv = &model.blocks[1].attn.qkv;
    let there = tensors.get("h.1.attn.c_attn.weight").unwrap();
    assert_eq!((there.shape(), qkv.w.len(), qkv.w[0].len()), (&[6, 18][..], 18, 6));
    let number = |at: usize| f32::from_le_bytes(there.bytes()[4 * at..][..4].try_into().unwrap());
    for (out, row) in qkv.w.iter().enumerate() {
        for (from, weight) in row.iter().enumerate() {
            assert_eq!(*weight, number(from * 18 + out));
        }
    }
    assert_eq!(model.blocks[0].mlp.down.w.len(), 6);
    // From shards it is the same.
    let folder = tempfile::tempdir().unwrap();
    safetensors::save_sharded(&tensors, folder.path(), 800).unwrap();
    let source = safetensors::open(folder.path()).unwrap();
    assert!(std::fs::read_dir(folder.path()).unwrap().count() > 5);
    assert_eq!(gpt2().load::<Gpt2>(&source).unwrap(), model);
    // The tensors are written under the names of the struct.
    let tree = Tree::of(&model).unwrap();
    assert_eq!(Tensors::of(&tree).unwrap().load::<Gpt2>().unwrap(), model);

    // Forgetting one rule is an error.
    let error = Loader::new().load::<Gpt2>(&tensors).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Load(_)));
}

/// With its language head, which is the same tensor as `wte`, and a prefix.
#[test]
fn the_state_dict_of_gpt2_with_its_head_is_read_by_eight_rules() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Body {
        wte: [[f32; 6]; 11],
        wpe: [[f32; 6]; 5],
        h: Vec<Block>,
        ln_f: Norm,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct LmHead {
        transformer: Body,
        lm_head: Option<Vec<[f32; 6]>>,
    }
    let loader = Loader::new()
        .transpose("transformer.h.*.*.*.weight")
        .rename("transformer.wte.weight", "transformer.wte")
        .rename("transformer.wpe.weight", "transformer.wpe")
        .rename("**.attn.c_attn.*", "**.attn.qkv.*")
        .rename("**.attn.c_proj.*", "**.attn.out.*")
        .rename("**.mlp.c_fc.*", "**.mlp.up.*")
        .rename("**.mlp.c_proj.*", "**.mlp.down.*");
    let bytes = file(include_str!("../vectors/layouts/gpt2.txt"));
    let tensors = safetensors::from_bytes(&bytes).unwrap().read().unwrap();
    let with: LmHead = loader.clone().rename("lm_head.weight", "lm_head").load(&tensors).unwrap();
    assert_eq!(with.lm_head.as_ref().map(Vec::len), Some(11));
    let without: LmHead = loader.ignore("lm_head.weight").load(&tensors).unwrap();
    assert_eq!(without, LmHead { lm_head: None, ..with });
}

#[derive(Debug, Serialize, Deserialize)]
struct BatchNorm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    running_mean: Vec<f32>,
    running_var: Vec<f32>,
    num_batches_tracked: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Conv {
    weight: Vec<Vec<Vec<Vec<f32>>>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Bottleneck {
    conv1: Conv,
    bn1: BatchNorm,
    conv2: Conv,
    bn2: BatchNorm,
    conv3: Conv,
    bn3: BatchNorm,
    downsample: Option<(Conv, BatchNorm)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Resnet {
    conv1: Conv,
    bn1: BatchNorm,
    stages: [Vec<Bottleneck>; 4],
    fc: Linear,
}

#[test]
fn resnet50_is_read_by_four_rules() {
    let bytes = file(include_str!("../vectors/layouts/resnet50.txt"));
    let tensors = safetensors::from_bytes(&bytes).unwrap().read().unwrap();
    assert_eq!(tensors.iter().len(), 320);
    let loader = Loader::new()
        .rename("layer1.**", "stages.0.**")
        .rename("layer2.**", "stages.1.**")
        .rename("layer3.**", "stages.2.**")
        .rename("layer4.**", "stages.3.**");
    let model: Resnet = loader.load(&tensors).unwrap();
    assert_eq!(model.stages.each_ref().map(Vec::len), [3, 4, 6, 3]);
    assert!(
        model
            .stages
            .iter()
            .all(|stage| stage[0].downsample.is_some() && stage[1].downsample.is_none())
    );
    let kernel = &model.stages[3][2].conv2.weight;
    assert_eq!(
        (kernel.len(), kernel[0].len(), kernel[0][0].len(), kernel[0][0][0].len()),
        (16, 16, 3, 3)
    );
    let error = Loader::new().load::<Resnet>(&tensors).unwrap_err();
    let ErrorKind::Load(report) = error.kind() else { panic!("{error}") };
    assert_eq!(report.dropped.len() + report.renamed.len(), 320 - 6 - 2);
}

/// `[out, in]`.
type Weight = Vec<Vec<half::bf16>>;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct LlamaAttention {
    q: Weight,
    k: Weight,
    v: Weight,
    o: Weight,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct LlamaMlp {
    gate: Weight,
    up: Weight,
    down: Weight,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct LlamaLayer {
    input_layernorm: Vec<half::bf16>,
    attention: LlamaAttention,
    post_attention_layernorm: Vec<half::bf16>,
    mlp: LlamaMlp,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Llama {
    embed_tokens: Weight,
    layers: Vec<LlamaLayer>,
    norm: Vec<half::bf16>,
    lm_head: Weight,
}

#[test]
fn llama_3_70b_is_read_from_its_shards_by_ten_rules() {
    let bytes = file(include_str!("../vectors/layouts/llama3_70b.txt"));
    let tensors = safetensors::from_bytes(&bytes).unwrap().read().unwrap();
    assert_eq!(tensors.iter().len(), 723);
    let folder = tempfile::tempdir().unwrap();
    let files = safetensors::save_sharded(&tensors, folder.path(), 4_500).unwrap();
    assert!(files.len() > 30, "{}", files.len());
    let source = safetensors::open(folder.path()).unwrap();
    let loader = Loader::new()
        .rename("**.weight", "**")
        .rename("model.**", "**")
        .rename("**.self_attn.*", "**.attention.*")
        .rename("**.q_proj", "**.q")
        .rename("**.k_proj", "**.k")
        .rename("**.v_proj", "**.v")
        .rename("**.o_proj", "**.o")
        .rename("**.gate_proj", "**.gate")
        .rename("**.up_proj", "**.up")
        .rename("**.down_proj", "**.down");
    let model: Llama = loader.load(&source).unwrap();
    assert_eq!((model.layers.len(), model.embed_tokens.len()), (80, 125));
    assert_eq!(loader.load::<Llama>(&tensors).unwrap(), model);
    let there = tensors.get("model.layers.79.self_attn.o_proj.weight").unwrap();
    let numbers = model.layers[79].attention.o.iter().flatten();
    let numbers: Vec<u8> = numbers.flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(numbers, there.bytes());
    // A part of it reads a part of the files.
    let norms = source.select("model.layers.*.input_layernorm.*").unwrap();
    assert_eq!((norms.iter().len(), norms.num_bytes()), (80, 80 * 8 * 2));
}
