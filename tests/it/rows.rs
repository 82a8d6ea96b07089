//! Rows of leaves, which are compared by the count that they claim.

use serde::ser::{Serialize, SerializeTuple, Serializer};

/// A tuple of numbers that says to have so many, and one of them may be of another kind, which is overlooked.
struct Row {
    claimed: usize,
    given: usize,
    overlooked: Option<usize>,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_tuple(self.claimed)?;
        for at in 0..self.given {
            match self.overlooked == Some(at) {
                true => drop(row.serialize_element("seven")),
                false => row.serialize_element(&(at as f64))?,
            }
        }
        row.end()
    }
}

/// Rows of leaves are compared with the count that they claim, which binds nobody.
#[test]
fn a_row_has_what_it_gives() {
    let treedef = treedef::structure(&[0.0; 3]).unwrap();
    for (claimed, given) in (0..6).flat_map(|claimed| (0..6).map(move |given| (claimed, given))) {
        let row = |overlooked| Row { claimed, given, overlooked };
        let mut leaves: Vec<f64> = Vec::new();
        let outcome = treedef.flatten_like(&row(None), &mut leaves);
        match given {
            3 => assert_eq!((outcome.is_ok(), leaves.as_slice()), (true, &[0.0, 1.0, 2.0][..])),
            _ => assert_eq!((outcome.is_err(), leaves.as_slice()), (true, &[][..])),
        }
        assert_eq!(treedef::structure(&row(None)).unwrap().num_leaves(), given);
        for overlooked in 0..given {
            let outcome = treedef.flatten_like(&row(Some(overlooked)), &mut leaves);
            assert!(outcome.is_err(), "{claimed} {given} {overlooked}");
        }
    }
}
