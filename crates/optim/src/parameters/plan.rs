//! The constraint of each leaf, and the runs of equal work that follow.

use treedef::__private::OrBug;
use treedef::{Flattener, LeafKind, Path, TreeDef};

use super::error::{Error, Result, quoted, shown};
use super::interval::{Interval, narrow};
use super::transform::{Block, RangeMap};

/// The constraint of a leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constraint {
    Free,
    Fixed,
    /// Between bounds that the solver respects.
    Bounds(Interval),
    Transform(RangeMap, Interval),
    /// A leaf of a block, such as a simplex.
    Block {
        block: Block,
        leaves: usize,
        position: usize,
    },
}

/// Consecutive leaves that are computed in the same way.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// The first number of the vector.
    pub(super) x: usize,
    pub(super) inputs: usize,
    /// The first leaf.
    pub(super) leaf: usize,
    pub(super) leaves: usize,
    pub(super) work: Work,
    /// Whether some of the leaves are floats of 32 bits.
    pub(super) narrow: bool,
}

/// How to compute the leaves of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Work {
    Copy(Interval),
    Transform(RangeMap, Interval),
    Block(Block),
}

/// Leaves that repeat earlier ones.
#[derive(Clone, Debug)]
pub(super) struct Tie {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) leaves: usize,
}

/// Everything about parameters that does not depend on the type of the model.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) treedef: TreeDef,
    pub(super) flattener: Flattener,
    /// Whether the leaves are objects, as in a model that is generic over its numbers.
    pub(super) objects: bool,
    /// The leaves of the model at the start. The fixed ones stay.
    pub(super) start: Vec<f64>,
    /// Which leaves are floats of 32 bits.
    pub(super) narrow: Vec<bool>,
    pub(super) rules: Vec<Constraint>,
    /// The first leaf that each leaf is tied to, which may be itself.
    pub(super) tied_to: Vec<usize>,
    pub(super) runs: Vec<Run>,
    pub(super) ties: Vec<Tie>,
    pub(super) initial: Vec<f64>,
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
}

impl Constraint {
    /// The rule in the words of an error: `.a is …`.
    pub(super) fn described(self) -> String {
        match self {
            Constraint::Free => "free".to_owned(),
            Constraint::Fixed => "fixed".to_owned(),
            Constraint::Bounds(range) => format!("between the bounds {range}"),
            Constraint::Transform(RangeMap::Exp, _) => "positive".to_owned(),
            Constraint::Transform(RangeMap::Softplus, _) => "positive by softplus".to_owned(),
            Constraint::Transform(_, range) => format!("bounded to {range}"),
            Constraint::Block { block, leaves, position } => {
                format!("element {position} of {} of {leaves}", block.named())
            }
        }
    }

    fn work(self) -> Option<Work> {
        match self {
            Constraint::Fixed => None,
            Constraint::Free => Some(Work::Copy(Interval::ALL)),
            Constraint::Bounds(range) => Some(Work::Copy(range)),
            Constraint::Transform(transform, range) => Some(Work::Transform(transform, range)),
            Constraint::Block { block, .. } => Some(Work::Block(block)),
        }
    }
}

impl Run {
    /// Whether a leaf with this work continues the run. A block is a run of its own.
    fn goes_on_with(&self, leaf: usize, work: Work) -> bool {
        self.leaf + self.leaves == leaf && self.work == work && !matches!(work, Work::Block(_))
    }
}

impl Block {
    pub(super) fn named(self) -> &'static str {
        match self {
            Block::Simplex => "a simplex",
            Block::Ordered => "an ordered list",
        }
    }
}

impl Plan {
    /// All leaves are free.
    pub(super) fn new(
        treedef: TreeDef,
        flattener: Flattener,
        objects: bool,
        start: Vec<f64>,
        kinds: Option<&[LeafKind]>,
    ) -> Self {
        let count = start.len();
        let narrow = match kinds {
            Some(kinds) => kinds.iter().map(|kind| *kind == LeafKind::F32).collect(),
            None => vec![false; count],
        };
        Plan {
            treedef,
            flattener,
            objects,
            start,
            narrow,
            rules: vec![Constraint::Free; count],
            tied_to: (0..count).collect(),
            runs: Vec::new(),
            ties: Vec::new(),
            initial: Vec::new(),
            lower: Vec::new(),
            upper: Vec::new(),
        }
    }

    /// The path of a leaf, which is in range.
    pub(super) fn path(&self, leaf: usize) -> Path {
        self.treedef.leaf_path(leaf).ok().or_bug()
    }

    /// A leaf as its model stores it: the nearest float of its type.
    pub(super) fn rounded(&self, leaf: usize, value: f64) -> f64 {
        if self.narrow[leaf] { narrow(value) } else { value }
    }

