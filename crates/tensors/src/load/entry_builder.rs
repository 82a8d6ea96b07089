//! The tensors and texts of a source, under their names after the rules.

use std::borrow::Cow;
use std::collections::HashSet;

use treedef::TreeDef;

use crate::error::{Error, ErrorKind, Result};
use crate::glob::{Glob, RenameRule, RenameRules, parts};
use crate::literal::NO_ELEMENTS;
use crate::load::empty_values::EmptyValues;
use crate::load::entry::{ArrayView, Content, LoadEntry, Origin, element_budget};
use crate::load::rules::{Rule, StackAxis};
use crate::load::tensor_reader::TensorReader;
use crate::name_mapping::{TwoWayRenames, of_files};
use crate::numpy_type::NumpyType;
use crate::shape::MAX_DIMS;
use crate::source::{Source, StoredTensor};
use crate::structure::{RENAMES, STRUCTURE, VALUES, ValueTexts, read_renames, structure_of};

/// The maximum number of texts of an array. Each has a name here.
const MOST_TEXTS: usize = 1 << 18;

/// A tensor or a text, and its changes by the rules.
#[derive(Clone)]
struct EntryBuilder<'t> {
    name: Cow<'t, str>,
    original: Cow<'t, str>,
    content: RawContent<'t>,
    origin: Origin,
    tie: Option<usize>,
    /// Whether a rule gave the tensor this name as an additional one.
    is_alias: bool,
    transposed: bool,
    column_major: bool,
}

#[derive(Clone)]
enum RawContent<'t> {
    Tensor(&'t StoredTensor<'t>),
    Text(Cow<'t, str>),
}

impl<'t> EntryBuilder<'t> {
    fn new(name: Cow<'t, str>, content: RawContent<'t>, origin: Origin) -> Self {
        let (original, tie) = (name.clone(), None);
        let (is_alias, transposed, column_major) = (false, false, false);
        EntryBuilder { name, original, content, origin, tie, is_alias, transposed, column_major }
    }

    /// Adds the entry, or one for each text of an array.
    fn build(self, separator: &str, to: &mut Vec<LoadEntry<'t>>) -> Result<()> {
        let content = match self.content {
            RawContent::Tensor(stored) => match stored.descriptor().numpy() {
                Some(numpy) if stored.descriptor().unread().is_none() => {
                    return self.build_texts(stored, numpy, separator, to);
                }
                _ => {
                    let new =
                        if self.column_major { ArrayView::by_columns } else { ArrayView::new };
                    Content::Array(new(TensorReader::new(stored)?, self.transposed))
                }
            },
            RawContent::Text(text) => Content::Text(text),
        };
        let entry = LoadEntry::new(self.name, self.original, content, self.origin, self.tie);
        to.push(LoadEntry { is_alias: self.is_alias, ..entry });
        Ok(())
    }

    /// Adds the texts of an array of numpy, under the names of a sequence of texts.
    fn build_texts(
        &self,
        stored: &StoredTensor<'_>,
        numpy: &NumpyType,
        separator: &str,
        to: &mut Vec<LoadEntry<'t>>,
    ) -> Result<()> {
        let shape = stored.descriptor().shape();
        if self.transposed || self.column_major {
            let what = format!("`{}`, {}, has no numbers", self.name, stored.descriptor());
            return Err(ErrorKind::Rule(what).into());
        }
        let texts = stored.elements(numpy)?;
        if texts.len() > MOST_TEXTS {
            let what = format!(
                "`{}` is {}, of which {MOST_TEXTS} are read into types (`Loader::ignore` leaves it out, `StoredTensor::tree` reads it)",
                self.name,
                stored.descriptor()
            );
            return Err(ErrorKind::limit("texts", what).into());
        }
        let mut put = |name: String, original: String, text: String| {
            let content = Content::Text(Cow::Owned(text));
            to.push(LoadEntry::new(name.into(), original.into(), content, self.origin, self.tie));
        };
        if texts.is_empty() {
            put(self.name.to_string(), self.original.to_string(), NO_ELEMENTS.to_owned());
        }
        for (mut at, text) in texts.iter().enumerate() {
            let mut indices = Vec::with_capacity(shape.len());
            for dim in shape.iter().rev() {
                indices.push(at.checked_rem(*dim).unwrap_or(0).to_string());
                at = at.checked_div(*dim).unwrap_or(0);
            }
            indices.reverse();
            let named = |name: &str| {
                let parts = [name].into_iter().filter(|name| !name.is_empty());
                parts.chain(indices.iter().map(String::as_str)).collect::<Vec<_>>().join(separator)
            };
            put(named(&self.name), named(&self.original), text.to_string());
        }
        Ok(())
    }
}

