use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use treedef::{ErrorKind, Flattener, Leaf, NodeKind};
use treedef_testing::hostile::serialize::{
    Call, Script, Step, emits_in_order_of_insertion, emits_none_as_a_leaf, errs_or_emits,
};
use treedef_testing::hostile::{Plain, with_tapes};

#[test]
fn a_hostile_serialize_gives_an_error_or_what_it_emitted() {
    let outcomes = [Cell::new(0), Cell::new(0)];
    with_tapes(15_000, 160, |tape| {
        outcomes[usize::from(errs_or_emits(tape)?)].update(|n| n + 1);
        Ok(())
    });
    let [errors, values] = outcomes.map(Cell::into_inner);
    assert!(errors * 4 > values && values * 4 > errors, "{errors} errors, {values} values");
}

#[test]
fn it_does_in_the_order_of_insertion_too() {
    with_tapes(3_000, 80, emits_in_order_of_insertion);
}

#[test]
fn it_does_with_none_as_a_leaf() {
    with_tapes(3_000, 80, emits_none_as_a_leaf);
}

#[test]
fn an_error_in_a_key_is_at_the_map() {
    let key = || Step {
        call: Call::Key,
        field: "",
        script: Script::Wrapper(Plain::of(NodeKind::Some), Box::new(Script::Error)),
        swallows: false,
    };
    let map = Script::Compound {
        head: Plain::of(NodeKind::Map),
        claim: None,
        steps: vec![key()],
        breaks_off: false,
    };
    let error = treedef::flatten(&[map]).unwrap_err();
    assert_eq!(error.path().to_string(), ".0", "{error}");
}

#[test]
fn twins_keep_their_leaves() {
    let step = |call, number: u8| Step {
        call,
        field: "x",
        script: Script::Scalar(number.into()),
        swallows: false,
    };
    let map = Script::Compound {
        head: Plain::of(NodeKind::Map),
        claim: Some(9),
        steps: [(2, 1), (1, 2), (2, 3), (1, 4)]
            .into_iter()
            .flat_map(|(key, value)| [step(Call::Key, key), step(Call::Value, value)])
            .collect(),
        breaks_off: false,
    };
    let (leaves, treedef) = treedef::flatten(&map).unwrap();
    assert_eq!(treedef.to_string(), "{1u8: *, 1u8: *, 2u8: *, 2u8: *}");
    assert_eq!(leaves, [2u8, 4, 1, 3].map(Leaf::from));
    let entries: Entries = treedef::unflatten(&treedef, leaves).unwrap();
    assert_eq!(entries.0, [(2, 1), (1, 2), (2, 3), (1, 4)], "in the order of arrival");
}

struct Entries(Vec<(u8, u8)>);

impl<'de> serde::Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Entries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[test]
fn text_in_pieces_is_one_leaf() {
    let (leaves, _) = treedef::flatten(&Script::Display(vec!["a", "", "b"])).unwrap();
    assert_eq!(leaves, [Leaf::from("ab")]);
}

/// serde's own `collect_str` panics.
#[test]
fn a_failing_display_is_an_error() {
    let value = (1, Script::Display(vec!["a", "!"]));
    let error = catch_unwind(AssertUnwindSafe(|| treedef::flatten(&value).unwrap_err())).unwrap();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert_eq!(error.path().to_string(), ".1");
}

#[test]
fn flatten_works_again_after_a_panic() {
    struct Panics;
    impl Serialize for Panics {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut seq = serializer.serialize_seq(Some(3))?;
            seq.serialize_element(&[[1, 2], [3, 4]])?;
            panic!("in the midst of a sequence")
        }
    }
    let flattener = Flattener::new();
    for _ in 0..3 {
        let panic = catch_unwind(AssertUnwindSafe(|| flattener.flatten(&(1, Panics)))).unwrap_err();
        assert_eq!(*panic.downcast::<&str>().unwrap(), "in the midst of a sequence");
        let (leaves, treedef) = flattener.flatten(&(1, [2])).unwrap();
        assert_eq!((leaves.len(), treedef.to_string().as_str()), (2, "(*, (*,))"));
    }
}

/// No message to print where nothing was emitted: the claimed length alone must not cost anything.
#[test]
fn a_claimed_length_costs_nothing() {
    struct Claims;
    impl Serialize for Claims {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(Some(usize::MAX))?;
            map.serialize_entry(
                "a",
                &Script::Compound {
                    head: Plain::of(NodeKind::Seq),
                    claim: Some(usize::MAX),
                    steps: Vec::new(),
                    breaks_off: false,
                },
            )?;
            map.end()
        }
    }
    assert_eq!(treedef::structure(&Claims).unwrap().to_string(), r#"{"a": []}"#);
}

/// An iterator may go on after its end. A sequence does not, whether its length is known or not.
#[test]
fn a_sequence_ends_where_its_iterator_first_does() {
    struct Restarts(fn(&usize) -> bool);
    impl Serialize for Restarts {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut next = 0..;
            let numbers = std::iter::from_fn(|| next.next().filter(|number| number % 9 < 8));
            serializer.collect_seq(numbers.filter(self.0))
        }
    }
    let few = treedef::flatten(&Restarts(|number| number % 9 < 2)).unwrap().0;
    let many = treedef::flatten(&Restarts(|_| true)).unwrap().0;
    assert_eq!((few.len(), many.len()), (2, 8));
}
