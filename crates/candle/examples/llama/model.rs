//! The model: a Llama with the names of Hugging Face.

use candle_core::{IndexOp, Module, Result, Tensor};
use candle_nn::kv_cache::ConcatKvCache;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use treedef_candle::nn::{
    Embedding, Initialiser, Linear, MultiHeadAttention, RmsNorm, Rope, RopeScaling, SwiGlu,
};

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Llama {
    model: Decoder,
    /// Without one, the embedding is used a second time.
    lm_head: Option<Linear>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Decoder {
    embed_tokens: Embedding,
    layers: Vec<Layer>,
    norm: RmsNorm,
}

#[derive(Clone, Serialize, Deserialize)]
struct Layer {
    input_layernorm: RmsNorm,
    self_attn: MultiHeadAttention,
    post_attention_layernorm: RmsNorm,
    mlp: SwiGlu,
}

/// The content of `config.json`.
#[derive(Deserialize)]
pub(crate) struct Config {
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    pub(crate) num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    rms_norm_eps: f64,
    #[serde(default = "usual_theta")]
    rope_theta: f64,
    #[serde(default, deserialize_with = "scaling")]
    rope_scaling: Option<RopeScaling>,
    /// Where newer files have both.
    rope_parameters: Option<RopeParameters>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    pub(crate) tie_word_embeddings: bool,
}

#[derive(Deserialize)]
struct RopeParameters {
    rope_theta: f64,
    #[serde(flatten, deserialize_with = "scaling")]
    scaling: Option<RopeScaling>,
}

/// The scaling of Llama 3, or none. With any other, the model would have other positions.
fn scaling<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Option<RopeScaling>, D::Error> {
    let map = Value::deserialize(from)?;
    let kind = map.get("rope_type").or_else(|| map.get("type"));
    match kind.unwrap_or(&Value::Null) {
        Value::Null => Ok(None),
        Value::String(kind) if kind == "default" => Ok(None),
        Value::String(kind) if kind == "llama3" => {
            RopeScaling::deserialize(map).map(Some).map_err(D::Error::custom)
        }
        other => Err(D::Error::custom(format_args!(
            "expected the `rope_type` \"llama3\" or \"default\", found {other}"
        ))),
    }
}

fn usual_theta() -> f64 {
    10_000.0
}

impl Config {
    pub(crate) fn rope(&self) -> Rope {
        match &self.rope_parameters {
            Some(new) => Rope { theta: new.rope_theta, scaling: new.scaling },
            None => Rope { theta: self.rope_theta, scaling: self.rope_scaling },
        }
    }
}

impl Layer {
    fn new(config: &Config, init: &mut Initialiser) -> Result<Self> {
        let (size, heads) = (config.hidden_size, config.num_attention_heads);
        let kv_heads = config.num_key_value_heads.unwrap_or(heads);
        let head = config.head_dim.unwrap_or(size / heads.max(1));
        let mut linear = |inputs: usize, outputs: usize| {
            let linear = Linear::new(inputs, outputs, init)?;
            Ok::<_, candle_core::Error>(if config.attention_bias {
                linear
            } else {
                linear.without_bias()
            })
        };
        let self_attn = MultiHeadAttention {
            q_proj: linear(size, heads * head)?,
            k_proj: linear(size, kv_heads * head)?,
            v_proj: linear(size, kv_heads * head)?,
            o_proj: linear(heads * head, size)?,
            heads,
            kv_heads,
            rope: Some(config.rope()),
            causal: true,
        };
        Ok(Layer {
            input_layernorm: RmsNorm::new(size, config.rms_norm_eps, init)?,
            self_attn,
            post_attention_layernorm: RmsNorm::new(size, config.rms_norm_eps, init)?,
            mlp: SwiGlu::new(size, config.intermediate_size, init)?,
        })
    }

    fn forward(&self, x: &Tensor, cache: Option<&mut ConcatKvCache>) -> Result<Tensor> {
        let h = self.input_layernorm.forward(x)?;
        let h = match cache {
            Some(cache) => self.self_attn.extend(&h, cache)?,
            None => self.self_attn.forward(&h)?,
        };
        let x = (x + h)?;
        &x + self.mlp.forward(&self.post_attention_layernorm.forward(&x)?)?
    }
}

impl Llama {
    pub(crate) fn new(config: &Config, init: &mut Initialiser) -> Result<Self> {
        let (words, size) = (config.vocab_size, config.hidden_size);
        let layers = (0..config.num_hidden_layers).map(|_| Layer::new(config, init));
        let layers = layers.collect::<Result<_>>()?;
        let embed_tokens = Embedding::new(words, size, init)?;
        let norm = RmsNorm::new(size, config.rms_norm_eps, init)?;
        let lm_head = (!config.tie_word_embeddings).then(|| Linear::new(size, words, init));
        let lm_head = lm_head.transpose()?.map(Linear::without_bias);
        Ok(Llama { model: Decoder { embed_tokens, layers, norm }, lm_head })
    }

    /// From tokens `[batch, time]` to logits `[batch, time, words]`. The caches, one for each layer, have
    /// the places before.
    fn run(&self, tokens: &Tensor, caches: Option<&mut [ConcatKvCache]>) -> Result<Tensor> {
        let mut x = self.model.embed_tokens.forward(tokens)?;
        let mut caches = caches.into_iter().flatten();
        for layer in &self.model.layers {
            x = layer.forward(&x, caches.next())?;
        }
        let x = self.model.norm.forward(&x)?;
        match &self.lm_head {
            Some(head) => head.forward(&x),
            None => {
                Linear { weight: self.model.embed_tokens.weight.clone(), bias: None }.forward(&x)
            }
        }
    }

    /// The mean cross entropy of each token of `[batch, time]` but the first, given those before.
    pub(crate) fn loss(&self, tokens: &Tensor) -> Result<Tensor> {
        let time = tokens.dim(1)?;
        let logits = self.run(&tokens.i((.., ..time - 1))?, None)?;
        candle_nn::loss::cross_entropy(&logits.flatten_to(1)?, &tokens.i((.., 1..))?.flatten_all()?)
    }

    /// The most likely tokens after some others.
    pub(crate) fn generate(&self, tokens: &[u32], count: usize) -> Result<Vec<u32>> {
        let mut caches = vec![ConcatKvCache::new(2); self.model.layers.len()];
        let (mut new, mut all) = (tokens.to_vec(), Vec::new());
        while all.len() < count {
            let tokens = Tensor::new(new, self.model.embed_tokens.weight.device())?.unsqueeze(0)?;
            let logits = self.run(&tokens, Some(&mut caches))?;
            let next = logits.i((0, logits.dim(1)? - 1))?.argmax(0)?.to_scalar()?;
            all.push(next);
            new = vec![next];
        }
        Ok(all)
    }
}

impl Module for Llama {
    fn forward(&self, tokens: &Tensor) -> Result<Tensor> {
        self.run(tokens, None)
    }
}
