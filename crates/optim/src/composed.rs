//! The structure of a model of dual numbers.

use std::cell::RefCell;

use treedef::{Result, TreeDef};

/// The last structure that was composed, and its parts.
struct Composed {
    outer: TreeDef,
    inner: TreeDef,
    whole: TreeDef,
}

/// The most stored nodes of a structure that a thread keeps.
const KEPT: usize = 1024;

thread_local! {
    static LAST: RefCell<Option<Composed>> = const { RefCell::new(None) };
}

/// A structure with another one in the place of each leaf. A fit asks for the same one in each step.
pub(crate) fn composed(outer: &TreeDef, inner: &TreeDef) -> Result<TreeDef> {
    let known = |last: &RefCell<Option<Composed>>| {
        let last = last.borrow();
        let known = last.as_ref().filter(|last| last.outer == *outer && last.inner == *inner)?;
        Some(known.whole.clone())
    };
    // A thread that ends keeps nothing.
    if let Some(whole) = LAST.try_with(known).ok().flatten() {
        return Ok(whole);
    }
    let whole = outer.compose(inner)?;
    if outer.num_nodes() <= KEPT {
        let (outer, inner) = (outer.clone(), inner.clone());
        let new = Composed { outer, inner, whole: whole.clone() };
        let _ = LAST.try_with(|last| last.replace(Some(new)));
    }
    Ok(whole)
}
