//! In how many passages of a tenant each word is: the document frequencies of its corpus, kept in memory from one search to the next.
//!
//! Without them the engine gathers the passages of the tenant at each search that has others beside it, which takes longer than the search.
//! They are counted once, in pages by the ids of the passages, while the index is maintained; searches until then let the engine gather.
//! Every write adds the words of the passages that it adds and removes those of the passages that it replaces or deletes, also between two
//! pages: then of the passages before the next page alone, because the others are counted with their page. So the counts always
//! equal a recount.

use std::collections::{HashMap, HashSet};
use std::f32::consts::LN_2;
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use crate::counts::to_f32;
use crate::index::passage::{SparseVector, Tenant};
use crate::index::query::IndexQuery;

/// Maximum size of all counts: one for each word of a tenant, and [`TENANT_SIZE`] for each tenant. They take 13 to 27 bytes of memory each,
/// so at most 40 MB. A library of 100,000 passages has some hundred thousand words.
const MAX_SIZE: usize = 1_500_000;
/// What a tenant takes besides its words.
const TENANT_SIZE: usize = 32;
/// Maximum number of tenants that wait to be counted.
const MAX_WANTED: usize = 100;
/// Maximum number of tenants that are known to have too many words.
const MAX_EXCESSIVE: usize = 1_000;

/// The words of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassageWords {
    /// The id of the passage.
    pub passage: Uuid,
    /// The ids of its words, each once.
    pub words: Vec<u32>,
}

/// The counts of tenants that have searched. Changes are noted by one writer at a time.
#[derive(Debug)]
pub struct CorpusCounts {
    state: Mutex<State>,
    max_size: usize,
}

#[derive(Debug, Default)]
struct State {
    tenants: HashMap<Tenant, TenantCounts>,
    /// Tenants that have searched, and whose counting has not begun.
    wanted: HashSet<Tenant>,
    /// Tenants that alone have more words than are kept.
    excessive: HashSet<Tenant>,
    /// The number of searches that used counts.
    uses: u64,
}

#[derive(Debug, Default)]
struct TenantCounts {
    passages: usize,
    words: HashMap<u32, u32>,
    progress: Progress,
    /// The number of the last search that used them.
    used: u64,
}

/// Which passages are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    /// None.
    #[default]
    Begun,
    /// Those before this id.
    Before(Uuid),
    /// All.
    Complete,
}

impl Progress {
    fn covers(self, passage: Uuid) -> bool {
        match self {
            Progress::Begun => false,
            Progress::Before(next) => passage < next,
            Progress::Complete => true,
        }
    }
}

impl TenantCounts {
    fn size(&self) -> usize {
        TENANT_SIZE + self.words.len()
    }

    fn add(&mut self, passage: &PassageWords) {
        self.passages += 1;
        for word in &passage.words {
            *self.words.entry(*word).or_insert(0) += 1;
        }
    }

    fn remove(&mut self, passage: &PassageWords) {
        self.passages = self.passages.saturating_sub(1);
        for word in &passage.words {
            if let Some(count) = self.words.get_mut(word) {
                *count -= 1;
                if *count == 0 {
                    self.words.remove(word);
                }
            }
        }
    }

    /// Returns a vector of query words with weights that the engine turns into those with the inverse document frequencies of the tenant. It
    /// multiplies each weight by the frequency in a corpus without passages ([`super::filter::of_nobody`]), which is the logarithm of 2.
    fn weigh(&self, query: &SparseVector) -> SparseVector {
        let count = |word: &u32| {
            self.words.get(word).map_or(0, |count| usize::try_from(*count).unwrap_or(usize::MAX))
        };
        let factors = query.indices.iter().map(|word| inverse_frequency(self.passages, count(word)) / LN_2);
        let values = query.values.iter().zip(factors).map(|(value, factor)| value * factor).collect();
        SparseVector { indices: query.indices.clone(), values }
    }
}

/// Returns the inverse document frequency of a word as the engine computes it.
fn inverse_frequency(passages: usize, with_word: usize) -> f32 {
    let (all, with_word) = (to_f32(passages), to_f32(with_word));
    ((all - with_word + 0.5) / (with_word + 0.5) + 1.0).ln()
}

impl Default for CorpusCounts {
    fn default() -> Self {
        Self { state: Mutex::default(), max_size: MAX_SIZE }
    }
}

