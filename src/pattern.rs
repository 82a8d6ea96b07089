//! Patterns: paths with wildcards.

use crate::path::{Key, Path};

/// A path with wildcards: `layers[*].w`, `**.bias`.
///
/// `.*` matches any field or position, `[*]` any index or map key, and `**` any number of steps. The
/// other keys match what they find in a [lookup](crate::TreeDef::node): `.name` also the key
/// `["name"]`, and `[1]` also an integer key of any kind, of which `[1u8]` matches only its own. A
/// pattern names nodes, so where leaves are selected it selects all leaves below them. The dot before
/// the first field is optional.
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
    /// Whether the pattern names the node at this path. A `?` in the path need not be in the pattern.
    ///
    /// ```
    /// use treedef::Pattern;
    ///
    /// let pattern: Pattern = ".tls.port".parse()?;
    /// assert!(pattern.matches(&".tls?.port".parse()?));
    /// assert!(pattern.matches(&r#"["tls"]?["port"]"#.parse()?));
    /// assert!(!pattern.matches(&".tls".parse()?));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn matches(&self, path: &Path) -> bool {
        self.matches_keys(path.keys())
    }

    /// Whether the pattern names the node at this path, or one above it.
    ///
    /// ```
    /// use treedef::Pattern;
    ///
    /// let pattern: Pattern = "**.w".parse()?;
    /// assert!(pattern.covers(&".layers[3].w[0][7]".parse()?));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn covers(&self, path: &Path) -> bool {
        self.leads(path.keys(), false)
    }

    pub(crate) fn matches_keys(&self, keys: &[Key]) -> bool {
        self.leads(keys, true)
    }

    /// Whether the pattern names the node at a path, or, if not the `whole` path is asked for, one
    /// above it. Greedy matching that only backtracks to the last `**`: the time is proportional to
    /// steps times keys.
    fn leads(&self, keys: &[Key], whole: bool) -> bool {
        let ends = |step| self.0.iter().skip(step).all(|step| *step == Step::AnySteps);
        let (mut step, mut key) = (0, 0);
        let mut retry = None;
        while let Some(current) = keys.get(key) {
            match self.0.get(step) {
                None if !whole => return true,
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
                // A `?` need not be in the pattern.
                _ if *current == Key::Some => {
                    key += 1;
                    continue;
                }
                _ => {}
            }
            let Some((any, from)) = &mut retry else { return false };
            *from += 1;
            (step, key) = (*any + 1, *from);
        }
        ends(step)
    }

    /// Whether the pattern names a node of one of the `levels` below the node at these keys. The
    /// nodes of a level have all keys that `key_of` has for it, by position.
    pub(crate) fn names_below<L>(
        &self,
        keys: &[Key],
        levels: &[L],
        key_of: impl Fn(&L, usize) -> Option<Key>,
    ) -> bool {
        // The steps that may be next.
        let mut next = self.with_skipped(vec![0]);
        for key in keys {
            let mut after = self.after(&next, |step| step.matches(key));
            // A `?` need not be in the pattern.
            after.extend(next.into_iter().filter(|_| *key == Key::Some));
            next = after;
        }
        levels.iter().any(|level| {
            let keys = || (0..).map_while(|position| key_of(level, position));
            next = self.after(&next, |step| keys().any(|key| step.matches(&key)));
            next.contains(&self.0.len())
        })
    }

    /// The steps that may come after a key.
    fn after(&self, next: &[usize], is_named: impl Fn(&Step) -> bool) -> Vec<usize> {
        let after = |at: &usize| match self.0.get(*at)? {
            Step::AnySteps => Some(*at),
            step => is_named(step).then_some(at + 1),
        };
        self.with_skipped(next.iter().filter_map(after).collect())
    }

    /// Adds the steps behind each `**`, which may be no step.
    fn with_skipped(&self, mut next: Vec<usize>) -> Vec<usize> {
        next.dedup();
        let mut index = 0;
        while let Some(at) = next.get(index).copied() {
            if self.0.get(at) == Some(&Step::AnySteps) && !next.contains(&(at + 1)) {
                next.push(at + 1);
            }
            index += 1;
        }
        next
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
            // A number that is written with its kind means that kind.
            (Step::Key(expected @ Key::Entry(_)), Key::Entry(_)) => expected == key,
            (Step::Key(expected), key) => expected == key || expected.can_mean(key),
        }
    }
}
