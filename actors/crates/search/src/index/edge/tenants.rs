//! Facts about the tenants of a shard that a search needs before it begins: whether all passages of the shard belong to its tenant, and
//! the languages of the tenant's passages.
//!
//! The engine counts both once, and they are kept. Every write is noted before it begins, also while a count is in progress, so neither
//! ever lacks a passage that a search can find. Nothing is counted under the lock.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::index::index_error::IndexError;
use crate::index::language::Language;
use crate::index::passage::Tenant;

/// The tenants that a shard has passages of, and their languages.
#[derive(Debug, Default)]
pub struct TenantRegister {
    state: Mutex<RegisterState>,
}

#[derive(Debug, Default)]
struct RegisterState {
    /// The tenants of all passages that were written since the shard was opened and, once `has_counted_owners`, of all others; without
    /// those whose passages are gone.
    owners: HashSet<Tenant>,
    has_counted_owners: bool,
    /// How often a tenant or a count was removed. A count of the owners that began before may have one whose passages are gone.
    removals: u64,
    languages: HashMap<Tenant, TenantLanguages>,
}

/// Languages of the passages of a tenant: of those that were written since the shard was opened and, once they are counted, of all
/// others.
#[derive(Debug, Default)]
struct TenantLanguages {
    languages: HashSet<Language>,
    is_counted: bool,
}

impl TenantRegister {
    /// Notes that passages of a tenant in these languages are about to be written. To be called before the write: a search must know
    /// the language and the tenant of every passage that it can find. If the write fails, the register has a language or a tenant without
    /// passages, which only makes searches slower.
    pub fn note_upsert(&self, tenant: &Tenant, languages: impl Iterator<Item = Language>) {
        let mut state = self.state();
        state.owners.insert(*tenant);
        state.languages.entry(*tenant).or_default().languages.extend(languages);
    }

    /// Notes that no passage of a tenant is left: its languages are counted again at the next request. No passage of the tenant may
    /// be written between the deletion and this call.
    pub fn note_delete(&self, tenant: &Tenant) {
        let mut state = self.state();
        state.owners.remove(tenant);
        state.removals += 1;
        // The entry stays, for what is written during a count that is in progress now.
        if let Some(known) = state.languages.get_mut(tenant) {
            *known = TenantLanguages::default();
        }
    }

    /// Notes that passages of any tenants were deleted: if there are several tenants, they are counted again at the next request. No
    /// passage may be written between the deletion and this call.
    pub fn recount_owners(&self) {
        let mut state = self.state();
        state.removals += 1;
        if state.owners.len() > 1 {
            state.owners.clear();
            state.has_counted_owners = false;
        }
    }

    /// Returns whether every passage of the shard is of this tenant. False until [`Self::count_owners`] has succeeded once.
    pub fn is_sole_owner(&self, tenant: &Tenant) -> bool {
        let state = self.state();
        state.has_counted_owners && state.owners.len() == 1 && state.owners.contains(tenant)
    }

    /// Returns whether passages of others than this tenant may be in the shard.
    pub fn may_have_others(&self, tenant: &Tenant) -> bool {
        let state = self.state();
        !state.has_counted_owners || state.owners.iter().any(|owner| owner != tenant)
    }

    /// Counts the tenants of the shard, unless that was done before. `count` returns those that have passages. If passages of a tenant
    /// were deleted meanwhile, the next call counts again.
    ///
    /// # Errors
    /// The errors of `count`.
    pub fn count_owners(
        &self,
        count: impl FnOnce() -> Result<Vec<Tenant>, IndexError>,
    ) -> Result<(), IndexError> {
        let removals = {
            let state = self.state();
            if state.has_counted_owners {
                return Ok(());
            }
            state.removals
        };
        let counted = count()?;
        let mut state = self.state();
        if state.removals == removals {
            // Tenants that were noted during the count stay.
            state.owners.extend(counted);
            state.has_counted_owners = true;
        }
        Ok(())
    }

    /// Returns the languages of a tenant, which `count` counts at the first call.
    ///
    /// # Errors
    /// The errors of `count`.
    pub fn languages(
        &self,
        tenant: &Tenant,
        count: impl FnOnce() -> Result<HashSet<Language>, IndexError>,
    ) -> Result<Vec<Language>, IndexError> {
        if let Some(known) = self.state().languages.get(tenant).filter(|known| known.is_counted) {
            return Ok(known.languages.iter().copied().collect());
        }
        let counted = count()?;
        let mut state = self.state();
        let known = state.languages.entry(*tenant).or_default();
        // Languages that were noted during the count stay.
        known.languages.extend(counted);
        known.is_counted = true;
        Ok(known.languages.iter().copied().collect())
    }

