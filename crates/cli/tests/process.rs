//! The command as a process: counts of many lines, pipes, compression, and exit codes.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use treedef::{Leaf, Tree};

fn treedef(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_treedef"));
    command.args(args);
    command
}

/// Runs the command with this text as standard input.
fn fed(args: &[&str], input: &[u8]) -> Output {
    let mut command = treedef(args);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // The command may end before it has read everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

fn line(rng: &mut fastrand::Rng) -> String {
    let mut line = format!(r#"{{"id": {}, "tags": {:?}"#, rng.u64(..), vec!["a"; rng.usize(0..4)]);
    for field in 0..3 {
        if rng.bool() {
            line += &format!(
                r#", "field{field}": {}"#,
                ["1", "-1", "1.5", "null", "\"x\""][rng.usize(0..5)]
            );
        }
    }
    line + "}"
}

/// `TREEDEF_LINES=10000000` tries as many as was promised.
#[test]
fn counts_are_exact_with_any_number_of_threads() {
    let lines = std::env::var("TREEDEF_LINES").map_or(30_000, |text| text.parse().unwrap());
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut text, mut bad) = (String::new(), Vec::new());
    let mut expected: HashMap<String, (u64, u64)> = HashMap::new();
    for number in 1..=lines {
        let line = line(&mut rng);
        match rng.u16(..) {
            0..10 => {
                text += &line[..line.len() - 1];
                bad.push(number);
            }
            10..20 => {
                text += &format!("{line} {{}}");
                bad.push(number);
            }
            20..30 => {}
            _ => {
                let tree: Tree<Leaf> = serde_json::from_str(&line).unwrap();
                let structure = tree.map(|leaf| leaf.kind()).to_string();
                expected.entry(structure).or_insert((0, number)).0 += 1;
                text += &line;
            }
        }
        text.push('\n');
    }
    for threads in ["1", "4"] {
        let output = fed(&["shapes", "--json", "--threads", threads], text.as_bytes());
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let structures = found["structures"].as_array().unwrap().iter().map(|it| {
            let first = it["first"].as_str().unwrap().strip_prefix("standard input:").unwrap();
            let structure = it["structure"].as_str().unwrap().to_owned();
            (structure, (it["count"].as_u64().unwrap(), first.parse().unwrap()))
        });
        assert_eq!(structures.collect::<HashMap<_, _>>(), expected);
        assert_eq!(found["bad"], bad.len());
        let said = String::from_utf8(output.stderr).unwrap();
        for number in bad.iter().take(10) {
            assert!(said.contains(&format!("standard input:{number}:")), "{number}: {said}");
        }
        assert_eq!(output.status.code(), Some(i32::from(!bad.is_empty())));
    }
}

#[test]
fn a_line_may_be_longer_than_a_block() {
    let long = format!("[{}1]", "1,".repeat(3 << 20));
    let text = format!("{long}\n[2]\n{long}");
    let output = fed(&["shapes", "--fold-lengths", "--json"], text.as_bytes());
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["structures"][0]["count"], 3);
    assert_eq!(found["structures"][0]["structure"], "[u64; 1–3145729]");
}

#[test]
fn too_many_structures_end_with_advice() {
    let lines: String = (0..70_000).map(|at| format!("{{\"key{at}\": 1}}\n")).collect();
    let output = fed(&["shapes"], lines.as_bytes());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        said,
        "treedef: standard input: 65537 distinct structures: pass `--fold-lengths`, or \
         `--fold-keys 100` if keys are data\n"
    );
    assert_eq!(output.status.code(), Some(2));
    let folded = fed(&["shapes", "--fold-keys", "100"], lines.as_bytes());
    assert!(String::from_utf8(folded.stdout).unwrap().ends_with("     {*: u64; 1}\n"));
}

#[test]
fn a_closed_pipe_is_silent() {
    let many = format!("[{}1]", "\"x\",".repeat(100_000));
    let mut command = treedef(&["select", "[*]"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(many.as_bytes()).unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn gzip_is_read_through() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(br#"{"a": [1, 2]}"#).unwrap();
    let output = fed(&["show", "--format", "json"], &gzip.finish().unwrap());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "# standard input: 4 nodes, 2 leaves\n{\"a\": u64[2]}\n");
}

#[test]
fn zstd_is_read_through() {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(&br#"{"a": [1, 2]}"#[..], level);
    let output = fed(&["summary"], &zstd);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "{\"a\": [1, 2]}\n");
}

#[test]
fn a_patch_leads_from_the_old_document_to_the_new() {
    let folder = std::env::temp_dir().join(format!("treedef-cli-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(path("old.json"), r#"{"a": [1, 2, 3], "b": null, "c": {"d": 0.1}}"#).unwrap();
    std::fs::write(path("new.json"), r#"{"a": [1, 3, null], "c": {"e": 0.1, "f": ""}}"#).unwrap();
    let diff =
        treedef(&["diff", "--patch", &path("old.json"), &path("new.json")]).output().unwrap();
    assert_eq!(diff.status.code(), Some(1));
    std::fs::write(path("patch.json"), diff.stdout).unwrap();
    let apply = ["apply", &path("old.json"), &path("patch.json"), "--output", &path("made.json")];
    assert!(treedef(&apply).status().unwrap().success());
    let again = treedef(&["diff", &path("new.json"), &path("made.json")]).output().unwrap();
    assert_eq!((again.status.code(), again.stdout), (Some(0), Vec::new()));
    std::fs::remove_dir_all(folder).unwrap();
}
