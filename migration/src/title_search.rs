//! The statements of `m0014_title_search`: the index by which titles and URLs of bookmarks are searched, and the triggers that keep
//! copies equal to their originals.
//!
//! | Copy | Original |
//! |---|---|
//! | `bookmark.title`, `bookmark.content_type` | the columns of the bookmark's document |
//! | `bookmark_tag.saved_at`, `collection_bookmark.saved_at` | the column of the bookmark |
//!
//! The program writes a copy with a new row; the triggers follow later changes of the original, also those by hand. The one of documents
//! also fires when a document gets a bookmark: on PostgreSQL the title may have changed after the bookmark was inserted with it.
//!
//! # Search on SQLite
//!
//! `title_search` is an FTS5 table of trigrams. It contains the lower-case URL of each bookmark in the row `2 * number`, and the title in
//! `2 * number + 1` unless it is the URL. `title_search_row` has the number of each bookmark, and the numbers of a user begin at
//! `slot << 32`, with the slot of `title_search_owner`: so a query reads the part of the index that belongs to its user.
//!
//! - The URL and the title are separate rows because a title that replaces the URL, when the page was read, only adds a row: 0.1 ms.
//! - `secure-delete` removes the trigrams of a deleted text from the file at once, and costs 1 to 2 ms for each text. Without it they stay in
//!   the file until that part of the index is merged. Of a user with more than a hundredth of all bookmarks the texts are not deleted one by
//!   one: the index is built again from the bookmarks of the others, at 10 microseconds for each text.
//! - SQLite before 3.42 cannot write to an index from which `secure-delete` removed a text. It can read the other tables, and change
//!   bookmarks except their titles and URLs.
//! - `case_sensitive 1`, because the texts are in lower case by the rule of the query, `lower()`; FTS5 folds other letters too.
//! - `detail=none` and `columnsize=0`: a query asks for rows that have trigrams, and the exact rule is tested on the bookmarks.
//!
//! # Search on PostgreSQL
//!
//! A GIN index of the extension `pg_trgm`, which `btree_gin` lets begin with the owner. PostgreSQL counts both as trusted: the owner of
//! a database may create them. Its list of pending entries is short, because each query reads it.

