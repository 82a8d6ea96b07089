//! Files of any serde value with tensors in it.

mod tensor;

use std::collections::HashMap;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::Tree;
use treedef_tensors::{
    Error, ErrorKind, Export, LoadReport, Loader, Result, Source, StoredTensor, safetensors,
};

use crate::parts::{AnyError, converted};

/// serde's message for a missing field. A layer has no default.
const NEW: &str = "new? `#[serde(default)]`";

/// Writes a value as one file of safetensors: each tensor under the path that leads to it, such as
/// `model.layers.0.weight`, and the rest of the value, its numbers and texts, in the metadata. Other programs
/// read the tensors by their names.
///
/// The old contents of the file stay until the new ones are on the disk. A tensor that the value has twice,
/// as a clone, is stored once. A tensor on a device is copied to the CPU when it is written.
///
/// # Errors
///
/// Returns an error when two tensors have one name, when a device fails, and for errors of the
/// file.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use serde::{Deserialize, Serialize};
/// use treedef_candle::nn::{Initialiser, Linear};
///
/// #[derive(Serialize, Deserialize)]
/// struct Training {
///     model: Linear,
///     epoch: u64,
///     data: String,
/// }
///
/// let model = Linear::new(3, 2, &mut Initialiser::new(0))?;
/// let training = Training { model, epoch: 7, data: "tiny.txt".to_owned() };
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("training.safetensors");
/// treedef_candle::save(&training, &path)?;
/// let loaded: Training = treedef_candle::load(&path, &Device::Cpu)?;
/// assert_eq!((loaded.epoch, loaded.data.as_str()), (7, "tiny.txt"));
///
/// let tensors = candle_core::safetensors::load(&path, &Device::Cpu)?;
/// assert_eq!(tensors["model.weight"].dims(), [2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save<T: Serialize>(value: &T, path: impl AsRef<Path>) -> Result<()> {
    safetensors::save(source(value)?, path)
}

/// Reads a value that [`save`] has written, in one file or in shards, with all its tensors on a device.
///
/// # Errors
///
/// Returns an error when the file was not written by [`save`] (see [`load_like`]), when the type differs,
/// when the device does not support the type of a tensor, and for errors of the file.
///
/// To read a part of the file, such as the model without the state of its optimiser, load it into an
/// existing value:
///
/// ```
/// use candle_core::Device;
/// use treedef_candle::tensors::{Loader, safetensors};
/// use treedef_candle::nn::{Initialiser, Linear};
/// use treedef_candle::{load, load_like_with, save};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("training.safetensors");
/// let model = Linear::new(3, 2, &mut Initialiser::new(0))?;
/// save(&(&model, &model.clone(), 7), &path)?;
/// let all: (Linear, Linear, u64) = load(&path, &Device::Cpu)?;
///
/// let loader = Loader::new().rename("0.**", "**").ignore("1.**");
/// let empty = Linear::new(3, 2, &mut Initialiser::empty())?;
/// let first = load_like_with(&loader, &empty, safetensors::open(&path)?)?;
/// assert_eq!(first.weight.to_vec2::<f32>()?, all.0.weight.to_vec2::<f32>()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load<T: DeserializeOwned>(path: impl AsRef<Path>, device: &Device) -> Result<T> {
    load_with(&Loader::new(), safetensors::open(path)?, device)
}

/// Reads the tensors of a file, or of the shards in a folder, from any program, into a copy of a value.
/// Each tensor is found by its name, must have the shape and type of the existing one, and is put on its
/// device. Other leaves are unchanged.
///
/// # Errors
///
/// Returns an error when tensors are missing, unused, or of another type or shape, with all of them (see
/// [`load_partial`]); when the value cannot be flattened; and for errors of the file.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use treedef_candle::nn::{Initialiser, Linear};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.safetensors");
/// let file = Tensor::ones((2, 3), DType::F32, &Device::Cpu)?;
/// candle_core::safetensors::save(&[("weight", file)].into(), &path)?;
///
/// let mut init = Initialiser::new(0);
/// let model = treedef_candle::load_like(&Linear::new(3, 2, &mut init)?.without_bias(), &path)?;
/// assert_eq!(model.weight.to_vec2::<f32>()?, [[1.0; 3]; 2]);
///
/// let error = treedef_candle::load_like(&Linear::new(4, 2, &mut init)?, &path).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     format!(
///         "{}: the tensors do not fit the type\n\
///          `weight` is f32[2, 3], expected f32[2, 4]\n\
///          missing `bias`: f32[2]",
///         path.display()
///     )
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_like<T>(example: &T, path: impl AsRef<Path>) -> Result<T>
where
    T: Serialize + DeserializeOwned,
{
    load_like_with(&Loader::new(), example, safetensors::open(path)?)
}

