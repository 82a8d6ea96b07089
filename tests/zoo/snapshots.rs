//! The treedefs and signatures of the whole zoo, as a reader sees them.

use insta::{Settings, assert_snapshot};
use treedef::{Flattener, LeafKind, Limits, NodeKind, Tree, TreeDef};

use crate::specimens::zoo;

/// Snapshots are in `snapshots/`, named by their subjects.
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

/// A structure that does not fit into a line has one field on each, and parses back.
#[test]
fn a_wide_structure_has_one_field_in_a_line() {
    #[derive(Clone, serde::Serialize)]
    struct Server {
        address: (&'static str, u16),
        timeout_in_seconds: Option<f64>,
        certificate_file: &'static str,
        workers: [u8; 3],
    }
    let server = Server {
        address: ("localhost", 80),
        timeout_in_seconds: Some(0.5),
        certificate_file: "cert.pem",
        workers: [1, 2, 3],
    };
    let servers = vec![server; 3];
    let (structure, signature) =
        (treedef::structure(&servers).unwrap(), treedef::signature(&servers).unwrap());
    let (structure_text, signature_text) = (format!("{structure:#}"), format!("{signature:#}"));
    assert_snapshot!(structure_text, @r"
    [
      Server {
        address: (*, *),
        timeout_in_seconds: Some(*),
        certificate_file: *,
        workers: (*, *, *),
      }; 3,
    ]
    ");
    assert_snapshot!(signature_text, @r"
    [
      Server {
        address: (str, u16),
        timeout_in_seconds: Some(f64),
        certificate_file: str,
        workers: (u8, u8, u8),
      }; 3,
    ]
    ");
    assert_eq!(structure_text.parse::<TreeDef>().unwrap(), structure);
    assert_eq!(signature_text.parse::<Tree<LeafKind>>().unwrap(), signature);
    assert_snapshot!(format!("{:#}", structure.without_lengths().unwrap()), @r"
    [
      Server {
        address: (*, *),
        timeout_in_seconds: Some(*),
        certificate_file: *,
        workers: (*, *, *),
      }; _,
    ]
    ");
}

/// The form without lengths is one text, for any number and order of elements.
#[test]
fn the_form_without_lengths_of_the_zoo() {
    let form = |treedef: &TreeDef| treedef.without_lengths().unwrap().to_string();
    let seq = |elements: &[&TreeDef]| TreeDef::seq(elements.iter().copied().cloned()).unwrap();
    let mut last = TreeDef::leaf();
    for specimen in zoo() {
        let (_, treedef) = specimen.laws.flatten(&Flattener::new()).unwrap();
        assert_eq!(form(&seq(&[&treedef])), format!("[{}; _]", form(&treedef)));
        assert_eq!(form(&seq(&[&treedef; 7])), format!("[{}; _]", form(&treedef)));
        let (a, b) = (seq(&[&treedef, &last, &treedef]), seq(&[&last, &last, &treedef]));
        assert_eq!(form(&a), form(&b), "{}", specimen.name);
        if !treedef.nodes().any(|(_, node)| node.kind() == NodeKind::Seq) {
            assert_eq!(form(&treedef), treedef.to_string());
        }
        // A signature with one kind has the same forms, which its texts may put in another order.
        let signature = Tree::new(a.clone(), vec![LeafKind::F64; a.num_leaves()]).unwrap();
        let sorted = |text: String| {
            let mut chars: Vec<_> = text.replace("f64", "*").chars().collect();
            chars.sort_unstable();
            chars
        };
        assert_eq!(
            sorted(signature.without_lengths().unwrap().to_string()),
            sorted(form(&a)),
            "{}",
            specimen.name
        );
        last = treedef;
    }
}

#[test]
fn the_form_without_lengths_lists_each_form_of_element_once() {
    let value = serde_json::json!([[1, "a"], [2.5], [], [[]], ["b", 1, "c"], {"a": [], "b": 0}]);
    let structure = treedef::structure(&value).unwrap().without_lengths().unwrap();
    assert_snapshot!(structure, @r#"[[*; _]; _, [[]; _]; _, []; _, {"a": [], "b": *}; _]"#);
    let signature = treedef::signature(&value).unwrap().without_lengths().unwrap();
    assert_snapshot!(
        signature,
        @r#"[[[]; _]; _, []; _, [f64; _]; _, [str; _, u64; _]; _, {"a": [], "b": u64}; _]"#
    );
    // Lengths stay where there are no elements of a sequence: in tuples, keys and statics.
    let keyed = std::collections::BTreeMap::from([(vec![1, 2], treedef::Static(vec![3; 9]))]);
    let form = treedef::structure(&(keyed, ["x"; 9], [0; 2])).unwrap().without_lengths().unwrap();
    assert_snapshot!(form, @"({[1, 2]: static [3; 9]}, (*; 9), (*, *))");
    // A structure keeps its own limits.
    let deep = format!("[{}f64{}, u8]", "(".repeat(200), ",)".repeat(200));
    let deep = Tree::parse_with(&deep, Limits { max_depth: 250, ..Limits::default() }).unwrap();
    let form = deep.without_lengths().unwrap().to_string();
    assert_eq!(form.replace("; _", ""), deep.to_string());
    let form = deep.treedef().without_lengths().unwrap().to_string();
    assert_eq!(form.replace("; _", ""), deep.treedef().to_string().replace("*, *", "*"));
    // The text is not a treedef.
    let error = "[*; _]".parse::<TreeDef>().unwrap_err();
    assert_snapshot!(error, @"expected a number, found `_]` at byte 4");
}
