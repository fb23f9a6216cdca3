//! Fetching a saved page again, or reading an upload's file again; the old text stays until the new one is in.

use entity::id::BookmarkId;
use entity::kind::BookmarkKind;
use entity::scope::Scope;
use entity::{bookmark, document};
use sea_orm::sea_query::LockType;
use sea_orm::{ConnectionTrait, QuerySelect};

use super::save;
use super::view::{self, BookmarkResponse};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::fields::{Field, Values};
use crate::ingest::media::{self, place};
use crate::ingest::queue::{self, Priority, Work};
use crate::ops::target::Target;
use crate::owned_transaction::begin_request;
use crate::perform::Operation;

/// Which.
#[derive(Debug)]
pub struct RefetchBookmark(BookmarkId);

impl RefetchBookmark {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for RefetchBookmark {
    type Reply = BookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, app: &App) -> Result<BookmarkResponse, Error> {
        let txn = begin_request(&app.db, caller).await?;
        let row = bookmark::Entity::one_of(caller.user, self.0).one(&txn).await?.ok_or(Error::not_found())?;
        if row.kind == BookmarkKind::Page {
            save::may_fetch(&row.url, app.fetcher.guard())?;
        }
        let work = work(&txn, &row).await?;
        queue::ask(&txn, caller.user, work, row.document_id.0, Priority::Now, app.clock.now()).await?;
        txn.commit().await?;
        app.ingest.wake();
        Ok(BookmarkResponse { bookmark: view::one(app, app.db.write(), row).await? })
    }
}

/// What makes the text anew. A transcript is made from its recording, which may stand elsewhere: no page takes its place.
async fn work(txn: &impl ConnectionTrait, row: &bookmark::Model) -> Result<Work, Error> {
    let of_kind = Work::of_bookmark(row.kind);
    // Locked, so that a concurrent transcript is either visible here or cancels the fetch of the page when it is stored.
    let found = document::Entity::one_of(row.user_id, row.document_id).lock(LockType::NoKeyUpdate);
    let found = found.one(txn).await?;
    let Some(document) = found.filter(|_| row.kind == BookmarkKind::Page) else { return Ok(of_kind) };
    let is_heard = media::is_heard(txn, row.user_id, document.id).await?;
    let stands_elsewhere = place::beside(txn, &document).await?.is_some();
    Ok(if is_heard && stands_elsewhere { Work::Hear } else { of_kind })
}
