//! chex: assertions about trees.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{DifferenceKind, Leaf, Tolerance, Tree, TreeDef};

use crate::common::{def, of, paths, said, tree};

#[derive(Serialize)]
struct Ab<B> {
    a: i32,
    b: B,
}

/// There the two structures are printed whole.
#[test]
fn structures_are_compared() {
    fn structure(value: &impl Serialize) -> TreeDef {
        treedef::structure(value).unwrap()
    }
    let list = structure(&Ab { a: 1, b: vec![2] });
    list.check_equal(&structure(&Ab { a: 3, b: vec![4] })).unwrap();
    let tuple = structure(&Ab { a: 1, b: (2,) });
    assert_snapshot!(said(tuple.check_equal(&list)), @"expected `[*]`, found `(*,)` at `.b`");
}

#[test]
fn all_leaves_are_compared() {
    #[derive(Serialize)]
    struct Nested {
        a: W,
    }
    #[derive(Serialize)]
    struct W {
        w: Vec<i32>,
    }
    let nested = |w: [i32; 2]| Nested { a: W { w: w.to_vec() } };
    assert_eq!(of(&nested([1, 2])), of(&nested([1, 2])));
    assert_snapshot!(of(&nested([1, 2])).diff(&of(&nested([1, 3]))), @"
    1 change
    ~ .a.w[1]: 2 → 3
    ");
    // NaN equals itself here, and 0.0 is not -0.0; the kinds count.
    assert_eq!(of(&[f64::NAN]), of(&[f64::NAN]));
    assert_ne!(of(&[0.0]), of(&[-0.0]));
    assert_snapshot!(of(&[1i32]).diff(&of(&[1i64])), @"
    1 change
    ~ .0: 1 → 1i64
    ");
}

/// There: `Trees 0 and 2 differ in leaves '0/q'`.
#[test]
fn of_several_trees_the_one_that_differs_is_told() {
    let trees = [1, 1, 2].map(|q| tree("[{\"q\": *}]", [q]));
    let differs = trees.iter().enumerate().find(|(_, tree)| **tree != trees[0]).unwrap();
    assert_eq!(differs.0, 2);
    assert_snapshot!(trees[0].diff(differs.1), @r#"
    1 change
    ~ [0]["q"]: 1 → 2
    "#);
    // `Assertions over only one tree does not make sense` does not compile: the function has two arguments.
    let other = def("[{\"r\": *}]");
    assert_snapshot!(said(Tree::stack([trees[0].clone(), Tree::new(other, vec![1]).unwrap()])), @r#"tree 1: expected `*`, found nothing at `[0]["q"]`, and 1 more difference"#);
}

#[test]
fn leaves_are_close() {
    let close = Tolerance { rtol: 1e-6, ..Tolerance::default() };
    of(&[1.0, 2.0]).check_close(&of(&[1.0, 2.000_001]), close).unwrap();
    assert_snapshot!(said(of(&[1.0, 2.0]).check_close(&of(&[1.0, 2.1]), close)), @"expected 2.1, found 2.0 at `.1`");
    // `maxulp=1`.
    let next = |x: f32, steps: u32| of(&[f32::from_bits(x.to_bits() + steps)]);
    let ulp = Tolerance { ulps: 1, ..Tolerance::default() };
    next(1.0, 1).check_close(&of(&[1f32]), ulp).unwrap();
    assert_snapshot!(said(next(1.0, 2).check_close(&of(&[1f32]), ulp)), @"expected 1.0f32, found 1.0000002f32 at `.0`");
}

/// An array as serde shows it.
#[derive(Clone, Serialize, Deserialize)]
struct Array {
    shape: Vec<usize>,
    data: Vec<f32>,
}

fn shapes(tree: &serde_json::Value) -> Tree<Vec<usize>> {
    let shape = |leaf: Leaf| leaf.into_typed::<Array>().map(|array| array.shape);
    let flattener = treedef::Flattener::new().opaque_where(|path, _| path.keys().len() == 2);
    let (leaves, treedef) = flattener.flatten(tree).unwrap();
    Tree::new(treedef, leaves).unwrap().try_map(shape).unwrap()
}

/// Ours: shapes are leaves of a tree like any other.
#[test]
fn shapes_are_compared() {
    let array = |shape: &[usize]| serde_json::json!({"shape": shape, "data": []});
    let two = |a: &[usize], c: &[usize]| {
        shapes(&serde_json::json!({"a": {"w": array(a)}, "b": {"c": array(c)}}))
    };
    let (first, second) = (two(&[2, 3], &[4, 1]), two(&[3, 2], &[5, 1]));
    let differ = first.clone().zip(second.clone()).unwrap();
    let differ: Vec<String> = differ
        .iter()
        .filter(|(_, (a, b))| a != b)
        .map(|(path, (a, b))| format!("{}: {a:?} != {b:?}", path.to_joined_string("/")))
        .collect();
    assert_eq!(differ, ["a/w: [2, 3] != [3, 2]", "b/c: [4, 1] != [5, 1]"]);
    // `assert_tree_shape_prefix`.
    let checked = second.try_map(|shape| {
        if shape.starts_with(&[3]) {
            Ok(shape)
        } else {
            Err(format!("expected a shape that begins with 3, found {shape:?}"))
        }
    });
    assert_snapshot!(said(checked), @r#"expected a shape that begins with 3, found [5, 1] at `["b"]["c"]`"#);
}

/// `assert_trees_all_equal_dtypes`.
#[test]
fn kinds_are_compared() {
    let (single, double) =
        (treedef::signature(&(1f32, 2u8)).unwrap(), treedef::signature(&(1f64, 2u8)).unwrap());
    assert_snapshot!(single.diff(&double), @"
    1 change
    ~ .0: f32 → f64
    ");
}

#[test]
fn nones_are_found() {
    let treedef = treedef::structure(&Ab { a: 1, b: None::<u8> }).unwrap();
    let mut nones = Vec::new();
    let walked = Tree::new(treedef, vec![()]).unwrap().edit(|path, node, _| {
        if node.kind() == treedef::NodeKind::None {
            nones.push(path.to_string());
        }
        Ok(treedef::Edit::Keep)
    });
    walked.unwrap();
    assert_eq!(nones, [".b"]);
}

#[test]
fn numbers_are_finite() {
    let finite = |leaf: f64| leaf.is_finite().then_some(leaf).ok_or("not finite");
    let value = tree("{\"a\": *, \"b\": *}", [f64::INFINITY, 1.0]);
    assert_snapshot!(said(value.try_map(finite)), @r#"not finite at `["a"]`"#);
}

/// `assert_trees_all_equal_comparator`.
#[test]
fn leaves_are_compared_by_a_function() {
    let (a, b) = (tree("{\"x\": *, \"y\": *}", [1, 5]), tree("{\"x\": *, \"y\": *}", [2, 3]));
    let less =
        |(a, b): (i32, i32)| if a < b { Ok(()) } else { Err(format!("{a} not less than {b}")) };
    assert_snapshot!(said(a.zip(b).unwrap().try_map(less)), @r#"5 not less than 3 at `["y"]`"#);
}

/// `P(z=1, a=(2, 3))`. Ours: fields in declared order, where chex and JAX sort them.
#[test]
fn fields_stand_in_declared_order() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct P {
        z: i32,
        a: (i32, i32),
    }
    let p = of(&P { z: 1, a: (2, 3) });
    assert_eq!(p.leaves(), [1, 2, 3].map(Leaf::from));
    assert_eq!(p.treedef().to_string(), "P { z: *, a: (*, *) }");
    assert_eq!(paths(p.treedef()), [".z", ".a.0", ".a.1"]);
    assert_eq!(p.into_typed::<P>().unwrap(), P { z: 1, a: (2, 3) });
}

/// Every difference is data, not only text.
#[test]
fn differences_have_kinds() {
    let error = def("P { a: *, c: * }").check_equal(&def("P { a: [*], b: * }")).unwrap_err();
    let kinds: Vec<_> =
        error.differences().iter().map(|it| (it.path.to_string(), it.kind)).collect();
    let expected = [
        (".a", DifferenceKind::Node),
        (".b", DifferenceKind::Missing),
        (".c", DifferenceKind::Extra),
    ];
    assert_eq!(kinds, expected.map(|(path, kind)| (path.to_owned(), kind)));
}
