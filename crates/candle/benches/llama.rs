//! `cargo bench`: a step of the tiny Llama of the example, beside the same program by hand, with variables and the
//! `AdamW` of candle-nn. Each figure is the least of alternating rounds.

#![allow(dead_code, reason = "the example has more than a step")]

#[path = "../examples/llama/files.rs"]
mod files;
#[path = "../examples/llama/model.rs"]
mod model;
#[path = "../examples/llama/train.rs"]
mod train;

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use candle_core::{D, Device, IndexOp, Tensor, Var};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, loss::cross_entropy, ops, rotary_emb::rope_slow};
use treedef_candle::lora::{Lora, lora};
use treedef_optim::schedules::warmup_cosine;

use model::Llama;
use train::{Rate, Recipe, Training};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Result<T = ()> = std::result::Result<T, Failure>;

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/llama/tiny");
const RATE: Rate = Rate { peak: 0.02, warmup: 5, steps: 20, end: 0.002 };
const ROUNDS: usize = 40;

fn tokens() -> Result<Tensor> {
    let text = std::fs::read(Path::new(TINY).join("expected.json"))?;
    let expected: serde_json::Value = serde_json::from_slice(&text)?;
    let tokens: Vec<Vec<u32>> = serde_json::from_value(expected["tokens"].clone())?;
    Ok(Tensor::new(tokens, &Device::Cpu)?)
}

/// The same program by hand.
struct ByHand {
    variables: HashMap<String, Var>,
    average: HashMap<String, Tensor>,
    optimiser: AdamW,
    cos: Tensor,
    sin: Tensor,
}

impl ByHand {
    fn new() -> Result<Self> {
        let path = Path::new(TINY).join("model.safetensors");
        let average = candle_core::safetensors::load(path, &Device::Cpu)?;
        let variables =
            average.iter().map(|(name, tensor)| Ok((name.clone(), Var::from_tensor(tensor)?)));
        let variables = variables.collect::<candle_core::Result<HashMap<_, _>>>()?;
        let settings = ParamsAdamW { beta2: 0.95, weight_decay: 0.1, ..ParamsAdamW::default() };
        let optimiser = AdamW::new(variables.values().cloned().collect(), settings)?;
        let angles: Vec<f32> = (0..10u8)
            .flat_map(|at| {
                [1.0, 10_000f32.powf(-1.0 / 3.0), 10_000f32.powf(-2.0 / 3.0)]
                    .map(|f| f32::from(at) * f)
            })
            .collect();
        let angles = Tensor::from_vec(angles, (10, 3), &Device::Cpu)?;
        Ok(ByHand { variables, average, optimiser, cos: angles.cos()?, sin: angles.sin()? })
    }

    fn linear(&self, name: &str, x: &Tensor) -> candle_core::Result<Tensor> {
        let (batch, time, size) = x.dims3()?;
        let weight = self.variables[name].as_tensor().t()?;
        x.reshape((batch * time, size))?.matmul(&weight)?.reshape((batch, time, ()))
    }

    fn norm(&self, name: &str, x: &Tensor) -> candle_core::Result<Tensor> {
        ops::rms_norm_slow(x, self.variables[name].as_tensor(), 1e-5)
    }

