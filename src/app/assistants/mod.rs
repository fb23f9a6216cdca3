//! Connecting an assistant: what a person has to do for each ([`texts`]), and a walk along the way that an assistant goes
//! ([`mod@walk`]), which says where it ends.

mod steps;
mod texts;
mod walk;

use actors::app::App;
use actors::caller::{Caller, Via};
use actors::error::Error;
use actors::fields::{Field, Values};
use actors::grants::Browser;
use actors::ops::target::Target;
use actors::perform::Operation;
use entity::scope::Scope;
use schemars::JsonSchema;
use serde::Serialize;

use texts::Assistant;
use walk::{Walked, walk};

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
        Ok(Assistants { assistants: texts::all(&mcp_url), mcp_url })
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
        let walk = walk(app, Browser { user: caller.user, session }).await?;
        Ok(ConnectionTested { passed: walk.passed, steps: walk.steps })
    }
}
