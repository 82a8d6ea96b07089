//! Texts: whatever parses prints, parses back, and goes through a file.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use treedef::{Error, ErrorKind, Key, LeafKind, Limits, Path, Pattern, Tree, TreeDef, Value};

/// Leaves of keys and statics that a short text may stand for: all are held one by one.
const WORK: usize = 1 << 14;

pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let limits = Limits { max_work: WORK, ..Limits::default() };
    if is_cheap(&TreeDef::parse_with(text, limits))
        && let Some(treedef) = comes_back::<TreeDef>(text)
    {
        super::load::comes_back_from_bytes(&treedef);
    }
    if is_cheap(&Tree::<LeafKind>::parse_with(text, limits))
        && let Some(signature) = comes_back::<Tree<LeafKind>>(text)
    {
        super::load::comes_back_from_bytes(signature.treedef());
    }
    if is_cheap(&TreeDef::parse_with(&format!("static {text}"), limits)) {
        comes_back::<Value>(text);
    }
    comes_back::<Path>(text);
    comes_back::<Key>(text);
    if let Ok(pattern) = text.parse::<Pattern>() {
        assert_eq!(
            pattern.to_string().parse::<Pattern>().unwrap().to_string(),
            pattern.to_string()
        );
    }
}

fn is_cheap<T>(parsed: &Result<T, Error>) -> bool {
    !parsed.as_ref().is_err_and(|error| error.kind() == ErrorKind::Limit)
}

/// What parses has one printed form on one line and one on several, which parse to the same again.
fn comes_back<T: FromStr<Err = Error> + Display + Debug + PartialEq>(text: &str) -> Option<T> {
    let parsed = match text.parse::<T>() {
        Ok(parsed) => parsed,
        Err(error) => {
            let message = error.to_string();
            assert!(message.len() <= 1024 && !message.contains(char::is_control), "{message:?}");
            return None;
        }
    };
    let printed = parsed.to_string();
    let again: T = printed.parse().unwrap_or_else(|error| panic!("{printed:?}: {error}"));
    assert_eq!(again, parsed);
    assert_eq!(again.to_string(), printed);
    let pretty = format!("{parsed:#}");
    let again: T = pretty.parse().unwrap_or_else(|error| panic!("{pretty:?}: {error}"));
    assert_eq!(again, parsed);
    assert_eq!(format!("{again:#}"), pretty);
    Some(parsed)
}
