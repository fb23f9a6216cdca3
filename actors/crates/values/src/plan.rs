//! Plans and their limits (spec.md: Limits; contract.md, section 4). The limits come from the settings.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::kind::{NamedKind, UnknownName};

/// The plan of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "sea-orm", derive(sea_orm::DeriveValueType), sea_orm(value_type = "String"))]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// The read tools of the MCP server; no REST API.
    Free,
    /// All features, with limits for personal use.
    Pro,
    /// All features, with higher limits.
    Research,
}

impl Plan {
    /// All plans, the one with the lowest limits first.
    pub const ALL: [Plan; 3] = [Plan::Free, Plan::Pro, Plan::Research];

    /// Returns whether the plan includes the REST API.
    pub fn has_rest(self) -> bool {
        match self {
            Plan::Free => false,
            Plan::Pro | Plan::Research => true,
        }
    }

    /// Returns the name on the wire and in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Plan::Free => "free",
            Plan::Pro => "pro",
            Plan::Research => "research",
        }
    }
}

impl NamedKind for Plan {
    const NAMES: &'static [&'static str] = &["free", "pro", "research"];
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl JsonSchema for Plan {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Plan".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Plan::ALL.map(Plan::name) })
    }
}

impl FromStr for Plan {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Plan::ALL.into_iter().find(|p| p.name() == name).ok_or(UnknownName)
    }
}

/// The limits of one plan.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Maximum number of REST keys of a user.
    pub rest_keys: u32,
    /// Maximum number of MCP keys of a user.
    pub mcp_keys: u32,
    /// REST requests per UTC day.
    pub rest_per_day: u32,
    /// MCP tool calls per UTC day.
    pub mcp_per_day: u32,
    /// Requests per hour and key.
    pub hourly_per_key: u32,
    /// Answers of /ask per UTC month.
    pub answers_per_month: u32,
    /// Maximum number of items of a project.
    pub items_per_project: u32,
    /// AI tokens per UTC month.
    pub ai_tokens_per_month: u64,
    /// Bytes of the largest single upload.
    pub upload_bytes: u64,
    /// Bytes of all stored uploads of a user.
    pub stored_bytes: u64,
    /// Bytes of a library: its texts and rows, notes, import rows and stored idempotent responses.
    pub library_bytes: u64,
    /// Bytes of all stored files of imports and exports of a user.
    pub transfer_bytes: u64,
}

/// The limits of all plans, from the settings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plans {
    /// Limits of the Free plan.
    pub free: Limits,
    /// Limits of the Pro plan.
    pub pro: Limits,
    /// Limits of the Research plan.
    pub research: Limits,
}

impl Plans {
    /// Returns the limits of a plan.
    pub fn limits(&self, plan: Plan) -> &Limits {
        match plan {
            Plan::Free => &self.free,
            Plan::Pro => &self.pro,
            Plan::Research => &self.research,
        }
    }
}
