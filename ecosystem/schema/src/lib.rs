//! A validator reads the JSON Schemas that treedef makes: see the tests.
