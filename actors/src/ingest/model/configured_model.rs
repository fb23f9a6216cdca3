//! Records the model of the settings at the start of a server.

use std::time::Duration;

use database::{Db, SessionLock};
use errors::Error;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::indexed_models::{IndexedModel, IndexedModels};
use crate::service_state::{self, ServiceStateKey};

/// Maximum time that a start waits for the deletion of former vectors of its model.
const MAX_DELETION_WAIT: Duration = Duration::from_secs(60);
/// Interval at which such a start looks whether the deletion has ended.
const DELETION_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Records the model of the settings, and returns the models whose vectors are in the index, or are to be. `wanted` is `None` if the settings
/// name none, or nothing is known of its vectors yet: then the record stays. A model that replaces another one becomes the next one. While
/// another server deletes its vectors, waits for that, for a minute at most; then the record stays too.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn record_configured_model(
    db: &Db,
    wanted: Option<IndexedModel>,
) -> Result<Option<IndexedModels>, Error> {
    let (key, started) = (ServiceStateKey::IndexedModels, Instant::now());
    loop {
        let row = service_state::read_state(db.write(), key).await?;
        let stored = row.as_deref().and_then(IndexedModels::from_row);
        let Some(wanted) = wanted.clone() else { return Ok(stored) };
        if is_deleted_by_other_server(db, stored.as_ref(), &wanted).await? {
            if started.elapsed() >= MAX_DELETION_WAIT {
                warn!(
                    model.name = wanted.name,
                    "the former vectors of the embedding model are still being deleted; restart the server later to use the model"
                );
                return Ok(stored);
            }
            sleep(DELETION_CHECK_INTERVAL).await;
            continue;
        }
        let models = match stored.clone() {
            Some(stored) => stored.with_configured(wanted),
            None => IndexedModels::first(wanted),
        };
        let new = models.to_row()?;
        let is_recorded = match &row {
            Some(row) if *row == new => true,
            Some(row) => service_state::replace(db.write(), key, row, new).await?,
            None => service_state::get_or_insert(db.write(), key, new.clone()).await? == new,
        };
        // Otherwise another server has recorded a model at the same moment.
        if is_recorded {
            log_change(stored.as_ref(), &models);
            return Ok(Some(models));
        }
    }
}

/// Returns whether another server deletes the vectors of this model. The server that maintains the index does. If there is none, it has ended
/// before the deletion did, and the vectors that are left still belong to the model: the rows that name it were changed before them.
async fn is_deleted_by_other_server(
    db: &Db,
    stored: Option<&IndexedModels>,
    model: &IndexedModel,
) -> Result<bool, Error> {
    let deleting = stored.and_then(|stored| stored.deleting.as_ref());
    Ok(deleting == Some(&model.name) && !db.hold_lock(SessionLock::Index).await?)
}

fn log_change(stored: Option<&IndexedModels>, models: &IndexedModels) {
    let Some(next) = &models.next else { return };
    let is_new = stored.and_then(|stored| stored.next.as_ref()).is_none_or(|stored| stored.name != next.name);
    let (searched, next) = (&models.searched.name, &next.name);
    if is_new {
        warn!(
            searched,
            next, "the embedding model was changed: all documents are embedded with the next one"
        );
    } else {
        info!(searched, next, "the change of the embedding model continues");
    }
}

#[cfg(test)]
mod tests {
    use super::super::indexed_models::tests::{model, record};
    use super::*;

    #[actix::test]
    async fn deletion_is_awaited_while_the_server_that_deletes_runs() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let (db, maintainer) = (Db::open(&url).await.unwrap(), Db::open(&url).await.unwrap());
        assert!(maintainer.hold_lock(SessionLock::Index).await.unwrap());
        let deleting = record("b", None, &["a"]).with_deletion_of("a");
        let is_deleted =
            async |name| is_deleted_by_other_server(&db, Some(&deleting), &model(name)).await.unwrap();
        assert!(is_deleted("a").await && !is_deleted("b").await);
        let row = deleting.to_row().unwrap();
        service_state::write(db.write(), ServiceStateKey::IndexedModels, row).await.unwrap();

        maintainer.close().await.unwrap();

        assert!(!is_deleted("a").await);
        let recorded = record_configured_model(&db, Some(model("a"))).await.unwrap();
        assert_eq!(recorded, Some(record("b", Some("a"), &[])));
    }

    #[actix::test]
    async fn record_is_kept_in_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        assert_eq!(record_configured_model(&db, None).await.unwrap(), None);

        record_configured_model(&db, Some(model("a"))).await.unwrap();
        record_configured_model(&db, Some(model("b"))).await.unwrap();

        assert_eq!(record_configured_model(&db, None).await.unwrap(), Some(record("a", Some("b"), &[])));
    }
}
