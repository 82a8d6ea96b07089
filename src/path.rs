//! Paths: the steps from the root to a node.

use crate::model::{Leaf, Name, NodeKind, Value};

/// One step of a [`Path`]: it selects a child of a node.
///
/// ```
/// use treedef::{Key, Path, Value};
///
/// let entry = Key::Entry(Value::of("w")?);
/// let path: Path = [Key::Field("layers".into()), Key::Index(3), entry].into_iter().collect();
/// assert_eq!(path.to_string(), r#".layers[3]["w"]"#);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Key {
    /// A field of a struct: `.name`.
    Field(Name),
    /// A position in a tuple, an array, a tuple struct or a newtype: `.0`.
    Position(usize),
    /// An index into a sequence: `[0]`.
    Index(usize),
    /// An entry of a map, by its key: `["a"]`, `[3u32]`. A number always has its suffix, so `[3]`
    /// is always an index.
    Entry(Value),
    /// The inside of a present `Option`: `?`.
    Some,
    /// An unnamed field of a variant: `::Circle.0`.
    VariantPosition(Name, usize),
    /// A named field of a variant: `::Box.w`.
    VariantField(Name, Name),
}

/// The steps from the root to a node: `.layers[0].w["bias"]`. The path of the root is empty.
///
/// If a node has two equal fields or keys, which only a hand-written `Serialize` can cause, the
/// path leads to the first.
///
/// A path prints and parses back without ambiguity. [`to_joined_string`](Path::to_joined_string)
/// prints it for other tools.
///
/// ```
/// use treedef::{Key, Path};
///
/// let path: Path = r#".layers[1]["w"]?"#.parse()?;
/// assert_eq!(path.keys()[1], Key::Index(1));
/// assert_eq!(path.to_string(), r#".layers[1]["w"]?"#);
/// assert_eq!(path.to_joined_string("/"), "layers/1/w");
/// assert_eq!(path.parent().unwrap().parent().unwrap(), ".layers[1]".parse()?);
/// assert!(Path::root().is_root() && Path::root().keys().is_empty());
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub(crate) Vec<Key>);

impl Key {
    /// The key of a child of a node, from the child's position, the variant of the node, and the name of
    /// the field or the key of the entry. `None` if nodes of the kind have no children, or if the label is
    /// missing.
    pub(crate) fn of_child(
        kind: NodeKind,
        position: usize,
        variant: impl FnOnce() -> Option<Name>,
        field: impl FnOnce() -> Option<Name>,
        entry: impl FnOnce() -> Option<Value>,
    ) -> Option<Self> {
        Some(match kind {
            NodeKind::Some => Key::Some,
            NodeKind::Seq => Key::Index(position),
            NodeKind::Map => Key::Entry(entry()?),
            NodeKind::Struct => Key::Field(field()?),
            NodeKind::NewtypeStruct | NodeKind::Tuple | NodeKind::TupleStruct => {
                Key::Position(position)
            }
            NodeKind::NewtypeVariant | NodeKind::TupleVariant => {
                Key::VariantPosition(variant()?, position)
            }
            NodeKind::StructVariant => Key::VariantField(variant()?, field()?),
            NodeKind::Leaf
            | NodeKind::None
            | NodeKind::Unit
            | NodeKind::UnitStruct
            | NodeKind::UnitVariant
            | NodeKind::Static => return None,
        })
    }

    /// The name, if this is a field of a struct or a variant.
    pub(crate) fn field(&self) -> Option<&Name> {
        match self {
            Key::Field(name) | Key::VariantField(_, name) => Some(name),
            _ => None,
        }
    }

    /// Whether this key, written by a user, can mean a key of a node. A field can mean an entry of a map or a
    /// field of a variant, and a position an index or a number. Entries are the same if their keys are the same
    /// value.
    pub(crate) fn can_mean(&self, actual: &Key) -> bool {
        // If a variant is written, it has to match.
        if matches!(self, Key::VariantField(..) | Key::VariantPosition(..)) {
            return self == actual;
        }
        if let (Key::Entry(asked), Key::Entry(actual)) = (self, actual) {
            return asked.is_same_key(actual);
        }
        if let (Some(asked), Some(actual)) = (self.place(), actual.place()) {
            return asked == actual;
        }
        match (self.text(), actual.text()) {
            (Some(asked), Some(name)) => asked == name,
            _ => false,
        }
    }

