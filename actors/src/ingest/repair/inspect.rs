//! Inspects an index without opening it: for `carrel doctor`, which may run at the same time as the server.

use std::path::Path;

use database::Db;
use errors::Error;
use search::index::{AuditReason, IndexFolder, IndexStoreId, Marker};

use super::rows;
use crate::service_state::{self, ServiceStateKey};

/// The state of the index of a data folder, as seen from outside the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Why it is to be compared with the database; none if it is the one that the server left, or has open.
    pub audit_reason: Option<AuditReason>,
    /// The number of passages that it is to hold.
    pub expected_passages: u64,
    /// The number of documents that it lost and that are not restored yet.
    pub lost_documents: u64,
}

/// Inspects the index of a data folder without opening it.
pub async fn inspect(db: &Db, data_dir: &Path) -> Result<Inspection, Error> {
    let id = IndexFolder::read_id(data_dir);
    // The row is read before the folder, because a running server raises the marker of the folder first.
    let recorded = match id {
        Some(id) => {
            let key = ServiceStateKey::IndexMarker(IndexStoreId::Folder(id));
            service_state::read_state(db.read(), key).await?
        }
        None => None,
    };
    let recorded = recorded.as_deref().and_then(Marker::from_row);
    let maintainer = service_state::read_state(db.read(), ServiceStateKey::IndexMaintainer).await?;
    let is_elsewhere = maintainer.is_some() && maintainer != id.map(|id| id.to_string());
    let (_, reason) = IndexFolder::examine(&IndexFolder::path_in(data_dir), recorded.as_ref());
    let audit_reason = reason.or(is_elsewhere.then_some(AuditReason::MaintainedElsewhere));
    Ok(Inspection {
        audit_reason,
        expected_passages: rows::expected_passages(db.read()).await?,
        lost_documents: rows::count_lost(db.read()).await?,
    })
}
