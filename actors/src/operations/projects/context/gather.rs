//! Loads the parts of a context. Of each list no more is read than could fit: notes and decisions are measured before their texts
//! are read.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use entity::{decision, note, project, project_item};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use values::id::{DecisionId, DocumentId, NoteId};
use values::kind::DecisionStatus;
use values::time::Timestamp;

use super::super::items;
use super::response::{ContextDecision, ContextNote, ContextSource};
use errors::Error;
use library::context::CoreContext;

/// Maximum number of decisions or notes. An empty note has 23 characters of JSON, so more do not fit into a response of 32,000.
const MAX_TEXT_ROWS: u64 = 1400;
/// Maximum number of sources. An empty source has 122 characters of JSON.
pub const MAX_SOURCES: usize = 300;
const MAX_SOURCE_ROWS: u64 = MAX_SOURCES as u64;

/// The length of title and body in characters.
fn text_length() -> Expr {
    // LENGTH counts characters on both databases. The cast is for PostgreSQL, where it returns 32 bits.
    Expr::cust("CAST(LENGTH(title) + LENGTH(body) AS BIGINT)")
}

/// Returns the first ids, up to the one whose text exceeds the maximum length of all texts.
fn take_fitting<I>(measured: impl IntoIterator<Item = (I, i64)>, max_chars: usize) -> Vec<I> {
    let mut size = 0_usize;
    let within = measured.into_iter().take_while(|(_, length)| {
        let before = size;
        size = size.saturating_add(usize::try_from(*length).unwrap_or(usize::MAX));
        before <= max_chars
    });
    within.map(|(id, _)| id).collect()
}

/// Returns the values of these ids, in their order.
fn sort_by_ids<I: Eq + Hash, T>(ids: Vec<I>, mut found: HashMap<I, T>) -> Vec<T> {
    ids.into_iter().filter_map(|id| found.remove(&id)).collect()
}

/// The first rows of a list, as many as could fit, and the number of all.
pub struct GatheredList<T> {
    /// The rows, in the order of the context.
    pub rows: Vec<T>,
    /// Number of all rows of the list, as far as more than fit are counted.
    pub total: usize,
}

/// Returns the decisions in force, newest first.
pub async fn decisions(
    core: &CoreContext,
    project: &project::Model,
    max_chars: usize,
) -> Result<GatheredList<ContextDecision>, Error> {
    use decision::Column;
    let measured: Vec<(DecisionId, i64)> = decision::Entity::within(project)
        .filter(Column::Status.eq(DecisionStatus::Decided))
        .order_by_desc(Column::DecidedAt)
        .order_by_desc(Column::Id)
        .limit(MAX_TEXT_ROWS)
        .select_only()
        .column(Column::Id)
        .column_as(text_length(), "length")
        .into_tuple()
        .all(core.db.read())
        .await?;
    let total = measured.len();
    let ids = take_fitting(measured, max_chars);
    if ids.is_empty() {
        return Ok(GatheredList { rows: Vec::new(), total });
    }
    let rows = decision::Entity::within(project).filter(Column::Id.is_in(ids.iter().copied()));
    let rows = rows.all(core.db.read()).await?.into_iter();
    let to_view = |row: decision::Model| ContextDecision {
        title: row.title,
        status: row.status,
        decided_at: row.decided_at,
        body: row.body,
    };
    // A decision whose status changed between the two reads is left out.
    let decided = rows.filter(|row| row.status == DecisionStatus::Decided);
    let rows = sort_by_ids(ids, decided.map(|row| (row.id, to_view(row))).collect());
    Ok(GatheredList { rows, total })
}

/// The sort key and length of a note, read before its text.
struct NoteMeasure {
    id: NoteId,
    pinned: bool,
    created_at: Timestamp,
    length: i64,
}

/// Returns the project's own notes and the notes among its items: pinned ones first, then the newest, each once.
pub async fn notes(
    core: &CoreContext,
    project: &project::Model,
    only_pinned: bool,
    max_chars: usize,
) -> Result<GatheredList<ContextNote>, Error> {
    let mut measured = own_notes(core, project).await?;
    measured.extend(note_items(core, project).await?);
    measured.retain(|note| note.pinned || !only_pinned);
    // The order in which notes are given up is the reverse of this one: the oldest that are not pinned first.
    measured.sort_by_key(|note| std::cmp::Reverse((note.pinned, note.created_at, note.id)));
    let mut seen = HashSet::new();
    measured.retain(|note| seen.insert(note.id));
    let total = measured.len();
    let ids = take_fitting(measured.into_iter().map(|note| (note.id, note.length)), max_chars);
    if ids.is_empty() {
        return Ok(GatheredList { rows: Vec::new(), total });
    }
    let rows = note::Entity::owned_by(project.user_id).filter(note::Column::Id.is_in(ids.iter().copied()));
    let rows = rows.all(core.db.read()).await?.into_iter();
    let texts = rows.map(|row| (row.id, ContextNote { title: row.title, body: row.body }));
    Ok(GatheredList { rows: sort_by_ids(ids, texts.collect()), total })
}

