//! The tensors and texts of a source under the names that the rules give them.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::load::numbers::Numbers;
use crate::load::rules::{Glob, Rule, parts};
use crate::load::table::{Array, Content, Entry};
use crate::source::{Source, Stored};
use crate::structure::ValueTexts;

/// numpy has no arrays of more dimensions.
const MAX_DIMS: usize = 64;

/// A tensor or a text, and what the rules do to it.
struct Named<'t> {
    name: Cow<'t, str>,
    original: &'t str,
    held: Held<'t>,
    /// Whether it is part of a value, and no text for the whole file.
    is_of_value: bool,
    tie: Option<usize>,
    transposed: bool,
    column_major: bool,
}

#[derive(Clone, Copy)]
enum Held<'t> {
    Tensor(&'t Stored<'t>),
    Text(&'t str),
}

impl<'t> Named<'t> {
    fn new(original: &'t str, held: Held<'t>) -> Self {
        let (name, is_of_value, tie) = (Cow::Borrowed(original), true, None);
        let (transposed, column_major) = (false, false);
        Named { name, original, held, is_of_value, tie, transposed, column_major }
    }

    fn entry(self) -> Result<Entry<'t>> {
        let content = match self.held {
            Held::Tensor(stored) => {
                let new = if self.column_major { Array::by_columns } else { Array::new };
                Content::Array(new(Numbers::new(stored)?, self.transposed))
            }
            Held::Text(text) => Content::Text(text),
        };
        Ok(Entry::new(self.name, self.original, content, self.is_of_value, self.tie))
    }
}

/// The tensors and texts under the names that the rules give them.
pub(crate) fn named<'t>(
    source: &'t Source<'t>,
    rules: &'t [Rule],
    separator: &'t str,
) -> Result<Vec<Entry<'t>>> {
    let mut all = tensors(source)?;
    all.extend(texts(source, separator));
    for rule in rules {
        apply(rule, &mut all, separator)?;
    }
    all.into_iter().map(Named::entry).collect()
}

fn tensors<'t>(source: &'t Source<'t>) -> Result<Vec<Named<'t>>> {
    let stored = source.iter().zip(0..).map(|(stored, at)| (stored.name(), stored, at));
    let alias =
        |(alias, at): &'t (String, usize)| Some((alias.as_str(), source.iter().nth(*at)?, *at));
    let tied: HashSet<usize> = source.ties().iter().map(|(_, at)| *at).collect();
    let all = stored.chain(source.ties().iter().filter_map(alias)).map(|(name, stored, at)| {
        let dims = stored.descriptor().shape().len();
        if dims > MAX_DIMS {
            let what = format!("`{name}` has {dims} dimensions, the limit is {MAX_DIMS}");
            return Err(ErrorKind::Limit(what).into());
        }
        let tie = Some(at).filter(|at| tied.contains(at));
        Ok(Named { tie, ..Named::new(name, Held::Tensor(stored)) })
    });
    all.collect()
}

/// The texts of the metadata, without the aliases of tensors.
fn texts<'t>(source: &'t Source<'t>, separator: &str) -> Vec<Named<'t>> {
    let aliases: HashSet<&str> = source.ties().iter().map(|(alias, _)| alias.as_str()).collect();
    let texts = source.texts().iter().filter(|(key, _)| !aliases.contains(key.as_str()));
    let texts: Vec<&'t (String, String)> = texts.collect();
    let of_value = ValueTexts::of(&texts, source.iter().len() > 0);
    let text = |(key, text): &'t (String, String)| {
        let is_of_value = of_value.contains(parts(key, separator).first().unwrap_or(&""), text);
        Named { is_of_value, ..Named::new(key, Held::Text(text)) }
    };
    texts.into_iter().map(text).collect()
}

/// Applies a rule to what is of the value. It has to match some of it, unless it is to be ignored.
fn apply<'t>(rule: &'t Rule, all: &mut Vec<Named<'t>>, separator: &'t str) -> Result<()> {
    let (from, to) = match rule {
        Rule::Rename(from, to) => (from, Some(Glob::new(to, separator))),
        Rule::Transpose(from) | Rule::ColumnMajor(from) | Rule::Ignore(from) => (from, None),
    };
    let glob = Glob::new(from, separator);
    if let Some(to) = &to {
        glob.expect_same_wildcards(to)?;
    }
    let matches = |it: &Named<'_>| it.is_of_value && glob.matches(&parts(&it.name, separator));
    if let Rule::Ignore(_) = rule {
        all.retain(|it| !matches(it));
        return Ok(());
    }
    let mut matched = false;
    for it in all.iter_mut().filter(|it| matches(it)) {
        match (rule, it.held) {
            (Rule::Rename(..), _) => {
                let renamed = to.as_ref().and_then(|to| glob.rename(to, &it.name));
                it.name = renamed.map_or(std::mem::take(&mut it.name), Cow::Owned);
            }
            (_, Held::Text(_)) => continue,
            (Rule::Transpose(_), Held::Tensor(stored)) if stored.descriptor().shape().len() < 2 => {
                let what = format!("`{}`, {}, cannot be transposed", it.name, stored.descriptor());
                return Err(ErrorKind::Rule(what).into());
            }
            (Rule::ColumnMajor(_), _) => it.column_major = true,
            _ => it.transposed = !it.transposed,
        }
        matched = true;
    }
    if matched {
        Ok(())
    } else {
        Err(Error::from(ErrorKind::Rule(format!("`{from}` matches no tensor"))))
    }
}