/// As [`load`], with the rules of a loader, from any source: one that [`safetensors::open`] opened, or a
/// [`source`] in memory.
///
/// # Errors
///
/// As [`load`], and when a rule matches nothing.
pub fn load_with<'s, T: DeserializeOwned>(
    loader: &Loader,
    source: impl Into<Source<'s>>,
    device: &Device,
) -> Result<T> {
    let source = source.into();
    let file = source.file();
    if source.metadata("treedef").is_none() {
        let what = "the file has tensors, but not the value that they are in, as those of `save` have: \
                    `load_like` reads them into a value that is there";
        return Err(Error::from(ErrorKind::Structure(what.to_owned())).in_file(file));
    }
    let mut read = TensorCache::default();
    let tree = loader.objects(source, |stored| read.tensor(stored, None, device));
    let value = tree.and_then(|tree| tree.into_objects().map_err(|error| hinting(error).into()));
    value.map_err(|error| error.in_file(file))
}

/// Adds a way out for a layer that the file does not have, if there is no other hint.
fn hinting(error: treedef::Error) -> treedef::Error {
    match error.hint().filter(|hint| hint.contains(NEW)) {
        None => error,
        Some(hint) => {
            let hint =
                hint.replace(NEW, &format!("{NEW}, or `load_partial` for what has no default"));
            treedef::__private::hinting(error, hint)
        }
    }
}

/// As [`load_like`], with the rules of a loader, from any source. With the feature `pytorch`,
/// `tensors::pytorch::open(path)?.source()?` opens files of PyTorch. The rules `stack`, `column_major` and
/// `fill_from` do not apply to tensors.
///
/// # Errors
///
/// As [`load_like`], when a rule matches nothing, and when `convert_floats` finds a finite number that is
/// too large
/// for its type here.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use treedef_candle::tensors::{Loader, safetensors};
/// use treedef_candle::nn::{Initialiser, Linear};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.safetensors");
/// // Other names, `[inputs, outputs]`, and halves.
/// let kernel = Tensor::ones((3, 2), DType::BF16, &Device::Cpu)?;
/// candle_core::safetensors::save(&[("module.kernel", kernel)].into(), &path)?;
///
/// let loader = Loader::new()
///     .rename("module.**", "**")
///     .rename("kernel", "weight")
///     .transpose("weight")
///     .convert_floats(true);
/// let example = Linear::new(3, 2, &mut Initialiser::new(0))?.without_bias();
/// let model = treedef_candle::load_like_with(&loader, &example, safetensors::open(&path)?)?;
/// assert_eq!(model.weight.to_vec2::<f32>()?, [[1.0; 3]; 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_like_with<'s, T>(
    loader: &Loader,
    example: &T,
    source: impl Into<Source<'s>>,
) -> Result<T>
where
    T: Serialize + DeserializeOwned,
{
    let tree = Tree::<Tensor>::of_objects(example)?;
    let source = source.into();
    let (file, mut read) = (source.file(), TensorCache::default());
    let tree = loader
        .objects_like(&tree, source, tensor::descriptor, |old, stored| read.like(old, stored))
        .map_err(|error| error.in_file(file))?;
    Ok(tree.into_objects()?)
}

/// As [`load_like_with`], but tensors that the source lacks, or has with another type or shape, are
/// unchanged. The report lists all of them in [`filled`](LoadReport::filled), the ones that did not fit in
/// [`changed`](LoadReport::changed), and unused tensors of the source in [`dropped`](LoadReport::dropped).
///
/// # Errors
///
/// As [`load_like_with`], but differences are not errors: if only some tensors may be missing, compare
/// `filled` with their names.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use treedef_candle::tensors::{Loader, safetensors};
/// use treedef_candle::nn::{Initialiser, Linear};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.safetensors");
/// let ones = |shape: &[usize]| Tensor::ones(shape, DType::F32, &Device::Cpu);
/// let tensors = [("weight", ones(&[5, 3])?), ("bias", ones(&[2])?), ("scale", ones(&[])?)];
/// candle_core::safetensors::save(&tensors.into(), &path)?;
///
/// let example = Linear::new(3, 2, &mut Initialiser::new(0))?;
/// let (model, report) =
///     treedef_candle::load_partial(&Loader::new(), &example, safetensors::open(&path)?)?;
/// assert_eq!(model.bias.unwrap().to_vec1::<f32>()?, [1.0; 2]);
/// assert_eq!(
///     report.to_string(),
///     "filled `weight`; dropped `scale` (f32[]); \
///      refused `weight` (f32[5, 3], expected f32[2, 3])"
/// );
/// assert_eq!(report.filled, ["weight"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_partial<'s, T>(
    loader: &Loader,
    example: &T,
    source: impl Into<Source<'s>>,
) -> Result<(T, LoadReport)>
where
    T: Serialize + DeserializeOwned,
{
    let tree = Tree::<Tensor>::of_objects(example)?;
    let source = source.into();
    let (file, mut read) = (source.file(), TensorCache::default());
    let (tree, report) = loader
        .objects_partly(&tree, source, tensor::descriptor, |old, stored| read.like(old, stored))
        .map_err(|error| error.in_file(file))?;
    Ok((tree.into_objects()?, report))
}

