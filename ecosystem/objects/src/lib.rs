//! Objects of other crates as leaves: see the tests and the example `tensors`.
