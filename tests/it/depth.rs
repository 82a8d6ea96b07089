//! Deep and huge structures: refused ones, and operations that work with them.
//!
//! Everything runs on a stack of 2 MiB, the default of a thread of Rust.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

mod bombs;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize as DeriveSerialize};
use treedef::{Flattener, Leaf, Limits, Path, Tree, TreeDef, Value};
use treedef_testing::cases::cases;

const MIB: usize = 1 << 20;

/// Runs on a thread of its own. An overflow of its stack would abort the whole process: that is the
/// test.
fn on_a_stack_of<R: Send>(size: usize, f: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(size).spawn_scoped(scope, f).unwrap();
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[track_caller]
fn assert_depth<T: Debug>(result: treedef::Result<T>) {
    let error = result.unwrap_err();
    assert!(error.to_string().contains("nested deeper than 128 levels"), "{error}");
}

/// A value of 128 levels round-trips, a deeper one is not flattened, and a deeper treedef from elsewhere is
/// not unflattened.
#[track_caller]
fn assert_limited<T>(nested: impl Fn(usize) -> T + Sync, steps: usize)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    on_a_stack_of(2 * MIB, || {
        let value = nested(steps);
        let (leaves, treedef) = treedef::flatten(&value).unwrap();
        assert_eq!(treedef::unflatten::<T>(&treedef, &leaves).unwrap(), value);
        assert_eq!(treedef::unflatten::<T>(&treedef, leaves).unwrap(), value);
        assert_eq!(treedef.to_string().parse::<TreeDef>().unwrap(), treedef);
        assert_depth(treedef::flatten(&nested(steps + 1)));
        assert_depth(treedef::flatten(&nested(steps + 200)));
    });
    // Deeper than here, a value's own code would need more stack.
    let deep = |steps| {
        on_a_stack_of(512 * MIB, || {
            Flattener::new()
                .limits(Limits { max_depth: usize::MAX, ..Limits::default() })
                .flatten(&nested(steps))
                .unwrap()
        })
    };
    for (leaves, treedef) in [deep(steps + 1), deep(steps + 60)] {
        on_a_stack_of(2 * MIB, || {
            let treedef = treedef.with_limits(Limits::default());
            assert_depth(treedef::unflatten::<T>(&treedef, &leaves));
            assert_depth(treedef::unflatten::<T>(&treedef, leaves));
        });
    }
}

