//! How a document is shown: as HTML, and by its headings.

use entity::{document, rendition};
use parse::html::Heading;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter};

use errors::Error;

/// Returns the headings of the stored outline of a rendition.
///
/// # Errors
/// [`Error::Internal`] when the stored JSON is not a list of headings.
pub fn parse_outline(outline: &str) -> Result<Vec<Heading>, Error> {
    serde_json::from_str(outline).map_err(Error::internal)
}

/// Replaces the rendition of a document; a text with neither HTML nor headings has none.
pub(super) async fn replace_rendition(
    db: &impl ConnectionTrait,
    document: &document::Model,
    html: Option<String>,
    outline: &[Heading],
) -> Result<(), Error> {
    // Deleted in any case: the HTML of a former text must not outlive it.
    let former = rendition::Entity::delete_owned(document.user_id);
    former.filter(rendition::Column::DocumentId.eq(document.id)).exec(db).await?;
    if html.is_some() || !outline.is_empty() {
        let outline = serde_json::to_string(outline).map_err(Error::internal)?;
        let row = rendition::Model { document_id: document.id, user_id: document.user_id, html, outline };
        rendition::Entity::insert(row.into_active_model()).exec_without_returning(db).await?;
    }
    Ok(())
}
