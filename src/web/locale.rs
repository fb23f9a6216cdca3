//! The language and the time zone in which a page is written.

use actix_web::HttpRequest;
use actix_web::http::header::ACCEPT_LANGUAGE;
use actors::operations::settings::SettingsResponse;
use jiff::tz::TimeZone;
use values::kind::AppLanguage;
use values::time::Timestamp;

use super::strings::{self, MessageValue};

/// The language that tests ask for to see longer texts.
const PSEUDO_LANGUAGE: &str = "xx";
/// Languages of a browser that are read; more say nothing about its user.
const MAX_BROWSER_LANGUAGES: usize = 20;

/// The language and the time zone of a page, and the time at which it is written.
#[derive(Clone, Debug)]
pub struct Locale {
    /// The language of the texts.
    pub language: AppLanguage,
    /// Whether texts are made longer and accented, as tests of layouts ask for with the language `xx`.
    pub is_pseudo: bool,
    /// The time zone in which times are shown.
    pub zone: TimeZone,
    /// The time to which "today" and "2 h" refer.
    pub now: Timestamp,
}

impl Locale {
    /// Returns the locale of a browser that is not signed in: its preferred language, and UTC.
    pub fn of_browser(request: &HttpRequest, now: Timestamp) -> Self {
        Self {
            language: browser_language(request),
            is_pseudo: accepted_languages(request).starts_with(PSEUDO_LANGUAGE),
            zone: TimeZone::UTC,
            now,
        }
    }

    /// Returns the locale of a user: the settings, or else the language of the browser and UTC.
    pub fn of_user(request: &HttpRequest, settings: &SettingsResponse, now: Timestamp) -> Self {
        let zone = settings.time_zone.as_deref().and_then(|name| jiff::tz::db().get(name).ok());
        Self {
            is_pseudo: settings.language.is_none()
                && accepted_languages(request).starts_with(PSEUDO_LANGUAGE),
            language: settings.language.unwrap_or_else(|| browser_language(request)),
            zone: zone.unwrap_or(TimeZone::UTC),
            now,
        }
    }

    /// Returns the text of a key.
    pub fn t(&self, key: &str) -> String {
        self.t_with(key, &[])
    }

    /// Returns the text of a key with these values.
    pub fn t_with(&self, key: &str, values: &[(&str, MessageValue)]) -> String {
        let text = strings::message(self.language, key, values);
        if self.is_pseudo { pseudo_text(&text) } else { text }
    }
}

/// Returns the language of the web app that a browser prefers; English if it prefers none of them.
fn browser_language(request: &HttpRequest) -> AppLanguage {
    preferred_language(accepted_languages(request))
}

fn accepted_languages(request: &HttpRequest) -> &str {
    request.headers().get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Returns a text with accents on its vowels and 40 % more of them, so that a layout that clips long words is seen. Elements of HTML stay.
fn pseudo_text(text: &str) -> String {
    let mut pseudo = String::with_capacity(text.len() * 2);
    let (mut is_element, mut debt) = (false, 0);
    for c in text.chars() {
        is_element = (is_element || c == '<') && c != '>';
        let accented = match c {
            _ if is_element => c,
            'a' => 'à',
            'e' => 'é',
            'i' => 'î',
            'o' => 'ø',
            'u' => 'ü',
            other => other,
        };
        pseudo.push(accented);
        debt += if is_element { 0 } else { 2 };
        if accented != c {
            pseudo.extend(std::iter::repeat_n(accented, debt / 5));
            debt %= 5;
        }
    }
    pseudo
}

fn preferred_language(header: &str) -> AppLanguage {
    let mut best = (0.0, AppLanguage::English);
    for item in header.split(',').take(MAX_BROWSER_LANGUAGES) {
        let mut parts = item.split(';').map(str::trim);
        let tag = parts.next().unwrap_or_default();
        let quality =
            parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |text| text.parse().ok());
        let primary = tag.split('-').next().unwrap_or_default().to_ascii_lowercase();
        // The first of equal ones is preferred.
        if let (Ok(language), Some(quality)) = (primary.parse::<AppLanguage>(), quality)
            && quality > best.0
        {
            best = (quality, language);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pseudo_text_is_longer_and_keeps_elements() {
        let text = pseudo_text("<a href=\"/exports\">Export your library</a> first");

        assert!(text.starts_with("<a href=\"/exports\">") && text.contains("</a>"), "{text}");
        // 23 characters of elements, and the 25 that are shown, which become a third longer at least.
        assert!(text.chars().count() >= 23 + 33, "{text}");
    }

    #[test]
    fn language_is_the_preferred_one_that_exists() {
        for (header, language) in [
            ("", AppLanguage::English),
            ("de-AT,de;q=0.9,en;q=0.8", AppLanguage::German),
            ("fr-FR, en;q=0.5, de;q=0.7", AppLanguage::German),
            ("en-GB, de", AppLanguage::English),
            ("de;q=0", AppLanguage::English),
            ("fr", AppLanguage::English),
        ] {
            assert_eq!(preferred_language(header), language, "{header}");
        }
    }
}
