//! Filters of a search by what users change at any time: tags, collections, flags, the time of saving, and projects.
//!
//! The index has no labels of them. The database resolves them to a set of documents at the moment of the search, so a change holds in the
//! very next search of every caller.
//!
//! A set of more than [`MAX_DOCUMENTS`] is given to the index as all others of the library, if those are fewer. If neither is, or if a tag
//! or a collection has that many bookmarks, the index searches all bookmarks, and the conditions are tested on the rows of what it finds
//! ([`find_passing`]), which they are in any case.

use entity::{bookmark, document, project};
use errors::Error;
use library::bookmarks::{BookmarkConditions, BookmarkSet};
use library::context::CoreContext;
use library::projects;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbBackend, JoinType};
use search::index::{DocumentSet, Filter, Source};
use values::id::{DocumentId, UserId};

use super::row_conditions::find_passing;

/// Maximum number of documents that a filter names: about 2 MB of ids.
const MAX_DOCUMENTS: usize = 50_000;

/// A filter by the user's own order of the library. All conditions that are given must hold.
#[derive(Debug)]
pub struct LibraryFilter {
    /// Conditions on the bookmark of a document; with any, documents of no bookmark do not match.
    pub bookmarks: BookmarkConditions,
    /// The project to which the document belongs, which is the user's own.
    pub project: Option<project::Model>,
}

impl LibraryFilter {
    /// Adds the documents that match to a filter by labels.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database fails.
    pub async fn resolve(&self, core: &CoreContext, user: UserId, labels: Filter) -> Result<Filter, Error> {
        if self.bookmarks.is_empty() {
            return Ok(Filter { documents: self.documents_of_project(core, user).await?, ..labels });
        }
        if labels.source == Some(Source::Feeds) {
            // The document of a bookmark is never among them.
            return Ok(Filter { documents: DocumentSet::Only(Vec::new()), ..labels });
        }
        let documents = match self.project {
            Some(_) => self.documents_of_project(core, user).await?,
            None => documents_of_bookmarks(core, user, &self.bookmarks).await?,
        };
        // All documents of a set are of bookmarks, also an entry that was just bookmarked and still has its former label.
        let is_exact = matches!(documents, DocumentSet::Only(_));
        let source = if is_exact { None } else { Some(Source::Bookmarks) };
        Ok(Filter { source, documents, ..labels })
    }

    /// Returns the documents of the project that pass the conditions; without a project, all.
    async fn documents_of_project(&self, core: &CoreContext, user: UserId) -> Result<DocumentSet, Error> {
        let Some(project) = &self.project else { return Ok(DocumentSet::All) };
        let all = projects::documents_of(core, project).await?;
        let passing = find_passing(&core.db, user, &self.bookmarks, &all).await?;
        Ok(only(passing.map_or(all, |passing| passing.into_iter().collect())))
    }
}

/// Returns the documents of the bookmarks that pass these conditions.
async fn documents_of_bookmarks(
    core: &CoreContext,
    user: UserId,
    conditions: &BookmarkConditions,
) -> Result<DocumentSet, Error> {
    let matching = vec![select_matching(user, conditions, core.db.read().get_database_backend())];
    let others = select_others(user, conditions);
    if passes_most(conditions) {
        if let Some(ids) = select_at_most(core, others).await? {
            return Ok(all_but(ids));
        }
        return Ok(select_at_most(core, matching).await?.map_or(DocumentSet::All, only));
    }
    if let Some(ids) = select_at_most(core, matching).await? {
        return Ok(only(ids));
    }
    // No index finds the bookmarks that are not in a set.
    if conditions.sets().is_empty() {
        return Ok(select_at_most(core, others).await?.map_or(DocumentSet::All, all_but));
    }
    Ok(DocumentSet::All)
}

/// Returns whether most bookmarks of a library usually pass: few are archived or favourites.
fn passes_most(conditions: &BookmarkConditions) -> bool {
    let BookmarkConditions { tag, collection, archived, favorite, saved_after, saved_before } = conditions;
    let is_narrow = tag.is_some() || collection.is_some() || saved_after.is_some() || saved_before.is_some();
    !is_narrow && *archived != Some(true) && *favorite != Some(true)
}

/// Returns the documents that statements select one after the other; `None` if they are more than [`MAX_DOCUMENTS`].
async fn select_at_most(
    core: &CoreContext,
    statements: Vec<SelectStatement>,
) -> Result<Option<Vec<DocumentId>>, Error> {
    let mut ids: Vec<DocumentId> = Vec::new();
    for mut statement in statements {
        statement.limit((MAX_DOCUMENTS + 1).saturating_sub(ids.len()) as u64);
        for row in core.db.read().query_all(&statement).await? {
            ids.push(row.try_get_by_index(0)?);
        }
        if ids.len() > MAX_DOCUMENTS {
            return Ok(None);
        }
    }
    Ok(Some(ids))
}

