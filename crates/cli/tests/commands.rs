//! The help, the outputs and the errors, as a terminal shows them. `TRYCMD=overwrite` writes them.

#[test]
fn outputs_are_as_recorded() {
    trycmd::TestCases::new().case("tests/commands/*.md");
}
