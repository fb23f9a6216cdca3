//! The calls of keys and connected apps: a chart of a month, and the lines.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::activity::{ActivityStatus, ActivityView};
use actors::operations::activity_days::{ActivityDayView, CountActivity};
use actors::operations::apps::ListApps;
use actors::operations::keys::ListKeys;
use askama::Template;
use errors::Error;
use jiff::tz::TimeZone;
use values::kind::MeteredSurface;

use super::activity_filter::ActivityFilter;
use super::chart::{Chart, DayBar, GridLine};
use crate::parts;
use crate::web::filters;
use crate::web::locale::Locale;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue;

/// Lines of a page.
const PAGE_LINES: u32 = 50;

/// Mounts the page.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/settings/activity").not_stored().get(show).mount(config);
}

#[derive(Template)]
#[template(path = "control/activity.html", blocks = ["list"])]
struct ActivityPage {
    shell: Shell,
    tab: &'static str,
    grid: Vec<GridLine>,
    chart_title: String,
    bars: Vec<(String, DayBar)>,
    retention_days: u64,
    by: Option<String>,
    choices: Vec<FilterChoice>,
    surfaces: Vec<FilterChoice>,
    refused: FilterChoice,
    filter: ActivityFilter,
    lines: Vec<DayOfLines>,
    next: Option<String>,
    is_first: bool,
}
parts!(ActivityPage { "list" => as_list });

impl ActivityPage {
    /// Returns the address of the calls of all keys and apps.
    fn all_calls(&self) -> String {
        address(&ActivityFilter { key: None, app: None, ..self.filter.clone() })
    }
}

/// A filter to choose: the address with it.
struct FilterChoice {
    name: String,
    href: String,
    is_on: bool,
}

/// The lines of a day.
struct DayOfLines {
    title: String,
    lines: Vec<LineView>,
}

/// A line of the activity.
struct LineView {
    call: ActivityView,
    by: String,
    client: String,
    called: String,
    /// What went wrong; empty for a call that succeeded.
    fault: String,
}

async fn show(page: PageRequest) -> Result<HttpResponse, Error> {
    let filter = ActivityFilter::of(&page.query);
    let cursor = page.query.get("cursor");
    let listed = filter.list(&page, PAGE_LINES, cursor).await?;
    let credential = filter.key.map(|key| key.0).or(filter.app.map(|app| app.0));
    let counted = page.run(CountActivity::of_month(credential)).await?.days;
    let counted: Vec<_> = counted.into_iter().map(|day| filter.filter_day(day)).collect();
    let utc = Locale { zone: TimeZone::UTC, ..page.locale().clone() };
    let chart = Chart::of(&counted);
    let choices = credential_choices(&page, &filter).await?;
    let next = listed.next_cursor.map(|cursor| {
        let query = filter.query();
        let separator = if query.is_empty() { '?' } else { '&' };
        format!("/settings/activity{query}{separator}cursor={cursor}")
    });
    page.show(&ActivityPage {
        shell: page.shell(NavigationEntry::Settings).await?,
        tab: "activity",
        grid: chart.lines,
        chart_title: chart_title(&utc, &counted),
        bars: chart.bars.into_iter().map(|bar| (utc.date(bar.day.day.start()), bar)).collect(),
        retention_days: page.ctx.requests.activity.retention().as_secs() / 86_400,
        by: choices.iter().find(|choice| choice.is_on).map(|choice| choice.name.clone()),
        surfaces: surface_choices(&filter),
        refused: FilterChoice {
            name: page.locale().t("activity-only-refused"),
            href: address(&ActivityFilter { refused: !filter.refused, ..filter.clone() }),
            is_on: filter.refused,
        },
        choices,
        filter,
        lines: by_day(listed.activity, page.locale()),
        next,
        is_first: cursor.is_none(),
    })
}

fn address(filter: &ActivityFilter) -> String {
    format!("/settings/activity{}", filter.query())
}

