//! The documents of each user whose words are to be added to the user's vocabulary.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use values::id::{DocumentId, UserId};

/// Maximum number of documents that are noted for a user. With more, all texts are read again.
const MAX_NOTED_DOCUMENTS: usize = 10_000;

/// The changes that are noted. Clones share them.
#[derive(Clone, Default)]
pub struct PendingChanges {
    users: Arc<Mutex<HashMap<UserId, ChangedDocuments>>>,
}

/// The documents of a user that have changed.
#[derive(Debug, Default, PartialEq)]
pub struct ChangedDocuments {
    /// The documents, at most 10,000.
    pub documents: HashSet<DocumentId>,
    /// Whether there are more.
    pub is_cut: bool,
}

impl PendingChanges {
    /// Notes documents of a user. Returns whether none was noted before.
    pub fn add(&self, user: UserId, documents: impl IntoIterator<Item = DocumentId>) -> bool {
        let mut users = self.users();
        let is_first = !users.contains_key(&user);
        let changed = users.entry(user).or_default();
        for document in documents {
            if changed.documents.len() < MAX_NOTED_DOCUMENTS {
                changed.documents.insert(document);
            } else {
                changed.is_cut |= !changed.documents.contains(&document);
            }
        }
        is_first
    }

    /// Returns the noted documents of a user, which are not noted any more; `None` if there was no change.
    pub fn take(&self, user: UserId) -> Option<ChangedDocuments> {
        self.users().remove(&user)
    }

    /// Notes documents again that were taken, because their words could not be added.
    pub fn restore(&self, user: UserId, changed: ChangedDocuments) {
        self.add(user, changed.documents);
        if let Some(noted) = self.users().get_mut(&user) {
            noted.is_cut |= changed.is_cut;
        }
    }

    /// Returns whether a document of a user that is older than this one is noted.
    pub fn has_before(&self, user: UserId, document: Option<DocumentId>) -> bool {
        let is_before = |noted: &DocumentId| document.is_none_or(|document| *noted < document);
        let users = self.users();
        users.get(&user).is_some_and(|changed| changed.is_cut || changed.documents.iter().any(is_before))
    }

    fn users(&self) -> MutexGuard<'_, HashMap<UserId, ChangedDocuments>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn documents(count: usize) -> impl Iterator<Item = DocumentId> {
        (0_u128..).map(|number| DocumentId(Uuid::from_u128(number))).take(count)
    }

    #[test]
    fn changes_of_a_user_are_taken_once() {
        let (changes, user, other) =
            (PendingChanges::default(), UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));

        assert!(changes.add(user, documents(1)) && !changes.add(user, documents(2)));
        assert!(changes.take(other).is_none());
        let taken = changes.take(user).unwrap();
        assert_eq!((taken.documents, taken.is_cut), (documents(2).collect(), false));
        assert!(changes.take(user).is_none() && changes.add(user, documents(1)));
    }

    #[test]
    fn restored_changes_join_those_that_were_noted_meanwhile() {
        let (changes, user) = (PendingChanges::default(), UserId(Uuid::nil()));
        changes.add(user, documents(2));
        let taken = changes.take(user).unwrap();
        changes.add(user, documents(3).skip(2));

        changes.restore(user, ChangedDocuments { is_cut: true, ..taken });

        let noted = changes.take(user).unwrap();
        assert_eq!((noted.documents, noted.is_cut), (documents(3).collect(), true));
    }

    #[test]
    fn older_documents_are_told_from_newer_ones() {
        let (changes, user) = (PendingChanges::default(), UserId(Uuid::nil()));
        let third = documents(3).last();
        assert!(!changes.has_before(user, third));
        changes.add(user, third);
        assert!(!changes.has_before(user, third) && changes.has_before(user, None));
        changes.add(user, documents(1));
        assert!(changes.has_before(user, third));
    }

    #[test]
    fn noted_documents_are_bounded() {
        let (changes, user) = (PendingChanges::default(), UserId(Uuid::nil()));
        changes.add(user, documents(MAX_NOTED_DOCUMENTS));
        changes.add(user, documents(MAX_NOTED_DOCUMENTS));
        changes.add(user, documents(MAX_NOTED_DOCUMENTS + 1));

        let taken = changes.take(user).unwrap();

        assert_eq!((taken.documents.len(), taken.is_cut), (MAX_NOTED_DOCUMENTS, true));
    }
}
