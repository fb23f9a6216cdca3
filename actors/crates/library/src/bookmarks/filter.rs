//! Which bookmarks pass a filter: the rules that lists of bookmarks and searches share.
//!
//! On SQLite, which chooses without statistics, a column that is only tested is written so that no index is searched by it
//! ([`tested_only`]).

use database::{is_null_tested, tested_only};
use entity::bookmark;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DbBackend};
use values::id::{CollectionId, UserId};
use values::time::Timestamp;

use super::bookmark_set::BookmarkSet;

/// Conditions on the bookmark of a document. All that are given must hold; without any every document passes, also one of no bookmark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BookmarkConditions {
    /// It has this tag.
    pub tag: Option<String>,
    /// It is in this collection.
    pub collection: Option<CollectionId>,
    /// It is archived, or is not.
    pub archived: Option<bool>,
    /// It is a favourite, or is not.
    pub favorite: Option<bool>,
    /// It was saved after this time.
    pub saved_after: Option<Timestamp>,
    /// It was saved before this time.
    pub saved_before: Option<Timestamp>,
}

impl BookmarkConditions {
    /// Returns whether no condition is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the sets in which the bookmark must be.
    pub fn sets(&self) -> Vec<BookmarkSet> {
        let tag = self.tag.clone().map(BookmarkSet::Tag);
        let collection = self.collection.map(BookmarkSet::Collection);
        [tag, collection].into_iter().flatten().collect()
    }

    /// Returns the values of `flags` ([`bookmark::ComputedColumn::Flags`]) that pass; `None` if all do.
    pub fn flags(&self) -> Option<Vec<i32>> {
        matching_flags(self.favorite, self.archived, None)
    }

    /// Returns the conditions on the time of saving, which is in this column.
    pub fn period(&self, saved_at: &Expr) -> Vec<Expr> {
        let after = self.saved_after.map(|time| is_saved_after(saved_at.clone(), time));
        let before = self.saved_before.map(|time| is_saved_before(saved_at.clone(), time));
        [after, before].into_iter().flatten().collect()
    }

    /// Returns the conditions on the time of saving, which is in this column, one of which a bookmark outside of the period meets.
    pub fn outside_period(&self, saved_at: &Expr) -> Vec<Expr> {
        let before = self.saved_after.map(|time| saved_at.clone().lte(time));
        let after = self.saved_before.map(|time| saved_at.clone().gte(time));
        [before, after].into_iter().flatten().collect()
    }

    /// Returns all conditions on a bookmark of the user that the statement finds in another way: none of them is looked up in an index.
    pub fn tests(&self, user: UserId, backend: DbBackend) -> Vec<Expr> {
        use bookmark::Column as C;
        let tested = |column: C| tested_only(column.into_expr(), backend);
        let mut tests = vec![tested(C::UserId).eq(user), is_null_tested(C::DeletedAt.into_expr())];
        tests.extend(self.archived.map(|archived| C::Archived.eq(archived)));
        tests.extend(self.favorite.map(|favorite| C::Favorite.eq(favorite)));
        tests.extend(self.period(&tested(C::SavedAt)));
        tests.extend(self.sets().iter().map(|set| set.contains(user)));
        tests
    }
}

/// Returns the values of [`bookmark::ComputedColumn::Flags`] of bookmarks that have, or have not, these flags; `None` if all values match.
pub fn matching_flags(
    favorite: Option<bool>,
    archived: Option<bool>,
    unread: Option<bool>,
) -> Option<Vec<i32>> {
    let filters = [
        (bookmark::FAVORITE_FLAG, favorite),
        (bookmark::ARCHIVED_FLAG, archived),
        (bookmark::UNREAD_FLAG, unread),
    ];
    let matches = |flags: &i32| {
        filters.iter().all(|(flag, wanted)| wanted.is_none_or(|wanted| (flags & flag != 0) == wanted))
    };
    let is_filtered = filters.iter().any(|(_, wanted)| wanted.is_some());
    is_filtered.then(|| bookmark::ALL_FLAGS.filter(matches).collect())
}

/// Returns the condition of a filter `savedAfter`. A bookmark saved at that very time does not pass.
pub fn is_saved_after(saved_at: Expr, time: Timestamp) -> Expr {
    saved_at.gt(time)
}

/// Returns the condition of a filter `savedBefore`. A bookmark saved at that very time does not pass.
pub fn is_saved_before(saved_at: Expr, time: Timestamp) -> Expr {
    saved_at.lt(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_match_those_that_are_wanted_or_not() {
        assert_eq!(matching_flags(None, None, None), None);
        assert_eq!(matching_flags(Some(true), None, None), Some(vec![4, 5, 6, 7]));
        assert_eq!(matching_flags(None, Some(false), None), Some(vec![0, 1, 4, 5]));
        assert_eq!(matching_flags(Some(false), Some(true), Some(true)), Some(vec![3]));
    }
}
