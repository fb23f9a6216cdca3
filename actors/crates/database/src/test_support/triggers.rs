//! The statements that triggers run. The databases do not show them in the plan of a statement that runs a trigger.
//!
//! They are read from the source of the triggers of the migrations: a `;` or a keyword in a quoted text would be misread.

use std::collections::HashMap;

use sea_orm::{ConnectionTrait, DatabaseBackend, DbErr, Statement, Value};

const SQLITE_TRIGGERS: &str = "SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name";
/// The functions with the table of each trigger that calls them. A function that others call has no table.
const POSTGRES_FUNCTIONS: &str =
    "SELECT DISTINCT proname::text AS name, COALESCE(relname::text, '') AS of_table, prosrc AS source
     FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
       LEFT JOIN pg_trigger ON tgfoid = pg_proc.oid LEFT JOIN pg_class ON pg_class.oid = tgrelid
     WHERE pronamespace = current_schema()::regnamespace AND lanname = 'plpgsql'
     ORDER BY name, of_table";
const POSTGRES_COLUMNS: &str = "SELECT relname::text AS of_table, attname::text AS name, format_type(atttypid, NULL) AS type
     FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped";
const POSTGRES_ARGUMENTS: &str = "SELECT DISTINCT argument AS name, format_type(type, NULL) AS type
     FROM pg_proc CROSS JOIN LATERAL unnest(proargnames, proargtypes::oid[]) AS arguments (argument, type)
     WHERE pronamespace = current_schema()::regnamespace AND argument <> ''";

/// The commands that statements of triggers begin with.
const COMMANDS: [&str; 5] = ["INSERT ", "UPDATE ", "DELETE ", "SELECT ", "WITH "];

/// The function of a trigger on PostgreSQL.
pub(super) struct TriggerFunction {
    /// The table whose trigger calls it; empty if another function does.
    table: String,
    /// The statements that it runs.
    pub statements: Vec<Statement>,
}

