//! Hostile structures: small to write down, huge to walk.

use treedef::{Key, NodeKind, Path, Pattern, TreeDef, Value};
use treedef_testing::build::node;

fn def(text: &str) -> TreeDef {
    text.parse().unwrap()
}

/// A structure and its name in messages.
pub(crate) struct Structure {
    pub(crate) name: String,
    pub(crate) treedef: TreeDef,
    /// Whether it has thousands of nodes or long names, so that it is not paired with everything.
    pub(crate) is_wide: bool,
}

/// Leaves in a tree whose leaves take memory.
pub(crate) const MANY: usize = 300;

const TEXTS: &[&str] = &[
    // The ordinary and the empty, for pairs with the others.
    "*",
    "None",
    "()",
    "[]",
    "{}",
    "(,)",
    "S {}",
    "[*, *]",
    "(*, *, ())",
    "[*; 5000]",
    "{\"a\": *, \"b\": *}",
    // Many leaves.
    "[*; 18446744073709551615]",
    "[*; 1099511627776]",
    "([*; 1000000000]; 1000)",
    "[[*; 4611686018427387904]; 2]",
    "[Some(*); 99999999999]",
    "[{\"a\": *}; 10000000000]",
    "#[none_is_leaf] [*; 1099511627776]",
    "#[insertion] [{\"b\": *, \"a\": *}; 10000000000]",
    "P { x: [*; 1099511627776], y: () }",
    "E::V([*; 1099511627776])",
    // Many children without leaves.
    "[(); 10000000000]",
    "[None; 1152921504606846976]",
    "[[]; 10000000000]",
    "[{}; 10000000000]",
    "[Unit; 18446744073709551615]",
    "[[(); 10000000000]; 2]",
    "[[[[]; 10000000000]; 10000000000]; 10000000000]",
    // One leaf or a few beside them.
    "{\"a\": [(); 10000000000], \"b\": *}",
    "([(); 10000000000], *)",
    "[[(); 10000000000], *, [(); 10000000000], *]",
    "[([(); 10000000000], *); 1000]",
    // Statics and keys.
    "[static [1u8; 1000]; 10000000000]",
    "static [(); 10000000000]",
    "(static [[[[]; 10000000000]; 10000000000]; 10000000000], *)",
    "{[[]; 10000000000]: *}",
    "[static [[]; 100000]; 10000000000]",
    "{[[]; 50000]: *, [[]; 50001]: [(); 10000000000]}",
];

/// All hostile structures.
pub(crate) fn structures() -> Vec<Structure> {
    let parsed = TEXTS.iter().filter_map(|text| Some(((*text).to_owned(), text.parse().ok()?)));
    let mut all: Vec<(String, TreeDef)> = parsed.collect();
    let deep = |open: &str, leaf: &str, close: &str, levels| {
        (open.repeat(levels) + leaf + &close.repeat(levels)).parse::<TreeDef>().unwrap()
    };
    let leaf = TreeDef::leaf;
    let mut add = |name: &str, treedef| all.push((name.to_owned(), treedef));
    add("100 nested sequences", deep("[", "*", "]", 100));
    add("100 nested Somes", deep("Some(", "*", ")", 100));
    add("60 nested pairs, 2^60 leaves", deep("[", "*", "; 2]", 60));
    add("100 nested pairs, no leaf", deep("[", "()", "; 2]", 100));
    add("100 nested pairs, a leaf", TreeDef::tuple([leaf(), deep("[", "()", "; 2]", 99)]).unwrap());
    add("struct of two equal structs, 10 levels", doubled(10, leaf()));
    add("struct of two equal structs, 11 levels, no leaf", doubled(11, def("()")));
    add("map of two equal maps, 10 levels", doubled_map(10));
    let wide = [
        ("300 leaves apart", apart(MANY)),
        ("300 units apart, a leaf", units_apart(MANY)),
        ("200 distinct structs", distinct_structs(200)),
        ("a struct of 300 fields", many_fields(300)),
        ("a map of 300 entries", many_entries(300)),
        ("names of 64 KB", long_names()),
        ("a key of 64 KB", TreeDef::map([(Value::of(&long()).unwrap(), leaf())]).unwrap()),
    ];
    let structure =
        |is_wide| move |(name, treedef): (String, TreeDef)| Structure { name, treedef, is_wide };
    let mut all: Vec<Structure> = all.into_iter().map(structure(false)).collect();
    all.extend(wide.map(|(name, treedef)| (name.to_owned(), treedef)).map(structure(true)));
    all
}

