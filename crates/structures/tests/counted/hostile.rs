//! Documents and saved structures that are meant to do harm.

use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_json::json;
use treedef::{Leaf, Limits, Tree};
use treedef_structures::Structures;

use super::{EVENTS, listed, of_texts, read};

#[test]
fn limits_hold_and_what_was_counted_stays() {
    let limits = Limits::default();
    let mut structures = Structures::new()
        .limits(Limits { max_nodes: 40, max_depth: 3, ..limits })
        .max_structures(2);
    read(&mut structures, "[1, 2]").unwrap();
    let said = |error: serde_json::Error| error.to_string();
    insta::assert_snapshot!(said(read(&mut structures, "[[[[]]]]").unwrap_err()), @"nested deeper than 3 levels at `[0][0][0]` (see `Limits::max_depth`) at line 1 column 5");
    let wide: Vec<String> = (0..40).map(|at| format!("\"k{at}\": 1")).collect();
    insta::assert_snapshot!(said(read(&mut structures, &format!("{{{}}}", wide.join(","))).unwrap_err()), @"41 nodes, the limit is 40 (see `Limits::max_nodes`) at line 1 column 140");
    read(&mut structures, "[3, 4]").unwrap();
    read(&mut structures, "true").unwrap();
    insta::assert_snapshot!(said(read(&mut structures, "null").unwrap_err()), @"3 distinct structures, the limit is 2 (see `Structures::max_structures` and `fold_lengths`)");
    assert_eq!(listed(&structures), "2 (0–1): [u64, u64]\n1 (2–2): bool");

    let other = of_texts(Structures::new().fold_lengths(true), ["1"]);
    insta::assert_snapshot!(structures.merge(&other).unwrap_err(), @"expected structures with nothing folded, found some with lengths folded: fold both the same");
    let mut few = of_texts(Structures::new().max_structures(2), ["1", "2"]);
    let more = of_texts(Structures::new().max_structures(2), ["true", "null"]);
    insta::assert_snapshot!(few.merge(&more).unwrap_err(), @"3 distinct structures, the limit is 2 (see `Structures::max_structures` and `fold_lengths`)");
    assert_eq!(listed(&few), "2 (0–1): u64");
}

/// A run of a billion units, a document of keys, arrays of all lengths.
#[test]
fn hostile_trees_are_counted_or_refused() {
    for text in [
        "[(); 10000000000]",
        "[[[]; 10000000000]; 10000000000]",
        "([None; 18446744073709551615], ())",
    ] {
        let tree: Tree<Leaf> = Tree::new(text.parse().unwrap(), vec![]).unwrap();
        for folded in [Structures::new(), Structures::new().fold_lengths(true)] {
            let mut structures = folded;
            structures.add(&tree).unwrap();
            assert_eq!(structures.by_count().unwrap().len(), 1);
            let text = serde_json::to_string(&structures).unwrap();
            assert_eq!(serde_json::from_str::<Structures>(&text).unwrap(), structures);
        }
    }
    let mut structures =
        Structures::new().limits(Limits { max_nodes: 100_000, ..Limits::default() });
    let refused = (0..1_000)
        .find_map(|length| read(&mut structures, &json!(vec![1; length]).to_string()).err());
    assert!(refused.unwrap().to_string().contains("see `Limits::max_nodes`"));
}

