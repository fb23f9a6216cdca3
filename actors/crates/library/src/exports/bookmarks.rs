//! Saved pages as a list for browsers (Netscape bookmarks), in the folders of their collections: a page in several stands in
//! each of them.

use std::collections::HashMap;

use entity::id::{BookmarkId, CollectionId};
use entity::kind::BookmarkKind;
use entity::{bookmark, collection, collection_bookmark};
use parse::archive::BookmarkRecord;
use quick_xml::escape::escape;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect};

use super::beside::Beside;
use super::gather::{Gathering, SOME};
use errors::Error;

/// What the list begins with.
const HEAD: &str = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n\
    <META HTTP-EQUIV=\"Content-Type\" CONTENT=\"text/html; charset=UTF-8\">\n\
    <TITLE>Bookmarks</TITLE>\n<H1>Bookmarks</H1>\n<DL><p>\n";
/// What it, and each folder, ends with.
const FOOT: &str = "</DL><p>\n";

/// What comes next on the way through the folders.
enum Step {
    Open(collection::Model),
    Close,
}

/// Sends the list.
///
/// # Errors
/// The database.
pub async fn list(to: &Gathering<'_>) -> Result<(), Error> {
    to.file("bookmarks.html", true).await?;
    to.bytes(HEAD).await?;
    let all = collection::Entity::owned_by(to.user).order_by_desc(collection::Column::Name);
    let mut within: HashMap<Option<CollectionId>, Vec<Step>> = HashMap::new();
    for row in all.all(to.db()).await? {
        within.entry(row.parent_id).or_default().push(Step::Open(row));
    }
    let mut steps = within.remove(&None).unwrap_or_default();
    while let Some(step) = steps.pop() {
        match step {
            Step::Open(folder) => {
                to.bytes(&format!("<DT><H3>{}</H3>\n<DL><p>\n", escape(folder.name.as_str()))).await?;
                let filed = filed(to)
                    .and_where(Expr::col(collection_bookmark::Column::CollectionId).eq(folder.id))
                    .to_owned();
                pages(to, Condition::all().add(bookmark::Column::Id.in_subquery(filed))).await?;
                steps.push(Step::Close);
                steps.extend(within.remove(&Some(folder.id)).unwrap_or_default());
            }
            Step::Close => to.bytes(FOOT).await?,
        }
    }
    pages(to, Condition::all().add(bookmark::Column::Id.not_in_subquery(filed(to)))).await?;
    to.bytes(FOOT).await
}

/// The bookmarks that stand in collections.
fn filed(to: &Gathering<'_>) -> SelectStatement {
    Query::select()
        .column(collection_bookmark::Column::BookmarkId)
        .from(collection_bookmark::Entity)
        .and_where(Expr::col(collection_bookmark::Column::UserId).eq(to.user))
        .to_owned()
}

/// The saved pages among these bookmarks, some at a time.
async fn pages(to: &Gathering<'_>, which: Condition) -> Result<(), Error> {
    let chosen = bookmark::Entity::owned_by(to.user)
        .filter(bookmark::Column::Kind.eq(BookmarkKind::Page))
        .filter(which)
        .order_by_asc(bookmark::Column::Id)
        .limit(SOME);
    let mut after: Option<BookmarkId> = None;
    loop {
        let next = after.map(|after| bookmark::Column::Id.gt(after));
        let some = next.into_iter().fold(chosen.clone(), QueryFilter::filter).all(to.db()).await?;
        let Some(last) = some.last() else { return Ok(()) };
        after = Some(last.id);
        let beside = Beside::of(to, &some).await?;
        for row in &some {
            to.bytes(&line(&beside.record(row), beside.title(row))).await?;
        }
    }
}

/// The line of a bookmark.
fn line(bookmark: &BookmarkRecord, title: &str) -> String {
    let tags = escape(bookmark.tags.join(","));
    let (url, title) = (escape(bookmark.url.as_str()), escape(title));
    let mut line = format!(
        "<DT><A HREF=\"{url}\" ADD_DATE=\"{}\" TAGS=\"{tags}\">{title}</A>\n",
        bookmark.saved_at.millis() / 1000
    );
    if let Some(notes) = &bookmark.notes {
        line.push_str(&format!("<DD>{}\n", escape(notes.as_str())));
    }
    line
}
