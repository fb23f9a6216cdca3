//! The templates of the pages. The compiler checks them, and they escape every value. Their texts are those of the web app's catalogue.

use actors::auth::grants::AuthorizationRequest;
use actors::auth::grants::client::shown_name;
use actors::auth::grants::redirect::{is_local, shown_host};
use askama::Template;
use values::plan::Plan;
use values::scope::Scope;

use crate::web::control::scope_names::sentence_key;
use crate::web::filters;

/// A request as the pages show it: the app and the permissions.
pub struct RequestView {
    client: String,
    home: Option<String>,
    document: Option<String>,
    host: String,
    is_local: bool,
    reading: Vec<PermissionView>,
    writing: Vec<PermissionView>,
    /// The sentences of the requested permissions that the plan of the user lacks.
    beyond_plan: Vec<&'static str>,
}

/// A permission as the pages show it.
struct PermissionView {
    name: &'static str,
    /// The key of its sentence.
    sentence: &'static str,
}

impl From<Scope> for PermissionView {
    fn from(scope: Scope) -> Self {
        Self { name: scope.name(), sentence: sentence_key(scope) }
    }
}

impl RequestView {
    /// The view of a request. If the plan of the user is known, only the permissions within it are offered.
    pub fn of(request: &AuthorizationRequest, plan: Option<Plan>) -> Self {
        let offered = plan.map_or_else(|| request.scopes.clone(), |plan| request.offered(plan));
        let (writing, reading): (Vec<Scope>, Vec<Scope>) = offered.iter().partition(|scope| scope.is_write());
        let beyond = plan.map(|plan| request.scopes.beyond(plan)).unwrap_or_default();
        Self {
            client: shown_name(&request.client),
            home: request.client.uri.clone(),
            document: request.client.metadata_url.clone(),
            host: shown_host(&request.redirect_uri),
            is_local: is_local(&request.redirect_uri),
            reading: reading.into_iter().map(PermissionView::from).collect(),
            writing: writing.into_iter().map(PermissionView::from).collect(),
            beyond_plan: beyond.into_iter().map(sentence_key).collect(),
        }
    }
}

/// The page for a user who is not signed in.
#[derive(Template)]
#[template(path = "consent/sign_in.html")]
pub struct SignInPage<'a> {
    /// The app, and what it asks for.
    pub request: RequestView,
    /// The ticket behind which the request waits, for the form.
    pub ticket: &'a str,
    /// The e-mail address of the last attempt; empty on the first page.
    pub email: &'a str,
    /// Why the last attempt failed; `None` on the first page.
    pub fault: Option<&'a str>,
}

/// The page on which the user decides.
#[derive(Template)]
#[template(path = "consent/consent.html")]
pub struct ConsentPage<'a> {
    /// The app, and what it asks for within the plan of the user.
    pub request: RequestView,
    /// The e-mail address of the signed-in user.
    pub email: &'a str,
    /// The ticket behind which the request waits, for the form.
    pub ticket: &'a str,
    /// The query of the same request with `prompt=login`.
    pub other_account: &'a str,
}

/// The page for a request that cannot continue.
#[derive(Template)]
#[template(path = "consent/stop.html")]
pub struct StopPage<'a> {
    /// The heading, and the title of the window.
    pub title: &'a str,
    /// What is wrong, and what the user can do.
    pub text: &'a str,
}
