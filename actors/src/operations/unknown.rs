//! A route or a method that there is not: it counts, is logged as unknown, and answers its error.

use entity::scope::Scope;

use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use crate::pipeline::Operation;

/// What was asked for in vain.
#[derive(Debug)]
pub struct Unknown {
    /// The methods that the route does have; none where there is no such route.
    pub methods: Vec<String>,
}

impl Operation for Unknown {
    type Reply = ();
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, _: &Caller, _: &OperationContext) -> Result<(), Error> {
        Err(if self.methods.is_empty() { Error::UnknownRoute } else { Error::MethodNotAllowed(self.methods) })
    }
}
