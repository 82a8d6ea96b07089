//! Small files that represent something huge: refused, or harmless in every operation on
//! them.

use treedef::{Limits, Tree, TreeDef};

use crate::crafted::{Tables, Values, opaque_leaf};
use crate::layout::{HEADER, NONE, kind, lengths, load, long, parts, put, repair};
use crate::smoke::{all_of_treedef, within_bounds};
use crate::specimens::files;

#[test]
#[cfg(target_pointer_width = "64")] // the counts have more than 32 bits
fn huge_structures_with_short_texts() {
    let nested = |leaf: &str, run: &str, levels: usize| {
        format!("{}{leaf}{}", "[".repeat(levels), format!("; {run}]").repeat(levels))
    };
    let texts = [
        "[(); 1152921504606846976]".to_owned(),
        "[None; 18446744073709551615]".to_owned(),
        "(Marker; 9223372036854775808)".to_owned(),
        "[*; 18446744073709551615]".to_owned(),
        "[(*, (); 1152921504606846976); 1048576]".to_owned(),
        "[Shape::Line((); 18446744073709551615); 18446744073709551615]".to_owned(),
        "[{\"a\": {\"b\": *}, \"c\": {}}; 1152921504606846976]".to_owned(),
        "[static [1u8; 1000]; 18446744073709551615]".to_owned(),
        nested("*", "1048576", 3),
        nested("(*, *)", "2", 60),
        nested("()", "1048576", 3),
        nested("()", "18446744073709551615", 127),
        nested("Empty {}", "2", 127),
        nested("Some(())", "4611686018427387904", 100),
    ];
    for text in texts {
        let treedef: TreeDef = within_bounds(&text, text.len(), || text.parse().unwrap());
        all_of_treedef(&treedef, text.len());
        let bytes = treedef.to_bytes().unwrap();
        let loaded = within_bounds(&text, bytes.len(), || TreeDef::from_bytes(&bytes).unwrap());
        assert_eq!(loaded, treedef);
        all_of_treedef(&loaded, bytes.len());
    }
}

/// Reads a file, in bounded memory, and does everything with it if it was read. That includes
/// printing it, so the text has to be bounded as well.
#[track_caller]
fn read(bytes: &[u8]) -> Result<(), treedef::Error> {
    read_with(bytes, Limits { max_work: 1 << 17, ..Limits::default() })
}

#[track_caller]
fn read_with(bytes: &[u8], limits: Limits) -> Result<(), treedef::Error> {
    let reading = || TreeDef::from_bytes_with(bytes, limits);
    let treedef = within_bounds("reading a bomb", bytes.len(), reading)?;
    all_of_treedef(&treedef, bytes.len());
    Ok(())
}

/// The default limits allow more for harmless texts, which are read without allocating.
#[test]
fn a_text_that_is_bounded_costs_nothing_to_read() {
    let bytes = doubling(22, "S", kind::UNIT).file(None, 0);
    let treedef = within_bounds("reading", bytes.len(), || TreeDef::from_bytes(&bytes).unwrap());
    assert_eq!(treedef.num_nodes(), (1 << 23) - 1);
    let refusal = TreeDef::from_bytes(&doubling(24, "S", kind::UNIT).file(None, 0)).unwrap_err();
    insta::assert_snapshot!(refusal, @"33554431 nodes to visit, the limit is 16778816 in the structure (see `Limits::max_work`)");
}

