//! The SQL of triggers, and of the functions that they call on PostgreSQL.

use sea_orm_migration::sea_orm::DatabaseBackend;

use crate::sql_migration::BY_INDEXES;

/// Returns a trigger that runs statements for each row of a table. On PostgreSQL its function comes first.
pub(super) fn row_trigger(
    backend: DatabaseBackend,
    (table, name): (&str, &str),
    event: &str,
    when: &str,
    statements: &str,
) -> Vec<String> {
    let name = format!("row_count_{table}_{name}");
    if backend != DatabaseBackend::Postgres {
        return vec![format!("CREATE TRIGGER {name} {event} ON \"{table}\" {when} BEGIN {statements} END")];
    }
    // The result of a trigger after the event is ignored; one before it must return the row.
    let result = match event.split(' ').next() {
        Some("BEFORE") if event == "BEFORE DELETE" => "OLD",
        Some("BEFORE") => "NEW",
        _ => "NULL",
    };
    vec![
        format!(
            "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql {BY_INDEXES} AS $$
             BEGIN {statements} RETURN {result}; END $$"
        ),
        format!("CREATE TRIGGER {name} {event} ON \"{table}\" FOR EACH ROW {when} EXECUTE FUNCTION {name}()"),
    ]
}

/// Returns the function that runs statements on the transition tables `added` and `removed`: those of an insert, an update and a
/// delete.
pub(super) fn statement_function(name: &str, [insert, update, delete]: [&str; 3]) -> String {
    format!(
        "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql {BY_INDEXES} AS $$
         BEGIN
           IF TG_OP = 'INSERT' THEN
             {insert}
           ELSIF TG_OP = 'DELETE' THEN
             {delete}
           ELSE
             {update}
           END IF;
           RETURN NULL;
         END
         $$"
    )
}

/// Returns the triggers that call this function once for each statement.
pub(super) fn statement_triggers(table: &str, function: &str, on_update: bool) -> Vec<String> {
    let trigger = |event: &str, tables: &str| {
        format!(
            "CREATE TRIGGER {function}_{} AFTER {event} ON {table} REFERENCING {tables}
             FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
            event.to_lowercase()
        )
    };
    let insert = trigger("INSERT", "NEW TABLE AS added");
    // No `UPDATE OF`: PostgreSQL refuses transition tables for a trigger with a list of columns.
    let update = on_update.then(|| trigger("UPDATE", "OLD TABLE AS removed NEW TABLE AS added"));
    let delete = trigger("DELETE", "OLD TABLE AS removed");
    [Some(insert), update, Some(delete)].into_iter().flatten().collect()
}
