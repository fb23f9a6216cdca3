//! The connection test: the server performs the steps of an assistant up to the list of tools, over HTTP to `server.base_url` and
//! through any proxy there. The first step that fails reports the reason to the operator; later steps are skipped.
//!
//! The test creates an OAuth client and an MCP key, and removes both at its end, even if a step fails. If the process dies before
//! that, the key expires within two minutes, and the client is deleted like any unused one.

use actors::auth::caller::Caller;
use actors::auth::context::AuthContext;
use errors::Error;
use schemars::JsonSchema;
use serde::Serialize;
use tracing::warn;
use values::id::ClientId;
use web::probe::ProbeClient;

use super::step_message::StepMessage;
use super::steps::{ConnectionTest, StepError, StepOutcome, StepSuccess};

/// A step of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// The URL resolves, and is reachable from where assistants run.
    Address,
    /// /mcp names its metadata in a 401 (RFC 9728, section 5.1). This is the first request, so it also shows that TCP and TLS work.
    Challenge,
    /// The metadata of the MCP server is correct (RFC 9728).
    ResourceMetadata,
    /// The metadata of the authorization server is correct (RFC 8414).
    ServerMetadata,
    /// A client can be registered (RFC 7591).
    Registration,
    /// The MCP handshake succeeds, and the tools are listed with a key of the test.
    Tools,
}

const STEPS: [Step; 6] = [
    Step::Address,
    Step::Challenge,
    Step::ResourceMetadata,
    Step::ServerMetadata,
    Step::Registration,
    Step::Tools,
];

/// A step with its outcome.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StepReport {
    /// The step.
    pub step: Step,
    /// Whether it passed.
    pub outcome: StepOutcome,
    /// What was found or is wrong, for the operator.
    pub message: String,
    /// The message as a value; `None` for a step that was skipped. Clients are not sent it: the web app translates it.
    #[serde(skip)]
    pub detail: Option<StepMessage>,
}

impl StepReport {
    fn new(step: Step, outcome: StepOutcome, detail: Option<StepMessage>) -> Self {
        let message = detail.as_ref().map(StepMessage::to_string).unwrap_or_default();
        Self { step, outcome, message, detail }
    }
}

/// The result of a test.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestConnectionResponse {
    /// Whether every step passed, at least for some assistants.
    pub passed: bool,
    /// All steps, in their order.
    pub steps: Vec<StepReport>,
}

/// The results of the steps so far.
#[derive(Default)]
struct TestProgress {
    reports: Vec<StepReport>,
    /// The client that was registered; `None` before that step.
    client: Option<ClientId>,
}

/// Why the test ended early.
enum TestFailure {
    /// A step failed, which the report of the test says.
    Step,
    /// The server itself failed, which says nothing about the connection.
    Internal(Error),
}

impl TestProgress {
    /// Records the outcome of a step. Returns the value that later steps need.
    fn report<T>(&mut self, step: Step, result: Result<StepSuccess<T>, StepError>) -> Result<T, TestFailure> {
        let (outcome, message, next) = match result {
            Ok(StepSuccess { found, outcome, message }) => (outcome, message, Ok(found)),
            Err(StepError::Failed(reason)) => (StepOutcome::Failed, reason, Err(TestFailure::Step)),
            Err(StepError::Internal(error)) => return Err(TestFailure::Internal(error)),
        };
        self.reports.push(StepReport::new(step, outcome, Some(message)));
        next
    }

    /// Returns all steps; those that did not run are skipped.
    fn into_reports(mut self) -> Vec<StepReport> {
        let skipped = STEPS.into_iter().skip(self.reports.len());
        self.reports.extend(skipped.map(|step| StepReport::new(step, StepOutcome::Skipped, None)));
        self.reports
    }
}

/// Runs the test for a user.
///
/// # Errors
/// [`Error::Busy`] while another test runs; [`Error::Internal`] when the server itself fails. The client and the key are removed in
/// that case too. A client that could not be removed is logged, and does not change the result.
pub async fn run(auth: &AuthContext, caller: &Caller) -> Result<TestConnectionResponse, Error> {
    // Held to the end: with one test at a time, the client of this name is that of this test.
    let lock = auth.grants.begin_connection_test()?;
    let probe = ProbeClient::new().map_err(Error::internal)?;
    let test = ConnectionTest { auth, probe: &probe, client_name: lock.client_name() };
    let mut progress = TestProgress::default();
    let ended = run_steps(&test, caller, &mut progress).await;
    // The client may have been registered although no response with its id came back.
    if let Some(client) = progress.client.or_else(|| lock.registered_client())
        && let Err(error) = auth.grants.remove_client(client).await
    {
        warn!(
            client.id = %client,
            cause = error.chain(),
            "could not remove the client of a connection test; it is removed like any unused client"
        );
    }
    match ended {
        Err(TestFailure::Internal(error)) => Err(error),
        Ok(()) => Ok(TestConnectionResponse { passed: true, steps: progress.into_reports() }),
        Err(TestFailure::Step) => {
            Ok(TestConnectionResponse { passed: false, steps: progress.into_reports() })
        }
    }
}

async fn run_steps(
    test: &ConnectionTest<'_>,
    caller: &Caller,
    progress: &mut TestProgress,
) -> Result<(), TestFailure> {
    progress.report(Step::Address, test.address().await)?;
    progress.report(Step::Challenge, test.challenge().await)?;
    progress.report(Step::ResourceMetadata, test.resource_metadata().await)?;
    let registration_url = progress.report(Step::ServerMetadata, test.server_metadata().await)?;
    let client = progress.report(Step::Registration, test.registration(&registration_url).await)?;
    progress.client = Some(client);
    progress.report(Step::Tools, test.tools(caller).await)
}
