//! Which REST routes may return which error codes (spec.md: Errors; contract.md, section 2). Statuses and descriptions come from the
//! table in [`errors`], the codes that only some operations return from [`Operation::ERRORS`](actors::operation::Operation::ERRORS).

use std::sync::LazyLock;

use actix_web::http::Method;
use errors::{ERRORS, RetryRule, code};
use serde_json::{Value, json};

use crate::http::methods::takes_body;
use crate::routing::Route;
use crate::schema::{has_field, is_id};

/// An error code with everything that the document says of it.
#[derive(Debug)]
pub struct Code {
    /// The code, as it is in `error.code`.
    pub name: &'static str,
    /// The HTTP status of its responses.
    pub status: u16,
    /// The descriptions of all errors that share the code.
    pub about: String,
    /// Whether a response with the code may have `Retry-After`: at least one error that has the code can be retried.
    pub has_retry_after: bool,
    routes: Routes,
}

/// Which routes may return a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Routes {
    /// Every route of the document.
    All,
    /// Routes that require a scope of the key.
    Scoped,
    /// Routes that identify an object by its id or its name.
    Naming,
    /// Routes whose requests have a body.
    WithBody,
    /// Routes whose requests have a URL, and those whose operation lists the code.
    WithUrl,
    /// POST routes, because of `Idempotency-Key`.
    Post,
    /// Only routes whose operation lists the code.
    Listed,
    /// No route of the document: the code is returned by routes of the web app, by the URL that a file is sent to, or for a
    /// path or method without a route.
    Undescribed,
}

/// The description of the schema of `error.code`, before the list of all codes.
const CODE_ABOUT: &str = "Stable code of the error. Each response lists the codes that it may have. All codes, with their \
                          HTTP statuses:";

/// The kind of routes that may return each code of the table.
const ROUTES: &[(&str, Routes)] = &[
    ("VALIDATION_FAILED", Routes::All),
    ("SCOPE_NOT_ALLOWED", Routes::Undescribed),
    ("API_KEY_INVALID", Routes::All),
    ("API_KEY_IN_QUERY", Routes::All),
    ("NOT_SIGNED_IN", Routes::Undescribed),
    ("PLAN_REQUIRED", Routes::All),
    (code::PLAN_LIMIT_REACHED, Routes::Listed),
    (code::AI_QUOTA_EXCEEDED, Routes::Listed),
    (code::PROJECT_LIMIT_REACHED, Routes::Listed),
    ("SCOPE_REQUIRED", Routes::Scoped),
    ("FOREIGN_ORIGIN", Routes::Undescribed),
    ("CLOSED", Routes::Undescribed),
    ("UPLOAD_REFUSED", Routes::Undescribed),
    ("NOT_FOUND", Routes::Naming),
    ("METHOD_NOT_ALLOWED", Routes::Undescribed),
    ("REQUEST_TIMEOUT", Routes::WithBody),
    ("CONFLICT", Routes::Post),
    (code::PROJECT_ARCHIVED, Routes::Listed),
    (code::UPLOAD_INCOMPLETE, Routes::Listed),
    (code::UPLOAD_EXPIRED, Routes::Listed),
    ("PAYLOAD_TOO_LARGE", Routes::WithBody),
    ("UNSUPPORTED_MEDIA_TYPE", Routes::WithBody),
    (code::URL_REJECTED, Routes::WithUrl),
    (code::FEED_NOT_FOUND, Routes::Listed),
    ("RATE_LIMITED", Routes::All),
    ("INTERNAL", Routes::All),
    (code::AI_PAUSED, Routes::Listed),
    (code::AI_UNAVAILABLE, Routes::Listed),
    ("OVERLOADED", Routes::All),
    ("STORAGE_FULL", Routes::All),
];

/// Every code of the table, in the order of the statuses.
pub static CODES: LazyLock<Vec<Code>> = LazyLock::new(|| {
    let mut codes: Vec<Code> = Vec::new();
    for row in ERRORS {
        let has_retry_after = row.retry != RetryRule::Never;
        match codes.iter_mut().find(|code| code.name == row.code) {
            Some(code) => {
                code.about = format!("{} {}", code.about, row.description);
                code.has_retry_after |= has_retry_after;
            }
            None => codes.push(Code {
                name: row.code,
                status: row.status,
                about: row.description.to_owned(),
                has_retry_after,
                routes: routes_of(row.code),
            }),
        }
    }
    codes
});

fn routes_of(code: &str) -> Routes {
    // A test requires that every code has a row.
    ROUTES.iter().find(|(name, _)| *name == code).map_or(Routes::Undescribed, |(_, routes)| *routes)
}

