//! What JAX and Python print of what no vector has: kinds that they do not have, keys of all kinds,
//! limits.

use insta::assert_snapshot;
use serde::{Serialize, Serializer};
use treedef::{Path, TreeDef};

fn jax(text: &str) -> String {
    text.parse::<TreeDef>().unwrap().to_jax_string().unwrap()
}

#[test]
#[rustfmt::skip]
fn every_kind_has_a_form() {
    assert_snapshot!(jax("*"), @"PyTreeDef(*)");
    assert_snapshot!(jax("(None, Some(*), (), (,), (*,), (*, *))"), @"PyTreeDef((None, *, (), (), (*,), (*, *)))");
    assert_snapshot!(jax("[[], [*], [*; 3]]"), @"PyTreeDef([[], [*], [*, *, *]])");
    assert_snapshot!(jax(r#"{"b": {}, "a": [*]}"#), @"PyTreeDef({'a': [*], 'b': {}})");
    assert_snapshot!(jax("[A, A(*), A(*, *), A { x: *, y: () }, A {}]"), @"PyTreeDef([CustomNode(namedtuple[A], []), CustomNode(namedtuple[A], [*]), CustomNode(namedtuple[A], [*, *]), CustomNode(namedtuple[A], [*, ()]), CustomNode(namedtuple[A], [])])");
    assert_snapshot!(jax("[A::B, A::B(*), A::B(*,), A::B { x: *, y: None }]"), @"PyTreeDef([CustomNode(A.B[None], []), CustomNode(A.B[None], [*]), CustomNode(A.B[None], [*]), CustomNode(A.B[None], [*, None])])");
    assert_snapshot!(jax(r#"#[insertion] [{"b": *, 'a': {}}, {1: *}]"#), @"PyTreeDef([CustomNode(OrderedDict[('b', 'a')], [*, CustomNode(OrderedDict[()], [])]), CustomNode(OrderedDict[(1,)], [*])])");
    assert_snapshot!(jax("[static [1, 2]]"), @"PyTreeDef([CustomNode(static[[1, 2]], [])])");
}

/// Keys as `repr` prints them, and as they are joined.
#[test]
#[rustfmt::skip]
fn every_key_has_a_form() {
    for (path, repr, joined) in [
        ("", "", ""),
        ("?", "", ""),
        (".a.0[1]?", ".a[0][1]", "a/0/1"),
        (".`a/b`.`\\\\`", r".a/b.\", r"a\/b/\\"),
        ("::A.0::A.x", "[0].x", "0/x"),
        ("[true][false]", "[True][False]", "True/False"),
        ("[-1i8][-1i16][-1i32][-1i64][-1i128]", "[-1][-1][-1][-1][-1]", "-1/-1/-1/-1/-1"),
        ("[1u8][1u16][1u32][1u64][1u128]", "[1][1][1][1][1]", "1/1/1/1/1"),
        ("[1.5f32][1.0][0.0][-0.0][100.25]", "[1.5][1.0][0.0][-0.0][100.25]", "1.5/1.0/0.0/-0.0/100.25"),
        ("[1e15][1e16][1.5e300][1e-300]", "[1000000000000000.0][1e+16][1.5e+300][1e-300]", "1000000000000000.0/1e+16/1.5e+300/1e-300"),
        ("[9999999999999998.0][-1e16][-1e15]", "[9999999999999998.0][-1e+16][-1000000000000000.0]", "9999999999999998.0/-1e+16/-1000000000000000.0"),
        ("[1e-4][1e-5][-1e-5][1.5e-7]", "[0.0001][1e-05][-1e-05][1.5e-07]", "0.0001/1e-05/-1e-05/1.5e-07"),
        ("[inf][-inf][nan(0x7ff8000000000000)]", "[inf][-inf][nan]", "inf/-inf/nan"),
        ("[None][()]", "[None][()]", "None/()"),
        (r#"[(,)][(1,)][(1, "a")][(("a",), None, ())]"#, "[()][(1,)][(1, 'a')][(('a',), None, ())]", "()/(1,)/(1, 'a')/(('a',), None, ())"),
        (r#"['a']["a"]["a b"]["é"]"#, "['a']['a']['a b']['é']", "a/a/a b/é"),
        (r#"["it's"]["\""]["'\""]"#, r#"["it's"]['"']['\'"']"#, r#"it's/"/'""#),
        (r#"["\n\r\t\\"]"#, r"['\n\r\t\\']", "\n\r\t\\\\"),
        (r#"["\u{0}\u{1f}\u{7f}\u{a0}\u{3000}"]"#, r"['\x00\x1f\x7f\xa0\u3000']", "\0\u{1f}\u{7f}\u{a0}\u{3000}"),
        (r#"["\u{ad}\u{200b}\u{e000}\u{e0001}"]"#, r"['\xad\u200b\ue000\U000e0001']", "\u{ad}\u{200b}\u{e000}\u{e0001}"),
        (r#"["e\u{301}"]["\u{301}"]["😀"]"#, "['e\u{301}']['\u{301}']['😀']", "e\u{301}/\u{301}/😀"),
        (r#"[b"a"][b"'"][b"'\""][b"\n\r\t\\\x00\xff"]"#, r#"[b'a'][b"'"][b'\'"'][b'\n\r\t\\\x00\xff']"#, r#"b'a'/b"'"/b'\\'"'/b'\\n\\r\\t\\\\\\x00\\xff'"#),
        // What Python does not have prints as in a treedef.
        (r#"[[1u8, 2]][{1: 2}][A::B][(A, 1)][Some(1)]"#, r#"[[1u8, 2]][{1: 2}][A::B][(A, 1)][Some(1)]"#, r#"[1u8, 2]/{1: 2}/A::B/(A, 1)/Some(1)"#),
    ] {
        let parsed: Path = path.parse().unwrap();
        assert_eq!(parsed.to_jax_string(), repr);
        assert_eq!(parsed.to_joined_string("/"), joined);
    }
}

#[test]
fn keys_are_joined_by_anything() {
    let path: Path = r#".a["b--c"].`d\\`"#.parse().unwrap();
    assert_eq!(path.to_joined_string("--"), r"a--b\-\-c--d\\");
    assert_eq!(path.to_joined_string(""), r"ab--cd\");
    assert_eq!(path.to_joined_string("."), r"a.b--c.d\\");
}

#[test]
fn a_key_is_a_key_of_python_up_to_some_depth() {
    let key = |depth| format!("[{}1u8{}]", "(".repeat(depth), ",)".repeat(depth));
    let python = key(64).replace("u8", "");
    assert_eq!(key(64).parse::<Path>().unwrap().to_jax_string(), python);
    assert_eq!(key(65).parse::<Path>().unwrap().to_jax_string(), key(65));
}

/// A struct whose name makes the text as long as wanted.
struct Named(usize);

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit_struct("n".repeat(self.0).leak())
    }
}

#[test]
fn a_long_text_is_refused() {
    let before = "PyTreeDef(CustomNode(namedtuple[], [".len();
    let longest = (1 << 23) - before;
    let text = treedef::structure(&Named(longest)).unwrap().to_jax_string().unwrap();
    assert_eq!(text.len(), (1 << 23) + "]))".len());
    let error = treedef::structure(&Named(longest + 1)).unwrap().to_jax_string().unwrap_err();
    assert_snapshot!(error, @"8388609 bytes of text, the limit is 8388608");
}

#[test]
fn a_large_structure_is_refused() {
    let of = |leaves: usize| format!("[*; {leaves}]").parse::<TreeDef>().unwrap().to_jax_string();
    assert_eq!(of((1 << 20) - 1).unwrap().len(), 3 * (1 << 20) + 8);
    assert_snapshot!(of(1 << 20).unwrap_err(), @"1048577 nodes to visit, the limit is 1048576");
    assert_snapshot!(of(usize::MAX).unwrap_err(), @"18446744073709551615 nodes to visit, the limit is 1048576");
}
