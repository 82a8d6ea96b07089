//! Headers of GGUF: refused with a short error, or all tensors are inside of the file and apart.

use treedef_tensors::gguf;

pub fn run(bytes: &[u8]) {
    let size = u64::try_from(bytes.len()).unwrap();
    let gguf = match gguf::read(bytes, Some(size)) {
        Ok(gguf) => gguf,
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() <= 1024, "{text}");
            return;
        }
    };
    assert!(gguf.metadata().leaves().len() <= bytes.len());
    let mut places: Vec<(u64, u64)> = Vec::new();
    for tensor in gguf.tensors() {
        let end = tensor.start.checked_add(tensor.num_bytes).unwrap();
        assert!(end <= size);
        places.extend((tensor.num_bytes > 0).then_some((tensor.start, end)));
        assert!(tensor.to_string().starts_with(&tensor.type_name));
    }
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    // Without the size of the file, the header is the same.
    let again = gguf::read(bytes, None).unwrap();
    assert_eq!(again.metadata().treedef(), gguf.metadata().treedef());
    assert_eq!(again.tensors().len(), gguf.tensors().len());
}
