//! The table of errors. A new variant of [`Error`] needs one row here, and one example in `examples.rs`, at the same position;
//! nothing else lists the variants.

use std::time::Duration;

use super::code;
use super::error::Error;
use super::storage_failure::StorageFailure;

/// The presentation of one variant of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorSpec {
    /// The stable code, such as `NOT_FOUND`. Several variants may share one; then they share the status too.
    pub code: &'static str,
    /// The HTTP status: of REST always, of MCP where the error is delivered by HTTP.
    pub status: u16,
    /// How a client of the MCP server receives the error.
    pub mcp: McpDelivery,
    /// The code that a client of the MCP server receives. It differs from `code` where the specification's table of tool errors
    /// has no such code.
    pub mcp_code: &'static str,
    /// The time that a client waits before it tries again.
    pub retry: RetryRule,
    /// The headers of an HTTP response besides `Retry-After`.
    pub headers: HeaderRule,
    /// The routes of the REST API that may respond with the error.
    pub routes: RouteRule,
    /// Whether an Idempotency-Key keeps the response; never one with a wait. After other errors the same key may be tried again.
    pub is_final: bool,
    /// Whether the server itself cannot serve at the moment, whatever the request: a busy component, a storage that failed, a full
    /// disk.
    pub is_temporary: bool,
    /// The page that a browser receives during a sign-in or a consent.
    pub page: PageText,
    /// The message on the command line, where the operator can do more than a client.
    pub operator_message: OperatorMessage,
    /// What happens to a job that meets the error.
    pub job: JobRule,
    /// Whether a surface that responds with the error logs its cause.
    pub is_logged: bool,
    /// When the error occurs: sentences for the OpenAPI document and the manual.
    pub description: &'static str,
}

/// The form in which a client of the MCP server receives an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpDelivery {
    /// In the result of the tool: the model can act on it.
    ToolResult,
    /// As the HTTP status of the response: the client has to act on it.
    Http,
}

/// The time that a client waits before it tries again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryRule {
    /// The same request would fail again.
    Never,
    /// The same wait each time.
    After(Duration),
    /// The variant holds the wait.
    Carried,
}

/// The headers that an HTTP response with an error has besides `Retry-After`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderRule {
    /// No other headers.
    None,
    /// `WWW-Authenticate`: the request has no valid key or access token.
    BearerChallenge,
    /// `WWW-Authenticate` of the MCP server alone: the key lacks the scope `mcp`.
    McpScopeChallenge,
    /// `Allow`, with [`Error::methods`].
    Allow,
    /// The state of the limit that was reached ([`Error::rate_limit`]): `X-RateLimit-Limit`, `X-RateLimit-Remaining` and
    /// `X-RateLimit-Reset`.
    RateLimit,
    /// `Connection: close`.
    Close,
}

/// The routes of the REST API that may respond with an error, besides those whose operation lists its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteRule {
    /// Only routes whose operation lists the code. No operation lists the codes of the web app, of the URL that a file is sent to,
    /// and of paths and methods without a route.
    Listed,
    /// Every route.
    All,
    /// Routes that require a scope of the key.
    Scoped,
    /// Routes that identify an object by its id or its name.
    Naming,
    /// Routes whose requests have a body.
    WithBody,
    /// Routes whose requests have a URL.
    WithUrl,
    /// POST routes, because of `Idempotency-Key`.
    Post,
}

/// A page that says why a sign-in or a consent cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageText {
    /// The title, which is also the heading.
    pub title: &'static str,
    /// What happened and what the user can do.
    pub text: &'static str,
}

/// The message of an error on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorMessage {
    /// The message to clients, with its cause.
    OfClients,
    /// Another message.
    Text(&'static str),
    /// The first part of the message to clients, which says what is wrong, with this advice in place of the one to ask the operator.
    Advice(&'static str),
}

/// The treatment of a job that meets an error of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobRule {
    /// The attempt has failed, and the user is shown no cause.
    Fail,
    /// The attempt has failed, and the user is shown the error. The user may have removed its cause by the next attempt.
    Retry {
        /// The minimum delay until the next attempt.
        after: Duration,
    },
    /// The attempt has failed and is the last one, and the user is shown the error.
    GiveUp,
    /// The job runs again after the wait of the error, as if there had been no attempt. The user is shown nothing, because it is
    /// over soon.
    Defer,
    /// The job waits as if there had been no attempt, and the user is shown the reason.
    Block {
        /// What the job waits for, as a sentence for the user.
        reason: &'static str,
        /// The delay until the next attempt.
        after: Duration,
    },
}