    fn state(&self) -> MutexGuard<'_, RegisterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn tenant(number: u128) -> Tenant {
        Tenant::of(Uuid::from_u128(number))
    }

    fn upsert(register: &TenantRegister, number: u128, language: Language) {
        register.note_upsert(&tenant(number), [language].into_iter());
    }

    #[test]
    fn tenant_is_alone_once_counted_and_until_another_writes() {
        let register = TenantRegister::default();
        upsert(&register, 1, Language::Dutch);
        assert!(!register.is_sole_owner(&tenant(1)), "there may be others that were written before");

        register.count_owners(|| Ok(vec![tenant(1)])).unwrap();
        register.count_owners(|| panic!("counted twice")).unwrap();
        assert!(register.is_sole_owner(&tenant(1)) && !register.is_sole_owner(&tenant(2)));

        upsert(&register, 1, Language::Dutch);
        assert!(register.is_sole_owner(&tenant(1)));
        upsert(&register, 2, Language::Dutch);
        assert!(!register.is_sole_owner(&tenant(1)) && !register.is_sole_owner(&tenant(2)));
    }

    #[test]
    fn first_tenant_of_an_empty_shard_is_alone() {
        let register = TenantRegister::default();
        register.count_owners(|| Ok(Vec::new())).unwrap();
        assert!(!register.is_sole_owner(&tenant(1)));

        upsert(&register, 1, Language::Dutch);

        assert!(register.is_sole_owner(&tenant(1)));
    }

    #[test]
    fn tenant_that_writes_during_the_count_is_counted() {
        let register = TenantRegister::default();

        let count = || {
            upsert(&register, 2, Language::Dutch);
            Ok(vec![tenant(1)])
        };
        register.count_owners(count).unwrap();

        assert!(!register.is_sole_owner(&tenant(1)));
    }

    #[test]
    fn tenant_is_alone_again_once_the_passages_of_others_are_gone() {
        let register = TenantRegister::default();
        register.count_owners(|| Ok(vec![tenant(1), tenant(2), tenant(3)])).unwrap();
        assert!(!register.is_sole_owner(&tenant(1)) && register.may_have_others(&tenant(1)));

        register.note_delete(&tenant(2));
        assert!(!register.is_sole_owner(&tenant(1)));
        register.note_delete(&tenant(3));
        assert!(register.is_sole_owner(&tenant(1)) && !register.may_have_others(&tenant(1)));

        upsert(&register, 2, Language::Dutch);
        assert!(!register.is_sole_owner(&tenant(1)));
        register.recount_owners();
        assert!(!register.is_sole_owner(&tenant(1)) && register.may_have_others(&tenant(1)));
        register.count_owners(|| Ok(vec![tenant(1)])).unwrap();
        assert!(register.is_sole_owner(&tenant(1)));
    }

    #[test]
    fn count_with_a_tenant_that_is_deleted_meanwhile_is_repeated() {
        let register = TenantRegister::default();

        let count = || {
            register.note_delete(&tenant(2));
            Ok(vec![tenant(1), tenant(2)])
        };
        register.count_owners(count).unwrap();
        assert!(!register.is_sole_owner(&tenant(1)));
        register.count_owners(|| Ok(vec![tenant(1)])).unwrap();

        assert!(register.is_sole_owner(&tenant(1)));
    }

    #[test]
    fn count_that_fails_is_repeated() {
        let register = TenantRegister::default();

        assert!(register.count_owners(|| Err(IndexError::Blocked)).is_err());
        assert!(register.languages(&tenant(1), || Err(IndexError::Blocked)).is_err());

        register.count_owners(|| Ok(vec![tenant(1)])).unwrap();
        assert!(register.is_sole_owner(&tenant(1)));
        let counted = register.languages(&tenant(1), || Ok(HashSet::from([Language::Thai])));
        assert_eq!(counted.unwrap(), [Language::Thai]);
    }

    #[test]
    fn languages_include_those_written_during_the_count() {
        let register = TenantRegister::default();

        let count = || {
            upsert(&register, 1, Language::Dutch);
            Ok(HashSet::from([Language::Thai]))
        };
        let mut counted = register.languages(&tenant(1), count).unwrap();
        counted.sort_unstable();

        assert_eq!(counted, [Language::Dutch, Language::Thai]);
        assert_eq!(register.languages(&tenant(1), || panic!("counted twice")).unwrap().len(), 2);
    }

    #[test]
    fn languages_are_counted_anew_after_a_deletion() {
        let register = TenantRegister::default();
        upsert(&register, 1, Language::Dutch);
        register.languages(&tenant(1), || Ok(HashSet::new())).unwrap();

        register.note_delete(&tenant(1));

        assert!(register.languages(&tenant(1), || Ok(HashSet::new())).unwrap().is_empty());
    }
}
