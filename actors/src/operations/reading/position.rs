//! Where a user stopped reading a document.

use entity::{bookmark, document, reading_position};
use schemars::JsonSchema;
use sea_orm::sea_query::{LockType, OnConflict};
use sea_orm::{ActiveValue::Set, EntityTrait, IntoActiveModel, QuerySelect};
use serde::Serialize;
use values::id::DocumentId;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::owned_transaction::begin_request;
use validation::{Flag, Integer, request};

/// Records where the user stopped reading. The progress of the bookmark follows, until it is 1: what was read to its end stays read.
#[derive(Debug)]
pub struct SavePosition {
    document: DocumentId,
    offset: i32,
    version: i32,
    seconds: Option<i32>,
    is_at_end: bool,
}

request! {
    /// Where the user stopped reading.
    pub struct SavePositionRequest {
        /// Offset of the first word on the screen in the document's text, in Unicode scalar values.
        pub offset: Integer<0, { i32::MAX as i64 }>,
        /// The version of the text that was read; 0 for a recording that has none.
        pub version: Integer<0, { i32::MAX as i64 }>,
        /// Second of a recording at which the user stopped. It counts where the offset says nothing: in a recording without a transcript.
        pub seconds?: Integer<0, { i32::MAX as i64 }>,
        /// Whether the end of the text was on the screen. Default false.
        pub at_end?: Flag,
    }
}

impl FromRequest for SavePosition {
    type Request = SavePositionRequest;

    fn from_request(target: &Target, request: SavePositionRequest) -> Result<Self, Error> {
        Ok(Self {
            document: target.id(0)?,
            // The bounds of the fields are those of the columns, so no conversion fails.
            offset: request.offset.convert().unwrap_or(0),
            version: request.version.convert().unwrap_or(0),
            seconds: request.seconds.and_then(Integer::convert),
            is_at_end: request.at_end.is_some_and(Flag::into_inner),
        })
    }
}

/// The position that was recorded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SavePositionResponse {
    /// The position.
    pub position: ReadingPosition,
}

/// Where a user stopped reading a document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadingPosition {
    /// Offset of the first word that was on the screen, in Unicode scalar values.
    pub offset: i32,
    /// The version of the text that was read; 0 if there was none. In another version the offset may be at other words.
    pub version: i32,
    /// Second of a recording at which the user stopped; null for texts.
    pub seconds: Option<i32>,
    /// How much was read, from 0 to 1.
    pub progress: f64,
    /// When it was read last.
    pub updated_at: Timestamp,
}

impl From<reading_position::Model> for ReadingPosition {
    fn from(row: reading_position::Model) -> Self {
        Self {
            offset: row.char_offset,
            version: row.version,
            seconds: row.seconds,
            progress: row.progress,
            updated_at: row.updated_at,
        }
    }
}

impl SavePosition {
    fn progress(&self, total_chars: i32) -> f64 {
        if self.is_at_end || total_chars <= 0 {
            return if self.is_at_end { 1.0 } else { 0.0 };
        }
        // Less than 1, which says that the end was seen.
        (f64::from(self.offset) / f64::from(total_chars)).clamp(0.0, 0.999)
    }
}

impl Operation for SavePosition {
    type Reply = SavePositionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<SavePositionResponse, Error> {
        use reading_position::Column as C;
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let found = document::Entity::one_visible_to(caller.user, self.document).one(&txn).await?;
        let document = found.ok_or(Error::not_found())?;
        let row = reading_position::Model {
            document_id: document.id,
            user_id: caller.user,
            version: self.version,
            char_offset: self.offset,
            seconds: self.seconds,
            progress: self.progress(document.total_chars),
            updated_at: now,
        };
        let replace = OnConflict::column(C::DocumentId)
            .update_columns([C::Version, C::CharOffset, C::Seconds, C::Progress, C::UpdatedAt])
            .to_owned();
        reading_position::Entity::insert(row.clone().into_active_model())
            .on_conflict(replace)
            .exec_without_returning(&txn)
            .await?;
        // Of a document without a text no share can be read, except that the end was reached.
        if let Some(id) = document.bookmark_id.filter(|_| document.total_chars > 0 || self.is_at_end) {
            let own = bookmark::Entity::one_visible_to(caller.user, id).lock(LockType::NoKeyUpdate);
            let own = own.one(&txn).await?.filter(|bookmark| bookmark.document_id == document.id);
            if let Some(bookmark) = own.filter(|bookmark| bookmark.progress < 1.0) {
                let mut changed = bookmark.into_active_model();
                changed.progress = Set(row.progress);
                changed.updated_at = Set(now);
                bookmark::Entity::update_owned_row(&txn, caller.user, changed).await?;
            }
        }
        txn.commit().await?;
        Ok(SavePositionResponse { position: row.into() })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn progress_is_whole_only_at_the_end() {
        let at = |offset, is_at_end| SavePosition {
            document: DocumentId(Uuid::nil()),
            offset,
            version: 1,
            seconds: None,
            is_at_end,
        };

        assert!((at(50, false).progress(200) - 0.25).abs() < f64::EPSILON);
        assert!(at(500, false).progress(200) < 1.0);
        assert!((at(3, true).progress(200) - 1.0).abs() < f64::EPSILON);
        assert!(at(3, false).progress(0).abs() < f64::EPSILON);
    }
}
