//! The pages and actions that the palette lists.

use super::entry::{PaletteEntry, contains};
use crate::web::locale::Locale;
use crate::web::strings::MessageValue;

/// A page or an action of the app.
pub struct Destination {
    icon: &'static str,
    label: &'static str,
    href: &'static str,
    /// Whether it does something rather than go somewhere.
    pub is_action: bool,
}

const fn page(icon: &'static str, label: &'static str, href: &'static str) -> Destination {
    Destination { icon, label, href, is_action: false }
}

const fn action(icon: &'static str, label: &'static str, href: &'static str) -> Destination {
    Destination { icon, label, href, is_action: true }
}

static DESTINATIONS: [Destination; 30] = [
    page("home", "shell-home", "/"),
    page("library", "shell-library", "/library"),
    page("feeds", "shell-feeds", "/feeds"),
    page("highlight", "shell-highlights", "/highlights"),
    page("projects", "shell-projects", "/projects"),
    page("ask", "shell-ask", "/ask"),
    page("collection", "palette-collections", "/collections"),
    page("tag", "settings-tags", "/tags"),
    page("filter", "library-saved-searches", "/saved-searches"),
    page("feeds", "feeds-manage", "/feeds/manage"),
    page("upload", "shell-uploads", "/uploads"),
    page("bell", "palette-notices", "/notices"),
    page("trash", "palette-trash", "/library/trash"),
    page("settings", "settings-account", "/settings/account"),
    page("settings", "settings-security", "/settings/security"),
    page("settings", "settings-reading", "/settings/reading"),
    page("settings", "settings-keyboard", "/settings/keyboard"),
    page("key", "settings-keys", "/settings/keys"),
    page("plug", "settings-apps", "/settings/apps"),
    page("plug", "extension-title", "/settings/extension"),
    page("settings", "settings-activity", "/settings/activity"),
    page("gauge", "settings-usage", "/settings/usage"),
    action("plus", "shell-save", "/add"),
    action("download", "settings-import", "/imports/new"),
    action("upload", "settings-export", "/exports"),
    action("feeds", "palette-follow", "/feeds/add"),
    action("plug", "settings-connect", "/settings/connect/claude"),
    action("key", "palette-new-key", "/settings/keys/new"),
    action("keyboard", "keys-title", "/help/keys"),
    action("info", "help-search-title", "/help/search"),
];

/// Returns all pages and actions.
pub fn destinations() -> impl Iterator<Item = &'static Destination> {
    DESTINATIONS.iter()
}

impl Destination {
    /// Returns whether its name has the words that were typed.
    pub fn matches(&self, locale: &Locale, query: &str) -> bool {
        contains(&locale.t(self.label), query)
    }

    /// Returns its entry.
    pub fn entry(&self, locale: &Locale) -> PaletteEntry {
        PaletteEntry {
            icon: self.icon,
            text: locale.t(self.label),
            detail: String::new(),
            href: self.href.to_owned(),
            other: None,
            is_foreign: false,
        }
    }

    /// The entry that searches for what was typed.
    pub fn search(locale: &Locale, query: &str) -> PaletteEntry {
        let href = address("/search", query);
        let other = Some(address("/ask", query));
        PaletteEntry {
            icon: "search",
            text: quoted(locale, "palette-search", query),
            detail: String::new(),
            href,
            other,
            is_foreign: false,
        }
    }

    /// The entry that asks what was typed.
    pub fn ask(locale: &Locale, query: &str) -> PaletteEntry {
        let href = address("/ask", query);
        PaletteEntry {
            icon: "ask",
            text: quoted(locale, "palette-ask", query),
            detail: "Ctrl Enter".to_owned(),
            href,
            other: None,
            is_foreign: false,
        }
    }
}

fn quoted(locale: &Locale, key: &str, query: &str) -> String {
    locale.t_with(key, &[("query", MessageValue::Text(query.to_owned()))])
}

fn address(path: &str, query: &str) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("q", query).finish();
    format!("{path}?{query}")
}
