//! The test suite of JSON Schema.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::known::{Outcome, data};

/// A schema and documents for it.
#[derive(Deserialize)]
struct Group {
    description: String,
    schema: Value,
    tests: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    description: String,
    data: Value,
    valid: bool,
}

/// The files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// The lines with a violation, from 1.
fn violated(folder: &Path, group: &Group) -> Result<Vec<usize>, String> {
    let [schema, lines] = ["schema.json", "cases.jsonl"].map(|name| folder.join(name));
    let documents = group.tests.iter().map(|case| format!("{}\n", case.data));
    fs::write(&schema, group.schema.to_string()).unwrap();
    fs::write(&lines, documents.collect::<String>()).unwrap();
    let mut check = Command::new(env!("CARGO_BIN_EXE_treedef"));
    check.args(["check", "--json", "--max", "0", "--schema"]).args([&schema, &lines]);
    let output = check.output().unwrap();
    if output.status.code().is_none_or(|code| code > 1) {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().rsplit("schema.json: ").next().unwrap_or_default();
        return Err(said.to_owned());
    }
    let found: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let line = |it: &Value| usize::try_from(it["line"].as_u64().unwrap()).unwrap();
    Ok(found.iter().map(line).collect())
}

fn draft(name: &str, url: &str) {
    let (root, folder) = (data("schema").join(name), tempfile::tempdir().unwrap());
    let mut outcome = Outcome::default();
    for file in files(&root) {
        let groups: Vec<Group> = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let file = file.strip_prefix(&root).unwrap().with_extension("");
        for mut group in groups {
            // A schema that does not name its draft is of the newest.
            if let Value::Object(schema) = &mut group.schema {
                schema.entry("$schema").or_insert_with(|| url.into());
            }
            let violated = violated(folder.path(), &group);
            // From 2019-09 on, a format describes a text, and checks nothing.
            let is_checked = !(name.starts_with("draft20") && file.starts_with("optional/format"));
            for (line, case) in (1..).zip(&group.tests) {
                let valid = case.valid || !is_checked;
                let path = [&file.display().to_string(), &group.description, &case.description];
                let result = match &violated {
                    Err(said) => Err(said.clone()),
                    Ok(lines) if lines.contains(&line) != valid => Ok(()),
                    Ok(_) if valid => Err("refused".to_owned()),
                    Ok(_) => Err("accepted".to_owned()),
                };
                outcome.add(&path.map(String::as_str).join(" | "), result);
            }
        }
    }
    outcome.expect(&format!("schema-{name}.txt"));
}

#[test]
#[ignore = "run by suites/check, which brings the data"]
fn draft_4() {
    draft("draft4", "http://json-schema.org/draft-04/schema#");
}

#[test]
#[ignore = "run by suites/check, which brings the data"]
fn draft_6() {
    draft("draft6", "http://json-schema.org/draft-06/schema#");
}

#[test]
#[ignore = "run by suites/check, which brings the data"]
fn draft_7() {
    draft("draft7", "http://json-schema.org/draft-07/schema#");
}

#[test]
#[ignore = "run by suites/check, which brings the data"]
fn draft_2019_09() {
    draft("draft2019-09", "https://json-schema.org/draft/2019-09/schema");
}

#[test]
#[ignore = "run by suites/check, which brings the data"]
fn draft_2020_12() {
    draft("draft2020-12", "https://json-schema.org/draft/2020-12/schema");
}
