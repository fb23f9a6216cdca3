//! The way of an assistant, walked by the service itself: from the address that a person types over discovery,
//! registration, consent and the first tokens to the list of tools. The first step that fails says why, in words for
//! whoever runs the service; those behind it are not walked.
//!
//! Everything but the person's own click goes over HTTP to `server.base_url`, by way of whatever proxy stands there. What
//! the walk makes, it takes away: a client and its connection, for which there is no notice.

mod steps;

use entity::id::ClientId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::adapters::probe::Probe;
use crate::app::App;
use crate::error::Error;
use crate::grants::Browser;
use crate::keys::secret::Secret;

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

impl Step {
    const ALL: [Step; 9] = [
        Self::Address,
        Self::Challenge,
        Self::ResourceMetadata,
        Self::ServerMetadata,
        Self::Registration,
        Self::Consent,
        Self::Token,
        Self::Tools,
        Self::Revocation,
    ];
}

/// A verifier is made as tokens are, and looks like none.
const VERIFIER_PREFIX: &str = "cv_";

/// What a step came to: words of what was found, or of what is wrong and what to do.
type Came = Result<(Outcome, String), String>;

/// What is known by now.
struct Walk<'a> {
    app: &'a App,
    browser: Browser,
    probe: Probe,
    /// What the challenge of PKCE is made from.
    verifier: Secret,
    /// The client that introduced itself.
    client: Option<ClientId>,
    code: Option<String>,
    access: Option<String>,
    refresh: Option<String>,
}

/// Walks all of it for this browser.
///
/// # Errors
/// The client of the walk cannot be made, or not taken away.
pub async fn walk(app: &App, browser: Browser) -> Result<Vec<Walked>, Error> {
    let probe = Probe::new().map_err(Error::internal)?;
    let verifier = Secret::new_token(VERIFIER_PREFIX).map_err(Error::internal)?;
    let mut walk =
        Walk { app, browser, probe, verifier, client: None, code: None, access: None, refresh: None };
    let mut walked = Vec::new();
    for step in Step::ALL {
        let failed = walked
            .last()
            .is_some_and(|last: &Walked| matches!(last.outcome, Outcome::Failed | Outcome::Skipped));
        let (outcome, message) = if failed {
            (Outcome::Skipped, String::new())
        } else {
            walk.take(step).await.unwrap_or_else(|why| (Outcome::Failed, why))
        };
        walked.push(Walked { step, outcome, message });
    }
    if let Some(client) = walk.client {
        app.grants.end_walk(client).await?;
    }
    Ok(walked)
}

/// Whether the way can be gone to its end.
pub fn passed(walked: &[Walked]) -> bool {
    walked.iter().all(|walked| matches!(walked.outcome, Outcome::Passed | Outcome::Limited))
}
