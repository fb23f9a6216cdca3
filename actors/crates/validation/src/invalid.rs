//! What is wrong with a request: the faults of its fields, and the message that names them.

use schemars::JsonSchema;
use serde::Serialize;

/// Faults that a message about an invalid request names. `details.fields` has all of them.
const MAX_NAMED_FAULTS: usize = 3;
/// Characters of the path of a faulty field in a message. Longer paths are cut.
const MAX_SHOWN_PATH_CHARS: usize = 100;

/// All faults of a request, by field.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("the request is not valid: {}", named_faults(.faults))]
pub struct Invalid {
    /// The faults, in the order in which they were found.
    pub faults: Vec<Fault>,
}

/// What is wrong with one field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FieldError")]
pub struct Fault {
    /// Name of the parameter, or path in the body like `items[2].bookmarkId`; `body` for the body as a whole.
    pub field: String,
    /// What is wrong with it, as a phrase that follows the name of the field; it never repeats the value.
    pub reason: String,
}

impl Invalid {
    /// Creates a report of one fault.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { faults: vec![Fault { field: field.into(), reason: reason.into() }] }
    }

    /// Returns the values of both parts of a request.
    ///
    /// # Errors
    /// [`Invalid`] with the faults of both parts together.
    pub fn together<A, B>(first: Result<A, Self>, then: Result<B, Self>) -> Result<(A, B), Self> {
        match (first, then) {
            (Ok(first), Ok(then)) => Ok((first, then)),
            (Err(faulty), Ok(_)) | (Ok(_), Err(faulty)) => Err(faulty),
            (Err(mut first), Err(then)) => {
                first.faults.extend(then.faults);
                Err(first)
            }
        }
    }
}

/// Lists the first faults for a message, each as its field and its reason.
fn named_faults(faults: &[Fault]) -> String {
    let shown = faults.iter().take(MAX_NAMED_FAULTS);
    let mut named: Vec<String> =
        shown.map(|fault| format!("{:.MAX_SHOWN_PATH_CHARS$} {}", fault.field, fault.reason)).collect();
    match faults.len().saturating_sub(MAX_NAMED_FAULTS) {
        0 => {}
        more => named.push(format!("and {more} more")),
    }
    named.join("; ")
}