macro_rules! recursive {
    ($($(#[$attribute:meta])* $test:ident: $type:ident, $steps:expr, $start:expr, $wrap:expr; $item:item)*) => {$(
        $(#[$attribute])*
        #[test]
        fn $test() {
            #[derive(DeriveSerialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
            $item
            let wrap: fn($type) -> $type = $wrap;
            assert_limited(|steps| (0..steps).fold($start, |value, _| wrap(value)), $steps);
        }
    )*};
}

recursive! {
    some: T, 128, T(None), |inner| T(Some(Box::new(inner)));
    #[serde(transparent)]
    struct T(Option<Box<T>>);

    newtype_struct_and_seq: T, 63, T(vec![]), |inner| T(vec![inner]);
    struct T(Vec<T>);

    newtype_variant: T, 128, T::End, |inner| T::Next(Box::new(inner));
    enum T { End, Next(Box<T>) }

    seq: T, 127, T(vec![]), |inner| T(vec![inner]);
    #[serde(transparent)]
    struct T(Vec<T>);

    tuple_and_some: T, 64, T(None), |inner| T(Some(Box::new((inner, 1))));
    #[serde(transparent)]
    struct T(Option<Box<(T, u8)>>);

    tuple_variant: T, 128, T::End, |inner| T::Next(Box::new(inner), 1);
    enum T { End, Next(Box<T>, u8) }

    map_value: T, 127, T(BTreeMap::new()), |inner| T(BTreeMap::from([(1, inner)]));
    #[serde(transparent)]
    struct T(BTreeMap<u8, T>);

    struct_variant: T, 128, T::End, |inner| T::Next { next: Box::new(inner) };
    enum T { End, Next { next: Box<T> } }

    internally_tagged: T, 127, T::End, |inner| T::Next { next: Box::new(inner) };
    #[serde(tag = "tag")]
    enum T { End, Next { next: Box<T> } }

    adjacently_tagged: T, 127, T::End, |inner| T::Next(Box::new(inner));
    #[serde(tag = "tag", content = "content")]
    enum T { End, Next(Box<T>) }

    untagged: T, 128, T::End(1), |inner| T::Next { next: Box::new(inner) };
    #[serde(untagged)]
    enum T { End(u8), Next { next: Box<T> } }
}

/// The nesting of keys is limited to 128, with any limit of depth.
#[test]
fn map_key() {
    #[derive(DeriveSerialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
    #[serde(transparent)]
    struct T(BTreeMap<T, u8>);
    let nested =
        |steps| (0..steps).fold(T(BTreeMap::new()), |inner, _| T(BTreeMap::from([(inner, 1)])));
    let deeper = Flattener::new().limits(Limits { max_depth: usize::MAX, ..Limits::default() });
    on_a_stack_of(2 * MIB, || {
        let value = nested(127);
        let (leaves, treedef) = treedef::flatten(&value).unwrap();
        assert_eq!(treedef::unflatten::<T>(&treedef, &leaves).unwrap(), value);
        assert_eq!(treedef.to_string().parse::<TreeDef>().unwrap(), treedef);
        assert_eq!(format!("{treedef:#}").parse::<TreeDef>().unwrap(), treedef);
        let path = treedef.leaf_path(0).unwrap();
        assert_eq!(treedef.node(&path).unwrap().leaf_range(), 0..1);
        assert_eq!(path.to_string().parse::<Path>().unwrap(), path);
        let hashes = RandomState::new();
        assert_eq!(hashes.hash_one(&treedef), hashes.hash_one(treedef.clone()));
        assert_depth(treedef::flatten(&nested(128)));
        assert_depth(deeper.flatten(&nested(500)));

        let (leaves, treedef) = deeper.flatten(&nested(128)).unwrap();
        assert_depth(treedef::unflatten::<T>(&treedef.with_limits(Limits::default()), &leaves));
    });
}

#[test]
fn tuple_struct_and_some() {
    #[derive(DeriveSerialize, Deserialize, PartialEq, Debug)]
    struct T(Option<Box<T>>, u8);
    let nested = |steps| (0..steps).fold(None, |inner, _| Some(Box::new(T(inner, 1))));
    assert_limited(nested, 64);
}

#[test]
fn struct_and_some() {
    #[derive(DeriveSerialize, Deserialize, PartialEq, Debug)]
    struct T {
        next: Option<Box<T>>,
    }
    let nested = |steps| (0..steps).fold(None, |next, _| Some(Box::new(T { next })));
    assert_limited(nested, 64);
}

#[test]
fn flattened() {
    #[derive(DeriveSerialize, Deserialize, PartialEq, Debug)]
    struct Inner {
        next: Option<Box<T>>,
    }
    #[derive(DeriveSerialize, Deserialize, PartialEq, Debug)]
    struct T {
        id: u8,
        #[serde(flatten)]
        inner: Inner,
    }
    let nested =
        |steps| (0..steps).fold(None, |next, _| Some(Box::new(T { id: 1, inner: Inner { next } })));
    assert_limited(nested, 64);
}

/// The depth of keys is added to the depth of their nodes.
#[test]
fn keys_count_with_what_is_around_them() {
    #[derive(DeriveSerialize, Deserialize, PartialEq, Eq, Hash, Debug)]
    #[serde(transparent)]
    struct T(Vec<T>);
    #[derive(DeriveSerialize, Deserialize, PartialEq, Debug)]
    #[serde(untagged)]
    enum U {
        Map(HashMap<T, u8>),
        Some(Vec<U>),
    }
    let nested = |steps| {
        let seq = |steps| (0..steps).fold(T(vec![]), |inner, _| T(vec![inner]));
        (0..63).fold(U::Map(HashMap::from([(seq(steps), 1)])), |inner, _| U::Some(vec![inner]))
    };
    on_a_stack_of(2 * MIB, || {
        treedef::structure(&nested(63)).unwrap();
        assert_depth(treedef::structure(&nested(64)));
    });
}

/// Types that request themselves again without reading anything. (Inside an untagged or internally
/// tagged enum they would request it from serde's buffer, which recurses for ever.)
#[test]
fn types_that_recurse_without_data_err() {
    #[derive(Deserialize, Debug)]
    struct Newtype(#[allow(dead_code)] Box<Newtype>);
    #[derive(Deserialize, Debug)]
    struct Struct {
        #[allow(dead_code)]
        a: Box<Struct>,
    }
    #[derive(Deserialize, Debug)]
    enum Enum {
        #[allow(dead_code)]
        A(Box<Enum>),
    }
    #[derive(Deserialize, Debug)]
    struct OptionAndNewtype(#[allow(dead_code)] Option<Box<OptionAndNewtype>>);
    #[derive(Deserialize, PartialEq, Eq, Hash, Debug)]
    struct Key(Box<Key>);

    fn all(treedef: &TreeDef, leaves: &[Leaf]) {
        fn err<T: DeserializeOwned + Debug>(treedef: &TreeDef, leaves: &[Leaf]) {
            let error = treedef::unflatten::<T>(treedef, leaves).unwrap_err();
            assert!(!error.to_string().is_empty());
            treedef::unflatten::<T>(treedef, leaves.to_vec()).unwrap_err();
        }
        err::<Newtype>(treedef, leaves);
        err::<Struct>(treedef, leaves);
        err::<Enum>(treedef, leaves);
        err::<HashMap<Key, u8>>(treedef, leaves);
        // This one ends at a `None`.
        let _ = treedef::unflatten::<OptionAndNewtype>(treedef, leaves);
    }
    on_a_stack_of(2 * MIB, || {
        for text in [
            "*",
            "()",
            "None",
            "Some(*)",
            "Some(None)",
            "Newtype(*)",
            "Newtype(Newtype(*))",
            "[*]",
            "[]",
            "(,)",
            r#"{"A": *}"#,
            r#"{"a": *}"#,
            r#"{"A": {"A": *}}"#,
            r#"{{"A": 1}: *}"#,
            "{None: *}",
            "{Newtype(1): *}",
            "{E::A: *}",
            "{E::A(1): *}",
            "Struct { a: * }",
            "Struct { a: Struct { a: * } }",
            "Newtype { a: * }",
            "A",
            "E::A",
            "E::A()",
            "E::A(*)",
            "E::A(E::A(*))",
            "E::A { a: * }",
            "E::A(*, *)",
            "static \"A\"",
            "static {\"A\": \"A\"}",
            "static Newtype(1)",
            "[static None; 3]",
            "Some(Some(Some(E::A)))",
        ] {
            let treedef: TreeDef = text.parse().unwrap();
            for leaf in [Leaf::from("A"), Leaf::from(1u8), Leaf::None] {
                all(&treedef, &vec![leaf; treedef.num_leaves()]);
            }
        }
    });
}

/// A type whose variants' names are the type itself: no derive makes one.
/// The limits of an array do not allow more.
#[test]
fn a_type_that_recurses_at_an_array_errs() {
    #[derive(Debug, Deserialize)]
    struct W(#[allow(dead_code, reason = "only read")] Box<W>);

    let limits = Limits { max_depth: 1 << 20, ..Limits::default() };
    let (leaves, treedef) =
        Flattener::new().limits(limits).arrays(true).flatten(&[[1.0, 2.0]]).unwrap();
    on_a_stack_of(2 * MIB, || {
        let alone = leaves[0].clone().into_typed::<W>().unwrap_err();
        assert_eq!(
            alone.to_string(),
            treedef::unflatten::<W>(&treedef, &leaves).unwrap_err().to_string()
        );
    });
}

#[test]
fn an_enum_that_is_named_by_itself_errs() {
    #[derive(Debug)]
    struct Selfish;
    impl<'de> Deserialize<'de> for Selfish {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_enum("Selfish", &[], Selfish)
        }
    }
    impl<'de> serde::de::Visitor<'de> for Selfish {
        type Value = Selfish;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an enum")
        }
        fn visit_enum<A: serde::de::EnumAccess<'de>>(self, data: A) -> Result<Selfish, A::Error> {
            data.variant::<Selfish>().map(|(selfish, _)| selfish)
        }
    }
    on_a_stack_of(2 * MIB, || {
        for text in ["*", "E::A", r#"{"A": *}"#] {
            let treedef: TreeDef = text.parse().unwrap();
            let leaves = vec![Leaf::from("A"); treedef.num_leaves()];
            treedef::unflatten::<Selfish>(&treedef, leaves).unwrap_err();
        }
    });
}

#[test]
fn a_value_that_holds_itself_errs() {
    struct Cycle(RefCell<Option<Rc<Cycle>>>);
    impl Serialize for Cycle {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.borrow().serialize(serializer)
        }
    }
    struct Endless;
    impl Serialize for Endless {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut seq = serializer.serialize_seq(None)?;
            seq.serialize_element(&1)?;
            seq.serialize_element(&(2, Endless))?;
            seq.end()
        }
    }
    struct EndlessKey;
    impl Serialize for EndlessKey {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([(EndlessKey, 1)])
        }
    }
    on_a_stack_of(2 * MIB, || {
        let cycle = Rc::new(Cycle(RefCell::new(None)));
        *cycle.0.borrow_mut() = Some(cycle.clone());
        let cyclic = cycle.clone();
        let result = treedef::flatten(&*cyclic);
        *cycle.0.borrow_mut() = None;
        assert_depth(result);
        assert_depth(treedef::flatten(&Endless));
        assert_depth(treedef::flatten(&EndlessKey));
        let path = treedef::flatten(&Endless).unwrap_err().path().to_string();
        assert_eq!(path, "[1].1".repeat(64));
    });
}

