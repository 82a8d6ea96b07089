//! Collective operations on values of one structure.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use mpi::Rank;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Fingerprint, Flattener, TreeDef};

use crate::agreement::{Report, agree};
use crate::error::{Error, Result};
use crate::leaves::{Float, LeafSubset, Leaves, Operation, Reduction, SendBuffers, exchange};
use crate::ranks::Ranks;
use crate::signature::Signature;

/// The share of each rank in a message, in numbers, unless [`Collective::max_message`] changes it.
/// Messages are copied before they are sent. This many numbers stay in the cache, and are enough to
/// make the latency of a message small.
const SHARE: usize = 1 << 16;
/// The maximum number of patterns whose leaves are remembered.
const MAX_PARTS: usize = 64;

/// Collective operations on values that have the same structure on all ranks.
///
/// It has its own communicator, so its messages do not mix with others. All ranks call the same
/// functions in the same order, as with MPI itself. Here, a rank that calls another function, or
/// has a value of another structure, is an error on all ranks.
///
/// Dropping it waits for the other ranks to drop theirs or to call a function, which then returns
/// [`Error::Left`]. So if a rank returns early or panics, the others stop, and none waits for it
/// forever. Drop it before the `Universe`.
///
/// If several are alive at once, all ranks must drop the same one first. A rank that returns early waits in
/// the first that it drops; if the others wait for it in another one, they wait forever, as with MPI
/// itself. To avoid this, use one `Collective` of a tuple, with [`reduce_part`](Self::reduce_part).
///
/// ```no_run
/// use mpi::traits::Communicator;
/// use treedef_mpi::Collective;
///
/// let universe = mpi::initialize().ok_or("MPI is running already")?;
/// let world = universe.world();
/// let mut gradient = vec![[world.rank() as f32; 3]; 2];
///
/// let mut collective = Collective::new(&world, &gradient)?;
/// collective.all_reduce_sum(&mut gradient)?;
/// assert_eq!(gradient[1][2], (0..world.size()).sum::<i32>() as f32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Collective {
    /// The communicator, or the ranks that have left it.
    communicator: Result<SimpleCommunicator, Ranks>,
    flattener: Flattener,
    signature: Signature,
    fingerprint: Fingerprint,
    whole: LeafSubset,
    parts: HashMap<String, LeafSubset>,
    leaves: Leaves,
    sent: SendBuffers,
    max_message: usize,
    time: Duration,
}

/// The fingerprint that the handshake of an example compares, for a peer in another language.
///
/// # Errors
///
/// Returns an error when the example cannot be flattened, or has leaves that are neither floats nor
/// integers of up to 64 bits.
///
/// ```
/// let fingerprint = treedef_mpi::fingerprint(&[0.5f32; 3]).map_err(|error| error.to_string())?;
/// assert_ne!(treedef_mpi::fingerprint(&[0.5f64; 3])?, fingerprint);
///
/// let error = treedef_mpi::fingerprint(&(0.5, "a")).unwrap_err();
/// let expected = "expected a float, or an integer of up to 64 bits, found str at `.1`";
/// assert!(error.starts_with(expected));
/// # Ok::<(), String>(())
/// ```
pub fn fingerprint(example: &(impl Serialize + ?Sized)) -> Result<Fingerprint, String> {
    let signature = Signature::of(&Flattener::new(), example)?;
    signature.fingerprint().map_err(|error| error.to_string())
}

impl Collective {
    /// The handshake: checks that the examples of all ranks have the same structure, with the same
    /// names, statics and kinds of leaves. All leaves must be floats, or integers of up to 64 bits.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Structure`] when the structures differ, with the first path that differs and
    /// both sides, and [`Error::Value`] when an example cannot be flattened. All ranks get the same
    /// error.
    pub fn new(
        communicator: &impl Communicator,
        example: &(impl Serialize + ?Sized),
    ) -> Result<Self> {
        Collective::with_flattener(communicator, Flattener::new(), example)
    }

