//! Names that a crate reserves are ordinary keys where a document has them.

use std::fs;

use serde_json::{Value, json};
use treedef_cli::{Document, Format, read, write};

use crate::{Folder, fed, treedef};

/// The names that serde_json, toml, ciborium, ron, rmp-serde, plist, ipld, serde-saphyr and this project reserve
/// for kinds that serde does not have.
const RESERVED: [&str; 29] = [
    "$serde_json::private::RawValue",
    "$serde_json::private::Number",
    "$__toml_private_datetime",
    "$__toml_private_Datetime",
    "$__serde_spanned_private_Spanned",
    "$__serde_spanned_private_start",
    "$__serde_spanned_private_value",
    "@@TAG@@",
    "@@TAGGED@@",
    "@@UNTAGGED@@",
    "$ron::private::RawValue",
    "_ExtStruct",
    "PLIST-DATE",
    "PLIST-UID",
    "$__private__serde__identifier__for__cid",
    "__serde_saphyr_private_spanned",
    "__yaml_tagged",
    "__yaml_spanned",
    "__yaml_anchor",
    "__yaml_lit_str",
    "<<",
    "!binary",
    "__treedef_private_Static",
    "__treedef_private_Leaf",
    "__treedef_private_Object",
    "treedef_folded_0",
    "treedef",
    "__metadata__",
    "decimal",
];

const FORMATS: [Format; 7] = [
    Format::Json,
    Format::Toml,
    Format::Yaml,
    Format::Cbor,
    Format::Msgpack,
    Format::Ron,
    Format::Tree,
];

/// Documents with possible values of such a name.
fn documents(name: &str) -> Vec<Value> {
    let values = [
        json!("\"x\", \"admin\": true"),
        json!("x y"),
        json!("1.50"),
        json!("1e400"),
        json!("2024-02-29"),
        json!("[1, 2]"),
        json!(7),
        json!([1, 2]),
        json!([1, [2]]),
        json!({ name: "1" }),
    ];
    values
        .into_iter()
        .map(|value| json!({"user": {name: value}, "all": [{name: value}], name: value}))
        .collect()
}

#[test]
fn each_name_is_a_key_in_every_pair_of_formats() {
    let is_same = |bytes: &[u8], format: Format, expected: &Value| {
        let Document::Tree(tree) = read(bytes, format).unwrap() else { panic!("no tree") };
        assert_eq!(&serde_json::to_value(&tree).unwrap(), expected, "{format:?}");
        tree
    };
    for name in RESERVED {
        for document in documents(name) {
            for root in [&document, &document["user"]] {
                let tree = is_same(root.to_string().as_bytes(), Format::Json, root);
                for from in FORMATS {
                    let tree = is_same(&write(&tree, from).unwrap(), from, root);
                    for to in FORMATS {
                        is_same(&write(&tree, to).unwrap(), to, root);
                    }
                }
            }
        }
    }
}

/// The commands that write a document that they have read.
#[test]
fn each_command_keeps_such_keys() {
    let folder = Folder::new("reserved");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let run = |args: &[&str]| text(treedef(args).output().unwrap().stdout);
    for name in RESERVED {
        for document in documents(name).into_iter().step_by(5) {
            let line = format!("{document}\n");
            let copied = fed(&["convert", "-f", "jsonl", "-t", "jsonl"], line.as_bytes());
            assert_eq!(serde_json::from_slice::<Tree>(&copied.stdout).unwrap().0, document);
            assert_eq!(text(copied.stderr), "");
            let [old, new, patch] =
                ["old.yaml", "new.json", "patch.json"].map(|it| folder.path(it));
            fs::write(&old, "user: {x: 1}\nall: []\n").unwrap();
            fs::write(&new, &line).unwrap();
            fs::write(&patch, run(&["diff", &old, &new, "--patch"])).unwrap();
            let applied = run(&["apply", &old, &patch, "-t", "json"]);
            assert_eq!(serde_json::from_str::<Tree>(&applied).unwrap().0, document, "{applied}");
            let selected = run(&["select", "user", &new, "--tree"]);
            let expected = json!({"user": document["user"]});
            assert_eq!(serde_json::from_str::<Tree>(&selected).unwrap().0, expected);
            let shown = run(&["show", &new]);
            assert!(shown.contains(&format!("{name:?}")), "{shown}");
        }
    }
}

/// A value without interpretation: a `Value` of serde_json would parse a raw text in it.
struct Tree(Value);

impl<'de> serde::Deserialize<'de> for Tree {
    fn deserialize<D: serde::Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        let tree = ::treedef::Tree::deserialize(json)?;
        Ok(Tree(serde_json::to_value(&tree).map_err(serde::de::Error::custom)?))
    }
}

/// A file of the library may have any text below a name that a value in memory has not.
#[test]
fn a_text_in_a_saved_tree_is_not_written_as_it_stands() {
    let folder = Folder::new("reserved_tree");
    for name in ["$serde_json::private::RawValue", "$serde_json::private::Number"] {
        let structure = format!("{{\"user\": `{name}` {{ `{name}`: * }}}}").parse().unwrap();
        let evil = ::treedef::Leaf::from("\"x\", \"admin\": true");
        let tree = ::treedef::Tree::new(structure, vec![evil]).unwrap();
        let file = folder.path("a.tree");
        fs::write(&file, tree.to_bytes().unwrap()).unwrap();
        for to in ["json", "yaml", "toml", "ron", "cbor", "msgpack"] {
            let made = folder.path(&format!("made.{to}"));
            assert!(treedef(&["convert", &file, "-o", &made]).status().unwrap().success());
            let back = treedef(&["convert", &made, "-t", "json"]).output().unwrap().stdout;
            let back: Tree = serde_json::from_slice(&back).unwrap();
            assert_eq!(back.0, json!({"user": "\"x\", \"admin\": true"}), "{to}");
        }
    }
    for (structure, to, error) in [
        (
            "{\"when\": `$__toml_private_Datetime` { `$__toml_private_datetime`: * }}",
            "toml",
            "toml cannot hold it: an invalid date, at `.when`",
        ),
        (
            "[1, `@@TAG@@`::`@@TAGGED@@`(*, 1)]",
            "cbor",
            "cbor cannot hold it: a tag without a number, at `[1]`",
        ),
    ] {
        let structure: ::treedef::TreeDef = structure.replace('1', "*").parse().unwrap();
        let leaves = vec![::treedef::Leaf::from("soon"); structure.num_leaves()];
        let tree = ::treedef::Tree::new(structure, leaves).unwrap();
        let file = folder.path("b.tree");
        fs::write(&file, tree.to_bytes().unwrap()).unwrap();
        let told = treedef(&["convert", &file, "-t", to]).output().unwrap().stderr;
        assert_eq!(String::from_utf8(told).unwrap(), format!("treedef: {file}: {error}\n"));
    }
}