/// The data that [`save`] writes, as a source: for shards, for files of other formats, and for saving in
/// the background. It shares the tensors with the value, and reads them when they are written.
///
/// # Errors
///
/// Returns an error when two tensors have one name, or the value cannot be flattened.
///
/// ```
/// use treedef_candle::tensors::{Saver, safetensors};
/// use treedef_candle::nn::{Initialiser, Linear};
///
/// let model = Linear::new(3, 2, &mut Initialiser::new(0))?;
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().to_owned();
/// let shards = folder.join("shards");
/// safetensors::save_sharded(treedef_candle::source(&model)?, &shards, 5 << 30)?;
/// let like: Linear = treedef_candle::load_like(&model, &shards)?;
///
/// let (saver, source) = (Saver::new(), treedef_candle::source(&model)?);
/// saver.save(move || safetensors::save(source, folder.join("model.safetensors")))?;
/// // … the next step
/// saver.finish()?;
/// assert_eq!(like.weight.to_vec2::<f32>()?, model.weight.to_vec2::<f32>()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn source<T: Serialize>(value: &T) -> Result<Source<'static>> {
    source_with(&Export::new(), value)
}

/// As [`source`], with other names, or without the structure.
///
/// # Errors
///
/// As [`source`], and when a rule matches nothing.
///
/// ```
/// use treedef_candle::tensors::Export;
/// use treedef_candle::nn::{Initialiser, Linear};
///
/// let model = vec![Linear::new(3, 2, &mut Initialiser::new(0))?.without_bias()];
/// let source = treedef_candle::source_with(&Export::new().rename("**.weight", "**.w"), &model)?;
/// assert_eq!(source.get("0.w").unwrap().descriptor().to_string(), "f32[2, 3]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn source_with<T: Serialize>(export: &Export, value: &T) -> Result<Source<'static>> {
    let tree = Tree::<Tensor>::of_objects(value)?;
    let source = export.objects(&tree, Tensor::id, tensor::stored)?;
    Ok(source.with_metadata("format", "pt")) // transformers asks for it
}

/// Writes tensors under names that others gave.
pub(crate) fn save_named<'t>(
    tensors: impl Iterator<Item = (String, &'t Tensor)>,
    path: &Path,
) -> Result<(), AnyError> {
    let stored = tensors.map(|(name, tensor)| tensor::stored(&name, tensor));
    let source = Source::of(stored.collect::<Result<Vec<_>, _>>()?, [])?;
    Ok(safetensors::save(source.with_metadata("format", "pt"), path)?)
}

/// The limit from which a number is rounded to infinity, or not representable at all.
fn limit(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::MAX) + 2f64.powi(103),
        DType::BF16 => 2f64.powi(128) - 2f64.powi(119),
        DType::F16 => 65_520.0,
        _ => f64::INFINITY,
    }
}

/// Checks that each finite number stays finite as a float of another width.
#[allow(clippy::cast_possible_truncation, reason = "it was an `f32`, or less")]
fn expect_in_range(tensor: &Tensor, dtype: DType) -> Result<(), AnyError> {
    const PIECE: usize = 1 << 20;
    let limit = limit(dtype);
    if tensor.dtype() == dtype || !tensor.dtype().is_float() || limit >= self::limit(tensor.dtype())
    {
        return Ok(());
    }
    let numbers = tensor.flatten_all()?;
    for start in (0..numbers.elem_count()).step_by(PIECE) {
        let length = PIECE.min(numbers.elem_count() - start);
        let piece = numbers.narrow(0, start, length)?.to_dtype(DType::F64)?.to_vec1::<f64>()?;
        if let Some(beyond) =
            piece.iter().find(|number| number.is_finite() && number.abs() >= limit)
        {
            let wide = tensor.dtype() == DType::F64;
            let printed =
                if wide { format!("{beyond:e}") } else { format!("{:e}", *beyond as f32) };
            return Err(format!("{printed} is too large for {}", dtype.as_str()).into());
        }
    }
    Ok(())
}

/// Reads tensors. Tensors that the file ties, and that would be equal, are one.
#[derive(Default)]
struct TensorCache {
    /// By their stored names, and their types here.
    read: HashMap<(String, Option<DType>), Tensor>,
}

impl TensorCache {
    /// A tensor on a device, in its own type or in another.
    fn tensor(
        &mut self,
        stored: &StoredTensor<'_>,
        dtype: Option<DType>,
        device: &Device,
    ) -> Result<Tensor, AnyError> {
        let key = (stored.name().to_owned(), dtype);
        if let Some(tensor) = self.read.get(&key).filter(|it| it.device().same_device(device)) {
            return Ok(tensor.clone());
        }
        let read = tensor::read(stored)?;
        let dtype = dtype.unwrap_or(read.dtype());
        expect_in_range(&read, dtype)?;
        let tensor = converted(&read, dtype, device)?;
        self.read.insert(key, tensor.clone());
        Ok(tensor)
    }

    /// The tensor on the device of the existing one, with its type of floats.
    fn like(&mut self, old: &Tensor, stored: &StoredTensor<'_>) -> Result<Tensor, AnyError> {
        self.tensor(stored, Some(old.dtype()), old.device())
    }
}