    fn loss(&self, tokens: &Tensor, mask: &Tensor) -> candle_core::Result<Tensor> {
        let (batch, time) = (tokens.dim(0)?, tokens.dim(1)? - 1);
        let inputs = tokens.i((.., ..time))?.flatten_all()?;
        let mut x = self.variables["model.embed_tokens.weight"]
            .index_select(&inputs, 0)?
            .reshape((batch, time, ()))?;
        for layer in 0..3 {
            let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
            let h = self.norm(&name("input_layernorm"), &x)?;
            let heads = |part: &str, heads: usize| {
                self.linear(&name(part), &h)?
                    .reshape((batch, time, heads, ()))?
                    .transpose(1, 2)?
                    .contiguous()
            };
            let q = rope_slow(&heads("self_attn.q_proj", 4)?, &self.cos, &self.sin)?;
            let k = rope_slow(&heads("self_attn.k_proj", 2)?, &self.cos, &self.sin)?;
            let v = heads("self_attn.v_proj", 2)?;
            let repeat = |x: &Tensor| {
                x.unsqueeze(2)?.broadcast_as((batch, 2, 2, time, 6))?.reshape((batch, 4, time, 6))
            };
            let (k, v) = (repeat(&k)?, repeat(&v)?);
            let scores = (q.matmul(&k.t()?)? / 6f64.sqrt())?.broadcast_add(mask)?;
            let y =
                ops::softmax(&scores, D::Minus1)?.matmul(&v)?.transpose(1, 2)?.flatten_from(2)?;
            x = (x + self.linear(&name("self_attn.o_proj"), &y)?)?;
            let h = self.norm(&name("post_attention_layernorm"), &x)?;
            let gate = self.linear(&name("mlp.gate_proj"), &h)?.silu()?;
            let h = (gate * self.linear(&name("mlp.up_proj"), &h)?)?;
            x = (x + self.linear(&name("mlp.down_proj"), &h)?)?;
        }
        let logits = self.linear("lm_head.weight", &self.norm("model.norm.weight", &x)?)?;
        cross_entropy(&logits.flatten_to(1)?, &tokens.i((.., 1..))?.flatten_all()?)
    }

    fn step(&mut self, tokens: &Tensor, mask: &Tensor, rate: f64) -> Result<f64> {
        let loss = self.loss(tokens, mask)?;
        let mut gradients = loss.backward()?;
        let mut square = 0.0;
        for variable in self.variables.values() {
            let gradient = gradients.get(variable).ok_or("no gradient")?;
            square += f64::from(gradient.sqr()?.sum_all()?.to_scalar::<f32>()?);
        }
        let scale = (0.5 / square.sqrt()).min(1.0);
        for variable in self.variables.values() {
            let gradient = gradients.remove(variable).ok_or("no gradient")?;
            gradients.insert(variable, (gradient * scale)?);
        }
        self.optimiser.set_learning_rate(rate);
        self.optimiser.step(&gradients)?;
        for (name, average) in &mut self.average {
            *average = ((&*average * 0.9)? + (self.variables[name].as_tensor() * 0.1)?)?;
        }
        Ok(f64::from(loss.to_scalar::<f32>()?))
    }
}

fn main() -> Result {
    let (tokens, steps) = (tokens()?, 20);
    let mask: Vec<f32> =
        (0..100).map(|at| if at % 10 > at / 10 { f32::NEG_INFINITY } else { 0.0 }).collect();
    let mask = Tensor::from_vec(mask, (10, 10), &Device::Cpu)?;
    let rate = warmup_cosine(0.0, 0.02, 5, 20, 0.002);
    let (config, model) = files::load_model(Path::new(TINY))?;
    let recipe = Recipe::all(&config, RATE);
    let of_adapters = Recipe::adapters(RATE);
    let adapters = lora(&model, "**.{q_proj,v_proj}", 2, 4.0, 0)?;
    let mut least = [f64::INFINITY; 3];
    let mut last = [0.0; 3];
    for _ in 0..ROUNDS {
        let mut time = |at: usize, step: &mut dyn FnMut(u64) -> Result<f64>| -> Result {
            let begin = Instant::now();
            for count in 0..steps {
                last[at] = step(count)?;
            }
            least[at] = least[at].min(begin.elapsed().as_secs_f64() * 1e6 / steps as f64);
            Ok(())
        };
        let mut training = Training::new(model.clone(), &recipe)?;
        time(0, &mut |_| training.step(&recipe, |model: &Llama| model.loss(&tokens)))?;
        let mut by_hand = ByHand::new()?;
        time(1, &mut |count| by_hand.step(&tokens, &mask, rate.at(count)))?;
        let mut training = Training::new(adapters.clone(), &of_adapters)?;
        let loss = |adapters: &Lora| adapters.merge(&model)?.loss(&tokens);
        time(2, &mut |_| training.step(&of_adapters, loss))?;
    }
    let [ours, by_hand, adapters] = least;
    println!(
        "a step of all parameters: {ours:.0} µs; by hand {by_hand:.0} µs, {:.2} times",
        ours / by_hand
    );
    println!("a step of adapters: {adapters:.0} µs, {:.2} times", adapters / ours);
    println!("last losses: {last:.4?}");
    Ok(())
}
