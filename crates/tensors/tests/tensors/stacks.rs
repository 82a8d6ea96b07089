//! Sequences whose elements are one tensor with a leading axis.

use std::collections::BTreeMap;

use fastrand::Rng;
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_tensors::{Dtype, Error, ErrorKind, Export, Loader, Tensor, Tensors};
use treedef_testing::structures;

use crate::{listed, read, refused, tree};

#[test]
fn sequences_are_stacked() {
    let rows = [
        ("[P { pos: [*; 3], mass: * }; 5]", "", "pos: f32[5, 3]; mass: f32[5]"),
        ("[P { pos: [*; 3], mass: * }]", "", "pos: f32[1, 3]; mass: f32[1]"),
        (
            "M { layers: [L { heads: [H { q: * , k: [*; 2] }; 4], b: * }; 3], b: * }",
            "**.layers",
            "layers.heads.0.q: f32[3]; layers.heads.0.k: f32[3, 2]; layers.heads.1.q: f32[3]; \
             layers.heads.1.k: f32[3, 2]; layers.heads.2.q: f32[3]; layers.heads.2.k: f32[3, 2]; \
             layers.heads.3.q: f32[3]; layers.heads.3.k: f32[3, 2]; layers.b: f32[3]; b: f32[]",
        ),
        (
            "M { layers: [L { heads: (H { q: * , k: [*; 2] }, H { q: *, k: [*; 2] }), b: * }; 3], b: * }",
            "**",
            "layers.heads.q: f32[3, 2]; layers.heads.k: f32[3, 2, 2]; layers.b: f32[3]; b: f32[]",
        ),
        ("[N(P { a: Some(*) }); 3]", "", "a: f32[3]"),
        // Only the tensors that the pattern matches.
        ("[P { pos: [*; 3], mass: * }; 2]", "[*]", "pos: f32[2, 3]; mass: f32[2]"),
        (
            "[P { pos: [*; 3], mass: * }; 2]",
            "[*].pos",
            "pos: f32[2, 3]; 0.mass: f32[]; 1.mass: f32[]",
        ),
        (
            "(P { a: [*; 3], b: * }, P { a: [*; 3], b: * })",
            "[*].a",
            "a: f32[2, 3]; 0.b: f32[]; 1.b: f32[]",
        ),
        (
            "M { layers: [L { heads: (H { q: *, k: [*; 2] }, H { q: *, k: [*; 2] }), b: * }; 2] }",
            "layers[*].heads[*].q",
            "layers.heads.q: f32[2, 2]; layers.0.heads.0.k: f32[2]; layers.0.heads.1.k: f32[2]; \
             layers.0.b: f32[]; layers.1.heads.0.k: f32[2]; layers.1.heads.1.k: f32[2]; \
             layers.1.b: f32[]",
        ),
        (
            "M { layers: [L { heads: [H { q: *, k: [*; 2] }; 2], b: * }; 2] }",
            "**.heads[*]",
            "layers.0.heads.q: f32[2]; layers.0.heads.k: f32[2, 2]; layers.0.b: f32[]; \
             layers.1.heads.q: f32[2]; layers.1.heads.k: f32[2, 2]; layers.1.b: f32[]",
        ),
        (
            r#"{"[*]": [P { a: *, b: [*; 2] }; 2]}"#,
            r#"["[*]"][*].a"#,
            "[*].a: f32[2]; [*].0.b: f32[2]; [*].1.b: f32[2]",
        ),
        ("[(*, [*; 2]), (*, [*; 3])]", "[*].0", "0: f32[2]; 0.1: f32[2]; 1.1: f32[3]"),
        // One tensor as it is; and a sequence without elements.
        ("M { a: [*; 2], b: [P { c: * }; 2] }", "a", "a: f32[2]; b.0.c: f32[]; b.1.c: f32[]"),
        ("M { a: [], b: * }", "a[*].w", "b: f32[]"),
        ("[[*; 2]; 3]", "**", ": f32[3, 2]"),
        ("[[*; 1], [*; 1]]", "**", ": f32[2, 1]"),
    ];
    for (text, pattern, expected) in rows {
        let export = Export::new().stack(pattern);
        let tree = tree(text);
        let tensors = export.tensors(&tree).unwrap();
        assert_eq!(listed(&tensors).join("; "), expected, "{text}");
        assert_eq!(export.tree::<f32>(&tensors).unwrap(), tree, "{text}");
    }
    let export = Export::new().stack("");
    let particles = tree("[P { pos: [*; 3], mass: * }; 2]");
    let tensors = export.tensors(&particles).unwrap();
    let pos = tensors.get("pos").unwrap();
    assert_eq!(pos.as_slice::<f32>().unwrap(), [0.0, 1.0, 2.0, 4.0, 5.0, 6.0]);
}

