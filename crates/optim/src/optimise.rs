//! Optimisers of typed values.

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::Tree;

use crate::error::Result;
use crate::leaf::Trainable;
use crate::optimisers::{
    AdaBelief, AdaFactor, AdaGrad, Adam, AdamW, Lamb, Lion, RAdam, RmsProp, Sgd,
};
use crate::state::State;
use crate::transform::{
    Accumulate, ApplyIfFinite, Chain, CheckFinite, Clip, ClipByGlobalNorm, Ema, Frozen, Lookahead,
    Mask, Only, Partition, Project, Scale, ScaleBySchedule, SetToZero, Transform, WeightDecay,
};

/// The interface of optimisers. All transforms of this crate are optimisers; to use your own transform, put
/// it into a [`chain!`](crate::chain!), alone or with others.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use treedef_optim::{Optimiser, adam};
///
/// #[derive(Debug, Serialize, Deserialize)]
/// struct Line { slope: f64, offset: f64, name: String }
///
/// let data = [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)];
/// let optimiser = adam(0.1);
/// let mut line = Line { slope: 0.0, offset: 0.0, name: "fit".to_owned() };
/// let mut state = optimiser.init::<f64, _>(&line)?;
/// for _ in 0..500 {
///     let mut gradient = Line { slope: 0.0, offset: 0.0, name: String::new() };
///     for (x, y) in data {
///         let error = line.slope * x + line.offset - y;
///         gradient.slope += 2.0 * error * x;
///         gradient.offset += 2.0 * error;
///     }
///     line = optimiser.step(line, gradient, &mut state)?;
/// }
/// assert!((line.slope - 2.0).abs() < 1e-4 && (line.offset - 1.0).abs() < 1e-4);
/// assert_eq!(line.name, "fit");
/// # Ok::<(), treedef_optim::Error>(())
/// ```
///
/// # Settings that change
///
/// An optimiser is only its settings; its memory is in the state, which fits all of them. So a setting that changes in a training,
/// as with optax's `inject_hyperparams`, is another optimiser in each step. A rate may also be a
/// [schedule](crate::schedules).
///
/// ```
/// use treedef_optim::schedules::linear;
/// use treedef_optim::{Optimiser, sgd};
///
/// let momentum = linear(0.5, 0.9, 100);
/// let optimiser = |count: u64| sgd(0.1).momentum(momentum.at(count));
/// let (mut model, mut state) = (1.0, optimiser(0).init::<f64, _>(&1.0)?);
/// for _ in 0..3 {
///     let gradient = 2.0 * model;
///     model = optimiser(state.count()).step(model, gradient, &mut state)?;
/// }
/// assert!(model < 0.4);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
///
/// What you set by hand, such as a rate that you halve when a loss stagnates, is yours to save: a field beside the state. A setting
/// with a memory of its own, such as a momentum where there was none, is another optimiser: see
/// [`State::migrate`](crate::State::migrate).
///
/// # Functions that return an optimiser
///
/// A function that returns an optimiser returns both traits, or a box if it chooses among several:
///
/// ```
/// use treedef_optim::transform::{Transform, clip_by_global_norm};
/// use treedef_optim::{Optimiser, adamw, chain, lion};
///
/// fn clipped() -> impl Optimiser + Transform<f64> {
///     chain!(clip_by_global_norm(1.0), adamw(0.1))
/// }
///
/// fn chosen(name: &str) -> Box<dyn Transform<f64>> {
///     if name == "lion" { Box::new(lion(0.1)) } else { Box::new(clipped()) }
/// }
///
/// fn step(optimiser: &dyn Transform<f64>, model: &mut f64) -> treedef_optim::Result<()> {
///     let mut state = optimiser.init::<f64, _>(model)?;
///     optimiser.step_in_place(model, &3.0, &mut state)
/// }
///
/// let mut model = 1.0;
/// step(&clipped(), &mut model)?;
/// step(&*chosen("lion"), &mut model)?;
/// assert!(model < 0.9);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub trait Optimiser {
    /// The state before the first step. You choose the type of the leaves, because a value may have leaves
    /// of several types: `init::<f64, _>(&model)`, or `init::<Tensor, _>(&model)`.
    ///
    /// # Errors
    ///
    /// Returns an error when the value cannot be flattened or has no such leaves, or when a pattern of the
    /// optimiser matches nothing that is trained in its place.
    fn init<L: Trainable, T: Serialize>(&self, model: &T) -> Result<State<T, L>>
    where
        Self: Transform<L>,
    {
        State::of(self, &L::tree(model)?)
    }

    /// The state for a tree, for [`step_tree`](Self::step_tree). It is not a serde value. For a state that
    /// can be saved, call [`init`](Self::init) with the value of the tree; `step_tree` accepts that, too.
    ///
    /// # Errors
    ///
    /// As [`init`](Self::init).
    fn init_tree<L: Trainable>(&self, model: &Tree<L>) -> Result<State<Tree<L>, L>>
    where
        Self: Transform<L>,
    {
        State::of(self, model)
    }

    /// The model after a step, which replaces the old one: `model = optimiser.step(model, gradients, &mut state)?`. If `model =` is
    /// missing, the compiler refuses the next use of `model`. Only if the type is `Copy` it does not, and the model would not be
    /// trained; no attribute of this function can tell, because `?` takes the `Result` away. The lint `unused_results` of the
    /// compiler does:
    ///
    /// ```
    /// #![deny(unused_results)]
    /// use treedef_optim::{Optimiser, sgd};
    ///
    /// let mut model = [1.0, 2.0];
    /// let mut state = sgd(0.5).init::<f64, _>(&model)?;
    /// model = sgd(0.5).step(model, [1.0, 1.0], &mut state)?;
    /// assert_eq!(model, [0.5, 1.5]);
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    ///
    /// ```compile_fail
    /// #![deny(unused_results)]
    /// use treedef_optim::{Optimiser, sgd};
    ///
    /// let mut model = [1.0, 2.0];
    /// let mut state = sgd(0.5).init::<f64, _>(&model)?;
    /// sgd(0.5).step(model, [1.0, 1.0], &mut state)?;
    /// assert_eq!(model, [1.0, 2.0]);
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    ///
    /// [`step_in_place`](Self::step_in_place) returns nothing that could be dropped.
    ///
    /// Leaves that share their numbers, such as `Arc<[f32]>`, are changed
    /// in place if nothing else refers to them. Fields that serde skips get their defaults, as in a
    /// file.
    ///
    /// # Errors
    ///
    /// Returns an error when the gradients or the state do not fit the model, with the path and both
    /// sides, or when a setting makes no sense: the state is unchanged. A transform that refuses numbers, such as
    /// [`check_finite`](crate::transform::check_finite), does so in its turn, so it belongs to the beginning of the whole optimiser. After an
    /// error of the type, which may refuse its new numbers, the state is changed.
    fn step<L: Trainable, T: Serialize + DeserializeOwned>(
        &self,
        model: T,
        gradients: T,
        state: &mut State<T, L>,
    ) -> Result<T>
    where
        Self: Transform<L>,
    {
        state.take_in(&model, &gradients)?;
        drop((model, gradients));
        state.descend(self)?;
        state.rebuild()
    }

    /// As [`step`](Self::step), in place. On an error, the model is unchanged. With the feature `in_place`,
    /// which `treedef-candle` turns on, fields that serde skips keep their content:
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use treedef_optim::{Optimiser, sgd};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Model {
    ///     w: f64,
    ///     #[serde(skip)]
    ///     seen: u64,
    /// }
    ///
    /// let mut model = Model { w: 1.0, seen: 7 };
    /// let mut state = sgd(0.5).init::<f64, _>(&model)?;
    /// sgd(0.5).step_in_place(&mut model, &Model { w: 1.0, seen: 0 }, &mut state)?;
    /// assert_eq!((model.w, model.seen), (0.5, if cfg!(feature = "in_place") { 7 } else { 0 }));
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    ///
    /// As always in serde, they get their defaults inside of an `Option`, an enum, a map, and a struct with
    /// a `#[serde(flatten)]` field, and without the feature everywhere.
    ///
    /// # Errors
    ///
    /// As [`step`](Self::step).
    fn step_in_place<L: Trainable, T: Serialize + DeserializeOwned>(
        &self,
        model: &mut T,
        gradients: &T,
        state: &mut State<T, L>,
    ) -> Result<()>
    where
        Self: Transform<L>,
    {
        state.take_in(model, gradients)?;
        state.descend_in_place(self, model)
    }

    /// As [`step`](Self::step), for leaves that are already in one flat vector: nothing is flattened,
    /// rebuilt or copied. The leaves of the gradients may be changed.
    ///
    /// # Errors
    ///
    /// As [`step`](Self::step).
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_optim::{Optimiser, adam};
    ///
    /// let mut model = Tree::<f32>::of_as(&vec![1.0f32; 1_000])?;
    /// let mut state = adam(0.5).init_tree(&model)?;
    /// let mut gradients = model.clone();
    /// adam(0.5).step_tree(&mut model, &mut gradients, &mut state)?;
    /// assert!((model.leaves()[999] - 0.5).abs() < 1e-6);
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    fn step_tree<L: Trainable, T>(
        &self,
        model: &mut Tree<L>,
        gradients: &mut Tree<L>,
        state: &mut State<T, L>,
    ) -> Result<()>
    where
        Self: Transform<L>,
    {
        state.descend_trees(self, model, gradients)
    }

    /// Restricts a transform to the leaves that a pattern or another [`Mask`] selects: optax's `masked`. So
    /// `adam(0.1).only("**.w")` trains nothing else, and `weight_decay(0.1).only("**.w")` in a
    /// [`chain!`](crate::chain) decays nothing else.
    ///
    /// Other leaves keep their gradients, or do not move if the transform has a learning rate. (optax would
    /// add their gradients to the parameters.) So in a chain, a second learning rate beside such an `only`
    /// is an error; use [`partition`](crate::transform::partition) to give each part its own rate. To
    /// exclude a part from a whole optimiser, [`freeze`](Self::freeze) it.
    fn only(self, mask: impl Into<Mask>) -> Only<Self>
    where
        Self: Sized,
    {
        Only { inner: self, masks: vec![mask.into()] }
    }

    /// Excludes the leaves that a pattern or another [`Mask`] selects from an optimiser: they do not
    /// change, and do not count for a global norm in this optimiser.
    ///
    /// ```
    /// use treedef_optim::{Optimiser, adamw};
    ///
    /// let optimiser = adamw(0.1).freeze(".0").freeze(".1");
    /// let mut state = optimiser.init::<f64, _>(&(1.0, 1.0, 1.0))?;
    /// let (a, b, c) = optimiser.step((1.0, 1.0, 1.0), (9.0, 9.0, 9.0), &mut state)?;
    /// assert!((a, b) == (1.0, 1.0) && c < 1.0);
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    fn freeze(self, mask: impl Into<Mask>) -> Frozen<Self>
    where
        Self: Sized,
    {
        Frozen { inner: self, masks: vec![mask.into()] }
    }

    /// Makes one step from the mean of `every` gradients: optax's `MultiSteps`. The parameters do not
    /// change in the steps between.
    ///
    /// ```
    /// use treedef_optim::{Optimiser, sgd};
    ///
    /// let optimiser = sgd(1.0).accumulate(2);
    /// let mut state = optimiser.init::<f64, _>(&5.0)?;
    /// let model = optimiser.step(5.0, 1.0, &mut state)?;
    /// assert_eq!(model, 5.0);
    /// assert_eq!(optimiser.step(model, 2.0, &mut state)?, 3.5);
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    fn accumulate(self, every: u64) -> Accumulate<Self>
    where
        Self: Sized,
    {
        Accumulate { inner: self, every }
    }

    /// Goes back towards slow parameters after every `period` steps: optax's `lookahead`. The slow ones first move to the
    /// parameters by a part of the way, `step_size`, and the parameters continue from there.
    /// M. Zhang et al., *Lookahead Optimizer*, 2019.
    ///
    /// The model has the fast parameters, for which gradients are computed. After every `period` steps they are the slow
    /// ones, which are better for tests; in between, these are in the state. Gradients that are accumulated inside, or skipped,
    /// count as steps. Put `freeze` around it, too: inside, a leaf that is changed by hand would be drawn back.
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_optim::{Optimiser, sgd};
    ///
    /// let optimiser = sgd(1.0).lookahead(3, 0.5);
    /// let (mut model, mut state) = ([8.0, 0.0], optimiser.init::<f64, _>(&[8.0, 0.0])?);
    /// for expected in [7.0, 6.0, 6.5, 5.5] {
    ///     model = optimiser.step(model, [1.0, 0.0], &mut state)?;
    ///     assert_eq!(model, [expected, 0.0]);
    /// }
    /// let slow: [f64; 2] = Tree::of(&state)?.subtree("leaves.slow")?.into_typed()?;
    /// assert_eq!(slow, [6.5, 0.0]);
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    fn lookahead(self, period: u64, step_size: f64) -> Lookahead<Self>
    where
        Self: Sized,
    {
        Lookahead { inner: self, period, step_size, reset: false }
    }

    /// Skips gradients with a number that is infinite or NaN: optax's `apply_if_finite`. Neither the model nor the memory of
    /// the optimiser changes in such a step. More than `max_consecutive_errors` in a row are an error with the path of the
    /// first such number; optax would make the parameters NaN. To refuse the first, see
    /// [`check_finite`](crate::transform::check_finite).
    ///
    /// Put it around the whole chain or partition, as a transform or a group before it has already seen the gradient. Put `freeze` around it, if the gradients
    /// of frozen leaves shall not count. After the error, `step` has taken the model; `step_in_place` leaves it.
    ///
    /// ```
    /// use treedef_optim::{Optimiser, adam};
    ///
    /// let optimiser = adam(0.1).apply_if_finite(1);
    /// let mut state = optimiser.init::<f64, _>(&[1.0, 2.0])?;
    /// let model = optimiser.step([1.0, 2.0], [0.5, f64::NAN], &mut state)?;
    /// assert_eq!(model, [1.0, 2.0]);
    /// let error = optimiser.step(model, [0.5, f64::NAN], &mut state).unwrap_err();
    /// assert_eq!(error.to_string(), "the gradient is not finite at `.1`");
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    fn apply_if_finite(self, max_consecutive_errors: u64) -> ApplyIfFinite<Self>
    where
        Self: Sized,
    {
        ApplyIfFinite { inner: self, limit: max_consecutive_errors }
    }
}

macro_rules! optimisers {
    ($([$($parameter:ident)?] $type:ty;)*) => {$(
        impl<$($parameter)?> Optimiser for $type {}
    )*};
}

optimisers! {
    [] AdaBelief;
    [] AdaFactor;
    [] AdaGrad;
    [] Adam;
    [] AdamW;
    [] Lamb;
    [] Lion;
    [] RAdam;
    [] RmsProp;
    [] Sgd;
    [O] Accumulate<O>;
    [O] ApplyIfFinite<O>;
    [T] Chain<T>;
    [] CheckFinite;
    [] Clip;
    [] ClipByGlobalNorm;
    [] Ema;
    [O] Frozen<O>;
    [O] Lookahead<O>;
    [O] Only<O>;
    [L] Partition<L>;
    [] Project;
    [] Scale;
    [] ScaleBySchedule;
    [] SetToZero;
    [] WeightDecay;
    [L] dyn Transform<L> + '_;
    [L] dyn Transform<L> + Send + '_;
    [L] dyn Transform<L> + Send + Sync + '_;
}

impl<O: Optimiser + ?Sized> Optimiser for Box<O> {}
impl<O: Optimiser + ?Sized> Optimiser for &O {}
