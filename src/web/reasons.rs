//! Why an address, a feed or a file is refused, and why work failed, as sentences of the page.

use ::web::{FetchError, UrlRejection};
use errors::{Error, FeedFault, code};
use values::url::MAX_URL_CHARS;

use crate::web::locale::Locale;
use crate::web::strings::MessageValue::Text;
use crate::web::strings::ToMessageValue;

/// The beginnings of the reasons that are stored with failed and waiting work, each with the key of its sentence. The first that matches
/// counts. They have no codes, because they are sentences for clients of the API.
const STORED_REASONS: [(&str, &str); 55] = [
    ("not an http(s) address", "error-url-scheme"),
    ("the URL may not be fetched", "error-url-private"),
    ("the name of the server was not found", "error-fetch-host"),
    ("the server cannot be reached", "error-fetch-connection"),
    ("the certificate of the server is not trusted", "error-fetch-certificate"),
    ("the server answered with status ", "error-fetch-status"),
    ("the server redirected more than ", "error-fetch-redirects"),
    ("the page redirects too often", "error-fetch-redirects"),
    ("the response is incomplete or not valid HTTP", "error-fetch-response"),
    ("the response has a Content-Encoding", "error-fetch-encoding"),
    ("the response is larger than ", "error-fetch-large"),
    ("the fetch took longer than ", "error-fetch-slow"),
    ("the server says that the feed is gone", "reason-feed-gone"),
    ("the URL returns something other than a feed", "reason-feed-lost"),
    ("the feed at this URL is malformed", "error-feed-malformed"),
    ("the feed could not be read", "error-feed-unreadable"),
    ("the page has no text", "reason-no-text"),
    ("the page says that it does not exist", "reason-page-gone"),
    ("the page nests its elements too deeply", "reason-page-shape"),
    ("a tag of the page has too many attributes", "reason-page-shape"),
    ("this file type", "reason-file-type"),
    ("the file is not a PDF, audio or video file", "reason-file-type"),
    ("this kind of audio or video file", "reason-file-type"),
    ("there is no recording at the URL", "reason-no-recording"),
    ("the stored file is missing", "reason-file-missing"),
    ("the file has no audio track", "reason-no-audio"),
    ("the audio codec of the file", "reason-audio-codec"),
    ("the recording could not be transcribed", "reason-transcription"),
    ("the recording is longer than 24 hours", "reason-recording-long"),
    ("the file is protected by a password", "reason-password"),
    ("the encryption of the file", "reason-encryption"),
    ("the pages are images without text", "reason-images"),
    ("the pages are empty", "reason-no-text"),
    ("the fonts of the file", "reason-fonts"),
    ("the file has more than 20,000 pages", "reason-pages"),
    ("the file is damaged or not a PDF", "reason-pdf-damaged"),
    ("the file is damaged", "reason-damaged"),
    ("the file is too large", "reason-too-large"),
    ("the archive is too large when unpacked", "reason-archive-large"),
    ("a file that the archive lists is missing", "reason-archive-incomplete"),
    ("the format of the file was not recognised", "reason-format"),
    ("the file is not of the format that was named", "reason-format-other"),
    ("the file of the import is missing", "reason-import-missing"),
    ("waiting until fewer documents are in the queue", "reason-wait-queue"),
    ("waiting for the speech model", "reason-wait-model"),
    ("waiting until other recordings are transcribed", "reason-wait-recordings"),
    ("waiting until the pause of the AI ends", "reason-wait-ai"),
    ("waiting, because other requests to the same host", "reason-wait-host"),
    ("the process that read", "reason-reader"),
    ("reading the file ", "reason-reader-limit"),
    ("the server crashed each time", "reason-reader"),
    ("an internal error occurred", "reason-internal"),
    ("the disk of the server is full", "reason-disk"),
    ("the storage of the server failed", "reason-storage"),
    ("the library of this account is full", "reason-library-full"),
];

