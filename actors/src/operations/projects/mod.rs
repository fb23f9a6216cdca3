//! Projects: what a user works on, with instructions, decisions, notes and sources (spec.md: Project; contract.md, sections 5, 9
//! and 11).

mod add_items;
mod context;
mod decisions;
mod edit;
mod items;
mod list;
mod notes;
mod operator;
mod view;

pub use add_items::AddItems;
pub use context::{
    CONTEXT_MAX_CHARS, ContextDecision, ContextNote, ContextProject, ContextSource, ReadContext,
    ReadContextResponse,
};
pub use decisions::{ChangeDecision, CreateDecision, DeleteDecision, ListDecisions};
pub use edit::{ChangeProject, CreateProject, DeleteProject, ShowProject};
pub use items::{ChangeItem, ListItems, RemoveItem};
pub use list::{LIST_LIMIT, LIST_STATUS, ListProjects, ListProjectsResponse};
pub use notes::{AddNote, ListNotes, WriteNote};
pub use operator::{archive_project, create_project, list_projects};
pub use view::ProjectView;

/// Items on a page of a list in the web app without `limit`.
const DEFAULT_LIMIT: u64 = 50;

/// What the fields of projects may hold (contract.md, section 11).
mod kinds {
    use validation::{Field, Kind};

    /// A name or a title.
    pub const TITLE: Kind = Kind::Words { min: 1, max: 300 };
    /// A description, or the text of a decision.
    pub const TEXT: Kind = Kind::Text { max: 100_000 };
    /// Instructions for assistants.
    pub const INSTRUCTIONS: Kind = Kind::Text { max: 20_000 };
    /// Length of a page of a list in the web app.
    pub const LIMIT: Field = Field::optional(
        "limit",
        Kind::Integer { min: 1, max: 100 },
        "Maximum number of results. Default 50.",
    );
}
