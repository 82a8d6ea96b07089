//! Files: their content, refused files, and files after a crash.

mod specimens;
mod layout;
mod crafted;
mod smoke;
mod round_trip;
mod saving;
#[cfg(unix)]
mod places;
#[cfg(unix)]
mod loading;
mod golden;
mod damage;
mod repaired;
mod wrong_files;
mod bombs;
mod limits;
mod parts;
