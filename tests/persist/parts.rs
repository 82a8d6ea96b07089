//! Subtrees that are read without the rest of the file: the same as of the whole, and no more bytes
//! than they need.

use std::cell::Cell;
use std::fs::File;
use std::io::{Cursor, Read, Result, Seek, SeekFrom, Write};
use std::rc::Rc;

use allocation_counter::measure;
use crc32fast::hash;
use insta::assert_snapshot;
use tempfile::tempdir;
use treedef::{Flattener, Leaf, Limits, Opaque, Path, Pattern, Tree, TreeReader};

use crate::layout::{CHECKSUMS, CHUNK, COUNTS, HEADER, header, long, put, repair};
use crate::places::said;
use crate::saving::saved;
use crate::specimens::trees;

/// Counts the bytes that were read.
struct Counting<R> {
    inner: R,
    read: Rc<Cell<usize>>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let read = self.inner.read(bytes)?;
        self.read.set(self.read.get() + read);
        Ok(read)
    }
}

impl<R: Seek> Seek for Counting<R> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.inner.seek(to)
    }
}

/// A reader, and how many bytes were read.
fn counting<R: Read + Seek>(inner: R) -> (TreeReader<Counting<R>>, Rc<Cell<usize>>) {
    let read = Rc::<Cell<usize>>::default();
    let reader = Counting { inner, read: read.clone() };
    (TreeReader::new(reader, Limits::default()).unwrap(), read)
}

/// Every subtree of every tree, by itself and by a pattern.
#[test]
fn parts_are_those_of_the_whole() {
    let mut parts = 0;
    // More runs and lengths than are found without an index.
    let row =
        |at: u32| ("x".repeat(at as usize % 7), at, at.is_multiple_of(3).then_some(0.5), [1u8, 2]);
    let rows = Tree::of(&(0..130).map(row).collect::<Vec<_>>()).unwrap();
    let texts = Tree::of(&(0..256).map(|at| at.to_string()).collect::<Vec<_>>()).unwrap();
    for (name, tree) in trees().into_iter().chain([("rows", rows), ("texts", texts)]) {
        let bytes = tree.to_bytes().unwrap();
        let (mut reader, _) = counting(Cursor::new(bytes));
        assert_eq!(reader.treedef(), tree.treedef(), "{name}");
        for (path, _) in tree.treedef().nodes() {
            let part = reader.subtree(&path).unwrap();
            let expected = tree.subtree(&path).unwrap();
            assert_eq!(part.to_bytes().unwrap(), expected.to_bytes().unwrap(), "{name} at {path}");
            parts += 1;
        }
        for pattern in ["**", "*", "[*]", "**[1]", "**.0", "**.*.*", "*.**[*]"] {
            let pattern = pattern.parse::<Pattern>().unwrap();
            let named = |path: &Path| pattern.matches(path);
            let above = |path: &Path| path.parent().is_some_and(|path| pattern.covers(&path));
            let nodes = tree.treedef().nodes().map(|(path, _)| path);
            let paths: Vec<Path> = nodes.filter(|path| named(path) && !above(path)).collect();
            let Ok(found) = reader.subtrees(&pattern) else {
                assert!(paths.is_empty(), "{name}: {pattern}");
                continue;
            };
            let found: Vec<_> = found.map(|part| part.unwrap()).collect();
            let expected = paths.into_iter().map(|path| {
                let part = tree.subtree(&path).unwrap();
                (path, part)
            });
            assert_eq!(found, expected.collect::<Vec<_>>(), "{name}: {pattern}");
            parts += found.len();
        }
    }
    assert!(parts > 150, "{parts} parts");
}

/// The blocks of the leaves that are read, beside the structure.
#[test]
fn only_the_blocks_of_a_subtree_are_read() {
    let texts: Vec<String> = (0..20_000).map(|n| "x".repeat(n % 50)).collect();
    let value = (vec![0.5f64; 1 << 20], (texts, vec![1u8; 10]), vec![1.5f32; 1 << 20]);
    let tree = Tree::of(&value).unwrap();
    let bytes = tree.to_bytes().unwrap();
    let size = bytes.len();
    let (mut reader, read) = counting(Cursor::new(bytes));
    let opened = read.take();
    assert!(opened < 200_000, "{opened} of {size} bytes"); // most are the lengths of the texts
    let mut expect = |path: &str, blocks: usize| {
        assert_eq!(reader.subtree(path).unwrap(), tree.subtree(path).unwrap(), "{path}");
        let read = read.take();
        assert!(read.div_ceil(CHUNK) == blocks, "{path}: {read} bytes");
    };
    expect(".0[0]", 1);
    expect(".0[1048575]", 1);
    expect(".1.0[7]", 1);
    expect(".1.1", 1);
    expect(".1.0", 8);
    expect(".2", 65);
}

