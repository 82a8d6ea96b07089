//! The texts of numbers, compared without rounding.

/// A decimal number: its digits without outer zeros, and the power of ten of the first digit.
#[derive(PartialEq)]
pub struct Decimal {
    /// Whether the text begins with a minus.
    pub is_negative: bool,
    /// No digits for zero.
    pub digits: String,
    /// 0 for zero.
    pub exponent: i64,
}

impl Decimal {
    /// `None` if the text is no number, or has an exponent that is too long.
    pub fn of(text: &str) -> Option<Self> {
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let is_negative = number.starts_with('-');
        let number = number.strip_prefix(['-', '+']).unwrap_or(number);
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let all = format!("{whole}{part}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = all.trim_start_matches('0');
        let zeros = i64::try_from(all.len() - digits.len()).ok()?; // a part of it
        let whole = i64::try_from(whole.len()).ok()?;
        let exponent = exponent.parse::<i64>().ok()?.checked_add(whole)?.checked_sub(zeros + 1)?;
        let digits = digits.trim_end_matches('0').to_owned();
        let exponent = if digits.is_empty() { 0 } else { exponent };
        Some(Decimal { is_negative, digits, exponent })
    }
}
