//! What stands around the page of an account: navigation with numbers, the name of the user, and the message of an action.

use actors::operations::saved_searches::SavedSearchView;
use actors::operations::shell::ShellCounts;
use askama::Template;

use super::done::{DoneMessage, UndoForm};
use crate::web::filters;
use crate::web::locale::Locale;

/// The entry of the navigation that is current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NavigationEntry {
    /// Home.
    Home,
    /// The library, and what is read from it.
    Library,
    /// Feeds.
    Feeds,
    /// Highlights.
    Highlights,
    /// Projects.
    Projects,
    /// Ask.
    Ask,
    /// Uploads and work.
    Uploads,
    /// Settings.
    Settings,
    /// Search.
    Search,
    /// Notices.
    Notices,
    /// A page that no entry leads to.
    Elsewhere,
}

impl NavigationEntry {
    /// Returns whether this is the entry of this name, which templates use.
    pub fn is(self, name: &str) -> bool {
        let own = match self {
            Self::Home => "home",
            Self::Library => "library",
            Self::Feeds => "feeds",
            Self::Highlights => "highlights",
            Self::Projects => "projects",
            Self::Ask => "ask",
            Self::Uploads => "uploads",
            Self::Settings => "settings",
            Self::Search => "search",
            Self::Notices => "notices",
            Self::Elsewhere => "",
        };
        own == name
    }

    /// Returns whether the phone reaches the page by "More".
    pub fn is_more(self) -> bool {
        match self {
            Self::Highlights
            | Self::Projects
            | Self::Uploads
            | Self::Settings
            | Self::Search
            | Self::Notices => true,
            Self::Home | Self::Library | Self::Feeds | Self::Ask | Self::Elsewhere => false,
        }
    }
}

/// What stands around a page.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The current entry.
    pub here: NavigationEntry,
    /// The name of the user, or the e-mail address.
    pub name: String,
    /// The first letter of the name.
    pub initial: String,
    /// The numbers of the navigation.
    pub counts: ShellCounts,
    /// The pinned saved searches, in their order.
    pub pinned: Vec<SavedSearchView>,
    /// Whether the user is an operator, who has further pages.
    pub is_operator: bool,
    /// The message of an action.
    pub toast: Option<ToastView>,
}

/// The message of an action, with the form that takes it back.
#[derive(Clone, Debug, Template)]
#[template(path = "partials/toast.html")]
pub struct ToastView {
    text: String,
    undo: Option<UndoForm>,
}

impl ToastView {
    /// The message in the language of the page.
    pub fn new(message: &DoneMessage, locale: &Locale) -> Self {
        Self { text: locale.t_with(message.key, &message.values), undo: message.undo.clone() }
    }
}
