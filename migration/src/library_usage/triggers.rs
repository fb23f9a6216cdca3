//! The triggers that count the bytes of each user's library.

use sea_orm_migration::sea_orm::DatabaseBackend;

use super::{COUNTED_TABLES, CountedTable};
use crate::sql_migration::BY_INDEXES;

/// Returns the statements that create the triggers of the accounts and of every counted table, and on PostgreSQL their functions.
pub(crate) fn trigger_statements(backend: DatabaseBackend) -> Vec<String> {
    if backend == DatabaseBackend::Postgres {
        postgres_user().into_iter().chain(COUNTED_TABLES.iter().flat_map(postgres_triggers)).collect()
    } else {
        let of_users = SQLITE_USER.iter().map(|statement| (*statement).to_owned());
        of_users.chain(COUNTED_TABLES.iter().flat_map(sqlite_triggers)).collect()
    }
}

/// Each account has its row from its creation, so that counting is always an update. The row is deleted before the account, so that
/// the cascading deletes update nothing: on PostgreSQL each of thousands of updates of one row in one transaction would read all
/// earlier versions of the row.
const SQLITE_USER: [&str; 2] = [
    r#"CREATE TRIGGER library_usage_of_user AFTER INSERT ON "user" BEGIN
         INSERT INTO library_usage (user_id, bytes, responses, response_bytes) VALUES (NEW.id, 0, 0, 0);
       END"#,
    r#"CREATE TRIGGER library_usage_of_deleted_user BEFORE DELETE ON "user" BEGIN
         DELETE FROM library_usage WHERE user_id = OLD.id;
       END"#,
];

/// The triggers of [`SQLITE_USER`] for PostgreSQL, where a trigger calls a function.
fn postgres_user() -> [String; 4] {
    let function = |name: &str, statement: &str, result: &str| {
        format!(
            "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql {BY_INDEXES} AS $$
             BEGIN
               {statement}
               RETURN {result};
             END
             $$"
        )
    };
    let trigger = |name: &str, event: &str| {
        format!(r#"CREATE TRIGGER {name} {event} ON "user" FOR EACH ROW EXECUTE FUNCTION {name}()"#)
    };
    let (created, deleted) = ("library_usage_of_user", "library_usage_of_deleted_user");
    let insert =
        "INSERT INTO library_usage (user_id, bytes, responses, response_bytes) VALUES (NEW.id, 0, 0, 0);";
    [
        function(created, insert, "NULL"),
        trigger(created, "AFTER INSERT"),
        function(deleted, "DELETE FROM library_usage WHERE user_id = OLD.id;", "OLD"),
        trigger(deleted, "BEFORE DELETE"),
    ]
}

/// Returns one trigger for each of insert, update and delete. An update cannot change the count of a table without counted columns.
fn sqlite_triggers(counted: &CountedTable) -> Vec<String> {
    let CountedTable { table, columns, is_stored_response, .. } = counted;
    let backend = DatabaseBackend::Sqlite;
    let (new, old) = (counted.trigger_bytes(backend, "NEW."), counted.trigger_bytes(backend, "OLD."));
    let trigger = |event: &str, when: &str, bytes: &str, rows: &str, row: &str| {
        let name = event.split(' ').next().unwrap_or(event).to_lowercase();
        let responses = if *is_stored_response {
            format!(", responses = responses + {rows}, response_bytes = response_bytes + ({bytes})")
        } else {
            String::new()
        };
        format!(
            "CREATE TRIGGER library_usage_{table}_{name} AFTER {event} ON {table} {when} BEGIN
               UPDATE library_usage SET bytes = bytes + ({bytes}){responses} WHERE user_id = {row}.user_id;
             END"
        )
    };
    // An update of other columns runs no trigger. One that keeps the number of bytes does not write the row of the count.
    let update = (!columns.is_empty()).then(|| {
        let event = format!("UPDATE OF {}", columns.join(", "));
        trigger(&event, &format!("WHEN {new} <> {old}"), &format!("{new} - ({old})"), "0", "NEW")
    });
    let insert = trigger("INSERT", "", &new, "1", "NEW");
    let delete = trigger("DELETE", "", &format!("0 - ({old})"), "(-1)", "OLD");
    [Some(insert), update, Some(delete)].into_iter().flatten().collect()
}

/// Returns a function for the table and the triggers that call it, one for each event: a transition table belongs to one event. The
/// events are those of [`sqlite_triggers`].
fn postgres_triggers(counted: &CountedTable) -> Vec<String> {
    let CountedTable { table, columns, is_stored_response, .. } = counted;
    let bytes = counted.trigger_bytes(DatabaseBackend::Postgres, "");
    let added = format!("SELECT user_id, {bytes} AS bytes, 1 AS items FROM added");
    let removed = format!("SELECT user_id, -({bytes}) AS bytes, -1 AS items FROM removed");
    let (responses, or_items) = if *is_stored_response {
        let responses = ", responses = counter.responses + change.items, \
                          response_bytes = counter.response_bytes + change.bytes";
        (responses, " OR change.items <> 0")
    } else {
        ("", "")
    };
    let count = |rows: &str| {
        format!(
            "UPDATE library_usage AS counter SET bytes = counter.bytes + change.bytes{responses}
             FROM (SELECT user_id, SUM(bytes) AS bytes, SUM(items) AS items FROM ({rows}) AS changed
                   GROUP BY user_id) AS change
             WHERE counter.user_id = change.user_id AND (change.bytes <> 0{or_items});"
        )
    };
    let function = format!(
        "CREATE FUNCTION library_usage_of_{table}() RETURNS trigger LANGUAGE plpgsql {BY_INDEXES} AS $$
         BEGIN
           IF TG_OP = 'INSERT' THEN
             {}
           ELSIF TG_OP = 'DELETE' THEN
             {}
           ELSE
             {}
           END IF;
           RETURN NULL;
         END
         $$",
        count(&added),
        count(&removed),
        count(&format!("{added} UNION ALL {removed}")),
    );
    let trigger = |event: &str, tables: &str| {
        let name = event.to_lowercase();
        format!(
            "CREATE TRIGGER library_usage_{table}_{name} AFTER {event} ON {table} REFERENCING {tables}
             FOR EACH STATEMENT EXECUTE FUNCTION library_usage_of_{table}()"
        )
    };
    let insert = trigger("INSERT", "NEW TABLE AS added");
    // No `UPDATE OF`: PostgreSQL refuses transition tables for a trigger with a list of columns.
    let update = (!columns.is_empty()).then(|| trigger("UPDATE", "OLD TABLE AS removed NEW TABLE AS added"));
    let delete = trigger("DELETE", "OLD TABLE AS removed");
    [Some(function), Some(insert), update, Some(delete)].into_iter().flatten().collect()
}
