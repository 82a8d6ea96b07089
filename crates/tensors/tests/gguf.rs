//! Headers of GGUF files, sound and damaged.

use insta::assert_snapshot;
use treedef_tensors::gguf::{self, Gguf};

/// A file in the making.
struct File(Vec<u8>);

impl File {
    fn new(tensors: u64, entries: u64) -> Self {
        let counts = [tensors, entries].map(u64::to_le_bytes).concat();
        File([b"GGUF\x03\0\0\0", counts.as_slice()].concat())
    }

    fn put(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.0.extend(bytes.as_ref());
        self
    }

    fn u32(self, number: u32) -> Self {
        self.put(number.to_le_bytes())
    }

    fn u64(self, number: u64) -> Self {
        self.put(number.to_le_bytes())
    }

    fn text(self, text: &str) -> Self {
        self.u64(text.len() as u64).put(text)
    }

    /// A key and the type of its value.
    fn key(self, key: &str, kind: u32) -> Self {
        self.text(key).u32(kind)
    }

    /// A tensor: the sizes as the file has them, the type, and the offset.
    fn tensor(self, name: &str, sizes: &[u64], kind: u32, offset: u64) -> Self {
        let file = self.text(name).u32(u32::try_from(sizes.len()).unwrap());
        sizes.iter().fold(file, |file, size| file.u64(*size)).u32(kind).u64(offset)
    }

    /// The data, behind the padding.
    fn data(mut self, alignment: usize, size: usize) -> Vec<u8> {
        self.0.resize(self.0.len().next_multiple_of(alignment) + size, 7);
        self.0
    }
}

fn read(bytes: &[u8]) -> Result<Gguf, treedef_tensors::Error> {
    gguf::read(bytes, Some(bytes.len() as u64))
}

fn listed(gguf: &Gguf) -> Vec<String> {
    let tensors = gguf.tensors().iter();
    tensors.map(|it| format!("{}: {it}, {} bytes", it.name, it.num_bytes)).collect()
}

fn sound() -> Vec<u8> {
    let entries = File::new(4, 15)
        .key("u8", 0)
        .put([200])
        .key("i8", 1)
        .put([255])
        .key("u16", 2)
        .put([1, 1])
        .key("i16", 3)
        .put([254, 255])
        .key("u32", 4)
        .u32(7)
        .key("i32", 5)
        .put((-7i32).to_le_bytes())
        .key("f32", 6)
        .put(0.5f32.to_le_bytes())
        .key("bool", 7)
        .put([1])
        .key("text", 8)
        .text("llama")
        .key("array", 9)
        .u32(8)
        .u64(2)
        .text("<s>")
        .text("é")
        .key("u64", 10)
        .u64(u64::MAX)
        .key("i64", 11)
        .put((-1i64).to_le_bytes())
        .key("f64", 12)
        .put(0.25f64.to_le_bytes())
        .key("nested", 9)
        .u32(9)
        .u64(2)
        .u32(0)
        .u64(1)
        .put([1])
        .u32(6)
        .u64(0)
        .key("general.alignment", 4)
        .u32(64);
    entries
        .tensor("token_embd.weight", &[256, 3], 12, 0)
        .tensor("blk.0.attn_q.weight", &[32, 2], 8, 448)
        .tensor("blk.0.bias", &[3], 0, 576)
        .tensor("new", &[9], 99, 640)
        .data(64, 700)
}

