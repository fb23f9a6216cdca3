//! `get_document`: its arguments.

use actors::operations::document::{DocumentRef, PageChars, PageOffset, ReadDocument};
use errors::Error;
use validation::{Id, Invalid, UrlText, request};
use values::id::{BookmarkId, DocumentId};

request! {
    /// The arguments of `get_document`.
    pub struct GetDocumentArguments {
        /// Id of the document, as returned by search_library.
        pub document_id?: Id<DocumentId>,
        /// Id of the bookmark whose text to read.
        pub bookmark_id?: Id<BookmarkId>,
        /// The saved URL.
        pub url?: UrlText,
        /// Offset of the page in characters: the `nextOffset` of the previous page. Default 0.
        pub offset?: PageOffset,
        /// Maximum length of the page in characters. Default 12000.
        pub max_chars?: PageChars,
    }
}

/// Creates the operation from the arguments.
pub fn build_operation(arguments: GetDocumentArguments) -> Result<ReadDocument, Error> {
    let GetDocumentArguments { document_id, bookmark_id, url, offset, max_chars } = arguments;
    let document = match (document_id, bookmark_id, url) {
        (Some(id), None, None) => DocumentRef::Document(id.into_inner()),
        (None, Some(id), None) => DocumentRef::Bookmark(id.into_inner()),
        (None, None, Some(url)) => DocumentRef::Url(url.into_inner()),
        (None, None, None) => return Err(not_exactly_one("documentId").into()),
        (Some(_), Some(_), _) => return Err(not_exactly_one("bookmarkId").into()),
        (_, _, Some(_)) => return Err(not_exactly_one("url").into()),
    };
    Ok(ReadDocument::page_of(document, offset, max_chars))
}

/// Reports one field for the rule that concerns all three: the first that is given in addition to another, or `documentId` if none is.
fn not_exactly_one(field: &str) -> Invalid {
    Invalid::new(field, "is one of documentId, bookmarkId and url: give exactly one of them")
}

#[cfg(test)]
mod tests {
    use actors::operation::Operation;
    use serde_json::{Value, json};
    use validation::read_object;

    use super::*;

    const ID: &str = "01890000-0000-7000-8000-000000000000";

    fn parse(arguments: Value) -> Result<ReadDocument, Error> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        build_operation(read_object(arguments)?)
    }

    fn faulty(arguments: Value) -> Vec<String> {
        match parse(arguments) {
            Err(Error::Invalid(invalid)) => invalid.faults.into_iter().map(|fault| fault.field).collect(),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn document_is_named_by_exactly_one_field() {
        assert!(matches!(parse(json!({ "documentId": ID })).unwrap().document, DocumentRef::Document(_)));
        assert!(matches!(
            parse(json!({ "bookmarkId": ID, "url": null })).unwrap().document,
            DocumentRef::Bookmark(_)
        ));
        assert!(matches!(
            parse(json!({ "url": "https://a.example" })).unwrap().document,
            DocumentRef::Url(_)
        ));

        assert_eq!(faulty(json!({})), ["documentId"]);
        assert_eq!(faulty(json!({ "documentId": ID, "url": "https://a.example" })), ["url"]);
        assert_eq!(faulty(json!({ "bookmarkId": ID, "url": "https://a.example" })), ["url"]);
        assert_eq!(faulty(json!({ "documentId": ID, "bookmarkId": ID, "url": "x" })), ["bookmarkId"]);
        assert_eq!(faulty(json!({ "documentId": "nonsense" })), ["documentId"]);
    }

    #[test]
    fn weight_depends_on_the_requested_characters() {
        for (max_chars, weight) in [(1, 1), (12_000, 1), (12_001, 2), (20_000, 2)] {
            assert_eq!(parse(json!({ "documentId": ID, "maxChars": max_chars })).unwrap().weight(), weight);
        }
        assert_eq!(parse(json!({ "documentId": ID })).unwrap().weight(), 1);
    }
}
