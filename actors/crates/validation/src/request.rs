//! What every request can do.

use deserr::Deserr;
use schemars::JsonSchema;

use super::faults::{FaultList, Faults, ImportMode, JsonMode, QueryMode};

/// A request: a struct that [`request!`](crate::request!) declares.
pub trait Request:
    Deserr<Faults<JsonMode>> + Deserr<Faults<QueryMode>> + Deserr<Faults<ImportMode>> + JsonSchema + 'static
{
    /// The names of its fields.
    const FIELD_NAMES: &'static [FieldName];
    /// The rules between its fields, which the readers check. A request that is a part of another one must not have any, which
    /// `tests/tidy.rs` checks.
    const RULES: &'static [FieldRule];

    /// Returns whether it has a field of this name.
    fn has_field(name: &str) -> bool {
        Self::FIELD_NAMES.iter().any(|field| field.matches(name))
    }
}

/// The name of a field in a query string or a JSON object.
// A macro can name a field only by its identifier, which is converted when names are compared.
#[derive(Clone, Copy, Debug)]
pub enum FieldName {
    /// This name, which the declaration states with `as`.
    Exact(&'static str),
    /// The name of the struct's field in camel case.
    CamelCaseOf(&'static str),
}

impl FieldName {
    fn matches(self, name: &str) -> bool {
        match self {
            FieldName::Exact(exact) => exact == name,
            FieldName::CamelCaseOf(ident) => camel_case(ident) == name,
        }
    }
}

/// A rule between two fields of a request. A field counts as given unless it is absent, null, `false`, or blank.
#[derive(Clone, Copy, Debug)]
pub struct FieldRule {
    field: &'static str,
    other: &'static str,
    is_other_given: bool,
    reason: &'static str,
}

impl FieldRule {
    /// `field` is faulty without `other`.
    pub const fn needs(field: &'static str, other: &'static str, reason: &'static str) -> Self {
        Self { field, other, is_other_given: false, reason }
    }

    /// `field` is faulty together with `other`.
    pub const fn excludes(field: &'static str, other: &'static str, reason: &'static str) -> Self {
        Self { field, other, is_other_given: true, reason }
    }
}

/// Returns a fault for each rule of a request that the given fields break.
pub(crate) fn check_rules<R: Request>(is_given: impl Fn(&str) -> bool) -> FaultList {
    let mut faults = FaultList::default();
    for rule in R::RULES {
        if is_given(rule.field) && is_given(rule.other) == rule.is_other_given {
            faults.add(rule.field, rule.reason);
        }
    }
    faults
}

fn camel_case(ident: &str) -> String {
    let mut words = ident.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}