#[test]
fn the_header_is_read() {
    let bytes = sound();
    let gguf = read(&bytes).unwrap();
    assert_snapshot!(gguf.metadata().to_string(), @r#"{"array": ["<s>", "é"], "bool": true, "f32": 0.5f32, "f64": 0.25, "general.alignment": 64u32, "i16": -2i16, "i32": -7, "i64": -1i64, "i8": -1i8, "nested": [[1u8], []], "text": "llama", "u16": 257u16, "u32": 7u32, "u64": 18446744073709551615u64, "u8": 200u8}"#);
    assert_snapshot!(listed(&gguf).join("\n"), @"
    token_embd.weight: q4_k[3, 256], 432 bytes
    blk.0.attn_q.weight: q8_0[2, 32], 68 bytes
    blk.0.bias: f32[3], 12 bytes
    new: type_99[9], 60 bytes
    ");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gguf");
    std::fs::write(&path, &bytes).unwrap();
    let opened = gguf::open(&path).unwrap();
    assert_eq!((opened.metadata(), opened.tensors()), (gguf.metadata(), gguf.tensors()));
    let bias = &opened.tensors()[2];
    assert_eq!(opened.read_bytes(bias).unwrap(), [7; 12]);
    assert!(opened.read_at(bias, 8, &mut [0; 5]).is_err());
    assert!(gguf::open(folder.path().join("none")).unwrap_err().is_not_found());
}

#[test]
fn what_is_wrong_is_told_with_its_byte() {
    let one = |sizes: &[u64], kind, offset, size| {
        File::new(1, 0).tensor("a", sizes, kind, offset).data(32, size)
    };
    let two =
        |start| File::new(2, 0).tensor("a", &[9], 24, 0).tensor("b", &[9], 24, start).data(32, 99);
    let told: Vec<String> = [
        b"GGUX".to_vec(),
        b"GGUF\0\0\0\x03".to_vec(),
        b"GGUF\x04\0\0\0".to_vec(),
        b"GGUF\x03\0\0\0\x01".to_vec(),
        File::new(0, 1).u64(u64::MAX).0,
        File::new(0, 1).u64(1 << 20).put("k").0,
        File::new(0, 1).key("k", 13).0,
        File::new(0, 1).key("k", 7).put([2]).0,
        File::new(0, 1).u64(2).put([b'a', 255]).0,
        File::new(0, 2).key("k", 0).put([1]).key("k", 0).put([1]).0,
        File::new(0, 1).key("general.alignment", 4).u32(48).0,
        File::new(0, 1).key("general.alignment", 10).u64(64).0,
        File::new(0, 1).key("general.alignment", 9).u32(4).u64(1).u32(64).0,
        File::new(0, 1).key("k", 9).u32(0).u64(u64::MAX).put([1]).0,
        (0..20).fold(File::new(0, 1).key("k", 9), |file, _| file.u32(9).u64(1)).0,
        File::new(1, 0).text("a").u32(9).0,
        File::new(2, 0).tensor("a", &[1], 0, 0).tensor("a", &[1], 0, 32).data(32, 99),
        one(&[31], 2, 0, 99),
        one(&[u64::MAX, 9], 0, 0, 99),
        one(&[2], 0, 7, 99),
        one(&[3], 0, 0, 11),
        one(&[3], 0, u64::MAX - 31, 11),
        two(0),
        two(64),
    ]
    .iter()
    .map(|bytes| read(bytes).map_or_else(|error| error.to_string(), |it| listed(&it).join(", ")))
    .collect();
    assert_snapshot!(told.join("\n"), @r#"
    no GGUF file at byte 0
    GGUF in big endian, which is not read at byte 4
    GGUF of the version 4, which is not read at byte 4
    the file ends inside its header at byte 8
    the header has more than 268435456 bytes at byte 32
    the file ends inside its header at byte 32
    a value of the type 13, which is not known at byte 37
    the byte 2 is not a bool at byte 38
    a text that is not UTF-8 at byte 33
    the key "k" occurs twice at byte 38
    the alignment 48 is not a power of two at byte 24
    `general.alignment` is u64, expected u32 at byte 24
    `general.alignment` is an array, expected u32 at byte 24
    the file ends inside its header at byte 50
    arrays nested deeper than 8 levels at byte 145
    9 dimensions at the tensor "a" at byte 37
    the name "a" occurs twice at byte 66
    rows that are not whole blocks, or too many bytes, at the tensor "a", q4_0[31] at byte 24
    rows that are not whole blocks, or too many bytes, at the tensor "a", f32[9, 18446744073709551615] at byte 24
    an offset that is not a multiple of 32 at the tensor "a", f32[2] at byte 24
    the file ends before the bytes at the tensor "a", f32[3] at byte 24
    too many bytes at the tensor "a", f32[3] at byte 24
    an overlap at the tensor "b", i8[9] at byte 57
    a: i8[9], 9 bytes, b: i8[9], 9 bytes
    "#);
}

/// `GGUF_DAMAGES=1000000` damages more.
#[test]
fn damaged_headers_are_read_or_refused() {
    let damages = std::env::var("GGUF_DAMAGES").map_or(20_000, |text| text.parse().unwrap());
    let (mut rng, whole) = (fastrand::Rng::with_seed(3), sound());
    let mut refused = 0;
    for _ in 0..damages {
        let mut bytes = whole.clone();
        for _ in 0..rng.usize(1..4) {
            let Some(last) = bytes.len().checked_sub(1) else { break };
            let at = rng.usize(..=last);
            match rng.u8(..4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = [0, 1, 127, 255][rng.usize(..4)],
                2 => bytes[at] ^= 1 << rng.u8(..8),
                _ => {
                    bytes.remove(at);
                }
            }
        }
        match read(&bytes) {
            Ok(gguf) => {
                for tensor in gguf.tensors() {
                    let end = tensor.start.checked_add(tensor.num_bytes).unwrap();
                    assert!(end <= bytes.len() as u64);
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > damages / 3, "{refused} of {damages}");
}

/// A header may declare any size: memory grows with the bytes in the file.
#[test]
fn memory_is_that_of_the_header() {
    for bytes in [
        File::new(u64::MAX, 0).0,
        File::new(0, u64::MAX).0,
        File::new(0, 1).key("k", 9).u32(0).u64(u64::MAX).0,
        File::new(0, 1).u64(1 << 27).0,
    ] {
        let read = allocation_counter::measure(|| {
            read(&bytes).unwrap_err();
        });
        assert!(read.bytes_max < 1 << 16, "{} bytes", read.bytes_max);
    }
}

/// A part as llama.cpp splits models, with one tensor of bytes.
fn part(number: u16, count: u16, name: &str, byte: u8) -> Vec<u8> {
    let mut file = File::new(1, 3)
        .key("split.tensors.count", 5)
        .put(3i32.to_le_bytes())
        .key("split.count", 2)
        .put(count.to_le_bytes())
        .key("split.no", 2)
        .put(number.to_le_bytes())
        .tensor(name, &[2], 24, 0)
        .data(32, 2);
    let end = file.len() - 1;
    file[end] = byte;
    file
}

#[test]
fn the_parts_of_a_model_are_opened_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = |number: u16| folder.path().join(format!("m-{number:05}-of-00003.gguf"));
    for (number, name) in [(0, "a"), (1, "b"), (2, "c")] {
        std::fs::write(path(number + 1), part(number, 3, name, number as u8)).unwrap();
    }
    for opened in [path(1), path(3), folder.path().to_owned()] {
        let gguf = gguf::open(opened).unwrap();
        assert_eq!(gguf.part(), Some((1, 3)));
        let bytes = gguf.tensors().iter().map(|it| gguf.read_bytes(it).unwrap());
        assert_eq!(bytes.collect::<Vec<_>>(), [[7, 0], [7, 1], [7, 2]]);
    }
    let told = |path: &std::path::Path| {
        let error = gguf::open(path).unwrap_err().to_string();
        error.replace(&folder.path().display().to_string(), "FOLDER")
    };
    let empty = File::new(0, 2).key("split.count", 2).put(3u16.to_le_bytes());
    let empty = empty.key("split.no", 2).put(1u16.to_le_bytes()).data(32, 0);
    std::fs::write(path(2), empty).unwrap();
    assert_snapshot!(told(&path(1)), @"the parts have 2 tensors, and the first says that there are 3");
    std::fs::write(path(2), part(1, 3, "a", 0)).unwrap();
    assert_snapshot!(told(&path(1)), @r#"the name "a" occurs in two parts"#);
    std::fs::write(path(2), part(2, 3, "b", 0)).unwrap();
    assert_snapshot!(told(&path(1)), @"FOLDER/m-00002-of-00003.gguf: part 3 of 3, and its name says part 2 of 3");
    let cut = std::fs::read(path(2)).unwrap();
    std::fs::write(path(2), &cut[..60]).unwrap();
    for opened in [path(1), path(3)] {
        let error = told(&opened);
        let expected = "FOLDER/m-00002-of-00003.gguf: the file ends inside its header at byte";
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(told(&path(2)).starts_with("the file ends inside its header"));
    std::fs::write(path(2), part(1, 3, "b", 0)).unwrap();
    std::fs::write(path(1), b"GGUF").unwrap();
    assert!(told(folder.path()).starts_with("FOLDER/m-00001-of-00003.gguf: "));
    std::fs::write(path(1), part(0, 3, "a", 0)).unwrap();
    std::fs::remove_file(path(2)).unwrap();
    assert_snapshot!(told(&path(3)), @r#"FOLDER/m-00003-of-00003.gguf: part 3 of 3, and "m-00002-of-00003.gguf" is not there"#);
    std::fs::remove_file(path(1)).unwrap();
    assert_snapshot!(told(folder.path()), @r#"FOLDER/m-00003-of-00003.gguf: part 3 of 3, and "m-00001-of-00003.gguf" is not there"#);
    let other = folder.path().join("other.gguf");
    std::fs::rename(path(3), &other).unwrap();
    assert_snapshot!(told(&other), @"FOLDER/other.gguf: part 3 of 3, and its name does not say which the others are, such as `model-00001-of-00003.gguf`");
    std::fs::write(path(1), part(0, 3, "a", 0)).unwrap();
    assert_snapshot!(told(folder.path()), @r#"FOLDER: 2 models, such as "m-00001-of-00003.gguf", "other.gguf": open one of them"#);
    assert_eq!(gguf::read(&*part(1, 3, "b", 0), None).unwrap().part(), Some((2, 3)));
}
