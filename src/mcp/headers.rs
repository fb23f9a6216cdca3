//! Reads the headers of a request: the three that mirror the body, and the accepted media types.

use actix_web::HttpRequest;
use actix_web::http::header::{ACCEPT, Accept, Header as _, HeaderName, Quality};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The header with the protocol revision of the client. Legacy clients of early revisions send none.
pub const VERSION: &str = "MCP-Protocol-Version";
/// The header that repeats `method` of the body, so that proxies can route without parsing it.
pub const METHOD: &str = "Mcp-Method";
/// The header that repeats `params.name` of the body, possibly encoded ([`decode_name`]).
pub const NAME: &str = "Mcp-Name";

// The same names in the form in which headers are stored, so that none is parsed for each request.
const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");

/// The values of `Accept` that MCP clients and HTTP libraries send. Both accept JSON.
const COMMON_ACCEPT_VALUES: [&[u8]; 2] = [b"application/json, text/event-stream", b"*/*"];

/// A header that may be sent once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SingleHeader<'a> {
    /// The request does not have the header.
    Missing,
    /// One value, without surrounding whitespace.
    Value(&'a str),
    /// More than one value, or a value that is not visible ASCII.
    Malformed,
}

/// The headers that repeat parts of the body.
#[derive(Clone, Copy, Debug)]
pub struct McpHeaders<'a> {
    /// The value of [`VERSION`], the protocol revision.
    pub version: SingleHeader<'a>,
    /// The value of [`METHOD`], which is compared with the body.
    pub method: SingleHeader<'a>,
    /// The value of [`NAME`], not decoded yet.
    pub name: SingleHeader<'a>,
}

impl<'a> McpHeaders<'a> {
    /// Reads the three headers of a request; whether they agree with the body is checked later.
    pub fn from_request(request: &'a HttpRequest) -> Self {
        Self {
            version: single_header(request, VERSION_HEADER),
            method: single_header(request, METHOD_HEADER),
            name: single_header(request, NAME_HEADER),
        }
    }
}

/// Reads the header of this name.
pub fn single_header(request: &HttpRequest, name: HeaderName) -> SingleHeader<'_> {
    let mut values = request.headers().get_all(name);
    match (values.next(), values.next()) {
        (None, _) => SingleHeader::Missing,
        (Some(value), None) => {
            value.to_str().map_or(SingleHeader::Malformed, |text| SingleHeader::Value(text.trim()))
        }
        // Proxy and server could each read another one of two values.
        (Some(_), Some(_)) => SingleHeader::Malformed,
    }
}

/// Decodes a mirrored name: `=?base64?...?=` carries what plain ASCII cannot. `None` if the encoding is invalid.
pub fn decode_name(text: &str) -> Option<String> {
    match text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

/// Returns whether the client accepts a JSON response. A missing or invalid `Accept` accepts it; only a list without JSON does not.
pub fn accepts_json(request: &HttpRequest) -> bool {
    let mut values = request.headers().get_all(ACCEPT).peekable();
    // One range of JSON suffices, whatever the other values are.
    if values.peek().is_none() || values.any(|value| COMMON_ACCEPT_VALUES.contains(&value.as_bytes())) {
        return true;
    }
    // The specification requires two media types in `Accept`. Requiring them here would only
    // refuse clients such as curl.
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
    fn header_is_one_trimmed_value_or_malformed() {
        let request = TestRequest::default()
            .append_header((VERSION, " 2026-07-28 "))
            .append_header((METHOD, "ping"))
            .append_header((METHOD, "tools/list"))
            .to_http_request();

        let headers = McpHeaders::from_request(&request);

        assert_eq!(headers.version, SingleHeader::Value("2026-07-28"));
        assert_eq!(headers.method, SingleHeader::Malformed);
        assert_eq!(headers.name, SingleHeader::Missing);
    }

    #[test]
    fn stored_names_are_those_that_messages_show() {
        for (stored, shown) in [(VERSION_HEADER, VERSION), (METHOD_HEADER, METHOD), (NAME_HEADER, NAME)] {
            assert!(stored.as_str().eq_ignore_ascii_case(shown), "{shown}");
        }
    }

    #[test]
    fn part_of_the_sentinel_is_not_decoded() {
        assert_eq!(decode_name("=?base64?SGVsbG8=?=").as_deref(), Some("Hello"));
        assert_eq!(decode_name("SGVsbG8=").as_deref(), Some("SGVsbG8="));
        assert_eq!(decode_name("=?base64?SGVsbG8=").as_deref(), Some("=?base64?SGVsbG8="));
        assert_eq!(decode_name("=?BASE64?SGVsbG8=?=").as_deref(), Some("=?BASE64?SGVsbG8=?="));
    }

    #[test]
    fn broken_sentinel_is_no_text() {
        for broken in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?/w==?="] {
            assert_eq!(decode_name(broken), None, "{broken}");
        }
    }

    #[test]
    fn json_is_accepted_unless_a_list_omits_it() {
        for (accept, accepted) in [
            ("application/json, text/event-stream", true),
            ("*/*", true),
            ("application/*;q=0.1", true),
            ("nonsense;;", true),
            ("text/event-stream", false),
            ("application/json;q=0, text/html", false),
        ] {
            let request = TestRequest::default().insert_header((ACCEPT, accept)).to_http_request();
            assert_eq!(accepts_json(&request), accepted, "{accept}");
        }
        assert!(accepts_json(&TestRequest::default().to_http_request()));
    }

    proptest! {
        #[test]
        fn every_text_survives_the_sentinel(text in ".*") {
            prop_assert_eq!(decode_name(&format!("=?base64?{}?=", STANDARD.encode(&text))), Some(text));
        }
    }
}
