//! The way of an assistant, walked by the service itself: from the address that a person types over discovery,
//! registration, consent and the first tokens to the list of tools. The first step that fails says why, in words for
//! whoever runs the service; those behind it are not walked.
//!
//! Everything but the person's own click goes over HTTP to `server.base_url`, by way of whatever proxy stands there. What
//! the walk makes, it takes away: a client and its connection, for which there is no notice. Where it dies, the clean-up
//! does that.

use actors::app::App;
use actors::error::Error;
use actors::grants::Browser;
use entity::id::ClientId;
use schemars::JsonSchema;
use serde::Serialize;
use web::probe::ProbeClient;

use super::steps;

/// A step of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// What the address is, and where it leads.
    Address,
    /// /mcp says where to begin (RFC 9728, section 5.1).
    Challenge,
    /// The MCP server's own metadata (RFC 9728).
    ResourceMetadata,
    /// The authorization server's metadata (RFC 8414).
    ServerMetadata,
    /// An assistant introduces itself (RFC 7591).
    Registration,
    /// The person is asked, and a code is issued.
    Consent,
    /// The code becomes tokens, by PKCE.
    Token,
    /// The MCP handshake and the list of tools.
    Tools,
    /// The tokens end.
    Revocation,
}

const ALL: [Step; 9] = [
    Step::Address,
    Step::Challenge,
    Step::ResourceMetadata,
    Step::ServerMetadata,
    Step::Registration,
    Step::Consent,
    Step::Token,
    Step::Tools,
    Step::Revocation,
];

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// As it should.
    Passed,
    /// Well, but not for every assistant.
    Limited,
    /// Not as it should: the way ends here.
    Failed,
    /// An earlier step failed.
    Skipped,
}

/// A step and how it ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Walked {
    step: Step,
    outcome: Outcome,
    message: String,
}

/// Why a step is not taken.
pub enum Stopped {
    /// In words of what is wrong and what to do.
    Told(String),
    /// Something inside went wrong, which is no fault of the way.
    Inside(Error),
}

impl From<String> for Stopped {
    fn from(why: String) -> Self {
        Stopped::Told(why)
    }
}

impl From<&str> for Stopped {
    fn from(why: &str) -> Self {
        Stopped::Told(why.to_owned())
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Stopped::Inside(error)
    }
}

/// What a step found for those behind it, and what there is to say of it.
pub struct Found<T> {
    pub next: T,
    pub outcome: Outcome,
    pub message: String,
}

impl<T> Found<T> {
    /// It is as it should be.
    pub fn good(next: T, message: &str) -> Self {
        Self { next, outcome: Outcome::Passed, message: message.to_owned() }
    }
}

/// How far the way was gone.
pub struct Walk {
    /// To its end.
    pub passed: bool,
    /// Each step in its order.
    pub steps: Vec<Walked>,
}

/// The steps that were taken.
#[derive(Default)]
struct Taken(Vec<Walked>);

impl Taken {
    /// Notes how a step ended; what it found.
    fn note<T>(&mut self, step: Step, came: Result<Found<T>, Stopped>) -> Result<T, Option<Error>> {
        let (outcome, message, next) = match came {
            Ok(found) => (found.outcome, found.message, Ok(found.next)),
            Err(Stopped::Told(why)) => (Outcome::Failed, why, Err(None)),
            Err(Stopped::Inside(error)) => return Err(Some(error)),
        };
        self.0.push(Walked { step, outcome, message });
        next
    }

    /// With those that were not.
    fn whole(mut self) -> Vec<Walked> {
        let left = ALL.into_iter().skip(self.0.len());
        self.0.extend(left.map(|step| Walked { step, outcome: Outcome::Skipped, message: String::new() }));
        self.0
    }
}

/// Walks all of it for this browser.
///
/// # Errors
/// Something inside went wrong; nothing is left then either.
pub async fn walk(app: &App, browser: Browser) -> Result<Walk, Error> {
    let turn = app.grants.walk()?;
    let probe = ProbeClient::new().map_err(Error::internal)?;
    let (mut taken, mut client) = (Taken::default(), None);
    let way = steps::Way { app, probe: &probe, name: turn.name() };
    let came = go(&way, browser, &mut taken, &mut client).await;
    if let Some(client) = client {
        app.grants.end_walk(client).await?;
    }
    match came {
        Err(Some(error)) => Err(error),
        other => Ok(Walk { passed: other.is_ok(), steps: taken.whole() }),
    }
}

async fn go(
    way: &steps::Way<'_>,
    browser: Browser,
    taken: &mut Taken,
    made: &mut Option<ClientId>,
) -> Result<(), Option<Error>> {
    taken.note(Step::Address, way.address().await)?;
    taken.note(Step::Challenge, way.challenge().await)?;
    taken.note(Step::ResourceMetadata, way.resource_metadata().await)?;
    let endpoints = taken.note(Step::ServerMetadata, way.server_metadata().await)?;
    let client = taken.note(Step::Registration, way.registration(&endpoints).await)?;
    *made = Some(client.id);
    let consented = taken.note(Step::Consent, way.consent(&endpoints, client, browser).await)?;
    let tokens = taken.note(Step::Token, way.token(&endpoints, &consented).await)?;
    taken.note(Step::Tools, way.tools(&tokens).await)?;
    taken.note(Step::Revocation, way.revocation(&endpoints, &consented, &tokens).await)
}
