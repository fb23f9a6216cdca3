//! The request for a page that needs no session: sign-in, set-up, errors. A page of an account has more
//! ([`super::request::PageRequest`]).

use actix_web::http::StatusCode;
use actix_web::http::header::{LOCATION, REFERER};
use actix_web::web::{Data, Payload};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use actors::context::OperationContext;
use actors::target::Target;
use errors::Error;

use super::fields::{Fields, own_path};
use super::headers::CARREL_LOCATION;
use super::render::{PageView, RenderContext, requested_parts, respond};
use super::state::WebState;
use crate::http::budget::Sender;
use crate::http::context::operation_context;
use crate::http::fields::target;
use crate::http::methods::takes_body;
use crate::http::session::require_own_origin;
use crate::web::locale::Locale;

/// The request for a page, before a session is known.
#[derive(Clone)]
pub struct PublicRequest {
    /// The request itself.
    pub http: HttpRequest,
    /// What operations work with.
    pub ctx: Data<OperationContext>,
    /// What all pages share.
    pub state: Data<WebState>,
    /// The parameters of the address.
    pub query: Fields,
    /// The fields of the form; empty for GET.
    pub form: Fields,
    /// How the page is written.
    pub context: RenderContext,
    pub(super) pattern: &'static str,
}

impl PublicRequest {
    /// Reads the head of a request, which must come from this server's own pages if it changes something.
    ///
    /// # Errors
    /// [`Error::ForeignOrigin`] for a form of another site.
    pub(super) fn new(http: HttpRequest, pattern: &'static str) -> Result<Self, Error> {
        let ctx = operation_context(&http).map_err(|_| Error::internal("the context is missing"))?;
        let state = WebState::of(&http)?;
        let context = RenderContext::of_public(Locale::of_browser(&http, ctx.core.clock.now()));
        http.extensions_mut().insert(context.clone());
        require_own_origin(&http, &ctx.core)?;
        let query = Fields::parse(http.query_string().as_bytes());
        Ok(Self { http, ctx, state, query, form: Fields::default(), context, pattern })
    }

    /// Reads the form of a request that has a body.
    pub(super) async fn read_form(&mut self, payload: Payload, max_bytes: usize) -> Result<(), Error> {
        if takes_body(self.http.method()) {
            let sender = Sender::of(&self.http);
            self.form = Fields::read(&self.http, payload, sender, max_bytes).await?;
        }
        Ok(())
    }

    /// The language and the time zone of the page.
    pub fn locale(&self) -> &Locale {
        &self.context.locale
    }

    /// The ids and names in the path, in the order of the pattern.
    pub fn target(&self) -> Target {
        target(&self.http, self.pattern)
    }

    /// Returns whether the response is the whole page: without requested parts, and if the page has none of them.
    pub fn wants_whole<P: PageView>(&self) -> bool {
        !requested_parts(&self.http).iter().any(|id| P::PART_IDS.contains(id))
    }

    /// Returns whether the response shows a part: always if it is the whole page. A handler leaves out the work for other parts.
    pub fn wants<P: PageView>(&self, part: &str) -> bool {
        self.wants_whole::<P>() || requested_parts(&self.http).contains(&part)
    }

    /// Returns whether a script asks for parts of the page.
    pub fn wants_parts(&self) -> bool {
        !requested_parts(&self.http).is_empty()
    }

    /// Responds with a page.
    ///
    /// # Errors
    /// [`Error::Internal`] when the template cannot be rendered.
    pub fn show(&self, page: &impl PageView) -> Result<HttpResponse, Error> {
        self.show_with_status(StatusCode::OK, page)
    }

    /// Responds with a page and this status, such as 422 for a form with faults.
    ///
    /// # Errors
    /// [`Error::Internal`] when the template cannot be rendered.
    pub fn show_with_status(&self, status: StatusCode, page: &impl PageView) -> Result<HttpResponse, Error> {
        respond(&self.http, status, page, &self.context, None)
    }

    /// Sends the browser to another page, which it asks for with GET.
    pub fn redirect(&self, path: &str) -> HttpResponse {
        see_other(path)
    }

    /// Returns the page that the user came from: the field `back`, the page that the browser names, or else `default`.
    pub fn back(&self, default: &str) -> String {
        let field = self.form.get("back").or_else(|| self.query.get("back"));
        if let Some(path) = field.and_then(own_path) {
            return path.into_owned();
        }
        self.referrer().unwrap_or_else(|| default.to_owned())
    }

    /// The path and query of the page of this server from which the request comes.
    fn referrer(&self) -> Option<String> {
        let sent = self.http.headers().get(REFERER)?.to_str().ok()?;
        let (sent, base) = (url::Url::parse(sent).ok()?, url::Url::parse(&self.ctx.core.base_url).ok()?);
        if sent.origin() != base.origin() {
            return None;
        }
        let query: Vec<(String, String)> =
            sent.query_pairs().into_owned().filter(|(name, _)| name != "done").collect();
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let path = if query.is_empty() { sent.path().to_owned() } else { format!("{}?{query}", sent.path()) };
        own_path(&path).map(std::borrow::Cow::into_owned)
    }
}

/// Responds with 303 to an own path. A script follows it, and learns the address from the answer.
pub(super) fn see_other(path: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((LOCATION, path)).finish()
}

/// Adds the address that a script shows for this answer: without what is shown once.
pub(super) fn add_location(request: &HttpRequest, response: &mut HttpResponse) {
    if requested_parts(request).is_empty() || response.headers().contains_key(CARREL_LOCATION) {
        return;
    }
    let query = Fields::parse(request.query_string().as_bytes()).query_without(&["done"]);
    let path =
        if query.is_empty() { request.path().to_owned() } else { format!("{}?{query}", request.path()) };
    if let Ok(value) = path.parse() {
        response.headers_mut().insert(CARREL_LOCATION, value);
    }
}
