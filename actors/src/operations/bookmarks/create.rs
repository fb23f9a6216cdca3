//! Saving a page (contract.md, section 6: POST /bookmarks).

use entity::id::CollectionId;
use entity::kind::SourceForm;
use entity::scope::Scope;
use schemars::JsonSchema;
use serde::Serialize;

use super::kinds;
use super::save::{self, Content, NewBookmark};
use super::view::{self, BookmarkView};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use jobs::Priority;
use crate::operations::target::Target;
use crate::pipeline::Operation;

/// A save.
#[derive(Debug)]
pub struct CreateBookmark(pub NewBookmark);

impl CreateBookmark {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::required("url", kinds::URL, "URL of the page."),
        Field::optional("title", kinds::TITLE, "A title that replaces the page's own."),
        Field::optional("tags", kinds::TAGS, "Tags of the bookmark."),
        Field::optional("notes", kinds::NOTES, "The user's own notes. They are searchable."),
        Field::optional("collectionIds", kinds::COLLECTIONS, "Collections that the bookmark is added to."),
        Field::optional("favorite", Kind::Flag, "Whether the bookmark is a favourite."),
        Field::optional("archived", Kind::Flag, "Whether the bookmark is archived."),
        Field::optional("savedAt", Kind::Time, "When the bookmark was saved. Default: now."),
        Field::optional("html", Kind::Content, "HTML of the page. If given, the page is not fetched."),
        Field::optional("text", Kind::Content, "Text of the page. If given, the page is not fetched."),
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
            (Some(_), Some(_)) => return Err(Error::invalid("text", "must not be given together with html")),
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

/// The bookmark.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreateBookmarkResponse {
    /// The bookmark.
    pub bookmark: BookmarkView,
    /// Whether the bookmark is new. If not, the URL was saved before and only tags were added.
    pub created: bool,
}

impl Operation for CreateBookmark {
    type Reply = CreateBookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CreateBookmarkResponse, Error> {
        if self.0.content.is_none() {
            save::may_save(ctx.core.db.read(), caller.user, &self.0.url, ctx.ingest.fetcher.guard()).await?;
        }
        let (row, created) = save::save(ctx, caller, self.0, Priority::Now).await?;
        ctx.job_signal.notify();
        Ok(CreateBookmarkResponse { bookmark: view::one(ctx, ctx.core.db.write(), row).await?, created })
    }
}
