//! Every code that REST may answer with, and which routes may (spec.md: Errors; contract.md, section 2).

use actix_web::http::Method;
use actors::fields::{Field, Kind};

use super::operation;
use crate::http::table::Route;

/// A code.
#[derive(Debug)]
pub struct Code {
    /// Its name.
    pub name: &'static str,
    /// The status that it comes with.
    pub status: u16,
    /// When it comes.
    pub about: &'static str,
    whose: Whose,
}

/// Which routes may answer with a code.
#[derive(Clone, Copy, Debug)]
enum Whose {
    /// Any.
    Any,
    /// Those that need a scope.
    Scoped,
    /// Those that name a thing by its id or its name.
    Naming,
    /// Those that take a body.
    WithBody,
    /// Those whose body names an address, and these.
    Addressing(&'static [&'static str]),
    /// POST, by reason of its Idempotency-Key.
    Post,
    /// These.
    These(&'static [&'static str]),
}

const fn code(name: &'static str, status: u16, whose: Whose, about: &'static str) -> Code {
    Code { name, status, about, whose }
}

const COMPLETE: &[&str] = &["POST /uploads/:id/complete"];
const INTO_PROJECTS: &[&str] = &["POST /projects/:id/items", "POST /projects/:id/notes"];

/// All of them.
pub static CODES: &[Code] = &[
    code(
        "VALIDATION_FAILED",
        400,
        Whose::Any,
        "a parameter or field is unknown, repeated, missing or out of its bounds",
    ),
    code("API_KEY_INVALID", 401, Whose::Any, "the key is missing, unknown, revoked or expired"),
    code("API_KEY_IN_QUERY", 401, Whose::Any, "a key stands in the URL"),
    code("PLAN_REQUIRED", 402, Whose::Any, "the plan does not include this"),
    code(
        "PLAN_LIMIT_REACHED",
        402,
        Whose::These(&["POST /ask", "POST /uploads"]),
        "a count that the plan sets is reached",
    ),
    code("AI_QUOTA_EXCEEDED", 402, Whose::These(&["POST /ask"]), "this month's AI budget is used"),
    code(
        "PROJECT_LIMIT_REACHED",
        402,
        Whose::These(&["POST /projects/:id/items"]),
        "the project has as many items as the plan allows",
    ),
    code("SCOPE_REQUIRED", 403, Whose::Scoped, "the key lacks the scopes that `details.scopes` lists"),
    code("NOT_FOUND", 404, Whose::Naming, "it does not exist, or it is not yours"),
    code("REQUEST_TIMEOUT", 408, Whose::WithBody, "the body did not arrive in time"),
    code(
        "CONFLICT",
        409,
        Whose::Post,
        "an Idempotency-Key of another request, or of one that still runs; or what is asked does not go with what is there",
    ),
    code("PROJECT_ARCHIVED", 409, Whose::These(INTO_PROJECTS), "the project is archived"),
    code("UPLOAD_INCOMPLETE", 409, Whose::These(COMPLETE), "the bytes have not arrived whole"),
    code("UPLOAD_EXPIRED", 410, Whose::These(COMPLETE), "the upload's time has passed without its bytes"),
    code("PAYLOAD_TOO_LARGE", 413, Whose::WithBody, "the body, or what it announces, is larger than may be"),
    code(
        "UNSUPPORTED_MEDIA_TYPE",
        415,
        Whose::WithBody,
        "the body is not JSON, or it announces a type that is not taken",
    ),
    code(
        "URL_REJECTED",
        422,
        Whose::Addressing(&["POST /bookmarks/:id/refetch"]),
        "the address is not http(s), carries credentials, or leads to a private place or to this service itself",
    ),
    code(
        "FEED_NOT_FOUND",
        422,
        Whose::These(&["POST /feeds", "POST /feeds/discover", "POST /feeds/:id/refresh"]),
        "the address is no feed and names none",
    ),
    code(
        "RATE_LIMITED",
        429,
        Whose::Any,
        "over the hourly or daily limit, or too many failed attempts from one address",
    ),
    code("INTERNAL", 500, Whose::Any, "something went wrong inside; the log has the request's id"),
    code(
        "OVERLOADED",
        503,
        Whose::Any,
        "a part of the service is busy, or its storage failed; try again after `Retry-After`",
    ),
    code("STORAGE_FULL", 507, Whose::Any, "the disk of the service is full; reads and search go on"),
    code("AI_PAUSED", 503, Whose::These(&["POST /ask"]), "the AI pauses for the day"),
    code("AI_UNAVAILABLE", 503, Whose::These(&["POST /ask"]), "the model did not answer"),
];

