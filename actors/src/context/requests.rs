//! The context of requests, whatever their operation.

use crate::activity::Activity;
use crate::cursor::Cursors;
use crate::idempotency::Idempotency;

/// What is recorded of requests, and what continues an earlier one. Clones share it.
#[derive(Clone)]
pub struct RequestContext {
    /// The activity view: one line for each call.
    pub activity: Activity,
    /// Responses stored under Idempotency-Keys for 24 hours.
    pub idempotency: Idempotency,
    /// Signs the cursors of lists, and checks them.
    pub cursors: Cursors,
}
