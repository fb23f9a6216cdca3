//! The sender of e-mail: whether its settings can be used. No request is sent to the mail server.

use super::check::Check;
use crate::server;
use crate::settings::Settings;

const NAME: &str = "mail";

/// Makes the sender of e-mail as the start does; `None` if `mail.url` is not set.
pub fn check(settings: &Settings) -> Option<Check> {
    let base_url = settings.base_url(settings.server.listen);
    match server::mailer(settings, base_url.as_str()) {
        Ok(None) => None,
        Ok(Some(_)) => Some(Check::good(
            NAME,
            "mail.url and mail.from are valid; no request was sent to the mail server",
        )),
        Err(fault) => Some(Check::stopping_start(NAME, fault)),
    }
}
