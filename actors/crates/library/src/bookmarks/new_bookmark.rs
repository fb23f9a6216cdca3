//! The fields of a page to be saved, as requests and lines of JSON imports have them.

use entity::id::CollectionId;
use entity::kind::SourceForm;
use entity::time::Timestamp;

use super::kinds;
use super::tags::normalize_tags;
use crate::documents::SuppliedContent;
use errors::Error;
use validation::{Field, Kind, Values};

/// A page to be saved.
#[derive(Clone, Debug, Default)]
pub struct NewBookmark {
    /// URL of the page, as the client gave it.
    pub url: String,
    /// A title that replaces the page's own.
    pub title: Option<String>,
    /// Tags, each once.
    pub tags: Vec<String>,
    /// The user's notes.
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
    pub content: Option<SuppliedContent>,
}

impl NewBookmark {
    /// The fields of `POST /bookmarks`.
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

    /// Reads the values of [`FIELDS`](Self::FIELDS).
    ///
    /// # Errors
    /// [`Error::Invalid`] when both `html` and `text` are given.
    pub fn from_values(mut values: Values) -> Result<Self, Error> {
        // Blank content counts as none, so that the page is fetched.
        let mut content = |name| values.text(name).filter(|content| !content.trim().is_empty());
        let supplied = |form, body| Some(SuppliedContent { form, body, html: None, outline: None });
        let content = match (content("html"), content("text")) {
            (Some(_), Some(_)) => return Err(Error::invalid("text", "must not be given together with html")),
            (Some(body), None) => supplied(SourceForm::Html, body),
            (None, Some(body)) => supplied(SourceForm::Text, body),
            (None, None) => None,
        };
        Ok(Self {
            url: values.text("url").unwrap_or_default(),
            title: values.text("title").filter(|title| !title.trim().is_empty()),
            tags: normalize_tags(values.texts("tags").unwrap_or_default()),
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
        })
    }

    /// Returns the bytes of text that come with the save.
    pub(super) fn text_bytes(&self) -> usize {
        let content = self.content.as_ref().map_or(0, |content| content.body.len());
        let notes = self.notes.as_ref().map_or(0, String::len);
        content.saturating_add(notes)
    }
}
