//! From leaf to path and back, and leaves by patterns.

use std::collections::BTreeMap;

use proptest::prelude::*;
use treedef::{Key, Leaf, NodeKind, NodeRef, Path, Pattern, TreeDef, Value};

use crate::case::{Case, cases, is_short, path};
use crate::plain::{Head, Node, Shape};

/// A step of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Key(Key),
    AnyField,
    AnyEntry,
    AnySteps,
    OneOf(Vec<Key>),
    Indices(Option<usize>, Option<usize>),
}

impl Step {
    fn text(&self) -> String {
        match self {
            Step::Key(key) => key.to_string(),
            Step::AnyField => ".*".to_owned(),
            Step::AnyEntry => "[*]".to_owned(),
            Step::AnySteps => "**".to_owned(),
            Step::OneOf(keys) => {
                let names = keys.iter().map(|key| key.to_string()[1..].to_owned());
                format!(".{{{}}}", names.collect::<Vec<_>>().join(","))
            }
            Step::Indices(start, end) => {
                let number =
                    |number: &Option<usize>| number.map_or(String::new(), |it| it.to_string());
                format!("[{}:{}]", number(start), number(end))
            }
        }
    }

    /// Whether it stands for one key.
    fn matches(&self, key: &Key) -> bool {
        match (self, key) {
            (Step::AnyField, Key::Field(_) | Key::Position(_)) => true,
            (Step::AnyField, Key::VariantField(..) | Key::VariantPosition(..)) => true,
            (Step::AnyField, Key::Entry(value)) => value.as_str().is_some(),
            (Step::AnyEntry, Key::Index(_) | Key::Entry(_)) => true,
            (Step::AnyEntry, Key::Position(_) | Key::VariantPosition(..)) => true,
            (Step::OneOf(keys), key) => keys.iter().any(|it| Step::Key(it.clone()).matches(key)),
            (Step::Indices(start, end), key) => {
                let (least, number) =
                    (start.unwrap_or(0), word(key).and_then(|it| it.parse().ok()));
                number.is_some_and(|it: usize| it >= least && end.is_none_or(|end| it < end))
            }
            (Step::Key(expected), key) if expected == key => true,
            (Step::Key(Key::Entry(a)), Key::Entry(b)) => form_of(a) == form_of(b),
            (Step::Key(Key::VariantField(..) | Key::VariantPosition(..)), _) => false,
            (Step::Key(expected), key) => {
                word(expected).is_some_and(|word_of| word(key) == Some(word_of))
            }
            _ => false,
        }
    }
}

/// The target of a key in any notation: the text of a field, or a number.
fn word(key: &Key) -> Option<String> {
    match key {
        Key::Field(name) | Key::VariantField(_, name) => Some(format!("{name:?}")),
        Key::Position(at) | Key::Index(at) | Key::VariantPosition(_, at) => Some(at.to_string()),
        Key::Entry(value) => match value.as_str() {
            Some(text) => Some(format!("{text:?}")),
            None => Some(form_of(value)).filter(|form| form.parse::<i128>().is_ok()),
        },
        _ => None,
    }
}

fn form_of(key: &Value) -> String {
    form(key.root(), &key.leaves())
}

/// The value of a key, which is the same for a number of any width, a `char` and a text, a tuple and a list, and so on.
fn form(node: NodeRef<'_>, leaves: &[Leaf]) -> String {
    use NodeKind as Is;
    let children: Vec<String> = node.children().map(|child| form(child, leaves)).collect();
    let inside = match node.kind() {
        Is::Leaf => form_of_scalar(&leaves[node.leaf_range().start]),
        Is::Some | Is::NewtypeStruct | Is::NewtypeVariant => children.concat(),
        Is::Seq | Is::Tuple | Is::TupleStruct | Is::TupleVariant => format!("{children:?}"),
        Is::Map | Is::Struct | Is::StructVariant => {
            let fields = node.fields().iter().map(|field| format!("{:?}", &**field));
            let keys = node.entry_keys().iter().map(form_of);
            format!("{:?}", fields.chain(keys).zip(children).collect::<BTreeMap<_, _>>())
        }
        _ => "null".to_owned(),
    };
    match node.variant() {
        Some(variant) if node.kind() == Is::UnitVariant => format!("{variant:?}"),
        Some(variant) => format!("{{{variant:?}: {inside}}}"),
        None => inside,
    }
}

