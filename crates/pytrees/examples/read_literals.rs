//! Reads Python literals, one a line, and says what they are, for `python/literals.py`.

use std::error::Error;
use std::io::{BufRead, BufWriter, Write, stdin, stdout};

use serde_json::json;
use treedef_pytrees::{Lowering, python};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(stdout());
    for line in stdin().lock().lines() {
        let said = match python::from_literal(&line?) {
            // The leaves of what is written again are their indices here.
            Ok(raised) => match python::literal(&raised.treedef, &Lowering::new()) {
                Ok(literal) => json!({ "order": raised.order, "literal": literal.data }),
                Err(error) => json!({ "unsorted": error.to_string() }),
            },
            Err(error) => json!({ "error": error.to_string() }),
        };
        writeln!(out, "{said}")?;
    }
    Ok(())
}
