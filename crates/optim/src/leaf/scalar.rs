//! Leaves that are one number.

use std::ops::Range;
use std::sync::LazyLock;

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::__private::without_objects;
use treedef::{Flattener, LeafKind, Tree, TreeDef};

use super::trainable::expect_length;
use super::{Trainable, slices};
use crate::error::LeafError;
use crate::number::{Kernel, Term};
use crate::pairwise;

/// Extracts the floats of a value that has no objects: if it has some, only these are its leaves.
static FLOATS: LazyLock<Flattener> =
    LazyLock::new(|| without_objects(Flattener::new().leaves_where(LeafKind::is_float)));

/// The same, for another value whose statics are ignored.
static ONLY_FLOATS: LazyLock<Flattener> = LazyLock::new(|| FLOATS.clone().ignore_statics(true));

macro_rules! scalar {
    ($($type:ident { $($more:tt)* })*) => {$(
        impl Trainable for $type {
            const IS_NUMBER: bool = true;

            fn tree<T: Serialize + ?Sized>(value: &T) -> treedef::Result<Tree<Self>> {
                FLOATS.tree_as(value).or_else(|error| match Tree::of_objects(value) {
                    Ok(objects) if !objects.leaves().is_empty() => Ok(objects),
                    _ => Err(error),
                })
            }

            fn leaves_like<T: Serialize + ?Sized>(
                treedef: &TreeDef,
                value: &T,
                buffer: &mut Vec<Self>,
                ignore_statics: bool,
            ) -> treedef::Result<()> {
                let floats = if ignore_statics { &*ONLY_FLOATS } else { &*FLOATS };
                let numbers = floats.flatten_like(treedef, value, buffer);
                numbers.or_else(|error| {
                    let objects = Flattener::new().ignore_statics(ignore_statics);
                    let found = objects.flatten_objects_like(treedef, value, buffer);
                    // If the model has objects, the error is about these.
                    let is_of_objects = || {
                        Tree::<Self>::of_objects(value).is_ok_and(|tree| !tree.leaves().is_empty())
                    };
                    found.map_err(|other| if is_of_objects() { other } else { error })
                })
            }

            fn rebuild<T: DeserializeOwned>(
                treedef: &TreeDef,
                leaves: &mut Vec<Self>,
            ) -> treedef::Result<T> {
                treedef::unflatten(treedef, &*leaves)
            }

            #[cfg(feature = "in_place")]
            fn rebuild_into<T: DeserializeOwned>(
                treedef: &TreeDef,
                leaves: &mut Vec<Self>,
                value: &mut T,
                before: (&TreeDef, &[Self]),
            ) -> treedef::Result<()> {
                let rebuilt = treedef::unflatten_into(value, treedef, &*leaves);
                if rebuilt.is_err() {
                    // The type refuses some numbers: it gets those back that it had. That fails where the
                    // first attempt did, or not at all.
                    let _ = treedef::unflatten_into(value, before.0, before.1);
                }
                rebuilt
            }

            fn run<K: Kernel<S, R>, const S: usize, const R: usize>(
                kernel: &K,
                main: &mut Self,
                slots: [&mut Self; S],
                read: [&Self; R],
            ) -> Result<(), LeafError> {
                let (new, remembered) =
                    kernel.run(*main, slots.each_ref().map(|slot| **slot), read.map(|read| *read));
                *main = new;
                slots.into_iter().zip(remembered).for_each(|(slot, new)| *slot = new);
                Ok(())
            }

            #[inline]
            fn run_all<K: Kernel<S, R>, const S: usize, const R: usize>(
                kernel: &K,
                main: &mut [Self],
                slots: [&mut [Self]; S],
                read: [&[Self]; R],
            ) -> Result<(), (usize, LeafError)> {
                expect_length(main.len(), &slots, &read)?;
                slices::run(kernel, main, slots, read);
                Ok(())
            }

            fn sum<K: Term<R>, const R: usize>(
                term: &K,
                read: [&Self; R],
            ) -> Result<f64, LeafError> {
                Ok(term.term(read.map(|read| f64::from(*read))))
            }

            fn sum_all<K: Term<R>, const R: usize>(
                term: &K,
                read: [&[Self]; R],
            ) -> Result<f64, (usize, LeafError)> {
                let length = read.first().map_or(0, |slice| slice.len());
                expect_length::<Self>(length, &[], &read)?;
                let read = read.map(|read| &read[..length]);
                Ok(pairwise::sum(0..length, &|at| term.term(read.map(|read| f64::from(read[at])))))
            }

            fn zero(&self) -> Result<Self, LeafError> {
                Ok(0.0)
            }

            fn describe(&self) -> String {
                stringify!($type).to_owned()
            }

            fn to_numbers(&self) -> Result<Vec<f64>, LeafError> {
                Ok(vec![f64::from(*self)])
            }

            #[allow(clippy::cast_possible_truncation, reason = "it is rounded")]
            fn with_numbers(&self, numbers: &[f64]) -> Result<Self, LeafError> {
                match numbers {
                    [number] => Ok(*number as $type),
                    _ => Err(format!("expected 1 number, found {}", numbers.len()).into()),
                }
            }

            fn to_number(&self) -> Option<f64> {
                Some(f64::from(*self))
            }

            fn is_like(&self, _other: &Self) -> bool {
                true
            }

            $($more)*
        }
    )*};
}

scalar! {
    f32 {}
    f64 {
        fn coarse<T: Serialize + ?Sized>(value: &T) -> treedef::Result<Vec<Range<usize>>> {
            // Numbers that are objects are not coarse.
            let Ok(kinds) = FLOATS.signature(value) else { return Ok(Vec::new()) };
            let mut ranges: Vec<Range<usize>> = Vec::new();
            for (leaf, kind) in kinds.leaves().iter().enumerate() {
                match ranges.last_mut() {
                    _ if *kind != LeafKind::F32 => {}
                    Some(last) if last.end == leaf => last.end += 1,
                    _ => ranges.push(leaf..leaf + 1),
                }
            }
            Ok(ranges)
        }

        #[allow(clippy::cast_possible_truncation, reason = "it is rounded")]
        fn coarsen(&mut self) {
            *self = f64::from(*self as f32);
        }
    }
}