use McpDelivery::{Http, ToolResult};
use RouteRule::{All, Naming, Post, Scoped, WithBody, WithUrl};

/// The page for every error that is not temporary. These are faults of the server: a page checks the form itself.
const UNEXPECTED: PageText = PageText {
    title: "An internal error occurred",
    text: "Try again. If it fails again, tell the operator of the server.",
};

/// The page for faults of the storage other than a full disk of the database.
const STORAGE_FAILED: PageText =
    PageText { title: "Storage failed", text: "The server could not use its storage. Try again later." };

/// The rule for a job that needs space on a disk.
const WAIT_FOR_SPACE: JobRule = JobRule::Block {
    reason: "the disk of the server is full; processing continues when there is space again",
    after: Duration::from_secs(30),
};

/// Returns the row of an error that only listed routes respond with and that is not retried.
const fn row(code: &'static str, status: u16, mcp: McpDelivery, description: &'static str) -> ErrorSpec {
    ErrorSpec {
        code,
        status,
        mcp,
        mcp_code: code,
        retry: RetryRule::Never,
        headers: HeaderRule::None,
        routes: RouteRule::Listed,
        is_final: false,
        is_temporary: false,
        page: UNEXPECTED,
        operator_message: OperatorMessage::OfClients,
        job: JobRule::Fail,
        is_logged: false,
        description,
    }
}

impl ErrorSpec {
    const fn with_mcp_code(self, mcp_code: &'static str) -> Self {
        Self { mcp_code, ..self }
    }

    const fn with_retry(self, retry: RetryRule) -> Self {
        Self { retry, ..self }
    }

    const fn with_headers(self, headers: HeaderRule) -> Self {
        Self { headers, ..self }
    }

    const fn with_routes(self, routes: RouteRule) -> Self {
        Self { routes, ..self }
    }

    const fn with_final_response(self) -> Self {
        Self { is_final: true, ..self }
    }

    const fn temporary(self, page: PageText) -> Self {
        Self { is_temporary: true, page, ..self }
    }

    const fn with_operator_message(self, message: OperatorMessage) -> Self {
        Self { operator_message: message, ..self }
    }

    const fn with_job(self, job: JobRule) -> Self {
        Self { job, ..self }
    }

    const fn logged(self) -> Self {
        Self { is_logged: true, ..self }
    }
}

/// Declares [`ERRORS`] and [`Error::spec`] from the same rows. The match is exhaustive, so a variant without a row does not
/// compile.
macro_rules! error_table {
    ($($variant:pat => $spec:expr,)+) => {
        /// One row for each variant of [`Error`], and two for those of [`StorageFailure`], in the order of the statuses.
        pub static ERRORS: &[ErrorSpec] = &[$($spec),+];

        impl Error {
            /// Returns how this error is presented.
            pub fn spec(&self) -> &'static ErrorSpec {
                match self {
                    $($variant => {
                        // A copy of the row, because the position of a variant in `ERRORS` is not known here.
                        static ROW: ErrorSpec = $spec;
                        &ROW
                    })+
                }
            }
        }
    };
}

