//! One key: its permissions and limits, a new secret, and its end.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use actors::operations::keys::{ChangeKey, KeyView, RegenerateKey, RevokeKey, ShowKey};
use askama::Template;
use errors::Error;
use serde_json::{Map, Value, json};
use values::plan::Plan;
use values::scope::{Scope, Scopes};
use values::time::Timestamp;

use super::key_forms::{end_of, hourly_hint, number_or_text};
use super::key_secret::{self, TicketState};
use super::keys::{EndNote, asleep_in_words};
use super::scope_names::{ScopeChoices, is_choosable};
use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::fields::Fields;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue;

/// Stands for the secret in a command, where it is not known any more.
const SECRET_PLACEHOLDER: &str = "YOUR_KEY";
/// The value of the field `until` that leaves the end of a key as it is.
const KEEPS_END: &str = "keep";

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/settings/keys/{id}").not_stored().get(show).post(change).mount(config);
    PageRoute::new("/settings/keys/{id}/regenerate")
        .not_stored()
        .get(lead_to_key)
        .post(regenerate)
        .mount(config);
    PageRoute::new("/settings/keys/{id}/revoke").not_stored().get(lead_to_key).post(revoke).mount(config);
}

#[derive(Template)]
#[template(path = "control/key.html", blocks = ["first_call"])]
struct KeyPage {
    shell: Shell,
    tab: &'static str,
    key: KeyView,
    form: KeyForm,
    scopes: ScopeChoices,
    asleep: String,
    end_note: Option<EndNote>,
    name_hint: String,
    hourly_hint: String,
    test_command: String,
    faults: FormFaults,
    ticket: String,
    opened: i64,
}
parts!(KeyPage { "first-call" => as_first_call });

/// The contents of the form.
struct KeyForm {
    name: String,
    hourly_limit: String,
    until: String,
}

impl KeyForm {
    fn of_key(page: &PageRequest, key: &KeyView) -> Self {
        let hourly_limit = page.locale().number(i64::from(key.hourly_limit));
        Self { name: key.name.clone(), hourly_limit, until: KEEPS_END.to_owned() }
    }

    fn of_fields(form: &Fields) -> Self {
        let text = |name| form.get(name).unwrap_or_default().to_owned();
        Self { name: text("name"), hourly_limit: text("hourlyLimit"), until: text("until") }
    }
}

async fn find(page: &PageRequest) -> Result<KeyView, Error> {
    Ok(page.run_query::<ShowKey>(&page.target(), &[]).await?.key)
}

async fn show(page: PageRequest) -> Result<HttpResponse, Error> {
    let key = find(&page).await?;
    let (form, scopes) = (KeyForm::of_key(&page, &key), key.scopes.clone());
    render(&page, key, form, |scope| scopes.has(scope), (StatusCode::OK, FormFaults::default())).await
}

/// Leads a browser that asks for the address of a form to the key.
async fn lead_to_key(page: PageRequest) -> Result<HttpResponse, Error> {
    let key = find(&page).await?;
    Ok(page.redirect(&path_of(&key)))
}

fn path_of(key: &KeyView) -> String {
    format!("/settings/keys/{}", key.id)
}

async fn render(
    page: &PageRequest,
    key: KeyView,
    form: KeyForm,
    ticked: impl Fn(Scope) -> bool,
    (status, faults): (StatusCode, FormFaults),
) -> Result<HttpResponse, Error> {
    let plan = page.viewer.caller.plan;
    let view = KeyPage {
        shell: page.shell(NavigationEntry::Settings).await?,
        tab: "keys",
        form,
        scopes: ScopeChoices::of(key.kind, plan, ticked),
        asleep: asleep_in_words(&key, page.locale()),
        end_note: EndNote::of(key.expires_at, page.locale()),
        name_hint: page.locale().t("api-key-name-hint"),
        hourly_hint: hourly_hint(page.locale(), page.ctx.core.plans.limits(plan).hourly_per_key),
        test_command: key_secret::test_command(&page.ctx.core.base_url, key.kind, SECRET_PLACEHOLDER),
        faults,
        // A part that is asked for again and again has no form.
        ticket: if page.wants_parts() { String::new() } else { key_secret::issue_ticket(page)? },
        opened: page.locale().now.millis(),
        key,
    };
    page.show_with_status(status, &view)
}

async fn change(page: PageRequest) -> Result<HttpResponse, Error> {
    let key = find(&page).await?;
    let request = changes_of(&page.form, &key, page.viewer.caller.plan, page.locale().now);
    match page.run_json::<ChangeKey>(&page.target(), request).await {
        Ok(changed) => page.done(&path_of(&changed.key), DoneMessage::new("api-key-saved")),
        Err(error) => {
            let faults = FormFaults::from_error(error, page.locale())?;
            let ticked = |scope: Scope| page.form.all("scope").any(|name| name == scope.name());
            render(&page, key, KeyForm::of_fields(&page.form), ticked, faults).await
        }
    }
}

