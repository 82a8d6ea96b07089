//! The public test suites of the formats, through the readers of the command, and the suite of JSON Schema
//! through the command. Known failures are listed beside this file, with their reasons.

mod known;
mod formats;
mod schema;
