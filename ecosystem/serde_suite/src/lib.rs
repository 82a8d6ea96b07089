//! The assertions of `serde_test`, which also flatten each value and rebuild it.
//!
//! | assertion | what is checked besides |
//! |---|---|
//! | serializes as tokens | the value flattens to the same leaves and treedef as the tokens do |
//! | deserializes from tokens | the flattened tokens rebuild to the value |
//! | both | both, and the flattened value rebuilds to itself |
//! | deserializing fails | rebuilding the flattened tokens fails |
//! | serializing fails | flattening the value fails |
//!
//! Each is done with four sets of options, and flattened a second time into a known structure.
//!
//! Not checked is what cannot be so here, or is not meant to be:
//!
//! - tokens that no serializer can be asked to write, such as a variant by its index;
//! - that a text which does not live long enough is refused: leaves can always be borrowed from;
//! - that a text alone is no variant (`expecting_message`): here it is the variant of that name;
//! - that 128-bit integers are not supported, which is so in `serde_test` alone;
//! - a field name that is lent as bytes: names are asked for as text, because `visit_bytes` of all
//!   structs would add 5 % to the code that the compiler has to make.

mod replay;

use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::Write;

use serde::{Deserialize, Serialize};
use treedef::{Flattener, Leaf, MapOrder, TreeDef, flatten, unflatten_borrowed};

use replay::Replay;

pub use real::{Compact, Configure, Readable, Token};
use serde_test as real;

/// One more check was made: a byte in the file of the environment variable `CHECKS`.
fn count() {
    if let Some(path) = std::env::var_os("CHECKS") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(b".")).expect("the file of checks");
    }
}

/// Leaves and a treedef that live as long as any type that borrows from them.
fn leak((leaves, treedef): (Vec<Leaf>, TreeDef)) -> (&'static [Leaf], &'static TreeDef) {
    (leaves.leak(), Box::leak(Box::new(treedef)))
}

/// All options that do not depend on the format.
fn flatteners() -> [Flattener; 4] {
    let ordered = || Flattener::new().map_order(MapOrder::Insertion);
    [Flattener::new(), Flattener::new().none_is_leaf(true), ordered(), ordered().none_is_leaf(true)]
}

fn rebuilds<'de, T: Deserialize<'de> + PartialEq + Debug>(
    value: &T,
    from: impl Serialize,
    what: &str,
) {
    for flattener in flatteners() {
        let (leaves, treedef) = leak(flattener.flatten(&from).expect(what));
        match unflatten_borrowed::<T>(treedef, leaves) {
            Ok(rebuilt) => assert_eq!(&rebuilt, value, "{what}: rebuilt from {treedef}"),
            Err(error) if error.to_string().contains("expected a borrowed byte array") => return,
            Err(error) => panic!("{what}: {error}\nrebuilt from {treedef}"),
        }
        count();
        let mut again = Vec::<Leaf>::new();
        flattener.flatten_like(treedef, &from, &mut again).expect(what);
        assert_eq!(again, leaves, "{what}: {treedef}");
        count();
    }
}

#[track_caller]
pub fn assert_tokens<'de, T>(value: &T, tokens: &'de [Token])
where
    T: Serialize + Deserialize<'de> + PartialEq + Debug,
{
    assert_ser_tokens(value, tokens);
    assert_de_tokens(value, tokens);
    rebuilds(value, value, "the value");
}

#[track_caller]
pub fn assert_ser_tokens<T: ?Sized + Serialize>(value: &T, tokens: &[Token]) {
    real::assert_ser_tokens(value, tokens);
    if let Some(replay) = Replay::of(tokens) {
        for flattener in flatteners() {
            let expected = flattener.flatten(&replay).expect("tokens");
            assert_eq!(flattener.flatten(value).expect("value"), expected);
            count();
        }
    }
}

#[track_caller]
pub fn assert_ser_tokens_error<T: ?Sized + Serialize>(value: &T, tokens: &[Token], error: &str) {
    real::assert_ser_tokens_error(value, tokens, error);
    if !error.ends_with("128 is not supported") {
        assert!(flatten(value).is_err(), "{error}");
        count();
    }
}

#[track_caller]
pub fn assert_de_tokens<'de, T>(value: &T, tokens: &'de [Token])
where
    T: Deserialize<'de> + PartialEq + Debug,
{
    real::assert_de_tokens(value, tokens);
    if let Some(replay) = Replay::of(tokens) {
        rebuilds(value, &replay, "the tokens");
    }
}

#[track_caller]
pub fn assert_de_tokens_error<'de, T: Deserialize<'de>>(tokens: &'de [Token], error: &str) {
    real::assert_de_tokens_error::<T>(tokens, error);
    let excused = ["expected a borrowed", "expected something strange"];
    if !excused.iter().any(|text| error.contains(text))
        && let Some(replay) = Replay::of(tokens)
        && let Ok(flat) = flatten(&replay)
    {
        let (leaves, treedef) = leak(flat);
        assert!(unflatten_borrowed::<T>(treedef, leaves).is_err(), "{error}: {treedef}");
        count();
    }
}
