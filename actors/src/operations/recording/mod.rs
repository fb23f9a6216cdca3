//! Shows a recording: its transcript with times and offsets, its captions, and its file.

mod captions;
mod media;
mod speech;
mod times;

use entity::document;
use values::id::DocumentId;

use super::transcript::is_recording;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use errors::Error;

pub use captions::captions;
pub use media::{RecordingFile, open_media};
pub use speech::{ReadSpeech, ReadSpeechResponse, SpeechPart, SpeechSegment};
pub use times::{LocateSpeech, LocateSpeechRanges, LocateSpeechRangesResponse, LocateSpeechResponse};

async fn find_recording(
    ctx: &OperationContext,
    caller: &Caller,
    document: DocumentId,
) -> Result<document::Model, Error> {
    let found = document::Entity::one_visible_to(caller.user, document).one(ctx.core.db.read()).await?;
    found.filter(is_recording).ok_or(Error::not_found())
}
