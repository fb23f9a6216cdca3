//! Makes the metadata passage of a document: a point of the index, whose id is that of the document, for its title, the words of its URL,
//! its excerpt, and the tags and highlights of its bookmark. It is no passage of the text, and has no vector as it is made.

use std::collections::HashMap;

use database::{Db, padded};
use entity::{bookmark_tag, document};
use errors::Error;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect, Select};
use search::index::{Labels, Language, Point};
use search::lexical::{self, MAX_HIGHLIGHTS_CHARS, MetadataFields};
use values::id::{BookmarkId, DocumentId, UserId};

use super::highlight_texts::read_highlights;
use crate::retrieval::filter::labels_of;

/// Characters of the metadata that are embedded. Models read about a thousand.
const MAX_EMBEDDED_CHARS: usize = 2_000;

/// What a user has added to a bookmark, as far as it is in the metadata passage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    tags: Vec<String>,
    /// The highlights and the notes on them.
    highlights: Vec<String>,
}

impl Annotations {
    /// Loads the annotations of the bookmarks of these documents that have a metadata passage. Call it after the documents were read: a
    /// change in between is in the result or leaves the documents unindexed.
    ///
    /// # Errors
    /// The database fails.
    pub async fn load(
        db: &Db,
        user: UserId,
        documents: &[&document::Model],
    ) -> Result<HashMap<BookmarkId, Self>, Error> {
        let with_passage = documents.iter().filter(|document| document.has_metadata_passage());
        let bookmarks = with_passage.filter_map(|document| document.bookmark_id).collect();
        Self::of_bookmarks(db, user, bookmarks).await
    }

    /// Loads the annotations of these bookmarks. Of each, the highlights that the metadata passage has.
    ///
    /// # Errors
    /// The database fails.
    pub(in crate::retrieval) async fn of_bookmarks(
        db: &Db,
        user: UserId,
        bookmarks: Vec<BookmarkId>,
    ) -> Result<HashMap<BookmarkId, Self>, Error> {
        let mut annotations: HashMap<BookmarkId, Self> = HashMap::new();
        if bookmarks.is_empty() {
            return Ok(annotations);
        }
        let tags = select_tags(user, &bookmarks).into_tuple::<(BookmarkId, String)>();
        for (bookmark, tag) in tags.all(db.read()).await? {
            annotations.entry(bookmark).or_default().tags.push(tag);
        }
        for (bookmark, highlights) in read_highlights(db, user, bookmarks, MAX_HIGHLIGHTS_CHARS).await? {
            annotations.entry(bookmark).or_default().highlights = highlights;
        }
        Ok(annotations)
    }

    /// Returns the tags, the highlights and the notes on these.
    pub(in crate::retrieval) fn into_texts(self) -> impl Iterator<Item = String> {
        self.tags.into_iter().chain(self.highlights)
    }
}

fn select_tags(user: UserId, bookmarks: &[BookmarkId]) -> Select<bookmark_tag::Entity> {
    bookmark_tag::Entity::owned_by(user)
        .filter(bookmark_tag::Column::BookmarkId.is_in(padded(bookmarks)))
        .select_only()
        .columns([bookmark_tag::Column::BookmarkId, bookmark_tag::Column::Name])
}

/// What the metadata passage of a document is made from.
#[derive(Clone, Debug)]
pub struct MetadataSource {
    id: DocumentId,
    version: i64,
    title: String,
    url: Option<String>,
    excerpt: Option<String>,
    language: Option<String>,
    labels: Labels,
    annotations: Annotations,
}

impl MetadataSource {
    /// Returns the source of the metadata passage of a document; `None` if it has no such passage. Takes the annotations of its bookmark out
    /// of `annotations`.
    pub fn of(
        document: &document::Model,
        annotations: &mut HashMap<BookmarkId, Annotations>,
    ) -> Option<Self> {
        document.has_metadata_passage().then(|| Self {
            annotations: document.bookmark_id.and_then(|id| annotations.remove(&id)).unwrap_or_default(),
            ..Self::without_annotations(document)
        })
    }

    /// Returns a source of the title, URL and excerpt of a document alone. A document without a metadata passage has these too.
    pub(in crate::retrieval) fn without_annotations(document: &document::Model) -> Self {
        Self {
            id: document.id,
            version: i64::from(document.version),
            title: document.title.clone(),
            url: document.url.clone(),
            excerpt: document.description.clone(),
            language: document.language.clone(),
            labels: labels_of(document),
            annotations: Annotations::default(),
        }
    }

