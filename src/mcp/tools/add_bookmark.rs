//! `add_bookmark`: its arguments.

use actors::operations::bookmarks::AddBookmark;
use entity::id::ProjectId;
use errors::Error;
use library::bookmarks::{kinds, normalize_tags};
use validation::{Field, Kind, Values};

/// The fields of the arguments.
pub const FIELDS: &[Field] = &[
    Field::required("url", kinds::URL, "The URL of the page."),
    Field::optional("tags", kinds::TAGS, "Tags; added to those that are there."),
    Field::optional("projectId", Kind::Id, "A project to add the page to, as list_projects names it."),
];

/// Makes the operation from the arguments.
pub fn read(mut values: Values) -> Result<AddBookmark, Error> {
    Ok(AddBookmark {
        url: values.text("url").unwrap_or_default(),
        tags: normalize_tags(values.texts("tags").unwrap_or_default()),
        project: values.id("projectId").map(ProjectId),
    })
}

#[cfg(test)]
mod tests {
    use actors::operation::Operation;
    use entity::scope::Scope;
    use serde_json::{Value, json};
    use validation::read_map;

    use super::*;

    const ID: &str = "01890000-0000-7000-8000-000000000000";

    fn parse(arguments: Value) -> AddBookmark {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        read(read_map(arguments, FIELDS).unwrap()).unwrap()
    }

    #[test]
    fn call_with_a_project_needs_the_scope_of_projects() {
        let plain = parse(json!({ "url": "https://a.example", "tags": [" a ", "a"] }));
        assert_eq!(plain.tags, ["a"]);
        assert!(!plain.scopes().has(Scope::WriteProjects));

        let with_project = parse(json!({ "url": "https://a.example", "projectId": ID }));
        assert!(with_project.scopes().has(Scope::WriteProjects) && with_project.weight() == 2);
    }
}
