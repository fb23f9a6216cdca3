//! `create_note`: what it takes.

use errors::{Error, Fault, Invalid};
use validation::{Field, Kind, Values};
use actors::operations::notes::{BODY, CreateNote, Place};
use entity::id::{BookmarkId, ProjectId};

/// The two places, of which a call names one.
const PLACES: [&str; 2] = ["bookmarkId", "projectId"];

/// What it takes.
pub const FIELDS: &[Field] = &[
    Field::optional(PLACES[0], Kind::Id, "The saved item whose notes get another paragraph."),
    Field::optional(PLACES[1], Kind::Id, "The project that gets another note."),
    Field::optional(
        "title",
        Kind::Words { min: 1, max: 300 },
        "The note's title; its first words when left out.",
    ),
    Field::required("body", BODY, "The note's text, as Markdown."),
];

/// Reads what was given.
pub fn read(mut values: Values) -> Result<CreateNote, Error> {
    let bookmark = values.id(PLACES[0]).map(|id| Place::Bookmark(BookmarkId(id)));
    let project = values.id(PLACES[1]).map(|id| Place::Project(ProjectId(id)));
    let place = match (bookmark, project) {
        (Some(place), None) | (None, Some(place)) => place,
        (None, None) | (Some(_), Some(_)) => return Err(not_one().into()),
    };
    Ok(CreateNote { place, title: values.text("title"), body: values.text("body").unwrap_or_default() })
}

fn not_one() -> Invalid {
    let reason = "is one of bookmarkId and projectId: give exactly one of them";
    let fault = |name: &str| Fault { field: name.to_owned(), reason: reason.to_owned() };
    Invalid { faults: PLACES.map(fault).into() }
}

#[cfg(test)]
mod tests {
    use validation::read_map;
    use actors::pipeline::Operation;
    use entity::scope::Scope;
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "01890000-0000-7000-8000-000000000000";

    fn given(arguments: Value) -> Result<CreateNote, Error> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        read(read_map(arguments, FIELDS)?)
    }

    #[test]
    fn a_note_has_exactly_one_place_and_a_project_needs_its_scope() {
        let on_bookmark = given(json!({ "bookmarkId": ID, "body": "b", "projectId": null })).unwrap();
        assert!(!on_bookmark.scopes().has(Scope::WriteProjects) && on_bookmark.weight() == 2);
        let in_project = given(json!({ "projectId": ID, "body": "b", "title": "t" })).unwrap();
        assert!(in_project.scopes().has(Scope::WriteProjects));

        for faulty in [json!({ "body": "b" }), json!({ "bookmarkId": ID, "projectId": ID, "body": "b" })] {
            let Err(Error::Invalid(invalid)) = given(faulty) else { panic!("not refused") };
            let fields: Vec<_> = invalid.faults.into_iter().map(|fault| fault.field).collect();
            assert_eq!(fields, PLACES);
        }
    }
}
