//! THE table of tools: the order in which they are listed, and all that the layer around them knows.

mod add_bookmark;
mod create_note;
mod get_document;
mod get_project_context;
mod list_projects;
mod search_library;

use actix_web::HttpRequest;
use actors::context::OperationContext;
use actors::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values, read_map};
use actors::operations::bookmarks::AddBookmark;
use actors::operations::document::ReadDocument;
use actors::operations::notes::CreateNote;
use actors::operations::projects::{ListProjects, ReadContext};
use actors::operations::search::Search;
use actors::pipeline::{Answer, Asked, Entry, Operation, perform_as};
use entity::scope::{Scope, Scopes};
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};

use super::schema;
use crate::http::answer_turns::turn_wait;

/// A tool.
pub struct Tool {
    /// Its name on the wire.
    pub name: &'static str,
    title: &'static str,
    description: &'static str,
    fields: &'static [Field],
    output: fn() -> Value,
    hints: Hints,
    /// Without these it is neither listed nor run. The plan's rule is in them: a plan that does not include a scope
    /// takes it from the caller.
    scopes: &'static [Scope],
    /// Whether its answers may hold what others wrote.
    pub third_party: bool,
    call: for<'a> fn(Call<'a>) -> LocalBoxFuture<'a, Result<Value, Error>>,
}

/// What a client may think of a tool before it runs it.
#[derive(Clone, Copy)]
struct Hints {
    read_only: bool,
    idempotent: bool,
    open_world: bool,
}

impl Hints {
    /// Looks at the library and changes nothing.
    const READS: Self = Self { read_only: true, idempotent: true, open_world: false };
    /// Adds something once, and has it fetched from the web.
    const SAVES: Self = Self { read_only: false, idempotent: true, open_world: true };
    /// Adds something each time.
    const WRITES: Self = Self { read_only: false, idempotent: false, open_world: false };
}

/// Every tool, in the order of the list.
pub static TOOLS: &[Tool] = &[
    Tool {
        name: "search_library",
        title: "Search the library",
        description: "Searches the user's personal library of saved pages, PDFs, recordings, notes and feed entries, by \
                      meaning and by words. Answers with the best-matching passages, each with the title and URL of its \
                      source and, where there is one, the page of the PDF or the seconds in the recording. Read on with \
                      get_document and the documentId of a result. `degraded` is `lexical` while only text matching is \
                      available.",
        fields: search_library::FIELDS,
        output: schema::output::<Search>,
        hints: Hints::READS,
        scopes: Search::SCOPES,
        third_party: true,
        call: |call| call.run(search_library::read),
    },
    Tool {
        name: "get_document",
        title: "Read a document",
        description: "Reads the text of one document of the user's library, with the user's tags, notes and highlights. \
                      Name it by exactly one of documentId, bookmarkId and url. A long text comes in pages: while \
                      nextOffset is not null, call again with offset set to it.",
        fields: get_document::FIELDS,
        output: schema::output::<ReadDocument>,
        hints: Hints::READS,
        scopes: ReadDocument::SCOPES,
        third_party: true,
        call: |call| call.run(get_document::read),
    },
    Tool {
        name: "list_projects",
        title: "List projects",
        description: "Lists the user's projects, most recently active first. A project holds instructions, decisions, notes \
                      and sources for one piece of work. Read one with get_project_context and its id.",
        fields: list_projects::FIELDS,
        output: schema::output::<ListProjects>,
        hints: Hints::READS,
        scopes: ListProjects::SCOPES,
        third_party: false,
        call: |call| call.run(list_projects::read),
    },
    Tool {
        name: "get_project_context",
        title: "Read a project",
        description: "Reads what there is to know before working on a project: the user's instructions, what was decided, \
                      pinned notes and the sources. With a query it adds the best passages from the project's sources and \
                      notes. What finds no room in maxChars is left out and `truncated` is true: sources go first, then \
                      passages, notes and decisions.",
        fields: get_project_context::FIELDS,
        output: schema::output::<ReadContext>,
        hints: Hints::READS,
        scopes: ReadContext::SCOPES,
        third_party: true,
        call: |call| call.run(get_project_context::read),
    },
    Tool {
        name: "add_bookmark",
        title: "Save a page",
        description: "Saves a web page to the user's library, where it is fetched and becomes searchable. An address that is \
                      saved already only gets the tags, and `created` is false. With a projectId the page also becomes a \
                      source of that project.",
        fields: add_bookmark::FIELDS,
        output: schema::output::<AddBookmark>,
        hints: Hints::SAVES,
        scopes: AddBookmark::SCOPES,
        third_party: true,
        call: |call| call.run(add_bookmark::read),
    },
    Tool {
        name: "create_note",
        title: "Write a note",
        description: "Writes a note that becomes searchable. Name exactly one place: with a bookmarkId the text is appended \
                      to the notes of that saved item, with a projectId it becomes a pinned note of that project.",
        fields: create_note::FIELDS,
        output: schema::output::<CreateNote>,
        hints: Hints::WRITES,
        scopes: CreateNote::SCOPES,
        third_party: false,
        call: |call| call.run(create_note::read),
    },
];

