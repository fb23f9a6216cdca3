//! How a query in the language of the library ([`library::query`]) filters a list of bookmarks.
//!
//! A group of one term becomes a filter of the list where it has one, such as a tag or a flag: so an index serves it as it serves the
//! parameters of the list. The others are tested on each bookmark. If an index has the bookmarks of each of their terms, these are
//! candidates too ([`super::query_candidates`]).

use std::time::Duration;

use errors::Error;
use library::bookmarks::{BookmarkSet, normalize_tag};
use library::query::{LibraryQuery, QueryCondition, QueryGroup, QueryState, QueryTerm};
use sea_orm::ConnectionTrait;
use values::id::UserId;
use values::kind::{ContentType, DocumentStatus};

use super::filter::BookmarkFilter;
use super::query_conditions::{BookmarkFlag, ResolvedCondition, ResolvedGroup, ResolvedTerm};
use super::query_names::{find_collections, find_feeds};

/// Words that are read in a minute, as the web app estimates the time that a text takes.
const WORDS_PER_MINUTE: i64 = 230;

impl BookmarkFilter {
    /// Adds the conditions of a query, whose feeds and collections are looked up.
    ///
    /// # Errors
    /// The database fails.
    pub(super) async fn with_query(
        mut self,
        db: &impl ConnectionTrait,
        query: &LibraryQuery,
    ) -> Result<Self, Error> {
        for group in &query.groups {
            let Some(mut terms) = resolve_group(db, self.user, group).await? else { continue };
            let absorbed = if terms.len() == 1 { terms.pop() } else { None };
            match absorbed {
                Some(term) => terms.extend(self.absorb(term)),
                None => self.query.is_impossible |= terms.is_empty(),
            }
            if !terms.is_empty() {
                self.query.groups.push(ResolvedGroup { terms });
            }
        }
        Ok(self)
    }

    /// Adds a content type. Unlike a query, it needs no look-up.
    pub(super) fn with_type(self, kind: ContentType) -> Self {
        self.with_condition(ResolvedCondition::Type(kind))
    }

    /// Adds a state. Unlike a query, it needs no look-up.
    pub(super) fn with_state(self, state: QueryState) -> Self {
        self.with_condition(state_condition(state))
    }

    fn with_condition(mut self, condition: ResolvedCondition) -> Self {
        if let Some(term) = self.absorb(ResolvedTerm { is_excluded: false, condition }) {
            self.query.groups.push(ResolvedGroup { terms: vec![term] });
        }
        self
    }

    /// Takes a term into the other filters. Returns it if it has to be tested.
    fn absorb(&mut self, term: ResolvedTerm) -> Option<ResolvedTerm> {
        match (term.is_excluded, &term.condition) {
            (false, ResolvedCondition::Text(word)) => self.words.push(word.clone()),
            (false, ResolvedCondition::Sets(sets)) if sets.len() == 1 => {
                self.query.sets.extend(sets.iter().cloned());
            }
            (is_excluded, ResolvedCondition::Flag(flag, wanted)) => {
                let filter = self.flag_mut(*flag);
                let wanted = *wanted != is_excluded;
                // A query may contradict a parameter of the list, or itself.
                if filter.is_some_and(|other| other != wanted) {
                    return Some(term);
                }
                *filter = Some(wanted);
            }
            (false, ResolvedCondition::Type(kind)) => {
                if self.content_type.is_some_and(|other| other != *kind) {
                    return Some(term);
                }
                self.content_type = Some(*kind);
            }
            (false, ResolvedCondition::SavedBefore(time)) | (true, ResolvedCondition::SavedFrom(time)) => {
                self.saved_before = Some(self.saved_before.map_or(*time, |other| other.min(*time)));
            }
            (false, ResolvedCondition::SavedFrom(time)) | (true, ResolvedCondition::SavedBefore(time)) => {
                // The filter leaves out what was saved at its very time.
                let after = *time - Duration::from_millis(1);
                self.saved_after = Some(self.saved_after.map_or(after, |other| other.max(after)));
            }
            (false, ResolvedCondition::Host(host)) => {
                self.query.hosts.push(host.clone());
                return Some(term);
            }
            (false, ResolvedCondition::Started) => {
                self.unread.get_or_insert(true);
                return Some(term);
            }
            _ => return Some(term),
        }
        None
    }

