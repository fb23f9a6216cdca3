//! State of the whole service.

use crate::sql_migration::SqlMigration;

/// Creates the table of named values of the whole service.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0011_service_state", &[SERVICE_STATE])
}

const SERVICE_STATE: &str = "
CREATE TABLE service_state (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
)
";
