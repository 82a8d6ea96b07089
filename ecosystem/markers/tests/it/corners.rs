//! Marks around odd values, inside each other, beside options of the walk, and where a value is absent.

use std::fmt::Debug;

use insta::assert_snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{
    Flattener, Leaf, Opaque, Static, TreeDef, flatten, structure, unflatten, unflatten_strict,
};

/// The treedef, from which and from whose text the value comes back.
#[track_caller]
fn exact<T>(flattener: &Flattener, value: T) -> TreeDef
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let (leaves, treedef) = flattener.flatten(&value).unwrap();
    let parsed: TreeDef = treedef.to_string().parse().unwrap();
    assert_eq!(parsed, treedef);
    assert_eq!(unflatten::<T>(&parsed, &leaves).unwrap(), value, "{treedef}");
    assert_eq!(unflatten_strict::<T>(&treedef, &leaves).unwrap(), value, "{treedef}");
    treedef
}

/// A float that compares by its bits.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Bits(f64);

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

#[test]
fn floats_are_static_by_their_bits() {
    let floats = [
        f64::NAN,
        -f64::NAN,
        f64::from_bits(f64::NAN.to_bits() | 1),
        f64::from_bits(0x7ff0_0000_0000_0001),
        f64::INFINITY,
        -0.0,
        0.0,
        5e-324,
    ];
    let treedefs = floats.map(|float| exact(&Flattener::new(), (Static(Bits(float)), 1)));
    for (index, treedef) in treedefs.iter().enumerate() {
        assert_eq!(treedefs.iter().position(|other| other == treedef), Some(index), "{treedef}");
    }
    let [nan, .., zero, tiny] = treedefs.each_ref();
    assert_snapshot!(nan, @"(static nan(0x7ff8000000000000), *)");
    assert_snapshot!(treedefs[3], @"(static nan(0x7ff0000000000001), *)");
    assert_snapshot!(treedefs[5], @"(static -0.0, *)");
    assert_snapshot!(zero, @"(static 0.0, *)");
    assert_snapshot!(tiny, @"(static 5e-324, *)");

    let error = nan.flatten_like(&(Static(0.0), 1), &mut Vec::<Leaf>::new()).unwrap_err();
    assert_snapshot!(error, @"expected `static nan(0x7ff8000000000000)`, found `static 0.0` at `.0` (statics are part of the structure; see `ignore_statics`)");
    nan.flatten_like(&(Static(f64::NAN), 1), &mut Vec::<Leaf>::new()).unwrap();
}

#[test]
fn integers_of_128_bits() {
    let value = (Static(i128::MIN), Static(u128::MAX), Opaque(i128::MIN), Opaque([u128::MAX, 0]));
    assert_snapshot!(exact(&Flattener::new(), value), @"(static -170141183460469231731687303715884105728i128, static 340282366920938463463374607431768211455u128, *, *)");
    assert_ne!(structure(&Static(1i128)).unwrap(), structure(&Static(1i64)).unwrap());
}

