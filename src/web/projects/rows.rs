//! The rows of a project's page: sources with the line of the cut, decisions and notes.

use actors::operations::notes::NoteView;
use actors::operations::projects::{DecisionView, HighlightExcerpt, ItemView, MeasuredSource};
use values::kind::{AnchorState, DecisionStatus, ItemKind, ItemRole};
use values::time::Timestamp;

use crate::web::places::highlight_path;

/// Characters that are shown of a note, and of the words of a highlight.
const MAX_EXCERPT_CHARS: usize = 240;

/// A source of a project.
pub struct ProjectSourceRow {
    /// The id of the item.
    pub id: String,
    /// The name of the icon of its kind.
    pub icon: &'static str,
    /// The key of the name of its kind.
    pub kind: &'static str,
    /// Title of the page, file or entry; of a highlight its words.
    pub title: String,
    /// The title of the document of a highlight.
    pub document: Option<String>,
    /// The address of its page; of a highlight that of its words.
    pub href: String,
    /// The host of its address.
    pub host: Option<String>,
    /// Whether it is only background.
    pub is_background: bool,
    /// Whether it is pinned.
    pub is_pinned: bool,
    /// Whether an assistant gets it.
    pub is_given: bool,
    /// Whether it is the first that an assistant does not get.
    pub is_first_cut: bool,
}

impl ProjectSourceRow {
    /// Returns the row of a source.
    pub fn new(source: MeasuredSource) -> Self {
        let MeasuredSource { item, highlight, is_given } = source;
        let (icon, kind) = match item.kind {
            ItemKind::Bookmark => ("article", "projects-kind-page"),
            ItemKind::Highlight => ("highlight", "projects-kind-highlight"),
            ItemKind::Note => ("note", "projects-kind-note"),
            ItemKind::Entry => ("feeds", "projects-kind-entry"),
            ItemKind::Url => ("link", "projects-kind-page"),
        };
        let (href, host) = (href_of(&item, highlight.as_ref()), host_of(&item));
        let title = if item.title.trim().is_empty() { item.url } else { item.title };
        let (title, document) = match highlight {
            Some(highlight) => (excerpt(&highlight.words), Some(title)),
            None => (title, None),
        };
        Self {
            id: item.item_id.to_string(),
            icon,
            kind,
            href,
            host,
            title,
            document,
            is_background: item.role == ItemRole::Background,
            is_pinned: item.pinned,
            is_given,
            is_first_cut: false,
        }
    }
}

/// Returns the address of a source. The words of a lost highlight have no place, so it leads to the document.
fn href_of(item: &ItemView, highlight: Option<&HighlightExcerpt>) -> String {
    match highlight.filter(|highlight| highlight.anchor_state != AnchorState::Lost) {
        Some(highlight) => highlight_path(item.document_id, highlight.start_offset, highlight.end_offset),
        None => format!("/read/{}", item.document_id),
    }
}

/// Returns the first [`MAX_EXCERPT_CHARS`] characters of a text without its line breaks, and an ellipsis if the text is longer.
fn excerpt(text: &str) -> String {
    let start = text::one_line(text::head(text, 2 * MAX_EXCERPT_CHARS));
    let cut = text::head(&start, MAX_EXCERPT_CHARS);
    let ellipsis = if cut.len() < start.len() || start.len() < text.trim().len() { "…" } else { "" };
    format!("{cut}{ellipsis}")
}

fn host_of(item: &ItemView) -> Option<String> {
    url::Url::parse(&item.url).ok().and_then(|url| url.host_str().map(str::to_owned))
}

/// A decision of a project.
pub struct DecisionRow {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What was decided, and why.
    pub body: String,
    /// The class of its row.
    pub class: &'static str,
    /// The name of its icon.
    pub icon: &'static str,
    /// Whether it is proposed only.
    pub is_proposed: bool,
    /// Whether it was rejected.
    pub is_rejected: bool,
    /// Since when it is in force.
    pub decided_at: Option<Timestamp>,
}

impl DecisionRow {
    /// Returns the row of a decision.
    pub fn new(decision: DecisionView) -> Self {
        let (class, icon) = match decision.status {
            DecisionStatus::Proposed => ("is-proposed", "proposal"),
            DecisionStatus::Decided => ("is-decided", "decision"),
            DecisionStatus::Rejected => ("is-rejected", "x"),
        };
        Self {
            id: decision.id.to_string(),
            title: decision.title,
            body: decision.body,
            class,
            icon,
            is_proposed: decision.status == DecisionStatus::Proposed,
            is_rejected: decision.status == DecisionStatus::Rejected,
            decided_at: decision.decided_at,
        }
    }
}

/// A note of a project.
pub struct ProjectNoteRow {
    /// Its id.
    pub id: String,
    /// The address of its page in the reader.
    pub href: String,
    /// Its title.
    pub title: String,
    /// Its beginning.
    pub start: String,
    /// Whether it is pinned.
    pub is_pinned: bool,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl ProjectNoteRow {
    /// Returns the row of a note.
    pub fn new(note: NoteView) -> Self {
        Self {
            id: note.note_id.to_string(),
            href: format!("/read/{}", note.document_id),
            start: excerpt(&note.body_md),
            title: note.title,
            is_pinned: note.pinned,
            updated_at: note.updated_at,
        }
    }
}
