//! flax: `traverse_util`.

use insta::assert_snapshot;
use treedef::{Leaf, Tree, TreeDef};

use crate::common::{def, path, pattern, said, tree};

/// `{'foo': 1, 'bar': {'a': 2, 'b': {}}}`
const XS: &str = "{\"foo\": *, \"bar\": {\"a\": *, \"b\": {}}}";

fn xs() -> Tree<i32> {
    tree(XS, [2, 1])
}

/// Ours: in the order of the keys.
#[test]
fn a_dict_is_flattened_to_paths() {
    let flat: Vec<(String, i32)> =
        xs().iter().map(|(path, leaf)| (path.to_joined_string("/"), *leaf)).collect();
    assert_eq!(flat, [("bar/a".to_owned(), 2), ("foo".to_owned(), 1)]);
    let tuples: Vec<usize> = xs().iter().map(|(path, _)| path.keys().len()).collect();
    assert_eq!(tuples, [2, 1]);
}

/// Ours: the structure keeps them, and so the way back loses nothing. The list of pairs alone does.
#[test]
fn empty_dicts_stay() {
    let (treedef, _) = xs().into_parts();
    let mut back = Tree::new(treedef, vec![0; 2]).unwrap();
    for (path, leaf) in xs().iter() {
        *back.get_mut(&path).unwrap() = *leaf;
    }
    assert_eq!(back, xs());
    assert_eq!(back.to_string(), "{\"bar\": {\"a\": 2, \"b\": {}}, \"foo\": 1}");
}

/// `keep_empty_nodes=True`: the nodes without leaves, too.
#[test]
fn empty_dicts_are_listed_when_asked_for() {
    let mut flat = Vec::new();
    let walked = xs().edit(|path, node, _| {
        if node.num_children() == 0 {
            flat.push(format!("{} {node}", path.to_joined_string("/")));
        }
        Ok(treedef::Edit::Keep)
    });
    assert_eq!(walked.unwrap(), xs());
    assert_eq!(flat, ["bar/a *", "bar/b {}", "foo *"]);
}

/// `unflatten_dict`: dicts out of paths, without a structure that is known before.
#[test]
fn dicts_are_made_of_paths() {
    let pairs = [("[\"foo\"]", 1), ("[\"bar\"][\"a\"]", 2)];
    let nested = |(at, leaf): (&str, i32)| {
        path(at).keys().iter().rev().fold(Tree::leaf(leaf), |inner, key| {
            let treedef::Key::Entry(entry) = key else { panic!("{key} is no key of a dict") };
            let around = TreeDef::map([(entry.clone(), TreeDef::leaf())]).unwrap();
            Tree::new(around, vec![inner]).unwrap().compose().unwrap()
        })
    };
    let merged = Tree::merge(pairs.map(nested)).unwrap();
    assert_eq!(merged.to_string(), "{\"bar\": {\"a\": 2}, \"foo\": 1}");
    // There `{('a',): 1, ('a', 'b'): 2}` is a TypeError in one order, and loses the second in the
    // other.
    let conflict = [("[\"a\"]", 1), ("[\"a\"][\"b\"]", 2)];
    assert_snapshot!(said(Tree::merge(conflict.map(nested))), @r#"expected `*`, found `{"b": *}` at `["a"]`"#);
    let [first, second] = conflict;
    assert_snapshot!(said(Tree::merge([second, first].map(nested))), @r#"expected `{"b": *}`, found `*` at `["a"]`"#);
}

#[test]
fn leaves_are_mapped_by_their_paths() {
    let value = tree("{\"a\": {\"x\": *, \"y\": *}, \"b\": {\"x\": *}, \"e\": {}}", [10, 3, 20]);
    let x = pattern("**[\"x\"]**");
    let mapped = value.map_with_path(|path, leaf| if x.matches(path) { leaf + 5 } else { -leaf });
    assert_eq!(
        mapped.to_string(),
        "{\"a\": {\"x\": 15, \"y\": -3}, \"b\": {\"x\": 25}, \"e\": {}}"
    );
}

/// `ModelParamTraversal`.
#[test]
fn parameters_are_chosen_by_the_end_of_their_paths() {
    let mut params = tree(
        "{\"enc\": {\"l0\": {\"kernel\": *, \"bias\": *}}, \"dec\": {\"kernel\": *, \"bias\": *, \"e\": {}}}",
        [4, 3, 2, 1],
    );
    let seen: Vec<String> =
        params.iter().map(|(path, _)| format!("/{}", path.to_joined_string("/"))).collect();
    assert_eq!(seen, ["/dec/bias", "/dec/kernel", "/enc/l0/bias", "/enc/l0/kernel"]);
    let kernels = pattern("**.kernel");
    assert_eq!(params.select(&kernels).unwrap().map(|(_, leaf)| *leaf).collect::<Vec<_>>(), [3, 1]);
    params.select_mut(&kernels).unwrap().for_each(|(_, leaf)| *leaf *= 100);
    assert_eq!(
        params.to_string(),
        "{\"dec\": {\"bias\": 4, \"e\": {}, \"kernel\": 300}, \"enc\": {\"l0\": {\"bias\": 2, \"kernel\": 100}}}"
    );
}

/// `t_identity.each()['foo']`.
#[test]
fn one_field_of_each_is_read_and_written() {
    let mut list = tree("[{\"foo\": *, \"bar\": *}, {\"foo\": *, \"bar\": *}]", [2, 1, 4, 3]);
    let foo = pattern("[*][\"foo\"]");
    let read =
        |list: &Tree<i32>| list.select(&foo).unwrap().map(|(_, leaf)| *leaf).collect::<Vec<_>>();
    assert_eq!(read(&list), [1, 3]);
    list.select_mut(&foo).unwrap().for_each(|(_, leaf)| *leaf *= 10);
    assert_eq!(read(&list), [10, 30]);
    // `.set([7, 8])`. Ours: an iterator, so that too few or too many values are not noticed.
    list.select_mut(&foo).unwrap().zip([7, 8]).for_each(|((_, leaf), value)| *leaf = value);
    assert_eq!(list.to_string(), "[{\"bar\": 2, \"foo\": 7}, {\"bar\": 4, \"foo\": 8}]");
}

/// There lists are leaves, and a state dict turns them into dicts with the keys '0' and '1'.
#[test]
fn lists_are_nodes_with_indices() {
    let value = treedef::structure(&serde_json::json!({"a": [1, 2]})).unwrap();
    let flat: Vec<String> = value.leaf_paths().map(|path| path.to_string()).collect();
    assert_eq!(flat, ["[\"a\"][0]", "[\"a\"][1]"]);
    // `The size of the list and the state dict do not match, got 2 and 1 at path ./a`.
    let state: TreeDef = def("{\"a\": [*]}");
    assert_snapshot!(said(state.check_equal(&value)), @r#"expected 2 children, found 1 child at `["a"]`"#);
}

/// `flax.cursor`: `c['a']['x'] += 10`.
#[test]
fn one_leaf_is_changed_by_its_path() {
    let mut value = tree("{\"a\": {\"x\": *}}", [Leaf::from(1)]);
    let x = value.get_mut(path("[\"a\"][\"x\"]")).unwrap();
    *x = Leaf::from(i32::try_from(x.clone()).unwrap() + 10);
    assert_eq!(value.to_string(), "{\"a\": {\"x\": 11}}");
}