    /// As [`new`](Self::new), with rules and options. Statics are compared even if the flattener
    /// ignores them, because a value gets the statics of the example.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_flattener(
        communicator: &impl Communicator,
        flattener: Flattener,
        example: &(impl Serialize + ?Sized),
    ) -> Result<Self> {
        let communicator = communicator.duplicate();
        let flattener = flattener.ignore_statics(false);
        let signature = Signature::of(&flattener, example).and_then(|signature| {
            let fingerprint = signature.fingerprint().map_err(|error| error.to_string())?;
            Ok((signature, fingerprint))
        });
        let (signature, fingerprint) = match signature {
            Ok(known) => known,
            Err(message) => return Err(refuse(&communicator, 0, message)),
        };
        let report = Report::Handshake(&signature);
        agree(&communicator, fingerprint.to_bits(), &report)?;
        let ranks = usize::try_from(communicator.size()).unwrap_or(1);
        Ok(Collective {
            communicator: Ok(communicator),
            flattener,
            whole: LeafSubset::whole(&signature),
            parts: HashMap::new(),
            leaves: Leaves::of(&signature),
            sent: SendBuffers::default(),
            signature,
            fingerprint,
            max_message: 0,
            time: Duration::ZERO,
        }
        .max_message(SHARE.saturating_mul(ranks)))
    }

    /// Sets the maximum number of numbers in one message, by default 2¹⁶ for each rank. It must be
    /// the same on all ranks. The upper limit is MPI's, 2³¹ − 1, and 0 counts as 1.
    #[must_use]
    pub fn max_message(mut self, numbers: usize) -> Self {
        self.max_message = numbers.clamp(1, usize::try_from(i32::MAX).unwrap_or(usize::MAX));
        self
    }

    /// The structure that all ranks have.
    pub fn treedef(&self) -> &TreeDef {
        &self.signature.treedef
    }

    /// The result of the handshake: the structure and the kinds of the leaves.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The time spent in MPI so far, which includes waiting for other ranks.
    pub fn time_in_mpi(&self) -> Duration {
        self.time
    }

    /// Replaces each number of the value by its sum over all ranks.
    ///
    /// Integers are summed exactly; a sum that does not fit into the type is an error. Floats are rounded
    /// as in `a + b` with two ranks; with more ranks, MPI chooses the order. All ranks get the same bits if
    /// MPI reduces in the same order for all, as OpenMPI does.
    ///
    /// # Errors
    ///
    /// Returns an error when the value of a rank does not have the structure of the handshake, or a rank
    /// called something else, or a sum of integers is too large. All ranks get the same error, with the
    /// path, and no value has changed. Only [`Error::Rebuild`] occurs on a single rank; its value may be
    /// partly changed.
    pub fn all_reduce_sum<T: Serialize + DeserializeOwned>(&mut self, value: &mut T) -> Result<()> {
        self.typed(Operation::Reduce(Reduction::Sum), None, value)
    }

    /// Replaces each number of the value by its mean over all ranks: the sum, divided by the number
    /// of ranks.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_sum`](Self::all_reduce_sum). Also when there are integers, because a mean is in
    /// general not an integer: use their sum, or the mean of a [part](Self::reduce_part) without them.
    pub fn all_reduce_mean<T: Serialize + DeserializeOwned>(
        &mut self,
        value: &mut T,
    ) -> Result<()> {
        self.typed(Operation::Reduce(Reduction::Mean), None, value)
    }

    /// Replaces each number of the value by its maximum over all ranks.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_sum`](Self::all_reduce_sum).
    pub fn all_reduce_max<T: Serialize + DeserializeOwned>(&mut self, value: &mut T) -> Result<()> {
        self.typed(Operation::Reduce(Reduction::Max), None, value)
    }

    /// Reduces the leaves at and below the nodes that a pattern matches. The others are unchanged.
    ///
    /// The leaves of a pattern are found once and remembered, for up to 64 patterns.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_sum`](Self::all_reduce_sum). Also when the text is not a pattern, or matches
    /// no node.
    ///
    /// ```no_run
    /// use std::collections::BTreeMap;
    ///
    /// use treedef_mpi::{Collective, Reduction};
    ///
    /// let universe = mpi::initialize().ok_or("MPI is running already")?;
    /// let part = |name: &str, number| (name.to_owned(), vec![number]);
    /// let mut model = BTreeMap::from([part("head", 1.0), part("body", 2.0)]);
    /// let mut collective = Collective::new(&universe.world(), &model)?;
    /// collective.reduce_part("**.head", Reduction::Mean, &mut model)?;
    /// assert_eq!(model["head"], [1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reduce_part<T: Serialize + DeserializeOwned>(
        &mut self,
        pattern: &str,
        reduction: Reduction,
        value: &mut T,
    ) -> Result<()> {
        self.typed(Operation::Reduce(reduction), Some(pattern), value)
    }

    /// Replaces each number of the value by the one of rank `root`.
    ///
    /// For ranks that have no value yet, use [`broadcast`](crate::broadcast()).
    ///
    /// # Errors
    ///
    /// As [`all_reduce_sum`](Self::all_reduce_sum). Also when there is no such rank.
    pub fn broadcast<T: Serialize + DeserializeOwned>(
        &mut self,
        root: Rank,
        value: &mut T,
    ) -> Result<()> {
        self.typed(Operation::Broadcast(root), None, value)
    }

    /// Reduces numbers that are already flat, such as the leaves of `treedef::flatten_as`, in place.
    /// Leaves of all kinds are sent together, at most [`max_message`](Self::max_message) numbers at a time.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_sum`](Self::all_reduce_sum). Also when a rank does not pass as many numbers
    /// as the structure has leaves.
    pub fn all_reduce_flat<L: Float>(
        &mut self,
        flat: &mut [L],
        reduction: Reduction,
    ) -> Result<()> {
        let ready = match self.signature.treedef.num_leaves() {
            leaves if leaves == flat.len() => Ok(()),
            leaves => Err(format!("expected {leaves} numbers, found {}", flat.len())),
        };
        let operation = Operation::Reduce(reduction);
        self.agree_to(
            &Call { operation, of: CallTarget::Flat(L::NAME), longest: self.max_message },
            ready,
        )?;
        let start = Instant::now();
        if let Ok(communicator) = &self.communicator {
            exchange(communicator, flat, operation, self.max_message, &mut self.sent);
        }
        self.time += start.elapsed();
        Ok(())
    }

    /// Joins the next call of the other ranks with an error, which all ranks get. For a rank that cannot
    /// make its value, but goes on.
    ///
    /// ```no_run
    /// use treedef_mpi::{Collective, Reduction};
    ///
    /// let universe = mpi::initialize().ok_or("MPI is running already")?;
    /// let mut collective = Collective::new(&universe.world(), &[0.0; 3])?;
    /// match std::fs::read_to_string("number")?.parse::<f64>() {
    ///     Ok(number) => collective.all_reduce_flat(&mut [number; 3], Reduction::Sum)?,
    ///     Err(error) => return Err(collective.refuse(error.to_string()).into()),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "it is the error of this rank, too"]
    pub fn refuse(&mut self, message: impl Into<String>) -> Error {
        let message = message.into();
        let agreed = self.agree(&Report::Failed(&message));
        agreed.err().unwrap_or_else(|| unheard(message))
    }

    fn typed<T: Serialize + DeserializeOwned>(
        &mut self,
        operation: Operation,
        pattern: Option<&str>,
        value: &mut T,
    ) -> Result<()> {
        let ready = self.prepare(operation, pattern, value);
        let of = pattern.map_or(CallTarget::All, CallTarget::Pattern);
        self.agree_to(&Call { operation, of, longest: self.max_message }, ready)?;
        let start = Instant::now();
        let part = pattern.and_then(|pattern| self.parts.get(pattern)).unwrap_or(&self.whole);
        let mut done = Ok(());
        if let Ok(communicator) = &self.communicator {
            let (of, sent) = ((&self.signature, part), &mut self.sent);
            let all = self.leaves.exchange(communicator, of, operation, self.max_message, sent);
            done = all.map_err(|message| {
                let ranks: Vec<Rank> = (0..communicator.size()).collect();
                Error::Value { ranks: ranks.into(), message }
            });
        }
        self.time += start.elapsed();
        done?;
        self.leaves.put(&self.signature.treedef, value).map_err(Error::Rebuild)
    }

    /// Faults of this rank only.
    fn prepare<T: Serialize>(
        &mut self,
        operation: Operation,
        pattern: Option<&str>,
        value: &T,
    ) -> Result<(), String> {
        if let (Operation::Broadcast(root), Ok(communicator)) = (operation, &self.communicator) {
            expect_rank(communicator, root)?;
        }
        if let Some(pattern) = pattern
            && !self.parts.contains_key(pattern)
        {
            let part = LeafSubset::of_pattern(&self.signature, pattern);
            if self.parts.len() == MAX_PARTS {
                self.parts.clear();
            }
            self.parts.insert(pattern.to_owned(), part.map_err(|error| error.to_string())?);
        }
        let part = pattern.and_then(|pattern| self.parts.get(pattern)).unwrap_or(&self.whole);
        part.expect(operation, &self.signature)?;
        self.leaves.fill(&self.flattener, &self.signature, &self.whole, value)
    }

    /// Checks that all ranks are about to do the same, and are able to.
    fn agree_to(&mut self, call: &Call<'_>, ready: Result<(), String>) -> Result<()> {
        match ready {
            Ok(()) => self.agree(&Report::Call(call)),
            Err(message) => Err(self.refuse(message)),
        }
    }

    fn agree(&mut self, report: &Report<'_>) -> Result<()> {
        let start = Instant::now();
        let communicator = match &self.communicator {
            Ok(communicator) => communicator,
            Err(ranks) => return Err(Error::Left(ranks.clone())),
        };
        let agreed = agree(communicator, self.fingerprint.to_bits(), report);
        if let Err(Error::Left(ranks)) = &agreed {
            self.communicator = Err(ranks.clone());
        }
        self.time += start.elapsed();
        agreed
    }
}

