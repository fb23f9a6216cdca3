//! The filters of a list of bookmarks, as conditions on its rows.
//!
//! On SQLite, which chooses without statistics, a column that is only tested is written so that no index is searched by it
//! ([`tested_only`]).

use database::tested_only;
use entity::bookmark;
use library::bookmarks::{BookmarkSet, is_saved_after, is_saved_before, matching_flags};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DbBackend};
use values::id::{CollectionId, UserId};
use values::kind::ContentType;
use values::time::Timestamp;

use super::order::BookmarkSort;
use super::query_conditions::QueryConditions;
use super::title_words;

/// Which bookmarks of a user are in the list; `None` and no words select all.
#[derive(Clone, Debug)]
pub(super) struct BookmarkFilter {
    pub user: UserId,
    /// Words that the title or the URL contains, as they were typed.
    pub words: Vec<String>,
    pub tag: Option<String>,
    pub collection: Option<CollectionId>,
    pub archived: Option<bool>,
    pub favorite: Option<bool>,
    pub unread: Option<bool>,
    pub content_type: Option<ContentType>,
    pub saved_after: Option<Timestamp>,
    pub saved_before: Option<Timestamp>,
    pub updated_since: Option<Timestamp>,
    /// What a query asks for that the other filters do not.
    pub query: QueryConditions,
}

impl BookmarkFilter {
    /// Returns the filter of all bookmarks of a user.
    pub(super) fn all_of(user: UserId) -> Self {
        Self {
            user,
            words: Vec::new(),
            tag: None,
            collection: None,
            archived: None,
            favorite: None,
            unread: None,
            content_type: None,
            saved_after: None,
            saved_before: None,
            updated_since: None,
            query: QueryConditions::default(),
        }
    }

    /// Returns whether the matches are ranges of an index: those with some flags or a content type.
    pub(super) fn is_of_flags_and_type(&self) -> bool {
        let has_times = [self.saved_after, self.saved_before, self.updated_since].iter().any(Option::is_some);
        let has_query = self.query.is_impossible || !self.query.groups.is_empty();
        self.words.is_empty() && self.sets().is_empty() && !has_times && !has_query
    }

    /// Returns the texts by which the index of titles and URLs is searched.
    pub(super) fn looked_up_words(&self) -> Vec<String> {
        self.words.iter().chain(&self.query.hosts).cloned().collect()
    }

    /// Returns the set in whose order the list can be read: in that of the times of saving or of titles.
    pub(super) fn scanned_set(&self, sort: BookmarkSort) -> Option<BookmarkSet> {
        self.sets().into_iter().next().filter(|_| !sort.is_by_change())
    }

    /// Returns the tags and the collections of the filter.
    pub(super) fn sets(&self) -> Vec<BookmarkSet> {
        let tag = self.tag.clone().map(BookmarkSet::Tag);
        let collection = self.collection.map(BookmarkSet::Collection);
        [tag, collection].into_iter().flatten().chain(self.query.sets.iter().cloned()).collect()
    }

    /// Returns the conditions that a bookmark belongs to the user and is not deleted.
    pub(super) fn visible_conditions(&self) -> Vec<Expr> {
        vec![bookmark::Column::UserId.eq(self.user), bookmark::Column::DeletedAt.is_null()]
    }

    /// Returns the conditions on the flags and the content type.
    pub(super) fn flag_and_type_conditions(&self) -> Vec<Expr> {
        use bookmark::Column as C;
        let unread = |unread| if unread { C::Progress.lt(1.0) } else { C::Progress.gte(1.0) };
        [
            self.archived.map(|archived| C::Archived.eq(archived)),
            self.favorite.map(|favorite| C::Favorite.eq(favorite)),
            self.unread.map(unread),
            self.content_type.map(|kind| C::ContentType.eq(kind)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns the same conditions as ranges of an index: each has the conditions of one range. There is at least one range: a flag can
    /// be set or not.
    pub(super) fn flag_and_type_ranges(&self) -> Vec<Vec<Expr>> {
        let has_flags = |flags: i32| Expr::col((bookmark::Entity, bookmark::ComputedColumn::Flags)).eq(flags);
        let is_of_type = |kind: ContentType| bookmark::Column::ContentType.eq(kind);
        match (self.flags(), self.content_type) {
            (None, None) => vec![Vec::new()],
            (Some(flags), None) => flags.into_iter().map(|flags| vec![has_flags(flags)]).collect(),
            (flags, Some(kind)) => {
                let flags = flags.unwrap_or_else(|| bookmark::ALL_FLAGS.collect());
                flags.into_iter().map(|flags| vec![is_of_type(kind), has_flags(flags)]).collect()
            }
        }
    }

    /// Returns one condition for each value of the flags that matches, on the column of a set.
    pub(super) fn flag_ranges(&self, flags: &Expr) -> Vec<Expr> {
        let values = self.flags().unwrap_or_else(|| bookmark::ALL_FLAGS.collect());
        values.into_iter().map(|value| flags.clone().eq(value)).collect()
    }

    /// Returns the values of the flags that match; `None` if all do.
    pub(super) fn flags(&self) -> Option<Vec<i32>> {
        matching_flags(self.favorite, self.archived, self.unread)
    }

    /// Returns the conditions on the times by which a list in this order is not sorted.
    pub(super) fn times_of_other_orders(&self, sort: BookmarkSort, backend: DbBackend) -> Vec<Expr> {
        let saved_at = || tested_only(bookmark::Column::SavedAt.into_expr(), backend);
        let updated_at = || tested_only(bookmark::Column::UpdatedAt.into_expr(), backend);
        let (is_by_saving, is_by_change) = (sort.is_by_saving(), sort.is_by_change());
        [
            self.saved_after.filter(|_| !is_by_saving).map(|time| is_saved_after(saved_at(), time)),
            self.saved_before.filter(|_| !is_by_saving).map(|time| is_saved_before(saved_at(), time)),
            self.updated_since.filter(|_| !is_by_change).map(|since| updated_at().gte(since)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns the conditions that a bookmark is in the sets of the filter, other than `except`.
    pub(super) fn set_conditions(&self, except: Option<&BookmarkSet>) -> Vec<Expr> {
        let sets = self.sets();
        let others = sets.iter().filter(|set| Some(*set) != except);
        others.map(|set| set.contains(self.user)).collect()
    }

    /// Returns the conditions that the title or the URL contains each word.
    pub(super) fn word_conditions(&self, backend: DbBackend) -> Vec<Expr> {
        self.words.iter().map(|word| title_words::contains(word, backend)).collect()
    }
}