impl CorpusCounts {
    /// Returns the query with weights for a corpus without passages; `None` if the words of the tenant are not counted, which is then wanted.
    pub fn weigh(&self, tenant: &Tenant, query: &IndexQuery) -> Option<IndexQuery> {
        let mut state = self.state();
        state.uses += 1;
        let uses = state.uses;
        match state.tenants.get_mut(tenant) {
            Some(counts) => {
                counts.used = uses;
                if counts.progress != Progress::Complete {
                    return None;
                }
                let sparse = counts.weigh(&query.sparse);
                let terms = query.terms.iter().map(|term| counts.weigh(term)).collect();
                let (dense, filter) = (query.dense.clone(), query.filter.clone());
                Some(IndexQuery { sparse, terms, dense, filter, depth: query.depth })
            }
            None => {
                if !state.excessive.contains(tenant) && state.wanted.len() < MAX_WANTED {
                    state.wanted.insert(*tenant);
                }
                None
            }
        }
    }

    /// Begins to count the words of a tenant that has searched, and returns it; `None` if there is none. Counting ends when
    /// [`Self::add_page`] returns false.
    pub fn begin_wanted(&self) -> Option<Tenant> {
        let mut state = self.state();
        let tenant = *state.wanted.iter().next()?;
        state.wanted.remove(&tenant);
        let used = state.uses;
        state.tenants.insert(tenant, TenantCounts { used, ..TenantCounts::default() });
        Some(tenant)
    }

    /// Adds a page of the passages of a tenant, in the order of their ids, with the id of the first passage of the next one. The page was
    /// read after the last change was noted, and none is noted meanwhile. Returns whether the next page is wanted: not after the last one,
    /// and not when the counts were forgotten or have become too large.
    pub fn add_page(&self, tenant: &Tenant, page: &[PassageWords], next: Option<Uuid>) -> bool {
        let mut state = self.state();
        let Some(counts) = state.tenants.get_mut(tenant) else { return false };
        if counts.progress == Progress::Complete {
            return false;
        }
        page.iter().for_each(|passage| counts.add(passage));
        counts.progress = next.map_or(Progress::Complete, Progress::Before);
        self.make_room(&mut state, tenant);
        next.is_some() && state.tenants.contains_key(tenant)
    }

    /// Returns whether the words of a tenant are counted, at least in part, so that changes of its passages are to be noted.
    pub fn is_counted(&self, tenant: &Tenant) -> bool {
        self.state().tenants.contains_key(tenant)
    }

    /// Returns whether the words of any tenant are counted.
    pub fn is_any_counted(&self) -> bool {
        !self.state().tenants.is_empty()
    }

    /// Notes that passages of a tenant are replaced: those that are removed with the words that they have, those that are added with the
    /// words that they get.
    pub fn note_change(&self, tenant: &Tenant, removed: &[PassageWords], added: &[PassageWords]) {
        let mut state = self.state();
        let Some(counts) = state.tenants.get_mut(tenant) else { return };
        let progress = counts.progress;
        let is_counted = |passage: &&PassageWords| progress.covers(passage.passage);
        removed.iter().filter(is_counted).for_each(|passage| counts.remove(passage));
        added.iter().filter(is_counted).for_each(|passage| counts.add(passage));
        self.make_room(&mut state, tenant);
    }

    /// Forgets the counts of a tenant, which the next search wants again.
    pub fn forget(&self, tenant: &Tenant) {
        let mut state = self.state();
        state.tenants.remove(tenant);
        state.excessive.remove(tenant);
    }

    /// Forgets everything.
    pub fn forget_all(&self) {
        *self.state() = State::default();
    }

