//! Pieces of messages: counts, lists of names, and texts that are cut off.

use std::fmt::{self, Write};

use crate::model::Name;

/// The printed value, cut off after `most` characters.
pub(crate) fn limited(printed: &impl fmt::Display, most: usize) -> String {
    let mut out = Limited { text: String::new(), left: most };
    match write!(out, "{printed}") {
        Ok(()) => out.text,
        Err(_) => out.text + "…",
    }
}

/// A writer that fails when there is no room for more characters.
pub(crate) struct Limited {
    pub(crate) text: String,
    pub(crate) left: usize,
}

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(char);
        }
        Ok(())
    }
}

pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

pub(crate) fn counted_bytes(count: u64) -> String {
    format!("{count} {} more", if count == 1 { "byte" } else { "bytes" })
}

pub(crate) fn quoted_names(names: &[Name]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.len() {
        0 => "are no fields".to_owned(),
        1 => format!("is {}", quoted.concat()),
        _ => format!("are {}", quoted.join(", ")),
    }
}

pub(crate) fn alternatives(names: &[&str]) -> String {
    match names {
        [] => "none: there are no variants".to_owned(),
        [only] => format!("`{only}`"),
        [names @ .., last] => {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("{} or `{last}`", names.join(", "))
        }
    }
}