error_table! {
    Error::Invalid(_) => row(
        code::VALIDATION_FAILED, 400, ToolResult,
        "A parameter or field is unknown, repeated, missing, malformed or out of range. `details.fields` names every fault.",
    ).with_routes(All),
    Error::ScopeNotAllowed(_) => row(
        code::SCOPE_NOT_ALLOWED, 400, ToolResult,
        "A key was requested with a scope that the plan does not include. `details.scopes` names the scopes.",
    )
    .with_operator_message(OperatorMessage::Advice(
        "choose other scopes, or change the plan with `carrel user set-plan`",
    )),
    Error::KeyInvalid => row(
        code::API_KEY_INVALID, 401, Http,
        "The key is missing, unknown, revoked or expired, or two different keys were sent.",
    ).with_routes(All).with_headers(HeaderRule::BearerChallenge),
    Error::TokenNotForRest => row(
        code::API_KEY_INVALID, 401, Http,
        "The access token of a connected app was sent to the REST API.",
    ).with_routes(All).with_headers(HeaderRule::BearerChallenge),
    Error::KeyInQuery => row(
        code::API_KEY_IN_QUERY, 401, Http,
        "A key was sent in the URL.",
    ).with_routes(All).with_headers(HeaderRule::BearerChallenge),
    Error::NotSignedIn => row(
        code::NOT_SIGNED_IN, 401, Http,
        "There is no session, or it has ended (routes under `/app/api`).",
    ),
    Error::WrongPassword => row(
        code::NOT_SIGNED_IN, 401, Http,
        "The e-mail address or the password is wrong (routes under `/app/api`).",
    ),
    Error::PlanRequired(_) => row(
        code::PLAN_REQUIRED, 402, ToolResult,
        "The plan does not include what the request needs: the REST API, a scope, or uploads.",
    )
    .with_routes(All)
    .with_final_response()
    .with_operator_message(OperatorMessage::Advice("change the plan with `carrel user set-plan`")),
    Error::PlanLimit(_) => row(
        code::PLAN_LIMIT_REACHED, 402, ToolResult,
        "A limit of the plan is reached: its number of keys, the answers of the month, or the bytes of uploads.",
    ).with_final_response(),
    Error::NoKeysInPlan(_) => row(
        code::PLAN_LIMIT_REACHED, 402, ToolResult,
        "The plan includes no keys of the kind.",
    )
    .with_final_response()
    .with_operator_message(OperatorMessage::Advice("change the plan with `carrel user set-plan`")),
    // The specification's table of tool errors has no other code for a limit of the plan.
    Error::LibraryFull { .. } => row(
        code::PLAN_LIMIT_REACHED, 402, ToolResult,
        "The library is as large as the plan allows; `details` has `usedBytes` and `limitBytes`.",
    )
    .with_mcp_code(code::PLAN_REQUIRED)
    .with_final_response()
    .with_operator_message(OperatorMessage::Advice(
        "delete something, change the plan with `carrel user set-plan`, or raise the setting plans.PLAN.library_bytes",
    ))
    .with_job(JobRule::Retry { after: Duration::from_secs(3600) }),
    Error::TransfersFull { .. } => row(
        code::PLAN_LIMIT_REACHED, 402, ToolResult,
        "The files of imports and exports are as large as the plan allows; `details` has `usedBytes` and `limitBytes`.",
    )
    .with_mcp_code(code::PLAN_REQUIRED)
    .with_final_response()
    // The user frees space and starts another export.
    .with_job(JobRule::GiveUp),
    Error::QuotaUsed { .. } => row(
        code::AI_QUOTA_EXCEEDED, 402, ToolResult,
        "The AI tokens of the month are used up.",
    ).with_final_response(),
    Error::ProjectLimit { .. } => row(
        code::PROJECT_LIMIT_REACHED, 402, ToolResult,
        "The project would have more items than the plan allows.",
    ).with_final_response(),
    Error::ScopeRequired(_) => row(
        code::SCOPE_REQUIRED, 403, ToolResult,
        "The key lacks a scope that the request needs. `details.scopes` names the missing scopes.",
    ).with_routes(Scoped),
    Error::NotForMcp => row(
        code::SCOPE_REQUIRED, 403, Http,
        "A REST key was used with the MCP server.",
    ).with_headers(HeaderRule::McpScopeChallenge),
    Error::ForeignOrigin => row(
        code::FOREIGN_ORIGIN, 403, Http,
        "The request came from a page of another origin (routes under `/app/api`, MCP).",
    ),
    Error::Closed(_) => row(
        code::CLOSED, 403, Http,
        "Sign-up is closed, or the first account exists already (routes under `/app/api`).",
    ),
    Error::UploadRefused(_) => row(
        code::UPLOAD_REFUSED, 403, Http,
        "The upload URL is not signed by this server, or it has expired.",
    ),
    Error::NotFound(_) => row(
        code::NOT_FOUND, 404, ToolResult,
        "The item does not exist, or it belongs to another account: the response does not say which.",
    ).with_routes(Naming).with_final_response(),
    Error::UnknownRoute => row(code::NOT_FOUND, 404, ToolResult, "The path does not exist.").with_final_response(),
    Error::MethodNotAllowed(_) => row(
        code::METHOD_NOT_ALLOWED, 405, Http,
        "The route does not support the method. `Allow` lists those that it supports.",
    ).with_headers(HeaderRule::Allow),
    Error::BodyTimeout => row(
        code::REQUEST_TIMEOUT, 408, Http,
        "The body arrived too slowly. JSON: it fell behind 64 KiB/s by more than `server.body_grace_seconds`. Files of uploads and \
         imports: they fell behind 8 KiB/s by more than two minutes, nothing arrived for a minute, or they took more than six \
         hours. The connection is closed.",
    ).with_routes(WithBody).with_headers(HeaderRule::Close),
    Error::Conflict(_) => row(
        code::CONFLICT, 409, ToolResult,
        "A unique name is taken, the state of the item does not allow the change, or the `Idempotency-Key` was used for a \
         different request, or for one whose response is not kept.",
    ).with_routes(Post).with_final_response(),
    Error::StillRunning => row(
        code::CONFLICT, 409, ToolResult,
        "A request with the same `Idempotency-Key` is still running (with `Retry-After`).",
    ).with_routes(Post).with_retry(RetryRule::After(Duration::from_secs(1))),
    Error::ProjectArchived => row(
        code::PROJECT_ARCHIVED, 409, ToolResult,
        "The project is archived: nothing in it can be changed until it is active again.",
    ).with_final_response(),
    Error::UploadIncomplete(_) => row(
        code::UPLOAD_INCOMPLETE, 409, Http,
        "The bytes of the upload have not all arrived, or they have another length or SHA-256.",
    ).with_final_response(),
    Error::UploadExpired => row(
        code::UPLOAD_EXPIRED, 410, Http,
        "The upload expired before its bytes arrived.",
    ).with_final_response(),
    Error::TooLarge { .. } => row(
        code::PAYLOAD_TOO_LARGE, 413, Http,
        "The body is larger than `server.max_body_bytes`, an uploaded file larger than the plan allows, or an imported file \
         larger than `uploads.import_bytes`.",
    ).with_routes(WithBody),
    Error::UnsupportedType(_) => row(
        code::UNSUPPORTED_MEDIA_TYPE, 415, Http,
        "The body is not JSON, or an upload is neither audio nor video nor PDF.",
    ).with_routes(WithBody),
    Error::UrlRejected { .. } => row(
        code::URL_REJECTED, 422, ToolResult,
        "The URL is not http(s), contains credentials, uses a port of another service, such as SSH or a database, or leads \
         to a \
         private or reserved network or to this server itself.",
    ).with_routes(WithUrl).with_final_response(),
    Error::FeedNotFound(_) => row(
        code::FEED_NOT_FOUND, 422, ToolResult,
        "The URL is neither a feed nor a page that links to one, or the feed is empty, broken or cannot be fetched.",
    ).with_final_response(),
    Error::RateLimited(_) => row(
        code::RATE_LIMITED, 429, ToolResult,
        "The hourly or daily limit is reached (with `Retry-After`).",
    ).with_routes(All).with_retry(RetryRule::Carried).with_headers(HeaderRule::RateLimit),
    Error::TooManyFailures(_) => row(
        code::RATE_LIMITED, 429, Http,
        "Too many failed attempts from one IP address or for one account, or too many new accounts from one IP address (with \
         `Retry-After`).",
    ).with_routes(All).with_retry(RetryRule::Carried),
    Error::TooManyUploads { .. } => row(
        code::RATE_LIMITED, 429, Http,
        "An account sends too many files at the same time (with `Retry-After`).",
    ).with_retry(RetryRule::After(Duration::from_secs(5))),
    Error::Internal(_) => row(
        code::INTERNAL, 500, Http,
        "An internal error occurred. The log has its cause under the id in `X-Request-Id`.",
    ).with_routes(All).logged(),
    Error::AiPaused(_) => row(
        code::AI_PAUSED, 503, ToolResult,
        "The AI is paused until midnight UTC, by an operator or because `ai.daily_tokens` are used up; search still matches \
         words (with `Retry-After`).",
    ).with_retry(RetryRule::Carried),
    Error::AiUnavailable => row(
        code::AI_UNAVAILABLE, 503, ToolResult,
        "The model did not answer; the request does not count as an answer (with `Retry-After`).",
    ).with_retry(RetryRule::After(Duration::from_secs(30))),
    Error::Busy(_) => row(
        code::OVERLOADED, 503, Http,
        "A component is busy or restarting, or the account has too many responses in progress (with `Retry-After`).",
    )
    .with_routes(All)
    .with_retry(RetryRule::Carried)
    .temporary(PageText { title: "Busy", text: "The server is busy. Try again in a moment." })
    .with_operator_message(OperatorMessage::Text("the database is busy; try again"))
    // Not the fault of the job, so it uses up no attempt.
    .with_job(JobRule::Defer),
    Error::StorageFailed(StorageFailure::Transient | StorageFailure::Damaged | StorageFailure::Removed) => row(
        code::OVERLOADED, 503, Http,
        "The storage of the database, of the index or of a file failed (with `Retry-After`).",
    )
    .with_routes(All)
    .with_retry(RetryRule::Carried)
    .temporary(STORAGE_FAILED)
    .with_job(JobRule::Block {
        reason: "the storage of the server failed; this will be retried",
        after: Duration::from_secs(60),
    }),
    Error::StorageFailed(StorageFailure::NoIndex) => row(
        code::OVERLOADED, 503, Http,
        "There is no search index, because its disk has no space for one; reading still works (with `Retry-After`).",
    )
    .with_routes(All)
    .with_retry(RetryRule::Carried)
    .temporary(STORAGE_FAILED)
    .with_job(WAIT_FOR_SPACE),
    // Many jobs meet it together, and none is at fault.
    Error::IndexUnreachable(_) => row(
        code::OVERLOADED, 503, Http,
        "The Qdrant server that holds the search index does not answer; saving and reading still work (with `Retry-After`).",
    )
    .with_routes(All)
    .with_retry(RetryRule::Carried)
    .temporary(PageText { title: "Busy", text: "The search index does not answer. Try again in a moment." })
    .with_job(JobRule::Defer),
    Error::IndexIncomplete(_) => row(
        code::OVERLOADED, 503, Http,
        "A question finds nothing while the search index is being compared with the library or restored, or is not reached; it \
         does not count as an answer (with `Retry-After`).",
    )
    .with_routes(All)
    .with_retry(RetryRule::Carried),
    // A full disk stays full until an operator frees space.
    Error::StorageFull => row(
        code::STORAGE_FULL, 507, Http,
        "The disk has less than `storage.min_free_bytes` left, or would have with the announced bytes, or the database or the \
         store of files is full; reading and searching still work (with `Retry-After`).",
    )
    .with_routes(All)
    .with_retry(RetryRule::After(Duration::from_secs(60)))
    .temporary(PageText {
        title: "Disk full",
        text: "The disk of the server is full. Try again when the operator has freed space.",
    })
    .with_operator_message(OperatorMessage::Text(
        "a disk is full or has less than storage.min_free_bytes free; free some space and try again",
    ))
    .with_job(WAIT_FOR_SPACE),
}

