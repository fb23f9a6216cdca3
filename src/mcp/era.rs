//! Which era of MCP a request belongs to, and whether it says so rightly (design: MCP on the wire).
//!
//! Modern revisions carry version and capabilities in every request and mirror them in headers; legacy ones begin with
//! `initialize`. Nothing is remembered between requests, so each is judged by what it says itself.

use actix_web::http::StatusCode;
use serde_json::{Map, Value, json};
use text::one_line;

use super::headers::{self, Mirrored, Said, decoded};
use super::rpc::{Failure, INVALID_PARAMS, METHOD_NOT_FOUND, Request};

/// The revision without a handshake.
pub const MODERN: &str = "2026-07-28";
/// Those with a handshake, newest first.
pub const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Every revision that is spoken, newest first.
pub const SUPPORTED: [&str; 5] = [MODERN, LEGACY[0], LEGACY[1], LEGACY[2], LEGACY[3]];

/// The headers do not say what the body says.
pub const HEADER_MISMATCH: i32 = -32020;
/// The version is not spoken here.
pub const UNSUPPORTED_VERSION: i32 = -32022;

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// The two ways of speaking MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// With `initialize`.
    Legacy,
    /// With everything in every request.
    Modern,
}

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The handshake.
    Initialize,
    /// Are you there?
    Ping,
    /// What the handshake would have told.
    Discover,
    /// Which tools there are.
    ListTools,
    /// Use one.
    CallTool,
}

impl Method {
    /// The method of this name, in the eras that have it.
    fn named(name: &str, era: Era) -> Option<Self> {
        match (name, era) {
            (INITIALIZE, Era::Legacy) => Some(Self::Initialize),
            ("ping", Era::Legacy) => Some(Self::Ping),
            (DISCOVER, Era::Modern) => Some(Self::Discover),
            ("tools/list", Era::Legacy | Era::Modern) => Some(Self::ListTools),
            ("tools/call", Era::Legacy | Era::Modern) => Some(Self::CallTool),
            (_, Era::Legacy | Era::Modern) => None,
        }
    }
}

const INITIALIZE: &str = "initialize";
const DISCOVER: &str = "server/discover";

/// The era of a request and what it asks for, where its headers and its `_meta` are as they must be.
pub fn of(mirrored: &Mirrored<'_>, request: &Request) -> Result<(Era, Method), Failure> {
    let header = match mirrored.version {
        Said::Garbled => return Err(mismatch(headers::VERSION)),
        Said::Nothing => None,
        Said::Text(version) => Some(version),
    };
    let named = meta(&request.params, VERSION_KEY);
    let stated = named.and_then(Value::as_str);
    if let (Some(header), Some(stated)) = (header, stated)
        && header != stated
    {
        return Err(mismatch(headers::VERSION));
    }
    let version = stated.or(header);
    let modern = match version {
        Some(version) => request.method == DISCOVER || !LEGACY.contains(&version),
        None => request.method == DISCOVER || named.is_some(),
    };
    if !modern {
        let method = Method::named(&request.method, Era::Legacy).ok_or_else(|| not_found(StatusCode::OK))?;
        return Ok((Era::Legacy, method));
    }
    // Asking what there is belongs to the new era alone, whatever the header says: then the body has to say which.
    let named_by_nothing_new = stated.is_none() && version.is_some_and(|version| LEGACY.contains(&version));
    if let Some(version) = version.filter(|version| *version != MODERN && !named_by_nothing_new) {
        return Err(unsupported(version));
    }
    let method =
        Method::named(&request.method, Era::Modern).ok_or_else(|| not_found(StatusCode::NOT_FOUND))?;
    if stated.is_none() {
        return Err(Failure::bad(
            INVALID_PARAMS,
            format!("_meta must have the member {VERSION_KEY}, a string"),
        ));
    }
    if !meta(&request.params, CAPABILITIES_KEY).is_some_and(Value::is_object) {
        return Err(Failure::bad(
            INVALID_PARAMS,
            format!("_meta must have the member {CAPABILITIES_KEY}, an object"),
        ));
    }
    if header.is_none() {
        return Err(mismatch(headers::VERSION));
    }
    if mirrored.method != Said::Text(&request.method) {
        return Err(mismatch(headers::METHOD));
    }
    if method == Method::CallTool {
        named_alike(mirrored.name, &request.params)?;
    }
    Ok((Era::Modern, method))
}

/// The name in the header is the name in the body. A body without one is refused later, for what it lacks.
fn named_alike(header: Said<'_>, params: &Map<String, Value>) -> Result<(), Failure> {
    let Some(name) = params.get("name").and_then(Value::as_str) else { return Ok(()) };
    match header {
        Said::Text(text) if decoded(text).as_deref() == Some(name) => Ok(()),
        Said::Text(_) | Said::Nothing | Said::Garbled => Err(mismatch(headers::NAME)),
    }
}

/// What the client of a modern request calls itself.
pub fn client(params: &Map<String, Value>) -> Option<String> {
    introduced(meta(params, CLIENT_KEY)?)
}

/// What the client of an `initialize` calls itself.
pub fn introduction(request: &Request) -> Option<String> {
    (request.method == INITIALIZE).then(|| request.params.get("clientInfo").and_then(introduced)).flatten()
}

