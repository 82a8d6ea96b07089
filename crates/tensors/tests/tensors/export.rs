//! The tensors of a value, and their names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fastrand::Rng;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use treedef::{Leaf, Object, Packed, Tree};
use treedef_tensors::{
    Dtype, Error, ErrorKind, Export, Loader, StoredTensor, Tensor, Tensors, safetensors,
};
use treedef_testing::structures;

use crate::{def, listed, refused, tree};

/// Keys that are variants, newtypes or options have the names that a load requests.
#[test]
fn keys_of_types_are_found_again() {
    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    enum Part {
        Encoder,
        Decoder,
    }
    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    struct Index(u8);

    type Model = (BTreeMap<Part, [f32; 2]>, BTreeMap<Index, [f32; 2]>);
    let model: Model = (
        [(Part::Encoder, [1.0, 2.0]), (Part::Decoder, [3.0, 4.0])].into(),
        [(Index(7), [5.0, 6.0])].into(),
    );
    let tree = Tree::of(&model).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert_eq!(listed(&tensors), ["0.Decoder: f32[2]", "0.Encoder: f32[2]", "1.7: f32[2]"]);
    assert_eq!(tensors.load::<Model>().unwrap(), model);
}

#[test]
fn names_are_paths_without_wrappers() {
    let rows = [
        ("M { w: [[*; 4]; 3], b: * }", &["w: f32[3, 4]", "b: f32[]"][..]),
        ("[(*, [*; 2]), (*, [*; 3])]", &["0.0: f32[]", "0.1: f32[2]", "1.0: f32[]", "1.1: f32[3]"]),
        ("[[*; 2], [*; 3]]", &["0: f32[2]", "1: f32[3]"]),
        ("[*; 3]", &[": f32[3]"]),
        ("W(M { a: Some(V([*; 2])), b: None })", &["a: f32[2]"]),
        (
            "{\"a b\": *, 3u8: *, 'c': *, (1, 2): *, true: *, 1.5: *}",
            &["True: f32[]", "3: f32[]", "1.5: f32[]", "c: f32[]", "a b: f32[]", "(1, 2): f32[]"],
        ),
        (
            "[S::A(*), S::B(*, M { x: * }), S::C { y: * }, S::D, S::A([*; 2])]",
            &["0.A: f32[]", "1.B.0: f32[]", "1.B.1.x: f32[]", "2.C.y: f32[]", "4.A: f32[2]"],
        ),
        ("T(*, *, [*, *])", &["0: f32[]", "1: f32[]", "2: f32[2]"]),
        ("M { a: static \"relu\", w: [*; 2], empty: [], unit: () }", &["w: f32[2]"]),
        ("A { v: static 1u8, dim: static (2, 3), data: [*; 6] }", &[": f32[2, 3]"]),
        ("[N(*); 3]", &[": f32[3]"]),
        ("static 1", &[]),
    ];
    for (text, expected) in rows {
        let tree = tree(text);
        let tensors = Tensors::of(&tree).unwrap();
        assert_eq!(listed(&tensors), expected, "{text}");
        assert_eq!(Export::new().tree::<f32>(&tensors).unwrap(), tree, "{text}");
        // Leaves of any kind are the same tensors.
        let leaves = tree.clone().map(Leaf::from);
        let same = Tensors::of(&leaves).unwrap();
        assert_eq!(same, tensors);
        assert_eq!(Export::new().tree::<Leaf>(&same).unwrap(), leaves);
    }
}

#[test]
fn each_kind_has_its_dtype() {
    #[derive(Serialize)]
    struct All {
        a: (bool, [bool; 2]),
        b: (u8, i8, u16, i16),
        c: (u32, i32, u64, i64),
        d: ([f32; 2], f64),
        e: [f16; 2],
        f: Vec<bf16>,
        g: [[f16; 1]; 3],
        h: (f32, f32, u8),
    }
    let tree = Tree::of(&All {
        a: (true, [false, true]),
        b: (1, -2, 3, -4),
        c: (5, -6, u64::MAX, i64::MIN),
        d: ([f32::NAN, -0.0], f64::MIN_POSITIVE),
        e: [f16::ONE, f16::NAN],
        f: vec![bf16::PI],
        g: [[f16::ZERO]; 3],
        h: (1.0, 2.0, 3),
    })
    .unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert_eq!(
        listed(&tensors).join("; "),
        "a.0: bool[]; a.1: bool[2]; b.0: u8[]; b.1: i8[]; b.2: u16[]; b.3: i16[]; \
         c.0: u32[]; c.1: i32[]; c.2: u64[]; c.3: i64[]; d.0: f32[2]; d.1: f64[]; \
         e: f16[2]; f: bf16[1]; g: f16[3, 1]; h.0: f32[]; h.1: f32[]; h.2: u8[]"
    );
    assert_eq!(tensors.get("c.3").unwrap().bytes(), i64::MIN.to_le_bytes());
    assert_eq!(Export::new().tree::<Leaf>(&tensors).unwrap(), tree);
}