/// Creates the tables and triggers on SQLite.
pub(crate) const SQLITE: &[&str] = &[
    "CREATE VIRTUAL TABLE title_search USING
       fts5(text, content='', tokenize='trigram case_sensitive 1', detail=none, columnsize=0)",
    "INSERT INTO title_search (title_search, rank) VALUES ('secure-delete', 1)",
    // No foreign keys: the triggers below delete the rows when the texts are out of the index.
    "CREATE TABLE title_search_owner (slot INTEGER PRIMARY KEY, user_id UUID NOT NULL UNIQUE)",
    "CREATE TABLE title_search_row (number INTEGER PRIMARY KEY, bookmark_id UUID NOT NULL UNIQUE)",
    r#"CREATE TRIGGER title_search_of_user AFTER INSERT ON "user" BEGIN
         INSERT INTO title_search_owner (user_id) VALUES (NEW.id);
       END"#,
    // Without the slot the texts of the bookmarks are left in the index, which the next trigger builds again.
    r#"CREATE TRIGGER title_search_of_deleted_user BEFORE DELETE ON "user" BEGIN
         DELETE FROM title_search_owner WHERE user_id = OLD.id
           AND (SELECT COUNT(*) FROM title_search_row
                WHERE number > (slot << 32) AND number < ((slot + 1) << 32)) * 100
             > (SELECT COUNT(*) FROM title_search_row);
       END"#,
    // Runs when the bookmarks of the user were deleted.
    r#"CREATE TRIGGER title_search_without_user AFTER DELETE ON "user" BEGIN
         INSERT INTO title_search (title_search)
           SELECT 'delete-all' WHERE NOT EXISTS (SELECT 1 FROM title_search_owner WHERE user_id = OLD.id);
         INSERT INTO title_search (rowid, text)
           SELECT numbered.number * 2, lower(bookmark.url)
           FROM title_search_row AS numbered CROSS JOIN bookmark ON bookmark.id = numbered.bookmark_id
           WHERE NOT EXISTS (SELECT 1 FROM title_search_owner WHERE user_id = OLD.id);
         INSERT INTO title_search (rowid, text)
           SELECT numbered.number * 2 + 1, lower(bookmark.title)
           FROM title_search_row AS numbered CROSS JOIN bookmark ON bookmark.id = numbered.bookmark_id
           WHERE bookmark.title <> bookmark.url
             AND NOT EXISTS (SELECT 1 FROM title_search_owner WHERE user_id = OLD.id);
         DELETE FROM title_search_owner WHERE user_id = OLD.id;
       END"#,
    "CREATE TRIGGER title_search_of_bookmark AFTER INSERT ON bookmark BEGIN
       INSERT INTO title_search_row (number, bookmark_id)
         SELECT COALESCE((SELECT number FROM title_search_row
                          WHERE number > (slot << 32) AND number < ((slot + 1) << 32)
                          ORDER BY number DESC LIMIT 1), slot << 32) + 1, NEW.id
         FROM title_search_owner WHERE user_id = NEW.user_id;
       INSERT INTO title_search (rowid, text)
         SELECT number * 2, lower(NEW.url) FROM title_search_row WHERE bookmark_id = NEW.id;
       INSERT INTO title_search (rowid, text)
         SELECT number * 2 + 1, lower(NEW.title) FROM title_search_row
         WHERE bookmark_id = NEW.id AND NEW.title <> NEW.url;
     END",
    "CREATE TRIGGER title_search_of_changed_bookmark AFTER UPDATE OF title, url ON bookmark
     WHEN NEW.title <> OLD.title OR NEW.url <> OLD.url BEGIN
       INSERT INTO title_search (title_search, rowid, text)
         SELECT 'delete', number * 2, lower(OLD.url) FROM title_search_row
         WHERE bookmark_id = OLD.id AND NEW.url <> OLD.url;
       INSERT INTO title_search (rowid, text)
         SELECT number * 2, lower(NEW.url) FROM title_search_row
         WHERE bookmark_id = NEW.id AND NEW.url <> OLD.url;
       INSERT INTO title_search (title_search, rowid, text)
         SELECT 'delete', number * 2 + 1, lower(OLD.title) FROM title_search_row
         WHERE bookmark_id = OLD.id AND OLD.title <> OLD.url;
       INSERT INTO title_search (rowid, text)
         SELECT number * 2 + 1, lower(NEW.title) FROM title_search_row
         WHERE bookmark_id = NEW.id AND NEW.title <> NEW.url;
     END",
    "CREATE TRIGGER title_search_of_deleted_bookmark AFTER DELETE ON bookmark BEGIN
       INSERT INTO title_search (title_search, rowid, text)
         SELECT 'delete', number * 2, lower(OLD.url) FROM title_search_row
         WHERE bookmark_id = OLD.id AND EXISTS (SELECT 1 FROM title_search_owner WHERE user_id = OLD.user_id);
       INSERT INTO title_search (title_search, rowid, text)
         SELECT 'delete', number * 2 + 1, lower(OLD.title) FROM title_search_row
         WHERE bookmark_id = OLD.id AND OLD.title <> OLD.url
           AND EXISTS (SELECT 1 FROM title_search_owner WHERE user_id = OLD.user_id);
       DELETE FROM title_search_row WHERE bookmark_id = OLD.id;
     END",
    "CREATE TRIGGER bookmark_of_changed_document AFTER UPDATE OF title, content_type, bookmark_id ON document
     WHEN NEW.title <> OLD.title OR NEW.content_type <> OLD.content_type OR NEW.bookmark_id IS NOT OLD.bookmark_id
     BEGIN
       UPDATE bookmark SET title = NEW.title, content_type = NEW.content_type
         WHERE document_id = NEW.id AND user_id = NEW.user_id
           AND (title <> NEW.title OR content_type <> NEW.content_type);
     END",
    "CREATE TRIGGER saved_at_of_changed_bookmark AFTER UPDATE OF saved_at ON bookmark
     WHEN NEW.saved_at <> OLD.saved_at BEGIN
       UPDATE bookmark_tag SET saved_at = NEW.saved_at WHERE bookmark_id = NEW.id AND user_id = NEW.user_id;
       UPDATE collection_bookmark SET saved_at = NEW.saved_at
         WHERE bookmark_id = NEW.id AND user_id = NEW.user_id;
     END",
];

/// Creates the extensions on PostgreSQL. A database that has them already needs no right for it.
pub(crate) const POSTGRES_EXTENSIONS: &[&str] =
    &["CREATE EXTENSION IF NOT EXISTS pg_trgm", "CREATE EXTENSION IF NOT EXISTS btree_gin"];

/// Creates the index and triggers on PostgreSQL.
pub(crate) const POSTGRES: &[&str] = &[
    "CREATE INDEX bookmark_title_search ON bookmark
       USING gin (user_id, lower(title) gin_trgm_ops, lower(url) gin_trgm_ops) WITH (gin_pending_list_limit = 256)",
    "CREATE FUNCTION bookmark_of_changed_document() RETURNS trigger LANGUAGE plpgsql AS $$
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
    "CREATE FUNCTION saved_at_of_changed_bookmark() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       UPDATE bookmark_tag SET saved_at = NEW.saved_at WHERE bookmark_id = NEW.id AND user_id = NEW.user_id;
       UPDATE collection_bookmark SET saved_at = NEW.saved_at
         WHERE bookmark_id = NEW.id AND user_id = NEW.user_id;
       RETURN NULL;
     END
     $$",
    "CREATE TRIGGER saved_at_of_changed_bookmark AFTER UPDATE OF saved_at ON bookmark
     FOR EACH ROW WHEN (NEW.saved_at <> OLD.saved_at) EXECUTE FUNCTION saved_at_of_changed_bookmark()",
];
