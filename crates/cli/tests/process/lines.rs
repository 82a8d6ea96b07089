//! JSON lines: counts, lists, and memory.

use std::collections::{BTreeMap, HashMap};
use std::process::Stdio;

use treedef::{Leaf, Tree};

#[cfg(target_os = "linux")]
use crate::in_little_memory;
use crate::{Folder, fed, printed, treedef};

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
        let mut listed = BTreeMap::new();
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

/// Each document is counted once, after any other files.
#[test]
fn files_are_counted_once_each() {
    let folder = Folder::new("files-once");
    let file = |name: &str, text: &str| {
        let path = folder.path(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let one = file("one.jsonl", "{\"a\": 1}\n[]\n{\"a\": 2}\n");
    let two = file("two.jsonl", "{\"a\": 3}\ntrue\n");
    let yaml = file("three.yaml", "a: 4\n");
    for threads in ["1", "2", "5"] {
        let files = [&one, &yaml, &two, &one].map(String::as_str);
        let all = [&["shapes", "--json", "--threads", threads][..], &files].concat();
        let found: serde_json::Value = serde_json::from_str(&printed(&all)).unwrap();
        let counts = found["structures"].as_array().unwrap().iter();
        let counts: Vec<u64> = counts.map(|it| it["count"].as_u64().unwrap()).collect();
        assert_eq!(counts, [6, 2, 1], "{threads} threads");
        let rare = printed(&["shapes", "--rare", "1", "--threads", threads, &one, &two]);
        assert_eq!(rare.lines().count(), 2, "{rare}");
    }
}

/// `check` reads the output of `shapes`, and each line has this structure.
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

/// The whole output of `shapes` is an expected structure if it has one, from a file and from a pipe.
#[test]
fn the_output_of_shapes_is_an_expected_structure() {
    let folder = Folder::new("gate");
    let [log, other, like] =
        ["log\n.jsonl", "other.jsonl", "like.treedef"].map(|name| folder.path(name));
    let line = |tags: &str| format!("{{\"tags\": [{tags}], \"user\": {{\"none\": null}}}}\n");
    std::fs::write(&log, line("1") + &line("2, 3").repeat(1_200)).unwrap();
    std::fs::write(&other, line("1, 2, 3")).unwrap();
    let wrong = ":1: .tags: expected 1–2 elements, found 3 (`--fold-lengths` allows any number)\n";
    for (args, code, said) in [
        (&["--fold-lengths"][..], [Some(0), Some(1)], wrong),
        (&[], [Some(2), Some(2)], "`shapes` printed 2 structures here: leave only"),
    ] {
        let shapes = printed(&[&["shapes", &log], args].concat());
        std::fs::write(&like, &shapes).unwrap();
        for (checked, code) in [&log, &other].into_iter().zip(code) {
            let of_file = treedef(&["check", checked, "--like", &like]).output().unwrap();
            let of_pipe = fed(&["check", checked, "--like", "-"], shapes.as_bytes());
            assert_eq!(of_file.status.code(), code, "{args:?} {of_file:?}");
            assert_eq!(of_pipe.stdout, of_file.stdout, "{args:?}");
            assert_eq!(of_pipe.status.code(), code, "{args:?} {of_pipe:?}");
            let text = [of_file.stdout, of_file.stderr].concat();
            assert!(code == Some(0) || String::from_utf8(text).unwrap().contains(said), "{args:?}");
        }
    }
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
    let [path, like, made] = ["log.jsonl", "like.json", "made.json"].map(|name| folder.path(name));
    let line = format!("{{\"id\": 1, \"text\": {:?}}}\n", "x".repeat(20_000));
    std::fs::write(&path, line.repeat(4_000) + "{\"id\": \n{\"id\": 2, \"text\": \"\"}\n").unwrap();
    std::fs::write(&like, &line).unwrap();
    for args in [
        &["select", "id", &path, "--skip-bad"][..],
        &["check", &path, "--like", &like, "--skip-bad"],
        &["shapes", &path, "--list", "1", "--skip-bad"],
        &["show", &path, "--skip-bad"],
        &["convert", &path, "--skip-bad", "-o", &made],
    ] {
        let (code, _, said) = in_little_memory(args);
        assert_eq!(code, Some(0), "{args:?}: {said}");
        assert!(said.contains(":4001:"), "{said}");
    }
}

/// The tree of all these numbers would have 144 MB.
#[cfg(target_os = "linux")]
#[test]
fn lines_are_summarised_one_at_a_time() {
    let folder = Folder::new("numbers");
    let path = folder.path("numbers.jsonl");
    std::fs::write(&path, format!("[{}1]\n", "1,".repeat(9_999)).repeat(600)).unwrap();
    let (code, said, _) = in_little_memory(&["summary", &path]);
    assert_eq!(code, Some(0));
    assert_eq!(said, "u64[10000] (mean 1, sd 0, 1 … 1)\n".repeat(600));
    let (code, said, _) = in_little_memory(&["summary", "--json", &path]);
    assert_eq!(code, Some(0));
    let all: Vec<serde_json::Value> = serde_json::from_str(&said).unwrap();
    assert_eq!((all.len(), &all[599]["line"]), (600, &600.into()));
}

/// The conversion of any lines has the same documents in the same order, and `show` and `fingerprint`
/// print the same for the lines as for the sequence.
#[test]
fn converted_lines_are_the_same_documents() {
    let folder = Folder::new("copied");
    let [lines, json, again] = ["a.jsonl", "a.json", "b.jsonl"].map(|name| folder.path(name));
    let mut rng = fastrand::Rng::with_seed(3);
    for _ in 0..20 {
        let mut text = String::new();
        for _ in 0..rng.usize(0..30) {
            text += &match rng.u8(0..8) {
                0 => "\n".to_owned(),
                1 => "{\"z\": -0.0, \"a\": 1, \"z\": [1e-7]}\n".to_owned(),
                2 => "18446744073709551615\n".to_owned(),
                3 => "\"\u{2028}\\n\"\n".to_owned(),
                _ => line(&mut rng) + "\n",
            };
        }
        std::fs::write(&lines, &text).unwrap();
        let twice = ["--duplicate-keys", "warn"];
        for (from, to) in [(&lines, &json), (&json, &again)] {
            let args = [&["convert", from, "-o", to][..], &twice].concat();
            assert_eq!(treedef(&args).output().unwrap().status.code(), Some(0));
        }
        let compact = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.is_empty());
            let trees = lines.map(|line| serde_json::from_str::<Tree<Leaf>>(line).unwrap());
            trees.map(|tree| serde_json::to_string(&tree).unwrap()).collect()
        };
        assert_eq!(compact(&std::fs::read_to_string(&again).unwrap()), compact(&text));
        let told = |args: &[&str], path: &str| {
            let text = printed(&[args, &[path], &twice].concat());
            // The first line has the number of documents, only for lines.
            let (first, rest) = text.split_once('\n').unwrap();
            let first = first.rsplit_once(", ").filter(|(_, count)| count.contains(" document"));
            format!("{}\n{rest}", first.map_or(text.lines().next().unwrap(), |it| it.0))
                .replace(path, "")
        };
        for args in [&["show"][..], &["show", "--fold-lengths"], &["fingerprint"]] {
            assert_eq!(told(args, &lines), told(args, &json), "{args:?} {text}");
        }
    }
}

