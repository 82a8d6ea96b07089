//! Statics travel in the treedef, opaque leaves are one leaf each, and everything comes back.

use std::hash::{DefaultHasher, Hash, Hasher};

use insta::assert_snapshot;
use treedef::{Flattener, Leaf, MapOrder, NodeKind, NodeRef, Path, TreeDef, Value};

use crate::payload::{Payload, Specimen, specimens};
use crate::shapes::{Case, WAYS, plain};

fn flatten(case: &Case) -> (Vec<Leaf>, TreeDef) {
    case.value.flatten(&Flattener::new()).unwrap()
}

fn hash(treedef: &TreeDef) -> u64 {
    let mut hasher = DefaultHasher::new();
    treedef.hash(&mut hasher);
    hasher.finish()
}

/// The paths of all statics, with their values.
fn statics(treedef: &TreeDef) -> Vec<(Path, Value)> {
    fn walk(node: NodeRef<'_>, path: Path, found: &mut Vec<(Path, Value)>) {
        found.extend(node.static_value().map(|value| (path.clone(), value.clone())));
        for (position, child) in node.children().enumerate() {
            walk(child, path.child(node.key(position).unwrap()), found);
        }
    }
    let mut found = Vec::new();
    walk(treedef.root(), Path::root(), &mut found);
    found
}

/// Every case of every way: the specimen, and the case without marks, as static, as leaf.
fn for_each(mut law: impl FnMut(&str, &Specimen, [Case; 3], [Case; 3])) {
    for specimen in specimens() {
        for way in WAYS {
            let all = |payload: &Payload| {
                let (statics, leaves) = ((way.statics)(payload), (way.leaves)(payload));
                assert_eq!(statics.len(), leaves.len());
                plain(payload).into_iter().zip(statics).zip(leaves).map(|((a, b), c)| [a, b, c])
            };
            for (cases, others) in all(&specimen.payload).zip(all(&specimen.other)) {
                let name = format!("{} in {}, {}", specimen.name, cases[0].name(), way.name);
                law(&name, &specimen, cases, others);
            }
        }
    }
}

#[test]
fn everything_comes_back() {
    let default = Flattener::new;
    let all = default().none_is_leaf(true).compact(true).map_order(MapOrder::Insertion);
    let flatteners = [
        ("default", default()),
        ("none_is_leaf", default().none_is_leaf(true)),
        ("compact", default().compact(true)),
        ("insertion", default().map_order(MapOrder::Insertion)),
        ("none_is_leaf and all others", all),
    ];
    for_each(|name, specimen, [_, marked, opaque], _| {
        specimen.payload.await_alike();
        for (options, flattener) in &flatteners {
            for case in [&marked, &opaque] {
                let (leaves, treedef) = case.value.flatten(flattener).unwrap();
                for text in [treedef.to_string(), format!("{treedef:#}")] {
                    assert_eq!(text.parse::<TreeDef>().unwrap(), treedef, "{name}: {text}");
                }
                if let Err(error) = case.value.comes_back(&treedef, &leaves) {
                    panic!("{name}, {options}: {error}")
                }
            }
        }
    });
}

#[test]
fn a_static_is_in_the_treedef_and_not_among_the_leaves() {
    for_each(|name, specimen, [plain, marked, _], [_, other, _]| {
        let (all, whole) = flatten(&plain);
        let (leaves, treedef) = flatten(&marked);
        let statics = statics(&treedef);
        assert_eq!(statics.len(), marked.marks, "{name}");

        let text = treedef.to_string();
        assert!(text.contains(&format!("static {}", specimen.literal)), "{name}: {text}");
        let mut rest = all;
        for (path, value) in statics.iter().rev() {
            assert_eq!(value.to_string(), specimen.literal, "{name}");
            let payload = whole.node(path).unwrap();
            assert_eq!(
                payload.to_string(),
                treedef::structure(&specimen.payload).unwrap().to_string(),
                "{name} at {path}"
            );
            rest.drain(payload.leaf_range());
        }
        assert_eq!(leaves, rest, "{name}");
        assert_eq!(leaves, flatten(&other).0, "{name}");
    });
}

#[test]
fn other_statics_are_another_structure() {
    for_each(|name, specimen, [_, marked, _], [_, other, _]| {
        let (leaves, treedef) = flatten(&marked);
        let (_, another) = flatten(&other);
        assert_ne!(treedef, another, "{name}");
        assert_ne!(hash(&treedef), hash(&another), "{name}");

        let mut buffer = Vec::new();
        marked.value.flatten_like(&treedef, &mut buffer).unwrap();
        assert_eq!(buffer, leaves, "{name}");
        let error = other.value.flatten_like(&treedef, &mut buffer).unwrap_err();
        assert!(buffer.is_empty(), "{name}");
        let [expected, found] =
            [specimen.literal, specimen.other_literal].map(|text| format!("`static {text}`"));
        let paths = statics(&treedef).into_iter().map(|(path, _)| path);
        let differences: Vec<_> = error
            .differences()
            .iter()
            .map(|difference| {
                assert_eq!(
                    (&difference.expected, &difference.found),
                    (&expected, &found),
                    "{name}"
                );
                difference.path.clone()
            })
            .collect();
        assert_eq!(differences, at_first_of_each_run(&treedef, paths), "{name}");
        let (path, text) = (error.path(), error.to_string());
        let place = if path.is_root() { "the root".to_owned() } else { format!("`{path}`") };
        let first = format!("expected {expected}, found {found} at {place}");
        assert!(text.starts_with(&first), "{name}: {text}");
        assert!(text.contains(" (statics are part of the structure"), "{name}: {text}");
    });
}

