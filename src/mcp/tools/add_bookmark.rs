//! `add_bookmark`: what it takes and what it answers.

use actors::error::Error;
use actors::fields::{Field, Kind, Values};
use actors::ops::bookmarks::{AddBookmark, kinds, save};
use entity::id::ProjectId;
use entity::kind::DocumentStatus;
use serde_json::Value;

use crate::mcp::schema::{about, flag, id, maybe, object, one_of, text};

/// What it takes.
pub const FIELDS: &[Field] = &[
    Field::required("url", kinds::URL, "The page's address."),
    Field::optional("tags", kinds::TAGS, "Tags; added to those that are there."),
    Field::optional("projectId", Kind::Id, "A project to add the page to, as list_projects names it."),
];

/// Reads what was given.
pub fn read(mut values: Values) -> Result<AddBookmark, Error> {
    Ok(AddBookmark {
        url: values.text("url").unwrap_or_default(),
        tags: save::tidy_tags(values.texts("tags").unwrap_or_default()),
        project: values.id("projectId").map(ProjectId),
    })
}

/// What it answers.
pub fn output() -> Value {
    object([
        ("created", about(flag(), "False where the address was saved already; then only tags were added.")),
        ("bookmarkId", id()),
        ("documentId", about(id(), "The document; get_document reads it once its status is ready.")),
        ("title", text()),
        ("url", text()),
        ("status", one_of(DocumentStatus::NAMES)),
        (
            "project",
            maybe(object([
                ("projectId", id()),
                ("added", about(flag(), "False where the page was in the project already.")),
            ])),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use actors::fields::read_map;
    use actors::ops::bookmarks::{BookmarkAdded, InProject};
    use actors::perform::Operation;
    use entity::id::{BookmarkId, DocumentId};
    use entity::scope::Scope;
    use entity::time::Timestamp;
    use serde_json::json;

    use super::super::sample;
    use super::*;

    const ID: &str = "01890000-0000-7000-8000-000000000000";

    fn given(arguments: Value) -> AddBookmark {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        read(read_map(arguments, FIELDS).unwrap()).unwrap()
    }

    #[test]
    fn a_call_with_a_project_writes_to_projects_too() {
        let plain = given(json!({ "url": "https://a.example", "tags": [" a ", "a"] }));
        assert_eq!(plain.tags, ["a"]);
        assert!(!plain.scopes().has(Scope::WriteProjects));

        let with_project = given(json!({ "url": "https://a.example", "projectId": ID }));
        assert!(with_project.scopes().has(Scope::WriteProjects) && with_project.weight() == 2);
    }

    #[test]
    fn the_schema_names_what_is_answered() {
        let now = Timestamp::from_millis(0);
        let added = BookmarkAdded {
            created: true,
            bookmark_id: BookmarkId::new(now),
            document_id: DocumentId::new(now),
            title: String::new(),
            url: String::new(),
            status: DocumentStatus::Processing,
            project: Some(InProject { project_id: ProjectId::new(now), added: true }),
        };

        sample::fits(&added, &output());
    }
}
