#![cfg_attr(
    all(feature = "candle", feature = "levenberg-marquardt"),
    doc = include_str!("../README.md")
)]
#![cfg_attr(
    not(all(feature = "candle", feature = "levenberg-marquardt")),
    doc = "Gradients and optimisers of typed values. The whole page needs the features `candle` and `levenberg-marquardt`."
)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod error;
mod argument;
mod number;
mod pairwise;
mod leaf;
pub mod schedules;
pub mod transform;
mod optimisers;
mod state;
mod saved;
mod migration;
mod optimise;
#[cfg(feature = "num-dual")]
mod composed;
#[cfg(feature = "num-dual")]
pub mod dual;
mod parameters;
pub mod tree;
pub mod finite;
pub mod batch;
#[cfg(feature = "num-dual")]
pub mod losses;
#[cfg(feature = "candle")]
pub mod candle;

#[doc = include_str!("../FROM_EQUINOX_AND_OPTAX.md")]
pub mod _from_equinox_and_optax {}

#[cfg(feature = "levenberg-marquardt")]
pub use crate::parameters::LeastSquares;
#[cfg(feature = "num-dual")]
pub use crate::parameters::Problem;
pub use crate::{
    error::{Error, LeafError, Result},
    leaf::{Trainable, TrainableArray},
    optimise::Optimiser,
    optimisers::{
        AdaBelief, AdaFactor, AdaGrad, Adam, AdamW, Lamb, Lion, RAdam, RmsProp, Sgd, adabelief,
        adafactor, adagrad, adam, adamw, lamb, lion, radam, rmsprop, sgd,
    },
    parameters::{Covariance, Dims, Error as ParametersError, Jacobian, Parameters, Report, Row},
    state::State,
};
