//! State of the whole service.

use crate::sql_migration::SqlMigration;

/// Named values of the whole service.
pub const MIGRATION: SqlMigration = SqlMigration { name: "m0011_service_state", tables: &[SERVICE_STATE] };

const SERVICE_STATE: &str = "
CREATE TABLE service_state (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
)
";
