//! Constraints of leaves: fixed, bounded, transformed or tied.

use std::ops::{Range, RangeBounds};

use treedef::{NodeRef, Path, Pattern, ToPattern, Tree, TreeDef};

use super::Parameters;
use super::error::{Error, Result, quoted};
use super::interval::Interval;
use super::plan::Constraint;
use super::transform::{Block, RangeMap};
use crate::state::only_statics;

/// # Fix, bound, transform, tie
///
/// A pattern applies to all floats at and below the nodes that it matches. Other leaves are unchanged; a
/// pattern that matches only such leaves is an error, except for [`fix`](Self::fix). A constraint of a leaf
/// also applies to the leaves that were tied to it before.
impl<T> Parameters<T> {
    /// Fixes leaves at their values in the model. Leaves that are not floats are always fixed.
    ///
    /// # Errors
    ///
    /// Returns an error when the pattern matches nothing, and when a leaf is bounded, transformed or tied
    /// to one that is not fixed.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&(1.0, 2.0, "text", 3))?.fix(".1")?;
    /// assert_eq!(p.names(), [".0"]);
    /// let error = p.bounds(".1", 0.0..).unwrap_err();
    /// let message = "`.1` is fixed, so it cannot be between the bounds [0, ∞)";
    /// assert_eq!(error.to_string(), message);
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn fix(self, pattern: impl ToPattern) -> Result<Self> {
        self.constrained(pattern, false, |_, _| Ok(Constraint::Fixed))
    }

    /// Sets bounds that the solver has to respect: they are in [`lower`](Self::lower) and
    /// [`upper`](Self::upper), and the numbers in the vector are the numbers of the model.
    ///
    /// # Errors
    ///
    /// As [`fix`](Self::fix). Also when a leaf starts outside of the range, for a range that
    /// excludes one of its ends (a solver may stop there), and when the lower end is not below the
    /// upper.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&[0.5, 2.0])?.bounds(".0", 0.0..=1.0)?.bounds(".1", 1.0..)?;
    /// assert_eq!((p.lower(), p.upper()), (&[0.0, 1.0][..], &[1.0, f64::INFINITY][..]));
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn bounds(self, pattern: impl ToPattern, range: impl RangeBounds<f64>) -> Result<Self> {
        let range = Interval::of(range)?;
        if !range.is_closed() {
            return Err(
                range.refused("a solver may stop at a bound, so include it, as in `0.0..=1.0`")
            );
        }
        self.constrained(pattern, true, |_, narrow| {
            Ok(Constraint::Bounds(if narrow { range.narrowed()? } else { range }))
        })
    }

    /// Makes the leaves positive: eˣ.
    ///
    /// # Errors
    ///
    /// As [`fix`](Self::fix), and when a leaf is not positive at the start.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&(1.0, 2.0))?.positive(".0")?;
    /// assert_eq!(p.initial(), [0.0, 2.0]);
    /// assert_eq!(p.value(&[-1.0, 2.0])?, ((-1f64).exp(), 2.0));
    /// let error = p.value(&[-800.0, 2.0]).unwrap_err();
    /// assert_eq!(error.to_string(), "0 is not in (0, ∞) at `.0`");
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn positive(self, pattern: impl ToPattern) -> Result<Self> {
        self.constrained(pattern, true, |_, _| {
            Ok(Constraint::Transform(RangeMap::Exp, Interval::POSITIVE))
        })
    }

    /// Makes the leaves positive: ln(1 + eˣ), which grows like x and not like eˣ.
    ///
    /// # Errors
    ///
    /// As [`positive`](Self::positive).
    pub fn softplus(self, pattern: impl ToPattern) -> Result<Self> {
        let softplus = Constraint::Transform(RangeMap::Softplus, Interval::POSITIVE);
        self.constrained(pattern, true, |_, _| Ok(softplus))
    }

    /// Keeps the leaves in a range: by the logistic function if it has two ends, by eˣ if it has one.
    ///
    /// Rounding may reach an end, which is an error if the range excludes it.
    ///
    /// # Errors
    ///
    /// As [`fix`](Self::fix). Also when a leaf starts outside of the range or at an end, and for a range
    /// without an end, or with infinite length.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&(0.5, 2.0))?.interval(".0", 0.0..=1.0)?.interval(".1", 1.0..)?;
    /// assert_eq!(p.initial(), [0.0, 0.0]);
    /// assert_eq!(p.value(&[1000.0, 1.0])?, (1.0, 1.0 + 1f64.exp()));
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn interval(self, pattern: impl ToPattern, range: impl RangeBounds<f64>) -> Result<Self> {
        let range = Interval::of(range)?;
        self.constrained(pattern, true, |_, narrow| {
            let range = if narrow { range.narrowed()? } else { range };
            let has_ends = range.lower.is_finite() && range.upper.is_finite();
            if has_ends && !(range.upper - range.lower).is_finite() {
                return Err(range.refused("its length is infinite"));
            }
            match RangeMap::onto(range) {
                Some(transform) => Ok(Constraint::Transform(transform, range)),
                None => Err(range.refused("it has no end: without `interval` the number is free")),
            }
        })
    }

