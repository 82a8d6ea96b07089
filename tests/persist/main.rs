//! Files: what they hold, what is refused, what survives.

mod specimens;
mod round_trip;
mod saving;
#[cfg(unix)]
mod places;
#[cfg(unix)]
mod loading;
