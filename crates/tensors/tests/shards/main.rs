//! Checkpoints in several files: opened, loaded, written.

mod faults;
mod kills;
mod loading;
mod saving;

use std::fs;
use std::path::{Path, PathBuf};

use treedef_tensors::{Dtype, Error, Source, Tensor, Tensors, safetensors};

/// A folder that is removed.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.join(name), contents).unwrap();
    }

    /// Writes a file with tensors of bytes.
    fn shard(&self, name: &str, tensors: &[(&str, &[u8])]) {
        self.write(name, file(tensors));
    }

    fn index(&self, pairs: &[(&str, &str)], total: usize) {
        let pairs: serde_json::Map<_, _> =
            pairs.iter().map(|(name, file)| ((*name).to_owned(), (*file).into())).collect();
        let json = serde_json::json!({"metadata": {"total_size": total}, "weight_map": pairs});
        self.write("model.safetensors.index.json", json.to_string());
    }

    /// The error, without the name of the folder.
    #[track_caller]
    fn refused<T>(&self, result: Result<T, Error>) -> String {
        match result {
            Ok(_) => panic!("it was taken"),
            Err(error) => self.told(&error),
        }
    }

    /// The warnings.
    fn warned(&self, source: &Source<'_>) -> String {
        let warnings: Vec<String> = source.warnings().iter().map(ToString::to_string).collect();
        self.without_name(warnings.join("\n"))
    }

    fn told(&self, error: &Error) -> String {
        self.without_name(error.to_string())
    }

    fn without_name(&self, text: String) -> String {
        let canonical = fs::canonicalize(self.path()).unwrap();
        let text = text.replace(&format!("{}/", canonical.display()), "");
        text.replace(&format!("{}/", self.path().display()), "")
            .replace(&self.path().display().to_string(), "FOLDER")
    }
}

fn file(tensors: &[(&str, &[u8])]) -> Vec<u8> {
    let tensors = tensors.iter().map(|(name, bytes)| {
        let tensor = Tensor::new(Dtype::U8, vec![bytes.len()], bytes.to_vec()).unwrap();
        ((*name).to_owned(), tensor)
    });
    safetensors::to_bytes(&Tensors::new(tensors).unwrap()).unwrap()
}
