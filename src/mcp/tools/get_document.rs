//! `get_document`: its arguments.

use actors::operations::document::{DocumentRef, PageChars, PageOffset, ReadDocument};
use errors::Error;
use validation::{Fault, Id, Invalid, UrlText, request};
use values::id::{BookmarkId, DocumentId};

/// The fields that identify a document; a call has exactly one of them.
const NAME_FIELDS: [&str; 3] = ["documentId", "bookmarkId", "url"];

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
        (document, bookmark, url) => {
            return Err(not_exactly_one([document.is_some(), bookmark.is_some(), url.is_some()]).into());
        }
    };
    Ok(ReadDocument::page_of(document, offset, max_chars))
}

/// Reports the fields that were given, or all three if none was.
fn not_exactly_one(given: [bool; 3]) -> Invalid {
    let none = !given.contains(&true);
    let faulty = NAME_FIELDS.iter().zip(given).filter(|(_, given)| none || *given);
    let reason = "is one of documentId, bookmarkId and url: give exactly one of them";
    Invalid {
        faults: faulty
            .map(|(name, _)| Fault { field: (*name).to_owned(), reason: reason.to_owned() })
            .collect(),
    }
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

        assert_eq!(faulty(json!({})), NAME_FIELDS);
        assert_eq!(faulty(json!({ "documentId": ID, "url": "https://a.example" })), ["documentId", "url"]);
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
