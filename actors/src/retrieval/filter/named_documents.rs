//! Names the documents of the bookmarks that pass conditions, or those of all others, if they are few enough. Counts that are kept and
//! indexes tell how many there are before any is read.

use database::Db;
use entity::{account_count, bookmark, collection_count, document, tag_count};
use errors::Error;
use library::bookmarks::{BookmarkConditions, BookmarkSet};
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbBackend, JoinType, QueryFilter};
use search::index::DocumentSet;
use values::id::{DocumentId, UserId};

/// The number of bookmarks for each one that passes conditions of which no count is kept: a guess.
const USUAL_BOOKMARKS_PER_MATCH: usize = 4;

/// Returns the documents of the bookmarks that pass conditions, or all others of the library if those are fewer; `None` if both are more
/// than `max`. A condition of a tag or a collection has no others: no index finds the bookmarks that are not in a set. Reads at most `max`
/// documents, and as many rows of an index.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn find(
    db: &Db,
    user: UserId,
    conditions: &BookmarkConditions,
    max: u64,
) -> Result<Option<DocumentSet>, Error> {
    let sets = count_sets(db, user, conditions).await?;
    let Some((count, smallest)) = sets.first() else {
        return find_by_ranges(db, user, conditions, max).await;
    };
    // The rows of one set are in the order of flags and time. Those of two sets would be tested one by one.
    let is_range = sets.len() == 1 && has_ranges(conditions);
    let is_few =
        *count <= max || (is_range && !has_more(db, select_rows(user, smallest, conditions), max).await?);
    if !is_few {
        return Ok(None);
    }
    let members = select_members(user, smallest, conditions, db.read().get_database_backend());
    Ok(read_at_most(db, vec![members], max).await?.map(only))
}

/// Returns the number of bookmarks of the user for each one that passes conditions, about, by the counts that are kept; at least 1.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn bookmarks_per_match(
    db: &Db,
    user: UserId,
    conditions: &BookmarkConditions,
) -> Result<usize, Error> {
    let sets = count_sets(db, user, conditions).await?;
    let Some((count, _)) = sets.first() else { return Ok(USUAL_BOOKMARKS_PER_MATCH) };
    let all = account_count::Entity::owned_by(user).one(db.read()).await?;
    let all = all.map_or(0, |counts| number(counts.bookmarks));
    let ratio = Ord::max(all.div_ceil(Ord::max(*count, 1)), 1);
    Ok(usize::try_from(ratio).unwrap_or(usize::MAX))
}

/// Returns the sets in which a bookmark must be, each with the number of its bookmarks, the smallest first.
async fn count_sets(
    db: &Db,
    user: UserId,
    conditions: &BookmarkConditions,
) -> Result<Vec<(u64, BookmarkSet)>, Error> {
    let mut sets = Vec::new();
    for set in conditions.sets() {
        let count = match &set {
            BookmarkSet::Tag(name) => {
                let tag = tag_count::Entity::owned_by(user).filter(tag_count::Column::Name.eq(name.as_str()));
                tag.one(db.read()).await?.map(|count| count.bookmarks)
            }
            BookmarkSet::Collection(id) => {
                let of_collection = collection_count::Column::CollectionId.eq(*id);
                let collection = collection_count::Entity::owned_by(user).filter(of_collection);
                collection.one(db.read()).await?.map(|count| count.bookmarks)
            }
        };
        sets.push((number(count.unwrap_or(0)), set));
    }
    sets.sort_by_key(|(count, _)| *count);
    Ok(sets)
}

/// Returns the number of a counter, which is never negative.
fn number(counter: i64) -> u64 {
    u64::try_from(counter).unwrap_or_default()
}

/// Returns whether conditions are on flags or the time of saving, which are ranges of an index.
fn has_ranges(conditions: &BookmarkConditions) -> bool {
    conditions.flags().is_some() || conditions.saved_after.is_some() || conditions.saved_before.is_some()
}

/// Returns the documents of the bookmarks that pass conditions on flags and time, or all others; first those that are usually fewer.
async fn find_by_ranges(
    db: &Db,
    user: UserId,
    conditions: &BookmarkConditions,
    max: u64,
) -> Result<Option<DocumentSet>, Error> {
    let are_others_first = passes_most(conditions);
    for of_others in [are_others_first, !are_others_first] {
        let ranges = if of_others {
            select_others(user, conditions)
        } else {
            vec![select_range(user, conditions.flags(), conditions.period(&saved_at()))]
        };
        if let Some(ids) = read_ranges(db, user, ranges, max).await? {
            return Ok(Some(if of_others { all_but(ids) } else { only(ids) }));
        }
    }
    Ok(None)
}

