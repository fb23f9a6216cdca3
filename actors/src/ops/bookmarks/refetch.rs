//! Fetching a saved page again, or reading an upload's file again; the old text stays until the new one is in.

use entity::bookmark;
use entity::id::BookmarkId;
use entity::kind::BookmarkKind;
use entity::scope::Scope;

use super::save;
use super::view::{self, OneBookmark};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::fields::{Field, Values};
use crate::ingest::queue::{self, Priority, Work};
use crate::ops::target::Target;
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
    type Reply = OneBookmark;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, app: &App) -> Result<OneBookmark, Error> {
        let txn = app.db.begin().await?;
        let row = bookmark::Entity::one_of(caller.user, self.0).one(&txn).await?.ok_or(Error::NotFound)?;
        if row.kind == BookmarkKind::Page {
            save::may_fetch(&row.url, app.fetcher.guard())?;
        }
        let work = Work::of_bookmark(row.kind);
        queue::ask(&txn, caller.user, work, row.document_id.0, Priority::Now, app.clock.now()).await?;
        txn.commit().await?;
        app.ingest.wake();
        Ok(OneBookmark { bookmark: view::one(app, app.db.write(), row).await? })
    }
}
