//! Folders of shards that are larger than memory.

use std::fs::{self, File};
use std::io::Write;

use crate::{Folder, printed, treedef};

/// A checkpoint of `tests/checkpoints.py`.
fn recorded(name: &str) -> String {
    format!("{}/tests/commands/checkpoints.in/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A file of safetensors whose numbers are a hole in the file.
pub(crate) fn sparse(path: &str, tensors: &[(String, u64)]) {
    let (mut header, mut end) = (Vec::new(), 0);
    for (name, size) in tensors {
        let start = end;
        end += size;
        header.push(format!(
            r#""{name}":{{"dtype":"BF16","shape":[{}],"data_offsets":[{start},{end}]}}"#,
            size / 2
        ));
    }
    let header = format!("{{{}}}", header.join(","));
    let mut file = File::create(path).unwrap();
    file.write_all(&u64::try_from(header.len()).unwrap().to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.set_len(8 + u64::try_from(header.len()).unwrap() + end).unwrap();
}

/// Shards with a number of tensors of equal size, and their index.
fn checkpoint(folder: &Folder, shards: usize, tensors: usize, size: u64) -> String {
    let (mut pairs, mut layer) = (Vec::new(), 0);
    for shard in 1..=shards {
        let file = format!("model-{shard:05}-of-{shards:05}.safetensors");
        let names: Vec<(String, u64)> = (0..tensors)
            .map(|_| {
                layer += 1;
                (format!("model.layers.{}.w", layer - 1), size)
            })
            .collect();
        sparse(&folder.path(&file), &names);
        pairs.extend(names.iter().map(|(name, _)| format!(r#""{name}": "{file}""#)));
    }
    let index = format!(r#"{{"weight_map": {{{}}}}}"#, pairs.join(", "));
    fs::write(folder.path("model.safetensors.index.json"), index).unwrap();
    folder.path("")
}

#[cfg(target_os = "linux")]
#[test]
fn hundreds_of_gigabytes_are_listed_in_little_memory() {
    let folder = Folder::new("sparse");
    let path = checkpoint(&folder, 100, 8, 500_000_000);
    let (code, shown, told) = crate::in_little_memory(&["show", &path]);
    assert_eq!((code, told.as_str()), (Some(0), ""));
    assert!(shown.contains("800 tensors, 200,000,000,000 parameters, 400.0 GB"), "{shown}");
    let (code, shown, _) = crate::in_little_memory(&["diff", "--structure", &path, &path]);
    assert_eq!((code, shown.as_str()), (Some(0), ""));
    let (code, _, told) = crate::in_little_memory(&["summary", &path]);
    assert_eq!(code, Some(2));
    assert!(told.contains("`show` and `diff --structure` read only the headers"), "{told}");
}

/// A file of PyTorch in its old form, with one tensor of many floats that need no space on the disk.
#[cfg(target_os = "linux")]
fn pytorch_file(folder: &Folder, name: &str, floats: u32) -> String {
    let start = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.".to_vec();
    let storage = b"\x80\x02}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n\
        ((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpu";
    let count = [b"\x8a\x05".as_slice(), &floats.to_le_bytes(), b"\0"].concat();
    let shape = [b"tQK\0".as_slice(), &count, b"\x85K\x01\x85\x89}tRs."].concat();
    let keys = [b"](X\x01\0\0\x000e.".as_slice(), &u64::from(floats).to_le_bytes()].concat();
    let bytes = [start, storage.to_vec(), count, shape, keys].concat();
    let path = folder.path(name);
    fs::write(&path, &bytes).unwrap();
    let size = bytes.len() as u64 + 4 * u64::from(floats);
    fs::File::options().write(true).open(&path).unwrap().set_len(size).unwrap();
    path
}

#[cfg(target_os = "linux")]
#[test]
fn files_of_pytorch_are_listed_and_copied_in_little_memory() {
    let folder = Folder::new("pytorch");
    let large = pytorch_file(&folder, "large.pt", 1_250_000_000);
    let (code, shown, told) = crate::in_little_memory(&["show", &large]);
    assert_eq!((code, told.as_str()), (Some(0), ""));
    assert!(shown.contains("1 tensor, 1,250,000,000 parameters, 5.0 GB"), "{shown}");
    let path = pytorch_file(&folder, "pytorch_model.bin", 100_000_000);
    let to = folder.path("model.safetensors");
    let (code, _, told) = crate::in_little_memory(&["convert", &path, "-o", &to]);
    assert_eq!((code, told.as_str()), (Some(0), ""));
    let (code, shown, _) = crate::in_little_memory(&["diff", &path, &to]);
    assert_eq!((code, shown.as_str()), (Some(0), ""));
}

#[cfg(target_os = "linux")]
#[test]
fn shards_are_divided_anew_in_little_memory() {
    let (old, new) = (Folder::new("old_shards"), Folder::new("new_shards"));
    let path = checkpoint(&old, 2, 1, 200_000_000);
    let to = new.path("out");
    let convert = ["convert", &path, "--shards", "1GB", "-o", &to, "--json"];
    let (code, told, errors) = crate::in_little_memory(&convert);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(told.contains("\"bytes\": 400000000"), "{told}");
    assert_eq!(fs::metadata(format!("{to}/model.safetensors")).unwrap().len() / 1_000_000, 400);
    let (code, shown, _) = crate::in_little_memory(&["diff", &path, &to]);
    assert_eq!((code, shown.as_str()), (Some(0), ""));
}

#[test]
fn each_fault_of_a_folder_has_a_line() {
    let folder = Folder::new("faults");
    let path = checkpoint(&folder, 3, 1, 8);
    fs::remove_file(folder.path("model-00002-of-00003.safetensors")).unwrap();
    fs::write(folder.path("model-00003-of-00003.safetensors"), "short").unwrap();
    let output = treedef(&["show", &path]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap().replace(&path, "");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines,
        [
            "treedef: model-00002-of-00003.safetensors: there is no such file",
            "treedef: model-00003-of-00003.safetensors: the file ends inside its header at byte 5",
            "treedef: : 2 faults, nothing was read",
        ]
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn tied_tensors_are_separate_on_request() {
    let folder = Folder::new("ties");
    let header =
        r#"{"__metadata__":{"head":"wte"},"wte":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    let (old, new) = (folder.path("old.safetensors"), folder.path("new.safetensors"));
    fs::write(&old, [&length[..], header.as_bytes(), &[1, 2]].concat()).unwrap();
    printed(&["convert", &old, "--separate", "-o", &new]);
    let out = folder.path("out");
    printed(&["convert", &old, "--shards", "1MB", "-o", &out]);
    let tied = "{\"wte\": u8[2]}\n# tied: head is wte\n";
    let both = "{\"head\": u8[2], \"wte\": u8[2]}\n";
    for (path, shown) in [(&old, tied), (&new, both), (&out, tied)] {
        assert_eq!(printed(&["select", "**", path]), ".head: [1,2]\n.wte: [1,2]\n");
        assert_eq!(printed(&["show", path]).split_once('\n').unwrap().1, shown);
    }
}

/// In a folder with the steps of a training, the newest is opened, and the output names it.
#[test]
fn the_newest_step_of_orbax_is_opened() {
    let folder = Folder::new("steps");
    let metadata = fs::read(recorded("orbax/default/_METADATA")).unwrap();
    // A step that is being written, and a folder that is not a step.
    for step in ["9", "80", "700.orbax-checkpoint-tmp"] {
        let item = folder.path(&format!("{step}/default"));
        fs::create_dir_all(&item).unwrap();
        fs::write(format!("{item}/_METADATA"), &metadata).unwrap();
    }
    fs::create_dir(folder.path("1000")).unwrap();
    let root = folder.path("");
    let root = root.trim_end_matches('/');
    let newest = printed(&["show", &folder.path("80")]);
    assert!(newest.starts_with(&format!("# {}: ", folder.path("80"))), "{newest}");
    assert_eq!(printed(&["show", root]), newest);
    assert!(printed(&["show", &folder.path("9")]).contains(newest.lines().nth(1).unwrap()));
    fs::rename(folder.path("9"), folder.path("step_00090")).unwrap();
    let output = printed(&["show", root]);
    assert!(output.starts_with(&format!("# {}: ", folder.path("step_00090"))), "{output}");
}

/// Numbers behind different names cannot be compared, and none of several items is the step.
#[test]
fn what_to_pass_of_orbax_is_told() {
    let folder = Folder::new("items");
    let metadata = fs::read(recorded("orbax/default/_METADATA")).unwrap();
    let put = |path: &str| {
        fs::create_dir_all(folder.path(path)).unwrap();
        fs::write(folder.path(&format!("{path}/_METADATA")), &metadata).unwrap();
    };
    for path in
        ["root/3", "root/5/params", "root/5/opt", "runs/run_2024", "runs/step_9", "runs/run_7"]
    {
        put(path);
    }
    // Files that orbax writes beside the items of a step.
    for step in ["root/3", "root/5"] {
        fs::write(folder.path(&format!("{step}/_CHECKPOINT_METADATA")), "{}").unwrap();
    }
    let items = "5: several checkpoints of orbax, pass one: 5/opt/_METADATA, 5/params/_METADATA";
    for (path, root, expected) in [
        ("root", "root", items),
        ("root/5", "root", items),
        ("runs", "", "runs: steps of several names, pass one: runs/run_2024, runs/step_9"),
    ] {
        let output = treedef(&["show", &folder.path(path)]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        let root = folder.path(root);
        let told = told.replace(&format!("{}/", root.trim_end_matches('/')), "");
        assert_eq!(told, format!("treedef: {expected}\n"));
    }
    // Each that is named can be passed.
    let shown =
        |path: &str| printed(&["show", &folder.path(path)]).split_once('\n').unwrap().1.to_owned();
    for path in ["root/5/opt", "root/5/params/_METADATA", "runs/run_2024", "runs/step_9"] {
        assert_eq!(shown(path), shown("root/3"));
    }
    fs::remove_dir_all(folder.path("root/5/opt")).unwrap();
    assert_eq!(shown("root/5"), shown("root/3"));
}

#[test]
fn show_lists_the_names_of_tied_tensors() {
    let llama = recorded("llama");
    let shown = printed(&["show", &llama]);
    assert!(shown.ends_with("}\n# tied: lm_head.weight is model.embed_tokens.weight\n"), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&printed(&["show", "--json", &llama])).unwrap();
    assert_eq!(json["aliases"], serde_json::json!({"lm_head.weight": "model.embed_tokens.weight"}));
    // They are comments to `check`.
    let folder = Folder::new("tied");
    let like = folder.path("like.treedef");
    fs::write(&like, shown).unwrap();
    let checked = treedef(&["check", &llama, "--like", &like]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
}

/// A file of GGUF whose only entry is an array of arrays of texts.
fn nested(folder: &Folder, name: &str, lengths: &[usize]) -> String {
    let mut file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
    let number = |number: usize| u64::try_from(number).unwrap().to_le_bytes();
    let text = |text: &str| [&number(text.len())[..], text.as_bytes()].concat();
    file.extend(text("vocabulary"));
    file.extend([9_u32, 9].map(u32::to_le_bytes).concat());
    file.extend(number(lengths.len()));
    let mut texts = (0..).map(|at| text(&format!("the text of the number {at}")));
    for length in lengths {
        file.extend(8_u32.to_le_bytes());
        file.extend(number(*length));
        texts.by_ref().take(*length).for_each(|text| file.extend(text));
    }
    fs::write(folder.path(name), file).unwrap();
    folder.path(name)
}

#[test]
fn metadata_and_tensors_of_gguf_are_compared() {
    let folder = Folder::new("gguf");
    let [old, new] =
        [("old.gguf", [7, 3]), ("new.gguf", [2, 8])].map(|(name, of)| nested(&folder, name, &of));
    let output = treedef(&["diff", &old, &new]).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.starts_with("~ metadata \"vocabulary\": 10 values, "), "{told}");
    // A patch has only the metadata, with a message.
    let old = recorded("quantised.gguf");
    let mut bytes = fs::read(&old).unwrap();
    let key = b"general.architecture";
    let text = bytes.windows(key.len()).position(|it| it == key).unwrap() + key.len() + 12;
    bytes[text] ^= 1;
    let number = bytes.len() - 300;
    bytes[number] ^= 1;
    fs::write(&new, bytes).unwrap();
    let output = treedef(&["diff", "--patch", &old, &new]).output().unwrap();
    let patch: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(patch["changes"].as_array().unwrap().len(), 1, "{patch}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        told,
        "treedef: not in the patch: ~ .blk[1].attn_k.weight: f32[4, 4]: 1 of 16 numbers differ, \
         most at [1][1]: -1.75 → -1.7500001\n"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// A folder as on a hub: each subcommand leaves out files that the index does not list.
#[test]
fn each_subcommand_takes_a_folder_of_a_hub() {
    let folder = Folder::new("hub");
    let mut path = checkpoint(&folder, 2, 1, 8);
    path.pop();
    for name in ["consolidated", "adapter_model"] {
        sparse(&folder.path(&format!("{name}.safetensors")), &[("other".to_owned(), 4)]);
    }
    fs::write(folder.path("config.json"), "{}").unwrap();
    fs::copy(recorded("../pytorch.in/shared.pt"), folder.path("pytorch_model.bin")).unwrap();
    let out = |name: &str| folder.path(name);
    let (patch, like) = (out("patch.json"), out("like.treedef"));
    fs::write(&patch, r#"{"changes": []}"#).unwrap();
    fs::write(&like, r#"{"model": {"layers": [{"w": bf16[4]}; 2]}}"#).unwrap();
    let left_out = "treedef: FOLDER: `adapter_model.safetensors`, `consolidated.safetensors`: \
                    left out, as the index does not name it\n\
                    treedef: FOLDER: `pytorch_model.bin`: left out, as there are files of safetensors \
                    (`--format` opens others)\n";
    for (args, expected) in [
        (vec!["show", &path], "{\"model\": {\"layers\": [{\"w\": bf16[4]}; 2]}}\n"),
        (vec!["summary", &path], "bf16[4]"),
        (vec!["select", "**.layers[1]", &path], ".model.layers[1].w: [0.0,0.0,0.0,0.0]\n"),
        (
            vec!["diff", &path, &out("model-00001-of-00002.safetensors")],
            "- .model.layers[1].w: bf16[4]\n",
        ),
        (vec!["fingerprint", &path], "FOLDER\n"),
        (vec!["check", &path, "--like", &like], ""),
        (vec!["view", &path], "<!doctype html>"),
        (vec!["convert", &path, "-o", &out("out/one.safetensors")], ""),
        (vec!["convert", &path, "--shards", "8", "-o", &out("out")], ""),
        (vec!["apply", &path, &patch, "-o", &out("out/two.npz")], ""),
    ] {
        fs::create_dir_all(out("out")).unwrap();
        let output = treedef(&args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&path, "FOLDER");
        let (told, printed) = (text(output.stderr), text(output.stdout));
        assert!(told.starts_with(left_out), "{args:?}: {told}");
        assert!(printed.contains(expected), "{args:?}: {printed}");
        assert!(output.status.code() != Some(2), "{args:?}: {told}");
    }
    // The file that was written beside another one is opened again, and equal.
    let output = treedef(&["diff", &path, &out("out")]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let strict = treedef(&["show", "--strict", &path]).output().unwrap();
    assert_eq!(strict.status.code(), Some(2));
}

/// The requested format is opened, shards of PyTorch are complete, and stand-ins for files are
/// reported.
#[test]
fn a_folder_of_several_formats_is_no_other_than_it_says() {
    let folder = Folder::new("formats");
    let mut path = checkpoint(&folder, 1, 1, 8);
    path.pop();
    let model = recorded("../pytorch.in/shared.pt");
    let told = |args: &[&str]| {
        let output = treedef(&[&["show", &path], args].concat()).output().unwrap();
        let [told, shown] = [output.stderr, output.stdout]
            .map(|bytes| String::from_utf8(bytes).unwrap().replace(&path, "FOLDER"));
        (output.status.code(), if told.is_empty() { shown } else { told })
    };
    let of_pytorch = ["--format", "pytorch"];
    let none = "treedef: FOLDER: there is no file `*pytorch_model*.bin` in it\n";
    assert_eq!(told(&of_pytorch), (Some(2), none.to_owned()));
    fs::copy(&model, folder.path("pytorch_model.bin")).unwrap();
    let shown = printed(&["show", &model]).split_once(": ").unwrap().1.to_owned();
    assert_eq!(told(&of_pytorch), (Some(0), format!("# FOLDER: {shown}")));
    let variant = "treedef: FOLDER: there is no variant \"fp16\"\n";
    let args = ["--format", "pytorch", "--variant", "fp16"];
    assert_eq!(told(&args), (Some(2), variant.to_owned()));
    let left_out = "treedef: FOLDER: `pytorch_model.bin`: left out, as there are files of safetensors \
                    (`--format` opens others)\n";
    assert_eq!(told(&["--strict"]), (Some(2), left_out.to_owned()));
    let part = folder.path("pytorch_model-00001-of-00002.bin");
    fs::rename(folder.path("pytorch_model.bin"), &part).unwrap();
    let missing = "treedef: FOLDER: \"pytorch_model-00001-of-00002.bin\" is one of 2 shards, and number 2 \
                   is not there\n";
    assert_eq!(told(&of_pytorch), (Some(2), missing.to_owned()));
    for name in ["pytorch_model.bin", "model.ckpt", "model.pt"] {
        let path = folder.path(name);
        fs::write(&path, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n").unwrap();
        let output = treedef(&["show", &path]).output().unwrap();
        let what = "a pointer of git-lfs and not the file: `git lfs pull` brings it";
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told, format!("treedef: {path}: {what}\n"));
        // Also in the place of a patch.
        let document = folder.path("document.json");
        fs::write(&document, "{}").unwrap();
        let output = treedef(&["apply", &document, &path]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told, format!("treedef: {path}: {what}\n"));
    }
}

/// peft writes an adapter of low rank alone, or beside the model.
#[test]
fn an_adapter_of_pytorch_is_a_checkpoint() {
    let folder = Folder::new("adapter");
    let path = folder.path("");
    pytorch_file(&folder, "adapter_model.bin", 4);
    let adapter = printed(&["show", &path]);
    assert!(adapter.contains("1 tensor, 4 parameters"), "{adapter}");
    pytorch_file(&folder, "pytorch_model.bin", 8);
    let output = treedef(&["show", &path]).output().unwrap();
    let [shown, told] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    assert!(shown.contains("1 tensor, 8 parameters"), "{shown}");
    assert!(told.contains("`adapter_model.bin`: left out"), "{told}");
}
