//! A progress bar with bytes on standard error, for work that takes longer than a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work needs no bar.
const SOON: Duration = Duration::from_secs(1);

/// The progress of reading. It is shown only on a terminal.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    begin: Instant,
    is_shown: Arc<AtomicBool>,
}

impl Progress {
    /// The progress over this number of bytes.
    pub(crate) fn new(total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = "{wide_bar} {bytes} of {total_bytes}, {binary_bytes_per_sec}, {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Progress { bar, begin: Instant::now(), is_shown: Arc::default() }
    }

    /// Counts bytes.
    pub(crate) fn add(&self, bytes: usize) {
        self.bar.inc(u64::try_from(bytes).unwrap_or(u64::MAX));
        let is_late = || self.begin.elapsed() > SOON;
        // It draws nothing where standard error is no terminal.
        if !self.is_shown.load(Ordering::Relaxed)
            && is_late()
            && !self.is_shown.swap(true, Ordering::Relaxed)
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Removes the bar, before something is printed.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