#[track_caller]
fn refusal(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn lengths_that_are_a_lie() {
    let mut cases = 0;
    for (name, bytes) in files() {
        for at in lengths(&bytes) {
            for length in [1 << 32, 1 << 40, (1 << 62) + 1, 1 << 63, u64::MAX - 63, u64::MAX] {
                let mut bytes = bytes.clone();
                put(&mut bytes, at, &length.to_le_bytes());
                repair(&mut bytes);
                assert!(within_bounds(&name, bytes.len(), || load(&bytes).is_err()), "{name} {at}");
                cases += 1;
            }
        }
    }
    assert!(cases > 2_000, "{cases} cases");
}

/// A struct with two equal fields, which are again such structs, and so on.
fn doubling(levels: u32, name: &str, atom: u8) -> Tables {
    let mut tables = Tables::default();
    tables.labels = vec![1, 2];
    tables.node_data = vec![(tables.name(name), NONE, 1, 2)];
    tables.name("a");
    tables.name("b");
    for level in 0..levels {
        let repeat = if level == 0 { 1 } else { 2 };
        tables.nodes.push((kind::STRUCT, 0, levels + 1 - level, repeat));
    }
    tables.nodes.push((atom, NONE, 1, 2));
    tables
}

#[test]
#[cfg(target_pointer_width = "64")] // the counts have more than 32 bits
fn doubling_structs() {
    for (levels, atom) in [(24, kind::LEAF), (60, kind::LEAF), (60, kind::UNIT), (64, kind::NONE)] {
        let leaves = if atom == kind::LEAF { 1 << levels } else { 0 };
        let refusal = refusal(&doubling(levels, "S", atom).file(None, leaves));
        assert!(refusal.contains("nodes to visit, the limit is"), "{levels}: {refusal}");
    }
    let refusal = refusal(&doubling(64, "S", kind::LEAF).file(None, 0));
    insta::assert_snapshot!(refusal, @"too large: a count exceeds 64 bits in the structure");
    read(&doubling(8, "S", kind::LEAF).file(None, 1 << 8)).unwrap();
}

/// The text spells a name wherever it is used.
#[test]
fn long_names_in_doubling_structs() {
    let long = |levels| doubling(levels, &"n".repeat(10_000), kind::UNIT).file(None, 0);
    read(&long(5)).unwrap();
    insta::assert_snapshot!(refusal(&long(12)), @"2567566 nodes to visit, the limit is 171904 in the structure (see `Limits::max_work`)");
}

/// As often doubled, a static string.
fn doubled_static(levels: u32, length: usize) -> Vec<u8> {
    let mut tables = doubling(levels, "S", kind::STATIC);
    tables.node_data.push((NONE, NONE, 3, 1));
    tables.labels.push(0);
    tables.nodes.last_mut().unwrap().1 = 1;
    let values =
        Values { rows: vec![(0, 0, 1)], runs: vec![(14, 1)], lengths: vec![length as u64] };
    tables.file(Some((&values, "n".repeat(length).as_bytes())), 0)
}

#[test]
fn statics_in_doubling_structs() {
    let refusal = refusal(&doubled_static(40, 10));
    assert!(refusal.contains("nodes to visit, the limit is"), "{refusal}");
}

#[test]
fn long_statics_in_doubling_structs() {
    insta::assert_snapshot!(refusal(&doubled_static(12, 10_000)), @"2572287 nodes to visit, the limit is 171968 in the structure (see `Limits::max_work`)");
}

/// The nodes that two equal nodes would have as text, doubled 20 times. 16 bytes count as one.
#[track_caller]
fn doubled(nodes: &[(u8, u32, u32, u64)], values: Option<(&Values, &[u8])>) -> u64 {
    let mut tables = doubling(20, "S", kind::UNIT);
    tables.nodes.pop();
    tables.nodes.iter_mut().for_each(|node| node.2 += u32::try_from(nodes.len()).unwrap() - 1);
    tables.nodes.extend_from_slice(nodes);
    if values.is_some() {
        tables.node_data.push((NONE, NONE, 3, 1));
        tables.labels.push(0);
    }
    let error = read(&tables.file(values, 0)).unwrap_err().to_string();
    let (needed, _) = error.split_once(" nodes to visit, the limit is ").expect(&error);
    needed.parse().unwrap()
}

/// A run counts once where the text has `x; n`.
#[test]
fn doubled_runs() {
    let seq = |span, repeat| (kind::SEQ, NONE, span, repeat);
    let units = |repeat| (kind::UNIT, NONE, 1, repeat);
    assert_eq!(doubled(&[units(2)], None), 2_097_151);
    assert_eq!(doubled(&[seq(2, 2), units(4)], None), 6_291_455);
    assert_eq!(doubled(&[seq(2, 2), units(5)], None), 3_145_727);
    assert_eq!(doubled(&[seq(2, 2), seq(1, 4)], None), 6_291_455);
    assert_eq!(doubled(&[seq(3, 2), seq(2, 4), units(1)], None), 4_194_303);
}

#[test]
fn doubled_statics() {
    let doubled = |code, lengths: &[u64], bits: &[u8]| {
        let (runs, lengths) = (vec![(code, 1)], lengths.to_vec());
        let values = Values { rows: vec![(0, 0, 1)], runs, lengths };
        doubled(&[(kind::STATIC, 1, 1, 2)], Some((&values, bits)))
    };
    assert_eq!(doubled(14, &[100], &[b'n'; 100]), 9_437_183);
    assert_eq!(doubled(15, &[100], &[0xff; 100]), 9_437_183);
    assert_eq!(doubled(6, &[], &[7]), 3_145_727);
}

fn nested(levels: u32) -> Tables {
    let levels = (0..levels).map(|level| (kind::SEQ, NONE, levels - level, 1));
    Tables { nodes: levels.collect(), ..Tables::default() }
}

#[test]
fn deep_nesting() {
    read(&nested(128).file(None, 0)).unwrap();
    for levels in [129, 1_000, 100_000] {
        let refusal = refusal(&nested(levels).file(None, 0));
        assert!(refusal.starts_with("nested deeper than 128 levels"), "{refusal}");
    }
    let bytes = nested(100_000).file(None, 0);
    let generous = Limits { max_depth: 200_000, ..Limits::default() };
    let treedef = within_bounds("a deep treedef", bytes.len(), || {
        TreeDef::from_bytes_with(&bytes, generous).unwrap()
    });
    assert_eq!(treedef.to_bytes().unwrap(), bytes);
    assert_eq!((treedef.num_nodes(), treedef.to_string().len()), (100_000, 200_000));
    let error = TreeDef::from_bytes(&bytes).unwrap_err();
    assert!(error.to_string().contains("nested deeper than 128 levels"), "{error}");
}

#[test]
fn a_leaf_as_deep_as_may_be() {
    let mut tables = nested(129);
    tables.nodes.last_mut().unwrap().0 = kind::LEAF;
    read(&tables.file(None, 1)).unwrap();
}

/// A map whose key is a map, and so on.
fn nested_keys(levels: u32) -> Vec<u8> {
    let count = levels as usize;
    let tables = Tables {
        node_data: vec![(NONE, NONE, 2, 1); count],
        labels: (0..levels).collect(),
        nodes: [(kind::MAP, 0, 2, 1), (kind::LEAF, NONE, 1, 1)].repeat(count),
        ..Tables::default()
    };
    let mut values = Values { runs: vec![(6, levels.into())], ..Values::default() };
    values.rows = vec![(2, 1, 1); count];
    values.rows[0] = (0, 0, 1);
    tables.file(Some((&values, &vec![0; count])), 1)
}

/// Values are compared and dropped recursively, so no limit on depth allows more.
#[test]
fn deep_nesting_of_keys() {
    let generous = Limits { max_depth: 1_000_000, ..Limits::default() };
    let deepest = format!("{}0{}: *}}", "{".repeat(128), ": 0}".repeat(127));
    let deepest = TreeDef::parse_with(&deepest, generous).unwrap();
    let bytes = deepest.to_bytes().unwrap();
    assert_eq!(TreeDef::from_bytes_with(&bytes, generous).unwrap(), deepest);
    for levels in [129, 1_000, 100_000] {
        let error = TreeDef::from_bytes_with(&nested_keys(levels), generous).unwrap_err();
        assert!(error.to_string().contains("nested too deeply"), "{levels}: {error}");
    }
}

/// Fields of one struct that all have the same long name.
fn labelled(fields: u32, length: usize) -> Vec<u8> {
    let mut tables = Tables::default();
    tables.node_data = vec![(tables.name("S"), NONE, 1, fields)];
    let field = tables.name(&"n".repeat(length));
    tables.labels = vec![field; fields.try_into().unwrap()];
    tables.nodes = vec![(kind::STRUCT, 0, 2, 1), (kind::UNIT, NONE, 1, fields.into())];
    tables.file(None, 0)
}

#[test]
fn one_long_name_for_many_fields() {
    let refusal_of_many = refusal(&labelled(100_000, 1_000));
    assert!(refusal_of_many.contains("bytes of names, the limit is"), "{refusal_of_many}");
    assert!(refusal(&labelled(40, 60_000)).contains("bytes of names, the limit is"));
    read(&labelled(1, 70_000)).unwrap();
}

#[test]
fn one_long_name_for_several_fields() {
    let bytes = labelled(900, 1_000);
    let treedef = within_bounds("reading", bytes.len(), || TreeDef::from_bytes(&bytes).unwrap());
    assert_eq!(treedef.root().fields().len(), 900);
}

/// To rebuild and to write a value among the leaves visits each of its elements.
#[test]
#[cfg(target_pointer_width = "64")] // the count has more than 32 bits
fn long_values_among_the_leaves() {
    let units = |kind, count| {
        let nodes = vec![(kind::SEQ, NONE, 2, 1), (kind, NONE, 1, count)];
        opaque_leaf(&Tables { nodes, ..Tables::default() })
    };
    let tree = Tree::from_bytes(&units(kind::UNIT, 1000)).unwrap();
    assert_eq!(tree.into_typed::<Vec<()>>().unwrap().len(), 1000);
    for kind in [kind::UNIT, kind::NONE] {
        let error = Tree::from_bytes(&units(kind, 1 << 60)).unwrap_err();
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @"1152921504606846977 nodes to visit, the limit is 16777344 in the values among the leaves (see `Limits::max_work`)");
        }
    }
}

