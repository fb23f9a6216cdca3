//! Name, language, time zone and theme, and the e-mail address.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operation::FromRequest;
use actors::operations::account::ChangeProfile;
use actors::operations::settings::ChangeSettings;
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::{Value, json};

use crate::http::account::{self, ChangeEmailRequest};
use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::fields::read_json_as;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The page with name, language, time zone and theme.
#[derive(Template)]
#[template(path = "account/profile.html")]
struct ProfilePage {
    shell: Shell,
    tab: &'static str,
    faults: FormFaults,
    email: String,
    /// The e-mail address that was typed and refused.
    new_email: String,
    email_faults: FormFaults,
    name: String,
    language: String,
    theme: String,
    time_zone: String,
    /// The names of all time zones.
    zones: Vec<String>,
}

parts!(ProfilePage {});

/// Shows the page.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    show_with(&request, StatusCode::OK, FormFaults::default(), FormFaults::default()).await
}

/// Changes what the form says.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    match save(&request).await {
        Ok(()) => request.done("/settings/account", DoneMessage::new("account-saved")),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            show_with(&request, status, faults, FormFaults::default()).await
        }
    }
}

/// Changes the e-mail address.
pub async fn change_email(request: PageRequest) -> Result<HttpResponse, Error> {
    let read = async || Ok(request.form.read_as::<ChangeEmailRequest>(&["email", "current"])?);
    let (status, faults) = match account::change_email(&request.http, &request.ctx, read).await {
        Ok(()) => return request.done("/settings/account", DoneMessage::new("account-email-changed")),
        Err(Error::Conflict(_)) => {
            let mut faults = FormFaults::default();
            faults.add("email", request.locale().t("account-email-taken"));
            (StatusCode::CONFLICT, faults)
        }
        Err(error) => FormFaults::from_error(error, request.locale())?,
    };
    show_with(&request, status, FormFaults::default(), faults).await
}

async fn save(request: &PageRequest) -> Result<(), Error> {
    let form = &request.form;
    // An empty field clears the value.
    let value = |name| form.get(name).map_or(Value::Null, |text| Value::String(text.trim().to_owned()));
    let settings = json!({
        "language": value("language"),
        "timeZone": value("timeZone"),
        "theme": form.get("theme").unwrap_or("system"),
    });
    // Both are checked before one is saved, so that a fault changes nothing.
    let target = Target::default();
    let settings = ChangeSettings::from_request(&target, read_json_as(settings)?)?;
    let profile = ChangeProfile::from_request(&target, read_json_as(json!({ "name": value("name") }))?)?;
    request.run(settings).await?;
    request.run(profile).await?;
    Ok(())
}

async fn show_with(
    request: &PageRequest,
    status: StatusCode,
    faults: FormFaults,
    email_faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let (viewer, form) = (&request.viewer, &request.form);
    let is_sent = faults.is_any();
    // What was typed, if it was refused.
    let shown = |name: &str, stored: Option<&str>| {
        if is_sent { form.text(name).to_owned() } else { stored.unwrap_or_default().to_owned() }
    };
    let settings = &viewer.settings;
    let page = ProfilePage {
        shell: request.shell(NavigationEntry::Settings).await?,
        tab: "account",
        email: viewer.user.email.clone(),
        new_email: if email_faults.is_any() { form.text("email").to_owned() } else { String::new() },
        email_faults,
        name: shown("name", viewer.user.name.as_deref()),
        language: shown("language", settings.language.map(values::kind::AppLanguage::name)),
        theme: shown("theme", Some(settings.theme.name())),
        time_zone: shown("timeZone", settings.time_zone.as_deref()),
        zones: jiff::tz::db().available().map(|zone| zone.to_string()).collect(),
        faults,
    };
    request.show_with_status(status, &page)
}
