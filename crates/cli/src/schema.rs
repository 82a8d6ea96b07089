//! Documents against a JSON Schema.

use std::cell::Cell;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;
use treedef::__private::Decimal;
use treedef::{Key, Leaf, Path as TreePath, Tree, TreeSeed};

use crate::exact;
use crate::failure::{Failure, Result};
use crate::input::read_beside;
use crate::json::{json_failure, json_tree};
use crate::long_numbers;
use crate::paint::listed;
use crate::paths::readable;

/// The keywords whose numbers cannot be told by the nearest ones.
const OF_DIGITS: [&str; 2] = ["multipleOf", "uniqueItems"];
/// The most paths of long numbers that a warning has.
const LISTED: usize = 4;

/// A schema, ready to check documents.
pub(crate) struct Schema {
    validator: Validator,
    /// The numbers that documents may be compared with.
    numbers: Vec<f64>,
    /// Whether it has a keyword for which all digits of a number count.
    is_of_digits: bool,
    has_told: Cell<bool>,
}

impl Schema {
    /// Reads a schema. What it refers to has to be in it: nothing is fetched.
    pub(crate) fn read(path: &Path, strict: bool) -> Result<Self> {
        let name = path.display().to_string();
        let bytes = read_beside(path)?;
        let of_file = |error| json_failure(error).in_file(&name);
        let seed = TreeSeed::default();
        let tree =
            long_numbers::of_json(&bytes, |bytes| json_tree(bytes, seed)).map_err(of_file)?;
        let long = long_in(&tree, |_| true);
        if !long.is_empty() {
            tell(&name, &long, strict).map_err(|failure| failure.in_file(&name))?;
        }
        let tree = tree.map(nearest);
        let schema = serde_json::to_value(&tree)?;
        let validator = jsonschema::options()
            .offline()
            .build(&schema)
            .map_err(|error| Failure::at(&name, said(&error.to_string())))?;
        let is_of_digits = tree.treedef().nodes().any(|(_, node)| {
            let mut keys = node.entry_keys().iter().filter_map(|key| key.as_str());
            keys.any(|key| OF_DIGITS.contains(&key))
        });
        let numbers = tree.leaves().iter().filter_map(float).collect();
        Ok(Schema { validator, numbers, is_of_digits, has_told: Cell::new(false) })
    }

    /// Says which numbers are compared with the schema as others, where that may matter, of the first
    /// document that has such.
    pub(crate) fn tell_rounding(
        &self,
        document: &Tree<Leaf>,
        name: &str,
        strict: bool,
    ) -> Result<()> {
        let long = long_in(document, |leaf| {
            let near = float(&nearest(leaf.clone())).unwrap_or(f64::NAN);
            let is_other = near.fract() == 0.0 && !is_integer(leaf);
            self.is_of_digits || is_other || self.numbers.contains(&near)
        });
        if long.is_empty() || self.has_told.replace(true) {
            return Ok(());
        }
        tell(name, &long, strict)
    }

    /// The violations of a document: where, and what. At most `most`.
    pub(crate) fn violations(
        &self,
        document: &Tree<Leaf>,
        most: usize,
    ) -> Result<Vec<(TreePath, String)>> {
        let document = serde_json::to_value(document.clone().map(nearest))?;
        let errors = self.validator.iter_errors(&document).take(most);
        Ok(errors
            .map(|error| (path_of(error.instance_path().as_str(), &document), error.to_string()))
            .collect())
    }
}

/// A number as a float.
#[allow(clippy::cast_precision_loss, reason = "so the validator compares integers with floats")]
fn float(leaf: &Leaf) -> Option<f64> {
    leaf.as_f64().or_else(|| leaf.as_i128().map(|integer| integer as f64))
}

/// The leaf as a number of 64 bits that is finite, and zero only if the number is, for checks.
fn nearest(leaf: Leaf) -> Leaf {
    let is_text = exact::text_of(&leaf).is_some();
    match exact::within_64_bits(leaf) {
        Leaf::F64(number) if is_text && number.is_infinite() => f64::MAX.copysign(number).into(),
        Leaf::F64(number) if is_text && number == 0.0 => f64::from_bits(1).copysign(number).into(),
        leaf => leaf,
    }
}

/// Whether a number has nothing behind the point.
fn is_integer(leaf: &Leaf) -> bool {
    let digits = |it: &Decimal| i64::try_from(it.digits.len()).unwrap_or(i64::MAX);
    let decimal = exact::text_of(leaf).and_then(|text| Decimal::of(&text));
    decimal.map_or(leaf.as_i128().is_some() || matches!(leaf, Leaf::U128(_)), |decimal| {
        decimal.exponent >= digits(&decimal) - 1
    })
}

/// Whether 64 bits do not hold a number.
fn is_long(leaf: &Leaf) -> bool {
    exact::text_of(leaf).is_some() || exact::within_64_bits(leaf.clone()) != *leaf
}

/// The paths of numbers that 64 bits do not hold.
fn long_in(tree: &Tree<Leaf>, is_told: impl Fn(&Leaf) -> bool) -> Vec<String> {
    let long = tree.treedef().leaf_paths().zip(tree.leaves());
    let long = long.filter(|(_, leaf)| is_long(leaf) && is_told(leaf));
    long.map(|(path, _)| format!("`{}`", readable(&path))).collect()
}

/// Says that the validator has numbers of 64 bits alone. It is an error if `strict`.
fn tell(name: &str, long: &[String], strict: bool) -> Result<()> {
    let failure = Failure::new(format!(
        "{}: more digits than 64 bits hold, so the nearest number is compared, and the answer may be wrong",
        listed(long, LISTED)
    ));
    if strict {
        return Err(failure);
    }
    tell!("treedef: {}", failure.in_file(name));
    Ok(())
}

/// Why a schema cannot be used, without the features of the library that reads it.
fn said(error: &str) -> String {
    let between = |start, end| Some(error.strip_prefix(start)?.split_once(end)?.0);
    if let Some(resource) = between("Resource '", "' is not present") {
        return format!("it refers to `{resource}`, which is not fetched");
    }
    match between("Unknown meta-schema: '", "'.") {
        Some(draft) => format!("its `$schema` is `{draft}`, expected a draft from 4 to 2020-12"),
        None => format!("not a JSON Schema: {error}"),
    }
}

/// The path that a JSON pointer names in a document.
fn path_of(pointer: &str, document: &Value) -> TreePath {
    let (mut path, mut at) = (TreePath::root(), Some(document));
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        let key = match (at, part.parse()) {
            (Some(Value::Array(_)), Ok(index)) => Key::Index(index),
            _ => Key::Entry(Leaf::from(part.as_str()).into()),
        };
        at = match &key {
            Key::Index(index) => at.and_then(|it| it.get(*index)),
            _ => at.and_then(|it| it.get(&part)),
        };
        path.push(key);
    }
    path
}
