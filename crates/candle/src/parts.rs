//! Parts of a model, by the patterns of its paths.

use std::collections::{HashMap, HashSet};
use std::fmt;

use candle_core::{DType, Device, Error, Result, Tensor, TensorId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::__private::OrBug;
use treedef::{Key, Path, Pattern, Tree};
use treedef_optim::transform::running_statistics;

pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The model with the tensors of floats that a pattern names in another type of floats. A tensor in two places
/// stays one tensor.
///
/// In a loss, the gradient goes through: the parameters stay as they are, and so does the type of their gradient.
///
/// # Errors
///
/// Returns an error when the pattern names no tensor, when the type is no float, or when a device does not have
/// it; then with the path.
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
    if !dtype.is_float() {
        return Err(plain_error(format_args!("{} is no type of floats", dtype.as_str())));
    }
    convert(model, pattern, |tensor| {
        let dtype = if tensor.dtype().is_float() { dtype } else { tensor.dtype() };
        converted(tensor, dtype, tensor.device())
    })
}

/// The model with the tensors that a pattern names on another device. A tensor in two places stays one
/// tensor.
///
/// # Errors
///
/// Returns an error when the pattern names no tensor, and errors of the devices, with the path.
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
) -> std::result::Result<Tensor, AnyError> {
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
    convert: impl Fn(&Tensor) -> std::result::Result<Tensor, AnyError>,
) -> Result<T> {
    let tree = Tree::<Tensor>::of_objects(model).map_err(plain_error)?;
    let named = named(&tree, pattern, "tensor", |_| true)?;
    let mut done = HashMap::<TensorId, Tensor>::new();
    let converted = tree.zip(named).map_err(plain_error)?.try_map(|(tensor, is_named)| {
        if !is_named {
            return Ok(tensor);
        }
        if let Some(tensor) = done.get(&tensor.id()) {
            return Ok(tensor.clone());
        }
        let new = convert(&tensor)?;
        done.insert(tensor.id(), new.clone());
        Ok::<_, AnyError>(new)
    });
    converted.map_err(plain_error)?.into_objects().map_err(plain_error)
}

/// An error of candle without its backtrace, which would stand before the path.
pub(crate) fn plain_error(what: impl fmt::Display) -> Error {
    Error::Msg(what.to_string())
}

/// Which of the leaves that are `wanted` a pattern names: at least one.
pub(crate) fn named<L>(
    tree: &Tree<L>,
    pattern: &str,
    what: &str,
    wanted: impl Fn(&L) -> bool,
) -> Result<Tree<bool>> {
    let parsed = pattern.parse::<Pattern>();
    let parsed =
        parsed.map_err(|error| plain_error(format_args!("the pattern `{pattern}`: {error}")))?;
    let mut named = tree.mask(parsed).map_err(plain_error)?;
    for (named, leaf) in named.leaves_mut().iter_mut().zip(tree.leaves()) {
        *named &= wanted(leaf);
    }
    if !named.leaves().contains(&true) {
        return Err(plain_error(format_args!("`{pattern}` names no {what}")));
    }
    Ok(named)
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
/// assert_eq!((summary.numbers(), summary.trained_numbers()), (65, 40));
/// assert_eq!(
///     summary.to_string(),
///     "up.weight                 f32[8, 3]  24  trained\n\
///      up.bias                   f32[8]      8\n\
///      norm.weight               f32[8]      8  trained\n\
///      norm.bias                 f32[8]      8  trained\n\
///      norm.running_mean         f32[8]      8  running statistics\n\
///      norm.running_var          f32[8]      8  running statistics\n\
///      norm.num_batches_tracked  i64[]       1\n\
///      65 numbers, 40 of them trained"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn summary<T: Serialize>(model: &T) -> Result<Summary> {
    let tree = Tree::<Tensor>::of_objects(model).map_err(plain_error)?;
    let statistics = running_statistics(tree.treedef());
    let mut first = HashMap::<TensorId, String>::new();
    let mut leaf = 0..;
    let row = |path: &treedef::Path, tensor: Tensor| {
        let leaf = leaf.next().or_bug();
        let running_statistics = statistics.iter().any(|range| range.contains(&leaf));
        let name = path.to_joined_string(".");
        let shared_with = first.get(&tensor.id()).cloned();
        first.entry(tensor.id()).or_insert_with(|| name.clone());
        let (dtype, shape) = (tensor.dtype(), tensor.dims().to_vec());
        let trained = dtype.is_float() && !running_statistics;
        Row { name, dtype, shape, trained, running_statistics, shared_with }
    };
    let summary = Summary { rows: tree.map_with_path(row), depth: None };
    debug_assert!(summary.is_whole(), "the rows of a summary do not fit together");
    Ok(summary)
}

/// The parameters of a model, with their types and sizes: made by [`summary`]. It prints as a table.
#[derive(Clone, Debug)]
pub struct Summary {
    rows: Tree<Row>,
    depth: Option<usize>,
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
    /// Whether it is trained: all tensors of floats are that are not [frozen](Summary::frozen), but for running
    /// statistics.
    pub trained: bool,
    /// Whether it is the `running_mean` or the `running_var` of a norm, which no optimiser changes.
    pub running_statistics: bool,
    /// The first name of a tensor that the model has twice, by a clone. In a file it is stored once; a training
    /// has two parameters, which differ after a step. To tie weights, let the model hold the tensor once.
    pub shared_with: Option<String>,
}

