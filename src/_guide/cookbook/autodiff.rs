#![cfg_attr(not(doctest), doc = include_str!("autodiff.md"))]
// The package `examples` has the other crates, and tests the page.
