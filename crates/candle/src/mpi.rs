//! Training on several processes: each computes the gradient of its part of the data, and all take the same
//! step with the mean of the gradients. Needs the feature `mpi`, and an MPI to build and to run.

use ::mpi::traits::Communicator;
use candle_core::{DType, Device, Tensor, WithDType};
use serde::de::DeserializeOwned;
use serde::ser::{Error as _, Serialize, Serializer};
use treedef::__private::{OrBug, broken};
use treedef::{Path, Tree};
use treedef_mpi::{Collective, Error, Float, Reduction};

type Result<T, E = Error> = std::result::Result<T, E>;
type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Sums and means of losses and gradients over all ranks. The numbers of all tensors are sent together.
///
/// All ranks call the same functions in the same order. If a rank has a gradient with other tensors, or has
/// left because of an error, all ranks get an error, see [`Collective`].
///
/// ```no_run
/// use candle_core::{Device, Module, Tensor};
/// use mpi::traits::Communicator;
/// use treedef_candle::mpi::AllReduce;
/// use treedef_candle::nn::{Initialiser, Linear};
/// use treedef_candle::optim::{Optimiser, adam};
/// use treedef_candle::value_and_grad;
///
/// let universe = mpi::initialize().ok_or("MPI is running already")?;
/// let world = universe.world();
/// // The same on all ranks, by the seed.
/// let mut model = Linear::new(1, 1, &mut Initialiser::new(0))?;
/// let mut all_reduce = AllReduce::new(&world, &model)?;
///
/// let x = Tensor::new(&[[world.rank() as f32]], &Device::Cpu)?; // the part of this rank
/// let loss = |model: &Linear| model.forward(&x)?.sqr()?.mean_all();
/// let optimiser = adam(0.1);
/// let mut state = optimiser.init::<Tensor, _>(&model)?;
/// for _ in 0..100 {
///     let (_loss, gradient) = all_reduce.mean(value_and_grad(loss, &model)?)?;
///     optimiser.step_in_place(&mut model, &gradient, &mut state)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AllReduce {
    collective: Collective,
    /// The description of each tensor: its name, type and shape.
    tensors: Vec<String>,
    numbers: Numbers,
}

/// The message: the loss, and the floats of all tensors.
enum Numbers {
    F32(Vec<f32>),
    /// The tensors that are `f64`.
    F64(Vec<f64>),
}

/// A model as the ranks compare it in the handshake.
struct ModelExample<'m, T>(&'m T);

impl<T: Serialize> Serialize for ModelExample<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tree = Tree::<Tensor>::of_objects(self.0).map_err(S::Error::custom)?;
        if has_doubles(&tree) {
            Zeros::new(&tree, 0f64).serialize(serializer)
        } else {
            Zeros::new(&tree, 0f32).serialize(serializer)
        }
    }
}

/// As many zeros as there are numbers to send. Their purpose is static, and compared.
#[derive(serde::Serialize)]
struct Zeros<N> {
    loss: N,
    tensors: Vec<ZerosOf<N>>,
}

#[derive(serde::Serialize)]
struct ZerosOf<N> {
    #[serde(serialize_with = "treedef::as_static")]
    tensor: String,
    numbers: Vec<N>,
}

impl<N: Copy> Zeros<N> {
    fn new(tree: &Tree<Tensor>, zero: N) -> Self {
        let tensors = describe(tree).into_iter().zip(tree.leaves()).map(|(is, tensor)| {
            let count = if tensor.dtype().is_float() { tensor.elem_count() } else { 0 };
            ZerosOf { tensor: is, numbers: vec![zero; count] }
        });
        Zeros { loss: zero, tensors: tensors.collect() }
    }
}

impl AllReduce {
    /// Checks that the models of all ranks have the same tensors, with the same names, types and shapes.
    /// Their numbers are neither compared nor made equal: start from one seed or one file.
    ///
    /// # Errors
    ///
    /// Returns an error on all ranks when they differ, with the first tensor that does.
    pub fn new<T: Serialize>(communicator: &impl Communicator, model: &T) -> Result<Self> {
        let collective = Collective::new(communicator, &ModelExample(model))?;
        let tree = Tree::<Tensor>::of_objects(model).map_err(Error::Rebuild)?;
        let numbers =
            if has_doubles(&tree) { Numbers::F64(Vec::new()) } else { Numbers::F32(Vec::new()) };
        Ok(AllReduce { collective, tensors: describe(&tree), numbers })
    }

