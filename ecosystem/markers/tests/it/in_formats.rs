//! Other formats see no marks: the same bytes, the same errors, the same values.

use std::collections::BTreeMap;

use insta::assert_snapshot;

use crate::formats::{FORMATS, Format};
use crate::payload::{Specimen, specimens};
use crate::shapes::{Case, WAYS, plain};

/// What a format does with a value.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// The bytes, and what reading them says: whether the value came back.
    Written(Vec<u8>, Result<bool, String>),
    Refused(String),
}

fn outcome(case: &Case, format: Format) -> Outcome {
    match case.value.encode(format) {
        Ok(bytes) => {
            let read = case.value.decodes(format, &bytes);
            Outcome::Written(bytes, read)
        }
        Err(error) => Outcome::Refused(error),
    }
}

/// Holds marked values against the same without marks.
#[track_caller]
fn looks_the_same(specimen: &Specimen, way: &str, plain: &[Case], marked: &[Case]) {
    assert!(marked.len() > 30 && marked.len() <= plain.len());
    for (plain, marked) in plain.iter().zip(marked) {
        assert_eq!(plain.name(), marked.name());
        for &format in FORMATS {
            let (expected, found) = (outcome(plain, format), outcome(marked, format));
            if misses_what_is_absent(way, &expected, &found) {
                assert_eq!((format, specimen.name), (Format::Toml, "none"), "{}", plain.name());
                continue;
            }
            assert_eq!(
                found,
                expected,
                "{format:?} of {} in {}, {way}",
                specimen.name,
                plain.name()
            );
        }
    }
}

/// With `with`, serde takes an absent `Option` for an error. That is no news to an untagged enum, which says nothing else.
fn misses_what_is_absent(way: &str, expected: &Outcome, found: &Outcome) -> bool {
    match (expected, found) {
        (Outcome::Written(expected, Ok(true)), Outcome::Written(found, Err(error))) => {
            let says = ["missing field `held`", "did not match any variant"];
            way == "with" && expected == found && says.iter().any(|text| error.contains(text))
        }
        _ => false,
    }
}

#[test]
fn marks_change_nothing() {
    for specimen in specimens() {
        specimen.payload.await_alike();
        let plain = plain(&specimen.payload);
        for way in WAYS {
            looks_the_same(&specimen, way.name, &plain, &(way.statics)(&specimen.payload));
            looks_the_same(&specimen, way.name, &plain, &(way.leaves)(&specimen.payload));
        }
    }
}

/// So that it is known what the law above compares: everything else is written, and comes back.
#[test]
fn what_formats_cannot_do_without_marks_either() {
    let mut failures: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let specimens = specimens();
    for specimen in &specimens {
        specimen.payload.await_alike();
        for case in plain(&specimen.payload) {
            for &format in FORMATS {
                let what = match outcome(&case, format) {
                    Outcome::Written(_, Ok(true)) => continue,
                    Outcome::Written(_, Ok(false)) => "comes back as another value",
                    Outcome::Written(_, Err(_)) => "is written, but not read",
                    Outcome::Refused(_) => "is refused",
                };
                failures
                    .entry((format, what, case.shape, case.context))
                    .or_default()
                    .push(specimen.name);
            }
        }
    }
    // What fails with the same payloads is one line.
    let everything: Vec<_> = specimens.iter().map(|specimen| specimen.name).collect();
    let mut contexts: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for ((format, what, shape, context), payloads) in failures {
        contexts.entry((format, what, payloads, shape)).or_default().push(context);
    }
    let mut shapes: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for ((format, what, payloads, shape), contexts) in contexts {
        shapes.entry((format, what, payloads, contexts)).or_default().push(shape);
    }
    let mut text = String::new();
    let mut title = None;
    for ((format, what, payloads, contexts), shapes) in shapes {
        if title.replace((format, what)) != Some((format, what)) {
            text += &format!("{format:?}: {what}\n");
        }
        let payloads =
            if payloads == everything { "any payload".to_owned() } else { payloads.join(", ") };
        let contexts = match *contexts {
            [""] => String::new(),
            ["", ..] if contexts.len() == 8 => " in any context".to_owned(),
            ["", ref contexts @ ..] => format!(" alone; {}", contexts.join(", ")),
            ref contexts => format!(" in: {}", contexts.join(", ")),
        };
        text += &format!("  {payloads} as {}{contexts}\n", shapes.join(", "));
    }
    assert_snapshot!(text, @"
    Json: comes back as another value
      none, unit as option
      none, unit as wrapped in any context
    Toml: comes back as another value
      none as map
    Toml: is refused
      none, unit as adjacent tuple
      none, unit as tuple variant, wrapped in any context
      none, unit as positions alone; flattened, untagged
      none, unit as newtype variant in: adjacent tuple
      any payload as list, tuple struct, untagged tuple
      text, float, floats, unit variant, none, some, unit as newtype struct, option, untagged newtype
      unit as adjacent newtype, adjacent struct, generic, internal struct, map, untagged struct
      unit as struct, struct variant in any context
      unit as newtype variant alone; adjacent newtype, adjacent struct, flattened, internal newtype, internal struct, untagged
    Toml: is written, but not read
      none as newtype variant alone; adjacent newtype, adjacent struct, flattened, internal newtype, internal struct, untagged
    Ron: is written, but not read
      any payload as positions in: flattened, untagged
    Cbor: comes back as another value
      none as wrapped in: flattened, internal newtype, internal struct, untagged
      none, unit as option
      none, unit as wrapped alone; adjacent newtype, adjacent struct, adjacent tuple
    Cbor: is written, but not read
      unit as internal struct, untagged newtype, untagged struct, untagged tuple
      unit as newtype variant, struct, struct variant, tuple variant, wrapped in: flattened, internal newtype, internal struct, untagged
      unit as positions in: flattened, untagged
    MessagePack: comes back as another value
      none, unit as option
      none, unit as wrapped alone; adjacent newtype, adjacent tuple, flattened, internal newtype, internal struct
    MessagePack: is written, but not read
      any payload as adjacent struct, untagged struct
      any payload as newtype variant, struct, struct variant, tuple variant, wrapped in: adjacent struct, untagged
      any payload as positions in: untagged
    NamedMessagePack: comes back as another value
      none, unit as option
      none, unit as wrapped in any context
    Bincode: is refused
      any payload as newtype variant, positions, struct, struct variant, tuple variant, wrapped in: flattened
    Bincode: is written, but not read
      any payload as adjacent newtype, adjacent struct, adjacent tuple, internal struct, untagged newtype, untagged struct, untagged tuple
      any payload as newtype variant, struct, struct variant, tuple variant, wrapped in: adjacent newtype, adjacent struct, adjacent tuple, internal newtype, internal struct, untagged
      any payload as positions in: untagged
    Postcard: is refused
      any payload as newtype variant, positions, struct, struct variant, tuple variant, wrapped in: flattened
    Postcard: is written, but not read
      any payload as adjacent newtype, adjacent struct, adjacent tuple, internal struct, untagged newtype, untagged struct, untagged tuple
      any payload as newtype variant, struct, struct variant, tuple variant, wrapped in: adjacent newtype, adjacent struct, adjacent tuple, internal newtype, internal struct, untagged
      any payload as positions in: untagged
    ");
}
