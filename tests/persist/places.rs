//! The destinations of a save: refused ones, the files that stay, and valid names.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use insta::assert_snapshot;
use tempfile::{TempDir, tempdir};
use treedef::{Limits, Tree, TreeDef};

use crate::saving::{MIB, names, saved, saver, uniform, whole};

/// The text of an error, without the path of the folder.
pub(crate) fn said(folder: &TempDir, error: impl ToString) -> String {
    error.to_string().replace(folder.path().to_str().unwrap(), "FOLDER")
}

/// The result of some work, which must not take long.
#[track_caller]
pub(crate) fn soon<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    result.recv_timeout(Duration::from_secs(10)).expect("it panicked or hangs")
}

/// The output of a process whose save was refused.
fn refusal(child: &mut Command) -> Option<String> {
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("ready"), "{said}");
    said.lines().find_map(|line| line.strip_prefix("refused: ")).map(str::to_owned)
}

/// The same process after a shell did something to itself.
fn after(setup: &str, child: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!(r#"{setup}; exec "$0" "$@""#)).arg(child.get_program());
    shell.args(child.get_args()).stdout(Stdio::piped());
    shell.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

/// Sets the permissions of a file or a folder. Returns whether this user is bound by them.
pub(crate) fn forbid(path: &Path, mode: u32, allowed: impl Fn() -> bool) -> bool {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let forbidden = !allowed();
    if !forbidden {
        println!("skipped: this user may do all");
    }
    forbidden
}

pub(crate) fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// As on a full disk: the system accepts a part of the file, then no more.
#[test]
fn a_file_that_is_too_large() {
    let (folder, path) = saved("a");
    let fresh = folder.path().join("b");
    let refused = [&path, &fresh].map(|target| {
        let child = saver(target, &[2.0], 4 * MIB, 1);
        said(&folder, refusal(&mut after("ulimit -f 100; trap '' XFSZ", &child)).unwrap())
    });
    assert_eq!(names(folder.path()), ["a"]);
    assert_eq!(whole(&path, 8), Ok(1.0));
    assert_snapshot!(refused.join("\n"), @"
    `FOLDER/a`: File too large (os error 27)
    `FOLDER/b`: File too large (os error 27)
    ");
}

#[test]
fn where_nothing_can_be_saved() {
    let (folder, path) = saved("a");
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("inner")).unwrap();
    let refused = |path: PathBuf| {
        let error = uniform(2.0, 8).save(&path).unwrap_err();
        let treedef: TreeDef = "[*]".parse().unwrap();
        assert_eq!(treedef.save(&path).unwrap_err().to_string(), error.to_string());
        said(&folder, error)
    };
    assert_snapshot!(refused("".into()), @"``: is a directory");
    assert_snapshot!(refused("..".into()), @"`..`: is a directory");
    assert_snapshot!(refused("/".into()), @"`/`: is a directory");
    assert_snapshot!(refused(place("inner")), @"`FOLDER/inner`: is a directory");
    assert_snapshot!(refused(place("inner/..")), @"`FOLDER/inner/..`: is a directory");
    assert_eq!(names(folder.path()), ["a", "inner"]);
    assert_eq!(names(&place("inner")), [""; 0]);
    assert_eq!(whole(&path, 8), Ok(1.0));
}

/// Errors do not mention the name of the temporary file, which means nothing to a user.
#[test]
fn folders_that_are_none() {
    let (folder, path) = saved("a");
    let refused = |path: &Path| said(&folder, uniform(2.0, 8).save(path).unwrap_err());
    assert_snapshot!(refused(&folder.path().join("missing/a")), @"`FOLDER/missing/a`: No such file or directory (os error 2)");
    assert_snapshot!(refused(&path.join("b")), @"`FOLDER/a/b`: Not a directory (os error 20)");
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn a_folder_that_is_read_only() {
    let (folder, path) = saved("a");
    let probe = folder.path().join("probe");
    let forbidden = forbid(folder.path(), 0o555, || File::create(&probe).is_ok());
    let saved = uniform(2.0, 8).save(&path);
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    if forbidden {
        assert_eq!((names(folder.path()), whole(&path, 8)), (vec!["a".into()], Ok(1.0)));
        assert_snapshot!(said(&folder, saved.unwrap_err()), @"`FOLDER/a`: Permission denied (os error 13)");
    }
}

/// After an error, the old file is unchanged.
#[test]
fn a_folder_that_cannot_be_listed() {
    let (folder, path) = saved("a");
    forbid(folder.path(), 0o333, || fs::read_dir(folder.path()).is_ok());
    let saved = uniform(2.0, 8).save(&path);
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let expected = if saved.is_ok() { 2.0 } else { 1.0 };
    assert_eq!(whole(&path, 8), Ok(expected), "{saved:?}");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn permissions() {
    let (folder, path) = saved("a");
    for bits in [0o640, 0o600, 0o444, 0o666] {
        fs::set_permissions(&path, PermissionsExt::from_mode(bits)).unwrap();
        assert_eq!(uniform(2.0, 8).save(&path).is_err(), bits == 0o444);
        assert_eq!(mode(&path), bits);
    }
    for (umask, bits) in [("000", 0o666), ("027", 0o640), ("077", 0o600)] {
        let path = folder.path().join(umask);
        let child = saver(&path, &[1.0], 8, 1);
        assert_eq!(refusal(&mut after(&format!("umask {umask}"), &child)), None);
        assert_eq!(mode(&path), bits, "{umask}");
    }
}

/// Renaming could replace a file that may not be written, and an administrator may write any.
#[test]
fn a_file_that_is_read_only() {
    let (folder, path) = saved("a");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    let error = uniform(2.0, 8).save(&path).unwrap_err();
    assert_snapshot!(said(&folder, error), @"`FOLDER/a`: permission denied");
    assert_eq!((names(folder.path()), whole(&path, 8)), (vec!["a".into()], Ok(1.0)));
}

#[test]
fn symbolic_links() {
    let (folder, path) = saved("a");
    let [elsewhere, link, chain] =
        ["elsewhere", "link", "chain"].map(|name| folder.path().join(name));
    fs::create_dir(&elsewhere).unwrap();
    fs::rename(&path, elsewhere.join("a")).unwrap();
    let links = [(&link, "elsewhere/a"), (&chain, "link")];
    for (link, target) in links {
        symlink(target, link).unwrap();
        uniform(2.0, 8).save(link).unwrap();
        assert_eq!(whole(link, 8), Ok(2.0));
        assert_eq!(fs::read_link(link).expect(target), Path::new(target));
    }
    assert_eq!(whole(&elsewhere.join("a"), 8), Ok(2.0));
    assert_eq!(names(&elsewhere), ["a"]);
}

/// A link stays where its file does not exist yet, and leads to the new one.
#[test]
fn a_link_to_a_file_that_is_to_come() {
    let (folder, _) = saved("a");
    let link = folder.path().join("link");
    symlink("b", &link).unwrap();
    uniform(2.0, 8).save(&link).unwrap();
    assert_eq!(fs::read_link(&link).ok(), Some("b".into()), "the link was replaced");
    assert_eq!(whole(&folder.path().join("b"), 8), Ok(2.0));
}

#[test]
fn a_link_to_itself() {
    let (folder, _) = saved("a");
    let link = folder.path().join("loop");
    symlink("loop", &link).unwrap();
    let error = uniform(2.0, 8).save(&link).expect_err("it was replaced");
    assert!(error.to_string().contains("links"), "{error}");
    assert_eq!(fs::read_link(&link).ok(), Some("loop".into()));
}

/// A name of the maximum length, to which a temporary file cannot add anything.
#[test]
fn a_long_name() {
    let folder = tempdir().unwrap();
    let name = "x".repeat(255);
    if File::create(folder.path().join(&name)).is_ok() {
        uniform(1.0, 8).save(folder.path().join(&name)).unwrap();
        assert_eq!(names(folder.path()), [OsString::from(name)]);
    }
}

/// A pipe, such as `/dev/stdout` may be, and a device are written to, not replaced.
#[test]
fn what_is_no_file_is_written_into() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pipe");
    pipe(&path);
    symlink("pipe", folder.path().join("link")).unwrap();
    for name in ["pipe", "link"] {
        let (from, target) = (path.clone(), folder.path().join(name));
        let reader = std::thread::spawn(move || fs::read(from).unwrap());
        soon(move || uniform(2.0, 8).save(target)).unwrap();
        let bytes = reader.join().unwrap();
        let saved = Tree::from_bytes_as::<f64>(&bytes, Limits::default()).unwrap();
        assert_eq!(saved, uniform(2.0, 8));
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
    }
    assert_eq!(names(folder.path()), ["link", "pipe"]);
    uniform(2.0, 8).save("/dev/null").unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    // A full disk.
    let error = uniform(2.0, 8).save("/dev/full").unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
}

/// A pipe with the name of a temporary: opening it would wait for the other end.
#[test]
fn a_pipe_among_the_temporaries() {
    let (folder, path) = saved("a");
    pipe(&folder.path().join(".a.Pipe01.treedef-tmp"));
    let target = path.clone();
    soon(move || uniform(2.0, 8).save(target)).unwrap();
    assert_eq!(whole(&path, 8), Ok(2.0));
}