#[test]
fn leaves_of_alternating_kinds() {
    let tree = Tree::of(&vec![(1u8, true); 10_000]).unwrap();
    let bytes = tree.to_bytes().unwrap();
    let read = within_bounds("a tree", bytes.len(), || load(&bytes).unwrap());
    assert_eq!(read.to_bytes().unwrap(), bytes);
}

/// Two keys that are long to compare and short to write, in many maps.
fn long_keys(maps: u32) -> Vec<u8> {
    let mut tables = Tables::default();
    for run in [50_000, 50_001] {
        tables.nodes.extend([(kind::SEQ, NONE, 2, 1), (kind::UNIT, NONE, 1, run)]);
    }
    tables.node_data = vec![(NONE, NONE, 2, 2)];
    tables.labels = vec![0, 1];
    tables.nodes.push((kind::SEQ, NONE, 1 + 2 * maps, 1));
    for map in 0..maps {
        let atom = [kind::UNIT, kind::NONE][map as usize % 2];
        tables.nodes.extend([(kind::MAP, 0, 2, 1), (atom, NONE, 1, 2)]);
    }
    let values = Values { rows: vec![(2, 0, 0); 2], ..Values::default() };
    tables.file(Some((&values, &[])), 0)
}

#[test]
fn keys_that_are_long_to_compare() {
    read(&long_keys(1)).unwrap();
    let limits = Limits { max_work: 1 << 20, ..Limits::default() };
    let error = TreeDef::from_bytes_with(&long_keys(30), limits).unwrap_err();
    assert!(error.to_string().contains("nodes to visit"), "{error}");
    read_with(&long_keys(30), Limits::default()).unwrap();
}

