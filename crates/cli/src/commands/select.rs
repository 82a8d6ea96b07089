//! `select`.

use treedef::{Leaf, Pattern};

use crate::args::OneFile;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::output;
use crate::paint::paint;
use crate::tensors::{numbers, of_array};

use super::{print, readable, tree, write_bytes};

pub(super) fn select(pattern: &str, file: &OneFile, part: bool, json: bool) -> Result<bool> {
    let parsed: Pattern = pattern.parse().map_err(|error: treedef::Error| {
        Failure::new(format!("the path `{pattern}`: {error}; try e.g. `'**.name'`"))
    })?;
    let (name, mut tree) = tree(&file.file, file.reading)?;
    let of_file = |error: treedef::Error| Failure::from(error).in_file(&name);
    if part || tree.select_any(&parsed).map_err(of_file)?.next().is_none() {
        // The path may lead into an array.
        tree = numbers(tree)?;
    }
    let mut text = String::new();
    let mut found = false;
    if part {
        if tree.select_any(&parsed).map_err(of_file)?.next().is_none() {
            return Ok(false);
        }
        let kept = tree.filter(|path, _| parsed.covers(path)).map_err(of_file)?;
        return write_bytes(&output::write(&kept, Format::Json)?);
    }
    for (path, leaf) in tree.select_any(&parsed).map_err(of_file)? {
        found = true;
        let value = shown(leaf);
        if json {
            let path = serde_json::Value::from(path.to_string());
            text.push_str(&format!("{{\"path\":{path},\"value\":{value}}}\n"));
        } else {
            let dim = anstyle::Style::new().dimmed();
            text.push_str(&format!("{}{dim}:{dim:#} {}\n", readable(&path), paint(&value)));
        }
        if text.len() > 1 << 16 {
            print(&text)?;
            text.clear();
        }
    }
    print(&text)?;
    Ok(found)
}

/// A leaf as JSON has it, or its text where JSON does not have it.
fn shown(leaf: &Leaf) -> String {
    let json = match leaf.as_array() {
        Some(array) => serde_json::to_string(&of_array(array)),
        None => serde_json::to_string(leaf),
    };
    json.unwrap_or_else(|_| serde_json::Value::from(leaf.to_string()).to_string())
}