/// Returns the documents of the bookmarks that statements select; `None` if they are more than `max`.
async fn read_ranges(
    db: &Db,
    user: UserId,
    ranges: Vec<SelectStatement>,
    max: u64,
) -> Result<Option<Vec<DocumentId>>, Error> {
    for range in &ranges {
        if has_more(db, range.clone(), max).await? {
            return Ok(None);
        }
    }
    let documents = ranges.into_iter().map(|range| with_documents(range, user)).collect();
    read_at_most(db, documents, max).await
}

/// Returns whether a statement without columns selects more than `max` rows, by reading as many entries of its index.
async fn has_more(db: &Db, mut rows: SelectStatement, max: u64) -> Result<bool, Error> {
    rows.expr(Expr::cust("1")).limit(1).offset(max);
    Ok(!db.read().query_all(&rows).await?.is_empty())
}

/// Returns whether most bookmarks of a library usually pass: few are archived or favourites.
fn passes_most(conditions: &BookmarkConditions) -> bool {
    let BookmarkConditions { tag, collection, archived, favorite, saved_after, saved_before } = conditions;
    let is_narrow = tag.is_some() || collection.is_some() || saved_after.is_some() || saved_before.is_some();
    !is_narrow && *archived != Some(true) && *favorite != Some(true)
}

/// Returns the documents that statements select one after the other; `None` if they are more than `max`.
async fn read_at_most(
    db: &Db,
    statements: Vec<SelectStatement>,
    max: u64,
) -> Result<Option<Vec<DocumentId>>, Error> {
    let mut ids: Vec<DocumentId> = Vec::new();
    for mut statement in statements {
        statement.limit((max + 1).saturating_sub(ids.len() as u64));
        for row in db.read().query_all(&statement).await? {
            ids.push(row.try_get_by_index(0)?);
        }
        if ids.len() as u64 > max {
            return Ok(None);
        }
    }
    Ok(Some(ids))
}

/// Selects the rows of a set that pass the conditions on flags and time, without columns.
fn select_rows(user: UserId, set: &BookmarkSet, conditions: &BookmarkConditions) -> SelectStatement {
    // They have copies of the flags and the time of saving, and their index is in this order.
    let mut rows = set.select_with_flags(user, conditions.flags());
    for bound in conditions.period(&set.saved_at()) {
        rows.and_where(bound);
    }
    rows
}

/// Selects the documents of the bookmarks in a set that pass the conditions.
fn select_members(
    user: UserId,
    set: &BookmarkSet,
    conditions: &BookmarkConditions,
    backend: DbBackend,
) -> SelectStatement {
    let mut rows = select_rows(user, set, conditions);
    // SQLite keeps the order of a cross join.
    rows.join(JoinType::CrossJoin, bookmark::Entity, Condition::all())
        .and_where(set.bookmark_id().equals((bookmark::Entity, bookmark::Column::Id)));
    for test in conditions.tests(user, backend) {
        rows.and_where(test);
    }
    with_documents(rows, user)
}

/// Selects the bookmarks that fail a condition on the flags or the time of saving: before the period, after it, and
/// within it with other flags.
fn select_others(user: UserId, conditions: &BookmarkConditions) -> Vec<SelectStatement> {
    let outside = conditions.outside_period(&saved_at());
    let mut others: Vec<SelectStatement> =
        outside.into_iter().map(|bound| select_range(user, None, vec![bound])).collect();
    if let Some(passing) = conditions.flags() {
        let failing = bookmark::ALL_FLAGS.filter(|flags| !passing.contains(flags)).collect();
        others.push(select_range(user, Some(failing), conditions.period(&saved_at())));
    }
    others
}

/// Selects the user's bookmarks with one of these values of the flags, and with these bounds of the time of saving, without columns.
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
    rows
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

/// Returns the set of these documents.
pub fn only(documents: Vec<DocumentId>) -> DocumentSet {
    DocumentSet::Only(documents.into_iter().map(|id| id.0).collect())
}

fn all_but(documents: Vec<DocumentId>) -> DocumentSet {
    DocumentSet::Except(documents.into_iter().map(|id| id.0).collect())
}

#[cfg(test)]
mod tests {
    use database::insert_all;
    use entity::bookmark_tag;
    use values::id::BookmarkId;
    use values::kind::{BookmarkKind, ContentType};
    use values::time::Timestamp;

