//! The bookmark of a document is found without looking at all of them: a removal asks for each document.

use crate::statement::Step;

/// An index of the documents that bookmarks name.
pub const STEP: Step = Step { name: "m0011_bookmark_document", up: UP };

const UP: &str = "CREATE INDEX bookmark_of_document ON bookmark (document_id)";
