//! A checkpoint of PyTorch, with other names than the model has.

use candle_core::{DType, Device, Tensor};
use treedef_candle::nn::LayerNorm;
use treedef_candle::tensors::{Loader, pytorch};

/// The file of `torch.save({"epoch": 7, "w": torch.tensor([0.5, 1.5])}, path, _use_new_zipfile_serialization=False)`.
const FILE: [&[u8]; 4] = [
    b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.",
    b"\x80\x02}(X\x05\0\0\0epochK\x07X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\n\
      FloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x02tQK\0K\x02\x85K\x01\x85\x89}tRu.",
    b"](X\x01\0\0\x000e.",
    b"\x02\0\0\0\0\0\0\0\0\0\0\x3f\0\0\xc0\x3f",
];

#[test]
fn a_checkpoint_of_pytorch() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.pt");
    std::fs::write(&path, FILE.concat())?;
    let weight = Tensor::zeros(2, DType::F32, &Device::Cpu)?;
    let begin = LayerNorm { weight, bias: None, eps: 1e-5 };
    let loader = Loader::new().rename("w", "weight");
    let source = pytorch::open(&path)?.source()?;
    let norm = treedef_candle::load_like_with(&loader, &begin, source)?;
    assert_eq!(norm.weight.to_vec1::<f32>()?, [0.5, 1.5]);

    // The error names the file.
    let source = pytorch::open(&path)?.source()?;
    let error = treedef_candle::load_like_with(&Loader::new(), &begin, source).unwrap_err();
    let expected = format!("{}: the tensors do not fit the type\n", path.display());
    assert!(error.to_string().starts_with(&expected), "{error}");
    Ok(())
}
