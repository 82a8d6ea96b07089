//! Patterns: paths with wildcards.

use crate::path::{Key, Path};

/// A path with wildcards: `layers[*].w`, `**.bias`.
///
/// `.*` matches any field or position, `[*]` any index or map key, and `**` any number of steps. The
/// other keys match what they find in a [lookup](crate::TreeDef::node): `.name` also the key
/// `["name"]`. A pattern names nodes, so where leaves are selected it selects all leaves below them.
/// The dot before the first field is optional.
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
        let mut reached = Reached::start(self);
        reached.is_end() || path.keys().iter().any(|key| reached.step(key))
    }

    pub(crate) fn matches_keys(&self, keys: &[Key]) -> bool {
        let mut reached = Reached::start(self);
        keys.iter().for_each(|key| {
            reached.step(key);
        });
        reached.is_end()
    }
}

/// How far a pattern can have come on the way along a path: which of its steps may be next.
struct Reached<'p> {
    steps: &'p [Step],
    /// One more than there are steps: the last is the end.
    next: Vec<bool>,
}

impl<'p> Reached<'p> {
    fn start(pattern: &'p Pattern) -> Self {
        let mut next = vec![false; pattern.0.len() + 1];
        next[0] = true; // there is one
        let mut reached = Reached { steps: &pattern.0, next };
        reached.skip_any_steps();
        reached
    }

    /// `**` may stand for no step.
    fn skip_any_steps(&mut self) {
        for (at, step) in self.steps.iter().enumerate() {
            if *step == Step::AnySteps && self.next[at] {
                self.next[at + 1] = true; // one more than there are steps
            }
        }
    }

    /// Takes the next key of the path. Returns whether the pattern may end there.
    fn step(&mut self, key: &Key) -> bool {
        let stays = |step: &Step| *step == Step::AnySteps || *key == Key::Some;
        for at in (0..self.next.len()).rev() {
            let from_before = match at.checked_sub(1) {
                Some(before) => self.next[before] && self.steps[before].matches(key),
                None => false,
            };
            let stays = self.steps.get(at).map_or(*key == Key::Some, stays);
            self.next[at] = from_before || self.next[at] && stays;
        }
        self.skip_any_steps();
        self.is_end()
    }

    fn is_end(&self) -> bool {
        self.next.last().is_some_and(|end| *end)
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
