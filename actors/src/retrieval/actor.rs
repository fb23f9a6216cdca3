//! The actor of retrieval. The changes of the index touch no state of it. They run on its thread within the permits of its port, which
//! bound how many are in progress.
//!
//! A crash loses nothing: the changes in progress continue, and the next actor uses the index that is open.

use actix::{Actor, Context};

/// The actor of retrieval. It has no state: that of the index is in the engine, which reads share.
pub struct RetrievalActor;

impl Actor for RetrievalActor {
    type Context = Context<Self>;
}
