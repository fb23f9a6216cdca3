//! Connecting an assistant: the instructions for each ([`texts`]), and a test of whether an assistant could connect
//! ([`connection_test`]).

mod connection_test;
mod step_message;
mod steps;
mod texts;

use actors::auth::caller::Caller;
use actors::context::OperationContext;
use actors::operation::{FromRequest, Operation};
use actors::target::Target;
use errors::Error;
use schemars::JsonSchema;
use serde::Serialize;
use validation::NoFields;
use values::scope::Scope;

pub use connection_test::{Step, StepReport, TestConnectionResponse};
pub use step_message::{StepMessage, UNAUTHENTICATED_CALL};
pub use steps::StepOutcome;
pub use texts::{Assistant, AssistantLocation, Link, Snippet, assistant_of_client};

/// Lists the assistants with the instructions to connect them.
#[derive(Debug)]
pub struct ListAssistants;

impl FromRequest for ListAssistants {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The assistants, with the URL to give them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListAssistantsResponse {
    /// The URL of the MCP server.
    pub mcp_url: String,
    /// The assistants, in the order in which they are shown.
    pub assistants: Vec<Assistant>,
}

impl Operation for ListAssistants {
    type Reply = ListAssistantsResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, _: &Caller, ctx: &OperationContext) -> Result<ListAssistantsResponse, Error> {
        let mcp_url = ctx.auth.grants.resource().to_owned();
        Ok(ListAssistantsResponse { assistants: texts::all(&mcp_url), mcp_url })
    }
}

/// Tests whether an assistant can connect.
#[derive(Debug)]
pub struct TestConnection;

impl FromRequest for TestConnection {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Operation for TestConnection {
    type Reply = TestConnectionResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<TestConnectionResponse, Error> {
        connection_test::run(&ctx.auth, caller).await
    }
}
