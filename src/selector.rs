//! The places that the rules of a [`Flattener`](crate::Flattener) name.

use std::convert::Infallible;

use crate::error::Error;
use crate::model::Name;
use crate::pattern::Pattern;

/// Which values a [`Flattener`](crate::Flattener) marks: all of a type, a field of a type, or paths.
///
/// The text of a path begins with one of `.`, `[`, `*`, `?`, `:` and `{`. An empty text is the path of the
/// root, which no rule by path marks: mark the whole value by its type. Any other text is the name of a type, or of a type and its field, as serde sees them. A name
/// with other characters than ASCII letters, digits and `_` is in backquotes, as in the text of a
/// treedef. A field of a tuple struct is its position: `Meters.0`.
///
/// serde serializes a struct that contains a `#[serde(flatten)]` field as a map, and maps have no type
/// name. In such a struct, or if several types share a name, use a path.
///
/// ```
/// use treedef::Selector;
///
/// assert_eq!("Linear".parse::<Selector>()?, Selector::Type("Linear".into()));
/// assert_eq!("Linear.w".parse::<Selector>()?, Selector::Field("Linear".into(), "w".into()));
/// assert_eq!(".layers[*].w".parse::<Selector>()?, Selector::Path(".layers[*].w".parse()?));
///
/// let error = "layers[*].w".parse::<Selector>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "expected a type, or a type and its field, as in `Linear.w`, found `[*].w` at byte 6 \
///      (a path begins with a dot: `.layers[*].w`)"
/// );
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Selector {
    /// All values of the types of this name.
    Type(Name),
    /// A field of the types of this name, and its name or position.
    Field(Name, Name),
    /// The values at these paths, but not the root.
    Path(Pattern),
}

impl From<Pattern> for Selector {
    fn from(pattern: Pattern) -> Self {
        Selector::Path(pattern)
    }
}

impl TryFrom<&str> for Selector {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self, Error> {
        text.parse()
    }
}

impl TryFrom<String> for Selector {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
