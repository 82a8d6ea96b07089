//! Parts of a model, by the patterns of its paths.

use std::collections::HashMap;
use std::fmt;

use candle_core::{DType, Device, Tensor, TensorId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Result, Tree};

pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The model with the tensors of floats that a pattern names in another type. What was one tensor in two places
/// stays one.
///
/// # Errors
///
/// Returns an error when the pattern names nothing, or when a device does not have the type; it has the path.
///
/// ```
/// use candle_core::DType;
/// use treedef_candle::nn::{Initialiser, LayerNorm, Linear};
///
/// let mut init = Initialiser::new(0).dtype(DType::F32);
/// let model = (Linear::new(3, 2, &mut init)?, LayerNorm::new(2, 1e-5, &mut init)?);
/// let halves = treedef_candle::to_dtype(&model, "**", DType::F16)?;
/// let mixed = treedef_candle::to_dtype(&halves, ".1", DType::F32)?;
/// assert_eq!(mixed.0.weight.dtype(), DType::F16);
/// assert_eq!(mixed.1.weight.dtype(), DType::F32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_dtype<T>(model: &T, pattern: &str, dtype: DType) -> Result<T>
where
    T: Serialize + DeserializeOwned,
{
    convert(model, pattern, |tensor| {
        let dtype = if tensor.dtype().is_float() { dtype } else { tensor.dtype() };
        converted(tensor, dtype, tensor.device())
    })
}

/// The model with the tensors that a pattern names on another device. What was one tensor in two places stays
/// one.
///
/// # Errors
///
/// Returns an error when the pattern names nothing, and those of the devices, with the path.
///
/// ```
/// use candle_core::Device;
/// use treedef_candle::nn::{Initialiser, Linear};
///
/// let model = Linear::new(3, 2, &mut Initialiser::new(0))?;
/// let device = Device::cuda_if_available(0)?;
/// let moved = treedef_candle::to_device(&model, "**", &device)?;
/// assert!(moved.weight.device().same_device(&device));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_device<T>(model: &T, pattern: &str, device: &Device) -> Result<T>
where
    T: Serialize + DeserializeOwned,
{
    convert(model, pattern, |tensor| converted(tensor, tensor.dtype(), device))
}

/// The tensor in a type and on a device.
pub(crate) fn converted(
    tensor: &Tensor,
    dtype: DType,
    device: &Device,
) -> Result<Tensor, AnyError> {
    let converted = tensor.to_dtype(dtype).and_then(|tensor| tensor.to_device(device));
    converted.map_err(|error| {
        let (is, on, dtype) = (tensor.dtype().as_str(), device.location(), dtype.as_str());
        let why = error.to_string(); // there may be a backtrace in it
        let why = why.lines().next().unwrap_or_default();
        format!("{is}{:?} cannot be {dtype} on {on:?}: {why}", tensor.dims()).into()
    })
}

fn convert<T: Serialize + DeserializeOwned>(
    model: &T,
    pattern: &str,
    convert: impl Fn(&Tensor) -> Result<Tensor, AnyError>,
) -> Result<T> {
    let tree = Tree::<Tensor>::of_objects(model)?;
    let named = tree.mask(pattern)?;
    let mut done = HashMap::<TensorId, Tensor>::new();
    let converted = tree.zip(named)?.try_map(|(tensor, is_named)| {
        if !is_named {
            return Ok(tensor);
        }
        if let Some(tensor) = done.get(&tensor.id()) {
            return Ok(tensor.clone());
        }
        let new = convert(&tensor)?;
        done.insert(tensor.id(), new.clone());
        Ok::<_, AnyError>(new)
    })?;
    converted.into_objects()
}

/// The tensors of a model as a table: what each is, how many numbers it has, and whether it is trained.
///
/// # Errors
///
/// Returns an error when the model cannot be flattened.
///
/// ```
/// use treedef_candle::nn::{BatchNorm, Initialiser, Linear};
///
/// #[derive(serde::Serialize)]
/// struct Model {
///     up: Linear,
///     norm: BatchNorm,
/// }
///
/// let mut init = Initialiser::new(0);
/// let (up, norm) = (Linear::new(3, 8, &mut init)?, BatchNorm::new(8, &mut init)?);
/// let summary = treedef_candle::summary(&Model { up, norm })?.frozen("up.bias")?;
/// assert_eq!((summary.numbers(), summary.trained_numbers()), (65, 56));
/// println!("{summary}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn summary<T: Serialize>(model: &T) -> Result<Summary> {
    let tree = Tree::<Tensor>::of_objects(model)?;
    let row = |path: &treedef::Path, tensor: Tensor| Row {
        name: path.to_joined_string("."),
        dtype: tensor.dtype(),
        shape: tensor.dims().to_vec(),
        trained: tensor.dtype().is_float(),
        id: tensor.id(),
    };
    Ok(Summary { rows: tree.map_with_path(row) })
}

/// Made by [`summary`]. It prints as a table.
#[derive(Clone, Debug)]
pub struct Summary {
    rows: Tree<Row>,
}

/// A tensor of a model.
#[derive(Clone, Debug)]
pub struct Row {
    /// The name in a file.
    pub name: String,
    /// The type of the numbers.
    pub dtype: DType,
    /// The number of elements in each dimension.
    pub shape: Vec<usize>,
    /// Whether it is trained: all tensors of floats are that are not [frozen](Summary::frozen), running
    /// statistics as well.
    pub trained: bool,
    id: TensorId,
}

impl Row {
    /// How many numbers it has.
    pub fn numbers(&self) -> usize {
        self.shape.iter().product()
    }
}

impl Summary {
    /// The same with the tensors that a pattern names as not trained, as
    /// [`freeze`](crate::optim::Optimiser::freeze) and [`Gradient::constant`](crate::Gradient::constant) leave them.
    ///
    /// # Errors
    ///
    /// Returns an error when the pattern names nothing.
    pub fn frozen(mut self, pattern: &str) -> Result<Self> {
        let named = self.rows.mask(pattern)?;
        for (row, named) in self.rows.leaves_mut().iter_mut().zip(named.leaves()) {
            row.trained &= !named;
        }
        Ok(self)
    }

    /// A row for each tensor, in the order of the model.
    pub fn rows(&self) -> &[Row] {
        self.rows.leaves()
    }

    /// How many numbers all tensors have. One that is in two places counts once.
    pub fn numbers(&self) -> usize {
        self.count(|_| true)
    }

    /// How many numbers are trained.
    pub fn trained_numbers(&self) -> usize {
        self.count(|row| row.trained)
    }

    fn count(&self, counts: impl Fn(&Row) -> bool) -> usize {
        let rows = self.rows().iter().filter(|row| counts(row));
        rows.map(|row| (row.id, row.numbers())).collect::<HashMap<_, _>>().values().sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = |row: &Row| {
            let what = format!("{}{:?}", row.dtype.as_str(), row.shape);
            let trained = if row.trained { "trained" } else { "" };
            [row.name.clone(), what, row.numbers().to_string(), trained.to_owned()]
        };
        let cells: Vec<_> = self.rows().iter().map(cells).collect();
        let width = |column: usize| {
            let cells = cells.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let (names, whats, counts) = (width(0), width(1), width(2));
        for [name, what, numbers, trained] in &cells {
            let line = format!("{name:names$}  {what:whats$}  {numbers:>counts$}  {trained}");
            writeln!(f, "{}", line.trim_end())?;
        }
        write!(f, "{} numbers, {} of them trained", self.numbers(), self.trained_numbers())
    }
}
