//! The table of tools, in the order in which they are listed.

mod add_bookmark;
mod create_note;
mod get_document;
mod get_project_context;
mod list_projects;
mod search_library;

use std::sync::LazyLock;

use actix_web::HttpRequest;
use actors::auth::caller::Caller;
use actors::context::OperationContext;
use actors::operation::Operation;
use actors::operations::bookmarks::AddBookmark;
use actors::operations::document::ReadDocument;
use actors::operations::notes::CreateNote;
use actors::operations::projects::{ListProjects, ReadContext};
use actors::operations::search::Search;
use actors::pipeline::{self, ActivityEntry, CallStatus, Endpoint, ParsedRequest, Response};
use errors::Error;
use futures_util::future::LocalBoxFuture;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use validation::{Request, read_object};
use values::scope::{Scope, Scopes};

use super::schema;
use crate::http::response_slots::slot_wait;

/// A tool: how it is listed, and how it is called.
pub struct Tool {
    /// Its name in `tools/list` and `tools/call`.
    pub name: &'static str,
    title: &'static str,
    description: &'static str,
    input: fn() -> Value,
    output: fn() -> Value,
    hints: ToolHints,
    /// A caller without these scopes neither sees nor runs the tool. The scopes of a caller are those within its plan.
    scopes: &'static [Scope],
    /// Whether its results may contain text that the user did not write.
    pub has_third_party_text: bool,
    call: for<'a> fn(ToolCall<'a>) -> LocalBoxFuture<'a, Result<Box<RawValue>, Error>>,
}

/// The annotations of a tool: what a client may assume before it calls the tool.
#[derive(Clone, Copy)]
struct ToolHints {
    read_only: bool,
    idempotent: bool,
    open_world: bool,
}

impl ToolHints {
    /// Reads the library and changes nothing.
    // Hosts decide by these hints whether to ask the user before a call, so they must be honest.
    const READS: Self = Self { read_only: true, idempotent: true, open_world: false };
    /// Adds something once, which is fetched from the web.
    // Idempotent, because a URL that is already saved gets only its tags; open, because the page is fetched from the web.
    const SAVES: Self = Self { read_only: false, idempotent: true, open_world: true };
    /// Adds something at each call, even with the same arguments.
    const WRITES: Self = Self { read_only: false, idempotent: false, open_world: false };
}

