//! Files that are none, or go on: refused soon, and without much memory.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::thread;

use allocation_counter::measure;
use insta::assert_snapshot;
use tempfile::tempdir;
use treedef::{Error, ErrorKind, Limits, TreeReader};

use crate::places::{forbid, pipe, said, soon};
use crate::saving::{MIB, saved, uniform};

/// The error of a refused load, and the largest number of bytes that were read at once.
fn refused_load(path: &Path) -> (Error, u64) {
    let path = path.to_owned();
    soon(move || {
        let mut error = None;
        let read = |path: &Path| TreeReader::open(path, Limits::default())?.subtree_as::<f64>("");
        let memory = measure(|| error = read(&path).err());
        (error.unwrap(), memory.bytes_max)
    })
}

#[test]
fn what_is_no_file_is_not_loaded() {
    let (folder, path) = saved("a");
    let refused = |path: &Path| {
        let (error, memory) = refused_load(path);
        assert!(memory < 4096, "{memory} bytes for: {error}");
        said(&folder, error)
    };
    assert_snapshot!(refused(folder.path()), @"`FOLDER`: is a directory");
    assert_snapshot!(refused(&folder.path().join("b")), @"`FOLDER/b`: No such file or directory (os error 2)");
    assert_snapshot!(refused("".as_ref()), @"``: No such file or directory (os error 2)");
    assert_snapshot!(refused("/dev/null".as_ref()), @"`/dev/null`: not a regular file");
    assert_snapshot!(refused("/dev/zero".as_ref()), @"`/dev/zero`: not a regular file");
    if forbid(&path, 0o000, || File::open(&path).is_ok()) {
        assert_snapshot!(refused(&path), @"Permission denied (os error 13) in `FOLDER/a`");
    }
}

/// Opening it would wait for the other end.
#[test]
fn a_pipe_that_nobody_writes_to() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pipe");
    pipe(&path);
    let (error, _) = refused_load(&path);
    assert!(error.to_string().contains("/pipe`: "), "{error}");
}

/// A file is read to the length in its header, and one byte further, to see whether there is more.
#[test]
fn a_file_that_grows() {
    let (_folder, path) = saved("a");
    uniform(1.0, MIB).save(&path).unwrap();
    let mut file = File::options().append(true).open(&path).unwrap();
    thread::scope(|scope| {
        file.write_all(&[0; 4096]).unwrap();
        let grows = scope.spawn(move || (0..2000).try_for_each(|_| file.write_all(&[0; 4096])));
        while !grows.is_finished() {
            let (error, memory) = refused_load(&path);
            assert_eq!(error.kind(), ErrorKind::File, "{error}");
            assert!(memory < 4 << 20, "{memory} bytes");
        }
        grows.join().unwrap().unwrap();
    });
}

/// A whole file, and then more of it without an end.
#[test]
fn a_pipe_that_never_ends() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pipe");
    pipe(&path);
    let (bytes, place) = (uniform(1.0, MIB).to_bytes().unwrap(), path.clone());
    thread::spawn(move || {
        let mut pipe = File::options().write(true).open(place)?;
        pipe.write_all(&bytes)?;
        std::io::copy(&mut std::io::repeat(0), &mut pipe)
    });
    let (error, memory) = refused_load(&path);
    assert!(memory < 4 << 20, "{memory} bytes for: {error}");
}