    /// Makes the leaves of each matched node positive, with the sum 1. They have one number less in
    /// the vector, by breaking a stick as in Stan.
    ///
    /// The numbers in the vector have the names of the leaves in order, without the last.
    ///
    /// # Errors
    ///
    /// As [`fix`](Self::fix), and when a leaf is not positive at the start, or the sum is not 1.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&vec![0.25; 4])?.simplex("")?;
    /// assert_eq!(p.len(), 3);
    /// assert!(p.initial().iter().all(|x| x.abs() < 1e-15));
    /// let weights = p.value(&[1.0, -2.0, 0.5])?;
    /// assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn simplex(self, pattern: impl ToPattern) -> Result<Self> {
        self.block(pattern, Block::Simplex)
    }

    /// Makes the leaves of each matched node increase.
    ///
    /// In the vector, the first is itself, and the others are the logarithms of the steps.
    ///
    /// # Errors
    ///
    /// As [`fix`](Self::fix), and when the leaves do not increase at the start. Also when a node is a
    /// single number: write `ordered("steps")`, not `ordered("steps[*]")`.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&[-1.0, 0.0, 1.0])?.ordered("")?;
    /// assert_eq!(p.initial(), [-1.0, 0.0, 0.0]);
    /// assert_eq!(p.value(&[2.0, 0.0, 0.0])?, [2.0, 3.0, 4.0]);
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn ordered(self, pattern: impl ToPattern) -> Result<Self> {
        self.block(pattern, Block::Ordered)
    }

    /// Makes all matched nodes equal, leaf by leaf. Together they have the numbers of one.
    ///
    /// # Errors
    ///
    /// Returns an error when a pattern matches nothing, or all of them match only one node, and when the
    /// nodes have different structures, types of floats, numbers or bounds.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&[(1.0, 2.0), (1.0, 3.0)])?.tie(["*.0"])?;
    /// assert_eq!(p.names(), [".0.0", ".0.1", ".1.1"]);
    /// assert_eq!(p.value(&[5.0, 2.0, 3.0])?, [(5.0, 2.0), (5.0, 3.0)]);
    ///
    /// let error = p.tie(["*.1"]).unwrap_err();
    /// let message = "`.0.1` and `.1.1` are tied, but the first is 2 and the second 3";
    /// assert_eq!(error.to_string(), message);
    ///
    /// // Several patterns.
    /// let model = [("embedding", [1.0, 2.0]), ("head", [1.0, 2.0])];
    /// let model = std::collections::BTreeMap::from(model);
    /// let p = Parameters::new(&model)?.tie(["embedding", "head"])?;
    /// assert_eq!(p.names(), [r#"["embedding"].0"#, r#"["embedding"].1"#]);
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn tie(mut self, patterns: impl IntoIterator<Item = impl ToPattern>) -> Result<Self> {
        let mut named: Vec<(Path, Range<usize>)> = Vec::new();
        for pattern in patterns {
            let pattern = pattern.to_pattern()?;
            named.extend(self.named(&pattern, true)?);
        }
        named.sort_by_key(|(_, leaves)| leaves.start);
        named.dedup();
        let asked = "tied";
        let Some(((path, first), others)) = named.split_first() else { return Ok(self) };
        if others.is_empty() {
            let reason = "no other node is named".to_owned();
            return Err(Error::Shape { path: path.clone(), asked, reason });
        }
        let shape = |path: &Path| Ok::<_, Error>(self.plan.treedef.node(path)?.to_treedef());
        let expected = shape(path)?;
        let mut end = first.end;
        for (other, leaves) in others {
            if leaves.start < end {
                let reason = "another node that is named has some of its leaves".to_owned();
                return Err(Error::Shape { path: other.clone(), asked, reason });
            }
            end = leaves.end;
            if let Err(error) = shape(other)?.check_equivalent(&expected)
                && !(only_statics(&error) && leaves.len() == first.len())
            {
                let reason = format!("compared with {}: {error}", quoted(path));
                return Err(Error::Shape { path: other.clone(), asked, reason });
            }
        }
        let pairs = others.iter().flat_map(|(_, leaves)| first.clone().zip(leaves.clone()));
        tie_pairs(&mut self.plan.tied_to, pairs);
        self.plan.share_rules();
        self.plan = self.plan.arranged()?;
        Ok(self)
    }

    fn block(self, pattern: impl ToPattern, block: Block) -> Result<Self> {
        let pattern = pattern.to_pattern()?;
        // A simplex of one number is the number 1, which is checked. An ordered list of one number
        // is not restricted.
        for (path, leaves) in self.named(&pattern, true)? {
            if block == Block::Ordered && self.plan.path(leaves.start) == path {
                let reason = "it is one number (name the node above the numbers)".to_owned();
                return Err(Error::Shape { path, asked: block.named(), reason });
            }
        }
        self.constrained(&*pattern, true, |place, _| {
            let (leaves, position) = (place.leaves.len(), place.leaf - place.leaves.start);
            Ok(Constraint::Block { block, leaves, position })
        })
    }

    /// Sets the rule of each float below the matched nodes. They `vary`, or are fixed. The rule may depend
    /// on the place of the leaf in its node, and on whether it is an `f32`.
    fn constrained(
        mut self,
        pattern: impl ToPattern,
        vary: bool,
        rule: impl Fn(NodeLeaf<'_>, bool) -> Result<Constraint>,
    ) -> Result<Self> {
        let pattern = pattern.to_pattern()?;
        for (_, leaves) in self.named(&pattern, vary)? {
            for leaf in leaves.clone() {
                let asked = rule(NodeLeaf { leaf, leaves: &leaves }, self.plan.narrow[leaf])?;
                let before = self.plan.rules[leaf];
                if before != Constraint::Free && before != asked {
                    let (before, asked) = (before.described(), asked.described());
                    return Err(Error::Contradiction { path: self.plan.path(leaf), before, asked });
                }
                self.plan.rules[leaf] = asked;
            }
        }
        self.plan.share_rules();
        self.plan = self.plan.arranged()?;
        Ok(self)
    }

    /// The matched nodes that have floats, with these floats. A matched node without floats is an error if
    /// it should vary, unless a wildcard matched it.
    fn named(&self, pattern: &Pattern, vary: bool) -> Result<Vec<(Path, Range<usize>)>> {
        let treedef = &self.plan.treedef;
        let text = pattern.to_string();
        // A path matches one node, so there is nothing to search.
        if let Ok(path) = text.parse::<Path>()
            && let Ok(node) = treedef.node(&path)
            && let leaves = node.leaf_range()
            && let Some(first) = leaves.clone().next()
        {
            // There may be several spellings of a key.
            let keys = self.plan.path(first).into_iter().take(path.keys().len());
            return Ok(vec![(keys.collect(), leaves)]);
        }
        let by_wildcard = text.ends_with('*') || text.ends_with("[*]");
        let mut named = Vec::new();
        let mut without: Option<(Path, NodeRef<'_>)> = None;
        for (path, node) in treedef.nodes().filter(|(path, _)| pattern.matches(path)) {
            if node.num_leaves() > 0 {
                named.push((path, node.leaf_range()));
            } else if without.is_none() {
                without = Some((path, node));
            }
        }
        match without {
            Some((path, node)) if vary && (named.is_empty() || !by_wildcard) => {
                Err(Error::NotAFloat { path, found: described(node) })
            }
            None if named.is_empty() => {
                if let Some(meant) = with_variants(treedef, &text) {
                    return Err(Error::NoVariant { pattern: text, meant });
                }
                // The error of `mask` has the pattern that was probably meant.
                let nothing = vec![(); treedef.num_leaves()];
                Tree::new(treedef.clone(), nothing)?.mask(pattern)?;
                Ok(named)
            }
            _ => Ok(named),
        }
    }
}

/// A leaf of a node, and its place there.
struct NodeLeaf<'a> {
    leaf: usize,
    leaves: &'a Range<usize>,
}

