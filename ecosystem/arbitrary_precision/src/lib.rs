//! Nothing to use: `tests/` holds treedef against serde_json with `arbitrary_precision`, a feature that holds for a whole build.
