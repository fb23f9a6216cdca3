//! What can be told of an index without opening it: for `carrel doctor`, which may run beside the service.

use std::path::Path;

use database::Db;
use search::index::{AuditReason, IndexFolder, Marker};

use super::rows;
use errors::Error;
use crate::service_state::{self, ServiceStateKey};

/// What can be told of the index of a data folder from outside of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Why it is to be compared with the database; none where it is the one that the service left, or has open.
    pub audit_reason: Option<AuditReason>,
    /// How many passages it is to hold.
    pub expected_passages: u64,
    /// How many documents it lost and has not got back.
    pub lost_documents: u64,
}

/// Looks at the index of a data folder without opening it.
///
/// # Errors
/// The database fails.
pub async fn inspect(db: &Db, data_dir: &Path) -> Result<Inspection, Error> {
    let id = IndexFolder::read_id(data_dir);
    // The row before the folder: a service that runs raises the marker of the folder first.
    let recorded = match id {
        Some(id) => service_state::read(db.read(), ServiceStateKey::IndexMarker(id)).await?,
        None => None,
    };
    let recorded = recorded.as_deref().and_then(Marker::from_row);
    let maintainer = service_state::read(db.read(), ServiceStateKey::IndexMaintainer).await?;
    let is_elsewhere = maintainer.is_some() && maintainer != id.map(|id| id.to_string());
    let (_, reason) = IndexFolder::examine(&IndexFolder::path_in(data_dir), recorded.as_ref());
    let audit_reason = reason.or(is_elsewhere.then_some(AuditReason::MaintainedElsewhere));
    Ok(Inspection {
        audit_reason,
        expected_passages: rows::expected_passages(db.read()).await?,
        lost_documents: rows::count_lost(db.read()).await?,
    })
}
