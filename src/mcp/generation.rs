//! The generation of MCP that a request belongs to, and whether its headers and its `_meta` agree.
//!
//! Modern revisions carry version and capabilities in every request and mirror them in headers; legacy ones begin with
//! `initialize`. The server keeps no state between requests, so each is judged by itself.

use actix_web::http::StatusCode;
use serde_json::{Map, Value, json};
use text::one_line;

use super::headers::{self, McpHeaders, SingleHeader, decode_name};
use super::rpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, RpcRequest};

/// The revision without a handshake, which is the newest one.
pub const MODERN: &str = "2026-07-28";
/// The revisions with a handshake, newest first.
// claude.ai, Claude Desktop and ChatGPT begin with `initialize`, so a server of the newest revision alone locks them out.
pub const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Every supported revision, newest first.
pub const SUPPORTED: [&str; 5] = [MODERN, LEGACY[0], LEGACY[1], LEGACY[2], LEGACY[3]];

/// A header is missing, or differs from what it repeats of the body.
pub const HEADER_MISMATCH: i32 = -32020;
/// The protocol version is not supported; `error.data` lists the supported ones.
pub const UNSUPPORTED_VERSION: i32 = -32022;

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// The two generations of MCP, which differ in where a request states its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolGeneration {
    /// The revisions that begin with `initialize`.
    Legacy,
    /// The revisions without a handshake: every request carries everything.
    Modern,
}

/// A supported method of at least one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpMethod {
    /// `initialize`, the handshake of legacy revisions.
    Initialize,
    /// `ping`, which only legacy revisions have.
    Ping,
    /// `server/discover`: the contents of the handshake.
    Discover,
    /// `tools/list`, whose result depends on the caller.
    ListTools,
    /// `tools/call`, the only method that counts towards the limits.
    CallTool,
}

impl McpMethod {
    /// Returns the method of this name; `None` if this generation does not have it.
    fn find(name: &str, generation: ProtocolGeneration) -> Option<Self> {
        match (name, generation) {
            (INITIALIZE, ProtocolGeneration::Legacy) => Some(Self::Initialize),
            ("ping", ProtocolGeneration::Legacy) => Some(Self::Ping),
            (DISCOVER, ProtocolGeneration::Modern) => Some(Self::Discover),
            ("tools/list", ProtocolGeneration::Legacy | ProtocolGeneration::Modern) => Some(Self::ListTools),
            ("tools/call", ProtocolGeneration::Legacy | ProtocolGeneration::Modern) => Some(Self::CallTool),
            (_, ProtocolGeneration::Legacy | ProtocolGeneration::Modern) => None,
        }
    }
}

const INITIALIZE: &str = "initialize";
const DISCOVER: &str = "server/discover";

/// Returns the generation and the method of a request.
///
/// # Errors
/// [`RpcError`] when the version or the method is not supported, or headers and `_meta` are incomplete or differ.
pub fn identify(
    headers: &McpHeaders<'_>,
    request: &RpcRequest,
) -> Result<(ProtocolGeneration, McpMethod), RpcError> {
    let header = match headers.version {
        SingleHeader::Malformed => return Err(mismatch(headers::VERSION)),
        SingleHeader::Missing => None,
        SingleHeader::Value(version) => Some(version),
    };
    let version_member = meta(&request.params, VERSION_KEY);
    let stated = version_member.and_then(Value::as_str);
    if let (Some(header), Some(stated)) = (header, stated)
        && header != stated
    {
        return Err(mismatch(headers::VERSION));
    }
    let version = stated.or(header);
    // A version that is not legacy counts as modern, so that a client of a future revision
    // learns which ones are supported.
    let is_modern = match version {
        Some(version) => request.method == DISCOVER || !LEGACY.contains(&version),
        None => request.method == DISCOVER || version_member.is_some(),
    };
    if !is_modern {
        let method = McpMethod::find(&request.method, ProtocolGeneration::Legacy)
            // The status differs by generation: 200 for legacy revisions, and 404 since 2026-07-28.
            .ok_or_else(|| not_found(StatusCode::OK))?;
        return Ok((ProtocolGeneration::Legacy, method));
    }
    // `server/discover` is modern whatever the header says. A legacy version in the header alone is not reported as unsupported:
    // what is wrong then is the missing `_meta`.
    let has_legacy_header_only = stated.is_none() && version.is_some_and(|version| LEGACY.contains(&version));
    if let Some(version) = version.filter(|version| *version != MODERN && !has_legacy_header_only) {
        return Err(unsupported(version));
    }
    // The method before `_meta`: an `initialize` with modern headers must be answered as
    // unknown, whatever else it lacks.
    let method = McpMethod::find(&request.method, ProtocolGeneration::Modern)
        .ok_or_else(|| not_found(StatusCode::NOT_FOUND))?;
    if stated.is_none() {
        return Err(RpcError::bad_request(
            INVALID_PARAMS,
            format!("_meta must have the member {VERSION_KEY}, a string"),
        ));
    }
    if !meta(&request.params, CAPABILITIES_KEY).is_some_and(Value::is_object) {
        return Err(RpcError::bad_request(
            INVALID_PARAMS,
            format!("_meta must have the member {CAPABILITIES_KEY}, an object"),
        ));
    }
    if header.is_none() {
        return Err(mismatch(headers::VERSION));
    }
    // Values are compared with case; names of headers are not.
    if headers.method != SingleHeader::Value(&request.method) {
        return Err(mismatch(headers::METHOD));
    }
    if method == McpMethod::CallTool {
        compare_names(headers.name, &request.params)?;
    }
    Ok((ProtocolGeneration::Modern, method))
}

