//! Writes the seeds of `load`, `load_repaired`, `parse` and `round_trip` beside what their corpora hold.

use std::fs;
use std::path::Path;

#[path = "../../tests/persist/specimens.rs"]
mod specimens;

fn main() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let write = |target: &str, name: &str, bytes: &[u8]| {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), bytes).unwrap();
    };
    for (name, treedef) in specimens::structures() {
        let bytes = treedef.to_bytes().unwrap();
        write("load", &format!("treedef_{name}"), &bytes);
        write("load_repaired", &format!("treedef_{name}"), &bytes);
    }
    for (name, tree) in specimens::trees() {
        let bytes = tree.to_bytes().unwrap();
        write("load", &format!("tree_{name}"), &bytes);
        write("load_repaired", &format!("tree_{name}"), &bytes);
        write("parse", &format!("tree_{name}"), tree.to_string().as_bytes());
    }
    for (name, text) in specimens::STRUCTURES {
        write("parse", name, text.as_bytes());
    }
}
