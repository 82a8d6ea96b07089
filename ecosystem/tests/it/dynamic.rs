//! Values of any shape, as formats have them, and trait objects.

use serde::{Deserialize, Serialize};
use treedef::Flattener;

use crate::laws::{error_of_buffered, holds, holds_by_default, holds_flattened, holds_unbuffered};

#[test]
fn serde_json() {
    use serde_json::{Map, Number, json};

    let value = json!({
        "z": [null, true, 1, -1, u64::MAX, 1.5, "text", [], {}],
        "a": {"nested": {"deep": [[0.25]]}},
        "": 1e300,
    });
    holds_flattened(value.clone());
    holds_flattened(Map::from_iter([("a".to_owned(), json!(1.5)), ("b".to_owned(), json!(null))]));
    for scalar in [json!(null), json!(7), json!(0.5), json!("a"), json!([])] {
        holds(scalar);
    }
    holds(Number::from(-3));
    holds(Number::from_f64(2.5).unwrap());
    assert_eq!(treedef::flatten(&value["z"][5]).unwrap().0, [1.5.into()]);
}

#[test]
fn serde_json_raw_value() {
    use serde_json::value::RawValue;

    #[derive(Clone, Debug, Serialize, Deserialize)]
    #[serde(transparent)]
    struct Raw(Box<RawValue>);

    impl PartialEq for Raw {
        fn eq(&self, other: &Self) -> bool {
            self.0.get() == other.0.get()
        }
    }

    let raw = || Raw(RawValue::from_string(r#"{"kept":  [1.50, 0]}"#.to_owned()).unwrap());
    // To a buffer it is a struct of a magic name, which that forgets.
    holds_unbuffered(raw());
    insta::assert_snapshot!(error_of_buffered(raw()), @"data did not match any variant of untagged enum Untagged at the root");
    insta::assert_snapshot!(treedef::structure(&raw()).unwrap(), @"`$serde_json::private::RawValue` { `$serde_json::private::RawValue`: * }");
}

#[test]
fn toml() {
    use toml::{Table, Value};

    let table: Table = "
        title = 'a'
        when = 2024-02-29T12:30:45.5+02:00
        dates = [2024-02-29, 12:30:45, 2024-02-29T12:30:45]
        [owner]
        ratio = 0.5
        nan = nan
        numbers = [[1, 2], [-3]]
        [[rows]]
        x = 1.5
        [[rows]]
        x = inf
    "
    .parse()
    .unwrap();
    let without_nan: Table = {
        let mut table = table.clone();
        table["owner"].as_table_mut().unwrap().remove("nan");
        table
    };
    holds_flattened(without_nan.clone());
    holds_flattened(Value::Table(without_nan));
    holds_flattened(table["when"].as_datetime().copied().unwrap());
    holds(Value::Float(-0.0));
    holds(crate::laws::ByDebug(table));
}

#[test]
fn ron() {
    use ron::Value;

    let text = r#"{
        "option": Some(Some(1)),
        "none": None,
        "unit": (),
        'c': ["text", 'x', true, 0.5, -1, 300, 70000],
        (1, 2): {1: 2.5, None: b"bytes"},
    }"#;
    let value: Value = ron::from_str(text).unwrap();
    // With `none_is_leaf` a `Some` is its inside to whoever takes anything. Below `flatten` keys have to be strings.
    let (leaves, treedef) = Flattener::new().none_is_leaf(true).flatten(&value).unwrap();
    let error = treedef::unflatten_strict::<Value>(&treedef, leaves).unwrap_err();
    insta::assert_snapshot!(error, @r#"expected `Some(*)`, found `*` at `["option"]`"#);
    holds_by_default(value);
    holds_flattened(ron::from_str::<Value>(r#"{"a": 1.5, "b": [()]}"#).unwrap());
}

#[test]
fn serde_value() {
    use serde_value::Value;

    let map = [
        (Value::String("a".to_owned()), Value::F64(0.5)),
        (Value::U8(1), Value::Seq(vec![Value::F32(1.5), Value::Unit, Value::Char('c')])),
        (Value::Option(None), Value::Option(Some(Box::new(Value::Bytes(vec![1, 2]))))),
    ];
    // With `none_is_leaf` a `Some` would be its inside.
    holds_by_default(Value::Map(map.into()));
    // A value of any kind asks for anything, to which a newtype answers with its inside.
    let newtype = Value::Newtype(Box::new(Value::U8(1)));
    let (leaves, treedef) = treedef::flatten(&newtype).unwrap();
    let error = treedef::unflatten_strict::<Value>(&treedef, &leaves).unwrap_err();
    insta::assert_snapshot!(error, @"expected ```(*)`, found `*` at the root");
    assert_eq!(treedef::unflatten::<Value>(&treedef, leaves).unwrap(), Value::U8(1));
}

#[test]
fn ciborium() {
    use ciborium::Value;
    use ciborium::value::Integer;

    let map = vec![
        (Value::Text("a".to_owned()), Value::Float(0.5)),
        (Value::Integer(Integer::from(-1)), Value::Array(vec![Value::Null, Value::Bool(true)])),
        (Value::Bytes(vec![1]), Value::Bytes(vec![])),
    ];
    holds(Value::Map(map));
    // A tag is an enum of its own to serde; a value of any kind asks for anything, and gets the variant as a map.
    let (leaves, treedef) = treedef::flatten(&Value::Tag(1, Box::new(Value::Float(0.5)))).unwrap();
    let error = treedef::unflatten_strict::<Value>(&treedef, &leaves).unwrap_err();
    insta::assert_snapshot!(error, @r#"expected ``@@TAG@@`::`@@TAGGED@@`(*, *)`, found `{"@@TAGGED@@": [*, *]}` at the root"#);
}

#[test]
fn rmpv() {
    use rmpv::Value;

    let map = vec![
        (Value::from("a"), Value::F64(0.5)),
        (Value::from(-1), Value::Array(vec![Value::Nil, Value::F32(1.5), Value::from(u64::MAX)])),
        (Value::Boolean(true), Value::Binary(vec![0, 255])),
    ];
    holds(Value::Map(map));
    let extension = Value::Ext(7, vec![1, 2]);
    let (leaves, treedef) = treedef::flatten(&extension).unwrap();
    insta::assert_snapshot!(treedef, @"_ExtStruct((*, *))");
    let error = treedef::unflatten_strict::<Value>(&treedef, &leaves).unwrap_err();
    insta::assert_snapshot!(error, @"expected `_ExtStruct((*, *))`, found `[*, *]` at the root");
}

#[typetag::serde(tag = "type")]
trait Layer: std::fmt::Debug {
    fn cloned(&self) -> Box<dyn Layer>;
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Linear {
    w: Vec<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Dropout {
    rate: f32,
    seed: u64,
}

#[typetag::serde]
impl Layer for Linear {
    fn cloned(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

#[typetag::serde]
impl Layer for Dropout {
    fn cloned(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Layer> {
    fn clone(&self) -> Self {
        self.cloned()
    }
}

#[test]
fn typetag() {
    use crate::laws::ByDebug;

    let layers: [Box<dyn Layer>; 2] =
        [Box::new(Linear { w: vec![1.0, 2.0] }), Box::new(Dropout { rate: 0.5, seed: u64::MAX })];
    insta::assert_snapshot!(treedef::structure(&layers).unwrap(), @r#"({"type": *, "w": [*, *]}, {"rate": *, "seed": *, "type": *})"#);
    for layer in layers {
        holds_flattened(ByDebug(layer));
    }
}

#[test]
fn serde_with() {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use serde_with::{DisplayFromStr, DurationMilliSeconds, Map, OneOrMany, serde_as};

    #[serde_as]
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Adapted {
        #[serde_as(as = "DisplayFromStr")]
        text: u128,
        #[serde_as(as = "Vec<(_, DisplayFromStr)>")]
        pairs: BTreeMap<u8, f64>,
        #[serde_as(as = "Map<_, _>")]
        map: Vec<(String, f64)>,
        #[serde_as(as = "OneOrMany<_>")]
        many: Vec<f32>,
        #[serde_as(as = "DurationMilliSeconds<u64>")]
        pause: Duration,
        #[serde(
            default,
            with = "serde_with::rust::double_option",
            skip_serializing_if = "Option::is_none"
        )]
        double: Option<Option<u8>>,
    }

    for (many, double) in [(vec![1.5], None), (vec![], Some(None)), (vec![1.0, 2.0], Some(Some(1)))]
    {
        holds_flattened(Adapted {
            text: u128::MAX,
            pairs: [(1, 0.5)].into(),
            map: vec![("z".to_owned(), 1.0), ("a".to_owned(), 2.0)],
            many,
            pause: Duration::from_millis(1500),
            double,
        });
    }
}
