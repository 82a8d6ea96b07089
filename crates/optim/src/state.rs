//! The memory of an optimiser between the steps of a training.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::__private::{OrBug, broken};
use treedef::{Difference, DifferenceKind, NodeKind, NodeRef, Tree, TreeDef};

use crate::error::{Error, Result, STATE};
use crate::leaf::Trainable;
use crate::transform::{
    ACCUMULATE, APPLY_IF_FINITE, LOOKAHEAD, Scope, Slots, Step, Transform, parameters_of, trained,
};

pub(crate) const GRADIENT: &str = "the gradient has another structure than the parameters";
const OTHER_NUMBERS: &str = "the value has another structure with other numbers";
const MODEL: &str = "the model has another structure than the state (see `State::migrate`)";

/// The memory of an optimiser: counts, and moments with the structure of the parameters.
///
/// It is a serde value. Each moment is a `T`, so the state is saved, printed, compared and migrated like
/// the model. The state records the structure of its leaves, and which part of the optimiser concerns which
/// leaves. So a new field with a default is not mistaken for a moment, and moments of one group are not
/// used for another. Both are errors of a step; [`State::migrate`] adapts the state. The front page has an
/// example.
///
/// A struct with a state that is generic over its model has to state its bounds, because serde's derive
/// does not infer them:
///
/// ```
/// use serde::de::DeserializeOwned;
/// use serde::{Deserialize, Serialize};
/// use treedef_optim::{Optimiser, State, adam};
///
/// #[derive(Serialize, Deserialize)]
/// #[serde(bound = "M: Serialize + DeserializeOwned")]
/// struct Training<M> {
///     model: M,
///     state: State<M, f64>,
/// }
///
/// let training = Training { model: [1.0, 2.0], state: adam(0.1).init(&[1.0, 2.0])? };
/// let again: Training<[f64; 2]> = treedef::Tree::of(&training)?.into_typed()?;
/// assert_eq!(again.model, [1.0, 2.0]);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
///
/// Some types cannot hold all moments: types that refuse some numbers, that change them (an angle kept
/// below 2π), or that leave out fields that are zero. Saving such a state is an error.
pub struct State<T, L> {
    /// The structure of the parameters. Unknown if the state was read and has no leaves.
    pub(crate) treedef: Option<TreeDef>,
    pub(crate) slots: Slots<L>,
    /// The leaves of the structure that are no running statistics. Unknown until the first step.
    parameters_at: Option<Vec<Range<usize>>>,
    /// The leaves for which a state that was read has no moments.
    pub(crate) absent: Vec<Range<usize>>,
    /// The leaves whose moments are rounded like their parameters, so that a state is unchanged by a file.
    /// Unknown until the first step.
    coarse: Option<Vec<Range<usize>>>,
    /// The memory of the last step.
    parameters: Vec<L>,
    gradients: Vec<L>,
    /// The numbers of the model, for a type that refuses new ones in place.
    before: Vec<L>,
    /// Whether a gradient had other statics than the model, which are ignored.
    ignores_statics: bool,
    value: PhantomData<fn() -> T>,
}

impl<T, L: Clone> Clone for State<T, L> {
    fn clone(&self) -> Self {
        State {
            treedef: self.treedef.clone(),
            slots: self.slots.clone(),
            parameters_at: self.parameters_at.clone(),
            absent: self.absent.clone(),
            coarse: self.coarse.clone(),
            parameters: Vec::new(),
            gradients: Vec::new(),
            before: Vec::new(),
            ignores_statics: false,
            value: PhantomData,
        }
    }
}

impl<T, L: fmt::Debug> fmt::Debug for State<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("slots", &self.slots).finish_non_exhaustive()
    }
}

