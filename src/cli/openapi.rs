//! `carrel openapi`: the description of the REST API, as a server with these settings gives it.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;
use super::output::CommandOutput;
use crate::openapi;
use crate::settings::Settings;

/// Prints the description, which is JSON with and without `--json`.
pub fn run(settings: &Settings) -> Result<CommandOutput, Failure> {
    CommandOutput::of(&Description(openapi::document(settings.base_url(settings.server.listen).as_str())))
}

#[derive(Serialize)]
#[serde(transparent)]
struct Description(Value);

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}