    /// The form that keys have in common if they [can mean](Self::can_mean) each other: the text of a field or of
    /// an entry, the number of a position or of an entry, or the form of another entry.
    pub(crate) fn form(&self) -> Key {
        if let Some(place) = self.place() {
            return Key::Entry(Leaf::from(place).into());
        }
        match self {
            Key::VariantField(_, name) => Key::Field(name.clone()),
            Key::Entry(value) => {
                let form = value.key_form();
                let text = form.as_str().map(|text| Key::Field(text.to_owned().into()));
                text.unwrap_or_else(|| Key::Entry(form.into_owned()))
            }
            key => key.clone(),
        }
    }

    /// The name of a field, or the text of an entry's key.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Key::Field(name) | Key::VariantField(_, name) => Some(name),
            Key::Entry(value) => value.as_str(),
            _ => None,
        }
    }

    /// The position, the index, or the number of an entry's key.
    pub(crate) fn place(&self) -> Option<i128> {
        match self {
            Key::Position(index) | Key::Index(index) | Key::VariantPosition(_, index) => {
                Some(*index as i128) // always wider
            }
            Key::Entry(value) => value.as_integer_key(),
            _ => None,
        }
    }

    /// Changes it to the key of a later sibling, if the key is a position.
    pub(crate) fn advance(&mut self, by: usize) {
        if let Key::Position(index) | Key::Index(index) | Key::VariantPosition(_, index) = self {
            *index += by; // at most the siblings
        }
    }

    /// The key, if this is an entry of a map.
    pub(crate) fn entry(&self) -> Option<&Value> {
        match self {
            Key::Entry(value) => Some(value),
            _ => None,
        }
    }
}

impl Path {
    /// The path of the root, which has no keys.
    pub fn root() -> Self {
        Path::default()
    }

    /// The steps, from the root on.
    pub fn keys(&self) -> &[Key] {
        &self.0
    }

    /// Whether this is the path of the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of the child at `key`.
    ///
    /// ```
    /// use treedef::{Key, Path};
    ///
    /// assert_eq!(Path::root().child(Key::Index(3)).to_string(), "[3]");
    /// ```
    #[must_use]
    pub fn child(&self, key: Key) -> Self {
        let mut keys = self.0.clone();
        keys.push(key);
        Path(keys)
    }

    /// This path followed by `below`.
    ///
    /// ```
    /// use treedef::Path;
    ///
    /// let (above, below): (Path, Path) = (".layers[0]".parse()?, ".w".parse()?);
    /// assert_eq!(above.join(&below).to_string(), ".layers[0].w");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[must_use]
    pub fn join(&self, below: &Path) -> Self {
        Path([&self.0[..], &below.0[..]].concat())
    }

    /// Appends `key`: the path becomes the path of a child.
    ///
    /// ```
    /// use treedef::{Key, Path};
    ///
    /// let mut path: Path = ".w".parse()?;
    /// path.push(Key::Index(3));
    /// assert_eq!(path.to_string(), ".w[3]");
    /// assert_eq!(path.pop(), Some(Key::Index(3)));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn push(&mut self, key: Key) {
        self.0.push(key);
    }

    /// Removes the last key and returns it: the path becomes the path of the parent. Returns `None` for
    /// the root.
    pub fn pop(&mut self) -> Option<Key> {
        self.0.pop()
    }

    /// The path of the parent; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Path(above.to_vec()))
    }
}

impl AsRef<[Key]> for Path {
    fn as_ref(&self) -> &[Key] {
        &self.0
    }
}

impl From<Vec<Key>> for Path {
    fn from(keys: Vec<Key>) -> Self {
        Path(keys)
    }
}

impl Extend<Key> for Path {
    fn extend<I: IntoIterator<Item = Key>>(&mut self, keys: I) {
        self.0.extend(keys);
    }
}

impl IntoIterator for Path {
    type Item = Key;
    type IntoIter = std::vec::IntoIter<Key>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Path {
    type Item = &'a Key;
    type IntoIter = std::slice::Iter<'a, Key>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl FromIterator<Key> for Path {
    fn from_iter<I: IntoIterator<Item = Key>>(keys: I) -> Self {
        Path(keys.into_iter().collect())
    }
}