/// Equal neighbours that differ alike are reported once.
fn at_first_of_each_run(treedef: &TreeDef, paths: impl Iterator<Item = Path>) -> Vec<Path> {
    let is_first = |path: &Path| {
        let mut parent = Path::root();
        path.keys().iter().all(|key| {
            let node = treedef.node(&parent).unwrap();
            let position = node.position(key).unwrap();
            parent = parent.child(key.clone());
            let text = |position| node.child(position).unwrap().to_string();
            let is_labelled = !node.fields().is_empty() || !node.entry_keys().is_empty();
            is_labelled || position == 0 || text(position) != text(position - 1)
        })
    };
    paths.filter(is_first).collect()
}

#[test]
fn an_opaque_leaf_is_one_leaf() {
    for_each(|name, specimen, [plain, of_statics, marked], [_, _, other]| {
        let (_, whole) = flatten(&plain);
        let (mut leaves, treedef) = flatten(&marked);
        let paths: Vec<_> =
            statics(&flatten(&of_statics).1).into_iter().map(|(path, _)| path).collect();
        let payload = treedef::structure(&specimen.payload).unwrap();
        assert_eq!(
            leaves.len(),
            whole.num_leaves() - paths.len() * payload.num_leaves() + paths.len(),
            "{name}"
        );

        specimen.payload.await_alike();
        for path in &paths {
            let node = treedef.node(path).unwrap();
            assert_eq!(
                (node.kind(), node.leaf_range().len()),
                (NodeKind::Leaf, 1),
                "{name} at {path}"
            );
            let leaf = leaves[node.leaf_range().start].clone();
            assert_eq!(leaf, Leaf::from(Value::of(&specimen.payload).unwrap()), "{name} at {path}");
            assert_eq!(leaf.into_typed::<Payload>().unwrap(), specimen.payload, "{name} at {path}");
        }
        assert_eq!(treedef, flatten(&other).1, "{name}");

        for path in &paths {
            leaves[treedef.node(path).unwrap().leaf_range()]
                .fill(Leaf::from(Value::of(&specimen.other).unwrap()));
        }
        specimen.other.await_alike();
        other.value.comes_back(&treedef, &leaves).unwrap_or_else(|error| panic!("{name}: {error}"));
    });
}