/// Two structures, whose names, keys and statics have the number of a round. In some rounds the second
/// is walked in more words than a thread keeps.
pub(crate) fn of_round(round: usize) -> Vec<Structure> {
    let text = format!(
        "S{round:06} {{ a: [*; 3], b: {{\"k{round:06}\": *, {round:06}u64: (*, Some(*))}}, \
         c: static \"s{round:06}\", d: E::V{round:06}(*), e: None }}"
    );
    let key = Value::of(&format!("m{round:06}")).unwrap();
    let map = TreeDef::map([(key, TreeDef::leaf())]).unwrap();
    let times = if round.is_multiple_of(10) { 300 } else { 1 };
    let apart = (0..times).flat_map(|_| [map.clone(), def("None")]);
    let structure =
        |name: &str, treedef| Structure { name: name.to_owned(), treedef, is_wide: false };
    vec![
        structure("struct", text.parse().unwrap()),
        structure("list", TreeDef::seq(apart).unwrap()),
    ]
}

/// Values whose texts have the number of a round.
pub(crate) fn values_of_round(round: usize) -> Vec<(String, Value)> {
    let texts = [format!("\"v{round:06}\""), format!("{{\"k{round:06}\": [1, 2.5, None]}}")];
    texts.map(|text| (text.clone(), text.parse().unwrap())).into()
}

/// The path of a leaf of the first structure.
pub(crate) fn path_of_round(round: usize) -> Path {
    format!(".b[\"k{round:06}\"]").parse().unwrap()
}

/// `D { a: D { a: …, b: … }, b: D { a: …, b: … } }`: one node per level, and each level doubles the
/// text. The limits refuse more than about 20 levels; these take a while to print.
fn doubled(levels: usize, inside: TreeDef) -> TreeDef {
    (0..levels).fold(inside, |inside, _| {
        TreeDef::named_struct("D", [("a", inside.clone()), ("b", inside.clone())]).unwrap_or(inside)
    })
}

fn doubled_map(levels: usize) -> TreeDef {
    let key = |name: &str| Value::of(name).unwrap();
    (0..levels).fold(TreeDef::leaf(), |inside, _| {
        TreeDef::map([(key("a"), inside.clone()), (key("b"), inside.clone())]).unwrap_or(inside)
    })
}

/// No two neighbours are equal, so that each is a node of its own.
fn apart(leaves: usize) -> TreeDef {
    let children = (0..2 * leaves).map(|index| match index % 2 {
        0 => TreeDef::leaf(),
        _ => def("()"),
    });
    TreeDef::seq(children).unwrap()
}

fn units_apart(units: usize) -> TreeDef {
    let units = (0..2 * units).map(|index| match index % 2 {
        0 => def("()"),
        _ => def("None"),
    });
    TreeDef::seq(units.chain([TreeDef::leaf()])).unwrap()
}

fn distinct_structs(count: usize) -> TreeDef {
    let one =
        |index| TreeDef::named_struct(&format!("S{index}"), [("x", TreeDef::leaf())]).unwrap();
    TreeDef::seq((0..count).map(one)).unwrap()
}

fn many_fields(count: usize) -> TreeDef {
    let names: Vec<String> = (0..count).map(|index| format!("field_{index}")).collect();
    TreeDef::named_struct("S", names.iter().map(|name| (&**name, TreeDef::leaf()))).unwrap()
}

fn many_entries(count: usize) -> TreeDef {
    let entry = |index: usize| (Value::of(&index).unwrap(), TreeDef::leaf());
    TreeDef::map((0..count).map(entry)).unwrap()
}

fn long_names() -> TreeDef {
    let long = long();
    let fields = [
        (&*long, TreeDef::leaf()),
        ("y", node(NodeKind::UnitVariant, [&long, &long], &[], []).unwrap()),
    ];
    TreeDef::named_struct(&long, fields).unwrap()
}

/// A name of 64 KB.
pub(crate) fn long() -> String {
    "n".repeat(1 << 16)
}

/// Texts of values. Some of them may be refused.
const VALUES: &[&str] = &[
    "1",
    "\"a\"",
    "()",
    "[]",
    "[(); 10000000000]",
    "[[]; 10000000000]",
    "[{}; 10000000000]",
    "[None; 1152921504606846976]",
    "[[[[]; 10000000000]; 10000000000]; 10000000000]",
    "{\"a\": [(); 10000000000], \"b\": 1}",
    "{[[]; 10000000000]: 1}",
    "([(); 10000000000], 1)",
    "[1u8; 1000]",
    "[1u8; 10000000000]",
    "[[1u8; 100000]; 100000]",
    "[[]; 100000]",
    "[None; 100000]",
    "[[{}; 100]; 1000]",
    "[1u8; 10000]",
];

