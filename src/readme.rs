//! The code in the README of the repository, to be tested.

#[doc = include_str!("../README.md")]
struct Readme;
