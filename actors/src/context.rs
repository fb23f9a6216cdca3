//! What operations work with: the actors' handles, the adapters to the outside, and the core.

use std::sync::Arc;

use concurrency::KeyedMutex;
use disk::DiskSpace;
use errors::Error;
use inference::transcriber::SpeechService;
use jobs::JobSignal;
use library::context::CoreContext;
use library::uploads::Uploads;
use values::id::UserId;
use values::plan::Plan;

use crate::activity::Activity;
use crate::answerer::Answerer;
use crate::auth::authenticate::Authenticator;
use crate::auth::grants::Grants;
use crate::auth::keys::Keys;
use crate::auth::limits::{AuthFailures, IpRateLimiter, Limits};
use crate::auth::sessions::SignIns;
use crate::batch_slots::BatchSlots;
use crate::cursor::Cursors;
use crate::idempotency::Idempotency;
use crate::ingest::feed::context::FeedContext;
use crate::ingest::feed::search::FeedSearches;
use crate::ingest::repair::IndexWatch;
use crate::notices::Notices;
use crate::retrieval::Retrieval;

/// Everything that an operation may need. Clones share it.
#[derive(Clone)]
pub struct OperationContext {
    /// The database, the clock, the plans and the lanes of blocking work.
    pub core: CoreContext,
    /// The API keys: look-up, creation, revocation.
    pub keys: Keys,
    /// OAuth clients, grants and their tokens.
    pub grants: Grants,
    /// The hourly limits of keys and grants, and the daily limits of users.
    pub limits: Limits,
    /// Failed authentications by IP address; too many refuse further ones.
    pub failures: Arc<AuthFailures>,
    /// Failed sign-ins by account and IP address; too many refuse further ones for a while.
    pub sign_ins: Arc<SignIns>,
    /// Limits the accounts that are created from one IP address.
    pub sign_ups: Arc<IpRateLimiter>,
    /// The activity view: one line for each call.
    pub activity: Activity,
    /// In-app notices, which are also sent by e-mail.
    pub notices: Notices,
    /// Responses stored under Idempotency-Keys for 24 hours.
    pub idempotency: Idempotency,
    /// Search, and the passage index.
    pub retrieval: Retrieval,
    /// The watch over the passage index, which repairs it and keeps it complete.
    pub index_watch: Arc<IndexWatch>,
    /// Uploads, and the store of their files.
    pub uploads: Uploads,
    /// Serializes the uploads of files to import, per user: the number of a user's imports in progress is checked before a file is
    /// received, and the file counts as one of them only after its last byte.
    pub upload_locks: KeyedMutex<UserId>,
    /// Slots of each account for batches of changes.
    pub batch_slots: BatchSlots,
    /// Signs the cursors of lists, and checks them.
    pub cursors: Cursors,
    /// Searches for feeds that a user waits for.
    pub feed_searches: FeedSearches,
    /// What feeds are fetched, followed and delivered with.
    pub feeds: FeedContext,
    /// The service that transcribes recordings, in turns between users.
    pub speech: SpeechService<UserId>,
    /// Answers questions from passages, with a configured endpoint or without a model.
    pub answerer: Arc<dyn Answerer>,
    /// Tokens of all users in a UTC day before the AI pauses; 0 means no limit.
    pub daily_tokens: u64,
    /// The plan of new accounts; `None` while sign-up is closed.
    pub signup: Option<Plan>,
    /// The free space of the disks, below whose floor writes are refused.
    pub disk: DiskSpace,
    /// Wakes the worker after a transaction that enqueued a job.
    pub job_signal: JobSignal,
}

impl OperationContext {
    /// Returns what authenticates API keys and access tokens.
    pub fn authenticator(&self) -> Authenticator<'_> {
        let Self { core, keys, grants, failures, .. } = self;
        Authenticator { core, keys, grants, failures }
    }

    /// Returns the plan of new accounts.
    ///
    /// # Errors
    /// [`Error::Closed`] while sign-up is closed.
    pub fn signup_plan(&self) -> Result<Plan, Error> {
        self.signup.ok_or(Error::Closed("sign-up is closed; ask the operator for an account"))
    }
}
