//! What users and operators control: who is an operator, the devices of sessions, links that reset a password, and how many calls a day
//! each key and app makes.

use sea_orm_migration::sea_orm::DatabaseBackend;

use crate::sql_migration::{BY_INDEXES, SqlMigration};

/// Adds the columns and tables, and the triggers that count calls.
pub fn migration() -> SqlMigration {
    let tables = &[OPERATOR, SESSION_DEVICE, PASSWORD_RESET, ACTIVITY_REFUSED, ACTIVITY_DAY, FAILING_FEEDS];
    SqlMigration::with_triggers("m0023_control", tables, trigger_statements)
}

/// The account of a server that has only one is that of its operator. On a server with several accounts `carrel user set-operator` names
/// the operator.
const OPERATOR: &str = r#"
ALTER TABLE "user" ADD COLUMN operator_since BIGINT;
UPDATE "user" SET operator_since = created_at WHERE (SELECT COUNT(*) FROM "user") = 1
"#;

const SESSION_DEVICE: &str = "
ALTER TABLE session ADD COLUMN device TEXT;
ALTER TABLE session ADD COLUMN last_used_at BIGINT NOT NULL DEFAULT 0;
UPDATE session SET last_used_at = created_at
";

/// `secret_hash` is null until the e-mail with the secret is sent.
const PASSWORD_RESET: &str = r#"
CREATE TABLE password_reset (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    secret_hash BYTES UNIQUE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX password_reset_user ON password_reset (user_id);
CREATE INDEX password_reset_expires ON password_reset (expires_at)
"#;

/// REST calls have the HTTP status, and MCP calls `ok` or the code of an error. `activity_refused` lists the calls that were refused.
const ACTIVITY_REFUSED: &str = "
ALTER TABLE activity ADD COLUMN refused BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE activity SET refused = TRUE WHERE status <> 'ok' AND substr(status, 1, 1) NOT IN ('2', '3');
CREATE INDEX activity_refused ON activity (user_id, id, surface, key_id, grant_id, refused) WHERE refused
";

/// The numbers of the lines of `activity`, by day, surface and credential: a key or a grant. Triggers count each line that is inserted.
/// Lines are deleted by their age alone, so none is counted back. As in `activity`, no column is a foreign key.
const ACTIVITY_DAY: &str = "
CREATE TABLE activity_day (
    user_id UUID NOT NULL,
    day INTEGER NOT NULL,
    surface TEXT NOT NULL,
    credential_id UUID NOT NULL,
    calls BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    PRIMARY KEY (user_id, day, surface, credential_id)
) WITHOUT ROWID;
CREATE INDEX activity_day_day ON activity_day (day);
CREATE INDEX activity_day_credential ON activity_day (user_id, credential_id, day);
INSERT INTO activity_day (user_id, day, surface, credential_id, calls, refused)
SELECT user_id, at / 86400000, surface, COALESCE(key_id, grant_id), COUNT(*), SUM(CASE WHEN refused THEN 1 ELSE 0 END)
FROM activity
WHERE COALESCE(key_id, grant_id) IS NOT NULL
GROUP BY user_id, at / 86400000, surface, COALESCE(key_id, grant_id)
";

/// The feeds whose last fetch failed, for the operator's list of failing hosts.
const FAILING_FEEDS: &str = "
CREATE INDEX feed_source_failing ON feed_source (id) WHERE failures > 0
";

/// Returns the triggers that count the lines of the activity.
pub(crate) fn trigger_statements(backend: DatabaseBackend) -> Vec<String> {
    if backend != DatabaseBackend::Postgres {
        return vec![
            "CREATE TRIGGER activity_counted AFTER INSERT ON activity
             WHEN COALESCE(NEW.key_id, NEW.grant_id) IS NOT NULL
             BEGIN
               INSERT INTO activity_day (user_id, day, surface, credential_id, calls, refused)
               VALUES (
                 NEW.user_id, NEW.at / 86400000, NEW.surface, COALESCE(NEW.key_id, NEW.grant_id), 1,
                 CASE WHEN NEW.refused THEN 1 ELSE 0 END
               )
               ON CONFLICT (user_id, day, surface, credential_id)
               DO UPDATE SET calls = calls + 1, refused = refused + excluded.refused;
             END"
            .to_owned(),
        ];
    }
    vec![
        // In the order of the key, so that two processes that count at the same time lock the rows in the same order.
        format!(
            "CREATE FUNCTION activity_counted() RETURNS trigger LANGUAGE plpgsql {BY_INDEXES} AS $$
             BEGIN
               INSERT INTO activity_day AS counted (user_id, day, surface, credential_id, calls, refused)
               SELECT user_id, at / 86400000, surface, COALESCE(key_id, grant_id), COUNT(*),
                 SUM(CASE WHEN refused THEN 1 ELSE 0 END)
               FROM added
               WHERE COALESCE(key_id, grant_id) IS NOT NULL
               GROUP BY user_id, at / 86400000, surface, COALESCE(key_id, grant_id)
               ORDER BY 1, 2, 3, 4
               ON CONFLICT (user_id, day, surface, credential_id)
               DO UPDATE SET calls = counted.calls + excluded.calls, refused = counted.refused + excluded.refused;
               RETURN NULL;
             END
             $$"
        ),
        "CREATE TRIGGER activity_counted AFTER INSERT ON activity REFERENCING NEW TABLE AS added
         FOR EACH STATEMENT EXECUTE FUNCTION activity_counted()"
            .to_owned(),
    ]
}