/// The tensors and texts under their names after the rules.
pub(crate) fn entries<'t>(
    source: &'t Source<'t>,
    rules: &'t [Rule],
    stacks: &[StackAxis<'_>],
    separator: &'t str,
) -> Result<Vec<LoadEntry<'t>>> {
    let structure = structure_of(source.metadata(STRUCTURE), source.iter().len() > 0);
    let mut all = tensors(source)?;
    all.extend(texts(source, structure.as_ref(), rules, separator)?);
    let structure = structure.filter(|_| !source.is_part());
    let renames = read_renames(source.metadata(RENAMES).filter(|_| structure.is_some()))?;
    let in_file = RenameRules::new(renames.iter().map(|(from, to)| (from, to)), separator)?;
    let in_file = |name: &str| in_file.rename(name, |_, _| {});
    // The names in the structure are the names in the file before `Export::rename`. If the file
    // does not record how it was renamed, they may be names after the rules.
    let mut found = HashSet::new();
    for (at, rule) in rules.iter().map(Some).chain([None]).enumerate() {
        if let Some(treedef) = structure.as_ref().filter(|_| at == 0 || renames.is_empty()) {
            let empties = empties(treedef, &all, stacks, separator, &in_file)?.into_iter();
            all.extend(empties.filter(|it| found.insert(it.original.clone())));
        }
        if let Some(rule) = rule {
            apply(rule, &mut all, separator)?;
        }
    }
    // If the rules undo the renaming, the names are the names in the structure, also for parts
    // without a tensor, whose names the rules may not change.
    let is_undone = |it: &EntryBuilder<'_>| in_file(&it.name) == it.original;
    let of_file = |it: &&EntryBuilder<'_>| it.origin == Origin::Value && !it.is_alias;
    if !renames.is_empty() && all.iter().filter(of_file).all(is_undone) {
        for it in all.iter_mut().filter(|it| it.origin == Origin::Structure) {
            it.name = it.original.clone();
        }
    }
    // Another program may have put a tensor there, and kept the structure.
    let of_value = all.iter().filter(|it| it.origin == Origin::Value);
    let both = |it: &EntryBuilder<'t>| (it.name.to_string(), it.original.to_string());
    let names: HashSet<_> = of_value.map(both).collect();
    all.retain(|it| it.origin != Origin::Structure || !names.contains(&both(it)));
    let mut entries = Vec::with_capacity(all.len());
    all.into_iter().try_for_each(|it| it.build(separator, &mut entries))?;
    Ok(entries)
}

/// A tensor under its name after the rules of a load.
pub(crate) struct NamedTensor<'t> {
    pub(crate) name: Cow<'t, str>,
    pub(crate) stored: &'t StoredTensor<'t>,
    /// Whether it is stored under another name: a rule or the file ties the two.
    pub(crate) is_tied: bool,
    pub(crate) transposed: bool,
}

/// The tensors under their names after the rules, without the metadata.
pub(crate) fn named_tensors<'t>(
    source: &'t Source<'t>,
    rules: &'t [Rule],
    separator: &'t str,
) -> Result<Vec<NamedTensor<'t>>> {
    let mut all = tensors(source)?;
    rules.iter().try_for_each(|rule| apply(rule, &mut all, separator))?;
    let renamed = all.into_iter().filter_map(|it| match it.content {
        RawContent::Tensor(stored) => {
            let is_tied = it.is_alias || it.original != stored.name();
            Some(NamedTensor { name: it.name, stored, is_tied, transposed: it.transposed })
        }
        RawContent::Text(_) => None,
    });
    Ok(renamed.collect())
}

