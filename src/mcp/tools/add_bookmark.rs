//! `add_bookmark`: its arguments.

use actors::operations::bookmarks::AddBookmark;
use errors::Error;
use library::bookmarks::{TagNames, normalize_tags};
use validation::{DisplayName, Id, UrlText, request};
use values::id::ProjectId;

request! {
    /// The arguments of `add_bookmark`.
    pub struct AddBookmarkArguments {
        /// The URL of the page.
        pub url: UrlText,
        /// Tags to add; existing tags stay.
        pub tags?: TagNames,
        /// Id of a project to add the page to, as returned by list_projects.
        pub project_id?: Id<ProjectId>,
    }
}

/// Creates the operation from the arguments.
pub fn build_operation(arguments: AddBookmarkArguments) -> Result<AddBookmark, Error> {
    let tags = arguments.tags.map(|tags| tags.map(DisplayName::into_inner)).unwrap_or_default();
    Ok(AddBookmark {
        url: arguments.url.into_inner(),
        tags: normalize_tags(tags),
        project: arguments.project_id.map(Id::into_inner),
    })
}

#[cfg(test)]
mod tests {
    use actors::operation::Operation;
    use serde_json::{Value, json};
    use validation::read_object;
    use values::scope::Scope;

    use super::*;

    const ID: &str = "01890000-0000-7000-8000-000000000000";

    fn parse(arguments: Value) -> AddBookmark {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        build_operation(read_object(arguments).unwrap()).unwrap()
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
