//! Saves in the background.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use std::{env, fs};

use treedef::Tree;
use treedef_exchange::{Saver, Tensors, safetensors};

#[test]
fn at_most_one_save_is_in_flight() {
    let (running, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let saver = Saver::new();
    for _ in 0..20 {
        let (running, done) = (running.clone(), done.clone());
        let save = move || {
            assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
            thread::sleep(Duration::from_millis(1));
            running.fetch_sub(1, Ordering::SeqCst);
            done.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        saver.save(save).unwrap();
    }
    saver.finish().unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 20);
}

#[test]
fn the_program_goes_on_meanwhile() {
    let (may_end, waits) = mpsc::channel::<()>();
    let saver = Saver::new();
    let saving = saver
        .save(move || {
            waits.recv().unwrap();
            Ok(())
        })
        .unwrap();
    assert!(saver.is_busy() && !saving.is_finished());
    may_end.send(()).unwrap();
    saving.wait().unwrap();
    assert!(!saver.is_busy() && saving.is_finished());
}

#[test]
fn an_error_is_returned_once() {
    let fail = || Err(std::io::Error::other("no space").into());
    let saver = Saver::new();
    let handle = saver.save(fail).unwrap();
    assert_eq!(handle.wait().unwrap_err().to_string(), "no space");
    handle.wait().unwrap();
    // The handle is dropped: the next save has the error, and is not begun.
    saver.save(fail).unwrap();
    let refused = saver.save(|| unreachable!("it was begun"));
    assert_eq!(refused.unwrap_err().to_string(), "no space");
    saver.save(|| panic!("{} is wrong", 1)).unwrap();
    assert_eq!(saver.finish().unwrap_err().to_string(), "the save panicked: 1 is wrong");
}

/// A snapshot is what the model was, whatever it becomes, and shares its numbers.
#[test]
fn a_snapshot_shares_its_numbers() {
    let model = Tree::of(&vec![vec![0.5f32; 100]; 3]).unwrap().with_arrays().unwrap();
    let snapshot = model.clone();
    let numbers = |tree: &Tree<_>| {
        let leaf: &treedef::Leaf = &tree.leaves()[0];
        leaf.as_array().unwrap().as_slice::<f32>().unwrap().as_ptr()
    };
    assert_eq!(numbers(&model), numbers(&snapshot));
    let tensors = Tensors::of(&snapshot).unwrap();
    let shared = tensors.iter().next().unwrap().1.bytes().as_ptr();
    assert_eq!(shared, numbers(&model).cast());
}

const FOLDER: &str = "BACKGROUND_FOLDER";

/// The process that ends in order, with a save in flight and no handle.
#[test]
fn end_with_a_save_in_flight() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let saver = Saver::new();
    let path = format!("{folder}/a.safetensors");
    let snapshot = Tree::of(&vec![7u8; 10]).unwrap();
    saver.save(|| Ok(())).unwrap();
    saver
        .save(move || {
            thread::sleep(Duration::from_millis(50));
            safetensors::save(&Tensors::of(&snapshot)?, path)?;
            Err(std::io::Error::other("the error that nobody asked for").into())
        })
        .unwrap();
}

#[test]
fn nothing_is_lost_at_an_orderly_end() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "end_with_a_save_in_flight", "--nocapture"])
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    assert!(output.status.success());
    let bytes = fs::read(folder.path().join("a.safetensors")).unwrap();
    assert_eq!(safetensors::load::<Vec<u8>>(&bytes).unwrap(), [7; 10]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("failed: the error that nobody asked for"), "{told}");
}