/// Many maps that share many keys: their text would be as long as both together.
fn many_keys(keys: u32, maps: u32) -> Vec<u8> {
    let mut tables = Tables {
        node_data: vec![(NONE, NONE, 2, keys)],
        labels: (0..keys).collect(),
        nodes: vec![(kind::SEQ, NONE, 1 + 2 * maps, 1)],
        ..Tables::default()
    };
    for map in 0..maps {
        let atom = [kind::UNIT, kind::NONE][map as usize % 2];
        tables.nodes.extend([(kind::MAP, 0, 2, 1), (atom, NONE, 1, keys.into())]);
    }
    let values = Values {
        rows: vec![(0, 0, 1); keys as usize],
        runs: vec![(8, keys.into())],
        lengths: vec![],
    };
    let bits: Vec<u8> = (0..keys).flat_map(u32::to_le_bytes).collect();
    tables.file(Some((&values, &bits)), 0)
}

#[test]
fn maps_that_share_many_keys() {
    read(&many_keys(40, 40)).unwrap();
    for (keys, maps) in [(100, 1_000), (1_000, 100)] {
        let limits = Limits { max_work: 1 << 13, ..Limits::default() };
        let error = TreeDef::from_bytes_with(&many_keys(keys, maps), limits).unwrap_err();
        assert!(error.to_string().contains("nodes to visit"), "{error}");
    }
}

/// A MiB whose text would have 400 million nodes.
#[test]
fn maps_that_share_more_keys() {
    let refusal = refusal(&many_keys(20_000, 20_000));
    assert!(refusal.contains("nodes to visit, the limit is"), "{refusal}");
}

#[test]
fn orders_that_are_a_lie() {
    let unordered: indexmap::IndexMap<&str, u8> = [("b", 1), ("a", 2)].into();
    let tree = Tree::of(&vec![unordered; 3]).unwrap();
    let original = tree.to_bytes().unwrap();
    let orders = parts(&original)[1].start;
    let rows = long(&original, orders).unwrap();
    assert_eq!(rows, 3);
    for row in 0..rows {
        let (structure, map) = (orders + 8 + 12 * row, orders + 12 + 12 * row);
        for at in [structure, map, map + 3, orders + 16 + 12 * rows, orders + 24 + 12 * rows] {
            for new in [7, 1 << 31, u32::MAX] {
                let mut bytes = original.clone();
                put(&mut bytes, at, &u32::to_le_bytes(new));
                repair(&mut bytes);
                let refused = within_bounds("orders", bytes.len(), || load(&bytes).is_err());
                assert!(refused, "row {row}, {new} at {at}");
            }
        }
    }
}

/// Before anything of them is read.
#[test]
fn files_beyond_a_limit() {
    let treedef: TreeDef = "[(*, None), ()]".parse().unwrap();
    let (bytes, default) = (treedef.to_bytes().unwrap(), Limits::default());
    let length = bytes.len() - HEADER;
    let read = |limits| TreeDef::from_bytes_with(&bytes, limits);
    assert_eq!(read(Limits { max_bytes: length, max_nodes: 5, ..default }).unwrap(), treedef);
    let refusal = |limits| read(limits).unwrap_err().to_string();
    assert_eq!(
        refusal(Limits { max_bytes: length - 1, ..default }),
        format!("{length} bytes, the limit is {} (see `Limits::max_bytes`)", length - 1)
    );
    assert_eq!(
        refusal(Limits { max_nodes: 4, ..default }),
        "5 nodes, the limit is 4 (see `Limits::max_nodes`)"
    );
}
