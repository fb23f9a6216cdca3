//! The result of one check: the state, what was found, and what to do.

use std::fmt;

use serde::Serialize;

use crate::server::StartFault;

/// The advice for a database that could be opened, and then failed to answer a query.
pub const SEE_DATABASE_FILES: &str =
    "follow the advice of `database files`; if that check found no damage, try again";

/// The state of what was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// The check found nothing wrong.
    #[serde(rename = "ok")]
    Good,
    /// The server works, with a limitation.
    Warning,
    /// The server does not work, or not safely.
    Wrong,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The name of what was checked.
    pub name: &'static str,
    /// How serious the finding is.
    pub state: CheckState,
    /// What was found, as a sentence for the operator.
    pub found: String,
    /// What the operator can do; `None` if the state is good.
    pub advice: Option<String>,
}

impl Check {
    /// Makes the result of a check that found nothing wrong.
    pub fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, state: CheckState::Good, found: found.into(), advice: None }
    }

    /// Makes the result of a check that found a limitation, with advice.
    pub fn warning(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, state: CheckState::Warning, found: found.into(), advice: Some(advice.into()) }
    }

    /// Makes the result of a check that found that the server does not work, or not safely, with advice.
    pub fn wrong(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, state: CheckState::Wrong, found: found.into(), advice: Some(advice.into()) }
    }

    /// Makes the result of a check that found what stops the start of the server.
    pub fn stopping_start(name: &'static str, fault: StartFault) -> Self {
        Self::wrong(name, fault.finding, fault.advice)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.state {
            CheckState::Good => "ok     ",
            CheckState::Warning => "warning",
            CheckState::Wrong => "error  ",
        };
        write!(f, "{mark}  {}: {}", self.name, self.found)?;
        match &self.advice {
            Some(advice) => write!(f, "\n         -> {advice}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_check_is_printed_with_its_advice() {
        let check = Check::wrong("server", "something else answers", "end it");

        assert_eq!(check.to_string(), "error    server: something else answers\n         -> end it");
        assert_eq!(
            serde_json::to_value(&check).unwrap(),
            serde_json::json!({"name": "server", "state": "wrong", "found": "something else answers", "advice": "end it"})
        );
    }
}
