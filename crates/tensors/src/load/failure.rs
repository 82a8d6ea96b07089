//! Why a type could not be read completely.

use std::fmt;

#[derive(Debug)]
pub(crate) enum Failure {
    /// serde misses a field that has no default.
    Field(&'static str),
    /// The walk found a required field, and has to start again.
    Restart,
    /// The reports are complete.
    Reported,
    /// The elements of an absent sequence contain the type around it, endlessly.
    Recursive,
    Limit(String),
    /// An error of the type, and the name of the value.
    Custom(String, Option<String>),
}

impl Failure {
    /// Adds the name of the value, if the error has none.
    pub(crate) fn at(self, name: impl FnOnce() -> String) -> Self {
        match self {
            Failure::Custom(text, None) => Failure::Custom(text, Some(name())),
            other => other,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Field(field) => write!(f, "missing field `{field}`"),
            Failure::Restart | Failure::Reported | Failure::Recursive => {
                f.write_str("it was reported")
            }
            Failure::Limit(what) | Failure::Custom(what, None) => f.write_str(what),
            Failure::Custom(what, Some(name)) if name.is_empty() => write!(f, "{what} at the root"),
            Failure::Custom(what, Some(name)) => write!(f, "{what} at `{name}`"),
        }
    }
}

impl std::error::Error for Failure {}

impl serde::de::Error for Failure {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Failure::Custom(text.to_string(), None)
    }

    fn missing_field(field: &'static str) -> Self {
        Failure::Field(field)
    }
}
