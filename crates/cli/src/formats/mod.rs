//! The peculiarities of the formats of documents.

pub(crate) mod keys;
pub(crate) mod json;
pub(crate) mod toml_dates;
pub(crate) mod cbor_tags;
pub(crate) mod cbor_numbers;
pub(crate) mod json5;
pub(crate) mod duplicate_keys;
pub(crate) mod msgpack_extensions;
pub(crate) mod json_limits;
pub(crate) mod json_lines;
pub(crate) mod yaml_nodes;
pub(crate) mod yaml;