fn form_of_scalar(leaf: &Leaf) -> String {
    match leaf {
        Leaf::Str(text) => format!("{text:?}"),
        Leaf::Char(char) => format!("{:?}", char.to_string()),
        Leaf::F32(number) => format!("{:?}", number.to_string().parse::<f64>().unwrap()),
        Leaf::F64(number) => format!("{number:?}"),
        leaf => leaf.as_i128().map_or_else(|| leaf.to_string(), |number| number.to_string()),
    }
}

/// A key, and whether it is the `.0` of a newtype.
pub(crate) type Placed = (Key, bool);

/// All nodes, parents first, with the keys that lead to them.
fn placed<L: Clone + PartialEq>(tree: &Node<L>) -> Vec<(Vec<Placed>, &Node<L>)> {
    let mut nodes = vec![(Vec::new(), tree)];
    for (key, child) in tree.entries() {
        let key = (key, is_newtype(tree));
        let below = placed(child).into_iter();
        nodes.extend(below.map(|(keys, node)| ([vec![key.clone()], keys].concat(), node)));
    }
    nodes
}

pub(crate) fn is_newtype<L>(node: &Node<L>) -> bool {
    matches!(node, Node::Inner(Head::NewtypeStruct(_), _))
}

/// Whether steps stand for a node at or above a path.
fn covers(steps: &[Step], keys: &[Placed]) -> bool {
    (0..=keys.len()).any(|length| matches(steps, &keys[..length]))
}

/// Whether steps match a whole path. A `?` and the `.0` of a newtype count only if the steps have them.
pub(crate) fn matches(steps: &[Step], keys: &[Placed]) -> bool {
    match (steps.split_first(), keys.split_first()) {
        (None, None) => true,
        (Some((Step::AnySteps, rest)), None) => matches(rest, keys),
        (Some((Step::AnySteps, rest)), Some((_, after))) => {
            matches(rest, keys) || matches(steps, after)
        }
        (step, Some(((key, is_newtype), after))) => {
            let is_asked = |step: &Step| {
                let of_list = match step {
                    Step::AnyEntry | Step::Indices(..) => true,
                    Step::Key(key) => matches!(key, Key::Index(_) | Key::Entry(_)),
                    _ => false,
                };
                step.matches(key) && !(*is_newtype && of_list)
            };
            let taken = step.filter(|(step, _)| is_asked(step));
            let is_exact = taken.is_some_and(|(step, _)| !matches!(step, Step::AnyField));
            taken.is_some_and(|(_, rest)| matches(rest, after))
                || (*key == Key::Some || *is_newtype && !is_exact) && matches(steps, after)
        }
        (Some(_), None) => false,
    }
}

/// A pattern that stands for a node of the structure, or nearly; and its steps.
pub(crate) fn draw_pattern(case: &mut Case, of: &Shape) -> (Pattern, Vec<Step>) {
    let nodes = of.nodes();
    let chosen = case.tape.below(256) % nodes.len();
    let mut steps = Vec::new();
    for key in &nodes[chosen].0 {
        match case.tape.below(12) {
            8 | 9 => steps.push(one_of(case, key, &nodes)),
            10 | 11 => steps.push(indices(case, key)),
            0 => steps.push(Step::AnySteps),
            1 => steps.push(Step::AnyField),
            2 => steps.push(Step::AnyEntry),
            3 => steps.extend([Step::AnySteps, Step::Key(key.clone())]),
            4 => match key {
                Key::VariantField(_, name) => steps.push(Step::Key(Key::Field(name.clone()))),
                Key::VariantPosition(_, at) => steps.push(Step::Key(Key::Position(*at))),
                key => steps.push(Step::Key(key.clone())),
            },
            _ => steps.push(Step::Key(key.clone())),
        }
    }
    if case.tape.one_in(8) {
        steps.push(Step::AnySteps);
    }
    let text: String = steps.iter().map(Step::text).collect();
    case.note(|| text.clone());
    (text.parse().unwrap_or_else(|error| panic!("{text}: {error}")), steps)
}

