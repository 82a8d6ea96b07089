//! What `flatten_like` puts leaves into.

use std::cell::Cell;
use std::mem;

use crate::bug::bug;
use crate::error::Result;
use crate::leaf::leaf_type::LeafType;
use crate::leaf::sink::Sink;
use crate::model::{LeafKind, TreeDef};

/// The leaves of a slice for which a thread keeps room: 512 KiB.
const MOST_SPARE: usize = 512 << 10;

thread_local! {
    /// Room for the leaves of the next slice, until the value is known to be like the treedef.
    static SPARE: Cell<Sink> = const { Cell::new(Sink::Counted(0)) };
}

/// A buffer for [`flatten_like`](crate::TreeDef::flatten_like): a `Vec`, whose content is replaced,
/// or a slice with one place for each leaf, such as memory of another library.
///
/// A walk writes into a `Vec`. The leaves of a slice are copied at its end, so that a value that
/// fails changes nothing.
///
/// The supertrait is internal, and may change in any release.
///
/// ```
/// let mut places = [0.0; 3];
/// let treedef = treedef::structure(&(1.0, [2.0, 3.0]))?;
/// treedef.flatten_like(&(4.0, [5.0, 6.0]), &mut places[..])?;
/// assert_eq!(places, [4.0, 5.0, 6.0]);
/// # Ok::<(), treedef::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a `Vec` nor a slice of leaves",
    note = "an array is passed as a slice, `&mut array[..]`"
)]
pub trait LeafBuffer: Fill {}

impl<L: LeafType> LeafBuffer for Vec<L> {}
impl<L: LeafType> LeafBuffer for [L] {}

/// Cannot be named outside the crate, so that [`LeafBuffer`] is sealed.
pub trait Fill {
    /// Where a walk puts the leaves of a value like the treedef. Empties a vector.
    fn begin(&mut self, treedef: &TreeDef) -> Result<Filled>;
    /// Takes the leaves, which are of such a value.
    fn end(&mut self, leaves: Filled) -> Result<()>;
}

/// What a walk fills.
pub struct Filled(pub(crate) Sink);

impl<L: LeafType> Fill for Vec<L> {
    #[inline]
    fn begin(&mut self, _: &TreeDef) -> Result<Filled> {
        self.clear();
        if const { !has_box::<L>() } {
            return Ok(Filled(Sink::of(mem::take(self))));
        }
        let mut sink = take_spare_sink::<L>();
        if let Some(leaves) = sink.held() {
            *leaves = mem::take(self); // it is one of these
        }
        Ok(Filled(sink))
    }

    #[inline]
    fn end(&mut self, Filled(mut sink): Filled) -> Result<()> {
        if const { !has_box::<L>() } {
            *self = sink.into_leaves();
            return Ok(());
        }
        let Some(leaves) = sink.held() else { return Err(bug!("the leaves are of another type")) };
        *self = mem::take(leaves);
        keep(sink);
        Ok(())
    }
}

impl<L: LeafType> Fill for [L] {
    fn begin(&mut self, treedef: &TreeDef) -> Result<Filled> {
        let no_place = "the buffer is a slice, which needs a place for each leaf";
        treedef.expect_leaves(self.len()).map_err(|error| error.with_hint(no_place))?;
        let mut sink = take_spare_sink::<L>();
        sink.reserve(self.len());
        Ok(Filled(sink))
    }

    fn end(&mut self, Filled(mut sink): Filled) -> Result<()> {
        let leaves = sink.held::<Vec<L>>().filter(|leaves| leaves.len() == self.len());
        let Some(leaves) = leaves else { return Err(bug!("a leaf has no place")) };
        for (place, leaf) in self.iter_mut().zip(leaves.drain(..)) {
            *place = leaf;
        }
        if leaves.capacity().saturating_mul(size_of::<L>()) <= MOST_SPARE {
            keep(sink);
        }
        Ok(())
    }
}

/// Whether a sink has a box for the vector.
const fn has_box<L: LeafType>() -> bool {
    !matches!(L::KIND, LeafKind::F64 | LeafKind::F32 | LeafKind::Opaque)
}

/// An empty vector in a sink.
fn take_spare_sink<L: LeafType>() -> Sink {
    let mut sink = SPARE.try_with(Cell::take).unwrap_or_default();
    if sink.held::<Vec<L>>().is_some() { sink } else { Sink::of::<L>(Vec::new()) }
}

fn keep(sink: Sink) {
    // This fails only while the thread ends. The room is dropped then.
    let _ = SPARE.try_with(|spare| spare.set(sink));
}