/// Name and version of a `clientInfo`, as they are shown and kept: one line of at most 201 characters.
fn introduced(info: &Value) -> Option<String> {
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

fn mismatch(header: &str) -> Failure {
    Failure::bad(HEADER_MISMATCH, format!("header mismatch: {header} is missing, or differs from the body"))
}

fn unsupported(version: &str) -> Failure {
    Failure::bad(
        UNSUPPORTED_VERSION,
        "unsupported protocol version; error.data.supported lists the supported ones",
    )
    .with_data(json!({ "supported": SUPPORTED, "requested": version }))
}

fn not_found(status: StatusCode) -> Failure {
    Failure::new(status, METHOD_NOT_FOUND, "method not found")
}

#[cfg(test)]
mod tests {
    use super::super::rpc::Id;
    use super::*;

    const SILENT: Mirrored<'static> =
        Mirrored { version: Said::Nothing, method: Said::Nothing, name: Said::Nothing };

    fn asked(method: &str, params: Value) -> Request {
        let Value::Object(params) = params else { panic!("no object") };
        Request { id: Id::Number(1.into()), method: method.to_owned(), params }
    }

    fn modern(version: &str) -> Value {
        json!({ "_meta": { VERSION_KEY: version, CAPABILITIES_KEY: {} } })
    }

    fn header(version: &'static str, method: &'static str) -> Mirrored<'static> {
        Mirrored { version: Said::Text(version), method: Said::Text(method), ..SILENT }
    }

    fn refused(mirrored: &Mirrored<'_>, request: &Request) -> (u16, i32) {
        of(mirrored, request).unwrap_err().told()
    }

    #[test]
    fn a_legacy_request_names_a_legacy_revision_or_none() {
        for version in [Said::Nothing, Said::Text("2025-11-25"), Said::Text("2024-11-05")] {
            let mirrored = Mirrored { version, ..SILENT };
            assert_eq!(of(&mirrored, &asked("ping", json!({}))).ok(), Some((Era::Legacy, Method::Ping)));
        }
        assert_eq!(refused(&SILENT, &asked("no/such", json!({}))), (200, METHOD_NOT_FOUND));
    }

    #[test]
    fn an_unknown_revision_is_refused_with_those_spoken_here() {
        for (mirrored, params) in [
            (header("1999-01-01", "ping"), json!({})),
            (header("2099-01-01", "tools/list"), modern("2099-01-01")),
            (SILENT, modern("2099-01-01")),
        ] {
            assert_eq!(refused(&mirrored, &asked("tools/list", params)), (400, UNSUPPORTED_VERSION));
        }
    }

    #[test]
    fn a_modern_request_is_taken_when_headers_and_meta_agree() {
        let request = asked("tools/list", modern(MODERN));
        assert_eq!(of(&header(MODERN, "tools/list"), &request).ok(), Some((Era::Modern, Method::ListTools)));
    }

    #[test]
    fn headers_that_are_missing_or_differ_are_a_mismatch() {
        let request = asked("tools/list", modern(MODERN));
        for mirrored in [
            SILENT,
            header("2025-06-18", "tools/list"),
            header(MODERN, "TOOLS/LIST"),
            Mirrored { method: Said::Nothing, ..header(MODERN, "") },
            Mirrored { version: Said::Garbled, ..header(MODERN, "tools/list") },
        ] {
            assert_eq!(refused(&mirrored, &request), (400, HEADER_MISMATCH), "{mirrored:?}");
        }
    }

    #[test]
    fn the_tools_name_is_mirrored_plain_or_encoded() {
        let mut params = modern(MODERN);
        params["name"] = json!("get_document");
        let request = asked("tools/call", params);
        let named = |name| Mirrored { name, ..header(MODERN, "tools/call") };

        for good in ["get_document", "=?base64?Z2V0X2RvY3VtZW50?="] {
            assert!(of(&named(Said::Text(good)), &request).is_ok(), "{good}");
        }
        for bad in [Said::Nothing, Said::Garbled, Said::Text("search_library"), Said::Text("=?base64?!?=")] {
            assert_eq!(refused(&named(bad), &request), (400, HEADER_MISMATCH), "{bad:?}");
        }
    }

    #[test]
    fn a_modern_request_without_its_meta_has_invalid_parameters() {
        let mirrored = header(MODERN, DISCOVER);
        for params in [
            json!({}),
            json!({ "_meta": { CAPABILITIES_KEY: {} } }),
            json!({ "_meta": { VERSION_KEY: 7, CAPABILITIES_KEY: {} } }),
            json!({ "_meta": { VERSION_KEY: MODERN } }),
            json!({ "_meta": { VERSION_KEY: MODERN, CAPABILITIES_KEY: [] } }),
        ] {
            assert_eq!(refused(&mirrored, &asked(DISCOVER, params)), (400, INVALID_PARAMS));
        }
        assert_eq!(refused(&SILENT, &asked(DISCOVER, json!({}))), (400, INVALID_PARAMS));
    }

    #[test]
    fn what_the_modern_revision_dropped_is_not_found() {
        for method in ["initialize", "ping", "logging/setLevel", "resources/list", "subscriptions/listen"] {
            let request = asked(method, modern(MODERN));
            assert_eq!(refused(&header(MODERN, "x"), &request), (404, METHOD_NOT_FOUND), "{method}");
        }
    }

    #[test]
    fn a_client_is_one_short_line_of_name_and_version() {
        let said = |info: Value| introduced(&info);

        assert_eq!(said(json!({ "name": " Robot ", "version": "4.2" })).as_deref(), Some("Robot 4.2"));
        assert_eq!(said(json!({ "name": "Robot\n\u{7}" })).as_deref(), Some("Robot"));
        assert_eq!(said(json!({ "name": "x".repeat(900), "version": "1" })).unwrap().len(), 102);
        for nameless in [json!({}), json!({ "version": "1" }), json!({ "name": 7 }), json!("Robot")] {
            assert_eq!(said(nameless), None);
        }
    }
}
