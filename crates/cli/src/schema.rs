//! Documents against a JSON Schema.

use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;
use treedef::{Key, Leaf, Path as TreePath, Tree};

use crate::exact;
use crate::failure::{Failure, Result};

/// A schema, ready to check documents.
pub(crate) struct Schema(Validator);

impl Schema {
    /// Reads a schema. What it refers to has to be in it: nothing is fetched.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| Failure::from(error).in_file(&name))?;
        let schema: Value = serde_json::from_slice(&bytes)
            .map_err(|error| crate::json::json_failure(error).in_file(&name))?;
        let validator = jsonschema::options()
            .offline()
            .build(&schema)
            .map_err(|error| Failure::at(&name, said(&error.to_string())))?;
        Ok(Schema(validator))
    }

    /// The violations of a document: where, and what. At most `most`.
    pub(crate) fn violations(
        &self,
        document: &Tree<Leaf>,
        most: usize,
    ) -> Result<Vec<(TreePath, String)>> {
        let document = serde_json::to_value(document.clone().map(exact::nearest))?;
        let errors = self.0.iter_errors(&document).take(most);
        Ok(errors
            .map(|error| (path_of(error.instance_path().as_str(), &document), error.to_string()))
            .collect())
    }
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
