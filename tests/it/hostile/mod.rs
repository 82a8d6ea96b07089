//! Hostile `Serialize` and `Deserialize` implementations, and the encoding beside a naive one.

mod deserialize;
mod differential;
mod serialize;
