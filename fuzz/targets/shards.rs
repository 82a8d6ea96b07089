//! Checkpoints in shards: an index and two files are refused with all faults, or their tensors are whole,
//! are copied as the same file, and fit a type or not.

use std::collections::BTreeMap;

use treedef_tensors::{ErrorKind, Source, safetensors};

pub fn run(bytes: &[u8]) {
    let Some((first, rest)) = part(bytes) else { return };
    let Some((second, index)) = part(rest) else { return };
    let files = [("a.safetensors", first), ("b.safetensors", second)];
    let most = u64::try_from(first.len() + second.len()).unwrap();
    if let [Ok(first), Ok(second)] = [first, second].map(safetensors::from_bytes)
        && let Ok(source) = Source::of(first.iter().chain(second.iter()).cloned(), [])
    {
        is_whole(&source, most);
    }
    match safetensors::open_indexed_slices(index, files) {
        Ok(source) => {
            is_whole(&source, most);
            let names: usize = source.iter().map(|stored| stored.name().len()).sum();
            assert!(names <= index.len());
        }
        Err(error) => {
            assert!(error.to_string().len() <= 1 << 16, "{} bytes", error.to_string().len());
            let ErrorKind::Faults(faults) = error.kind() else { panic!("{error}") };
            assert!(!faults.is_empty());
        }
    }
}

/// A length of two bytes, and so many bytes.
fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_le_bytes(*length));
    Some(rest.split_at(length.min(rest.len())))
}

fn is_whole(source: &Source<'_>, most: u64) {
    assert!(source.num_bytes() <= most);
    for stored in source.iter() {
        let bytes = stored.read_bytes().unwrap();
        assert_eq!(stored.descriptor().num_bytes(), Some(u64::try_from(bytes.len()).unwrap()));
    }
    let mut file = Vec::new();
    safetensors::write(source, &mut file).unwrap();
    let again = safetensors::from_bytes(&file).unwrap();
    assert_eq!(again.iter().len(), source.iter().len());
    assert_eq!(again.aliases().count(), source.aliases().count());
    for (stored, copy) in source.iter().zip(again.iter()) {
        assert_eq!(stored.descriptor(), copy.descriptor());
        assert_eq!(stored.read_bytes().unwrap(), copy.read_bytes().unwrap());
    }
    let _ = source.load::<BTreeMap<String, Vec<u8>>>();
    let separate = source.separate();
    assert_eq!(separate.iter().len(), source.iter().len() + source.aliases().count());
    if let Ok(some) = source.select("*") {
        assert!(some.num_bytes() <= source.num_bytes());
    }
}
