//! Documents as they were: what the page said of itself, and the very passages.

use database::insert_all;
use entity::kind::DocumentStatus;
use entity::time::Timestamp;
use entity::{document, transcript, transcript_segment};
use parse::archive::{DocumentRecord, SegmentRecord};
use sea_orm::sea_query::Expr;
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter};
use text::chunk::Piece;
use web::PageUrl;

use super::{NAME, WORDS};
use errors::Error;
use jobs::Priority;
use crate::documents::{ChunkedDocument, replace_text};
use actors::ingest::Text as NewText;

/// Bytes of a time, with all that it may have.
const MOMENT: usize = 40;
/// Characters of a passage: no passage of ours is as long.
const LONGEST: usize = 20_000;

/// The document with what is told of it beside its text.
pub fn told(document: document::Model, given: &DocumentRecord) -> document::Model {
    let cut = |name: &Option<String>| name.as_deref().map(|name| text::cut(name, NAME));
    document::Model {
        content_type: given.content_type,
        title: text::cut(&given.title, NAME),
        title_given: given.title_given,
        author: cut(&given.author),
        site_name: cut(&given.site_name),
        description: given.description.as_deref().map(|words| text::cut(words, WORDS)),
        image_url: address(&given.image_url),
        published_at: given.published_at.clone().filter(|when| when.len() <= MOMENT),
        canonical_url: address(&given.canonical_url),
        recording_url: address(&given.recording_url),
        language: given.language.as_deref().map(|name| text::cut(name, 8)),
        ..document
    }
}

fn address(given: &Option<String>) -> Option<String> {
    given.clone().filter(|url| PageUrl::parse(url).is_ok())
}

/// So many passages may be of any size: a page or a sentence may be short.
const FEW: usize = 2_000;
/// Of more than those each has so many characters on average, at least.
const SHORTEST: usize = 50;

/// So many stretches of speech are told of at most: a day of them.
const MOST_SAID: usize = 100_000;

/// The text, where it is such as this service makes; what was written some other way is to be read anew.
pub fn sound(text: Option<DocumentRecord>) -> Option<DocumentRecord> {
    text.filter(|text| is_sound(text) && is_spoken_well(text))
}

/// Whether the segments of a transcript are in order and not much longer than the passages. The passages count towards the size
/// of the library; the segments do not, because they are a copy.
fn is_spoken_well(given: &DocumentRecord) -> bool {
    let spoken = &given.spoken;
    let bytes: usize = spoken.iter().map(|said| said.text.len()).sum();
    let of_passages: usize = given.passages.iter().map(|passage| passage.text.len()).sum();
    let mut at = 0.0;
    bytes <= of_passages.saturating_mul(2)
        && spoken.len() <= MOST_SAID
        && spoken.iter().all(|said| {
            let in_order = said.start_seconds >= at && said.end_seconds >= said.start_seconds;
            at = said.start_seconds;
            in_order
                && said.end_seconds.is_finite()
                && !said.text.is_empty()
                && said.text.len() <= 4 * LONGEST
                && !said.text.contains('\0')
        })
}

/// Whether the passages are: each costs work, however few words it has.
fn is_sound(given: &DocumentRecord) -> bool {
    let bytes: usize = given.passages.iter().map(|passage| passage.text.len()).sum();
    if given.passages.len() > FEW + bytes / SHORTEST {
        return false;
    }
    let is_time = |seconds: &Option<f64>| seconds.is_none_or(|seconds| seconds.is_finite() && seconds >= 0.0);
    given.passages.iter().all(|passage| {
        !passage.text.is_empty()
            && passage.text.len() <= 4 * LONGEST
            && !passage.text.contains('\0')
            && is_time(&passage.start_seconds)
            && is_time(&passage.end_seconds)
    })
}

/// Whether nothing more is to be had: there are words, or it is said why there are none.
pub fn is_whole(given: &DocumentRecord) -> bool {
    !given.passages.is_empty() || given.failed.is_some() || given.lacks.is_some()
}