fn tensors<'t>(source: &'t Source<'t>) -> Result<Vec<EntryBuilder<'t>>> {
    let stored = source.iter().zip(0..).map(|(stored, at)| (stored.name(), stored, at));
    let tied = source.tied().map(|(alias, at, stored)| (alias, stored, at));
    let all = stored.chain(tied).map(|(name, stored, at)| {
        let dims = stored.descriptor().shape().len();
        if dims > MAX_DIMS {
            let what = format!("`{name}` has {dims} dimensions, the limit is {MAX_DIMS}");
            return Err(ErrorKind::limit("dimensions", what).into());
        }
        Ok(EntryBuilder {
            tie: Some(at),
            ..EntryBuilder::new(Cow::Borrowed(name), RawContent::Tensor(stored), Origin::Value)
        })
    });
    all.collect()
}

/// The texts of the metadata, without the aliases of tensors.
fn texts<'t>(
    source: &'t Source<'t>,
    structure: Option<&TreeDef>,
    rules: &[Rule],
    separator: &str,
) -> Result<Vec<EntryBuilder<'t>>> {
    let aliases: HashSet<&str> = source.aliases().map(|(alias, _)| alias).collect();
    let texts = source.texts().iter().filter(|(key, _)| !aliases.contains(key.as_str()));
    let texts: Vec<&'t (String, String)> = texts.collect();
    let of_value = ValueTexts::of(structure, source.metadata(VALUES).is_some());
    let is_of_value = |name: &str, text: &str| {
        of_value.contains(parts(name, separator).first().copied().unwrap_or_default(), text)
    };
    let renames = rules.iter().flat_map(|rule| match rule {
        Rule::Rename { from, to, .. } => vec![(from, to)],
        Rule::Names(names) => of_files(names.rules()).collect(),
        _ => Vec::new(),
    });
    let renames = RenameRules::new(renames, separator)?;
    let text = |(key, text): &'t (String, String)| {
        let mut is_value = is_of_value(key, text);
        renames.rename(key, |_, name| is_value |= is_of_value(&name.join(separator), text));
        let origin = if is_value { Origin::Value } else { Origin::File };
        EntryBuilder::new(Cow::Borrowed(key), RawContent::Text(Cow::Borrowed(text)), origin)
    };
    Ok(texts.into_iter().map(text).collect())
}

/// The parts that the structure has and no tensor, under their names in the file.
fn empties<'t>(
    structure: &TreeDef,
    all: &[EntryBuilder<'_>],
    stacks: &[StackAxis<'_>],
    separator: &str,
    in_file: &dyn Fn(&str) -> String,
) -> Result<Vec<EntryBuilder<'t>>> {
    let of_file = all.iter().filter(|it| it.origin != Origin::Structure);
    let names: HashSet<&str> = of_file.map(|it| it.name.as_ref()).collect();
    let is_there = |name: &str| names.contains(&*in_file(name));
    let is_stacked = |name: &str| stacks.iter().any(|stack| stack.has(name, separator));
    let left = element_budget(all.len());
    let mut empties = EmptyValues {
        separator,
        is_there: &is_there,
        is_stacked: &is_stacked,
        left,
        parts: Vec::new(),
        found: Vec::new(),
    };
    if empties.add(structure.root(), false).is_none() {
        // The axes of stacked tensors have the number of elements.
        if !stacks.is_empty() {
            return Ok(Vec::new());
        }
        let what = format!("the structure in the metadata has more than {left} empty values");
        return Err(ErrorKind::limit("empty values", what).into());
    }
    let found = empties.found.into_iter().map(|(name, text)| {
        let renamed = Cow::Owned(in_file(&name));
        let content = RawContent::Text(Cow::Owned(text));
        EntryBuilder {
            name: renamed,
            ..EntryBuilder::new(Cow::Owned(name), content, Origin::Structure)
        }
    });
    Ok(found.collect())
}