/// Of leaves that are values, all are read, once; of the others none.
#[test]
fn values_among_the_leaves_are_read_once() {
    let value = (vec![0.5f32; 1 << 18], Opaque(vec![1u8; 1 << 18]), Opaque((1, "a")), 7);
    let tree = Tree::of(&value).unwrap();
    let (mut reader, read) = counting(Cursor::new(tree.to_bytes().unwrap()));
    read.take();
    assert_eq!(reader.subtree(".3").unwrap(), Tree::leaf(Leaf::from(7)));
    assert!(read.take() <= CHUNK);
    for expected in [1 << 18, 0] {
        assert_eq!(reader.subtree(".2").unwrap(), tree.subtree(".2").unwrap());
        let read = read.take();
        assert!((expected..=expected + CHUNK).contains(&read), "{read} bytes");
    }
}

/// A file of 10 GB, which is sparse, and a part of a few bytes.
#[test]
#[cfg(unix)]
fn a_part_of_ten_gigabytes() {
    const LEAVES: usize = 1_250_000_000;
    let small = Tree::of(&(vec![1.5; 8], "adam")).unwrap();
    let large = Tree::of(&(vec![0.0; 6], vec![1.5; 8], "adam")).unwrap();
    let structure = large.treedef().to_string().replacen("[*; 6]", &format!("[*; {LEAVES}]"), 1);
    let structure: treedef::TreeDef = structure.parse().unwrap();
    let file = structure.to_bytes().unwrap();
    let (nodes, structure) = (long(&file, COUNTS).unwrap(), file[HEADER..].to_vec());
    let kinds = [
        &2u64.to_le_bytes()[..],
        &[12],
        &(LEAVES as u64 + 8).to_le_bytes(),
        &[14],
        &1u64.to_le_bytes(),
        &1u64.to_le_bytes(),
        &4u64.to_le_bytes(),
    ]
    .concat();
    let tail: Vec<u8> =
        [1.5f64; 8].iter().flat_map(|leaf| leaf.to_le_bytes()).chain(*b"adam").collect();
    let leaves = 8 * LEAVES + tail.len();
    let whole = leaves / CHUNK;
    let mut last = vec![0; leaves % CHUNK - tail.len()];
    last.extend_from_slice(&tail);
    let zeros = hash(&vec![0; CHUNK]).to_le_bytes();
    let checksums = [zeros.repeat(whole), hash(&last).to_le_bytes().to_vec()].concat();
    let lengths = [structure.len(), 0, 0, kinds.len(), leaves].map(|it| it as u64);
    let mut start = header(true, 0, [nodes, LEAVES + 9].map(|it| it as u64), lengths);
    for (at, part) in [&structure, &vec![], &vec![], &kinds, &checksums].into_iter().enumerate() {
        put(&mut start, CHECKSUMS + 4 * at, &hash(part).to_le_bytes());
    }
    let checksum = hash(&start[..HEADER - 4]);
    put(&mut start, HEADER - 4, &checksum.to_le_bytes());
    let start = [start, structure, kinds, checksums].concat();

    let folder = tempdir().unwrap();
    let name = folder.path().join("large.tree");
    let mut file = File::create_new(&name).unwrap();
    file.write_all(&start).unwrap();
    file.seek(SeekFrom::Current((whole * CHUNK).try_into().unwrap())).unwrap();
    file.write_all(&last).unwrap();
    drop(file);

    let memory = measure(|| {
        let (mut reader, read) = counting(File::open(&name).unwrap());
        let part = reader.subtree(".1").unwrap();
        assert_eq!(part, small.subtree(".0").unwrap());
        assert_eq!(reader.subtree(".0[1249999999]").unwrap(), Tree::of(&0.0).unwrap());
        for (pattern, count) in [("*[1249999999]", 1), ("*[7]", 2), (".1[*]", 8), ("**.2", 3)] {
            assert_eq!(reader.subtrees(pattern).unwrap().count(), count, "{pattern}");
        }
        assert!(read.get() <= start.len() + 6 * CHUNK, "{} bytes", read.get());
        assert_eq!(reader.subtree(".2").unwrap(), Tree::of(&"adam").unwrap());
    });
    assert!(memory.bytes_max < 8 << 20, "{} bytes", memory.bytes_max);
}

