//! Plans and what each allows (spec.md: Limits; contract.md, section 4). The numbers come from the settings.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sea_orm::DeriveValueType;
use serde::{Deserialize, Serialize};

use crate::kind::NotAKind;

/// What a user has subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, DeriveValueType, Serialize, Deserialize)]
#[sea_orm(value_type = "String")]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// MCP with the read tools; no REST API.
    Free,
    /// Everything, with the numbers of one person's use.
    Pro,
    /// Everything, with larger numbers.
    Research,
}

impl Plan {
    /// All plans, smallest first.
    pub const ALL: [Plan; 3] = [Plan::Free, Plan::Pro, Plan::Research];

    /// Whether the plan has the REST API.
    pub fn has_rest(self) -> bool {
        match self {
            Plan::Free => false,
            Plan::Pro | Plan::Research => true,
        }
    }

    /// The name on the wire and in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Plan::Free => "free",
            Plan::Pro => "pro",
            Plan::Research => "research",
        }
    }
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
    type Err = NotAKind;

    fn from_str(name: &str) -> Result<Self, NotAKind> {
        Plan::ALL.into_iter().find(|p| p.name() == name).ok_or(NotAKind)
    }
}

/// The numbers of one plan.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// REST keys a user may have.
    pub rest_keys: u32,
    /// MCP keys a user may have.
    pub mcp_keys: u32,
    /// REST requests a UTC day.
    pub rest_per_day: u32,
    /// MCP tool calls a UTC day.
    pub mcp_per_day: u32,
    /// Requests an hour for one key.
    pub hourly_per_key: u32,
    /// Answers of /ask a UTC month.
    pub answers_per_month: u32,
    /// Items of one project.
    pub items_per_project: u32,
    /// Tokens of the AI budget a UTC month.
    pub ai_tokens_per_month: u64,
    /// Bytes of the largest single upload.
    pub upload_bytes: u64,
    /// Bytes of the uploads kept at one time.
    pub stored_bytes: u64,
    /// Bytes of the library: its texts, notes, import rows and stored idempotent answers.
    pub library_bytes: u64,
    /// Bytes of the files of imports and exports kept at one time.
    pub transfer_bytes: u64,
}

/// The table of plans, as the settings give it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plans {
    /// Numbers of the Free plan.
    pub free: Limits,
    /// Numbers of the Pro plan.
    pub pro: Limits,
    /// Numbers of the Research plan.
    pub research: Limits,
}

impl Plans {
    /// The numbers of a plan.
    pub fn limits(&self, plan: Plan) -> &Limits {
        match plan {
            Plan::Free => &self.free,
            Plan::Pro => &self.pro,
            Plan::Research => &self.research,
        }
    }
}
