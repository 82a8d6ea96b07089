//! The files that the command writes: they have the old or the new contents in every case.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn treedef(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_treedef"));
    command.args(args).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// A JSON document with a text of this many bytes. `convert --to json` writes it in three lines.
fn document(bytes: usize) -> String {
    format!("[\"{}\"]", "x".repeat(bytes))
}

/// A file of safetensors with this number of tensors of 50,000 bytes.
fn tensors(count: usize) -> Vec<u8> {
    let entry = |at: usize| {
        let (start, end) = (at * 50_000, (at + 1) * 50_000);
        format!(r#""w{at}":{{"dtype":"U8","shape":[50000],"data_offsets":[{start},{end}]}}"#)
    };
    let header = format!("{{{}}}", (0..count).map(entry).collect::<Vec<_>>().join(","));
    let mut file = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    // No compression makes them smaller.
    let mut random = fastrand::Rng::with_seed(3);
    file.extend(std::iter::repeat_with(|| random.u8(..)).take(count * 50_000));
    file
}

/// The names in a folder, if there is one.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten().map(|it| it.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// The subcommands that write a file, as they write `output` from `input`.
fn writers<'a>(input: &'a str, patch: &'a str, output: &'a str) -> [Vec<&'a str>; 4] {
    [
        vec!["convert", input, "--to", "json", "--output", output],
        vec!["apply", input, patch, "--to", "json", "-o", output],
        vec!["view", input, "-o", output],
        vec!["diff", "--patch", input, patch, "-o", output],
    ]
}

#[test]
fn a_file_that_cannot_be_written_whole_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("in.json"), document(1_000_000)).unwrap();
    fs::write(at("patch.json"), r#"{"changes": []}"#).unwrap();
    for args in writers(&at("in.json"), &at("patch.json"), &at("out")) {
        fs::write(at("out"), "old").unwrap();
        // No file may grow beyond 200 blocks of 512 bytes.
        let limited = format!("trap '' XFSZ; ulimit -f 200; exec \"$0\" {}", args.join(" "));
        let mut shell = Command::new("sh");
        shell.args(["-c", &limited, env!("CARGO_BIN_EXE_treedef")]);
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(said(&output).contains("File too large"), "{}", said(&output));
        assert_eq!(fs::read_to_string(at("out")).unwrap(), "old", "{args:?}");
        assert_eq!(names(folder.path()), ["in.json", "out", "patch.json"]);
    }
    // The only copy of a document.
    let limited = "trap '' XFSZ; ulimit -f 200; exec \"$0\" convert \"$1\" --output \"$1\"";
    let mut shell = Command::new("sh");
    let run = shell.args(["-c", limited, env!("CARGO_BIN_EXE_treedef"), &at("in.json")]).output();
    assert_eq!(run.unwrap().status.code(), Some(2));
    assert!(fs::read_to_string(at("in.json")).unwrap() == document(1_000_000));
}

