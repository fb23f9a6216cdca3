//! The languages of each tenant's passages. A search must know the language of every passage that it can find.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::index::index_error::IndexError;
use crate::index::language::Language;
use crate::index::passage::Tenant;

/// Maximum time for which counted languages are used. Another node of the server may have written passages in a language that is new since,
/// without a call of [`LanguageCache::forget_count`].
const COUNT_LIFETIME: Duration = Duration::from_secs(60);

/// The languages of tenants: those that this process has written, and those that the server has counted.
#[derive(Debug, Default)]
pub struct LanguageCache {
    tenants: Mutex<HashMap<Tenant, KnownLanguages>>,
}

#[derive(Debug, Default)]
struct KnownLanguages {
    /// Of passages that this process has written. Noted before the write, so that a count in progress does not hide them.
    written: HashSet<Language>,
    counted: HashSet<Language>,
    /// When `counted` was counted; `None` if it is to be counted at the next request.
    counted_at: Option<Instant>,
    /// How often the count was forgotten. A count that was begun before is not used for further requests.
    forgotten: u64,
}

impl LanguageCache {
    /// Notes that passages of a tenant in these languages are about to be written.
    pub fn note_upsert(&self, tenant: &Tenant, languages: impl Iterator<Item = Language>) {
        self.tenants().entry(*tenant).or_default().written.extend(languages);
    }

    /// Notes that all passages of a tenant were deleted: its languages are counted again at the next request.
    pub fn note_delete(&self, tenant: &Tenant) {
        self.tenants().remove(tenant);
    }

    /// Notes that another process may have written passages of a tenant: its languages are counted again at the next request.
    pub fn forget_count(&self, tenant: &Tenant) {
        let mut tenants = self.tenants();
        let known = tenants.entry(*tenant).or_default();
        known.counted_at = None;
        known.forgotten += 1;
    }

    /// Returns the languages of a tenant, which `count` counts if the last count is too old.
    ///
    /// # Errors
    /// The errors of `count`.
    pub fn languages(
        &self,
        tenant: &Tenant,
        count: impl FnOnce() -> Result<HashSet<Language>, IndexError>,
    ) -> Result<Vec<Language>, IndexError> {
        let is_recent =
            |known: &KnownLanguages| known.counted_at.is_some_and(|at| at.elapsed() < COUNT_LIFETIME);
        let forgotten = {
            let mut tenants = self.tenants();
            let known = tenants.entry(*tenant).or_default();
            if is_recent(known) {
                return Ok(known.all());
            }
            known.forgotten
        };
        // Not under the lock: it is a request to the server.
        let counted = count()?;
        let mut tenants = self.tenants();
        let known = tenants.entry(*tenant).or_default();
        known.counted = counted;
        known.counted_at = (known.forgotten == forgotten).then(Instant::now);
        Ok(known.all())
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<Tenant, KnownLanguages>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownLanguages {
    fn all(&self) -> Vec<Language> {
        self.counted.union(&self.written).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn language_written_during_a_count_is_known() {
        let (cache, tenant) = (LanguageCache::default(), Tenant::of(Uuid::from_u128(1)));

        let counted = cache.languages(&tenant, || {
            cache.note_upsert(&tenant, [Language::Thai].into_iter());
            Ok(HashSet::new())
        });

        assert_eq!(counted.unwrap(), [Language::Thai]);
        assert_eq!(cache.languages(&tenant, || Err(IndexError::Blocked)).unwrap(), [Language::Thai]);
    }

    #[test]
    fn languages_are_counted_again_after_a_deletion() {
        let (cache, tenant) = (LanguageCache::default(), Tenant::of(Uuid::from_u128(1)));
        cache.note_upsert(&tenant, [Language::Thai].into_iter());
        cache.note_delete(&tenant);

        assert_eq!(
            cache.languages(&tenant, || Ok(HashSet::from([Language::Dutch]))).unwrap(),
            [Language::Dutch]
        );
    }

    #[test]
    fn languages_are_counted_again_when_the_count_is_forgotten() {
        let (cache, tenant) = (LanguageCache::default(), Tenant::of(Uuid::from_u128(1)));
        let languages = |counted: Language| cache.languages(&tenant, || Ok(HashSet::from([counted])));
        assert_eq!(languages(Language::Dutch).unwrap(), [Language::Dutch]);
        assert_eq!(languages(Language::Thai).unwrap(), [Language::Dutch]);

        cache.forget_count(&tenant);

        assert_eq!(languages(Language::Thai).unwrap(), [Language::Thai]);
        assert_eq!(languages(Language::Dutch).unwrap(), [Language::Thai]);
    }

    #[test]
    fn count_that_is_forgotten_meanwhile_is_used_once() {
        let (cache, tenant) = (LanguageCache::default(), Tenant::of(Uuid::from_u128(1)));

        let counted = cache.languages(&tenant, || {
            cache.forget_count(&tenant);
            Ok(HashSet::from([Language::Dutch]))
        });

        assert_eq!(counted.unwrap(), [Language::Dutch]);
        let counted = cache.languages(&tenant, || Ok(HashSet::from([Language::Thai])));
        assert_eq!(counted.unwrap(), [Language::Thai]);
    }

    #[test]
    fn failed_count_is_repeated() {
        let (cache, tenant) = (LanguageCache::default(), Tenant::of(Uuid::from_u128(1)));
        cache.note_upsert(&tenant, [Language::Thai].into_iter());

        assert!(cache.languages(&tenant, || Err(IndexError::Blocked)).is_err());
        assert_eq!(cache.languages(&tenant, || Ok(HashSet::new())).unwrap(), [Language::Thai]);
    }
}
