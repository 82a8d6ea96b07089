//! Laws that hold for every value.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

use serde::{Deserialize, Serialize};
use treedef::{Flattener, Leaf, MapOrder, NodeKind, NodeRef, Path, Tree, TreeDef, Value};

use crate::specimens::{Specimen, WAYS, zoo};

#[cfg(feature = "persist")]
mod files;
mod orders;

/// Every set of options that treedefs remember, with its name.
fn all_options() -> [(&'static str, Flattener); 7] {
    let new = Flattener::new;
    [
        ("default", new()),
        ("insertion", new().map_order(MapOrder::Insertion)),
        ("none_is_leaf", new().none_is_leaf(true)),
        ("arrays", new().arrays(true)),
        ("compact", new().compact(true)),
        ("insertion, none_is_leaf", new().map_order(MapOrder::Insertion).none_is_leaf(true)),
        ("all", new().map_order(MapOrder::Insertion).none_is_leaf(true).compact(true)),
    ]
}

/// Runs a law over the zoo under every set of options, and reports for each specimen the first that
/// breaks it.
#[track_caller]
fn hold<F: Fn(&Specimen, &Flattener) -> Result<(), String>>(law: F) {
    let applies = |specimen: &Specimen, options: &str| match options {
        "default" | "none_is_leaf" | "arrays" => true,
        "compact" => !specimen.readable_only,
        "all" => !specimen.readable_only && !specimen.random_order,
        _ => !specimen.random_order,
    };
    let mut broken = Vec::new();
    for specimen in zoo() {
        let broke = all_options().into_iter().find_map(|(options, flattener)| {
            let outcome = applies(&specimen, options).then(|| law(&specimen, &flattener))?;
            let how = outcome.err()?;
            Some(format!("`{}` with options `{options}`: {how:.1000}", specimen.name))
        });
        broken.extend(broke);
    }
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
}

fn flatten(specimen: &Specimen, flattener: &Flattener) -> Result<(Vec<Leaf>, TreeDef), String> {
    specimen.laws.flatten(flattener).map_err(|error| format!("flatten: {error}"))
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn hash(value: &impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::new().hash_one(value)
}

/// Every node with its path, in pre-order.
fn nodes(treedef: &TreeDef) -> Vec<(Path, NodeRef<'_>)> {
    let mut nodes = Vec::new();
    let mut pending = vec![(Path::root(), treedef.root())];
    while let Some((path, node)) = pending.pop() {
        let keys = (0..node.num_children()).filter_map(|position| node.key(position));
        let below: Vec<_> =
            keys.zip(node.children()).map(|(key, child)| (path.child(key), child)).collect();
        pending.extend(below.into_iter().rev());
        nodes.push((path, node));
    }
    nodes
}

fn repeats_keys(treedef: &TreeDef) -> bool {
    let repeats = |keys: &[Value]| keys.iter().collect::<HashSet<_>>().len() < keys.len();
    nodes(treedef).iter().any(|(_, node)| repeats(node.entry_keys()))
}

#[test]
fn unflatten_undoes_flatten() {
    hold(|specimen, flattener| {
        let (leaves, treedef) = flatten(specimen, flattener)?;
        for way in WAYS {
            let rebuilt = specimen
                .laws
                .rebuild(way, &treedef, &leaves)
                .map_err(|error| format!("{way:?}: {error}\n  {treedef}"))?;
            check(specimen.laws.equals(&*rebuilt), || {
                format!("{way:?}: {} became {}", specimen.laws.debug(), rebuilt.debug())
            })?;
        }
        Ok(())
    });
}

#[test]
fn what_was_rebuilt_flattens_alike() {
    hold(|specimen, flattener| {
        let (leaves, treedef) = flatten(specimen, flattener)?;
        let rebuilt = specimen
            .laws
            .rebuild(WAYS[0], &treedef, &leaves)
            .map_err(|error| format!("unflatten: {error}"))?;
        let (again, same) = rebuilt.flatten(flattener).map_err(|error| error.to_string())?;
        check(same == treedef, || format!("{treedef} became {same}"))?;
        check(hash(&same) == hash(&treedef), || "equal treedefs with other hashes".to_owned())?;
        check(again == leaves, || format!("{leaves:?} became {again:?}"))?;
        check(hash(&again) == hash(&leaves), || "equal leaves with other hashes".to_owned())
    });
}

#[test]
fn a_tree_is_in_json_what_its_value_is() {
    let mut compared = 0;
    for specimen in zoo() {
        let Some(json) = specimen.laws.json() else { continue };
        for options in [Flattener::new(), Flattener::new().none_is_leaf(true)] {
            let (leaves, treedef) = specimen.laws.flatten(&options).unwrap();
            let tree = Tree::new(treedef, leaves).unwrap();
            assert_eq!(serde_json::to_string(&tree).unwrap(), json, "{}", specimen.name);
        }
        compared += 1;
    }
    assert!(compared > 120, "{compared} values have a form in JSON");
}

#[test]
fn structure_and_leaves_are_the_halves_of_flatten() {
    for specimen in zoo() {
        let (leaves, treedef) = specimen.laws.flatten(&Flattener::new()).unwrap();
        assert_eq!(specimen.laws.structure().unwrap(), treedef, "{}", specimen.name);
        assert_eq!(specimen.laws.leaves().unwrap(), leaves, "{}", specimen.name);
    }
}

#[test]
fn counts_agree_with_what_is_there() {
    hold(|specimen, flattener| {
        let (leaves, treedef) = flatten(specimen, flattener)?;
        let nodes = nodes(&treedef);
        let there = nodes.iter().filter(|(_, node)| node.kind() == NodeKind::Leaf).count();
        check(treedef.num_leaves() == leaves.len(), || "num_leaves".to_owned())?;
        check(there == leaves.len(), || format!("{there} nodes for {} leaves", leaves.len()))?;
        check(treedef.num_nodes() == nodes.len(), || "num_nodes".to_owned())?;
        let mut next_leaf = 0;
        for (index, (path, node)) in nodes.iter().enumerate() {
            let depth = path.keys().len();
            let below = nodes.iter().skip(index + 1);
            let below = below.take_while(|(other, _)| other.keys().len() > depth).count();
            check(node.to_treedef().num_nodes() == below + 1, || format!("num_nodes at `{path}`"))?;
            check(node.leaf_range().start == next_leaf, || format!("leaf_range at `{path}`"))?;
            check(node.num_children() == node.children().len(), || format!("at `{path}`"))?;
            check(node.num_children() == node.children().count(), || format!("at `{path}`"))?;
            next_leaf += usize::from(node.kind() == NodeKind::Leaf);
        }
        Ok(())
    });
}

#[test]
fn text_parses_back() {
    hold(|specimen, flattener| {
        let (_, treedef) = flatten(specimen, flattener)?;
        for text in [treedef.to_string(), format!("{treedef:#}")] {
            let parsed: TreeDef = text.parse().map_err(|error| format!("{error} in {text}"))?;
            check(parsed == treedef, || format!("{text} parsed as {parsed}"))?;
            check(hash(&parsed) == hash(&treedef), || format!("hash of {text}"))?;
            check(parsed.to_string() == treedef.to_string(), || format!("{text} is not stable"))?;
        }
        Ok(())
    });
}

#[test]
fn a_treedef_that_was_text_rebuilds_but_for_the_order_of_maps() {
    hold(|specimen, flattener| {
        let (leaves, treedef) = flatten(specimen, flattener)?;
        let parsed: TreeDef = treedef.to_string().parse().map_err(|error| format!("{error}"))?;
        let rebuilt = specimen
            .laws
            .rebuild(WAYS[0], &parsed, &leaves)
            .map_err(|error| format!("unflatten: {error}"))?;
        let (again, same) = rebuilt.flatten(flattener).map_err(|error| error.to_string())?;
        check(same == treedef && again == leaves, || format!("{treedef} became {same}"))
    });
}

/// A line may be long only where it ends in an opening bracket, or holds a node that cannot be
/// broken.
#[test]
fn pretty_lines_fit_where_they_can_be_broken() {
    let can_be_broken = |line: &str| {
        let starts = std::iter::once(0).chain(line.match_indices(": ").map(|(at, _)| at + 2));
        let line = line.trim_end_matches(',');
        starts.filter_map(|start| line.get(start..)?.trim_start().parse::<TreeDef>().ok()).any(
            |treedef| {
                nodes(&treedef).iter().any(|(_, node)| {
                    node.num_children() > 0
                        && !matches!(
                            node.kind(),
                            NodeKind::Some | NodeKind::NewtypeStruct | NodeKind::NewtypeVariant
                        )
                })
            },
        )
    };
    hold(|specimen, flattener| {
        let (_, treedef) = flatten(specimen, flattener)?;
        let text = format!("{treedef:#}");
        let too_long =
            text.lines().find(|line| line.chars().count() > 80 && can_be_broken(line.trim_start()));
        check(too_long.is_none(), || format!("{too_long:?} in\n{text}"))
    });
}

#[test]
fn every_path_prints_parses_and_leads_where_it_came_from() {
    hold(|specimen, flattener| {
        let (_, treedef) = flatten(specimen, flattener)?;
        if repeats_keys(&treedef) {
            return Ok(());
        }
        let mut leaves = Vec::new();
        for (path, node) in nodes(&treedef) {
            let at = || format!("at `{path}`");
            check(path.to_string().parse().ok().as_ref() == Some(&path), at)?;
            check(
                treedef.node(&path).ok().map(NodeRef::leaf_range) == Some(node.leaf_range()),
                at,
            )?;
            let found = treedef.node(&path).map_err(|error| error.to_string())?;
            check(found.kind() == node.kind() && found.to_string() == node.to_string(), at)?;
            for (position, child) in node.children().enumerate() {
                let key = node.key(position).ok_or_else(at)?;
                check(key.to_string().parse().ok().as_ref() == Some(&key), || {
                    format!("key `{key}`")
                })?;
                check(node.position(&key) == Some(position), || format!("position of `{key}`"))?;
                let by_key = node.child(position).ok_or_else(at)?;
                check(by_key.leaf_range() == child.leaf_range(), at)?;
                check(by_key.to_string() == child.to_string(), at)?;
            }
            check(node.key(node.num_children()).is_none(), at)?;
            if node.kind() == NodeKind::Leaf {
                leaves.push(path);
            }
        }
        for (index, path) in leaves.iter().enumerate() {
            check(treedef.leaf_path(index).ok().as_ref() == Some(path), || {
                format!("leaf {index}")
            })?;
            check(
                treedef.node(path).ok().map(NodeRef::leaf_range) == Some(index..index + 1),
                || format!("at `{path}`"),
            )?;
        }
        check(treedef.leaf_paths().eq(leaves.iter().cloned()), || "leaf_paths".to_owned())?;
        check(treedef.leaf_path(leaves.len()).is_err(), || "a leaf beyond the last".to_owned())?;
        let distinct: HashSet<_> = leaves.iter().collect();
        check(distinct.len() == leaves.len(), || "two leaves of one path".to_owned())
    });
}

#[test]
fn neighbouring_runs_differ() {
    hold(|specimen, flattener| {
        let (_, treedef) = flatten(specimen, flattener)?;
        for (path, node) in nodes(&treedef) {
            let runs: Vec<_> =
                node.runs().map(|(first, count)| (first.to_string(), count)).collect();
            let equal = runs.windows(2).find(|pair| pair[0].0 == pair[1].0);
            check(equal.is_none(), || format!("{equal:?} at `{path}`"))?;
            let children: usize = runs.iter().map(|(_, count)| count).sum();
            check(children == node.num_children(), || format!("runs at `{path}`"))?;
            let expanded = runs.iter().flat_map(|(text, count)| std::iter::repeat_n(text, *count));
            let same = expanded.cloned().eq(node.children().map(|child| child.to_string()));
            check(same, || format!("runs and children at `{path}`"))?;
        }
        Ok(())
    });
}

#[test]
fn limits_and_memory_of_order_take_no_part_in_equality() {
    for specimen in zoo() {
        let (_, treedef) = specimen.laws.flatten(&Flattener::new()).unwrap();
        let other = treedef.clone().with_limits(treedef::Limits {
            max_depth: 3,
            max_work: 5,
            ..treedef::Limits::default()
        });
        assert_eq!(treedef, other, "{}", specimen.name);
        assert_eq!(hash(&treedef), hash(&other), "{}", specimen.name);
    }
}

#[test]
fn specimens_of_one_text_are_equal_and_others_are_not() {
    let treedefs: Vec<_> =
        zoo().iter().map(|specimen| specimen.laws.structure().unwrap()).collect();
    let texts: Vec<_> = treedefs.iter().map(TreeDef::to_string).collect();
    for (a, text) in treedefs.iter().zip(&texts) {
        for (b, other) in treedefs.iter().zip(&texts) {
            assert_eq!(a == b, text == other, "{text} and {other}");
            assert!(a != b || hash(a) == hash(b), "{text} has two hashes");
        }
    }
}

#[test]
fn there_is_no_child_beyond_the_last() {
    for specimen in zoo() {
        let (_, treedef) = flatten(&specimen, &Flattener::new()).unwrap();
        let mut pending = vec![treedef.root()];
        while let Some(node) = pending.pop() {
            let count = node.num_children();
            for beyond in [count, count + 1, usize::MAX] {
                assert!(node.child(beyond).is_none() && node.key(beyond).is_none());
            }
            let mut children = node.children();
            assert!(children.nth(count).is_none() && children.next().is_none());
            pending.extend(node.children());
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Borrowing<'a> {
    text: &'a str,
    #[serde(with = "serde_bytes")]
    bytes: &'a [u8],
    #[serde(borrow)]
    cow: Cow<'a, str>,
    #[serde(borrow, with = "serde_bytes")]
    cow_bytes: Cow<'a, [u8]>,
    option: Option<&'a str>,
    list: Vec<&'a str>,
    #[serde(borrow)]
    wrapped: BTreeMap<&'a str, Wrapped<'a>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t")]
enum Wrapped<'a> {
    Text {
        text: &'a str,
    },
    Rest {
        #[serde(borrow, flatten)]
        rest: BTreeMap<&'a str, &'a str>,
    },
}

#[test]
fn borrowed_values_point_into_the_leaves() {
    let value = Borrowing {
        text: "text",
        bytes: b"bytes",
        cow: "cow".into(),
        cow_bytes: Cow::Borrowed(b"cow bytes"),
        option: Some("option"),
        list: vec!["a", "b"],
        wrapped: BTreeMap::from([
            ("k", Wrapped::Text { text: "inside a buffer" }),
            ("l", Wrapped::Rest { rest: BTreeMap::from([("key", "value")]) }),
        ]),
    };
    let (leaves, treedef) = treedef::flatten(&value).unwrap();
    let rebuilt: Borrowing<'_> = treedef::unflatten_borrowed(&treedef, &leaves).unwrap();
    assert_eq!(rebuilt, value);

    let texts: Vec<_> = leaves.iter().filter_map(Leaf::as_str).map(str::as_ptr).collect();
    let [Leaf::Bytes(bytes), Leaf::Bytes(cow_bytes)] = [&leaves[1], &leaves[3]] else {
        panic!("bytes expected in {leaves:?}")
    };
    assert_eq!(rebuilt.text.as_ptr(), texts[0]);
    assert_eq!(rebuilt.bytes.as_ptr(), bytes.as_ptr());
    assert!(matches!(rebuilt.cow, Cow::Borrowed(text) if text.as_ptr() == texts[1]));
    assert!(
        matches!(rebuilt.cow_bytes, Cow::Borrowed(bytes) if bytes.as_ptr() == cow_bytes.as_ptr())
    );
    assert_eq!(rebuilt.option.map(str::as_ptr), Some(texts[2]));
    assert_eq!(rebuilt.list.iter().map(|text| text.as_ptr()).collect::<Vec<_>>(), texts[3..5]);
    let Some(Wrapped::Text { text }) = rebuilt.wrapped.get("k") else { panic!("{rebuilt:?}") };
    assert!(texts.contains(&text.as_ptr()));
    let Some(Wrapped::Rest { rest }) = rebuilt.wrapped.get("l") else { panic!("{rebuilt:?}") };
    assert!(texts.contains(&rest["key"].as_ptr()));
}

#[test]
fn borrowed_types_refuse_what_was_handed_over() {
    let (leaves, treedef) = treedef::flatten("a").unwrap();
    assert_eq!(treedef::unflatten_borrowed::<&str>(&treedef, &leaves).unwrap(), "a");
    assert_eq!(treedef::unflatten::<Cow<'static, str>>(&treedef, leaves).unwrap(), "a");
}

/// A value that serde itself cannot restore is refused with a reason, and never restored wrongly.
#[test]
fn what_cannot_come_back_says_so() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Asymmetric {
        #[serde(rename(serialize = "out", deserialize = "in"))]
        field: u8,
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Buffered {
        #[serde(flatten)]
        wide: Wide,
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Wide {
        number: u128,
    }
    fn refusal<T: Serialize + for<'de> Deserialize<'de>>(value: &T) -> String {
        let (leaves, treedef) = treedef::flatten(value).unwrap();
        match treedef::unflatten::<T>(&treedef, leaves) {
            Ok(_) => panic!("{treedef} came back"),
            Err(error) => error.to_string(),
        }
    }
    assert!(refusal(&Asymmetric { field: 1 }).contains("renamed? `#[serde(alias = "));
    assert!(refusal(&Buffered { wide: Wide { number: 1 } }).contains("serde issue 1682"));
    assert!(refusal(&serde_spanned::Spanned::new(0..1, 1)).contains("Spanned"));
    let (leaves, treedef) = treedef::flatten(&[1u8, 2][..]).unwrap();
    let error = treedef::unflatten_borrowed::<&[u8]>(&treedef, &leaves).unwrap_err();
    assert!(error.to_string().contains("serde_bytes"), "{error}");
}

/// Nothing that was cached for one structure applies to the next, which may be at the same address.
#[test]
fn fields_in_another_order_are_read_by_their_names() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Point {
        x: f64,
        y: f64,
        z: [f64; 2],
    }
    let orders = [
        ("Point { x: *, y: *, z: (*, *) }", [1.0, 2.0, 3.0, 4.0]),
        ("Point { y: *, x: *, z: (*, *) }", [2.0, 1.0, 3.0, 4.0]),
        ("Point { z: (*, *), y: *, x: * }", [3.0, 4.0, 2.0, 1.0]),
        ("Point { z: (*, *), x: *, y: * }", [3.0, 4.0, 1.0, 2.0]),
    ];
    for (text, leaves) in orders.iter().cycle().take(100) {
        let treedef: TreeDef = text.parse().unwrap();
        let point: Point = treedef::unflatten(&treedef, leaves).unwrap();
        assert_eq!(point, Point { x: 1.0, y: 2.0, z: [3.0, 4.0] }, "{text}");
    }
}
