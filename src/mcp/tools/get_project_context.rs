//! `get_project_context`: what it takes and what it answers.

use actors::error::Error;
use actors::fields::{Field, Kind, Values};
use actors::ops::projects::{CONTEXT_MAX_CHARS, ReadContext};
use actors::ops::search::QUERY;
use actors::ops::target::Target;
use entity::kind::{DecisionStatus, ItemRole};
use serde_json::Value;

use super::search_library;
use crate::mcp::schema::{about, flag, id, list, maybe, object, one_of, optional, text, time};

/// What it takes.
pub const FIELDS: &[Field] = &[
    Field::required("projectId", Kind::Id, "The project, as list_projects names it."),
    Field::optional("query", QUERY, "Adds the best passages from the project's sources and notes."),
    CONTEXT_MAX_CHARS,
];

/// Reads what was given. Assistants see the pinned notes (spec.md: MCP server).
pub fn read(mut values: Values) -> Result<ReadContext, Error> {
    let project = values.id("projectId").map(|id| id.to_string());
    Ok(ReadContext {
        project: Target(project.into_iter().collect()).id(0)?,
        query: values.text("query"),
        max_chars: values.integer("maxChars"),
        pinned_notes: true,
    })
}

/// What it answers.
pub fn output() -> Value {
    let decision = object([
        ("title", text()),
        ("status", one_of(&[DecisionStatus::Decided.name()])),
        ("decidedAt", maybe(time())),
        ("body", text()),
    ]);
    let source = object([
        ("bookmarkId", maybe(id())),
        ("documentId", about(id(), "The document; get_document reads it.")),
        ("title", text()),
        ("url", about(text(), "The way back to the source.")),
        ("role", one_of(ItemRole::NAMES)),
        ("pinned", flag()),
    ]);
    let passages = about(list(search_library::result()), "The best passages; there with a query only.");
    let whole = object([
        (
            "project",
            object([
                ("id", id()),
                ("name", text()),
                ("instructions", about(text(), "What the user wants you to keep to.")),
            ]),
        ),
        ("decisions", about(list(decision), "What the user decided.")),
        ("notes", list(object([("title", text()), ("body", text())]))),
        ("sources", about(list(source), "Pinned ones first.")),
        ("truncated", about(flag(), "Something was left out for want of room.")),
    ]);
    optional(whole, "passages", passages)
}

#[cfg(test)]
mod tests {
    use actors::ops::projects::{Context, ContextProject, Decided, NoteText, Source};
    use entity::id::{DocumentId, ProjectId};
    use entity::time::Timestamp;
    use serde_json::json;

    use super::super::sample;
    use super::*;

    #[test]
    fn the_schema_names_what_is_answered() {
        let now = Timestamp::from_millis(0);
        let context = Context {
            project: ContextProject {
                id: ProjectId::new(now),
                name: String::new(),
                instructions: String::new(),
            },
            decisions: vec![Decided {
                title: String::new(),
                status: DecisionStatus::Decided,
                decided_at: Some(now),
                body: String::new(),
            }],
            notes: vec![NoteText { title: String::new(), body: String::new() }],
            sources: vec![Source {
                bookmark_id: None,
                document_id: DocumentId::new(now),
                title: String::new(),
                url: String::new(),
                role: ItemRole::Background,
                pinned: true,
            }],
            passages: None,
            truncated: false,
        };

        sample::fits(&context, &output());
        sample::fits(
            &Context { passages: Some(vec![search_library::tests::passage()]), ..context },
            &output(),
        );
    }

    #[test]
    fn passages_are_there_with_a_query_only() {
        assert!(output()["properties"]["passages"].is_object());
        assert!(!output()["required"].as_array().unwrap().contains(&json!("passages")));
    }
}
