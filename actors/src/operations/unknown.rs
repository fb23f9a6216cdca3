//! Answers requests for unknown routes and methods. They count and are logged like others (contract.md, section 11: Counting), so
//! they are an operation that the pipeline runs.

use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use errors::Error;

/// A request for an unknown route or with an unsupported method.
#[derive(Debug)]
pub struct UnmatchedRequest {
    /// The methods that the route supports; empty for an unknown route.
    pub methods: Vec<String>,
}

impl Operation for UnmatchedRequest {
    type Reply = ();
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, _: &Caller, _: &OperationContext) -> Result<(), Error> {
        Err(if self.methods.is_empty() { Error::UnknownRoute } else { Error::MethodNotAllowed(self.methods) })
    }
}
