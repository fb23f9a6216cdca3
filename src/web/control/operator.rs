//! The operator's overview: the state of the parts, AI, storage.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::operator::ai::{PauseAi, ResumeAi};
use actors::operations::operator::health::{DatabaseState, HealthResponse, PassageIndexState, ShowHealth};
use actors::operations::operator::storage::{ShowStorage, StorageResponse};
use actors::operations::operator::work::ShowQueue;
use askama::Template;
use errors::Error;
use values::time::Timestamp;

use crate::parts;
use crate::web::filters;
use crate::web::locale::Locale;
use crate::web::page::done::DoneMessage;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue::{Number, Text};

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/operator").not_stored().get(show).mount(config);
    PageRoute::new("/operator/storage").not_stored().get(show_storage).mount(config);
    PageRoute::new("/operator/ai/pause").not_stored().post(pause_ai).mount(config);
    PageRoute::new("/operator/ai/resume").not_stored().post(resume_ai).mount(config);
}

#[derive(Template)]
#[template(path = "control/operator.html", blocks = ["health"])]
struct OperatorPage {
    shell: Shell,
    tab: &'static str,
    op_tab: &'static str,
    subtitle: String,
    storage: StorageResponse,
    waiting: u64,
    running: u64,
    failed: u64,
    parts: Vec<PartState>,
    health: HealthResponse,
    checked_at: Timestamp,
}
parts!(OperatorPage { "health" => as_health });

#[derive(Template)]
#[template(path = "control/operator_storage.html")]
struct StoragePage {
    shell: Shell,
    tab: &'static str,
    op_tab: &'static str,
    storage: StorageResponse,
    database: &'static str,
}
parts!(StoragePage {});

/// A part of the server with its state in words.
#[derive(Clone, Debug, PartialEq)]
struct PartState {
    class: &'static str,
    icon: &'static str,
    name: &'static str,
    words: String,
}

impl PartState {
    fn ok(name: &'static str, words: String) -> Self {
        Self { class: "ok", icon: "verified", name, words }
    }

    fn care(name: &'static str, words: String) -> Self {
        Self { class: "care", icon: "alert", name, words }
    }

    fn bad(name: &'static str, words: String) -> Self {
        Self { class: "bad", icon: "alert", name, words }
    }
}

async fn show(page: PageRequest) -> Result<HttpResponse, Error> {
    let health = page.run(ShowHealth).await?;
    let queue = page.run(ShowQueue).await?;
    let locale = page.locale();
    let up = i64::try_from(locale.now.since(health.started_at).as_secs()).unwrap_or(i64::MAX);
    let subtitle = locale.t_with(
        "operator-version",
        &[("version", Text(health.version.to_owned())), ("up", Text(locale.duration(up)))],
    );
    page.show(&OperatorPage {
        shell: page.shell(NavigationEntry::Settings).await?,
        tab: "operator",
        op_tab: "health",
        subtitle,
        storage: page.run(ShowStorage).await?,
        waiting: queue.tracks.iter().map(|track| track.waiting).sum(),
        running: queue.tracks.iter().map(|track| track.running).sum(),
        failed: queue.failed_kinds.iter().map(|kind| kind.failed).sum(),
        parts: part_states(&health, locale),
        checked_at: locale.now,
        health,
    })
}

/// Says how each part is doing.
fn part_states(health: &HealthResponse, locale: &Locale) -> Vec<PartState> {
    let down: Vec<String> =
        health.parts.iter().filter(|part| !part.up).map(|part| part.name.to_owned()).collect();
    let process = if down.is_empty() {
        PartState::ok("operator-part-process", locale.t("operator-all-up"))
    } else {
        let names = [("names", Text(locale.list(&down)))];
        PartState::bad("operator-part-process", locale.t_with("operator-down", &names))
    };
    let address = if health.base_url.starts_with("https://") { PartState::ok } else { PartState::care };
    vec![
        database_state(health.database, locale),
        index_state(health, locale),
        search_model_state(health, locale),
        ai_state(health, locale),
        if health.has_mailer {
            PartState::ok("operator-part-mail", locale.t("operator-mail-on"))
        } else {
            PartState::care("operator-part-mail", locale.t("operator-mail-off"))
        },
        address("operator-part-address", health.base_url.clone()),
        process,
    ]
}

