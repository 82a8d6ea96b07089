//! Files: what they hold, what is refused, what survives.

mod specimens;
mod round_trip;
