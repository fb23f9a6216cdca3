//! Permissions in words.

use values::kind::KeyKind;
use values::plan::Plan;
use values::scope::{Scope, Scopes};

use crate::web::locale::Locale;

/// Returns the key of the sentence that says what a permission allows.
pub fn sentence_key(scope: Scope) -> &'static str {
    match scope {
        Scope::Mcp => "scope-mcp",
        Scope::ReadLibrary => "scope-read-library",
        Scope::AskLibrary => "scope-ask-library",
        Scope::ReadProjects => "scope-read-projects",
        Scope::WriteProjects => "scope-write-projects",
        Scope::WriteUploads => "scope-write-uploads",
        Scope::ReadBookmarks => "scope-read-bookmarks",
        Scope::WriteBookmarks => "scope-write-bookmarks",
        Scope::WriteNotes => "scope-write-notes",
        Scope::ReadCollections => "scope-read-collections",
        Scope::WriteCollections => "scope-write-collections",
        Scope::ReadFeeds => "scope-read-feeds",
        Scope::WriteFeeds => "scope-write-feeds",
        Scope::ReadEntries => "scope-read-entries",
        Scope::ReadUser => "scope-read-user",
    }
}

/// Returns the key of the few words for a permission in a list; `None` for the one that every MCP key has.
fn short_key(scope: Scope) -> Option<&'static str> {
    Some(match scope {
        Scope::Mcp => return None,
        Scope::ReadLibrary => "scope-short-read-library",
        Scope::AskLibrary => "scope-short-ask-library",
        Scope::ReadProjects => "scope-short-read-projects",
        Scope::WriteProjects => "scope-short-write-projects",
        Scope::WriteUploads => "scope-short-write-uploads",
        Scope::ReadBookmarks => "scope-short-read-bookmarks",
        Scope::WriteBookmarks => "scope-short-write-bookmarks",
        Scope::WriteNotes => "scope-short-write-notes",
        Scope::ReadCollections => "scope-short-read-collections",
        Scope::WriteCollections => "scope-short-write-collections",
        Scope::ReadFeeds => "scope-short-read-feeds",
        Scope::WriteFeeds => "scope-short-write-feeds",
        Scope::ReadEntries => "scope-short-read-entries",
        Scope::ReadUser => "scope-short-read-user",
    })
}

/// Returns the permissions in a few words each: `read the library, ask questions and write notes`. Empty without any.
pub fn in_words(scopes: &Scopes, locale: &Locale) -> String {
    let words: Vec<String> = scopes.iter().filter_map(short_key).map(|key| locale.t(key)).collect();
    locale.list(&words)
}

/// Returns whether the form of a key of this kind lets a user with this plan choose the permission.
pub fn is_choosable(scope: Scope, kind: KeyKind, plan: Plan) -> bool {
    scope != Scope::Mcp && plan.includes(scope) && offered_scopes(kind).contains(&scope)
}

fn offered_scopes(kind: KeyKind) -> &'static [Scope] {
    match kind {
        KeyKind::Mcp => &Scope::GRANTABLE,
        KeyKind::Rest => Scope::ALL,
    }
}

/// A permission that a form offers.
#[derive(Clone, Debug)]
pub struct ScopeChoice {
    /// The name on the wire.
    pub name: &'static str,
    /// The key of its sentence.
    pub sentence: &'static str,
    /// Whether it is ticked.
    pub is_on: bool,
    /// Whether the plan lacks it.
    pub is_locked: bool,
}

/// The permissions that a key of a kind can have, apart from the one that every MCP key has: those to read, and those to write.
#[derive(Clone, Debug)]
pub struct ScopeChoices {
    /// Permissions to read.
    pub reading: Vec<ScopeChoice>,
    /// Permissions to write.
    pub writing: Vec<ScopeChoice>,
}

impl ScopeChoices {
    /// Returns the permissions of a kind of keys within and beyond a plan.
    pub fn of(kind: KeyKind, plan: Plan, ticked: impl Fn(Scope) -> bool) -> Self {
        let choice = |scope: Scope| ScopeChoice {
            name: scope.name(),
            sentence: sentence_key(scope),
            is_on: ticked(scope),
            is_locked: !plan.includes(scope),
        };
        let offered = offered_scopes(kind).iter().copied().filter(|scope| *scope != Scope::Mcp);
        let (writing, reading): (Vec<Scope>, Vec<Scope>) = offered.partition(|scope| scope.is_write());
        Self {
            reading: reading.into_iter().map(choice).collect(),
            writing: writing.into_iter().map(choice).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_plan_locks_what_it_lacks() {
        let choices = ScopeChoices::of(KeyKind::Mcp, Plan::Free, |scope| scope == Scope::ReadLibrary);

        let locked: Vec<_> = choices.reading.iter().map(|choice| (choice.is_on, choice.is_locked)).collect();
        assert_eq!(locked, [(true, false), (false, false)]);
        assert!(choices.writing.iter().all(|choice| choice.is_locked));
    }

    #[test]
    fn mcp_scope_is_never_a_choice() {
        for kind in [KeyKind::Mcp, KeyKind::Rest] {
            let choices = ScopeChoices::of(kind, Plan::Research, |_| false);
            let all = choices.reading.iter().chain(&choices.writing);
            assert!(all.clone().count() >= 5 && all.clone().all(|choice| choice.name != "mcp"));
        }
    }
}