impl<T, L: Trainable> State<T, L> {
    pub(crate) fn of(optimiser: &(impl Transform<L> + ?Sized), model: &Tree<L>) -> Result<Self> {
        let (treedef, leaves) = (model.treedef(), model.leaves());
        let Some(first) = leaves.first() else {
            return Err(Error::NoLeaves { leaf: std::any::type_name::<L>() });
        };
        let parameters_at = parameters_of(treedef);
        let ranges = &*trained(leaves, &parameters_at);
        if ranges.is_empty() {
            return Err(Error::NoFloats { found: first.describe(), path: treedef.leaf_path(0)? });
        }
        let slots = optimiser.slots(Scope { treedef, ranges }, leaves)?;
        Ok(State::read(Some(treedef.clone()), slots))
    }

    pub(crate) fn read(treedef: Option<TreeDef>, slots: Slots<L>) -> Self {
        let (parameters, gradients) = (Vec::new(), Vec::new());
        State {
            treedef,
            slots,
            parameters_at: None,
            absent: Vec::new(),
            coarse: None,
            parameters,
            gradients,
            before: Vec::new(),
            ignores_statics: false,
            value: PhantomData,
        }
    }

    fn expect_all_present(&self, treedef: &TreeDef) -> Result<()> {
        match self.absent.first() {
            None => Ok(()),
            Some(first) => Err(Error::Absent { path: treedef.leaf_path(first.start)? }),
        }
    }

    /// The number of steps of the first transform that counts them. Gradients that were
    /// [accumulated](crate::Optimiser::accumulate) are one step. Inside a lookahead that resets the state, it restarts with that.
    ///
    /// ```
    /// use treedef_optim::{Optimiser, adam};
    ///
    /// let optimiser = adam(0.1).accumulate(3);
    /// let (mut model, mut state) = (1.0, optimiser.init::<f64, _>(&1.0)?);
    /// for _ in 0..7 {
    ///     model = optimiser.step(model, 1.0, &mut state)?;
    /// }
    /// assert_eq!(state.count(), 2);
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    pub fn count(&self) -> u64 {
        fn first<L>(slots: &Slots<L>) -> u64 {
            let inside = || slots.parts.iter().map(first).find(|count| *count > 0);
            let counts_steps =
                ![ACCUMULATE, APPLY_IF_FINITE, LOOKAHEAD].contains(&&*slots.transform);
            let is_step = slots.count > 0 && counts_steps;
            if is_step { slots.count } else { inside().unwrap_or_default() }
        }
        first(&self.slots)
    }

    /// Puts the leaves of the model and of the gradients into the memory of the state.
    pub(crate) fn take_in(&mut self, model: &T, gradients: &T) -> Result<()>
    where
        T: Serialize,
    {
        self.take_in_model(model)?;
        if self.coarse.is_none() {
            self.coarse = Some(L::coarse(model)?);
        }
        let treedef = self.treedef.as_ref().ok_or_else(|| broken("a state has no structure"))?;
        self.expect_all_present(treedef)?;
        // The walk of the model and this one are the same, and so faster, until a gradient has other statics.
        let mut walk = |ignored| L::leaves_like(treedef, gradients, &mut self.gradients, ignored);
        if self.ignores_statics || walk(false).is_err() {
            self.ignores_statics = true;
            walk(true).map_err(|source| Error::Structure { what: GRADIENT, source })?;
        }
        expect_alike("the gradient", treedef, &self.parameters, &self.gradients)?;
        expect_slots(treedef, &self.parameters, &self.slots)?;
        Ok(())
    }

    fn take_in_model(&mut self, model: &T) -> Result<()>
    where
        T: Serialize,
    {
        if let Some(treedef) = &self.treedef {
            if L::leaves_like(treedef, model, &mut self.parameters, false).is_ok() {
                return Ok(());
            }
            L::leaves_like(treedef, model, &mut self.parameters, true)
                .map_err(|source| Error::Structure { what: MODEL, source })?;
        }
        // A static of the model has changed, such as a number of epochs.
        let (treedef, leaves) = L::tree(model)?.into_parts();
        if leaves.is_empty() {
            return Err(Error::NoLeaves { leaf: std::any::type_name::<L>() });
        }
        self.treedef = Some(treedef);
        self.parameters_at = None;
        self.parameters = leaves;
        Ok(())
    }

