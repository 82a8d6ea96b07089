//! Paths joined by a separator.

use treedef::Path;

/// Texts and integers are bare, other keys print as in a path.
#[test]
#[rustfmt::skip]
fn every_key_has_a_form() {
    for (path, joined) in [
        ("", ""),
        ("?", ""),
        (".a.0[1]?", "a/0/1"),
        (".`a/b`.`\\\\`", r"a\/b/\\"),
        ("::A.0::A.x", "0/x"),
        ("[true][false]", "true/false"),
        ("[-1i8][-1i16][-1i32][-1i64][-1i128]", "-1/-1/-1/-1/-1"),
        ("[1u8][1u16][1u32][1u64][1u128]", "1/1/1/1/1"),
        ("[1.5f32][1.0][-0.0][inf]", "1.5f32/1.0/-0.0/inf"),
        ("[None][()]", "None/()"),
        (r#"[(1,)][(1, "a")]"#, r#"(1,)/(1, "a")"#),
        (r#"['a']["a"]["a b"]["é"]"#, "a/a/a b/é"),
        (r#"["it's"]["\""]"#, r#"it's/""#),
        (r#"["\n\\"]"#, "\n\\\\"),
        (r#"[b"a"]"#, r#"b"a""#),
        (r#"[[1u8, 2]][{1: 2}][A::B][Some(1)]"#, r#"[1u8, 2]/{1: 2}/A::B/Some(1)"#),
    ] {
        let parsed: Path = path.parse().unwrap();
        assert_eq!(parsed.to_joined_string("/"), joined, "{path}");
    }
}

#[test]
fn keys_are_joined_by_anything() {
    let path: Path = r#".a["b--c"].`d\\`"#.parse().unwrap();
    assert_eq!(path.to_joined_string("--"), r"a--b\-\-c--d\\");
    assert_eq!(path.to_joined_string(""), r"ab--cd\");
    assert_eq!(path.to_joined_string("."), r"a.b--c.d\\");
}
