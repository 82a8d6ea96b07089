//! The public test suites of the formats, through the readers of the command, and that of JSON Schema
//! through the command. What is known to fail is listed beside this file, with the reason.

mod known;
mod formats;
mod schema;
