//! Files that are written tensor by tensor, and checkpoints in shards.

use std::collections::BTreeMap;
use std::fs;

use insta::assert_snapshot;
use treedef::Tree;
use treedef_tensors::safetensors::{self, Writer};
use treedef_tensors::{Descriptor, Dtype, Export, Source, Tensor, Tensors};

use crate::Folder;

/// The names in the folder, sorted, with `TAG` for their random part.
fn listed(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name());
    let mut names: Vec<String> = names.map(|it| it.into_string().unwrap()).collect();
    names.sort();
    let short = |name: &String| match name.split('-').nth(1) {
        Some(tag) if tag.len() == 8 => name.replace(tag, "TAG"),
        _ => name.clone(),
    };
    names.iter().map(short).collect()
}

fn bytes(sizes: &[(&str, usize)]) -> Tensors<'static> {
    let tensors = sizes.iter().zip(1..).map(|((name, size), fill)| {
        let tensor = Tensor::new(Dtype::U8, vec![*size], vec![fill; *size]).unwrap();
        ((*name).to_owned(), tensor)
    });
    Tensors::new(tensors).unwrap()
}

#[test]
fn a_writer_takes_tensors_in_any_order() {
    let folder = Folder::new();
    let path = folder.join("a.safetensors");
    let tree = Tree::of(&(vec![1.5f32; 700_000], [2u8; 3], 7u64)).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    let source = Source::from(&tensors);
    let descriptors = || source.iter().map(|stored| stored.descriptor().clone());
    let metadata = || {
        let keys = tensors.metadata_keys();
        keys.map(|key| (key.to_owned(), tensors.metadata(key).unwrap().to_owned()))
    };
    let mut writer = Writer::create(&path, descriptors(), metadata()).unwrap();
    for round in 0..3 {
        for (name, tensor) in tensors.iter().collect::<Vec<_>>().into_iter().rev() {
            let third = tensor.bytes().len().div_ceil(3);
            let piece = tensor.bytes().chunks(third).nth(round).unwrap_or_default();
            writer.write(name, piece).unwrap();
        }
    }
    assert!(!path.exists());
    writer.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), safetensors::to_bytes(&tensors).unwrap());
    assert_eq!(listed(&folder), ["a.safetensors"]);
}

