//! The page of a project: instructions, decisions, notes, sources, and what an assistant gets of them.

use actix_web::HttpResponse;
use actors::operation::FromRequest;
use actors::operations::projects::{
    ListDecisions, ListNotes, MeasureContext, MeasureContextResponse, ProjectDetails,
};
use actors::operations::search_passages::SearchPassages;
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::{Value, json};
use validation::read_query;
use values::kind::ProjectStatus;

use super::meter::MeterView;
use super::rows::{DecisionRow, ProjectNoteRow, ProjectSourceRow};
use crate::parts;
use crate::web::filters;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::search::HitView;
use crate::web::strings::ToMessageValue;

/// Rows of a part on the page of all parts.
const OVERVIEW_ROWS: usize = 8;
/// Rows of decisions and notes on the page of one part.
const PART_ROWS: u32 = 50;
/// Passages that a search within the project shows.
const FOUND_PASSAGES: u32 = 8;

/// What the page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProjectPart {
    All,
    Sources,
    Notes,
    Decisions,
    Context,
}

impl ProjectPart {
    fn of(name: &str) -> Self {
        match name {
            "sources" => Self::Sources,
            "notes" => Self::Notes,
            "decisions" => Self::Decisions,
            "context" => Self::Context,
            _ => Self::All,
        }
    }

    /// Returns the name in the address; empty for all parts.
    fn name(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Sources => "sources",
            Self::Notes => "notes",
            Self::Decisions => "decisions",
            Self::Context => "context",
        }
    }

    /// Returns whether rows of this part are shown.
    fn has(self, part: Self) -> bool {
        self == part || self == Self::All
    }
}

/// The page of a project.
#[derive(Template)]
#[template(path = "projects/project.html", blocks = ["meter", "parts"])]
struct ProjectPage {
    shell: Shell,
    project: ProjectDetails,
    path: String,
    part: ProjectPart,
    is_archived: bool,
    max: usize,
    query: String,
    decisions: Vec<DecisionRow>,
    /// The address of further decisions.
    more_decisions: Option<String>,
    notes: Vec<ProjectNoteRow>,
    /// The address of further notes.
    more_notes: Option<String>,
    sources: Vec<ProjectSourceRow>,
    /// The address of all sources, and how many are not shown.
    more_sources: Option<(String, usize)>,
    /// Sources beyond those that a list shows.
    unlisted_sources: usize,
    meter: MeterView,
    /// The documents found within the project.
    hits: Option<Vec<HitView>>,
    /// What a user tells an assistant.
    prompt: String,
}

parts!(ProjectPage { "meter" => as_meter, "parts" => as_parts });

impl ProjectPage {
    fn is_part(&self, name: &str) -> bool {
        self.part.name() == name
    }

    fn shows_sources(&self) -> bool {
        self.part.has(ProjectPart::Sources)
    }

    fn shows_notes(&self) -> bool {
        self.part == ProjectPart::Notes
    }

    fn shows_decisions(&self) -> bool {
        self.part.has(ProjectPart::Decisions)
    }

    /// Returns the address of the page with this size of the context.
    fn path_with_max(&self, max: usize) -> String {
        address(&self.path, self.part, max, &self.query)
    }

    /// Returns the address of this page, to which its forms come back.
    fn back(&self) -> String {
        self.path_with_max(self.max)
    }
}

/// Returns the address of a part of a project.
fn address(path: &str, part: ProjectPart, max: usize, query: &str) -> String {
    let mut fields = url::form_urlencoded::Serializer::new(String::new());
    if part != ProjectPart::All {
        fields.append_pair("part", part.name());
    }
    if max != 16_000 {
        fields.append_pair("max", &max.to_string());
    }
    if !query.is_empty() {
        fields.append_pair("q", query);
    }
    let fields = fields.finish();
    if fields.is_empty() { path.to_owned() } else { format!("{path}?{fields}") }
}

/// Shows the page.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let project = super::edit::load(&request).await?;
    let path = format!("/projects/{}", project.view.id);
    let part = ProjectPart::of(request.query.text("part"));
    let max = if request.query.get("max") == Some("32000") { 32_000 } else { 16_000 };
    let query = text::cut(request.query.text("q").trim(), 500);
    let size = measure(&request, max, &query).await?;
    let meter = MeterView::new(&size, request.locale());
    let (sources, more_sources, unlisted_sources) = sources(size, part, &path, max);
    let (decisions, more_decisions) = decisions(&request, part, &path).await?;
    let (notes, more_notes) = notes(&request, part, &path).await?;
    let hits = find(&request, &project, &query).await?;
    let name = [("name", project.view.name.to_message_value())];
    let prompt = request.locale().t_with("projects-prompt", &name);
    let shell = request.shell(NavigationEntry::Projects).await?;
    request.show(&ProjectPage {
        shell,
        is_archived: project.view.status == ProjectStatus::Archived,
        project,
        path,
        part,
        max,
        query,
        decisions,
        more_decisions,
        notes,
        more_notes,
        sources,
        more_sources,
        unlisted_sources,
        meter,
        hits,
        prompt,
    })
}

