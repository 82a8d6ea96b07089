//! Writes files completely or not at all, even if a signal arrives.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use treedef::__private::OrBug;
use treedef_tensors::{
    __destination as destination, __folder as folder, __save as save, ErrorKind as Kind, Source,
    StoredTensor,
};

use crate::failure::{Failure, Result};

/// The number of bytes written between two checks for signals.
const PIECE: usize = 1 << 20;

/// Writes a file from generated pieces. The old contents stay until the new ones are on the disk.
pub(crate) fn write_with(
    path: &Path,
    make: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let signals = Signals::watch()?;
    let mut not_made = None;
    let saved = save(path, |out| {
        let mut out = PieceWriter { out, signals: &signals, refused: None };
        let made = make(&mut out);
        match (out.refused, made) {
            // The error of the file says more than the error of the code that wrote to it.
            (Some(error), _) => Err(error.into()),
            (None, made) => made.map_err(|failure| {
                not_made = Some(failure);
                io::Error::other("there is nothing to write").into()
            }),
        }
    });
    // The temporary file is removed before the process ends.
    signals.end();
    saved.map_err(|error| not_made.unwrap_or_else(|| unwritten(path, error)))
}

/// Copies tensors into files that are written completely or not at all: a signal ends the next
/// read.
pub(crate) fn interruptible<T>(
    source: &Source<'_>,
    save: impl FnOnce(Source<'_>) -> treedef_tensors::Result<T>,
) -> Result<T> {
    let signals = Signals::watch()?;
    let read = |stored: &StoredTensor<'_>, at, bytes: &mut [u8]| {
        signals.check()?;
        stored.read_at(at, bytes).map_err(io::Error::other)
    };
    let watched = source.iter().map(|stored| {
        let (descriptor, read) = (stored.descriptor().clone(), &read);
        StoredTensor::read_from(descriptor, move |at, bytes| read(stored, at, bytes))
    });
    let text = |key: &str| (key.to_owned(), source.metadata(key).or_bug().to_owned());
    let tensors = watched.collect::<treedef_tensors::Result<Vec<_>>>();
    let saved = tensors.and_then(|tensors| Source::of(tensors, source.metadata_keys().map(text)));
    let saved = saved.and_then(save);
    // The temporary files are removed before the process ends.
    signals.end();
    Ok(saved?)
}

/// The reason why a file was not written.
fn unwritten(path: &Path, error: treedef_tensors::Error) -> Failure {
    let Kind::Io(io) = error.kind() else { return error.into() };
    let target = destination(path).unwrap_or_else(|_| path.to_owned());
    let message = match io.kind() {
        ErrorKind::BrokenPipe => return Failure::BrokenPipe,
        ErrorKind::IsADirectory => "a folder, pass the name of a file in it".to_owned(),
        ErrorKind::PermissionDenied => "it may not be written".to_owned(),
        ErrorKind::NotFound => format!("there is no folder {}", folder(&target).display()),
        _ => io.to_string().trim_start_matches(&format!("{}: ", path.display())).to_owned(),
    };
    Failure::at(path.display(), message)
}

/// Writes pieces, and checks for signals before each.
struct PieceWriter<'a, W> {
    out: W,
    signals: &'a Signals,
    /// The error of the file.
    refused: Option<io::Error>,
}

impl<W: Write> Write for PieceWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        let written = self.signals.check().and_then(|()| self.out.write(piece));
        written.map_err(|error| {
            let kind = error.kind();
            if kind != ErrorKind::Interrupted {
                self.refused.get_or_insert(error);
            }
            kind.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Handles SIGINT and SIGTERM while a file is written: the temporary file is removed, and then the
/// process ends as the signal demands. A second signal ends it at once.
#[cfg(unix)]
struct Signals {
    arrived: std::sync::Arc<std::sync::atomic::AtomicBool>,
    signal: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

#[cfg(unix)]
impl Signals {
    fn watch() -> io::Result<Self> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::flag;
        let signals = Signals { arrived: Default::default(), signal: Default::default() };
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, signals.arrived.clone())?;
            let number = usize::try_from(signal).ok().or_bug();
            flag::register_usize(signal, signals.signal.clone(), number)?;
            flag::register(signal, signals.arrived.clone())?;
        }
        Ok(signals)
    }

    fn check(&self) -> io::Result<()> {
        let arrived = self.arrived.load(std::sync::atomic::Ordering::SeqCst);
        if arrived { Err(io::Error::other("interrupted")) } else { Ok(()) }
    }

    /// Ends the process if a signal has arrived. From now on, a signal ends it at once.
    fn end(self) {
        use std::sync::atomic::Ordering::SeqCst;
        self.arrived.store(true, SeqCst);
        if let Ok(signal @ 1..) = i32::try_from(self.signal.load(SeqCst)) {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

/// Elsewhere, leftovers of a killed process are removed by the next one that writes the file.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn watch() -> io::Result<Self> {
        Ok(Signals)
    }

    fn check(&self) -> io::Result<()> {
        Ok(())
    }

    fn end(self) {}
}