/// Opening and closing text of each form that nests.
const FORMS: [(&str, &str); 13] = [
    ("[", "]"),
    ("(", ",)"),
    ("Some(", ")"),
    ("a(", ")"),
    ("a(", ",)"),
    ("a::b(", ")"),
    ("a::b(", ",)"),
    ("a { b: ", " }"),
    ("a::b { c: ", " }"),
    ("{\"k\": ", "}"),
    ("[(*, ", "); 2]"),
    ("{(1,): (), 2: ", "}"),
    ("{static_: ", "}"),
];

fn deep_text((open, close): (&str, &str), depth: usize) -> String {
    open.repeat(depth) + "*" + &close.repeat(depth)
}

#[test]
fn a_text_beyond_the_limit_errs() {
    on_a_stack_of(2 * MIB, || {
        for form in FORMS {
            let levels = form.0.chars().filter(|char| "([{".contains(*char)).count();
            if levels == 1 {
                let treedef: TreeDef = deep_text(form, 128).parse().unwrap();
                assert_eq!(treedef.to_string().parse::<TreeDef>().unwrap(), treedef);
            }
            for depth in [129, 1_000, 100_000] {
                assert_too_deep(deep_text(form, depth).parse::<TreeDef>());
                assert_too_deep(deep_text(form, depth).replace('*', "1").parse::<Value>());
            }
            let value = deep_text(form, 200).replace('*', "1");
            assert_too_deep(format!("static {value}").parse::<TreeDef>());
            assert_too_deep(format!("[{value}]").parse::<Path>());
        }
    });
}

