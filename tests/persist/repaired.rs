//! Damage behind checksums that fit, as only an attacker makes it: refused, or a file that somebody
//! could have written.

use std::collections::HashSet;

use fastrand::Rng;
use treedef::{Tree, TreeDef};
use treedef_testing::cases::{cases, stride};

use crate::crafted::{Tables, Values};
use crate::layout::{
    CHECKSUMS, HEADER, NONE, around, kind, lengths, load, long, parts, put, repair,
};
use crate::smoke::{all_of_leaves, all_of_treedef, within_bounds};
use crate::specimens::files;

#[derive(Default)]
struct Outcomes {
    refused: usize,
    read: usize,
    /// Everything has been done with these.
    seen: HashSet<TreeDef>,
}

impl Outcomes {
    #[track_caller]
    fn assert_at_least(&self, refused: usize, read: usize) {
        let found = (self.refused, self.read);
        assert!(found.0 >= refused && found.1 >= read, "{found:?}");
    }

    #[track_caller]
    fn expect(&mut self, mut bytes: Vec<u8>, original: &[u8], name: &str) {
        repair(&mut bytes);
        if bytes == original {
            return;
        }
        match within_bounds(name, bytes.len(), || load(&bytes)) {
            Err(_) => self.refused += 1,
            Ok(loaded) => {
                self.read += 1;
                assert_eq!(loaded.to_bytes().unwrap(), bytes, "{name}");
                if self.seen.insert(loaded.treedef().clone()) {
                    all_of_treedef(loaded.treedef(), bytes.len());
                }
                all_of_leaves(&loaded, bytes.len());
            }
        }
    }
}

const LONG: [u64; 12] = [
    0,
    1,
    2,
    1 << 20,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 40,
    1 << 60,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];
const SHORT: [u32; 7] = [0, 1, 2, 1 << 20, 1 << 31, u32::MAX - 1, u32::MAX];

fn is_checksum(at: usize) -> bool {
    (CHECKSUMS..HEADER).contains(&at)
}

#[test]
fn changed_bytes_are_refused_or_valid() {
    let mut outcomes = Outcomes::default();
    for (name, bytes) in files() {
        for at in (0..bytes.len()).filter(|at| !is_checksum(*at)).step_by(stride()) {
            let byte = bytes[at];
            for new in [0, 1, 0x7f, 0x80, 0xff, byte.wrapping_add(1), byte.wrapping_sub(1)] {
                let mut changed = bytes.clone();
                changed[at] = new;
                outcomes.expect(changed, &bytes, &name);
            }
        }
    }
    outcomes.assert_at_least(40_000 / stride(), 1_000 / stride());
}

#[test]
fn changed_fields_are_refused_or_valid() {
    let mut outcomes = Outcomes::default();
    for (name, bytes) in files() {
        for at in (0..bytes.len() - 3).filter(|at| !is_checksum(*at)).step_by(stride()) {
            let long = LONG.map(|new| new.to_le_bytes().to_vec());
            let short = SHORT.map(|new| new.to_le_bytes().to_vec());
            for field in long.iter().chain(&short) {
                if at + field.len() <= bytes.len() {
                    let mut changed = bytes.clone();
                    put(&mut changed, at, field);
                    outcomes.expect(changed, &bytes, &name);
                }
            }
        }
    }
    outcomes.assert_at_least(100_000 / stride(), 1_000 / stride());
}

/// A row that is lost or occurs twice, with a table, a part and a header that are consistent with it.
#[test]
fn lost_and_doubled_rows_are_refused_or_valid() {
    let mut outcomes = Outcomes::default();
    for (name, bytes) in files() {
        for length in lengths(&bytes) {
            for width in [1, 4, 8, 9, 12, 13, 17] {
                for start in (0..12).map(|row| length + 8 + row * width) {
                    let Some(row) = bytes.get(start..start + width) else { break };
                    let (mut lost, mut doubled) = (bytes.clone(), bytes.clone());
                    let around = around(&bytes, length).into_iter().map(|at| (at, width));
                    for (at, by) in around.chain([(length, 1)]) {
                        let old = long(&bytes, at).unwrap();
                        put(&mut lost, at, &old.wrapping_sub(by).to_le_bytes());
                        put(&mut doubled, at, &old.wrapping_add(by).to_le_bytes());
                    }
                    drop(lost.drain(start..start + width));
                    drop(doubled.splice(start..start, row.iter().copied()));
                    outcomes.expect(lost, &bytes, &name);
                    outcomes.expect(doubled, &bytes, &name);
                }
            }
        }
    }
    outcomes.assert_at_least(2_000, 0);
}