/// Returns the request of the operation for a form. An empty limit is that of the plan. Scopes and limit are sent only if the form changes
/// them: the form shows what the present plan allows, and an upgrade gives the rest back.
fn changes_of(form: &Fields, key: &KeyView, plan: Plan, now: Timestamp) -> Value {
    let mut request = Map::new();
    request.insert("name".to_owned(), json!(form.get("name").unwrap_or_default()));
    if let Some(scopes) = changed_scopes(form, key, plan) {
        request.insert("scopes".to_owned(), json!(scopes));
    }
    let hourly_limit = form.get("hourlyLimit").map_or(Value::Null, number_or_text);
    if hourly_limit != json!(key.hourly_limit) {
        request.insert("hourlyLimit".to_owned(), hourly_limit);
    }
    let until = form.get("until");
    if until != Some(KEEPS_END) {
        let end = end_of(until, now).map(|end| end.to_string());
        request.insert("expiresAt".to_owned(), json!(end));
    }
    Value::Object(request)
}

/// Returns the ticked scopes with those of the key that its form does not let the user choose; `None` if the key has exactly these.
fn changed_scopes<'a>(form: &'a Fields, key: &KeyView, plan: Plan) -> Option<Vec<&'a str>> {
    // Every MCP key has this one, whatever is sent.
    let current: Scopes = key.scopes.iter().filter(|scope| *scope != Scope::Mcp).collect();
    let mut names: Vec<&str> = form.all("scope").collect();
    for kept in current.iter().filter(|scope| !is_choosable(*scope, key.kind, plan)) {
        names.push(kept.name());
    }
    (names.join(" ").parse::<Scopes>() != Ok(current)).then_some(names)
}

async fn regenerate(page: PageRequest) -> Result<HttpResponse, Error> {
    match key_secret::spend_ticket(&page) {
        TicketState::Valid => {
            let regenerated = page.run_form::<RegenerateKey>(&page.target(), &[]).await?;
            key_secret::show(&page, regenerated).await
        }
        // Sent again by a reload, or from a page that was open for long: the key keeps its secret.
        TicketState::Spent | TicketState::Late => {
            let key = find(&page).await?;
            page.done(&path_of(&key), DoneMessage::new("api-key-not-regenerated"))
        }
    }
}

async fn revoke(page: PageRequest) -> Result<HttpResponse, Error> {
    let key = find(&page).await?;
    page.run_form::<RevokeKey>(&page.target(), &[]).await?;
    let message = DoneMessage::new("api-key-revoked").with("name", MessageValue::Text(key.name));
    page.done("/settings/keys", message)
}

#[cfg(test)]
mod tests {
    use values::id::KeyId;
    use values::kind::KeyKind;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    /// A key with scopes that the plan Free lacks.
    fn key_beyond_free() -> KeyView {
        let scopes: Scopes = [Scope::Mcp, Scope::ReadLibrary, Scope::WriteNotes].as_slice().into();
        KeyView {
            id: KeyId::new(NOON),
            name: "a".to_owned(),
            kind: KeyKind::Mcp,
            display: String::new(),
            effective_scopes: scopes.within(Plan::Free),
            scopes,
            hourly_limit: 60,
            created_at: NOON,
            expires_at: None,
            first_used_at: None,
            last_used_at: None,
            last_client: None,
        }
    }

    fn changes(plan: Plan, form: &[u8]) -> Value {
        changes_of(&Fields::parse(form), &key_beyond_free(), plan, NOON)
    }

    #[test]
    fn kept_end_is_no_change() {
        let kept = changes(Plan::Pro, b"name=a&scope=read%3Alibrary&until=keep");
        let never = changes(Plan::Pro, b"name=a&hourlyLimit=5&until=");

        assert_eq!(kept, json!({ "name": "a", "scopes": ["read:library"], "hourlyLimit": null }));
        assert_eq!(never, json!({ "name": "a", "scopes": [], "hourlyLimit": 5, "expiresAt": null }));
    }

    #[test]
    fn unchanged_scopes_and_limit_are_not_sent() {
        let renamed = changes(Plan::Free, b"name=b&scope=read%3Alibrary&hourlyLimit=60&until=keep");
        let less = changes(Plan::Free, b"name=a&hourlyLimit=60&until=keep");

        assert_eq!(renamed, json!({ "name": "b" }));
        assert_eq!(less, json!({ "name": "a", "scopes": ["write:notes"] }));
    }
}
