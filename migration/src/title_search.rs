//! The statements of `m0014_title_search`: the index by which titles and URLs of bookmarks are searched, and the triggers that keep
//! copies equal to their originals.
//!
//! | Copy | Original |
//! |---|---|
//! | `bookmark.title`, `bookmark.content_type` | the columns of the bookmark's document |
//! | `saved_at`, `flags`, `title_key` of `bookmark_tag`, `collection_bookmark` | the columns of the bookmark |
//! | on SQLite `title_search_row.saved_at` | the column of the bookmark |
//!
//! The program writes a copy with a new row; the triggers follow later changes of the original, also those by hand. The one of documents
//! also fires when a document gets a bookmark: on PostgreSQL the title may have changed after the bookmark was inserted with it. A row of
//! a tag or a collection may be written with what its bookmark was before the same transaction changed it, or on PostgreSQL another one
//! that has not ended: triggers correct such a row.
//!
//! # Search on SQLite
//!
//! `title_search` is an FTS5 table of trigrams. It contains the lower-case URL of each bookmark in the row `2 * number`, and the title in
//! `2 * number + 1` unless it is the URL. `title_search_row` has the number of each bookmark, and the numbers of a user begin at
//! `slot << 32`, with the slot of `title_search_owner`: so a query reads the part of the index that belongs to its user. With the time of
//! saving in the same row, a query sorts what it finds before it reads the bookmarks.
//!
//! - The URL and the title are separate rows because a title that replaces the URL, when the page was read, only adds a row: 0.1 ms.
//! - `contentless_delete=1`: a deleted text is marked in the parts of the index that may contain it, without its trigrams. With the marks,
//!   a bookmark is deleted in 0.08 ms within a transaction, and 20,000 bookmarks with their account in 3 s, of which the marks take half a
//!   second.
//! - The trigrams of a deleted text stay in the file until its part of the index is merged: at the latest by the daily merge of all parts
//!   (crate `library`, module `title_index`), for which the triggers set `title_search_merge.has_deleted_texts`. Without
//!   `contentless_delete` a deletion would be an entry with the trigrams, which FTS5 keeps even in a merge of all parts if levels above
//!   them are empty.
//! - `usermerge` is 2: with a higher number the command `merge` does nothing as long as a few small parts are newer than those that it
//!   merges, which looks like its end.
//! - SQLite before 3.43 does not know `contentless_delete`. It can read the other tables, and change bookmarks except their titles and
//!   URLs.
//! - Each text ends with two spaces, so that a trigram begins with each of its characters. `title_search_term` lists the trigrams with the
//!   rows of all users: those that begin with a word of one or two characters are a range of it, in which one trigram is looked up after the
//!   other. The rows of a trigram that belong to a user are again a range of `title_search`.
//! - `case_sensitive 1`, because the texts are in lower case by the rule of the query, `lower()`; FTS5 folds other letters too.
//! - `detail=none`: a query asks for rows that have trigrams, and the exact rule is tested on the bookmarks.
//!
//! # Search on PostgreSQL
//!
//! A GIN index of the extension `pg_trgm`, which `btree_gin` lets begin with the owner. PostgreSQL counts both as trusted: the owner of
//! a database may create them. Its list of pending entries is short, because each query reads it. It has the trigrams of letters and digits,
//! those that the collation of the database counts as such.