#[test]
fn a_writer_refuses_what_is_not_the_file() {
    let folder = Folder::new();
    let path = folder.join("a.safetensors");
    folder.write("a.safetensors", "old");
    let of = |name: &str, dtype, shape: &[usize]| Descriptor::new(name, dtype, shape);
    let none = || Vec::<(String, String)>::new();
    let create = |descriptors: Vec<Descriptor>| Writer::create(&path, descriptors, none());
    let told = |writer: Result<Writer, _>| folder.refused(writer);
    let twice = told(create(vec![of("a", Dtype::U8, &[1]), of("a", Dtype::U8, &[2])]));
    assert_snapshot!(twice, @r#"two tensors have the name "a""#);
    assert_snapshot!(told(create(vec![of("__metadata__", Dtype::U8, &[1])])), @"the name `__metadata__` is reserved");
    assert_snapshot!(told(create(vec![of("a", Dtype::C128, &[1])])), @"safetensors has no c128, which `a` has");
    assert_snapshot!(told(create(vec![of("a", Dtype::F32, &[usize::MAX, 2])])), @"`a`, f32[18446744073709551615, 2], has no number of bytes");
    let text = |text: &str| ("k".to_owned(), text.to_owned());
    assert_snapshot!(told(Writer::create(&path, [], [text("a"), text("b")])), @r#"the metadata has "k" twice"#);
    let missing = Writer::create(folder.join("no/a"), [], none());
    assert!(missing.unwrap_err().is_not_found());
    assert_snapshot!(folder.refused(Writer::create(folder.path(), [], none())), @"FOLDER: a folder");

    let mut writer =
        create(vec![of("a", Dtype::F32, &[2]), of("b", Dtype::U8, &[0]), of("c", Dtype::U8, &[9])])
            .unwrap();
    writer.write("a", &[0; 6]).unwrap();
    assert_snapshot!(writer.write("a", &[0; 3]).unwrap_err(), @r#""a", f32[2], has 8 bytes: 6 were written, and 3 more were given"#);
    assert_snapshot!(writer.write("d", &[]).unwrap_err(), @r#"the file was created without a tensor "d""#);
    assert_snapshot!(writer.finish().unwrap_err(), @r#"not all was written: "a" (6 of 8 bytes), "c" (0 of 9 bytes)"#);
    // Nothing happened to the old file, and nothing is beside it.
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(listed(&folder), ["a.safetensors"]);
}

/// A writer removes the leftovers of killed writers of its file. A save of shards removes all leftovers.
#[test]
fn what_killed_writers_left_is_removed() {
    let folder = Folder::new();
    for of in ["a.safetensors", "b.safetensors"] {
        folder.write(&format!(".{of}.Stale1.treedef-tmp"), "half");
    }
    let path = folder.join("a.safetensors");
    let first = Writer::create(&path, [], []).unwrap();
    assert_eq!(listed(&folder).len(), 2, "b's, and the new one");
    // A file that is being written has a lock.
    Writer::create(&path, [], []).unwrap().finish().unwrap();
    first.finish().unwrap();
    assert_eq!(listed(&folder), [".b.safetensors.Stale1.treedef-tmp", "a.safetensors"]);
    safetensors::save_sharded(&bytes(&[("a", 4)]), folder.path(), 10).unwrap();
    assert_eq!(listed(&folder), ["a.safetensors", "model.safetensors"]);
}

#[test]
fn shards_have_at_most_so_many_bytes() {
    let tensors = bytes(&[("a", 4), ("b", 4), ("c", 20), ("d", 1), ("e", 9), ("f", 1), ("g", 0)]);
    let folder = Folder::new();
    safetensors::save_sharded(&tensors, folder.path(), 10).unwrap();
    let text = fs::read_to_string(folder.join("model.safetensors.index.json")).unwrap();
    assert_snapshot!(text, @r#"
    {
      "metadata": {
        "total_size": 39
      },
      "weight_map": {
        "a": "model-00001-of-00004.safetensors",
        "b": "model-00001-of-00004.safetensors",
        "c": "model-00002-of-00004.safetensors",
        "d": "model-00003-of-00004.safetensors",
        "e": "model-00003-of-00004.safetensors",
        "f": "model-00004-of-00004.safetensors",
        "g": "model-00004-of-00004.safetensors"
      }
    }
    "#);
    let source = safetensors::open(folder.path()).unwrap();
    assert_eq!(source.read().unwrap(), tensors);
    // As transformers' writer: Python's `json.dumps(index, indent=2, sort_keys=True) + "\n"`.
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string_pretty(&json).unwrap() + "\n", text);
}

#[test]
fn one_file_is_enough_for_little() {
    let folder = Folder::new();
    for tensors in [bytes(&[("a", 4)]), bytes(&[]), bytes(&[("b", 4), ("c", 9)])] {
        let files = safetensors::save_sharded(&tensors, folder.path(), 20).unwrap();
        assert_eq!(files, [folder.join("model.safetensors")]);
        assert_eq!(safetensors::open(folder.path()).unwrap().read().unwrap(), tensors);
    }
    assert_eq!(listed(&folder), ["model.safetensors"]);
}

/// A folder has one checkpoint after each save, independent of its old content.
#[test]
fn a_save_replaces_what_was_there() {
    let folder = Folder::new();
    folder.write("config.json", "{}");
    folder.write("adapter.bin", "");
    let sizes = [3, 100, 3, 1, 100, 4];
    for (round, max_bytes) in (1..).zip(sizes) {
        let tensors = bytes(&[("a", round), ("b", 2), ("c", 3)]);
        safetensors::save_sharded(&tensors, folder.path(), max_bytes).unwrap();
        assert_eq!(safetensors::open(folder.path()).unwrap().read().unwrap(), tensors);
    }
    let shard = |number| format!("model-TAG-0000{number}-of-00003.safetensors");
    let (index, other) = ("model.safetensors.index.json".to_owned(), "config.json".to_owned());
    let all = ["adapter.bin".to_owned(), other, shard(1), shard(2), shard(3), index];
    assert_eq!(listed(&folder), all);
    // Only shards are removed, even if the index lists other files.
    let index = r#"{"metadata": {"replaced_files": ["config.json", "../x.safetensors"]}, "weight_map": {"a": "adapter.bin"}}"#;
    folder.write("model.safetensors.index.json", index);
    safetensors::save_sharded(&bytes(&[("a", 1)]), folder.path(), 1).unwrap();
    assert!(folder.join("config.json").exists() && folder.join("adapter.bin").exists());

    folder.write("other.safetensors.index.json", "{}");
    let saved = safetensors::save_sharded(&bytes(&[("a", 1)]), folder.path(), 1);
    assert_snapshot!(folder.refused(saved), @r#"FOLDER: the checkpoint in it has the index "other.safetensors.index.json", remove it or take another folder"#);
}

/// A killed save would leave some of the new files under the names of old ones.
#[test]
fn files_without_an_index_keep_their_names_until_there_is_one() {
    let (folder, made) = (Folder::new(), Folder::new());
    let save = |tensors: &Tensors<'_>, folder: &Folder| {
        safetensors::save_sharded(tensors, folder.path(), 1).unwrap()
    };
    let old = save(&bytes(&[("a", 1), ("b", 2)]), &made);
    for others in [&[][..], &["adapter-00001-of-00002.safetensors"], &["model.fp16.safetensors"]] {
        for path in old.iter().filter(|path| path.extension().unwrap() != "json") {
            fs::copy(path, folder.join(path.file_name().unwrap().to_str().unwrap())).unwrap();
        }
        others.iter().for_each(|name| folder.shard(name, &[("c", &[0])]));
        let new = bytes(&[("a", 3), ("b", 4)]);
        save(&new, &folder);
        assert_eq!(safetensors::open(folder.path()).unwrap().read().unwrap(), new);
        let shard = |number| format!("model-TAG-0000{number}-of-00002.safetensors");
        let mut all = vec![shard(1), shard(2), "model.safetensors.index.json".to_owned()];
        all.extend(others.iter().map(|name| (*name).to_owned()));
        all.sort();
        assert_eq!(listed(&folder), all);
        fs::read_dir(folder.path())
            .unwrap()
            .for_each(|it| fs::remove_file(it.unwrap().path()).unwrap());
    }
    // One file that is the whole model by another name.
    folder.shard("weights.safetensors", &[("c", &[0])]);
    save(&bytes(&[("a", 3), ("b", 4)]), &folder);
    assert_eq!(listed(&folder)[0], "model-TAG-00001-of-00002.safetensors");
}

/// `open` leaves such files out, so a save leaves them in the folder.
#[test]
fn files_that_an_index_does_not_list_are_kept() {
    let folder = Folder::new();
    let save = |max_bytes| {
        let tensors = bytes(&[("a", 1), ("b", 2)]);
        safetensors::save_sharded(&tensors, folder.path(), max_bytes).unwrap();
        assert_eq!(safetensors::open(folder.path()).unwrap().read().unwrap(), tensors);
    };
    save(1);
    let strays = ["model-00001-of-00007.safetensors", "model.safetensors"];
    strays.iter().for_each(|name| folder.shard(name, &[("other", &[7])]));
    for max_bytes in [1, 9] {
        save(max_bytes);
        for name in strays {
            assert_eq!(fs::read(folder.join(name)).unwrap(), crate::file(&[("other", &[7])]));
        }
        let replaced = fs::read_to_string(folder.join("model.safetensors.index.json")).unwrap();
        assert!(!strays.iter().any(|name| replaced.contains(name)), "{replaced}");
    }
}

/// Only files that may still be there are named as replaced.
#[test]
fn an_index_does_not_grow() {
    let folder = Folder::new();
    let size = || fs::metadata(folder.join("model.safetensors.index.json")).unwrap().len();
    let save = || {
        safetensors::save_sharded(&bytes(&[("a", 1), ("b", 2), ("c", 3)]), folder.path(), 1)
            .unwrap();
    };
    (0..3).for_each(|_| save());
    let third = size();
    (0..5).for_each(|_| save());
    assert_eq!(size(), third);
}

#[test]
fn shards_are_divided_anew() {
    let (one, other) = (Folder::new(), Folder::new());
    let tensors = bytes(&[("a", 3_000_000), ("b", 7), ("c", 0), ("d", 1_048_576)]);
    let tensors = tensors.with_metadata("format", "pt").with_metadata("tied", "d");
    safetensors::save_sharded(&tensors, one.path(), 8).unwrap();
    let source = safetensors::open(one.path()).unwrap();
    safetensors::save_sharded(&source, other.path(), u64::MAX).unwrap();
    let whole = fs::read(other.join("model.safetensors")).unwrap();
    assert_eq!(whole, safetensors::to_bytes(&tensors).unwrap());
    // `format` is in each file, and an alias in the file of its tensor.
    for (name, key, text) in [
        ("model-00001-of-00003.safetensors", "format", Some("pt")),
        ("model-00003-of-00003.safetensors", "format", Some("pt")),
        ("model-00001-of-00003.safetensors", "tied", None),
        ("model-00003-of-00003.safetensors", "tied", Some("d")),
    ] {
        let source = safetensors::open(one.join(name)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(source.metadata(key), text, "{name}");
    }
    // Over itself.
    safetensors::save_sharded(&source, one.path(), u64::MAX).unwrap();
    assert_eq!(safetensors::open(one.path()).unwrap().read().unwrap(), tensors);
}

#[test]
fn a_tree_comes_back_from_its_shards() {
    let value = vec![("x".to_owned(), [0.5f32; 3], vec![7u8; 4]); 3];
    let tree = Tree::of(&value).unwrap();
    let export = Export::new().rest_in_metadata(true);
    let folder = Folder::new();
    safetensors::save_sharded(&export.tensors(&tree).unwrap(), folder.path(), 5).unwrap();
    let source = safetensors::open(folder.path()).unwrap();
    assert_eq!(export.tree(&source.read().unwrap()).unwrap(), tree);
}

#[test]
fn tied_tensors_are_stored_once() {
    let value: BTreeMap<&str, [u8; 3]> =
        BTreeMap::from([("head", [1, 2, 3]), ("wte", [1, 2, 3]), ("x", [0; 3])]);
    let tree = Tree::of(&value).unwrap();
    let tensors = || Tensors::of(&tree).unwrap();
    let tied = tensors().tie("head", "wte").unwrap();
    assert_eq!(tied.iter().len(), 2);
    let folder = Folder::new();
    safetensors::save_sharded(&tied, folder.path(), 3).unwrap();
    let source = safetensors::open(folder.path()).unwrap();
    assert_eq!(source.load::<BTreeMap<String, [u8; 3]>>().unwrap().len(), 3);
    assert_eq!(Export::new().tree(&source.read().unwrap()).unwrap(), tree);
    safetensors::save_sharded(source.separate(), folder.path(), 3).unwrap();
    let separate = safetensors::open(folder.path()).unwrap();
    assert_eq!((separate.iter().len(), separate.aliases().count()), (3, 0));
    assert_eq!(Export::new().tree(&separate.read().unwrap()).unwrap(), tree);

    assert_snapshot!(tensors().tie("head", "x").unwrap_err(), @r#""head", u8[3], cannot be tied to "x", u8[3]: two equal tensors can be"#);
    assert_snapshot!(tensors().tie("head", "y").unwrap_err(), @r#"there is no tensor "y", to be tied"#);
    assert_snapshot!(tensors().tie("x", "x").unwrap_err(), @r#""x", u8[3], cannot be tied to "x", u8[3]: two equal tensors can be"#);
    for name in ["format", "treedef", "treedef.arrays", "treedef.matrices", "treedef.renames"] {
        let reserved = bytes(&[]).with_metadata("treedef", "[*; 2]");
        let pair = [name, "wte"]
            .map(|name| (name.to_owned(), Tensor::new(Dtype::U8, vec![1], vec![1]).unwrap()));
        let reserved =
            Tensors::new(pair).unwrap().with_metadata(name, reserved.metadata("treedef").unwrap());
        let error = reserved.tie(name, "wte").unwrap_err();
        assert_eq!(error.to_string(), format!("the name `{name}` is reserved"));
    }
    let taken = tensors().with_metadata("head", "a title").tie("head", "wte");
    assert_snapshot!(taken.unwrap_err(), @r#""head" cannot be tied: its text in the metadata is "a title""#);
    // The text of a tensor's name is not an alias under the name of a tensor.
    let tied = tensors().with_metadata("x", "head").with_metadata("top", "head");
    let tied = tied.tie("head", "wte").unwrap();
    assert_eq!(["x", "top", "head"].map(|key| tied.metadata(key).unwrap()), ["head", "wte", "wte"]);
    // A file of few bytes does not become a large value.
    let names = (0..100).map(|number| (number.to_string(), "x".to_owned()));
    let many = names.fold(bytes(&[("x", 9)]), |all, (alias, of)| all.with_metadata(alias, of));
    let error = many.load::<BTreeMap<String, Vec<u8>>>().unwrap_err();
    assert_snapshot!(error, @"the aliases of tied tensors have 900 bytes, more than 64 times those of the tensors");
}

/// A source has the names that the saved file has.
#[test]
fn a_text_of_a_source_is_an_alias_as_in_its_file() {
    let tensors = bytes(&[("wte", 2), ("x", 3)]);
    let source = Source::from(&tensors).with_metadata("head", "wte").with_metadata("top", "x");
    for source in [source.clone(), source.with_metadata("head", "a title")] {
        let mut file = Vec::new();
        safetensors::write(&source, &mut file).unwrap();
        let read = safetensors::from_bytes(&file).unwrap();
        assert_eq!(source.aliases().collect::<Vec<_>>(), read.aliases().collect::<Vec<_>>());
        for name in ["head", "top", "wte"] {
            let bytes = |source: &Source<'_>| source.get(name).map(|it| it.num_bytes());
            assert_eq!(bytes(&source), bytes(&read), "{name}");
        }
    }
}

#[cfg(unix)]
#[test]
fn permissions_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.join("model.safetensors");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let tensors = bytes(&[("a", 4)]);
    safetensors::save_sharded(&tensors, folder.path(), 20).unwrap();
    let new = mode();
    safetensors::save(&tensors, &path).unwrap();
    assert_eq!(mode(), new);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    safetensors::save_sharded(&tensors, folder.path(), 20).unwrap();
    assert_eq!(mode(), 0o600);
}
