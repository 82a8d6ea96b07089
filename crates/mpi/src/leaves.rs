//! The leaves of a value between two walks, and the operations on them.

use std::fmt;
use std::ops::Range;

use mpi::Rank;
use mpi::collective::SystemOperation;
use mpi::traits::{Communicator, CommunicatorCollectives, Equivalence, Root};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::__private::OrBug;
use treedef::{Flattener, Leaf, LeafKind, LeafType, Tree, TreeDef};

pub(crate) use sealed::SendBuffers;

use crate::signature::{Signature, place};

/// The operation on the numbers that the ranks have in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their sum divided by the number of ranks.
    Mean,
    /// The greatest. MPI does not define the result if there is a NaN.
    Max,
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reduction::Sum => "sum",
            Reduction::Mean => "mean",
            Reduction::Max => "max",
        })
    }
}

/// `f32` and `f64`. Sealed.
pub trait Float: LeafType + Equivalence + Copy + sealed::Float {}

impl Float for f32 {}
impl Float for f64 {}

mod sealed {
    /// The numbers of the current message: MPI reads them while it writes the result into their old
    /// place.
    #[derive(Default)]
    pub struct SendBuffers {
        f32: Vec<f32>,
        f64: Vec<f64>,
        pub(super) words: Vec<i64>,
    }

    /// The operations on a float that are needed here.
    pub trait Float: Sized {
        /// Its name in reports.
        const NAME: &'static str;
        /// The quotient of a sum and the number of ranks.
        fn divided(self, by: i32) -> Self;
        /// The vector of this type.
        fn sent(sent: &mut SendBuffers) -> &mut Vec<Self>;
    }

    impl Float for f32 {
        const NAME: &'static str = "f32";
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2²⁴ ranks")]
        fn divided(self, by: i32) -> Self {
            self / by as f32
        }
        fn sent(sent: &mut SendBuffers) -> &mut Vec<Self> {
            &mut sent.f32
        }
    }

    impl Float for f64 {
        const NAME: &'static str = "f64";
        fn divided(self, by: i32) -> Self {
            self / f64::from(by)
        }
        fn sent(sent: &mut SendBuffers) -> &mut Vec<Self> {
            &mut sent.f64
        }
    }
}

/// The operation of all ranks on their leaves.
#[derive(Clone, Copy)]
pub(crate) enum Operation {
    Reduce(Reduction),
    Broadcast(Rank),
}

/// Runs the operation on all numbers of a slice, `longest` at a time.
pub(crate) fn exchange<L: Float>(
    communicator: &impl Communicator,
    numbers: &mut [L],
    operation: Operation,
    longest: usize,
    sent: &mut SendBuffers,
) {
    for message in numbers.chunks_mut(longest) {
        let reduction = match operation {
            Operation::Reduce(reduction) => reduction,
            Operation::Broadcast(root) => {
                communicator.process_at_rank(root).broadcast_into(message);
                continue;
            }
        };
        let sent = L::sent(sent);
        sent.clear();
        sent.extend_from_slice(message);
        communicator.all_reduce_into(&sent[..], message, reduction.operation());
        if reduction == Reduction::Mean {
            message.iter_mut().for_each(|sum| *sum = sum.divided(communicator.size()));
        }
    }
}

impl Reduction {
    fn operation(self) -> SystemOperation {
        match self {
            Reduction::Sum | Reduction::Mean => SystemOperation::sum(),
            Reduction::Max => SystemOperation::max(),
        }
    }
}

/// Some leaves of a structure, by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeafSubset {
    f32: Vec<Range<usize>>,
    f64: Vec<Range<usize>>,
    integers: Vec<Range<usize>>,
}

impl LeafSubset {
    pub(crate) fn whole(signature: &Signature) -> Self {
        let mut part = LeafSubset::default();
        for (kind, leaves) in signature.runs() {
            part.of(kind).push(leaves);
        }
        part
    }

