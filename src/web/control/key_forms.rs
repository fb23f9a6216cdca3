//! Creating a key.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use actors::auth::keys::rules;
use actors::operations::keys::CreateKey;
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::{Map, Value, json};
use values::kind::KeyKind;
use values::scope::Scope;
use values::time::Timestamp;

use super::key_secret::{self, TicketState};
use super::scope_names::ScopeChoices;
use crate::parts;
use crate::web::filters;
use crate::web::locale::Locale;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::fields::Fields;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue;

const DAY_SECONDS: u64 = 24 * 3600;

/// Mounts the page.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/settings/keys/new").not_stored().get(show).post(create).mount(config);
}

#[derive(Template)]
#[template(path = "control/key_new.html")]
struct NewKeyPage {
    shell: Shell,
    tab: &'static str,
    kind: KeyKind,
    is_kind_in_plan: bool,
    name: String,
    scopes: ScopeChoices,
    hourly_limit: String,
    name_hint: String,
    hourly_hint: String,
    until: String,
    faults: FormFaults,
    is_late: bool,
    ticket: String,
    opened: i64,
}
parts!(NewKeyPage {});

async fn show(page: PageRequest) -> Result<HttpResponse, Error> {
    let kind = kind_of(&page.query);
    let default = |scope: Scope| scope == Scope::ReadLibrary;
    render(&page, kind, default, &page.query, (StatusCode::OK, FormFaults::default()), false).await
}

/// Returns the kind that a form or an address names. Most keys are for assistants.
fn kind_of(fields: &Fields) -> KeyKind {
    fields.get("kind").and_then(|kind| kind.parse().ok()).unwrap_or(KeyKind::Mcp)
}

async fn render(
    page: &PageRequest,
    kind: KeyKind,
    ticked: impl Fn(Scope) -> bool,
    fields: &Fields,
    (status, faults): (StatusCode, FormFaults),
    is_late: bool,
) -> Result<HttpResponse, Error> {
    let plan = page.viewer.caller.plan;
    let limits = page.ctx.core.plans.limits(plan);
    let text = |name| fields.get(name).unwrap_or_default().to_owned();
    let view = NewKeyPage {
        shell: page.shell(NavigationEntry::Settings).await?,
        tab: "keys",
        kind,
        is_kind_in_plan: rules::max_keys(kind, limits) > 0,
        name: text("name"),
        scopes: ScopeChoices::of(kind, plan, ticked),
        hourly_limit: text("hourlyLimit"),
        name_hint: page.locale().t("api-key-name-hint"),
        hourly_hint: hourly_hint(page.locale(), limits.hourly_per_key),
        until: text("until"),
        faults,
        is_late,
        ticket: key_secret::issue_ticket(page)?,
        opened: page.locale().now.millis(),
    };
    page.show_with_status(status, &view)
}

async fn create(page: PageRequest) -> Result<HttpResponse, Error> {
    let kind = kind_of(&page.form);
    let ticked = |scope: Scope| page.form.all("scope").any(|name| name == scope.name());
    match key_secret::spend_ticket(&page) {
        TicketState::Valid => {}
        // The form was sent before, and its key exists: it is not shown again.
        TicketState::Spent => return page.done("/settings/keys", DoneMessage::new("api-keys-form-used")),
        TicketState::Late => {
            let late = (StatusCode::UNPROCESSABLE_ENTITY, FormFaults::default());
            return render(&page, kind, ticked, &page.form, late, true).await;
        }
    }
    let request = request_of(&page.form, kind, page.locale().now);
    match page.run_json::<CreateKey>(&Target(Vec::new()), request).await {
        Ok(created) => key_secret::show(&page, created).await,
        Err(error) => {
            let faults = FormFaults::from_error(error, page.locale())?;
            render(&page, kind, ticked, &page.form, faults, false).await
        }
    }
}

/// Returns the request of the operation for a form.
fn request_of(form: &Fields, kind: KeyKind, now: Timestamp) -> Value {
    let mut request = Map::new();
    request.insert("name".to_owned(), json!(form.get("name").unwrap_or_default()));
    request.insert("kind".to_owned(), json!(kind.name()));
    request.insert("scopes".to_owned(), json!(form.all("scope").collect::<Vec<_>>()));
    if let Some(limit) = form.get("hourlyLimit") {
        request.insert("hourlyLimit".to_owned(), number_or_text(limit));
    }
    if let Some(end) = end_of(form.get("until"), now) {
        request.insert("expiresAt".to_owned(), json!(end.to_string()));
    }
    Value::Object(request)
}

/// Says how many calls an hour the plan allows a key.
pub fn hourly_hint(locale: &Locale, max: u32) -> String {
    locale.t_with("api-key-hourly-hint", &[("max", MessageValue::Number(max.into()))])
}

/// Returns a number as one, and anything else as it was typed, so that the operation says what is wrong with it. Users type separators.
pub fn number_or_text(typed: &str) -> Value {
    let digits: String =
        typed.chars().filter(|c| !c.is_whitespace() && !matches!(c, ',' | '.' | '\u{202f}')).collect();
    digits.parse::<i64>().map_or_else(|_| json!(typed), |number| json!(number))
}

/// Returns the end that is chosen by a number of days; `None` for no end.
pub fn end_of(until: Option<&str>, now: Timestamp) -> Option<Timestamp> {
    let days: u64 = until?.parse().ok()?;
    // Longer ones are no choice of the form.
    (1..=3_650).contains(&days).then(|| now + Duration::from_secs(days * DAY_SECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    #[test]
    fn numbers_are_read_with_their_separators() {
        assert_eq!(number_or_text("1,200"), json!(1200));
        assert_eq!(number_or_text("1 200"), json!(1200));
        assert_eq!(number_or_text("many"), json!("many"));
    }

    #[test]
    fn end_is_a_number_of_days_from_now() {
        assert_eq!(end_of(Some("30"), NOON), Some(NOON + Duration::from_secs(30 * DAY_SECONDS)));
        for never in [None, Some(""), Some("0"), Some("never"), Some("99999")] {
            assert_eq!(end_of(never, NOON), None, "{never:?}");
        }
    }

    #[test]
    fn form_becomes_the_request_of_the_operation() {
        let form =
            Fields::parse(b"name=Reader&scope=read%3Alibrary&scope=write%3Anotes&hourlyLimit=50&until=1");

        let request = request_of(&form, KeyKind::Mcp, NOON);

        assert_eq!(
            request,
            json!({
                "name": "Reader",
                "kind": "mcp",
                "scopes": ["read:library", "write:notes"],
                "hourlyLimit": 50,
                "expiresAt": "2024-05-07T12:00:00.000Z",
            })
        );
    }
}
