//! Leaves that were carried over are never reported as filled or dropped: random types, random changes of
//! them, and an oracle that knows the fate of each leaf.
//!
//! Each field of the random type has a number, which no change takes from it. For example, the type
//! `{ a: u16, b: f32 }`, whose fields are 1 and 2:
//!
//! 1. The changes `Rename(b)`, `Drop(a)` and `Add` make it `{ m: f32, o: i64 }`, with `b` as an
//!    alias of `m`. Its fields are 2 and a new number, say 9.
//! 2. A value of the old type is migrated to the new one.
//! 3. The oracle lists the leaves of both sides by the numbers that lead to them: 1 and 2
//!    before, 2 and 9 after. So leaf 1 has to be `dropped`, 2 to be `renamed` from `.b` to `.m` and neither
//!    dropped nor filled, and 9 to be `filled`.
//!
//! Elements of a vector are numbered down from `usize::MAX`, because a field may move but not out of
//! a vector.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use proptest::sample::Index;
use treedef::{Key, Migration, Path, Tree};
use treedef_testing::cases::config;
use treedef_testing::found::resolved;

use super::schema::{Field, Id, Kind, Root, Schema, Val, Version};

/// A change of a type. The index is the field or struct.
#[derive(Clone, Debug)]
enum Change {
    /// An alias, and perhaps a default.
    Rename(Index, bool),
    Retype(Index, Kind),
    Reorder(Index),
    Wrap(Index),
    /// The fields from an index on are now in a struct that is flattened, or no more.
    Flatten(Index, Index),
    Drop(Index),
    /// A new field with a default. It may have the number of a leaf.
    Add(Index, Kind, u32),
    /// A `#[serde(from)]` that puts a field into another struct.
    Move(Index, Index),
}

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![
        Kind::U16,
        Kind::I64,
        Kind::F32,
        Kind::F64,
        Kind::Text,
        Kind::Checked,
    ])
}

fn schema() -> impl Strategy<Value = Schema> {
    let leaf = kind().prop_map(Schema::Leaf);
    let any = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            1 => inner.clone().prop_map(|inner| Schema::Some(Box::new(bare(inner)))),
            2 => inner.clone().prop_map(|inner| Schema::Seq(Box::new(inner))),
            4 => structure(inner),
        ]
    });
    structure(any)
}

fn structure(inner: impl Strategy<Value = Schema>) -> impl Strategy<Value = Schema> {
    (prop::collection::vec(inner, 1..5), prop::option::weighted(0.2, 0usize..4)).prop_map(
        |(schemas, split)| {
            let field = |(schema, name)| Field { id: 0, name, alias: None, default: None, schema };
            let fields: Vec<Field> =
                schemas.into_iter().zip(["a", "b", "c", "d"]).map(field).collect();
            let split = split.map(|split| split.min(fields.len()));
            Schema::Struct { fields, split }
        },
    )
}

fn bare(schema: Schema) -> Schema {
    match schema {
        Schema::Some(inner) => bare(*inner),
        schema => schema,
    }
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        3 => (at(), any::<bool>()).prop_map(|(at, default)| Change::Rename(at, default)),
        2 => (at(), kind()).prop_map(|(at, kind)| Change::Retype(at, kind)),
        1 => at().prop_map(Change::Reorder),
        1 => at().prop_map(Change::Wrap),
        1 => (at(), at()).prop_map(|(at, split)| Change::Flatten(at, split)),
        2 => at().prop_map(Change::Drop),
        2 => (at(), kind(), 1u32..40).prop_map(|(at, kind, number)| Change::Add(at, kind, number)),
        2 => (at(), at()).prop_map(|(at, to)| Change::Move(at, to)),
    ]
}

/// Gives each field an id of its own.
fn number(schema: &mut Schema, next: &mut Id) {
    match schema {
        Schema::Leaf(_) => {}
        Schema::Some(inner) | Schema::Seq(inner) => number(inner, next),
        Schema::Struct { fields, .. } => fields.iter_mut().for_each(|field| {
            *next += 1;
            field.id = *next;
            number(&mut field.schema, next);
        }),
    }
}

