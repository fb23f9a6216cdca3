//! The messages of the connection test, in the language of the page.

use web::probe::{ProbeError, StatusHint};

use crate::app::assistants::{StepMessage, UNAUTHENTICATED_CALL};
use crate::web::locale::Locale;
use crate::web::strings::MessageValue::Text;
use crate::web::strings::ToMessageValue;

/// Returns a message as a sentence of the page. Names of settings, paths and the cause of a failed connection have no translation.
pub fn step_text(locale: &Locale, message: &StepMessage) -> String {
    let key = match message {
        StepMessage::InvalidBaseUrl => "connect-test-url-invalid",
        StepMessage::UnknownHost(host) => {
            return locale.t_with("connect-test-host-unknown", &[("host", host.to_message_value())]);
        }
        StepMessage::PublicUrl(base) => {
            return locale.t_with("connect-test-url-public", &[("url", base.to_message_value())]);
        }
        StepMessage::PlainUrl(base) => {
            return locale.t_with("connect-test-url-plain", &[("url", base.to_message_value())]);
        }
        StepMessage::PrivateUrl(base) => {
            return locale.t_with("connect-test-url-private", &[("url", base.to_message_value())]);
        }
        StepMessage::Challenge => "connect-test-challenge",
        StepMessage::NoChallenge => "connect-test-no-challenge",
        StepMessage::ResourceMetadata => "connect-test-resource",
        StepMessage::ServerMetadata => "connect-test-server",
        StepMessage::WrongMember { path, member, wanted } => {
            let values = [
                ("path", path.to_message_value()),
                ("member", member.to_message_value()),
                ("wanted", wanted.to_message_value()),
            ];
            return locale.t_with("connect-test-wrong-member", &values);
        }
        StepMessage::RegistrationClosed => "connect-test-registration-closed",
        StepMessage::TooManyRegistrations => "connect-test-registrations-used-up",
        StepMessage::ForeignClient => "connect-test-foreign-client",
        StepMessage::Registration => "connect-test-registration",
        StepMessage::NoTools => "connect-test-no-tools",
        StepMessage::Tools(count) => {
            return locale.t_with("connect-test-tools", &[("count", count.to_message_value())]);
        }
        StepMessage::Probe(error) => return probe_text(locale, error),
    };
    locale.t(key)
}

fn probe_text(locale: &Locale, error: &ProbeError) -> String {
    match error {
        ProbeError::Timeout(duration) => {
            locale.t_with("connect-test-timeout", &[("seconds", duration.as_secs().to_message_value())])
        }
        ProbeError::NoConnection(cause) => {
            locale.t_with("connect-test-no-connection", &[("cause", cause.to_message_value())])
        }
        ProbeError::Interrupted(cause) => {
            locale.t_with("connect-test-interrupted", &[("cause", cause.to_message_value())])
        }
        ProbeError::TooLarge => locale.t("connect-test-too-large"),
        ProbeError::Status { subject, status, expected, hint } => {
            // As texts: a status has no separators.
            let values = [
                ("subject", Text(subject_text(locale, subject))),
                ("status", Text(status.to_string())),
                ("expected", Text(expected.to_string())),
                ("hint", Text(locale.t(hint_key(*hint)))),
            ];
            locale.t_with("connect-test-status", &values)
        }
        ProbeError::NotJson(subject) => {
            locale.t_with("connect-test-not-json", &[("subject", Text(subject_text(locale, subject)))])
        }
    }
}

/// Returns what was requested: a path or a method of MCP, or the one request that is described in words.
fn subject_text(locale: &Locale, subject: &str) -> String {
    if subject == UNAUTHENTICATED_CALL {
        locale.t("connect-test-unauthenticated-call")
    } else {
        subject.to_owned()
    }
}

fn hint_key(hint: StatusHint) -> &'static str {
    match hint {
        StatusHint::Redirect => "connect-test-hint-redirect",
        StatusHint::Refused => "connect-test-hint-refused",
        StatusHint::NotFound => "connect-test-hint-not-found",
        StatusHint::Unreached => "connect-test-hint-unreached",
        StatusHint::Unclear => "connect-test-hint-unclear",
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use values::kind::AppLanguage;
    use values::time::Timestamp;

    use super::*;

    #[test]
    fn unexpected_status_names_request_and_cause_in_german() {
        let (zone, now) = (TimeZone::UTC, Timestamp::from_millis(0));
        let german = Locale { language: AppLanguage::German, is_pseudo: false, zone, now };
        let hint = StatusHint::NotFound;
        let error = ProbeError::Status { subject: UNAUTHENTICATED_CALL, status: 404, expected: 401, hint };

        let text = step_text(&german, &StepMessage::Probe(error));

        assert_eq!(
            text,
            "/mcp ohne Schlüssel antwortete mit 404 statt 401: nicht gefunden. Ein Proxy leitet diesen Pfad vielleicht nicht \
             weiter."
        );
    }
}
