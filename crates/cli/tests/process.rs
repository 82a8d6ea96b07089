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
                let structure = tree.map(|leaf| leaf.kind()).to_string().replace("()", "null");
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

/// The lines of each structure, as reading every line alone finds them; folded and not.
#[test]
fn the_lines_of_a_structure_are_listed() {
    let folder = Folder::new("list");
    let (path, alone) = (folder.path("log.jsonl"), folder.path("line.json"));
    let mut rng = fastrand::Rng::with_seed(11);
    let mut text = String::new();
    for _ in 0..200 {
        match rng.u8(0..20) {
            0 => text += "{\"id\": \n",
            1 => text += "\n",
            _ => text += &format!("{}\n", line(&mut rng)),
        }
    }
    // Without an end of line.
    text += "{\"keys\": {\"a\": 1, \"b\": 2}}\n{\"keys\": {\"c\": 1}}";
    std::fs::write(&path, &text).unwrap();
    let folds: [&[&str]; 3] = [
        &[],
        &["--fold-lengths", "--fold-numbers"],
        &["--fold-keys", "2", "--fold-lengths", "--duplicate-keys", "last"],
    ];
    for folds in folds {
        let printed = |args: &[&str]| {
            let args = [&["shapes", &path, "--skip-bad"], folds, args].concat();
            String::from_utf8(treedef(&args).output().unwrap().stdout).unwrap()
        };
        let all: serde_json::Value = serde_json::from_str(&printed(&["--json"])).unwrap();
        let all = all["structures"].as_array().unwrap();
        let mut listed = std::collections::BTreeMap::new();
        for (rank, structure) in (1..).zip(all) {
            let lines = printed(&["--list", &rank.to_string()]);
            let lines: Vec<u64> = lines
                .lines()
                .map(|line| line.strip_prefix(&format!("{path}:")).unwrap().parse().unwrap())
                .collect();
            assert!(lines.is_sorted());
            assert_eq!(lines.len(), structure["count"]);
            assert_eq!(format!("{path}:{}", lines[0]), structure["first"].as_str().unwrap());
            assert_eq!(
                format!("{path}:{}", lines[lines.len() - 1]),
                structure["last"].as_str().unwrap()
            );
            listed.extend(lines.into_iter().map(|line| (line, rank)));
        }
        let (mut rare, many) = (String::new(), all[all.len() / 2]["count"].as_u64().unwrap());
        for (number, rank) in &listed {
            if all[rank - 1]["count"].as_u64().unwrap() <= many {
                rare += &format!("{path}:{number}: structure {rank}\n");
            }
        }
        assert!(!rare.is_empty());
        assert_eq!(printed(&["--rare", &many.to_string()]), rare);
        // Lines are listed together if alone they have one structure.
        let mut alike: HashMap<String, usize> = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let Some(rank) = listed.get(&number) else {
                assert!(serde_json::from_str::<serde_json::Value>(line).is_err());
                continue;
            };
            if number % 7 == 0 && folds.is_empty() {
                std::fs::write(&alone, line).unwrap();
                let args = [&["shapes", &alone, "--json"], folds].concat();
                let found = treedef(&args).output().unwrap().stdout;
                let found: serde_json::Value = serde_json::from_slice(&found).unwrap();
                let structure = found["structures"][0]["structure"].as_str().unwrap();
                assert_eq!(*alike.entry(structure.to_owned()).or_insert(*rank), *rank, "{line}");
            }
        }
    }
}