/// Is called with the fields of a struct, its split, and whether it is outside of all vectors.
type OnStruct<'a> = dyn FnMut(&mut Vec<Field>, &mut Option<usize>, bool) + 'a;

/// Calls a function with each struct, and whether it is outside of all vectors.
fn each_struct(schema: &mut Schema, outside: bool, found: &mut OnStruct<'_>) {
    match schema {
        Schema::Leaf(_) => {}
        Schema::Some(inner) => each_struct(inner, outside, found),
        Schema::Seq(inner) => each_struct(inner, false, found),
        Schema::Struct { fields, split } => {
            found(fields, split, outside);
            fields.iter_mut().for_each(|field| each_struct(&mut field.schema, outside, found));
        }
    }
}

/// Changes the struct of an index among those that may be meant.
fn at_struct(
    schema: &mut Schema,
    at: &Index,
    outside: bool,
    change: &mut dyn FnMut(&mut Vec<Field>, &mut Option<usize>),
) {
    let mut count = 0;
    each_struct(schema, true, &mut |_, _, out| count += usize::from(out || !outside));
    let meant = at.index(count);
    let mut index = 0;
    each_struct(schema, true, &mut |fields, split, out| {
        if !out && outside {
            return;
        }
        if index == meant {
            change(fields, split);
        }
        index += 1;
    });
}

fn at_field(schema: &mut Schema, at: &Index, change: &mut dyn FnMut(&mut Field)) {
    at_struct(schema, at, false, &mut |fields, _| {
        if !fields.is_empty() {
            let index = at.index(fields.len());
            change(&mut fields[index]);
        }
    });
}

fn remove(fields: &mut Vec<Field>, split: &mut Option<usize>, index: usize) -> Field {
    if let Some(split) = split.as_mut().filter(|split| **split > index) {
        *split -= 1;
    }
    fields.remove(index)
}

const FRESH: [&str; 12] = ["m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x"];

/// The type after the changes.
fn changed(old: &Schema, changes: &[Change]) -> Version {
    let mut version = Version { read: old.clone(), made: old.clone() };
    let mut moved: HashSet<Id> = HashSet::new();
    for (change, name) in changes.iter().zip(FRESH) {
        // Both have the same structs until something moves.
        let is_same = moved.is_empty();
        let Version { read, made } = &mut version;
        let mut both = |change: &mut dyn FnMut(&mut Schema)| {
            if is_same {
                change(read);
                *made = read.clone();
            }
        };
        match change {
            Change::Rename(at, default) => both(&mut |schema| {
                at_field(schema, at, &mut |field| {
                    if field.default.is_some() || field.alias.is_some() {
                        return;
                    }
                    field.alias = Some(std::mem::replace(&mut field.name, name));
                    if *default {
                        field.default = Some(field.schema.value(&mut 500));
                    }
                });
            }),
            Change::Retype(at, kind) => both(&mut |schema| {
                at_field(schema, at, &mut |field| {
                    if field.default.is_none() {
                        retype(&mut field.schema, *kind);
                    }
                });
            }),
            Change::Reorder(at) => both(&mut |schema| {
                at_struct(schema, at, false, &mut |fields, _| fields.reverse());
            }),
            Change::Wrap(at) => both(&mut |schema| {
                at_field(schema, at, &mut |field| {
                    let wraps = !matches!(field.schema, Schema::Some(_)) && field.default.is_none();
                    if wraps {
                        field.schema = Schema::Some(Box::new(field.schema.clone()));
                    }
                });
            }),
            Change::Flatten(at, to) => both(&mut |schema| {
                at_struct(schema, at, false, &mut |fields, split| {
                    *split = match split {
                        None => Some(to.index(fields.len() + 1)),
                        Some(_) => None,
                    };
                });
            }),
            Change::Drop(at) => both(&mut |schema| {
                at_struct(schema, at, false, &mut |fields, split| {
                    if fields.len() > 1 {
                        remove(fields, split, at.index(fields.len()));
                    }
                });
            }),
            Change::Add(at, kind, number) => both(&mut |schema| {
                at_struct(schema, at, false, &mut |fields, _| {
                    // Checked leaves cannot be changed. If one moves, only its value distinguishes it from
                    // a default.
                    let checked = if *kind == Kind::Checked { 600 } else { 0 };
                    let default = Some(Val::Number(*kind, f64::from(checked + *number)));
                    let (id, schema) =
                        (1000 + *number as usize + fields.len(), Schema::Leaf(*kind));
                    fields.push(Field {
                        id: id * 100 + name.as_bytes()[0] as usize,
                        name,
                        alias: None,
                        default,
                        schema,
                    });
                });
            }),
            Change::Move(at, to) => {
                let mut taken = None;
                at_struct(made, at, true, &mut |fields, split| {
                    if fields.len() > 1 {
                        taken = Some(remove(fields, split, at.index(fields.len())));
                    }
                });
                let Some(mut field) = taken else { continue };
                moved.insert(field.id);
                field.name = name;
                at_struct(made, to, true, &mut |fields, _| fields.push(field.clone()));
            }
        }
    }
    // The struct that is filled by default has the fields of the last version.
    for schema in [&mut version.read, &mut version.made] {
        each_struct(schema, true, &mut |fields, _, _| {
            for field in
                fields.iter_mut().filter(|field| field.default.is_some() && field.alias.is_some())
            {
                field.default = Some(field.schema.value(&mut 500));
            }
        });
    }
    version
}