#[track_caller]
fn assert_too_deep<T: Debug>(result: treedef::Result<T>) {
    let error = result.unwrap_err();
    assert!(error.to_string().contains("nested deeper"), "{error}");
}

/// The limit in the message is the one that was set, not the rest of it inside a key.
#[test]
fn the_limit_of_depth_is_named_inside_keys_too() {
    let key = |depth| format!("{{{}: *}}", deep_text(FORMS[0], depth).replace('*', "1"));
    key(127).parse::<TreeDef>().unwrap();
    assert_depth(key(128).parse::<TreeDef>());
}

fn parse_deep(text: &str) -> TreeDef {
    TreeDef::parse_with(text, Limits { max_depth: 10_000_000, ..Limits::default() }).unwrap()
}

#[test]
fn a_million_levels_are_no_deeper_than_one() {
    on_a_stack_of(2 * MIB, || {
        let (million, many) = (cases(1_000_000) as usize, cases(200_000).min(50_000) as usize);
        let forms = [(FORMS[0], million), (FORMS[2], many), (FORMS[7], many), (FORMS[9], many)];
        for (form, depth) in forms {
            let text = deep_text(form, depth);
            let treedef = parse_deep(&text);
            let same = parse_deep(&text);
            assert!(treedef == same);
            assert!(treedef != parse_deep(&deep_text(form, depth - 1)));
            let hashes = RandomState::new();
            assert_eq!(hashes.hash_one(&treedef), hashes.hash_one(&same));
            drop(same);
            assert!(treedef.to_string() == text);
            assert_eq!(format!("{treedef:?}").len(), text.len() + "TreeDef()".len());
            assert_eq!(treedef.num_nodes(), depth + 1);
            assert_eq!((treedef.num_leaves(), treedef.num_nodes()), (1, depth + 1));

            let path = treedef.leaf_path(0).unwrap();
            assert_eq!(path.keys().len(), depth);
            assert_eq!(treedef.node(&path).unwrap().leaf_range(), 0..1);
            assert!(treedef.leaf_paths().next() == Some(path));
            let mut node = treedef.root();
            while let Some(child) = node.children().next() {
                node = child;
            }
            assert_eq!(node.to_string(), "*");
            let clone = treedef.clone().with_limits(Limits::default());
            assert_depth_or_work(treedef::unflatten::<serde_json::Value>(&clone, [1]));
            assert!(treedef::unflatten::<IgnoredAny>(&clone, [1]).is_ok());
        }
    });
}