/// Checks that the header names the tool that the body names. A body without a name is refused later.
fn compare_names(header: SingleHeader<'_>, params: &Map<String, Value>) -> Result<(), RpcError> {
    let Some(name) = params.get("name").and_then(Value::as_str) else { return Ok(()) };
    match header {
        SingleHeader::Value(text) if decode_name(text).as_deref() == Some(name) => Ok(()),
        SingleHeader::Value(_) | SingleHeader::Missing | SingleHeader::Malformed => {
            Err(mismatch(headers::NAME))
        }
    }
}

/// Returns the name of the client in the `_meta` of a modern request; `None` if it has none.
pub fn client_of_request(params: &Map<String, Value>) -> Option<String> {
    client_name(meta(params, CLIENT_KEY)?)
}

/// Returns the name of the client in an `initialize`; `None` for other methods.
pub fn client_of_handshake(request: &RpcRequest) -> Option<String> {
    (request.method == INITIALIZE).then(|| request.params.get("clientInfo").and_then(client_name)).flatten()
}

/// Name and version of a `clientInfo`, as they are stored and shown: one line of at most 201 characters.
fn client_name(info: &Value) -> Option<String> {
    let part = |name: &str| {
        let text = info.get(name).and_then(Value::as_str).unwrap_or_default();
        let plain: String = one_line(text).chars().take(100).collect();
        plain.trim_end().to_owned()
    };
    let (name, version) = (part("name"), part("version"));
    if name.is_empty() { None } else { Some(format!("{name} {version}").trim_end().to_owned()) }
}

fn meta<'a>(params: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    params.get("_meta")?.get(key)
}

fn mismatch(header: &str) -> RpcError {
    RpcError::bad_request(
        HEADER_MISMATCH,
        format!("header mismatch: {header} is missing, or differs from the body"),
    )
}

fn unsupported(version: &str) -> RpcError {
    RpcError::bad_request(
        UNSUPPORTED_VERSION,
        "unsupported protocol version; error.data.supported lists the supported ones",
    )
    .with_data(json!({ "supported": SUPPORTED, "requested": version }))
}

fn not_found(status: StatusCode) -> RpcError {
    RpcError::new(status, METHOD_NOT_FOUND, "method not found")
}

#[cfg(test)]
mod tests {
    use super::super::rpc::RpcId;
    use super::*;