/// Those that this route may answer with.
pub fn of(route: &'static Route) -> impl Iterator<Item = &'static Code> {
    CODES.iter().filter(move |code| code.whose.is(route))
}

impl Whose {
    fn is(self, route: &Route) -> bool {
        match self {
            Whose::Any => true,
            Whose::Scoped => !route.scopes.is_empty(),
            Whose::Naming => route.pattern.contains('{') || any(route.fields, &|field| is_id(&field.kind)),
            Whose::WithBody => operation::takes_body(route),
            Whose::Addressing(and) => {
                any(route.fields, &|field| field.name == "url") || and.contains(&route.name)
            }
            Whose::Post => route.method == Method::POST,
            Whose::These(names) => names.contains(&route.name),
        }
    }
}

/// Whether any field is one of these, within lists and objects too.
fn any(fields: &[Field], is: &dyn Fn(&Field) -> bool) -> bool {
    fields.iter().any(|field| is(field) || within(&field.kind, is))
}

fn within(kind: &Kind, is: &dyn Fn(&Field) -> bool) -> bool {
    match kind {
        Kind::List { of, .. } => within(of, is),
        Kind::Record(fields) => any(fields, is),
        Kind::Either { one, beside } => any(one, is) || any(beside, is),
        Kind::Open(shapes) => shapes.iter().any(|shape| any(shape.fields, is)),
        Kind::Words { .. }
        | Kind::Text { .. }
        | Kind::Filename { .. }
        | Kind::Label { .. }
        | Kind::Content
        | Kind::Sha256
        | Kind::Integer { .. }
        | Kind::Number { .. }
        | Kind::Flag
        | Kind::Id
        | Kind::Time
        | Kind::Choice(_) => false,
    }
}

fn is_id(kind: &Kind) -> bool {
    match kind {
        Kind::Id => true,
        Kind::List { of, .. } => is_id(of),
        Kind::Words { .. }
        | Kind::Text { .. }
        | Kind::Filename { .. }
        | Kind::Label { .. }
        | Kind::Content
        | Kind::Sha256
        | Kind::Integer { .. }
        | Kind::Number { .. }
        | Kind::Flag
        | Kind::Time
        | Kind::Choice(_)
        | Kind::Record(_)
        | Kind::Either { .. }
        | Kind::Open(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the app's own routes, of the address that a file is sent to, and of no route at all.
    const ELSEWHERE: [&str; 7] = [
        "NOT_SIGNED_IN",
        "FOREIGN_ORIGIN",
        "CLOSED",
        "SCOPE_NOT_ALLOWED",
        "UPLOAD_REFUSED",
        "STORAGE_FULL",
        "METHOD_NOT_ALLOWED",
    ];

    #[test]
    fn every_code_that_rest_tells_is_described() {
        let source = include_str!("../rest/error.rs");
        let told = source.split('"').skip(1).step_by(2);
        let told =
            told.filter(|text| text.len() > 5 && text.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
        let missing: Vec<&str> = told
            .filter(|name| !ELSEWHERE.contains(name) && !CODES.iter().any(|code| code.name == *name))
            .collect();

        assert!(missing.is_empty(), "{missing:?}");
    }
}
