//! What is wrong with a form, in the language of the page.

use actix_web::http::StatusCode;
use errors::Error;
use validation::Invalid;

use super::errors::error_text;
use crate::http::error::status;
use crate::web::locale::Locale;
use crate::web::strings::MessageValue;

/// The faults of a form: of single fields, and of the form as a whole.
#[derive(Clone, Debug, Default)]
pub struct FormFaults {
    /// What is wrong with the whole, as a sentence.
    pub form: Option<String>,
    fields: Vec<(String, String)>,
}

impl FormFaults {
    /// Returns the faults that the user can correct, with the status of the response. Other errors come back, for the page of errors.
    ///
    /// # Errors
    /// The error itself if no other contents of the form would change it.
    pub fn from_error(error: Error, locale: &Locale) -> Result<(StatusCode, Self), Error> {
        if let Error::Invalid(invalid) = &error {
            return Ok((StatusCode::UNPROCESSABLE_ENTITY, Self::of_fields(invalid, locale)));
        }
        // Without a session no form is shown, and what does not exist is not corrected.
        let is_elsewhere = matches!(
            error,
            Error::NotSignedIn | Error::NotFound(_) | Error::UnknownRoute | Error::ForeignOrigin
        );
        if is_elsewhere || error.spec().is_temporary || error.spec().status >= 500 {
            return Err(error);
        }
        let form = Some(error_text(locale, &error).text);
        Ok((status(&error), Self { form, fields: Vec::new() }))
    }

    /// Adds a fault of a field, as a sentence.
    pub fn add(&mut self, field: &str, sentence: String) {
        self.fields.push((field.to_owned(), sentence));
    }

    /// Returns what is wrong with a field, as a sentence.
    pub fn of(&self, field: &str) -> Option<&str> {
        self.fields.iter().find(|(name, _)| name == field).map(|(_, sentence)| sentence.as_str())
    }

    /// Returns whether there is any fault.
    pub fn is_any(&self) -> bool {
        self.form.is_some() || !self.fields.is_empty()
    }

    fn of_fields(invalid: &Invalid, locale: &Locale) -> Self {
        let fields = invalid.faults.iter().map(|fault| {
            // `tags[2]` is a fault of the field `tags`.
            let name = fault.field.split(['[', '.']).next().unwrap_or_default();
            (name.to_owned(), reason_sentence(locale, &fault.reason))
        });
        Self { form: None, fields: fields.collect() }
    }
}

/// The reasons of faults that users meet, each with the key of its sentence. `{}` stands for a number.
const REASONS: [(&str, &str); 23] = [
    ("is required", "fault-required"),
    ("must not be empty", "fault-required"),
    ("must not be blank", "fault-required"),
    ("must have {} to {} characters and must not be blank", "fault-length-blank"),
    ("must have {} to {} characters", "fault-length"),
    ("must have at least {} characters", "fault-too-short"),
    ("must have at most {} bytes", "fault-too-long"),
    ("must have at most {} characters", "fault-too-long"),
    ("is too easy to guess; choose a longer one", "fault-password-weak"),
    ("must be an e-mail address", "fault-email"),
    ("is not the password of this account", "fault-password-wrong"),
    ("must not contain control characters", "fault-control-characters"),
    ("must not contain control characters or invisible characters", "fault-control-characters"),
    ("must not contain the character NUL", "fault-control-characters"),
    ("must be a whole number from {} to {}", "fault-number"),
    ("must be a whole number of at least {}", "fault-number-least"),
    ("must be a number from 0 to 1", "fault-fraction"),
    ("must be true or false", "fault-choice"),
    ("must be the IANA name of a time zone", "fault-time-zone"),
    ("must be a file name without a path", "fault-file-name"),
    ("must be a PDF, audio or video file", "fault-file-type"),
    ("must have {} to {} items", "fault-items"),
    ("is given more than once", "fault-repeated"),
];

/// Returns the sentence for the reason of a fault. A reason that is not listed is a sentence in English, and a general one in other
/// languages.
fn reason_sentence(locale: &Locale, reason: &str) -> String {
    if reason.starts_with("must be one of ") {
        return locale.t("fault-choice");
    }
    for (pattern, key) in REASONS {
        if let Some(numbers) = matched_numbers(pattern, reason) {
            let value = |index: usize| {
                let number = numbers.get(index).and_then(|number| number.parse().ok());
                MessageValue::Number(number.unwrap_or_default())
            };
            // A text takes the last number as its upper bound.
            let upper = numbers.len().saturating_sub(1);
            return locale.t_with(key, &[("min", value(0)), ("max", value(upper))]);
        }
    }
    locale.t_with("fault-other", &[("reason", MessageValue::Text(reason.to_owned()))])
}

/// Returns the numbers that stand for `{}` in a pattern; `None` if the text does not match it.
fn matched_numbers<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut numbers = Vec::new();
    let mut rest = text;
    let mut parts = pattern.split("{}");
    rest = rest.strip_prefix(parts.next()?)?;
    for part in parts {
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(length)?;
        if number.is_empty() {
            return None;
        }
        numbers.push(number);
        rest = after.strip_prefix(part)?;
    }
    rest.is_empty().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use values::kind::AppLanguage;
    use values::time::Timestamp;

    use super::*;

    fn locale(language: AppLanguage) -> Locale {
        Locale { language, is_pseudo: false, zone: TimeZone::UTC, now: Timestamp::from_millis(0) }
    }

    #[test]
    fn reason_of_a_fault_is_a_sentence_of_the_language() {
        let reason = "must have at least 10 characters";

        assert_eq!(reason_sentence(&locale(AppLanguage::English), reason), "Use at least 10 characters.");
        assert_eq!(reason_sentence(&locale(AppLanguage::German), reason), "Mindestens 10 Zeichen verwenden.");
        assert_eq!(
            reason_sentence(
                &locale(AppLanguage::English),
                "must have 1 to 300 characters and must not be blank"
            ),
            "Use 1 to 300 characters."
        );
    }

    #[test]
    fn faults_of_list_items_are_faults_of_their_field() {
        let error = Error::invalid("tags[2]", "must not be blank");

        let (status, faults) = FormFaults::from_error(error, &locale(AppLanguage::English)).unwrap();

        assert_eq!((status, faults.of("tags").is_some()), (StatusCode::UNPROCESSABLE_ENTITY, true));
        assert!(faults.is_any() && faults.form.is_none());
    }
}
