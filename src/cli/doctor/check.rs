//! One thing that was looked at: how it is, what was found, and what to do about it.

use std::fmt;

use serde::Serialize;

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    #[serde(rename = "ok")]
    Good,
    /// The service works, with less than it could have.
    Warning,
    /// The service does not work, or not safely.
    Wrong,
}

/// See the file's head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The thing.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What to do; nothing where it is good.
    pub advice: Option<String>,
}

impl Check {
    /// It is as it should be.
    pub fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, state: State::Good, found: found.into(), advice: None }
    }

    /// The service works, with less than it could have.
    pub fn warning(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, state: State::Warning, found: found.into(), advice: Some(advice.into()) }
    }

    /// The service does not work, or not safely.
    pub fn wrong(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, state: State::Wrong, found: found.into(), advice: Some(advice.into()) }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.state {
            State::Good => "ok     ",
            State::Warning => "warning",
            State::Wrong => "WRONG  ",
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
    fn what_is_wrong_comes_with_what_to_do() {
        let check = Check::wrong("server", "something else answers", "end it");

        assert_eq!(check.to_string(), "WRONG    server: something else answers\n         -> end it");
        assert_eq!(
            serde_json::to_value(&check).unwrap(),
            serde_json::json!({"name": "server", "state": "wrong", "found": "something else answers", "advice": "end it"})
        );
    }
}
