//! Numbers and flags.

use std::fmt;

use deserr::{Deserr, IntoValue, Value, ValuePointerRef};
use schemars::JsonSchema;

use super::inline_schema;
use super::text::text_of;
use crate::faults::{Faults, ReadMode};
use crate::reasons::INVALID_FLAG;

/// A whole number from `MIN` to `MAX`. JSON has one type of number: `3`, `3.0` and `3e0` are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer<const MIN: i64, const MAX: i64>(i64);

/// A number from 0 to 1, both included. In a query string it has only digits and a decimal point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fraction(f64);

/// `true` or `false`. In a query string it is one of these words, in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag(bool);

impl<const MIN: i64, const MAX: i64> Integer<MIN, MAX> {
    /// The smallest number that the field accepts.
    pub const MIN: i64 = MIN;
    /// The largest number that the field accepts; `i64::MAX` means no maximum.
    pub const MAX: i64 = MAX;

    /// Returns the number, which is within the bounds.
    pub fn into_inner(self) -> i64 {
        self.0
    }

    /// Returns the number as a type that its bounds fit into; `None` if the number does not fit.
    pub fn convert<N: TryFrom<i64>>(self) -> Option<N> {
        N::try_from(self.0).ok()
    }

    fn reason() -> String {
        if MAX == i64::MAX {
            format!("must be a whole number of at least {MIN}")
        } else {
            format!("must be a whole number from {MIN} to {MAX}")
        }
    }
}

impl Fraction {
    /// Returns the number, from 0 to 1.
    pub fn into_inner(self) -> f64 {
        self.0
    }
}

impl Flag {
    /// Returns whether the flag is set.
    pub fn into_inner(self) -> bool {
        self.0
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<M: ReadMode, const MIN: i64, const MAX: i64> Deserr<Faults<M>> for Integer<MIN, MAX> {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        let number = match value {
            Value::Integer(number) => i64::try_from(number).ok(),
            Value::NegativeInteger(number) => Some(number),
            Value::Float(number) => to_integer(number),
            Value::String(text) if M::FROM_TEXT => digits(&text_of(Value::<V>::String(text), location, "")?),
            Value::String(_) | Value::Null | Value::Boolean(_) | Value::Sequence(_) | Value::Map(_) => None,
        };
        let number = number.filter(|number| (MIN..=MAX).contains(number));
        number.map(Self).ok_or_else(|| Faults::new(location, Self::reason()))
    }
}

/// Returns a number without a fraction as an integer. Returns `None` for other numbers, and beyond 2^53, where an `f64` does not
/// represent every integer.
#[expect(clippy::cast_possible_truncation, reason = "an f64 represents all these integers exactly")]
fn to_integer(number: f64) -> Option<i64> {
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= MAX_EXACT_INTEGER).then_some(number as i64)
}

/// Reads an integer of a query string.
fn digits(text: &str) -> Option<i64> {
    // `parse` alone would accept a sign.
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

impl<M: ReadMode> Deserr<Faults<M>> for Fraction {
    #[expect(clippy::cast_precision_loss, reason = "only 0 and 1 are within the bounds")]
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        let number = match value {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            Value::String(text) if M::FROM_TEXT => decimal(&text_of(Value::<V>::String(text), location, "")?),
            Value::String(_)
            | Value::NegativeInteger(_)
            | Value::Null
            | Value::Boolean(_)
            | Value::Sequence(_)
            | Value::Map(_) => None,
        };
        let number = number.filter(|number| (0.0..=1.0).contains(number));
        number.map(Self).ok_or_else(|| Faults::new(location, "must be a number from 0 to 1"))
    }
}

/// Reads a number of a query string.
fn decimal(text: &str) -> Option<f64> {
    // `parse` alone would accept a sign, an exponent and `inf`.
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') { text.parse().ok() } else { None }
}

impl<M: ReadMode> Deserr<Faults<M>> for Flag {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        let flag = match value {
            Value::Boolean(flag) => Some(flag),
            Value::String(text) if M::FROM_TEXT => {
                match text_of::<V, M>(Value::String(text), location, INVALID_FLAG)?.as_str() {
                    "true" => Some(true),
                    "false" => Some(false),
                    _ => None,
                }
            }
            Value::String(_)
            | Value::Integer(_)
            | Value::NegativeInteger(_)
            | Value::Float(_)
            | Value::Null
            | Value::Sequence(_)
            | Value::Map(_) => None,
        };
        flag.map(Self).ok_or_else(|| Faults::new(location, INVALID_FLAG))
    }
}

impl<const MIN: i64, const MAX: i64> JsonSchema for Integer<MIN, MAX> {
    inline_schema!("Integer", { "type": "integer", "minimum": MIN, "maximum": MAX });
}

impl JsonSchema for Fraction {
    inline_schema!("Fraction", { "type": "number", "minimum": 0.0, "maximum": 1.0 });
}

impl JsonSchema for Flag {
    inline_schema!("Flag", { "type": "boolean" });
}
