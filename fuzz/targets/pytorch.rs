//! Files of PyTorch: refused with a short error, or all that they have can be read, and what is written
//! of it is the same.

use treedef_tensors::pytorch::{self, Pytorch};
use treedef_tensors::{Error, safetensors};

/// The pickles that an old file begins with.
const START: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.";
/// The keys of the storages, and a storage `0` of four numbers.
const END: &[u8] = b"](X\x01\0\0\x000e.\x04\0\0\0\0\0\0\0\x01\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f";
/// Larger tensors, which are expanded ones, are not read.
const MOST: u64 = 1 << 16;

/// The first byte says whether the others are a file, or a pickle in an old one.
pub fn run(bytes: &[u8]) {
    let Some((how, bytes)) = bytes.split_first() else { return };
    let framed;
    let bytes = if how & 1 == 1 {
        framed = [START, bytes, END].concat();
        &framed
    } else {
        bytes
    };
    match pytorch::from_bytes(bytes) {
        Ok(file) => whole(&file, bytes.len()),
        Err(error) => is_short(&error),
    }
}

fn whole(file: &Pytorch<'_>, size: usize) {
    let entries = file.lazy_tree();
    assert!(entries.leaves().len() <= size * 64 + (1 << 16));
    entries.treedef().to_string();
    let source = match file.source() {
        Ok(source) => source,
        Err(error) => return is_short(&error),
    };
    let tied = source.aliases().count() as u64;
    if source.num_bytes().saturating_mul(tied + 1) > MOST {
        return;
    }
    for stored in source.iter() {
        let all = stored.read_bytes().unwrap();
        assert_eq!(u64::try_from(all.len()), Ok(stored.num_bytes()));
        let middle = all.len() / 3;
        let mut part = vec![0; all.len() - middle];
        stored.read_at(middle as u64, &mut part).unwrap();
        assert_eq!(part, all[middle..]);
    }
    if let Ok(tree) = file.tree() {
        tree.to_string();
    }
    let mut written = Vec::new();
    if safetensors::write(&source, &mut written).is_ok() {
        let again = safetensors::from_bytes(&written).unwrap();
        assert_eq!(again.aliases().count(), source.aliases().count());
        for stored in source.iter() {
            let again = again.get(stored.name()).unwrap();
            assert_eq!(again.descriptor(), stored.descriptor());
            assert_eq!(again.read_bytes().unwrap(), stored.read_bytes().unwrap());
        }
    }
}

fn is_short(error: &Error) {
    let text = error.to_string();
    assert!(text.len() <= 1 << 14, "{text}");
}
