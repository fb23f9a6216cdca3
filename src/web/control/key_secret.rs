//! The one page that shows the secret of a key: the answer to the form that created or regenerated it.
//!
//! The page is not stored, and the form works once, by its ticket: reloading the page sends the form again, which shows the list of keys.

use std::time::Duration;

use actix_web::HttpResponse;
use actors::operations::keys::{KeySecretResponse, KeyView};
use askama::Template;
use errors::Error;
use values::kind::KeyKind;
use values::time::Timestamp;

use crate::parts;
use crate::web::filters;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// A form that is older than this may have lost its ticket, and is shown again: tickets are kept a little longer.
const MAX_FORM_AGE: Duration = Duration::from_secs(9 * 60);

/// Whether the ticket of a form can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketState {
    /// It was issued to this user and was not used; now it is.
    Valid,
    /// It was used.
    Spent,
    /// The form is so old that its ticket may have been forgotten.
    Late,
}

/// Issues the ticket of a form that shows a secret.
///
/// # Errors
/// [`Error::Internal`] when the system gives no random bytes.
pub fn issue_ticket(page: &PageRequest) -> Result<String, Error> {
    page.state.tickets.issue(page.viewer.caller.user)
}

/// Uses up the ticket of the form.
pub fn spend_ticket(page: &PageRequest) -> TicketState {
    let ticket = page.form.get("ticket").unwrap_or_default();
    if page.state.tickets.spend(page.viewer.caller.user, ticket) {
        return TicketState::Valid;
    }
    let opened = page.form.get("opened").and_then(|millis| millis.parse().ok()).unwrap_or(i64::MAX);
    if is_late(Timestamp::from_millis(opened), page.locale().now) {
        TicketState::Late
    } else {
        TicketState::Spent
    }
}

fn is_late(opened: Timestamp, now: Timestamp) -> bool {
    now.since(opened) >= MAX_FORM_AGE
}

#[derive(Template)]
#[template(path = "control/key_secret.html")]
struct KeySecretPage {
    shell: Shell,
    tab: &'static str,
    key: KeyView,
    secret: String,
    test_command: String,
}
parts!(KeySecretPage {});

/// Shows the secret of a key that was just created or regenerated.
pub async fn show(page: &PageRequest, created: KeySecretResponse) -> Result<HttpResponse, Error> {
    let KeySecretResponse { key, secret } = created;
    let test_command = test_command(&page.ctx.core.base_url, key.kind, &secret);
    let shell = page.shell(NavigationEntry::Settings).await?;
    page.show(&KeySecretPage { shell, tab: "keys", key, secret, test_command })
}

/// Returns a command that tests a key: it lists the tools of a key for assistants, and the usage for programs.
pub fn test_command(base_url: &str, kind: KeyKind, secret: &str) -> String {
    match kind {
        KeyKind::Mcp => format!(
            "curl -s {base_url}/mcp \\\n  -H 'Authorization: Bearer {secret}' \\\n  -H 'Content-Type: application/json' \\\n  \
             -H 'Accept: application/json, text/event-stream' \\\n  \
             -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}'"
        ),
        KeyKind::Rest => {
            format!("curl -s {base_url}/rest/v2/usage \\\n  -H 'Authorization: Bearer {secret}'")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_is_late_before_its_ticket_is_forgotten() {
        let now = Timestamp::from_millis(1_714_996_800_000);

        assert!(is_late(now - MAX_FORM_AGE, now));
        assert!(!is_late(now - Duration::from_secs(60), now));
        assert!(!is_late(Timestamp::from_millis(i64::MAX), now));
    }

    #[test]
    fn commands_name_the_address_of_their_kind() {
        let mcp = test_command("https://c.example", KeyKind::Mcp, "pk_a");
        let rest = test_command("https://c.example", KeyKind::Rest, "pk_a");

        assert!(mcp.starts_with("curl -s https://c.example/mcp ") && mcp.contains("Bearer pk_a'"));
        assert!(rest.starts_with("curl -s https://c.example/rest/v2/usage ") && !rest.contains("tools/list"));
    }
}
