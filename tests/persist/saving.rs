//! Files on disk are complete or absent, also if a process is killed, is refused, or writes at the same time.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use tempfile::{TempDir, tempdir};
use treedef::{Limits, Tree, TreeReader};
use treedef_testing::cases::all;

pub(crate) const MIB: usize = (1 << 20) / size_of::<f64>();

/// A tree whose leaves are all equal, so that parts of two of them are neither.
pub(crate) fn uniform(leaf: f64, leaves: usize) -> Tree<f64> {
    Tree::new(format!("[*; {leaves}]").parse().unwrap(), vec![leaf; leaves]).unwrap()
}

/// The leaf of a file that holds a whole uniform tree.
pub(crate) fn whole(path: &Path, leaves: usize) -> Result<f64, String> {
    let read = TreeReader::open(path, Limits::default()).and_then(|mut file| file.subtree_as(""));
    let tree: Tree<f64> = read.map_err(|error| error.to_string())?;
    let leaf = tree.leaves()[0];
    if tree == uniform(leaf, leaves) { Ok(leaf) } else { Err("parts of several".to_owned()) }
}

/// A folder with a saved file in it.
pub(crate) fn saved(name: &str) -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join(name);
    uniform(1.0, 8).save(&path).unwrap();
    (folder, path)
}

pub(crate) fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

/// A process that saves uniform trees in turn, and again.
pub(crate) fn saver(path: &Path, trees: &[f64], leaves: usize, times: usize) -> Command {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "saving::child_that_saves", "--ignored", "--nocapture"]);
    child.env("SAVE_TO", path).env("SAVE_TREES", format!("{leaves} {times} {trees:?}"));
    child.stdout(Stdio::piped());
    child
}

#[test]
#[ignore = "the process of other tests, which does nothing by itself"]
fn child_that_saves() {
    let Some(path) = env::var_os("SAVE_TO") else { return };
    let asked = env::var("SAVE_TREES").unwrap();
    let mut asked = asked.splitn(3, ' ');
    let mut count = || asked.next().unwrap().parse::<usize>().unwrap();
    let (leaves, times) = (count(), count());
    let trees = asked.next().unwrap().trim_matches(['[', ']']).split(", ");
    let trees: Vec<_> = trees.map(|leaf| uniform(leaf.parse().unwrap(), leaves)).collect();
    println!("\nready");
    for tree in (0..times).flat_map(|_| &trees) {
        if let Err(error) = tree.save(&path) {
            return println!("refused: {error}");
        }
    }
}

/// Whether a file is being written in the folder, or was left behind.
fn temporaries(folder: &Path) -> usize {
    let temporary = |name: &OsString| name.as_encoded_bytes().ends_with(b".treedef-tmp");
    names(folder).iter().filter(|name| temporary(name)).count()
}

/// Kills a process that saves 4 MiB over and over, each time at another moment; every other time
/// while it writes.
fn survives_kills(rounds: usize) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("killed");
    let [mut torn, mut lost, mut left, mut most, mut changed] = [0; 5];
    let mut before = None;
    for round in 0..rounds {
        let trees = if round % 4 < 2 { [1.0, 2.0] } else { [2.0, 1.0] };
        let mut child = saver(&path, &trees, 4 * MIB, 1000).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap() == "ready"));
        let start = Instant::now();
        if round % 2 == 0 {
            thread::sleep(Duration::from_micros(fastrand::u64(10_000..90_000)));
        } else {
            let waits = || {
                thread::sleep(Duration::from_micros(100));
                start.elapsed() < Duration::from_secs(5)
            };
            // Leftovers are removed first.
            while temporaries(folder.path()) > 0 && waits() {}
            while temporaries(folder.path()) == 0 && waits() {}
            thread::sleep(Duration::from_micros(fastrand::u64(0..10_000)));
        }
        child.kill().unwrap();
        child.wait().unwrap();

        let behind = temporaries(folder.path());
        (left, most) = (left + usize::from(behind > 0), most.max(behind));
        let found = path.exists().then(|| whole(&path, 4 * MIB));
        match &found {
            Some(Ok(leaf)) if [1.0, 2.0].contains(leaf) => {}
            Some(other) => (torn, _) = (torn + 1, println!("round {round}: {other:?}")),
            None => lost += usize::from(before.is_some()),
        }
        changed += usize::from(found != before);
        before = found;
    }
    let files = names(folder.path()).len();
    println!(
        "{rounds} kills: {torn} torn, {lost} lost, {changed} with another content than before"
    );
    println!("{left} left a temporary, at most {most} at once; {files} files before the next save");
    uniform(3.0, 8).save(&path).unwrap();
    assert_eq!(names(folder.path()), ["killed"]);
    assert_eq!((torn, lost), (0, 0));
    assert!(most <= 1, "a save does not sweep what the one before it left behind");
}

