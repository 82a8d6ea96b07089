//! The known failures, and the data of the suites.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The data that `suites/check` fetches.
pub(crate) fn data(name: &str) -> PathBuf {
    let folder = std::env::var_os("TREEDEF_SUITES").expect("run by crates/cli/suites/check");
    Path::new(&folder).join(name)
}

/// The cases of a suite: how many there are, and why some failed.
#[derive(Default)]
pub(crate) struct Outcome {
    cases: usize,
    failed: BTreeMap<String, String>,
}

impl Outcome {
    pub(crate) fn add(&mut self, name: &str, result: Result<(), String>) {
        self.cases += 1;
        if let Err(why) = result {
            let old = self.failed.insert(name.to_owned(), why);
            assert_eq!(old, None, "{name} occurs twice");
        }
    }

    /// Compares the outcome with a list: the counts, then the names of the failures, below the reason
    /// as a comment.
    pub(crate) fn expect(&self, list: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suites").join(list);
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let found = format!("{} of {} pass", self.cases - self.failed.len(), self.cases);
        let counts = lines.next().unwrap_or_default();
        let listed: Vec<&str> = lines.collect();
        let mut wrong: Vec<String> = listed
            .iter()
            .filter(|name| !self.failed.contains_key(**name))
            .map(|name| format!("{name}: passes, take it off the list"))
            .collect();
        let new = self.failed.iter().filter(|(name, _)| !listed.contains(&name.as_str()));
        wrong.extend(new.map(|(name, why)| format!("{name}: {why}")));
        assert!(
            wrong.is_empty() && counts == found,
            "tests/suites/{list} says `{counts}`, found `{found}`\n{}",
            wrong.join("\n")
        );
    }
}
