//! The public operations, as the sources have them.
//!
//! The parser goes by lines, as rustfmt writes them: an `impl` ends at the next `}` that is
//! indented like it. For example, in these lines it finds `TreeDef::compose`, if `lib.rs` exports
//! `TreeDef`, and `Display for Path`:
//!
//! ```text
//! impl TreeDef {
//!     pub fn compose(&self, inner: &TreeDef) -> Result<TreeDef> {
//!     }
//! }
//! impl fmt::Display for Path {
//! ```
//!
//! Each one needs a row in `table`, or a reason in [`EXEMPT`]. So a new operation fails the
//! test until somebody has decided.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::table;

/// Traits whose implementations are operations. The others convert between types or mark them.
const TRAITS: &[&str] = &[
    "Debug",
    "Deserialize",
    "Display",
    "FromStr",
    "Hash",
    "Iterator",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Serialize",
];

/// Operations that need no row.
pub(crate) const EXEMPT: &[(&str, &str)] = &[
    ("Display for DifferenceKind", "a kind"),
    ("FromStr for DifferenceKind", "a kind"),
    ("Flattener::tree", "as `Flattener::flatten`"),
    ("Flattener::flatten_objects", "as `flatten_objects`"),
    ("Flattener::flatten_objects_like", "as `Flattener::flatten_like` and `flatten_objects`"),
    ("Display for Object", "no structure"),
    ("Serialize for Object", "as `flatten_objects`"),
    ("Deserialize for Object", "as `unflatten_objects`"),
    ("Flattener::tree_as", "as `Flattener::flatten_as`"),
    ("Tree::of_as", "as `flatten_as`"),
    ("Debug for Error", "every error that a case meets is printed"),
    ("Display for Error", "every error that a case meets is printed"),
    ("Error::custom", "the message is the caller's"),
    ("Error::file", "gives what is there"),
    ("Error::hint", "gives what is there"),
    ("Error::is_not_found", "a kind"),
    ("Debug for Fingerprint", "prints a number"),
    ("Display for Fingerprint", "prints a number"),
    ("FromStr for Fingerprint", "reads a number"),
    ("Fingerprint::from_bits", "a number"),
    ("Fingerprint::to_bits", "a number"),
    ("Debug for TreeReader", "prints a file's name and a structure"),
    (
        "TreeReader::open",
        "reads a file; `tests/persist` reads each of its hostile files by parts, too",
    ),
    ("TreeReader::new", "as `TreeReader::open`"),
    ("TreeReader::treedef", "lends what is there"),
    ("TreeReader::subtree", "as `TreeReader::open`"),
    ("TreeReader::subtree_as", "as `TreeReader::open`"),
    ("TreeReader::subtrees", "lazy; each is as `TreeReader::subtree`"),
    ("Array::as_slice", "lends what is there"),
    ("Array::dtype", "gives what is there"),
    ("Array::is_column_major", "gives what is there"),
    ("Array::map", "as many numbers as there are"),
    ("Array::other_leaves", "lends what is there"),
    ("Array::shape", "lends what is there"),
    ("Array::to_tree", "as many leaves as there are numbers"),
    ("Array::with_numbers", "as many numbers as there are"),
    ("Array::zip", "as many numbers as there are"),
    ("Debug for Array", "prints the shape"),
    ("Display for Array", "prints the shape"),
    ("Dtype::name", "a type"),
    ("Dtype::size", "a type"),
    ("Display for Dtype", "a type"),
    ("Flattener::arrays", "sets a switch; as `Tree::with_arrays`"),
    ("Leaf::as_array", "lends what is there"),
    ("Value::as_array", "lends what is there"),
    ("Leaf::as_bool", "one scalar"),
    ("Leaf::as_bytes", "lends what is there"),
    ("Leaf::as_f64", "one scalar"),
    ("Leaf::as_i128", "one scalar"),
    ("Leaf::as_i64", "one scalar"),
    ("Leaf::as_u128", "one scalar"),
    ("Leaf::as_u64", "one scalar"),
    ("LeafKind::is_float", "a kind"),
    ("LeafKind::is_integer", "a kind"),
    ("LeafKind::is_number", "a kind"),
    ("LeafKind::name", "a kind"),
    ("Display for LeafKind", "a kind"),
    ("FromStr for LeafKind", "a kind"),
    ("NodeKind::is_variant", "a kind"),
    ("Display for NodeKind", "a kind"),
    ("Display for Kinds", "kinds"),
    ("Structures::deserialize_with", "as `Structures` from a document, which its own tests damage"),
    ("Structures::documents", "a number"),
    ("Structures::first_alike", "a number"),
    ("Structures::max_structures", "sets a number"),
    ("Structures::new", "takes nothing"),
    ("Structures::next_index", "a number"),
    ("Structures::set_next_index", "sets a number"),
    ("Path::pop", "one key"),
    ("Path::push", "one key"),
    ("Packed::get", "a number"),
    ("NodeKind::is_atom", "a kind"),
    ("TreeDefBuilder::new", "takes nothing"),
    ("TreeDefBuilder::limits", "sets limits"),
    ("TreeDefBuilder::leaves", "as `TreeDefBuilder::open`"),
    ("TreeDefBuilder::field", "as `TreeDefBuilder::open`"),
    ("TreeDefBuilder::key", "as `TreeDefBuilder::open`"),
    ("TreeDefBuilder::static_value", "as `TreeDefBuilder::open`"),
    ("TreeDefBuilder::insert", "as `TreeDefBuilder::open`"),
    ("TreeDefBuilder::close", "as `TreeDefBuilder::open`"),
    ("TreeDefBuilder::finish", "as `TreeDefBuilder::open`"),
    ("Debug for TreeDefBuilder", "a number"),
    ("TreeSeed::new", "takes limits"),
    ("TreeDef::with_limits", "whoever lifts the limits has asked for it"),
];