    use super::*;
    use crate::retrieval::test_library::{NOON, add_user, open_database};

    fn at(number: i64) -> Timestamp {
        Timestamp::from_millis(NOON.millis() + number)
    }

    /// Adds six bookmarks, each saved later than the one before, and returns their documents.
    async fn add_bookmarks(db: &Db, owner: UserId) -> Vec<DocumentId> {
        let mut documents = Vec::new();
        for number in 0..6_i64 {
            let url = format!("https://marsh.example/{number}");
            let id = BookmarkId::new(NOON);
            let pending = document::Model::pending(owner, ContentType::Article, url.clone(), NOON);
            let row = bookmark::Model {
                id,
                user_id: owner,
                document_id: pending.id,
                kind: BookmarkKind::Page,
                content_type: ContentType::Article,
                url: url.clone(),
                normalized_url: url,
                title: String::new(),
                favorite: number < 3,
                archived: [1, 4].contains(&number),
                progress: 0.0,
                saved_at: at(number),
                created_at: NOON,
                updated_at: NOON,
                deleted_at: None,
            };
            documents.push(pending.id);
            let document = document::Model { bookmark_id: Some(id), ..pending };
            insert_all::<document::Entity>(db.write(), [document], None).await.unwrap();
            let tag = if number < 4 { "bird" } else { "reed" };
            let tag = bookmark_tag::Model::new(&row, tag.to_owned());
            insert_all::<bookmark::Entity>(db.write(), [row], None).await.unwrap();
            insert_all::<bookmark_tag::Entity>(db.write(), [tag], None).await.unwrap();
        }
        documents
    }

    fn tagged(name: &str) -> BookmarkConditions {
        BookmarkConditions { tag: Some(name.to_owned()), ..BookmarkConditions::default() }
    }

    #[tokio::test]
    async fn documents_are_named_if_they_or_all_others_are_few() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let owner = add_user(&db).await;
        let documents = add_bookmarks(&db, owner).await;
        let none = BookmarkConditions::default;
        let ids = |numbers: &[usize]| {
            let mut ids: Vec<_> = numbers.iter().map(|number| documents[*number].0).collect();
            ids.sort_unstable();
            ids
        };
        let (only, except) = (
            |numbers: &[usize]| Some(DocumentSet::Only(ids(numbers))),
            |numbers: &[usize]| Some(DocumentSet::Except(ids(numbers))),
        );
        for (conditions, expected) in [
            (tagged("reed"), only(&[4, 5])),
            (tagged("absent"), only(&[])),
            (tagged("bird"), None),
            (BookmarkConditions { archived: Some(true), ..tagged("bird") }, only(&[1])),
            (BookmarkConditions { saved_after: Some(at(1)), ..tagged("bird") }, only(&[2, 3])),
            (BookmarkConditions { saved_after: Some(at(0)), ..tagged("bird") }, None),
            (BookmarkConditions { archived: Some(true), ..none() }, only(&[1, 4])),
            (BookmarkConditions { archived: Some(false), ..none() }, except(&[1, 4])),
            (BookmarkConditions { favorite: Some(true), ..none() }, None),
            (BookmarkConditions { favorite: Some(false), ..none() }, None),
            (BookmarkConditions { saved_after: Some(at(3)), ..none() }, only(&[4, 5])),
            (BookmarkConditions { saved_after: Some(at(0)), ..none() }, except(&[0])),
            (BookmarkConditions { saved_before: Some(at(6)), ..none() }, except(&[])),
        ] {
            let mut found = find(&db, owner, &conditions, 2).await.unwrap();
            if let Some(DocumentSet::Only(ids) | DocumentSet::Except(ids)) = &mut found {
                ids.sort_unstable();
            }
            assert_eq!(found, expected, "{conditions:?}");
        }
        let other = add_user(&db).await;
        assert_eq!(find(&db, other, &tagged("reed"), 2).await.unwrap(), only(&[]));
    }

    #[tokio::test]
    async fn kept_counts_tell_how_many_bookmarks_there_are_for_each_match() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let owner = add_user(&db).await;
        add_bookmarks(&db, owner).await;
        let archived = BookmarkConditions { archived: Some(true), ..BookmarkConditions::default() };

        for (conditions, expected) in [(tagged("reed"), 3), (tagged("bird"), 2), (archived, 4)] {
            let found = bookmarks_per_match(&db, owner, &conditions).await.unwrap();
            assert_eq!(found, expected, "{conditions:?}");
        }
    }

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
