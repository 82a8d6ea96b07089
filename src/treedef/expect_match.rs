//! Patterns that have to name a node, and what was perhaps meant by one that names none.

use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::model::TreeDef;
use crate::path::{Key, Path};
use crate::pattern::{Pattern, PatternStep};
use crate::treedef::lookup::{COMPARED, Nearness, nearness};

/// The paths that are looked at for what was meant have at most this many keys.
const MOST_KEYS: usize = 1 << 16;

/// A pattern of more steps gets no suggestion: each step is tried at each of these keys.
const MOST_STEPS: usize = 64;

impl TreeDef {
    /// Returns an error if a pattern names no node: with the pattern that was perhaps meant, and
    /// with the function that accepts such a pattern, if there is one.
    pub(crate) fn expect_match(
        &self,
        pattern: &Pattern,
        leaves_in_memory: usize,
        accepts: Option<&'static str>,
    ) -> Result<()> {
        self.expect_work(leaves_in_memory)?;
        if self.nodes().any(|(path, _)| pattern.matches(&path)) {
            return Ok(());
        }
        let meant = self.nearest_pattern(pattern).map(|meant| format!("did you mean `{meant}`?"));
        let accepts = accepts.map(|function| format!("see `{function}`"));
        let hints: Vec<String> = meant.into_iter().chain(accepts).collect();
        let error = Error::from(ErrorKind::NoMatch { pattern: pattern.to_string() });
        Err(if hints.is_empty() { error } else { error.with_hint(hints.join(" or ")) })
    }

    /// The pattern with another name in the first step that fits no node. If the steps after it fit
    /// nothing below that name, they are left out.
    #[cold]
    fn nearest_pattern(&self, pattern: &Pattern) -> Option<Pattern> {
        let steps = &pattern.0;
        if steps.len() > MOST_STEPS {
            return None;
        }
        let mut keys = 0;
        let within = |path: &Path| {
            keys += path.keys().len() + 1;
            keys <= MOST_KEYS
        };
        // A leaf without a name is not what was meant, and there may be very many.
        let is_named = |path: &Path| path.keys().last().is_some_and(|key| key.text().is_some());
        let nodes = self.nodes().filter(|(path, node)| !node.is_leaf() || is_named(path));
        let paths: Vec<Path> = nodes.map(|(path, _)| path).take_while(within).collect();
        let names_one = |pattern: &Pattern| paths.iter().any(|path| pattern.matches(path));

        // If some steps name a node, all but the last of them name one above it.
        let lengths: Vec<usize> = (1..=steps.len()).collect();
        let fits = lengths.partition_point(|length| {
            names_one(&Pattern(steps.iter().take(*length).cloned().collect()))
        });
        let (above, rest) = steps.split_at_checked(fits)?;
        let (PatternStep::Key(asked), below) = rest.split_first()? else { return None };
        let asked = asked.text()?;
        let with = |key: &Key, below: &[PatternStep]| {
            Pattern([above, &[PatternStep::Key(key.clone())], below].concat())
        };

        let mut compared: HashMap<&str, Option<Nearness>> = HashMap::new();
        let mut nearest: Option<(Nearness, &Key)> = None;
        for path in &paths {
            let Some((key, name)) = path.keys().last().and_then(|key| Some((key, key.text()?)))
            else {
                continue;
            };
            if compared.len() == COMPARED && !compared.contains_key(name) {
                continue;
            }
            let near = *compared.entry(name).or_insert_with(|| nearness(asked, name));
            if let Some(near) = near
                && nearest.is_none_or(|(best, _)| near < best)
                && with(key, &[]).matches(path)
            {
                nearest = Some((near, key));
            }
        }
        let (_, key) = nearest?;
        Some(with(key, below)).filter(names_one).or_else(|| Some(with(key, &[])))
    }
}
