//! Saving in the background.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::error::{Error, ErrorKind, Result};

/// Saves snapshots in a thread of its own, one at a time, while the program goes on.
///
/// A snapshot is a value that nobody changes any more. A clone of a `Tree<Leaf>` whose arrays are
/// leaves is one: it shares the numbers, so that it costs nothing but a step that changes them
/// makes new ones.
///
/// Nothing is lost. The error of a save is returned by its handle; if that was dropped, by the next
/// [`save`](Self::save) or by [`finish`](Self::finish). A saver that is dropped waits for the save, and
/// prints an error that nobody asked for on standard error.
///
/// ```
/// use treedef::Tree;
/// use treedef_exchange::{Saver, Tensors, safetensors};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.safetensors");
/// let saver = Saver::new();
/// let mut model = Tree::of(&vec![vec![0.5f32; 1000]; 3])?.with_arrays()?;
/// for step in 0..3 {
///     let (snapshot, path) = (model.clone(), path.clone());
///     saver.save(move || safetensors::save(&Tensors::of(&snapshot)?, path))?;
///     model = Tree::of(&vec![vec![step as f32; 1000]; 3])?.with_arrays()?; // meanwhile
/// }
/// saver.finish()?;
/// assert_eq!(safetensors::open(&path)?.load::<Vec<Vec<f32>>>()?, vec![vec![1.0; 1000]; 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Saver {
    running: Mutex<Option<(JoinHandle<()>, Saving)>>,
}

/// The handle of a save in the background. The save goes on without it.
#[derive(Clone)]
pub struct Saving {
    outcome: Arc<(Mutex<Outcome>, Condvar)>,
}

#[derive(Default)]
struct Outcome {
    is_finished: bool,
    /// The error, until somebody asks for it.
    failed: Option<Error>,
}

/// What a thread that panicked left is whole: each lock is held for one assignment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Saver {
    /// No save is in flight.
    pub fn new() -> Self {
        Saver::default()
    }

    /// Begins a save, which is what the function does with the snapshot that it owns. At most one is in
    /// flight: this waits for the one before.
    ///
    /// # Errors
    ///
    /// Returns the error of the save before, if its handle has not: then this one is not begun. And
    /// that of the operating system, if it starts no thread.
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_exchange::{Saver, Tensors, npz};
    ///
    /// let saver = Saver::new();
    /// let snapshot = Tree::of(&[1.5f32; 4])?;
    /// let saving = saver.save(move || npz::save(&Tensors::of(&snapshot)?, "no folder/model.npz"))?;
    /// assert!(saving.wait().unwrap_err().is_not_found());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self, save: impl FnOnce() -> Result<()> + Send + 'static) -> Result<Saving> {
        let mut running = locked(&self.running);
        end(running.take())?;
        let saving = Saving { outcome: Arc::default() };
        let in_thread = saving.clone();
        let run = move || {
            let done = catch_unwind(AssertUnwindSafe(save));
            let done = done.unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let what = format!("the save panicked: {}", text.unwrap_or("without a text"));
                Err(ErrorKind::Malformed(what).into())
            });
            let (outcome, changed) = &*in_thread.outcome;
            *locked(outcome) = Outcome { is_finished: true, failed: done.err() };
            changed.notify_all();
        };
        let thread = thread::Builder::new().name("treedef save".to_owned()).spawn(run)?;
        *running = Some((thread, saving.clone()));
        Ok(saving)
    }

    /// Whether a save is in flight, for which [`save`](Self::save) would wait.
    pub fn is_busy(&self) -> bool {
        locked(&self.running).as_ref().is_some_and(|(_, saving)| !saving.is_finished())
    }

    /// Waits for the save that is in flight.
    ///
    /// # Errors
    ///
    /// Returns its error, if its handle has not.
    ///
    /// ```
    /// use treedef_exchange::Saver;
    ///
    /// let saver = Saver::new();
    /// saver.save(|| Err(std::io::Error::other("no space").into()))?;
    /// assert_eq!(saver.finish().unwrap_err().to_string(), "no space");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(self) -> Result<()> {
        let running = locked(&self.running).take();
        end(running)
    }
}

/// Waits for a save.
fn end(running: Option<(JoinHandle<()>, Saving)>) -> Result<()> {
    let Some((thread, saving)) = running else { return Ok(()) };
    let result = saving.wait();
    // What it panics with was caught.
    let _ = thread.join();
    result
}

impl Drop for Saver {
    fn drop(&mut self) {
        let running = locked(&self.running).take();
        if let Err(error) = end(running) {
            eprintln!("a save in the background failed: {error}");
        }
    }
}

impl Saving {
    /// Waits for the save.
    ///
    /// # Errors
    ///
    /// Returns its error, once: clones of the handle have none then.
    ///
    /// ```
    /// use treedef_exchange::Saver;
    ///
    /// let saver = Saver::new();
    /// let saving = saver.save(|| Ok(()))?;
    /// saving.wait()?;
    /// assert!(saving.is_finished());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(&self) -> Result<()> {
        let (outcome, changed) = &*self.outcome;
        let mut outcome = locked(outcome);
        while !outcome.is_finished {
            outcome = changed.wait(outcome).unwrap_or_else(PoisonError::into_inner);
        }
        outcome.failed.take().map_or(Ok(()), Err)
    }

    /// Whether the save ended, with or without an error.
    pub fn is_finished(&self) -> bool {
        locked(&self.outcome.0).is_finished
    }
}

impl fmt::Debug for Saver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saver").field("is_busy", &self.is_busy()).finish()
    }
}

impl fmt::Debug for Saving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saving").field("is_finished", &self.is_finished()).finish()
    }
}
