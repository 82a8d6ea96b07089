//! `Serialize` and `Deserialize` of counted structures, so that parts can be merged later.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use treedef::__private::{beyond_depth, invalid, unknown_text};
use treedef::{Error, LeafKind, Limits, Result, Tree, TreeDef};

use crate::count::{Entry, MOST_STRUCTURES, Occurrences, Structures};
use crate::recorder::{DEEPEST_STRUCTURE, Folds};
use crate::structure::{Collection, Kinds, Structure, StructureLeaf};
use crate::view;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    fold_lengths: bool,
    fold_keys: Option<usize>,
    fold_widths: bool,
    fold_numbers: bool,
    next_index: u64,
    structures: Vec<EntryRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryRecord {
    structure: Vec<StructurePart>,
    count: u64,
    first: u64,
    last: u64,
    example: Option<(u64, String)>,
}

/// The text of a treedef, and its leaves. After each folded leaf, the structures of its elements
/// follow. So the document has a fixed nesting, however deep the structure is.
type StructurePart = (String, Vec<PartLeaf>);

#[derive(Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[derive(Clone)]
enum PartLeaf {
    /// As text `u64`.
    Scalar(Kinds),
    /// As text `seq 0 512 2`: the lengths, and the number of elements that follow.
    Folded { is_map: bool, shortest: u64, longest: u64, elements: usize },
}

impl From<PartLeaf> for String {
    fn from(leaf: PartLeaf) -> Self {
        leaf.to_string()
    }
}

impl TryFrom<String> for PartLeaf {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl fmt::Display for PartLeaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartLeaf::Scalar(kinds) => kinds.fmt(f),
            PartLeaf::Folded { is_map, shortest, longest, elements } => {
                let kind = if *is_map { "map" } else { "seq" };
                write!(f, "{kind} {shortest} {longest} {elements}")
            }
        }
    }
}

impl FromStr for PartLeaf {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let kinds = match text {
            "int" => Some(Kinds::Integers),
            "float" => Some(Kinds::Floats),
            "number" => Some(Kinds::Numbers),
            _ => text.parse::<LeafKind>().ok().map(Kinds::One),
        };
        let leaf = kinds.map(PartLeaf::Scalar).or_else(|| folded(text));
        leaf.ok_or_else(|| unknown_text("the leaf of a structure", text))
    }
}

fn folded(text: &str) -> Option<PartLeaf> {
    let (kind, rest) = text.split_once(' ')?;
    let (shortest, rest) = rest.split_once(' ')?;
    let (longest, elements) = rest.split_once(' ')?;
    let (shortest, longest) = (shortest.parse().ok()?, longest.parse().ok()?);
    let elements = elements.parse().ok()?;
    let is_valid = shortest <= longest && (longest == 0) == (elements == 0);
    let is_map = kind == "map";
    (is_valid && (is_map || kind == "seq")).then_some(PartLeaf::Folded {
        is_map,
        shortest,
        longest,
        elements,
    })
}

/// Appends a structure as parts. The recursion is as deep as the folded parts.
fn write_parts(structure: &Structure, parts: &mut Vec<StructurePart>) {
    let folded = |is_map, folded: &Collection| {
        let Collection { shortest, longest, ref elements } = *folded;
        PartLeaf::Folded { is_map, shortest, longest, elements: elements.len() }
    };
    let leaf = |leaf: &StructureLeaf| match leaf {
        StructureLeaf::Scalar(kinds) => PartLeaf::Scalar(*kinds),
        StructureLeaf::Seq(it) => folded(false, it),
        StructureLeaf::Map(it) => folded(true, it),
    };
    parts.push((structure.treedef().to_string(), structure.leaves().iter().map(leaf).collect()));
    for leaf in structure.leaves() {
        if let StructureLeaf::Seq(folded) | StructureLeaf::Map(folded) = leaf {
            folded.elements.iter().for_each(|element| write_parts(element, parts));
        }
    }
}

fn invalid_record(reason: &'static str) -> Error {
    invalid("structures", reason)
}

