//! Settings of the web app that a user has changed.

use crate::sql_migration::SqlMigration;

/// Creates the table of settings.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0017_account_settings", &[ACCOUNT_SETTING])
}

/// An account without a row has the default of each setting. `NULL` in `language` and `time_zone` means those of the browser, and in the
/// three `reading_` numbers those of the preset.
const ACCOUNT_SETTING: &str = r#"
CREATE TABLE account_setting (
    user_id UUID PRIMARY KEY REFERENCES "user" (id) ON DELETE CASCADE,
    language TEXT,
    time_zone TEXT,
    theme TEXT NOT NULL,
    pictures TEXT NOT NULL,
    single_keys BOOLEAN NOT NULL,
    onboarding TEXT NOT NULL,
    reading_preset TEXT NOT NULL,
    reading_size INTEGER,
    reading_leading INTEGER,
    reading_measure INTEGER,
    reading_paper TEXT NOT NULL,
    reading_justified BOOLEAN NOT NULL,
    reading_inverts_pages BOOLEAN NOT NULL,
    words_per_minute INTEGER NOT NULL,
    updated_at BIGINT NOT NULL
)
"#;