/// Creates the tables and triggers on SQLite.
pub(crate) const SQLITE: &[&str] = &[
    "CREATE VIRTUAL TABLE title_search USING
       fts5(text, content='', contentless_delete=1, tokenize='trigram case_sensitive 1', detail=none)",
    "INSERT INTO title_search (title_search, rank) VALUES ('usermerge', 2)",
    "CREATE VIRTUAL TABLE title_search_term USING fts5vocab('title_search', 'instance')",
    // The slot of a removed user is not used again.
    r#"CREATE TABLE title_search_owner (
         slot INTEGER PRIMARY KEY AUTOINCREMENT,
         user_id UUID NOT NULL UNIQUE REFERENCES "user" (id) ON DELETE CASCADE
       )"#,
    // No foreign key: the trigger of a deleted bookmark deletes the row after it has read the number.
    "CREATE TABLE title_search_row (
       number INTEGER PRIMARY KEY,
       saved_at BIGINT NOT NULL,
       bookmark_id UUID NOT NULL UNIQUE
     )",
    // One row: whether texts were deleted since the last merge began, whether that has not ended yet, and when it began.
    "CREATE TABLE title_search_merge (
       id INTEGER PRIMARY KEY CHECK (id = 1),
       has_deleted_texts BOOLEAN NOT NULL,
       is_running BOOLEAN NOT NULL,
       began_at BIGINT NOT NULL
     )",
    "INSERT INTO title_search_merge (id, has_deleted_texts, is_running, began_at) VALUES (1, FALSE, FALSE, 0)",
    r#"CREATE TRIGGER title_search_of_user AFTER INSERT ON "user" BEGIN
         INSERT INTO title_search_owner (user_id) VALUES (NEW.id);
       END"#,
    "CREATE TRIGGER title_search_of_bookmark AFTER INSERT ON bookmark BEGIN
       INSERT INTO title_search_row (number, saved_at, bookmark_id)
         SELECT COALESCE((SELECT number FROM title_search_row
                          WHERE number > (slot << 32) AND number < ((slot + 1) << 32)
                          ORDER BY number DESC LIMIT 1), slot << 32) + 1, NEW.saved_at, NEW.id
         FROM title_search_owner WHERE user_id = NEW.user_id;
       INSERT INTO title_search (rowid, text)
         SELECT number * 2, lower(NEW.url) || '  ' FROM title_search_row WHERE bookmark_id = NEW.id;
       INSERT INTO title_search (rowid, text)
         SELECT number * 2 + 1, lower(NEW.title) || '  ' FROM title_search_row
         WHERE bookmark_id = NEW.id AND NEW.title <> NEW.url;
     END",
    "CREATE TRIGGER title_search_of_changed_bookmark AFTER UPDATE OF title, url ON bookmark
     WHEN NEW.title <> OLD.title OR NEW.url <> OLD.url BEGIN
       DELETE FROM title_search
         WHERE rowid = (SELECT number * 2 FROM title_search_row WHERE bookmark_id = OLD.id) AND NEW.url <> OLD.url;
       INSERT INTO title_search (rowid, text)
         SELECT number * 2, lower(NEW.url) || '  ' FROM title_search_row
         WHERE bookmark_id = NEW.id AND NEW.url <> OLD.url;
       DELETE FROM title_search
         WHERE rowid = (SELECT number * 2 + 1 FROM title_search_row WHERE bookmark_id = OLD.id) AND OLD.title <> OLD.url;
       INSERT INTO title_search (rowid, text)
         SELECT number * 2 + 1, lower(NEW.title) || '  ' FROM title_search_row
         WHERE bookmark_id = NEW.id AND NEW.title <> NEW.url;
       UPDATE title_search_merge SET has_deleted_texts = TRUE
         WHERE has_deleted_texts = FALSE AND (NEW.url <> OLD.url OR OLD.title <> OLD.url);
     END",
    "CREATE TRIGGER title_search_of_deleted_bookmark AFTER DELETE ON bookmark BEGIN
       DELETE FROM title_search
         WHERE rowid = (SELECT number * 2 FROM title_search_row WHERE bookmark_id = OLD.id);
       DELETE FROM title_search
         WHERE rowid = (SELECT number * 2 + 1 FROM title_search_row WHERE bookmark_id = OLD.id)
           AND OLD.title <> OLD.url;
       DELETE FROM title_search_row WHERE bookmark_id = OLD.id;
       UPDATE title_search_merge SET has_deleted_texts = TRUE WHERE has_deleted_texts = FALSE;
     END",
    "CREATE TRIGGER bookmark_of_changed_document AFTER UPDATE OF title, content_type, bookmark_id ON document
     WHEN NEW.title <> OLD.title OR NEW.content_type <> OLD.content_type OR NEW.bookmark_id IS NOT OLD.bookmark_id
     BEGIN
       UPDATE bookmark SET title = NEW.title, content_type = NEW.content_type
         WHERE document_id = NEW.id AND user_id = NEW.user_id
           AND (title <> NEW.title OR content_type <> NEW.content_type);
     END",
    "CREATE TRIGGER copies_of_changed_bookmark AFTER UPDATE OF saved_at, favorite, archived, progress, title ON bookmark
     WHEN NEW.saved_at <> OLD.saved_at OR NEW.flags <> OLD.flags OR NEW.title_key <> OLD.title_key BEGIN
       UPDATE bookmark_tag SET saved_at = NEW.saved_at, flags = NEW.flags, title_key = NEW.title_key
         WHERE bookmark_id = NEW.id AND user_id = NEW.user_id;
       UPDATE collection_bookmark SET saved_at = NEW.saved_at, flags = NEW.flags, title_key = NEW.title_key
         WHERE bookmark_id = NEW.id AND user_id = NEW.user_id;
       UPDATE title_search_row SET saved_at = NEW.saved_at
         WHERE bookmark_id = NEW.id AND saved_at <> NEW.saved_at;
     END",
    "CREATE TRIGGER copies_of_new_tag AFTER INSERT ON bookmark_tag
     WHEN EXISTS (SELECT 1 FROM bookmark WHERE id = NEW.bookmark_id
                  AND (saved_at <> NEW.saved_at OR flags <> NEW.flags OR title_key <> NEW.title_key)) BEGIN
       UPDATE bookmark_tag SET (saved_at, flags, title_key) =
           (SELECT saved_at, flags, title_key FROM bookmark WHERE id = NEW.bookmark_id)
         WHERE bookmark_id = NEW.bookmark_id AND user_id = NEW.user_id AND name = NEW.name;
     END",
    "CREATE TRIGGER copies_of_new_member AFTER INSERT ON collection_bookmark
     WHEN EXISTS (SELECT 1 FROM bookmark WHERE id = NEW.bookmark_id
                  AND (saved_at <> NEW.saved_at OR flags <> NEW.flags OR title_key <> NEW.title_key)) BEGIN
       UPDATE collection_bookmark SET (saved_at, flags, title_key) =
           (SELECT saved_at, flags, title_key FROM bookmark WHERE id = NEW.bookmark_id)
         WHERE collection_id = NEW.collection_id AND bookmark_id = NEW.bookmark_id;
     END",
];

