//! Why an actor gave no answer.

/// Why a question to an actor got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The actor has as many questions in progress as its permits allow, or it is being restarted. Nothing was begun.
    #[error("the actor is busy")]
    Busy,
    /// No answer came within the timeout of the actor's port. The work's own deadline is shorter, so this is rare.
    #[error("the actor did not answer in time")]
    Timeout,
    /// The actor, or the work that it was asked for, crashed, or the thread of the actor has stopped. Questions until the actor is
    /// restarted get [`AskError::Busy`].
    #[error("the actor crashed while it answered")]
    Crashed,
}
