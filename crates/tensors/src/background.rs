//! Saving in the background.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::{fmt, io, mem};

use crate::error::{Error, ErrorKind, Result};

/// Saves snapshots in a thread, one at a time, while the program goes on.
///
/// A snapshot is a value that does not change any more, such as a clone of a `Tree<Leaf>` whose
/// arrays are leaves. The clone shares the numbers; the only cost is that a step that changes
/// numbers has to make new ones.
///
/// No error is lost. Each caller that waits on the handle of a save gets its error. If nobody did, the next
/// [`save`](Self::save) or [`finish`](Self::finish) returns it. A saver that is dropped waits for the save,
/// and prints an unclaimed error to standard error.
///
/// A save may use its own saver. A call that would wait for itself returns
/// [`io::ErrorKind::Deadlock`]; a saver that is dropped inside of its save does not wait.
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::{Saver, Tensors, safetensors};
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
    /// Held while waiting for the previous save, in order to begin one.
    turn: Mutex<()>,
    /// The last save. Held only for a moment, so that others can look at it meanwhile.
    last: Mutex<Option<SaveHandle>>,
}

/// The handle of a save in the background. Dropping it does not stop the save.
#[derive(Clone)]
pub struct SaveHandle {
    outcome: Arc<(Mutex<Outcome>, Condvar)>,
}

#[derive(Default)]
struct Outcome {
    /// The thread that saves.
    thread: Option<ThreadId>,
    result: Option<Result<()>>,
    /// Whether a caller has received the result.
    is_claimed: bool,
    /// Whether the save dropped its own saver. Then its thread prints an error.
    is_detached: bool,
}

/// A lock is held for one assignment, so a panic leaves the content whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Saver {
    /// No save is in flight.
    pub fn new() -> Self {
        Saver::default()
    }

    /// Begins a save: calls the function with the snapshot, which it owns. At most one save is in flight,
    /// so this waits for the previous one.
    ///
    /// # Errors
    ///
    /// Returns the error of the previous save, if its handle has not; then no save is begun. Also returns
    /// an error of the operating system if it cannot start a thread. A save cannot begin another one with
    /// its own saver.
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_tensors::{Saver, Tensors, npz};
    ///
    /// let saver = Saver::new();
    /// let snapshot = Tree::of(&[1.5f32; 4])?;
    /// let saving = saver.save(move || npz::save(&Tensors::of(&snapshot)?, "no folder/model.npz"))?;
    /// assert!(saving.wait().unwrap_err().is_not_found());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self, save: impl FnOnce() -> Result<()> + Send + 'static) -> Result<SaveHandle> {
        // The thread of the running save may be waiting for the save that waits here for its turn.
        self.last().map_or(Ok(()), |last| last.expect_elsewhere())?;
        let _turn = locked(&self.turn);
        self.end()?;
        let saving = SaveHandle { outcome: Arc::default() };
        *locked(&self.last) = Some(saving.clone());
        let in_thread = saving.clone();
        let thread = thread::Builder::new().name("treedef save".to_owned());
        match thread.spawn(move || in_thread.run(save)) {
            Ok(_) => Ok(saving),
            Err(error) => {
                *locked(&self.last) = None;
                Err(error.into())
            }
        }
    }

    /// Waits for the save in flight.
    ///
    /// # Errors
    ///
    /// Returns its error, unless its handle has. A save cannot wait for itself.
    ///
    /// ```
    /// use treedef_tensors::Saver;
    ///
    /// let saver = Saver::new();
    /// saver.save(|| Err(std::io::Error::other("no space").into()))?;
    /// assert_eq!(saver.finish().unwrap_err().to_string(), "no space");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(self) -> Result<()> {
        self.end()
    }

    fn last(&self) -> Option<SaveHandle> {
        locked(&self.last).clone()
    }

    /// Waits for the last save. Returns its error if no caller has received it yet.
    fn end(&self) -> Result<()> {
        let Some(last) = self.last() else { return Ok(()) };
        let mut outcome = last.finished()?;
        if mem::replace(&mut outcome.is_claimed, true) { Ok(()) } else { outcome.result() }
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        let Some(last) = self.last() else { return };
        if last.expect_elsewhere().is_err() {
            locked(&last.outcome.0).is_detached = true;
        } else if let Err(error) = self.end() {
            print(&error);
        }
    }
}

fn print(error: &Error) {
    eprintln!("a save in the background failed: {error}");
}

impl Outcome {
    fn result(&self) -> Result<()> {
        self.result.clone().unwrap_or(Ok(()))
    }
}

impl SaveHandle {
    /// Waits for the save.
    ///
    /// # Errors
    ///
    /// Returns its error, on each call. A save cannot wait for itself.
    ///
    /// ```
    /// use treedef_tensors::Saver;
    ///
    /// let saver = Saver::new();
    /// let saving = saver.save(|| Ok(()))?;
    /// saving.wait()?;
    /// assert!(saving.is_finished());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(&self) -> Result<()> {
        let mut outcome = self.finished()?;
        outcome.is_claimed = true;
        outcome.result()
    }

    /// Whether the save ended, with or without an error.
    pub fn is_finished(&self) -> bool {
        locked(&self.outcome.0).result.is_some()
    }

    fn run(&self, save: impl FnOnce() -> Result<()>) {
        locked(&self.outcome.0).thread = Some(thread::current().id());
        // The payload of the panic is dropped last, because dropping it may panic, too.
        let done = catch_unwind(AssertUnwindSafe(save));
        let result = done.as_ref().map_or_else(
            |panic| {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let what = format!("the save panicked: {}", text.unwrap_or("without a text"));
                Err(ErrorKind::Malformed(what).into())
            },
            Clone::clone,
        );
        let (outcome, changed) = &*self.outcome;
        let mut outcome = locked(outcome);
        if let (true, Err(error)) = (outcome.is_detached, &result) {
            print(error);
        }
        outcome.result = Some(result);
        changed.notify_all();
    }

    /// The result of a save that has ended.
    fn finished(&self) -> Result<MutexGuard<'_, Outcome>> {
        self.expect_elsewhere()?;
        let (outcome, changed) = &*self.outcome;
        let mut outcome = locked(outcome);
        while outcome.result.is_none() {
            outcome = changed.wait(outcome).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(outcome)
    }

    /// Checks that this is not the thread of a running save.
    fn expect_elsewhere(&self) -> Result<()> {
        let outcome = locked(&self.outcome.0);
        if outcome.result.is_some() || outcome.thread != Some(thread::current().id()) {
            return Ok(());
        }
        let what = "a save waits for itself: it may not begin another, nor finish its saver";
        Err(io::Error::new(io::ErrorKind::Deadlock, what).into())
    }
}

impl fmt::Debug for Saver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Saver").field(&self.last()).finish()
    }
}

impl fmt::Debug for SaveHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaveHandle").field("is_finished", &self.is_finished()).finish()
    }
}
