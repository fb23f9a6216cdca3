//! Sources of a project: added by their addresses, pinned, moved to the background, removed.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operation::FromRequest;
use actors::operations::projects::{AddItems, ChangeItem, RemoveItem};
use errors::Error;
use serde_json::{Value, json};
use validation::NoFields;

use super::form::{ProjectFieldKind, ProjectForm};
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::strings::ToMessageValue;

/// Addresses that one form adds.
const MAX_ADDED_SOURCES: usize = 50;
/// The longest text of addresses.
const MAX_ADDRESSES_CHARS: u32 = 50_000;

fn project_path(request: &PageRequest) -> Result<String, Error> {
    Ok(format!("/projects/{}", request.target().text(0)?))
}

/// Shows the form that adds sources.
pub async fn show_new(request: PageRequest) -> Result<HttpResponse, Error> {
    super::edit::load(&request).await?;
    new_form(&request)?.show(&request, StatusCode::OK, FormFaults::default()).await
}

fn new_form(request: &PageRequest) -> Result<ProjectForm, Error> {
    let path = project_path(request)?;
    let role = request.form.get("role").unwrap_or("source");
    let roles = [("source", "projects-role-source"), ("background", "projects-role-background")];
    let roles = roles.map(|(value, key)| (value, key, value == role)).into();
    let urls = ProjectFieldKind::Text(request.form.text("urls").to_owned(), MAX_ADDRESSES_CHARS);
    let form =
        ProjectForm::new("projects-source-new", format!("{path}/sources"), "projects-source-add", path);
    Ok(form.field("urls", "projects-source-urls", urls, Some("projects-source-hint")).field(
        "role",
        "projects-source-role",
        ProjectFieldKind::Choice(roles),
        Some("projects-role-hint"),
    ))
}

/// Adds sources by their addresses, which are saved to the library.
pub async fn add(request: PageRequest) -> Result<HttpResponse, Error> {
    let urls: Vec<&str> = request.form.text("urls").split_whitespace().take(MAX_ADDED_SOURCES + 1).collect();
    let mut faults = FormFaults::default();
    if urls.is_empty() {
        faults.add("urls", request.locale().t("projects-source-none"));
    } else if urls.len() > MAX_ADDED_SOURCES {
        let max = MAX_ADDED_SOURCES.to_message_value();
        faults.add("urls", request.locale().t_with("projects-source-many", &[("max", max)]));
    }
    if faults.is_any() {
        return new_form(&request)?.show(&request, StatusCode::UNPROCESSABLE_ENTITY, faults).await;
    }
    let role = request.form.get("role").filter(|role| *role == "background").unwrap_or("source");
    let items: Vec<Value> = urls.iter().map(|url| json!({ "url": url, "role": role })).collect();
    match request.run_json::<AddItems>(&request.target(), json!({ "items": items })).await {
        Ok(_) => {
            let count = urls.len().to_message_value();
            request.done(
                &project_path(&request)?,
                DoneMessage::new("projects-source-added").with("count", count),
            )
        }
        Err(Error::Invalid(invalid)) => {
            for fault in &invalid.faults {
                // `items[2].url` is the third address.
                let number =
                    fault.field.split(['[', ']']).nth(1).and_then(|number| number.parse::<usize>().ok());
                let url = number.and_then(|number| urls.get(number).copied()).unwrap_or_default();
                let url = url.to_message_value();
                faults.add("urls", request.locale().t_with("projects-source-wrong", &[("url", url)]));
            }
            new_form(&request)?.show(&request, StatusCode::UNPROCESSABLE_ENTITY, faults).await
        }
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            new_form(&request)?.show(&request, status, faults).await
        }
    }
}

/// Pins a source, or changes its role.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run_form::<ChangeItem>(&request.target(), &["pinned", "role"]).await?;
    Ok(request.redirect(&request.back(&project_path(&request)?)))
}

/// Removes a source from the project. It stays in the library.
pub async fn remove(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run(RemoveItem::from_request(&request.target(), NoFields {})?).await?;
    request.done(&request.back(&project_path(&request)?), DoneMessage::new("projects-source-removed"))
}
