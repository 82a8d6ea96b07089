//! Sequences, tuples and arrays of all lengths, runs at all depths, recursive and generic types.

use std::collections::{BTreeSet, HashSet, LinkedList, VecDeque};

use indexmap::IndexSet;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};

use super::{Specimen, specimens, types};

// Sequences of every std owner.
types! {
    struct Sequences {
        vec: Vec<u8>,
        boxed: Box<[u8]>,
        deque: VecDeque<u8>,
        list: LinkedList<u8>,
        set: BTreeSet<u8>,
        hash_set: HashSet<u8>,
        index_set: IndexSet<u8>,
    }
    struct Empty {
        vec: Vec<u8>,
        set: BTreeSet<u8>,
        array: [u8; 0],
        nested: Vec<Vec<u8>>,
        string: String,
    }
}

/// A sequence that does not know its length beforehand.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Streamed(Vec<u16>);

impl Serialize for Streamed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Unsized<'a>(&'a [u16]);
        impl Serialize for Unsized<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut seq = serializer.serialize_seq(None)?;
                self.0.iter().try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
        }
        serializer.serialize_newtype_struct("Streamed", &Unsized(&self.0))
    }
}

// Elements of differing structure, so that runs end and begin.
types! {
    struct Cell { value: Option<u8> }
    enum Shape { Empty, Circle(f64), Line(f64, f64), Box { w: f64, h: f64 } }
    struct Grid { rows: Vec<Vec<Shape>>, name: Option<String> }
    struct Layer { weights: Vec<[f32; 3]>, bias: Option<Vec<f32>> }
    struct Model { layers: Vec<Layer>, shape: (usize, usize) }
}

// Recursive types.
types! {
    struct List { head: u8, tail: Option<Box<List>> }
    struct Tree { name: String, children: Vec<Tree> }
    enum Binary { Leaf(i32), Node(Box<Binary>, Box<Binary>) }
    enum Expr { Number(f64), Neg(Box<Expr>), Sum(Vec<Expr>), Pair { a: Box<Expr>, b: Box<Expr> } }
}

// Generic types.
types! {
    struct Generic<T> { value: T, more: Vec<T> }
    struct Both<A, B>(A, B);
    enum Either<A, B> { Left(A), Right(B) }
    struct Sized<T, const N: usize> { first: [T; 3], rest: Vec<T> }
}

type Sixteens = (u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u16);

types! {
    /// The longest tuple of serde, which std does not compare.
    #[serde(from = "Sixteens", into = "Sixteens")]
    struct Sixteen([u8; 16]);
}

impl From<Sixteens> for Sixteen {
    fn from((a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p): Sixteens) -> Self {
        Sixteen([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p.to_le_bytes()[0]])
    }
}

impl From<Sixteen> for Sixteens {
    fn from(Sixteen([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]): Sixteen) -> Self {
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p.into())
    }
}

/// All words over `letters` of up to `length` letters: sequences that part from each other in every
/// possible way.
fn words<T: Clone>(letters: &[T], length: usize) -> Vec<Vec<T>> {
    let mut words = vec![Vec::new()];
    let mut last = words.clone();
    for _ in 0..length {
        let longer = |word: &Vec<T>| {
            let word = word.clone();
            letters
                .iter()
                .map(move |letter| [word.as_slice(), std::slice::from_ref(letter)].concat())
        };
        last = last.iter().flat_map(longer).collect();
        words.extend(last.iter().cloned());
    }
    words
}

fn list(length: u8) -> List {
    (1..length)
        .fold(List { head: 0, tail: None }, |tail, head| List { head, tail: Some(Box::new(tail)) })
}

fn tree(depth: usize) -> Tree {
    let children = (0..depth).map(tree).collect();
    Tree { name: format!("t{depth}"), children }
}

fn binary(depth: usize) -> Binary {
    match depth {
        0 => Binary::Leaf(7),
        _ => Binary::Node(Box::new(binary(depth - 1)), Box::new(binary(depth - 1))),
    }
}

fn layer(rows: usize, bias: bool) -> Layer {
    Layer { weights: vec![[1.0; 3]; rows], bias: bias.then(|| vec![0.5; rows]) }
}