async fn own_notes(core: &CoreContext, project: &project::Model) -> Result<Vec<NoteMeasure>, Error> {
    use note::Column;
    let rows: Vec<(NoteId, bool, Timestamp, i64)> = note::Entity::owned_by(project.user_id)
        .filter(Column::ProjectId.eq(project.id))
        .order_by_desc(Column::Pinned)
        .order_by_desc(Column::Id)
        .limit(MAX_TEXT_ROWS)
        .select_only()
        .columns([Column::Id, Column::Pinned, Column::CreatedAt])
        .column_as(text_length(), "length")
        .into_tuple()
        .all(core.db.read())
        .await?;
    let measured = rows.into_iter().map(|(id, pinned, created_at, length)| NoteMeasure {
        id,
        pinned,
        created_at,
        length,
    });
    Ok(measured.collect())
}

/// Returns the notes of other projects and on bookmarks that are items of this project. They are pinned as items.
async fn note_items(core: &CoreContext, project: &project::Model) -> Result<Vec<NoteMeasure>, Error> {
    let items = select_note_items(project).all(core.db.read()).await?;
    let pinned: HashMap<_, _> = items.into_iter().map(|item| (item.document_id, item.pinned)).collect();
    if pinned.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<(NoteId, DocumentId, Timestamp, i64)> = note::Entity::owned_by(project.user_id)
        .filter(note::Column::DocumentId.is_in(pinned.keys().copied()))
        .select_only()
        .columns([note::Column::Id, note::Column::DocumentId, note::Column::CreatedAt])
        .column_as(text_length(), "length")
        .into_tuple()
        .all(core.db.read())
        .await?;
    let measured = rows.into_iter().map(|(id, document, created_at, length)| NoteMeasure {
        id,
        pinned: pinned.get(&document).copied().unwrap_or_default(),
        created_at,
        length,
    });
    Ok(measured.collect())
}

/// Returns the items that are not notes: pinned ones first, then the newest, those of one request in its order.
pub async fn source_items(
    core: &CoreContext,
    project: &project::Model,
) -> Result<Vec<project_item::Model>, Error> {
    Ok(select_sources(project).all(core.db.read()).await?)
}

/// Returns the sources of items, in their order, without those whose documents are hidden.
pub async fn sources(
    core: &CoreContext,
    project: &project::Model,
    rows: Vec<project_item::Model>,
) -> Result<Vec<ContextSource>, Error> {
    let documents = items::documents(core.db.read(), project.user_id, &rows).await?;
    let sources = rows.into_iter().filter_map(|row| {
        let document = documents.get(&row.document_id)?;
        Some(ContextSource {
            bookmark_id: document.bookmark_id,
            document_id: document.id,
            title: document.title.clone(),
            url: core.url_of(document),
            role: row.role,
            pinned: row.pinned,
        })
    });
    Ok(sources.collect())
}

/// Selects the items in the order of the index `project_item_source`.
fn select_sources(project: &project::Model) -> Select<project_item::Entity> {
    use project_item::Column;
    project_item::Entity::sources_within(project)
        .order_by_desc(Column::Pinned)
        // Items of one request have the same time, and ids in the order of the request.
        .order_by_desc(Column::AddedAt)
        .order_by_asc(Column::Id)
        .limit(MAX_SOURCE_ROWS)
}

/// Selects the notes among the items in the order of the index `project_item_note`.
fn select_note_items(project: &project::Model) -> Select<project_item::Entity> {
    project_item::Entity::notes_within(project)
        .order_by_desc(project_item::Column::Pinned)
        .order_by_desc(project_item::Column::Id)
        .limit(MAX_TEXT_ROWS)
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use sea_orm::{DbBackend, QueryTrait};
    use values::id::{ProjectId, UserId};
    use values::kind::ProjectStatus;

    use super::super::ContextChars;
    use super::*;

    #[tokio::test]
    async fn sources_and_notes_are_read_in_the_order_of_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let now = Timestamp::from_millis(0);
        let project = project::Model {
            id: ProjectId::new(now),
            user_id: UserId::new(now),
            name: String::new(),
            description: None,
            instructions: String::new(),
            status: ProjectStatus::Active,
            created_at: now,
            updated_at: now,
        };

        for (items, index) in [
            (select_sources(&project), "project_item_source (project_id=?)"),
            (select_note_items(&project), "project_item_note (project_id=?)"),
        ] {
            let plan = QueryPlan::of(&db, items.build(DbBackend::Sqlite)).await.unwrap();

            assert!(plan.has_step(index) && !plan.sorts(), "{plan:#?}");
        }
    }

    #[test]
    fn row_limits_exceed_what_fits_into_a_response() {
        let note = serde_json::to_string(&ContextNote { title: String::new(), body: String::new() }).unwrap();
        let source = serde_json::to_string(&ContextSource {
            bookmark_id: None,
            document_id: DocumentId::new(Timestamp::from_millis(0)),
            title: String::new(),
            url: String::new(),
            role: values::kind::ItemRole::Source,
            pinned: true,
        });
        let max = ContextChars::MAX.unsigned_abs();

        // Each with a comma behind it.
        assert!((note.len() as u64 + 1) * MAX_TEXT_ROWS > max);
        assert!((source.unwrap().len() as u64 + 1) * MAX_SOURCE_ROWS > max);
    }

    #[test]
    fn texts_are_taken_until_one_does_not_fit() {
        let measured = [(1, 400), (2, 500), (3, 300), (4, 1)];

        assert_eq!(take_fitting(measured, 1000), [1, 2, 3]);
        assert_eq!(take_fitting(measured, 32_000), [1, 2, 3, 4]);
        assert_eq!(take_fitting([(1, 90_000), (2, 1)], 1000), [1]);
    }
}