impl TriggerFunction {
    /// Returns the statements that create empty tables in the place of the changed rows, `added` and `removed`.
    pub(super) fn row_tables(&self) -> Vec<String> {
        let create = |name: &str| format!(r#"CREATE TEMPORARY TABLE {name} (LIKE "{}")"#, self.table);
        if self.table.is_empty() { Vec::new() } else { ["added", "removed"].map(create).to_vec() }
    }
}

/// Reads the statements and the conditions of the triggers on SQLite, with parameters for the columns of `NEW` and `OLD`.
pub(super) async fn sqlite_statements(db: &impl ConnectionTrait) -> Result<Vec<Statement>, DbErr> {
    let rows = db.query_all_raw(Statement::from_string(DatabaseBackend::Sqlite, SQLITE_TRIGGERS)).await?;
    let mut statements = Vec::new();
    for row in rows {
        let source: String = row.try_get("", "sql")?;
        statements.extend(sqlite_bodies(&source).into_iter().map(|sql| {
            let values = vec![Value::BigInt(None); sql.matches('?').count()];
            Statement::from_sql_and_values(DatabaseBackend::Sqlite, sql, values)
        }));
    }
    Ok(statements)
}

/// Returns the condition of a trigger, as a statement, and its statements.
fn sqlite_bodies(source: &str) -> Vec<String> {
    let source = in_one_line(source);
    let (head, body) = source.split_once(" BEGIN ").unwrap_or_default();
    let body = body.rsplit_once("END").map_or(body, |(body, _)| body);
    let condition = head.split_once(" WHEN ").map(|(_, condition)| format!("SELECT 1 WHERE {condition}"));
    let statements = body.split(';').map(str::trim).filter(|statement| !statement.is_empty());
    condition
        .into_iter()
        .chain(statements.map(str::to_owned))
        .map(|sql| replace_words(&without_raise(&sql), |word| is_of_row(word).then(|| "?".to_owned())))
        .collect()
}

/// Replaces the call by which a trigger refuses a change, which is allowed in triggers only.
fn without_raise(sql: &str) -> String {
    let Some((before, call)) = sql.split_once("RAISE(") else { return sql.to_owned() };
    let after = call.split_once(')').map_or("", |(_, after)| after);
    format!("{before}NULL{after}")
}

/// Reads the statements of the functions of triggers on PostgreSQL, with literals for the columns of `NEW` and `OLD` and for arguments.
pub(super) async fn postgres_functions(db: &impl ConnectionTrait) -> Result<Vec<TriggerFunction>, DbErr> {
    let query = |sql: &str| Statement::from_string(DatabaseBackend::Postgres, sql);
    let mut literals: HashMap<(String, String), String> = HashMap::new();
    for row in db.query_all_raw(query(POSTGRES_COLUMNS)).await? {
        let (table, name): (String, String) = (row.try_get("", "of_table")?, row.try_get("", "name")?);
        let value = literal(&row.try_get::<String>("", "type")?);
        for image in ["NEW", "OLD"] {
            literals.insert((table.clone(), format!("{image}.{name}")), value.clone());
        }
    }
    let mut arguments: HashMap<String, String> = HashMap::new();
    for row in db.query_all_raw(query(POSTGRES_ARGUMENTS)).await? {
        arguments.insert(row.try_get("", "name")?, literal(&row.try_get::<String>("", "type")?));
    }
    let mut functions = Vec::new();
    for row in db.query_all_raw(query(POSTGRES_FUNCTIONS)).await? {
        let (table, source): (String, String) = (row.try_get("", "of_table")?, row.try_get("", "source")?);
        let value = |word: &str| {
            let of_row = literals.get(&(table.clone(), word.to_owned()));
            of_row.or_else(|| arguments.get(word)).cloned()
        };
        let statements =
            postgres_bodies(&source).iter().map(|sql| query(&replace_words(sql, value))).collect();
        functions.push(TriggerFunction { table, statements });
    }
    Ok(functions)
}

/// Returns the statements of the source of a function. What its control statements and assignments select is a statement too.
fn postgres_bodies(source: &str) -> Vec<String> {
    let source = in_one_line(source);
    let mut bodies = Vec::new();
    for part in source.split(';') {
        let mut rest = part.trim();
        loop {
            if let Some(within) = ["BEGIN ", "ELSE "].iter().find_map(|word| rest.strip_prefix(word)) {
                rest = within;
            } else if let Some((condition, within)) = ["IF ", "ELSIF "]
                .iter()
                .find_map(|word| rest.strip_prefix(word))
                .and_then(|after| after.split_once(" THEN "))
            {
                if condition.contains("SELECT ") {
                    bodies.push(format!("SELECT {condition}"));
                }
                rest = within;
            } else {
                break;
            }
        }
        if COMMANDS.iter().any(|command| rest.starts_with(command)) {
            bodies.push(without_target(rest));
        } else if let Some((_, value)) =
            rest.split_once(" := ").filter(|(_, value)| value.contains("SELECT "))
        {
            bodies.push(format!("SELECT {value}"));
        }
    }
    bodies
}

/// Returns a statement without the variable that `SELECT ... INTO variable FROM` assigns.
fn without_target(sql: &str) -> String {
    match sql.split_once(" INTO ") {
        Some((columns, rest)) if columns.starts_with("SELECT ") => {
            let (_, from) = rest.split_once(' ').unwrap_or_default();
            format!("{columns} {from}")
        }
        _ => sql.to_owned(),
    }
}

fn in_one_line(source: &str) -> String {
    source.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Returns whether a word is a column of the changed row.
fn is_of_row(word: &str) -> bool {
    word.starts_with("NEW.") || word.starts_with("OLD.")
}

/// Replaces words by values: names, and columns with the table or row that they are of.
fn replace_words(sql: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let (mut replaced, mut word) = (String::with_capacity(sql.len()), String::new());
    // The end of the text ends the last word.
    for c in sql.chars().chain(['\n']) {
        if c.is_alphanumeric() || ['_', '.'].contains(&c) {
            word.push(c);
        } else {
            replaced.push_str(&value(&word).unwrap_or_else(|| word.clone()));
            replaced.push(c);
            word.clear();
        }
    }
    replaced.trim_end().to_owned()
}

/// Returns a literal of a type of PostgreSQL.
fn literal(of_type: &str) -> String {
    let value = match of_type {
        "uuid" => "00000000-0000-0000-0000-000000000001",
        "uuid[]" => "{00000000-0000-0000-0000-000000000001}",
        _ => "1",
    };
    format!("'{value}'::{of_type}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_a_trigger_are_read_with_its_condition() {
        let source = r#"CREATE TRIGGER t AFTER UPDATE ON "bird"
            WHEN CASE WHEN NEW.n IS NULL THEN 0 ELSE 1 END <> 0 BEGIN
              UPDATE egg SET n = NEW.n WHERE bird_id = OLD.id;
              DELETE FROM nest WHERE n = OLD.n;
            END"#;

        assert_eq!(
            sqlite_bodies(source),
            [
                "SELECT 1 WHERE CASE WHEN ? IS NULL THEN 0 ELSE 1 END <> 0",
                "UPDATE egg SET n = ? WHERE bird_id = ?",
                "DELETE FROM nest WHERE n = ?",
            ]
        );
    }

    #[test]
    fn statements_are_read_out_of_the_control_flow_of_a_function() {
        let source = "DECLARE
              original RECORD;
              lost UUID[] := ARRAY(SELECT id FROM removed);
            BEGIN
              IF EXISTS (SELECT 1 FROM bird WHERE id = OLD.id) THEN
                PERFORM remove_birds(lost);
              ELSE
                UPDATE egg SET n = 1;
              END IF;
              SELECT n INTO original FROM bird WHERE id = NEW.id;
              RETURN NULL;
            END";

        assert_eq!(
            postgres_bodies(source),
            [
                "SELECT ARRAY(SELECT id FROM removed)",
                "SELECT EXISTS (SELECT 1 FROM bird WHERE id = OLD.id)",
                "UPDATE egg SET n = 1",
                "SELECT n FROM bird WHERE id = NEW.id",
            ]
        );
    }
}
