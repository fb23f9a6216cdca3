//! Scopes, the permissions of a key, and sets of scopes (spec.md: Scopes).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::kind::{NamedKind, UnknownName};
use crate::plan::Plan;

macro_rules! scopes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// One permission of a key or a connected app.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Scope { $($(#[$doc])* $variant),+ }

        impl Scope {
            /// Every scope, in the order of the specification.
            pub const ALL: &'static [Scope] = &[$(Scope::$variant),+];

            /// Returns the name on the wire.
            pub fn name(self) -> &'static str {
                match self { $(Scope::$variant => $name),+ }
            }
        }

        impl NamedKind for Scope {
            const NAMES: &'static [&'static str] = &[$($name),+];
        }
    };
}

scopes! {
    /// Using the key with the MCP server.
    Mcp = "mcp",
    /// Searching, and reading documents with their chunks and transcripts.
    ReadLibrary = "read:library",
    /// Questions that are answered by a model.
    AskLibrary = "ask:library",
    /// Listing projects and reading their context.
    ReadProjects = "read:projects",
    /// Adding items and notes to projects.
    WriteProjects = "write:projects",
    /// Announcing and completing uploads.
    WriteUploads = "write:uploads",
    /// Reading bookmarks through REST v1.
    ReadBookmarks = "read:bookmarks",
    /// Changing bookmarks through REST v1; the tool add_bookmark.
    WriteBookmarks = "write:bookmarks",
    /// Writing notes with the MCP tool create_note.
    WriteNotes = "write:notes",
    /// Reading collections through REST v1.
    ReadCollections = "read:collections",
    /// Changing collections through REST v1.
    WriteCollections = "write:collections",
    /// Reading feeds through REST v1.
    ReadFeeds = "read:feeds",
    /// Changing feeds through REST v1.
    WriteFeeds = "write:feeds",
    /// Reading feed entries through REST v1.
    ReadEntries = "read:entries",
    /// Reading the account through REST v1.
    ReadUser = "read:user",
}

impl Scope {
    /// The scopes that an app may be granted through OAuth (spec.md: Scopes).
    pub const GRANTABLE: [Scope; 5] = [
        Scope::ReadLibrary,
        Scope::ReadProjects,
        Scope::WriteProjects,
        Scope::WriteBookmarks,
        Scope::WriteNotes,
    ];
}

impl Scope {
    /// Returns the bit of the scope in a set of scopes.
    const fn bit(self) -> u16 {
        1 << self as u16
    }

    /// Returns whether the scope permits changes of the library.
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

    /// Returns whether one of these scopes permits changes of the library.
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
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Scope::ALL.iter().copied().find(|s| s.name() == name).ok_or(UnknownName)
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
        json_schema!({ "type": "string", "enum": Scope::NAMES })
    }
}

impl Plan {
    /// Returns whether the plan includes the scope (spec.md: Scopes).
    pub fn includes(self, scope: Scope) -> bool {
        match self {
            Plan::Free => matches!(scope, Scope::Mcp | Scope::ReadLibrary | Scope::ReadProjects),
            Plan::Pro | Plan::Research => true,
        }
    }
}

/// A set of scopes, stored as names separated by spaces.
// A bit for each scope: sets are made and compared several times in each request.
#[derive(Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "sea-orm", derive(sea_orm::DeriveValueType), sea_orm(value_type = "String"))]
pub struct Scopes(u16);

impl Scopes {
    /// Returns whether the scope is in the set.
    pub fn has(&self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Returns the scopes that the plan includes. The others are ignored until an upgrade, not deleted.
    pub fn within(&self, plan: Plan) -> Scopes {
        self.iter().filter(|s| plan.includes(*s)).collect()
    }

    /// Returns the scopes that the plan does not include.
    pub fn beyond(&self, plan: Plan) -> Vec<Scope> {
        self.iter().filter(|s| !plan.includes(*s)).collect()
    }

    /// Returns the needed scopes that are not in the set.
    pub fn missing(&self, needed: &Scopes) -> Vec<Scope> {
        needed.iter().filter(|s| !self.has(*s)).collect()
    }

    /// Returns the scopes that are in both sets.
    pub fn intersection(&self, other: &Scopes) -> Scopes {
        Self(self.0 & other.0)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Returns the set with the scope added.
    pub fn with(mut self, scope: Scope) -> Scopes {
        self.0 |= scope.bit();
        self
    }

    /// Iterates over the scopes in the order of the specification.
    pub fn iter(&self) -> impl Iterator<Item = Scope> + '_ {
        Scope::ALL.iter().copied().filter(|scope| self.has(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        scopes.into_iter().fold(Self::default(), Self::with)
    }
}

impl From<&[Scope]> for Scopes {
    fn from(scopes: &[Scope]) -> Self {
        scopes.iter().copied().collect()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iter().map(Scope::name).collect::<Vec<_>>().join(" "))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl FromStr for Scopes {
    type Err = UnknownName;

    fn from_str(names: &str) -> Result<Self, UnknownName> {
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
    fn set_is_stored_as_names_and_parsed_back() {
        let scopes: Scopes = [Scope::ReadProjects, Scope::Mcp].as_slice().into();

        assert_eq!(scopes.to_string(), "mcp read:projects");
        assert_eq!(scopes.to_string().parse(), Ok(scopes));
        assert_eq!("mcp write:everything".parse::<Scopes>(), Err(UnknownName));
    }

    #[test]
    fn set_has_each_scope_once_in_the_order_of_the_specification() {
        let all: Scopes = Scope::ALL.iter().rev().chain(Scope::ALL).copied().collect();

        assert!(all.iter().eq(Scope::ALL.iter().copied()));
        for scope in Scope::ALL {
            let one: Scopes = [*scope].as_slice().into();
            assert_eq!(one.missing(&all).len(), Scope::ALL.len() - 1);
            assert_eq!((all.intersection(&one), one.clone().with(*scope)), (one.clone(), one));
        }
        assert!(Scopes::default().is_empty() && !all.is_empty());
    }

    #[test]
    fn plan_ignores_scopes_that_it_does_not_include() {
        let scopes: Scopes = [Scope::Mcp, Scope::WriteNotes].as_slice().into();

        assert_eq!(scopes.within(Plan::Free).to_string(), "mcp");
        assert_eq!(scopes.beyond(Plan::Free), [Scope::WriteNotes]);
        assert_eq!(scopes.within(Plan::Pro), scopes);
    }
}
