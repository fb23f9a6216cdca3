//! `carrel serve`: the server, until a signal ends it.

use super::failure::Failure;
use super::output::CommandOutput;
use crate::settings::Settings;
use crate::{log, server};

/// Runs the server. It is the only command with a log: the others print their output when they end.
pub fn run(settings: Settings) -> Result<CommandOutput, Failure> {
    let _log = log::start(&settings.log).map_err(|cause| Failure::Service(cause.into()))?;
    server::serve(settings).map_err(Failure::Service)?;
    Ok(CommandOutput::nothing())
}