#[test]
fn elements_that_differ_are_not_stacked() {
    let export = Export::new().stack("**");
    let rows = [
        (
            "[P { a: [*; 2] }, P { a: [*; 3] }]",
            "f32[3] cannot be stacked with f32[2] at `[0].a` (name what is alike: see `Export::stack`) at `[1].a`",
        ),
        (
            "[P { a: *, b: Some(*) }, P { a: *, b: None }]",
            "not all elements have `b`, so they cannot be stacked (name what is alike: see `Export::stack`) at `[0].b?`",
        ),
        (
            "[P { a: *, b: None }, P { a: *, b: Some(*) }]",
            "not all elements have `b`, so they cannot be stacked (name what is alike: see `Export::stack`) at `[1].b?`",
        ),
        (
            "[[P { a: * }; 3], [Q::V(*), P { a: * }]]",
            "not all elements have `a`, so they cannot be stacked (name what is alike: see `Export::stack`) at `[0][0].a`",
        ),
        (
            r#"[{"a": *, "b": {"c": *}}, {"b.c": *}]"#,
            r#"the name `b.c` is also that of `[0]["b"]["c"]` at `[1]["b.c"]`"#,
        ),
    ];
    for (text, message) in rows {
        refused(export.tensors(&tree(text)), message);
    }
    let optional = tree("[P { a: *, b: None }, P { a: *, b: Some(*) }]");
    let alike = Export::new().stack("[*].a").tensors(&optional).unwrap();
    assert_eq!(listed(&alike), ["a: f32[2]", "1.b: f32[]"]);
    refused(
        Export::new().stack("**.pos").tensors(&tree("[P { pos: [*; 3], mass: * }; 2]")),
        "`**.pos` stacks nothing: `[*]` stands for the elements, as in `layers[*].w` at `[0].pos`",
    );
    let of =
        |pattern: &str, text: &str| Export::new().stack(pattern).tensors(&tree(text)).map(|_| ());
    refused(of("layer[*].w", "M { layers: [P { w: * }; 2] }"), "`.layer[*].w` names nothing here");
    refused(
        of("layers[*].v", "M { layers: [P { w: * }; 2] }"),
        "`.layers[*].v` names nothing here",
    );
    for (pattern, text) in [
        ("layers[*].w", "M { layers: [], b: * }"),
        ("layers", "M { layers: [], b: * }"),
        ("layers[*].b", "M { layers: [P { w: *, b: None }; 2] }"),
    ] {
        of(pattern, text).unwrap();
    }
    let error = Export::new().stack("[").tensors(&tree("*")).unwrap_err();
    assert!(error.to_string().contains("byte 1"), "{error}");
}