/// Braces that have a key, if it is a name or a position, and names of other nodes.
fn one_of(case: &mut Case, key: &Key, nodes: &[(Vec<Key>, &Shape)]) -> Step {
    let is_plain = |key: &&Key| matches!(key, Key::Field(_) | Key::Position(_));
    let mut keys: Vec<Key> = Vec::from_iter(Some(key).filter(is_plain).cloned());
    for _ in 0..=case.tape.below(2) {
        let other = nodes[case.tape.below(256) % nodes.len()].0.last();
        keys.extend(other.filter(is_plain).cloned());
    }
    if keys.is_empty() { Step::Key(key.clone()) } else { Step::OneOf(keys) }
}

/// A range that has a key, if it is a number, or nearly.
fn indices(case: &mut Case, key: &Key) -> Step {
    let at = word(key).and_then(|it| it.parse().ok()).unwrap_or(1usize);
    let start = at.saturating_sub(case.tape.below(3)) + case.tape.below(2);
    let end = start + 1 + case.tape.below(4);
    match case.tape.below(3) {
        0 => Step::Indices(Some(start), None),
        1 => Step::Indices(None, Some(end)),
        _ => Step::Indices(Some(start), Some(end)),
    }
}

/// Whether every name in braces stands for a node alone.
pub(crate) fn has_all(steps: &[Step], of: &Shape) -> bool {
    let all = placed(of);
    let is_there = |steps: &[Step]| all.iter().any(|(keys, _)| matches(steps, keys));
    steps.iter().enumerate().all(|(at, step)| match step {
        Step::OneOf(keys) => keys.iter().all(|key| {
            is_there(&[&steps[..at], &[Step::Key(key.clone())], &steps[at + 1..]].concat())
        }),
        _ => true,
    }) && is_there(steps)
}

/// Whether a path finds a node that has another path: the model knows only its own.
pub(crate) fn is_lenient(treedef: &TreeDef, path: &Path) -> bool {
    treedef_testing::found::resolved(treedef, path).is_ok_and(|found| found != *path)
}

#[test]
fn paths_are_those_of_the_model() {
    cases(|case| {
        let a = case.draw(5);
        let x = case.treedef(&a);
        let expected: Vec<Path> = a.leaf_paths().iter().map(|keys| path(keys)).collect();
        prop_assert_eq!(&x.leaf_paths().collect::<Vec<_>>(), &expected);
        for (index, path) in expected.iter().enumerate() {
            prop_assert_eq!(&x.leaf_path(index).unwrap(), path);
        }
        prop_assert!(x.leaf_path(expected.len()).is_err());
        prop_assert!(x.leaf_path(usize::MAX).is_err());
        for (keys, _) in a.nodes() {
            let path = path(&keys);
            prop_assert_eq!(&path.to_string().parse::<Path>().unwrap(), &path);
        }
        Ok(())
    });
}

