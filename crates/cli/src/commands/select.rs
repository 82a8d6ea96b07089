//! `select`.

use treedef::Pattern;

use crate::args::OneFile;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::output;
use crate::paint::paint;

use super::{print, readable, tree, write_bytes};

pub(super) fn select(pattern: &str, file: &OneFile, part: bool, json: bool) -> Result<bool> {
    let parsed: Pattern = pattern.parse().map_err(|error: treedef::Error| {
        Failure::new(format!("the path `{pattern}`: {error}; try e.g. `'**.name'`"))
    })?;
    let (name, tree) = tree(&file.file, file.format.format)?;
    let of_file = |error: treedef::Error| Failure::from(error).in_file(&name);
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
        if json {
            let line = serde_json::json!({"path": path.to_string(), "value": leaf});
            text.push_str(&format!("{line}\n"));
        } else {
            let dim = anstyle::Style::new().dimmed();
            text.push_str(&format!("{}{dim}:{dim:#} {}\n", readable(&path), paint(&shown(leaf))));
        }
        if text.len() > 1 << 16 {
            print(&text)?;
            text.clear();
        }
    }
    print(&text)?;
    Ok(found)
}

/// A leaf as JSON has it, where JSON has it.
fn shown(leaf: &treedef::Leaf) -> String {
    serde_json::to_string(leaf).unwrap_or_else(|_| leaf.to_string())
}
