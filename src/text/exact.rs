//! Text that contains a whole tree: the kinds of its leaves, and the insertion order of the entries
//! of maps.
//!
//! It is the notation of treedefs with literals for leaves, `none` for an absent value that is a
//! leaf, and `opaque` before the value of an opaque leaf.

use std::cell::Cell;
use std::fmt::{self, Write};
use std::slice;

use crate::bug::{bug, missing};
use crate::error::Result;
use crate::leaf::Scalar;
use crate::leaf::leaf_type::Flat;
use crate::model::{Leaf, LeafKind, Limits, Tree, TreeDef, Value};
use crate::path::{Key, Path};
use crate::treedef::limits::too_much_work;
use crate::treedef::node_ref::NodeRef;

use super::literal::{Suffix, write_scalar};
use super::parse::{parse, parse_keys, parse_options, parse_part};
use super::path::{parse_key, parse_path};
use super::print::{LeafText, write_node, write_options};
use super::syntax::{Syntax, TextLeaf, kinds, literals};

/// A structure, a tree with its leaves, a path or a key that can be text. Cannot be named outside the crate.
///
/// A count such as `; 1000` stands for many leaves. For all texts of one document together, the
/// cost of leaves beyond the bytes of the texts is limited, both when writing and reading; `work`
/// is the rest. A leaf and the insertion order of a map cost one node, and 16 bytes of text one more.
pub trait ExactText: Sized {
    fn to_exact_text(&self, work: &Cell<usize>) -> Result<String>;

    fn from_exact_text(text: &str, work: &mut usize) -> Result<Self>;
}

/// The text at the leaves.
enum ExactLeaves<'a, L> {
    /// `*`
    Stars,
    Kinds(&'a [LeafKind]),
    Leaves(&'a [L]),
    /// The scalars of a key, a static or an opaque leaf.
    Inside(&'a Value),
}

struct Exact<'a, L> {
    leaves: ExactLeaves<'a, L>,
    work: &'a Cell<usize>,
}

impl<L: Flat> LeafText for Exact<'_, L> {
    fn write(&self, index: usize, out: &mut dyn Write) -> fmt::Result {
        let scalar = match &self.leaves {
            ExactLeaves::Stars => return out.write_char('*'),
            ExactLeaves::Kinds(kinds) => {
                let kind = kinds.get(index);
                return kind.map_or_else(|| missing("a leaf"), |kind| write!(out, "{kind}"));
            }
            ExactLeaves::Inside(value) => value.scalar(index),
            ExactLeaves::Leaves(leaves) => {
                let Some(leaf) = leaves.get(index) else { return missing("a leaf") };
                if let Some(value) = leaf.opaque() {
                    out.write_str("opaque ")?;
                    return write_node(out, value.root(), &*self.inside(value));
                }
                leaf.as_scalar()
            }
        };
        let write = |scalar| write_scalar(out, scalar, Suffix::Sparing);
        scalar.map_or_else(|| missing("a leaf"), write)
    }

    fn same(&self, a: usize, b: usize) -> bool {
        match &self.leaves {
            ExactLeaves::Stars => true,
            ExactLeaves::Kinds(kinds) => kinds.get(a) == kinds.get(b),
            // Equal opaque leaves may have maps with different insertion orders.
            ExactLeaves::Leaves(_) | ExactLeaves::Inside(_) => {
                self.scalar(a).is_some() && self.scalar(a) == self.scalar(b)
            }
        }
    }

    fn all_alike(&self) -> bool {
        matches!(self.leaves, ExactLeaves::Stars)
    }

    fn inside<'v>(&'v self, value: &'v Value) -> Box<dyn LeafText + 'v> {
        Box::new(Exact::<L> { leaves: ExactLeaves::Inside(value), work: self.work })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn most_repeated(&self, node: NodeRef<'_>) -> usize {
        self.work
            .get()
            .checked_div(self.work_of(node))
            .map_or(usize::MAX, |more| more.saturating_add(1))
    }

    fn repeated(&self, node: NodeRef<'_>, count: usize) {
        // It is not more than the rest: see above.
        let spent = self.work_of(node).saturating_mul(count - 1);
        self.work.set(self.work.get().saturating_sub(spent));
    }
}

impl<L: Flat> Exact<'_, L> {
    /// The cost of a further sibling to a reader.
    fn work_of(&self, node: NodeRef<'_>) -> usize {
        let orders = node.insertions(1).len();
        let work = match &self.leaves {
            ExactLeaves::Stars => return orders, // a star costs nothing: there may be 2⁶⁰
            ExactLeaves::Kinds(_) => return node.num_leaves().saturating_add(orders),
            ExactLeaves::Leaves(_) => node.num_leaves().saturating_add(orders),
            ExactLeaves::Inside(_) => node.work(), // which is more than its maps and leaves
        };
        let texts = node.leaf_range().filter_map(|leaf| self.scalar(leaf));
        texts.map(Scalar::text_in_nodes).fold(work, usize::saturating_add)
    }

    /// The scalar at a leaf. An opaque leaf has none, and is never printed as one with its sibling.
    fn scalar(&self, index: usize) -> Option<Scalar<'_>> {
        match &self.leaves {
            ExactLeaves::Stars | ExactLeaves::Kinds(_) => None,
            ExactLeaves::Leaves(leaves) => leaves.get(index)?.as_scalar(),
            ExactLeaves::Inside(value) => value.scalar(index),
        }
    }
}

