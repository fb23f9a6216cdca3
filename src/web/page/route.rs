//! Declares the addresses of pages.

use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use errors::Error;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use super::errors::respond_to;
use super::fields::MAX_FORM_BYTES;
use super::headers::{PageCaching, protect};
use super::public::{PublicRequest, add_location};
use super::request::PageRequest;
use super::state::WebState;
use crate::http::disk_floor::{self, BelowFloor};
use crate::http::task::run_to_end;

type Handler = Rc<dyn Fn(PublicRequest, Payload) -> LocalBoxFuture<'static, Result<HttpResponse, Error>>>;

/// An address with the handlers of its methods. Handlers return the response, or an error, which becomes a page.
///
/// ```ignore
/// PageRoute::new("/library").get(show).post(change).mount(config);
/// ```
pub struct PageRoute {
    pattern: &'static str,
    get: Option<Handler>,
    post: Option<Handler>,
    caching: PageCaching,
    below_floor: BelowFloor,
    max_form_bytes: usize,
}

impl PageRoute {
    /// An address without handlers. The pattern is in the syntax of actix-web.
    pub fn new(pattern: &'static str) -> Self {
        Self {
            pattern,
            get: None,
            post: None,
            caching: PageCaching::Revalidated,
            // Operations that write refuse on a full disk themselves.
            below_floor: BelowFloor::ServesAll,
            max_form_bytes: MAX_FORM_BYTES,
        }
    }

    /// Keeps no copy of the page: for settings, keys, and pages that show a secret.
    #[must_use]
    pub fn not_stored(mut self) -> Self {
        self.caching = PageCaching::NotStored;
        self
    }

    /// Accepts forms of this length. Must stand before [`Self::post`].
    #[must_use]
    pub fn max_form_bytes(mut self, max_form_bytes: usize) -> Self {
        self.max_form_bytes = max_form_bytes;
        self
    }

    /// Refuses all requests on a full disk: for pages whose handler writes without an operation.
    #[must_use]
    pub fn refused_below_floor(mut self) -> Self {
        self.below_floor = BelowFloor::Refuses;
        self
    }

    /// Shows the page to a signed-in user. Others are sent to the sign-in page.
    #[must_use]
    pub fn get<R>(mut self, handler: fn(PageRequest) -> R) -> Self
    where
        R: Future<Output = Result<HttpResponse, Error>> + 'static,
    {
        self.get = Some(signed_in(handler, 0));
        self
    }

    /// Takes a form of the page from a signed-in user.
    #[must_use]
    pub fn post<R>(mut self, handler: fn(PageRequest) -> R) -> Self
    where
        R: Future<Output = Result<HttpResponse, Error>> + 'static,
    {
        self.post = Some(signed_in(handler, self.max_form_bytes));
        self
    }

    /// Takes a body of any length from a signed-in user. The handler reads it, with a bound of its own.
    #[must_use]
    pub fn post_body<R>(mut self, handler: fn(PageRequest, Payload) -> R) -> Self
    where
        R: Future<Output = Result<HttpResponse, Error>> + 'static,
    {
        self.post = Some(Rc::new(move |public, payload| {
            Box::pin(async move { handler(PageRequest::sign_in(public).await?, payload).await })
        }));
        self
    }

    /// Shows the page, with or without a session.
    #[must_use]
    pub fn get_public<R>(mut self, handler: fn(PublicRequest) -> R) -> Self
    where
        R: Future<Output = Result<HttpResponse, Error>> + 'static,
    {
        self.get = Some(Rc::new(move |public, _| Box::pin(handler(public))));
        self
    }

    /// Takes a form of the page, with or without a session.
    #[must_use]
    pub fn post_public<R>(mut self, handler: fn(PublicRequest) -> R) -> Self
    where
        R: Future<Output = Result<HttpResponse, Error>> + 'static,
    {
        let max_form_bytes = self.max_form_bytes;
        self.post = Some(Rc::new(move |mut public, payload| {
            Box::pin(async move {
                public.read_form(payload, max_form_bytes).await?;
                handler(public).await
            })
        }));
        self
    }

    /// Mounts the address. Other methods are answered with 405.
    pub fn mount(self, config: &mut ServiceConfig) {
        let Self { pattern, get, post, caching, below_floor, .. } = self;
        let mut resource = disk_floor::resource(pattern, below_floor, |request, _, error| {
            let mut response = respond_to(request, &error);
            if let Ok(state) = WebState::of(request) {
                protect(&mut response, &state.policy, PageCaching::NotStored);
            }
            response
        });
        let mut methods = Vec::new();
        if let Some(handler) = get {
            methods.extend(["GET".to_owned(), "HEAD".to_owned()]);
            resource = resource.route(web::get().to(serve(pattern, caching, handler)));
        }
        if let Some(handler) = post {
            methods.push("POST".to_owned());
            resource = resource.route(web::post().to(serve(pattern, caching, handler)));
        }
        let refuse: Handler = Rc::new(move |_, _| {
            let error = Error::MethodNotAllowed(methods.clone());
            Box::pin(async move { Err(error) })
        });
        config.service(resource.default_service(web::to(serve(pattern, caching, refuse))));
    }
}

/// A handler of a page of an account. A body is read only for a signed-in user, and counts for the account.
fn signed_in<R>(handler: fn(PageRequest) -> R, max_form_bytes: usize) -> Handler
where
    R: Future<Output = Result<HttpResponse, Error>> + 'static,
{
    Rc::new(move |public, payload| {
        Box::pin(async move {
            let mut page = PageRequest::sign_in(public).await?;
            page.public_mut().read_form(payload, max_form_bytes).await?;
            handler(page).await
        })
    })
}

/// Serves a request by a handler, to its end even if the browser leaves.
fn serve(
    pattern: &'static str,
    caching: PageCaching,
    handler: Handler,
) -> impl Fn(HttpRequest, Payload) -> LocalBoxFuture<'static, HttpResponse> + Clone {
    move |request, payload| {
        let handler = handler.clone();
        Box::pin(run_to_end(request.clone(), async move {
            let answer = async {
                let public = PublicRequest::new(request.clone(), pattern)?;
                handler(public, payload).await
            };
            let answer = AssertUnwindSafe(answer).catch_unwind().await;
            let answer = answer.unwrap_or_else(|_| Err(Error::internal("the handler of a page panicked")));
            let mut response = answer.unwrap_or_else(|error| respond_to(&request, &error));
            add_location(&request, &mut response);
            if let Ok(state) = WebState::of(&request) {
                protect(&mut response, &state.policy, caching);
            }
            response
        }))
    }
}
