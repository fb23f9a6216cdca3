//! The templates of the pages. The compiler checks them, and they escape every value.

use actors::auth::grants::AuthorizationRequest;
use actors::auth::grants::client::shown_name;
use actors::auth::grants::redirect::{is_local, shown_host};
use askama::Template;
use values::plan::Plan;
use values::scope::Scope;

/// A request as the pages show it: the app and the permissions.
pub struct RequestView {
    client: String,
    home: Option<String>,
    document: Option<String>,
    host: String,
    is_local: bool,
    permissions: Vec<PermissionView>,
}

/// A permission as the pages show it.
struct PermissionView {
    name: &'static str,
    sentence: &'static str,
}

impl RequestView {
    /// The view of a request. If the plan of the user is known, only the permissions within it are shown.
    pub fn of(request: &AuthorizationRequest, plan: Option<Plan>) -> Self {
        let offered = plan.map_or_else(|| request.scopes.clone(), |plan| request.offered(plan));
        Self {
            client: shown_name(&request.client),
            home: request.client.uri.clone(),
            document: request.client.metadata_url.clone(),
            host: shown_host(&request.redirect_uri),
            is_local: is_local(&request.redirect_uri),
            permissions: offered
                .iter()
                .map(|scope| PermissionView { name: scope.name(), sentence: sentence(scope) })
                .collect(),
        }
    }
}

/// Returns a sentence that says what an app may do with a permission.
fn sentence(scope: Scope) -> &'static str {
    match scope {
        Scope::ReadLibrary => {
            "Search your library and read what is in it, with your tags, notes and highlights"
        }
        Scope::ReadProjects => "See your projects and read their instructions, decisions, notes and sources",
        Scope::WriteProjects => "Add saved pages and notes to your projects",
        Scope::WriteBookmarks => "Save pages to your library and tag them",
        Scope::WriteNotes => "Write notes on what you saved",
        // Never offered: `Scope::GRANTABLE` has the five above.
        Scope::Mcp
        | Scope::AskLibrary
        | Scope::WriteUploads
        | Scope::ReadBookmarks
        | Scope::ReadCollections
        | Scope::WriteCollections
        | Scope::ReadFeeds
        | Scope::WriteFeeds
        | Scope::ReadEntries
        | Scope::ReadUser => "Not for connected apps",
    }
}

/// The frame of every page.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{{ title }} – Carrel</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<main>
<p class="brand">Carrel</p>
<h1>{{ title }}</h1>
{{ body|safe }}
</main>
</body>
</html>
"#
)]
/// The HTML around every page. Its URLs are relative, like those of all pages.
pub struct PageFrame<'a> {
    /// The heading, and the title of the window.
    pub title: &'a str,
    /// The rendered template of the page, as HTML that is not escaped again.
    pub body: &'a str,
}

/// The page for a user who is not signed in.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<p class="lead"><strong>{{ request.client }}</strong> asks to use your library. Sign in to choose what it
may do.</p>
{% if let Some(fault) = fault %}<p class="fault" role="alert" id="fault">{{ fault }}</p>{% endif %}
<form method="post" action="sign-in">
<input type="hidden" name="ticket" value="{{ ticket }}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" autocapitalize="none" spellcheck="false" required
 value="{{ email }}"{% if fault.is_none() %} autofocus{% else %} aria-describedby="fault"{% endif %}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required
{% if fault.is_some() %} autofocus aria-invalid="true" aria-describedby="fault"{% endif %}>
<div class="buttons"><button type="submit" class="main">Sign in</button></div>
</form>
<div class="facts">
<p>It asks for permission to:</p>
<ul>{% for permission in request.permissions %}<li>{{ permission.sentence }}</li>{% endfor %}</ul>
<p>Afterwards you are sent to <strong class="host">{{ request.host }}</strong>.</p>
</div>
"#
)]
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
#[template(
    ext = "html",
    source = r#"<p class="lead"><strong>{{ request.client }}</strong> asks to use your library as
<strong>{{ email }}</strong>.</p>
<form method="post" action="consent">
<input type="hidden" name="ticket" value="{{ ticket }}">
<fieldset>
<legend>Allow it to</legend>
{% for permission in request.permissions %}<label class="choice" for="scope-{{ loop.index }}">
<input type="checkbox" id="scope-{{ loop.index }}" name="scope" value="{{ permission.name }}" checked>
<span>{{ permission.sentence }} <code>{{ permission.name }}</code></span>
</label>
{% endfor %}</fieldset>
<div class="facts">
<p>You will be sent to <strong class="host">{{ request.host }}</strong>. {% if request.is_local %}This is a program on your own
computer. Continue only if you have just started the connection there.{% else %}Continue only if you know this site.{% endif %}</p>
<p>The name is the one that the app gives itself; Carrel has not verified it.{% if let Some(document) = request.document %}
The app describes itself at <span class="host">{{ document }}</span>.{% endif %}{% if let Some(home) = request.home %} Its home
page is <span class="host">{{ home }}</span>.{% endif %}</p>
<p>To disconnect the app later, the operator of this server runs
<code>carrel app disconnect</code></p>
</div>
<div class="buttons">
<button type="submit" name="decision" value="allow" class="main">Allow</button>
<button type="submit" name="decision" value="deny">Deny</button>
</div>
</form>
<p class="other"><a href="authorize?{{ other_account }}">Use another account</a></p>
"#
)]
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
#[template(
    ext = "html",
    source = r#"<p class="lead">{{ text }}</p>
<p class="other">You can close this page.</p>
"#
)]
pub struct StopPage<'a> {
    /// What is wrong, and what the user can do.
    pub text: &'a str,
}
