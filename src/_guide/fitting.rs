#![cfg_attr(not(doctest), doc = include_str!("fitting.md"))]
// `ecosystem/solvers` has the other crates, and tests the page.
