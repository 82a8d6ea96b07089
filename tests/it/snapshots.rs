//! The treedefs and signatures of the whole zoo, as a reader sees them.

use insta::{Settings, assert_snapshot};
use treedef::Flattener;

use crate::zoo::zoo;

/// Snapshots stand in `snapshots/`, named by what they show.
fn settings() -> Settings {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

/// Those whose own text depends on the platform or the time.
fn is_portable(name: &str) -> bool {
    !["os", "time", "path"].iter().any(|word| name.split(' ').any(|part| part.starts_with(word)))
}

#[test]
fn treedefs_of_the_zoo() {
    let texts = zoo().into_iter().filter(|specimen| is_portable(specimen.name)).map(|specimen| {
        format!("{}\n    {}\n", specimen.name, specimen.laws.flatten(&Flattener::new()).unwrap().1)
    });
    settings().bind(|| assert_snapshot!("treedefs", texts.collect::<String>()));
}

#[test]
fn signatures_of_the_zoo() {
    let texts = zoo()
        .into_iter()
        .filter(|specimen| is_portable(specimen.name))
        .map(|specimen| format!("{}\n    {}\n", specimen.name, specimen.laws.signature().unwrap()));
    settings().bind(|| assert_snapshot!("signatures", texts.collect::<String>()));
}

#[test]
fn the_pretty_form_of_a_model() {
    let metadata = serde_json::json!({
        "name": "mlp",
        "layers": (0..3).map(|i| serde_json::json!({"w": vec![0.5; 4 + i / 2], "b": 0.0})).collect::<Vec<_>>(),
        "optimiser": {"adam": {"beta": [0.9, 0.999], "step": 3}},
        "notes": null,
    });
    let treedef = treedef::structure(&metadata).unwrap();
    settings().bind(|| assert_snapshot!("pretty", format!("{treedef:#}")));
}

/// The macros of the feature, in the forms that name a file and that stand inline.
#[test]
#[cfg(feature = "insta")]
fn macros_snapshot_structures_and_signatures() {
    let value = ("a", vec![(1u8, 0.5f32); 7]);
    settings().bind(|| {
        treedef::assert_structure_snapshot!("macro_structure", value);
        treedef::assert_signature_snapshot!("macro_signature", value);
    });
    treedef::assert_structure_snapshot!(value, @"(*, [(*, *); 7])");
    treedef::assert_signature_snapshot!(value, @"(str, [(u8, f32); 7])");
}
