//! Fine-tuning: of everything, of the last layer alone, or of adapters.

use std::path::Path;

use candle_core::Tensor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef_candle::optim::schedules::warmup_cosine;
use treedef_candle::optim::transform::{Transform, clip_by_global_norm};
use treedef_candle::optim::tree::incremental_update;
use treedef_candle::optim::{Optimiser, State, adamw, chain};
use treedef_candle::{Gradient, load_like, save, value_and_grad_with};

use crate::Result;
use crate::model::Config;

/// A training of a model, or of adapters: all that is in a checkpoint.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "P: Serialize + DeserializeOwned")]
pub(crate) struct Training<P> {
    pub(crate) parameters: P,
    /// The running average of the parameters.
    pub(crate) average: P,
    state: State<P, Tensor>,
}

/// How parameters are trained: which of them, and by what.
pub(crate) struct Recipe {
    optimiser: Box<dyn Transform<Tensor>>,
    gradient: Gradient,
}

/// The peak of the learning rate, and the numbers of steps: the first ones warm up.
#[derive(Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) peak: f64,
    pub(crate) warmup: u64,
    pub(crate) steps: u64,
    pub(crate) end: f64,
}

impl Recipe {
    /// All parameters; matrices decay, but not the embedding.
    pub(crate) fn all(config: &Config, rate: Rate) -> Self {
        let matrices = matrices(config).into_iter();
        let adamw = matrices.fold(optimiser(rate), treedef_candle::optim::AdamW::decay_only);
        let optimiser = Box::new(chain!(clip_by_global_norm(CLIP), adamw));
        Recipe { optimiser, gradient: Gradient::new() }
    }

    /// The last layer and the head.
    pub(crate) fn last(config: &Config, rate: Rate) -> Self {
        let last = config.num_hidden_layers.saturating_sub(1);
        let frozen = (0..last).map(|layer| format!("model.layers[{layer}]"));
        let frozen = frozen.chain(["model.embed_tokens".to_owned(), "model.norm".to_owned()]);
        let mut gradient = Gradient::new();
        let adamw = matrices(config)
            .into_iter()
            .fold(optimiser(rate), treedef_candle::optim::AdamW::decay_only);
        let mut optimiser: Box<dyn Transform<Tensor>> =
            Box::new(chain!(clip_by_global_norm(CLIP), adamw));
        for pattern in frozen {
            gradient = gradient.constant(pattern.clone());
            optimiser = Box::new(optimiser.freeze(pattern));
        }
        Recipe { optimiser, gradient }
    }

    /// The recipe for adapters. All of them decay.
    pub(crate) fn adapters(rate: Rate) -> Self {
        let optimiser = Box::new(chain!(clip_by_global_norm(CLIP), optimiser(rate)));
        Recipe { optimiser, gradient: Gradient::new() }
    }
}

const CLIP: f64 = 0.5;

fn optimiser(Rate { peak, warmup, steps, end }: Rate) -> treedef_candle::optim::AdamW {
    adamw(warmup_cosine(0.0, peak, warmup, steps, end)).b2(0.95).weight_decay(0.1)
}

fn matrices(config: &Config) -> Vec<&'static str> {
    let head = (!config.tie_word_embeddings).then_some("lm_head");
    ["model.layers[*].self_attn", "model.layers[*].mlp"].into_iter().chain(head).collect()
}

impl<P: Clone + Serialize + DeserializeOwned> Training<P> {
    pub(crate) fn new(parameters: P, recipe: &Recipe) -> Result<Self> {
        let state = recipe.optimiser.init::<Tensor, _>(&parameters)?;
        Ok(Training { average: parameters.clone(), parameters, state })
    }

    /// From where a file is, if there is one.
    pub(crate) fn resume(self, file: &Path) -> Result<Self> {
        if file.exists() { Ok(load_like(&self, file)?) } else { Ok(self) }
    }

    /// A step, and the loss before it.
    pub(crate) fn step(
        &mut self,
        recipe: &Recipe,
        loss: impl Fn(&P) -> candle_core::Result<Tensor>,
    ) -> Result<f64> {
        let with_nothing = |parameters: &P| loss(parameters).map(|loss| (loss, ()));
        let (loss, (), gradient) =
            value_and_grad_with(&recipe.gradient, with_nothing, &self.parameters)?;
        self.update(recipe, &gradient)?;
        Ok(loss)
    }

    /// The second half of a step.
    pub(crate) fn update(&mut self, recipe: &Recipe, gradient: &P) -> Result<()> {
        recipe.optimiser.step_in_place(&mut self.parameters, gradient, &mut self.state)?;
        Ok(incremental_update::<Tensor, _>(&self.parameters, &mut self.average, 0.1)?)
    }

    /// Trains up to a step, and returns the loss of each. Each `every` steps, and at the end, all of it is
    /// saved.
    pub(crate) fn run(
        &mut self,
        recipe: &Recipe,
        steps: u64,
        loss: impl Fn(&P) -> candle_core::Result<Tensor>,
        checkpoint: Option<(&Path, u64)>,
    ) -> Result<Vec<f64>> {
        let mut losses = Vec::new();
        while self.state.count() < steps {
            let loss = self.step(recipe, &loss)?;
            losses.push(loss);
            let step = self.state.count();
            println!("step {step:4}: loss {loss:.6}");
            if let Some((file, every)) = checkpoint
                && (step.is_multiple_of(every) || step == steps)
            {
                save(self, file)?;
            }
        }
        Ok(losses)
    }
}
