//! Nothing to use: `tests/` holds treedef against the types of other crates.
