//! Examples of errors, for documents and tests.

use std::borrow::Cow;
use std::time::Duration;

use validation::Invalid;
use values::kind::KeyKind;
use values::scope::Scope;
use web::UrlRejection;

use super::error::Error;
use super::feed_fault::FeedFault;
use super::rate_limit::{RateLimitExceeded, RateWindow};
use super::storage_failure::StorageFailure;
use super::upload_fault::UploadFault;

/// The wait of the examples that carry one.
const EXAMPLE_WAIT: Duration = Duration::from_millis(2100);

impl Error {
    /// Returns one error of each row of [`ERRORS`](crate::ERRORS), in the same order.
    pub fn examples() -> Vec<Self> {
        let exceeded = RateLimitExceeded {
            limit: 300,
            window: RateWindow::Hour,
            retry_after: EXAMPLE_WAIT,
            reset: Duration::from_secs(9),
        };
        vec![
            Self::Invalid(Invalid::new("limit", "must be a whole number from 1 to 20")),
            Self::ScopeNotAllowed(vec![Scope::AskLibrary]),
            Self::KeyInvalid,
            Self::TokenNotForRest,
            Self::KeyInQuery,
            Self::NotSignedIn,
            Self::WrongPassword,
            Self::PlanRequired(Cow::Borrowed("the REST API")),
            Self::PlanLimit(
                "the plan allows 5000000000 bytes of uploads at one time; delete uploaded items first"
                    .to_owned(),
            ),
            Self::NoKeysInPlan(KeyKind::Rest),
            Self::LibraryFull { used: 9, limit: 8 },
            Self::TransfersFull { used: 9, limit: 8 },
            Self::QuotaUsed { limit: 1_000_000 },
            Self::ProjectLimit { limit: 200 },
            Self::ScopeRequired(vec![Scope::WriteUploads]),
            Self::NotForMcp,
            Self::ForeignOrigin,
            Self::Closed("sign-up is closed; ask the operator for an account"),
            Self::UploadRefused("the upload URL has expired; create a new upload"),
            Self::not_found(),
            Self::UnknownRoute,
            Self::MethodNotAllowed(vec!["GET".to_owned(), "HEAD".to_owned()]),
            Self::BodyTimeout,
            Self::conflict("this Idempotency-Key was already used for a different request; use a new one"),
            Self::StillRunning,
            Self::ProjectArchived,
            UploadFault::NotArrived { announced: 4096 }.into(),
            Self::UploadExpired,
            Self::TooLarge { what: "the body", limit: 1024 },
            Self::UnsupportedType("the body must be JSON, sent as Content-Type: application/json"),
            UrlRejection::Credentials.into(),
            FeedFault::NoFeed.into(),
            Self::RateLimited(exceeded),
            Self::TooManyFailures(EXAMPLE_WAIT),
            Self::TooManyUploads { limit: 8 },
            Self::internal("a table is missing"),
            Self::AiPaused(EXAMPLE_WAIT),
            Self::AiUnavailable,
            Self::Busy(EXAMPLE_WAIT),
            Self::StorageFailed(StorageFailure::Transient),
            Self::StorageFailed(StorageFailure::NoIndex),
            Self::IndexUnreachable(EXAMPLE_WAIT),
            Self::IndexIncomplete(EXAMPLE_WAIT),
            Self::StorageFull,
        ]
    }
}