#[test]
fn several_changes_are_refused_or_valid() {
    let (files, mut rng) = (files(), Rng::with_seed(2));
    let mut outcomes = Outcomes::default();
    let all = cases(50_000) as usize;
    while outcomes.refused + outcomes.read < all {
        let (name, bytes) = &files[rng.usize(..files.len())];
        let mut changed = bytes.clone();
        for _ in 0..rng.usize(2..=4) {
            let at = rng.usize(HEADER..bytes.len());
            changed[at] =
                if rng.bool() { bytes[rng.usize(HEADER..bytes.len())] } else { rng.u8(..4) };
        }
        outcomes.expect(changed, bytes, name);
    }
    outcomes.assert_at_least(all / 5 * 4, all / 50);
}

/// A key with a leaf that only `none_is_leaf` makes, which never applies to keys.
#[test]
fn nones_among_the_scalars_of_a_key_are_refused() {
    let mut tables =
        Tables { node_data: vec![(NONE, NONE, 2, 1)], labels: vec![0], ..Tables::default() };
    tables.nodes = vec![(kind::MAP, 0, 2, 1), (kind::UNIT, NONE, 1, 1)];
    let read = |code| {
        let values = Values { rows: vec![(0, 0, 1)], runs: vec![(code, 1)], ..Values::default() };
        TreeDef::from_bytes(&tables.file(Some((&values, &[0])), 0))
    };
    read(0).unwrap();
    for code in [16, 17] {
        let refusal = read(code).unwrap_err().to_string();
        assert!(refusal.ends_with("a value holds a leaf that is not a scalar"), "{refusal}");
    }
}

/// Maps and statics have node data, for their keys and their value, and no name.
#[test]
fn names_of_what_has_none_are_refused() {
    let values = Values { rows: vec![(0, 0, 1)], runs: vec![(0, 1)], ..Values::default() };
    let read = |name, variant, form, nodes: &[_]| {
        let mut tables = Tables { labels: vec![0], nodes: nodes.to_vec(), ..Tables::default() };
        if (name, variant) != (NONE, NONE) {
            tables.name("n");
        }
        tables.node_data = vec![(name, variant, form, 1)];
        TreeDef::from_bytes(&tables.file(Some((&values, &[0])), 0))
    };
    let map = [(kind::MAP, 0, 2, 1), (kind::UNIT, NONE, 1, 1)];
    let statics = [(kind::STATIC, 0, 1, 1)];
    for (form, nodes) in [(2, &map[..]), (3, &statics)] {
        read(NONE, NONE, form, nodes).unwrap();
        for (name, variant) in [(0, NONE), (NONE, 0), (0, 0)] {
            let refusal = read(name, variant, form, nodes).unwrap_err().to_string();
            assert!(refusal.ends_with("a node has node data of another kind"), "{refusal}");
        }
    }
}

/// A tree of one map, and where the orders of its maps stand: two tables, of one row and of three.
fn unordered() -> (Vec<u8>, usize) {
    let map: indexmap::IndexMap<&str, u8> = [("c", 1), ("a", 2), ("b", 3)].into();
    let bytes = Tree::of(&map).unwrap().to_bytes().unwrap();
    let orders = parts(&bytes)[1].start;
    (bytes, orders)
}

#[test]
fn an_order_has_every_entry_once() {
    let (original, orders) = unordered();
    for order in (0..64).map(|number: u64| [number / 16, number / 4 % 4, number % 4]) {
        let mut bytes = original.clone();
        put(&mut bytes, orders + 28, &order.map(u64::to_le_bytes).concat());
        repair(&mut bytes);
        let distinct = HashSet::from(order).len() == 3 && !order.contains(&3);
        assert_eq!(load(&bytes).is_ok(), distinct && order != [0, 1, 2], "{order:?}");
    }
}

#[test]
fn a_map_has_one_order() {
    let (mut bytes, orders) = unordered();
    let (map, order) = (orders + 8, orders + 28);
    let (maps, positions) = (bytes[map..map + 12].to_vec(), bytes[order..order + 24].to_vec());
    let around = around(&bytes, orders).into_iter().map(|at| (at, 36));
    for (at, by) in around.chain([(orders, 1), (map + 12, 3)]) {
        let old = long(&bytes, at).unwrap();
        put(&mut bytes, at, &(old + by).to_le_bytes());
    }
    drop(bytes.splice(order..order, positions));
    drop(bytes.splice(map..map, maps));
    repair(&mut bytes);
    let refusal = Tree::from_bytes(&bytes).unwrap_err().to_string();
    assert!(refusal.ends_with("it belongs to a map that does not exist"), "{refusal}");
}
