//! Values of the whole data model: there and back through leaves, texts and files.

use treedef::{Flattener, MapOrder, Tree, TreeDef, unflatten};

use treedef_testing::data::{Data, NAMES, Read};
use treedef_testing::hostile::Tape;

use super::choice;
use super::load::comes_back_from_bytes;

pub fn run(bytes: &[u8]) {
    let (choice, tape) = choice(bytes, 64);
    let mut value = draw(&mut Tape::of(tape), 4, false);
    if choice & 32 != 0 {
        number(&mut value, &mut 0);
    }
    let order = if choice & 1 == 0 { MapOrder::Canonical } else { MapOrder::Insertion };
    let flattener =
        Flattener::new().map_order(order).none_is_leaf(choice & 2 != 0).compact(choice & 4 != 0);
    let has_rules = choice & 8 != 0;
    let flattener = if has_rules {
        let flattener = flattener.mark_static("A").unwrap().mark_opaque("Point").unwrap();
        flattener.mark_static("x.`a b`").unwrap()
    } else {
        flattener
    };

    let (leaves, treedef) = flattener.flatten(&value).unwrap();
    // A rule puts maps into statics and leaves; of equal ones the first says the order.
    let check = |rebuilt: Read| {
        if has_rules {
            assert_eq!(flattener.flatten(&rebuilt).unwrap(), (leaves.clone(), treedef.clone()))
        } else {
            assert_eq!(rebuilt.0, value)
        }
    };
    if choice & 32 != 0
        && let Ok((numbers, treedef)) = flattener.flatten_as::<f64>(&value)
    {
        check(Read::like(&value, || unflatten(&treedef, &numbers[..])).unwrap());
    }
    if choice & 16 == 0 {
        check(Read::like(&value, || unflatten(&treedef, &leaves)).unwrap());
        structure_comes_back(&treedef);
    } else {
        let tree = Tree::new(treedef.clone(), leaves.clone()).unwrap();
        let bytes = tree.to_bytes().unwrap();
        let loaded = Tree::from_bytes(&bytes).unwrap();
        assert_eq!(loaded, tree);
        assert_eq!(loaded.to_bytes().unwrap(), bytes);
        check(Read::like(&value, || loaded.into_typed()).unwrap());
    }
}

fn structure_comes_back(treedef: &TreeDef) {
    let (text, pretty) = (treedef.to_string(), format!("{treedef:#}"));
    assert_eq!(&text.parse::<TreeDef>().unwrap(), treedef);
    if pretty != text {
        assert_eq!(&pretty.parse::<TreeDef>().unwrap(), treedef);
    }
    comes_back_from_bytes(treedef);
}

/// Like the strategies of `data`. Maps inside keys have one entry at most: of equal ones the first says the order.
fn draw(tape: &mut Tape, depth: usize, in_key: bool) -> Data {
    let kind = tape.below(if depth == 0 { 20 } else { 30 });
    let inside = |tape: &mut Tape| draw(tape, depth - 1, in_key);
    match kind {
        0 => Data::Unit,
        1 => Data::Bool(tape.one_in(2)),
        2 => Data::I8(i8::from_le_bytes(tape.array())),
        3 => Data::I16(i16::from_le_bytes(tape.array())),
        4 => Data::I32(i32::from_le_bytes(tape.array())),
        5 => Data::I64(i64::from_le_bytes(tape.array())),
        6 => Data::I128(i128::from_le_bytes(tape.array())),
        7 => Data::U8(u8::from_le_bytes(tape.array())),
        8 => Data::U16(u16::from_le_bytes(tape.array())),
        9 => Data::U32(u32::from_le_bytes(tape.array())),
        10 => Data::U64(u64::from_le_bytes(tape.array())),
        11 => Data::U128(u128::from_le_bytes(tape.array())),
        12 => Data::F32(u32::from_le_bytes(tape.array())),
        13 => Data::F64(u64::from_le_bytes(tape.array())),
        14 => Data::Char(char(tape)),
        15 => Data::Str((0..tape.below(6)).map(|_| char(tape)).collect()),
        16 => Data::Bytes((0..tape.below(6)).map(|_| u8::from_le_bytes(tape.array())).collect()),
        17 => Data::None,
        18 => Data::UnitStruct(name(tape)),
        19 => Data::UnitVariant(name(tape), name(tape)),
        20 => Data::Some(Box::new(inside(tape))),
        21 => Data::NewtypeStruct(name(tape), Box::new(inside(tape))),
        22 => Data::NewtypeVariant(name(tape), name(tape), Box::new(inside(tape))),
        23 => Data::Seq(children(tape, inside)),
        24 => Data::Tuple(children(tape, inside)),
        25 => Data::TupleStruct(name(tape), children(tape, inside)),
        26 => Data::TupleVariant(name(tape), name(tape), children(tape, inside)),
        27 => {
            let mut entries: Vec<(Data, Data)> = Vec::new();
            for _ in 0..tape.below(if in_key { 2 } else { 5 }) {
                let key = draw(tape, depth - 1, true);
                if !entries.iter().any(|(other, _)| *other == key) {
                    entries.push((key, inside(tape)));
                }
            }
            Data::Map(entries)
        }
        28 => Data::Struct(name(tape), fields(tape, inside)),
        _ => Data::StructVariant(name(tape), name(tape), fields(tape, inside)),
    }
}

/// Makes all leaves numbers, each its own.
fn number(value: &mut Data, next: &mut u32) {
    match value {
        Data::None | Data::Unit | Data::UnitStruct(_) | Data::UnitVariant(..) => {}
        Data::Some(inside)
        | Data::NewtypeStruct(_, inside)
        | Data::NewtypeVariant(_, _, inside) => number(inside, next),
        Data::Seq(children)
        | Data::Tuple(children)
        | Data::TupleStruct(_, children)
        | Data::TupleVariant(_, _, children) => {
            children.iter_mut().for_each(|child| number(child, next))
        }
        Data::Map(entries) => entries.iter_mut().for_each(|(_, child)| number(child, next)),
        Data::Struct(_, fields) | Data::StructVariant(_, _, fields) => {
            fields.iter_mut().for_each(|(_, child)| number(child, next))
        }
        scalar => {
            *scalar = Data::F64(f64::from(*next).to_bits());
            *next += 1;
        }
    }
}

fn name(tape: &mut Tape) -> &'static str {
    NAMES[tape.below(NAMES.len())]
}

fn char(tape: &mut Tape) -> char {
    match tape.below(4) {
        0 => ['a', '"', '\'', '\\', '\n', '\0'][tape.below(6)],
        1 => char::from(u8::from_le_bytes(tape.array())),
        _ => char::from_u32(u32::from_le_bytes(tape.array())).unwrap_or('x'),
    }
}

/// Children whose neighbours are often equal.
fn children(tape: &mut Tape, inside: impl Fn(&mut Tape) -> Data) -> Vec<Data> {
    let mut children = Vec::new();
    for _ in 0..tape.below(4) {
        let repeat = [1, 1, 1, 2, 5][tape.below(5)];
        let child = inside(tape);
        children.extend(std::iter::repeat_n(child, repeat));
    }
    children
}

fn fields(tape: &mut Tape, inside: impl Fn(&mut Tape) -> Data) -> Vec<(&'static str, Data)> {
    let mut fields: Vec<(&str, Data)> = Vec::new();
    for _ in 0..tape.below(5) {
        let name = name(tape);
        if !fields.iter().any(|(other, _)| *other == name) {
            fields.push((name, inside(tape)));
        }
    }
    fields
}