#[test]
fn damaged_structures_are_refused() {
    let folded = Structures::new().fold_lengths(true).fold_keys(4);
    let text = serde_json::to_string(&of_texts(folded, EVENTS)).unwrap();
    let damaged = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} is not in {text}");
        let read = serde_json::from_str::<Structures>(&text.replacen(from, to, 1));
        read.map_err(|error| error.to_string()).unwrap_err()
    };
    insta::assert_snapshot!(damaged("\"count\":2", "\"count\":0"), @"invalid file, structures: a structure that no document has");
    insta::assert_snapshot!(damaged("\"first\":2", "\"first\":5"), @"invalid file, structures: a structure that no document has");
    insta::assert_snapshot!(damaged("seq 0 0 0", "seq 0 7 0"), @"expected the leaf of a structure, found `seq 0 7 0` at byte 0 at line 1 column 436");
    insta::assert_snapshot!(damaged("seq 0 0 0", "seq 0 7 1"), @"invalid file, structures: a part of a structure is missing");
    insta::assert_snapshot!(damaged("seq 0 0 0", "u64 \",\"u64"), @"expected the leaf of a structure, found `u64 ` at byte 0 at line 1 column 431");
    insta::assert_snapshot!(damaged("[\"seq 0 0 0\"]]", "[\"u64\"]],[\"*\",[\"u64\"]]"), @"invalid file, structures: a structure has a part too many");
    insta::assert_snapshot!(damaged("[\"seq 0 0 0", "[\"u64\",\"seq 0 0 0"), @"expected 1 leaf, found 2");
    insta::assert_snapshot!(damaged("fold_keys", "fold_key"), @"unknown field `fold_key`, expected one of `fold_lengths`, `fold_keys`, `fold_widths`, `fold_numbers`, `next_index`, `structures` at line 1 column 31");

    let deep = "[\"*\",[\"seq 1 1 1\"]],".repeat(100_000) + "[\"*\",[\"u64\"]]";
    let text = format!(
        r#"{{"fold_lengths":true,"fold_keys":null,"fold_widths":true,"fold_numbers":true,"next_index":1,"structures":[{{"structure":[{deep}],"count":1,"first":0,"last":0,"example":null}}]}}"#
    );
    let error = serde_json::from_str::<Structures>(&text).unwrap_err();
    assert!(error.to_string().starts_with("nested deeper than 256 levels"), "{error}");
}

/// A document of nested sequences or maps, which no format has to read.
#[derive(Clone)]
struct Deep {
    levels: usize,
    map: bool,
    /// Whether the one element was read.
    read: bool,
}

impl<'de> Deserializer<'de> for Deep {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match (self.levels, self.map) {
            (0, _) => visitor.visit_u64(1),
            (_, true) => visitor.visit_map(self),
            (_, false) => visitor.visit_seq(self),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de> SeqAccess<'de> for Deep {
    type Error = serde::de::value::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Self::Error> {
        let inside = Deep { levels: self.levels - 1, ..*self };
        let is_first = !std::mem::replace(&mut self.read, true);
        is_first.then(|| seed.deserialize(inside)).transpose()
    }
}

impl<'de> MapAccess<'de> for Deep {
    type Error = serde::de::value::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        let is_first = !std::mem::replace(&mut self.read, true);
        is_first.then(|| seed.deserialize("a".into_deserializer())).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        seed.deserialize(Deep { levels: self.levels - 1, map: self.map, read: false })
    }
}

/// All that recurses: in a thread's stack, without optimisation.
#[test]
fn the_deepest_structures_fit_the_stack() {
    let limits = Limits { max_depth: 1_000, ..Limits::default() };
    for (map, keys) in [(false, usize::MAX), (false, 0), (true, usize::MAX), (true, 0)] {
        let folded = Structures::new().fold_lengths(keys == 0).fold_keys(keys).limits(limits);
        let mut structures = folded.clone();
        structures.seed().deserialize(Deep { levels: 256, map, read: false }).unwrap();
        structures.to_json_schema().unwrap_err();
        let mut twice = structures.clone();
        twice.merge(&structures).unwrap();
        assert!(twice != structures && format!("{twice:?}").contains("u64"));
        let all = twice.by_count().unwrap();
        assert!(all[0].diff().changes.is_empty());
        let text = serde_json::to_string(&twice).unwrap();
        // A document of treedefs has the depth that is allowed by default.
        let error = serde_json::from_str::<Structures>(&text).unwrap_err().to_string();
        assert!(error.starts_with("nested deeper than 128 levels"), "{error}");

        let error = folded.clone().seed().deserialize(Deep { levels: 257, map, read: false });
        let said = error.unwrap_err().to_string();
        assert!(said.starts_with("nested deeper than 256 levels"), "{said}");
    }
}