#[test]
fn numbers_are_borrowed() {
    let tree = tree("[M { w: [[*; 4]; 3], b: * }; 2]");
    let tensors = Tensors::of(&tree).unwrap();
    let leaves = bytemuck::cast_slice::<f32, u8>(tree.leaves());
    let mut at = 0;
    for (_, tensor) in tensors.iter() {
        assert_eq!(tensor.bytes().as_ptr(), leaves[at..].as_ptr());
        at += tensor.bytes().len();
    }
    assert_eq!(at, leaves.len());
    let flags = Tree::<bool>::of_as(&[true, false]).unwrap();
    let bytes = Tensors::of(&flags).unwrap();
    assert_eq!(bytes.get("").unwrap().bytes().as_ptr(), flags.leaves().as_ptr().cast());
}

#[test]
fn names_that_clash_have_both_paths() {
    refused(
        Tensors::of(&tree(r#"[{"a": {"b": *}, "a.b": *}]"#)),
        r#"the name `0.a.b` is also that of `[0]["a"]["b"]` at `[0]["a.b"]`"#,
    );
    refused(
        Tensors::of(&tree(r#"{1u8: *, "1": [*, *]}"#)),
        r#"the name `1` is also that of `[1u8]` at `["1"]`"#,
    );
    refused(
        Tensors::of(&tree(r#"{"__metadata__": *}"#)),
        r#"the name `__metadata__` is reserved at `["__metadata__"]`"#,
    );
    refused(
        Export::new().names(|_| "w".to_owned()).tensors(&tree("(*, M { a: [*] })")),
        "the name `w` is also that of `.0` at `.1.a`",
    );
    let slashed = Export::new().separator("/");
    let tree = tree(r#"{"a": {"b": *}, "a.b": *}"#);
    let tensors = slashed.tensors(&tree).unwrap();
    assert_eq!(listed(&tensors), ["a/b: f32[]", "a.b: f32[]"]);
    assert_eq!(slashed.tree::<f32>(&tensors).unwrap(), tree);
    let named = Export::new().names(|path| format!("<{path}>"));
    let tensors = named.tensors(&tree).unwrap();
    assert_eq!(listed(&tensors), [r#"<["a"]["b"]>: f32[]"#, r#"<["a.b"]>: f32[]"#]);
    assert_eq!(named.tree::<f32>(&tensors).unwrap(), tree);
}

#[test]
fn what_no_tensor_holds_is_listed_or_in_the_metadata() {
    let value = (("name", 1u8, Some('c')), [i128::MAX, 1], vec![("a\"b\u{1f388}", 2.5)], u128::MAX);
    let tree = Tree::of(&value).unwrap();
    let error = Tensors::of(&tree).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tensors hold no str at `.0.0`, char at `.0.2?`, i128 at `.1`, str at `.2[0].0`, \
         u128 at `.3` (see `Export::rest_in_metadata`)"
    );
    assert!(matches!(error.kind(), ErrorKind::NoDtype(paths) if paths.len() == 5));
    let export = Export::new().rest_in_metadata(true);
    let tensors = export.tensors(&tree).unwrap();
    assert_eq!(listed(&tensors), ["0.1: u8[]", "2.0.1: f64[]"]);
    assert_eq!(tensors.metadata("0.0"), Some(r#""name""#));
    assert_eq!(tensors.metadata("1.0"), Some("170141183460469231731687303715884105727i128"));
    assert_eq!(export.tree::<Leaf>(&tensors).unwrap(), tree);

    let leaves = vec![
        Leaf::Bytes(vec![0, 255].into()),
        Leaf::None,
        Leaf::I128(Packed(-1)),
        Leaf::F32(1.0),
        Leaf::Str("__metadata__".into()),
    ];
    let tree = Tree::new(def("[*; 5]"), leaves).unwrap();
    assert_eq!(export.tree::<Leaf>(&export.tensors(&tree).unwrap()).unwrap(), tree);
    let opaque = Tree::of(&treedef::Opaque((1, 2.0))).unwrap();
    assert_eq!(export.tree::<Leaf>(&export.tensors(&opaque).unwrap()).unwrap(), opaque);
    for name in ["treedef", "treedef.arrays", "treedef.matrices", "treedef.renames"] {
        let reserved = Tree::of(&HashMap::from([(name, "text")])).unwrap();
        let error = format!("the name `{name}` is reserved at `[{name:?}]`");
        refused(export.tensors(&reserved), &error);
        // Nothing reads it as a part of the structure.
        let without = export.clone().structure_in_metadata(false).tensors(&reserved).unwrap();
        assert_eq!(without.metadata(name), Some("\"text\""));
    }
}

/// Metadata has the names of tied tensors, too.
#[test]
fn a_text_that_would_be_read_as_a_tensor_is_refused() {
    let export = Export::new().rest_in_metadata(true);
    let rows = [
        (
            r#"{"\"a\"": *, "s": *}"#,
            vec![Leaf::F64(1.5), Leaf::from("a")],
            r#"the value "a" is the name of a tensor, of which it would be a tie at `["s"]`"#,
        ),
        (
            r#"{"None": *, "s": *}"#,
            vec![Leaf::F64(1.5), Leaf::None],
            r#"the value None is the name of a tensor, of which it would be a tie at `["s"]`"#,
        ),
        (
            r#"{"a": {"b": *}, "a.b": *}"#,
            vec![Leaf::from("text"), Leaf::F64(1.5)],
            r#"the name `a.b` is also that of `["a.b"]` at `["a"]["b"]`"#,
        ),
        (
            r#"{"a": {"b": *}, "a.b": *}"#,
            vec![Leaf::from("text"), Leaf::from("other")],
            r#"the name `a.b` is also that of `["a"]["b"]` at `["a.b"]`"#,
        ),
    ];
    for (structure, leaves, error) in rows {
        refused(export.tensors(&Tree::new(def(structure), leaves).unwrap()), error);
    }
    // This key has no aliases.
    let leaves = vec![Leaf::F64(1.5), Leaf::from("a")];
    let format = Tree::new(def(r#"{"\"a\"": *, "format": *}"#), leaves).unwrap();
    assert_eq!(export.tree::<Leaf>(&export.tensors(&format).unwrap()).unwrap(), format);
}

#[test]
fn trees_of_all_kinds_come_back() {
    let mut rng = Rng::with_seed(3);
    let export = Export::new().rest_in_metadata(true).names(|path| path.to_string());
    let mut kinds = std::collections::HashSet::new();
    for _ in 0..3_000 {
        let treedef = structures::structure(&mut rng, 4);
        let uniform = rng.bool();
        let leaves = (0..treedef.num_leaves())
            .map(|leaf| if uniform { Leaf::from(leaf as f32) } else { structures::leaf(&mut rng) });
        let tree = Tree::new(treedef, leaves.collect()).unwrap();
        let tensors = match export.tensors(&tree) {
            Ok(tensors) => tensors,
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Clash { .. }), "{error}: {tree}");
                continue;
            }
        };
        kinds.extend(tensors.iter().map(|(_, tensor)| tensor.dtype()));
        assert_eq!(export.tree::<Leaf>(&tensors).unwrap(), tree);
        // Arrays that are leaves are the same tensors.
        let arrays = tree.clone().with_arrays().unwrap();
        assert_eq!(export.tensors(&arrays).unwrap(), tensors, "{arrays}");
    }
    assert_eq!(kinds.len(), 11);
}

#[test]
fn tensors_that_are_not_those_of_the_structure_are_refused() {
    let read = |text: &str, of: &str| {
        let tree = tree(of);
        let tensors = Tensors::of(&tree).unwrap().with_metadata("treedef", text);
        Export::new().tree::<f32>(&tensors)
    };
    let of = "M { a: [[*; 2]; 3], b: * }";
    assert!(read(of, of).is_ok());
    let rows = [
        (
            "M { a: [[*; 3]; 2], b: * }",
            "the tensor `a`, f32[3, 2], is not what the structure has at `.a`",
        ),
        (
            "M { a: [[*; 2]; 3], b: [*] }",
            "the tensor `b`, f32[], is not what the structure has at `.b`",
        ),
        ("M { a: [[*; 2]; 3] }", "the tensor `b`, f32[], is not part of the structure"),
        (
            "M { a: [[*; 2]; 3], b: *, c: [[*; 1000000]; 1000000] }",
            "there is no tensor `c.0.0` at `.c[0][0]`",
        ),
        ("[", "expected"),
    ];
    for (text, message) in rows {
        let error = read(text, of).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    refused(
        read(r#"{"a": {"b": *}, "a.b": *}"#, r#"{"a": {"b": *}}"#),
        r#"the name `a.b` is that of two paths at `["a.b"]`"#,
    );
    let stacks = Export::new().stack("");
    let particles = tree("[P { a: *, b: [*; 2] }; 3]");
    let fewer =
        stacks.tensors(&particles).unwrap().with_metadata("treedef", "[P { a: *, b: [*; 2] }; 2]");
    refused(stacks.tree::<f32>(&fewer), "the tensor `a`, f32[3], is not part of the structure");
    let more =
        stacks.tensors(&particles).unwrap().with_metadata("treedef", "[P { a: *, b: [*; 2] }; 4]");
    refused(
        stacks.tree::<f32>(&more),
        "the tensor `a`, f32[3], is not what the structure has at `[3].a`",
    );
    let tree = tree("[*; 2]");
    let without = Export::new().structure_in_metadata(false);
    refused(
        without.tree::<f32>(&without.tensors(&tree).unwrap()),
        "the metadata has no `treedef` (see `Loader`, which needs none)",
    );
    refused(
        Export::new().tree::<f64>(&Tensors::of(&tree).unwrap()),
        "the tensor ``, f32[2], is not what the structure has at the root",
    );
}

/// A structure has few blocks, with leaves of any type.
#[test]
fn elements_of_many_lengths_are_named_at_once() {
    let value: Vec<Vec<f32>> = (0..20_000).map(|length| vec![0.5; length % 7 + 1]).collect();
    let tree = Tree::<f32>::of_as(&value).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert_eq!(tensors.iter().len(), 20_000);
    assert_eq!(Export::new().tree::<f32>(&tensors).unwrap(), tree);
}

#[test]
fn an_array_that_is_one_leaf_is_a_tensor() {
    let half = vec![f16::PI; 2];
    let ragged = (vec![[0.25f64; 2]; 2], vec![[0.5f64; 2]]);
    let value = ("w", vec![[0.5f32; 3]; 2], [1u8, 2], half, ragged, vec![vec![true], vec![]]);
    let plain = Tree::of(&value).unwrap();
    let arrays = plain.clone().with_arrays().unwrap();
    assert_eq!(arrays.leaves().len(), 7);
    let export = Export::new().rest_in_metadata(true);
    let tensors = export.tensors(&arrays).unwrap();
    assert_eq!(tensors, export.tensors(&plain).unwrap());
    assert_eq!(tensors.get("1").unwrap().shape(), [2, 3]);
    assert_eq!(export.tree::<Leaf>(&tensors).unwrap().with_arrays().unwrap(), arrays);
    // The numbers are borrowed.
    let numbers = arrays.leaves()[1].as_array().unwrap().as_slice::<f32>().unwrap();
    assert_eq!(tensors.get("1").unwrap().bytes().as_ptr(), numbers.as_ptr().cast());
    // An array that is a struct has leaves beside its numbers.
    let table = Tree::of(&("t", ndarray::arr2(&[[1.5f32, 2.5], [3.5, 4.5]]), [1u8])).unwrap();
    let tables = table.clone().with_arrays().unwrap();
    assert_eq!(tables.leaves().len(), 3);
    assert_eq!(export.tensors(&tables).unwrap(), export.tensors(&table).unwrap());
    // Each of equal siblings is an array, and they are stacked.
    let layers = Tree::of(&vec![(1u8, vec![1.5f32; 2]), (2, vec![2.5; 2])]).unwrap();
    let stacked = Export::new().stack("[*]");
    let tensors = stacked.tensors(&layers).unwrap().into_owned();
    assert_eq!(listed(&tensors), ["0: u8[2]", "1: f32[2, 2]"]);
    assert_eq!(stacked.tensors(&layers.with_arrays().unwrap()).unwrap(), tensors);
}

/// The metadata has the alias of a tied object, unless its name is reserved for a text of the file.
#[test]
fn objects_that_are_tied_come_back_under_any_name() {
    type Bytes = Arc<[u8]>;
    let shared = Bytes::from([1, 2]);
    let names = ["a", "format", "treedef", "z"];
    let value = names.map(|name| (name.to_owned(), Object(shared.clone())));
    let value = BTreeMap::from(value);
    let tree = Tree::<Bytes>::of_objects(&value).unwrap();
    let stored = |name: &str, object: &Bytes| {
        Ok::<_, Error>(StoredTensor::of(name, Tensor::new(Dtype::U8, vec![2], object.to_vec())?))
    };
    let source = Export::new().objects(&tree, |object| object.as_ptr(), stored).unwrap();
    assert_eq!(source.aliases().collect::<Vec<_>>(), [("z", "a")]);
    let mut file = Vec::new();
    safetensors::write(source.with_metadata("format", "pt"), &mut file).unwrap();
    let read = |stored: &StoredTensor<'_>| Ok::<_, Error>(Bytes::from(&*stored.read_bytes()?));
    let tree = Loader::new().objects(safetensors::from_bytes(&file).unwrap(), read).unwrap();
    assert_eq!(tree.into_objects::<BTreeMap<String, Object<Bytes>>>().unwrap(), value);
}