#[cfg(test)]
mod tests {
    use validation::Invalid;
    use web::UrlRejection;

    use super::*;

    #[test]
    fn every_variant_has_its_own_row() {
        let examples = Error::examples();

        assert_eq!(examples.len(), ERRORS.len());
        for (example, row) in examples.iter().zip(ERRORS) {
            assert_eq!(example.spec(), row, "{example:?}");
        }
    }

    #[test]
    fn variants_of_one_code_share_its_status() {
        for row in ERRORS {
            let same = ERRORS.iter().filter(|other| other.code == row.code);
            assert!(same.into_iter().all(|other| other.status == row.status), "{}", row.code);
        }
    }

    #[test]
    fn codes_statuses_and_descriptions_are_well_formed() {
        for row in ERRORS {
            for code in [row.code, row.mcp_code] {
                assert!(code.chars().all(|c| c.is_ascii_uppercase() || c == '_'), "{code}");
            }
            assert!((400..600).contains(&row.status), "{}", row.code);
            assert!(row.description.ends_with('.') && !row.description.contains('|'), "{}", row.code);
        }
        assert!(ERRORS.is_sorted_by_key(|row| row.status));
    }

    #[test]
    fn temporary_errors_have_a_wait_and_are_not_final() {
        let temporary = Error::examples().into_iter().filter(|error| error.spec().is_temporary);

        let codes: Vec<&str> = temporary
            .map(|error| {
                assert!(error.retry_after().is_some() && !error.spec().is_final, "{error:?}");
                error.spec().code
            })
            .collect();
        assert_eq!(codes, ["OVERLOADED", "OVERLOADED", "OVERLOADED", "OVERLOADED", "STORAGE_FULL"]);
    }

