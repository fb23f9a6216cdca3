//! `add_bookmark`: what it takes.

use errors::Error;
use validation::{Field, Kind, Values};
use actors::operations::bookmarks::{AddBookmark, kinds};
use library::bookmarks::save;
use entity::id::ProjectId;

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

#[cfg(test)]
mod tests {
    use validation::read_map;
    use actors::pipeline::Operation;
    use entity::scope::Scope;
    use serde_json::{Value, json};

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
}
