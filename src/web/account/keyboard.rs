//! Whether single keys are commands.

use actix_web::HttpResponse;
use actors::operations::settings::ChangeSettings;
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::json;

use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The page of the keyboard.
#[derive(Template)]
#[template(path = "account/keyboard.html")]
struct KeyboardPage {
    shell: Shell,
    tab: &'static str,
    has_single_keys: bool,
}

parts!(KeyboardPage {});

/// Shows the page.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let shell = request.shell(NavigationEntry::Settings).await?;
    let has_single_keys = request.viewer.settings.single_keys;
    request.show(&KeyboardPage { shell, tab: "keyboard", has_single_keys })
}

/// Turns single keys on or off.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    let settings = json!({ "singleKeys": request.form.has("singleKeys") });
    request.run_json::<ChangeSettings>(&Target::default(), settings).await?;
    request.done("/settings/keyboard", DoneMessage::new("account-saved"))
}
