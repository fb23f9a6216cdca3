//! Which REST routes may return which error codes (spec.md: Errors; contract.md, section 2). Statuses, descriptions and the rules of
//! routes come from the table in [`errors`], the codes that only some operations return from
//! [`Operation::ERRORS`](actors::operation::Operation::ERRORS).

use std::sync::LazyLock;

use actix_web::http::Method;
use errors::{ERRORS, HeaderRule, RetryRule, RouteRule};
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
    /// The headers that the errors with the code have besides `Retry-After`.
    pub headers: Vec<HeaderRule>,
    /// The rules of the errors that share the code: a route that one of them includes may return the code.
    routes: Vec<RouteRule>,
}

/// The description of the schema of `error.code`, before the list of all codes.
const CODE_ABOUT: &str = "Stable code of the error. Each response lists the codes that it may have. All codes, with their \
                          HTTP statuses:";

/// Every code of the table, in the order of the statuses.
pub static CODES: LazyLock<Vec<Code>> = LazyLock::new(|| {
    let mut codes: Vec<Code> = Vec::new();
    for row in ERRORS {
        let has_retry_after = row.retry != RetryRule::Never;
        let (headers, routes) = (row.headers, row.routes);
        match codes.iter_mut().find(|code| code.name == row.code) {
            Some(code) => {
                code.about = format!("{} {}", code.about, row.description);
                code.has_retry_after |= has_retry_after;
                code.headers.push(headers);
                code.routes.push(routes);
            }
            None => codes.push(Code {
                name: row.code,
                status: row.status,
                about: row.description.to_owned(),
                has_retry_after,
                headers: vec![headers],
                routes: vec![routes],
            }),
        }
    }
    codes
});

/// Returns the codes that this route may return.
pub fn codes_of_route(route: &'static Route) -> impl Iterator<Item = &'static Code> {
    CODES.iter().filter(move |code| code.is_returned_by(route))
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

    fn is_returned_by(&self, route: &Route) -> bool {
        route.errors.contains(&self.name) || self.routes.iter().any(|rule| includes(*rule, route))
    }
}

/// Returns whether a rule of the table includes a route.
fn includes(rule: RouteRule, route: &Route) -> bool {
    match rule {
        RouteRule::Listed => false,
        RouteRule::All => true,
        RouteRule::Scoped => !route.scopes.is_empty(),
        RouteRule::Naming => {
            route.pattern.contains('{') || has_field(&(route.request.schema)(), &|_, field| is_id(field))
        }
        RouteRule::WithBody => takes_body(&route.method),
        RouteRule::WithUrl => has_field(&(route.request.schema)(), &|name, _| name == "url"),
        RouteRule::Post => route.method == Method::POST,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use errors::code;

    use super::*;
    use crate::openapi::document;
    use crate::routing::undescribed;

    fn routes() -> impl Iterator<Item = &'static Route> {
        undescribed(crate::rest::V1).chain(undescribed(crate::rest::V2))
    }

    #[test]
    fn operations_list_only_codes_that_no_rule_gives_them() {
        for route in routes() {
            for listed in route.errors {
                let code = CODES.iter().find(|code| code.name == *listed);
                let code = code.unwrap_or_else(|| panic!("{listed} is no code of the table"));
                let is_given = code.routes.iter().any(|rule| includes(*rule, route));
                assert!(!is_given, "{}: {listed}", route.name());
            }
        }
    }

    /// Those of the web app, of the URL that a file is sent to, and of paths and methods without a route.
    #[test]
    fn codes_that_no_route_of_the_document_returns_are_fixed() {
        let unreturned = CODES.iter().filter(|code| !routes().any(|route| code.is_returned_by(route)));

        assert_eq!(
            unreturned.map(|code| code.name).collect::<Vec<_>>(),
            [
                code::SCOPE_NOT_ALLOWED,
                code::NOT_SIGNED_IN,
                code::FOREIGN_ORIGIN,
                code::CLOSED,
                code::UPLOAD_REFUSED,
                code::METHOD_NOT_ALLOWED,
            ]
        );
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
                "PUT /collections/:id/bookmarks/:bookmarkId",
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
        assert!(with(code::URL_REJECTED).contains(&"POST /bookmarks/:id/refetch"));
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
            let route = undescribed(crate::rest::V2).find(|route| route.name() == name).unwrap();
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
