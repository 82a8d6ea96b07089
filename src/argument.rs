//! Paths and patterns as arguments: as text, or parsed in advance.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::path::Path;
use crate::pattern::{Pattern, PatternStep};

/// An argument that names one node: a [`Path`], or its text.
///
/// Functions that cannot fail, such as [`Path::join`] and [`Pattern::matches`], accept only parsed
/// arguments.
///
/// ```
/// use treedef::{Path, Tree};
///
/// let tree = Tree::of(&("a", vec![1, 2]))?;
/// let path: Path = ".1[0]".parse()?;
/// assert_eq!(tree.get(&path)?, tree.get(".1[0]")?);
///
/// let error = tree.get(".1[0").unwrap_err();
/// assert!(error.to_string().ends_with("found the end at byte 4 (did you mean `.1[0]`?)"));
/// # Ok::<(), treedef::Error>(())
/// ```
pub trait ToPath {
    /// The path; a text is parsed.
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a path; the error has the position in the text.
    fn to_path(&self) -> Result<Cow<'_, Path>>;
}

/// An argument that selects nodes: a [`Pattern`], its text, or a [`Path`].
///
/// A path selects the node that it leads to, and each other one that its keys can mean: `[1u8]` also selects the entry
/// `[1u32]` of the same map, and a key that occurs twice selects both entries.
///
/// ```
/// use treedef::{Pattern, Tree};
///
/// let tree = Tree::new("[Layer { w: *, b: * }; 2]".parse()?, vec![1, 2, 3, 4])?;
/// let pattern: Pattern = "**.b".parse()?;
/// assert!(tree.select(&pattern)?.eq(tree.select("**.b")?));
/// # Ok::<(), treedef::Error>(())
/// ```
pub trait ToPattern {
    /// The pattern; a text is parsed.
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a pattern; the error has the position in the text.
    fn to_pattern(&self) -> Result<Cow<'_, Pattern>>;
}

impl ToPath for Path {
    fn to_path(&self) -> Result<Cow<'_, Path>> {
        Ok(Cow::Borrowed(self))
    }
}

impl ToPath for str {
    fn to_path(&self) -> Result<Cow<'_, Path>> {
        let path = self.parse().map_err(|error: Error| {
            let is_pattern = self.parse::<Pattern>().is_ok();
            if is_pattern {
                error.with_hint("a path has no wildcards: it names one node")
            } else {
                error
            }
        });
        path.map(Cow::Owned)
    }
}

impl ToPath for String {
    fn to_path(&self) -> Result<Cow<'_, Path>> {
        self.as_str().to_path()
    }
}

impl<P: ToPath + ?Sized> ToPath for &P {
    fn to_path(&self) -> Result<Cow<'_, Path>> {
        (**self).to_path()
    }
}

impl ToPattern for Pattern {
    fn to_pattern(&self) -> Result<Cow<'_, Pattern>> {
        Ok(Cow::Borrowed(self))
    }
}

impl ToPattern for Path {
    fn to_pattern(&self) -> Result<Cow<'_, Pattern>> {
        let steps = self.keys().iter().cloned().map(PatternStep::Key).collect();
        Ok(Cow::Owned(Pattern(steps)))
    }
}

impl ToPattern for str {
    fn to_pattern(&self) -> Result<Cow<'_, Pattern>> {
        self.parse().map(Cow::Owned)
    }
}

impl ToPattern for String {
    fn to_pattern(&self) -> Result<Cow<'_, Pattern>> {
        self.as_str().to_pattern()
    }
}

impl<P: ToPattern + ?Sized> ToPattern for &P {
    fn to_pattern(&self) -> Result<Cow<'_, Pattern>> {
        (**self).to_pattern()
    }
}
