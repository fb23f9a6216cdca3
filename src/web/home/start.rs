//! Onboarding: four ways to start, done in place, and the sample project.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use actors::operations::bookmarks::CreateBookmark;
use actors::operations::onboarding::{
    AddSampleProject, EndOnboarding, OnboardingView, RemoveSampleProject, ShowOnboarding,
};
use actors::target::Target;
use askama::Template;
use errors::Error;

use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The page of a new user.
#[derive(Template)]
#[template(path = "home/welcome.html")]
struct WelcomePage {
    shell: Shell,
    /// The name of the user, if the account has one.
    name: Option<String>,
    onboarding: OnboardingView,
    /// The address that was entered and refused.
    url: String,
    faults: FormFaults,
}

parts!(WelcomePage {});

/// Mounts the forms of the page.
pub(super) fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/welcome/save").post(save).mount(config);
    PageRoute::new("/welcome/end").post(end).mount(config);
    PageRoute::new("/welcome/sample").post(add_sample).mount(config);
    PageRoute::new("/welcome/sample/remove").post(remove_sample).mount(config);
}

/// Shows the four ways to start.
pub(super) fn show(
    request: &PageRequest,
    shell: Shell,
    onboarding: OnboardingView,
) -> Result<HttpResponse, Error> {
    request.show(&page(request, shell, onboarding, FormFaults::default()))
}

fn page(request: &PageRequest, shell: Shell, onboarding: OnboardingView, faults: FormFaults) -> WelcomePage {
    let name = request.viewer.user.name.clone().filter(|name| !name.trim().is_empty());
    WelcomePage { shell, name, onboarding, url: request.form.text("url").to_owned(), faults }
}

/// Saves the first page.
async fn save(request: PageRequest) -> Result<HttpResponse, Error> {
    match request.run_form::<CreateBookmark>(&Target(Vec::new()), &["url"]).await {
        Ok(_) => request.done("/", DoneMessage::new("welcome-saved")),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            show_faults(&request, status, faults).await
        }
    }
}

async fn show_faults(
    request: &PageRequest,
    status: StatusCode,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let onboarding = request.run(ShowOnboarding).await?;
    let shell = request.shell(NavigationEntry::Home).await?;
    request.show_with_status(status, &page(request, shell, onboarding, faults))
}

/// Ends onboarding.
async fn end(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run(EndOnboarding).await?;
    Ok(request.redirect("/"))
}

async fn add_sample(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run(AddSampleProject).await?;
    request.done("/", DoneMessage::new("welcome-sample-added"))
}

async fn remove_sample(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run(RemoveSampleProject).await?;
    request.done("/", DoneMessage::new("welcome-sample-removed").undo("/welcome/sample", &[]))
}
