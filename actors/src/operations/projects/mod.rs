//! Projects: what a user works on, with instructions, decisions, notes and sources (spec.md: Project; contract.md, sections 5, 9
//! and 11).

mod add_items;
mod context;
mod decisions;
mod edit;
mod find;
mod item_object;
mod items;
mod list;
mod notes;
mod show_decision;
mod view;

pub use add_items::AddItems;
pub use context::{
    ContextChars, ContextDecision, ContextNote, ContextPart, ContextProject, ContextSource, HighlightExcerpt,
    MeasureContext, MeasureContextResponse, MeasuredSource, ReadContext, ReadContextResponse,
};
pub use decisions::{
    ChangeDecision, CreateDecision, DecisionView, DeleteDecision, ListDecisions, ListDecisionsResponse,
};
pub use edit::{
    ChangeProject, CreateProject, CreateProjectRequest, DeleteProject, ShowProject, create_project,
    set_project_status,
};
pub use find::{FindProjects, FindProjectsResponse};
pub use items::{ChangeItem, ItemView, ListItems, ListItemsResponse, RemoveItem};
pub use list::{ListProjects, ListProjectsResponse, ProjectLimit, list_projects};
pub use notes::{AddNote, ListNotes, ListNotesResponse, WriteNote};
pub use show_decision::ShowDecision;
pub use view::{ProjectDetails, ProjectResponse, ProjectView};

/// Rows on a page of a project's items, notes or decisions if the request has no `limit`.
const DEFAULT_LIMIT: u64 = 50;

/// The types of the fields of projects (contract.md, section 11).
mod field_types {
    use validation::{DisplayName, Text};

    /// A name of a project, or a title of a decision: 1 to 300 characters, without control characters.
    pub type ProjectTitle = DisplayName<1, 300>;
    /// A description, or the text of a decision; both may be empty.
    pub type ProjectText = Text<100_000>;
    /// Instructions for assistants, which are never left out of a context (contract.md, section 11: Projects).
    pub type Instructions = Text<20_000>;
}
