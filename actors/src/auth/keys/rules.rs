//! What plans allow of API keys (spec.md: API keys, Scopes, Limits; contract.md, section 3).

use errors::Error;
use values::kind::KeyKind;
use values::plan::{Limits, Plan};
use values::scope::{Scope, Scopes};

/// Characters of the longest name of a key (contract.md, section 11: v1).
pub const MAX_NAME_CHARS: usize = 300;

/// Returns the scopes of a new key: the requested ones, or the default of its kind. An MCP key always has `mcp`.
///
/// # Errors
/// [`Error::Invalid`] for `mcp` on a REST key; [`Error::ScopeNotAllowed`] for scopes beyond the plan.
pub fn scopes(kind: KeyKind, plan: Plan, requested: Option<Scopes>) -> Result<Scopes, Error> {
    let requested = requested.unwrap_or_else(|| [Scope::ReadLibrary].as_slice().into());
    changed_scopes(kind, plan, &Scopes::default(), requested)
}

/// Returns the new scopes of a key with these scopes. Those beyond the plan may stay, because a downgrade deletes none (spec.md, state
/// machine of API keys), but none may be added.
///
/// # Errors
/// As [`scopes`].
pub fn changed_scopes(
    kind: KeyKind,
    plan: Plan,
    current: &Scopes,
    requested: Scopes,
) -> Result<Scopes, Error> {
    let scopes = match kind {
        KeyKind::Mcp => requested.with(Scope::Mcp),
        KeyKind::Rest if requested.has(Scope::Mcp) => {
            return Err(Error::invalid("scopes", "must not contain mcp for a REST key"));
        }
        KeyKind::Rest => requested,
    };
    let mut beyond = scopes.beyond(plan);
    beyond.retain(|scope| !current.has(*scope));
    if beyond.is_empty() { Ok(scopes) } else { Err(Error::ScopeNotAllowed(beyond)) }
}

/// Returns the number of keys of a kind that the plan allows.
pub fn max_keys(kind: KeyKind, limits: &Limits) -> u32 {
    match kind {
        KeyKind::Rest => limits.rest_keys,
        KeyKind::Mcp => limits.mcp_keys,
    }
}

/// Returns the requests within an hour that a key may make: its own setting, capped at the plan's maximum.
pub fn hourly_limit(setting: Option<i32>, limits: &Limits) -> u32 {
    let max = limits.hourly_per_key;
    setting.and_then(|own| u32::try_from(own).ok()).map_or(max, |own| own.min(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(scopes: &[Scope]) -> Option<Scopes> {
        Some(scopes.into())
    }

    #[test]
    fn default_key_reads_the_library_and_writes_nothing() {
        assert_eq!(scopes(KeyKind::Rest, Plan::Pro, None).unwrap().to_string(), "read:library");
        assert_eq!(scopes(KeyKind::Mcp, Plan::Free, None).unwrap().to_string(), "mcp read:library");
    }

    #[test]
    fn mcp_scope_is_refused_to_rest_keys() {
        let given = scopes(KeyKind::Mcp, Plan::Pro, set(&[Scope::WriteNotes])).unwrap();
        assert_eq!(given.to_string(), "mcp write:notes");
        assert!(matches!(scopes(KeyKind::Rest, Plan::Pro, set(&[Scope::Mcp])), Err(Error::Invalid(_))));
    }

    #[test]
    fn scopes_beyond_the_plan_may_stay_but_not_be_added() {
        let current: Scopes = [Scope::Mcp, Scope::WriteNotes].as_slice().into();
        let change =
            |requested: &[Scope]| changed_scopes(KeyKind::Mcp, Plan::Free, &current, requested.into());

        assert_eq!(change(&[Scope::WriteNotes]).unwrap(), current);
        let refused = change(&[Scope::WriteNotes, Scope::AskLibrary]);
        assert!(matches!(refused, Err(Error::ScopeNotAllowed(list)) if list == [Scope::AskLibrary]));
    }

    #[test]
    fn scopes_beyond_the_plan_are_named() {
        let refused = scopes(KeyKind::Mcp, Plan::Free, set(&[Scope::ReadLibrary, Scope::AskLibrary]));
        assert!(matches!(refused, Err(Error::ScopeNotAllowed(list)) if list == [Scope::AskLibrary]));
    }
}
