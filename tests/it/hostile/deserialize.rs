use std::cell::Cell;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use treedef::ErrorKind;
use treedef_testing::cases::cases;
use treedef_testing::hostile::deserialize::hands_out_no_wrong_leaf;
use treedef_testing::hostile::with_tapes;

#[test]
fn a_hostile_deserialize_is_never_handed_the_wrong_leaf() {
    let seen = [Cell::new(0), Cell::new(0)];
    const CASES: u32 = 15_000;
    with_tapes(CASES, 120, |tape| {
        for is_ok in hands_out_no_wrong_leaf(tape, 0..3)? {
            seen[usize::from(is_ok)].update(|n| n + 1);
        }
        Ok(())
    });
    let [errors, values] = seen.map(Cell::into_inner);
    let least = cases(CASES) / 30;
    assert!(errors > least && values > least, "{errors} errors, {values} values");
}

/// The value of an entry is lost when its key alone is read.
#[test]
fn an_entry_of_which_only_the_key_was_read_is_unread() {
    #[derive(Debug)]
    struct Keys;
    impl<'de> Deserialize<'de> for Keys {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(Keys)
        }
    }
    impl<'de> Visitor<'de> for Keys {
        type Value = Keys;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
            while map.next_key::<String>()?.is_some() {}
            Ok(Keys)
        }
    }
    let (leaves, treedef) =
        treedef::flatten(&std::collections::BTreeMap::from([("a", 1), ("b", 2)])).unwrap();
    let error = treedef::unflatten::<Keys>(&treedef, leaves).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
}
