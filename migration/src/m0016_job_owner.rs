//! The accounts of jobs. The user of a job is no foreign key: an account that is deleted would look for its jobs in the whole table,
//! because an index of all jobs by their users would cost each job a write, and without statistics SQLite would prefer it to the index of
//! their subjects. Triggers do what a foreign key does, by the partial indexes `job_user_pending`, `job_finished` and `job_user_given_up`.

use sea_orm_migration::sea_orm::DatabaseBackend;

use crate::sql_migration::{BY_INDEXES, SqlMigration};

/// Creates the triggers of jobs and of accounts.
pub fn migration() -> SqlMigration {
    SqlMigration::with_triggers("m0016_job_owner", &[], trigger_statements)
}

/// The deletion of the jobs of the account `OLD`, in each of their states.
const DELETE_JOBS: &str = "
    DELETE FROM job WHERE user_id = OLD.id AND state IN ('queued', 'running');
    DELETE FROM job WHERE user_id = OLD.id AND state = 'done';
    DELETE FROM job WHERE user_id = OLD.id AND state = 'given_up';";

/// Returns the triggers that refuse jobs without an account and delete the jobs of an account before it. The one of accounts comes after
/// those that lock and delete its counters, because PostgreSQL runs the triggers of an event by their names: so the jobs are not counted.
pub(crate) fn trigger_statements(backend: DatabaseBackend) -> Vec<String> {
    if backend != DatabaseBackend::Postgres {
        return vec![
            r#"CREATE TRIGGER job_of_user AFTER INSERT ON job
               WHEN NOT EXISTS (SELECT 1 FROM "user" WHERE id = NEW.user_id)
               BEGIN SELECT RAISE(ABORT, 'a job has no account'); END"#
                .to_owned(),
            format!(r#"CREATE TRIGGER user_of_jobs_deleted BEFORE DELETE ON "user" BEGIN {DELETE_JOBS} END"#),
        ];
    }
    vec![
        // As a foreign key does, it waits for a transaction that deletes the account, and lets such a transaction wait.
        format!(
            r#"CREATE FUNCTION job_of_user() RETURNS trigger LANGUAGE plpgsql {BY_INDEXES} AS $$
               BEGIN
                 IF (SELECT COUNT(DISTINCT user_id) FROM added) > (
                      SELECT COUNT(*) FROM (SELECT 1 FROM "user" WHERE id IN (SELECT user_id FROM added) FOR KEY SHARE) AS owner
                    ) THEN
                   RAISE EXCEPTION 'a job has no account' USING ERRCODE = 'foreign_key_violation';
                 END IF;
                 RETURN NULL;
               END
               $$"#
        ),
        "CREATE TRIGGER job_of_user AFTER INSERT ON job REFERENCING NEW TABLE AS added
         FOR EACH STATEMENT EXECUTE FUNCTION job_of_user()"
            .to_owned(),
        format!(
            "CREATE FUNCTION user_of_jobs_deleted() RETURNS trigger LANGUAGE plpgsql {BY_INDEXES} AS $$
             BEGIN {DELETE_JOBS} RETURN OLD; END
             $$"
        ),
        r#"CREATE TRIGGER user_of_jobs_deleted BEFORE DELETE ON "user"
           FOR EACH ROW EXECUTE FUNCTION user_of_jobs_deleted()"#
            .to_owned(),
    ]
}
