//! Every format frees its memory, with other names in each round: see `treedef_testing::leaks`. And none takes much for
//! a small file.

use std::alloc::System;
use std::collections::BTreeMap;
use std::sync::Mutex;

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

/// Held by the test that runs, as all threads of a process share an allocator.
static TURN: Mutex<()> = Mutex::new(());

/// 200 tables: all bytes after a table are its vector of children.
#[test]
fn a_flatbuffer_takes_few_times_its_memory() {
    let _turn = TURN.lock().unwrap();
    let size = 1u32 << 20;
    let mut bytes = 16u32.to_le_bytes().to_vec();
    bytes.extend([8u16, 8, 0, 4, 0, 0].map(u16::to_le_bytes).concat()); // the vtable of all tables
    for table in (16..size).step_by(16) {
        let count = (size - table - 12) / 4;
        bytes.extend([table - 4, 4, count, 4].map(u32::to_le_bytes).concat());
    }
    assert_eq!(bytes.len(), size as usize);
    ALLOCATOR.set_limit(ALLOCATOR.allocated() + 2 * bytes.len()).unwrap();
    let error = jax::from_flatbuffer(&bytes).unwrap_err();
    ALLOCATOR.set_limit(usize::MAX).unwrap();
    assert!(error.to_string().starts_with("nested deeper than 200 levels"), "{error}");
}

#[test]
fn every_format_gives_back_its_memory() {
    let _turn = TURN.lock().unwrap();
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