fn database_state(state: DatabaseState, locale: &Locale) -> PartState {
    let name = "operator-part-database";
    match state {
        DatabaseState::Ok => PartState::ok(name, locale.t("operator-database-ok")),
        DatabaseState::Full => PartState::bad(name, locale.t("operator-database-full")),
        DatabaseState::Damaged => PartState::bad(name, locale.t("operator-database-damaged")),
        DatabaseState::Removed => PartState::bad(name, locale.t("operator-database-removed")),
    }
}

fn index_state(health: &HealthResponse, locale: &Locale) -> PartState {
    let name = "operator-part-index";
    let count = |number: u64| Number(i64::try_from(number).unwrap_or(i64::MAX));
    let left = [("count", count(health.documents_left))];
    match health.index {
        PassageIndexState::Ok => {
            let passages = [("count", count(health.passages.unwrap_or_default()))];
            PartState::ok(name, locale.t_with("operator-index-ok", &passages))
        }
        PassageIndexState::Repairing => {
            PartState::care(name, locale.t_with("operator-index-repairing", &left))
        }
        PassageIndexState::Loading => PartState::care(name, locale.t("operator-index-loading")),
        PassageIndexState::Failed => PartState::bad(name, locale.t("operator-index-failed")),
        PassageIndexState::Full => PartState::bad(name, locale.t("operator-index-full")),
        PassageIndexState::Unreachable => PartState::bad(name, locale.t("operator-index-unreachable")),
        PassageIndexState::Foreign => PartState::care(name, locale.t("operator-index-foreign")),
    }
}

fn search_model_state(health: &HealthResponse, locale: &Locale) -> PartState {
    let name = "operator-part-model";
    match (&health.search_model, health.search_model_works) {
        (Some(model), true) => PartState::ok(name, model.clone()),
        (Some(model), false) => {
            PartState::care(name, locale.t_with("operator-model-fails", &[("model", Text(model.clone()))]))
        }
        (None, _) => PartState::care(name, locale.t("operator-model-none")),
    }
}

fn ai_state(health: &HealthResponse, locale: &Locale) -> PartState {
    let name = "operator-part-ai";
    let tokens = i64::try_from(health.ai.tokens_today).unwrap_or(i64::MAX);
    match health.ai.paused_until {
        Some(until) => {
            let until = [("time", Text(locale.date_time(until)))];
            PartState::care(name, locale.t_with("operator-ai-paused", &until))
        }
        None if health.ai.daily_tokens == 0 => {
            PartState::ok(name, locale.t_with("operator-ai-tokens", &[("count", Number(tokens))]))
        }
        None => {
            let max = i64::try_from(health.ai.daily_tokens).unwrap_or(i64::MAX);
            let counts = [("count", Number(tokens)), ("max", Number(max))];
            PartState::ok(name, locale.t_with("operator-ai-tokens-of", &counts))
        }
    }
}

async fn show_storage(page: PageRequest) -> Result<HttpResponse, Error> {
    let storage = page.run(ShowStorage).await?;
    let database = match storage.database {
        "postgres" => "operator-postgres",
        _ => "operator-sqlite",
    };
    let shell = page.shell(NavigationEntry::Settings).await?;
    page.show(&StoragePage { shell, tab: "operator", op_tab: "storage", storage, database })
}

async fn pause_ai(page: PageRequest) -> Result<HttpResponse, Error> {
    page.run(PauseAi).await?;
    page.done("/operator", DoneMessage::new("operator-ai-was-paused").undo("/operator/ai/resume", &[]))
}

async fn resume_ai(page: PageRequest) -> Result<HttpResponse, Error> {
    page.run(ResumeAi).await?;
    page.done("/operator", DoneMessage::new("operator-ai-was-resumed"))
}
