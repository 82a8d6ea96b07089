//! Optimisers: transforms that end with a learning rate.
//!
//! Names, defaults and meanings follow optax 0.2.8; differences are noted. A learning rate is a number or a
//! [schedule](crate::schedules).

mod mode;
mod decay;
mod moments;
mod adabelief;
mod adafactor;
mod adagrad;
mod adam;
mod lamb;
mod lion;
mod radam;
mod rmsprop;
mod sgd;

pub use adabelief::{AdaBelief, adabelief};
pub use adafactor::{AdaFactor, adafactor};
pub use adagrad::{AdaGrad, adagrad};
pub use adam::{Adam, AdamW, adam, adamw};
pub use lamb::{Lamb, lamb};
pub use lion::{Lion, lion};
pub use radam::{RAdam, radam};
pub use rmsprop::{RmsProp, rmsprop};
pub use sgd::{Sgd, sgd};
