//! A typed function that is called with flat leaves.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Cause, Error, Result};
use crate::flatten::Flattener;
use crate::leaf::leaf_type::LeafType;
use crate::model::TreeDef;
use crate::unflatten::unflatten;

/// A function between typed values that is called with a flat vector, e.g. by a solver, a C library
/// or a compiler.
///
/// The example gives the structure of the input, and the statics of every input. The first call
/// gives the structure of the output, and every later output must have the same. The idea is
/// Detectron2's `TracingAdapter`.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use treedef::FlatFn;
///
/// #[derive(Serialize, Deserialize)]
/// struct Point {
///     x: f64,
///     y: f64,
/// }
///
/// let turn = |point: Point| Point { x: -point.y, y: point.x };
/// let mut flat = FlatFn::<f64, _, _, _>::new(turn, &Point { x: 0.0, y: 0.0 })?;
/// assert_eq!(flat.inputs().to_string(), "Point { x: *, y: * }");
/// assert_eq!(flat.call(&[1.0, 2.0])?, [-2.0, 1.0]);
/// assert_eq!(flat.outputs().unwrap(), flat.inputs());
///
/// let best: Point = treedef::unflatten(flat.inputs(), [3.0, 4.0])?; // what a solver found
/// assert_eq!((best.x, best.y), (3.0, 4.0));
/// # Ok::<(), treedef::Error>(())
/// ```
pub struct FlatFn<L, A, B, F> {
    function: F,
    flattener: Flattener,
    inputs: TreeDef,
    outputs: Option<TreeDef>,
    signature: PhantomData<fn(A, L) -> B>,
}

impl<L, A, B, F> fmt::Debug for FlatFn<L, A, B, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("FlatFn");
        fields.field("inputs", &self.inputs).field("outputs", &self.outputs).finish_non_exhaustive()
    }
}

/// What a [`FlatFn`] calls. Cannot be named outside the crate.
pub trait Function<A, B> {
    fn output(&mut self, input: A) -> Result<B>;
}

impl<A, B, F: FnMut(A) -> B> Function<A, B> for F {
    fn output(&mut self, input: A) -> Result<B> {
        Ok(self(input))
    }
}

/// A function that may fail; made by [`FlatFn::try_with_flattener`].
#[derive(Clone, Copy, Debug)]
pub struct Fallible<F>(F);

impl<A, B, E, F> Function<A, B> for Fallible<F>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
    F: FnMut(A) -> Result<B, E>,
{
    fn output(&mut self, input: A) -> Result<B> {
        self.0(input).map_err(Error::of_function)
    }
}

impl<L, A, B, F> FlatFn<L, A, B, Fallible<F>>
where
    L: LeafType,
    A: Serialize + DeserializeOwned,
    B: Serialize,
{
    /// As [`with_flattener`](FlatFn::with_flattener), for a function that may fail. Its error is the
    /// [`source`](std::error::Error::source) of that of [`call`](FlatFn::call), unless it is an
    /// [`Error`] without a path, which is returned as it is.
    ///
    /// # Errors
    ///
    /// As [`new`](FlatFn::new).
    ///
    /// ```
    /// use std::error::Error;
    /// use std::num::ParseIntError;
    ///
    /// use treedef::{FlatFn, Flattener};
    ///
    /// let parse = |text: String| text.parse::<u8>().map(|number| number.to_string());
    /// let mut parse: FlatFn<String, _, _, _> =
    ///     FlatFn::try_with_flattener(Flattener::new(), parse, &String::new())?;
    /// assert_eq!(parse.call(&["007".to_owned()])?, ["7"]);
    ///
    /// let error = parse.call(&["seven".to_owned()]).unwrap_err();
    /// assert_eq!(error.to_string(), "invalid digit found in string");
    /// assert!(error.source().is_some_and(|source| source.is::<ParseIntError>()));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn try_with_flattener<E>(flattener: Flattener, function: F, example: &A) -> Result<Self>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        F: FnMut(A) -> Result<B, E>,
    {
        FlatFn::wrapped(flattener, Fallible(function), example)
    }
}