/// Puts the text in, where there was one, and asks for the index; `false` where there was none.
pub async fn put(
    txn: &impl ConnectionTrait,
    document: &document::Model,
    given: DocumentRecord,
    now: Timestamp,
) -> Result<bool, Error> {
    if let Some(reason) = given.failed.as_deref().filter(|_| given.passages.is_empty()) {
        failed(txn, document, reason, now).await?;
        return Ok(true);
    }
    if !is_whole(&given) {
        return Ok(false);
    }
    let (mut whole, mut pieces, mut chars) = (String::new(), Vec::with_capacity(given.passages.len()), 0);
    for passage in &given.passages {
        let (from, start) = (whole.len(), chars);
        whole.push_str(&passage.text);
        chars += text::char_count(&passage.text);
        pieces.push(Piece {
            start,
            end: chars,
            bytes: from..whole.len(),
            page: passage.page,
            start_seconds: passage.start_seconds,
            end_seconds: passage.end_seconds,
        });
    }
    let language = document.language.clone();
    let DocumentRecord { html, outline, lacks, .. } = given;
    let lacks = lacks.map(|words| text::cut(&words, NAME));
    let split =
        Split::given(NewText { text: whole, language, html, outline, lacks, ..NewText::default() }, pieces);
    put_text(txn, document, split, Priority::Backlog, now).await?;
    if !given.spoken.is_empty() {
        put_spoken(txn, document, given.spoken).await?;
    }
    Ok(true)
}

/// What could not be made there is not tried here by itself.
async fn failed(
    txn: &impl ConnectionTrait,
    document: &document::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    document::Entity::update_many()
        .col_expr(document::Column::Status, Expr::value(DocumentStatus::Failed))
        .col_expr(document::Column::Error, Expr::value(text::cut(reason, NAME)))
        .col_expr(document::Column::UpdatedAt, Expr::value(now))
        .filter(document::Column::UserId.eq(document.user_id))
        .filter(document::Column::Id.eq(document.id))
        .exec(txn)
        .await?;
    Ok(())
}

async fn put_spoken(
    txn: &impl ConnectionTrait,
    document: &document::Model,
    spoken: Vec<SegmentRecord>,
) -> Result<(), Error> {
    let version = document.version + 1;
    let row = transcript::Model {
        document_id: document.id,
        version,
        user_id: document.user_id,
        recording: String::new(),
        model: String::new(),
        language: document.language.clone(),
        heard_samples: 0,
        refused_samples: 0,
        segments: i32::try_from(spoken.len()).unwrap_or(i32::MAX),
        progress: 1.0,
        finished: true,
    };
    row.into_active_model().insert(txn).await?;
    let rows = spoken.into_iter().zip(0..).map(|(words, ordinal)| transcript_segment::Model {
        document_id: document.id,
        version,
        ordinal,
        user_id: document.user_id,
        start_seconds: words.start_seconds,
        end_seconds: words.end_seconds,
        text: words.text,
    });
    insert_all::<transcript_segment::Entity>(txn, rows, None).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use entity::kind::ContentType;

    use super::*;
    use parse::archive::PassageRecord;

    #[test]
    fn transcript_far_longer_than_its_passages_is_refused() {
        let text = |said: &str| {
            let passage = PassageRecord {
                text: "Herons wade.".to_owned(),
                page: None,
                start_seconds: Some(0.0),
                end_seconds: Some(1.0),
            };
            let spoken = SegmentRecord { start_seconds: 0.0, end_seconds: 1.0, text: said.to_owned() };
            let unread = DocumentRecord::unread(ContentType::Audio, "T".to_owned(), false);
            Some(DocumentRecord { passages: vec![passage], spoken: vec![spoken], ..unread })
        };

        assert!(sound(text("Herons wade.")).is_some());
        assert!(sound(text(&"Herons wade. ".repeat(100))).is_none());
    }
}
