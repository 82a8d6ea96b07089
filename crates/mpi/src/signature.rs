//! The data that ranks compare in a handshake: a structure, and the kinds of its leaves.

use std::fmt;
use std::ops::Range;

use serde::Serialize;
use treedef::__private::OrBug;
use treedef::{Fingerprint, Flattener, LeafKind, Path, Static, TreeDef};

/// The kinds of leaves. Their names must not change in any release, because ranks compare them.
const KINDS: [LeafKind; 10] = [
    LeafKind::F32,
    LeafKind::F64,
    LeafKind::U8,
    LeafKind::I8,
    LeafKind::U16,
    LeafKind::I16,
    LeafKind::U32,
    LeafKind::I32,
    LeafKind::U64,
    LeafKind::I64,
];

/// A structure whose leaves are floats, or integers of up to 64 bits.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) treedef: TreeDef,
    /// Kinds of neighbouring leaves, and their number.
    kinds: Vec<(LeafKind, usize)>,
}

impl Signature {
    pub(crate) fn of(
        flattener: &Flattener,
        example: &(impl Serialize + ?Sized),
    ) -> Result<Self, String> {
        let signature = flattener.signature(example).map_err(|error| error.to_string())?;
        let (treedef, leaves) = signature.into_parts();
        let runs = leaves.chunk_by(|a, b| a == b);
        let kinds = runs.filter_map(|run| Some((*run.first()?, run.len())));
        let signature = Signature { treedef, kinds: kinds.collect() };
        let counted: usize = signature.kinds.iter().map(|(_, count)| count).sum();
        debug_assert_eq!(counted, signature.treedef.num_leaves(), "a leaf has no kind");
        let other = signature.runs().find(|(kind, _)| !KINDS.contains(kind));
        match other {
            None => Ok(signature),
            Some((kind, leaves)) => Err(format!(
                "expected a float, or an integer of up to 64 bits, found {kind} {} (what is equal on \
                 all ranks can be `treedef::as_static`; `treedef_mpi::gather` collects what is not)",
                place(&signature.treedef, leaves.start)
            )),
        }
    }

    /// The first leaf of a part that is an integer.
    pub(crate) fn integer_in(&self, part: &[Range<usize>]) -> Option<(LeafKind, usize)> {
        let first = part.first()?.start;
        let kind = self.runs().find(|(_, leaves)| leaves.contains(&first))?.0;
        Some((kind, first))
    }

    /// The kinds with the leaves that have them, in order.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (LeafKind, Range<usize>)> {
        self.kinds.iter().scan(0, |end, &(kind, count)| {
            let start = *end;
            *end += count;
            Some((kind, start..*end))
        })
    }

    pub(crate) fn fingerprint(&self) -> treedef::Result<Fingerprint> {
        let names: Vec<_> = self.kinds.iter().map(|(kind, count)| (kind.name(), count)).collect();
        let both = (self.treedef.fingerprint()?.to_bits(), names);
        treedef::structure(&Static(both))?.fingerprint()
    }

    /// Reads the text of another rank, within the limits of this crate.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (kinds, treedef) = text.split_once('\n')?;
        let treedef: TreeDef = treedef.parse().ok()?;
        let kinds = kinds.split(' ').filter(|run| !run.is_empty()).map(|run| {
            let (kind, count) = run.split_once(':')?;
            let kind = KINDS.into_iter().find(|of| of.name() == kind)?;
            Some((kind, count.parse().ok()?))
        });
        let kinds = kinds.collect::<Option<Vec<(LeafKind, usize)>>>()?;
        let total = kinds.iter().try_fold(0usize, |sum, (_, count)| sum.checked_add(*count))?;
        (total == treedef.num_leaves()).then_some(Signature { treedef, kinds })
    }

    /// The first path at which `found` differs, with both sides.
    pub(crate) fn difference(&self, found: &Signature) -> Option<(Path, String, String)> {
        if let Err(error) = found.treedef.check_equal(&self.treedef) {
            return Some(match error.differences().first() {
                Some(first) => (first.path.clone(), first.expected.clone(), first.found.clone()),
                None => (Path::root(), "another structure".to_owned(), error.to_string()),
            });
        }
        let (mut ours, mut theirs) = (self.runs(), found.runs());
        let (mut a, mut b) = (ours.next()?, theirs.next()?);
        loop {
            if a.0 != b.0 {
                let path = self.treedef.leaf_path(a.1.start.max(b.1.start)).ok().or_bug();
                return Some((path, a.0.to_string(), b.0.to_string()));
            }
            let end = a.1.end.min(b.1.end);
            if a.1.end == end {
                a = ours.next()?;
            }
            if b.1.end == end {
                b = theirs.next()?;
            }
        }
    }
}

/// The path of a leaf, for an error.
pub(crate) fn place(treedef: &TreeDef, leaf: usize) -> String {
    match treedef.leaf_path(leaf) {
        Ok(path) if !path.is_root() => format!("at `{path}`"),
        _ => "at the root".to_owned(),
    }
}

/// The text that [`Signature::parse`] reads: `f32:12 f64:1`, and the structure on the next line.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, count) in &self.kinds {
            write!(f, "{}:{count} ", kind.name())?;
        }
        write!(f, "\n{}", self.treedef)
    }
}