/// The operations of a source, with the file of each.
#[derive(Default)]
pub(crate) struct Operations {
    /// Operations that need a row.
    public: BTreeMap<String, String>,
    /// Operations that may have one: derived traits, and operations of features that are off.
    optional: BTreeSet<String>,
}

/// Those of the core, and of the members that are built on its insides.
pub(crate) fn public_operations() -> Operations {
    let mut operations = Operations::default();
    for member in ["src", "crates/structures/src"] {
        operations.read_member(&Path::new(env!("CARGO_MANIFEST_DIR")).join(member));
    }
    operations
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    all.sort();
    all
}

/// The names that `lib.rs` exports.
fn exported(lib: &str) -> BTreeSet<String> {
    let uses = lib.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let words = uses.flat_map(|list| list.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.map(str::to_owned).collect()
}

/// An `impl` that is being read.
struct Block {
    indent: usize,
    /// The type, or none if it is not exported.
    of: Option<String>,
}

impl Operations {
    fn read_member(&mut self, root: &Path) {
        let exported = exported(&fs::read_to_string(root.join("lib.rs")).unwrap());
        for file in files(root) {
            let name = file.strip_prefix(root).unwrap().display().to_string();
            if name == "__private.rs" {
                continue; // not part of the public face
            }
            let text = fs::read_to_string(&file).unwrap();
            let is_off = name.starts_with("files/") && !cfg!(feature = "persist");
            self.read(&name, &text, &exported, is_off);
        }
    }

    fn read(&mut self, file: &str, text: &str, exported: &BTreeSet<String>, is_off: bool) {
        let mut block: Option<Block> = None;
        let mut header = String::new(); // of an `impl` that goes on in the next line
        let (mut derived, mut feature_is_off) = (Vec::new(), false);
        for line in text.lines() {
            let code = line.trim_start();
            let indent = line.len() - code.len();
            if code.starts_with("//") || code.is_empty() {
                continue;
            }
            if !header.is_empty() || code.starts_with("impl<") || code.starts_with("impl ") {
                if header.is_empty() {
                    block = Some(Block { indent, of: None });
                }
                header += " ";
                header += code;
                if code.ends_with('{') || code.ends_with("{}") {
                    let of = self.open(file, &std::mem::take(&mut header), exported, is_off);
                    if code.ends_with("{}") {
                        block = None;
                    } else {
                        block.iter_mut().for_each(|block| block.of = of.clone());
                    }
                }
                continue;
            }
            if let Some(list) = code.strip_prefix("#[derive(") {
                derived = words(list.split(")]").next().unwrap_or_default());
            } else if let Some(feature) = code.strip_prefix("#[cfg(feature = \"") {
                feature_is_off = feature.starts_with("in_place") && !cfg!(feature = "in_place");
            } else if let Some(name) = declared(code, &["pub struct ", "pub enum "]) {
                self.optional
                    .extend(derived.drain(..).map(|derived| format!("{derived} for {name}")));
            } else if let Some(name) =
                declared(code, &["pub fn ", "pub const fn ", "pub async fn ", "pub unsafe fn "])
            {
                let operation = match &block {
                    Some(block) => block.of.as_ref().map(|of| format!("{of}::{name}")),
                    None => (indent == 0 && exported.contains(name)).then(|| name.to_owned()),
                };
                if let Some(operation) = operation {
                    self.add(operation, file, is_off || feature_is_off);
                }
                feature_is_off = false;
            } else if code == "}" && block.as_ref().is_some_and(|block| block.indent == indent) {
                block = None;
            }
        }
    }

    fn add(&mut self, operation: String, file: &str, is_off: bool) {
        if is_off {
            self.optional.insert(operation);
        } else {
            self.public.insert(operation, file.to_owned());
        }
    }

    /// The exported type of the header of an `impl`.
    fn open(
        &mut self,
        file: &str,
        header: &str,
        exported: &BTreeSet<String>,
        is_off: bool,
    ) -> Option<String> {
        let header = without_generics(header);
        let header = header.trim().strip_prefix("impl")?.trim_end_matches(['{', '}', ' ']);
        let header = header.split(" where").next().unwrap_or_default();
        // Code from a macro has the name that the macro assigns.
        let is_exported = |name: &str| name.starts_with('$') || exported.contains(name);
        match header.split_once(" for ") {
            Some((of_trait, name)) => {
                let (of_trait, name) = (last(of_trait), last(name));
                if TRAITS.contains(&of_trait) && exported.contains(name) {
                    self.add(format!("{of_trait} for {name}"), file, is_off);
                }
                None
            }
            None => Some(last(header).to_owned()).filter(|name| is_exported(name)),
        }
    }
}

/// The name after one of some words.
fn declared<'c>(code: &'c str, words: &[&str]) -> Option<&'c str> {
    let rest = words.iter().find_map(|word| code.strip_prefix(word))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next()
}

