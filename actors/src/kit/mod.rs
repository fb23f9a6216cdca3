//! How actors are reached, kept alive and watched: the only module that knows how actix behaves.
//!
//! - [`Port`] bounds what is asked of an actor at once (a mailbox does not) and tells a busy, late or dead one apart.
//! - [`keep`] starts an actor and starts it anew whatever it died of (actix's supervisor does not, after a panic).
//! - [`Batch`] gathers small writes by number; an actor that [`Gathers`] writes them together, one write after another.
//! - [`FairQueue`] takes waiting callers from their accounts in turn.
//! - [`FairSemaphore`] gives its permits to waiting accounts in turn.
//! - [`Beat`] says again and again that something is under way, as long as it is.
//! - [`Shared`] keeps one thing for each key, as long as somebody holds it.
//! - [`lower_thread_priority`] lets other requests go before a thread.
//! - [`Workers`] runs blocking work: what somebody waits for never stands behind the background.

mod batch;
mod beat;
mod fair_queue;
mod fair_semaphore;
mod gather;
mod health;
mod keeper;
mod port;
mod priority;
mod shared;
mod work;

pub use batch::Batch;
pub use beat::Beat;
pub use fair_queue::{FairQueue, QUEUE_RETRY_AFTER};
pub use fair_semaphore::{FairPermit, FairSemaphore};
pub use gather::{Flush, Gathers, Turn, Write};
pub use health::{Health, Report};
pub use keeper::{Kept, keep};
pub use port::{Port, Unanswered};
pub use priority::{BACKGROUND_NICE, HEAVY_REQUEST_NICE, lower_thread_priority};
pub use shared::Shared;
pub use work::{Lane, Workers};