    pub(crate) fn descend(&mut self, optimiser: &(impl Transform<L> + ?Sized)) -> Result<()> {
        let treedef = self.treedef.as_ref().ok_or_else(|| broken("a state has no structure"))?;
        let parameters_at = &**self.parameters_at.get_or_insert_with(|| parameters_of(treedef));
        let (parameters, updates) = (&mut *self.parameters, &mut *self.gradients);
        let scope = (treedef, parameters_at);
        let done = descend(optimiser, scope, parameters, updates, &mut self.slots);
        for range in self.coarse.iter().flatten() {
            coarsen(&mut self.slots, range);
        }
        if !L::IS_NUMBER {
            // Keep nothing that the caller might share.
            self.gradients.clear();
        }
        if done.is_err() {
            self.parameters.clear();
        }
        done
    }

    pub(crate) fn rebuild(&mut self) -> Result<T>
    where
        T: DeserializeOwned,
    {
        match &self.treedef {
            Some(treedef) => Ok(L::rebuild(treedef, &mut self.parameters)?),
            None => Err(Error::NoLeaves { leaf: std::any::type_name::<L>() }), // they were taken in
        }
    }

    /// A step of a model that is not moved.
    pub(crate) fn descend_in_place(
        &mut self,
        optimiser: &(impl Transform<L> + ?Sized),
        model: &mut T,
    ) -> Result<()>
    where
        T: DeserializeOwned,
    {
        if cfg!(feature = "in_place") && L::IS_NUMBER {
            self.before.clone_from(&self.parameters);
        }
        self.descend(optimiser)?;
        match &self.treedef {
            Some(treedef) => {
                let before = (treedef, &*self.before);
                Ok(L::rebuild_into(treedef, &mut self.parameters, model, before)?)
            }
            None => Err(Error::NoLeaves { leaf: std::any::type_name::<L>() }), // they were taken in
        }
    }

    pub(crate) fn descend_trees(
        &mut self,
        optimiser: &(impl Transform<L> + ?Sized),
        model: &mut Tree<L>,
        gradients: &mut Tree<L>,
    ) -> Result<()> {
        if self.treedef.as_ref() != Some(model.treedef()) {
            if let Some(treedef) = &self.treedef {
                expect_same_leaves(MODEL, treedef, model.treedef())?;
            }
            self.treedef = Some(model.treedef().clone());
            self.parameters_at = None;
        }
        let treedef = self.treedef.as_ref().ok_or_else(|| broken("a state has no structure"))?;
        self.expect_all_present(treedef)?;
        if gradients.treedef() != treedef {
            expect_same_leaves(GRADIENT, treedef, gradients.treedef())?;
        }
        expect_alike("the gradient", treedef, model.leaves(), gradients.leaves())?;
        expect_slots(treedef, model.leaves(), &self.slots)?;
        let parameters_at = &**self.parameters_at.get_or_insert_with(|| parameters_of(treedef));
        let (parameters, updates) = (model.leaves_mut(), gradients.leaves_mut());
        descend(optimiser, (treedef, parameters_at), parameters, updates, &mut self.slots)
    }
}

fn descend<L: Trainable>(
    optimiser: &(impl Transform<L> + ?Sized),
    (treedef, parameters_at): (&TreeDef, &[Range<usize>]),
    parameters: &mut [L],
    updates: &mut [L],
    slots: &mut Slots<L>,
) -> Result<()> {
    let ranges = &*trained(parameters, parameters_at);
    let scope = Scope { treedef, ranges };
    let mut step = Step { scope, updates, parameters };
    optimiser.descend(&mut step, slots)?;
    optimiser.settle(&mut step, slots)
}

/// Checks that the slots have the types and shapes of the parameters.
fn expect_slots<L: Trainable>(treedef: &TreeDef, parameters: &[L], slots: &Slots<L>) -> Result<()> {
    for (_, leaves) in &slots.leaves {
        expect_alike(STATE, treedef, parameters, leaves)?;
    }
    slots.parts.iter().try_for_each(|part| expect_slots(treedef, parameters, part))
}

