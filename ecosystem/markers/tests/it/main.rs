//! Marks on fields, held against other formats and against the laws of treedefs.

mod formats;
mod payload;
mod shapes;
mod in_formats;
mod in_treedefs;
mod hidden;
mod corners;
mod jax;
