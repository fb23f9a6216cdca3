//! An error in a JSON response.

use serde_json::Value;

use super::error::Error;

/// An error as a member of a JSON response.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct ErrorBody {
    /// Code of the error, which stays the same when the message changes.
    pub code: String,
    /// What is wrong and what to do, in words.
    pub message: String,
    /// More, by the code: the faulty fields, the scopes that are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl From<&Error> for ErrorBody {
    fn from(error: &Error) -> Self {
        let details = Some(error.details()).filter(|details| !details.is_empty());
        Self {
            code: error.spec().code.to_owned(),
            message: error.to_string(),
            details: details.map(Value::Object),
        }
    }
}