#[test]
fn a_full_disk_destroys_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=200k", "tmpfs"]).arg(&disk).output();
    match mounted {
        Ok(output) if output.status.success() => {}
        refused => {
            eprintln!("not tried on a full disk: mounting is refused here: {refused:?}");
            return;
        }
    }
    let input = folder.path().join("in.json").display().to_string();
    let patch = folder.path().join("patch.json").display().to_string();
    let out = disk.join("out").display().to_string();
    fs::write(&input, document(1_000_000)).unwrap();
    fs::write(&patch, r#"{"changes": []}"#).unwrap();
    let tried: Vec<_> = writers(&input, &patch, &out)
        .iter()
        .map(|args| {
            fs::write(&out, "old").unwrap();
            let output = treedef(args).output().unwrap();
            (output.status.code(), said(&output).to_owned(), fs::read(&out).unwrap(), names(&disk))
        })
        .collect();
    fs::write(folder.path().join("in.safetensors"), tensors(20)).unwrap();
    let tensors = folder.path().join("in.safetensors").display().to_string();
    let copied: Vec<_> = [
        ("x.safetensors", "x.safetensors", None),
        ("x.safetensors.gz", "x.safetensors.gz", None),
        ("x.safetensors.zst", "x.safetensors.zst", None),
        ("x.npz", "x.npz", None),
        ("a/b", "a/b/model-00001-of-00020.safetensors", Some("1KB")),
    ]
    .into_iter()
    .map(|(to, of, shards)| {
        let (to, of) = (disk.join(to).display().to_string(), disk.join(of));
        let shards = shards.map_or(vec![], |size| vec!["--shards", size]);
        let output = treedef(&[&["convert", &*tensors, "-o", &*to][..], &shards].concat());
        let output = { output }.output().unwrap();
        (output.status.code(), said(&output).to_owned(), of, names(&disk))
    })
    .collect();
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.unwrap().success());
    for (code, said, out, names) in tried {
        assert!(out == b"old", "{} bytes", out.len());
        assert_eq!((code, names), (Some(2), vec!["out".to_owned()]));
        assert!(said.contains("No space left"), "{said}");
    }
    // The folder of the shards is removed, too. Any of the shards may be the one that does not fit.
    for (code, said, of, names) in copied {
        assert_eq!((code, names), (Some(2), vec!["out".to_owned()]), "{said}");
        let of = of.display().to_string();
        let of = of.split("00001").next().unwrap();
        assert!(said.starts_with(&format!("treedef: {of}")), "{said}");
        assert!(said.ends_with(": No space left on device (os error 28)\n"), "{said}");
    }
}

fn send(signal: &str, child: &Child) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

/// Starts the command, and interrupts it `after` it began to write.
fn interrupted(signal: &str, after: Duration, folder: &Path, args: &[&str]) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    let mut child = treedef(args).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    let writes = |name: &String| name.ends_with(".treedef-tmp");
    while !names(folder).iter().any(writes) && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed().as_secs() < 60);
    }
    std::thread::sleep(after);
    if child.try_wait().unwrap().is_none() {
        send(signal, &child);
    }
    child.wait().unwrap().signal()
}

#[test]
fn an_interrupt_leaves_the_old_or_the_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.json");
    let file = path.display().to_string();
    // The output differs from the input, and replaces it.
    let old = document(8_000_000);
    fs::write(&path, &old).unwrap();
    assert!(treedef(&["convert", &file, "-o", &file]).status().unwrap().success());
    let new = fs::read_to_string(&path).unwrap();
    assert!(old != new);
    let mut ended = std::collections::BTreeMap::new();
    for signal in ["-INT", "-TERM", "-KILL"] {
        for moment in 0..5 {
            fs::write(&path, &old).unwrap();
            let after = Duration::from_micros(moment * moment * 300);
            let by = interrupted(signal, after, folder.path(), &["convert", &file, "-o", &file]);
            let found = fs::read_to_string(&path).unwrap();
            assert!(found == old || found == new, "{signal} at {moment}: {} bytes", found.len());
            if signal != "-KILL" {
                assert_eq!(names(folder.path()), ["it.json"], "{signal} at {moment}");
            }
            *ended.entry((signal, by)).or_insert(0) += 1;
        }
    }
    // Each signal arrived during a write at least once, and ended the process.
    for (signal, number) in [("-INT", 2), ("-TERM", 15), ("-KILL", 9)] {
        assert!(ended.contains_key(&(signal, Some(number))), "{ended:?}");
    }
    // The next process removes the leftovers of a killed one.
    assert!(treedef(&["convert", &file, "-o", &file]).status().unwrap().success());
    assert_eq!(names(folder.path()), ["it.json"]);
}

