//! The part of a library that is asked: all of it, a collection, a project, or picked documents.

use std::fmt;
use std::str::FromStr;

use entity::{collection, document, project};
use errors::Error;
use library::bookmarks::BookmarkConditions;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use search::index::{DocumentSet, Filter};
use serde::Serialize;
use uuid::Uuid;
use validation::Words;
use values::id::{BookmarkId, CollectionId, DocumentId, ProjectId, UserId};

use crate::operations::ask::{AskContext, LibraryQuestion, SEARCHED_PASSAGES};
use crate::retrieval::{LibraryFilter, Naming};

/// The field `scope`: `all`, `collection:ID`, `project:ID`, or `picked:ID,ID` with up to 50 ids of documents or bookmarks.
pub type AskScopeText = Words<1, 2_000>;
/// Maximum number of picked documents.
const MAX_PICKED_DOCUMENTS: usize = 50;
/// Maximum number of passages that are searched for in a part of the library that is too large to be named to the index.
const MAX_SEARCHED_PASSAGES: usize = 1_000;

/// The part of a library that the questions of a thread are asked of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskScope {
    /// The whole library.
    Library,
    /// The bookmarks in a collection.
    Collection(CollectionId),
    /// The items and notes of a project.
    Project(ProjectId),
    /// Documents, by their ids or those of their bookmarks, with the notes on these.
    Picked(Vec<Uuid>),
}

/// A text that names no part of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be `all`, `collection:ID`, `project:ID`, or `picked:ID,ID` with 1 to 50 ids")]
pub struct InvalidScope;

/// The kind of a part of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ScopeKind {
    /// The whole library.
    All,
    /// A collection.
    Collection,
    /// A project.
    Project,
    /// Picked documents.
    Picked,
}

/// A part of a library, as a thread shows it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskScopeView {
    /// The part as a request names it.
    pub scope: String,
    /// What it is.
    pub kind: ScopeKind,
    /// Name of the collection or project; null for other parts, and if it was deleted.
    pub name: Option<String>,
    /// Number of picked documents; null for other parts.
    pub picked: Option<usize>,
}

impl FromStr for AskScope {
    type Err = InvalidScope;

    fn from_str(text: &str) -> Result<Self, InvalidScope> {
        if text == "all" {
            return Ok(Self::Library);
        }
        let (kind, ids) = text.split_once(':').ok_or(InvalidScope)?;
        match kind {
            "collection" => ids.parse().map(Self::Collection).map_err(|_| InvalidScope),
            "project" => ids.parse().map(Self::Project).map_err(|_| InvalidScope),
            "picked" => read_picked(ids).map(Self::Picked),
            _ => Err(InvalidScope),
        }
    }
}

fn read_picked(ids: &str) -> Result<Vec<Uuid>, InvalidScope> {
    let mut picked = Vec::new();
    for id in ids.split(',') {
        let DocumentId(id) = id.parse().map_err(|_| InvalidScope)?;
        if !picked.contains(&id) {
            picked.push(id);
        }
    }
    if picked.len() > MAX_PICKED_DOCUMENTS { Err(InvalidScope) } else { Ok(picked) }
}

impl fmt::Display for AskScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library => f.write_str("all"),
            Self::Collection(id) => write!(f, "collection:{id}"),
            Self::Project(id) => write!(f, "project:{id}"),
            Self::Picked(ids) => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                write!(f, "picked:{}", ids.join(","))
            }
        }
    }
}

impl AskScope {
    /// Returns a question about this part of the library.
    ///
    /// # Errors
    /// [`Error::NotFound`] of `scope` when the collection, the project or all picked documents do not exist or belong to another user;
    /// the errors of [`Retrieval::resolve_filter`](crate::retrieval::Retrieval::resolve_filter).
    pub async fn question(
        &self,
        ctx: &AskContext,
        user: UserId,
        text: String,
    ) -> Result<LibraryQuestion, Error> {
        let unknown = || Error::not_found().of_item("scope");
        let db = ctx.core.db.read();
        match self {
            Self::Library => Ok(LibraryQuestion::within(text, Filter::default())),
            Self::Collection(id) => {
                collection::Entity::one_of(user, *id).one(db).await?.ok_or_else(unknown)?;
                let bookmarks = BookmarkConditions { collection: Some(*id), ..BookmarkConditions::default() };
                filtered_question(ctx, user, text, LibraryFilter { bookmarks, project: None }).await
            }
            Self::Project(id) => {
                let row = project::Entity::one_of(user, *id).one(db).await?.ok_or_else(unknown)?;
                let bookmarks = BookmarkConditions::default();
                filtered_question(ctx, user, text, LibraryFilter { bookmarks, project: Some(row) }).await
            }
            Self::Picked(ids) => {
                let documents = picked_documents(ctx, user, ids).await?;
                if documents.is_empty() {
                    return Err(unknown());
                }
                let documents = documents.into_iter().map(|id| id.0).collect();
                let within = Filter { documents: DocumentSet::Only(documents), ..Filter::default() };
                Ok(LibraryQuestion::within(text, within))
            }
        }
    }

