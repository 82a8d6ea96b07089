//! Saves in the background.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use std::{env, fs};

use treedef::Tree;
use treedef_tensors::{ErrorKind, Result, SaveHandle, Saver, Tensors, safetensors};

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
    assert!(!saving.is_finished());
    may_end.send(()).unwrap();
    saving.wait().unwrap();
    assert!(saving.is_finished());
}

fn fail() -> Result<()> {
    Err(std::io::Error::other("no space").into())
}

#[test]
fn a_handle_says_the_error_to_all_who_ask() {
    let saver = Saver::new();
    let handle = saver.save(fail).unwrap();
    for handle in [&handle, &handle.clone(), &handle] {
        assert_eq!(handle.wait().unwrap_err().to_string(), "no space");
    }
    // It is known: the next save begins.
    saver.save(|| Ok(())).unwrap();
    saver.finish().unwrap();
}

#[test]
fn an_error_that_nobody_has_is_returned_once() {
    let saver = Saver::new();
    saver.save(fail).unwrap();
    let refused = saver.save(|| unreachable!("it was begun"));
    assert_eq!(refused.unwrap_err().to_string(), "no space");
    saver.save(|| panic!("{} is wrong", 1)).unwrap();
    assert_eq!(saver.finish().unwrap_err().to_string(), "the save panicked: 1 is wrong");
}

/// A caller that waits on the handle gets the same error as other callers.
#[test]
fn a_save_that_failed_is_never_said_to_be_good() {
    let failed = || safetensors::save(&Tensors::default(), "no folder/model.safetensors");
    let takes: [fn(Saver); 3] = [
        |saver| assert!(saver.save(|| Ok(())).unwrap_err().is_not_found()),
        |saver| assert!(saver.finish().unwrap_err().is_not_found()),
        drop,
    ];
    for take in takes {
        let saver = Saver::new();
        let handle = saver.save(failed).unwrap();
        take(saver);
        assert!(handle.wait().unwrap_err().is_not_found());
    }
}

/// The result of some work, which must not take a minute.
fn within_a_minute<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, waits) = mpsc::channel();
    thread::spawn(move || done.send(f()));
    waits.recv_timeout(Duration::from_secs(60)).expect("it ends")
}

#[test]
fn a_save_that_would_wait_for_itself_is_an_error() {
    /// The use of the saver and the handle inside of a save.
    type Use = fn(Arc<Saver>, SaveHandle) -> Result<()>;
    let uses: [Use; 3] = [
        |saver, _| saver.save(|| Ok(())).map(drop),
        |saver, _| Arc::into_inner(saver).unwrap().finish(),
        |_, handle| handle.wait(),
    ];
    for each in uses {
        let error = within_a_minute(move || {
            let saver = Arc::new(Saver::new());
            let (send, receive) = mpsc::channel::<(Arc<Saver>, SaveHandle)>();
            let save = move || receive.recv().map(|(saver, handle)| each(saver, handle)).unwrap();
            let handle = saver.save(save).unwrap();
            send.send((saver, handle.clone())).unwrap();
            handle.wait().unwrap_err()
        });
        let ErrorKind::Io(io) = error.kind() else { panic!("{error}") };
        assert_eq!(io.kind(), std::io::ErrorKind::Deadlock);
    }
}

/// Others wait for their turn meanwhile, and the save must not wait for them.
#[test]
fn a_save_that_begins_another_is_an_error_whoever_waits() {
    let refused = within_a_minute(|| {
        let saver = Arc::new(Saver::new());
        let (inside, others) = (Arc::clone(&saver), Arc::clone(&saver));
        let (may_go_on, waits) = mpsc::channel::<()>();
        let saving = saver.save(move || {
            waits.recv().unwrap();
            inside.save(|| Ok(())).map(drop)
        });
        let other = thread::spawn(move || others.save(|| Ok(())).map(drop));
        thread::sleep(Duration::from_millis(20)); // it has the turn
        may_go_on.send(()).unwrap();
        // The first caller decides whether only the handle has the error.
        let _ = other.join().unwrap();
        saving.unwrap().wait().unwrap_err().to_string()
    });
    assert!(refused.starts_with("a save waits for itself"), "{refused}");
}

#[test]
fn a_save_may_own_the_last_of_its_saver() {
    within_a_minute(|| {
        let saver = Arc::new(Saver::new());
        let (own, (may_end, waits)) = (Arc::clone(&saver), mpsc::channel::<()>());
        let save = move || {
            waits.recv().unwrap();
            drop(own);
            Ok(())
        };
        let handle = saver.save(save).unwrap();
        drop(saver);
        may_end.send(()).unwrap();
        handle.wait()
    })
    .unwrap();
}

#[test]
fn a_panic_that_panics_when_it_is_dropped_ends_the_save() {
    struct Twice;
    impl Drop for Twice {
        fn drop(&mut self) {
            assert!(thread::panicking(), "again");
        }
    }
    let told = within_a_minute(|| {
        let saver = Saver::new();
        let handle = saver.save(|| std::panic::panic_any(Twice)).unwrap();
        handle.wait().unwrap_err().to_string()
    });
    assert_eq!(told, "the save panicked: without a text");
}

#[test]
fn whether_it_is_finished_is_said_at_once() {
    let saver = Arc::new(Saver::new());
    let (may_end, waits) = mpsc::channel::<()>();
    let save = move || {
        waits.recv().unwrap();
        Ok(())
    };
    let first = saver.save(save).unwrap();
    let others = Arc::clone(&saver);
    let other = thread::spawn(move || others.save(|| Ok(())).map(drop));
    thread::sleep(Duration::from_millis(20)); // it waits for its turn
    let asked = Arc::clone(&saver);
    let told = within_a_minute(move || (first.is_finished(), format!("{asked:?}")));
    assert_eq!(told, (false, "Saver(Some(SaveHandle { is_finished: false }))".to_owned()));
    may_end.send(()).unwrap();
    other.join().unwrap().unwrap();
}

/// A snapshot does not change with the model, and shares its numbers.
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

/// The process that ends in order, with a save in flight and no handle. Another dropped its saver.
#[test]
fn end_with_a_save_in_flight() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let (give, take) = mpsc::channel::<Saver>();
    let left = Saver::new();
    let save = move || {
        drop(take.recv());
        Err(std::io::Error::other("the error without a saver").into())
    };
    let handle = left.save(save).unwrap();
    give.send(left).unwrap();
    handle.wait().unwrap_err();
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
    assert_eq!(safetensors::from_bytes(&bytes).unwrap().load::<Vec<u8>>().unwrap(), [7; 10]);
    let told = String::from_utf8(output.stderr).unwrap();
    for error in ["the error that nobody asked for", "the error without a saver"] {
        assert!(told.contains(&format!("failed: {error}")), "{told}");
    }
}