impl Row {
    /// How many numbers it has.
    pub fn numbers(&self) -> usize {
        self.shape.iter().product()
    }

    fn cells(&self) -> [String; 4] {
        let what = format!("{}{:?}", self.dtype.as_str(), self.shape);
        let what_else = if self.running_statistics { "running statistics" } else { "" };
        let mut trained = if self.trained { "trained" } else { what_else }.to_owned();
        if let Some(name) = &self.shared_with {
            let apart = if self.trained { ", apart from " } else { "shared with " };
            trained += &format!("{apart}`{name}`");
        }
        [self.name.clone(), what, self.numbers().to_string(), trained]
    }
}

impl Summary {
    /// The same with the tensors that a pattern names as not trained, as
    /// [`freeze`](crate::optim::Optimiser::freeze) and [`Gradient::constant`](crate::Gradient::constant) leave them.
    ///
    /// # Errors
    ///
    /// Returns an error when the pattern names no tensor.
    pub fn frozen(mut self, pattern: &str) -> Result<Self> {
        let named = named(&self.rows, pattern, "tensor", |_| true)?;
        for (row, named) in self.rows.leaves_mut().iter_mut().zip(named.leaves()) {
            row.trained &= !named;
        }
        debug_assert!(self.is_whole(), "the rows of a summary do not fit together");
        Ok(self)
    }

    /// The same table, folded by layer: one line for all paths that share their first `depth` names.
    ///
    /// ```
    /// use candle_nn::Activation;
    /// use treedef_candle::nn::{Initialiser, Mlp};
    ///
    /// let model = Mlp::new(&[3, 8, 1], Activation::Relu, &mut Initialiser::new(0))?;
    /// assert_eq!(
    ///     treedef_candle::summary(&model)?.frozen("layers[0].weight")?.depth(2).to_string(),
    ///     "layers.0  2 tensors  32  8 trained\n\
    ///      layers.1  2 tensors   9  trained\n\
    ///      41 numbers, 17 of them trained"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn depth(mut self, depth: usize) -> Self {
        self.depth = Some(depth);
        self
    }

    /// A row for each tensor, in the order of the model.
    pub fn rows(&self) -> &[Row] {
        self.rows.leaves()
    }

    /// How many numbers all tensors have. One that is [shared](Row::shared_with) counts once.
    pub fn numbers(&self) -> usize {
        numbers(self.rows().iter())
    }

    /// How many numbers are trained. A tensor that is [shared](Row::shared_with) is trained in each place.
    pub fn trained_numbers(&self) -> usize {
        trained_numbers(self.rows().iter())
    }

    /// Whether each shared tensor has an earlier row of its own with the same type and shape, and only floats
    /// that are no running statistics are trained.
    fn is_whole(&self) -> bool {
        let mut own = HashSet::new();
        self.rows().iter().all(|row| {
            let row_of = |name| (name, row.dtype.as_str(), &row.shape[..]);
            let is_placed = match &row.shared_with {
                Some(first) => own.contains(&row_of(first)),
                None => {
                    own.insert(row_of(&row.name));
                    true
                }
            };
            is_placed && (!row.trained || row.dtype.is_float() && !row.running_statistics)
        })
    }

    /// Lines of a name, what there is, how many numbers, and whether they are trained.
    fn cells(&self) -> Vec<[String; 4]> {
        let Some(depth) = self.depth else { return self.rows().iter().map(Row::cells).collect() };
        let mut layers: Vec<(String, Vec<&Row>)> = Vec::new();
        for (path, row) in self.rows.iter() {
            // A key without a name, such as the `?` of an `Option`, is no level.
            let named = path.keys().iter().filter(|key| !matches!(key, Key::Some));
            let name = named.take(depth.max(1)).cloned().collect::<Path>().to_joined_string(".");
            match layers.last_mut().filter(|(last, _)| *last == name) {
                Some((_, rows)) => rows.push(row),
                None => layers.push((name, vec![row])),
            }
        }
        layers.into_iter().map(|(name, rows)| folded(name, &rows)).collect()
    }
}

fn numbers<'r>(rows: impl Iterator<Item = &'r Row>) -> usize {
    rows.filter(|row| row.shared_with.is_none()).map(Row::numbers).sum()
}

fn trained_numbers<'r>(rows: impl Iterator<Item = &'r Row>) -> usize {
    rows.filter(|row| row.trained).map(Row::numbers).sum()
}

/// A line for several tensors.
fn folded(name: String, rows: &[&Row]) -> [String; 4] {
    let [count, trained] = [numbers(rows.iter().copied()), trained_numbers(rows.iter().copied())];
    let trained = match trained {
        0 => String::new(),
        all if rows.iter().all(|row| row.trained) && all > 0 => "trained".to_owned(),
        some => format!("{some} trained"),
    };
    let tensors = if rows.len() == 1 { "tensor" } else { "tensors" };
    [name, format!("{} {tensors}", rows.len()), count.to_string(), trained]
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = self.cells();
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
