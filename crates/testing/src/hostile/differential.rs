//! Compares the run-compressed encoding with a plain tree.

use std::hash::{BuildHasher, RandomState};

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use treedef::{Flattener, Leaf, MapOrder, NodeKind, NodeRef, Path, TreeDef, Value};

use super::{Plain, Tape};

/// The text of a treedef of the plain tree, or of the value itself.
pub fn text(plain: &Plain, stars: bool) -> String {
    use NodeKind::*;
    let Plain { kind, children, .. } = plain;
    let name = name(plain.name);
    let typed =
        if kind.is_variant() { format!("{name}::{}", self::name(plain.variant)) } else { name };
    let fields = || {
        let fields = plain.fields.iter().zip(children);
        let fields: Vec<_> = fields
            .map(|(field, child)| format!("{}: {}", self::name(field), text(child, stars)))
            .collect();
        if fields.is_empty() { " {}".to_owned() } else { format!(" {{ {} }}", fields.join(", ")) }
    };
    let one_has_a_comma = || {
        let items = items(plain, stars);
        if children.len() == 1 { format!("({items},)") } else { format!("({items})") }
    };
    match kind {
        Leaf if stars => "*".to_owned(),
        Leaf => literal(&plain.scalar),
        None => "None".to_owned(),
        Some => format!("Some({})", text(&children[0], stars)),
        Unit => "()".to_owned(),
        UnitStruct | UnitVariant => typed,
        NewtypeStruct | NewtypeVariant => format!("{typed}({})", text(&children[0], stars)),
        Seq => format!("[{}]", items(plain, stars)),
        Tuple if children.is_empty() => "(,)".to_owned(),
        Tuple => one_has_a_comma(),
        TupleStruct | TupleVariant => typed + &one_has_a_comma(),
        Map => {
            let entries = plain.keys.iter().zip(children);
            let entries: Vec<_> = entries
                .map(|(key, child)| format!("{}: {}", text(key, false), text(child, stars)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        _ => typed + &fields(),
    }
}

fn items(plain: &Plain, stars: bool) -> String {
    let equal = |a: &Plain, b: &Plain| a.same(b) && (stars || leaves(a) == leaves(b));
    let mut items = Vec::new();
    for run in plain.children.chunk_by(equal) {
        let item = text(&run[0], stars);
        match run.len() {
            n if n >= 5 || n >= 2 && !run[0].children.is_empty() => {
                items.push(format!("{item}; {n}"))
            }
            n => items.extend(std::iter::repeat_n(item, n)),
        }
    }
    items.join(", ")
}

fn name(name: &str) -> String {
    if name.len() == 1 { name.to_owned() } else { format!("`{name}`") }
}

fn literal(scalar: &Leaf) -> String {
    match scalar {
        Leaf::Bool(value) => value.to_string(),
        Leaf::I8(value) => format!("{value}i8"),
        Leaf::I64(value) => format!("{value}i64"),
        Leaf::U8(value) => format!("{value}u8"),
        Leaf::U128(value) => format!("{}u128", value.get()),
        Leaf::F64(value) => format!("{value}.0"),
        Leaf::Char('\n') => r"'\n'".to_owned(),
        Leaf::Char('\'') => r"'\''".to_owned(),
        Leaf::Char(value) => format!("'{value}'"),
        Leaf::Str(value) => format!("\"{value}\""),
        other => panic!("no test draws {other:?}"),
    }
}

pub(super) fn leaves(plain: &Plain) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    plain.leaves(&mut leaves);
    leaves
}

/// Whether a treedef and its leaves equal a plain tree with ordered maps.
pub(super) fn check(
    plain: &Plain,
    treedef: &TreeDef,
    found: &[Leaf],
    options: &str,
) -> TestCaseResult {
    prop_assert_eq!(found, leaves(plain));
    prop_assert_eq!(treedef.num_leaves(), found.len());
    prop_assert_eq!(treedef.num_nodes(), plain.num_nodes());
    check_node(plain, treedef.root(), &mut 0)?;

    let text = format!("{options}{}", text(plain, true));
    prop_assert_eq!(treedef.to_string(), &*text);
    prop_assert_eq!(&text.parse::<TreeDef>().unwrap(), treedef);
    let pretty = format!("{treedef:#}");
    if pretty != text {
        prop_assert_eq!(&pretty.parse::<TreeDef>().unwrap(), treedef);
    }
    Ok(())
}

fn check_node(plain: &Plain, node: NodeRef<'_>, leaf: &mut usize) -> TestCaseResult {
    prop_assert_eq!(node.kind(), plain.kind);
    prop_assert_eq!(node.name().unwrap_or(""), plain.name);
    prop_assert_eq!(node.variant().unwrap_or(""), plain.variant);
    prop_assert_eq!(node.fields(), &*plain.fields);
    prop_assert_eq!(node.entry_keys().len(), plain.keys.len());
    for (key, plain) in node.entry_keys().iter().zip(&plain.keys) {
        prop_assert_eq!(key.to_string(), text(plain, false));
    }
    prop_assert_eq!(node.num_children(), plain.children.len());
    let first = *leaf;
    *leaf += usize::from(plain.kind == NodeKind::Leaf);
    for (position, (child, plain)) in node.children().zip(&plain.children).enumerate() {
        prop_assert_eq!(node.child(position).map(NodeRef::leaf_range), Some(child.leaf_range()));
        check_node(plain, child, leaf)?;
    }
    prop_assert_eq!(node.leaf_range(), first..*leaf);

    let runs: Vec<_> = node.runs().map(|(_, repeat)| repeat).collect();
    let equal: Vec<_> = plain.children.chunk_by(Plain::same).map(<[_]>::len).collect();
    prop_assert_eq!(runs, equal, "runs are maximal, in {}", node);
    Ok(())
}

/// Every leaf's path leads to it and prints and parses back.
pub(super) fn check_paths(treedef: &TreeDef) -> TestCaseResult {
    for (index, path) in treedef.leaf_paths().enumerate() {
        prop_assert_eq!(treedef.node(&path).unwrap().leaf_range(), index..index + 1);
        prop_assert_eq!(path.to_string().parse::<Path>().unwrap(), path);
    }
    Ok(())
}

/// A plain tree and its treedef: text, paths and leaves agree.
pub fn agrees(mut tape: Tape) -> TestCaseResult {
    let plain = Plain::draw(&mut tape, 5);
    let (found, treedef) = treedef::flatten(&plain).unwrap();
    let sorted = plain.sorted();
    check(&sorted, &treedef, &found, "")?;
    if sorted.has_twins() { Ok(()) } else { check_paths(&treedef) }
}

/// A plain tree and one that differs a little: their treedefs are equal if and only if they are.
pub fn neighbours_agree(mut tape: Tape) -> TestCaseResult {
    let hashes = RandomState::new();
    let plain = Plain::draw(&mut tape, 5);
    let mut other = plain.clone();
    other.mutate(&mut tape);
    let (mut buffer, treedef) = treedef::flatten(&plain).unwrap();
    let other_treedef = treedef::structure(&other).unwrap();
    let sorted = other.sorted();
    let same = plain.sorted().same(&sorted);
    prop_assert_eq!(treedef == other_treedef, same, "{} == {}", treedef, other_treedef);
    if same {
        prop_assert_eq!(hashes.hash_one(&treedef), hashes.hash_one(&other_treedef));
    }
    let like = treedef.flatten_like(&other, &mut buffer);
    prop_assert_eq!(like.is_ok(), same, "{:?}", like);
    prop_assert_eq!(buffer, if same { leaves(&sorted) } else { Vec::new() });
    Ok(())
}

/// A plain tree of numbers, alone and as one of many elements, and one that differs a little: elements that
/// fit into a window and a layout are compared as a whole.
pub fn numbers_agree(mut tape: Tape) -> TestCaseResult {
    let elements = 70;
    let mut plain = Plain::draw(&mut tape, 3);
    let mut other = plain.clone();
    (0..tape.below(3)).for_each(|_| other.mutate(&mut tape));
    plain.number(&mut 0);
    other.number(&mut 0);
    whole_numbers_agree(&plain, &other)?;
    let seq = |children: Vec<Plain>| Plain { children, ..Plain::of(NodeKind::Seq) };
    let mut odd = vec![plain.clone(); elements];
    odd[tape.below(elements)] = other;
    whole_numbers_agree(&seq(vec![plain; elements]), &seq(odd))
}

fn whole_numbers_agree(plain: &Plain, other: &Plain) -> TestCaseResult {
    let recorded =
        |plain: &Plain| Flattener::new().serialize_once(true).flatten_as::<f64>(plain).unwrap();
    let ((_, treedef), (leaves, other_treedef)) = (recorded(plain), recorded(other));
    let mut buffer = vec![7.0; 3];
    let like = treedef.flatten_like(other, &mut buffer);
    prop_assert_eq!(like.is_ok(), treedef == other_treedef, "{:?}", like);
    prop_assert_eq!(&buffer, if like.is_ok() { &leaves } else { &[][..] });
    // The second and the third are expected to be like the previous one.
    for plain in [plain, plain, other] {
        prop_assert_eq!(treedef::flatten_as(plain).unwrap(), recorded(plain));
    }
    Ok(())
}

pub fn agrees_in_order_of_insertion(mut tape: Tape) -> TestCaseResult {
    let flattener = Flattener::new().map_order(MapOrder::Insertion);
    let mut plain = Plain::draw(&mut tape, 4);
    let (found, treedef) = flattener.flatten(&plain).unwrap();
    plain.sort(true);
    check(&plain, &treedef, &found, "#[insertion] ")
}

pub fn values_agree(mut tape: Tape) -> TestCaseResult {
    let plain = Plain::draw(&mut tape, 4);
    let mut other = plain.clone();
    other.mutate(&mut tape);
    let (a, b) = (Value::of(&plain).unwrap(), Value::of(&other).unwrap());
    prop_assert_eq!(a.to_string(), text(&plain.sorted(), false));
    prop_assert_eq!(&a.to_string().parse::<Value>().unwrap(), &a);
    let order = plain.order(&other);
    prop_assert_eq!(a.cmp(&b), order, "{} <=> {}", a, b);
    prop_assert_eq!(a == b, order.is_eq());
    Ok(())
}
