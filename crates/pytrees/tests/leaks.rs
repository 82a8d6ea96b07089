//! Every format frees its memory, with other names in each round: see `treedef_testing::leaks`.

use std::alloc::System;
use std::collections::BTreeMap;

use cap::Cap;
use serde::Serialize;
use treedef::TreeDef;
use treedef_pytrees::{Lowering, jax, orbax, python, torch};
use treedef_testing::cases::cases;
use treedef_testing::leaks;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

#[derive(Serialize)]
struct Layer {
    w: Vec<[f32; 2]>,
    b: f32,
}

fn model(round: usize) -> BTreeMap<String, Layer> {
    let layer = |w| Layer { w: vec![[w; 2]; 3], b: w };
    (0..4).map(|index| (format!("layer{index}of{round:06}"), layer(0.5))).collect()
}

fn treedef(round: usize) -> TreeDef {
    treedef::structure(&model(round)).unwrap()
}

/// A test of its own binary, as all threads of a process share an allocator.
#[test]
fn every_format_gives_back_its_memory() {
    let metadata = include_str!("vectors/orbax_metadata.json");
    type Run<'a> = Box<dyn Fn(usize) + 'a>;
    let runs: [(&str, Run<'_>); 4] = [
        ("orbax", Box::new(|_| drop(orbax::metadata(metadata).unwrap()))),
        (
            "torch",
            Box::new(|round| {
                let spec = torch::treespec(&treedef(round), &Lowering::new()).unwrap().data;
                torch::from_treespec(&spec).unwrap();
            }),
        ),
        (
            "jax",
            Box::new(|round| {
                let treedef = treedef(round);
                jax::from_proto(&jax::proto(&treedef, &Lowering::new()).unwrap().data).unwrap();
                jax::from_flatbuffer(&jax::flatbuffer(&treedef, &Lowering::new()).unwrap().data)
                    .unwrap();
                let shapes = jax::shapes(&treedef::signature(&model(round)).unwrap()).unwrap();
                let json = jax::pytreedef_json(&shapes).unwrap().data;
                jax::from_pytreedef_json(&json).unwrap();
                jax::keystrs(&treedef).unwrap();
            }),
        ),
        (
            "python",
            Box::new(|round| {
                let literal = python::literal(&treedef(round), &Lowering::new()).unwrap().data;
                python::from_literal(&literal).unwrap();
            }),
        ),
    ];
    let rounds = cases(300) as usize;
    let live = || ALLOCATOR.allocated();
    let grown = runs.iter().filter_map(|(name, run)| {
        let growth = leaks::growth(live, rounds, run)?;
        Some(format!("{name}: {growth} bytes in {rounds} rounds"))
    });
    assert_eq!(grown.collect::<Vec<_>>(), [] as [String; 0]);
}
