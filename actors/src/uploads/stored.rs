//! Which files the store holds and to what they belong. A row is there before a file's first byte and until its last is
//! gone; a file that belongs to nothing and that nobody writes is removed. So whatever dies in between, and whoever
//! removes an upload, a bookmark or an account, no file is left behind.

use std::time::Duration;

use entity::id::{FileId, UploadId};
use entity::stored_file::{Column, Entity, Model};
use entity::time::Timestamp;
use entity::upload;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use tracing::warn;

use crate::app::App;
use crate::db::Db;
use crate::error::Error;
use crate::kit::Beat;

/// Whoever writes a file and says nothing for so long is taken for dead. It renews at a third of that.
const HELD: Duration = Duration::from_secs(30);
/// A file that could not be removed is tried again after this.
const PUT_OFF: Duration = Duration::from_secs(600);
const AT_ONCE: u64 = 200;

/// A file that is being written: nobody removes it as long as this lives.
#[derive(Debug)]
pub struct Held {
    /// The file.
    pub id: FileId,
    /// Its path in the store.
    pub path: String,
    _beat: Beat,
}

/// Names a file that is about to be written; where its bytes come for an upload, that takes up room from now on.
///
/// # Errors
/// The rows cannot be written; then there is to be no file.
pub async fn hold(
    app: &App,
    upload: Option<UploadId>,
    path: impl FnOnce(FileId) -> String,
) -> Result<Held, Error> {
    let (db, clock) = (app.db.clone(), app.clock.clone());
    let id = FileId::new(clock.now());
    let row = Model { id, upload_id: None, path: path(id), held_until: clock.now() + HELD, doomed: false };
    let path = row.path.clone();
    Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await?;
    take_up_room(&db, upload, clock.now() + HELD).await?;
    let beat = Beat::every(HELD / 3, "a file is being written", move || {
        let (db, until) = (db.clone(), clock.now() + HELD);
        async move {
            renew(&db, id, until).await?;
            take_up_room(&db, upload, until).await
        }
    });
    Ok(Held { id, path, _beat: beat })
}

async fn renew(db: &Db, id: FileId, until: Timestamp) -> Result<(), Error> {
    Entity::update_many()
        .col_expr(Column::HeldUntil, Expr::value(until))
        .filter(Column::Id.eq(id))
        .filter(Column::UploadId.is_null())
        .filter(Column::Doomed.eq(false))
        .exec(db.write())
        .await?;
    Ok(())
}

/// Bytes come for this upload, until then at least.
async fn take_up_room(db: &Db, upload: Option<UploadId>, until: Timestamp) -> Result<(), Error> {
    let Some(upload) = upload else { return Ok(()) };
    upload::Entity::update_many()
        .col_expr(upload::Column::ReceivingUntil, Expr::value(until))
        .filter(upload::Column::Id.eq(upload))
        .exec(db.write())
        .await?;
    Ok(())
}

/// Gives a written file to its upload, in the transaction that says so of the upload; what the upload had before belongs
/// to nothing from then on. `false`: the file is being removed, its writer was taken for dead.
///
/// # Errors
/// The database.
pub async fn attach(
    txn: &impl ConnectionTrait,
    file: FileId,
    upload: UploadId,
    until: Timestamp,
) -> Result<bool, Error> {
    loosen(txn, upload, until).await?;
    let given = Entity::update_many()
        .col_expr(Column::UploadId, Expr::value(Some(upload)))
        // Nobody writes it any more: it may go as soon as the upload does.
        .col_expr(Column::HeldUntil, Expr::value(Timestamp::from_millis(0)))
        .filter(Column::Id.eq(file))
        .filter(Column::Doomed.eq(false))
        .exec(txn)
        .await?;
    Ok(given.rows_affected > 0)
}

/// Takes an upload's files from it; they are left alone until then.
///
/// # Errors
/// The database.
pub async fn loosen(txn: &impl ConnectionTrait, upload: UploadId, until: Timestamp) -> Result<(), Error> {
    Entity::update_many()
        .col_expr(Column::UploadId, Expr::value(None::<UploadId>))
        .col_expr(Column::HeldUntil, Expr::value(until))
        .filter(Column::UploadId.eq(upload))
        .exec(txn)
        .await?;
    Ok(())
}

/// Ends the writing. A file that was given to no upload is removed at once; where that fails, by the clean-up.
pub async fn discard(app: &App, held: Held) {
    let (id, path) = (held.id, held.path.clone());
    drop(held);
    if let Err(error) = remove(app, id, &path).await {
        warn!(cause = error.chain(), "could not remove a file that came to nothing; the clean-up will");
    }
}

/// Removes what belongs to nothing.
///
/// # Errors
/// The database. A file that the store does not let go is put off, and the others go on.
pub async fn sweep(app: &App) -> Result<(), Error> {
    let loose = Entity::loose(app.clock.now()).limit(AT_ONCE).all(app.db.read()).await?;
    for file in loose {
        if let Err(error) = remove(app, file.id, &file.path).await {
            warn!(cause = error.chain(), file.id = %file.id, "could not remove a file that belongs to nothing");
            put_off(app, file.id).await?;
        }
    }
    Ok(())
}

async fn put_off(app: &App, id: FileId) -> Result<(), Error> {
    Entity::update_many()
        .col_expr(Column::HeldUntil, Expr::value(app.clock.now() + PUT_OFF))
        .filter(Column::Id.eq(id))
        .filter(Column::UploadId.is_null())
        .exec(app.db.write())
        .await?;
    Ok(())
}

async fn remove(app: &App, id: FileId, path: &str) -> Result<(), Error> {
    // From here on it can be given to no upload: the bytes may go.
    let doomed = Entity::update_many()
        .col_expr(Column::Doomed, Expr::value(true))
        .filter(Column::Id.eq(id))
        .filter(Column::UploadId.is_null())
        .exec(app.db.write())
        .await?;
    if doomed.rows_affected == 0 {
        return Ok(());
    }
    app.uploads.store.remove(path).await?;
    Entity::delete_by_id(id).exec(app.db.write()).await?;
    Ok(())
}
