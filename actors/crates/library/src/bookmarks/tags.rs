//! The tags of bookmarks.

use std::collections::{BTreeSet, HashMap};

use database::{insert_all, padded};
use entity::{bookmark, bookmark_tag};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use text::normalize_input;
use values::id::{BookmarkId, UserId};
use values::time::Timestamp;

use crate::documents::mark_bookmarks_unindexed;
use errors::Error;

/// Returns the name by which a tag is stored and looked for: without white space around it, and in NFC, because two texts that differ only
/// in how Unicode encodes their letters are one tag for a user. Tags that differ in case are two.
pub fn normalize_tag(tag: &str) -> String {
    normalize_input(tag.trim())
}

/// Normalizes tags ([`normalize_tag`]) and drops empty and repeated ones. Keeps their order.
pub fn normalize_tags(tags: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let normalized = tags.into_iter().map(|tag| normalize_tag(&tag)).filter(|tag| !tag.is_empty());
    normalized.filter(|tag| seen.insert(tag.clone())).collect()
}

/// Returns the tags of these bookmarks, sorted by their names. A bookmark without tags is left out.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn tags_of_bookmarks(
    db: &impl ConnectionTrait,
    user: UserId,
    bookmarks: &[BookmarkId],
) -> Result<HashMap<BookmarkId, Vec<String>>, Error> {
    let mut tags: HashMap<BookmarkId, Vec<String>> = HashMap::new();
    if bookmarks.is_empty() {
        return Ok(tags);
    }
    // Two columns, which the index by the bookmark has, and not sorted by the database: for whole rows, or for the order of the names,
    // SQLite would read all tags of the user.
    let rows = bookmark_tag::Entity::owned_by(user)
        .filter(bookmark_tag::Column::BookmarkId.is_in(padded(bookmarks)))
        .select_only()
        .columns([bookmark_tag::Column::BookmarkId, bookmark_tag::Column::Name]);
    let rows: Vec<(BookmarkId, String)> = rows.into_tuple().all(db).await?;
    for (bookmark, name) in rows {
        tags.entry(bookmark).or_default().push(name);
    }
    tags.values_mut().for_each(|names| names.sort_unstable());
    Ok(tags)
}

/// Adds tags to a bookmark, by which search finds it. Returns whether any was new.
pub async fn add_tags(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    tags: &[String],
    now: Timestamp,
) -> Result<bool, Error> {
    let is_changed = insert_tags(txn, row, tags).await?;
    if is_changed {
        mark_bookmarks_unindexed(txn, row.user_id, &[row.id], now).await?;
    }
    Ok(is_changed)
}

/// Inserts the tags that a bookmark does not have. The caller records that the index lacks the bookmark. Returns whether any was new.
pub(super) async fn insert_tags(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    tags: &[String],
) -> Result<bool, Error> {
    // Sorted: two processes that insert the same tags in different orders could deadlock.
    let rows: Vec<_> = tags
        .iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(|name| bookmark_tag::Model::new(row, name.clone()))
        .collect();
    Ok(insert_all::<bookmark_tag::Entity>(txn, rows, Some(&skip_existing_tag())).await? > 0)
}

/// Replaces all tags that a bookmark has with these.
pub async fn replace_tags(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    tags: &[String],
    now: Timestamp,
) -> Result<(), Error> {
    let old = bookmark_tag::Entity::delete_owned(row.user_id);
    old.filter(bookmark_tag::Column::BookmarkId.eq(row.id)).exec(txn).await?;
    insert_tags(txn, row, tags).await?;
    mark_bookmarks_unindexed(txn, row.user_id, &[row.id], now).await
}

/// Inserts a tag only if the bookmark does not have it.
pub(crate) fn skip_existing_tag() -> OnConflict {
    use bookmark_tag::Column as C;
    OnConflict::columns([C::BookmarkId, C::UserId, C::Name]).do_nothing().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalized_tags_are_trimmed_and_unique() {
        let tags = [" a ", "b", "a", "", "  "].map(str::to_owned).to_vec();

        assert_eq!(normalize_tags(tags), ["a", "b"]);
    }

    #[test]
    fn encodings_of_one_text_are_one_tag_and_cases_are_two() {
        let tags = ["caf\u{e9}", "cafe\u{301}", "Caf\u{e9}", "cafe"].map(str::to_owned).to_vec();

        assert_eq!(normalize_tags(tags), ["caf\u{e9}", "Caf\u{e9}", "cafe"]);
    }
}
