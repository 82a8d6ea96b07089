#![cfg_attr(not(doctest), doc = include_str!("pytorch.md"))]
// The package `cookbook` has the other crates, and tests the page.
