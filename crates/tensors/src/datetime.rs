//! The dates and spans of time of numpy as texts of ISO 8601.

/// The unit of a number in numpy: a multiple of one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DatetimeUnit {
    count: u32,
    unit: BaseUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum BaseUnit {
    /// No unit is named.
    Generic,
    Years,
    Months,
    Weeks,
    Days,
    Hours,
    Minutes,
    /// Seconds, with the number of digits after the point.
    Seconds(u32),
}

const UNITS: [(&str, BaseUnit); 14] = [
    ("", BaseUnit::Generic),
    ("Y", BaseUnit::Years),
    ("M", BaseUnit::Months),
    ("W", BaseUnit::Weeks),
    ("D", BaseUnit::Days),
    ("h", BaseUnit::Hours),
    ("m", BaseUnit::Minutes),
    ("s", BaseUnit::Seconds(0)),
    ("ms", BaseUnit::Seconds(3)),
    ("us", BaseUnit::Seconds(6)),
    ("ns", BaseUnit::Seconds(9)),
    ("ps", BaseUnit::Seconds(12)),
    ("fs", BaseUnit::Seconds(15)),
    ("as", BaseUnit::Seconds(18)),
];

/// numpy's value for no date.
const NOT_A_TIME: &str = "NaT";

impl DatetimeUnit {
    /// Parses the part in brackets after the type: `ns`, `25s`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let unit = text.trim_start_matches(|char: char| char.is_ascii_digit());
        let count = text.strip_suffix(unit).filter(|count| !count.is_empty());
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let count = count.map_or(Ok(1), str::parse).ok()?;
        Some(DatetimeUnit { count, unit: *unit })
    }

    /// The date that is `steps` after the beginning of 1970, as numpy prints it.
    pub(crate) fn date(self, steps: i64) -> String {
        if steps == i64::MIN {
            return NOT_A_TIME.to_owned();
        }
        let count = i128::from(steps) * i128::from(self.count);
        match self.unit {
            BaseUnit::Generic => count.to_string(),
            BaseUnit::Years => format!("{:04}", 1970 + count),
            BaseUnit::Months => {
                format!("{:04}-{:02}", 1970 + count.div_euclid(12), count.rem_euclid(12) + 1)
            }
            BaseUnit::Weeks => day(7 * count),
            BaseUnit::Days => day(count),
            BaseUnit::Hours => format!("{}T{:02}", day(count.div_euclid(24)), count.rem_euclid(24)),
            BaseUnit::Minutes => minute(count),
            BaseUnit::Seconds(digits) => {
                let parts = 10_i128.pow(digits); // at most 18
                let second = count.div_euclid(parts);
                let minute = minute(second.div_euclid(60));
                let fraction = fraction(count.rem_euclid(parts), digits);
                format!("{minute}:{:02}{fraction}", second.rem_euclid(60))
            }
        }
    }

    /// A span as text: `PT0.250S`, `-P3D`.
    pub(crate) fn span(self, steps: i64) -> String {
        if steps == i64::MIN {
            return NOT_A_TIME.to_owned();
        }
        let count = i128::from(steps) * i128::from(self.count);
        let (sign, size) = (if count < 0 { "-" } else { "" }, count.abs());
        let text = match self.unit {
            BaseUnit::Generic => return count.to_string(),
            BaseUnit::Years => format!("P{size}Y"),
            BaseUnit::Months => format!("P{size}M"),
            BaseUnit::Weeks => format!("P{size}W"),
            BaseUnit::Days => format!("P{size}D"),
            BaseUnit::Hours => format!("PT{size}H"),
            BaseUnit::Minutes => format!("PT{size}M"),
            BaseUnit::Seconds(digits) => {
                let parts = 10_i128.pow(digits);
                format!("PT{}{}S", size / parts, fraction(size % parts, digits))
            }
        };
        format!("{sign}{text}")
    }
}

fn fraction(parts: i128, digits: u32) -> String {
    let width = digits as usize; // at most 18
    if digits == 0 { String::new() } else { format!(".{parts:0width$}") }
}

fn minute(count: i128) -> String {
    let (hour, minute) = (count.div_euclid(60), count.rem_euclid(60));
    format!("{}T{:02}:{minute:02}", day(hour.div_euclid(24)), hour.rem_euclid(24))
}

/// A day of the Gregorian calendar, counted from 1970. A year begins in March here, so that a leap day is
/// its last day, and 400 years have 146,097 days.
fn day(count: i128) -> String {
    let days = count + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{of_month:02}", 400 * era + year + next)
}
