//! What the page «From Equinox and optax» quotes is in the two programs.

#[test]
fn the_page_quotes_the_programs() {
    let page = include_str!("../../FROM_EQUINOX_AND_OPTAX.md");
    let programs = [
        ("```python\n", include_str!("../../python/digits_jax.py")),
        ("```rust,ignore\n", include_str!("../../examples/digits/main.rs")),
    ];
    for (begin, program) in programs {
        let quotes: Vec<&str> =
            page.split(begin).skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert_eq!(quotes.len(), 5, "{begin}");
        for quote in quotes {
            assert!(program.contains(quote.trim_end()), "{quote}");
        }
    }
}

/// One that optax was not compared with, or that a test of all optimisers does not know, would be missed.
#[test]
fn each_optimiser_has_its_rows() {
    let places = [
        ("tests/it/state.rs", include_str!("state.rs"), "NAME("),
        ("tests/it/allocations.rs", include_str!("allocations.rs"), "(\"NAME\","),
        ("tests/it/selections.rs", include_str!("selections.rs"), "NAME("),
        ("tests/it/vectors/mod.rs", include_str!("vectors/mod.rs"), "\"NAME\" =>"),
        ("tests/optax.jsonl", include_str!("../optax.jsonl"), "\"NAME\":"),
        ("python/optax_runs.py", include_str!("../../python/optax_runs.py"), "\"NAME\":"),
        ("FROM_EQUINOX_AND_OPTAX.md", include_str!("../../FROM_EQUINOX_AND_OPTAX.md"), "`NAME`"),
    ];
    let exports = include_str!("../../src/optimisers/mod.rs").lines();
    let words = exports.filter_map(|line| line.strip_prefix("pub use ")?.split_once('{'));
    let words = words.flat_map(|(_, names)| names.split(['}', ',', ' ', ';']));
    let names: Vec<&str> =
        words.filter(|name| name.starts_with(|first: char| first.is_lowercase())).collect();
    assert!(names.len() > 5, "{names:?}");
    let mut missing = Vec::new();
    for name in names {
        for (place, text, row) in places {
            if !text.contains(&row.replace("NAME", name)) {
                missing.push(format!("`{name}` has no row in crates/optim/{place}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
