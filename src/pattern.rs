//! Patterns: paths with wildcards.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use crate::model::NodeKind;
use crate::path::{Key, Path};

/// A path with wildcards: `layers[*].w`, `**.bias`.
///
/// `.*` matches any field, position or text key of a map, `[*]` any index, position or map key, and `**`
/// any number of steps. So both find the entries of a map whose keys are texts, and `[*]` also the elements
/// of sequences, tuples and arrays.
///
/// `.{w,bias}` matches whatever `.w` or `.bias` matches. Where a pattern has to match something, each name
/// in the braces has to. `[2:5]` matches `[2]`, `[3]` and `[4]`; `[2:]` matches everything after the first
/// two elements, and `[:2]` these two.
///
/// Other keys match like in a [lookup](crate::TreeDef::node): `.name` also matches the key `["name"]`, and
/// `[1]` also an integer key of any type, such as `[1u8]`. In a tree, the `.0` of a newtype and the `?` of
/// a `Some` may be left out. A pattern matches nodes; where leaves are selected, it selects all leaves
/// below these nodes. The dot before the first field is optional.
///
/// ```
/// use treedef::{Path, Pattern};
///
/// let pattern: Pattern = "layers[*].w".parse()?;
/// assert!(pattern.matches(&".layers[3].w".parse()?));
/// assert!(!pattern.matches(&".layers[3].w[0]".parse()?));
/// assert!("**.bias".parse::<Pattern>()?.matches(&".layers[3].norm.bias".parse()?));
/// assert!("env.*".parse::<Pattern>()?.matches(&r#".env["HOME"]"#.parse()?));
///
/// let pattern: Pattern = "layers[2:].{w,bias}".parse()?;
/// assert!(pattern.matches(&".layers[3].bias".parse()?));
/// assert!(!pattern.matches(&".layers[1].bias".parse()?));
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern(pub(crate) Vec<PatternStep>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PatternStep {
    Key(Key),
    /// `.*`, which matches each child that some `.name` or `.0` matches, exactly or by its name.
    AnyField,
    /// `[*]`
    AnyEntry,
    /// `**`
    AnySteps,
    /// `.{a,b}`: matches like one of the keys.
    OneOf(Vec<Key>),
    /// `[2:5]`, and `[2:]` without an end: matches like one of the indices.
    Indices(Range<usize>),
}

impl Pattern {
    /// Whether the pattern matches the node at this path. A `?` in the path need not be in the pattern. The
    /// `.0` of a newtype has to be, because in a path it looks like the `.0` of a tuple.
    ///
    /// The pattern of a list does not match the leaves in the list. To choose leaves as
    /// [`Tree::split`](crate::Tree::split) and [`Tree::filter`](crate::Tree::filter) do, use
    /// [`covers`](Self::covers).
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

    /// Whether the pattern [matches](Self::matches) the node at this path, or a node above it. In a tree with
    /// newtypes, [`Tree::split`](crate::Tree::split) may choose other leaves, because it knows the newtypes.
    ///
    /// ```
    /// use treedef::{Pattern, Tree};
    ///
    /// let pattern: Pattern = "**.w".parse()?;
    /// assert!(pattern.covers(&".layers[3].w[0][7]".parse()?));
    ///
    /// let tree = Tree::new("Layer { w: [*, *], b: * }".parse()?, vec![1, 2, 3])?;
    /// let (weights, others) = tree.split(&pattern)?;
    /// assert_eq!((weights.leaves(), others.leaves()), (&[1, 2][..], &[3][..]));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn covers(&self, path: &Path) -> bool {
        self.names_key(path.keys(), 0)
    }

    /// The pattern for paths that differ only in indices, with `[*]` for the indices that differ.
    /// `None` for other paths, and if there are none.
    ///
    /// ```
    /// use treedef::{Path, Pattern};
    ///
    /// let paths = [".l[0].w[1]", ".l[2].w[1]"].map(|path| path.parse::<Path>().unwrap());
    /// assert_eq!(Pattern::of_alike(&paths).map(|it| it.to_string()), Some(".l[*].w[1]".to_owned()));
    /// assert_eq!(Pattern::of_alike(&[".a".parse::<Path>()?, ".b".parse()?]), None);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn of_alike<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Option<Pattern> {
        let mut paths = paths.into_iter();
        let first = paths.next()?;
        let (general, indices) = generalised(first);
        let mut common: Vec<_> = indices.into_iter().map(Some).collect();
        for path in paths {
            let (other, indices) = generalised(path);
            if other != general {
                return None;
            }
            keep_common(&mut common, indices);
        }
        Some(Pattern::with_indices(first, &common))
    }

    /// The pattern of a path with `[*]` where `indices` has no index.
    pub(crate) fn with_indices(path: &Path, indices: &[Option<usize>]) -> Pattern {
        let mut indices = indices.iter();
        let steps = path.keys().iter().map(|key| match key {
            Key::Index(_) if indices.next() == Some(&None) => PatternStep::AnyEntry,
            key => PatternStep::Key(key.clone()),
        });
        Pattern(steps.collect())
    }

    pub(crate) fn matches_keys(&self, keys: &[Key]) -> bool {
        self.names_key(keys, keys.len())
    }

    /// Whether the pattern matches a node on the way along the keys, after `least` or more of them.
    fn names_key(&self, keys: &[Key], least: usize) -> bool {
        let named =
            |step: &PatternStep, at: usize| keys.get(at).is_some_and(|key| step.matches(key));
        self.names(least..=keys.len(), named, |at| keys.get(at) == Some(&Key::Some))
    }

    /// Whether the pattern matches a node of one of the `levels` below the node at these keys. The
    /// nodes of a level have all keys that `key_of` returns for it, by position.
    pub(crate) fn names_below<L>(
        &self,
        keys: &[Key],
        levels: &[L],
        key_of: impl Fn(&L, usize) -> Option<Key>,
    ) -> bool {
        let named = |step: &PatternStep, at: usize| match keys.get(at) {
            Some(key) => step.matches(key),
            None => levels.get(at - keys.len()).is_some_and(|level| {
                let mut keys = (0..).map_while(|position| key_of(level, position));
                keys.any(|key| step.matches(&key))
            }),
        };
        let is_some = |at| keys.get(at) == Some(&Key::Some);
        self.names(keys.len() + 1..=keys.len() + levels.len(), named, is_some)
    }

    /// The steps that may match a child of the root, by index. The index after the last step means
    /// that the pattern matches the node itself.
    pub(crate) fn first_steps(&self) -> Vec<usize> {
        let mut steps = Vec::new();
        self.add_step(&mut steps, 0);
        steps
    }

    /// The steps that may match the children of a node, if `steps` are the steps for the node, and `key` is
    /// its key.
    pub(crate) fn steps_behind(&self, steps: &[usize], above: NodeKind, key: &Key) -> Vec<usize> {
        let mut behind = Vec::new();
        let is_newtype = above == NodeKind::NewtypeStruct;
        for index in steps {
            let Some(step) = self.0.get(*index) else { continue };
            let names = step.matches(key) && !(is_newtype && step.is_of_lists());
            // A `?` or the `.0` of a newtype need not be in the pattern. If it is, it counts.
            let is_passed = *key == Key::Some
                || is_newtype && (!names || matches!(step, PatternStep::AnyField));
            if *step == PatternStep::AnySteps || is_passed {
                self.add_step(&mut behind, *index);
            }
            if names {
                self.add_step(&mut behind, index + 1);
            }
        }
        behind
    }

    /// Adds a step to others, which are in order. For a `**`, which may match no key, it also adds
    /// the step after it.
    fn add_step(&self, steps: &mut Vec<usize>, mut index: usize) {
        loop {
            let at = steps.iter().filter(|step| **step < index).count();
            if steps.get(at) == Some(&index) {
                return;
            }
            steps.insert(at, index);
            if self.0.get(index) != Some(&PatternStep::AnySteps) {
                return;
            }
            index += 1;
        }
    }

    /// Whether the pattern matches the node at which these steps remain.
    pub(crate) fn is_end(&self, steps: &[usize]) -> bool {
        steps.last() == Some(&self.0.len())
    }

    /// The positions that these steps name.
    pub(crate) fn positions(&self, steps: &[usize]) -> impl Iterator<Item = usize> {
        let position = |index: &usize| match self.0.get(*index)? {
            PatternStep::Key(key) => usize::try_from(key.place()?).ok(),
            _ => None,
        };
        steps.iter().filter_map(position)
    }

    /// The first position after another one from which on these steps may match other children.
    pub(crate) fn next_bound(&self, steps: &[usize], behind: usize) -> Option<usize> {
        let mut next: Option<usize> = None;
        let mut meet = |bound: usize| {
            if bound > behind && next.is_none_or(|next| bound < next) {
                next = Some(bound);
            }
        };
        for index in steps {
            match self.0.get(*index) {
                Some(PatternStep::Indices(range)) => {
                    meet(range.start);
                    meet(range.end);
                }
                Some(PatternStep::OneOf(keys)) => {
                    for key in keys {
                        if let Some(place) = key.place().and_then(|it| usize::try_from(it).ok()) {
                            meet(place);
                            meet(place.saturating_add(1));
                        }
                    }
                }
                _ => {}
            }
        }
        next
    }

    pub(crate) fn has_braces(&self) -> bool {
        self.0.iter().any(|step| matches!(step, PatternStep::OneOf(_)))
    }

    /// The first pattern with `is_wanted`, among the patterns that have one name in place of one pair of
    /// braces: the names of the first pair, then of the second, and so on. Without braces, this pattern.
    pub(crate) fn find_alternative(
        &self,
        is_wanted: &dyn Fn(&Pattern) -> bool,
    ) -> Option<Cow<'_, Pattern>> {
        if !self.has_braces() {
            return Some(Cow::Borrowed(self)).filter(|pattern| is_wanted(pattern));
        }
        for (at, step) in self.0.iter().enumerate() {
            let PatternStep::OneOf(keys) = step else { continue };
            for key in keys {
                let mut alone = self.clone();
                alone.0[at] = PatternStep::Key(key.clone()); // as long as `self`
                if is_wanted(&alone) {
                    return Some(Cow::Owned(alone));
                }
            }
        }
        None
    }

    /// Whether the pattern matches a path whose number of keys is in the range. `named` is whether
    /// a step matches the key at an index, and `is_some` whether that key is `?`.
    ///
    /// Greedy matching only backtracks to the last `**`: the time is proportional to steps times
    /// keys.
    fn names(
        &self,
        lengths: RangeInclusive<usize>,
        named: impl Fn(&PatternStep, usize) -> bool,
        is_some: impl Fn(usize) -> bool,
    ) -> bool {
        let (mut step, mut key) = (0, 0);
        let mut retry = None;
        while key < *lengths.end() {
            match self.0.get(step) {
                None if key >= *lengths.start() => return true,
                Some(PatternStep::AnySteps) => {
                    retry = Some((step, key));
                    step += 1;
                    continue;
                }
                Some(expected) if named(expected, key) => {
                    step += 1;
                    key += 1;
                    continue;
                }
                // A `?` need not be in the pattern.
                _ if is_some(key) => {
                    key += 1;
                    continue;
                }
                _ => {}
            }
            let Some((any, from)) = &mut retry else { return false };
            *from += 1;
            (step, key) = (*any + 1, *from);
        }
        !lengths.is_empty() && self.0.iter().skip(step).all(|step| *step == PatternStep::AnySteps)
    }
}