/// Returns what is in the way of a request, for errors whose code alone does not say it; `None` for others.
pub fn error_sentence(locale: &Locale, error: &Error) -> Option<String> {
    if let Error::UrlRejected { rejection, .. } = error {
        Some(url_sentence(locale, *rejection))
    } else if let Error::FeedNotFound(fault) = error {
        Some(feed_sentence(locale, fault))
    } else if let Error::TooLarge { limit, .. } = error {
        Some(locale.t_with("error-too-large", &[("size", Text(locale.bytes(*limit)))]))
    } else if let Error::UnknownRoute | Error::MethodNotAllowed(_) = error {
        Some(locale.t("error-unknown-route"))
    } else {
        None
    }
}

/// Returns the reason that is stored with failed or waiting work as a sentence of the page; `None` for one that has no sentence. The
/// address that a row of an import quotes follows the sentence.
pub fn stored_sentence(locale: &Locale, reason: &str) -> Option<String> {
    let reason =
        reason.strip_prefix(code::URL_REJECTED).map_or(reason, |rest| rest.trim_start_matches([':', ' ']));
    let rejection = UrlRejection::ALL.into_iter().find(|rejection| reason.starts_with(&*rejection.problem()));
    let sentence = match rejection {
        Some(rejection) => url_sentence(locale, rejection),
        None => listed_sentence(locale, reason)?,
    };
    let quoted = reason.split_once(": `").and_then(|(_, rest)| rest.split('`').next());
    Some(match quoted {
        Some(address) => format!("{sentence} {address}"),
        None => sentence,
    })
}

fn listed_sentence(locale: &Locale, reason: &str) -> Option<String> {
    STORED_REASONS.iter().find_map(|(beginning, key)| {
        let rest = reason.strip_prefix(beginning)?;
        let status: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(locale.t_with(key, &[("status", Text(status))]))
    })
}

/// Returns why an address is refused.
fn url_sentence(locale: &Locale, rejection: UrlRejection) -> String {
    let key = match rejection {
        UrlRejection::NotHttp => "error-url-scheme",
        UrlRejection::Malformed => "error-url-malformed",
        UrlRejection::TooLong => {
            return locale.t_with("error-url-long", &[("max", MAX_URL_CHARS.to_message_value())]);
        }
        UrlRejection::Credentials => "error-url-credentials",
        UrlRejection::LocalName | UrlRejection::Private => "error-url-private",
        UrlRejection::Own => "error-url-own",
        UrlRejection::Port => "error-url-port",
    };
    locale.t(key)
}

fn feed_sentence(locale: &Locale, fault: &FeedFault) -> String {
    let key = match fault {
        FeedFault::NoFeed => "error-feed-none",
        FeedFault::NoEntries => "error-feed-empty",
        FeedFault::Malformed => "error-feed-malformed",
        FeedFault::Unreadable(_) => "error-feed-unreadable",
        FeedFault::Fetch(error) => return fetch_sentence(locale, error),
        FeedFault::Delayed => "error-feed-delayed",
        FeedFault::SearchTimeout { seconds } => {
            return locale.t_with("error-feed-slow", &[("seconds", seconds.to_message_value())]);
        }
    };
    locale.t(key)
}