    #[test]
    fn responses_that_a_key_keeps_have_one_of_five_statuses() {
        for row in ERRORS {
            // A response with a wait only says that the same request is to be tried again.
            let is_kept = matches!(row.status, 402 | 404 | 409 | 410 | 422) && row.retry == RetryRule::Never;
            assert_eq!(row.is_final, is_kept, "{}", row.description);
        }
    }

    #[test]
    fn jobs_wait_for_temporary_errors_and_fail_by_others() {
        for row in ERRORS {
            let is_waiting = matches!(row.job, JobRule::Defer | JobRule::Block { .. });
            assert_eq!(row.is_temporary, is_waiting, "{}", row.code);
            assert_eq!(row.is_temporary, row.page != UNEXPECTED, "{}", row.code);
        }
    }

    #[test]
    fn causes_of_internal_errors_alone_are_logged() {
        let logged = Error::examples().into_iter().filter(|error| error.spec().is_logged);

        assert_eq!(logged.map(|error| error.spec().code).collect::<Vec<_>>(), ["INTERNAL"]);
    }

    #[test]
    fn values_of_headers_are_known_where_the_rule_names_them() {
        for error in Error::examples() {
            let headers = error.spec().headers;
            assert_eq!(error.rate_limit().is_some(), headers == HeaderRule::RateLimit, "{error:?}");
            assert_eq!(error.methods().is_empty(), headers != HeaderRule::Allow, "{error:?}");
        }
    }

