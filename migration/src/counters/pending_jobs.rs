//! The jobs that make documents and wait or run: how many a user has, and whether a document that failed has one, which is listed with
//! its job then instead of with those that failed (`document.has_pending_job`). Only documents that failed have the right value: it is
//! set when they fail, and used for no others.
//!
//! A claim, a renewed lease and a deferral leave a job among those that wait or run. They change no counter, so on PostgreSQL they do not
//! wait for transactions of the user. On SQLite they run no trigger either: those of updates are of the column `finished_at`, which says
//! the same as the state (a `CHECK` of the table). What requests or ends jobs is in transactions of the user.

use sea_orm_migration::sea_orm::DatabaseBackend;

use super::kept_column::KeptColumn;
use super::trigger_sql::{row_trigger, statement_function, statement_triggers};
use crate::sql_migration::BY_INDEXES;

/// SQL for the value of `document.has_pending_job`. The documents are those of the outer statement, or those of a trigger.
fn has_pending_job(document: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM job WHERE job.subject = {document}.id AND job.makes_document AND job.finished_at IS NULL)"
    )
}

/// SQL for whether a document has no text, or its newer text failed: as in the partial index `document_failed`. The prefix is that of its
/// columns.
fn has_failed(document: &str) -> String {
    format!("({document}status = 'failed' OR {document}error IS NOT NULL)")
}

/// SQL for whether a job makes a document, and waits or runs.
fn is_pending(job: &str) -> String {
    format!("({job}makes_document AND {job}finished_at IS NULL)")
}

/// SQL for whether a document failed, and its column is wrong.
fn is_wrong() -> String {
    format!("{} AND has_pending_job <> {}", has_failed(""), has_pending_job("document"))
}

/// Returns an update that corrects the column of the documents that failed and meet a condition.
fn correct_documents(condition: &str) -> String {
    format!("UPDATE document SET has_pending_job = NOT has_pending_job WHERE {condition} AND {}", is_wrong())
}

/// The column `document.has_pending_job`, for the comparison with the jobs.
pub(super) fn column() -> KeptColumn {
    KeptColumn {
        differing_owners: format!("SELECT user_id FROM document WHERE {}", is_wrong()),
        correction: correct_documents("user_id = $1"),
    }
}

/// Returns the triggers of jobs and of documents, and on PostgreSQL their functions.
pub(super) fn statements(backend: DatabaseBackend) -> Vec<String> {
    if backend == DatabaseBackend::Postgres { postgres_statements() } else { sqlite_statements() }
}

fn sqlite_statements() -> Vec<String> {
    let body = |job: &str, change: &str| {
        format!(
            "UPDATE account_count SET pending_jobs = pending_jobs {change} WHERE user_id = {job}user_id;
             {};",
            correct_documents(&format!("id = {job}subject"))
        )
    };
    let (new, old) = (is_pending("NEW."), is_pending("OLD."));
    let job_triggers = [
        ("insert", "AFTER INSERT", new.clone(), body("NEW.", "+ 1")),
        (
            "update",
            "AFTER UPDATE OF finished_at, kind",
            format!("{new} <> {old}"),
            body("NEW.", &format!("+ {new} - {old}")),
        ),
        ("delete", "AFTER DELETE", old, body("OLD.", "- 1")),
    ];
    let is_new_wrong =
        format!("{} AND NEW.has_pending_job <> {}", has_failed("NEW."), has_pending_job("NEW"));
    let document_triggers = [
        ("failed_when_inserted", "AFTER INSERT", is_new_wrong.clone()),
        (
            "has_failed",
            "AFTER UPDATE OF status, error",
            format!("NOT {} AND {is_new_wrong}", has_failed("OLD.")),
        ),
    ];
    let correct = "UPDATE document SET has_pending_job = NOT NEW.has_pending_job WHERE id = NEW.id;";
    let sqlite = DatabaseBackend::Sqlite;
    let of_jobs = job_triggers.into_iter().flat_map(|(name, event, when, body)| {
        row_trigger(sqlite, ("job", name), event, &format!("WHEN {when}"), &body)
    });
    let of_documents = document_triggers.into_iter().flat_map(|(name, event, when)| {
        row_trigger(sqlite, ("document", name), event, &format!("WHEN {when}"), correct)
    });
    of_jobs.chain(of_documents).collect()
}

fn postgres_statements() -> Vec<String> {
    let pending = is_pending("");
    let count = |rows: &str| {
        format!(
            "UPDATE account_count AS counter SET pending_jobs = counter.pending_jobs + change.jobs
             FROM (SELECT user_id, SUM(jobs) AS jobs FROM ({rows}) AS changed GROUP BY user_id) AS change
             WHERE counter.user_id = change.user_id AND change.jobs <> 0;"
        )
    };
    let of_rows =
        |sign: &str, rows: &str| format!("SELECT user_id, {sign}1 AS jobs FROM {rows} WHERE {pending}");
    let correct = |subjects: &str| format!("PERFORM row_count_pending_job_of(ARRAY({subjects}));");
    let subjects = |rows: &str| format!("SELECT subject FROM {rows} WHERE {pending}");
    let (added, removed) = (subjects("added"), subjects("removed"));
    // Not a join of the two transition tables, whose rows have no index.
    let changed = format!("({added} EXCEPT {removed}) UNION ALL ({removed} EXCEPT {added})");
    let insert = format!("{} {}", count(&of_rows("", "added")), correct(&added));
    // Claims and renewed leases have only jobs before and after them that wait or run: nothing changes.
    let has_others = |rows: &str| format!("EXISTS (SELECT 1 FROM {rows} WHERE NOT {pending})");
    let update = format!(
        "IF NOT {} AND NOT {} THEN RETURN NULL; END IF; {} {}",
        has_others("added"),
        has_others("removed"),
        count(&format!("{} UNION ALL {}", of_rows("", "added"), of_rows("-", "removed"))),
        correct(&changed)
    );
    let delete = format!("{} {}", count(&of_rows("-", "removed")), correct(&removed));
    let of_subjects = "id = ANY (subjects)";
    // It looks first: an update runs the triggers of documents also if it finds no row.
    let correction = format!(
        "CREATE FUNCTION row_count_pending_job_of(subjects UUID[]) RETURNS void LANGUAGE plpgsql {BY_INDEXES} AS $$
         BEGIN
           IF subjects <> '{{}}' AND EXISTS (SELECT 1 FROM document WHERE {of_subjects} AND {}) THEN
             {};
           END IF;
         END
         $$",
        is_wrong(),
        correct_documents(of_subjects)
    );
    let mut statements =
        vec![correction, statement_function("row_count_of_job", [&insert, &update, &delete])];
    statements.extend(statement_triggers("job", "row_count_of_job", true));
    let set = format!("NEW.has_pending_job := {};", has_pending_job("NEW"));
    let failed = has_failed("NEW.");
    for (name, event, when) in [
        ("failed_when_inserted", "BEFORE INSERT", format!("WHEN ({failed})")),
        (
            "has_failed",
            "BEFORE UPDATE OF status, error",
            format!("WHEN ({failed} AND NOT {})", has_failed("OLD.")),
        ),
    ] {
        statements.extend(row_trigger(DatabaseBackend::Postgres, ("document", name), event, &when, &set));
    }
    statements
}