    /// The means of the losses and the gradients of all ranks. They equal the result of one process with
    /// all data, if the parts have equal sizes and the loss is a mean.
    ///
    /// # Errors
    ///
    /// As [`sum`](Self::sum).
    pub fn mean<T>(&mut self, loss_and_gradient: (f64, T)) -> Result<(f64, T)>
    where
        T: Serialize + DeserializeOwned,
    {
        self.reduce(Reduction::Mean, loss_and_gradient)
    }

    /// The sums of the losses and the gradients of all ranks. If the parts have different sizes, multiply
    /// each loss by the share of its part. Tensors of integers are unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error when the gradient of a rank does not have the tensors of the model, when a device
    /// fails, and when a rank has left. All ranks get an error.
    pub fn sum<T>(&mut self, loss_and_gradient: (f64, T)) -> Result<(f64, T)>
    where
        T: Serialize + DeserializeOwned,
    {
        self.reduce(Reduction::Sum, loss_and_gradient)
    }

    fn reduce<T>(&mut self, reduction: Reduction, (loss, gradient): (f64, T)) -> Result<(f64, T)>
    where
        T: Serialize + DeserializeOwned,
    {
        let AllReduce { collective, tensors, numbers } = self;
        let tree = tree_like(tensors, &gradient);
        let (loss, tree) = match numbers {
            Numbers::F32(numbers) => exchange(collective, reduction, numbers, loss, tree),
            Numbers::F64(numbers) => exchange(collective, reduction, numbers, loss, tree),
        }?;
        Ok((loss, tree.into_objects().map_err(Error::Rebuild)?))
    }
}

/// The description of each tensor.
fn describe(tree: &Tree<Tensor>) -> Vec<String> {
    let describe = |(path, tensor): (Path, &Tensor)| {
        let name = path.to_joined_string(".");
        format!("{name}: {}{:?}", tensor.dtype().as_str(), tensor.dims())
    };
    tree.iter().map(describe).collect()
}

fn has_doubles(tree: &Tree<Tensor>) -> bool {
    tree.leaves().iter().any(|tensor| tensor.dtype() == DType::F64)
}

/// The tensors of a gradient, which must be the tensors of the model.
fn tree_like<T: Serialize>(expected: &[String], gradient: &T) -> Result<Tree<Tensor>, AnyError> {
    let tree = Tree::<Tensor>::of_objects(gradient)?;
    let found = describe(&tree);
    if found.len() != expected.len() {
        return Err(format!("expected {} tensors, found {}", expected.len(), found.len()).into());
    }
    match expected.iter().zip(&found).find(|(expected, found)| expected != found) {
        Some((expected, found)) => Err(format!("expected `{expected}`, found `{found}`").into()),
        None => Ok(tree),
    }
}

/// The loss, and the tensors, of all ranks. If they cannot be sent, the other ranks are informed.
fn exchange<N: Float + WithDType + Into<f64>>(
    collective: &mut Collective,
    reduction: Reduction,
    numbers: &mut Vec<N>,
    loss: f64,
    tree: Result<Tree<Tensor>, AnyError>,
) -> Result<(f64, Tree<Tensor>)> {
    let filled = tree.and_then(|tree| {
        numbers.clear();
        numbers.push(N::from_f64(loss));
        for tensor in tree.leaves().iter().filter(|tensor| tensor.dtype().is_float()) {
            let near = tensor.to_device(&Device::Cpu)?.to_dtype(N::DTYPE)?;
            numbers.extend(near.flatten_all()?.to_vec1::<N>()?);
        }
        Ok(tree)
    });
    let tree = match filled {
        Ok(tree) => tree,
        Err(error) => return Err(collective.refuse(error.to_string())),
    };
    collective.all_reduce_flat(numbers, reduction)?;
    let sums = numbers.split_first().ok_or_else(|| broken("the sum of the losses is missing"));
    let (loss, mut rest) = sums.map_err(Error::Rebuild)?;
    let tree = tree.try_map(|tensor| {
        if !tensor.dtype().is_float() {
            return Ok(tensor);
        }
        let (here, behind) = rest.split_at_checked(tensor.elem_count()).or_bug();
        rest = behind;
        let new = Tensor::from_slice(here, tensor.shape(), &Device::Cpu)?;
        new.to_dtype(tensor.dtype())?.to_device(tensor.device())
    });
    let tree = tree.map_err(Error::Rebuild)?;
    debug_assert!(rest.is_empty(), "numbers of no tensor were exchanged");
    Ok(((*loss).into(), tree))
}
