//! `carrel ai`: pauses and resumes AI (contract.md, section 4).

use std::fmt;

use actors::ai::{self, budget};
use clap::Subcommand;
use serde::Serialize;
use values::time::Timestamp;

use super::failure::Failure;
use super::opening;
use super::output::CommandOutput;
use crate::settings::Settings;

/// A subcommand of `carrel ai`.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum AiCommand {
    /// Pause the models until midnight UTC
    ///
    /// While they are paused, questions are refused, search matches words only, and recordings wait if an external endpoint
    /// transcribes them.
    Pause,
    /// Resume the models
    Resume,
    /// Show whether the models are paused, and the tokens used today
    Status,
}

pub async fn run(command: AiCommand, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    let now = core.clock.now();
    let until = match command {
        AiCommand::Pause => Some(ai::pause(&core.db, now).await?),
        AiCommand::Resume => {
            ai::resume(&core.db).await?;
            None
        }
        AiCommand::Status => ai::paused_until(&core.db).await?.filter(|until| now < *until),
    };
    let today = TokensToday {
        tokens: budget::tokens_of_day(core.db.read(), now.day()).await?,
        allowance: Some(settings.ai.daily_tokens).filter(|tokens| *tokens > 0),
    };
    CommandOutput::of(&AiStatus {
        paused: until.is_some(),
        until,
        model: settings.ai.chat.model.clone(),
        today,
    })
}

#[derive(Serialize)]
struct AiStatus {
    paused: bool,
    until: Option<Timestamp>,
    model: Option<String>,
    today: TokensToday,
}

/// Tokens used by all users on this UTC day.
#[derive(Serialize)]
struct TokensToday {
    tokens: i64,
    allowance: Option<u64>,
}

impl fmt::Display for AiStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Some(until) => {
                writeln!(f, "AI is paused until {until}: search matches words only, questions are refused")?
            }
            None => writeln!(f, "AI is on")?,
        }
        match &self.model {
            Some(model) => writeln!(f, "questions are answered by the model {model}")?,
            None => writeln!(f, "no external model is set (ai.chat.url): answers quote the library")?,
        }
        match self.today.allowance {
            Some(allowance) => write!(f, "{} of {allowance} tokens used today", self.today.tokens),
            None => write!(f, "{} tokens used today; ai.daily_tokens sets no limit", self.today.tokens),
        }
    }
}