/// Applies a rule to the parts of the value. It has to match some of them, unless the rule may match
/// nothing.
fn apply<'t>(rule: &'t Rule, all: &mut Vec<EntryBuilder<'t>>, separator: &'t str) -> Result<()> {
    let mut of_value = all.iter_mut().filter(|it| it.origin != Origin::File);
    match rule {
        Rule::Rename { from, to, may_match_nothing } => {
            let (rename, mut matched) = (RenameRule::new(from, to, separator)?, *may_match_nothing);
            for it in of_value {
                let name = rename.apply(&parts(&it.name, separator));
                if let Some(name) = name.map(|name| name.join(separator)) {
                    (it.name, matched) = (Cow::Owned(name), true);
                }
            }
            if matched { Ok(()) } else { Err(matches_nothing(from)) }
        }
        Rule::Names(names) => {
            let both = TwoWayRenames::new(names, separator)?;
            let mut idle: Vec<bool> = names.rules().iter().map(|_| true).collect();
            for it in of_value {
                let matched =
                    |rule: usize| idle.iter_mut().skip(rule).take(1).for_each(|it| *it = false);
                // A part without a tensor may have any name.
                it.name = Cow::Owned(match it.origin {
                    Origin::Structure => both.renamed_in_type(&it.name, matched),
                    _ => both.in_type(&it.name, matched)?,
                });
            }
            match names.rules().iter().zip(idle).find(|(_, idle)| *idle) {
                Some(((_, in_file), _)) => Err(matches_nothing(in_file)),
                None => Ok(()),
            }
        }
        Rule::Tie(alias, stored) => tie(stored, alias, all, separator),
        Rule::Ignore(pattern) => {
            let glob = Glob::new(pattern, separator)?;
            all.retain(|it| it.origin == Origin::File || !glob.covers(&parts(&it.name, separator)));
            Ok(())
        }
        Rule::Transpose(pattern) | Rule::ColumnMajor(pattern) => {
            let glob = Glob::new(pattern, separator)?;
            let is_turned = matches!(rule, Rule::Transpose(_));
            let mut matched = false;
            of_value.try_for_each(|it| {
                let RawContent::Tensor(stored) = &it.content else { return Ok(()) };
                if !glob.covers(&parts(&it.name, separator)) {
                    return Ok(());
                }
                matched = true;
                if !is_turned {
                    it.column_major = true;
                } else if stored.descriptor().shape().len() < 2 {
                    let what =
                        format!("`{}`, {}, cannot be transposed", it.name, stored.descriptor());
                    return Err(Error::from(ErrorKind::Rule(what)));
                } else {
                    it.transposed = !it.transposed;
                }
                Ok(())
            })?;
            if matched { Ok(()) } else { Err(matches_nothing(pattern)) }
        }
    }
}

/// Gives matching tensors an additional name, unless a tensor of the file has it.
fn tie<'t>(
    stored: &str,
    alias: &str,
    all: &mut Vec<EntryBuilder<'t>>,
    separator: &str,
) -> Result<()> {
    let rename = RenameRule::new(stored, alias, separator)?;
    let tensors = all.iter().filter(|it| matches!(it.content, RawContent::Tensor(_)));
    let taken: HashSet<&str> = tensors.clone().map(|it| it.name.as_ref()).collect();
    let (mut matched, mut aliases) = (false, Vec::new());
    for it in tensors {
        let Some(name) = rename.apply(&parts(&it.name, separator)) else { continue };
        let name = name.join(separator);
        matched = true;
        if !taken.contains(&*name) {
            aliases.push(EntryBuilder { name: Cow::Owned(name), is_alias: true, ..it.clone() });
        }
    }
    all.extend(aliases);
    if matched { Ok(()) } else { Err(matches_nothing(stored)) }
}

fn matches_nothing(pattern: &str) -> Error {
    ErrorKind::Rule(format!("`{pattern}` matches no tensor")).into()
}