async fn measure(request: &PageRequest, max: usize, query: &str) -> Result<MeasureContextResponse, Error> {
    let mut fields = url::form_urlencoded::Serializer::new(String::new());
    fields.append_pair("maxChars", &max.to_string());
    if !query.is_empty() {
        fields.append_pair("q", query);
    }
    let fields = read_query(&fields.finish()).map_err(Error::from)?;
    request.run(MeasureContext::from_request(&request.target(), fields)?).await
}

/// Returns the sources that a part shows, the address of all with the number of the others, and how many no list shows.
fn sources(
    size: MeasureContextResponse,
    part: ProjectPart,
    path: &str,
    max: usize,
) -> (Vec<ProjectSourceRow>, Option<(String, usize)>, usize) {
    let listed = size.source_list.len();
    let unlisted = size.sources.total.saturating_sub(listed);
    let mut rows: Vec<ProjectSourceRow> = size.source_list.into_iter().map(ProjectSourceRow::new).collect();
    if let Some(first) = rows.iter_mut().find(|row| !row.is_given) {
        first.is_first_cut = true;
    }
    if part == ProjectPart::Sources {
        return (rows, None, unlisted);
    }
    if part != ProjectPart::All {
        rows.clear();
        return (rows, None, 0);
    }
    rows.truncate(OVERVIEW_ROWS);
    let hidden = (listed + unlisted).saturating_sub(rows.len());
    let more = (hidden > 0).then(|| (address(path, ProjectPart::Sources, max, ""), hidden));
    (rows, more, 0)
}

/// Returns the fields of a page of a list.
fn page_fields(request: &PageRequest, part: ProjectPart, of: ProjectPart) -> Value {
    if part != of {
        return json!({ "limit": OVERVIEW_ROWS });
    }
    match request.query.get("cursor") {
        Some(cursor) => json!({ "limit": PART_ROWS, "cursor": cursor }),
        None => json!({ "limit": PART_ROWS }),
    }
}

/// Returns the address of the next rows of a list.
fn more_rows(next_cursor: Option<String>, part: ProjectPart, of: ProjectPart, path: &str) -> Option<String> {
    let cursor = next_cursor?;
    let all = address(path, of, 16_000, "");
    if part != of {
        return Some(all);
    }
    let cursor = url::form_urlencoded::Serializer::new(String::new()).append_pair("cursor", &cursor).finish();
    Some(format!("{all}&{cursor}"))
}

async fn decisions(
    request: &PageRequest,
    part: ProjectPart,
    path: &str,
) -> Result<(Vec<DecisionRow>, Option<String>), Error> {
    let own = ProjectPart::Decisions;
    if !part.has(own) {
        return Ok((Vec::new(), None));
    }
    let target = Target(vec![request.target().text(0)?]);
    let listed = request.run_json::<ListDecisions>(&target, page_fields(request, part, own)).await?;
    let rows = listed.decisions.into_iter().map(DecisionRow::new).collect();
    Ok((rows, more_rows(listed.next_cursor, part, own, path)))
}

async fn notes(
    request: &PageRequest,
    part: ProjectPart,
    path: &str,
) -> Result<(Vec<ProjectNoteRow>, Option<String>), Error> {
    let own = ProjectPart::Notes;
    if !part.has(own) {
        return Ok((Vec::new(), None));
    }
    let target = Target(vec![request.target().text(0)?]);
    let listed = request.run_json::<ListNotes>(&target, page_fields(request, part, own)).await?;
    let rows = listed.notes.into_iter().map(ProjectNoteRow::new).collect();
    Ok((rows, more_rows(listed.next_cursor, part, own, path)))
}

/// Returns the documents of the project with passages that match; `None` without a query.
async fn find(
    request: &PageRequest,
    project: &ProjectDetails,
    query: &str,
) -> Result<Option<Vec<HitView>>, Error> {
    if query.is_empty() {
        return Ok(None);
    }
    let fields = json!({ "q": query, "limit": FOUND_PASSAGES, "projectId": project.view.id });
    let found = match request.run_json::<SearchPassages>(&Target::default(), fields).await {
        Ok(found) => found,
        // An operator that is wrong, or a query of operators alone, finds nothing here.
        Err(Error::Invalid(_)) => return Ok(Some(Vec::new())),
        Err(error) => return Err(error),
    };
    Ok(Some(found.documents.into_iter().map(|document| HitView::new(document, request.locale())).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_has_only_what_differs_from_the_default() {
        assert_eq!(address("/projects/7", ProjectPart::All, 16_000, ""), "/projects/7");
        assert_eq!(
            address("/projects/7", ProjectPart::Sources, 32_000, "high water"),
            "/projects/7?part=sources&max=32000&q=high+water"
        );
    }
}
