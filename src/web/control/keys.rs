//! The list of API keys.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::auth::keys::rules;
use actors::operations::keys::{KeyView, ListKeys};
use actors::operations::usage_by_credential::ReadUsageByCredential;
use askama::Template;
use errors::Error;
use std::time::Duration;
use values::kind::KeyKind;
use values::time::Timestamp;

use super::scope_names;
use crate::parts;
use crate::web::filters;
use crate::web::locale::Locale;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue;

/// The end of a key is shown as a warning from this time before it on.
const EXPIRY_NOTICE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Mounts the page.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/settings/keys").not_stored().get(show).mount(config);
}

#[derive(Template)]
#[template(path = "control/keys.html", blocks = ["keys"])]
struct ApiKeysPage {
    shell: Shell,
    tab: &'static str,
    kind: Option<KeyKind>,
    quotas: Vec<KeyQuota>,
    keys: Vec<KeyRow>,
    has_keys: bool,
    resets_at_text: String,
}
parts!(ApiKeysPage { "keys" => as_keys });

/// How many keys of a kind there are, and may be.
#[derive(Clone, Copy, Debug)]
struct KeyQuota {
    kind: KeyKind,
    used: usize,
    max: u32,
    /// Whether the list shows only this kind.
    is_on: bool,
}

impl KeyQuota {
    fn is_reached(&self) -> bool {
        self.used >= usize::try_from(self.max).unwrap_or(usize::MAX)
    }
}

/// A key of the list.
struct KeyRow {
    key: KeyView,
    may: String,
    asleep: String,
    calls_today: u64,
    end_note: Option<EndNote>,
}

/// A warning about the end of a key.
pub struct EndNote {
    /// The class of its colour.
    pub class: &'static str,
    /// What it says.
    pub text: String,
}

impl EndNote {
    /// Returns the warning about the end of a key, if there is one.
    pub fn of(expires_at: Option<Timestamp>, locale: &Locale) -> Option<Self> {
        let (class, key, end) = match KeyEnd::of(expires_at, locale.now) {
            KeyEnd::Soon(end) => ("is-warning", "api-keys-expires-soon", end),
            KeyEnd::Past(end) => ("is-error", "api-keys-expired", end),
            KeyEnd::Later => return None,
        };
        let text = locale.t_with(key, &[("date", MessageValue::Text(locale.date_time(end)))]);
        Some(Self { class, text })
    }
}

/// When a key ends, as far as that is worth a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyEnd {
    /// Never, or not soon.
    Later,
    /// Within a month.
    Soon(Timestamp),
    /// It has ended.
    Past(Timestamp),
}

impl KeyEnd {
    /// Judges the end of a key.
    fn of(expires_at: Option<Timestamp>, now: Timestamp) -> Self {
        match expires_at {
            Some(end) if end <= now => Self::Past(end),
            Some(end) if end.since(now) <= EXPIRY_NOTICE => Self::Soon(end),
            Some(_) | None => Self::Later,
        }
    }
}

/// Returns the permissions of a key that its owner's plan lacks, in words; empty if there are none.
pub fn asleep_in_words(key: &KeyView, locale: &Locale) -> String {
    let asleep = key.scopes.iter().filter(|scope| !key.effective_scopes.has(*scope)).collect();
    scope_names::in_words(&asleep, locale)
}

async fn show(page: PageRequest) -> Result<HttpResponse, Error> {
    let kind = page.query.get("kind").and_then(|kind| kind.parse().ok());
    let listed = page.run(ListKeys).await?.keys;
    let usage = page.run(ReadUsageByCredential).await?;
    let limits = page.ctx.core.plans.limits(page.viewer.caller.plan);
    let quota = |quota: KeyKind| KeyQuota {
        kind: quota,
        is_on: kind == Some(quota),
        used: listed.iter().filter(|key| key.kind == quota).count(),
        max: rules::max_keys(quota, limits),
    };
    let quotas = vec![quota(KeyKind::Rest), quota(KeyKind::Mcp)];
    let now = page.locale().now;
    let row = |key: KeyView| KeyRow {
        may: scope_names::in_words(&key.effective_scopes, page.locale()),
        asleep: asleep_in_words(&key, page.locale()),
        calls_today: usage
            .credentials
            .iter()
            .find(|used| used.id == key.id.0)
            .map_or(0, |used| used.calls_today),
        end_note: EndNote::of(key.expires_at, page.locale()),
        key,
    };
    let has_keys = !listed.is_empty();
    let shown = listed.into_iter().filter(|key| kind.is_none_or(|kind| key.kind == kind));
    page.show(&ApiKeysPage {
        shell: page.shell(NavigationEntry::Settings).await?,
        tab: "keys",
        kind,
        quotas,
        keys: shown.map(row).collect(),
        has_keys,
        resets_at_text: page.locale().time(now.day().end()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_key_is_noted_a_month_before() {
        let now = Timestamp::from_millis(1_714_996_800_000);
        let (past, soon, later) =
            (now - Duration::from_secs(1), now + EXPIRY_NOTICE, now + EXPIRY_NOTICE + Duration::from_secs(1));

        assert_eq!(KeyEnd::of(Some(past), now), KeyEnd::Past(past));
        assert_eq!(KeyEnd::of(Some(soon), now), KeyEnd::Soon(soon));
        assert_eq!(KeyEnd::of(Some(later), now), KeyEnd::Later);
        assert_eq!(KeyEnd::of(None, now), KeyEnd::Later);
    }
}
