//! The sample project: five own texts about tides, with instructions and a decision, so that a new library can be searched and asked at
//! once. It is removed with its texts.

use entity::{bookmark, decision, project, project_item};
use errors::Error;
use jobs::Priority;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect,
    Set,
};
use values::id::{BookmarkId, DecisionId, DocumentId, ProjectId, UserId};
use values::kind::{DecisionStatus, ItemRole, ProjectStatus, SourceFormat};
use values::time::Timestamp;

use crate::bookmarks::{self, NewBookmark, normalize_tags};
use crate::context::CoreContext;
use crate::documents::{PageContent, SuppliedContent};
use crate::library_quota::LibraryRoom;
use crate::owned_transaction::{RequestOwner, begin_request};
use crate::projects::{self, ResolvedItem};
use crate::web_state;

/// Name of the sample project.
pub const SAMPLE_PROJECT_NAME: &str = "How tides work";

/// The path below the server's base URL under which the sample texts are served.
pub const SAMPLES_PATH: &str = "/samples";

/// A text of the sample project.
#[derive(Clone, Copy, Debug)]
pub struct SampleText {
    /// The last part of its URL.
    pub name: &'static str,
    /// The text as an HTML page.
    pub html: &'static str,
}

/// The texts of the sample project, in its order. They are our own, and may be copied.
pub const SAMPLE_TEXTS: [SampleText; 5] = [
    SampleText { name: "why-tides", html: include_str!("why-tides.html") },
    SampleText { name: "spring-and-neap", html: include_str!("spring-and-neap.html") },
    SampleText { name: "rule-of-twelfths", html: include_str!("rule-of-twelfths.html") },
    SampleText { name: "prediction-machines", html: include_str!("prediction-machines.html") },
    SampleText { name: "reading-a-gauge", html: include_str!("reading-a-gauge.html") },
];

const DESCRIPTION: &str =
    "A sample to try: five short texts about the tide. Ask why there are two high waters a day.";
const INSTRUCTIONS: &str = "Answer from the five texts of this project and name the text. Give heights in metres and times in hours.";
const DECISION_TITLE: &str = "Heights count from the zero of the chart";
const DECISION_BODY: &str =
    "Two gauges are compared only after both are converted to the same zero; see “How to read a tide gauge”.";

/// Creates the sample project of a user, or returns the one that exists. The caller wakes the worker, which makes the texts searchable.
///
/// # Errors
/// [`Error::LibraryFull`] when the library has no room for the texts; [`Error::ProjectLimit`] when the plan allows fewer than five items.
pub async fn create(core: &CoreContext, owner: &RequestOwner) -> Result<ProjectId, Error> {
    let (user, now) = (owner.user, core.clock.now());
    let txn = begin_request(&core.db, owner).await?;
    if let Some(existing) = find(&txn, user).await? {
        return Ok(existing.id);
    }
    let room = LibraryRoom::of_request(&txn, core, owner).await?;
    let project = insert_project(&txn, user, now).await?;
    let mut items = Vec::with_capacity(SAMPLE_TEXTS.len());
    for text in SAMPLE_TEXTS {
        let page = page_of(text, &core.base_url);
        let waiting = Some(&core.waiting_jobs);
        let saved = bookmarks::save_in_transaction(&txn, user, page, Priority::Now, waiting, now).await?;
        items.push(ResolvedItem::from_bookmark(&saved.row, saved.is_created, ItemRole::Source));
    }
    let max_items = core.plans.limits(owner.plan).items_per_project;
    projects::add_items(&txn, &project, &items, max_items, now).await?;
    web_state::set_sample_project(&txn, user, Some(project.id), now).await?;
    room.must_hold(&txn).await?;
    txn.commit().await?;
    Ok(project.id)
}

/// Removes the sample project of a user and its texts. The texts are deleted as
/// any bookmark is, and can be restored. Does nothing if there is no sample project.
pub async fn remove(core: &CoreContext, owner: &RequestOwner) -> Result<(), Error> {
    let (user, now) = (owner.user, core.clock.now());
    let txn = begin_request(&core.db, owner).await?;
    if let Some(project) = find(&txn, user).await? {
        let texts = bookmarks_of(&txn, &project).await?;
        projects::delete(&txn, user, project.id, now).await?;
        bookmarks::delete_all(&txn, user, &texts, Priority::Now, now).await?;
    }
    web_state::set_sample_project(&txn, user, None, now).await?;
    txn.commit().await?;
    Ok(())
}

/// Returns the sample project of a user; `None` if it was never created or was deleted.
pub async fn find(db: &impl ConnectionTrait, user: UserId) -> Result<Option<project::Model>, Error> {
    let state = web_state::find(db, user).await?;
    match state.and_then(|state| state.sample_project_id) {
        Some(id) => Ok(project::Entity::one_of(user, id).one(db).await?),
        None => Ok(None),
    }
}

fn page_of(text: SampleText, base_url: &str) -> NewBookmark {
    let body = text.html.to_owned();
    let content = SuppliedContent { format: SourceFormat::Html, body, html: None, outline: None };
    NewBookmark {
        url: format!("{base_url}{SAMPLES_PATH}/{}", text.name),
        tags: normalize_tags(vec!["sample".to_owned()]),
        content: Some(PageContent::Supplied(content)),
        ..NewBookmark::default()
    }
}

async fn insert_project(
    txn: &impl ConnectionTrait,
    user: UserId,
    now: Timestamp,
) -> Result<project::Model, Error> {
    let project = project::Model {
        id: ProjectId::new(now),
        user_id: user,
        name: SAMPLE_PROJECT_NAME.to_owned(),
        description: Some(DESCRIPTION.to_owned()),
        instructions: INSTRUCTIONS.to_owned(),
        status: ProjectStatus::Active,
        created_at: now,
        updated_at: now,
    };
    project::Entity::insert(project.clone().into_active_model()).exec_without_returning(txn).await?;
    let decision = decision::ActiveModel {
        id: Set(DecisionId::new(now)),
        user_id: Set(user),
        project_id: Set(project.id),
        title: Set(DECISION_TITLE.to_owned()),
        body: Set(DECISION_BODY.to_owned()),
        status: Set(DecisionStatus::Decided),
        decided_at: Set(Some(now)),
        created_at: Set(now),
        updated_at: Set(now),
    };
    decision.insert(txn).await?;
    Ok(project)
}

/// Returns the bookmarks of the sample texts that are items of the project.
async fn bookmarks_of(
    txn: &impl ConnectionTrait,
    project: &project::Model,
) -> Result<Vec<BookmarkId>, Error> {
    let documents: Vec<DocumentId> = project_item::Entity::sources_within(project)
        .select_only()
        .column(project_item::Column::DocumentId)
        .into_tuple()
        .all(txn)
        .await?;
    let rows = bookmark::Entity::visible_to(project.user_id)
        .filter(bookmark::Column::DocumentId.is_in(documents))
        .all(txn)
        .await?;
    let is_sample = |row: &bookmark::Model| {
        SAMPLE_TEXTS.iter().any(|text| row.url.ends_with(&format!("{SAMPLES_PATH}/{}", text.name)))
    };
    Ok(rows.iter().filter(|row| is_sample(row)).map(|row| row.id).collect())
}
