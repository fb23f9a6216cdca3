//! What all pages of the server share.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::HeaderValue;
use actix_web::web::Data;
use errors::Error;

use super::done::DoneMessages;
use super::headers::content_policy;
use super::sent_forms::SentForms;
use super::tickets::FormTickets;

/// What all pages share: the messages of actions that users see once, the tickets of forms, the forms that were sent, and the policy of
/// content. Clones share it.
#[derive(Clone, Debug)]
pub struct WebState {
    /// The messages of actions.
    pub done: DoneMessages,
    /// The tickets of forms that are answered with a secret.
    pub tickets: FormTickets,
    /// The forms that created something.
    pub sent_forms: SentForms,
    /// The value of `Content-Security-Policy`.
    pub policy: HeaderValue,
    /// The origins to which uploads are sent, if files are in a bucket.
    pub store_origin: Option<Arc<str>>,
}

impl WebState {
    /// Creates the state of a server. `store_origin` is the origin of the bucket that browsers send uploads to, if there is one.
    pub fn new(store_origin: Option<&str>) -> Self {
        Self {
            done: DoneMessages::default(),
            tickets: FormTickets::default(),
            sent_forms: SentForms::default(),
            policy: content_policy(store_origin),
            store_origin: store_origin.map(Arc::from),
        }
    }

    /// Returns the state that the server gave a request.
    ///
    /// # Errors
    /// [`Error::Internal`] for a request without one, which only a fault of the program causes.
    pub fn of(request: &HttpRequest) -> Result<Data<Self>, Error> {
        let state = request.app_data::<Data<Self>>().cloned();
        state.ok_or_else(|| Error::internal("the state of the web app is missing"))
    }
}