    /// Returns what is embedded of the metadata, at most 2,000 characters: the title or, without one, the words of the URL, the excerpt, the
    /// tags and the highlights.
    pub fn embedded_text(&self) -> String {
        let is_titled = self.url.as_deref() != Some(self.title.as_str());
        let title = if is_titled {
            self.title.clone()
        } else {
            self.url.as_deref().map(lexical::url_words).unwrap_or_default().join(" ")
        };
        let parts = [title].into_iter().chain(self.excerpt.clone()).chain([self.annotations.tags.join(", ")]);
        let parts = parts.chain(self.annotations.highlights.iter().cloned());
        let parts: Vec<String> = parts.filter(|part| !part.trim().is_empty()).collect();
        text::cut(&parts.join(". "), MAX_EMBEDDED_CHARS)
    }

    /// Analyses the words of the metadata. Blocks.
    pub fn into_point(self) -> Point {
        let Self { id, version, title, url, excerpt, language, labels, annotations } = self;
        // The words of a URL are analysed as such, without its scheme and its query.
        let is_titled = url.as_deref() != Some(title.as_str());
        let fields = MetadataFields {
            title: if is_titled { title } else { String::new() },
            tags: annotations.tags,
            url_words: url.as_deref().map(lexical::url_words).unwrap_or_default(),
            excerpt: excerpt.unwrap_or_default(),
            highlights: annotations.highlights,
        };
        let language = language_of(language.as_deref(), &format!("{}\n{}", fields.title, fields.excerpt));
        let sparse = lexical::analyze_metadata(&fields, language);
        Point { id: id.0, document: id.0, version, labels, language, sparse, dense: Vec::new() }
    }
}

/// Returns the language in which the words of a passage are analysed.
pub fn language_of(document_language: Option<&str>, text: &str) -> Language {
    document_language.and_then(Language::from_code).unwrap_or_else(|| lexical::detect_language(text))
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::{DbBackend, QueryTrait};
    use search::index::SparseVector;
    use uuid::Uuid;
    use values::kind::ContentType;

    use super::*;
    use crate::retrieval::test_library::{NOON, open_database};

    /// Returns the document of a page without a text, which has its URL as its title, with the annotations of its bookmark.
    fn waiting_page() -> (document::Model, HashMap<BookmarkId, Annotations>) {
        let (bookmark, url) = (BookmarkId::new(NOON), "https://marsh.example/spoonbills");
        let document = document::Model {
            bookmark_id: Some(bookmark),
            url: Some(url.to_owned()),
            ..document::Model::pending(UserId::new(NOON), ContentType::Article, url.to_owned(), NOON)
        };
        let annotations =
            Annotations { tags: vec!["waders".to_owned()], highlights: vec!["sieves".to_owned()] };
        (document, HashMap::from([(bookmark, annotations)]))
    }

    fn finds(point: &Point, words: &str) -> bool {
        let terms = lexical::query_terms(words, &[point.language]);
        let SparseVector { indices, .. } = lexical::merge_terms(&terms);
        !indices.is_empty() && indices.iter().all(|word| point.sparse.indices.contains(word))
    }

    #[test]
    fn page_without_text_is_found_by_its_metadata() {
        let (document, mut annotations) = waiting_page();

        let point = MetadataSource::of(&document, &mut annotations).unwrap().into_point();

        assert_eq!((point.id, point.document, point.version), (document.id.0, document.id.0, 0));
        assert!(finds(&point, "spoonbills") && finds(&point, "waders") && finds(&point, "sieves"));
        assert!(!finds(&point, "https"), "the scheme says nothing of the page");
        assert!(point.dense.is_empty());
    }

    #[test]
    fn title_or_url_is_embedded_with_the_annotations() {
        let (document, mut annotations) = waiting_page();
        let titled = document::Model {
            title: "Feeding habits".to_owned(),
            description: Some("On bills.".to_owned()),
            ..document.clone()
        };

        let source = MetadataSource::of(&document, &mut annotations).unwrap();

        assert_eq!(source.embedded_text(), "marsh spoonbills. waders. sieves");
        let titled = MetadataSource::without_annotations(&titled);
        assert_eq!(titled.embedded_text(), "Feeding habits. On bills.");
    }

    #[test]
    fn notes_have_no_metadata_passage() {
        let (document, mut annotations) = waiting_page();
        let note = document::Model { content_type: ContentType::Note, ..document };

        assert!(MetadataSource::of(&note, &mut annotations).is_none());
    }

    #[actix::test]
    async fn tags_of_many_bookmarks_are_found_by_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let bookmarks: Vec<BookmarkId> = (0..200).map(|id| BookmarkId(Uuid::from_u128(id))).collect();
        let user = UserId::new(NOON);

        let tags = QueryPlan::of(&db, select_tags(user, &bookmarks).build(DbBackend::Sqlite)).await.unwrap();

        assert!(tags.has_step("sqlite_autoindex_bookmark_tag_1 (bookmark_id=? AND user_id=?)"), "{tags:#?}");
    }
}