    /// The leaves at and below the nodes that a pattern names.
    pub(crate) fn of_pattern(signature: &Signature, pattern: &str) -> treedef::Result<Self> {
        let treedef = &signature.treedef;
        let mask = Tree::new(treedef.clone(), vec![(); treedef.num_leaves()])?.mask(pattern)?;
        let mut part = LeafSubset::default();
        for (kind, leaves) in signature.runs() {
            let mut start = leaves.start;
            for run in mask.leaves().get(leaves).or_bug().chunk_by(|a, b| a == b) {
                let end = start + run.len();
                if run.first() == Some(&true) {
                    part.of(kind).push(start..end);
                }
                start = end;
            }
        }
        Ok(part)
    }

    fn of(&mut self, kind: LeafKind) -> &mut Vec<Range<usize>> {
        match kind {
            LeafKind::F32 => &mut self.f32,
            LeafKind::F64 => &mut self.f64,
            _ => &mut self.integers,
        }
    }

    /// Explains why an operation is not possible for these leaves.
    pub(crate) fn expect(&self, operation: Operation, signature: &Signature) -> Result<(), String> {
        match (operation, signature.integer_in(&self.integers)) {
            (Operation::Reduce(Reduction::Mean), Some((kind, leaf))) => Err(format!(
                "the mean of integers is none: found {kind} {} (take the sum and divide it, or the \
                 mean of a part without it: `reduce_part`)",
                place(&signature.treedef, leaf)
            )),
            _ => Ok(()),
        }
    }
}

/// The leaves of a value with a known structure. The vectors are made once and reused.
pub(crate) struct Leaves {
    numbers: Numbers,
    /// Leaves of one kind that are not neighbours, to be sent together.
    packed_f32: Vec<f32>,
    packed_f64: Vec<f64>,
    /// Integers as words that MPI can add.
    words: Vec<i64>,
}

enum Numbers {
    /// All leaves are `f32`.
    F32(Vec<f32>),
    /// Some leaves are `f64`. An `f32` is widened, and narrowed for its message, which is exact.
    F64(Vec<f64>),
    /// Some leaves are integers.
    Any(Vec<Leaf>),
}

impl Leaves {
    pub(crate) fn of(signature: &Signature) -> Self {
        let has = |is: fn(LeafKind) -> bool| signature.runs().any(|(kind, _)| is(kind));
        let numbers = if has(LeafKind::is_integer) {
            Numbers::Any(Vec::new())
        } else if has(|kind| kind != LeafKind::F32) {
            Numbers::F64(Vec::new())
        } else {
            Numbers::F32(Vec::new())
        };
        Leaves { numbers, packed_f32: Vec::new(), packed_f64: Vec::new(), words: Vec::new() }
    }

    /// Reads the leaves of a value, which must have the structure of the handshake.
    pub(crate) fn fill(
        &mut self,
        flattener: &Flattener,
        signature: &Signature,
        whole: &LeafSubset,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), String> {
        let treedef = &signature.treedef;
        let filled = match &mut self.numbers {
            Numbers::F32(leaves) => flattener.flatten_like(treedef, value, leaves),
            Numbers::F64(leaves) => flattener.flatten_like(treedef, value, leaves),
            Numbers::Any(leaves) => flattener.flatten_like(treedef, value, leaves),
        };
        filled.map_err(|error| error.to_string())?;
        match &self.numbers {
            Numbers::F32(_) => Ok(()),
            Numbers::Any(leaves) => {
                let mut kinds = signature
                    .runs()
                    .flat_map(|(kind, leaves)| leaves.map(move |leaf| (kind, leaf)));
                let differs = kinds.find_map(|(kind, leaf)| {
                    let found = leaves.get(leaf)?.kind();
                    let fits = found == kind || (kind, found) == (LeafKind::F64, LeafKind::F32);
                    (!fits).then_some((kind, found, leaf))
                });
                match differs {
                    None => Ok(()),
                    Some((kind, found, leaf)) => {
                        Err(format!("expected {kind}, found {found} {}", place(treedef, leaf)))
                    }
                }
            }
            // The kinds of leaves are not part of a structure, so they may have changed.
            Numbers::F64(leaves) => match whole.f32.iter().flat_map(Range::clone).find(|leaf| {
                leaves.get(*leaf).is_some_and(|number| {
                    !number.is_nan() && f64::from(narrow(*number)).to_bits() != number.to_bits()
                })
            }) {
                None => Ok(()),
                Some(leaf) => Err(format!("expected f32, found f64 {}", place(treedef, leaf))),
            },
        }
    }

