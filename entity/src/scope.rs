//! Scopes: what a key may do, and sets of them (spec.md: Scopes).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sea_orm::DeriveValueType;
use serde::{Serialize, Serializer};

use crate::kind::NotAKind;
use crate::plan::Plan;

macro_rules! scopes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// One permission of a key or a connected application.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Scope { $($(#[$doc])* $variant),+ }

        impl Scope {
            /// Every scope, in the order of the specification.
            pub const ALL: &'static [Scope] = &[$(Scope::$variant),+];

            /// The name on the wire.
            pub fn name(self) -> &'static str {
                match self { $(Scope::$variant => $name),+ }
            }
        }
    };
}

scopes! {
    /// Using the key with the MCP server.
    Mcp = "mcp",
    /// Search, documents, chunks, transcripts.
    ReadLibrary = "read:library",
    /// Questions answered by the service's model.
    AskLibrary = "ask:library",
    /// Listing projects and reading their context.
    ReadProjects = "read:projects",
    /// Adding items and notes to projects.
    WriteProjects = "write:projects",
    /// Uploads.
    WriteUploads = "write:uploads",
    /// Reading bookmarks by v1.
    ReadBookmarks = "read:bookmarks",
    /// Changing bookmarks by v1; the tool add_bookmark.
    WriteBookmarks = "write:bookmarks",
    /// The tool create_note.
    WriteNotes = "write:notes",
    /// Reading collections by v1.
    ReadCollections = "read:collections",
    /// Changing collections by v1.
    WriteCollections = "write:collections",
    /// Reading feeds by v1.
    ReadFeeds = "read:feeds",
    /// Changing feeds by v1.
    WriteFeeds = "write:feeds",
    /// Reading feed entries by v1.
    ReadEntries = "read:entries",
    /// Reading the account by v1.
    ReadUser = "read:user",
}

impl Scope {
    /// Those that an application may be granted by OAuth (spec.md: Scopes).
    pub const GRANTABLE: [Scope; 5] = [
        Scope::ReadLibrary,
        Scope::ReadProjects,
        Scope::WriteProjects,
        Scope::WriteBookmarks,
        Scope::WriteNotes,
    ];
}

impl Scope {
    /// Whether it lets its holder change the library.
    pub const fn is_write(self) -> bool {
        match self {
            Scope::WriteProjects
            | Scope::WriteUploads
            | Scope::WriteBookmarks
            | Scope::WriteNotes
            | Scope::WriteCollections
            | Scope::WriteFeeds => true,
            Scope::Mcp
            | Scope::ReadLibrary
            | Scope::AskLibrary
            | Scope::ReadProjects
            | Scope::ReadBookmarks
            | Scope::ReadCollections
            | Scope::ReadFeeds
            | Scope::ReadEntries
            | Scope::ReadUser => false,
        }
    }

    /// Whether one of these is such a scope.
    pub const fn any_writes(mut scopes: &[Scope]) -> bool {
        while let [scope, rest @ ..] = scopes {
            if scope.is_write() {
                return true;
            }
            scopes = rest;
        }
        false
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scope {
    type Err = NotAKind;

    fn from_str(name: &str) -> Result<Self, NotAKind> {
        Scope::ALL.iter().copied().find(|s| s.name() == name).ok_or(NotAKind)
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl JsonSchema for Scope {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Scope".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Scope::ALL.iter().map(|scope| scope.name()).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

impl Plan {
    /// Whether keys of this plan may have the scope (spec.md: Scopes).
    pub fn includes(self, scope: Scope) -> bool {
        match self {
            Plan::Free => matches!(scope, Scope::Mcp | Scope::ReadLibrary | Scope::ReadProjects),
            Plan::Pro | Plan::Research => true,
        }
    }
}

/// A set of scopes; kept as names with spaces between.
#[derive(Clone, Debug, Default, PartialEq, Eq, DeriveValueType)]
#[sea_orm(value_type = "String")]
pub struct Scopes(BTreeSet<Scope>);

impl Scopes {
    /// Whether the scope is in the set.
    pub fn has(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// Those that the plan includes; the others are ignored until an upgrade, not deleted.
    pub fn within(&self, plan: Plan) -> Scopes {
        self.iter().filter(|s| plan.includes(*s)).collect()
    }

    /// Those that the plan does not include.
    pub fn beyond(&self, plan: Plan) -> Vec<Scope> {
        self.iter().filter(|s| !plan.includes(*s)).collect()
    }

    /// Which of the needed are not in the set.
    pub fn missing(&self, needed: &Scopes) -> Vec<Scope> {
        needed.iter().filter(|s| !self.has(*s)).collect()
    }

    /// Those that are in the other set too.
    pub fn common(&self, other: &Scopes) -> Scopes {
        self.iter().filter(|scope| other.has(*scope)).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The set with one more.
    pub fn with(mut self, scope: Scope) -> Scopes {
        self.0.insert(scope);
        self
    }

    /// In the order of the specification.
    pub fn iter(&self) -> impl Iterator<Item = Scope> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl From<&[Scope]> for Scopes {
    fn from(scopes: &[Scope]) -> Self {
        scopes.iter().copied().collect()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|s| s.name()).collect::<Vec<_>>().join(" "))
    }
}

impl FromStr for Scopes {
    type Err = NotAKind;

    fn from_str(names: &str) -> Result<Self, NotAKind> {
        names.split_whitespace().map(str::parse).collect()
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl JsonSchema for Scopes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Scopes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": generator.subschema_for::<Scope>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_kept_as_names_and_read_back() {
        let scopes: Scopes = [Scope::ReadProjects, Scope::Mcp].as_slice().into();

        assert_eq!(scopes.to_string(), "mcp read:projects");
        assert_eq!(scopes.to_string().parse(), Ok(scopes));
        assert_eq!("mcp write:everything".parse::<Scopes>(), Err(NotAKind));
    }

    #[test]
    fn a_plan_hides_scopes_beyond_it() {
        let scopes: Scopes = [Scope::Mcp, Scope::WriteNotes].as_slice().into();

        assert_eq!(scopes.within(Plan::Free).to_string(), "mcp");
        assert_eq!(scopes.beyond(Plan::Free), [Scope::WriteNotes]);
        assert_eq!(scopes.within(Plan::Pro), scopes);
    }
}