fn write_exact<L: Flat>(
    treedef: &TreeDef,
    leaves: ExactLeaves<'_, L>,
    work: &Cell<usize>,
) -> Result<String> {
    // A text beyond the default limits could not be read again.
    treedef.clone().with_limits(Limits::default()).within_limits()?;
    let mut text = String::new();
    let written = write_options(&mut text, treedef.encoding.options)
        .and_then(|()| write_node(&mut text, treedef.root(), &Exact { leaves, work }));
    // Writing to a `String` cannot fail.
    written.map_err(|_| bug!("a text was not written"))?;
    Ok(text)
}

fn parse_exact(text: &str, syntax: Syntax, work: &mut usize) -> Result<Tree<TextLeaf>> {
    let syntax = Syntax { keeps_order: true, ..syntax };
    parse_part(text, work, |lexer| {
        let options = parse_options(lexer)?;
        let Tree { treedef, leaves } = parse(lexer, syntax, options, Limits::default(), (0, 0))?;
        Ok(Tree { treedef: treedef.within_limits()?, leaves })
    })
}

pub(crate) fn write_leaves<L: Flat>(tree: &Tree<L>, work: &Cell<usize>) -> Result<String> {
    write_exact(&tree.treedef, ExactLeaves::Leaves(&tree.leaves), work)
}

pub(crate) fn read_leaves(text: &str, work: &mut usize) -> Result<Tree<Leaf>> {
    Ok(literals(parse_exact(text, Syntax::TREE, work)?))
}

pub(crate) fn write_kinds(tree: &Tree<LeafKind>, work: &Cell<usize>) -> Result<String> {
    write_exact::<Leaf>(&tree.treedef, ExactLeaves::Kinds(&tree.leaves), work)
}

pub(crate) fn read_kinds(text: &str, work: &mut usize) -> Result<Tree<LeafKind>> {
    Ok(kinds(parse_exact(text, Syntax::SIGNATURE, work)?))
}

impl ExactText for TreeDef {
    fn to_exact_text(&self, work: &Cell<usize>) -> Result<String> {
        write_exact::<Leaf>(self, ExactLeaves::Stars, work)
    }

    fn from_exact_text(text: &str, work: &mut usize) -> Result<Self> {
        Ok(parse_exact(text, Syntax::STRUCTURE, work)?.treedef)
    }
}

impl ExactText for Path {
    fn to_exact_text(&self, work: &Cell<usize>) -> Result<String> {
        let text = self.to_string();
        spend(self.keys(), &text, work)?;
        Ok(text)
    }

    fn from_exact_text(text: &str, work: &mut usize) -> Result<Self> {
        parse_keys(text, work, parse_path)
    }
}

impl ExactText for Key {
    fn to_exact_text(&self, work: &Cell<usize>) -> Result<String> {
        let text = self.to_string();
        spend(slice::from_ref(self), &text, work)?;
        Ok(text)
    }

    fn from_exact_text(text: &str, work: &mut usize) -> Result<Self> {
        parse_part(text, work, parse_key)
    }
}

/// Spends at least what a reader of the text of these keys spends.
fn spend(keys: &[Key], text: &str, work: &Cell<usize>) -> Result<()> {
    let entries = keys.iter().filter_map(Key::entry);
    let needed = entries.map(|entry| entry.work()).fold(0, usize::saturating_add);
    let beyond = needed.saturating_sub(text.len());
    let left = work.get().checked_sub(beyond);
    work.set(left.ok_or_else(|| too_much_work(beyond, work.get()))?);
    Ok(())
}
