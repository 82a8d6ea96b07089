//! The use of memory while a checkpoint is read.

use std::collections::BTreeMap;

use treedef_tensors::{Dtype, Loader, Tensor, Tensors, safetensors};

const MIB: usize = 1 << 20;

/// Memory has the value, at most one tensor, and a mebibyte for the rest.
#[test]
fn loading_takes_the_value_and_one_tensor() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for shard in 0..4 {
        let tensor = |number: usize| {
            let bytes = vec![u8::try_from(number).unwrap(); 2 * MIB];
            let tensor = Tensor::new(Dtype::U8, vec![2, MIB], bytes).unwrap();
            (format!("{:02}", 2 * shard + number), tensor)
        };
        let path = folder.path().join(format!("{shard}.safetensors"));
        safetensors::save(&Tensors::new((0..2).map(tensor)).unwrap(), &path).unwrap();
        paths.push(path);
    }
    let mut value = BTreeMap::new();
    let read = allocation_counter::measure(|| {
        let source = safetensors::open_files(&paths).unwrap();
        value = source.load::<BTreeMap<String, Vec<Vec<u8>>>>().unwrap();
    });
    assert_eq!(value.values().flatten().map(Vec::len).sum::<usize>(), 16 * MIB);
    let most = u64::try_from(16 * MIB + 2 * MIB + MIB).unwrap();
    assert!(read.bytes_max < most, "{} bytes at once, for 16 MiB", read.bytes_max);

    // A tensor that is transposed is in memory as a whole.
    value.clear();
    let read = allocation_counter::measure(|| {
        let source = safetensors::open(&paths[0]).unwrap().select("00").unwrap();
        let loader = Loader::new().transpose("00");
        let value: BTreeMap<String, Vec<[u8; 2]>> = loader.load(&source).unwrap();
        assert_eq!(value["00"].len(), MIB);
    });
    let most = u64::try_from(2 * MIB + 2 * MIB + 2 * MIB).unwrap(); // serde's vector doubles
    assert!(read.bytes_max < most, "{} bytes at once, for 2 MiB", read.bytes_max);

    // Only the selected tensors are read.
    let opened = allocation_counter::measure(|| {
        let source = safetensors::open_files(&paths).unwrap();
        assert_eq!(source.num_bytes(), u64::try_from(16 * MIB).unwrap());
    });
    assert!(opened.bytes_max < 64 << 10, "{} bytes to open", opened.bytes_max);
}
