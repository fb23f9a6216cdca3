//! Saving a page (contract.md, section 6: POST /bookmarks).

use entity::id::CollectionId;
use entity::kind::SourceForm;
use entity::scope::Scope;
use schemars::JsonSchema;
use serde::Serialize;

use super::kinds;
use super::save::{self, Content, NewBookmark};
use super::view::{self, BookmarkView};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::fields::{Field, Kind, Values};
use crate::ingest::queue::Priority;
use crate::ops::target::Target;
use crate::perform::Operation;

/// A save.
#[derive(Debug)]
pub struct CreateBookmark(pub NewBookmark);

impl CreateBookmark {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::required("url", kinds::URL, "The page's address."),
        Field::optional("title", kinds::TITLE, "A title instead of the page's own."),
        Field::optional("tags", kinds::TAGS, "Tags."),
        Field::optional("notes", kinds::NOTES, "Notes of one's own; they are found too."),
        Field::optional("collectionIds", kinds::COLLECTIONS, "Collections to put it in."),
        Field::optional("favorite", Kind::Flag, "Marked as a favourite."),
        Field::optional("archived", Kind::Flag, "Put away."),
        Field::optional("savedAt", Kind::Time, "When it was saved, where that was not now."),
        Field::optional("html", Kind::Content, "The page itself; nothing is fetched then."),
        Field::optional("text", Kind::Content, "The text itself; nothing is fetched then."),
    ];

    /// Reads the body.
    pub fn read(_: &Target, values: Values) -> Result<Self, Error> {
        Self::from_values(values)
    }

    /// Reads the fields, wherever they come from.
    pub fn from_values(mut values: Values) -> Result<Self, Error> {
        let mut given = |name| values.text(name).filter(|content| !content.trim().is_empty());
        // Content of nothing but spaces is none: then the page is fetched.
        let content = match (given("html"), given("text")) {
            (Some(_), Some(_)) => return Err(Error::invalid("text", "cannot be given together with html")),
            (Some(body), None) => Some(Content { form: SourceForm::Html, body, html: None, outline: None }),
            (None, Some(body)) => Some(Content { form: SourceForm::Text, body, html: None, outline: None }),
            (None, None) => None,
        };
        Ok(Self(NewBookmark {
            url: values.text("url").unwrap_or_default(),
            title: values.text("title").filter(|title| !title.trim().is_empty()),
            tags: save::tidy_tags(values.texts("tags").unwrap_or_default()),
            notes: values.text("notes").filter(|notes| !notes.is_empty()),
            collections: values
                .ids("collectionIds")
                .unwrap_or_default()
                .into_iter()
                .map(CollectionId)
                .collect(),
            favorite: values.flag("favorite").unwrap_or(false),
            archived: values.flag("archived").unwrap_or(false),
            progress: 0.0,
            saved_at: values.time("savedAt"),
            content,
        }))
    }
}

/// The bookmark, and whether it was made now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreateBookmarkResponse {
    /// The bookmark.
    pub bookmark: BookmarkView,
    /// `false`: the address was saved already, and only tags were added.
    pub created: bool,
}

impl Operation for CreateBookmark {
    type Reply = CreateBookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, app: &App) -> Result<CreateBookmarkResponse, Error> {
        if self.0.content.is_none() {
            save::may_save(app.db.read(), caller.user, &self.0.url, app.fetcher.guard()).await?;
        }
        let (row, created) = save::save(app, caller, self.0, Priority::Now).await?;
        app.ingest.wake();
        Ok(CreateBookmarkResponse { bookmark: view::one(app, app.db.write(), row).await?, created })
    }
}
