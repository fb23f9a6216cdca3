//! The fields of a page to be saved, as requests and lines of JSON imports have them.

use values::id::CollectionId;
use values::kind::SourceFormat;
use values::time::Timestamp;

use super::field_types::{BookmarkNotes, BookmarkTitle, CollectionIds, TagNames};
use super::tags::normalize_tags;
use crate::documents::{PageContent, SuppliedContent};
use validation::{Content, DisplayName, Flag, Id, PageTitle, Text, Time, UrlText, request};

/// A page to be saved.
#[derive(Clone, Debug, Default)]
pub struct NewBookmark {
    /// URL of the page, as the client gave it.
    pub url: String,
    /// A title that replaces the page's own.
    pub title: Option<String>,
    /// Tags, normalized and each once ([`normalize_tags`]).
    pub tags: Vec<String>,
    /// The user's own notes on the page; `None` rather than an empty text.
    pub notes: Option<String>,
    /// Collections that the bookmark is added to.
    pub collections: Vec<CollectionId>,
    /// Whether the bookmark is a favourite.
    pub favorite: bool,
    /// Whether the bookmark is archived.
    pub archived: bool,
    /// Reading progress, from 0 to 1.
    pub progress: f64,
    /// When the bookmark was saved; `None` means now.
    pub saved_at: Option<Timestamp>,
    /// The content of the page. With it the page is not fetched.
    pub content: Option<PageContent>,
}

request! {
    /// A page to be saved: the body of `POST /bookmarks`, and a row of a JSON import.
    pub struct CreateBookmarkRequest {
        /// Absolute http or https URL of the page.
        pub url: UrlText,
        /// A title that replaces the page's own.
        pub title?: BookmarkTitle,
        /// Tags of the bookmark. If the URL is saved already, they are added to those that it has.
        pub tags?: TagNames,
        /// The user's own notes. They are searchable.
        pub notes?: BookmarkNotes,
        /// Collections that the bookmark is added to.
        pub collection_ids?: CollectionIds,
        /// Whether the bookmark is a favourite.
        pub favorite?: Flag,
        /// Whether the bookmark is archived.
        pub archived?: Flag,
        /// When the bookmark was saved. Default: now.
        pub saved_at?: Time,
        /// HTML of the page. If given, the page is not fetched.
        pub html?: Content,
        /// Text of the page. If given, the page is not fetched.
        pub text?: Content,
    }
    "text" excludes "html": "must not be given together with html";
}

impl NewBookmark {
    /// Converts the fields of a request.
    pub fn from_fields(request: CreateBookmarkRequest) -> Self {
        // Blank content counts as none, so that the page is fetched.
        let content = |field: Option<Content>| {
            field.map(Content::into_inner).filter(|content| !content.trim().is_empty())
        };
        let supplied = |format, body| {
            Some(PageContent::Supplied(SuppliedContent { format, body, html: None, outline: None }))
        };
        let (html, text) = (content(request.html), content(request.text));
        debug_assert!(html.is_none() || text.is_none(), "the reader of a request checks its rules");
        let content = match (html, text) {
            // HTML has more of the page, should both ever be given.
            (Some(body), None | Some(_)) => supplied(SourceFormat::Html, body),
            (None, Some(body)) => supplied(SourceFormat::Text, body),
            (None, None) => None,
        };
        let tags = request.tags.map(|tags| tags.map(DisplayName::into_inner)).unwrap_or_default();
        Self {
            url: request.url.into_inner(),
            title: request.title.map(PageTitle::into_inner).filter(|title| !title.trim().is_empty()),
            tags: normalize_tags(tags),
            notes: request.notes.map(Text::into_inner).filter(|notes| !notes.is_empty()),
            collections: request.collection_ids.map(|ids| ids.map(Id::into_inner)).unwrap_or_default(),
            favorite: request.favorite.is_some_and(Flag::into_inner),
            archived: request.archived.is_some_and(Flag::into_inner),
            // No request sets it; imports do after they have read the other fields.
            progress: 0.0,
            saved_at: request.saved_at.map(Time::into_inner),
            content,
        }
    }

    /// Returns the bytes of text that come with the save.
    pub(super) fn text_bytes(&self) -> usize {
        let content = self.content.as_ref().map_or(0, PageContent::bytes);
        let notes = self.notes.as_ref().map_or(0, String::len);
        content.saturating_add(notes)
    }
}