impl Tool {
    /// The tool of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// Whether a caller with these scopes sees it.
    pub fn is_for(&self, scopes: &Scopes) -> bool {
        self.scopes.iter().all(|scope| scopes.has(*scope))
    }

    /// How it is listed.
    pub fn listed(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schema::input(self.fields),
            "outputSchema": (self.output)(),
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.hints.read_only,
                // Nothing that a tool does takes anything away.
                "destructiveHint": false,
                "idempotentHint": self.hints.idempotent,
                "openWorldHint": self.hints.open_world,
            },
        })
    }

    /// Does what it is for; `http` is the request that the call came with.
    pub async fn call(
        &'static self,
        http: &HttpRequest,
        ctx: &OperationContext,
        caller: &Caller,
        arguments: Option<Value>,
    ) -> Result<Value, Error> {
        (self.call)(Call { http, ctx, caller, tool: self, arguments }).await
    }
}

/// A call of a tool, on its way through the pipeline.
struct Call<'a> {
    http: &'a HttpRequest,
    app: &'a OperationContext,
    caller: &'a Caller,
    tool: &'static Tool,
    arguments: Option<Value>,
}

impl<'a> Call<'a> {
    fn run<O: Operation>(
        self,
        read: fn(Values) -> Result<O, Error>,
    ) -> LocalBoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move {
            let Call { http, ctx, caller, tool, arguments } = self;
            let given = || read(read_map(object(arguments)?, tool.fields)?);
            let asked = async |caller: &Caller| Asked {
                operation: given(),
                replay: None,
                turn: turn_wait::<O>(http, caller),
            };
            let performed = perform_as(ctx, caller, Entry::Tool(tool.name), verdict, asked).await;
            match performed.result? {
                Answer::Fresh(reply) => serde_json::to_value(reply).map_err(Error::internal),
                Answer::Stored(_) => Err(Error::internal("a tool has no stored answers")),
            }
        })
    }
}

/// What the activity view shows.
fn verdict<R>(came: &Result<Answer<R>, Error>) -> String {
    match came {
        Ok(Answer::Fresh(_) | Answer::Stored(_)) => "ok".to_owned(),
        Err(failed) => failed.spec().mcp_code.to_owned(),
    }
}

fn object(arguments: Option<Value>) -> Result<Map<String, Value>, Error> {
    match arguments {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(members)) => Ok(members),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(Error::invalid("arguments", "must be an object"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_seen_with_all_of_its_scopes() {
        let tool = Tool::named("search_library").unwrap();

        assert!(tool.is_for(&[Scope::Mcp, Scope::ReadLibrary].as_slice().into()));
        assert!(!tool.is_for(&[Scope::Mcp, Scope::ReadProjects].as_slice().into()));
        assert!(Tool::named("drop_tables").is_none());
    }

    #[test]
    fn every_tool_is_described_for_a_model() {
        for tool in TOOLS {
            let listed = tool.listed();
            for schema in ["inputSchema", "outputSchema"] {
                assert_eq!(listed[schema]["type"], "object", "{}", tool.name);
            }
            assert!(tool.fields.iter().all(|field| !field.about.is_empty()), "{}", tool.name);
            assert!(tool.description.len() > 100 && !tool.description.contains("  "), "{}", tool.name);
        }
    }

    #[test]
    fn passages_are_there_with_a_query_only() {
        let output = Tool::named("get_project_context").unwrap().listed()["outputSchema"].clone();

        assert!(output["properties"]["passages"].is_object());
        assert!(!output["required"].as_array().unwrap().contains(&json!("passages")));
    }

    #[test]
    fn arguments_are_an_object_or_left_out() {
        assert!(object(None).unwrap().is_empty() && object(Some(Value::Null)).unwrap().is_empty());
        assert!(matches!(object(Some(json!([]))), Err(Error::Invalid(_))));
    }
}
