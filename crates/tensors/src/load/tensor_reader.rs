//! The bytes of a tensor, read piece by piece as the type requests its numbers.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use crate::error::{Error, ErrorKind, Result, quoted};
use crate::file;
use crate::shape::display;
use crate::source::StoredTensor;
use crate::tensor::Dtype;

/// The number of bytes of a tensor that are read at once.
const PIECE: usize = 1 << 20;
/// The number of bytes of all tensors that may be in memory if they are read alternately, like
/// stacked ones.
const PIECES: usize = 1 << 26;
/// The largest number: two `f64`.
const ZEROS: [u8; 16] = [0; 16];

/// The state that all tensors of a load share.
pub(crate) struct ReadState {
    /// The reason why a file could not be read.
    failed: RefCell<Option<Error>>,
    /// Whether nothing more is read: no value will be returned, and only its shape is needed.
    is_stopped: Cell<bool>,
    /// Whether zeros replaced numbers that were not read.
    has_zeros: Cell<bool>,
    /// Whether the numbers are read although no value will be returned, because the type refuses zeros.
    is_retry: Cell<bool>,
    piece: usize,
    /// A buffer for a piece.
    buffer: RefCell<Vec<u8>>,
}

impl ReadState {
    /// For this number of tensors, which may be read alternately.
    pub(crate) fn new(interleaved: Option<usize>) -> Self {
        let piece =
            interleaved.map_or(PIECE, |count| (PIECES / count.max(1)).clamp(1 << 12, PIECE));
        let [is_stopped, has_zeros, is_retry] = [const { Cell::new(false) }; 3];
        let (failed, buffer) = (RefCell::new(None), RefCell::default());
        ReadState { failed, is_stopped, has_zeros, is_retry, piece, buffer }
    }

    /// Stops reading, because no value will be returned.
    pub(crate) fn stop(&self) {
        self.is_stopped.set(!self.is_retry.get());
    }

    pub(crate) fn reset(&self) {
        self.is_stopped.set(self.failed.borrow().is_some());
        self.has_zeros.set(false);
    }

    /// Whether the type may have refused zeros, so that it has to be read with the real numbers.
    pub(crate) fn retry_with_numbers(&self) -> bool {
        let may_be = self.has_zeros.get() && self.failed.borrow().is_none();
        may_be && !self.is_retry.replace(true)
    }

    pub(crate) fn take_error(&self) -> Option<Error> {
        self.failed.take()
    }

    fn fail(&self, error: Error) {
        self.failed.borrow_mut().get_or_insert(error);
        self.is_stopped.set(true);
    }
}

/// A tensor whose numbers are read.
pub(crate) struct TensorReader<'t> {
    stored: &'t StoredTensor<'t>,
    dtype: Dtype,
    size: usize,
    /// All bytes, if they are in memory.
    bytes: Option<&'t [u8]>,
    window: RefCell<Window>,
    /// Whether its numbers are requested in another order than in the file.
    is_whole: Cell<bool>,
}

/// A piece of the bytes, and its position.
#[derive(Default)]
struct Window {
    start: usize,
    bytes: Vec<u8>,
}

impl Window {
    fn get(&self, start: usize, size: usize) -> Option<&[u8]> {
        let start = start.checked_sub(self.start)?;
        self.bytes.get(start..start.checked_add(size)?)
    }
}

impl<'t> TensorReader<'t> {
    pub(crate) fn new(stored: &'t StoredTensor<'t>) -> Result<Self> {
        let descriptor = stored.descriptor();
        let refused = |what: &str| {
            let name = quoted(descriptor.name());
            format!("{name} is {descriptor}, {what} (`Loader::ignore` leaves it out)")
        };
        let dtype = descriptor
            .dtype()
            .ok_or_else(|| ErrorKind::Unsupported(refused("which has no numbers")))?;
        let size = usize::try_from(stored.num_bytes())
            .map_err(|_| ErrorKind::limit("bytes of memory", refused("more than memory has")))?;
        let bytes = stored.as_bytes();
        let (window, is_whole) = (RefCell::default(), Cell::new(false));
        Ok(TensorReader { stored, dtype, size, bytes, window, is_whole })
    }

    pub(crate) fn dtype(&self) -> Dtype {
        self.dtype
    }