    /// Checks that leaves which are tied agree, and makes the runs.
    pub(super) fn arranged(mut self) -> Result<Self> {
        self.check_ties()?;
        (self.runs, self.ties) = (self.runs_of_rules(), self.runs_of_ties());
        let x = self.runs.last().map_or(0, |run| run.x + run.inputs);
        (self.lower, self.upper) = (vec![f64::NEG_INFINITY; x], vec![f64::INFINITY; x]);
        for run in &self.runs {
            if let Work::Copy(range) = run.work {
                self.lower[run.x..run.x + run.inputs].fill(range.lower);
                self.upper[run.x..run.x + run.inputs].fill(range.upper);
            }
        }
        debug_assert!(self.is_whole(), "the runs do not make each leaf once");
        self.initial = self.inverse_of(&self.start, None)?;
        Ok(self)
    }

    /// Whether the runs use the numbers of the vector in order, and compute each leaf once that is neither
    /// fixed nor tied to another.
    fn is_whole(&self) -> bool {
        let (mut x, mut made) = (0, vec![0; self.start.len()]);
        for run in &self.runs {
            let Some(leaves) = made.get_mut(run.leaf..run.leaf + run.leaves) else { return false };
            leaves.iter_mut().for_each(|times| *times += 1);
            if run.x != x {
                return false;
            }
            x += run.inputs;
        }
        let is_made =
            |leaf: usize| self.tied_to[leaf] == leaf && self.rules[leaf] != Constraint::Fixed;
        made.iter().enumerate().all(|(leaf, times)| *times == usize::from(is_made(leaf)))
    }

    /// Gives free leaves the rule of a leaf that they are tied to. Blocks have rules of their own.
    pub(super) fn share_rules(&mut self) {
        let is_shared =
            |rule: Constraint| !matches!(rule, Constraint::Free | Constraint::Block { .. });
        let tied =
            || self.tied_to.iter().copied().enumerate().filter(|(leaf, first)| leaf != first);
        for (leaf, first) in tied() {
            if self.rules[first] == Constraint::Free && is_shared(self.rules[leaf]) {
                self.rules[first] = self.rules[leaf];
            }
        }
        for (leaf, first) in tied() {
            if self.rules[leaf] == Constraint::Free && is_shared(self.rules[first]) {
                self.rules[leaf] = self.rules[first];
            }
        }
    }

    /// Whether two plans compute the same leaves from a vector.
    pub(super) fn is_like(&self, other: &Plan) -> bool {
        std::ptr::eq(self, other)
            || self.treedef == other.treedef
                && (&self.rules, &self.tied_to) == (&other.rules, &other.tied_to)
                && self.start == other.start
    }

    fn runs_of_rules(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut x = 0;
        let untied = |leaf: &usize| self.tied_to[*leaf] == *leaf;
        for leaf in (0..self.start.len()).filter(untied) {
            let Some(work) = self.rules[leaf].work() else { continue };
            let (leaves, inputs) = match self.rules[leaf] {
                Constraint::Block { block, leaves, position: 0 } => (leaves, block.inputs(leaves)),
                Constraint::Block { .. } => continue,
                _ => (1, 1),
            };
            let narrow = self.narrow[leaf..leaf + leaves].contains(&true);
            match runs.last_mut() {
                Some(run) if run.goes_on_with(leaf, work) => {
                    (run.inputs, run.leaves) = (run.inputs + 1, run.leaves + 1);
                    run.narrow |= narrow;
                }
                _ => runs.push(Run { x, inputs, leaf, leaves, work, narrow }),
            }
            x += inputs;
        }
        runs
    }

    fn runs_of_ties(&self) -> Vec<Tie> {
        let mut ties: Vec<Tie> = Vec::new();
        for (to, from) in self.tied_to.iter().copied().enumerate() {
            if from == to || self.rules[from] == Constraint::Fixed {
                continue;
            }
            match ties.last_mut() {
                Some(tie) if (tie.from + tie.leaves, tie.to + tie.leaves) == (from, to) => {
                    tie.leaves += 1;
                }
                _ => ties.push(Tie { from, to, leaves: 1 }),
            }
        }
        ties
    }

    /// The vector for these leaves.
    pub(super) fn inverse(&self, leaves: &[f64]) -> Result<Vec<f64>> {
        self.inverse_of(leaves, Some(&self.initial))
    }

    /// The same, if this vector gives the leaves at the start.
    fn inverse_of(&self, leaves: &[f64], initial: Option<&[f64]>) -> Result<Vec<f64>> {
        let mut x = vec![0.0; self.lower.len()];
        for run in &self.runs {
            let y = &leaves[run.leaf..run.leaf + run.leaves];
            let into = &mut x[run.x..run.x + run.inputs];
            // Numbers that did not move come back exactly.
            let before = initial.and_then(|initial| initial.get(run.x..run.x + run.inputs));
            if let Some(before) = before
                && y == &self.start[run.leaf..run.leaf + run.leaves]
            {
                into.copy_from_slice(before);
                continue;
            }
            match run.work {
                Work::Copy(range) => {
                    into.copy_from_slice(y);
                    // A number that is not finite is refused when a value is made.
                    let outside = |y: &f64| range != Interval::ALL && !range.contains(*y);
                    if let Some(at) = y.iter().position(outside) {
                        return Err(self.outside(run.leaf + at, y[at], &range.to_string()));
                    }
                }
                Work::Transform(transform, range) => {
                    for (at, (x, y)) in into.iter_mut().zip(y).enumerate() {
                        let leaf = run.leaf + at;
                        if !range.contains(*y) {
                            return Err(self.outside(leaf, *y, &range.to_string()));
                        }
                        *x = match before {
                            Some(before) if *y == self.start[leaf] => before[at],
                            _ => transform.inverse(*y),
                        };
                        if !x.is_finite() {
                            let range = range.to_string();
                            return Err(Error::AtEnd { path: self.path(leaf), value: *y, range });
                        }
                    }
                }
                Work::Block(block) => {
                    self.check_block(block, run, y)?;
                    block.inverse(y, into);
                    if let Some(at) = into.iter().position(|x| !x.is_finite()) {
                        return Err(self.outside_block(block, run.leaf + at, y[at]));
                    }
                }
            }
        }
        Ok(x)
    }