    /// Does the operation on a part of the leaves, with one message for each kind, or one for each
    /// `longest` numbers of a kind. All ranks get the same integers, so they get the same error where a
    /// sum is too large.
    pub(crate) fn exchange(
        &mut self,
        communicator: &impl Communicator,
        (signature, part): (&Signature, &LeafSubset),
        operation: Operation,
        longest: usize,
        sent: &mut SendBuffers,
    ) -> Result<(), String> {
        let Leaves { numbers, packed_f32, packed_f64, words } = self;
        match numbers {
            Numbers::Any(leaves) => {
                let single = |leaf: &Leaf| if let Leaf::F32(number) = leaf { *number } else { 0.0 };
                pack(leaves, &part.f32, packed_f32, single);
                exchange(communicator, packed_f32, operation, longest, sent);
                unpack(leaves, &part.f32, packed_f32, Leaf::from);
                let double = |leaf: &Leaf| match leaf {
                    Leaf::F64(number) => *number,
                    Leaf::F32(number) => f64::from(*number),
                    _ => 0.0,
                };
                pack(leaves, &part.f64, packed_f64, double);
                exchange(communicator, packed_f64, operation, longest, sent);
                unpack(leaves, &part.f64, packed_f64, Leaf::from);
                let integers = part.integers.iter().flat_map(Range::clone);
                let form = WordSplit::of(operation);
                words.clear();
                for leaf in integers.clone().filter_map(|leaf| leaves.get(leaf)) {
                    form.put(leaf.as_i128().unwrap_or(0), leaf.kind(), words);
                }
                exchange_words(communicator, words, (operation, form), longest, sent);
                let mut all = words.chunks_exact(form.size());
                for index in integers {
                    let (Some(leaf), Some(words)) = (leaves.get_mut(index), all.next()) else {
                        continue;
                    };
                    let number = form.number(words, leaf.kind());
                    *leaf = integer(leaf.kind(), number).ok_or_else(|| {
                        let place = place(&signature.treedef, index);
                        format!("the sum {number} does not fit into {} {place}", leaf.kind())
                    })?;
                }
            }
            Numbers::F32(leaves) => in_one(leaves, &part.f32, packed_f32, |message| {
                exchange(communicator, message, operation, longest, sent);
            }),
            Numbers::F64(leaves) => {
                pack(leaves, &part.f32, packed_f32, |number| narrow(*number));
                exchange(communicator, packed_f32, operation, longest, sent);
                unpack(leaves, &part.f32, packed_f32, f64::from);
                in_one(leaves, &part.f64, packed_f64, |message| {
                    exchange(communicator, message, operation, longest, sent);
                });
            }
        }
        Ok(())
    }

    /// Puts the leaves back into the value that they were taken from.
    pub(crate) fn put<T: DeserializeOwned>(
        &self,
        treedef: &TreeDef,
        value: &mut T,
    ) -> treedef::Result<()> {
        match &self.numbers {
            Numbers::F32(leaves) => treedef::unflatten_into(value, treedef, leaves),
            Numbers::F64(leaves) => treedef::unflatten_into(value, treedef, leaves),
            Numbers::Any(leaves) => treedef::unflatten_into(value, treedef, leaves),
        }
    }
}

/// The words of an integer of up to 64 bits.
#[derive(Clone, Copy)]
enum WordSplit {
    /// Its upper bits, and its lower 32: no sum over the ranks overflows, which are fewer than 2³¹.
    Halves,
    /// One word. Words are in the order of the integers of a kind.
    Whole,
}

impl WordSplit {
    fn of(operation: Operation) -> Self {
        match operation {
            Operation::Reduce(Reduction::Sum | Reduction::Mean) => WordSplit::Halves,
            Operation::Reduce(Reduction::Max) | Operation::Broadcast(_) => WordSplit::Whole,
        }
    }

