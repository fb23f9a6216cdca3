//! Takes what is out of sight out of the index.

use entity::id::{DocumentId, UserId};
use entity::{document, job};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use super::attempt::Failure;
use super::queue;
use crate::app::App;
use crate::error::Error;
use crate::owned_transaction::begin_owned;
use crate::state::{self, Fact};

/// Runs the job: a document that came back meanwhile stays.
pub async fn run(app: &App, job: &job::Model) -> Result<(), Failure> {
    let id = DocumentId(job.subject);
    if document::Entity::one_of(job.user_id, id).one(app.db.read()).await?.is_none() {
        unlist(app, job.user_id, [id]).await?;
        app.retrieval.forget(job.user_id, id).await?;
    }
    queue::finish(app.db.write(), job, app.clock.now()).await?;
    Ok(())
}

/// Writes down that the index is not to hold these documents. Before they are taken out, so that the index never holds
/// less than the rows say.
///
/// # Errors
/// The database fails.
pub async fn unlist(
    app: &App,
    user: UserId,
    documents: impl IntoIterator<Item = DocumentId>,
) -> Result<(), Error> {
    let txn = begin_owned(&app.db, user).await?;
    document::Entity::update_many()
        .col_expr(document::Column::IndexedVersion, Expr::value(0))
        .col_expr(document::Column::IndexedPassages, Expr::value(0))
        .col_expr(document::Column::VectorsOf, Expr::value(None::<String>))
        .col_expr(document::Column::IndexLostAt, Expr::value(None::<i64>))
        .filter(document::Column::UserId.eq(user))
        .filter(document::Column::Id.is_in(documents))
        .exec(&txn)
        .await?;
    Ok(txn.commit().await?)
}

/// Takes users out whose accounts were removed: their rows are gone, so the mark stands for itself.
pub async fn removed_users(app: &App) -> Result<(), Error> {
    if !app.index_watch.is_maintainer() {
        return Ok(());
    }
    for user in state::removed_users(app.db.read()).await? {
        app.retrieval.forget_user(user).await?;
        state::forget(app.db.write(), Fact::RemovedUser(user)).await?;
    }
    Ok(())
}
