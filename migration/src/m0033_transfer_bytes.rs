//! The bytes of the files of imports and exports count towards their account.

use crate::statement::Step;

/// Whose they are, and how many bytes are reserved for each. The size of the files of imports that are there already is not known:
/// they count nothing, and are kept for a week at most.
pub const STEP: Step = Step { name: "m0033_transfer_bytes", up: UP };

const UP: &str = r#"
ALTER TABLE stored_file ADD COLUMN user_id UUID REFERENCES "user" (id) ON DELETE SET NULL;
ALTER TABLE stored_file ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE stored_file SET user_id = (SELECT import.user_id FROM import WHERE import.id = stored_file.import_id)
WHERE import_id IS NOT NULL;
UPDATE stored_file SET
    user_id = (SELECT export.user_id FROM export WHERE export.id = stored_file.export_id),
    bytes = COALESCE((SELECT export.bytes FROM export WHERE export.id = stored_file.export_id), 0)
WHERE export_id IS NOT NULL;
CREATE INDEX stored_file_user ON stored_file (user_id)
"#;