/// What `shapes` prints is a structure that `check` reads, and that each of its lines has.
#[test]
fn the_lines_of_a_structure_are_as_it_says() {
    let folder = Folder::new("notation");
    let [log, some, like] =
        ["log.jsonl", "some.jsonl", "like.treedef"].map(|name| folder.path(name));
    let mut rng = fastrand::Rng::with_seed(5);
    fn document(rng: &mut fastrand::Rng, depth: usize) -> String {
        let many = rng.usize(0..3);
        match rng.usize(0..if depth == 0 { 5 } else { 8 }) {
            0 => rng.i8(..).to_string(),
            1 => "0.5".to_owned(),
            2 => "null".to_owned(),
            3 => "true".to_owned(),
            4 => "\"; 0–1\"".to_owned(),
            5 | 6 => {
                let all: Vec<_> = (0..many).map(|_| document(rng, depth - 1)).collect();
                format!("[{}]", all.join(","))
            }
            _ => {
                let keys = ["a", "b c", "none", "?"];
                let entry = |key| format!("{key:?}:{}", document(rng, depth - 1));
                format!("{{{}}}", keys[..many].iter().map(entry).collect::<Vec<_>>().join(","))
            }
        }
    }
    let lines: Vec<String> = (0..300).map(|_| document(&mut rng, 3)).collect();
    std::fs::write(&log, lines.join("\n")).unwrap();
    let folds: [&[&str]; 4] = [
        &[],
        &["--fold-lengths"],
        &["--fold-lengths", "--fold-numbers"],
        &["--fold-lengths", "--fold-widths", "--fold-keys", "2"],
    ];
    let mut checked = 0;
    for folds in folds {
        let all = printed(&[&["shapes", &log, "--json"], folds].concat());
        let all: serde_json::Value = serde_json::from_str(&all).unwrap();
        let all = all["structures"].as_array().unwrap();
        for (rank, it) in (1..).zip(all).take(25) {
            std::fs::write(&like, it["structure"].as_str().unwrap()).unwrap();
            let listed = printed(&[&["shapes", &log, "--list", &rank.to_string()], folds].concat());
            let numbers = listed.lines().map(|line| line.rsplit_once(':').unwrap().1);
            let numbers: Vec<usize> = numbers.map(|number| number.parse().unwrap()).collect();
            let text: Vec<&str> = numbers.iter().map(|at| lines[at - 1].as_str()).collect();
            std::fs::write(&some, text.join("\n")).unwrap();
            let output = treedef(&["check", &some, "--like", &like]).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{folds:?} {it}: {output:?}");
            // Without folds, others do not have it.
            if folds.is_empty() {
                let output = treedef(&["check", &log, "--like", &like, "--max", "0"]).output();
                let found = String::from_utf8(output.unwrap().stdout).unwrap();
                let others = (1..=lines.len()).filter(|number| !numbers.contains(number));
                for number in others {
                    assert!(found.contains(&format!("{log}:{number}: ")), "{number} {it}");
                }
            }
            checked += numbers.len();
        }
    }
    assert!(checked > 400, "{checked}");
}

/// Through a pipe, the lines could not be read again.
#[test]
fn lines_of_a_pipe_are_not_listed() {
    let output = fed(&["shapes", "--list", "1"], b"{}\n");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("treedef: standard input: it is read twice"), "{said}");
    #[cfg(unix)]
    {
        let output = treedef(&["shapes", "/dev/stdin", "--format", "jsonl", "--rare", "1"]);
        let mut output = output;
        let output = output.stdin(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
    }
}

/// One line is in memory at a time: 80 MB of lines are read in less than 150 MB of addresses, where
/// the text and its tree would have twice 80 MB.
#[cfg(target_os = "linux")]
#[test]
fn lines_are_read_one_at_a_time() {
    let folder = Folder::new("memory");
    let (path, like) = (folder.path("log.jsonl"), folder.path("like.json"));
    let line = format!("{{\"id\": 1, \"text\": {:?}}}\n", "x".repeat(20_000));
    std::fs::write(&path, line.repeat(4_000) + "{\"id\": \n{\"id\": 2, \"text\": \"\"}\n").unwrap();
    std::fs::write(&like, &line).unwrap();
    for args in [
        &["select", "id", &path, "--skip-bad"][..],
        &["check", &path, "--like", &like, "--skip-bad"],
        &["shapes", &path, "--list", "1", "--skip-bad"],
    ] {
        let (code, _, said) = in_little_memory(args);
        assert_eq!(code, Some(0), "{args:?}: {said}");
        assert!(said.contains(":4001:"), "{said}");
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
         `--fold-keys 100` if keys are data; `--max-structures` allows more\n"
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

/// A file of numpy with these numbers in a row.
fn npy(numbers: u32) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({numbers},), }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header.as_bytes());
    (0..numbers).for_each(|number| bytes.extend((number as f32).to_le_bytes()));
    bytes
}