    const NO_HEADERS: McpHeaders<'static> = McpHeaders {
        version: SingleHeader::Missing,
        method: SingleHeader::Missing,
        name: SingleHeader::Missing,
    };

    fn request(method: &str, params: Value) -> RpcRequest {
        let Value::Object(params) = params else { panic!("no object") };
        RpcRequest { id: RpcId::Number(1.into()), method: method.to_owned(), params }
    }

    fn modern(version: &str) -> Value {
        json!({ "_meta": { VERSION_KEY: version, CAPABILITIES_KEY: {} } })
    }

    fn header(version: &'static str, method: &'static str) -> McpHeaders<'static> {
        McpHeaders {
            version: SingleHeader::Value(version),
            method: SingleHeader::Value(method),
            ..NO_HEADERS
        }
    }

    fn refusal(headers: &McpHeaders<'_>, request: &RpcRequest) -> (u16, i32) {
        identify(headers, request).unwrap_err().status_and_code()
    }

    #[test]
    fn legacy_request_names_a_legacy_revision_or_none() {
        for version in
            [SingleHeader::Missing, SingleHeader::Value("2025-11-25"), SingleHeader::Value("2024-11-05")]
        {
            let headers = McpHeaders { version, ..NO_HEADERS };
            assert_eq!(
                identify(&headers, &request("ping", json!({}))).ok(),
                Some((ProtocolGeneration::Legacy, McpMethod::Ping))
            );
        }
        assert_eq!(refusal(&NO_HEADERS, &request("no/such", json!({}))), (200, METHOD_NOT_FOUND));
    }

    #[test]
    fn unknown_revision_is_refused_with_the_supported_ones() {
        for (headers, params) in [
            (header("1999-01-01", "ping"), json!({})),
            (header("2099-01-01", "tools/list"), modern("2099-01-01")),
            (NO_HEADERS, modern("2099-01-01")),
        ] {
            assert_eq!(refusal(&headers, &request("tools/list", params)), (400, UNSUPPORTED_VERSION));
        }
    }

    #[test]
    fn modern_request_is_accepted_when_headers_and_meta_agree() {
        let request = request("tools/list", modern(MODERN));
        assert_eq!(
            identify(&header(MODERN, "tools/list"), &request).ok(),
            Some((ProtocolGeneration::Modern, McpMethod::ListTools))
        );
    }

    #[test]
    fn missing_or_different_headers_are_a_mismatch() {
        let request = request("tools/list", modern(MODERN));
        for headers in [
            NO_HEADERS,
            header("2025-06-18", "tools/list"),
            header(MODERN, "TOOLS/LIST"),
            McpHeaders { method: SingleHeader::Missing, ..header(MODERN, "") },
            McpHeaders { version: SingleHeader::Malformed, ..header(MODERN, "tools/list") },
        ] {
            assert_eq!(refusal(&headers, &request), (400, HEADER_MISMATCH), "{headers:?}");
        }
    }

    #[test]
    fn name_of_a_tool_is_mirrored_plain_or_encoded() {
        let mut params = modern(MODERN);
        params["name"] = json!("get_document");
        let request = request("tools/call", params);
        let headers_with = |name| McpHeaders { name, ..header(MODERN, "tools/call") };

        for good in ["get_document", "=?base64?Z2V0X2RvY3VtZW50?="] {
            assert!(identify(&headers_with(SingleHeader::Value(good)), &request).is_ok(), "{good}");
        }
        for bad in [
            SingleHeader::Missing,
            SingleHeader::Malformed,
            SingleHeader::Value("search_library"),
            SingleHeader::Value("=?base64?!?="),
        ] {
            assert_eq!(refusal(&headers_with(bad), &request), (400, HEADER_MISMATCH), "{bad:?}");
        }
    }

    #[test]
    fn modern_request_without_meta_has_invalid_parameters() {
        let headers = header(MODERN, DISCOVER);
        for params in [
            json!({}),
            json!({ "_meta": { CAPABILITIES_KEY: {} } }),
            json!({ "_meta": { VERSION_KEY: 7, CAPABILITIES_KEY: {} } }),
            json!({ "_meta": { VERSION_KEY: MODERN } }),
            json!({ "_meta": { VERSION_KEY: MODERN, CAPABILITIES_KEY: [] } }),
        ] {
            assert_eq!(refusal(&headers, &request(DISCOVER, params)), (400, INVALID_PARAMS));
        }
        assert_eq!(refusal(&NO_HEADERS, &request(DISCOVER, json!({}))), (400, INVALID_PARAMS));
    }

    #[test]
    fn methods_that_the_modern_revision_dropped_are_not_found() {
        for method in ["initialize", "ping", "logging/setLevel", "resources/list", "subscriptions/listen"] {
            let request = request(method, modern(MODERN));
            assert_eq!(refusal(&header(MODERN, "x"), &request), (404, METHOD_NOT_FOUND), "{method}");
        }
    }

    #[test]
    fn client_is_one_short_line_of_name_and_version() {
        let name_of = |info: Value| client_name(&info);

        assert_eq!(name_of(json!({ "name": " Robot ", "version": "4.2" })).as_deref(), Some("Robot 4.2"));
        assert_eq!(name_of(json!({ "name": "Robot\n\u{7}" })).as_deref(), Some("Robot"));
        assert_eq!(name_of(json!({ "name": "x".repeat(900), "version": "1" })).unwrap().len(), 102);
        for nameless in [json!({}), json!({ "version": "1" }), json!({ "name": 7 }), json!("Robot")] {
            assert_eq!(name_of(nameless), None);
        }
    }
}
