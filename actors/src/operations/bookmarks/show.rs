//! Showing one bookmark.

use entity::bookmark;
use entity::id::BookmarkId;
use entity::scope::Scope;

use super::view::{self, BookmarkResponse};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::fields::{Field, Values};
use crate::ops::target::Target;
use crate::perform::Operation;

/// Which.
#[derive(Debug)]
pub struct ShowBookmark(BookmarkId);

impl ShowBookmark {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowBookmark {
    type Reply = BookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    async fn run(self, caller: &Caller, app: &App) -> Result<BookmarkResponse, Error> {
        let found = bookmark::Entity::one_of(caller.user, self.0).one(app.db.read()).await?;
        let bookmark = view::one(app, app.db.read(), found.ok_or(Error::not_found())?).await?;
        Ok(BookmarkResponse { bookmark })
    }
}