#[test]
fn an_interrupted_copy_of_tensors_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("in.safetensors"), tensors(1_000)).unwrap();
    let (input, file, shards) = (at("in.safetensors"), at("out/x.safetensors"), at("out/a/b"));
    fs::create_dir(at("out")).unwrap();
    let commands = [
        ("out", vec!["convert", &input, "-o", &file]),
        ("out/a/b", vec!["convert", &input, "--shards", "1MB", "-o", &shards]),
    ];
    for (written, args) in commands {
        for (signal, number) in [("-INT", 2), ("-TERM", 15)] {
            // It may finish before the signal arrives, but not every time.
            let ended = (0..20).any(|moment| {
                let after = Duration::from_micros(moment * 200);
                let by = interrupted(signal, after, &folder.path().join(written), &args);
                let left = names(&folder.path().join("out"));
                let beside = [left.clone(), names(&folder.path().join(written))].concat();
                assert!(!beside.iter().any(|name| name.starts_with('.')), "{signal}: {beside:?}");
                fs::remove_dir_all(at("out")).unwrap();
                fs::create_dir(at("out")).unwrap();
                by == Some(number) && left.is_empty()
            });
            assert!(ended, "{signal} {args:?}");
        }
    }
}

#[test]
fn links_stay_links_and_permissions_stay() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::create_dir(at("inner")).unwrap();
    fs::write(at("in.json"), "[1]").unwrap();
    fs::write(at("inner/target.json"), "old").unwrap();
    fs::set_permissions(at("inner/target.json"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("inner/target.json", at("link.json")).unwrap();
    std::os::unix::fs::symlink("inner/none.json", at("dangling.json")).unwrap();
    for link in ["link.json", "dangling.json"] {
        let output = treedef(&["convert", &at("in.json"), "-o", &at(link)]).output().unwrap();
        assert_eq!((output.status.code(), said(&output)), (Some(0), ""));
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
        assert_eq!(fs::read_to_string(at(link)).unwrap(), "[\n  1\n]\n");
    }
    assert_eq!(names(&folder.path().join("inner")), ["none.json", "target.json"]);
    let mode = fs::metadata(at("inner/target.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn devices_and_pipes_are_written_into() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("in.json"), "[1]").unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = at("pipe");
        move || fs::read_to_string(pipe).unwrap()
    });
    let convert = ["convert", &at("in.json"), "--to", "json", "-o"];
    let to = |output: &str| treedef(&[&convert[..], &[output]].concat()).output().unwrap();
    assert_eq!(to(&at("pipe")).status.code(), Some(0));
    assert_eq!(reader.join().unwrap(), "[\n  1\n]\n");
    assert!(fs::metadata(at("pipe")).unwrap().file_type().is_fifo());

    assert_eq!(to("/dev/null").status.code(), Some(0));
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let full = to("/dev/full");
    assert_eq!(full.status.code(), Some(2));
    assert!(said(&full).contains("No space left"));

    let args = [&convert[..], &["/dev/stdout"]].concat();
    let piped = treedef(&args).stdout(Stdio::piped()).output().unwrap();
    assert_eq!(piped.stdout, b"[\n  1\n]\n");
    fs::write(at("redirected"), "longer than what is written").unwrap();
    let redirected = fs::File::options().write(true).open(at("redirected")).unwrap();
    assert!(treedef(&args).stdout(redirected).status().unwrap().success());
    assert_eq!(fs::read(at("redirected")).unwrap(), b"[\n  1\n]\n");
}

#[test]
fn a_place_that_takes_no_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("in.json"), "[1]").unwrap();
    let view = |output: &str| treedef(&["view", &at("in.json"), "-o", output]).output().unwrap();
    let (nowhere, inner) = (at("nope/x.html"), at("nope"));
    let output = view(&nowhere);
    let expected = format!("treedef: {nowhere}: there is no folder {inner}\n");
    assert_eq!((output.status.code(), said(&output)), (Some(2), &expected[..]));
    let here = at("");
    let output = view(&here);
    let expected = format!("treedef: {here}: a folder, pass the name of a file in it\n");
    assert_eq!((output.status.code(), said(&output)), (Some(2), &expected[..]));
}
