//! `get_document`: what it takes.

use errors::{Error, Fault, Invalid};
use validation::{Field, Kind, Values};
use actors::operations::document::{MAX_CHARS, Named, OFFSET, ReadDocument};
use entity::id::{BookmarkId, DocumentId};

/// The three names of a document, of which a call gives one.
const NAMES: [&str; 3] = ["documentId", "bookmarkId", "url"];

/// What it takes.
pub const FIELDS: &[Field] = &[
    Field::optional(NAMES[0], Kind::Id, "The document, as search_library names it."),
    Field::optional(NAMES[1], Kind::Id, "The bookmark whose text it is."),
    Field::optional(NAMES[2], Kind::Words { min: 1, max: 8192 }, "The address that was saved."),
    OFFSET,
    MAX_CHARS,
];

/// Reads what was given.
pub fn read(mut values: Values) -> Result<ReadDocument, Error> {
    let names = [
        values.id(NAMES[0]).map(|id| Named::Document(DocumentId(id))),
        values.id(NAMES[1]).map(|id| Named::Bookmark(BookmarkId(id))),
        values.text(NAMES[2]).map(Named::Url),
    ];
    let given = names.map(|name| name.ok_or(()));
    match given {
        [Ok(named), Err(()), Err(())] | [Err(()), Ok(named), Err(())] | [Err(()), Err(()), Ok(named)] => {
            Ok(ReadDocument::page(named, values))
        }
        none_or_many => Err(not_one(none_or_many.map(|name| name.is_ok())).into()),
    }
}

/// Names the fields that are too many, or all three where there is none.
fn not_one(given: [bool; 3]) -> Invalid {
    let none = !given.contains(&true);
    let faulty = NAMES.iter().zip(given).filter(|(_, given)| none || *given);
    let reason = "is one of documentId, bookmarkId and url: give exactly one of them";
    Invalid {
        faults: faulty
            .map(|(name, _)| Fault { field: (*name).to_owned(), reason: reason.to_owned() })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use validation::read_map;
    use actors::pipeline::Operation;
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "01890000-0000-7000-8000-000000000000";

    fn given(arguments: Value) -> Result<ReadDocument, Error> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        read(read_map(arguments, FIELDS)?)
    }

    fn faulty(arguments: Value) -> Vec<String> {
        match given(arguments) {
            Err(Error::Invalid(invalid)) => invalid.faults.into_iter().map(|fault| fault.field).collect(),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn a_document_is_named_in_exactly_one_way() {
        assert!(matches!(given(json!({ "documentId": ID })).unwrap().named, Named::Document(_)));
        assert!(matches!(given(json!({ "bookmarkId": ID, "url": null })).unwrap().named, Named::Bookmark(_)));
        assert!(matches!(given(json!({ "url": "https://a.example" })).unwrap().named, Named::Url(_)));

        assert_eq!(faulty(json!({})), NAMES);
        assert_eq!(faulty(json!({ "documentId": ID, "url": "https://a.example" })), ["documentId", "url"]);
        assert_eq!(faulty(json!({ "documentId": "nonsense" })), ["documentId"]);
    }

    #[test]
    fn a_call_counts_by_the_characters_that_are_asked_for() {
        for (most, calls) in [(1, 1), (12_000, 1), (12_001, 2), (20_000, 2)] {
            assert_eq!(given(json!({ "documentId": ID, "maxChars": most })).unwrap().weight(), calls);
        }
        assert_eq!(given(json!({ "documentId": ID })).unwrap().weight(), 1);
    }
}