#[test]
fn what_stands_at_a_path_is_that_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        let tree = case.numbers(&a);
        let mut found = case.tree(&tree);
        // Paths of another structure lead nowhere, or to another node.
        for keys in a.nodes().into_iter().chain(b.nodes()).map(|(keys, _)| keys) {
            let path = path(&keys);
            if is_lenient(found.treedef(), &path) {
                continue;
            }
            let positions = a.positions(&keys);
            let node = tree.at(&keys);
            let start = positions.as_ref().map(|positions| a.leaves_before(positions));
            let range = node.zip(start).map(|(node, start)| start..start + node.num_leaves());
            prop_assert_eq!(
                found.treedef().node(&path).ok().map(NodeRef::leaf_range),
                range,
                "at {}",
                path
            );
            case.gives_tree(found.subtree(&path), node.cloned())?;
            let to_treedef = found.treedef().node(&path).map(|node| node.to_treedef());
            case.gives_structure(to_treedef, node.map(Node::structure))?;

            // The way to a leaf leads through any `Some` and newtype.
            let mut inside = node;
            while let Some(Node::Inner(Head::Some | Head::NewtypeStruct(_), children)) = inside {
                inside = children.first();
            }
            let leaf = match inside {
                Some(Node::Leaf(leaf)) => Some(*leaf),
                _ => None,
            };
            let index = start.filter(|_| leaf.is_some());
            prop_assert_eq!(found.get(&path).ok().copied(), leaf);
            let set = found.get_mut(&path).map(|place| std::mem::replace(place, 7));
            prop_assert_eq!(set.ok(), leaf);
            if let (Some(leaf), Some(index)) = (leaf, index) {
                prop_assert_eq!(found.leaves()[index], 7);
                *found.get_mut(&path).unwrap() = leaf;
            }
            for error in [found.get(&path).err(), found.subtree(&path).err()].iter().flatten() {
                is_short(error)?;
            }
        }
        case.is_tree(&found, &tree)
    });
}

#[test]
fn selected_leaves_are_those_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        let of = if case.tape.one_in(4) { &b } else { &a };
        let (pattern, steps) = draw_pattern(case, of);
        prop_assert_eq!(pattern.to_string().parse::<Pattern>().unwrap(), pattern.clone());
        for (keys, _) in a.nodes() {
            let path = path(&keys);
            prop_assert_eq!(
                pattern.matches(&path),
                // A path does not show which nodes are newtypes.
                matches(&steps, &keys.into_iter().map(|key| (key, false)).collect::<Vec<_>>()),
                "{}: {}",
                pattern,
                path
            );
        }
        let tree = case.numbers(&a);
        let leaf_paths = a.leaf_paths();
        let leaves_where = |chosen: &[bool]| -> Vec<(Path, i32)> {
            let all = leaf_paths.iter().zip(tree.leaves()).zip(chosen);
            all.filter(|(_, chosen)| **chosen).map(|((keys, leaf), _)| (path(keys), leaf)).collect()
        };
        let mut found = case.tree(&tree);
        let covered = |path: &Path, _: &_| pattern.covers(path);
        let selected = found.select(covered).unwrap().map(|(path, leaf)| (path, *leaf));
        let of_path = |keys: &Vec<Key>| keys.iter().map(|key| (key.clone(), false)).collect();
        let by_path: Vec<Vec<Placed>> = leaf_paths.iter().map(of_path).collect();
        let by_path: Vec<bool> = by_path.iter().map(|keys| covers(&steps, keys)).collect();
        prop_assert_eq!(selected.collect::<Vec<_>>(), leaves_where(&by_path));
        let leaves = placed(&a).into_iter().filter(|(_, node)| matches!(node, Node::Leaf(_)));
        let chosen: Vec<bool> = leaves.map(|(keys, _)| covers(&steps, &keys)).collect();
        let expected = leaves_where(&chosen);
        let named = has_all(&steps, &a);
        let selected =
            found.select(&pattern).map(|it| it.map(|(path, leaf)| (path, *leaf)).collect());
        prop_assert_eq!(selected.ok(), named.then_some(expected));

        if let Ok(leaves) = found.select_mut(&pattern) {
            leaves.for_each(|(_, leaf)| *leaf = 7);
        }
        let changed: Vec<i32> = tree
            .leaves()
            .iter()
            .zip(chosen)
            .map(|(leaf, chosen)| if chosen && named { 7 } else { *leaf })
            .collect();
        case.is_tree(&found, &tree.with_leaves(&changed))
    });
}
