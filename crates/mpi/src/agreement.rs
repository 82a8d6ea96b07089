//! Checks, before each operation, that all ranks are about to do the same.
//!
//! One all-reduce of 32 bytes compares codes of the operations. Only if the codes differ do ranks
//! exchange texts. All of them then have the same texts, and make the same error.

use std::fmt::{self, Write};

use mpi::Rank;
use mpi::collective::SystemOperation;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use treedef::Path;

use crate::error::{Error, Mismatch};
use crate::ranks::Ranks;
use crate::signature::Signature;

/// The maximum number of different reports that are exchanged.
const MAX_REPORTS: usize = 8;
/// The maximum number of bytes of a report. A longer one is cut off.
const MAX_REPORT: usize = 1 << 22;

/// The operation of a rank as a number: equal on all ranks that do the same.
struct OperationCode(u128);

impl OperationCode {
    /// FNV-1a, which takes three lines in a peer in another language.
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    /// The fingerprint itself for a handshake, and otherwise a hash of the fingerprint and the report.
    fn of(fingerprint: u128, report: &Report<'_>) -> Self {
        if let Report::Handshake(_) = report {
            return OperationCode(fingerprint);
        }
        let mut code = OperationCode(OperationCode::START);
        code.feed(&fingerprint.to_le_bytes());
        // Feeding a code does not fail.
        let _ = write!(code, "{report}");
        code
    }

    fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(OperationCode::PRIME);
        }
    }

    /// The lower and the upper half.
    #[allow(clippy::cast_possible_truncation, reason = "each takes its half of the bits")]
    fn halves(self) -> [u64; 2] {
        [self.0 as u64, (self.0 >> 64) as u64]
    }
}

impl Write for OperationCode {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.feed(text.as_bytes());
        Ok(())
    }
}

/// The operation of a rank, or the reason why it cannot take part.
pub(crate) enum Report<'a> {
    Handshake(&'a Signature),
    Call(&'a dyn fmt::Display),
    Failed(&'a str),
    Left,
}

/// A word for the variant, and the content on the next line.
impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Handshake(signature) => write!(f, "handshake\n{signature}"),
            Report::Call(call) => write!(f, "call\n{call}"),
            Report::Failed(message) => write!(f, "failed\n{message}"),
            Report::Left => f.write_str("left\n"),
        }
    }
}

/// Returns nothing if all ranks with this fingerprint have this report, and otherwise the same error on all ranks.
pub(crate) fn agree(
    communicator: &impl Communicator,
    fingerprint: u128,
    report: &Report<'_>,
) -> Result<(), Error> {
    let halves = OperationCode::of(fingerprint, report).halves();
    let [low, high] = halves;
    // The greatest of all, and the complement of the smallest of all.
    let (mine, mut most) = ([low, high, !low, !high], [0u64; 4]);
    communicator.all_reduce_into(&mine, &mut most, SystemOperation::max());
    let [low, high, not_low, not_high] = most;
    match (report, (low, high) == (!not_low, !not_high)) {
        (Report::Handshake(_) | Report::Call(_) | Report::Left, true) => Ok(()),
        (Report::Failed(_), true) | (_, false) => {
            let mut groups = gather(communicator, halves);
            // Before all other reports: nobody may wait for these ranks in a later call.
            let left = OperationCode::of(fingerprint, &Report::Left).halves();
            if let Some(group) = groups.iter().find(|group| group.halves == left) {
                return Err(Error::Left(group.ranks.clone()));
            }
            groups.truncate(MAX_REPORTS);
            for group in &mut groups {
                if let Some(speaker) = group.ranks.as_slice().first() {
                    group.report = hear(communicator, *speaker, report);
                }
            }
            Err(error_of(&groups))
        }
    }
}

/// Ranks that are about to do the same.
struct Reporters {
    /// Their code.
    halves: [u64; 2],
    ranks: Ranks,
    report: String,
}

