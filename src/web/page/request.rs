//! The request for a page of an account: the user who is signed in, and how a page runs operations.

use std::ops::Deref;
use std::rc::Rc;

use actix_web::http::StatusCode;
use actix_web::{HttpMessage, HttpResponse};
use actors::auth::caller::Caller;
use actors::operation::{FromRequest, Operation};
use actors::operations::saved_searches::ListSavedSearches;
use actors::operations::settings::{SettingsResponse, ShowSettings};
use actors::operations::shell::{ShellCounts, ShowShellCounts};
use actors::pipeline::{self, ParsedRequest};
use actors::target::Target;
use entity::user;
use errors::Error;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::done::DoneMessage;
use super::fields::{Fields, read_json_as};
use super::public::{PublicRequest, see_other};
use super::render::{PageView, RenderContext, requested_parts, respond};
use super::sent_forms::FormOutcome;
use super::shell::{NavigationEntry, Shell, ToastView};
use crate::http::budget::Sender;
use crate::http::response_slots::wait_for_slot;
use crate::http::session::authenticate;
use crate::web::locale::Locale;
use crate::web::page::render::render_with;

/// The elements that show the counts or the pinned searches of the shell. `main` has the counts of the home page and of the menu.
const SHELL_PARTS: [&str; 6] = ["main", "rail-list", "bell", "bell-top", "count-feeds", "count-uploads"];

/// The signed-in user, as pages show it.
#[derive(Clone)]
pub struct Viewer {
    /// The caller of operations.
    pub caller: Caller,
    /// The account.
    pub user: user::Model,
    /// The settings of the account.
    pub settings: SettingsResponse,
}

/// The request for a page of an account. It has everything of a [`PublicRequest`] too.
#[derive(Clone)]
pub struct PageRequest {
    public: PublicRequest,
    /// The signed-in user.
    pub viewer: Viewer,
    /// The slot for building the response, which the first operation that needs one waits for.
    slot: Rc<OnceCell<()>>,
    message: Option<DoneMessage>,
}

impl Deref for PageRequest {
    type Target = PublicRequest;

    fn deref(&self) -> &PublicRequest {
        &self.public
    }
}

impl PageRequest {
    /// Finds the session of a request.
    ///
    /// # Errors
    /// [`Error::NotSignedIn`] without a valid session.
    pub(super) async fn sign_in(mut public: PublicRequest) -> Result<Self, Error> {
        let (caller, user) = authenticate(&public.http, &public.ctx.auth).await?;
        Sender::note(&public.http, caller.user);
        let settings = pipeline::execute::<ShowSettings>(&public.ctx, &caller, None, async |_: &Caller| {
            Ok(ShowSettings).into()
        });
        let settings = settings.await.into_reply()?;
        let locale = Locale::of_user(&public.http, &settings, public.ctx.core.clock.now());
        public.context = RenderContext::of_settings(locale, caller.user, &settings);
        // For the page of an error.
        public.http.extensions_mut().insert(public.context.clone());
        let message = public.query.get("done").and_then(|token| public.state.done.take(caller.user, token));
        Ok(Self { public, viewer: Viewer { caller, user, settings }, slot: Rc::default(), message })
    }

    pub(super) fn public_mut(&mut self) -> &mut PublicRequest {
        &mut self.public
    }

    /// Runs an operation as the user, through the pipeline.
    ///
    /// # Errors
    /// The error of the operation.
    pub async fn run<O: Operation>(&self, operation: O) -> Result<O::Reply, Error> {
        self.run_parsed(Ok(operation)).await
    }

    /// Runs an operation with fields of the form that have these names, for a POST.
    ///
    /// # Errors
    /// [`Error::Invalid`] with all faults of the fields; the error of the operation.
    pub async fn run_form<O: FromRequest>(&self, target: &Target, names: &[&str]) -> Result<O::Reply, Error> {
        self.run_fields::<O>(target, &self.form, names).await
    }

    /// Runs an operation with parameters of the address that have these names, for a GET.
    ///
    /// # Errors
    /// [`Error::Invalid`] with all faults of the parameters; the error of the operation.
    pub async fn run_query<O: FromRequest>(
        &self,
        target: &Target,
        names: &[&str],
    ) -> Result<O::Reply, Error> {
        self.run_fields::<O>(target, &self.query, names).await
    }

