//! What a plan lets a key have. Plain rules (spec.md: API keys, Scopes, Limits; contract.md, section 3).

use entity::kind::KeyKind;
use entity::plan::{Limits, Plan};
use entity::scope::{Scope, Scopes};

use errors::Error;

/// The longest name of a key (contract.md, section 11: v1).
pub const MAX_NAME_CHARS: usize = 300;

/// The scopes of a new or changed key: those asked for, or the default of its kind. An MCP key always carries `mcp`.
pub fn scopes(kind: KeyKind, plan: Plan, asked: Option<Scopes>) -> Result<Scopes, Error> {
    let asked = asked.unwrap_or_else(|| [Scope::ReadLibrary].as_slice().into());
    let scopes = match kind {
        KeyKind::Mcp => asked.with(Scope::Mcp),
        KeyKind::Rest if asked.has(Scope::Mcp) => {
            return Err(Error::invalid("scopes", "must not contain mcp for a REST key"));
        }
        KeyKind::Rest => asked,
    };
    let beyond = scopes.beyond(plan);
    if beyond.is_empty() { Ok(scopes) } else { Err(Error::ScopeNotAllowed(beyond)) }
}

/// How many keys of a kind the plan allows.
pub fn most_keys(kind: KeyKind, limits: &Limits) -> u32 {
    match kind {
        KeyKind::Rest => limits.rest_keys,
        KeyKind::Mcp => limits.mcp_keys,
    }
}

/// Requests an hour that count: the key's own setting, capped at the plan's maximum.
pub fn hourly_limit(setting: Option<i32>, limits: &Limits) -> u32 {
    let most = limits.hourly_per_key;
    setting.and_then(|own| u32::try_from(own).ok()).map_or(most, |own| own.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(scopes: &[Scope]) -> Option<Scopes> {
        Some(scopes.into())
    }

    #[test]
    fn the_default_key_reads_the_library_and_writes_nothing() {
        assert_eq!(scopes(KeyKind::Rest, Plan::Pro, None).unwrap().to_string(), "read:library");
        assert_eq!(scopes(KeyKind::Mcp, Plan::Free, None).unwrap().to_string(), "mcp read:library");
    }

    #[test]
    fn an_mcp_key_keeps_its_scope_and_a_rest_key_has_it_never() {
        let given = scopes(KeyKind::Mcp, Plan::Pro, set(&[Scope::WriteNotes])).unwrap();
        assert_eq!(given.to_string(), "mcp write:notes");
        assert!(matches!(scopes(KeyKind::Rest, Plan::Pro, set(&[Scope::Mcp])), Err(Error::Invalid(_))));
    }

    #[test]
    fn scopes_beyond_the_plan_are_named() {
        let refused = scopes(KeyKind::Mcp, Plan::Free, set(&[Scope::ReadLibrary, Scope::AskLibrary]));
        assert!(matches!(refused, Err(Error::ScopeNotAllowed(list)) if list == [Scope::AskLibrary]));
    }
}
