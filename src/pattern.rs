//! Patterns: paths with wildcards.

use crate::path::{Key, Path};

/// A path with wildcards: `layers[*].w`, `**.bias`.
///
/// `.*` matches any field or position, `[*]` any index or map key, and `**` any number of steps. A
/// field `.name` also matches the field `name` of any variant, and the map key `["name"]`, because
/// serde turns a struct with a `#[serde(flatten)]` field into a map. The dot before the first field
/// is optional.
///
/// ```
/// use treedef::{Path, Pattern};
///
/// let pattern: Pattern = "layers[*].w".parse()?;
/// assert!(pattern.matches(&".layers[3].w".parse()?));
/// assert!(!pattern.matches(&".layers[3].w[0]".parse()?));
/// assert!("**.bias".parse::<Pattern>()?.matches(&".layers[3].norm.bias".parse()?));
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern(pub(crate) Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Key(Key),
    /// `.*`
    AnyField,
    /// `[*]`
    AnyEntry,
    /// `**`
    AnySteps,
}

impl Pattern {
    /// Whether the pattern matches the whole path, not only its beginning.
    pub fn matches(&self, path: &Path) -> bool {
        self.matches_keys(path.keys())
    }

    /// Greedy matching that only backtracks to the last `**`. The time is proportional to steps
    /// times keys.
    pub(crate) fn matches_keys(&self, keys: &[Key]) -> bool {
        let (mut step, mut key) = (0, 0);
        let mut retry = None;
        while let Some(current) = keys.get(key) {
            match self.0.get(step) {
                Some(Step::AnySteps) => {
                    retry = Some((step, key));
                    step += 1;
                    continue;
                }
                Some(expected) if expected.matches(current) => {
                    step += 1;
                    key += 1;
                    continue;
                }
                _ => {}
            }
            let Some((any, from)) = &mut retry else { return false };
            *from += 1;
            (step, key) = (*any + 1, *from);
        }
        self.0.iter().skip(step).all(|step| *step == Step::AnySteps)
    }
}

impl Step {
    fn matches(&self, key: &Key) -> bool {
        match (self, key) {
            (Step::AnySteps, _) => false,
            (Step::AnyEntry, Key::Index(_) | Key::Entry(_)) => true,
            (Step::AnyEntry, _) => false,
            (Step::AnyField, Key::Index(_) | Key::Entry(_) | Key::Some) => false,
            (Step::AnyField, _) => true,
            (Step::Key(Key::Field(name)), Key::VariantField(_, field)) => name == field,
            (Step::Key(Key::Field(name)), Key::Entry(entry)) => entry.as_str() == Some(name),
            (Step::Key(Key::Position(position)), Key::VariantPosition(_, other)) => {
                position == other
            }
            (Step::Key(expected), key) => expected == key,
        }
    }
}