fn shapes() -> [Shape; 4] {
    [Shape::Empty, Shape::Circle(1.0), Shape::Line(2.0, 3.0), Shape::Box { w: 4.0, h: 5.0 }]
}

fn repeated<T: Clone>(items: &[(T, usize)]) -> Vec<T> {
    items.iter().flat_map(|(item, count)| vec![item.clone(); *count]).collect()
}

pub(super) fn specimens() -> Vec<Specimen> {
    let [empty, circle, line, boxed] = shapes();
    let row = repeated(&[(empty.clone(), 3), (circle, 2), (line, 1), (boxed, 4)]);
    let other = repeated(&[(empty.clone(), 2), (empty, 1)]);
    specimens! {
        "empty vec" => Vec::<u8>::new(),
        "vec" => vec![1u8, 2, 3],
        "sequences" => Sequences {
            vec: vec![1, 1, 1], boxed: [2].into(), deque: [3, 4].into(), list: [5].into(),
            set: [6, 7].into(), hash_set: [8].into(), index_set: [9, 1, 5].into(),
        },
        "empty containers" => Empty {
            vec: vec![], set: [].into(), array: [], nested: vec![vec![], vec![]], string: String::new(),
        },
        "streamed" => Streamed(vec![1, 2, 3]),
        "tuple of 1" => (1,),
        "tuple of 2" => (1, "a".to_owned()),
        "tuple of 5" => (1u8, 2u8, 3u8, 4u8, 5u8),
        "tuple of 12" => (1, 2.0, 'c', true, (), Some(1), vec![1], (1,), "a".to_owned(), 1u8, 1i8, [1]),
        "tuple of 16" => Sixteen([7; 16]),
        "array of 0" => [0u8; 0],
        "array of 1" => [[1u8]],
        "array of 5" => [1u8, 2, 3, 4, 5],
        "array of 32" => [7u16; 32],
        "array of arrays" => [[[1u8; 3]; 2]; 4],
        "vec of empty tuples" => vec![[0u8; 0]; 3],
        "vec of units" => vec![(); 9],
        "structs of options" => [Some(1), None, None, Some(2), Some(3), None].map(|value| Cell { value }).to_vec(),
        "shape: unit" => Shape::Empty,
        "shape: struct" => Shape::Box { w: 1.0, h: 2.0 },
        "run of shapes" => row.clone(),
        "grid" => Grid {
            rows: vec![row.clone(), row.clone(), other.clone(), row.clone(), other, row], name: None,
        },
        "grid without rows" => Grid { rows: vec![vec![]; 2], name: Some("a".to_owned()) },
        "model" => Model {
            layers: repeated(&[(layer(2, true), 3), (layer(2, false), 1), (layer(3, true), 2)]),
            shape: (3, 4),
        },
        "words of options" => words(&[None, Some(None), Some(Some(1u8))], 4),
        "words of tuples" => words(&[(1u8, Some(2u8)), (3, None)], 5),
        "words of words" => words(&words(&[None, Some(1u8)], 2), 2),
        "words of shapes" => words(&shapes(), 3),
        "growing and shrinking" => (0..6).chain((0..6).rev()).map(|n| vec![1u8; n]).collect::<Vec<_>>(),
        "list" => list(40),
        "list of one" => list(1),
        "tree" => tree(5),
        "tree of one" => tree(0),
        "binary" => binary(5),
        "expression" => Expr::Sum(vec![
            Expr::Neg(Box::new(Expr::Number(1.0))), Expr::Neg(Box::new(Expr::Number(2.0))),
            Expr::Pair { a: Box::new(Expr::Sum(vec![])), b: Box::new(Expr::Number(3.0)) },
        ]),
        "generic" => Generic { value: 1u8, more: vec![2, 3] },
        "generic of generics" => Generic {
            value: Generic { value: (), more: vec![()] }, more: vec![Generic { value: (), more: vec![] }],
        },
        "both" => Both(Either::<u8, String>::Left(1), Either::<u8, String>::Right("a".to_owned())),
        "either" => vec![Either::Left(1u8), Either::Right('a'), Either::Right('b')],
        "sized" => Sized::<_, 3> { first: [1u8, 2, 3], rest: vec![] },
    }
}
