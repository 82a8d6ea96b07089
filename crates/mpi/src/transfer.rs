//! Values of any structure from one rank to others. They are sent as bytes, structure included.

use mpi::Rank;
use mpi::traits::{Communicator, Destination, Root, Source};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::__private::OrBug;
use treedef::{Leaf, Tree};

use crate::agreement::{Report, agree};
use crate::collective::{expect_rank, refuse};
use crate::error::Result;

/// The maximum number of bytes of a value that [`broadcast`], [`gather`] and [`scatter`] send or
/// receive.
pub const MAX_BYTES: u64 = 1 << 32;
/// The maximum number of bytes in a message. A longer value is sent in several.
const CHUNK: usize = 1 << 24;

/// Returns the value of rank `root` on all ranks. The others may pass `None`, and need no example.
///
/// # Errors
///
/// Returns an error when the value of `root` cannot be sent, or a rank's type does not fit it. All
/// ranks get the same error.
///
/// ```no_run
/// use mpi::traits::Communicator;
///
/// let universe = mpi::initialize().ok_or("MPI is running already")?;
/// let world = universe.world();
/// let config = (world.rank() == 0).then(|| ("adam".to_owned(), 0.01));
/// let (name, rate): (String, f64) = treedef_mpi::broadcast(&world, 0, config.as_ref())?;
/// assert_eq!((&*name, rate), ("adam", 0.01));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn broadcast<T: Serialize + DeserializeOwned>(
    communicator: &impl Communicator,
    root: Rank,
    value: Option<&T>,
) -> Result<T> {
    let tree = value.map(|value| Tree::of(value).map_err(|error| error.to_string()));
    let received = broadcast_bytes(communicator, root, tree)?;
    settle(communicator, decode(&received).and_then(typed))
}

/// As [`broadcast`], for ranks that do not know the type: the structure with its leaves.
///
/// # Errors
///
/// As [`broadcast`].
pub fn broadcast_tree(
    communicator: &impl Communicator,
    root: Rank,
    tree: Option<&Tree<Leaf>>,
) -> Result<Tree<Leaf>> {
    let received = broadcast_bytes(communicator, root, tree.cloned().map(Ok))?;
    settle(communicator, decode(&received))
}

/// Returns the elements of all ranks on rank `root`, in the order of the ranks, and nothing on the
/// others.
///
/// # Errors
///
/// Returns an error when the elements of a rank cannot be sent, or do not fit the type of `root`.
/// All ranks get the same error.
///
/// ```no_run
/// use mpi::traits::Communicator;
///
/// let universe = mpi::initialize().ok_or("MPI is running already")?;
/// let world = universe.world();
/// let all = treedef_mpi::gather(&world, 0, &[(world.rank(), "done".to_owned())])?;
/// assert_eq!(all.len(), if world.rank() == 0 { world.size() as usize } else { 0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gather<T: Serialize + DeserializeOwned>(
    communicator: &impl Communicator,
    root: Rank,
    elements: &[T],
) -> Result<Vec<T>> {
    let ready = expect_rank(communicator, root).and_then(|()| {
        Tree::of(elements).map_err(|error| error.to_string()).and_then(|tree| encode(&tree))
    });
    let bytes = begin(communicator, &format!("gather to rank {root}"), ready)?;
    if communicator.rank() != root {
        send(communicator, root, &bytes);
        return settle(communicator, Ok(Vec::new()));
    }
    let mut all = Ok(Vec::new());
    for rank in 0..communicator.size() {
        let received = if rank == root { Ok(bytes.clone()) } else { receive(communicator, rank) };
        // Messages after an error are received, so that no rank waits.
        let part: Result<Vec<T>, String> = received.and_then(|bytes| typed(decode(&bytes)?));
        if let Ok(elements) = &mut all {
            match part {
                Ok(part) => elements.extend(part),
                Err(error) => all = Err(format!("from rank {rank}: {error}")),
            }
        }
    }
    settle(communicator, all)
}