    /// Returns what a thread shows of this part.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database fails.
    pub async fn view(&self, ctx: &AskContext, user: UserId) -> Result<AskScopeView, Error> {
        let db = ctx.core.db.read();
        let (kind, name, picked) = match self {
            Self::Library => (ScopeKind::All, None, None),
            Self::Collection(id) => {
                let row = collection::Entity::one_of(user, *id).one(db).await?;
                (ScopeKind::Collection, row.map(|row| row.name), None)
            }
            Self::Project(id) => {
                let row = project::Entity::one_of(user, *id).one(db).await?;
                (ScopeKind::Project, row.map(|row| row.name), None)
            }
            Self::Picked(ids) => (ScopeKind::Picked, None, Some(ids.len())),
        };
        Ok(AskScopeView { scope: self.to_string(), kind, name, picked })
    }
}

/// Returns a question about the documents that pass a filter.
async fn filtered_question(
    ctx: &AskContext,
    user: UserId,
    text: String,
    filter: LibraryFilter,
) -> Result<LibraryQuestion, Error> {
    let labels = Filter::default();
    let resolved = ctx.retrieval.resolve_filter(&ctx.core, user, &filter, labels, Naming::Many).await?;
    let searched = SEARCHED_PASSAGES.saturating_mul(resolved.bookmarks_per_match);
    Ok(LibraryQuestion {
        text,
        within: resolved.within,
        bookmarks: filter.bookmarks,
        searched_passages: searched.min(MAX_SEARCHED_PASSAGES),
    })
}

/// Returns the documents with these ids, and those of the bookmarks with these ids or of these documents, with their notes.
async fn picked_documents(ctx: &AskContext, user: UserId, ids: &[Uuid]) -> Result<Vec<DocumentId>, Error> {
    use document::Column;
    let db = ctx.core.db.read();
    let named: Vec<(DocumentId, Option<BookmarkId>)> = document::Entity::visible_to(user)
        .filter(Column::Id.is_in(ids.iter().copied().map(DocumentId)))
        .select_only()
        .columns([Column::Id, Column::BookmarkId])
        .into_tuple()
        .all(db)
        .await?;
    let bookmarks = named.iter().filter_map(|(_, bookmark)| *bookmark);
    let bookmarks: Vec<BookmarkId> = ids.iter().copied().map(BookmarkId).chain(bookmarks).collect();
    let of_bookmarks: Vec<DocumentId> = document::Entity::visible_to(user)
        .filter(Column::BookmarkId.is_in(bookmarks))
        .select_only()
        .column(Column::Id)
        .into_tuple()
        .all(db)
        .await?;
    let mut documents: Vec<DocumentId> = named.into_iter().map(|(id, _)| id).chain(of_bookmarks).collect();
    documents.sort_unstable();
    documents.dedup();
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01920f2c-6a3b-7c11-9a55-0b2f6e1d7c44";

    #[test]
    fn scope_is_written_as_it_is_read() {
        for text in ["all", &format!("collection:{ID}"), &format!("project:{ID}"), &format!("picked:{ID}")] {
            assert_eq!(text.parse::<AskScope>().unwrap().to_string(), *text);
        }
        let twice: AskScope = format!("picked:{ID},{ID}").parse().unwrap();
        assert_eq!(twice.to_string(), format!("picked:{ID}"));
    }

    #[test]
    fn other_texts_name_no_scope() {
        let many: Vec<String> = (0..51u128).map(|n| Uuid::from_u128(n).to_string()).collect();
        let texts = ["", "All", "collection:", "project:7", "picked:", "feed:", "picked:,"];
        for text in texts.into_iter().chain([format!("picked:{}", many.join(",")).as_str()]) {
            assert_eq!(text.parse::<AskScope>(), Err(InvalidScope), "{text}");
        }
    }
}
