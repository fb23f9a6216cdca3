//! `get_document`: its arguments.

use actors::operations::document::{DocumentRef, MAX_CHARS, OFFSET, ReadDocument};
use entity::id::{BookmarkId, DocumentId};
use errors::{Error, Fault, Invalid};
use validation::{Field, Kind, Values};

/// The fields that name a document, of which a call gives one.
const NAME_FIELDS: [&str; 3] = ["documentId", "bookmarkId", "url"];

/// The fields of the arguments.
pub const FIELDS: &[Field] = &[
    Field::optional(NAME_FIELDS[0], Kind::Id, "The document, as search_library names it."),
    Field::optional(NAME_FIELDS[1], Kind::Id, "The bookmark whose text it is."),
    Field::optional(NAME_FIELDS[2], Kind::Words { min: 1, max: 8192 }, "The URL that was saved."),
    OFFSET,
    MAX_CHARS,
];

/// Makes the operation from the arguments.
pub fn read(mut values: Values) -> Result<ReadDocument, Error> {
    let names = [
        values.id(NAME_FIELDS[0]).map(|id| DocumentRef::Document(DocumentId(id))),
        values.id(NAME_FIELDS[1]).map(|id| DocumentRef::Bookmark(BookmarkId(id))),
        values.text(NAME_FIELDS[2]).map(DocumentRef::Url),
    ];
    let given = names.map(|name| name.ok_or(()));
    match given {
        [Ok(named), Err(()), Err(())] | [Err(()), Ok(named), Err(())] | [Err(()), Err(()), Ok(named)] => {
            Ok(ReadDocument::page_of(named, values))
        }
        none_or_many => Err(not_exactly_one(none_or_many.map(|name| name.is_ok())).into()),
    }
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
    use validation::read_map;

    use super::*;

    const ID: &str = "01890000-0000-7000-8000-000000000000";

    fn parse(arguments: Value) -> Result<ReadDocument, Error> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        read(read_map(arguments, FIELDS)?)
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