/// The ranks by their code, the same list on all of them, the most frequent first. Their reports are empty.
fn gather(communicator: &impl Communicator, halves: [u64; 2]) -> Vec<Reporters> {
    let ranks = usize::try_from(communicator.size()).unwrap_or(0);
    let mut codes = vec![0u64; ranks * 2];
    communicator.all_gather_into(&halves, &mut codes[..]);
    let (codes, _) = codes.as_chunks::<2>();
    let mut groups: Vec<Reporters> = Vec::new();
    for (rank, halves) in (0..).zip(codes) {
        match groups.iter_mut().find(|group| group.halves == *halves) {
            Some(group) => group.ranks.push(rank),
            None => {
                let (halves, ranks) = (*halves, vec![rank].into());
                groups.push(Reporters { halves, ranks, report: String::new() });
            }
        }
    }
    // Stable, so the lowest rank decides between groups of one size.
    groups.sort_by_key(|group| std::cmp::Reverse(group.ranks.as_slice().len()));
    groups
}

/// The report of one rank, on all ranks.
fn hear(communicator: &impl Communicator, speaker: Rank, report: &Report<'_>) -> String {
    let mut bytes =
        if communicator.rank() == speaker { BoundedText::of(report) } else { Vec::new() };
    let root = communicator.process_at_rank(speaker);
    let mut length = bytes.len() as u64;
    root.broadcast_into(&mut length);
    bytes.resize(usize::try_from(length).unwrap_or(MAX_REPORT).min(MAX_REPORT), 0);
    // To MPI, the pointer of an empty slice of bytes has a special meaning.
    if !bytes.is_empty() {
        root.broadcast_into(&mut bytes[..]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The first bytes of a text.
struct BoundedText(Vec<u8>);

impl BoundedText {
    fn of(text: &impl fmt::Display) -> Vec<u8> {
        let mut bounded = BoundedText(Vec::new());
        // An error means that the limit is reached.
        let _ = write!(bounded, "{text}");
        bounded.0
    }
}

impl Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_REPORT.saturating_sub(self.0.len());
        self.0.extend(text.bytes().take(room));
        if text.len() > room { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The error that all ranks make from the same reports.
fn error_of(groups: &[Reporters]) -> Error {
    let texts = |tag: &'static str| {
        groups.iter().filter_map(move |group| {
            let (found, text) = group.report.split_once('\n')?;
            (found == tag).then(|| (group.ranks.clone(), brief(text, 1000)))
        })
    };
    if let Some((ranks, message)) = texts("failed").next() {
        return Error::Value { ranks, message };
    }
    let mut calls = texts("call");
    if let (Some((most, usual)), Some((others, unusual))) = (calls.next(), calls.next()) {
        return Error::Call { most, usual, others, unusual };
    }
    let Some((most, others)) = groups.split_first() else {
        debug_assert!(false, "no rank has reported");
        return Error::Structure(Vec::new());
    };
    let expected = most.signature();
    let mismatches = others.iter().map(|group| {
        let found = group.signature();
        let difference = expected.as_ref().zip(found.as_ref()).and_then(|(a, b)| a.difference(b));
        let (path, expected, found) = difference.unwrap_or_else(|| {
            // A text is too long, or not one that this release can read.
            let [expected, found] = [most, group].map(|group| brief(&group.report, 60));
            (Path::root(), format!("`{expected}`"), format!("`{found}`"))
        });
        let (most, others) = (most.ranks.clone(), group.ranks.clone());
        Mismatch { path, most, expected, others, found }
    });
    Error::Structure(mismatches.collect())
}

impl Reporters {
    fn signature(&self) -> Option<Signature> {
        Signature::parse(self.report.strip_prefix("handshake\n")?)
    }
}

/// The first characters of a text, in one line.
fn brief(text: &str, longest: usize) -> String {
    let mut chars = text.chars();
    let line = |char| if char == '\n' { ' ' } else { char };
    let mut brief: String = chars.by_ref().take(longest).map(line).collect();
    if chars.next().is_some() {
        brief.push('…');
    }
    brief
}
