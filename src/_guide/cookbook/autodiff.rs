#![cfg_attr(not(doctest), doc = include_str!("autodiff.md"))]
// The package `cookbook` has the other crates, and tests the page.