/// Creates the extensions on PostgreSQL. A database that has them already needs no right for it.
pub(crate) const POSTGRES_EXTENSIONS: &[&str] =
    &["CREATE EXTENSION IF NOT EXISTS pg_trgm", "CREATE EXTENSION IF NOT EXISTS btree_gin"];

/// Creates the index and triggers on PostgreSQL. The functions have the settings [`crate::sql_migration::BY_INDEXES`].
pub(crate) const POSTGRES: &[&str] = &[
    "CREATE INDEX bookmark_title_search ON bookmark
       USING gin (user_id, lower(title) gin_trgm_ops, lower(url) gin_trgm_ops) WITH (gin_pending_list_limit = 256)",
    "CREATE FUNCTION bookmark_of_changed_document() RETURNS trigger LANGUAGE plpgsql
       SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
     BEGIN
       UPDATE bookmark SET title = NEW.title, content_type = NEW.content_type
         WHERE document_id = NEW.id AND user_id = NEW.user_id
           AND (title <> NEW.title OR content_type <> NEW.content_type);
       RETURN NULL;
     END
     $$",
    "CREATE TRIGGER bookmark_of_changed_document AFTER UPDATE OF title, content_type, bookmark_id ON document
     FOR EACH ROW WHEN (NEW.title <> OLD.title OR NEW.content_type <> OLD.content_type
                        OR NEW.bookmark_id IS DISTINCT FROM OLD.bookmark_id)
     EXECUTE FUNCTION bookmark_of_changed_document()",
    "CREATE FUNCTION copies_of_changed_bookmark() RETURNS trigger LANGUAGE plpgsql
       SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
     BEGIN
       UPDATE bookmark_tag SET saved_at = NEW.saved_at, flags = NEW.flags, title_key = NEW.title_key
         WHERE bookmark_id = NEW.id AND user_id = NEW.user_id;
       UPDATE collection_bookmark SET saved_at = NEW.saved_at, flags = NEW.flags, title_key = NEW.title_key
         WHERE bookmark_id = NEW.id AND user_id = NEW.user_id;
       RETURN NULL;
     END
     $$",
    "CREATE TRIGGER copies_of_changed_bookmark AFTER UPDATE OF saved_at, favorite, archived, progress, title ON bookmark
     FOR EACH ROW WHEN (NEW.saved_at <> OLD.saved_at OR NEW.flags <> OLD.flags OR NEW.title_key <> OLD.title_key)
     EXECUTE FUNCTION copies_of_changed_bookmark()",
    // The lock waits for another transaction that changes the bookmark, and lets it see the new row afterwards.
    "CREATE FUNCTION copies_of_bookmark() RETURNS trigger LANGUAGE plpgsql
       SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
     DECLARE
       original RECORD;
     BEGIN
       SELECT saved_at, flags, title_key INTO original FROM bookmark WHERE id = NEW.bookmark_id FOR NO KEY UPDATE;
       IF FOUND THEN
         NEW.saved_at := original.saved_at;
         NEW.flags := original.flags;
         NEW.title_key := original.title_key;
       END IF;
       RETURN NEW;
     END
     $$",
    "CREATE TRIGGER copies_of_new_tag BEFORE INSERT ON bookmark_tag
     FOR EACH ROW EXECUTE FUNCTION copies_of_bookmark()",
    "CREATE TRIGGER copies_of_new_member BEFORE INSERT ON collection_bookmark
     FOR EACH ROW EXECUTE FUNCTION copies_of_bookmark()",
];
