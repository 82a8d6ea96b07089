//! Finds the files of a model in a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::bug::OrBug;
use crate::error::quoted;
use crate::formats::safetensors::index::{is_of_save, shard_number};
use crate::formats::safetensors::shards::Shards;

/// How to find and open the files of a format in a folder.
pub(crate) struct FolderFormat {
    /// The name for errors: `*.safetensors`.
    pub(crate) what: &'static str,
    /// The extension, without the dot.
    pub(crate) ending: &'static str,
    /// The file that is the model, if there are others.
    pub(crate) whole: &'static str,
    pub(crate) is_file: fn(&str) -> bool,
    /// Whether the total size in an index is the size of the tensors.
    pub(crate) has_total_size: bool,
    /// Opens a file. Returns the names of its tensors if they could be read.
    pub(crate) add: fn(&mut Shards<'static>, &Path) -> Option<Vec<String>>,
}

pub(crate) const SAFETENSORS: FolderFormat = FolderFormat {
    what: "*.safetensors",
    ending: "safetensors",
    whole: "model.safetensors",
    is_file: |name| name.ends_with(".safetensors"),
    has_total_size: true,
    add: Shards::add_path,
};

/// The files to open in a folder, and files of tensors that may be left out.
#[derive(Debug)]
pub(super) enum ModelFiles {
    Index(String, Vec<String>),
    Files(Vec<String>, Vec<String>),
}

/// Finds the model among the names in a folder, or explains why there is none.
pub(super) fn find(
    names: Vec<String>,
    variant: Option<&str>,
    of: &FolderFormat,
) -> Result<ModelFiles, String> {
    let (mut indexes, mut files) =
        (BTreeMap::<_, BTreeSet<_>>::new(), BTreeMap::<_, BTreeSet<_>>::new());
    let mut all = BTreeSet::new();
    for name in names {
        if let Some(of_index) = variant_of_index(&name, of.ending) {
            indexes.entry(of_index).or_default().insert(name);
        } else if (of.is_file)(&name) && !name.starts_with('.') {
            all.insert(name.clone());
            // A save that was interrupted before it wrote its index left the old file unchanged.
            if !is_of_save(&name) {
                files.entry(variant_of_file(&name, of.ending)).or_default().insert(name);
            }
        }
    }
    let variants: BTreeSet<&String> = indexes.keys().chain(files.keys()).collect();
    let requested = match variant {
        Some(variant) => variant.to_owned(),
        None => match variants.first() {
            Some(first) if !first.is_empty() && variants.len() == 1 => (*first).clone(),
            Some(first) if !first.is_empty() => {
                let names = listed(variants.iter().map(|name| name.as_str()));
                return Err(format!(
                    "several variants of a model, {names}: choose one (`OpenOptions::variant`)"
                ));
            }
            _ => String::new(),
        },
    };
    // `model` of `model.safetensors.index.json`
    let stem = |name: &str| name.split('.').next().map(str::to_owned);
    if let Some(indexes) = indexes.get(&requested) {
        let mut of_model = indexes.iter().filter(|name| stem(name) == stem(of.whole));
        let index = match (indexes.len(), of_model.next(), of_model.next()) {
            (1, ..) => indexes.first(),
            (_, Some(index), None) => Some(index),
            _ => None,
        };
        let names = listed(indexes.iter().map(String::as_str));
        let several = || format!("several indexes, {names}: open one of them");
        return Ok(ModelFiles::Index(
            index.ok_or_else(several)?.clone(),
            all.into_iter().collect(),
        ));
    }
    let Some(of_variant) = files.get(&requested) else {
        let names = listed(variants.iter().map(|name| name.as_str()).filter(|it| !it.is_empty()));
        return Err(match variant {
            Some(requested) if names.is_empty() => {
                format!("there is no variant {}", quoted(requested))
            }
            Some(requested) => format!("there is no variant {}, only {names}", quoted(requested)),
            None => format!("there is no file `{}` in it", of.what),
        });
    };
    // The part after a point is a variant only if there is a plain file without it: not in
    // `llama-3.1.safetensors` beside `adapter.safetensors`.
    let stems: BTreeSet<_> = of_variant.iter().map(|name| stem(name)).collect();
    let is_other = |name: &&String| variant.is_none() && !stems.contains(&stem(name));
    let candidates = of_variant.iter().chain(files.values().flatten().filter(is_other));
    let files = of_one_model(&candidates.cloned().collect(), of)?;
    let others = all.into_iter().filter(|name| !files.contains(name) && !is_of_save(name));
    let others = others.collect();
    Ok(ModelFiles::Files(files, others))
}

/// The files of one model, without an index.
fn of_one_model(files: &BTreeSet<String>, of: &FolderFormat) -> Result<Vec<String>, String> {
    let mut sets = BTreeMap::<String, Vec<&String>>::new();
    for name in files {
        let set = shard_number(name).map_or(name.clone(), |(_, count)| {
            format!(
                "{}-of-{count}",
                name.rsplit_once("-of-").map_or("", |(before, _)| {
                    before.rsplit_once('-').map_or(before, |(before, _)| before)
                })
            )
        });
        sets.entry(set).or_default().push(name);
    }
    let is_of_shards = |(set, _): &(&String, _)| !files.contains(*set);
    let mut of_shards = sets.iter().filter(is_of_shards).map(|(_, names)| names.clone());
    let model = match (sets.len(), files.get(of.whole), of_shards.next(), of_shards.next()) {
        (1, ..) => sets.into_values().next().or_bug(),
        (_, Some(whole), ..) => vec![whole],
        (_, None, Some(shards), None) => shards,
        _ => {
            let names = listed(files.iter().map(String::as_str));
            return Err(format!(
                "several files and no index, {names}: which belong together? Open these with `open_files`"
            ));
        }
    };
    let numbers: BTreeSet<u64> =
        model.iter().filter_map(|name| Some(shard_number(name)?.0)).collect();
    let count = model.first().and_then(|name| shard_number(name)).map_or(0, |(_, count)| count);
    // An index maps tensors to files; without one, only the names show that nothing is missing.
    if let Some(missing) = (1..=count).find(|number| !numbers.contains(number)) {
        let one = model.first().map_or("", |name| name.as_str());
        return Err(format!(
            "{} is one of {count} shards, and number {missing} is not there",
            quoted(one)
        ));
    }
    Ok(model.into_iter().cloned().collect())
}

fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const LISTED: usize = 4;
    let names: Vec<String> = names.map(quoted).collect();
    let shown: Vec<&str> = names.iter().take(LISTED).map(String::as_str).collect();
    match names.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The variant of an index, which is empty for the plain one: `fp16` of
/// `model.safetensors.index.fp16.json`, `model.safetensors.fp16.index.json` and
/// `model.fp16.safetensors.index.json`. `None` if it is no index.
fn variant_of_index(name: &str, ending: &str) -> Option<String> {
    let parts: Vec<&str> = name.strip_suffix(".json")?.split('.').collect();
    let (_, rest) = parts.split_first()?;
    let is_index = rest.contains(&"index") && rest.contains(&ending);
    let variant = rest.iter().filter(|part| **part != "index" && **part != ending);
    is_index.then(|| variant.copied().collect::<Vec<_>>().join("."))
}

/// The variant of a file: `fp16` of `model.fp16.safetensors`, `model.fp16-00001-of-00002.safetensors` and
/// `model-00001-of-00002.fp16.safetensors`.
fn variant_of_file(name: &str, ending: &str) -> String {
    let stem = name.strip_suffix(ending).and_then(|it| it.strip_suffix('.')).unwrap_or(name);
    let Some((_, variant)) = stem.split_once('.') else { return String::new() };
    let is_shard = shard_number(&format!("{variant}.x")).is_some();
    let before = |text: &str| text.rsplit_once('-').map(|(before, _)| before.to_owned());
    // `fp16-00001-of-00002`
    let shardless = Some(variant).filter(|_| is_shard).and_then(before);
    let shardless = shardless.and_then(|it| before(&it)).and_then(|it| before(&it));
    shardless.unwrap_or_else(|| variant.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_have_variants() {
        for (name, expected) in [
            ("model.safetensors", ""),
            ("model-00001-of-00002.safetensors", ""),
            ("model.fp16.safetensors", "fp16"),
            ("model.fp16-00001-of-00002.safetensors", "fp16"),
            ("model-00001-of-00002.fp16.safetensors", "fp16"),
            ("diffusion_pytorch_model.non_ema.safetensors", "non_ema"),
        ] {
            assert_eq!(variant_of_file(name, "safetensors"), expected, "{name}");
        }
        for (name, expected) in [
            ("model.safetensors.index.json", Some("")),
            ("model.safetensors.index.fp16.json", Some("fp16")),
            ("model.safetensors.fp16.index.json", Some("fp16")),
            ("model.fp16.safetensors.index.json", Some("fp16")),
            ("pytorch_model.bin.index.json", None),
            ("index.json", None),
            ("config.json", None),
        ] {
            assert_eq!(variant_of_index(name, "safetensors").as_deref(), expected, "{name}");
        }
    }
}