#[test]
fn a_long_array_is_shortened_unless_asked_for() {
    let selected = |numbers: u32, args: &[&str]| {
        let args = [&["select", "**", "--format", "npy"], args].concat();
        String::from_utf8(fed(&args, &npy(numbers)).stdout).unwrap()
    };
    let all = |numbers: u32| {
        let all: Vec<String> = (0..numbers).map(|number| format!("{number}.0")).collect();
        format!("[{}]", all.join(","))
    };
    assert_eq!(selected(100, &[]), format!("the root: {}\n", all(100)));
    assert_eq!(selected(101, &[]), "the root: f32[101] [0.0,1.0,2.0,…]\n");
    assert_eq!(selected(101, &["--full"]), format!("the root: {}\n", all(101)));
    let json = format!("{{\"path\":\"\",\"value\":{}}}\n", all(101));
    assert_eq!(selected(101, &["--json"]), json);
}

/// A file of half floats with these bits.
fn npy_of_halves(bits: &[u16]) -> Vec<u8> {
    let header = format!(
        "{:<117}\n",
        format!("{{'descr': '<f2', 'fortran_order': False, 'shape': ({},), }}", bits.len())
    );
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header.as_bytes());
    bits.iter().for_each(|bits| bytes.extend(bits.to_le_bytes()));
    bytes
}

/// 0x36e1 is 0.429931640625, and the nearest half float to 0.43.
#[test]
fn half_floats_are_printed_as_halves() {
    let folder = Folder::new("halves");
    let [old, new] = ["old.npy", "new.npy"].map(|name| folder.path(name));
    std::fs::write(&old, npy_of_halves(&[0x36e1, 0xb800, 0x7c00])).unwrap();
    std::fs::write(&new, npy_of_halves(&[0x36e2, 0xb800, 0x7c00])).unwrap();
    assert_eq!(printed(&["summary", &old]), "f16[3] [0.43, -0.5, inf]\n");
    assert_eq!(printed(&["select", "[0]", &old]), "[0]: 0.43\n");
    let change = "~ the root: f16[3]: 1 of 3 numbers differ, most at [0]: 0.43 → 0.4302\n";
    assert_eq!(printed(&["diff", &old, &new]), change);
    std::fs::write(&old, npy_of_halves(&[0x36e1; 7])).unwrap();
    assert_eq!(
        printed(&["select", "**", &old]),
        format!("the root: [0.43{}]\n", ",0.43".repeat(6))
    );
    let page = printed(&["view", &old]);
    assert!(page.contains("\"f16[7] (mean 0.43, sd 0, 0.43 … 0.43)\""), "{page}");
    assert!(page.contains(&format!("\"0.43{}\"", ", 0.43".repeat(6))), "{page}");
    assert_eq!(printed(&["convert", &old, "--to", "jsonl"]), "0.43\n".repeat(7));
}

/// All numbers as text are some 25 MB, of which a pipe holds 64 kB: the rest is not written, and
/// the numbers are not collected as texts before.
#[test]
fn a_large_tensor_ends_with_its_reader() {
    let folder = Folder::new("pipe");
    let path = folder.path("long.npy");
    std::fs::write(&path, npy(3_000_000)).unwrap();
    for option in ["--full", "--json"] {
        let mut command = treedef(&["select", "**", option, &path]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut start = [0; 100];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut start).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]), "{option}");
        assert!(String::from_utf8_lossy(&start).contains("[0.0,1.0,2.0,"), "{option}");
    }
}