/// Distributes the elements of rank `root`: each rank gets neighbours, in the order of the ranks,
/// and the first ranks get one more if the number cannot be divided. The arguments of other ranks
/// are ignored.
///
/// # Errors
///
/// Returns an error when the elements cannot be sent, or do not fit the type of a rank. All ranks
/// get the same error.
///
/// ```no_run
/// use mpi::traits::Communicator;
///
/// let universe = mpi::initialize().ok_or("MPI is running already")?;
/// let world = universe.world();
/// let samples: Vec<u64> = if world.rank() == 0 { (0..100).collect() } else { Vec::new() };
/// let shard = treedef_mpi::scatter(&world, 0, &samples)?;
/// assert!(shard.len() >= 100 / world.size() as usize);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn scatter<T: Serialize + DeserializeOwned>(
    communicator: &impl Communicator,
    root: Rank,
    elements: &[T],
) -> Result<Vec<T>> {
    let ready = expect_rank(communicator, root).and_then(|()| {
        let shards = shards(elements, communicator.size());
        let here = communicator.rank() == root;
        let trees = shards.take_while(|_| here).map(|shard| {
            Tree::of(shard).map_err(|error| error.to_string()).and_then(|tree| encode(&tree))
        });
        trees.collect::<Result<Vec<_>, String>>()
    });
    let shards = begin(communicator, &format!("scatter from rank {root}"), ready)?;
    let mut mine = None;
    for (rank, bytes) in (0..).zip(shards) {
        if rank == root { mine = Some(bytes) } else { send(communicator, rank, &bytes) }
    }
    let received = mine.map_or_else(|| receive(communicator, root), Ok);
    settle(communicator, received.and_then(|bytes| typed(decode(&bytes)?)))
}

/// One slice for each rank.
fn shards<T>(elements: &[T], ranks: Rank) -> impl Iterator<Item = &[T]> {
    let ranks = usize::try_from(ranks).unwrap_or(1).max(1);
    let (each, more) = (elements.len() / ranks, elements.len() % ranks);
    let mut rest = elements;
    (0..ranks).map(move |rank| {
        let (shard, others) = rest.split_at(each + usize::from(rank < more));
        rest = others;
        shard
    })
}

fn broadcast_bytes(
    communicator: &impl Communicator,
    root: Rank,
    tree: Option<Result<Tree<Leaf>, String>>,
) -> Result<Vec<u8>> {
    let ready = expect_rank(communicator, root).and_then(|()| match tree {
        _ if communicator.rank() != root => Ok(Vec::new()),
        Some(tree) => encode(&tree?),
        None => Err("the root of a broadcast has no value".to_owned()),
    });
    let mut bytes = begin(communicator, &format!("broadcast from rank {root}"), ready)?;
    let root = communicator.process_at_rank(root);
    let mut length = bytes.len() as u64;
    root.broadcast_into(&mut length);
    // The root has checked it, and all ranks see the same.
    let length = expect_length(length).unwrap_or(0);
    let mut start = 0;
    while start < length {
        let end = length.min(start.saturating_add(CHUNK));
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        root.broadcast_into(bytes.get_mut(start..end).or_bug());
        start = end;
    }
    Ok(bytes)
}

/// Checks that all ranks are about to do the same, and are able to.
fn begin<R>(communicator: &impl Communicator, call: &str, ready: Result<R, String>) -> Result<R> {
    match ready {
        Err(message) => Err(refuse(communicator, 0, message)),
        Ok(ready) => {
            agree(communicator, 0, &Report::Call(&call))?;
            Ok(ready)
        }
    }
}

/// Checks that all ranks could read the received values.
fn settle<R>(communicator: &impl Communicator, result: Result<R, String>) -> Result<R> {
    begin(communicator, "the end of a transfer", result)
}

fn encode(tree: &Tree<Leaf>) -> Result<Vec<u8>, String> {
    let bytes = tree.to_bytes().map_err(|error| error.to_string())?;
    expect_length(bytes.len() as u64)?;
    Ok(bytes)
}

/// Reads bytes of another rank, within the default limits of treedef.
fn decode(bytes: &[u8]) -> Result<Tree<Leaf>, String> {
    Tree::from_bytes(bytes).map_err(|error| error.to_string())
}

fn typed<T: DeserializeOwned>(tree: Tree<Leaf>) -> Result<T, String> {
    tree.into_typed().map_err(|error| error.to_string())
}

fn expect_length(length: u64) -> Result<usize, String> {
    match usize::try_from(length) {
        Ok(size) if length <= MAX_BYTES => Ok(size),
        _ => Err(format!("{length} bytes, the limit is {MAX_BYTES} (see `MAX_BYTES`)")),
    }
}

fn send(communicator: &impl Communicator, to: Rank, bytes: &[u8]) {
    let to = communicator.process_at_rank(to);
    to.send(&(bytes.len() as u64));
    bytes.chunks(CHUNK).for_each(|chunk| to.send(chunk));
}

/// Receives a value from [`send`]. Memory grows with the data that arrives, not with an announced
/// length.
fn receive(communicator: &impl Communicator, from: Rank) -> Result<Vec<u8>, String> {
    let from = communicator.process_at_rank(from);
    let mut length = 0u64;
    from.receive_into(&mut length);
    let length = expect_length(length)?;
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let start = bytes.len();
        bytes.resize(length.min(start.saturating_add(CHUNK)), 0);
        from.receive_into(bytes.get_mut(start..).or_bug());
    }
    Ok(bytes)
}