/// A pattern in which a dot is replaced by `::`, as before the variant of an enum.
fn with_variants(treedef: &TreeDef, text: &str) -> Option<String> {
    let names_something = |text: &String| {
        let pattern = text.parse::<Pattern>();
        pattern.is_ok_and(|pattern| treedef.nodes().any(|(path, _)| pattern.matches(&path)))
    };
    // The first is in front of a field.
    let dots = text.match_indices('.').map(|(at, _)| at).filter(|at| *at > 0);
    let meant = dots.map(|at| format!("{}::{}", &text[..at], &text[at + 1..]));
    meant.into_iter().find(names_something)
}

/// A node without floats.
fn described(node: NodeRef<'_>) -> String {
    match node.static_value().and_then(|value| value.as_leaf()) {
        Some(leaf) if leaf.kind().is_float() => format!("the static {} {leaf}", leaf.kind()),
        Some(leaf) => format!("{} {leaf}", leaf.kind()),
        None => format!("`{}`", node.to_treedef()),
    }
}

/// Adds pairs to the table of ties: for each leaf, the first of all leaves that are tied together.
fn tie_pairs(tied_to: &mut [usize], pairs: impl Iterator<Item = (usize, usize)>) {
    // Forests of disjoint sets, whose roots are the first leaves.
    let root = |mut leaf: usize, tied_to: &mut [usize]| {
        while tied_to[leaf] != leaf {
            tied_to[leaf] = tied_to[tied_to[leaf]];
            leaf = tied_to[leaf];
        }
        leaf
    };
    for (a, b) in pairs {
        let (a, b) = (root(a, tied_to), root(b, tied_to));
        tied_to[a.max(b)] = a.min(b);
    }
    // A leaf is tied to itself or to an earlier one.
    for leaf in 0..tied_to.len() {
        tied_to[leaf] = tied_to[tied_to[leaf]];
    }
}