    /// Forgets the counts of a tenant if they alone are too large, and else those that were not used for the longest time until the rest is
    /// not.
    fn make_room(&self, state: &mut State, current: &Tenant) {
        if state.tenants.get(current).is_some_and(|counts| counts.size() > self.max_size) {
            state.tenants.remove(current);
            if state.excessive.len() < MAX_EXCESSIVE {
                state.excessive.insert(*current);
            }
        }
        while state.tenants.values().map(TenantCounts::size).sum::<usize>() > self.max_size {
            let others = state.tenants.iter().filter(|(tenant, _)| *tenant != current);
            let Some(oldest) = others.min_by_key(|(_, counts)| counts.used).map(|(tenant, _)| *tenant) else {
                return;
            };
            state.tenants.remove(&oldest);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of passages of a tenant, and in how many each word is, in the order of the words; `None` until all are counted.
    #[cfg(test)]
    pub fn counted(&self, tenant: &Tenant) -> Option<(usize, Vec<(u32, u32)>)> {
        let state = self.state();
        let counts = state.tenants.get(tenant).filter(|counts| counts.progress == Progress::Complete)?;
        let mut words: Vec<(u32, u32)> = counts.words.iter().map(|(word, count)| (*word, *count)).collect();
        words.sort_unstable();
        Some((counts.passages, words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(number: u128) -> Tenant {
        Tenant::of(Uuid::from_u128(number))
    }

    fn passage(number: u128, words: &[u32]) -> PassageWords {
        PassageWords { passage: Uuid::from_u128(number), words: words.to_vec() }
    }

    fn query() -> IndexQuery {
        let sparse = SparseVector { indices: vec![1, 2, 3], values: vec![1.0, 1.0, 0.5] };
        IndexQuery { sparse, ..IndexQuery::default() }
    }

    /// Counts with the passages of a tenant.
    fn counts_of(tenant: &Tenant, passages: &[PassageWords]) -> CorpusCounts {
        let counts = CorpusCounts::default();
        assert!(counts.weigh(tenant, &query()).is_none());
        assert_eq!(counts.begin_wanted(), Some(*tenant));
        assert!(!counts.add_page(tenant, passages, None));
        counts
    }

    #[test]
    fn search_of_a_tenant_makes_it_counted_once() {
        let counts = counts_of(&tenant(1), &[passage(1, &[1, 2])]);

        assert!(counts.weigh(&tenant(1), &query()).is_some());
        assert_eq!(counts.begin_wanted(), None);
        assert!(counts.is_counted(&tenant(1)) && !counts.is_counted(&tenant(2)));
    }

    #[test]
    fn weights_are_the_inverse_frequencies_by_the_logarithm_of_2() {
        let counts = counts_of(&tenant(1), &[passage(1, &[1, 2]), passage(2, &[1])]);

        let weighed = counts.weigh(&tenant(1), &query()).unwrap().sparse;

        let expected =
            [(0.5_f32 / 2.5 + 1.0).ln(), (1.5_f32 / 1.5 + 1.0).ln(), (2.5_f32 / 0.5 + 1.0).ln() / 2.0];
        for (value, expected) in weighed.values.iter().zip(expected) {
            assert!((value * LN_2 - expected).abs() < 1e-6, "{weighed:?}");
        }
        assert_eq!(weighed.indices, [1, 2, 3]);
    }

    #[test]
    fn changes_between_two_pages_are_counted_once() {
        let counts = CorpusCounts::default();
        counts.weigh(&tenant(1), &query());
        counts.begin_wanted();
        assert!(counts.add_page(&tenant(1), &[passage(1, &[1]), passage(3, &[1])], Some(Uuid::from_u128(5))));
        assert!(counts.weigh(&tenant(1), &query()).is_none(), "a part is counted");

        // The first three are before the next page, the others are read with it.
        counts.note_change(&tenant(1), &[passage(1, &[1])], &[passage(1, &[2])]);
        counts.note_change(&tenant(1), &[], &[passage(2, &[2])]);
        counts.note_change(&tenant(1), &[passage(3, &[1])], &[]);
        counts.note_change(&tenant(1), &[passage(5, &[1])], &[passage(7, &[3])]);
        assert!(!counts.add_page(&tenant(1), &[passage(7, &[3])], None));

        assert_eq!(counts.counted(&tenant(1)), Some((3, vec![(2, 2), (3, 1)])));
    }

    #[test]
    fn counts_are_bounded() {
        let first = [passage(1, &[1, 2])];
        let counts = CorpusCounts { max_size: 2 * TENANT_SIZE + 4, ..counts_of(&tenant(1), &first) };
        let count = |number: u128, words: &[u32]| {
            counts.weigh(&tenant(number), &query());
            assert_eq!(counts.begin_wanted(), Some(tenant(number)));
            counts.add_page(&tenant(number), &[passage(9, words)], None);
        };

        count(2, &[1, 2]);
        assert!(counts.is_counted(&tenant(1)) && counts.is_counted(&tenant(2)));
        counts.weigh(&tenant(1), &query());
        count(3, &[1]);
        assert!(counts.is_counted(&tenant(1)) && !counts.is_counted(&tenant(2)), "2 was used before 1");

        let many: Vec<u32> = (0..100).collect();
        count(4, &many);
        assert!(counts.is_counted(&tenant(1)) && !counts.is_counted(&tenant(4)));
        assert!(counts.weigh(&tenant(4), &query()).is_none());
        assert_eq!(counts.begin_wanted(), None, "it has too many words");
    }

    #[test]
    fn forgotten_counts_are_wanted_again() {
        let counts = counts_of(&tenant(1), &[passage(1, &[1])]);

        counts.forget(&tenant(1));

        assert!(counts.weigh(&tenant(1), &query()).is_none());
        assert_eq!(counts.begin_wanted(), Some(tenant(1)));
        counts.forget_all();
        assert!(!counts.add_page(&tenant(1), &[passage(1, &[1])], Some(Uuid::from_u128(2))));
        assert!(!counts.is_any_counted());
    }
}
