//! `carrel ai`: the pause of the AI (contract.md, section 4).

use std::fmt;

use actors::ai;
use clap::Subcommand;
use entity::time::Timestamp;
use serde::Serialize;

use super::failure::Failure;
use super::opening;
use super::output::Said;
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
pub async fn run(asked: Asked, settings: &Settings) -> Result<Said, Failure> {
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
    Said::of(&Status { paused: until.is_some(), until, model: settings.ai.chat.model.clone() })
}

#[derive(Serialize)]
struct Status {
    paused: bool,
    until: Option<Timestamp>,
    model: Option<String>,
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
            Some(model) => write!(f, "questions go to the model {model}"),
            None => f.write_str("no outside model is set (ai.chat.url)"),
        }
    }
}