#[track_caller]
fn assert_depth_or_work<T: Debug>(result: treedef::Result<T>) {
    let error = result.unwrap_err();
    let message = error.to_string();
    assert!(message.contains("nested deeper") || message.contains("nodes to visit"), "{message}");
}

/// The pretty form indents every level, so its size alone grows with the square of the depth.
#[test]
fn the_pretty_form_of_a_deep_structure() {
    on_a_stack_of(2 * MIB, || {
        for form in FORMS {
            let levels = form.0.chars().filter(|char| "([{".contains(*char)).count();
            let treedef = parse_deep(&deep_text(form, 100 / levels));
            let pretty = format!("{treedef:#}");
            assert_eq!(pretty.parse::<TreeDef>().unwrap(), treedef);
        }
        let treedef = parse_deep(&deep_text(FORMS[0], 2_000));
        let pretty = format!("{treedef:#}");
        assert_eq!(parse_deep(&pretty), treedef);
    });
}

/// A deep value inside a treedef: as a static, and as a key.
#[test]
fn deep_values_inside_a_treedef() {
    on_a_stack_of(2 * MIB, || {
        let deep = deep_text(FORMS[0], cases(100_000).max(20_000) as usize).replace('*', "1");
        for text in [format!("static {deep}"), format!("{{{deep}: *}}")] {
            let treedef = parse_deep(&text);
            assert!(treedef.to_string() == text);
            assert!(treedef == parse_deep(&text));
            assert!(treedef.leaf_paths().count() <= 1);
            assert!(!format!("{:?}", treedef.root().entry_keys()).is_empty());
            if let [key] = treedef.root().entry_keys() {
                assert_eq!(key.cmp(&key.clone()), std::cmp::Ordering::Equal);
            }
        }
    });
}

/// Structures that the limits allow, but not the stack of a thread, are refused, unless the stack grows.
/// Without optimisation, as here, a level takes most stack.
#[test]
fn what_the_stack_does_not_hold_needs_a_feature() {
    const DEEPEST: usize = 256;
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let deep = |levels: usize| {
        let limits = Limits { max_depth: 1 << 20, ..Limits::default() };
        Tree::<Leaf>::new(TreeDef::parse_with(&nested(levels), limits).unwrap(), vec![]).unwrap()
    };
    on_a_stack_of(2 * MIB, || {
        let tree = deep(DEEPEST);
        assert_eq!(serde_json::to_string(&tree).unwrap(), nested(DEEPEST));
        let json: serde_json::Value = tree.clone().into_typed().unwrap();
        let again = Flattener::new()
            .limits(Limits { max_depth: usize::MAX, ..Limits::default() })
            .flatten(&json)
            .unwrap();
        assert_eq!(again.1, *tree.treedef());
    });
    if cfg!(feature = "stacker") {
        return;
    }
    let refused = |error: String| {
        let said = "nested deeper than 256 levels";
        assert!(error.starts_with(said) && error.contains("the feature `stacker`"), "{error}");
    };
    on_a_stack_of(2 * MIB, || {
        for levels in [DEEPEST + 1, 20_000, 100_000] {
            let tree = deep(levels);
            refused(serde_json::to_string(&tree).unwrap_err().to_string());
            let opaque =
                Flattener::new().limits(Limits { max_depth: usize::MAX, ..Limits::default() });
            let opaque = opaque.mark_opaque("[0]").unwrap().apply_rules(tree.clone()).unwrap();
            if levels > DEEPEST + 1 {
                refused(serde_json::to_string(&opaque).unwrap_err().to_string());
                refused(serde_json::to_string(opaque.leaves()).unwrap_err().to_string());
            }
            refused(tree.into_typed::<serde_json::Value>().unwrap_err().to_string());
        }
    });
    let deeper = on_a_stack_of(512 * MIB, || {
        let json = (0..2_000).fold(serde_json::json!([]), |inside, _| serde_json::json!([inside]));
        let refused = Flattener::new()
            .limits(Limits { max_depth: usize::MAX, ..Limits::default() })
            .structure(&json)
            .unwrap_err();
        refused.to_string()
    });
    refused(deeper);
}
