//! Files of numpy and flax: whatever is read is whole, and is read again, the same, when it is written.

use std::collections::BTreeMap;

use treedef_tensors::npy::{self, ReadOptions};
use treedef_tensors::{Error, Source, Tensor, Tensors, flax, npz};

pub fn run(bytes: &[u8]) {
    let Some((format, bytes)) = bytes.split_first() else { return };
    let reading = ReadOptions::new().bf16(true).max_bytes(1 << 20);
    match format % 3 {
        0 => {
            read_each(npy::from_bytes_with(bytes, &reading));
            let Ok(source) = npy::from_bytes_with(bytes, &reading) else { return };
            let Some(tensors) = read(source.read()) else { return };
            for (_, tensor) in tensors.iter() {
                assert_whole(tensor);
                let file = npy::to_bytes(tensor).unwrap();
                let again = npy::from_bytes_with(&file, &reading).unwrap();
                assert_eq!(again.get("").unwrap().read().unwrap(), *tensor);
            }
        }
        1 => {
            read_each(npz::from_bytes_with(bytes, &reading));
            let Some(tensors) =
                read(npz::from_bytes_with(bytes, &reading).and_then(|it| it.read()))
            else {
                return;
            };
            tensors.iter().for_each(|(_, tensor)| assert_whole(tensor));
            match npz::to_bytes(&tensors) {
                Ok(file) => assert_eq!(
                    npz::from_bytes_with(&file, &reading).unwrap().read().unwrap(),
                    tensors
                ),
                Err(error) => assert!(error.to_string().contains("Python ends a name"), "{error}"),
            }
        }
        _ => {
            let Some(tensors) = read(flax::from_bytes(bytes)) else { return };
            tensors.iter().for_each(|(_, tensor)| assert_whole(tensor));
            for max_chunk in [usize::MAX, 3] {
                let file = flax::__to_bytes_chunked(&tensors, max_chunk).unwrap();
                assert_eq!(flax::from_bytes(&file).unwrap(), tensors);
            }
            // A name leads to one place in a file of numpy, too.
            let arrays = tensors.iter().map(|(name, tensor)| (name.to_owned(), tensor.clone()));
            Tensors::new(arrays.collect::<Vec<_>>()).unwrap();
        }
    }
}

/// Whatever is listed is read, or says why not.
fn read_each(source: Result<Source<'_>, Error>) {
    let Some(source) = read(source) else { return };
    for stored in source.iter() {
        let tree = read(stored.tree());
        assert!(tree.is_none() || stored.descriptor().unread().is_none());
    }
    drop(read(source.load::<BTreeMap<String, Vec<String>>>()));
}

fn read<T>(read: Result<T, Error>) -> Option<T> {
    read.map_err(|error| {
        let message = error.to_string();
        assert!(!message.is_empty() && message.len() < 4096, "{message}");
    })
    .ok()
}

fn assert_whole(tensor: &Tensor<'_>) {
    let elements: usize =
        if tensor.shape().contains(&0) { 0 } else { tensor.shape().iter().product() };
    assert_eq!(elements * tensor.dtype().size(), tensor.bytes().len());
}