/// Reads the next structure, at most `deepest` foldings deep.
fn read_parts(
    parts: &mut impl Iterator<Item = StructurePart>,
    deepest: usize,
    limits: Limits,
) -> Result<Structure> {
    let missing = || invalid_record("a part of a structure is missing");
    let (treedef, leaves) = parts.next().ok_or_else(missing)?;
    let inside = deepest.checked_sub(1).ok_or_else(|| beyond_depth(DEEPEST_STRUCTURE))?;
    let leaf = |leaf| match leaf {
        PartLeaf::Scalar(kinds) => Ok(StructureLeaf::Scalar(kinds)),
        PartLeaf::Folded { is_map, shortest, longest, elements } => {
            let elements =
                (0..elements).map(|_| read_parts(parts, inside, limits)).collect::<Result<_>>()?;
            let folded = Arc::new(Collection { shortest, longest, elements });
            Ok(if is_map { StructureLeaf::Map(folded) } else { StructureLeaf::Seq(folded) })
        }
    };
    let leaves = leaves.into_iter().map(leaf).collect::<Result<_>>()?;
    Tree::new(TreeDef::parse_with(&treedef, limits)?, leaves)
}

impl Structures {
    fn to_record(&self) -> Result<Record> {
        let clean = self.clean()?;
        let entry = |Entry { root, pools, seen }: &Entry| {
            let mut structure = Vec::new();
            write_parts(&view::structure(&clean.recorder.interner, *root, pools)?, &mut structure);
            let Occurrences { count, first, last, ref example } = *seen;
            let example = example.as_ref().map(|(index, value)| (*index, value.to_string()));
            Ok(EntryRecord { structure, count, first, last, example })
        };
        let Folds { lengths, keys, widths, numbers } = self.recorder.folds;
        Ok(Record {
            fold_lengths: lengths,
            fold_keys: keys,
            fold_widths: widths,
            fold_numbers: numbers,
            next_index: self.next_index,
            structures: clean.entries.iter().map(entry).collect::<Result<_>>()?,
        })
    }

    fn from_record(record: Record, limits: Limits) -> Result<Self> {
        let folds = Folds {
            lengths: record.fold_lengths,
            keys: record.fold_keys,
            widths: record.fold_widths,
            numbers: record.fold_numbers,
        };
        let most = record.structures.len().max(MOST_STRUCTURES);
        let mut structures = Structures::with(folds, limits, most);
        for EntryRecord { structure, count, first, last, example } in record.structures {
            if count == 0 || first > last {
                return Err(invalid_record("a structure that no document has"));
            }
            let mut parts = structure.into_iter();
            let structure = read_parts(&mut parts, DEEPEST_STRUCTURE + 1, limits)?;
            if parts.next().is_some() {
                return Err(invalid_record("a structure has a part too many"));
            }
            let parsed = |(index, text): (u64, String)| Ok::<_, Error>((index, text.parse()?));
            let example = example.map(parsed).transpose()?;
            structures.insert(&structure, &Occurrences { count, first, last, example })?;
        }
        (structures.next_index, structures.last) = (record.next_index, None);
        Ok(structures.checked())
    }

    /// Reads counts that were saved with other [`limits`](Self::limits) than the default.
    ///
    /// # Errors
    ///
    /// Returns an error when it is not such a record, or exceeds the limits.
    ///
    /// ```
    /// use treedef::{Limits, TreeDef};
    /// use treedef_structures::Structures;
    ///
    /// let limits = Limits { max_depth: 200, ..Limits::default() };
    /// let text = format!("{}1{}", "[".repeat(150), "]".repeat(150));
    /// let document = treedef::Tree::new(
    ///     TreeDef::parse_with(&text.replace('1', "*"), limits)?,
    ///     vec![treedef::Leaf::from(1u64)],
    /// )?;
    /// let mut structures = Structures::new().limits(limits);
    /// structures.add(&document)?;
    ///
    /// let saved = serde_json::to_string(&structures)?;
    /// assert!(serde_json::from_str::<Structures>(&saved).is_err());
    /// let mut json = serde_json::Deserializer::from_str(&saved);
    /// assert_eq!(Structures::deserialize_with(&mut json, limits)?, structures);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deserialize_with<'de, D: Deserializer<'de>>(
        deserializer: D,
        limits: Limits,
    ) -> Result<Self, D::Error> {
        let record = Record::deserialize(deserializer)?;
        Structures::from_record(record, limits).map_err(de::Error::custom)
    }
}

/// Serializes the counts and the folding options. Limits are left out.
///
/// ```
/// use treedef_structures::Structures;
///
/// let mut structures = Structures::new().fold_lengths(true);
/// structures.add(&serde_json::from_str("[1, 2]")?)?;
/// let text = serde_json::to_string(&structures)?;
/// assert_eq!(serde_json::from_str::<Structures>(&text)?, structures);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Serialize for Structures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_record().map_err(ser::Error::custom)?.serialize(serializer)
    }
}

/// Reads structures with [`Limits::default`], or by [`Structures::deserialize_with`] with others.
impl<'de> Deserialize<'de> for Structures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Structures::deserialize_with(deserializer, Limits::default())
    }
}
