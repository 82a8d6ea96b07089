//! `convert`.

use crate::args::{OneFile, Output};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::input::{self, Document};
use crate::losses::losses;
use crate::output;

use treedef::{Leaf, Tree};

use super::write_to;

pub(super) fn convert(file: &OneFile, to: &Output) -> Result<bool> {
    let input = input::open(&file.file, file.format.format, Format::Json)?;
    let (name, format) = (input.name.clone(), input.format);
    write_as(&input.tree()?, (&name, format), to, None)
}

/// Writes a tree where it should go, and says what was lost.
pub(super) fn write_as(
    tree: &Tree<Leaf>,
    (name, from): (&str, Format),
    to: &Output,
    otherwise: Option<Format>,
) -> Result<bool> {
    let format = match (to.to, &to.output, otherwise) {
        (Some(format), _, _) => format,
        (None, Some(path), _) => Format::of_path(path)?,
        (None, None, Some(format)) => format,
        (None, None, None) => {
            return Err(Failure::new("to which format? Pass `--to toml` or `--output file.toml`"));
        }
    };
    let bytes = output::write(tree, format).map_err(|failure| failure.in_file(name))?;
    let lost = match input::read(&bytes, format) {
        Ok(Document::Tree(back)) => losses(tree, &back, from == Format::Tree),
        Ok(_) => vec!["the values are not in it".to_owned()],
        Err(failure) => vec![format!("it may not be readable again: {failure}")],
    };
    write_to(to.output.as_deref(), &bytes)?;
    let yellow = anstyle::AnsiColor::Yellow.on_default();
    for loss in lost {
        anstream::eprintln!("treedef: {name}: {yellow}lost in {}: {loss}{yellow:#}", format.name());
    }
    Ok(true)
}