    #[test]
    fn wait_is_known_where_the_rule_names_one() {
        for error in Error::examples() {
            assert_eq!(error.retry_after().is_some(), error.spec().retry != RetryRule::Never, "{error:?}");
        }
    }

    #[test]
    fn messages_are_complete_sentences_without_their_causes() {
        for error in Error::examples() {
            let message = error.to_string();
            assert!(message.len() > 15 && !message.contains("a table is missing"), "{message}");
            assert!(!message.ends_with(['.', ':', ' ']), "{message}");
        }
    }

    /// The advice for the operator takes the place of what follows the only semicolon.
    #[test]
    fn message_with_advice_for_operators_has_one_for_clients() {
        for error in Error::examples() {
            if let OperatorMessage::Advice(_) = error.spec().operator_message {
                let message = error.to_string();
                let parts: Vec<&str> = message.split("; ").collect();
                assert!(parts.len() == 2 && parts.concat().contains("ask the operator"), "{message}");
            }
        }
    }

    #[test]
    fn messages_name_the_limit_the_wait_and_the_item() {
        let messages: Vec<String> = Error::examples().iter().map(ToString::to_string).collect();

        for part in [
            "limit must be a whole number from 1 to 20",
            "the scope: write:uploads",
            "the limit of 300 requests per hour is reached; try again in 3 seconds",
            "at most 1024 bytes",
            "the item does not exist",
            "it supports GET, HEAD",
            "more than the 200 items",
        ] {
            assert!(messages.iter().any(|message| message.contains(part)), "{part}");
        }
    }

    #[test]
    fn message_names_three_faults_and_counts_the_rest() {
        let faults =
            ["a", "b", "c", "d", "e"].map(|field| Invalid::new(field, "is required").faults).concat();

        assert_eq!(
            Error::Invalid(Invalid { faults }).to_string(),
            "the request is not valid: a is required; b is required; c is required; and 2 more"
        );
    }

    #[test]
    fn item_of_a_list_is_named_by_its_path() {
        let unknown = Error::not_found().of_item("items[2]");
        let rejected = Error::from(UrlRejection::Own).of_item("items[3]");

        assert_eq!(unknown.to_string(), "the item (items[2]) does not exist, or it is not yours");
        assert_eq!(
            rejected.to_string(),
            "items[3]: the URL is one of this server itself; use the URL of another site"
        );
        assert_eq!(Error::StillRunning.of_item("items[0]").to_string(), Error::StillRunning.to_string());
    }

    #[test]
    fn nested_item_is_named_by_its_outermost_path_first() {
        let rejected = Error::from(UrlRejection::Own).of_item("url").of_item("items[3]");

        assert_eq!(
            rejected.to_string(),
            "items[3]: url: the URL is one of this server itself; use the URL of another site"
        );
    }
}
