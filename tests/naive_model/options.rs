//! Structures that were made with options, beside others.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use treedef::{Error, TreeDef};

use crate::case::{Case, cases, is_short};
use crate::plain::{Head, Node, Shape};

/// The options that a text may begin with.
const OPTIONS: [&str; 6] = [
    "",
    "#[insertion] ",
    "#[none_is_leaf] ",
    "#[compact] ",
    "#[insertion, none_is_leaf] ",
    "#[insertion, compact] ",
];

/// A structure with its options.
#[derive(Clone, Debug, PartialEq)]
struct Optioned {
    options: &'static str,
    shape: Shape,
}

impl Optioned {
    fn draw(case: &mut Case, shape: Shape) -> Optioned {
        let options = OPTIONS[case.tape.below(OPTIONS.len())];
        let shape = if options.contains("insertion") { shape } else { shape.sorted() };
        case.note(|| format!("{options}{}", shape.text(true)));
        Optioned { options, shape }
    }

    fn treedef(&self) -> TreeDef {
        self.shape.parsed(self.options, true)
    }

    /// Whether it would be another one under other options.
    fn depends(&self) -> bool {
        let says =
            |node: &Shape| matches!(node, Node::Inner(Head::Map(_) | Head::None | Head::Some, _));
        !self.options.is_empty() || self.shape.nodes().iter().any(|(_, node)| says(node))
    }

    fn goes_under(&self, other: &Optioned) -> bool {
        self.options == other.options || !self.depends()
    }

    /// The options of a structure of both, if they go together.
    fn together(&self, other: &Optioned) -> Option<&'static str> {
        match (self.goes_under(other), other.goes_under(self)) {
            (true, _) => Some(other.options),
            (_, true) => Some(self.options),
            _ => None,
        }
    }
}

fn gives(found: Result<TreeDef, Error>, expected: Option<Optioned>) -> TestCaseResult {
    match (found, expected) {
        (Ok(found), Some(expected)) => prop_assert_eq!(found, expected.treedef()),
        (Err(error), None) => is_short(&error)?,
        (found, expected) => prop_assert!(false, "found {:?}, expected {:?}", found, expected),
    }
    Ok(())
}

#[test]
fn structures_go_together_as_the_model_says() {
    cases(|case| {
        let first = Shape::draw(&mut case.tape, 3);
        let second = first.relative(&mut case.tape);
        let (a, b) = (Optioned::draw(case, first), Optioned::draw(case, second));
        let (x, y) = (a.treedef(), b.treedef());
        prop_assert_eq!(x == y, a == b, "{} == {}", x, y);
        prop_assert_eq!(x.to_bytes().unwrap() == y.to_bytes().unwrap(), a == b);
        prop_assert_eq!(x.fingerprint().unwrap() == y.fingerprint().unwrap(), a == b);
        prop_assert_eq!(&x.to_string().parse::<TreeDef>().unwrap(), &x);
        prop_assert_eq!(&format!("{x:#}").parse::<TreeDef>().unwrap(), &x);
        prop_assert_eq!(&TreeDef::from_bytes(&x.to_bytes().unwrap()).unwrap(), &x);

        let is_prefix = a.goes_under(&b) && a.shape.is_prefix_of(&b.shape);
        prop_assert_eq!(x.is_prefix_of(&y), is_prefix, "{} before {}", x, y);
        let together = |shape: Shape| a.together(&b).map(|options| Optioned { options, shape });
        let shape = a.shape.map(&mut |()| b.shape.clone()).joined();
        gives(x.compose(&y), together(shape))?;
        let both = vec![a.shape.clone(), b.shape.clone()];
        gives(TreeDef::seq([x.clone(), y.clone()]), together(Node::Inner(Head::Seq, both)))?;
        if let Ok(common) = x.common_suffix(&y) {
            prop_assert!(a.together(&b).is_some());
            prop_assert!(x.is_prefix_of(&common) && y.is_prefix_of(&common), "{}", common);
        }
        for (old, new) in [(&x, &y), (&y, &x)] {
            let diff = old.diff(new);
            prop_assert_eq!(diff.changes.is_empty(), old == new, "{}", diff);
            prop_assert_eq!(&old.patch(&diff).unwrap(), new, "{}", diff);
        }
        Ok(())
    });
}
