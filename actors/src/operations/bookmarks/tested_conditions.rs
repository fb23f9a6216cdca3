//! The conditions of a query as tests of the bookmarks that a statement finds in another way.

use database::tested_only;
use entity::{bookmark, document};
use library::bookmarks::is_saved_before;
use sea_orm::sea_query::{Expr, ExprTrait, LikeExpr, Query};
use sea_orm::{ColumnTrait, DbBackend};

use super::filter::BookmarkFilter;
use super::query_conditions::{BookmarkFlag, ResolvedCondition, ResolvedGroup, ResolvedTerm};
use super::title_words;
use values::id::UserId;

impl BookmarkFilter {
    /// Returns the conditions of the groups of the query.
    pub(super) fn query_tests(&self, backend: DbBackend) -> Vec<Expr> {
        self.query.groups.iter().map(|group| group.test(self.user, backend)).collect()
    }
}

impl ResolvedGroup {
    fn test(&self, user: UserId, backend: DbBackend) -> Expr {
        let tests = self.terms.iter().map(|term| term.test(user, backend));
        tests.reduce(Expr::or).unwrap_or_else(|| Expr::value(false))
    }
}

impl ResolvedTerm {
    fn test(&self, user: UserId, backend: DbBackend) -> Expr {
        let test = self.condition.test(user, backend);
        if self.is_excluded { test.not() } else { test }
    }
}

impl ResolvedCondition {
    fn test(&self, user: UserId, backend: DbBackend) -> Expr {
        use bookmark::Column as C;
        match self {
            Self::Text(text) => title_words::contains(text, backend),
            Self::Sets(sets) => any(sets.iter().map(|set| set.contains(user))),
            Self::Flag(BookmarkFlag::Archived, wanted) => C::Archived.eq(*wanted),
            Self::Flag(BookmarkFlag::Favorite, wanted) => C::Favorite.eq(*wanted),
            Self::Flag(BookmarkFlag::Unread, true) => C::Progress.lt(1.0),
            Self::Flag(BookmarkFlag::Unread, false) => C::Progress.gte(1.0),
            Self::Started => C::Progress.gt(0.0).and(C::Progress.lt(1.0)),
            Self::Status(status) => has_document(user, document::Column::Status.eq(*status)),
            Self::Type(kind) => tested_only(C::ContentType.into_expr(), backend).eq(*kind),
            Self::Host(host) => is_on_host(host, backend),
            Self::Feeds(feeds) => has_document(user, document::Column::FeedId.is_in(feeds.iter().copied())),
            Self::SavedBefore(time) => is_saved_before(tested_only(C::SavedAt.into_expr(), backend), *time),
            Self::SavedFrom(time) => tested_only(C::SavedAt.into_expr(), backend).gte(*time),
            Self::MaxWords(words) => has_document(user, document::Column::WordCount.lte(*words)),
            Self::Nothing => Expr::value(false),
        }
    }
}

/// Returns the condition that one of these holds.
fn any(conditions: impl Iterator<Item = Expr>) -> Expr {
    conditions.reduce(Expr::or).unwrap_or_else(|| Expr::value(false))
}

/// Returns the condition that the document of the bookmark of the outer statement passes a test.
fn has_document(user: UserId, test: Expr) -> Expr {
    let document = Query::select()
        .expr(Expr::cust("1"))
        .from(document::Entity)
        .and_where(document::Column::UserId.eq(user))
        .and_where(document::Column::Id.into_expr().equals((bookmark::Entity, bookmark::Column::DocumentId)))
        .and_where(test)
        .take();
    Expr::exists(document)
}

/// Returns the host and the port in the normalised URL of a bookmark. A normalised URL has `//` before them, and `/` after them or ends.
pub(super) fn authority(backend: DbBackend) -> Expr {
    Expr::cust(if backend == DbBackend::Postgres {
        r#"split_part(split_part("bookmark"."normalized_url", '//', 2), '/', 1)"#
    } else {
        r#"substr(
            substr("bookmark"."normalized_url", instr("bookmark"."normalized_url", '//') + 2), 1,
            instr(substr("bookmark"."normalized_url", instr("bookmark"."normalized_url", '//') + 2) || '/', '/') - 1
        )"#
    })
}

/// Returns the condition that the URL of a bookmark is on a host or below it, at any port.
fn is_on_host(host: &str, backend: DbBackend) -> Expr {
    let escaped = title_words::escape_like(host);
    let like = |pattern: String| authority(backend).like(LikeExpr::new(pattern).escape('\\'));
    any([
        authority(backend).eq(host),
        like(format!("%.{escaped}")),
        like(format!("{escaped}:%")),
        like(format!("%.{escaped}:%")),
    ]
    .into_iter())
}

#[cfg(test)]
mod tests {
    use database::Db;
    use sea_orm::ConnectionTrait;

    use super::*;

    #[actix::test]
    async fn host_is_found_in_every_form_of_a_url() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let read = async |url: &str| {
            let mut select = Query::select();
            select
                .expr_as(authority(DbBackend::Sqlite), "authority")
                .expr_as(is_on_host("example.org", DbBackend::Sqlite), "is_on_host")
                .from_subquery(
                    Query::select().expr_as(Expr::value(url), "normalized_url").take(),
                    "bookmark",
                );
            let row = db.read().query_one(&select).await.unwrap().unwrap();
            let (authority, is_on): (String, bool) =
                (row.try_get("", "authority").unwrap(), row.try_get("", "is_on_host").unwrap());
            (authority, is_on)
        };

        for (url, authority, is_on) in [
            ("https://example.org/", "example.org", true),
            ("https://example.org/a//b", "example.org", true),
            ("https://www.example.org/a", "www.example.org", true),
            ("http://example.org:8080/a", "example.org:8080", true),
            ("http://notes.example.org:8080/a", "notes.example.org:8080", true),
            ("https://example.org", "example.org", true),
            ("https://badexample.org/", "badexample.org", false),
            ("https://a.example/x.example.org/", "a.example", false),
            ("upload:1", "upload:1", false),
        ] {
            let (found, is_found) = read(url).await;
            assert_eq!(is_found, is_on, "{url}");
            if url.contains("//") {
                assert_eq!(found, authority, "{url}");
            }
        }
    }
}