/// Every tool, in the order of the list.
pub static TOOLS: &[Tool] = &[
    Tool {
        name: "search_library",
        title: "Search the library",
        description: "Searches the user's personal library of saved pages, PDFs, recordings, notes and feed entries, by \
                      meaning and by words. Returns the best-matching passages, each with the title and URL of its \
                      source and, if known, the page of the PDF or the seconds in the recording. Read on with \
                      get_document and the documentId of a result. `degraded` is `lexical` while only text matching is \
                      available.",
        input: schema::input::<search_library::SearchLibraryArguments>,
        output: schema::output::<Search>,
        hints: ToolHints::READS,
        scopes: Search::SCOPES,
        has_third_party_text: true,
        call: |call| call.run(search_library::build_operation),
    },
    Tool {
        name: "get_document",
        title: "Read a document",
        description: "Reads the text of one document of the user's library, with the user's tags, notes and highlights. \
                      Give exactly one of documentId, bookmarkId and url. A long text is returned in pages: while \
                      nextOffset is not null, call again with offset set to it.",
        input: schema::input::<get_document::GetDocumentArguments>,
        output: schema::output::<ReadDocument>,
        hints: ToolHints::READS,
        scopes: ReadDocument::SCOPES,
        has_third_party_text: true,
        call: |call| call.run(get_document::build_operation),
    },
    Tool {
        name: "list_projects",
        title: "List projects",
        description: "Lists the user's projects, most recently active first. A project holds instructions, decisions, notes \
                      and sources for one piece of work. Read one with get_project_context and its id.",
        input: schema::input::<list_projects::ListProjectsArguments>,
        output: schema::output::<ListProjects>,
        hints: ToolHints::READS,
        scopes: ListProjects::SCOPES,
        has_third_party_text: false,
        call: |call| call.run(list_projects::build_operation),
    },
    Tool {
        name: "get_project_context",
        title: "Read a project",
        description: "Reads the context for working on a project: the user's instructions, the decisions, pinned notes \
                      and the sources. With a query it adds the best passages from the project's sources and \
                      notes. What exceeds maxChars is left out and `truncated` is true: sources are dropped first, then \
                      passages, notes and decisions.",
        input: schema::input::<get_project_context::GetProjectContextArguments>,
        output: schema::output::<ReadContext>,
        hints: ToolHints::READS,
        scopes: ReadContext::SCOPES,
        has_third_party_text: true,
        call: |call| call.run(get_project_context::build_operation),
    },
    Tool {
        name: "add_bookmark",
        title: "Save a page",
        description: "Saves a web page to the user's library, where it is fetched and becomes searchable. A URL that is \
                      already saved only gets the tags, and `created` is false. With a projectId the page also becomes a \
                      source of that project.",
        input: schema::input::<add_bookmark::AddBookmarkArguments>,
        output: schema::output::<AddBookmark>,
        hints: ToolHints::SAVES,
        scopes: AddBookmark::SCOPES,
        has_third_party_text: true,
        call: |call| call.run(add_bookmark::build_operation),
    },
    Tool {
        name: "create_note",
        title: "Write a note",
        description: "Writes a note that becomes searchable. Give exactly one of two ids: with a bookmarkId the text is appended \
                      to the notes of that saved item, with a projectId it becomes a pinned note of that project.",
        input: schema::input::<create_note::CreateNoteArguments>,
        output: schema::output::<CreateNote>,
        hints: ToolHints::WRITES,
        scopes: CreateNote::SCOPES,
        has_third_party_text: false,
        call: |call| call.run(create_note::build_operation),
    },
];

/// The entries of `tools/list` as JSON, in the order of [`TOOLS`]. They are written once: their schemas take far longer to make than
/// all else of a list.
static LIST_ENTRIES: LazyLock<Vec<Box<RawValue>>> =
    LazyLock::new(|| TOOLS.iter().map(Tool::list_entry).collect());

impl Tool {
    /// Returns the entries of `tools/list` for a caller with these scopes, as JSON. Their order is that of [`TOOLS`], because lists
    /// should be the same each time.
    pub fn listed(scopes: &Scopes) -> Vec<&'static RawValue> {
        let entries = TOOLS.iter().zip(LIST_ENTRIES.iter());
        entries.filter(|(tool, _)| tool.is_allowed(scopes)).map(|(_, entry)| &**entry).collect()
    }

    #[expect(clippy::expect_used, reason = "a value of serde_json can always be written as JSON")]
    fn list_entry(&self) -> Box<RawValue> {
        to_raw_value(&self.description()).expect("the description of a tool is a value of serde_json")
    }

    /// Returns the tool of this name; `None` if there is none.
    pub fn find(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// Returns whether a caller with these scopes may use it.
    pub fn is_allowed(&self, scopes: &Scopes) -> bool {
        self.scopes.iter().all(|scope| scopes.has(*scope))
    }

    /// Returns its entry in `tools/list`.
    fn description(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": (self.input)(),
            "outputSchema": (self.output)(),
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.hints.read_only,
                // No tool deletes anything.
                "destructiveHint": false,
                "idempotentHint": self.hints.idempotent,
                "openWorldHint": self.hints.open_world,
            },
        })
    }

    /// Runs the tool and returns its reply as compact JSON; `http` is the HTTP request that carried the call.
    ///
    /// # Errors
    /// The errors of [`execute`](actors::pipeline::execute) and those of the operation.
    pub async fn call(
        &'static self,
        http: &HttpRequest,
        ctx: &OperationContext,
        caller: &Caller,
        arguments: Option<Value>,
    ) -> Result<Box<RawValue>, Error> {
        (self.call)(ToolCall { http, ctx, caller, tool: self, arguments }).await
    }
}

