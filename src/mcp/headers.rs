//! What the headers of a request say, before anything is made of it: the three that mirror the body, and media types.

use actix_web::HttpRequest;
use actix_web::http::header::{ACCEPT, Accept, Header as _, Quality};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Which revision the client speaks.
pub const VERSION: &str = "MCP-Protocol-Version";
/// Mirrors `method`.
pub const METHOD: &str = "Mcp-Method";
/// Mirrors `params.name`.
pub const NAME: &str = "Mcp-Name";

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// It is not there.
    Nothing,
    /// One value, without the space around it.
    Text(&'a str),
    /// More than one value, or bytes that no text has.
    Garbled,
}

/// The headers that mirror the body.
#[derive(Clone, Copy, Debug)]
pub struct Mirrored<'a> {
    /// [`VERSION`].
    pub version: Said<'a>,
    /// [`METHOD`].
    pub method: Said<'a>,
    /// [`NAME`].
    pub name: Said<'a>,
}

impl<'a> Mirrored<'a> {
    /// Those of a request.
    pub fn of(request: &'a HttpRequest) -> Self {
        Self { version: said(request, VERSION), method: said(request, METHOD), name: said(request, NAME) }
    }
}

/// What the one header of this name says.
pub fn said<'a>(request: &'a HttpRequest, name: &str) -> Said<'a> {
    let mut values = request.headers().get_all(name);
    match (values.next(), values.next()) {
        (None, _) => Said::Nothing,
        (Some(value), None) => value.to_str().map_or(Said::Garbled, |text| Said::Text(text.trim())),
        (Some(_), Some(_)) => Said::Garbled,
    }
}

/// The text behind a mirrored name: `=?base64?...?=` carries what plain ASCII cannot. `None` where that is broken.
pub fn decoded(text: &str) -> Option<String> {
    match text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

/// Whether a JSON answer is taken. Clients that say nothing, or nothing that can be read, take it; only a list that
/// leaves JSON out does not.
pub fn takes_json(request: &HttpRequest) -> bool {
    if !request.headers().contains_key(ACCEPT) {
        return true;
    }
    let Ok(Accept(ranges)) = Accept::parse(request) else { return true };
    ranges.is_empty()
        || ranges
            .iter()
            .filter(|range| range.quality > Quality::ZERO)
            .any(|range| matches!(range.item.essence_str(), "application/json" | "application/*" | "*/*"))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_header_says_one_trimmed_text_or_is_garbled() {
        let request = TestRequest::default()
            .append_header((VERSION, " 2026-07-28 "))
            .append_header((METHOD, "ping"))
            .append_header((METHOD, "tools/list"))
            .to_http_request();

        let mirrored = Mirrored::of(&request);

        assert_eq!(mirrored.version, Said::Text("2026-07-28"));
        assert_eq!(mirrored.method, Said::Garbled);
        assert_eq!(mirrored.name, Said::Nothing);
    }

    #[test]
    fn only_the_whole_sentinel_is_decoded() {
        assert_eq!(decoded("=?base64?SGVsbG8=?=").as_deref(), Some("Hello"));
        assert_eq!(decoded("SGVsbG8=").as_deref(), Some("SGVsbG8="));
        assert_eq!(decoded("=?base64?SGVsbG8=").as_deref(), Some("=?base64?SGVsbG8="));
        assert_eq!(decoded("=?BASE64?SGVsbG8=?=").as_deref(), Some("=?BASE64?SGVsbG8=?="));
    }

    #[test]
    fn a_broken_sentinel_is_no_text() {
        for broken in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?/w==?="] {
            assert_eq!(decoded(broken), None, "{broken}");
        }
    }

    #[test]
    fn json_is_taken_unless_a_list_leaves_it_out() {
        for (accept, taken) in [
            ("application/json, text/event-stream", true),
            ("*/*", true),
            ("application/*;q=0.1", true),
            ("nonsense;;", true),
            ("text/event-stream", false),
            ("application/json;q=0, text/html", false),
        ] {
            let request = TestRequest::default().insert_header((ACCEPT, accept)).to_http_request();
            assert_eq!(takes_json(&request), taken, "{accept}");
        }
        assert!(takes_json(&TestRequest::default().to_http_request()));
    }

    proptest! {
        #[test]
        fn every_text_survives_the_sentinel(text in ".*") {
            prop_assert_eq!(decoded(&format!("=?base64?{}?=", STANDARD.encode(&text))), Some(text));
        }
    }
}