    async fn run_fields<O: FromRequest>(
        &self,
        target: &Target,
        fields: &Fields,
        names: &[&str],
    ) -> Result<O::Reply, Error> {
        let request = fields.read_as::<O::Request>(names).map_err(Error::from);
        self.run_parsed(request.and_then(|request| O::from_request(target, request))).await
    }

    /// Runs an operation with the members of a JSON object, for lists and for `null`, which clears a value.
    ///
    /// # Errors
    /// [`Error::Invalid`] with all faults; the error of the operation.
    pub async fn run_json<O: FromRequest>(&self, target: &Target, object: Value) -> Result<O::Reply, Error> {
        let request = read_json_as::<O::Request>(object).map_err(Error::from);
        self.run_parsed(request.and_then(|request| O::from_request(target, request))).await
    }

    async fn run_parsed<O: Operation>(&self, operation: Result<O, Error>) -> Result<O::Reply, Error> {
        let parsed = ParsedRequest {
            operation,
            idempotency_key: None,
            slot_wait: O::NEEDS_RESPONSE_SLOT.then(|| {
                // One slot for the page, however many operations it runs: with one each, two pages could wait for each other.
                let (slot, http, user) = (self.slot.clone(), self.http.clone(), self.viewer.caller.user);
                Box::pin(async move {
                    slot.get_or_try_init(|| wait_for_slot(http, user)).await?;
                    Ok(())
                }) as pipeline::SlotWait
            }),
        };
        pipeline::execute(&self.ctx, &self.viewer.caller, None, async |_: &Caller| parsed).await.into_reply()
    }

    /// Returns what stands around the page. For a request for parts that do not show it, its counts and pinned searches are empty.
    ///
    /// # Errors
    /// Those of the operations that count what is unread and list the saved searches.
    pub async fn shell(&self, here: NavigationEntry) -> Result<Shell, Error> {
        let (mut counts, mut pinned) = (ShellCounts::default(), Vec::new());
        if self.wants_shell() {
            counts = self.run(ShowShellCounts).await?;
            pinned = self.run(ListSavedSearches).await?.saved_searches;
            pinned.retain(|search| search.is_pinned);
        }
        let user = &self.viewer.user;
        let name =
            user.name.clone().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| user.email.clone());
        let initial = name.trim().chars().next().into_iter().flat_map(char::to_uppercase).collect();
        let is_operator = self.viewer.caller.is_operator;
        Ok(Shell { here, name, initial, counts, pinned, is_operator, toast: self.toast() })
    }

    /// Returns whether the response shows the counts or the pinned searches: the whole page does.
    fn wants_shell(&self) -> bool {
        let parts = requested_parts(&self.http);
        parts.is_empty() || parts.iter().any(|id| SHELL_PARTS.contains(id))
    }

    /// Returns the message of an action, for a page without a shell; `None` if there is none to show.
    pub fn toast(&self) -> Option<ToastView> {
        self.message.as_ref().map(|message| ToastView::new(message, self.locale()))
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
        let toast = self.toast().map(|toast| render_with(&toast, &self.context));
        let toast = toast.transpose().map_err(Error::internal)?;
        respond(&self.http, status, page, &self.context, toast.as_deref())
    }

    /// Carries out a form that creates something, and sends the user to the page of its outcome. If the form has a ticket
    /// ([`new_ticket`](super::tickets::new_ticket)), the same form sent again, or several times at the same moment, creates nothing more
    /// and leads to the same page.
    ///
    /// # Errors
    /// Those of `create`; [`Error::Internal`] when the system gives no random bytes.
    pub async fn create_once(
        &self,
        create: impl Future<Output = Result<FormOutcome, Error>>,
    ) -> Result<HttpResponse, Error> {
        let (user, path) = (self.viewer.caller.user, self.http.path());
        let outcome = self.state.sent_forms.run_once(user, path, &self.form, create).await?;
        match outcome.message {
            Some(message) => self.done(&outcome.path, message),
            None => Ok(self.redirect(&outcome.path)),
        }
    }

    /// Sends the user to a page that says once what was done.
    ///
    /// # Errors
    /// [`Error::Internal`] when the system gives no random bytes.
    pub fn done(&self, path: &str, message: DoneMessage) -> Result<HttpResponse, Error> {
        let token = self.state.done.keep(self.viewer.caller.user, message)?;
        let (path, fragment) = path.split_once('#').map_or((path, None), |(path, rest)| (path, Some(rest)));
        let separator = if path.contains('?') { '&' } else { '?' };
        let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
        Ok(see_other(&format!("{path}{separator}done={token}{fragment}")))
    }
}
