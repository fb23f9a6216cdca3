//! Durable background work.

use sea_orm_migration::sea_orm::DatabaseBackend;

use crate::sql_migration::{BY_INDEXES, SqlMigration};

/// Creates the queue of jobs.
pub fn migration() -> SqlMigration {
    SqlMigration::with_triggers("m0004_jobs", &[JOB], trigger_statements)
}

/// Returns the triggers that clear `document.awaits_index_job` once a job ends or is removed that would have indexed the metadata of the
/// document. The column may be clear while another such job waits, and is never set without one.
///
/// A job that ends gets a `finished_at`, so claims and leases run no trigger. On PostgreSQL the function looks first, because each update of documents runs the triggers that count, also one that finds no row.
fn trigger_statements(backend: DatabaseBackend) -> Vec<String> {
    let document = "document WHERE id = OLD.subject AND user_id = OLD.user_id AND awaits_index_job";
    let clear = "UPDATE document SET awaits_index_job = FALSE
         WHERE id = OLD.subject AND user_id = OLD.user_id AND awaits_index_job;";
    let was_pending = "OLD.state IN ('queued', 'running') AND OLD.kind IN ('process_text', 'index')";
    let triggers = [
        (
            "index_job_is_ended",
            "AFTER UPDATE OF finished_at ON job",
            format!("{was_pending} AND NEW.state NOT IN ('queued', 'running')"),
        ),
        ("index_job_is_removed", "AFTER DELETE ON job", was_pending.to_owned()),
    ];
    if backend != DatabaseBackend::Postgres {
        return triggers
            .iter()
            .map(|(name, event, when)| format!("CREATE TRIGGER {name} {event} WHEN {when} BEGIN {clear} END"))
            .collect();
    }
    let function = format!(
        "CREATE FUNCTION index_job_has_ended() RETURNS trigger LANGUAGE plpgsql {BY_INDEXES} AS $$
         BEGIN
           IF EXISTS (SELECT 1 FROM {document}) THEN
             {clear}
           END IF;
           RETURN NULL;
         END
         $$"
    );
    let triggers = triggers.iter().map(|(name, event, when)| {
        format!(
            "CREATE TRIGGER {name} {event} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION index_job_has_ended()"
        )
    });
    std::iter::once(function).chain(triggers).collect()
}

/// A subject has at most one running job, and at most one queued job of each kind. `subject` is an id of a table that depends on
/// the kind. `user_id` is no foreign key: `m0016_job_owner` says why. A queued job with a `queue_position` is due: `job_due` orders all due
/// jobs, `job_user_due` those of each user, and `job_shared_due` those that serve all followers of a feed. `job_text_due` and
/// `job_text_user_due` have the same orders of the jobs of their track that do not change the index, for a server that leaves the others to
/// another one, and `job_deletion_due` and `job_deletion_user_due` of those that only delete, for one whose disk is below its floor: however
/// many jobs of other kinds wait, neither reads them. `job_user_newest` has only those that may share a slot, those of a user by their
/// subjects, of which the newest has the largest id: so a batch finds the newest documents without the user's other jobs. `job_deferred`
/// finds queued jobs whose time comes. `job_finished` finds the jobs of a user that succeeded. `job_given_up` lists the jobs that failed, and
/// `job_user_given_up` those of a user. `job_user_pending` lists the jobs of a user that wait or run, those that make documents apart from
/// the others, and counts those of all users by track: it includes what the counts compare, so that they do not read the jobs.
///
/// The kinds in `makes_document` are those of `JobKind::makes_document`, those in `job_shared_due` are those of
/// `JobKind::serves_all_followers`, those in `job_user_newest` are those of `JobKind::runs_in_batches`, and those in the triggers are those
/// of `JobKind::indexes_metadata`; tests of crate `jobs` compare them.
const JOB: &str = r#"
CREATE TABLE job (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL,
    kind TEXT NOT NULL,
    subject UUID NOT NULL,
    state TEXT NOT NULL,
    track SMALLINT NOT NULL DEFAULT 1,
    priority SMALLINT NOT NULL,
    queue_position BIGINT,
    run_at BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    crashes INTEGER NOT NULL DEFAULT 0,
    progress INTEGER NOT NULL DEFAULT 0,
    lease_token UUID,
    lease_owner UUID,
    lease_until BIGINT,
    error TEXT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT,
    makes_document BOOLEAN NOT NULL GENERATED ALWAYS AS (
        CASE kind WHEN 'fetch_page' THEN TRUE WHEN 'process_text' THEN TRUE WHEN 'process_file' THEN TRUE
        WHEN 'transcribe' THEN TRUE WHEN 'index' THEN TRUE ELSE FALSE END
    ) STORED,
    CHECK ((finished_at IS NULL) = (state IN ('queued', 'running')))
);
CREATE INDEX job_lease ON job (lease_until) WHERE state = 'running';
CREATE UNIQUE INDEX job_queued ON job (kind, subject) WHERE state = 'queued';
CREATE INDEX job_subject ON job (subject);
CREATE INDEX job_finished ON job (user_id, finished_at) WHERE state = 'done';
CREATE INDEX job_given_up ON job (finished_at, id) WHERE state = 'given_up';
CREATE INDEX job_user_given_up ON job (user_id, finished_at, id) WHERE state = 'given_up';
CREATE INDEX job_due ON job (track, priority, queue_position, id)
    WHERE state = 'queued' AND queue_position IS NOT NULL;
CREATE INDEX job_user_due ON job (track, priority, user_id, queue_position)
    WHERE state = 'queued' AND queue_position IS NOT NULL;
CREATE INDEX job_text_due ON job (track, priority, queue_position, id)
    WHERE state = 'queued' AND queue_position IS NOT NULL AND kind IN ('process_text', 'deliver_entries');
CREATE INDEX job_text_user_due ON job (track, priority, user_id)
    WHERE state = 'queued' AND queue_position IS NOT NULL AND kind IN ('process_text', 'deliver_entries');
CREATE INDEX job_deletion_due ON job (track, priority, queue_position, id)
    WHERE state = 'queued' AND queue_position IS NOT NULL AND kind IN ('remove_from_index', 'remove_feed');
CREATE INDEX job_deletion_user_due ON job (track, priority, user_id)
    WHERE state = 'queued' AND queue_position IS NOT NULL AND kind IN ('remove_from_index', 'remove_feed');
CREATE INDEX job_user_newest ON job (user_id, track, priority, subject)
    WHERE state = 'queued' AND queue_position IS NOT NULL AND attempts = 0 AND crashes = 0 AND progress = 0
    AND kind IN ('process_text', 'index');
CREATE INDEX job_deferred ON job (run_at) WHERE state = 'queued' AND queue_position IS NULL;
CREATE UNIQUE INDEX job_running ON job (subject) WHERE state = 'running';
CREATE INDEX job_user_pending ON job (user_id, state, makes_document, priority, run_at, kind, track, subject)
    WHERE state IN ('queued', 'running');
CREATE INDEX job_shared_due ON job (track, priority, queue_position)
    WHERE state = 'queued' AND queue_position IS NOT NULL AND kind IN ('fetch_feed', 'subscribe')
"#;
