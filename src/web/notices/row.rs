//! A notice in the language of the page.

use actors::operations::notices::NoticeView;
use values::kind::NoticeKind;
use values::time::Timestamp;

use crate::web::filters::visible_text;
use crate::web::locale::Locale;
use crate::web::strings::MessageValue::Text;

/// A notice with its words and actions.
pub(in crate::web) struct NoticeRow {
    pub id: String,
    pub words: String,
    pub icon: &'static str,
    pub at: Timestamp,
    pub is_new: bool,
    /// The program that used the key.
    pub client: Option<String>,
    /// Name of the key or app.
    pub name: String,
    /// The key or app; `None` in notices that do not name it.
    pub subject: Option<NoticeSubject>,
}

/// The key or app that a notice is about.
pub(in crate::web) struct NoticeSubject {
    pub id: String,
    /// `key` or `app`.
    pub kind: &'static str,
    pub calls_href: String,
    pub is_active: bool,
    /// What it may do, as the names of its permissions.
    pub scopes: Vec<String>,
}

impl NoticeRow {
    pub(in crate::web) fn new(view: NoticeView, locale: &Locale) -> Self {
        let is_key = match view.kind {
            NoticeKind::KeyFirstUse => true,
            NoticeKind::AppConnected => false,
        };
        let current = view.action.as_ref().and_then(|action| action.name.clone());
        let name = current.or_else(|| quoted(&view.title)).unwrap_or_else(|| view.title.clone());
        let name = visible_text(&name);
        let (key, icon, kind) = match is_key {
            true => ("notices-key-used", "key", "key"),
            false => ("notices-app-connected", "plug", "app"),
        };
        Self {
            id: view.id.to_string(),
            words: locale.t_with(key, &[("name", Text(name.clone()))]),
            icon,
            at: view.created_at,
            is_new: view.read_at.is_none(),
            client: view.client.filter(|_| is_key),
            name,
            subject: view.action.map(|action| NoticeSubject {
                calls_href: format!("/settings/activity?{kind}={}", action.subject_id),
                id: action.subject_id.to_string(),
                kind,
                is_active: action.is_active,
                scopes: action.scopes.iter().map(|scope| scope.to_string()).collect(),
            }),
        }
    }
}

/// Returns the name that a stored title has in quotation marks, for a key that is revoked.
fn quoted(title: &str) -> Option<String> {
    let (_, rest) = title.split_once('“')?;
    let (name, _) = rest.rsplit_once('”')?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_read_from_the_quotation_marks_of_a_title() {
        let title = "The key “Desk “new”” was used for the first time";

        assert_eq!(quoted(title).as_deref(), Some("Desk “new”"));
        assert_eq!(quoted("No name"), None);
    }
}