/// A call of a tool, before its arguments are read.
struct ToolCall<'a> {
    http: &'a HttpRequest,
    ctx: &'a OperationContext,
    caller: &'a Caller,
    tool: &'static Tool,
    arguments: Option<Value>,
}

impl<'a> ToolCall<'a> {
    fn run<O: Operation, R: Request>(
        self,
        read: fn(R) -> Result<O, Error>,
    ) -> LocalBoxFuture<'a, Result<Box<RawValue>, Error>> {
        Box::pin(async move {
            let ToolCall { http, ctx, caller, tool, arguments } = self;
            // Faults of the arguments are an error of the tool, not of the protocol, so that the
            // model can correct them (SEP-1303).
            let operation = || read(read_object(arguments_object(arguments)?)?);
            let parse = async |caller: &Caller| ParsedRequest {
                operation: operation(),
                // MCP has no idempotency keys; tools that a client may repeat are idempotent by what they do.
                idempotency_key: None,
                slot_wait: slot_wait::<O>(http, caller),
            };
            let activity =
                ActivityEntry { endpoint: Endpoint::Tool(tool.name), status: &activity_status::<O::Reply> };
            let outcome = pipeline::execute(ctx, caller, Some(activity), parse).await;
            // Written here, once: the result repeats these bytes.
            to_raw_value(&outcome.into_reply()?).map_err(Error::internal)
        })
    }
}

/// Returns the status that the activity view shows: `ok`, or the code of the error.
fn activity_status<R>(result: &Result<Response<R>, Error>) -> CallStatus {
    CallStatus::Outcome(match result {
        Ok(Response::Fresh(_) | Response::Replayed(_)) => "ok",
        Err(error) => error.spec().mcp_code,
    })
}

fn arguments_object(arguments: Option<Value>) -> Result<Map<String, Value>, Error> {
    match arguments {
        // Clients leave out the arguments of a tool that requires none, or send null.
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
    fn tool_is_allowed_with_all_of_its_scopes() {
        let tool = Tool::find("search_library").unwrap();

        assert!(tool.is_allowed(&[Scope::Mcp, Scope::ReadLibrary].as_slice().into()));
        assert!(!tool.is_allowed(&[Scope::Mcp, Scope::ReadProjects].as_slice().into()));
        assert!(Tool::find("drop_tables").is_none());
    }

    #[test]
    fn every_tool_is_described_for_a_model() {
        for tool in TOOLS {
            let listed = tool.description();
            for schema in ["inputSchema", "outputSchema"] {
                assert_eq!(listed[schema]["type"], "object", "{}", tool.name);
            }
            let fields = listed["inputSchema"]["properties"].as_object().unwrap();
            let is_described =
                |field: &Value| field["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(fields.values().all(is_described), "{}", tool.name);
            assert!(tool.description.len() > 100 && !tool.description.contains("  "), "{}", tool.name);
        }
    }

    #[test]
    fn list_has_the_entries_of_allowed_tools_in_their_order() {
        let scopes = [Scope::Mcp, Scope::ReadLibrary, Scope::ReadProjects];
        let scopes: Scopes = scopes.as_slice().into();

        let listed: Vec<String> = Tool::listed(&scopes).iter().map(|entry| entry.get().to_owned()).collect();

        let allowed = TOOLS.iter().filter(|tool| tool.is_allowed(&scopes));
        assert_eq!(listed, allowed.map(|tool| tool.description().to_string()).collect::<Vec<_>>());
        assert!(!listed.is_empty() && listed.len() < TOOLS.len());
    }

    #[test]
    fn passages_are_optional_in_the_project_context() {
        let output = Tool::find("get_project_context").unwrap().description()["outputSchema"].clone();

        assert!(output["properties"]["passages"].is_object());
        assert!(!output["required"].as_array().unwrap().contains(&json!("passages")));
    }

    #[test]
    fn arguments_are_an_object_or_missing() {
        assert!(
            arguments_object(None).unwrap().is_empty()
                && arguments_object(Some(Value::Null)).unwrap().is_empty()
        );
        assert!(matches!(arguments_object(Some(json!([]))), Err(Error::Invalid(_))));
    }
}
