//! The operator's view of background work: the queue, failed jobs, and hosts that fail. No titles and no URLs are shown.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::operator::hosts::{FailingHostView, ListFailingHosts, RetryHost};
use actors::operations::operator::work::{FailedJobRow, FailedKind, RetryJob, ShowQueue, TrackView};
use askama::Template;
use errors::Error;
use jobs::JobKind;

use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/operator/work").not_stored().get(show_work).mount(config);
    PageRoute::new("/operator/work/{id}/retry").not_stored().post(retry_job).mount(config);
    PageRoute::new("/operator/hosts").not_stored().get(show_hosts).post(retry_host).mount(config);
}

#[derive(Template)]
#[template(path = "control/operator_work.html", blocks = ["work"])]
struct WorkPage {
    shell: Shell,
    tab: &'static str,
    op_tab: &'static str,
    tracks: Vec<(&'static str, TrackView)>,
    unknown: u64,
    kinds: Vec<(String, u64)>,
    failed: Vec<FailedRow>,
    is_working: bool,
}
parts!(WorkPage { "work" => as_work });

/// A failed job of the list.
struct FailedRow {
    work: String,
    job: FailedJobRow,
}

#[derive(Template)]
#[template(path = "control/operator_hosts.html", blocks = ["hosts"])]
struct HostsPage {
    shell: Shell,
    tab: &'static str,
    op_tab: &'static str,
    hosts: Vec<FailingHostView>,
    all: u64,
}
parts!(HostsPage { "hosts" => as_hosts });

/// Returns the key of the name of a track.
fn track_key(track: &str) -> &'static str {
    match track {
        "web" => "operator-track-web",
        "library" => "operator-track-library",
        "files" => "operator-track-files",
        "imports" => "operator-track-imports",
        "recordings" => "operator-track-recordings",
        "exports" => "operator-track-exports",
        "answers" => "operator-track-answers",
        _ => "operator-track-other",
    }
}

/// Returns the key of the words for a kind of work; `None` for one of another version.
fn work_key(kind: &str) -> Option<&'static str> {
    Some(match JobKind::named(kind)? {
        JobKind::FetchPage => "operator-work-fetch-page",
        JobKind::ProcessText => "operator-work-process-text",
        JobKind::ProcessFile => "operator-work-process-file",
        JobKind::Transcribe => "operator-work-transcribe",
        JobKind::Index => "operator-work-index",
        JobKind::RemoveFromIndex => "operator-work-remove-from-index",
        JobKind::FetchFeed => "operator-work-fetch-feed",
        JobKind::DeliverEntries => "operator-work-deliver-entries",
        JobKind::RemoveFeed => "operator-work-remove-feed",
        JobKind::Subscribe => "operator-work-subscribe",
        JobKind::SendEmail => "operator-work-send-email",
        JobKind::Import => "operator-work-import",
        JobKind::Export => "operator-work-export",
        JobKind::AnswerQuestion => "operator-work-answer-question",
    })
}

async fn show_work(page: PageRequest) -> Result<HttpResponse, Error> {
    let queue = page.run(ShowQueue).await?;
    let words = |kind: &str| work_key(kind).map_or_else(|| kind.to_owned(), |key| page.locale().t(key));
    let row = |job: FailedJobRow| FailedRow { work: words(&job.work), job };
    let kind = |FailedKind { work, failed }: FailedKind| (words(&work), failed);
    let is_working = queue.tracks.iter().any(|track| track.waiting + track.running > 0);
    page.show(&WorkPage {
        shell: page.shell(NavigationEntry::Settings).await?,
        tab: "operator",
        op_tab: "work",
        tracks: queue.tracks.into_iter().map(|track| (track_key(track.track), track)).collect(),
        unknown: queue.unknown,
        kinds: queue.failed_kinds.into_iter().map(kind).collect(),
        failed: queue.failed.into_iter().map(row).collect(),
        is_working,
    })
}

async fn retry_job(page: PageRequest) -> Result<HttpResponse, Error> {
    page.run(RetryJob::new(page.target().id(0)?)).await?;
    page.done("/operator/work", DoneMessage::new("operator-job-retried"))
}

async fn show_hosts(page: PageRequest) -> Result<HttpResponse, Error> {
    let listed = page.run(ListFailingHosts).await?;
    let shell = page.shell(NavigationEntry::Settings).await?;
    page.show(&HostsPage { shell, tab: "operator", op_tab: "hosts", hosts: listed.hosts, all: listed.all })
}

async fn retry_host(page: PageRequest) -> Result<HttpResponse, Error> {
    let host = page.form.get("host").unwrap_or_default().to_owned();
    let retried = page.run(RetryHost::new(host)).await?;
    let count = i64::try_from(retried.pages + retried.feeds).unwrap_or(i64::MAX);
    page.done(
        "/operator/hosts",
        DoneMessage::new("operator-host-retried").with("count", MessageValue::Number(count)),
    )
}