/// Selects the documents of the bookmarks that pass: from the rows of a tag or a collection if one is given, else by flags and time.
fn select_matching(user: UserId, conditions: &BookmarkConditions, backend: DbBackend) -> SelectStatement {
    match conditions.sets().into_iter().next() {
        Some(set) => select_members(user, &set, conditions, backend),
        None => select_range(user, conditions.flags(), conditions.period(&saved_at())),
    }
}

/// Selects the documents of the bookmarks in a set that pass the conditions.
fn select_members(
    user: UserId,
    set: &BookmarkSet,
    conditions: &BookmarkConditions,
    backend: DbBackend,
) -> SelectStatement {
    let mut rows = set.select(user);
    // The rows of a set have a copy of the time of saving, and their index is in its order.
    for bound in conditions.period(&set.saved_at()) {
        rows.and_where(bound);
    }
    // SQLite keeps the order of a cross join.
    rows.join(JoinType::CrossJoin, bookmark::Entity, Condition::all())
        .and_where(set.bookmark_id().equals((bookmark::Entity, bookmark::Column::Id)));
    for test in conditions.tests(user, backend) {
        rows.and_where(test);
    }
    with_documents(rows, user)
}

/// Selects the documents of the bookmarks that fail a condition on the flags or the time of saving: before the period, after it, and
/// within it with other flags.
fn select_others(user: UserId, conditions: &BookmarkConditions) -> Vec<SelectStatement> {
    let outside = conditions.outside_period(&saved_at());
    let mut others: Vec<SelectStatement> =
        outside.into_iter().map(|bound| select_range(user, None, vec![bound])).collect();
    if let Some(passing) = conditions.flags() {
        let failing = (0..bookmark::FLAGS_VALUES).filter(|flags| !passing.contains(flags)).collect();
        others.push(select_range(user, Some(failing), conditions.period(&saved_at())));
    }
    others
}

/// Selects the documents of the user's bookmarks with one of these values of the flags, and with these bounds of the time of saving.
fn select_range(user: UserId, flags: Option<Vec<i32>>, bounds: Vec<Expr>) -> SelectStatement {
    let mut rows = Query::select();
    rows.from(bookmark::Entity)
        .and_where(bookmark::Column::UserId.eq(user))
        .and_where(bookmark::Column::DeletedAt.is_null());
    if let Some(flags) = flags {
        rows.and_where(Expr::col((bookmark::Entity, bookmark::ComputedColumn::Flags)).is_in(flags));
    }
    for bound in bounds {
        rows.and_where(bound);
    }
    with_documents(rows, user)
}

/// Joins the documents of the bookmarks that a statement selects, which are their texts and the notes on them, and returns their ids.
fn with_documents(mut bookmarks: SelectStatement, user: UserId) -> SelectStatement {
    bookmarks
        .expr(document::Column::Id.into_expr())
        .join(JoinType::CrossJoin, document::Entity, Condition::all())
        .and_where(bookmark_id().equals((document::Entity, document::Column::BookmarkId)))
        .and_where(document::Column::UserId.eq(user));
    bookmarks
}

fn bookmark_id() -> Expr {
    bookmark::Column::Id.into_expr()
}

fn saved_at() -> Expr {
    bookmark::Column::SavedAt.into_expr()
}

fn only(documents: Vec<DocumentId>) -> DocumentSet {
    DocumentSet::Only(documents.into_iter().map(|id| id.0).collect())
}

fn all_but(documents: Vec<DocumentId>) -> DocumentSet {
    DocumentSet::Except(documents.into_iter().map(|id| id.0).collect())
}

#[cfg(test)]
mod tests {
    use values::time::Timestamp;

    use super::*;

    #[test]
    fn conditions_that_few_bookmarks_fail_pass_most() {
        let none = BookmarkConditions::default;
        for (conditions, expected) in [
            (BookmarkConditions { archived: Some(false), ..none() }, true),
            (BookmarkConditions { archived: Some(false), favorite: Some(false), ..none() }, true),
            (BookmarkConditions { archived: Some(false), favorite: Some(true), ..none() }, false),
            (BookmarkConditions { archived: Some(false), tag: Some("bird".to_owned()), ..none() }, false),
            (BookmarkConditions { saved_after: Some(Timestamp::from_millis(0)), ..none() }, false),
        ] {
            assert_eq!(passes_most(&conditions), expected, "{conditions:?}");
        }
    }

    #[test]
    fn others_are_outside_of_the_period_or_have_other_flags() {
        let count =
            |conditions: &BookmarkConditions| select_others(UserId(uuid::Uuid::nil()), conditions).len();
        let archived = BookmarkConditions { archived: Some(true), ..BookmarkConditions::default() };
        let later = BookmarkConditions { saved_after: Some(Timestamp::from_millis(7)), ..archived.clone() };
        let between = BookmarkConditions { saved_before: Some(Timestamp::from_millis(9)), ..later.clone() };

        assert_eq!([&archived, &later, &between].map(count), [1, 2, 3]);
        assert_eq!(count(&BookmarkConditions { archived: None, ..between }), 2);
    }
}
