//! A law: `diff` of two documents in any formats names exactly the numbers whose values differ.

use std::fs;

use fastrand::Rng;

use crate::{Folder, treedef};

/// The requirements of a number.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Held {
    By64Bits,
    By128Bits,
    ByText,
}

/// A number, the same number in other digits, and a near one.
struct Number {
    held: Held,
    texts: [String; 3],
}

/// The formats, and the numbers that each can store.
const FORMATS: [(&str, Held); 7] = [
    ("json", Held::ByText),
    ("yaml", Held::ByText),
    ("ron", Held::ByText),
    ("tree", Held::ByText),
    ("cbor", Held::By128Bits),
    ("toml", Held::By128Bits),
    ("msgpack", Held::By64Bits),
];

fn number(rng: &mut Rng) -> Number {
    let sign = if rng.bool() { "-" } else { "" };
    match rng.u8(..4) {
        0 => {
            let bits = rng.u64(..) >> rng.u8(1..62) | 2;
            let texts = [bits, bits, bits + 1].map(|it| format!("{sign}{it}"));
            Number { held: Held::By64Bits, texts }
        }
        1 => {
            let bits = (rng.u128(..) | 1 << 127) >> rng.u8(1..63);
            let texts = [bits, bits, bits - 1].map(|it| format!("{sign}{it}"));
            Number { held: Held::By128Bits, texts }
        }
        2 => {
            let float = f64::from_bits(rng.u64(1 << 52..0x7fe << 52));
            let texts = [
                format!("{sign}{float:?}"),
                format!("{sign}{float:.16e}"),
                format!("{sign}{:e}", float.next_up()),
            ];
            Number { held: Held::By64Bits, texts }
        }
        _ => {
            let digits: String = (0..rng.usize(18..60)).map(|_| rng.char('1'..='9')).collect();
            let exponent = rng.i32(-500..500);
            let texts = [
                format!("{sign}0.{digits}4e{exponent}"),
                format!("{sign}0.00{digits}400E+{}", exponent + 2).replace("+-", "-"),
                format!("{sign}0.{digits}5e{exponent}"),
            ];
            Number { held: Held::ByText, texts }
        }
    }
}

fn document<'n>(numbers: impl Iterator<Item = (usize, &'n str)>) -> String {
    let entries = numbers.map(|(at, text)| format!("\"n{at}\":{text}"));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
}

fn printed(arguments: &[&str]) -> String {
    String::from_utf8(treedef(arguments).output().unwrap().stdout).unwrap()
}

#[test]
fn a_diff_names_the_numbers_that_differ_in_any_formats() {
    let folder = Folder::new("random_numbers");
    let rng = &mut Rng::with_seed(7);
    let numbers: Vec<(Number, usize)> = (0..100).map(|_| (number(rng), rng.usize(..3))).collect();
    for (format, holds) in FORMATS {
        let held = |is_new: bool| {
            let held = numbers.iter().enumerate().filter(|(_, (it, _))| it.held <= holds);
            document(held.map(|(at, (number, choice))| {
                (at, &*number.texts[if is_new { *choice } else { 0 }])
            }))
        };
        for (side, is_new) in [("old", false), ("new", true)] {
            let json = folder.path("made.json");
            fs::write(&json, held(is_new)).unwrap();
            let made = folder.path(&format!("{side}.{format}"));
            let output = treedef(&["convert", &json, "-o", &made]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
        }
    }
    for (old, holds) in FORMATS {
        for (new, also) in FORMATS {
            let [old, new] = [format!("old.{old}"), format!("new.{new}")];
            let lines = printed(&["diff", &folder.path(&old), &folder.path(&new)]);
            let both = if holds < also { holds } else { also };
            let path = |line: &str| line.split([' ', ':']).nth(1).map(str::to_owned);
            let mut found: Vec<_> = lines.lines().filter_map(path).collect();
            // Numbers that one of them cannot store are left out.
            let is_held =
                |path: &String| numbers[path[2..].parse::<usize>().unwrap()].0.held <= both;
            found.retain(is_held);
            found.sort();
            let differ = numbers.iter().enumerate();
            let differ = differ.filter(|(_, (it, choice))| it.held <= both && *choice == 2);
            let mut differ: Vec<_> = differ.map(|(at, _)| format!(".n{at}")).collect();
            differ.sort();
            assert_eq!(found, differ, "{old} {new}");
        }
    }
}
