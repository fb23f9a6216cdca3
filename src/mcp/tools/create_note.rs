//! `create_note`: its arguments.

use actors::operations::notes::{BODY, CreateNote, NoteTarget};
use entity::id::{BookmarkId, ProjectId};
use errors::{Error, Fault, Invalid};
use validation::{Field, Kind, Values};

/// The fields for the two kinds of target, of which a call names one.
const TARGET_FIELDS: [&str; 2] = ["bookmarkId", "projectId"];

/// The fields of the arguments.
pub const FIELDS: &[Field] = &[
    Field::optional(TARGET_FIELDS[0], Kind::Id, "The saved item whose notes get another paragraph."),
    Field::optional(TARGET_FIELDS[1], Kind::Id, "The project that gets another note."),
    Field::optional(
        "title",
        Kind::Words { min: 1, max: 300 },
        "The note's title; its first words when left out.",
    ),
    Field::required("body", BODY, "The note's text, as Markdown."),
];

/// Makes the operation from the arguments.
pub fn read(mut values: Values) -> Result<CreateNote, Error> {
    let bookmark = values.id(TARGET_FIELDS[0]).map(|id| NoteTarget::Bookmark(BookmarkId(id)));
    let project = values.id(TARGET_FIELDS[1]).map(|id| NoteTarget::Project(ProjectId(id)));
    let target = match (bookmark, project) {
        (Some(target), None) | (None, Some(target)) => target,
        (None, None) | (Some(_), Some(_)) => return Err(not_exactly_one().into()),
    };
    Ok(CreateNote { target, title: values.text("title"), body: values.text("body").unwrap_or_default() })
}

/// Reports both target fields: none or both were given.
fn not_exactly_one() -> Invalid {
    let reason = "is one of bookmarkId and projectId: give exactly one of them";
    let fault = |name: &str| Fault { field: name.to_owned(), reason: reason.to_owned() };
    Invalid { faults: TARGET_FIELDS.map(fault).into() }
}

#[cfg(test)]
mod tests {
    use actors::operation::Operation;
    use entity::scope::Scope;
    use serde_json::{Value, json};
    use validation::read_map;

    use super::*;

    const ID: &str = "01890000-0000-7000-8000-000000000000";

    fn parse(arguments: Value) -> Result<CreateNote, Error> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        read(read_map(arguments, FIELDS)?)
    }

    #[test]
    fn note_has_exactly_one_target_and_a_project_needs_its_scope() {
        let on_bookmark = parse(json!({ "bookmarkId": ID, "body": "b", "projectId": null })).unwrap();
        assert!(!on_bookmark.scopes().has(Scope::WriteProjects) && on_bookmark.weight() == 2);
        let in_project = parse(json!({ "projectId": ID, "body": "b", "title": "t" })).unwrap();
        assert!(in_project.scopes().has(Scope::WriteProjects));

        for faulty in [json!({ "body": "b" }), json!({ "bookmarkId": ID, "projectId": ID, "body": "b" })] {
            let Err(Error::Invalid(invalid)) = parse(faulty) else { panic!("not refused") };
            let fields: Vec<_> = invalid.faults.into_iter().map(|fault| fault.field).collect();
            assert_eq!(fields, TARGET_FIELDS);
        }
    }
}