/// Returns the codes that this route may return.
pub fn codes_of_route(route: &'static Route) -> impl Iterator<Item = &'static Code> {
    CODES.iter().filter(move |code| code.routes.include(route, code.name))
}

/// Returns the schema of `error.code`, which describes every code with its status.
pub fn schema() -> Value {
    let lines = CODES.iter().map(|code| format!("- `{}` ({}): {}", code.name, code.status, code.about));
    let list = lines.collect::<Vec<_>>().join("\n");
    json!({ "type": "string", "description": format!("{CODE_ABOUT}\n\n{list}") })
}

impl Code {
    /// Returns the row of the code in the manual's table.
    pub fn manual_row(&self) -> String {
        format!("| {} | `{}` | {} |", self.status, self.name, self.about)
    }
}

impl Routes {
    /// Whether the route is one of those that may return this code.
    fn include(self, route: &Route, code: &str) -> bool {
        let is_listed = route.errors.contains(&code);
        match self {
            Routes::All => true,
            Routes::Scoped => !route.scopes.is_empty(),
            Routes::Naming => {
                route.pattern.contains('{') || has_field(&(route.request.schema)(), &|_, field| is_id(field))
            }
            Routes::WithBody => takes_body(&route.method),
            Routes::WithUrl => is_listed || has_field(&(route.request.schema)(), &|name, _| name == "url"),
            Routes::Post => route.method == Method::POST,
            Routes::Listed => is_listed,
            Routes::Undescribed => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::openapi::document;

    #[test]
    fn every_code_of_the_table_names_its_routes_once() {
        for row in ERRORS {
            let named = ROUTES.iter().filter(|(name, _)| *name == row.code);
            assert_eq!(named.count(), 1, "{}", row.code);
        }
        for (name, _) in ROUTES {
            assert!(ERRORS.iter().any(|row| row.code == *name), "{name} is no code of the table");
        }
    }

    fn routes() -> impl Iterator<Item = &'static Route> {
        crate::rest::V1.iter().chain(crate::rest::V2)
    }

    #[test]
    fn codes_that_operations_list_are_returned_by_listed_routes() {
        for route in routes() {
            for code in route.errors {
                let kind = routes_of(code);
                assert!(matches!(kind, Routes::Listed | Routes::WithUrl), "{}: {code}", route.name());
            }
        }
        for (code, _) in ROUTES.iter().filter(|(_, kind)| *kind == Routes::Listed) {
            assert!(routes().any(|route| route.errors.contains(code)), "no operation lists {code}");
        }
    }

    #[test]
    fn routes_that_reach_limits_of_the_plan_are_fixed() {
        let with = |code: &str| {
            let returning =
                routes().filter(move |route| codes_of_route(route).any(|other| other.name == code));
            returning.map(Route::name).collect::<Vec<_>>()
        };

        assert_eq!(
            with(code::PLAN_LIMIT_REACHED),
            [
                "POST /bookmarks",
                "PATCH /bookmarks/:id",
                "POST /bookmarks/:id/highlights",
                "PATCH /highlights/:id",
                "PATCH /tags/:name",
                "POST /collections",
                "PATCH /collections/:id",
                "POST /feeds",
                "POST /feeds/opml",
                "PATCH /feeds/:id",
                "POST /ask",
                "POST /projects/:id/items",
                "POST /projects/:id/notes",
                "POST /uploads",
                "POST /uploads/:id/complete",
            ]
        );
        assert_eq!(with(code::PROJECT_ARCHIVED), ["POST /projects/:id/items", "POST /projects/:id/notes"]);
        assert_eq!(with(code::UPLOAD_EXPIRED), ["POST /uploads/:id/complete"]);
        assert_eq!(with(code::AI_PAUSED), ["POST /ask"]);
        assert!(with(code::URL_REJECTED).contains(&"POST /bookmarks/:id/refetch".to_owned()));
    }

    #[test]
    fn document_lists_every_code_and_description() {
        let document = document("https://carrel.example").to_string();

        for row in ERRORS {
            let description = json!(row.description).to_string();
            let described = document.contains(description.trim_matches('"'));
            assert!(
                described && document.contains(&format!("- `{}` ({})", row.code, row.status)),
                "{}",
                row.code
            );
        }
    }

    #[test]
    fn routes_have_the_codes_of_their_kind() {
        let codes_of = |name: &str| {
            let route = crate::rest::V2.iter().find(|route| route.name() == name).unwrap();
            codes_of_route(route).map(|code| code.name).collect::<Vec<_>>()
        };

        let (search, ask) = (codes_of("GET /search"), codes_of("POST /ask"));

        assert!(search.contains(&"SCOPE_REQUIRED") && !search.contains(&"REQUEST_TIMEOUT"), "{search:?}");
        assert!(ask.contains(&"AI_PAUSED") && ask.contains(&"CONFLICT"), "{ask:?}");
        for code in ["NOT_SIGNED_IN", "CLOSED", "UPLOAD_REFUSED"] {
            assert!(!ask.contains(&code), "{code}");
        }
    }

    #[test]
    fn manual_has_the_row_of_every_code() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let pages = ["README.md", "config/README.md"].map(|page| std::fs::read_to_string(root.join(page)));
        let rows: Vec<String> = pages
            .into_iter()
            .flatten()
            .flat_map(|page| page.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect();

        let missing: Vec<String> =
            CODES.iter().map(Code::manual_row).filter(|row| !rows.contains(row)).collect();

        assert!(
            missing.is_empty(),
            "put these rows into the manual's table of codes:\n{}",
            missing.join("\n")
        );
    }
}
