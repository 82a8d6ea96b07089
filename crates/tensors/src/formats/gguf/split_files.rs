//! The parts of a model that llama.cpp splits into several files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use treedef::{Key, Leaf, Tree};

use crate::error::{ErrorKind, Result, quoted};
use crate::file;

const ENDING: &str = ".gguf";

/// An integer of the metadata.
fn number(metadata: &Tree<Leaf>, key: &str) -> Option<u64> {
    let root = metadata.treedef().root();
    let is_key = |at: &usize| match root.key(*at) {
        Some(Key::Entry(name)) => name.as_str() == Some(key),
        _ => false,
    };
    let node = root.child((0..root.num_children()).find(is_key)?)?;
    let leaf = metadata.leaves().get(node.leaf_range().start).filter(|_| node.is_leaf())?;
    u64::try_from(leaf.as_i128()?).ok()
}

/// The number of a part, from 1 on, and the number of parts, if the header mentions other parts.
pub(super) fn part_of(metadata: &Tree<Leaf>) -> Option<(u64, u64)> {
    let count = number(metadata, "split.count").filter(|count| *count > 1)?;
    Some((number(metadata, "split.no")?.saturating_add(1), count))
}

/// The number of tensors in all parts, which each part records.
pub(super) fn num_tensors(metadata: &Tree<Leaf>) -> Option<u64> {
    number(metadata, "split.tensors.count")
}

/// The part of a name before the number: `model` of `model-00001-of-00003.gguf`.
fn stem(name: &str) -> Option<(&str, u64)> {
    let (stem, count) = name.strip_suffix(ENDING)?.rsplit_once("-of-")?;
    let (stem, number) = stem.rsplit_once('-')?;
    let is_number = |text: &str| text.len() == 5 && text.bytes().all(|it| it.is_ascii_digit());
    (is_number(number) && is_number(count)).then_some(())?;
    Some((stem, count.parse().ok()?))
}

/// The files of all parts, in the same folder. An error names a missing one.
pub(super) fn part_paths(path: &Path, (number, count): (u64, u64)) -> Result<Vec<PathBuf>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_part = format!("part {number} of {count}");
    let Some((stem, _)) = stem(&name).filter(|(_, of_name)| *of_name == count) else {
        let what = format!(
            "{}: {is_part}, and its name does not say which the others are, such as \
             `model-00001-of-{count:05}.gguf`",
            path.display()
        );
        return Err(ErrorKind::Malformed(what).into());
    };
    let mut paths = Vec::new();
    for number in 1..=count {
        let name = format!("{stem}-{number:05}-of-{count:05}{ENDING}");
        let part = file::folder(path).join(&name);
        if !part.is_file() {
            let what = format!("{}: {is_part}, and {} is not there", path.display(), quoted(&name));
            return Err(ErrorKind::Malformed(what).into());
        }
        paths.push(part);
    }
    Ok(paths)
}

/// The only model in a folder, by the first of its existing files.
pub(super) fn model_in(folder: &Path) -> Result<PathBuf> {
    let in_folder = |error| file::in_file(folder, error);
    let mut models = BTreeMap::<_, BTreeSet<String>>::new();
    for entry in fs::read_dir(folder).map_err(in_folder)? {
        let name = entry.map_err(in_folder)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(ENDING) && !name.starts_with('.') {
            let model = match stem(&name) {
                Some((stem, count)) => format!("{stem}-00001-of-{count:05}{ENDING}"),
                None => name.clone(),
            };
            models.entry(model).or_default().insert(name);
        }
    }
    let shown = |what: String| ErrorKind::Malformed(format!("{}: {what}", folder.display()));
    let first = models.values().next().and_then(|files| files.first());
    match first {
        Some(first) if models.len() == 1 => Ok(folder.join(first)),
        Some(_) => {
            let names: Vec<String> = models.keys().take(4).map(|name| quoted(name)).collect();
            let names = names.join(", ");
            Err(shown(format!("{} models, such as {names}: open one of them", models.len())).into())
        }
        None => Err(shown("there is no file `*.gguf` in it".to_owned()).into()),
    }
}
