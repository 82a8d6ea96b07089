//! Pickles and zip files that torch does not write, or that attack who reads them.

use std::io::{Cursor, Write};

use insta::assert_snapshot;
use treedef_tensors::pytorch;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::listed;

/// The three pickles that an old file begins with.
const START: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.";
/// A storage of 4 floats whose key is `0`, and the arguments of a tensor after its strides.
const STORAGE: &[u8] = b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x04tQ";
const END: &[u8] = b"\x89}tR.";

/// An old file of this pickle, without storages.
fn old(pickle: &[u8]) -> Vec<u8> {
    [START, pickle, b"]."].concat()
}

/// The content of a file, or the error.
fn read(bytes: &[u8]) -> String {
    match pytorch::from_bytes(bytes) {
        Ok(file) => {
            let faults = file.faults().iter().map(|fault| format!("\n{fault}"));
            listed(&file) + &faults.collect::<String>()
        }
        Err(error) => error.to_string(),
    }
}

fn pickled(pickle: &[u8]) -> String {
    read(&old(pickle))
}

fn zipped(files: &[(&str, &[u8], CompressionMethod)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes, method) in files {
        let options = SimpleFileOptions::default().compression_method(*method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A tensor of the storage, with the offset, the shape and the strides in instructions.
fn tensor(rest: &[u8]) -> Vec<u8> {
    [STORAGE, rest, END].concat()
}

const FLOATS: &[u8] = &[0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64, 0, 0, 128, 64];

#[test]
fn all_protocols_are_read() {
    // Protocol 0: texts.
    assert_snapshot!(pickled(b"(lp0\nI7\naI01\naL12L\naF2.5\naS'a\\'\\n'\naV\\u00e9b\naNa."), @r#"[7i64, true, 12i64, 2.5, "a'\n", "éb", None]"#);
    assert_snapshot!(pickled(b"(dp0\nS'k'\np1\n(I1\nI2\ntp2\nsg1\ng2\ns."), @r#"{"k": (1i64, 2i64)}"#);
    // What begins like an escape, but has a sign.
    assert_snapshot!(pickled(b"(V\\u0041\\u+041\\U-0000041\nV\\u004\nt."), @r#"("A\\u+041\\U-0000041", "\\u004")"#);
    assert!(pickled(b"S'\\x41'\n.").contains("A"));
    assert!(pickled(b"S'\\x+1'\n.").contains("a text without quotes"));
    // Protocol 1 and 2.
    assert_snapshot!(pickled(b"(K\x01M\0\x02J\xff\xff\xff\xffU\x02abT\x01\0\0\0cG?\xf8\0\0\0\0\0\0\x88\x89\x8a\0\x8a\x01\xfft."), @r#"(1i64, 512i64, -1i64, "ab", "c", 1.5, true, false, 0i64, -1i64)"#);
    assert_snapshot!(pickled(b"\x80\x02\x8a\x11\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80\0\x8a\x11\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x8a\x11\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\x87."), @r#"(170141183460469231731687303715884105728u128, "340282366920938463463374607431768211456", "-340282366920938463463374607431768211456")"#);
    // Protocol 4 and 5.
    assert_snapshot!(pickled(b"\x80\x04\x95\0\0\0\0\0\0\0\0\x8f\x94(\x8c\x01aC\x02\x01\x02\x8d\x01\0\0\0\0\0\0\0bB\x01\0\0\0x\x90."), @r#"["a", b"\x01\x02", "b", b"x"]"#);
    assert_snapshot!(pickled(b"\x80\x05\x96\x02\0\0\0\0\0\0\0\x01\x02\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R(K\x01\x91\x87."), @r#"(b"\x01\x02", `<os.system>`("ls",), [1i64])"#);
    // The stack and the memo.
    assert_snapshot!(pickled(b"K\x01K\x022q\x00(K\x0310h\0\x86."), @"(2i64, 2i64)");
    assert_snapshot!(pickled(b"(K\x01K\x020(K\x031K\x042q\0h\0t."), @"(1i64, 4i64, 4i64, 4i64)");
}

#[test]
fn names_become_distinct() {
    let one = tensor(b"K\0K\x01\x85K\x01\x85");
    let one = one.strip_suffix(b".").unwrap();
    let key = |text: &str| [&[b'X', text.len() as u8, 0, 0, 0], text.as_bytes()].concat();
    let entry = |text: &str| [&key(text), one].concat();
    let inner = [&key("a"), &b"}("[..], &entry("b"), b"u"].concat();
    let brackets = entry("[\"a.b\"]");
    for all in [[&brackets, &inner, &entry("a.b")], [&inner, &entry("a.b"), &brackets]] {
        let dict = [b"}(", &*all.map(|it| &**it).concat(), b"u."].concat();
        let file = [START, &dict, b"](X\x01\0\0\x000e.\x04\0\0\0\0\0\0\0", FLOATS].concat();
        let (file, renamed) = pytorch::from_bytes(&file).unwrap().with_distinct_names();
        assert_eq!(renamed, [("a.b".to_owned(), "[\"a.b\"]_".to_owned())]);
        assert_eq!(file.source().unwrap().separate().iter().len(), 3);
    }
}

/// As `torch.zeros(2, 3)[2:, 1]`, whose offset is that of an element behind the storage.
#[test]
fn an_empty_view_may_begin_anywhere() {
    let pickle = tensor(b"M\xff\xffK\x00\x85K\x01\x85");
    let file = [START, &pickle, b"](X\x01\0\0\x000e.\x04\0\0\0\0\0\0\0", FLOATS].concat();
    assert_snapshot!(read(&file), @": f32[0]");
    let file = pytorch::from_bytes(&file).unwrap();
    let source = file.source().unwrap();
    let stored = source.iter().next().unwrap();
    assert_eq!(stored.read_bytes().unwrap().len(), 0);
}

#[test]
fn classes_that_are_not_known_are_structs_with_their_names() {
    // An object with attributes, in all ways in which one is made.
    assert_snapshot!(pickled(b"cargparse\nNamespace\n)\x81}X\x02\0\0\0lrG?\xf0\0\0\0\0\0\0sb."), @"`<argparse.Namespace>` { lr: 1.0 }");
    assert_snapshot!(pickled(b"ccopy_reg\n_reconstructor\n(cm\nC\nc__builtin__\nobject\nNtR(dS'a'\nI1\nsb."), @"`<m.C>` { a: 1i64 }");
    assert_snapshot!(pickled(b"(im\nC\n(dS'a'\nI1\nsb."), @"`<m.C>` { a: 1i64 }");
    assert_snapshot!(pickled(b"(cm\nC\nI1\no."), @"`<m.C>`(1i64,)");
    assert_snapshot!(pickled(b"cm\nC\n)}X\x01\0\0\0kK\x01s\x92."), @r#"`<m.C>` { named: {"k": 1i64} }"#);
    // The attributes of `__dict__` and of `__slots__`.
    assert_snapshot!(pickled(b"cm\nC\n)\x81}X\x01\0\0\0aK\x01s}X\x01\0\0\0bK\x02s\x86b."), @"`<m.C>` { a: 1i64, b: 2i64 }");
    // A list and a dict with attributes of their own.
    assert_snapshot!(pickled(b"cm\nList\n)\x81(K\x01K\x02e}X\x01\0\0\0aK\x03sb."), @r#"`<m.List>` { state: {"a": 3i64}, items: [1i64, 2i64] }"#);
    assert_snapshot!(pickled(b"cm\nDict\n)\x81(K\x01K\x02u."), @"`<m.Dict>` { entries: {1i64: 2i64} }");
    // A state that is not a dict, a class that is not called, a call of a result.
    assert_snapshot!(pickled(b"cdatetime\ndatetime\nC\x02ab\x85R."), @r#"`<datetime.datetime>`(b"ab",)"#);
    assert_snapshot!(pickled(b"(ctorch\nfloat16\ncnumpy\nfloat32\nctorch\ndevice\nX\x04\0\0\0cudaK\x01\x86Rt."), @r#"("<torch.float16>", "<numpy.float32>", "cuda:1")"#);
    assert_snapshot!(pickled(b"cm\nf\n)R)R."), @"`<called>`()");
}

#[test]
fn what_python_and_numpy_make_is_known() {
    assert_snapshot!(pickled(b"ccollections\nOrderedDict\n(X\x01\0\0\0bK\x01\x86t\x85R."), @r#"{"b": 1i64}"#);
    assert_snapshot!(pickled(b"ccollections\ndefaultdict\ncm\nf\n\x85RX\x01\0\0\0bK\x01s."), @r#"{"b": 1i64}"#);
    assert_snapshot!(pickled(b"ccollections\nCounter\n}X\x01\0\0\0bK\x01s\x85R."), @r#"{"b": 1i64}"#);
    assert_snapshot!(pickled(b"cbuiltins\ncomplex\nG?\xf0\0\0\0\0\0\0G\xbf\xf0\0\0\0\0\0\0\x86R."), @"Complex { re: 1.0, im: -1.0 }");
    assert_snapshot!(pickled(b"(ctorch\nSize\n(K\x02K\x03t\x85Rc_codecs\nencode\nX\x03\0\0\0a\xc3\xbfX\x06\0\0\0latin1\x86Rt."), @r#"((2i64, 3i64), b"a\xff")"#);
    // Bytes as protocol 2 writes them, and a tensor of another class.
    assert_snapshot!(
        pickled(b"(c__builtin__\nbytes\n)Rc__builtin__\nbytearray\nc_codecs\nencode\nX\x02\0\0\0\xc3\xbfX\x06\0\0\0latin1\x86R\x85Rt."),
        @r#"(b"", b"\xff")"#
    );
    let subclass = tensor(b"K\0K\x00\x85K\x01\x85");
    let arguments = subclass.strip_prefix(b"ctorch._utils\n_rebuild_tensor_v2\n").unwrap();
    let arguments = arguments.strip_suffix(b"R.").unwrap();
    let subclass = [
        b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\ncm\nT\n",
        arguments,
        b"}tR.",
    ]
    .concat();
    let subclass = [START, &subclass, b"]X\x01\0\0\x000a.", &4_u64.to_le_bytes(), FLOATS].concat();
    assert_snapshot!(read(&subclass), @": f32[0]");
    // A big endian number, and an array by columns.
    let dtype = b"cnumpy\ndtype\nX\x02\0\0\0i2\x89\x88\x87R(K\x03X\x01\0\0\0>NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb";
    let scalar =
        [b"cnumpy.core.multiarray\nscalar\n".as_slice(), dtype, b"C\x02\x01\x02\x86R."].concat();
    assert_snapshot!(pickled(&scalar), @"258i16");
    let bool = |byte: u8| {
        let dtype = b"cnumpy\ndtype\nX\x02\0\0\0b1\x89\x88\x87R(K\x03X\x01\0\0\0|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb";
        let parts = [&b"cnumpy.core.multiarray\nscalar\n"[..], dtype, b"C\x01", &[byte], b"\x86R."];
        pickled(&parts.concat())
    };
    assert_eq!([bool(0), bool(1)], ["false", "true"]);
    assert_snapshot!(bool(2), @": bool[]");
    let array = [
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\x01b\x87R(K\x01K\x02K\x02\x86",
        dtype.as_slice(),
        b"\x88C\x08\0\x01\0\x02\0\x03\0\x04tb.",
    ]
    .concat();
    let array = old(&array);
    let file = pytorch::from_bytes(&array).unwrap();
    assert_snapshot!(listed(&file), @": i16[2, 2]");
    assert_snapshot!(file.tree().unwrap(), @"[[1i16, 3i16], [2i16, 4i16]]");
}

#[test]
fn what_is_called_is_told_wherever_it_is_hidden() {
    let evil = b"cos\nsystem\nX\x02\0\0\0ls\x85R";
    let hidden = |pickle: &[u8]| {
        let file = old(pickle);
        let file = pytorch::from_bytes(&file).unwrap();
        assert_eq!(file.unknown().collect::<Vec<_>>(), ["os.system"], "{}", listed(&file));
        listed(&file)
    };
    // It is taken from the stack again, an attribute of a dict, a hook of a tensor, in the pickle of the
    // version.
    assert_snapshot!(hidden(&[evil.as_slice(), b"0N."].concat()), @"None");
    let attribute =
        [b"ccollections\nOrderedDict\n)R}X\x01\0\0\0a".as_slice(), evil, b"sb."].concat();
    assert_snapshot!(hidden(&attribute), @"{}");
    let tensor = tensor(b"K\0K\0\x85K\x01\x85");
    let hooks = [tensor.strip_suffix(b"}tR.").unwrap(), evil, b"tR."].concat();
    hidden(&hooks);
    let version = [b"\x80\x02".as_slice(), evil, b"0M\xe9\x03.\x80\x02}.N.]."].concat();
    let start = START.split_at(START.len() - 10).0;
    let file = [start, &version].concat();
    let file = pytorch::from_bytes(&file).unwrap();
    assert_eq!(file.unknown().collect::<Vec<_>>(), ["os.system"]);
}

#[test]
fn a_key_twice_has_the_last_value() {
    assert_snapshot!(pickled(b"}(K\x01K\x02K\x03K\x04K\x01K\x05u."), @"{1i64: 5i64, 3i64: 4i64}");
    assert_snapshot!(pickled(b"}(]K\x02u."), @r#"{"<object 1>": 2i64}"#);
    // Members of an enum, which differ by their values.
    assert_snapshot!(pickled(b"}(cm\nColor\nK\x01\x85RK\x02cm\nColor\nK\x07\x85RK\x03u."), @r#"{("<m.Color>", 1i64): 2i64, ("<m.Color>", 7i64): 3i64}"#);
}

#[test]
fn a_pickle_that_is_no_pickle_is_an_error_with_the_byte() {
    let cases: [&[u8]; 15] = [
        b"",
        b".",
        b"h\x07.",
        b"(0R.",
        b"t.",
        b"K\x01a.",
        b"]K\x01K\x02u.",
        b"}(K\x01u.",
        b"\x80\x06",
        b"\xff.",
        b"\x82\x01.",
        b"\x97.",
        b"Ixy\n.",
        b"S'a\n.",
        b"K\x01K\x02\x93.",
    ];
    let errors = cases.map(|case| {
        let error = pytorch::from_bytes(&[START, case].concat()).unwrap_err();
        format!("{}: {error}", case.escape_ascii())
    });
    assert_snapshot!(errors.join("\n"), @r#"
    : the pickle ends before its last instruction at byte 25
    .: an instruction that needs a value, and there is none at byte 25
    h\x07.: nothing was remembered as 7 at byte 25
    (0R.: an instruction that needs a value, and there is none at byte 27
    t.: an instruction that needs a mark at byte 25
    K\x01a.: an instruction that needs a value, and there is none at byte 27
    ]K\x01K\x02u.: an instruction that needs a mark at byte 30
    }(K\x01u.: a key without a value at byte 29
    \x80\x06: the protocol 6 of pickles, at most 5 at byte 25
    \xff.: the byte 0xff is not an instruction of a pickle at byte 25
    \x82\x01.: an extension of `copyreg`, which is not read at byte 25
    \x97.: a buffer beside the pickle, which is not read at byte 25
    Ixy\n.: "xy" is not an integer of at most 128 bits at byte 25
    S\'a\n.: a text without quotes at byte 25
    K\x01K\x02\x93.: a name that is not a string at byte 29
    "#);
}

#[test]
fn lengths_are_not_believed() {
    let cases: [&[u8]; 6] = [
        b"\x8b\xff\xff\xff\x7f",
        b"X\xff\xff\xff\xffa",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x8e\0\0\0\0\0\0\0\x7f",
        b"\x96\0\0\0\x40\0\0\0\0",
        b"T\xff\xff\xff\xff",
    ];
    let errors =
        cases.map(|case| pytorch::from_bytes(&[START, case].concat()).unwrap_err().to_string());
    assert_snapshot!(errors.join("\n"), @r"
    2147483647 bytes in a pickle, at most 1073741824 are read at byte 25
    4294967295 bytes in a pickle, at most 1073741824 are read at byte 25
    18446744073709551615 bytes in a pickle, at most 1073741824 are read at byte 25
    9151314442816847872 bytes in a pickle, at most 1073741824 are read at byte 25
    the pickle ends inside of a value at byte 25
    4294967295 bytes in a pickle, at most 1073741824 are read at byte 25
    ");
}

#[test]
fn what_contains_itself_ends() {
    assert_snapshot!(pickled(b"]q\0K\x01ah\0a."), @r#"[1i64, "<the object around it>"]"#);
    assert_snapshot!(pickled(b"cm\nC\n)\x81q\0}X\x02\0\0\0meh\0sb."), @r#"`<m.C>` { me: "<the object around it>" }"#);
    // Lists of twice the list before.
    let mut bomb = b"]q\0".to_vec();
    for level in 1..60 {
        let below = level - 1;
        bomb.extend([b'0', b']', b'(', b'h', below, b'h', below, b'e', b'q', level]);
    }
    bomb.push(b'.');
    let error = pickled(&bomb);
    assert!(error.starts_with("the same objects are in too many places at `[0]"), "{error}");
    let deep = [vec![b'('; 5000], vec![b'l'; 5000], vec![b'.']].concat();
    let error = pickled(&deep);
    assert!(error.starts_with("objects nested deeper than 120 levels at `[0]"), "{error}");
    // A key that is a tuple of the same tuples.
    let wide = [b"}(N".as_slice(), &b"22\x87".repeat(40), b"Nu."].concat();
    assert_snapshot!(pickled(&wide), @"a key of a dict that is too large at the root");
    // A key is a tuple in tuples.
    let deep = [b"}(".as_slice(), &[b'('; 5000], &[b't'; 5000], b"Nu."].concat();
    assert_snapshot!(pickled(&deep), @"a key of a dict that is too large at the root");
}

#[test]
fn tensors_outside_of_their_storages_are_faults() {
    let cases: [(&str, &[u8]); 8] = [
        ("sound", b"K\0K\x04\x85K\x01\x85"),
        ("behind the end", b"K\x01K\x04\x85K\x01\x85"),
        ("strides", b"K\0K\x02\x85K\x04\x85"),
        ("negative", b"J\xff\xff\xff\xffK\x04\x85K\x01\x85"),
        ("other dimensions", b"K\0K\x04K\x01\x86K\x01\x85"),
        ("overflow", b"K\0\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85K\x04\x85"),
        ("overflow of strides", b"K\0K\x04\x85\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85"),
        ("empty", b"K\0K\0K\x07\x86K\x07K\x01\x86"),
    ];
    let found = cases.map(|(name, rest)| {
        let pickle = tensor(rest);
        let file = [START, &pickle, b"]X\x01\0\0\x000a.", &4_u64.to_le_bytes(), FLOATS].concat();
        format!("{name}: {}", read(&file))
    });
    assert_snapshot!(found.join("\n"), @r#"
    sound: : f32[4]
    behind the end: : f32[4]
    the file: "": its last byte is 20, and its storage has 16 bytes
    strides: : f32[2]
    the file: "": its last byte is 20, and its storage has 16 bytes
    negative: `<torch._utils._rebuild_tensor_v2>`(0: f32[4], -1i64, (4i64,), (1i64,), false, {})
    other dimensions: `<torch._utils._rebuild_tensor_v2>`(0: f32[4], 0i64, (4i64, 1i64), (1i64,), false, {})
    overflow: "<unreadable: a shape that no tensor has>"
    the file: "": a shape that no tensor has
    overflow of strides: : f32[4]
    the file: "": strides that no tensor has
    empty: : f32[0, 7]
    "#);
    // No storages at all.
    assert_snapshot!(pickled(&tensor(b"K\0K\x04\x85K\x01\x85")), @r#"
    : f32[4]
    the file: "": there is no storage "0"
    "#);
}

#[test]
fn an_expanded_tensor_is_read_and_a_bomb_is_not() {
    let file = |rest: &[u8]| {
        let pickle = tensor(rest);
        [START, &pickle, b"]X\x01\0\0\x000a.", &4_u64.to_le_bytes(), FLOATS].concat()
    };
    let expanded = file(b"K\x01K\x02K\x02\x86K\0K\x01\x86");
    let tree = pytorch::from_bytes(&expanded).unwrap().tree().unwrap();
    assert_snapshot!(tree, @"[[2.0f32, 3.0f32]; 2]");
    let bomb = file(b"K\0\x8a\x07\0\0\0\0\0\0\x01\x85K\0\x85");
    let error = pytorch::from_bytes(&bomb).unwrap().source().unwrap_err();
    assert_snapshot!(error, @"the tensors have 1125899906842624 bytes, as their elements are repeated; of a file of 163 bytes at most 67108864 are read");
}

#[test]
fn two_tensors_of_one_name_are_an_error_of_the_source_alone() {
    let tensor = tensor(b"K\0K\x04\x85K\x01\x85");
    let tensor = tensor.strip_suffix(b".").unwrap();
    let pickle = [b"}(K\x01", tensor, b"X\x01\0\0\x001", tensor, b"u."].concat();
    let file = [START, &pickle, b"]X\x01\0\0\x000a.", &4_u64.to_le_bytes(), FLOATS].concat();
    let file = pytorch::from_bytes(&file).unwrap();
    assert_snapshot!(listed(&file), @r#"{1i64: 1: f32[4], "1": 1: f32[4]}"#);
    assert_snapshot!(file.source().unwrap_err(), @r#"the name `1` is also that of `[1i64]` at `["1"]`"#);
    let (file, renamed) = file.with_distinct_names();
    assert_eq!(renamed, [("1".to_owned(), r#"["1"]"#.to_owned())]);
    let source = file.source().unwrap();
    // Both are the same tensor.
    let all = source.separate();
    assert_eq!(all.iter().map(|it| it.name()).collect::<Vec<_>>(), ["1", r#"["1"]"#]);
    assert_eq!(file.with_distinct_names().1, []);
}

/// PyTorch writes the numbers of old files with the lowest byte first on each machine, and the counts of storages
/// too, but for its old versions.
#[test]
fn an_old_file_of_a_big_endian_machine_has_little_endian_numbers() {
    let system = b"}X\r\0\0\0little_endian\x89s.".as_slice();
    let start = [START.strip_suffix(b"}.").unwrap(), system].concat();
    let pickle = tensor(b"K\0K\x04\x85K\x01\x85");
    for count in [4_u64.to_le_bytes(), 4_u64.to_be_bytes()] {
        let file = [&start[..], &pickle, b"]X\x01\0\0\x000a.", &count, FLOATS].concat();
        let file = pytorch::from_bytes(&file).unwrap();
        let tree = file.tree().unwrap().to_string();
        assert_eq!(tree, "[1.0f32, 2.0f32, 3.0f32, 4.0f32]");
    }
    let little = [START, &pickle, b"]X\x01\0\0\x000a.", &4_u64.to_be_bytes(), FLOATS].concat();
    assert_snapshot!(read(&little), @r#"
    : f32[4]
    the file: "": the file ends inside of the storage "0" at byte 132
    "#);
}

#[test]
fn a_tie_whose_name_belongs_to_the_file_is_a_copy() {
    let tensor = tensor(b"K\0K\x04\x85K\x01\x85");
    let tensor = tensor.strip_suffix(b".").unwrap();
    let pickle = [b"}(X\x01\0\0\0a", tensor, b"X\x06\0\0\0format", tensor, b"u."].concat();
    let file = [START, &pickle, b"]X\x01\0\0\x000a.", &4_u64.to_le_bytes(), FLOATS].concat();
    let source = pytorch::from_bytes(&file).unwrap().source().unwrap();
    let names: Vec<&str> = source.iter().map(|stored| stored.name()).collect();
    assert_eq!((names, source.aliases().count()), (vec!["a", "format"], 0));
}

#[test]
fn values_go_into_the_metadata_or_are_an_error() {
    let values = |pickle: &[u8]| {
        let file = old(pickle);
        let source = pytorch::from_bytes(&file).unwrap().source_with_values();
        source.map(|source| {
            let text = |key: &str| format!("{key}: {}", source.metadata(key).unwrap_or_default());
            source.metadata_keys().map(text).collect::<Vec<_>>().join(", ")
        })
    };
    let all = b"(K\x01G\x7f\xf0\0\0\0\0\0\0G?\xf8\0\0\0\0\0\0X\x03\0\0\0a\"b\x88C\x01bt.";
    assert_snapshot!(values(all).unwrap(), @r#"format: pt, 0: 1, 1: Infinity, 2: 1.5, 3: "a\"b", 4: true, 5: "b\"b\"""#);
    let tensor = tensor(b"K\0K\0\x85K\x01\x85");
    let tie = [b"(".as_slice(), tensor.strip_suffix(b".").unwrap(), b"K\0t."].concat();
    assert_snapshot!(values(&[&tie[..], b"](X\x01\0\0\x000e.\0\0\0\0\0\0\0\0"].concat()).unwrap_err(), @"the value 0 is the name of a tensor, of which it would be a tie at `.1`");
    assert_snapshot!(values(b"}X\x06\0\0\0formatK\x01s.").unwrap_err(), @r#"the name `format` is reserved at `["format"]`"#);
    assert_snapshot!(values(b"}(K\x01K\x02X\x01\0\0\x001K\x03u.").unwrap(), @r#"format: pt, 1: 2, ["1"]: 3"#);
    // A third name equals the path of the second.
    let third = b"}(K\x01K\x02X\x01\0\0\x001K\x03X\x05\0\0\0[\"1\"]K\x04u.";
    assert_snapshot!(values(third).unwrap(), @r#"format: pt, 1: 2, ["1"]: 3, ["[\"1\"]"]: 4"#);
    // Containers without leaves.
    assert_snapshot!(values(b"(N}]))N\x85t.").unwrap(), @"format: pt, 0: null, 1: {}, 2: [], 3: [], 4: [], 5.0: null");
}

#[test]
fn zip_files_are_what_they_say() {
    use CompressionMethod::{Deflated, Stored};
    let pickle = tensor(b"K\0K\x02K\x02\x86K\x01K\x02\x86");
    let pickle = pickle.as_slice();
    let found = [
        zipped(&[("a/b.txt", b"", Stored)]),
        zipped(&[("a/data.pkl", pickle, Stored), ("a/data/0", FLOATS, Stored)]),
        zipped(&[("data.pkl", pickle, Deflated), ("data/0", FLOATS, Stored)]),
        zipped(&[("a/data.pkl", pickle, Stored), ("a/data/0", FLOATS, Deflated)]),
        zipped(&[("a/data.pkl", pickle, Stored), ("a/data/0", &FLOATS[1..], Stored)]),
        zipped(&[("a/data.pkl", pickle, Stored)]),
        zipped(&[("a/data.pkl", b"K\x01", Stored)]),
        zipped(&[("a/data.pkl", b"N.", Stored), ("a/byteorder", b"middle", Stored)]),
        zipped(&[("a/data.pkl", b"N.", Stored), ("a/constants.pkl", b"N.", Stored)]),
    ];
    assert_snapshot!(found.map(|file| read(&file)).join("\n"), @r#"
    a zip file without `data.pkl`, so not a file of PyTorch
    : f32[2, 2]
    : f32[2, 2]
    : f32[2, 2]
    the file: "": a/data/0: it is compressed, which PyTorch never does (unpack the zip file, and pack it without)
    : f32[2, 2]
    the file: "": its last byte is 16, and its storage has 15 bytes
    : f32[2, 2]
    the file: "": a/data/0: there is no such file in the zip file
    data.pkl: the pickle ends before its last instruction at byte 2
    byteorder: the byte order "middle", expected `little` or `big`
    None
    "#);
    // A damaged tensor has its type and its shape, and each read fails.
    let cut = zipped(&[("a/data.pkl", pickle, Stored), ("a/data/0", &FLOATS[1..], Stored)]);
    let cut = pytorch::from_bytes(&cut).unwrap();
    let entries = cut.lazy_tree();
    let [pytorch::PytorchLeaf::Tensor(stored)] = entries.leaves() else { panic!("{entries:?}") };
    assert_snapshot!(stored.read().unwrap_err(), @"its last byte is 16, and its storage has 15 bytes");
    assert_snapshot!(cut.source().unwrap_err(), @r#"the file: "": its last byte is 16, and its storage has 15 bytes"#);
    // Python reads the last of two files with one name, others the first.
    let files = [
        ("a/data.pkl", pickle, Stored),
        ("a/data/0", FLOATS, Stored),
        ("a/data/1", FLOATS, Stored),
    ];
    let mut twice = zipped(&files);
    for at in 0..twice.len() {
        if twice[at..].starts_with(b"a/data/1") {
            twice[at + 7] = b'0';
        }
    }
    assert_snapshot!(read(&twice), @"as a zip file: two of its files have one name, so readers disagree on it");
    // Numbers of a machine that has the highest byte first.
    let big: Vec<u8> = FLOATS.chunks(4).flat_map(|float| float.iter().rev().copied()).collect();
    let files = [
        ("a/data.pkl", pickle, Stored),
        ("a/byteorder", b"big", Stored),
        ("a/data/0", &big, Stored),
    ];
    let big = zipped(&files);
    assert_snapshot!(pytorch::from_bytes(&big).unwrap().tree().unwrap(), @"[[1.0f32, 3.0f32], [2.0f32, 4.0f32]]");
    // A wrong checksum, and a missing one.
    let mut file = zipped(&[("a/data.pkl", b"I70\n.", Stored)]);
    let at = file.windows(3).position(|bytes| bytes == b"I70").unwrap();
    file[at + 1] = b'8';
    assert_snapshot!(read(&file), @"data.pkl: Invalid checksum");
    // PyTorch has two records of zip64 behind the list of files. Here they are as long as its first entry.
    let folder = "a".repeat(21);
    let names = [format!("{folder}/data.pkl"), format!("{folder}/data/0")];
    let mut file = zipped(&[(&names[0], pickle, Stored), (&names[1], FLOATS, Stored)]);
    let end = file.len() - 22;
    file.splice(end..end, [0; 76]);
    assert_snapshot!(read(&file), @": f32[2, 2]");
}

#[test]
fn other_files_are_told_apart() {
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let files: [&[u8]; 5] = [b"", b"\x93NUMPY", b"\x80\x02}.", &tar, b"PK\x03\x04"];
    assert_snapshot!(files.map(read).join("\n"), @r"
    no file of PyTorch: neither a zip file nor a pickle at byte 0
    no file of PyTorch: neither a zip file nor a pickle at byte 0
    a pickle that `torch.save` did not write: it does not begin with PyTorch's number at byte 0
    the tar file of PyTorch 0.1, which is not read (load it with PyTorch, and save it again)
    not a zip file, or cut off: there is no list of files at its end
    ");
}
