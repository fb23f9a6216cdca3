//! The index of the list of a user's uploads.

use crate::sql_migration::SqlMigration;

/// Creates the index.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0020_upload_list", &[UPLOAD_LISTED])
}

/// `upload_listed` lists the uploads of a user, newest first: their ids have the order of their announcements.
const UPLOAD_LISTED: &str = "CREATE INDEX upload_listed ON upload (user_id, id)";