fn words(list: &str) -> Vec<String> {
    list.split(',').map(|word| last(word).to_owned()).collect()
}

/// The last name of a path.
fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or_default().trim()
}

/// The text without angle brackets and their content.
fn without_generics(text: &str) -> String {
    let (mut depth, mut before) = (0usize, ' ');
    let mut rest = String::new();
    for c in text.chars() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => rest.push(c),
            _ => {}
        }
        before = c;
    }
    rest
}

/// The missing and the superfluous rows of a table.
pub(crate) fn compare(operations: &Operations, rows: &[&str]) -> Vec<String> {
    let rows_and_exempt: Vec<&str> =
        rows.iter().copied().chain(EXEMPT.iter().map(|(name, _)| *name)).collect();
    let missing = operations.public.iter().filter(|(name, _)| !rows_and_exempt.contains(&&***name));
    let mut wrong: Vec<String> = missing
        .map(|(name, file)| {
            format!(
                "add a row for `{name}` of src/{file} to a file in tests/hostile_structures/table, or exempt it with a \
                 reason in `EXEMPT` of tests/hostile_structures/source.rs"
            )
        })
        .collect();
    let known =
        |name: &str| operations.public.contains_key(name) || operations.optional.contains(name);
    let gone = rows_and_exempt.iter().filter(|name| !known(name));
    wrong.extend(gone.map(|name| format!("remove `{name}`, which the sources no longer have")));
    let twice = rows_and_exempt
        .iter()
        .enumerate()
        .filter(|(at, name)| rows_and_exempt[..*at].contains(name));
    wrong.extend(twice.map(|(_, name)| format!("`{name}` occurs twice")));
    wrong
}

#[test]
fn a_new_operation_is_missed() {
    let mut operations = public_operations();
    let rows: Vec<&str> = table::names();
    // Another test reports faults of the sources.
    let already = compare(&operations, &rows);
    let text = "\
/// A thing.
#[derive(Clone, Debug)]
pub struct Private;

impl<L, M> Tree<L>
where
    L: Fn(M) -> Tree<L>,
{
    /// pub fn not_this(self)
    #[inline]
    pub fn flip<M>(self) -> Tree<M> {
        fn inside() {}
    }

    pub(crate) fn hidden(self) {}
}

impl fmt::Display for Path {
    fn fmt(&self) {}
}

impl<'a> fmt::LowerHex for NodeRef<'a> {}

impl Private {
    pub fn nobody_sees_this() {}
}

pub const fn flatten() {}

pub fn not_exported() {}
";
    operations.read(
        "new.rs",
        text,
        &exported("pub use crate::{flatten, Tree, Path, NodeRef};"),
        false,
    );
    let new = |operations: &Operations, rows: &[&str]| {
        let mut wrong = compare(operations, rows);
        wrong.retain(|line| !already.contains(line));
        wrong
    };
    let wrong = new(&operations, &rows);
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("add a row for `Tree::flip` of src/new.rs"));

    let mut others = rows;
    others.retain(|row| *row != "TreeDef::compose");
    others.push("TreeDef::decompose");
    let wrong = new(&public_operations(), &others);
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong[0].contains("add a row for `TreeDef::compose` of src/treedef/methods.rs"));
    assert!(wrong[1].contains("remove `TreeDef::decompose`"));
}
