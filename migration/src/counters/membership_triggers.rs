//! The triggers that count the bookmarks of tags and collections. A membership counts while its bookmark is not deleted, so both a
//! change of the membership and one of the bookmark change the number.
//!
//! A bookmark that is removed gives back its memberships before: they are deleted with it, and find no bookmark any more then. So
//! they do not count twice, in whichever order the database deletes the two.

use sea_orm_migration::sea_orm::DatabaseBackend;

use super::trigger_sql::{row_trigger, statement_function, statement_triggers};
use crate::sql_migration::BY_INDEXES;

/// Returns the triggers of memberships and of bookmarks, and on PostgreSQL their functions.
pub(super) fn statements(backend: DatabaseBackend) -> Vec<String> {
    if backend == DatabaseBackend::Postgres { postgres_statements() } else { sqlite_statements() }
}

/// Counts the tags and collections of the bookmark `NEW`.
const SQLITE_ADD_BOOKMARK: &str = "
    INSERT INTO tag_count (user_id, name, bookmarks)
      SELECT user_id, name, 1 FROM bookmark_tag WHERE bookmark_id = NEW.id
      ON CONFLICT (user_id, name) DO UPDATE SET bookmarks = bookmarks + 1;
    UPDATE collection_count SET bookmarks = bookmarks + 1
      WHERE user_id = NEW.user_id
        AND collection_id IN (SELECT collection_id FROM collection_bookmark WHERE bookmark_id = NEW.id);";

/// Gives back the tags and collections of the bookmark `OLD`. The row of a tag that no other bookmark has is deleted.
const SQLITE_REMOVE_BOOKMARK: &str = "
    DELETE FROM tag_count
      WHERE user_id = OLD.user_id AND name IN (SELECT name FROM bookmark_tag WHERE bookmark_id = OLD.id)
        AND bookmarks <= 1;
    UPDATE tag_count SET bookmarks = bookmarks - 1
      WHERE user_id = OLD.user_id AND name IN (SELECT name FROM bookmark_tag WHERE bookmark_id = OLD.id);
    UPDATE collection_count SET bookmarks = bookmarks - 1
      WHERE user_id = OLD.user_id
        AND collection_id IN (SELECT collection_id FROM collection_bookmark WHERE bookmark_id = OLD.id);";

/// SQL for whether the bookmark of a membership counts.
fn bookmark_counts(row: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM bookmark WHERE bookmark.id = {row}.bookmark_id AND bookmark.deleted_at IS NULL)"
    )
}

fn sqlite_statements() -> Vec<String> {
    let add_tag = format!(
        "INSERT INTO tag_count (user_id, name, bookmarks)
           SELECT NEW.user_id, NEW.name, 1 WHERE {}
           ON CONFLICT (user_id, name) DO UPDATE SET bookmarks = bookmarks + 1;",
        bookmark_counts("NEW")
    );
    let of_old_tag = format!("user_id = OLD.user_id AND name = OLD.name AND {}", bookmark_counts("OLD"));
    let remove_tag = format!(
        "DELETE FROM tag_count WHERE {of_old_tag} AND bookmarks <= 1;
         UPDATE tag_count SET bookmarks = bookmarks - 1 WHERE {of_old_tag};"
    );
    let add_member = format!(
        "UPDATE collection_count SET bookmarks = bookmarks + 1
           WHERE user_id = NEW.user_id AND collection_id = NEW.collection_id AND {};",
        bookmark_counts("NEW")
    );
    let remove_member = format!(
        "UPDATE collection_count SET bookmarks = bookmarks - 1
           WHERE user_id = OLD.user_id AND collection_id = OLD.collection_id AND {};",
        bookmark_counts("OLD")
    );
    let (change_tag, change_member) =
        (format!("{remove_tag} {add_tag}"), format!("{remove_member} {add_member}"));
    // The counters of an account are deleted before its bookmarks, which then have nothing to give back.
    let is_counted_of_account = "WHEN OLD.deleted_at IS NULL
        AND EXISTS (SELECT 1 FROM account_count WHERE account_count.user_id = OLD.user_id)";
    let (is_deleted, is_restored) = (
        "WHEN OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL",
        "WHEN OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL",
    );
    let (tag, member, bookmark) = ("bookmark_tag", "collection_bookmark", "bookmark");
    let triggers = [
        ((tag, "insert"), "AFTER INSERT", "", add_tag.as_str()),
        ((tag, "update"), "AFTER UPDATE OF bookmark_id, name", "", change_tag.as_str()),
        ((tag, "delete"), "AFTER DELETE", "", remove_tag.as_str()),
        ((member, "insert"), "AFTER INSERT", "", add_member.as_str()),
        ((member, "update"), "AFTER UPDATE OF bookmark_id, collection_id", "", change_member.as_str()),
        ((member, "delete"), "AFTER DELETE", "", remove_member.as_str()),
        ((bookmark, "is_deleted"), "AFTER UPDATE OF deleted_at", is_deleted, SQLITE_REMOVE_BOOKMARK),
        ((bookmark, "is_restored"), "AFTER UPDATE OF deleted_at", is_restored, SQLITE_ADD_BOOKMARK),
        ((bookmark, "is_removed"), "BEFORE DELETE", is_counted_of_account, SQLITE_REMOVE_BOOKMARK),
    ];
    triggers
        .into_iter()
        .flat_map(|(name, event, when, body)| row_trigger(DatabaseBackend::Sqlite, name, event, when, body))
        .collect()
}

