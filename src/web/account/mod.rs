//! The settings of an account: name, language, time zone and theme; sessions and password; type of the reader; keys; deletion.

mod deletion;
mod keyboard;
mod own_style;
mod profile;
mod reading;
mod security;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use askama::Template;
use errors::Error;

use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::shell::{NavigationEntry, Shell};
use crate::parts;
use crate::web::filters;

/// The list of all settings, which a phone shows in place of the navigation beside them.
#[derive(Template)]
#[template(path = "account/index.html")]
struct SettingsIndexPage {
    shell: Shell,
    email: String,
}

parts!(SettingsIndexPage {});

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/settings").not_stored().get(show_index).mount(config);
    let account = PageRoute::new("/settings/account").not_stored();
    account.get(profile::show).post(profile::change).mount(config);
    PageRoute::new("/settings/account/email").not_stored().post(profile::change_email).mount(config);
    let deletion = PageRoute::new("/settings/account/delete").not_stored();
    deletion.get(deletion::show).post(deletion::delete).mount(config);
    let security = PageRoute::new("/settings/security").not_stored();
    security.get(security::show).post(security::change_password).mount(config);
    PageRoute::new("/settings/security/sessions").not_stored().post(security::end_others).mount(config);
    PageRoute::new("/settings/security/sessions/{id}").not_stored().post(security::end_one).mount(config);
    let reading = PageRoute::new("/settings/reading").not_stored();
    reading.get(reading::show).post(reading::change).mount(config);
    let keyboard = PageRoute::new("/settings/keyboard").not_stored();
    keyboard.get(keyboard::show).post(keyboard::change).mount(config);
    PageRoute::new("/assets/me.css").get(own_style::serve).mount(config);
}

async fn show_index(request: PageRequest) -> Result<HttpResponse, Error> {
    let shell = request.shell(NavigationEntry::Settings).await?;
    request.show(&SettingsIndexPage { shell, email: request.viewer.user.email.clone() })
}