#[test]
fn damage_is_seen_where_it_is_read() {
    let tree = Tree::of(&(vec![0.5f64; 1 << 14], [1u16, 2], vec![true; 1 << 17])).unwrap();
    let mut bytes = tree.to_bytes().unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    let (mut reader, _) = counting(Cursor::new(&bytes));
    assert_eq!(reader.subtree(".1").unwrap(), tree.subtree(".1").unwrap());
    let error = reader.subtree(".2").unwrap_err();
    assert_snapshot!(error, @"damage in leaves 147454 to 147457, `.2[131068]` to `.2[131071]`: the checksum does not match");
    assert!(Tree::from_bytes(&bytes).is_err());
}

#[test]
fn what_is_said_of_parts_that_are_not_there() {
    let (folder, path) = saved("a");
    let load = |at: &str| {
        let mut reader = TreeReader::open(&path, Limits::default()).unwrap();
        said(&folder, reader.subtree(at).unwrap_err())
    };
    assert_snapshot!(load("[8]"), @"`FOLDER/a`: no child `[8]` in `[*; 8]` at the root");
    assert_snapshot!(load("[8"), @"expected `]`, found the end at byte 2 (did you mean `[8]`?)");
    let parts = |pattern: &str| {
        let mut reader = TreeReader::open(&path, Limits::default()).unwrap();
        said(&folder, reader.subtrees(pattern).err().unwrap())
    };
    assert_snapshot!(parts("[8]"), @"`FOLDER/a`: no node matches `[8]` (there are 8 elements at the root)");
    assert_snapshot!(parts("[8"), @"expected `]`, found the end at byte 2 (did you mean `[8]`?)");
    let mut reader = TreeReader::open(&path, Limits::default()).unwrap();
    assert_snapshot!(said(&folder, reader.subtree_as::<f32>("[3]").unwrap_err()), @"`FOLDER/a`: expected f32, found f64 at `[3]`");
    let mut reader = TreeReader::open(&path, Limits::default()).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(150).unwrap();
    assert_snapshot!(said(&folder, reader.subtree("").unwrap_err()), @"`FOLDER/a`: cut off: expected at least 263 bytes, found 150");
    assert_snapshot!(said(&folder, TreeReader::open(&path, Limits::default()).unwrap_err()), @"`FOLDER/a`: cut off: expected at least 263 bytes, found 150");
}

/// Offsets that lead anywhere, with checksums that fit.
#[test]
fn hostile_lengths() {
    let tree = Tree::of(&(vec![0.5f32; 3], "a", [1u8, 2], Opaque("b"))).unwrap();
    let bytes = tree.to_bytes().unwrap();
    let mut refused = 0;
    for at in COUNTS..bytes.len() - 8 {
        for length in [0, 1, 5, 1 << 16, 1 << 40, u64::MAX, u64::MAX - 3] {
            let mut hostile = bytes.clone();
            put(&mut hostile, at, &length.to_le_bytes());
            repair(&mut hostile);
            let reader = TreeReader::new(Cursor::new(&hostile), Limits::default());
            let memory = measure(|| {
                let parts = reader.map(|mut reader| {
                    ["", ".0", ".1", ".2[0]", ".3"].map(|path| reader.subtree(path).is_err())
                });
                refused += usize::from(!matches!(parts, Ok([false, false, ..])));
            });
            assert!(memory.bytes_max < 4 << 20, "{length} at {at}: {} bytes", memory.bytes_max);
        }
    }
    assert!(refused > 1000, "{refused}");
}

/// The typed value of a part.
#[test]
fn arrays_are_parts_too() {
    let tree = Flattener::new().arrays(true).tree(&(vec![vec![1.5f32; 3]; 2], 1)).unwrap();
    let (mut reader, _) = counting(Cursor::new(tree.to_bytes().unwrap()));
    assert_eq!(reader.subtree(".0").unwrap(), tree.subtree(".0").unwrap());
}
