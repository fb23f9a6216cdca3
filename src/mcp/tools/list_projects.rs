//! `list_projects`: what it takes and what it answers.

use actors::error::Error;
use actors::fields::{Field, Values};
use actors::ops::projects::{LIST_LIMIT, LIST_STATUS, ListProjects};
use entity::kind::ProjectStatus;
use serde_json::Value;

use crate::mcp::schema::{about, count, id, list, maybe, object, one_of, text, time};

/// What it takes.
pub const FIELDS: &[Field] = &[LIST_STATUS, LIST_LIMIT];

/// Reads what was given.
pub fn read(values: Values) -> Result<ListProjects, Error> {
    Ok(ListProjects::from_values(values))
}

/// What it answers.
pub fn output() -> Value {
    let project = object([
        ("id", about(id(), "The project; get_project_context reads it.")),
        ("name", text()),
        ("description", maybe(text())),
        ("status", one_of(ProjectStatus::NAMES)),
        ("itemCount", about(count(), "Things in it, notes of its own left out.")),
        ("sourceCount", about(count(), "Those of them that are sources.")),
        ("updatedAt", about(time(), "When anything in it last changed.")),
    ]);
    object([
        ("projects", about(list(project), "Most recently active first.")),
        ("nextCursor", about(maybe(text()), "Not null where there are more projects than the limit.")),
    ])
}

#[cfg(test)]
mod tests {
    use actors::ops::projects::{ProjectView, Projects};
    use entity::id::ProjectId;
    use entity::time::Timestamp;

    use super::super::sample;
    use super::*;

    #[test]
    fn the_schema_names_what_is_answered() {
        let now = Timestamp::from_millis(0);
        let project = ProjectView {
            id: ProjectId::new(now),
            name: String::new(),
            description: None,
            status: ProjectStatus::Active,
            item_count: 1,
            source_count: 1,
            updated_at: now,
        };

        sample::fits(&Projects { projects: vec![project], next_cursor: None }, &output());
    }
}