#[test]
fn a_writer_that_is_killed() {
    survives_kills(if all() { 20 } else { 5 });
}

#[test]
#[ignore = "slow, and more of the same"]
fn a_writer_that_is_killed_often() {
    survives_kills(200);
}

/// Reads a file until its writers are done, which must be whole each time.
fn read_until(mut done: impl FnMut() -> bool, path: &Path, leaves: usize) -> usize {
    let (mut reads, start) = (0, Instant::now());
    while !done() {
        assert!((1.0..=4.0).contains(&whole(path, leaves).unwrap()));
        assert!(start.elapsed() < Duration::from_secs(300), "the writers hang");
        reads += 1;
    }
    reads
}

#[test]
fn threads_that_save_to_one_file() {
    for (leaves, times) in [(MIB, 12), (1, 200)] {
        let (folder, path) = saved("a");
        uniform(1.0, leaves).save(&path).unwrap();
        thread::scope(|scope| {
            let writers: Vec<_> = [1.0, 2.0, 3.0, 4.0]
                .map(|leaf| {
                    let (tree, path) = (uniform(leaf, leaves), &path);
                    scope.spawn(move || (0..times).for_each(|_| tree.save(path).unwrap()))
                })
                .into();
            let done = || writers.iter().all(|writer| writer.is_finished());
            println!("{} reads beside {times} saves each", read_until(done, &path, leaves));
        });
        assert_eq!(names(folder.path()), ["a"]);
    }
}

#[test]
fn processes_that_save_to_one_file() {
    let (folder, path) = saved("a");
    uniform(1.0, MIB).save(&path).unwrap();
    let mut writers: Vec<Child> =
        [1.0, 2.0, 3.0, 4.0].map(|leaf| saver(&path, &[leaf], MIB, 12).spawn().unwrap()).into();
    let done = || writers.iter_mut().all(|writer| writer.try_wait().unwrap().is_some());
    println!("{} reads", read_until(done, &path, MIB));
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && !said.contains("refused"), "{said}");
    }
    assert_eq!(names(folder.path()), ["a"]);
}

/// Temporary files without a lock are removed; files with a lock are not, whichever of the two names they
/// have.
#[test]
fn temporaries_of_others() {
    let (folder, path) = saved("a");
    let temporary = |name: &str| {
        let path = folder.path().join(format!("{name}.treedef-tmp"));
        fs::write(&path, uniform(9.0, 8).to_bytes().unwrap()).unwrap();
        path
    };
    let live = [".a.Live01", ".a.b.Live01"].map(|name| File::open(temporary(name)).unwrap());
    live.iter().for_each(|file| file.lock().unwrap());
    fs::rename(temporary(".x"), folder.path().join(".a.Stale1.treedef-tmp")).unwrap();
    let read_only = temporary(".a.Stale2");
    #[cfg(unix)]
    fs::set_permissions(&read_only, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    #[cfg(not(unix))]
    drop(read_only);
    temporary(".b.Stale3");

    uniform(2.0, 8).save(&path).unwrap();
    let expected =
        [".a.Live01.treedef-tmp", ".a.b.Live01.treedef-tmp", ".b.Stale3.treedef-tmp", "a"];
    assert_eq!(names(folder.path()), expected);
    drop(live);
    for name in ["a", "a.b", "b"] {
        uniform(2.0, 8).save(folder.path().join(name)).unwrap();
    }
    assert_eq!(names(folder.path()), ["a", "a.b", "b"]);
}

#[test]
fn names_of_all_sorts() {
    let folder = tempdir().unwrap();
    let mut sorts: Vec<OsString> =
        ["two words", ".hidden", "a.b.c", "-x", "é", "a.treedef-tmp"].map(OsString::from).into();
    #[cfg(target_os = "linux")]
    sorts.push(std::os::unix::ffi::OsStringExt::from_vec(b"\xff\xfe".to_vec()));
    for _ in 0..2 {
        for name in &sorts {
            let path = folder.path().join(name);
            uniform(1.0, 8).save(&path).unwrap();
            assert_eq!(whole(&path, 8), Ok(1.0), "{name:?}");
            let child = saver(name.as_ref(), &[2.0], 8, 1).current_dir(folder.path()).output();
            assert!(child.unwrap().status.success());
            assert_eq!(whole(&path, 8), Ok(2.0), "{name:?}");
        }
        sorts.sort();
        assert_eq!(names(folder.path()), sorts);
    }
}