#[test]
fn stacked_sequences_are_read() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Head {
        q: [f32; 2],
        k: u8,
    }
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Block {
        heads: Vec<Head>,
        b: f32,
    }
    let head = |index: u8| Head { q: [f32::from(index), 0.5], k: index };
    let block = |index: u8| Block { heads: vec![head(index), head(index + 1)], b: 0.5 };
    let blocks: Vec<Block> = (0..3).map(block).collect();
    let tree = Tree::of(&blocks).unwrap();
    let export = Export::new().stack("").stack("**.heads");
    let tensors = export.tensors(&tree).unwrap();
    assert_eq!(tensors.get("heads.q").unwrap().to_string(), "f32[3, 2, 2]");
    let loader = Loader::new().stack("").stack("**.heads");
    assert_eq!(loader.load::<Vec<Block>>(&tensors).unwrap(), blocks);
    assert_eq!(loader.load::<[Block; 3]>(&tensors).unwrap().to_vec(), blocks);
    let message = |error: Error| error.to_string();
    assert_snapshot!(message(loader.load::<[Block; 2]>(&tensors).unwrap_err()), @"
    the tensors do not fit the type
    `b` is f32[3], expected f32[2]
    `heads.k` is u8[3, 2], expected u8[2, 2]
    `heads.q` is f32[3, 2, 2], expected f32[2, 2, 2]
    ");
    assert_snapshot!(message(Loader::new().load::<Vec<Block>>(&tensors).unwrap_err()), @"
    the tensors do not fit the type
    missing `0.heads.0.q`: f32[2]
    missing `0.heads.0.k`: u8[]
    missing `0.b`: f32[]
    unused `b`: f32[3]
    unused `heads.k`: u8[3, 2]
    unused `heads.q`: f32[3, 2, 2]
    ");
    assert_snapshot!(message(Loader::new().stack("").load::<Vec<Block>>(&tensors).unwrap_err()), @"
    the tensors do not fit the type
    missing `heads.0.q`: f32[2]
    missing `heads.0.k`: u8[]
    unused `heads.k`: u8[3, 2]
    unused `heads.q`: f32[3, 2, 2]
    ");
    #[derive(Serialize)]
    struct Ragged {
        q: [[f32; 2]; 3],
        k: [u8; 2],
    }
    let ragged = Ragged { q: [[0.0; 2]; 3], k: [0; 2] };
    assert_snapshot!(message(read::<Vec<Head>>(&Loader::new().stack(""), &ragged).unwrap_err()), @"
    the tensors do not fit the type
    `q` is f32[3, 2], expected f32[2, 2]
    ");
}

#[test]
fn trees_of_all_kinds_come_back_if_they_can_be_stacked() {
    let mut rng = Rng::with_seed(5);
    let mut stacked = 0;
    for _ in 0..5_000 {
        let treedef = structures::structure(&mut rng, 4);
        let pattern = ["", "[*]", "**[*]", "**", "[*].**", "**[*].1", "**.a[*]"][rng.usize(0..7)];
        let leaves = (0..treedef.num_leaves()).map(|leaf| leaf as f32).collect();
        let tree = Tree::new(treedef, leaves).unwrap();
        let export = Export::new().stack(pattern);
        match export.tensors(&tree) {
            Ok(tensors) => {
                let plain = Tensors::of(&tree).unwrap();
                stacked += usize::from(tensors.iter().len() < plain.iter().len());
                let back = export.tree::<f32>(&tensors);
                assert_eq!(
                    back.ok().as_ref(),
                    Some(&tree),
                    "{pattern}: {tree}, {:?}",
                    listed(&tensors)
                );
            }
            Err(error) => {
                let message = error.to_string();
                let known =
                    ["is also that of", "cannot be stacked", "stacks nothing", "names nothing"];
                assert!(known.iter().any(|known| message.contains(known)), "{message}: {tree}");
            }
        }
    }
    assert!(stacked > 50, "{stacked}");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Particle {
    pos: [f64; 3],
    mass: f32,
    name: String,
    near: Vec<u32>,
    parts: Vec<Part>,
    pair: [Part; 2],
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Part {
    id: u8,
    size: [f32; 2],
}

fn particles(count: usize) -> Vec<Particle> {
    let part = |index: usize| Part { id: index as u8, size: [index as f32, 0.5] };
    let particle = |index: usize| Particle {
        pos: [index as f64, 0.5, 1.5],
        mass: index as f32,
        name: format!("p{index}"),
        near: (0..=index as u32).collect(),
        parts: vec![part(index), part(index + 1)],
        pair: [part(7), part(index)],
    };
    (0..count).map(particle).collect()
}

/// Some tensors have an axis for a sequence, and others its indices.
#[test]
fn what_one_pattern_stacks_both_sides_read() {
    let value = particles(3);
    let tree = Tree::of(&value).unwrap();
    for (patterns, stacked) in [
        (&["[*].pos", "[*].mass"][..], "pos: f64[3, 3]; mass: f32[3]"),
        (
            &["[*].pos", "[*].parts[*]"],
            "pos: f64[3, 3]; parts.id: u8[3, 2]; parts.size: f32[3, 2, 2]",
        ),
        (&["[*].parts[*].id"], "parts.id: u8[3, 2]"),
        (&["[*].pair[*].size", "[*].mass"], "mass: f32[3]; pair.size: f32[3, 2, 2]"),
        (&["**.parts", "**.pair[*].id"], ""),
        (&["**[*].id"], ""),
        (
            &["[*].**.id"],
            "parts.0.id: u8[3]; parts.1.id: u8[3]; pair.0.id: u8[3]; pair.1.id: u8[3]",
        ),
    ] {
        let (mut export, mut loader) = (Export::new().rest_in_metadata(true), Loader::new());
        for pattern in patterns {
            (export, loader) = (export.stack(pattern), loader.stack(pattern));
        }
        let tensors = export.tensors(&tree).unwrap();
        let over_all =
            listed(&tensors).into_iter().filter(|name| !name.starts_with(['0', '1', '2']));
        assert_eq!(over_all.collect::<Vec<_>>().join("; "), stacked, "{patterns:?}");
        assert_eq!(export.tree(&tensors).unwrap(), tree, "{patterns:?}");
        assert_eq!(loader.load::<Vec<Particle>>(&tensors).unwrap(), value, "{patterns:?}");
        let refused = loader.load::<[Particle; 2]>(&tensors).unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Load(_)), "{patterns:?}: {refused}");
    }
}

/// They keep their indices.
#[test]
fn texts_are_not_stacked() {
    let value: Vec<(String, f32, Option<char>)> =
        vec![("a".to_owned(), 1.0, None), ("b".to_owned(), 2.0, Some('c'))];
    let tree = Tree::of(&value).unwrap();
    let export = Export::new().stack("[*]").rest_in_metadata(true);
    let tensors = export.tensors(&tree).unwrap();
    assert_eq!(listed(&tensors), ["1: f32[2]"]);
    assert_eq!((tensors.metadata("0.0"), tensors.metadata("1.2")), (Some("\"a\""), Some("'c'")));
    assert_eq!(export.tree(&tensors).unwrap(), tree);
    assert_eq!(
        Loader::new().stack("[*]").load::<Vec<(String, f32, Option<char>)>>(&tensors).unwrap(),
        value
    );
}

#[test]
fn stacked_tensors_that_differ_are_listed() {
    let file = |pattern: &str, count: usize| {
        let tree = Tree::of(&particles(count)).unwrap();
        let export = Export::new().rest_in_metadata(true).stack(pattern);
        export.tensors(&tree).unwrap().into_owned()
    };
    let loader = Loader::new().stack("[*].pos");
    #[derive(Debug, Serialize, Deserialize)]
    struct Point {
        pos: [f64; 3],
        mass: f32,
        charge: f32,
    }
    let message = |loader: Loader, tensors: &Tensors<'_>| {
        let loader = loader.ignore("**.near").ignore("**.parts.**").ignore("**.pair.**");
        loader.load::<Vec<Point>>(tensors).unwrap_err().to_string()
    };
    assert_snapshot!(message(loader.clone(), &file("[*].pos", 2)), @"
    the tensors do not fit the type
    missing `0.charge`: f32[]
    missing `1.charge`: f32[]
    ");
    assert_snapshot!(message(Loader::new(), &file("[*].pos", 1)), @"
    the tensors do not fit the type
    missing `0.pos`: f64[3]
    missing `0.charge`: f32[]
    unused `pos`: f64[1, 3]
    ");
    // The file has fewer of the others, and more.
    assert_snapshot!(message(loader.clone().ignore("0.mass"), &file("[*].pos", 2)), @"
    the tensors do not fit the type
    missing `0.mass`: f32[]
    missing `0.charge`: f32[]
    missing `1.charge`: f32[]
    ");
    let mixed = file("[*].pos", 2);
    let more = file("[*].mass", 3);
    let both =
        mixed.iter().chain(more.iter().filter(|(name, _)| *name == "2.pos" || *name == "mass"));
    let both = Tensors::new(both.map(|(name, tensor)| (name.to_owned(), tensor.clone()))).unwrap();
    assert_snapshot!(message(loader, &both), @"
    the tensors do not fit the type
    missing `0.charge`: f32[]
    missing `1.charge`: f32[]
    missing `2.mass`: f32[]
    missing `2.charge`: f32[]
    unused `mass`: f32[3]
    ");
}

/// As a rule that renames nothing does.
#[test]
fn a_stack_of_nothing_is_an_error() {
    let layers = vec![Part { id: 1, size: [0.5; 2] }, Part { id: 2, size: [1.5; 2] }];
    let value = BTreeMap::from([("layers", layers.clone()), ("none", vec![])]);
    let tree = Tree::of(&value).unwrap();
    type Value = BTreeMap<String, Vec<Part>>;
    let tensors = Export::new().stack("layers[*]").tensors(&tree).unwrap();
    for stack in ["layers", "layers[*].size", "*[*]", "**", "none[*].size", "none"] {
        let loader = Loader::new().stack("layers[*]").stack(stack);
        assert_eq!(loader.load::<Value>(&tensors).unwrap()["layers"], layers, "{stack}");
    }
    for stack in ["layer[*]", "layers[*].sizes", "a.b"] {
        let loader = Loader::new().stack("layers[*]").stack(stack);
        refused(loader.load::<Value>(&tensors), &format!("`{stack}` stacks no tensor"));
    }
}

#[test]
fn a_stack_without_elements_is_an_empty_sequence() {
    let tensor = Tensor::new(Dtype::F32, vec![0, 2], Vec::new()).unwrap();
    let tensors = Tensors::new([("size".to_owned(), tensor)]).unwrap();
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sized {
        size: [f32; 2],
    }
    assert_eq!(Loader::new().stack("[*]").load::<Vec<Sized>>(&tensors).unwrap(), []);
    let error = Loader::new().stack("[*]").load::<[Sized; 1]>(&tensors).unwrap_err().to_string();
    assert!(error.contains("expected f32[1, "), "{error}");
}
