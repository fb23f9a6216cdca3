//! How much of the plan is used: today, this month, and by key and app.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::usage::{ReadUsage, ReadUsageResponse};
use actors::operations::usage_by_credential::{
    CredentialKind, CredentialUsage, ReadUsageByCredential, UsageByCredentialResponse,
};
use askama::Template;
use errors::Error;
use jiff::tz::TimeZone;
use values::kind::BudgetGroup;
use values::plan::Plan;
use values::time::Timestamp;

use crate::parts;
use crate::web::filters;
use crate::web::locale::Locale;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue::Text;

/// From this share on a bar is a warning.
const WARNING_SHARE: f64 = 0.8;

/// Mounts the page.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/settings/usage").not_stored().get(show).mount(config);
}

#[derive(Template)]
#[template(path = "control/usage.html", blocks = ["bars"])]
struct UsagePage {
    shell: Shell,
    tab: &'static str,
    plan: &'static str,
    sections: Vec<BarSection>,
    credentials: Vec<CredentialRow>,
}
parts!(UsagePage { "bars" => as_bars });

/// A key or an app with its usage.
struct CredentialRow {
    usage: CredentialUsage,
    /// The key of the word for its kind.
    kind: &'static str,
    /// The address of its activity.
    activity: String,
}

/// A section of the page: counts that are reset at the same time.
struct BarSection {
    /// The id of its heading.
    id: &'static str,
    title: String,
    /// When they are reset; empty for counts that are never reset.
    resets: String,
    bars: Vec<Bar>,
}

/// A bar with its numbers in words.
#[derive(Clone, Debug, PartialEq)]
struct Bar {
    name: String,
    used: String,
    of: String,
    /// The share for the bar, from 0 to 1.
    share: String,
    /// A sentence below the bar; empty for none.
    note: String,
    is_warning: bool,
}

/// Returns the key of the name of a plan.
pub fn plan_key(plan: Plan) -> &'static str {
    match plan {
        Plan::Free => "plan-free",
        Plan::Pro => "plan-pro",
        Plan::Research => "plan-research",
    }
}

async fn show(page: PageRequest) -> Result<HttpResponse, Error> {
    let usage = page.run(ReadUsage).await?;
    let by_credential = page.run(ReadUsageByCredential).await?;
    let locale = page.locale();
    // Months and days of limits are those of UTC.
    let utc = Locale { zone: TimeZone::UTC, ..locale.clone() };
    let view = UsagePage {
        shell: page.shell(NavigationEntry::Settings).await?,
        tab: "usage",
        plan: plan_key(usage.plan),
        sections: vec![
            BarSection {
                id: "today",
                title: locale.t("usage-today"),
                resets: resets_text(locale, usage.rest.resets_at),
                bars: bars_of_today(locale, &usage, &by_credential),
            },
            BarSection {
                id: "month",
                title: utc.month(utc.now),
                resets: resets_text(locale, usage.answers.resets_at),
                bars: bars_of_month(locale, &usage),
            },
            BarSection {
                id: "stored",
                title: locale.t("usage-stored"),
                resets: String::new(),
                bars: bars_of_storage(locale, &usage),
            },
        ],
        credentials: by_credential.credentials.into_iter().map(row_of).collect(),
    };
    page.show(&view)
}

/// Returns the text that says when a count is reset, in the time zone of the account.
fn resets_text(locale: &Locale, at: Timestamp) -> String {
    let key = if locale.zone == TimeZone::UTC { "usage-resets-utc" } else { "usage-resets" };
    locale.t_with(key, &[("time", Text(locale.time(at))), ("date", Text(locale.date(at)))])
}

fn bars_of_today(locale: &Locale, usage: &ReadUsageResponse, by: &UsageByCredentialResponse) -> Vec<Bar> {
    let rest = count_bar(locale, "usage-rest", usage.rest.today.into(), usage.rest.limit.into());
    let mcp = count_bar(locale, "usage-mcp", usage.mcp.today.into(), usage.mcp.limit.into());
    vec![
        with_forecast(locale, rest, by.rest_limit_reached_at, usage.rest.today >= usage.rest.limit),
        with_forecast(locale, mcp, by.mcp_limit_reached_at, usage.mcp.today >= usage.mcp.limit),
    ]
}

fn with_forecast(locale: &Locale, mut bar: Bar, reached_at: Option<Timestamp>, is_reached: bool) -> Bar {
    if is_reached && bar.is_warning {
        bar.note = locale.t("usage-reached");
    } else if let Some(at) = reached_at {
        bar.note = locale.t_with("usage-forecast", &[("time", Text(locale.time(at)))]);
        bar.is_warning = true;
    }
    bar
}

