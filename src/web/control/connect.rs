//! Connecting an assistant: the steps for each one, whether it has called, and a test of the path to this server.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::apps::ListApps;
use actors::operations::keys::ListKeys;
use askama::Template;
use errors::Error;
use values::kind::KeyKind;
use values::time::Timestamp;
use web::{Guard, PageUrl};

use crate::app::assistants::{
    Assistant, AssistantLocation, ListAssistants, Step, StepOutcome, StepReport, TestConnection,
};
use crate::parts;
use crate::web::filters;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};

/// An assistant that connected within this time has answered the page.
const RECENT_CONNECTION: Duration = Duration::from_secs(15 * 60);

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/settings/connect").not_stored().get(lead_to_first).mount(config);
    PageRoute::new("/settings/connect/{client}").not_stored().get(show).post(test).mount(config);
}

#[derive(Template)]
#[template(path = "control/connect.html", blocks = ["connected", "test"])]
struct ConnectPage {
    shell: Shell,
    tab: &'static str,
    mcp_url: String,
    assistants: Vec<(String, String)>,
    assistant: Assistant,
    reach: ServerReach,
    connected: Option<LastConnection>,
    test: Option<TestView>,
}
parts!(ConnectPage { "connected" => as_connected, "test" => as_test });

impl ConnectPage {
    /// Returns whether a snippet has a place for a key, which the user has to create.
    fn has_key_snippet(&self) -> bool {
        self.assistant.snippets.iter().any(|snippet| snippet.text.contains("{key}"))
    }
}

/// From where the URL of the server can be reached, as far as it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerReach {
    /// It is an https URL of a public host.
    Public,
    /// It is not https.
    Plain,
    /// Its host is on this machine or in its network.
    Private,
}

impl ServerReach {
    fn of(base_url: &str) -> Self {
        let Ok(url) = PageUrl::parse(base_url) else { return Self::Private };
        // The guard of fetches without exceptions knows which addresses are public. Names are not looked up here.
        if is_local_name(url.host()) || Guard::default().check_url(&url).is_err() {
            Self::Private
        } else if url.url().scheme() == "https" {
            Self::Public
        } else {
            Self::Plain
        }
    }
}

fn is_local_name(host: &str) -> bool {
    host == "localhost"
        || [".localhost", ".local", ".lan", ".home.arpa"].iter().any(|end| host.ends_with(end))
}

/// What connected last.
struct LastConnection {
    name: String,
    at: Timestamp,
}

/// The result of a test.
struct TestView {
    passed: bool,
    steps: Vec<StepView>,
}

/// A step of the test.
struct StepView {
    class: &'static str,
    icon: &'static str,
    title: &'static str,
    outcome: &'static str,
    message: String,
}

impl From<StepReport> for StepView {
    fn from(report: StepReport) -> Self {
        let title = match report.step {
            Step::Address => "connect-step-address",
            Step::Challenge => "connect-step-challenge",
            Step::ResourceMetadata => "connect-step-resource",
            Step::ServerMetadata => "connect-step-server",
            Step::Registration => "connect-step-registration",
            Step::Tools => "connect-step-tools",
        };
        let (class, icon, outcome) = match report.outcome {
            StepOutcome::Passed => ("ok", "verified", "connect-passed"),
            StepOutcome::Limited => ("care", "alert", "connect-limited"),
            StepOutcome::Failed => ("bad", "alert", "connect-failed"),
            StepOutcome::Skipped => ("skipped", "more", "connect-skipped"),
        };
        Self { class, icon, title, outcome, message: report.message }
    }
}

async fn lead_to_first(page: PageRequest) -> Result<HttpResponse, Error> {
    Ok(page.redirect("/settings/connect/claude"))
}

async fn show(page: PageRequest) -> Result<HttpResponse, Error> {
    render(&page, None).await
}

/// Tests the path and shows the result. A reload tests again.
async fn test(page: PageRequest) -> Result<HttpResponse, Error> {
    let result = page.run(TestConnection).await?;
    let steps = result.steps.into_iter().map(StepView::from).collect();
    render(&page, Some(TestView { passed: result.passed, steps })).await
}

async fn render(page: &PageRequest, test: Option<TestView>) -> Result<HttpResponse, Error> {
    let wanted = page.target().text(0)?;
    let listed = page.run(ListAssistants).await?;
    let assistants = listed.assistants.iter().map(|one| (one.id.clone(), one.name.clone())).collect();
    let assistant = listed.assistants.into_iter().find(|one| one.id == wanted).ok_or(Error::not_found())?;
    let view = ConnectPage {
        shell: page.shell(NavigationEntry::Settings).await?,
        tab: "connect",
        mcp_url: listed.mcp_url,
        assistants,
        reach: ServerReach::of(&page.ctx.core.base_url),
        connected: last_connected(page).await?,
        assistant,
        test,
    };
    page.show(&view)
}

/// Returns the app or the key that connected last, if that was within the last minutes.
async fn last_connected(page: &PageRequest) -> Result<Option<LastConnection>, Error> {
    let since = page.locale().now - RECENT_CONNECTION;
    let apps = page.run(ListApps).await?.apps.into_iter();
    let apps = apps.map(|app| LastConnection { name: app.client_name, at: app.connected_at });
    let keys = page.run(ListKeys).await?.keys.into_iter().filter(|key| key.kind == KeyKind::Mcp);
    let keys = keys.filter_map(|key| {
        Some(LastConnection { at: key.first_used_at?, name: key.last_client.unwrap_or(key.name) })
    });
    Ok(apps.chain(keys).filter(|connected| connected.at >= since).max_by_key(|connected| connected.at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_tells_from_where_the_server_is_reached() {
        for (url, reach) in [
            ("https://carrel.example", ServerReach::Public),
            ("http://carrel.example", ServerReach::Plain),
            ("http://127.0.0.1:8080", ServerReach::Private),
            ("https://192.168.1.4", ServerReach::Private),
            ("http://localhost:8080", ServerReach::Private),
            ("https://carrel.local", ServerReach::Private),
        ] {
            assert_eq!(ServerReach::of(url), reach, "{url}");
        }
    }
}
