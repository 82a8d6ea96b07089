//! The changes by a loader: names, axes and the width of floats.

use std::collections::BTreeMap;
use std::fmt::Debug;

use half::{bf16, f16};
use insta::assert_snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_tensors::{Error, Export, Loader, NameMapping, Source, Tensors};

use crate::{listed, read};

#[test]
fn floats_are_converted_on_request() {
    let loader = Loader::new().convert_floats(true);
    let value = [0.1f32, 1e30, f32::INFINITY, f32::NAN];
    let wide: [f64; 4] = read(&loader, &value).unwrap();
    assert_eq!(wide.map(|value| (value as f32).to_bits()), value.map(f32::to_bits));
    assert_eq!(
        read::<[f32; 4]>(&loader, &wide).unwrap().map(f32::to_bits),
        value.map(f32::to_bits)
    );
    let small = [0.1f32, -65504.0];
    assert_eq!(read::<[f16; 2]>(&loader, &small).unwrap(), small.map(f16::from_f32));
    assert_eq!(read::<[bf16; 2]>(&loader, &small).unwrap(), small.map(bf16::from_f32));
    assert_eq!(read::<[f32; 2]>(&loader, &[f16::PI; 2]).unwrap(), [f16::PI.to_f32(); 2]);
    assert_eq!(read::<[f16; 1]>(&loader, &[bf16::ONE]).unwrap(), [f16::ONE]);
    let refused = |error: Error| error.to_string();
    assert_snapshot!(refused(read::<[f32; 1]>(&loader, &[1e300]).unwrap_err()), @"
    the tensors do not fit the type
    stopped: 1e300 does not fit into f32 at the root
    ");
    assert_snapshot!(refused(read::<[f16; 2]>(&loader, &[1.0f32, 1e6]).unwrap_err()), @"
    the tensors do not fit the type
    stopped: 1e6 does not fit into f16 at the root
    ");
    assert_snapshot!(refused(read::<[f32; 1]>(&loader, &[1i32]).unwrap_err()), @"
    the tensors do not fit the type
    `` is i32[1], expected f32[1]
    ");
    assert_snapshot!(refused(read::<[f32; 2]>(&Loader::new(), &[0.5f64; 2]).unwrap_err()), @"
    the tensors do not fit the type
    `` is f64[2], expected f32[2] (see `Loader::convert_floats`)
    ");
}

#[test]
fn rules_change_names_in_their_order() {
    #[derive(Serialize)]
    struct File {
        h: Vec<BTreeMap<&'static str, [[f32; 3]; 2]>>,
        mask: u8,
    }
    let file = File {
        h: vec![BTreeMap::from([("c_attn", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])]); 2],
        mask: 1,
    };
    type Layers = BTreeMap<String, Vec<BTreeMap<String, Vec<[f32; 2]>>>>;
    let loader = Loader::new()
        .rename("h.*", "layers.*")
        .rename("**.c_attn", "**.w")
        .transpose("layers.**")
        .ignore("mask");
    let layers: Layers = read(&loader, &file).unwrap();
    assert_eq!(layers["layers"][1]["w"], [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
    let refused = |loader: Loader| read::<Layers>(&loader, &file).unwrap_err().to_string();
    assert_snapshot!(refused(Loader::new().rename("h.*.w", "layers.*.w")), @"`h.*.w` matches no tensor");
    assert_snapshot!(refused(Loader::new().rename("**.c_attn", "w")), @"`**.c_attn` and `w` do not have the same wildcards in the same order");
    assert_snapshot!(refused(Loader::new().rename("h.**", "h.*")), @"`h.**` and `h.*` do not have the same wildcards in the same order");
    assert_snapshot!(refused(Loader::new().rename("h.0.c_attn", "w").rename("h.1.c_attn", "w")), @"`h.0.c_attn` and `h.1.c_attn` are both named `w`");
    assert_snapshot!(refused(Loader::new().transpose("**.attn")), @"`**.attn` matches no tensor");
    assert_snapshot!(refused(Loader::new().transpose("mask")), @"`mask`, u8[], cannot be transposed");
    // Errors have the names of the file.
    assert_snapshot!(refused(loader.rename("layers.1.**", "last.**")), @"
    the tensors do not fit the type
    missing `last`: a map
    unused `h.1.c_attn`: f32[2, 3], which `Loader::rename` renamed to `last.w`
    ");
}

#[test]
fn wildcards_stand_for_parts() {
    let names = ["a", "a.b", "a.b.c", "x.a.b.a.b", "a.x.b", "b"];
    let rows = [
        ("**", "p.**", "p.a p.a.b p.a.b.c p.x.a.b.a.b p.a.x.b p.b"),
        ("a.**", "q.**", "q q.b q.b.c - q.x.b -"),
        // The parts below are kept, unless the whole name matches.
        ("a", "q", "q q.b q.b.c - q.x.b -"),
        ("**.b", "**.c", "- a.c a.c.c x.a.b.a.c a.x.c c"),
        ("*.b", "*", "- a a.c - - -"),
        ("**.a.**.b", "**.z.**.y", "- z.y z.y.c x.z.b.a.y z.x.y -"),
        ("a.*.*", "*.*", "- - b.c - x.b -"),
        ("*.a", "*", "- - - x.b.a.b - -"),
        // As patterns of the library are written.
        (".a[*]", "q.*", "- q.b q.b.c - q.x.b -"),
        ("a.{b,y}.c", "a.{b,y}.d", "- - a.b.d - - -"),
        ("{a,b}**", "p.{a,b}.**", "p.a p.a.b p.a.b.c - p.a.x.b p.b"),
        ("`a`[\"b\"]", "`a b`", "- a b a b.c - - -"),
    ];
    for (from, to, expected) in rows {
        let renamed = names.map(|name| {
            let value = BTreeMap::from([(name, 1.5f64)]);
            match read(&Loader::new().rename(from, to), &value) {
                Ok(json) => only_name(&json),
                Err(error) => {
                    assert!(error.to_string().contains("matches no tensor"), "{error}");
                    "-".to_owned()
                }
            }
        });
        assert_eq!(renamed.join(" "), expected, "{from} => {to}");
    }
}

#[test]
fn numbers_are_in_ranges() {
    let layer = |w: f32| BTreeMap::from([("w", [w])]);
    let value = BTreeMap::from([("layers", vec![layer(0.0), layer(1.0), layer(2.0)])]);
    let tree = Tree::of(&value).unwrap();
    let tensors = Export::new().rename("layers[1:].w", "layers[1:].v").tensors(&tree).unwrap();
    assert_eq!(
        listed(&tensors),
        ["layers.0.w: f32[1]", "layers.1.v: f32[1]", "layers.2.v: f32[1]"]
    );
    type Read = BTreeMap<String, BTreeMap<String, BTreeMap<String, [f32; 1]>>>;
    let loader = Loader::new().ignore("layers[:1]").ignore("layers.2").rename("**.v", "**.w");
    let read: Read = loader.load(&tensors).unwrap();
    assert_eq!(read["layers"].keys().collect::<Vec<_>>(), ["1"]);
    let source = Source::from(&tensors).select("layers[0:2]").unwrap();
    assert_eq!(source.iter().map(|it| it.name()).collect::<Vec<_>>(), ["layers.0.w", "layers.1.v"]);
}

/// An invalid pattern is an error, not a literal that matches nothing.
#[test]
fn a_pattern_that_is_none_says_how_it_is_written() {
    let value = BTreeMap::from([("a", 1.5)]);
    let refused =
        |pattern: &str| read::<()>(&Loader::new().ignore(pattern), &value).unwrap_err().to_string();
    assert_snapshot!(refused("layer*"), @"`layer*` cannot be part of a pattern of names: a whole part is a name, `*`, `**`, `[2:5]` or `{w,bias}`");
    for pattern in ["a.*b", "{a", "{}", "{a,*}", "a{b,c}", "a[", "a[x]", "a[2:1]", "a[:]", "a[*]b"]
    {
        assert!(refused(pattern).contains("cannot be part of a pattern of names"), "{pattern}");
    }
    assert!(Source::from(&Tensors::of(&Tree::of(&value).unwrap()).unwrap()).select("a*").is_err());
}

/// The same names write and read, or are refused where they cannot be turned around.
#[test]
fn names_go_both_ways() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Layer {
        w: [f32; 2],
        b: [f32; 1],
        act: Option<()>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Model {
        layers: Vec<Layer>,
        norm: Vec<f32>,
    }
    let layer = |w| Layer { w: [w; 2], b: [w], act: None };
    let model = Model { layers: vec![layer(1.0), layer(2.0)], norm: vec![3.0] };
    let names = NameMapping::new()
        .rename("layers", "model.h")
        .rename("**.w", "**.weight")
        .rename("**[*].b", "**[*].bias")
        .rename("norm", "model.norm.weight");
    let tree = Tree::of(&model).unwrap();
    let export = Export::new().with_names(&names);
    let tensors = export.tensors(&tree).unwrap();
    assert_eq!(
        listed(&tensors),
        [
            "model.h.0.weight: f32[2]",
            "model.h.0.bias: f32[1]",
            "model.h.1.weight: f32[2]",
            "model.h.1.bias: f32[1]",
            "model.norm.weight: f32[1]"
        ]
    );
    let loader = Loader::new().with_names(&names);
    assert_eq!(loader.load::<Model>(&tensors).unwrap(), model);
    let bare = export.structure_in_metadata(false).tensors(&tree).unwrap();
    assert_eq!(loader.load::<Model>(&bare).unwrap(), model);
    for (name, _) in tensors.iter() {
        assert_eq!(names.in_file(&names.in_type(name).unwrap()).unwrap(), name);
    }
    // Two names that would become one.
    let value = BTreeMap::from([("w", 1.0), ("weight", 2.0)]);
    let one = NameMapping::new().rename("w", "weight");
    let (tree, file) = (Tree::of(&value).unwrap(), BTreeMap::from([("w", 1.0)]));
    let refused = Export::new().with_names(&one).tensors(&tree).unwrap_err();
    assert_snapshot!(refused, @r#"the rules rename `weight` to `weight`, and their mirror renames that to `w` at `["weight"]`"#);
    let loader = Loader::new().with_names(&one);
    assert_snapshot!(read::<()>(&loader, &file).unwrap_err(), @"the rules rename `w` to `w`, and their mirror renames that to `weight`");
    let none = Loader::new().with_names(&NameMapping::new().rename("a", "b"));
    assert_snapshot!(read::<()>(&none, &file).unwrap_err(), @"`b` matches no tensor");
    let wrong = NameMapping::new().rename("a.*", "b");
    assert_snapshot!(wrong.in_file("a").unwrap_err(), @"`a.*` and `b` do not have the same wildcards in the same order");
}

/// The name of the only number.
fn only_name(json: &serde_json::Value) -> String {
    match json.as_object().and_then(|map| map.iter().next()) {
        Some((key, inside)) if inside.is_object() => format!("{key}.{}", only_name(inside)),
        Some((key, _)) => key.clone(),
        None => String::new(),
    }
}

/// A load renames the tensors of a renaming save back, and still uses the structure in the metadata.
#[test]
fn renamed_tensors_come_back() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum Act {
        Relu,
        Prelu { slope: f32 },
    }
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Layer {
        w: [f32; 2],
        act: Act,
        empty: Vec<u8>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Model {
        name: String,
        layers: Vec<Layer>,
    }
    let layer = |act| Layer { w: [1.0, 2.0], act, empty: vec![] };
    let layers = vec![layer(Act::Relu), layer(Act::Prelu { slope: 0.5 })];
    let model = Model { name: "net".to_owned(), layers };
    let tree = Tree::of(&model).unwrap();
    let export = Export::new().rest_in_metadata(true);
    let export = export.rename("layers.**", "h.**").rename("**.w", "**.weight");
    let export = export.rename("**.act.Prelu.slope", "**.act.slope").rename("name", "title");
    let tensors = export.tensors(&tree).unwrap();
    assert_eq!(
        listed(&tensors),
        ["h.0.weight: f32[2]", "h.1.weight: f32[2]", "h.1.act.slope: f32[]"]
    );
    assert_eq!(tensors.metadata("title"), Some("\"net\""));
    assert_eq!(export.tree(&tensors).unwrap(), tree);
    let loader = Loader::new().rename("title", "name").rename("**.weight", "**.w");
    let loader = loader.rename("**.act.slope", "**.act.Prelu.slope");
    assert_eq!(loader.clone().rename("h.**", "layers.**").load::<Model>(&tensors).unwrap(), model);
    // Ignored tensors are not filled.
    let tensors = Export::new().rename("**.w", "**.weight").tensors(&tree);
    assert!(tensors.is_err());
    let one = BTreeMap::from([("a", model.layers[0].clone())]);
    let tree = Tree::of(&one).unwrap();
    let tensors = Export::new().rename("*.w", "*.weight").tensors(&tree).unwrap();
    type Rest = BTreeMap<String, BTreeMap<String, Vec<f32>>>;
    let loader = Loader::new().rename("*.weight", "*.w").ignore("*.act");
    let expected = BTreeMap::from([("empty".to_owned(), vec![]), ("w".to_owned(), vec![1.0, 2.0])]);
    let read: Rest = loader.load(&tensors).unwrap();
    assert_eq!(read, BTreeMap::from([("a".to_owned(), expected)]));
    let refused = |export: Export| export.tensors(&tree).unwrap_err().to_string();
    assert_snapshot!(refused(Export::new().rename("w", "weight")), @"`w` matches no tensor");
    assert_snapshot!(refused(Export::new().rename("*.w", "weight")), @"`*.w` and `weight` do not have the same wildcards in the same order");
    assert_snapshot!(refused(Export::new().rename("a.w", "a.v").rename("a.v", "__metadata__")), @r#"the name `__metadata__` is reserved at `["a"].w`"#);
}

/// Values without a tensor are renamed with their neighbours, over any number of renamings.
#[test]
fn empty_values_follow_names_that_change_places() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum Act {
        Relu,
        Gelu,
    }
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Layer<A> {
        w: [f32; 1],
        act: A,
    }
    #[track_caller]
    fn back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, rules: &[[&str; 2]]) {
        let tree = Tree::of(value).unwrap();
        let export = rules.iter().fold(Export::new(), |it, [from, to]| it.rename(from, to));
        let tensors = export.rest_in_metadata(true).tensors(&tree).unwrap();
        let mirror = rules.iter().rev();
        let loader = mirror.fold(Loader::new(), |it, [from, to]| it.rename(to, from));
        assert_eq!(loader.load::<T>(&tensors).unwrap(), *value);
    }
    let swap = [["0.**", "t.**"], ["1.**", "0.**"], ["t.**", "1.**"]];
    let layers = [Layer { w: [1.0], act: Act::Relu }, Layer { w: [2.0], act: Act::Gelu }];
    back(&layers, &swap);
    back(&[Layer { w: [1.0], act: Some(Act::Relu) }, Layer { w: [2.0], act: None }], &swap);
    // Without the mirror, the file is in the other order; a loader may change it.
    let renames = swap.iter();
    let export = renames.fold(Export::new(), |it, [from, to]| it.rename(from, to));
    let tree = Tree::of(&layers).unwrap();
    let other = [layers[1].clone(), layers[0].clone()];
    type Layers = [Layer<Act>; 2];
    assert_eq!(export.tensors(&tree).unwrap().load::<Layers>().unwrap(), other);
    let loader = swap.iter().fold(Loader::new(), |it, [from, to]| it.rename(from, to));
    let tensors = Export::new().tensors(&tree).unwrap();
    assert_eq!(loader.load::<Layers>(&tensors).unwrap(), other);

    type Tensors = BTreeMap<String, Vec<f32>>;
    let pair = |a: &str, b: &str| Tensors::from([(a.into(), vec![1.0]), (b.into(), vec![])]);
    let heads = ["q", "k", "v"].map(|key| (key.to_owned(), pair("w", "e")));
    let heads = BTreeMap::from(heads);
    back(&heads, &[["q.**", "t.**"], ["v.**", "q.**"], ["k.**", "v.**"], ["t.**", "k.**"]]);
    back(&[pair("b", "e")], &[["**.b", "**.e"]]);
    let mut named = pair("name", "w");
    named.insert("v".to_owned(), vec![2.0]);
    back(&[named], &[["**.v", "**.weight"], ["**.name", "**.w"]]);
}

/// A name that the loader would rename wrongly is an error when it is written.
#[test]
fn renames_that_are_not_undone_are_refused() {
    let value =
        BTreeMap::from([("a", BTreeMap::from([("w", 1.0)])), ("b", [("weight", 2.0)].into())]);
    let tree = Tree::of(&value).unwrap();
    let refused = |export: Export| export.tensors(&tree).unwrap_err().to_string();
    assert_snapshot!(refused(Export::new().rename("**.w", "**.weight")), @r#"the rules rename `b.weight` to `b.weight`, and their mirror renames that to `b.w` at `["b"]["weight"]`"#);
    assert_snapshot!(refused(Export::new().rename("a.**", "b.**")), @r#"the rules rename `b.weight` to `b.weight`, and their mirror renames that to `a.weight` at `["b"]["weight"]`"#);
    assert!(Export::new().rename("a.w", "a.weight").tensors(&tree).is_ok());
}

#[test]
fn a_rule_may_be_for_names_that_only_some_files_have() {
    type File = BTreeMap<String, BTreeMap<String, [f32; 2]>>;
    let file = |prefix: &str| File::from([(prefix.to_owned(), [("w".into(), [1.0, 2.0])].into())]);

    let loader = Loader::new().rename_if_present("module.**", "net.**");
    for prefix in ["net", "module"] {
        assert_eq!(read::<File>(&loader, &file(prefix)).unwrap(), file("net"));
    }
    let mut both = file("net");
    both.extend(file("module"));
    assert_snapshot!(read::<File>(&loader, &both).unwrap_err(), @"`module.w` and `net.w` are both named `net.w`");
    let loader = Loader::new().rename_if_present("module.**", "*.**");
    assert_snapshot!(read::<File>(&loader, &file("net")).unwrap_err(), @"`module.**` and `*.**` do not have the same wildcards in the same order");
}

#[test]
fn one_tensor_is_read_under_two_names() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct File {
        embed: Layer<()>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Model {
        embed: Layer<()>,
        head: Layer<()>,
    }
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Layer<A> {
        w: Vec<[f32; 2]>,
        act: A,
    }
    let layer = |w| Layer { w, act: () };
    let w = vec![[1.0, 2.0], [3.0, 4.0]];
    let tied = Loader::new().tie("head.**", "embed.**");
    let model = |head| Model { embed: layer(w.clone()), head: layer(head) };
    let file = File { embed: layer(w.clone()) };
    assert_eq!(read::<Model>(&tied, &file).unwrap(), model(w.clone()));
    let tree = Tree::of(&file).unwrap();
    let tensors = Tensors::of(&tree).unwrap(); // with our structure
    assert_eq!(tied.load::<Model>(&tensors).unwrap(), model(w.clone()));
    assert_eq!(tied.load::<Model>(Source::from(&tensors)).unwrap(), model(w.clone()));
    // Rules that follow see two names, and a tensor of the file stays.
    let turned = tied.clone().transpose("head.w");
    let columns = vec![[1.0, 3.0], [2.0, 4.0]];
    assert_eq!(read::<Model>(&turned, &file).unwrap(), model(columns.clone()));
    let untied = model(columns);
    assert_eq!(read::<Model>(&tied, &untied).unwrap(), untied);
    // The file counts, not the value to fill from.
    let filled = tied.clone().fill_from(&untied).unwrap();
    assert_eq!(read::<Model>(&filled, &file).unwrap(), model(w.clone()));
    // A type may request one of the names, or none.
    assert_eq!(read::<File>(&tied, &file).unwrap(), file);
    assert_snapshot!(read::<()>(&tied, &file).unwrap_err(), @"
    the tensors do not fit the type
    unused `embed.w`: f32[2, 2]
    ");
    let none = Loader::new().tie("head.w", "wte.w");
    assert_snapshot!(read::<Model>(&none, &file).unwrap_err(), @"`wte.w` matches no tensor");
    let none = Loader::new().tie("head.w", "*.w");
    assert_snapshot!(read::<Model>(&none, &file).unwrap_err(), @"`*.w` and `head.w` do not have the same wildcards in the same order");
}