fn bars_of_month(locale: &Locale, usage: &ReadUsageResponse) -> Vec<Bar> {
    let answers = u64::try_from(usage.answers.this_month).unwrap_or_default();
    let mut bars = vec![count_bar(locale, "usage-answers", answers, usage.answers.limit.into())];
    for group in &usage.ai_budget.groups {
        let key = match group.group {
            BudgetGroup::Chat => "usage-ai-chat",
            BudgetGroup::Embedding => "usage-ai-embedding",
            BudgetGroup::Transcription => "usage-ai-transcription",
        };
        bars.push(Bar {
            name: locale.t(key),
            used: locale.percent(group.share),
            of: locale.t("usage-of-budget"),
            share: share_text(group.share),
            note: String::new(),
            is_warning: group.share >= WARNING_SHARE,
        });
    }
    bars
}

fn bars_of_storage(locale: &Locale, usage: &ReadUsageResponse) -> Vec<Bar> {
    let mut uploads = bytes_bar(locale, "usage-uploads", usage.uploads.stored_bytes, usage.uploads.limit);
    uploads.note =
        locale.t_with("usage-largest-upload", &[("size", Text(locale.bytes(usage.uploads.largest)))]);
    vec![
        bytes_bar(locale, "usage-library", usage.library.bytes, usage.library.limit),
        uploads,
        bytes_bar(locale, "usage-transfers", usage.transfers.bytes, usage.transfers.limit),
    ]
}

fn count_bar(locale: &Locale, key: &str, used: u64, limit: u64) -> Bar {
    let number = |number: u64| locale.number(i64::try_from(number).unwrap_or(i64::MAX));
    bar(locale, key, (used, limit), (number(used), number(limit)))
}

fn bytes_bar(locale: &Locale, key: &str, used: u64, limit: u64) -> Bar {
    bar(locale, key, (used, limit), (locale.bytes(used), locale.bytes(limit)))
}

#[expect(clippy::cast_precision_loss, reason = "the share is only shown")]
fn bar(
    locale: &Locale,
    key: &str,
    (used, limit): (u64, u64),
    (used_text, limit_text): (String, String),
) -> Bar {
    // A plan may allow nothing of a kind.
    let share = if limit == 0 { 0.0 } else { (used as f64 / limit as f64).min(1.0) };
    Bar {
        name: locale.t(key),
        used: used_text,
        of: locale.t_with("usage-of", &[("limit", Text(limit_text))]),
        share: share_text(share),
        note: if limit == 0 { locale.t("usage-not-in-plan") } else { String::new() },
        is_warning: share >= WARNING_SHARE,
    }
}

/// Writes a share as the value of an attribute.
fn share_text(share: f64) -> String {
    format!("{share:.4}")
}

fn row_of(usage: CredentialUsage) -> CredentialRow {
    let (kind, filter) = match usage.kind {
        CredentialKind::Key => ("usage-kind-key", "key"),
        CredentialKind::App => ("activity-by-sign-in", "app"),
    };
    CredentialRow { kind, activity: format!("/settings/activity?{filter}={}", usage.id), usage }
}

#[cfg(test)]
mod tests {
    use values::kind::AppLanguage;

    use super::*;

    fn locale() -> Locale {
        let now = Timestamp::parse("2026-11-27T17:00:00Z").unwrap();
        Locale { language: AppLanguage::English, is_pseudo: false, zone: TimeZone::UTC, now }
    }

    #[test]
    fn bar_is_a_warning_from_four_fifths_on() {
        let below = count_bar(&locale(), "usage-rest", 79, 100);
        let above = count_bar(&locale(), "usage-rest", 80, 100);

        assert_eq!((below.is_warning, below.share.as_str()), (false, "0.7900"));
        assert!(above.is_warning);
        assert_eq!(count_bar(&locale(), "usage-rest", 500, 100).share, "1.0000");
        assert_eq!(count_bar(&locale(), "usage-rest", 5, 0).share, "0.0000");
    }

    #[test]
    fn forecast_is_said_below_its_bar() {
        let at = Timestamp::parse("2026-11-27T18:00:00Z");

        let forecast = with_forecast(&locale(), count_bar(&locale(), "usage-mcp", 50, 100), at, false);
        let reached = with_forecast(&locale(), count_bar(&locale(), "usage-mcp", 100, 100), None, true);

        assert!(forecast.is_warning && forecast.note.contains("18:00"), "{forecast:?}");
        assert!(reached.is_warning && !reached.note.is_empty());
    }
}
