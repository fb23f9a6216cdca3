//! `carrel ai`: the pause of the AI (contract.md, section 4).

use std::fmt;

use actors::ai::{self, budget};
use clap::Subcommand;
use entity::time::Timestamp;
use serde::Serialize;

use super::failure::Failure;
use super::opening;
use super::output::CommandOutput;
use crate::settings::Settings;

/// What is asked of the AI.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Asked {
    /// Pause the AI for the rest of the UTC day
    Pause,
    /// End the pause
    Resume,
    /// Say whether the AI pauses
    Status,
}

/// Does what is asked.
pub async fn run(asked: Asked, settings: &Settings) -> Result<CommandOutput, Failure> {
    let desk = opening::desk(settings).await?;
    let now = desk.clock.now();
    let until = match asked {
        Asked::Pause => Some(ai::pause(&desk.db, now).await?),
        Asked::Resume => {
            ai::resume(&desk.db).await?;
            None
        }
        Asked::Status => ai::paused_until(desk.db.read()).await?.filter(|until| now < *until),
    };
    let today = Today {
        tokens: budget::of_the_day(desk.db.read(), now.day()).await?,
        allowance: Some(settings.ai.daily_tokens).filter(|tokens| *tokens > 0),
    };
    CommandOutput::of(&Status {
        paused: until.is_some(),
        until,
        model: settings.ai.chat.model.clone(),
        today,
    })
}

#[derive(Serialize)]
struct Status {
    paused: bool,
    until: Option<Timestamp>,
    model: Option<String>,
    today: Today,
}

/// Tokens of all users on this UTC day.
#[derive(Serialize)]
struct Today {
    tokens: i64,
    allowance: Option<u64>,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Some(until) => {
                writeln!(f, "the AI pauses until {until}: search matches text only, questions are refused")?
            }
            None => writeln!(f, "the AI does not pause")?,
        }
        match &self.model {
            Some(model) => writeln!(f, "questions go to the model {model}")?,
            None => writeln!(f, "no outside model is set (ai.chat.url): the embedded answerer quotes")?,
        }
        match self.today.allowance {
            Some(most) => write!(f, "{} of {most} tokens are used today", self.today.tokens),
            None => write!(f, "{} tokens are used today; ai.daily_tokens sets no limit", self.today.tokens),
        }
    }
}
