//! The key sheet, made from the table that the handler of keys reads too.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use askama::Template;
use errors::Error;
use serde::Deserialize;

use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::shell::{NavigationEntry, Shell};
use crate::parts;
use crate::web::filters;

/// The table of keys, as the script imports it: a module whose only statement is a JSON array.
const TABLE: &str = include_str!("../assets/keys-table.js");

static KEYS: LazyLock<Vec<KeyBinding>> = LazyLock::new(|| {
    let json = TABLE.trim().strip_prefix("export default ").and_then(|text| text.strip_suffix(';'));
    serde_json::from_str(json.unwrap_or_default()).unwrap_or_default()
});

/// A row of the table of keys.
#[derive(Debug, Deserialize)]
struct KeyBinding {
    /// The part of the app in which it acts.
    group: String,
    /// Alternatives. The keys of a sequence are separated by spaces.
    keys: Vec<String>,
    /// The key of its text.
    label: String,
}

/// The bindings of a part of the app.
struct KeyGroup {
    title: String,
    bindings: Vec<&'static KeyBinding>,
}

/// The page with all keys.
#[derive(Template)]
#[template(path = "help/keys.html", blocks = ["sheet"])]
struct KeysPage {
    shell: Shell,
    groups: Vec<KeyGroup>,
    has_single_keys: bool,
}

parts!(KeysPage { "dialog" => as_sheet });

/// Mounts the page.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/help/keys").get(show).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let shell = request.shell(NavigationEntry::Elsewhere).await?;
    let has_single_keys = request.viewer.settings.single_keys;
    request.show(&KeysPage { shell, groups: groups(), has_single_keys })
}

fn groups() -> Vec<KeyGroup> {
    let mut seen = BTreeSet::new();
    let names = KEYS.iter().map(|binding| binding.group.as_str()).filter(|name| seen.insert(*name));
    names
        .map(|name| KeyGroup {
            title: format!("keys-group-{name}"),
            bindings: KEYS.iter().filter(|binding| binding.group == name).collect(),
        })
        .collect()
}

impl KeyBinding {
    /// Returns the keys as the sheet shows them, one after another.
    fn shown(&self) -> Vec<&str> {
        self.keys.iter().flat_map(|keys| keys.split(' ')).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::strings::has_message;

    #[test]
    fn table_of_keys_is_read_and_has_texts() {
        assert!(KEYS.len() > 40, "{KEYS:?}");
        for binding in KEYS.iter() {
            assert!(has_message(&binding.label), "{binding:?}");
            assert!(has_message(&format!("keys-group-{}", binding.group)), "{binding:?}");
        }
    }

    #[test]
    fn keys_of_a_group_differ() {
        for group in groups() {
            let keys: Vec<_> = group.bindings.iter().flat_map(|binding| &binding.keys).collect();
            let distinct: BTreeSet<_> = keys.iter().collect();
            assert_eq!(keys.len(), distinct.len(), "{keys:?}");
        }
    }
}