    pub(crate) fn shape(&self) -> &'t [usize] {
        self.stored.descriptor().shape()
    }

    /// The number of bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.size / self.dtype.size()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// The type for messages, as in the file.
    pub(crate) fn type_in_file(&self) -> &str {
        self.stored.type_in_file()
    }

    pub(crate) fn display(&self) -> String {
        display(self.type_in_file(), self.shape())
    }

    /// Keeps all of it in memory while it is read, because its numbers are requested in another
    /// order.
    pub(crate) fn read_as_whole(&self) {
        self.is_whole.set(true);
    }

    /// All bytes, if they are in memory.
    #[inline]
    pub(crate) fn bytes(&self) -> Option<&'t [u8]> {
        self.bytes
    }

    /// Copies bytes from some byte on: as many numbers of a size as are in memory and fit. The last
    /// number of a tensor in a file is excluded, because reading it ends the [window](Self::with).
    pub(crate) fn copy(&self, start: usize, size: usize, to: &mut [u8]) -> usize {
        let window = self.window.borrow();
        let bytes = match self.bytes {
            Some(bytes) => bytes.get(start..),
            None => {
                let end = self.size.saturating_sub(size + window.start).min(window.bytes.len());
                let start = start.checked_sub(window.start);
                start.and_then(|start| window.bytes.get(start..end))
            }
        };
        let bytes = bytes.unwrap_or_default();
        let length = bytes.len().min(to.len()) / size * size;
        match (bytes.get(..length), to.get_mut(..length)) {
            (Some(bytes), Some(to)) => {
                to.copy_from_slice(bytes);
                length
            }
            _ => 0,
        }
    }

    /// Passes the bytes of a number, at most 16, to a function.
    #[inline]
    pub(crate) fn with<R>(
        &self,
        reading: &ReadState,
        start: usize,
        size: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        let end = start.checked_add(size)?;
        if let Some(bytes) = self.bytes {
            return bytes.get(start..end).map(read);
        }
        let window = self.window.borrow();
        match window.get(start, size) {
            Some(bytes) if end < self.size => Some(read(bytes)),
            _ => {
                drop(window);
                self.with_next(reading, start, size, read)
            }
        }
    }

    /// The same for a number that is not in memory, or is the last one.
    #[cold]
    fn with_next<R>(
        &self,
        reading: &ReadState,
        start: usize,
        size: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        let end = start.checked_add(size)?;
        let mut window = self.window.borrow_mut();
        if window.get(start, size).is_none() {
            self.fill(reading, &mut window, start, end)?;
        }
        let Some(bytes) = window.get(start, size) else {
            reading.has_zeros.set(true);
            return ZEROS.get(..size).map(read);
        };
        let value = read(bytes);
        if end == self.size {
            let bytes = std::mem::take(&mut *window).bytes;
            if bytes.len() <= reading.piece {
                reading.buffer.replace(bytes);
            }
        }
        Some(value)
    }

    /// Reads the piece that begins at a number. `None` if there is none.
    fn fill(
        &self,
        reading: &ReadState,
        window: &mut Window,
        start: usize,
        end: usize,
    ) -> Option<()> {
        if end > self.size {
            return None;
        }
        if reading.is_stopped.get() {
            window.bytes.clear();
            return Some(());
        }
        let whole = if self.is_whole.get() { 0..self.size } else { start..self.size };
        let length = if self.is_whole.get() { self.size } else { whole.len().min(reading.piece) };
        let filled = if window.bytes.len() == length || file::has_room(length) {
            if window.bytes.is_empty() {
                window.bytes = reading.buffer.take();
            }
            window.bytes.resize(length, 0);
            // A `usize` fits.
            let offset = u64::try_from(whole.start).unwrap_or(u64::MAX);
            self.stored.read_at(offset, &mut window.bytes)
        } else {
            let what = format!("memory has no room for {}", quoted(self.stored.name()));
            Err(ErrorKind::limit("bytes of memory", what).into())
        };
        window.start = whole.start;
        if let Err(error) = filled {
            window.bytes.clear();
            reading.fail(error);
        }
        Some(())
    }

    /// All bytes.
    pub(crate) fn all(&self, reading: &ReadState) -> Cow<'t, [u8]> {
        if let Some(bytes) = self.bytes {
            return bytes.into();
        }
        if reading.is_stopped.get() {
            reading.has_zeros.set(true);
            return Cow::default();
        }
        self.stored.read_bytes().unwrap_or_else(|error| {
            reading.fail(error);
            Cow::default()
        })
    }
}
