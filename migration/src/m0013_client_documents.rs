//! Applications that are named by the address of a document about themselves, and the service itself as one.

use crate::statement::Step;

/// The address of the document, when it was last read, and whether it is the service itself.
pub const STEP: Step = Step { name: "m0013_client_documents", up: UP };

const UP: &str = "
ALTER TABLE oauth_client ADD COLUMN document TEXT;
ALTER TABLE oauth_client ADD COLUMN document_read_at BIGINT;
ALTER TABLE oauth_client ADD COLUMN walk BOOLEAN NOT NULL DEFAULT FALSE;
CREATE UNIQUE INDEX oauth_client_document ON oauth_client (document)
";
