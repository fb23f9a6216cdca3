//! Exports the followed feeds as OPML 2.0, and follows the feeds of an OPML document.

use std::collections::HashSet;

use errors::{Error, code};
use library::feeds;
use library::imports::{self, ImportContext};
use parse::bookmarks::{Format, RowContent};
use parse::feed::{OpmlDocument, Outline};
use sandbox::{Sandbox, SandboxError};
use schemars::JsonSchema;
use serde::Serialize;
use validation::{Content, NoFields, request};
use values::id::ImportId;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// All feeds of the caller as OPML.
#[derive(Debug)]
pub struct ExportOpml;

impl FromRequest for ExportOpml {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The followed feeds as OPML.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportOpmlResponse {
    /// An OPML 2.0 document with all followed feeds in their folders.
    pub opml: String,
}

impl Operation for ExportOpml {
    type Reply = ExportOpmlResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ExportOpmlResponse, Error> {
        Ok(ExportOpmlResponse { opml: feeds::write_opml(ctx.core.db.read(), caller.user).await? })
    }
}

/// An OPML document whose feeds are followed.
#[derive(Debug)]
pub struct ImportOpml(String);

request! {
    /// An OPML document to import.
    pub struct ImportOpmlRequest {
        /// The OPML document as text. Its folders become folders of feeds.
        pub opml: Content,
    }
}

impl FromRequest for ImportOpml {
    type Request = ImportOpmlRequest;

    fn from_request(_: &Target, request: ImportOpmlRequest) -> Result<Self, Error> {
        Ok(Self(request.opml.into_inner()))
    }
}

/// The numbers of feeds of the OPML document by outcome. New feeds are followed immediately; their entries arrive once the feeds
/// are fetched in the background.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportOpmlResponse {
    /// Id of the import, under which the web app shows the outcome of each feed.
    pub import_id: ImportId,
    /// Number of different URLs in the document.
    pub found: usize,
    /// Number of feeds that are followed from now on.
    pub new: usize,
    /// Number of feeds that were followed before.
    pub already_followed: usize,
    /// Number of URLs that may not be fetched.
    pub refused: usize,
}

impl Operation for ImportOpml {
    type Reply = ImportOpmlResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];

    fn count(reply: &ImportOpmlResponse) -> Option<usize> {
        Some(reply.found)
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ImportOpmlResponse, Error> {
        // Parsed in the sandbox: no parser of foreign bytes runs in the process of the server.
        let outlines = distinct(parse_opml(&ctx.ingest.sandbox, &self.0).await?.feeds);
        let rows = outlines.into_iter().map(RowContent::Feed).collect();
        let import = imports::import_rows(&import_context(ctx), &caller.owner(), Format::Opml, rows).await?;
        ctx.job_signal.notify();
        // An import counts a feed that was followed before as updated, and a URL that may not be fetched as skipped.
        let count = |rows: i32| usize::try_from(rows).unwrap_or_default();
        let (new, already_followed, refused) =
            (count(import.created), count(import.updated), count(import.skipped));
        let found = new + already_followed + refused;
        Ok(ImportOpmlResponse { import_id: import.id, found, new, already_followed, refused })
    }
}

fn import_context(ctx: &OperationContext) -> ImportContext {
    ImportContext {
        core: ctx.core.clone(),
        guard: ctx.ingest.fetcher.guard().clone(),
        store: ctx.uploads.store.clone(),
        sandbox: ctx.ingest.sandbox.clone(),
        job_signal: ctx.job_signal.clone(),
    }
}

/// Removes the outlines whose URL occurs earlier in the document.
fn distinct(mut outlines: Vec<Outline>) -> Vec<Outline> {
    let mut seen = HashSet::new();
    outlines.retain(|outline| {
        // An invalid URL stays, so that it is counted and listed as refused.
        let url = feeds::parse_url(&outline.url);
        seen.insert(url.map_or_else(|_| outline.url.clone(), |url| url.normalized()))
    });
    outlines
}

async fn parse_opml(sandbox: &Sandbox, opml: &str) -> Result<OpmlDocument, Error> {
    match sandbox.read_opml(opml).await {
        Ok(Some(document)) => Ok(document),
        Ok(None) => Err(Error::invalid("opml", "is not OPML")),
        Err(error @ SandboxError::Unavailable(_)) => Err(Error::internal(error)),
        Err(
            SandboxError::Crashed
            | SandboxError::OutOfMemory
            | SandboxError::TimedOut
            | SandboxError::TooLarge
            | SandboxError::Article(_)
            | SandboxError::Audio(_)
            | SandboxError::Pdf(_)
            | SandboxError::Picture(_)
            | SandboxError::Import(_),
        ) => Err(Error::invalid("opml", "is OPML that cannot be read: it is malformed or too large")),
    }
}
