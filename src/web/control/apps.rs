//! The apps that a user connected by signing in to them.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::apps::{AppView, DisconnectApp, EndedAppView, ListApps};
use actors::operations::usage_by_credential::ReadUsageByCredential;
use askama::Template;
use errors::Error;
use values::kind::GrantState;

use super::scope_names;
use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/settings/apps").not_stored().get(show).mount(config);
    PageRoute::new("/settings/apps/{id}/disconnect").not_stored().post(disconnect).mount(config);
}

#[derive(Template)]
#[template(path = "control/apps.html", blocks = ["apps"])]
struct AppsPage {
    shell: Shell,
    tab: &'static str,
    apps: Vec<AppRow>,
    ended: Vec<EndedRow>,
}
parts!(AppsPage { "apps" => as_apps });

/// A connected app of the list.
struct AppRow {
    app: AppView,
    may: String,
    calls_today: u64,
}

/// An app whose connection has ended.
struct EndedRow {
    app: EndedAppView,
    /// Whether the app or its misuse ended the connection, and not the user.
    is_revoked: bool,
}

async fn show(page: PageRequest) -> Result<HttpResponse, Error> {
    let listed = page.run(ListApps).await?;
    let usage = page.run(ReadUsageByCredential).await?;
    let plan = page.viewer.caller.plan;
    let row = |app: AppView| AppRow {
        may: scope_names::in_words(&app.scopes.within(plan), page.locale()),
        calls_today: usage
            .credentials
            .iter()
            .find(|used| used.id == app.id.0)
            .map_or(0, |used| used.calls_today),
        app,
    };
    page.show(&AppsPage {
        shell: page.shell(NavigationEntry::Settings).await?,
        tab: "apps",
        apps: listed.apps.into_iter().map(row).collect(),
        ended: listed.ended.into_iter().map(ended_row).collect(),
    })
}

fn ended_row(app: EndedAppView) -> EndedRow {
    EndedRow { is_revoked: app.state == GrantState::Revoked, app }
}

async fn disconnect(page: PageRequest) -> Result<HttpResponse, Error> {
    let target = page.target();
    let listed = page.run(ListApps).await?.apps;
    let name = target
        .text(0)
        .ok()
        .and_then(|id| listed.into_iter().find(|app| app.id.to_string() == id).map(|app| app.client_name));
    page.run_form::<DisconnectApp>(&target, &[]).await?;
    let message =
        DoneMessage::new("apps-disconnected").with("name", MessageValue::Text(name.unwrap_or_default()));
    page.done(&page.back("/settings/apps"), message)
}
