//! How deep, how large and how long a text may be, to the byte.

use insta::assert_snapshot;
use treedef::{LeafKind, Limits, Path, Tree, TreeDef, Value};

/// The least limit with which a text is read, and the refusal with one less.
#[track_caller]
fn least(text: &str, limits: impl Fn(usize) -> Limits) -> String {
    let read = |limit: usize| TreeDef::parse_with(text, limits(limit)).map(|_| ());
    let least = (0..10_000).find(|limit| read(*limit).is_ok()).unwrap();
    assert!((least..least + 100).all(|limit| read(limit).is_ok()));
    match least {
        0 => "0".to_owned(),
        _ => format!("{least}; {}", read(least - 1).unwrap_err()),
    }
}

#[test]
#[rustfmt::skip]
fn a_text_is_as_deep_as_its_containers_with_those_of_its_values() {
    let depth = |text| least(text, |depth| Limits { max_depth: depth, ..Limits::default() });
    assert_snapshot!(depth("*"), @"0");
    assert_snapshot!(depth("()"), @"0");
    assert_snapshot!(depth("[*]"), @"1; nested deeper than 0 levels at byte 1 (see `Limits::max_depth`)");
    assert_snapshot!(depth("[[], [[*]], []]"), @"3; nested deeper than 2 levels at byte 7 (see `Limits::max_depth`)");
    assert_snapshot!(depth("A::B { x: Some((A(*), *)) }"), @"4; nested deeper than 3 levels at byte 18 (see `Limits::max_depth`)");
    assert_snapshot!(depth("{[[1]]: *}"), @"3; nested deeper than 2 levels at byte 3 (see `Limits::max_depth`)");
    assert_snapshot!(depth("[static [1]]"), @"2; nested deeper than 1 level at byte 9 (see `Limits::max_depth`)");
    assert_snapshot!(depth("[{[{[1]: 2}]: *}]"), @"5; nested deeper than 4 levels at byte 5 (see `Limits::max_depth`)");
}

#[test]
#[rustfmt::skip]
fn counts_in_values_stand_for_leaves_beyond_the_length_of_the_text() {
    let work = |text| least(text, |work| Limits { max_work: work, ..Limits::default() });
    assert_snapshot!(work("[*; 1000]"), @"0");
    assert_snapshot!(work("static 1"), @"0");
    assert_snapshot!(work("static [1; 100]"), @"101; 101 nodes to visit, the limit is 100 at byte 15 (see `Limits::max_work`)");
    assert_snapshot!(work("static [(); 100]"), @"101; 101 nodes to visit, the limit is 100 at byte 16 (see `Limits::max_work`)");
    assert_snapshot!(work("static [[1; 10]; 10]"), @"111; 111 nodes to visit, the limit is 110 at byte 20 (see `Limits::max_work`)");
    assert_snapshot!(work("[static [1; 50], static [1; 50]]"), @"102; 102 nodes to visit, the limit is 101 at byte 32 (see `Limits::max_work`)");
    assert_snapshot!(work("{[1; 50]: {[1; 50]: *}}"), @"102; 102 nodes to visit, the limit is 101 at byte 23 (see `Limits::max_work`)");
    // 16 bytes of text are one more node.
    assert_snapshot!(work(r#"static ["sixteen bytes..."; 100]"#), @"201; 201 nodes to visit, the limit is 200 at byte 32 (see `Limits::max_work`)");
    assert_snapshot!(work(r#"static [("sixteen bytes...", b"sixteen bytes..."); 10]"#), @"51; 51 nodes to visit, the limit is 50 at byte 54 (see `Limits::max_work`)");
    let read = |work| Tree::<LeafKind>::parse_with("[u8; 100]", Limits { max_work: work, ..Limits::default() });
    assert_eq!(read(90).unwrap().leaves().len(), 100);
    assert_snapshot!(read(89).unwrap_err(), @"90 nodes to visit, the limit is 89 at byte 8 (see `Limits::max_work`)");
    let read = |max_nodes| Tree::<LeafKind>::parse_with("(f32, [u8], str)", Limits { max_nodes, ..Limits::default() });
    assert!(read(5).is_ok());
    assert_snapshot!(read(4).unwrap_err(), @"5 nodes, the limit is 4 (see `Limits::max_nodes`)");
}

#[test]
fn counts_have_64_bits() {
    let most = usize::MAX;
    let read = |text: String| text.parse::<TreeDef>().map(|treedef| treedef.num_leaves());
    assert_eq!(read(format!("[*; {most}]")).unwrap(), most);
    assert!(read(format!("[(); {most}, ()]")).is_err());
    assert_snapshot!(read(format!("[*; {most}, *]")).unwrap_err(), @"too large: a count exceeds 64 bits at byte 27");
    assert_snapshot!(read(format!("[[*; {most}]; 2]")).unwrap_err(), @"too large: a count exceeds 64 bits at byte 30");
    assert_snapshot!(read(format!("[*; {most}0]")).unwrap_err(), @"too large: a count exceeds 64 bits at byte 25");
}

#[test]
fn what_has_no_leaves_prints_however_often_it_stands() {
    let text = format!("[(); {}]", usize::MAX);
    assert_eq!(text.parse::<TreeDef>().unwrap().to_string(), text);
    assert_eq!(text.parse::<Tree<LeafKind>>().unwrap().to_string(), text);
}

/// Keys in keys. Each is read by a nested call.
#[test]
fn keys_stand_inside_each_other_up_to_128_times() {
    let text = |keys: usize| format!("{}1{}: *}}", "{".repeat(keys), ": 2}".repeat(keys - 1));
    let limits = Limits { max_depth: 1 << 20, ..Limits::default() };
    let treedef = TreeDef::parse_with(&text(128), limits).unwrap();
    assert_eq!(treedef.to_string(), text(128));
    let error = TreeDef::parse_with(&text(129), limits).unwrap_err();
    assert_snapshot!(error, @"nested deeper than 128 levels at byte 129");
}

#[test]
fn a_message_cuts_a_long_path_off() {
    let error = |last: usize| {
        let names = std::iter::repeat_n("n".repeat(36), 9).chain(["n".repeat(last)]);
        let text = names
            .clone()
            .rev()
            .fold("1u8".to_owned(), |text, name| format!("S {{ {name}: {text} }}"));
        let value: Value = text.parse().unwrap();
        let path: String = names.map(|name| format!("[\"{name}\"]")).collect();
        (path, treedef::flatten_as::<f64>(&value).unwrap_err().to_string())
    };
    let (path, message) = error(36);
    assert!(path.len() == 400 && message.contains(&format!("`{path}`")), "{message}");
    let (path, message) = error(37);
    assert!(path.len() == 401 && message.contains(&format!("`{}…`", &path[..400])), "{message}");
}

#[test]
fn a_message_cuts_a_long_node_off() {
    let error = |leaves: usize| {
        let text = format!("({})", vec!["*"; leaves].join(", None, "));
        let treedef: TreeDef = text.parse().unwrap();
        let path: Path = ".x".parse().unwrap();
        (text, Tree::new(treedef, vec![0; leaves]).unwrap().get(&path).unwrap_err().to_string())
    };
    let (text, short) = error(7);
    assert!(text.len() <= 60 && short.contains(&text), "{short}");
    let (text, long) = error(8);
    assert!(text.len() > 60 && long.contains(&format!("{}…", &text[..60])), "{long}");
    assert!(!long.contains(&text[..61]), "{long}");
}