    fn size(self) -> usize {
        match self {
            WordSplit::Halves => 2,
            WordSplit::Whole => 1,
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "an integer has up to 64 bits")]
    fn put(self, number: i128, kind: LeafKind, words: &mut Vec<i64>) {
        match self {
            WordSplit::Halves => words.extend([(number >> 32) as i64, (number & LOW) as i64]),
            WordSplit::Whole => words.push((number - least_word(kind)) as i64),
        }
    }

    fn number(self, words: &[i64], kind: LeafKind) -> i128 {
        match words {
            [high, low] => (i128::from(*high) << 32) + i128::from(*low),
            [word] => i128::from(*word) + least_word(kind),
            _ => 0,
        }
    }
}

const LOW: i128 = 0xffff_ffff;

/// The difference between an integer and its word.
fn least_word(kind: LeafKind) -> i128 {
    if kind == LeafKind::U64 { 1 << 63 } else { 0 }
}

/// The leaf of an integer, if it fits into the kind.
fn integer(kind: LeafKind, number: i128) -> Option<Leaf> {
    Some(match kind {
        LeafKind::U8 => u8::try_from(number).ok()?.into(),
        LeafKind::I8 => i8::try_from(number).ok()?.into(),
        LeafKind::U16 => u16::try_from(number).ok()?.into(),
        LeafKind::I16 => i16::try_from(number).ok()?.into(),
        LeafKind::U32 => u32::try_from(number).ok()?.into(),
        LeafKind::I32 => i32::try_from(number).ok()?.into(),
        LeafKind::U64 => u64::try_from(number).ok()?.into(),
        LeafKind::I64 => i64::try_from(number).ok()?.into(),
        _ => return None,
    })
}

/// As [`exchange`], for the words of integers.
fn exchange_words(
    communicator: &impl Communicator,
    words: &mut [i64],
    (operation, form): (Operation, WordSplit),
    longest: usize,
    sent: &mut SendBuffers,
) {
    // MPI counts words.
    let longest = (longest / form.size()).max(1).saturating_mul(form.size());
    for message in words.chunks_mut(longest) {
        let operation = match operation {
            Operation::Reduce(reduction) => reduction.operation(),
            Operation::Broadcast(root) => {
                communicator.process_at_rank(root).broadcast_into(message);
                continue;
            }
        };
        sent.words.clear();
        sent.words.extend_from_slice(message);
        communicator.all_reduce_into(&sent.words[..], message, operation);
    }
}

/// Passes on leaves as one slice: in their place if they are neighbours.
fn in_one<L: Copy>(
    leaves: &mut [L],
    ranges: &[Range<usize>],
    packed: &mut Vec<L>,
    exchange: impl FnOnce(&mut [L]),
) {
    if let [range] = ranges {
        return exchange(leaves.get_mut(range.clone()).or_bug());
    }
    pack(leaves, ranges, packed, |number| *number);
    exchange(packed);
    unpack(leaves, ranges, packed, |number| number);
}

fn pack<A, B>(leaves: &[A], ranges: &[Range<usize>], packed: &mut Vec<B>, f: impl Fn(&A) -> B) {
    packed.clear();
    for range in ranges {
        packed.extend(leaves.get(range.clone()).or_bug().iter().map(&f));
    }
}

fn unpack<A, B: Copy>(leaves: &mut [A], ranges: &[Range<usize>], packed: &[B], f: impl Fn(B) -> A) {
    let mut packed = packed.iter();
    for range in ranges {
        let leaves = leaves.get_mut(range.clone()).or_bug();
        leaves.iter_mut().zip(&mut packed).for_each(|(leaf, number)| *leaf = f(*number));
    }
}

#[allow(clippy::cast_possible_truncation, reason = "it was widened from an f32, as `fill` checks")]
fn narrow(number: f64) -> f32 {
    number as f32
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Reduce(reduction) => write!(f, "the {reduction}"),
            Operation::Broadcast(root) => write!(f, "a broadcast from rank {root}"),
        }
    }
}
