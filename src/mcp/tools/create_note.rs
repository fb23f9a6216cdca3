//! `create_note`: its arguments.

use actors::operations::notes::{CreateNote, NoteBody, NoteTarget, NoteTitle};
use errors::Error;
use validation::{Fault, Id, Invalid, PageTitle, request};
use values::id::{BookmarkId, ProjectId};

/// The fields of the two kinds of target; a call has exactly one of them.
const TARGET_FIELDS: [&str; 2] = ["bookmarkId", "projectId"];

request! {
    /// The arguments of `create_note`.
    pub struct CreateNoteArguments {
        /// Id of the saved item to whose notes the text is appended.
        pub bookmark_id?: Id<BookmarkId>,
        /// Id of the project that gets a new note.
        pub project_id?: Id<ProjectId>,
        /// The note's title. Default: its first words.
        pub title?: NoteTitle,
        /// The note's text, as Markdown.
        pub body: NoteBody,
    }
}

/// Creates the operation from the arguments.
pub fn build_operation(arguments: CreateNoteArguments) -> Result<CreateNote, Error> {
    let target = match (arguments.bookmark_id, arguments.project_id) {
        (Some(bookmark), None) => NoteTarget::Bookmark(bookmark.into_inner()),
        (None, Some(project)) => NoteTarget::Project(project.into_inner()),
        (None, None) | (Some(_), Some(_)) => return Err(not_exactly_one().into()),
    };
    Ok(CreateNote {
        target,
        title: arguments.title.map(PageTitle::into_inner),
        body: arguments.body.into_inner(),
    })
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
    use serde_json::{Value, json};
    use validation::read_object;
    use values::scope::Scope;

    use super::*;

    const ID: &str = "01890000-0000-7000-8000-000000000000";

    fn parse(arguments: Value) -> Result<CreateNote, Error> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        build_operation(read_object(arguments)?)
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