    fn check_block(&self, block: Block, run: &Run, y: &[f64]) -> Result<()> {
        if let Some(at) = block.broken_at(y.iter().copied()) {
            return Err(self.outside_block(block, run.leaf + at, y[at]));
        }
        // A model of 32 bits cannot represent a sum nearer to 1.
        let tolerance = if run.narrow { 1e-5 } else { 1e-8 };
        let sum: f64 = y.iter().sum();
        if block == Block::Simplex && (sum - 1.0).abs() > tolerance {
            // The node above all of them.
            let (first, last) = (self.path(run.leaf), self.path(run.leaf + run.leaves - 1));
            let common = first.into_iter().zip(last).take_while(|(a, b)| a == b);
            let path = common.map(|(key, _)| key).collect();
            let reason = format!("the sum is {}, not 1", shown(sum));
            return Err(Error::Shape { path, asked: "a simplex", reason });
        }
        Ok(())
    }

    pub(super) fn outside(&self, leaf: usize, value: f64, allowed: &str) -> Error {
        Error::Outside { path: self.path(leaf), value, allowed: allowed.to_owned() }
    }

    pub(super) fn outside_block(&self, block: Block, leaf: usize, value: f64) -> Error {
        let allowed = match block {
            Block::Simplex => "in (0, 1), as a part of a simplex",
            Block::Ordered => "above the one before it",
        };
        self.outside(leaf, value, allowed)
    }

    fn check_ties(&self) -> Result<()> {
        for (leaf, first) in self.tied_to.iter().enumerate().filter(|(leaf, first)| leaf != *first)
        {
            let differ = |first_is: String, second_is: String| {
                Err(Error::Tied {
                    path: self.path(*first),
                    other: self.path(leaf),
                    first: first_is,
                    second: second_is,
                })
            };
            let float = |leaf: usize| if self.narrow[leaf] { "`f32`" } else { "`f64`" };
            if self.narrow[*first] != self.narrow[leaf] {
                return differ(float(*first).to_owned(), float(leaf).to_owned());
            }
            let (rule, other) = (self.rules[*first], self.rules[leaf]);
            if rule != other {
                return differ(rule.described(), other.described());
            }
            let (value, other) = (self.start[*first], self.start[leaf]);
            if value != other && !(value.is_nan() && other.is_nan()) {
                return differ(shown(value), shown(other));
            }
            // The whole block repeats another block, in the same order.
            if let Constraint::Block { block, position, .. } = rule {
                let whole = position == 0 || self.tied_to[leaf - 1] + 1 == *first;
                if !whole {
                    return self.tied_in_part(block, leaf);
                }
            }
        }
        for (leaf, rule) in self.rules.iter().enumerate() {
            if let Constraint::Block { block, leaves, position } = *rule
                && position + 1 < leaves
                && (self.tied_to[leaf] == leaf) != (self.tied_to[leaf + 1] == leaf + 1)
            {
                return self.tied_in_part(block, leaf + 1);
            }
        }
        Ok(())
    }

    fn tied_in_part(&self, block: Block, leaf: usize) -> Result<()> {
        let reason = format!("only some leaves of {} would be tied", block.named());
        Err(Error::Shape { path: self.path(leaf), asked: "tied", reason })
    }

    /// The reason why a leaf is not free, for the report.
    pub(super) fn tie_note(&self, leaf: usize) -> Option<String> {
        let first = self.tied_to[leaf];
        (first != leaf).then(|| format!("tied to {}", quoted(&self.path(first))))
    }

    /// The leaf that names a number of the vector.
    pub(super) fn leaf_of(&self, x: usize) -> usize {
        let after = self.runs.partition_point(|run| run.x <= x);
        let run = after.checked_sub(1).and_then(|at| self.runs.get(at));
        run.map_or(0, |run| run.leaf + x - run.x)
    }

    /// The run that computes a leaf, if the leaf varies.
    pub(super) fn run_of(&self, leaf: usize) -> Option<&Run> {
        let leaf = *self.tied_to.get(leaf)?;
        let after = self.runs.partition_point(|run| run.leaf <= leaf);
        self.runs.get(after.checked_sub(1)?).filter(|run| leaf < run.leaf + run.leaves)
    }
}