/// All hostile values, with their names in messages.
pub(crate) fn values() -> Vec<(String, Value)> {
    let parsed = VALUES.iter().filter_map(|text| Some(((*text).to_owned(), text.parse().ok()?)));
    let mut all: Vec<(String, Value)> = parsed.collect();
    let deep =
        |leaf: &str, close: &str| ("[".repeat(100) + leaf + &close.repeat(100)).parse::<Value>();
    let more = [
        ("100 nested sequences", deep("1", "]")),
        ("100 nested pairs, no leaf", deep("()", "; 2]")),
        ("100 nested pairs of empty maps", deep("{}", "; 2]")),
        ("a text of 1 MB", Value::of(&long())),
    ];
    all.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.ok()?))));
    all
}

/// Texts that are parsed as a treedef, as a signature, as a value, as a path and as a pattern.
pub(crate) fn texts() -> Vec<String> {
    let mut all: Vec<String> = TEXTS.iter().chain(VALUES).map(|text| (*text).to_owned()).collect();
    all.extend(TEXTS.iter().map(|text| text.replace('*', "f32")));
    all.extend(
        [
            "[*; 18446744073709551616]",
            "[*; 0]",
            "[*; 99999999999999999999999999999999999999]",
            "[[*; 18446744073709551615]; 18446744073709551615]",
            "[[(); 18446744073709551615]; 18446744073709551615]",
            "[{\"a\": *}; 18446744073709551615]",
            "[[{}; 18446744073709551615]; 18446744073709551615]",
            "static [1; 18446744073709551615]",
            "{[1; 18446744073709551615]: *}",
            "[Some((f32, u8)); 99999999999]",
        ]
        .map(str::to_owned),
    );
    for unit in [
        "[",
        "(",
        "{",
        "Some(",
        "A(",
        "static ",
        "{[",
        "A { a: ",
        "[[*; 9], ",
        "`",
        "\"",
        "\\",
        "[",
    ] {
        all.push(unit.repeat(100_000));
    }
    all.push(format!("[{}]", "*, ".repeat(100_000)));
    all.push(format!("{} {{ {}: * }}", long(), long()));
    all.push(format!("{{{:?}: *}}", long()));
    all
}

/// Paths. Some of them lead to a node.
pub(crate) fn paths() -> Vec<(String, Path)> {
    let long_key = Key::Entry(Value::of(&long()).unwrap());
    let texts = [
        "",
        "[0]",
        "[1]",
        "[9999999999]",
        "[18446744073709551615]",
        ".0",
        ".1",
        ".18446744073709551615",
        ".a",
        ".b",
        ".x[1099511627775]",
        ".x[1099511627776]",
        "[0].0",
        "[\"a\"]",
        "[\"a\"][9999999999]",
        "[\"b\"]",
        "[0][0][0]",
        "[0][9999999999][9999999999]",
        "[99999999998]?",
        "::V.0",
        "::V.0[1099511627775]",
        "[[[]; 50000]]",
        "[[[]; 50001]][9999999999]",
    ];
    let named = |text: &str| (text.chars().take(40).collect::<String>(), text.parse().unwrap());
    let mut all: Vec<(String, Path)> = texts.iter().map(|text| named(text)).collect();
    all.extend([
        ("a field of 1 MB".to_owned(), Path::root().child(Key::Field(long().into()))),
        ("a key of 64 KB".to_owned(), Path::root().child(long_key)),
        ("[0] 60 times".to_owned(), "[0]".repeat(60).parse().unwrap()),
        ("[1] 100 times".to_owned(), "[1]".repeat(100).parse().unwrap()),
        ("[0] 5000 times".to_owned(), "[0]".repeat(5_000).parse().unwrap()),
        ("? 100 times".to_owned(), "?".repeat(100).parse().unwrap()),
        (".a 40 times".to_owned(), ".a".repeat(40).parse().unwrap()),
        (".b 39 times".to_owned(), ".b".repeat(39).parse().unwrap()),
    ]);
    all
}

/// Patterns, among them some that a search by trial and error does not survive.
pub(crate) fn patterns() -> Vec<(String, Pattern)> {
    let texts = [
        "**",
        "**.b",
        "**[0]",
        "**.nothing",
        "[*]",
        "[*][*]",
        ".*",
        "[0]",
        "[18446744073709551615]",
        "**?",
    ];
    let mut all: Vec<(String, Pattern)> =
        texts.iter().map(|text| ((*text).to_owned(), text.parse().unwrap())).collect();
    all.push(("**[*] 30 times, .z".to_owned(), ("**[*]".repeat(30) + ".z").parse().unwrap()));
    all.push(("**[0] 30 times, .z".to_owned(), ("**[0]".repeat(30) + ".z").parse().unwrap()));
    all.push(("[*] 100 times".to_owned(), "[*]".repeat(100).parse().unwrap()));
    all
}

/// Says that it has more than anybody can have.
pub(crate) struct Lying<I>(pub(crate) I);

impl<I: Iterator> Iterator for Lying<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}
