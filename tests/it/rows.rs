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

/// A sequence of numbers whose iterator says that it gives so many.
struct Claimed {
    claimed: (usize, Option<usize>),
    given: usize,
}

impl Serialize for Claimed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Claiming(std::ops::Range<usize>, (usize, Option<usize>));

        impl Iterator for Claiming {
            type Item = f64;

            fn next(&mut self) -> Option<f64> {
                self.0.next().map(|at| at as f64)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.1
            }
        }

        serializer.collect_seq(Claiming(0..self.given, self.claimed))
    }
}

/// What an iterator says of its length binds nobody either.
#[test]
fn a_sequence_has_what_its_iterator_gives() {
    let expected: Vec<f64> = (0..100).map(|at| at as f64).collect();
    let treedef = treedef::structure(&expected).unwrap();
    for claimed in [(100, Some(100)), (0, None), (99, Some(101)), (7, Some(7)), (200, Some(200))] {
        for given in [0, 1, 7, 99, 100, 101, 200] {
            let sequence = Claimed { claimed, given };
            let mut leaves = vec![7.0; 3];
            let outcome = treedef.flatten_like(&sequence, &mut leaves);
            assert_eq!(outcome.is_ok(), given == 100, "{claimed:?} {given}");
            assert_eq!(leaves, if given == 100 { &expected[..] } else { &[] });
            assert_eq!(treedef::structure(&sequence).unwrap().num_leaves(), given);
        }
    }
}
