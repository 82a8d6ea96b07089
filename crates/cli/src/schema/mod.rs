//! Documents against a JSON Schema.

pub(crate) mod references;
pub(crate) mod validation;
