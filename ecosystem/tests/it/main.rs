//! Every test holds values of other crates against the laws in `laws`, alone and inside other values.

mod laws;

mod arrays;
mod collections;
mod documents;
mod dynamic;
mod graphs;
mod limits;
mod marks;
mod numbers;
mod private;
mod rules;
mod strings;
mod tensors;
mod time_and_ids;