/// Tells the other ranks why this one cannot take part, and returns the error that all get.
pub(crate) fn refuse(
    communicator: &impl Communicator,
    fingerprint: u128,
    message: String,
) -> Error {
    let agreed = agree(communicator, fingerprint, &Report::Failed(&message));
    agreed.err().unwrap_or_else(|| unheard(message))
}

/// No rank agrees to a failure.
fn unheard(message: String) -> Error {
    debug_assert!(false, "ranks agreed to a failure: {message}");
    Error::Value { ranks: Ranks::default(), message }
}

pub(crate) fn expect_rank(communicator: &impl Communicator, rank: Rank) -> Result<(), String> {
    match communicator.size() {
        size if (0..size).contains(&rank) => Ok(()),
        size => Err(format!("no rank {rank}, there are {size}")),
    }
}

impl Drop for Collective {
    fn drop(&mut self) {
        let left = Err(Ranks::default());
        if let Ok(communicator) = std::mem::replace(&mut self.communicator, left) {
            if mpi::is_finalized() {
                // It is gone already; freeing it would be an error.
                return std::mem::forget(communicator);
            }
            // The others return the error.
            let _ = agree(&communicator, self.fingerprint.to_bits(), &Report::Left);
        }
    }
}

impl fmt::Debug for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collective")
            .field("treedef", &self.signature.treedef)
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// A call, in the form that ranks compare and errors print.
struct Call<'a> {
    operation: Operation,
    of: CallTarget<'a>,
    longest: usize,
}

enum CallTarget<'a> {
    All,
    Pattern(&'a str),
    Flat(&'static str),
}

impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of ", self.operation)?;
        match self.of {
            CallTarget::All => f.write_str("all leaves")?,
            CallTarget::Pattern(pattern) => write!(f, "`{pattern}`")?,
            CallTarget::Flat(kind) => write!(f, "a flat buffer of {kind}")?,
        }
        write!(f, ", {} numbers a message", self.longest)
    }
}