/// SQL that adds a number of bookmarks to tags, from a select of `user_id`, `name` and `bookmarks`. The rows are locked by their keys
/// in order.
fn add_to_tags(select: &str) -> String {
    format!(
        "INSERT INTO tag_count AS counter (user_id, name, bookmarks)
           SELECT user_id, name, bookmarks FROM ({select}) AS change ORDER BY user_id, name
           ON CONFLICT (user_id, name) DO UPDATE SET bookmarks = counter.bookmarks + excluded.bookmarks;"
    )
}

/// SQL that subtracts such a number.
fn subtract_from_tags(select: &str) -> String {
    let of_change = "counter.user_id = change.user_id AND counter.name = change.name";
    format!(
        "DELETE FROM tag_count AS counter USING ({select}) AS change
           WHERE {of_change} AND counter.bookmarks <= change.bookmarks;
         UPDATE tag_count AS counter SET bookmarks = counter.bookmarks - change.bookmarks
           FROM ({select}) AS change WHERE {of_change};"
    )
}

/// SQL that adds a number of bookmarks to collections, from a select of `user_id`, `collection_id` and `bookmarks`.
fn change_collections(sign: char, select: &str) -> String {
    format!(
        "UPDATE collection_count AS counter SET bookmarks = counter.bookmarks {sign} change.bookmarks
           FROM ({select}) AS change
           WHERE counter.user_id = change.user_id AND counter.collection_id = change.collection_id;"
    )
}

/// A select of the number of counted bookmarks for each key in a transition table.
fn counted_in(rows: &str, key: &str) -> String {
    format!(
        "SELECT user_id, {key}, COUNT(*) AS bookmarks FROM {rows}
         WHERE (SELECT bookmark.deleted_at IS NULL FROM bookmark WHERE bookmark.id = {rows}.bookmark_id)
         GROUP BY user_id, {key}"
    )
}

/// A select of the number of bookmarks in the array `bookmarks_changed` for each key in a table of memberships.
fn counted_of_bookmarks(table: &str, key: &str) -> String {
    format!(
        "SELECT user_id, {key}, COUNT(*) AS bookmarks FROM {table} WHERE bookmark_id = ANY (bookmarks_changed)
         GROUP BY user_id, {key}"
    )
}

fn postgres_statements() -> Vec<String> {
    let [add_tags, remove_tags] =
        [add_to_tags(&counted_in("added", "name")), subtract_from_tags(&counted_in("removed", "name"))];
    let [add_members, remove_members] = [('+', "added"), ('-', "removed")]
        .map(|(sign, rows)| change_collections(sign, &counted_in(rows, "collection_id")));
    let of_bookmarks = |sign: char, tags: String| {
        tags + &change_collections(sign, &counted_of_bookmarks("collection_bookmark", "collection_id"))
    };
    let tags = counted_of_bookmarks("bookmark_tag", "name");
    let function = |name: &str, body: &str| {
        format!(
            "CREATE FUNCTION {name}(bookmarks_changed UUID[]) RETURNS void LANGUAGE plpgsql {BY_INDEXES} AS $$
             BEGIN {body} END
             $$"
        )
    };
    let mut statements = vec![
        statement_function(
            "row_count_of_bookmark_tag",
            [&add_tags, &format!("{remove_tags} {add_tags}"), &remove_tags],
        ),
        statement_function(
            "row_count_of_collection_bookmark",
            [&add_members, &format!("{remove_members} {add_members}"), &remove_members],
        ),
        function("row_count_add_bookmarks", &of_bookmarks('+', add_to_tags(&tags))),
        function("row_count_remove_bookmarks", &of_bookmarks('-', subtract_from_tags(&tags))),
        deletion_changes_function(),
        "CREATE TRIGGER row_count_bookmark_is_deleted AFTER UPDATE ON bookmark
         REFERENCING OLD TABLE AS removed NEW TABLE AS added
         FOR EACH STATEMENT EXECUTE FUNCTION row_count_bookmark_is_deleted()"
            .to_owned(),
    ];
    for table in ["bookmark_tag", "collection_bookmark"] {
        statements.extend(statement_triggers(table, &format!("row_count_of_{table}"), true));
    }
    // For each row, because it runs before the deletion. The counters of an account are deleted before its bookmarks, which then have
    // nothing to give back.
    let remove = "IF EXISTS (SELECT 1 FROM account_count WHERE user_id = OLD.user_id) THEN
           PERFORM row_count_remove_bookmarks(ARRAY[OLD.id]);
         END IF;";
    let (name, when) = (("bookmark", "is_removed"), "WHEN (OLD.deleted_at IS NULL)");
    statements.extend(row_trigger(DatabaseBackend::Postgres, name, "BEFORE DELETE", when, remove));
    statements
}

/// The function that finds the bookmarks which a statement deleted or restored. It does not join the two transition tables, whose rows
/// have no index.
fn deletion_changes_function() -> String {
    format!(
        "CREATE FUNCTION row_count_bookmark_is_deleted() RETURNS trigger LANGUAGE plpgsql {BY_INDEXES} AS $$
         DECLARE
           deleted UUID[] := ARRAY(SELECT id FROM removed WHERE deleted_at IS NULL
                                   EXCEPT SELECT id FROM added WHERE deleted_at IS NULL);
           restored UUID[] := ARRAY(SELECT id FROM added WHERE deleted_at IS NULL
                                    EXCEPT SELECT id FROM removed WHERE deleted_at IS NULL);
         BEGIN
           IF deleted <> '{{}}' THEN
             PERFORM row_count_remove_bookmarks(deleted);
           END IF;
           IF restored <> '{{}}' THEN
             PERFORM row_count_add_bookmarks(restored);
           END IF;
           RETURN NULL;
         END
         $$"
    )
}
