//! Types of std, which serde implements by hand, and documents of serde_json.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::ffi::{CString, OsString};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::{NonZero, Saturating, Wrapping};
use std::ops::{Bound, Range, RangeFrom, RangeInclusive, RangeTo};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicI16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{Specimen, specimens, types};

// Times, ranges, results: structs and enums of std.
types! {
    struct Times { duration: Duration, time: SystemTime }
    struct Ranges {
        half_open: Range<u8>,
        closed: RangeInclusive<char>,
        from: RangeFrom<i64>,
        to: RangeTo<f32>,
        bounds: [Bound<u8>; 3],
    }
    struct Outcome { good: Result<u8, String>, bad: Result<u8, String>, unit: Result<(), ()> }
}

// Addresses: one string each, or numbers in the compact form.
types! {
    struct Addresses { v4: Ipv4Addr, v6: Ipv6Addr, ip: IpAddr, socket: SocketAddr }
}

// Wrappers that serialize as their inside.
types! {
    struct Numbers {
        non_zero: NonZero<u8>,
        option: Option<NonZero<i64>>,
        wrapping: Wrapping<u16>,
        saturating: Saturating<i8>,
        reverse: Reverse<u32>,
        boxed: Box<u8>,
    }
    struct Cells { cell: Cell<u8>, ref_cell: RefCell<Vec<u8>>, rc: Rc<RefCell<u8>> }
    struct Names { path: PathBuf, boxed: Box<std::path::Path>, c: CString, boxed_c: Box<std::ffi::CStr> }
    struct System(OsString);
}

/// Locks and atomics, which do not compare.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Locks {
    mutex: Mutex<Option<u8>>,
    shared: Arc<RwLock<String>>,
    bool: AtomicBool,
    i16: AtomicI16,
    u64: AtomicU64,
}

impl Locks {
    fn parts(&self) -> (Option<u8>, String, bool, i16, u64) {
        (
            *self.mutex.lock().unwrap_or_else(PoisonError::into_inner),
            self.shared.read().unwrap_or_else(PoisonError::into_inner).clone(),
            self.bool.load(Ordering::Relaxed),
            self.i16.load(Ordering::Relaxed),
            self.u64.load(Ordering::Relaxed),
        )
    }
}

impl PartialEq for Locks {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

/// A `Weak` is restored without its target, so only a `Weak` without one round-trips.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Dangling {
    rc: std::rc::Weak<u8>,
    arc: std::sync::Weak<u8>,
}

impl PartialEq for Dangling {
    fn eq(&self, other: &Self) -> bool {
        (self.rc.upgrade(), self.arc.upgrade()) == (other.rc.upgrade(), other.arc.upgrade())
    }
}

// Documents of serde_json.
types! {
    struct Document { value: serde_json::Value, values: Vec<serde_json::Value>, number: serde_json::Number }
}

pub(super) fn specimens() -> Vec<Specimen> {
    let document = json!({
        "z": null, "a": [1, -1, 1.5, true, "x", [], {}, [null, [null]]], "m": { "k": { "k": [{ "a": 1 }, { "a": 2 }] } },
    });
    specimens! {
        "duration" => Duration::new(5, 999_999_999),
        "system time" => SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000),
        "times" => Times { duration: Duration::MAX, time: SystemTime::UNIX_EPOCH },
        "range" => 1..5,
        "ranges" => Ranges {
            half_open: 1..2, closed: 'a'..='z', from: -1.., to: ..0.5,
            bounds: [Bound::Unbounded, Bound::Included(1), Bound::Excluded(2)],
        },
        "result" => Ok::<u8, String>(1),
        "outcome" => Outcome { good: Ok(1), bad: Err("a".to_owned()), unit: Err(()) },
        "addresses" => Addresses {
            v4: [1, 2, 3, 4].into(), v6: Ipv6Addr::LOCALHOST, ip: [1, 2, 3, 4].into(),
            socket: ([127, 0, 0, 1], 80).into(),
        },
        "ip address" => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        "numbers" => Numbers {
            non_zero: NonZero::<u8>::MAX, option: NonZero::new(-1), wrapping: Wrapping(1),
            saturating: Saturating(-1), reverse: Reverse(1), boxed: Box::new(1),
        },
        "numbers without option" => Numbers {
            non_zero: NonZero::<u8>::MIN, option: None, wrapping: Wrapping(0), saturating: Saturating(0),
            reverse: Reverse(0), boxed: Box::new(0),
        },
        "cells" => Cells { cell: Cell::new(1), ref_cell: vec![1, 2].into(), rc: Rc::new(3.into()) },
        "names" => Names {
            path: "/a/b c".into(), boxed: std::path::Path::new("").into(), c: c"abc".into(), boxed_c: c"".into(),
        },
        "system string" => System("a".into()),
        "path" => PathBuf::from("a/b"),
        "locks" => Locks {
            mutex: Some(1).into(), shared: Arc::new("a".to_owned().into()), bool: true.into(), i16: (-1).into(),
            u64: u64::MAX.into(),
        },
        "dangling" => Dangling { rc: std::rc::Weak::new(), arc: std::sync::Weak::new() },
        "json null" => json!(null),
        "json number" => json!(-1),
        "json" => document.clone(),
        "json documents" => Document { values: vec![document.clone(); 2], value: document, number: 7.into() },
    }
}