fn fetch_sentence(locale: &Locale, error: &FetchError) -> String {
    let key = match error {
        FetchError::Rejected(rejection) => return url_sentence(locale, *rejection),
        FetchError::Status { status, .. } => {
            // As a text: a status has no separators.
            return locale.t_with("error-fetch-status", &[("status", Text(status.to_string()))]);
        }
        FetchError::Timeout(_) => "error-fetch-slow",
        FetchError::TooLarge(_) => "error-fetch-large",
        FetchError::UnknownHost(_) => "error-fetch-host",
        FetchError::Unreachable(_) => "error-fetch-connection",
        FetchError::Untrusted(_) => "error-fetch-certificate",
        FetchError::TooManyRedirects => "error-fetch-redirects",
        FetchError::InvalidResponse(_) => "error-fetch-response",
        FetchError::UnsupportedEncoding => "error-fetch-encoding",
    };
    locale.t(key)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use jiff::tz::TimeZone;
    use parse::audio::AudioError;
    use parse::bookmarks::ImportError;
    use parse::html::ArticleError;
    use parse::pdf::PdfError;
    use sandbox::SandboxError;
    use values::kind::AppLanguage;
    use values::time::Timestamp;

    use super::*;

    fn german() -> Locale {
        let (zone, now) = (TimeZone::UTC, Timestamp::from_millis(0));
        Locale { language: AppLanguage::German, is_pseudo: false, zone, now }
    }

    fn stored(reason: &str) -> Option<String> {
        stored_sentence(&german(), reason)
    }

    #[test]
    fn refused_address_has_a_sentence_of_its_own() {
        let sentence = |error: Error| error_sentence(&german(), &error).unwrap();
        let fetch = |error| sentence(FeedFault::Fetch(Arc::new(error)).into());

        assert!(sentence(UrlRejection::Private.into()).contains("privates Netz"));
        assert!(sentence(UrlRejection::TooLong.into()).contains("8.192"));
        assert!(sentence(FeedFault::NoFeed.into()).contains("kein Feed"));
        let missing = FetchError::Status { status: 404, retry_after: None, host: String::new() };
        assert!(fetch(missing).contains("404"));
        assert!(fetch(FetchError::Timeout(Duration::from_secs(3))).contains("zu lange"));
    }

    /// The stored reasons are the messages of these errors, which must not change without their sentences.
    #[test]
    fn stored_messages_of_errors_have_sentences() {
        let fetch = [
            FetchError::Timeout(Duration::from_secs(30)),
            FetchError::TooLarge(20 << 20),
            FetchError::Status { status: 503, retry_after: None, host: String::new() },
            FetchError::TooManyRedirects,
            FetchError::UnsupportedEncoding,
        ];
        for error in fetch {
            let reason = format!("{error}; try again later");
            assert_eq!(stored(&reason), Some(fetch_sentence(&german(), &error)));
        }
        let parsers: [SandboxError; 20] = [
            SandboxError::Crashed,
            SandboxError::OutOfMemory,
            SandboxError::TimedOut,
            SandboxError::TooLarge,
            ArticleError::NoText.into(),
            ArticleError::NotFound.into(),
            ArticleError::TooDeep.into(),
            ArticleError::TooManyAttributes.into(),
            AudioError::UnknownContainer.into(),
            AudioError::NoAudioTrack.into(),
            AudioError::UnknownCodec.into(),
            AudioError::Damaged.into(),
            PdfError::PasswordProtected.into(),
            PdfError::UnknownEncryption.into(),
            PdfError::Damaged.into(),
            PdfError::ImagesOnly.into(),
            PdfError::UnmappedFonts.into(),
            ImportError::UnknownFormat.into(),
            ImportError::WrongFormat.into(),
            ImportError::MissingFile.into(),
        ];
        for error in parsers {
            assert!(stored(&error.to_string()).is_some(), "{error}");
        }
    }

    #[test]
    fn stored_rejection_shows_neither_code_nor_setting() {
        for rejection in UrlRejection::ALL {
            let reason = format!("{}: {rejection}", code::URL_REJECTED);
            assert_eq!(stored(&reason), Some(url_sentence(&german(), rejection)), "{reason}");
        }
    }

    #[test]
    fn address_of_a_row_follows_its_sentence() {
        let shown = stored("not an http(s) address: `ftp://a.example/3`").unwrap();

        assert!(shown.ends_with(" ftp://a.example/3"), "{shown}");
        assert_eq!(stored("unknown field `titel`"), None);
    }
}