fn coarsen<L: Trainable>(slots: &mut Slots<L>, range: &Range<usize>) {
    for (_, leaves) in &mut slots.leaves {
        leaves.get_mut(range.clone()).into_iter().flatten().for_each(L::coarsen);
    }
    slots.parts.iter_mut().for_each(|part| coarsen(part, range));
}

/// Both structures without their leaves, to find the difference.
pub(crate) fn expect_same(what: &'static str, expected: &TreeDef, found: &TreeDef) -> Result<()> {
    let empty = |treedef: &TreeDef| Tree::new(treedef.clone(), vec![(); treedef.num_leaves()]);
    match empty(expected)?.zip(empty(found)?) {
        Ok(_) => Ok(()),
        Err(source) => Err(Error::Structure { what, source }),
    }
}

/// As [`expect_same`], but statics may differ.
fn expect_same_leaves(what: &'static str, expected: &TreeDef, found: &TreeDef) -> Result<()> {
    match expect_same(what, expected, found) {
        Err(Error::Structure { source, .. })
            if only_statics(&source) && expected.num_leaves() == found.num_leaves() =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Whether nodes differ only in values that are no leaves.
pub(crate) fn only_statics(error: &treedef::Error) -> bool {
    let differences = error.differences();
    let is_static = |difference: &Difference| difference.kind == DifferenceKind::Static;
    !differences.is_empty() && differences.iter().all(is_static)
}

/// Checks that leaves have the types and shapes of the parameters.
pub(crate) fn expect_alike<L: Trainable>(
    what: &'static str,
    treedef: &TreeDef,
    parameters: &[L],
    found: &[L],
) -> Result<()> {
    if parameters.len() != found.len() {
        let message = format!("{what} has {} leaves, not {}", found.len(), parameters.len());
        return Err(Error::Argument(message));
    }
    if L::IS_NUMBER {
        return Ok(());
    }
    let pairs = parameters.iter().zip(found).enumerate();
    match pairs.into_iter().find(|(_, (parameter, found))| !parameter.is_like(found)) {
        None => Ok(()),
        Some((leaf, (parameter, found))) => Err(Error::Leaf {
            what,
            expected: parameter.describe(),
            found: found.describe(),
            path: treedef.leaf_path(leaf)?,
        }),
    }
}

/// Checks that a value has the numbers from which it was made: a type may normalise them.
pub(crate) fn expect_kept<L: Trainable, T: Serialize>(
    treedef: &TreeDef,
    leaves: &[L],
    value: &T,
    so: &'static str,
) -> Result<()> {
    if !L::IS_NUMBER {
        return Ok(()); // objects are kept as they are
    }
    let mut found = Vec::new();
    L::leaves_like(treedef, value, &mut found, true)
        .map_err(|source| Error::Structure { what: OTHER_NUMBERS, source })?;
    for (leaf, (given, found)) in leaves.iter().zip(&found).enumerate() {
        let mut rounded = given.clone();
        rounded.coarsen();
        let [given, rounded, found] =
            [given, &rounded, found].map(|leaf| leaf.to_number().or_bug());
        if given.to_bits() != found.to_bits()
            && rounded != found
            && !(given.is_nan() && found.is_nan())
        {
            return Err(Error::Changed { path: treedef.leaf_path(leaf)?, given, found, so });
        }
    }
    Ok(())
}

/// For each leaf of the new structure, the leaf of the old one with its path.
pub(crate) fn origins(old: &TreeDef, new: &TreeDef) -> Vec<Option<usize>> {
    if old == new {
        return (0..new.num_leaves()).map(Some).collect();
    }
    new.leaf_paths().map(|path| leaf_at(old.node(path).ok()?)).collect()
}

/// The index of the leaf at a node, or inside any `Some` and newtype in its place.
pub(crate) fn leaf_at(mut node: NodeRef<'_>) -> Option<usize> {
    while matches!(node.kind(), NodeKind::Some | NodeKind::NewtypeStruct) {
        node = node.child(0)?;
    }
    node.is_leaf().then_some(node.leaf_range().start)
}