/// Input that cannot be read leaves the old file unchanged.
#[test]
fn a_conversion_that_fails_midway_writes_nothing() {
    let folder = Folder::new("midway");
    let [lines, made] = ["lines.jsonl", "made.json"].map(|name| folder.path(name));
    std::fs::write(&lines, "{\"id\": 1}\n".repeat(100_000) + "{\"id\": \n").unwrap();
    std::fs::write(&made, "old").unwrap();
    for output in [&made, &lines] {
        let output = treedef(&["convert", &lines, "--to", "jsonl", "-o", output]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = "lines.jsonl:100001:7: EOF while parsing a value";
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&made).unwrap(), "old");
    // The input may be the output.
    let args = ["convert", &lines, "--skip-bad", "-o", &lines];
    assert_eq!(treedef(&args).output().unwrap().status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&lines).unwrap(), "{\"id\":1}\n".repeat(100_000));
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
        "treedef: standard input: 65537 distinct structures, the limit is 65536 (pass \
         `--fold-lengths`, or `--fold-keys 100` if keys are data; `--max-structures` allows more)\n"
    );
    assert_eq!(output.status.code(), Some(2));
    let folded = fed(&["shapes", "--fold-keys", "100"], lines.as_bytes());
    assert!(String::from_utf8(folded.stdout).unwrap().ends_with("     {*: u64; 1}\n"));
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

/// The hints lead to lines, whatever the documents look like.
#[test]
fn documents_of_jq_are_named_as_such() {
    let hint = "(documents over several lines: `jq -c .` writes each on one line)";
    let said = |format: &str, text: &[u8]| {
        let output = fed(&["show", "--format", format], text);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let of_jq = b"{\n  \"a\": 1\n}\n{\n  \"a\": 2\n}\n";
    assert!(said("json", of_jq).ends_with(&format!("{hint}\n")), "{}", said("json", of_jq));
    assert!(said("jsonl", of_jq).ends_with(&format!("{hint}\n")), "{}", said("jsonl", of_jq));
    assert!(said("json", b"{}\n{}\n").contains("`--format jsonl`"));
    assert!(!said("json", b"{\n}\n]\n").contains('('));
    assert!(said("jsonl", b"{\"a\": \n").contains("`--skip-bad`"));
}

/// The limit is for what is read, not for the text of the output.
#[test]
fn an_output_may_be_longer_than_its_input() {
    let line = "{\"a\": \"some text of a line\"}\n";
    let lines = line.repeat(50);
    let output = fed(
        &["convert", "--format", "jsonl", "-t", "yaml", "--max-bytes", "100"],
        lines.as_bytes(),
    );
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}
