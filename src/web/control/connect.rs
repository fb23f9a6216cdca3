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

use super::assistant_texts::translate;
use super::step_texts::step_text;
use crate::app::assistants::{
    Assistant, AssistantLocation, ListAssistants, Step, StepOutcome, StepReport, TestConnection,
    assistant_of_client,
};
use crate::parts;
use crate::web::filters;
use crate::web::locale::Locale;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The page waits this long for a call: for as long as its script asks.
const MAX_WAIT: Duration = Duration::from_secs(15 * 60);
/// Id of the page for clients without specific instructions.
const OTHER_CLIENTS: &str = "other";

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
    /// When the page was opened, in milliseconds since 1970.
    opened: i64,
    connected: Option<LastConnection>,
    test: Option<TestView>,
}
parts!(ConnectPage { "connected" => as_connected, "test" => as_test });

impl ConnectPage {
    /// Returns whether a snippet has a place for a key, which the user has to create.
    fn has_key_snippet(&self) -> bool {
        self.assistant.snippets.iter().any(|snippet| snippet.text.contains("{key}"))
    }

    /// Returns whether the page is for clients without specific instructions.
    fn is_for_others(&self) -> bool {
        self.assistant.id == OTHER_CLIENTS
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

/// What called last.
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

impl StepView {
    fn new(report: &StepReport, locale: &Locale) -> Self {
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
        let message = report.detail.as_ref().map(|detail| step_text(locale, detail)).unwrap_or_default();
        Self { class, icon, title, outcome, message }
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
    // Before the test: it is refused for a while after another one, which would hide that there is no such client.
    find_assistant(&page, &page.run(ListAssistants).await?.assistants)?;
    let result = page.run(TestConnection).await?;
    let steps = result.steps.iter().map(|report| StepView::new(report, page.locale())).collect();
    render(&page, Some(TestView { passed: result.passed, steps })).await
}

async fn render(page: &PageRequest, test: Option<TestView>) -> Result<HttpResponse, Error> {
    let listed = page.run(ListAssistants).await?;
    let all: Vec<_> = listed.assistants.into_iter().map(|one| translate(one, page.locale())).collect();
    let assistant = find_assistant(page, &all)?;
    let opened = opened_at(page.query.get("opened"), page.locale().now);
    let view = ConnectPage {
        shell: page.shell(NavigationEntry::Settings).await?,
        tab: "connect",
        mcp_url: listed.mcp_url,
        assistants: all.iter().map(|one| (one.id.clone(), one.name.clone())).collect(),
        reach: ServerReach::of(&page.ctx.core.base_url),
        opened: opened.millis(),
        connected: last_connected(page, &all, &assistant, opened).await?,
        assistant,
        test,
    };
    page.show(&view)
}

/// Returns the assistant of the address.
fn find_assistant(page: &PageRequest, all: &[Assistant]) -> Result<Assistant, Error> {
    let wanted = page.target().text(0)?;
    all.iter().find(|one| one.id == wanted).cloned().ok_or(Error::not_found())
}

/// Returns when the page was opened: the time in its address, which a page that waits asks for again and again, or now.
fn opened_at(in_address: Option<&str>, now: Timestamp) -> Timestamp {
    let opened = in_address.and_then(|millis| millis.parse().ok()).map(Timestamp::from_millis);
    // An address that was kept or made up shows no older call.
    opened.map_or(now, |opened| opened.clamp(now - MAX_WAIT, now))
}

/// Returns the app or the key by which the assistant called last, if it has called since this time.
async fn last_connected(
    page: &PageRequest,
    all: &[Assistant],
    assistant: &Assistant,
    since: Timestamp,
) -> Result<Option<LastConnection>, Error> {
    let is_assistant = |name: &str| {
        assistant.id == OTHER_CLIENTS
            || assistant_of_client(all, name).is_some_and(|one| one.id == assistant.id)
    };
    let mut calls = Vec::new();
    for app in page.run(ListApps).await?.apps {
        if is_assistant(&app.client_name) {
            let at = app.last_used_at.map_or(app.connected_at, |used| used.max(app.connected_at));
            calls.push(LastConnection { name: app.client_name, at });
        }
    }
    for key in page.run(ListKeys).await?.keys {
        // A client that sends no name is recognised by the name of its key.
        let name = key.last_client.unwrap_or(key.name);
        if let Some(at) = key.last_used_at.filter(|_| key.kind == KeyKind::Mcp && is_assistant(&name)) {
            calls.push(LastConnection { name, at });
        }
    }
    Ok(calls.into_iter().filter(|call| call.at >= since).max_by_key(|call| call.at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_the_address_is_bounded() {
        let now = Timestamp::from_millis(1_714_996_800_000);
        let before = now - Duration::from_secs(60);

        assert_eq!(opened_at(Some(&before.millis().to_string()), now), before);
        assert_eq!(opened_at(Some("0"), now), now - MAX_WAIT);
        for late in [None, Some("soon"), Some("9223372036854775807")] {
            assert_eq!(opened_at(late, now), now, "{late:?}");
        }
    }

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