fn retype(schema: &mut Schema, kind: Kind) {
    match schema {
        Schema::Leaf(Kind::Text | Kind::Checked) => {}
        Schema::Leaf(old) if !matches!(kind, Kind::Text | Kind::Checked) => {
            let is_float = |kind| matches!(kind, Kind::F32 | Kind::F64);
            if is_float(kind) || !is_float(*old) {
                *old = kind;
            }
        }
        Schema::Some(inner) | Schema::Seq(inner) => retype(inner, kind),
        _ => {}
    }
}

/// The identity of a leaf, with any path: the fields and elements that lead to it inside of vectors.
type Mark = Vec<Id>;

/// The leaves of a value: their marks, paths and kinds.
fn leaves(
    schema: &Schema,
    value: &Val,
    path: &Path,
    mark: &Mark,
    out: &mut Vec<(Mark, Path, Kind)>,
) {
    match (schema, value) {
        (Schema::Leaf(kind), _) => out.push((mark.clone(), path.clone(), *kind)),
        (Schema::Some(schema), Val::Some(value)) => {
            leaves(schema, value, &path.child(Key::Some), mark, out);
        }
        (Schema::Seq(schema), Val::Seq(elements)) => {
            for (index, element) in elements.iter().enumerate() {
                let mark = mark.iter().copied().chain([usize::MAX - index]).collect();
                leaves(schema, element, &path.child(Key::Index(index)), &mark, out);
            }
        }
        (Schema::Struct { fields, split }, Val::Struct(values)) => {
            for field in fields {
                let key = match split {
                    None => Key::Field(field.name.into()),
                    Some(_) => Key::Entry(treedef::Leaf::from(field.name).into()),
                };
                // A field may move, but not out of a vector.
                let elements = mark.iter().copied().filter(|id| *id > usize::MAX / 2);
                let outer: Vec<Id> = if mark.iter().any(|id| *id > usize::MAX / 2) {
                    mark.clone()
                } else {
                    elements.collect()
                };
                let mark = outer.into_iter().chain([field.id]).collect();
                leaves(&field.schema, &values[&field.id], &path.child(key), &mark, out);
            }
        }
        (_, Val::None) => {}
        _ => unreachable!("{value:?} is no {schema:?}"),
    }
}

/// The names and indices of a path: a `?` is not one, and an entry is a field.
fn loose(path: &Path) -> Vec<String> {
    let keys = path.keys().iter().filter(|key| **key != Key::Some);
    let name = |key: &Key| match key {
        Key::Field(name) => name.to_string(),
        Key::Entry(value) => value.as_str().unwrap_or_default().to_owned(),
        key => key.to_string(),
    };
    keys.map(name).collect()
}