#[test]
fn inner_marks_have_no_effect() {
    let list = || vec![(1u8, true)];
    let same =
        |a: &dyn erased::Flatten, b: &dyn erased::Flatten| assert_eq!(a.flatten(), b.flatten());
    same(&Static((1, Static("a"))), &Static((1, "a")));
    same(&Static((1, Opaque(list()))), &Static((1, list())));
    same(&Opaque((1, Static(list()))), &Opaque((1, list())));
    same(&Opaque((1, Opaque(list()))), &Opaque((1, list())));
    same(&Static(Opaque(list())), &Static(list()));
    same(&Opaque(Static(list())), &Opaque(list()));
    same(&Static(Static(1)), &Static(1));
    same(&Opaque(Opaque(1)), &Opaque(1));
    same(&Opaque(Static(1)), &1);

    let default = Flattener::new();
    assert_snapshot!(exact(&default, Static((1, Static("a".to_owned()), Opaque(list())))), @r#"static (1, "a", [(1u8, true)])"#);
    assert_snapshot!(exact(&default, (Opaque((1, Static(list()))), Opaque(Opaque(1)))), @"(*, *)");
}

/// Values of several types side by side.
mod erased {
    use super::*;

    pub(super) trait Flatten {
        fn flatten(&self) -> (Vec<Leaf>, TreeDef);
    }

    impl<T: Serialize> Flatten for T {
        fn flatten(&self) -> (Vec<Leaf>, TreeDef) {
            flatten(self).unwrap()
        }
    }
}

#[test]
fn none_in_a_mark_stays_what_it_is_when_none_is_a_leaf() {
    let none_is_leaf = Flattener::new().none_is_leaf(true);
    let none = None::<u8>;
    let exact = |value| exact(&none_is_leaf, value);
    assert_snapshot!(exact((Static(none), Opaque(none), none)), @"#[none_is_leaf] (static None, *, *)");
    assert_snapshot!(exact((Static(Some(1)), Opaque(Some(1)), Some(1))), @"#[none_is_leaf] (static Some(1u8), *, *)");
}

#[test]
fn a_mark_inside_an_option_when_none_is_a_leaf() {
    let none_is_leaf = Flattener::new().none_is_leaf(true);
    let statics = vec![None, Some(Static(1))];
    assert_snapshot!(exact(&none_is_leaf, statics), @"#[none_is_leaf] [*, static 1]");
    let opaque = vec![None, Some(Opaque(vec![1]))];
    assert_snapshot!(exact(&none_is_leaf, opaque), @"#[none_is_leaf] [*, *]");
    assert_snapshot!(exact(&none_is_leaf, [Some(Static(())), None]), @"#[none_is_leaf] (Some(static ()), *)");
    assert_snapshot!(exact(&none_is_leaf, [Some(Opaque(())), None]), @"#[none_is_leaf] (Some(*), *)");
}

/// Whether the value comes back when `None` is a leaf.
fn is_exact_when_none_is_a_leaf<T: Serialize + DeserializeOwned + PartialEq>(value: T) -> bool {
    let (leaves, treedef) = Flattener::new().none_is_leaf(true).flatten(&value).unwrap();
    let is_this = |rebuilt: treedef::Result<T>| rebuilt.is_ok_and(|rebuilt| rebuilt == value);
    is_this(unflatten(&treedef, &leaves)) && is_this(unflatten_strict(&treedef, &leaves))
}

macro_rules! exactness {
    ($($value:expr),* $(,)?) => {
        [$((stringify!($value), is_exact_when_none_is_a_leaf($value))),*]
            .map(|(value, is_exact)| format!("{is_exact:<5} {value}\n"))
            .concat()
    };
}

/// The `Some` around such a mark is kept, as it is without marks.
#[test]
fn a_mark_around_nothing_inside_an_option_when_none_is_a_leaf() {
    #[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged<T> {
        Field { field: T },
    }

    let none = None::<u8>;
    let unit = ();
    let text = exactness! {
        Some(none),
        Untagged::Field { field: Some(unit) },
        Some(Static(none)),
        Some(Opaque(none)),
        [Some(Static(Some(none))), Some(Static(None)), None],
        [Some(Opaque(Some(none))), Some(Opaque(None)), None],
        [Some(Some(Static(none))), Some(None), None],
        [Static(Some(none)), Static(None)],
        [Opaque(Some(none)), Opaque(None)],
        Some(Static(unit)),
        Some(Opaque(unit)),
        Untagged::Field { field: Some(Static(unit)) },
        Untagged::Field { field: Some(Opaque(unit)) },
    };
    assert_snapshot!(text, @"
    true  Some(none)
    true  Untagged::Field { field: Some(unit) }
    true  Some(Static(none))
    true  Some(Opaque(none))
    true  [Some(Static(Some(none))), Some(Static(None)), None]
    true  [Some(Opaque(Some(none))), Some(Opaque(None)), None]
    true  [Some(Some(Static(none))), Some(None), None]
    true  [Static(Some(none)), Static(None)]
    true  [Opaque(Some(none)), Opaque(None)]
    true  Some(Static(unit))
    true  Some(Opaque(unit))
    true  Untagged::Field { field: Some(Static(unit)) }
    true  Untagged::Field { field: Some(Opaque(unit)) }
    ");
}

#[test]
fn what_an_opaque_none_is_as_a_leaf() {
    // Opaque or not, it comes back; and it is not a scalar `None` unless `none_is_leaf`.
    let leaves =
        treedef::flatten(&(Opaque(None::<u8>), Opaque(()), Opaque(1), Opaque([1]))).unwrap().0;
    let kinds: Vec<_> = leaves.iter().map(|leaf| leaf.kind().name()).collect();
    assert_eq!(kinds, ["none", "opaque", "i32", "opaque"]);
}

/// How an absent field is read depends on how its mark is written.
#[test]
fn absent_optional_fields() {
    macro_rules! settings {
        ($($module:ident: [$($mark:tt)*] $type:ty;)*) => {$(
            mod $module {
                #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
                pub(super) struct Settings {
                    pub(super) rate: u8,
                    #[serde($($mark)*)]
                    pub(super) name: $type,
                }
            }
        )*};
    }
    settings! {
        wrapper: [] treedef::Static<Option<u8>>;
        serialize_with: [serialize_with = "treedef::as_static"] Option<u8>;
        with: [with = "treedef::as_static"] Option<u8>;
        with_default: [default, skip_serializing_if = "Option::is_none", with = "treedef::as_opaque"] Option<u8>;
    }

    let absent = r#"{"rate":1}"#;
    assert_eq!(
        serde_json::from_str::<wrapper::Settings>(absent).unwrap(),
        wrapper::Settings { rate: 1, name: Static(None) }
    );
    assert_eq!(
        serde_json::from_str::<serialize_with::Settings>(absent).unwrap(),
        serialize_with::Settings { rate: 1, name: None }
    );
    assert_snapshot!(serde_json::from_str::<with::Settings>(absent).unwrap_err(), @"missing field `name` at line 1 column 10");
    let skipped = with_default::Settings { rate: 1, name: None };
    assert_eq!(serde_json::to_string(&skipped).unwrap(), absent);
    assert_eq!(serde_json::from_str::<with_default::Settings>(absent).unwrap(), skipped);

    // The same when a value is rebuilt from a treedef that has no such field.
    let treedef: TreeDef = "Settings { rate: * }".parse().unwrap();
    let rebuilt: serialize_with::Settings = unflatten(&treedef, [1u8]).unwrap();
    assert_eq!(rebuilt.name, None);
    assert_snapshot!(unflatten::<with::Settings>(&treedef, [1u8]).unwrap_err(), @"missing field `name`; here is `rate` at the root (new? `#[serde(default)]`)");

    let default = Flattener::new();
    assert_snapshot!(exact(&default, with::Settings { rate: 1, name: None }), @"Settings { rate: *, name: static None }");
    assert_snapshot!(exact(&default, skipped), @"Settings { rate: * }");
}

/// A mark shows itself only to our own serializer, and a trait object of erased-serde stands before every serializer with
/// one of its own: there, statics and opaque leaves degrade to the leaves that they hold.
#[test]
fn behind_erased_serde_marks_are_leaves() {
    #[derive(Serialize)]
    struct Layer {
        #[serde(serialize_with = "treedef::as_static")]
        activation: &'static str,
        rate: Static<f64>,
        #[serde(with = "treedef::as_opaque")]
        w: [f64; 2],
    }

    let layer = Layer { activation: "relu", rate: Static(0.5), w: [1.0, 2.0] };
    let erased: &dyn erased_serde::Serialize = &layer;
    assert_snapshot!(structure(&layer).unwrap(), @r#"Layer { activation: static "relu", rate: static 0.5, w: * }"#);
    assert_snapshot!(structure(erased).unwrap(), @"Layer { activation: *, rate: *, w: (*, *) }");
    assert_eq!(
        treedef::flatten(erased).unwrap().0,
        ["relu".into(), 0.5.into(), 1.0.into(), 2.0.into()]
    );

    // Nothing is refused there, and nothing below a mark is kept from its own mark.
    let inside: (Box<dyn erased_serde::Serialize>, Static<u8>) = (Box::new(Static(1u8)), Static(2));
    assert_snapshot!(structure(&inside).unwrap(), @"(*, static 2u8)");
    let whole = Static(inside);
    assert_snapshot!(structure(&whole).unwrap(), @"static (1u8, 2u8)");
}

/// serde's derive infers no bound for a type parameter whose field has a function of its own; a wrapper needs none.
#[test]
fn an_attribute_on_a_type_parameter_needs_a_bound() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Attribute<T> {
        #[serde(serialize_with = "treedef::as_static", bound(serialize = "T: Serialize"))]
        config: T,
        w: f64,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Wrapper<T> {
        config: Static<T>,
        w: f64,
    }

    let default = Flattener::new();
    let config = || vec![1u8, 2];
    assert_snapshot!(exact(&default, Attribute { config: config(), w: 1.0 }), @"Attribute { config: static [1u8, 2u8], w: * }");
    assert_snapshot!(exact(&default, Wrapper { config: Static(config()), w: 1.0 }), @"Wrapper { config: static [1u8, 2u8], w: * }");
}
