//! Names of a type and of its files, in both directions.

use crate::error::{ErrorKind, Result};
use crate::glob::RenameRules;

/// Renaming rules from the names of a type to the names in its files, and back.
///
/// [`Export::with_names`](crate::Export::with_names) and [`Loader::with_names`](crate::Loader::with_names)
/// accept the same names. Each rule has two patterns with the same wildcards in the same order, like
/// [`Loader::rename`](crate::Loader::rename). Each is applied to the result of the previous one, and in the
/// opposite order on the way back. A name that would not round-trip is refused, in both
/// directions.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use treedef::Tree;
/// use treedef_tensors::{Export, Loader, NameMapping};
///
/// type Model = BTreeMap<String, Vec<BTreeMap<String, [f32; 2]>>>;
/// let layer = |w| BTreeMap::from([("w".to_owned(), w)]);
/// let model = Model::from([("layers".to_owned(), vec![layer([1.0, 2.0]), layer([3.0, 4.0])])]);
///
/// let names = NameMapping::new().rename("layers", "model.h").rename("**.w", "**.weight");
/// let tree = Tree::of(&model)?;
/// let tensors = Export::new().with_names(&names).tensors(&tree)?;
/// let stored: Vec<&str> = tensors.iter().map(|(name, _)| name).collect();
/// assert_eq!(stored, ["model.h.0.weight", "model.h.1.weight"]);
/// assert_eq!(Loader::new().with_names(&names).load::<Model>(&tensors)?, model);
///
/// assert_eq!(names.in_file("layers.7.w")?, "model.h.7.weight");
/// assert_eq!(names.in_type("model.h.7.weight")?, "layers.7.w");
/// let error = names.in_file("layers.7.weight").unwrap_err();
/// assert!(error.to_string().ends_with("and their mirror renames that to `layers.7.w`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameMapping(Vec<(String, String)>);

impl NameMapping {
    /// The same names on both sides.
    pub fn new() -> Self {
        NameMapping::default()
    }

    /// Adds a rule: a pattern of the names of the type, and its replacement in files. Faults of the rule
    /// are reported when it is used.
    #[must_use]
    pub fn rename(mut self, name: &str, stored: &str) -> Self {
        self.0.push((name.to_owned(), stored.to_owned()));
        self
    }

    /// The name in files for a name of the type.
    ///
    /// # Errors
    ///
    /// Returns an error when a rule is wrong, or when the name would not round-trip.
    pub fn in_file(&self, name: &str) -> Result<String> {
        TwoWayRenames::new(self, ".")?.in_file(name, |_| {})
    }

    /// The name of the type for a name in a file.
    ///
    /// # Errors
    ///
    /// As [`in_file`](Self::in_file).
    pub fn in_type(&self, name: &str) -> Result<String> {
        TwoWayRenames::new(self, ".")?.in_type(name, |_| {})
    }

    pub(crate) fn rules(&self) -> &[(String, String)] {
        &self.0
    }
}

/// The rules, split into parts once for all names.
pub(crate) struct TwoWayRenames<'a> {
    in_file: RenameRules<'a>,
    in_type: RenameRules<'a>,
    /// The number of rules.
    count: usize,
}

impl<'a> TwoWayRenames<'a> {
    pub(crate) fn new(names: &'a NameMapping, separator: &'a str) -> Result<Self> {
        TwoWayRenames::of(&names.0, separator)
    }

    pub(crate) fn of(rules: &'a [(String, String)], separator: &'a str) -> Result<Self> {
        let in_file = rules.iter().map(|(name, stored)| (name, stored));
        let (in_file, in_type) = (RenameRules::new(in_file, separator)?, of_files(rules));
        Ok(TwoWayRenames {
            in_file,
            in_type: RenameRules::new(in_type, separator)?,
            count: rules.len(),
        })
    }

    /// The name in a file. The function is called with each rule that matches.
    pub(crate) fn in_file(&self, name: &str, mut matched: impl FnMut(usize)) -> Result<String> {
        let renamed = self.in_file.rename(name, |rule, _| matched(rule));
        let back = self.in_type.rename(&renamed, |_, _| {});
        expect_back(name, &renamed, &back).map(|()| renamed)
    }

    /// The name of the type. The function is called with each rule that matches.
    pub(crate) fn in_type(&self, name: &str, matched: impl FnMut(usize)) -> Result<String> {
        let renamed = self.renamed_in_type(name, matched);
        let back = self.in_file.rename(&renamed, |_, _| {});
        expect_back(name, &renamed, &back).map(|()| renamed)
    }

    /// The name of the type, without a check that it round-trips.
    pub(crate) fn renamed_in_type(&self, name: &str, mut matched: impl FnMut(usize)) -> String {
        self.in_type.rename(name, |rule, _| matched(self.count - 1 - rule)) // a rule is one of them
    }
}

/// The rules of the way from a file: the last one first.
pub(crate) fn of_files(rules: &[(String, String)]) -> impl Iterator<Item = (&String, &String)> {
    rules.iter().rev().map(|(name, stored)| (stored, name))
}

fn expect_back(name: &str, renamed: &str, back: &str) -> Result<()> {
    if name == back {
        return Ok(());
    }
    let what = format!(
        "the rules rename `{name}` to `{renamed}`, and their mirror renames that to `{back}`"
    );
    Err(ErrorKind::Rule(what).into())
}
