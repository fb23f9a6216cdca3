//! The context of requests, whatever their operation.

use crate::activity::Activity;
use crate::cursor::Cursors;
use crate::idempotency::Idempotency;

/// The records of requests, and the state that continues an earlier request. Clones share them.
#[derive(Clone)]
pub struct RequestContext {
    /// The activity view: one line for each call.
    pub activity: Activity,
    /// Responses stored under Idempotency-Keys for 24 hours.
    pub idempotency: Idempotency,
    /// Signs the cursors of lists, and checks them.
    pub cursors: Cursors,
}
