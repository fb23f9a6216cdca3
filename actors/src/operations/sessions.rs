//! Lists the browsers in which a user is signed in, and signs them out (contract.md, section 9).
//!
//! They need no scope, because only the session of the web app reaches them.

use entity::session;
use schemars::JsonSchema;
use serde::Serialize;
use values::id::SessionId;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::{Caller, Principal};
use crate::auth::sessions;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::NoFields;

/// A browser in which the user is signed in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Id of the session. It is no secret: the cookie of the browser has another value.
    pub id: SessionId,
    /// The browser and the system, such as `Firefox on Linux`, as far as the browser says; null if it says nothing.
    pub device: Option<String>,
    /// Whether it is the session of this request.
    pub is_current: bool,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When the session was last used, to within an hour.
    pub last_used_at: Timestamp,
    /// When the session ends.
    pub expires_at: Timestamp,
}

impl SessionView {
    fn from_row(row: session::Model, caller: &Caller) -> Self {
        Self {
            id: row.id,
            device: row.device,
            is_current: caller.principal == Principal::Session(row.id),
            created_at: row.created_at,
            last_used_at: row.last_used_at,
            expires_at: row.expires_at,
        }
    }
}

/// Lists the sessions of the user.
#[derive(Debug)]
pub struct ListSessions;

impl FromRequest for ListSessions {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The sessions of the user, at most 100, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListSessionsResponse {
    /// The sessions that have not ended.
    pub sessions: Vec<SessionView>,
}

impl Operation for ListSessions {
    type Reply = ListSessionsResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListSessionsResponse, Error> {
        let rows = sessions::list(&ctx.core, caller.user).await?;
        let sessions = rows.into_iter().map(|row| SessionView::from_row(row, caller)).collect();
        Ok(ListSessionsResponse { sessions })
    }
}

/// Ends a session of the user: the browser is signed out.
#[derive(Debug)]
pub struct EndSession(SessionId);

impl EndSession {
    /// Ends the session with this id.
    pub fn new(id: SessionId) -> Self {
        Self(id)
    }
}

impl FromRequest for EndSession {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// How many sessions have ended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EndSessionsResponse {
    /// Number of sessions that this request ended.
    pub ended: u64,
}

impl Operation for EndSession {
    type Reply = EndSessionsResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<EndSessionsResponse, Error> {
        sessions::end(&ctx.core, caller.user, self.0).await?;
        Ok(EndSessionsResponse { ended: 1 })
    }
}

/// Ends all sessions of the user except that of this request.
#[derive(Debug)]
pub struct EndOtherSessions;

impl FromRequest for EndOtherSessions {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Operation for EndOtherSessions {
    type Reply = EndSessionsResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<EndSessionsResponse, Error> {
        let Principal::Session(own) = caller.principal else { return Err(Error::NotSignedIn) };
        let ended = sessions::end_others(&ctx.core, caller.user, own).await?;
        Ok(EndSessionsResponse { ended })
    }
}
