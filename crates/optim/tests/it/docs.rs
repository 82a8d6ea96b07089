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
