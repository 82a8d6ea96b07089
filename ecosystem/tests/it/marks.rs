//! Marks behind the serializers of other crates.

use treedef::{Flattener, Static};

#[test]
fn erased_serde_hides_marks() {
    // A mark shows itself only to our own serializer, and behind a trait object stands another one.
    let value = (Static("relu"), 1.5);
    let erased: &dyn erased_serde::Serialize = &value;
    insta::assert_snapshot!(treedef::structure(&value).unwrap(), @r#"(static "relu", *)"#);
    insta::assert_snapshot!(treedef::structure(erased).unwrap(), @"(*, *)");

    // Rules see what our serializer sees.
    let flattener = Flattener::new().mark_static(".0").unwrap();
    let (_, ruled) = flattener.flatten(erased).unwrap();
    assert_eq!(ruled, treedef::structure(&value).unwrap());
}
