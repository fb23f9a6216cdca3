//! Connecting an assistant, in the web app: what to do for each, and whether the way is open.

use entity::scope::Scope;
use schemars::JsonSchema;
use serde::Serialize;

use super::target::Target;
use crate::app::App;
use crate::assistants::walk::{Walked, passed, walk};
use crate::assistants::{self, Assistant};
use crate::caller::{Caller, Via};
use crate::error::Error;
use crate::fields::{Field, Values};
use crate::grants::Browser;
use crate::perform::Operation;

/// What a person does to connect each assistant.
#[derive(Debug)]
pub struct ListAssistants;

impl ListAssistants {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads nothing.
    pub fn read(_: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// All of them, with the address that each is given.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assistants {
    mcp_url: String,
    assistants: Vec<Assistant>,
}

impl Operation for ListAssistants {
    type Reply = Assistants;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, _: &Caller, app: &App) -> Result<Assistants, Error> {
        let mcp_url = app.grants.resource().to_owned();
        Ok(Assistants { assistants: assistants::all(&mcp_url), mcp_url })
    }
}

/// Whether an assistant can connect.
#[derive(Debug)]
pub struct TestConnection;

impl TestConnection {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads nothing.
    pub fn read(_: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// How far the way is open.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionTested {
    /// Every step was taken.
    passed: bool,
    /// Each step in its order.
    steps: Vec<Walked>,
}

impl Operation for TestConnection {
    type Reply = ConnectionTested;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, app: &App) -> Result<ConnectionTested, Error> {
        // The walk consents as the person who asked for it, in the session that was asked from.
        let Via::Session(session) = caller.via else { return Err(Error::NotSignedIn) };
        let steps = walk(app, Browser { user: caller.user, session }).await?;
        Ok(ConnectionTested { passed: passed(&steps), steps })
    }
}
