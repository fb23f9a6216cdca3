//! Copies an index to another place as it is: ids, payload, words and the vectors of all models of every passage. Nothing is embedded.
//!
//! A copy that was interrupted is harmless, and is made again from the beginning: passages that are there already are written once more.

use std::collections::HashMap;

use super::index_error::IndexError;
use super::passage::{Point, Tenant};
use super::passage_index::PassageIndex;

/// Passages that are read and written at a time. With the vectors of two models, of 3,072 floats each, they take 2 MB.
const PAGE_PASSAGES: usize = 64;
/// Pages after which the copy is made durable and optimized: an embedded index keeps what it was not optimized for in memory.
const PAGES_PER_COMMIT: usize = 64;
/// Passages of the copy that are looked up in the original at a time.
const ID_PAGE_PASSAGES: usize = 1_000;

/// What a copy consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// The number of passages.
    pub passages: usize,
    /// The number of users that they belong to.
    pub users: usize,
    /// The number of other passages that were at the new place before, and were removed.
    pub removed: usize,
}

/// Why an index could not be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The original could not be read.
    #[error("the index could not be read")]
    Read(#[source] IndexError),
    /// The copy could not be written, or not be counted.
    #[error("the copy could not be written")]
    Write(#[source] IndexError),
    /// The original holds points that are not passages in the format of this version.
    #[error("the index holds {0} points that this version of Carrel cannot read")]
    Unreadable(usize),
    /// The copy has another number of passages of a user, or of all, than the original.
    #[error("the copy has {copied} passages where the index has {expected}")]
    OtherCount {
        /// Passages that were read.
        expected: usize,
        /// Passages that the copy has.
        copied: usize,
    },
}

/// Makes the index `to` a copy of the index `from`: writes every passage, removes others, makes it durable, and compares the number of
/// passages of each user. Both indexes have the same models. Neither index may be changed by others meanwhile. Calls `on_progress` with the
/// number of passages that were written so far. Holds a page of passages in memory. Blocks.
///
/// # Errors
/// [`CopyError`]: then the copy is incomplete.
pub fn copy_passages(
    from: &dyn PassageIndex,
    to: &dyn PassageIndex,
    on_progress: &dyn Fn(usize),
) -> Result<CopyReport, CopyError> {
    let counts = copy_pages(from, to, on_progress)?;
    let removed = remove_others(from, to)?;
    make_durable(to)?;
    verify(to, &counts)?;
    Ok(CopyReport { passages: counts.values().sum(), users: counts.len(), removed })
}

/// Writes every passage. Returns the number of passages of each user.
fn copy_pages(
    from: &dyn PassageIndex,
    to: &dyn PassageIndex,
    on_progress: &dyn Fn(usize),
) -> Result<HashMap<Tenant, usize>, CopyError> {
    let mut counts: HashMap<Tenant, usize> = HashMap::new();
    let (mut start, mut pages, mut copied) = (None, 0_usize, 0);
    loop {
        let page = from.read_points(start, PAGE_PASSAGES).map_err(CopyError::Read)?;
        if page.unreadable > 0 {
            return Err(CopyError::Unreadable(page.unreadable));
        }
        copied += page.points.len();
        for (tenant, points) in group_by_tenant(page.points) {
            *counts.entry(tenant).or_default() += points.len();
            to.upsert(&tenant, points).map_err(CopyError::Write)?;
        }
        on_progress(copied);
        pages += 1;
        if pages.is_multiple_of(PAGES_PER_COMMIT) {
            make_durable(to)?;
        }
        start = page.next;
        if start.is_none() {
            return Ok(counts);
        }
    }
}

fn group_by_tenant(points: Vec<(Tenant, Point)>) -> HashMap<Tenant, Vec<Point>> {
    let mut grouped: HashMap<Tenant, Vec<Point>> = HashMap::new();
    for (tenant, point) in points {
        grouped.entry(tenant).or_default().push(point);
    }
    grouped
}

fn make_durable(to: &dyn PassageIndex) -> Result<(), CopyError> {
    to.commit().map_err(CopyError::Write)?;
    to.maintain().map_err(CopyError::Write)?;
    Ok(())
}

/// Removes the passages that the original does not have. Returns their number.
fn remove_others(from: &dyn PassageIndex, to: &dyn PassageIndex) -> Result<usize, CopyError> {
    let (mut start, mut removed) = (None, 0);
    loop {
        let page = to.list_passages(start, ID_PAGE_PASSAGES).map_err(CopyError::Write)?;
        let others = from.find_missing(&page.ids).map_err(CopyError::Read)?;
        if !others.is_empty() {
            to.delete_passages(&others).map_err(CopyError::Write)?;
            removed += others.len();
        }
        start = page.next;
        if start.is_none() {
            return Ok(removed);
        }
    }
}

/// Compares the number of passages of each user, and of all.
fn verify(to: &dyn PassageIndex, counts: &HashMap<Tenant, usize>) -> Result<(), CopyError> {
    for (tenant, expected) in counts {
        require_count(*expected, to.count_of(tenant))?;
    }
    require_count(counts.values().sum(), to.count())
}

fn require_count(expected: usize, counted: Result<usize, IndexError>) -> Result<(), CopyError> {
    match counted.map_err(CopyError::Write)? {
        copied if copied == expected => Ok(()),
        copied => Err(CopyError::OtherCount { expected, copied }),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::index::EdgeIndex;
    use crate::index::contract::{embedding, embedding_b, id, models, point, tenant};

    fn open(folder: &tempfile::TempDir) -> EdgeIndex {
        EdgeIndex::open(folder.path(), models()).unwrap()
    }

    #[test]
    fn copy_replaces_what_was_at_the_new_place() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (from, to) = (open(&one), open(&other));
        let (a, b) = (embedding(vec![0.0, 1.0, 0.0, 0.0]), embedding_b([0.0, 0.0, 1.0]));
        // As during a change of the model: some have the vectors of both.
        let dense_of =
            |n: u32| if n.is_multiple_of(2) { vec![a.clone()] } else { vec![a.clone(), b.clone()] };
        let embedded = |number| Point { dense: dense_of(number), ..point(number) };
        from.upsert(&tenant(), (1..=200).map(embedded).collect()).unwrap();
        from.upsert(&Tenant::of(id(2)), vec![point(900)]).unwrap();
        let outdated = Point { version: 9, dense: vec![b.clone()], ..point(8) };
        to.upsert(&tenant(), vec![outdated, point(500)]).unwrap();
        let last_progress = Cell::new(0);

        for removed in [1, 0] {
            let report = copy_passages(&from, &to, &|copied| last_progress.set(copied)).unwrap();

            assert_eq!(report, CopyReport { passages: 201, users: 2, removed });
            assert_eq!(last_progress.get(), 201);
            assert_eq!(to.read_points(None, 1_000).unwrap(), from.read_points(None, 1_000).unwrap());
        }
    }

    #[test]
    fn passage_that_another_user_has_at_the_new_place_is_noticed() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (from, to) = (open(&one), open(&other));
        from.upsert(&tenant(), vec![point(1), point(2)]).unwrap();
        to.upsert(&Tenant::of(id(2)), vec![point(1)]).unwrap();

        let refused = copy_passages(&from, &to, &|_| {}).unwrap_err();

        assert!(matches!(refused, CopyError::OtherCount { expected: 2, copied: 1 }), "{refused}");
    }

    #[test]
    fn empty_index_is_copied() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let to = open(&other);
        to.upsert(&tenant(), vec![point(1)]).unwrap();

        let report = copy_passages(&open(&one), &to, &|_| {}).unwrap();

        assert_eq!((report.passages, report.removed, to.count().unwrap()), (0, 1, 0));
    }
}