#[test]
fn a_check_that_stops_says_so() {
    let folder = Folder::new("many");
    let (lines, like) = (folder.path("lines.jsonl"), folder.path("like.json"));
    std::fs::write(&like, r#"{"id": 1}"#).unwrap();
    let said = |bad: usize, args: &[&str]| {
        std::fs::write(&lines, "{\"id\": 1}\n".to_owned() + &"{\"id\": true}\n".repeat(bad))
            .unwrap();
        let args = [&["check", &lines, "--like", &like], args].concat();
        let output = treedef(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let listed = String::from_utf8(output.stdout).unwrap().matches("expected u64").count();
        (listed, String::from_utf8(output.stderr).unwrap())
    };
    let stopped = "treedef: at least 1,000 violations, stopped after 1,000 (`--max`)\n".to_owned();
    assert_eq!(said(1_000, &[]), (1_000, "treedef: 1,000 violations\n".to_owned()));
    assert_eq!(said(1_001, &[]), (1_000, stopped.clone()));
    assert_eq!(said(1_001, &["--json"]), (1_000, stopped));
    assert_eq!(said(1_001, &["--max", "0"]), (1_001, "treedef: 1,001 violations\n".to_owned()));
    let one = "treedef: at least 1 violation, stopped after 1 (`--max`)\n".to_owned();
    assert_eq!(said(2, &["--max", "1"]), (1, one));
    let two = treedef(&["check", &lines, &lines, "--like", &like, "--max", "1"]).output().unwrap();
    let two = String::from_utf8(two.stderr).unwrap();
    assert_eq!(two, "treedef: at least 2 violations, stopped after 1 of a file (`--max`)\n");
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let of_json = "# standard input: 2 nodes, 1 leaf\n{\"a\": u64}\n";
    let cases = [
        ("json", "{\"a\": 1}", of_json),
        ("yaml", "a: 1", of_json),
        ("yaml", "---\na: 1\n", of_json),
        ("toml", "a = 1", "# standard input: 2 nodes, 1 leaf\n{\"a\": i64}\n"),
        ("jsonl", "{\"a\": 1}", "# standard input: 3 nodes, 1 leaf\n[{\"a\": u64}]\n"),
        ("ron", "{\"a\": 1}", "# standard input: 2 nodes, 1 leaf\n{\"a\": u8}\n"),
        ("treedef", "{\"a\": u64}", of_json),
    ];
    for (format, text, expected) in cases {
        let mut marked = b"\xef\xbb\xbf".to_vec();
        marked.extend(text.as_bytes());
        for text in [text.as_bytes(), &marked] {
            let output = fed(&["show", "--format", format], text);
            assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{format}");
            assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{format}");
        }
        let tree = treedef_cli::Format::of_path(format!("x.{format}").as_ref()).unwrap();
        assert!(treedef_cli::read(&marked, tree).is_ok(), "{format}");
    }
    let shapes = fed(&["shapes"], b"\xef\xbb\xbf{\"a\": 1}\n{\"a\": 2}\n");
    assert_eq!(shapes.status.code(), Some(0));
    assert!(shapes.stdout.starts_with(b"2 documents, 1 structure\n"));
    // Where the mark ends, lines and columns begin.
    let wrong = fed(&["show"], b"\xef\xbb\xbf{x");
    assert!(wrong.stderr.starts_with(b"treedef: standard input:1:2: "));
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

/// A folder that is removed with what is in it.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("treedef-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file of `tests/tensors.py`.
fn recorded(name: &str) -> String {
    format!("{}/tests/commands/tensors.in/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn tensors_come_back_from_each_format_that_holds_them() {
    let folder = Folder::new("tensors");
    let original = recorded("model.safetensors");
    let mut from = original.clone();
    for name in ["a.npz", "b.safetensors", "c.tree", "d.npz", "e.tree", "f.safetensors"] {
        let to = folder.path(name);
        assert!(treedef(&["convert", &from, "-o", &to]).status().unwrap().success(), "{name}");
        let values = |file: &str| treedef(&["select", "**", file]).output().unwrap().stdout;
        assert_eq!(values(&original), values(&to), "{name}");
        assert!(!values(&to).is_empty());
        from = to;
    }
    let dtypes = treedef(&["diff", "--structure", &original, &from]).output().unwrap();
    assert_eq!((dtypes.status.code(), dtypes.stdout), (Some(0), vec![]));
}

#[test]
fn what_is_no_number_comes_back_from_safetensors() {
    let folder = Folder::new("rest");
    let (old, there, back) =
        (folder.path("old.json"), folder.path("x.safetensors"), folder.path("back.json"));
    let text =
        r#"{"a": ["x", null, true], "b": {"c.d": [[0.5], [1.5]], "e": []}, "f": [[1], [2, 3]]}"#;
    std::fs::write(&old, text).unwrap();
    for (from, to) in [(&old, &there), (&there, &back)] {
        let convert = treedef(&["convert", from, "-o", to]).output().unwrap();
        assert_eq!(String::from_utf8(convert.stderr).unwrap(), "");
    }
    let json = |path| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    assert_eq!(json(&back), json(&old));
}

#[test]
fn what_npz_does_not_hold_is_told() {
    let folder = Folder::new("npz");
    let old = folder.path("old.json");
    std::fs::write(&old, r#"{"a": [1, 2], "b": [], "c": {"1": [0.5], "x.y": 1}}"#).unwrap();
    let to = folder.path("new.npz");
    let convert = treedef(&["convert", &old, "-o", &to, "--json"]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&convert.stdout).unwrap();
    let lost = told["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|loss| format!("{} → {} at {}", loss["what"], loss["became"], loss["first"]));
    let lost: Vec<String> = lost.collect();
    assert_eq!(lost, [r#""3 entries" → "2" at """#]);
}

#[test]
fn the_numbers_of_large_tensors_are_not_read_for_their_names() {
    let folder = Folder::new("sparse");
    let rows: u64 = 40_000_000;
    let size = rows * 256 * 2;
    let header =
        format!(r#"{{"w":{{"dtype":"BF16","shape":[{rows},256],"data_offsets":[0,{size}]}}}}"#);
    let length = u64::try_from(header.len()).unwrap();
    let path = folder.path("model.safetensors");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&length.to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.set_len(8 + length + size).unwrap(); // without blocks on the disk
    for args in [
        &["show", &path][..],
        &["fingerprint", &path],
        &["check", &path, "--like", &path],
        &["diff", "--structure", &path, &path],
    ] {
        let start = std::time::Instant::now();
        assert!(treedef(args).stdout(Stdio::null()).status().unwrap().success(), "{args:?}");
        // Reading 20 GB takes longer, whatever the disk.
        assert!(start.elapsed().as_secs_f64() < 1.0, "{args:?}: {:?}", start.elapsed());
    }
    let summary = treedef(&["summary", &path]).output().unwrap();
    let said = String::from_utf8(summary.stderr).unwrap();
    let expected = format!(
        "treedef: {path}: more than 4294967296 bytes, `--max-bytes` allows more; `show` and \
         `diff --structure` read only the header\n"
    );
    assert_eq!(said, expected);
}

/// A file of safetensors, whose data is `w`, as many zeros as `zeros`, and `b`, two numbers.
#[cfg(target_os = "linux")]
fn sparse(path: &str, zeros: u64, numbers: [f32; 2], metadata: &str) {
    let size = zeros * 2;
    let header = format!(
        r#"{{"__metadata__":{metadata},"b":{{"dtype":"F32","shape":[2],"data_offsets":[{size},{}]}},"w":{{"dtype":"BF16","shape":[{zeros}],"data_offsets":[0,{size}]}}}}"#,
        size + 8
    );
    let length = u64::try_from(header.len()).unwrap();
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&length.to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.set_len(8 + length + size).unwrap(); // without blocks on the disk
    let mut file = std::fs::File::options().append(true).open(path).unwrap();
    numbers.iter().for_each(|number| file.write_all(&number.to_le_bytes()).unwrap());
}

/// Runs the command with 150 MB of addresses.
#[cfg(target_os = "linux")]
fn in_little_memory(args: &[&str]) -> (Option<i32>, String, String) {
    let script = "ulimit -v 150000; exec \"$0\" \"$@\"";
    let exe = env!("CARGO_BIN_EXE_treedef");
    let output = Command::new("bash").args(["-c", script, exe]).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[cfg(target_os = "linux")]
#[test]
fn only_the_tensors_that_are_asked_for_are_read() {
    let folder = Folder::new("one");
    let path = folder.path("model.safetensors");
    sparse(&path, 10_000_000_000, [0.5, 1.5], "{}");
    let printed = |args: &[&str]| {
        let (code, out, said) =
            in_little_memory(&[&["select", args[0], &path], &args[1..]].concat());
        assert_eq!((code, &*said), (Some(0), ""), "{args:?}");
        out
    };
    assert_eq!(printed(&["b"]), ".b: [0.5,1.5]\n");
    assert_eq!(printed(&["b[1]"]), ".b[1]: 1.5\n");
    assert_eq!(printed(&["b", "--json"]), "{\"path\":\".b\",\"value\":[0.5,1.5]}\n");
    let no_match = in_little_memory(&["select", "c", &path]);
    let said = "no match: nothing in the document fits `.c`; there are `.b`, `.w`";
    assert_eq!(no_match, (Some(1), String::new(), format!("treedef: {path}: {said}\n")));
    let (code, _, said) = in_little_memory(&["select", "w", &path]);
    assert_eq!(code, Some(2));
    let expected =
        format!("treedef: {path}: more than 4294967296 bytes, `--max-bytes` allows more\n");
    assert_eq!(said, expected);
}

#[cfg(target_os = "linux")]
#[test]
fn only_the_tensors_that_differ_are_decoded() {
    let folder = Folder::new("differ");
    let [a, b, c] = ["a", "b", "c"].map(|name| folder.path(&format!("{name}.safetensors")));
    sparse(&a, 100_000_000, [0.5, 1.5], r#"{"format":"pt","step":"1"}"#);
    sparse(&b, 100_000_000, [0.5, 2.5], r#"{"format":"np","epoch":"2"}"#);
    sparse(&c, 100_000_001, [0.5, 1.5], r#"{"format":"pt","step":"1"}"#);
    assert_eq!(in_little_memory(&["diff", &a, &a]), (Some(0), String::new(), String::new()));
    let expected = "\
~ metadata \"format\": \"pt\" → \"np\"
- metadata \"step\": \"1\"
+ metadata \"epoch\": \"2\"
~ .b: f32[2]: 1 of 2 numbers differ, most at [1]: 1.5 → 2.5
";
    assert_eq!(in_little_memory(&["diff", &a, &b]), (Some(1), expected.to_owned(), String::new()));
    let (_, json, _) = in_little_memory(&["diff", &a, &b, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["metadata"], "format");
    assert_eq!(json[3]["numbers"], serde_json::json!({"count": 1, "of": 2}));
    let expected = "~ .w: bf16[100000000] → bf16[100000001]\n";
    assert_eq!(in_little_memory(&["diff", &a, &c]), (Some(1), expected.to_owned(), String::new()));
}

#[test]
fn a_page_of_tensors_has_shapes_and_counts() {
    let page = printed(&["view", &recorded("model.safetensors")]);
    assert!(page.contains("\"{weight: f32[2, 4]}\""), "{page}");
    assert!(page.contains("5 tensors, 22 parameters\""), "{page}");
}

#[test]
fn documents_as_deep_as_the_option_allows_are_converted() {
    let folder = Folder::new("deep");
    let old = folder.path("old.json");
    let text = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    std::fs::write(&old, &text).unwrap();
    let refused = treedef(&["show", &old]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.ends_with("(`--max-depth` allows more)\n"), "{said}");
    for format in ["json", "yaml", "cbor", "msgpack", "ron", "tree"] {
        let (new, back) = (folder.path(&format!("new.{format}")), folder.path("back.json"));
        for (from, to) in [(&old, &new), (&new, &back)] {
            let args = ["convert", "--max-depth", "200", from, "-o", to];
            let convert = treedef(&args).output().unwrap();
            assert_eq!(String::from_utf8(convert.stderr).unwrap(), "", "{format}");
        }
        let back: String = std::fs::read_to_string(&back).unwrap();
        assert_eq!(back.replace(char::is_whitespace, ""), text, "{format}");
    }
}

#[test]
fn dates_of_toml_stay_dates_in_toml() {
    let folder = Folder::new("dates");
    let [old, new, patch, made] =
        ["old.toml", "new.toml", "patch.json", "made.toml"].map(|name| folder.path(name));
    let text = "\
z = 1979-05-27
text = \"1979-05-27\"
at = [1979-05-27T07:32:00Z, 07:32:00, 1979-05-27 07:32:00.5]

[[list]]
when = 1979-05-27

[[list]]
when = 1980-05-27
";
    std::fs::write(&old, text).unwrap();
    let convert = treedef(&["convert", &old, "--to", "toml"]).output().unwrap();
    assert_eq!(String::from_utf8(convert.stderr).unwrap(), "");
    let converted = String::from_utf8(convert.stdout).unwrap();
    let value = |text: &str| text.parse::<toml::Table>().unwrap();
    assert_eq!(value(&converted), value(text));
    assert!(converted.find("z =").unwrap() < converted.find("text =").unwrap(), "{converted}");

    // Also where a list has become longer, and where a date is another one.
    let text = text.replace("1980", "2026") + "\n[[list]]\nwhen = 1981-05-27\n";
    std::fs::write(&new, &text).unwrap();
    let diff = treedef(&["diff", "--patch", &old, &new]).output().unwrap();
    std::fs::write(&patch, diff.stdout).unwrap();
    let apply = treedef(&["apply", &old, &patch, "-o", &made]).output().unwrap();
    assert_eq!((apply.status.code(), apply.stderr), (Some(0), vec![]));
    assert_eq!(value(&std::fs::read_to_string(&made).unwrap()), value(&text));

    let json = treedef(&["convert", &old, "--to", "json"]).output().unwrap();
    let said = String::from_utf8(json.stderr).unwrap();
    assert_eq!(said, format!("treedef: {old}: not kept in json: dates, which are texts there\n"));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["z"], "1979-05-27");
    assert_eq!(printed(&["select", "z", &old]), ".z: \"1979-05-27\"\n");
}

#[test]
fn a_patch_leads_from_the_old_document_to_the_new() {
    let folder = Folder::new("patch");
    let path = |name: &str| folder.path(name);
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
}

/// What the command prints, whether it fails or not.
fn printed(args: &[&str]) -> String {
    String::from_utf8(treedef(args).output().unwrap().stdout).unwrap()
}

/// The names of all subcommands, as the help lists them.
fn subcommands() -> Vec<String> {
    let help = printed(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn completions_have_every_subcommand_and_are_scripts() {
    let subcommands = subcommands();
    assert_eq!(subcommands.len(), 12);
    // With the option by which a shell reads a script and does not run it.
    let shells = [
        ("bash", Some("-n")),
        ("zsh", Some("-n")),
        ("fish", Some("--no-execute")),
        ("elvish", None),
        ("powershell", None),
    ];
    let folder = Folder::new("completions");
    for (shell, check) in shells {
        let script = printed(&["completions", shell]);
        for name in &subcommands {
            assert!(script.contains(name.as_str()), "{shell}: {name}");
        }
        assert!(script.contains("max-depth"), "{shell}");
        let json: serde_json::Value =
            serde_json::from_str(&printed(&["completions", shell, "--json"])).unwrap();
        assert_eq!(json["text"], script);
        let path = folder.path(json["file"].as_str().unwrap());
        std::fs::write(&path, &script).unwrap();
        // A shell that is not installed cannot say that a script is wrong.
        let Some(check) = check else { continue };
        if let Ok(output) = Command::new(shell).args([check, &path]).output() {
            assert!(output.status.success(), "{shell}: {output:?}");
        }
    }
}

#[test]
fn bash_completes_subcommands_and_options() {
    let folder = Folder::new("bash");
    let path = folder.path("treedef.bash");
    std::fs::write(&path, printed(&["completions", "bash"])).unwrap();
    let completed = |words: &str| {
        let script = format!(
            "source {path}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _treedef treedef \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash").args(["-c", &script]).output().ok()?;
        Some(String::from_utf8(output.stdout).unwrap())
    };
    let Some(subcommands) = completed("treedef s") else { return };
    assert_eq!(subcommands, "show summary shapes select\n");
    assert_eq!(completed("treedef shapes --fold-l").unwrap(), "--fold-lengths\n");
}

#[test]
fn the_man_page_has_every_subcommand() {
    let page = printed(&["man"]);
    for name in subcommands() {
        assert!(page.contains(&format!(".TH treedef-{name} 1")), "{name}");
        assert!(page.contains(&format!("treedef\\-{name}(1)")), "{name}");
    }
    let json: serde_json::Value = serde_json::from_str(&printed(&["man", "--json"])).unwrap();
    assert_eq!((json["file"].as_str(), json["text"].as_str()), (Some("treedef.1"), Some(&*page)));
}

#[test]
fn every_subcommand_prints_json() {
    for name in subcommands() {
        assert!(printed(&[&name, "--help"]).contains("--json"), "{name}");
    }
}

#[test]
fn colours_are_for_terminals_and_those_who_ask() {
    let path = recorded("numbers.json");
    let shown = |variables: &[(&str, &str)]| {
        let mut command = treedef(&["show", &path, "--fold-lengths"]);
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "TERM"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        text.lines().nth(1).unwrap().to_owned()
    };
    let plain = r#"{"none": null, "steps": [u64; _], "weights": [[f64; _]; _]}"#;
    let coloured = plain.replace("\"none\"", "\x1b[34m\"none\"\x1b[0m");
    let coloured = coloured.replace("\"steps\"", "\x1b[34m\"steps\"\x1b[0m");
    let coloured = coloured.replace("\"weights\"", "\x1b[34m\"weights\"\x1b[0m");
    let coloured = coloured
        .replace("null", "\x1b[36mnull\x1b[0m")
        .replace("u64", "\x1b[36mu64\x1b[0m")
        .replace("f64", "\x1b[36mf64\x1b[0m");
    assert_eq!(shown(&[]), plain); // a pipe
    assert_eq!(shown(&[("TERM", "xterm")]), plain);
    assert_eq!(shown(&[("CLICOLOR_FORCE", "1"), ("TERM", "xterm")]), coloured);
    assert_eq!(shown(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), plain);
}