/// Returns the keys and apps to choose from.
async fn credential_choices(page: &PageRequest, filter: &ActivityFilter) -> Result<Vec<FilterChoice>, Error> {
    let mut choices = Vec::new();
    for key in page.run(ListKeys).await?.keys {
        let chosen = ActivityFilter { key: Some(key.id), app: None, ..filter.clone() };
        choices.push(FilterChoice {
            name: key.name,
            href: address(&chosen),
            is_on: filter.key == Some(key.id),
        });
    }
    for app in page.run(ListApps).await?.apps {
        let chosen = ActivityFilter { app: Some(app.id), key: None, ..filter.clone() };
        choices.push(FilterChoice {
            name: app.client_name,
            href: address(&chosen),
            is_on: filter.app == Some(app.id),
        });
    }
    Ok(choices)
}

fn surface_choices(filter: &ActivityFilter) -> Vec<FilterChoice> {
    let choice = |surface: MeteredSurface| {
        let is_on = filter.surface == Some(surface);
        let chosen = ActivityFilter { surface: (!is_on).then_some(surface), ..filter.clone() };
        FilterChoice { name: surface.name().to_uppercase(), href: address(&chosen), is_on }
    };
    [MeteredSurface::Mcp, MeteredSurface::Rest].into_iter().map(choice).collect()
}

/// Says in a sentence what the chart shows.
fn chart_title(utc: &Locale, days: &[ActivityDayView]) -> String {
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return String::new() };
    let count = |number: u64| MessageValue::Number(i64::try_from(number).unwrap_or(i64::MAX));
    let busiest = days.iter().max_by_key(|day| day.calls()).unwrap_or(last);
    let date = |day: &ActivityDayView| MessageValue::Text(utc.date(day.day.start()));
    utc.t_with(
        "activity-chart-title",
        &[
            ("first", date(first)),
            ("last", date(last)),
            ("most", count(busiest.calls())),
            ("day", date(busiest)),
            ("refused", count(days.iter().map(ActivityDayView::refused).sum())),
        ],
    )
}

/// Groups the lines by their day in the time zone of the page.
fn by_day(calls: Vec<ActivityView>, locale: &Locale) -> Vec<DayOfLines> {
    let mut days: Vec<DayOfLines> = Vec::new();
    for call in calls {
        let title = locale.day(call.at);
        let line = line_of(call, locale);
        match days.last_mut().filter(|day| day.title == title) {
            Some(day) => day.lines.push(line),
            None => days.push(DayOfLines { title, lines: vec![line] }),
        }
    }
    days
}

fn line_of(call: ActivityView, locale: &Locale) -> LineView {
    let client = call.client.clone().unwrap_or_default();
    let (by, client) = match &call.key_name {
        Some(name) => (name.clone(), client),
        None => (client, locale.t("activity-by-sign-in")),
    };
    let called = call.tool.clone().or_else(|| call.route.clone()).unwrap_or_default();
    let fault = if call.refused { fault_of(&call.status, locale) } else { String::new() };
    LineView { by, client, called, fault, call }
}

/// Says what went wrong: the code, and a few words for the frequent ones.
fn fault_of(status: &ActivityStatus, locale: &Locale) -> String {
    let (code, key) = match status {
        ActivityStatus::Number(number) => (
            number.to_string(),
            match number {
                401 | 403 => Some("activity-not-allowed"),
                402 => Some("activity-over-plan"),
                404 => Some("activity-not-found"),
                429 => Some("activity-too-many"),
                500.. => Some("activity-failed"),
                _ => Some("activity-invalid"),
            },
        ),
        ActivityStatus::Word(word) => (
            word.clone(),
            match word.as_str() {
                "SCOPE_REQUIRED" | "PLAN_REQUIRED" => Some("activity-not-allowed"),
                "NOT_FOUND" => Some("activity-not-found"),
                "RATE_LIMITED" => Some("activity-too-many"),
                "VALIDATION_FAILED" => Some("activity-invalid"),
                "INTERNAL" => Some("activity-failed"),
                _ => None,
            },
        ),
    };
    key.map_or_else(|| code.clone(), |key| format!("{code} {}", locale.t(key)))
}