    fn flag_mut(&mut self, flag: BookmarkFlag) -> &mut Option<bool> {
        match flag {
            BookmarkFlag::Archived => &mut self.archived,
            BookmarkFlag::Favorite => &mut self.favorite,
            BookmarkFlag::Unread => &mut self.unread,
        }
    }
}

/// Returns the terms of a group that can match a bookmark, none of them if no bookmark matches the group. Returns `None` if each does.
async fn resolve_group(
    db: &impl ConnectionTrait,
    user: UserId,
    group: &QueryGroup,
) -> Result<Option<Vec<ResolvedTerm>>, Error> {
    let mut terms = Vec::with_capacity(group.terms.len());
    for QueryTerm { is_excluded, condition } in &group.terms {
        let condition = resolve(db, user, condition).await?;
        match (*is_excluded, &condition) {
            (true, ResolvedCondition::Nothing) => return Ok(None),
            (false, ResolvedCondition::Nothing) => {}
            (true | false, _) => terms.push(ResolvedTerm { is_excluded: *is_excluded, condition }),
        }
    }
    Ok(Some(terms))
}

async fn resolve(
    db: &impl ConnectionTrait,
    user: UserId,
    condition: &QueryCondition,
) -> Result<ResolvedCondition, Error> {
    Ok(match condition {
        QueryCondition::Text(text) => ResolvedCondition::Text(text.clone()),
        QueryCondition::Tag(name) => ResolvedCondition::Sets(vec![BookmarkSet::Tag(normalize_tag(name))]),
        QueryCondition::Is(state) => state_condition(*state),
        QueryCondition::Type(kind) => ResolvedCondition::Type(*kind),
        QueryCondition::Site(host) => ResolvedCondition::Host(host.clone()),
        QueryCondition::Feed(text) => match find_feeds(db, user, text).await? {
            feeds if feeds.is_empty() => ResolvedCondition::Nothing,
            feeds => ResolvedCondition::Feeds(feeds),
        },
        QueryCondition::Collection(name) => match find_collections(db, user, name).await? {
            ids if ids.is_empty() => ResolvedCondition::Nothing,
            ids => ResolvedCondition::Sets(ids.into_iter().map(BookmarkSet::Collection).collect()),
        },
        QueryCondition::Before(date) => ResolvedCondition::SavedBefore(date.start()),
        QueryCondition::After(date) => ResolvedCondition::SavedFrom(date.start()),
        QueryCondition::UpTo(minutes) => {
            ResolvedCondition::MaxWords(i64::from(*minutes).saturating_mul(WORDS_PER_MINUTE))
        }
    })
}

fn state_condition(state: QueryState) -> ResolvedCondition {
    match state {
        QueryState::Unread => ResolvedCondition::Flag(BookmarkFlag::Unread, true),
        QueryState::Read => ResolvedCondition::Flag(BookmarkFlag::Unread, false),
        QueryState::Started => ResolvedCondition::Started,
        QueryState::Archived => ResolvedCondition::Flag(BookmarkFlag::Archived, true),
        QueryState::Favorite => ResolvedCondition::Flag(BookmarkFlag::Favorite, true),
        QueryState::Processing => ResolvedCondition::Status(DocumentStatus::Processing),
        QueryState::Ready => ResolvedCondition::Status(DocumentStatus::Ready),
        QueryState::Failed => ResolvedCondition::Status(DocumentStatus::Failed),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn added_conditions_are_flags_and_types_unless_contradictory() {
        let all = BookmarkFilter::all_of(UserId(Uuid::nil()));

        let unread = all.with_type(ContentType::Pdf).with_state(QueryState::Unread);
        let contradictory = unread.clone().with_state(QueryState::Read);

        assert_eq!((unread.content_type, unread.unread), (Some(ContentType::Pdf), Some(true)));
        assert!(unread.is_of_flags_and_type());
        assert!(!contradictory.is_of_flags_and_type());
        assert!(!unread.with_state(QueryState::Failed).is_of_flags_and_type());
    }
}
