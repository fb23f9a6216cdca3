//! The trait of operations: what a caller can ask for, with what it needs and what it counts.

use errors::Error;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use validation::Request;
use values::scope::{Scope, Scopes};

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::target::Target;

/// An operation that is made from the path and the fields of a request.
pub trait FromRequest: Operation {
    /// The fields: of the query for GET and DELETE, of the body otherwise.
    type Request: Request;

    /// Creates the operation from the ids and names in the path and from the parsed fields.
    ///
    /// # Errors
    /// [`Error::NotFound`] when an id in the path is malformed; [`Error::Invalid`] when fields contradict each other.
    fn from_request(target: &Target, request: Self::Request) -> Result<Self, Error>;
}

/// An operation that creates an item unless it exists already.
pub trait CreatesIfAbsent: Operation {
    /// Returns whether the call created the item; false if it existed already. The status of the response depends on it.
    fn has_created(reply: &Self::Reply) -> bool;
}

/// A request of a caller, parsed and ready to run.
///
/// [`crate::pipeline::execute`] checks everything that this trait declares before it calls [`Operation::run`].
pub trait Operation: Sized + 'static {
    /// The reply. Its JSON is sent, and its JSON Schema describes it in the OpenAPI document and in the list of tools.
    type Reply: Serialize + JsonSchema + 'static;
    /// Scopes that every call needs, one with invalid parameters too.
    const SCOPES: &'static [Scope];
    /// The codes of the errors that [`Self::run`] may return beyond those of every operation of its kind ([`errors::code`]), for the
    /// OpenAPI document. Operations that only the web app or MCP offers need none.
    const ERRORS: &'static [&'static str] = &[];
    /// The number by which a call with invalid parameters counts in the daily limit of MCP; 2 for tools that write.
    const WEIGHT: u32 = 1;
    /// Whether the operation is refused while the disk has less than `storage.min_free_bytes` left:
    /// true for operations that write, except deletions.
    const NEEDS_SPACE: bool = Scope::any_writes(Self::SCOPES);

    /// Whether only operators may call it, who are signed in to the web app. For others its route does not exist.
    const NEEDS_OPERATOR: bool = false;

    /// Whether a call waits for a slot for its account before it runs, and holds the slot until its response is built: true for
    /// operations that read much of a library into one response. Operations that wait for something else while they run, such as a
    /// model, another server or a search slot, need none, nor do responses of a few fixed fields.
    const NEEDS_RESPONSE_SLOT: bool = !Self::SCOPES.is_empty() && !Scope::any_writes(Self::SCOPES);

    /// The members of the reply that are secrets. They are not stored under an Idempotency-Key (contract.md, section 11).
    const SECRET_MEMBERS: &'static [&'static str] = &[];

    /// Returns the scopes that this call needs: [`Self::SCOPES`], and more where its parameters ask for more.
    fn scopes(&self) -> Scopes {
        Self::SCOPES.into()
    }

    /// Returns the number by which this call counts in the daily limit of MCP. It depends on the parameters where a call asks for a
    /// number of characters: the pipeline counts it before it runs.
    fn weight(&self) -> u32 {
        Self::WEIGHT
    }

    /// Counts the results in a reply, for the activity view.
    fn count(_reply: &Self::Reply) -> Option<usize> {
        None
    }

    /// Completes a stored body with new values of [`Self::SECRET_MEMBERS`]. Only the operation can create them, such as a signed URL,
    /// while the pipeline replays the response.
    fn restore_body(
        stored: Value,
        _caller: &Caller,
        _ctx: &OperationContext,
    ) -> impl Future<Output = Result<Value, Error>> {
        async { Ok(stored) }
    }

    /// Carries the operation out. Every check of the pipeline has passed by then; the operation itself checks whether what it names
    /// exists and belongs to the caller.
    fn run(self, caller: &Caller, ctx: &OperationContext)
    -> impl Future<Output = Result<Self::Reply, Error>>;
}