#[test]
fn every_shape_as_a_treedef() {
    let mut text = String::new();
    for case in (WAYS[2].statics)(&Payload::Text("relu".to_owned())) {
        // Below a context, those with several marks only repeat what the others say.
        if case.context.is_empty() || case.marks == 1 {
            let treedef = flatten(&case).1;
            let paths = statics(&treedef).into_iter().map(|(path, _)| format!("`{path}`"));
            text +=
                &format!("{}: {}\n  {treedef}\n", case.name(), paths.collect::<Vec<_>>().join(" "));
        }
    }
    assert_snapshot!(text, @r#"
    newtype struct: `.0`
      Newtype(static "relu")
    tuple struct: `.1`
      Tuple(*, static "relu", *)
    untagged struct: `.held`
      UntaggedMarks { first: *, held: static "relu" }
    untagged tuple: `.1`
      (*, static "relu", *)
    untagged newtype: ``
      static "relu"
    internal struct: `.held`
      InternalMarks { tag: *, first: *, held: static "relu" }
    adjacent newtype: `.content`
      AdjacentMarks { tag: AdjacentMarks::Newtype, content: static "relu" }
    adjacent tuple: `.content.1`
      AdjacentMarks { tag: AdjacentMarks::Tuple, content: (*, static "relu", *) }
    adjacent struct: `.content.held`
      AdjacentMarks { tag: AdjacentMarks::Struct, content: Struct { first: *, held: static "relu" } }
    struct: `.held`
      Struct { first: *, held: static "relu", last: * }
    struct, flattened: `["held"]`
      {"end": *, "first": *, "held": static "relu", "id": *, "last": *}
    struct, untagged: `.below.held`
      Untagged { below: Struct { first: *, held: static "relu", last: * } }
    struct, internal struct: `.below.held`
      Internal { tag: *, below: Struct { first: *, held: static "relu", last: * } }
    struct, internal newtype: `.held`
      Struct { tag: *, first: *, held: static "relu", last: * }
    struct, adjacent struct: `.content.below.held`
      Adjacent { tag: Adjacent::Below, content: Below { below: Struct { first: *, held: static "relu", last: * } } }
    struct, adjacent newtype: `.content.held`
      Adjacent { tag: Adjacent::Newtype, content: Struct { first: *, held: static "relu", last: * } }
    struct, adjacent tuple: `.content.1.held`
      Adjacent { tag: Adjacent::Tuple, content: (*, Struct { first: *, held: static "relu", last: * }) }
    newtype variant: `::Newtype.0`
      Variant::Newtype(static "relu")
    newtype variant, flattened: `["Newtype"]`
      {"Newtype": static "relu", "end": *, "id": *}
    newtype variant, untagged: `.below::Newtype.0`
      Untagged { below: Variant::Newtype(static "relu") }
    newtype variant, internal struct: `.below::Newtype.0`
      Internal { tag: *, below: Variant::Newtype(static "relu") }
    newtype variant, internal newtype: `["Newtype"]`
      {"Newtype": static "relu", "tag": *}
    newtype variant, adjacent struct: `.content.below::Newtype.0`
      Adjacent { tag: Adjacent::Below, content: Below { below: Variant::Newtype(static "relu") } }
    newtype variant, adjacent newtype: `.content::Newtype.0`
      Adjacent { tag: Adjacent::Newtype, content: Variant::Newtype(static "relu") }
    newtype variant, adjacent tuple: `.content.1::Newtype.0`
      Adjacent { tag: Adjacent::Tuple, content: (*, Variant::Newtype(static "relu")) }
    tuple variant: `::Tuple.1`
      Variant::Tuple(*, static "relu", *)
    tuple variant, flattened: `["Tuple"][1]`
      {"Tuple": [*, static "relu", *], "end": *, "id": *}
    tuple variant, untagged: `.below::Tuple.1`
      Untagged { below: Variant::Tuple(*, static "relu", *) }
    tuple variant, internal struct: `.below::Tuple.1`
      Internal { tag: *, below: Variant::Tuple(*, static "relu", *) }
    tuple variant, internal newtype: `["Tuple"].1`
      {"Tuple": Tuple(*, static "relu", *), "tag": *}
    tuple variant, adjacent struct: `.content.below::Tuple.1`
      Adjacent { tag: Adjacent::Below, content: Below { below: Variant::Tuple(*, static "relu", *) } }
    tuple variant, adjacent newtype: `.content::Tuple.1`
      Adjacent { tag: Adjacent::Newtype, content: Variant::Tuple(*, static "relu", *) }
    tuple variant, adjacent tuple: `.content.1::Tuple.1`
      Adjacent { tag: Adjacent::Tuple, content: (*, Variant::Tuple(*, static "relu", *)) }
    struct variant: `::Struct.held`
      Variant::Struct { first: *, held: static "relu" }
    struct variant, flattened: `["Struct"].held`
      {"Struct": Struct { first: *, held: static "relu" }, "end": *, "id": *}
    struct variant, untagged: `.below::Struct.held`
      Untagged { below: Variant::Struct { first: *, held: static "relu" } }
    struct variant, internal struct: `.below::Struct.held`
      Internal { tag: *, below: Variant::Struct { first: *, held: static "relu" } }
    struct variant, internal newtype: `["Struct"].held`
      {"Struct": Struct { first: *, held: static "relu" }, "tag": *}
    struct variant, adjacent struct: `.content.below::Struct.held`
      Adjacent { tag: Adjacent::Below, content: Below { below: Variant::Struct { first: *, held: static "relu" } } }
    struct variant, adjacent newtype: `.content::Struct.held`
      Adjacent { tag: Adjacent::Newtype, content: Variant::Struct { first: *, held: static "relu" } }
    struct variant, adjacent tuple: `.content.1::Struct.held`
      Adjacent { tag: Adjacent::Tuple, content: (*, Variant::Struct { first: *, held: static "relu" }) }
    positions: `.newtype.0` `.tuple.1` `.variants.0::Newtype.0` `.variants.1::Tuple.1` `.variants.2::Struct.held` `.twice.0.held` `.twice.1.held`
      Positions { newtype: Newtype(static "relu"), tuple: Tuple(*, static "relu", *), variants: (Variant::Newtype(static "relu"), Variant::Tuple(*, static "relu", *), Variant::Struct { first: *, held: static "relu" }), twice: (Struct { first: *, held: static "relu", last: * }; 2) }
    option: `?`
      Some(static "relu")
    list: `[0]` `[1]` `[2]`
      [static "relu", static "relu", static "relu"]
    map: `["a"]` `["b"]`
      {"a": static "relu", "b": static "relu"}
    generic: `.inside`
      Generic { before: *, inside: static "relu" }
    wrapped: `.option?` `.list[0]` `.list[1]` `.map["a"]` `.map["b"]` `.generic.inside` `.pair.0`
      Wrapped { option: Some(static "relu"), list: [static "relu", static "relu"], map: {"a": static "relu", "b": static "relu"}, generic: Generic { before: *, inside: static "relu" }, pair: (static "relu", *) }
    "#);
}