impl PatternStep {
    /// Whether it selects by index or by the key of an entry. A newtype has neither, but its content may.
    fn is_of_lists(&self) -> bool {
        match self {
            PatternStep::AnyEntry | PatternStep::Indices(_) => true,
            PatternStep::Key(key) => matches!(key, Key::Index(_) | Key::Entry(_)),
            PatternStep::AnyField | PatternStep::AnySteps | PatternStep::OneOf(_) => false,
        }
    }

    fn matches(&self, key: &Key) -> bool {
        match (self, key) {
            (PatternStep::AnySteps, _) => false,
            (PatternStep::OneOf(keys), key) => keys.iter().any(|expected| finds(expected, key)),
            (PatternStep::Indices(range), key) => {
                let place = key.place().and_then(|place| usize::try_from(place).ok());
                place.is_some_and(|place| range.contains(&place))
            }
            (PatternStep::AnyEntry, key) => matches!(key, Key::Entry(_)) || key.place().is_some(),
            (PatternStep::AnyField, Key::Index(_) | Key::Some) => false,
            (PatternStep::AnyField, Key::Entry(key)) => key.as_str().is_some(),
            (PatternStep::AnyField, _) => true,
            (PatternStep::Key(expected), key) => finds(expected, key),
        }
    }
}

fn finds(expected: &Key, key: &Key) -> bool {
    expected == key || expected.can_mean(key)
}

/// A path without its indices, and these.
pub(crate) fn generalised(path: &Path) -> (Path, Vec<usize>) {
    let mut indices = Vec::new();
    let keys = path.keys().iter().map(|key| match key {
        Key::Index(index) => {
            indices.push(*index);
            Key::Index(0)
        }
        key => key.clone(),
    });
    (keys.collect(), indices)
}

/// Removes the indices that differ from another path's.
pub(crate) fn keep_common(common: &mut [Option<usize>], other: impl IntoIterator<Item = usize>) {
    for (common, other) in common.iter_mut().zip(other) {
        *common = common.filter(|index| *index == other);
    }
}
