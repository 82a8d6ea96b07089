//! Python literals: `{'a': [0, (1, None)]}`. Every library of pytrees can turn one into its own
//! structure, with `ast.literal_eval` and its `tree_structure`.
//!
//! A leaf is written as its index in our order. So the leaves of the literal, as flattened by a
//! library, show the order of the leaves in that library:
//!
//! ```
//! use treedef_pytrees::{Lowering, python};
//!
//! let lowered = python::literal(&"Layer { w: [*; 2], b: * }".parse()?, &Lowering::new())?;
//! assert_eq!(lowered.data, "{'b': 2, 'w': [0, 1]}");
//! assert_eq!(lowered.order, [Some(2), Some(0), Some(1)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::HashSet;

use treedef::TreeDef;

use crate::error::{Result, malformed};
use crate::lower::{Lowered, Lowering};
use crate::parser::{Parser, is_end_of_line};
use crate::py_key::PyKey;
use crate::pytree::PyTree;
use crate::raise::{Raised, raise};

/// The structure as a literal. Dicts have their keys in order, so that JAX, optree and torch
/// flatten it alike. But torch treats `None` as a leaf, which `order` does not count.
///
/// # Errors
///
/// Returns an error when a key of a map cannot be a key of a dict, or two are equal in Python (`1`
/// and `True`); when the structure is nested deeper than 200 levels or has more nodes than
/// [`Lowering::max_nodes`]; and for nodes that [`Lowering::strict`] refuses.
pub fn literal(treedef: &TreeDef, lowering: &Lowering) -> Result<Lowered<String>> {
    let (tree, order, statics) = lowering.lower_sorted(treedef, |_| None)?;
    Ok(Lowered::new(tree.to_string(), order, statics, treedef))
}

/// The structure of a literal, as `ast.literal_eval` reads it: lists, tuples, dicts and `None`. Any
/// other literal is a leaf: numbers, strings, bytes, sets, `...`. Names of characters
/// (`\\N{BULLET}`), lone surrogates and brackets around a part of a number, as in `-(1)`, are not
/// supported.
///
/// Leaves are counted in the order of the text. If the keys of dicts are in order, this is also the
/// order of JAX and optree.
///
/// # Errors
///
/// Returns an error when the text is not a literal, with the byte; when a key occurs twice in a dict, is
/// complex, `...` or an integer of more than 128 bits; when it is nested deeper than 200 levels, or a
/// key deeper than 16.
///
/// ```
/// use treedef_pytrees::python;
///
/// let raised = python::from_literal("{'w': [0.5, -1], 3: ('a', None)}")?;
/// assert_eq!(raised.treedef.to_string(), r#"{3i64: (*, None), "w": [*, *]}"#);
///
/// let error = python::from_literal("[1 {2}]").unwrap_err();
/// assert_eq!(error.to_string(), "expected `,` or `]`, found `{2}]` at byte 3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_literal(text: &str) -> Result<Raised> {
    if let Some(at) = text.find('\0') {
        return Err(malformed(at, "a null byte, which no literal has"));
    }
    let mut parser = Parser::new(text);
    parser.begin()?;
    let tree = parser.whole()?;
    parser.end()?;
    raise(&tree)
}

/// The form of a literal around its scalars.
impl Parser<'_> {
    /// The literal, which is a tuple if there is a comma.
    fn whole(&mut self) -> Result<PyTree> {
        let start = self.at;
        let first = self.node()?;
        if !self.eat(",") {
            return Ok(first);
        }
        (self.at, self.leaves) = (start, 0);
        let (mut items, mut comma) = (Vec::new(), true);
        while comma && !self.peek().is_none_or(is_end_of_line) {
            items.push(self.node()?);
            comma = self.eat(",");
            self.skip_space();
        }
        Ok(PyTree::Tuple(items))
    }

    fn node(&mut self) -> Result<PyTree> {
        if self.opens("[")? {
            return Ok(PyTree::List(self.items("]")?.0));
        }
        if self.opens("(")? {
            let (mut items, comma) = self.items(")")?;
            return Ok(match (items.len(), comma) {
                (1, false) => items.pop().unwrap_or(PyTree::None), // there is one
                _ => PyTree::Tuple(items),
            });
        }
        if self.opens("{")? {
            return self.dict_or_set();
        }
        self.skip_space();
        if self.word() == "set" {
            self.at += "set".len();
            if !(self.eat("(") && self.eat(")")) {
                return Err(self.expected("`()`"));
            }
            return Ok(self.leaf());
        }
        match self.scalar()? {
            PyKey::None => Ok(PyTree::None),
            _ => Ok(self.leaf()),
        }
    }

    fn leaf(&mut self) -> PyTree {
        self.leaves += 1;
        PyTree::Leaf(self.leaves - 1)
    }

    /// Items up to `close`, and whether a comma follows the last one.
    fn items(&mut self, close: &str) -> Result<(Vec<PyTree>, bool)> {
        let (mut items, mut comma) = (Vec::new(), false);
        while !self.eat(close) {
            if !items.is_empty() && !comma {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
            items.push(self.node()?);
            comma = self.eat(",");
        }
        Ok((items, comma))
    }

    /// Every library treats a set as a leaf.
    fn dict_or_set(&mut self) -> Result<PyTree> {
        let (start, open) = (self.at, self.open);
        let is_set = self.hashable(0).is_ok() && (self.eat(",") || self.eat("}"));
        (self.at, self.open) = (start, open);
        if !is_set {
            return self.dict().map(PyTree::Dict);
        }
        let mut comma = true;
        while !self.eat("}") {
            if !comma {
                return Err(self.expected("`,` or `}`"));
            }
            self.hashable(0)?;
            comma = self.eat(",");
        }
        Ok(self.leaf())
    }

    fn dict(&mut self) -> Result<Vec<(PyKey, PyTree)>> {
        let (mut entries, mut comma) = (Vec::new(), true);
        let mut seen = HashSet::new();
        while !self.eat("}") {
            if !comma {
                return Err(self.expected("`,` or `}`"));
            }
            self.skip_space();
            let start = self.at;
            let key = self.key(0)?;
            if !seen.insert(key.identity()) {
                return Err(malformed(start, format!("the key {key} occurs twice")));
            }
            if !self.eat(":") {
                return Err(self.expected("`:`"));
            }
            entries.push((key, self.node()?));
            comma = self.eat(",");
        }
        Ok(entries)
    }
}