fn covers(paths: &[Path], leaf: &Path) -> bool {
    paths.iter().any(|path| loose(leaf).starts_with(&loose(path)))
}

/// The new path of a leaf after a rename.
fn follow((from, to): &(Path, Path), leaf: &Path) -> Option<Vec<String>> {
    let below = loose(leaf).strip_prefix(&*loose(from))?.to_vec();
    Some(loose(to).into_iter().chain(below).collect())
}

fn check(old: &Schema, changes: &[Change]) -> Result<(), TestCaseError> {
    let version = changed(old, changes);
    let value = old.value(&mut 0);
    let tree = Tree::of(&Root(old.clone(), value.clone())).unwrap();
    version.enter();
    let (Root(_, new), migration) = tree.clone().migrate::<Root>().unwrap();
    let made = Tree::of(&Root(version.made.clone(), new.clone())).unwrap();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    leaves(old, &value, &Path::root(), &Vec::new(), &mut before);
    leaves(&version.made, &new, &Path::root(), &Vec::new(), &mut after);
    let said = format!("{migration:#?}\n{tree}\n{made}");
    let Migration { filled, dropped, renamed, changed, .. } = &migration;

    let there: HashMap<&Mark, (&Path, Kind)> =
        after.iter().map(|(mark, path, kind)| (mark, (path, *kind))).collect();
    let has_checked = before.iter().any(|(.., kind)| *kind == Kind::Checked);
    let mut explains = vec![false; renamed.len()];
    for (mark, path, kind) in &before {
        let Some((now, new)) = there.get(mark) else {
            prop_assert!(covers(dropped, path), "`{path}` is dropped: {said}");
            continue;
        };
        let is_text = matches!(kind, Kind::Text | Kind::Checked);
        if has_checked && is_text && covers(dropped, path) && covers(filled, now) {
            continue; // without another text that the type takes, it cannot be followed
        }
        prop_assert!(!covers(dropped, path), "`{path}` is carried over to `{now}`: {said}");
        prop_assert!(!covers(filled, now), "`{now}` comes from `{path}`: {said}");
        for ((from, to), explains) in renamed.iter().zip(&mut explains) {
            let above = |above: &Path, leaf: &Path| loose(leaf).starts_with(&loose(above));
            *explains |= above(from, path) && above(to, now);
        }
        let is_renamed = renamed.iter().any(|way| follow(way, path) == Some(loose(now)));
        let known = loose(path) == loose(now) || is_renamed;
        prop_assert!(known, "`{path}` is now `{now}`: {said}");
        let places: Vec<Path> = changed.iter().map(|change| change.path.clone()).collect();
        let retyped = covers(&places, now) || covers(&places, path);
        prop_assert!(kind == new || retyped, "`{path}` has another kind: {said}");
        let untouched = places.iter().all(|place| loose(place) != loose(now));
        prop_assert!(kind != new || untouched, "`{now}` has not changed: {said}");
    }
    prop_assert!(!explains.contains(&false), "a rename that is none: {said}");
    let known: HashSet<&Mark> = before.iter().map(|(mark, ..)| mark).collect();
    for (mark, path, _) in &after {
        prop_assert!(known.contains(mark) || covers(filled, path), "`{path}` is filled: {said}");
    }
    for (paths, tree) in [(dropped, &tree), (filled, &made)] {
        prop_assert_eq!(paths.iter().collect::<HashSet<_>>().len(), paths.len(), "{}", said);
        for path in paths {
            prop_assert_eq!(&path.to_string().parse::<Path>().unwrap(), path);
            prop_assert_eq!(&resolved(tree.treedef(), path).unwrap(), path, "{}", said);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn what_was_carried_over_is_never_called_filled_or_dropped(
        mut old in schema(),
        changes in prop::collection::vec(change(), 0..8),
    ) {
        number(&mut old, &mut 0);
        check(&old, &changes)?;
    }
}
