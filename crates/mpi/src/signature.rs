//! What ranks compare in a handshake: a structure, and which leaves are `f32` and which `f64`.

use std::fmt;
use std::ops::Range;

use serde::Serialize;
use treedef::{Fingerprint, Flattener, LeafKind, Path, TreeDef, Value};

/// A structure whose leaves are floats.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) treedef: TreeDef,
    /// Kinds of neighbouring leaves, and how many they are.
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
        let other = signature.runs().find(|(kind, _)| !kind.is_float());
        match other {
            None => Ok(signature),
            Some((kind, leaves)) => Err(format!(
                "expected f32 or f64, found {kind} {} (mark it `treedef::as_static`, or use \
                 `Flattener::leaves_where`)",
                place(&signature.treedef, leaves.start)
            )),
        }
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
        let names: Vec<_> = self.kinds.iter().map(|(kind, count)| (name(*kind), count)).collect();
        let both = (self.treedef.fingerprint()?.to_bits(), names);
        TreeDef::static_value(Value::of(&both)?).fingerprint()
    }

    /// Reads the text of another rank, within the limits of this crate.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (kinds, treedef) = text.split_once('\n')?;
        let treedef: TreeDef = treedef.parse().ok()?;
        let kinds = kinds.split(' ').filter(|run| !run.is_empty()).map(|run| {
            let (kind, count) = run.split_once(':')?;
            let kind = [LeafKind::F32, LeafKind::F64].into_iter().find(|of| name(*of) == kind)?;
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
                let path = self.treedef.leaf_path(a.1.start.max(b.1.start)).ok()?;
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

/// The name in a text: that of the kind, which no other release may change.
fn name(kind: LeafKind) -> &'static str {
    match kind {
        LeafKind::F32 => "f32",
        LeafKind::F64 => "f64",
        _ => "other",
    }
}

/// Where a leaf is, for an error.
pub(crate) fn place(treedef: &TreeDef, leaf: usize) -> String {
    match treedef.leaf_path(leaf) {
        Ok(path) if !path.is_root() => format!("at `{path}`"),
        _ => "at the root".to_owned(),
    }
}

/// What [`Signature::parse`] reads: `f32:12 f64:1`, and the structure in the next line.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, count) in &self.kinds {
            write!(f, "{}:{count} ", name(*kind))?;
        }
        write!(f, "\n{}", self.treedef)
    }
}
