//! Counts that are saved and added up: as if everything had been counted at once.

use std::fs;

use crate::{Folder, fed, printed, treedef};

/// Lines of a few structures. Some of them cannot be read or have a key twice.
fn lines(random: &mut fastrand::Rng, number: usize) -> Vec<String> {
    let line = |_| match random.u8(0..40) {
        0 => r#"{"id": "#.to_owned(),
        1 => r#"{"id": 1, "id": 2}"#.to_owned(),
        2 => r#"{"other": null}"#.to_owned(),
        3 => format!(r#"{{"id": {}, "score": 1.5}}"#, random.u32(..)),
        4 => format!("{:?}", vec![0; random.usize(0..4)]),
        5 => format!(r#"{{"{}": 0.5, "{}": 1.5}}"#, random.char('a'..='z'), random.u8(..)),
        6 => "1e400".to_owned(),
        _ => {
            format!(r#"{{"id": {}, "tags": {:?}}}"#, random.u32(..), vec!["a"; random.usize(0..3)])
        }
    };
    (0..number).map(line).collect()
}

/// The standard output, the standard error and the exit code.
fn run(args: &[&str]) -> (String, String, Option<i32>) {
    let output = treedef(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

fn with<'a>(command: &[&'a str], options: &[&'a str], files: &'a [String]) -> Vec<&'a str> {
    [command, options, &files.iter().map(String::as_str).collect::<Vec<_>>()].concat()
}

#[test]
fn parts_that_are_counted_apart_are_the_whole() {
    let folder = Folder::new("counts");
    let options: [&[&str]; 6] = [
        &[],
        &["--fold-lengths"],
        &["--fold-lengths", "--fold-numbers"],
        &["--fold-keys", "2"],
        &["--decimals", "--fold-widths"],
        &["--skip-bad", "--duplicate-keys", "warn"],
    ];
    for (seed, options) in (0..24).zip(options.iter().cycle()) {
        let mut random = fastrand::Rng::with_seed(seed);
        let number = random.usize(1..400);
        let all = lines(&mut random, number);
        let mut rest = &all[..];
        let (mut parts, mut counts) = (Vec::new(), Vec::new());
        while !rest.is_empty() {
            let (part, others) = rest.split_at(random.usize(1..=rest.len().min(150)));
            rest = others;
            let part = part.join("\n");
            let name = folder.path(&format!("{seed}-{:03}.jsonl", parts.len()));
            fs::write(&name, part).unwrap();
            let end = ["counts", "counts.gz", "counts.zst"][random.usize(0..3)];
            let saved = folder.path(&format!("{seed}-{:03}.{end}", parts.len()));
            let (printed, ..) = run(&[&["shapes", &name, "--save", &saved], *options].concat());
            assert_eq!(printed, "");
            parts.push(name);
            counts.push(saved);
        }
        random.shuffle(&mut counts);
        // The counts record the options that change them, except those that cannot show in any.
        let again: Vec<&str> = options
            .iter()
            .copied()
            .filter(|it| ["--decimals", "--skip-bad", "--duplicate-keys", "warn"].contains(it))
            .collect();
        for shown in [&["--json"][..], &["--top", "0"], &["--schema"]] {
            let whole = run(&with(&[&["shapes"], shown].concat(), options, &parts));
            let together = run(&with(&[&["shapes"], shown].concat(), &again, &counts));
            assert_eq!(together, whole, "{seed} {options:?}");
        }
        // Counts of counts are counts.
        let (some, others) = counts.split_at(random.usize(0..=counts.len()));
        if !some.is_empty() {
            let sum = folder.path(&format!("{seed}-000.counts.sum.counts"));
            run(&with(&["shapes", "--save", &sum], &again, some));
            let all = [others, &[sum]].concat();
            let number = |(text, ..): &(String, String, Option<i32>)| {
                let json: serde_json::Value = serde_json::from_str(text).unwrap();
                let structures = json["structures"].as_array().unwrap().iter();
                let mut counts: Vec<_> =
                    structures.map(|it| (it["structure"].clone(), it["count"].clone())).collect();
                counts.sort_by_key(|it| format!("{it:?}"));
                (json["documents"].clone(), json["bad"].clone(), counts)
            };
            let whole = run(&with(&["shapes", "--json"], options, &parts));
            let together = run(&with(&["shapes", "--json"], &again, &all));
            assert_eq!(number(&together), number(&whole), "{seed} {options:?}");
        }
    }
}

#[test]
fn counts_go_through_pipes() {
    let log = b"{\"a\": 1}\n[1, 2]\n{\"a\": 2}\n";
    let one = fed(&["shapes", "--save", "-"], log).stdout;
    assert_eq!(one.iter().filter(|byte| **byte == b'\n').count(), 1);
    let sum = fed(&["shapes"], &[&one[..], &one].concat()).stdout;
    let sum = String::from_utf8(sum).unwrap();
    let head = "6 documents, 2 structures\n\n1   66.7 %  4  first at standard input:1\n     {\"a\": u64}\n";
    assert!(sum.starts_with(head), "{sum}");
}

#[test]
fn counts_of_other_formats_have_their_places() {
    let folder = Folder::new("counted");
    let [yaml, json, counts] = ["x.yaml", "y.json", "x.counts"].map(|name| folder.path(name));
    fs::write(&yaml, "a: 1\n---\n[1]\n---\n{1: 2, [3]: 4}\n").unwrap();
    fs::write(&json, r#"{"items": [1, 2, "a"]}"#).unwrap();
    run(&["shapes", &yaml, "--save", &counts]);
    assert_eq!(run(&["shapes", &counts, "--json"]), run(&["shapes", &yaml, "--json"]));
    // A key that JSON has not.
    let (_, said, code) = run(&["shapes", &counts, "--schema"]);
    let (_, direct, _) = run(&["shapes", &yaml, "--schema"]);
    assert!(direct.contains("no schema allows it"), "{direct}");
    assert_eq!((said, code), (direct, Some(2)));
    run(&["shapes", &json, "--elements=items", "--save", &counts]);
    let direct = run(&["shapes", &json, "--elements=items", "--json"]);
    assert_eq!(run(&["shapes", &counts, "--json"]), direct);
}

#[test]
fn what_cannot_be_added_says_why() {
    let folder = Folder::new("refused");
    let [log, a, b] = ["log.jsonl", "a.counts", "b.counts"].map(|name| folder.path(name));
    fs::write(&log, "1\n[1]\n").unwrap();
    run(&["shapes", &log, "--save", &a]);
    run(&["shapes", &log, "--fold-lengths", "--save", &b]);
    let said = |args: &[&str]| {
        let (_, said, code) = run(&[&["shapes"], args].concat());
        assert_eq!(code, Some(2), "{said}");
        said.replace(&folder.path(""), "")
    };
    assert_eq!(
        said(&[&a, &a]),
        "treedef: a.counts:1: log.jsonl is in these counts and in others, so it would be counted twice: pass each once\n"
    );
    assert_eq!(
        said(&[&a, &b]),
        "treedef: b.counts:1: expected structures with nothing folded, found some with lengths folded: fold both the same\n"
    );
    assert_eq!(
        said(&[&a, "--decimals"]),
        "treedef: a.counts:1: counted without `--decimals`: leave it out, or count the part with it\n"
    );
    assert_eq!(
        said(&[&a, "--list", "1"]),
        "treedef: a.counts: counts, which do not list documents: pass the files that were counted\n"
    );
    let text = fs::read_to_string(&a).unwrap();
    fs::write(&b, text.replacen(":1,", ":2,", 1)).unwrap();
    assert_eq!(
        said(&[&b]),
        "treedef: b.counts:1: counts of version 2, and this command reads version 1: count the part anew\n"
    );
    // More documents than lines.
    fs::write(&b, text.replacen("\"lines\":2", "\"lines\":1", 1)).unwrap();
    assert_eq!(
        said(&[&b]),
        "treedef: b.counts:1: these counts were not saved by `shapes --save`\n"
    );
    // More bad lines than lines.
    for field in ["bad", "twice"] {
        let count = |count: u64| format!("\"{field}\":{{\"count\":{count}");
        assert!(text.contains(&count(0)), "{text}");
        fs::write(&b, text.replacen(&count(0), &count(u64::MAX), 1)).unwrap();
        for files in [&[&b[..]][..], &[&b, &a]] {
            assert_eq!(
                said(files),
                "treedef: b.counts:1: these counts were not saved by `shapes --save`\n"
            );
        }
    }
    fs::write(&b, "{\"id\": 1}\n").unwrap();
    assert_eq!(run(&["shapes", &b]).2, Some(0), "lines with such a name are lines");
}

#[test]
fn damaged_counts_are_an_error_or_counts() {
    let folder = Folder::new("damaged");
    let [log, a, b] = ["log.jsonl", "a.counts", "b.counts"].map(|name| folder.path(name));
    let mut random = fastrand::Rng::with_seed(7);
    fs::write(&log, lines(&mut random, 50).join("\n")).unwrap();
    run(&["shapes", &log, "--fold-lengths", "--save", &a]);
    let bytes = fs::read(&a).unwrap();
    for _ in 0..60 {
        let mut damaged = bytes.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..damaged.len());
            match random.u8(0..3) {
                0 => drop(damaged.remove(at)),
                1 => damaged[at] = random.u8(b' '..b'~'),
                _ => damaged.truncate(at.max(1)),
            }
        }
        fs::write(&b, &damaged).unwrap();
        let (_, said, code) = run(&["shapes", &b]);
        assert!(matches!(code, Some(0..=2)) && !said.contains("panicked"), "{code:?} {said}");
    }
}

/// Saved counts are folded or not for good.
#[test]
fn no_folding_of_saved_counts_is_suggested() {
    let folder = Folder::new("saved-advice");
    let [log, counts] = ["a.jsonl", "a.counts"].map(|name| folder.path(name));
    fs::write(&log, "[]\n{}\n1\n").unwrap();
    assert!(treedef(&["shapes", &log, "--save", &counts]).status().unwrap().success());
    let rest =
        |file: &str| printed(&["shapes", file, "--top", "1"]).lines().last().unwrap().to_owned();
    assert_eq!(rest(&log), "… and 2 more: `--top 0` shows all, `--fold-lengths` has fewer");
    assert_eq!(rest(&counts), "… and 2 more: `--top 0` shows all");
}
