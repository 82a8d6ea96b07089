//! The part of two documents that is compared.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;

use treedef::{Change, ChangeKind, NodeRef, Path, Pattern, Tree, TreeDef};
use treedef_tensors::__leaf_names;

use crate::args::ScopeArgs;
use crate::comparing::tensor_file::{TensorFile, TensorSlot};
use crate::failure::{Failure, Result};
use crate::formats::keys::path_in;
use crate::paths::shown_pattern;
use crate::reading::parse::Document;

use super::nearest::no_match;

/// A part of both sides, restricted to some paths.
#[derive(Default)]
pub(super) struct Scope {
    at: Option<Path>,
    only: Vec<Pattern>,
    ignore: Vec<Pattern>,
    matches: RefCell<Matches>,
}

/// What each `only` matched in the documents of a check so far.
#[derive(Default)]
struct Matches {
    /// The numbers of those that matched something.
    matched: HashSet<usize>,
    num_documents: usize,
    /// The sides that were compared last.
    last: Vec<TreeDef>,
}

impl Scope {
    pub(super) fn of(part: &ScopeArgs) -> Result<Self> {
        let all = |patterns: &[String]| patterns.iter().map(|it| parse(it)).collect::<Result<_>>();
        let at = part.at.as_ref().map(|path| {
            path.parse().map_err(|error| Failure::new(format!("the path `{path}`: {error}")))
        });
        Ok(Scope {
            at: at.transpose()?,
            only: all(&part.only)?,
            ignore: all(&part.ignore)?,
            matches: RefCell::default(),
        })
    }

    /// Whether everything is compared.
    pub(super) fn is_whole(&self) -> bool {
        self.at.is_none() && self.only.is_empty() && self.ignore.is_empty()
    }

    /// Whether values without a path are compared, such as metadata.
    pub(super) fn has_rest(&self) -> bool {
        self.at.is_none() && self.only.is_empty()
    }

