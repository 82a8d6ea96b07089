//! Laws over a zoo of values.

mod laws;
mod lookups;
mod rules;
mod snapshots;
mod specimens;
mod wrong_type;