impl<L, A, B, F> FlatFn<L, A, B, F>
where
    L: LeafType,
    A: Serialize + DeserializeOwned,
    B: Serialize,
    F: FnMut(A) -> B,
{
    /// Wraps a function whose inputs have the structure of `example`.
    ///
    /// # Errors
    ///
    /// Returns an error when `example` cannot be flattened to leaves of type `L`.
    ///
    /// ```
    /// use treedef::FlatFn;
    ///
    /// let norm = |(x, y): (f64, f64)| x.hypot(y);
    /// let mut norm = FlatFn::<f64, _, _, _>::new(norm, &(0.0, 0.0))?;
    /// assert_eq!(norm.call(&[3.0, 4.0])?, [5.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn new(function: F, example: &A) -> Result<Self> {
        FlatFn::with_flattener(Flattener::new(), function, example)
    }

    /// Wraps a function whose inputs and outputs are flattened by `flattener`. With
    /// [`Flattener::leaves_where`], for example, only the floats are leaves, and everything else
    /// stays in the structure.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_flattener(flattener: Flattener, function: F, example: &A) -> Result<Self> {
        FlatFn::wrapped(flattener, function, example)
    }
}

impl<L, A, B, F> FlatFn<L, A, B, F>
where
    L: LeafType,
    A: Serialize + DeserializeOwned,
    B: Serialize,
    F: Function<A, B>,
{
    fn wrapped(flattener: Flattener, function: F, example: &A) -> Result<Self> {
        let (_, inputs) = flattener.flatten_as::<L>(example)?;
        let signature = PhantomData;
        Ok(FlatFn { function, flattener, inputs, outputs: None, signature })
    }

    /// The structure of the inputs; `call` takes as many leaves as it has.
    pub fn inputs(&self) -> &TreeDef {
        &self.inputs
    }

    /// The structure of the outputs; `None` before the first call.
    pub fn outputs(&self) -> Option<&TreeDef> {
        self.outputs.as_ref()
    }

    /// The leaves of `input`, for a flat function that replaces this one, e.g. a compiled or traced
    /// function.
    ///
    /// # Errors
    ///
    /// Returns an error when `input` has another structure than the example, or another static; the
    /// error has the path.
    pub fn flatten_input(&self, input: &A) -> Result<Vec<L>> {
        let mut leaves = Vec::new();
        self.flattener.flatten_like(&self.inputs, input, &mut leaves)?;
        Ok(leaves)
    }

    /// The output with these leaves, which come from a flat function that replaces this one.
    ///
    /// # Errors
    ///
    /// Returns an error before the first call, because the structure of the output is not known
    /// yet; when the leaves do not fit it.
    ///
    /// ```
    /// use treedef::FlatFn;
    ///
    /// let mut sums = FlatFn::<f64, _, _, _>::new(|(a, b): (f64, f64)| [a + b, a - b], &(0.0, 0.0))?;
    /// sums.call(&[0.0, 0.0])?;
    ///
    /// // What a compiler made of it knows nothing of tuples.
    /// let compiled = |x: Vec<f64>| vec![x[0] + x[1], x[0] - x[1]];
    /// let outputs = sums.unflatten_output(&compiled(sums.flatten_input(&(5.0, 2.0))?))?;
    /// assert_eq!(outputs, [7.0, 3.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn unflatten_output(&self, leaves: &[L]) -> Result<B>
    where
        B: DeserializeOwned,
    {
        let unknown = Cause::Nothing("the outputs are not known before the first call");
        unflatten(self.outputs.as_ref().ok_or(unknown)?, leaves)
    }

    /// Calls the function with the leaves of its input, and returns the leaves of its output.
    ///
    /// # Errors
    ///
    /// Returns an error when the number of leaves is wrong, or a leaf does not fit; when the output
    /// cannot be flattened to leaves of type `L`, or has another structure than the first output,
    /// with the path; when the function fails: see
    /// [`try_with_flattener`](Self::try_with_flattener).
    pub fn call(&mut self, leaves: &[L]) -> Result<Vec<L>> {
        let input = self.unflatten_input(leaves)?;
        let output = self.function.output(input)?;
        if let Some(outputs) = &self.outputs {
            let mut leaves = Vec::new();
            let found = self.flattener.flatten_like(outputs, &output, &mut leaves);
            found.map_err(|error| {
                error.with_hint("the output has another structure than that of the first call")
            })?;
            return Ok(leaves);
        }
        let (leaves, outputs) = self.flattener.flatten_as(&output)?;
        self.outputs = Some(outputs);
        Ok(leaves)
    }

    fn unflatten_input(&self, leaves: &[L]) -> Result<A> {
        let input = unflatten(&self.inputs, leaves);
        input.map_err(|error| error.with_hint("these leaves do not fit the input"))
    }
}
