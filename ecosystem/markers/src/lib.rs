//! Nothing to use: `tests/` holds the marks of treedef (`as_static`, `as_opaque`, `Static`, `Opaque`) against other formats.
//!
//! One macro expands every type without marks and with each way to write one, so that the twins cannot drift apart. For
//! each twin, payload and context, two laws hold: other formats see no mark (the same bytes, the same errors, the same
//! values), and a treedef sees it (statics travel in it, an opaque leaf is one leaf, everything comes back).
