//! Dates, times and identifiers.

use crate::laws::{holds, holds_flattened};

#[test]
fn chrono() {
    use chrono::{DateTime, FixedOffset, Month, NaiveDate, TimeDelta, Utc, Weekday};

    let date = NaiveDate::from_ymd_opt(2024, 2, 29).unwrap();
    let time = date.and_hms_nano_opt(23, 59, 59, 123_456_789).unwrap();
    holds(date);
    holds(time.time());
    holds(time);
    holds(DateTime::<Utc>::from_naive_utc_and_offset(time, Utc));
    let zone = FixedOffset::east_opt(19_800).unwrap();
    holds(DateTime::<FixedOffset>::from_naive_utc_and_offset(time, zone));
    holds(TimeDelta::milliseconds(-1500));
    holds(Weekday::Wed);
    holds(Month::March);
}

#[test]
fn chrono_as_numbers() {
    use chrono::{DateTime, Utc};
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Stamps {
        #[serde(with = "chrono::serde::ts_milliseconds")]
        at: DateTime<Utc>,
        #[serde(with = "chrono::serde::ts_seconds_option")]
        until: Option<DateTime<Utc>>,
    }

    let at = DateTime::from_timestamp_millis(1_700_000_000_123).unwrap();
    holds_flattened(Stamps { at, until: DateTime::from_timestamp(0, 0) });
    holds_flattened(Stamps { at, until: None });
}

#[test]
fn jiff() {
    use jiff::civil::date;
    use jiff::tz::{TimeZone, offset};
    use jiff::{SignedDuration, Span, Timestamp};

    use crate::laws::ByDebug;

    holds(date(2024, 2, 29));
    holds(date(2024, 2, 29).at(1, 2, 3, 456));
    holds(Timestamp::new(-1, -5).unwrap());
    holds(SignedDuration::new(-3, -500));
    holds(date(2024, 2, 29).to_zoned(TimeZone::fixed(offset(-5))).unwrap());
    holds(ByDebug(Span::new().days(3).hours(-1 + 6)));
}

#[test]
fn time() {
    use time::macros::{date, datetime, offset, time};
    use time::{Duration, Month, Weekday};

    holds(date!(2024 - 02 - 29));
    holds(time!(12:30:45.5));
    holds(datetime!(2024-02-29 12:30));
    holds(datetime!(2024-02-29 12:30:45.123456789 -5));
    holds(offset!(+5:30));
    holds(Duration::new(-3, -500));
    holds(Weekday::Friday);
    holds(Month::May);
}

#[test]
fn time_as_numbers() {
    use serde::{Deserialize, Serialize};
    use time::OffsetDateTime;
    use time::macros::datetime;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Stamp {
        #[serde(with = "time::serde::timestamp")]
        at: OffsetDateTime,
    }

    holds_flattened(Stamp { at: datetime!(2024-02-29 12:30 UTC) });
}

#[test]
fn uuid() {
    use serde::{Deserialize, Serialize};
    use uuid::Uuid;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Ids {
        #[serde(with = "uuid::serde::simple")]
        simple: Uuid,
        #[serde(with = "uuid::serde::compact")]
        compact: Uuid,
    }

    let id = Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    holds(id);
    holds(Uuid::nil());
    holds(id.simple());
    holds(uuid::NonNilUuid::new(id).unwrap());
    holds_flattened(Ids { simple: id, compact: id });
    holds(std::collections::BTreeMap::from([(id, 1.5)]));
}
