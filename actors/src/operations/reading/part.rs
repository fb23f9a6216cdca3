//! Reads a part of the text of a document as HTML for its page in the web app.

use std::collections::HashMap;
use std::ops::Range;

use concurrency::Lane;
use entity::{document, picture_size, rendition};
use parse::html::display::{
    Decoration, DisplayMark, HtmlPart, MAX_PART_CHARS, PictureView, decorate, split_parts, text_to_html,
};
use schemars::JsonSchema;
use sea_orm::QuerySelect;
use serde::Serialize;
use values::id::{DocumentId, UserId};
use values::kind::AnchorState;
use values::scope::Scope;

use super::picture_address::{picture_address, picture_hash};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::operations::highlights::{AnchoredHighlight, highlights_of};
use errors::Error;
use library::context::CoreContext;
use library::documents::current_text;

/// The colours of highlights that pages draw; any other is drawn as the first.
pub const DRAWN_COLORS: [&str; 5] = ["yellow", "green", "blue", "pink", "violet"];

/// The part of a text to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartSelector {
    /// The part with this number, from 1.
    Number(usize),
    /// The part that has this offset of the text, in Unicode scalar values.
    At(usize),
}

/// Reads a part of a text as HTML: sanitised, with ids of our own, highlights and a target marked, and pictures led through this server.
#[derive(Debug)]
pub struct ReadPart {
    /// The document.
    pub document: DocumentId,
    /// Which part of its text.
    pub part: PartSelector,
    /// The characters that a link names, which are marked.
    pub target: Option<Range<usize>>,
    /// The words of the links in place of pictures, for users who do not want pictures. `None` shows them.
    pub picture_link: Option<String>,
}

/// A part of a text as HTML.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadPartResponse {
    /// The HTML. It is third-party content all the same.
    pub html: String,
    /// The number of the part, from 1.
    pub part: usize,
    /// The number of parts, at least 1.
    pub parts: usize,
    /// Offset of the first words of the part in the text, in Unicode scalar values.
    pub start: usize,
    /// Offsets at which the parts begin.
    pub part_starts: Vec<usize>,
    /// The version of the text.
    pub version: i32,
    /// Whether the HTML is that of the source, not made of plain text.
    pub has_markup: bool,
}

impl Operation for ReadPart {
    type Reply = ReadPartResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadPartResponse, Error> {
        let (core, user) = (&ctx.core, caller.user);
        let found = document::Entity::one_visible_to(user, self.document).one(core.db.read()).await?;
        let document = found.ok_or(Error::not_found())?;
        let text = match stored_html(core, user, document.id).await? {
            Some(html) => PartText::Html(html),
            None => PartText::Plain(current_text(core.db.read(), &document).await?),
        };
        let source = PartSource {
            user,
            document: document.id,
            version: document.version,
            text,
            marks: display_marks(highlights_of(core, user, &document).await?),
            sizes: picture_sizes(core, user, document.id).await?,
        };
        // On a worker thread, because the HTML may have 4 MiB, and all of it is divided.
        let rendered = core.workers.run(Lane::Foreground, move || self.render(source)).await?;
        rendered.ok_or(Error::not_found())
    }
}

/// The text of a document, as it is stored.
enum PartText {
    /// The HTML of its source.
    Html(String),
    /// Its words, for a source without HTML.
    Plain(String),
}

/// What the HTML of a part is made of.
struct PartSource {
    user: UserId,
    document: DocumentId,
    version: i32,
    text: PartText,
    marks: Vec<DisplayMark>,
    /// Width and height in pixels by the hash of the picture.
    sizes: HashMap<Vec<u8>, (u32, u32)>,
}

impl ReadPart {
    /// Makes the HTML of the part; `None` if the text has no parts, which does not happen.
    fn render(self, source: PartSource) -> Option<ReadPartResponse> {
        let PartSource { user, document, version, text, marks, sizes } = source;
        let (html, has_markup) = match text {
            PartText::Html(html) => (html, true),
            PartText::Plain(text) => (text_to_html(&text), false),
        };
        let parts = split_parts(&html, MAX_PART_CHARS);
        let index = self.part.index(&parts);
        let part = parts.get(index)?;
        let picture = |url: &str| {
            let size = sizes.get(&picture_hash(user, url)).copied();
            Some(PictureView { address: picture_address(user, document, url), size })
        };
        let block_address = |offset: usize| match PartSelector::At(offset).index(&parts) {
            of_part if of_part == index => format!("#o{offset}"),
            of_part => format!("/read/{document}?part={}#o{offset}", of_part + 1),
        };
        let decoration = Decoration {
            marks: &marks,
            target: self.target,
            picture: &picture,
            block_address: &block_address,
            picture_link: self.picture_link.as_deref(),
        };
        Some(ReadPartResponse {
            html: decorate(&part.html(&html), &decoration),
            part: index + 1,
            parts: parts.len(),
            start: part.start,
            part_starts: parts.iter().map(|part| part.start).collect(),
            version,
            has_markup,
        })
    }
}

impl PartSelector {
    /// Returns the index of the part. The last part follows the numbers of parts that a shorter text no longer has.
    fn index(self, parts: &[HtmlPart]) -> usize {
        let last = parts.len().saturating_sub(1);
        match self {
            Self::Number(number) => number.saturating_sub(1).min(last),
            Self::At(offset) => parts.iter().rposition(|part| part.start <= offset).unwrap_or(0),
        }
    }
}

async fn stored_html(
    core: &CoreContext,
    user: UserId,
    document: DocumentId,
) -> Result<Option<String>, Error> {
    let html = rendition::Entity::one_of_document(user, document)
        .select_only()
        .column(rendition::Column::Html)
        .into_tuple::<Option<String>>();
    Ok(html.one(core.db.read()).await?.flatten())
}

/// Returns the marks of the highlights that have a place, in the order of their creation.
fn display_marks(mut highlights: Vec<AnchoredHighlight>) -> Vec<DisplayMark> {
    highlights.sort_by_key(|highlight| highlight.highlight_id);
    let has_place = |highlight: &AnchoredHighlight| {
        highlight.anchor_state != AnchorState::Lost && highlight.end_offset > highlight.start_offset
    };
    let mark = |highlight: AnchoredHighlight| {
        let offset = |offset: i32| usize::try_from(offset).unwrap_or_default();
        DisplayMark {
            range: offset(highlight.start_offset)..offset(highlight.end_offset),
            class: format!("hl c-{}", drawn_color(highlight.color.as_deref())),
            id: highlight.highlight_id.to_string(),
        }
    };
    highlights.into_iter().filter(has_place).map(mark).collect()
}

/// Returns the colour in which a highlight is drawn: clients may give colours other names.
pub fn drawn_color(color: Option<&str>) -> &'static str {
    let [first, ..] = DRAWN_COLORS;
    DRAWN_COLORS.into_iter().find(|drawn| color == Some(*drawn)).unwrap_or(first)
}

async fn picture_sizes(
    core: &CoreContext,
    user: UserId,
    document: DocumentId,
) -> Result<HashMap<Vec<u8>, (u32, u32)>, Error> {
    let rows = picture_size::Entity::of_document(user, document).all(core.db.read()).await?;
    let size = |row: picture_size::Model| {
        let (width, height) = (u32::try_from(row.width).ok()?, u32::try_from(row.height).ok()?);
        Some((row.url_hash, (width, height)))
    };
    Ok(rows.into_iter().filter_map(size).collect())
}