    /// Whether the node at a path is compared.
    pub(super) fn has(&self, path: &Path) -> bool {
        let names = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.covers(path));
        (self.only.is_empty() || names(&self.only)) && !names(&self.ignore)
    }

    /// Whether the node at a path is compared, or something below it.
    pub(super) fn has_some(&self, path: &Path, node: NodeRef<'_>) -> bool {
        let below = || node.to_treedef().nodes().any(|(below, _)| self.has(&path.join(&below)));
        self.has(path) || !self.only.is_empty() && below()
    }

    /// The changes that are in the scope.
    pub(super) fn changes<T: HasStructure>(&self, mut changes: Vec<Change<T>>) -> Vec<Change<T>> {
        if !self.only.is_empty() || !self.ignore.is_empty() {
            changes.retain(|Change { path, kind, .. }| {
                let has = |part: &T| self.has_some(path, part.structure().root());
                match kind {
                    ChangeKind::Removed(part) | ChangeKind::Added { new: part, .. } => has(part),
                    ChangeKind::Replaced { old, new, .. } => has(old) || has(new),
                    _ => self.has(path),
                }
            });
        }
        changes
    }

    /// The parts of two sides. A side without the part is used as a whole, such as a model that is compared
    /// with a training that contains one. At least one side must have the part.
    pub(super) fn of_both<T: HasStructure>(
        &self,
        sides: [T; 2],
        part: impl Fn(&T, &Path) -> treedef::Result<T>,
    ) -> Result<[T; 2]> {
        let Some(at) = &self.at else { return Ok(sides) };
        let parts = sides.each_ref().map(|side| part(side, at));
        if let [Err(_), Err(error)] = parts {
            return Err(Failure::new(format!("`--at`: {error}")));
        }
        let [old, new] = sides;
        let [old_part, new_part] = parts;
        Ok([old_part.unwrap_or(old), new_part.unwrap_or(new)])
    }

    /// Checks that each `--only` matches something on at least one side. A pattern with a mistake in it would
    /// find no difference.
    pub(super) fn expect_matches<T: HasStructure>(&self, sides: [&T; 2]) -> Result<()> {
        self.matches.take();
        self.remember(&sides.map(HasStructure::structure));
        self.expect_matched()
    }

    /// Remembers which `--only` match something on a side of a comparison.
    pub(super) fn remember(&self, sides: &[&TreeDef]) {
        if self.only.is_empty() {
            return;
        }
        let mut matches = self.matches.borrow_mut();
        for (number, pattern) in self.only.iter().enumerate() {
            if !matches.matched.contains(&number) && sides.iter().any(|side| is_in(side, pattern)) {
                matches.matched.insert(number);
            }
        }
        matches.num_documents += 1;
        matches.last = sides.iter().copied().cloned().collect();
    }

    /// Checks that each `--only` matched something in at least one of the documents so far.
    pub(super) fn expect_matched(&self) -> Result<()> {
        let matches = self.matches.borrow();
        let mut all = self.only.iter().enumerate();
        let unmatched = all.find(|(number, _)| !matches.matched.contains(number));
        let message = match (unmatched, matches.num_documents) {
            // Without a document, there was nothing to match.
            (None, _) | (_, 0) => return Ok(()),
            (Some((_, pattern)), 1) => {
                let sides: Vec<_> = matches.last.iter().map(units).collect::<Result<_>>()?;
                no_match(&sides, pattern, |()| "a leaf".to_owned())
            }
            (Some((_, pattern)), _) => {
                format!("no match: nothing in the documents fits `{}`", shown_pattern(pattern))
            }
        };
        Err(Failure::new(format!("`--only`: {message}")))
    }

    /// The part of a document on its own.
    #[cfg(feature = "schema")]
    pub(super) fn of_one<L: Clone>(&self, tree: Tree<L>) -> Result<Tree<L>> {
        let part = self.at.as_ref().map(|at| tree.subtree(at));
        part.unwrap_or(Ok(tree)).map_err(|error| Failure::new(format!("`--at`: {error}")))
    }

    pub(super) fn of_documents(
        &self,
        sides: [Document; 2],
        are_texts: bool,
    ) -> Result<[Document; 2]> {
        let sides = self.of_both(sides, |document, at| {
            let spelled = path_in(document.treedef(), at, are_texts);
            let at = spelled.as_ref().unwrap_or(at);
            Ok(match document {
                Document::Tree(tree) => Document::Tree(tree.subtree(at)?),
                Document::Signature(tree) => Document::Signature(tree.subtree(at)?),
                Document::Structure(treedef) => Document::Structure(treedef.node(at)?.to_treedef()),
                Document::Tensors(tree) => Document::Tensors(tree.subtree(at)?),
            })
        })?;
        self.expect_matches(sides.each_ref())?;
        Ok(sides)
    }

    /// The tensors of two files, with their names in the part.
    pub(super) fn of_files(&self, [old, new]: [TensorFile; 2]) -> Result<[TensorFile; 2]> {
        let named = |tree: Tree<TensorSlot>| {
            let names: Vec<String> = __leaf_names(tree.treedef()).collect();
            let (treedef, slots) = tree.into_parts();
            let slots =
                slots.into_iter().zip(names).map(|(slot, name)| TensorSlot { name, ..slot });
            Tree::new(treedef, slots.collect())
        };
        let trees = [old.tree.clone(), new.tree.clone()];
        let [a, b] = self.of_both(trees, |tree, at| tree.subtree(at).and_then(named))?;
        self.expect_matches([&a, &b])?;
        Ok([old.with_tree(a), new.with_tree(b)])
    }
}

fn is_in(treedef: &TreeDef, pattern: &Pattern) -> bool {
    treedef.nodes().any(|(path, _)| pattern.matches(&path))
}

/// A pattern from the command line.
pub(super) fn parse(pattern: &str) -> Result<Pattern> {
    if let Some(rest) = pattern.strip_prefix('$')
        && (rest.is_empty() || rest.starts_with(['.', '[']))
    {
        let path = rest.replace("..", "**.").replace("['", "[\"").replace("']", "\"]");
        let path = if path.is_empty() { "**" } else { &path };
        return Err(Failure::new(format!(
            "the path `{pattern}` is JSONPath; paths have no `$` here: `{path}`"
        )));
    }
    pattern.parse().map_err(|error: treedef::Error| {
        Failure::new(format!("the path `{pattern}`: {error}; try e.g. `'**.name'`"))
    })
}

/// A document or a checkpoint, which both have a structure.
pub(super) trait HasStructure {
    fn structure(&self) -> &TreeDef;
}

impl<L> HasStructure for Tree<L> {
    fn structure(&self) -> &TreeDef {
        self.treedef()
    }
}

impl HasStructure for TreeDef {
    fn structure(&self) -> &TreeDef {
        self
    }
}

impl HasStructure for Document {
    fn structure(&self) -> &TreeDef {
        self.treedef()
    }
}

impl<T: HasStructure + Clone> HasStructure for Cow<'_, T> {
    fn structure(&self) -> &TreeDef {
        (**self).structure()
    }
}

/// The structure alone, as a tree.
pub(super) fn units(treedef: &TreeDef) -> Result<Tree<()>> {
    Ok(Tree::new(treedef.clone(), vec![(); treedef.num_leaves()])?)
}
