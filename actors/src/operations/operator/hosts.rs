//! Lists and retries hosts from which pages, files and feeds could not be fetched.

use library::failing_hosts;
use schemars::JsonSchema;
use serde::Serialize;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::{NoFields, Words, request};

/// The most hosts that are listed.
const MAX_HOSTS: usize = 200;

/// Lists the failing hosts of all users.
#[derive(Debug)]
pub struct ListFailingHosts;

impl FromRequest for ListFailingHosts {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// A host from which something could not be fetched.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailingHostView {
    /// The host, in the form in which it is looked up.
    pub host: String,
    /// Number of pages and files of the host that could not be fetched, of the latest thousand of all hosts.
    pub pages: u64,
    /// Number of feeds of the host whose last fetch failed.
    pub feeds: u64,
    /// Why the last attempt failed.
    pub reason: Option<String>,
    /// Time of the first of these failures, or for feeds of the last success.
    pub since: Option<Timestamp>,
    /// Time of the last failure of a page or a file.
    pub failed_at: Option<Timestamp>,
}

/// The failing hosts, those with the most failures first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListFailingHostsResponse {
    /// At most 200 hosts.
    pub hosts: Vec<FailingHostView>,
    /// Number of all failing hosts.
    pub all: u64,
}

impl Operation for ListFailingHosts {
    type Reply = ListFailingHostsResponse;
    const SCOPES: &'static [Scope] = &[];
    const NEEDS_OPERATOR: bool = true;

    async fn run(self, _: &Caller, ctx: &OperationContext) -> Result<ListFailingHostsResponse, Error> {
        let found = failing_hosts::list(ctx.core.db.read()).await?;
        let all = found.len() as u64;
        let view = |host: failing_hosts::FailingHost| {
            let failing_hosts::FailingHost { host, pages, feeds, reason, since, failed_at } = host;
            FailingHostView { host, pages, feeds, reason, since, failed_at }
        };
        Ok(ListFailingHostsResponse { hosts: found.into_iter().take(MAX_HOSTS).map(view).collect(), all })
    }
}

/// Retries what could not be fetched from a host.
#[derive(Debug)]
pub struct RetryHost(String);

impl RetryHost {
    /// Retries this host.
    pub fn new(host: String) -> Self {
        Self(host)
    }
}

request! {
    /// The host to try again.
    pub struct RetryHostRequest {
        /// A host of the list of failing hosts.
        pub host: Words<1, 255>,
    }
}

impl FromRequest for RetryHost {
    type Request = RetryHostRequest;

    fn from_request(_: &Target, request: RetryHostRequest) -> Result<Self, Error> {
        Ok(Self(request.host.into_inner()))
    }
}

/// What was enqueued.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RetryHostResponse {
    /// Number of pages and files whose jobs were enqueued, at most 200 a request.
    pub pages: u64,
    /// Number of feeds whose fetches were enqueued.
    pub feeds: u64,
}

impl Operation for RetryHost {
    type Reply = RetryHostResponse;
    const SCOPES: &'static [Scope] = &[];
    const NEEDS_OPERATOR: bool = true;
    const NEEDS_SPACE: bool = true;

    async fn run(self, _: &Caller, ctx: &OperationContext) -> Result<RetryHostResponse, Error> {
        let retried = failing_hosts::retry(&ctx.core, &self.0).await?;
        ctx.job_signal.notify();
        Ok(RetryHostResponse { pages: retried.pages, feeds: retried.feeds })
    }
}
