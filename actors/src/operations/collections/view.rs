//! The view of collections: one statement reads them with their counts.

use entity::{collection, collection_count};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, ExprTrait, Func, FunctionCall, Query};
use sea_orm::{ConnectionTrait, FromQueryResult, QuerySelect, Select, SelectModel, Selector};
use serde::Serialize;
use values::id::{CollectionId, UserId};
use values::time::Timestamp;

use errors::Error;

/// A collection (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema, FromQueryResult)]
#[serde(rename_all = "camelCase")]
pub struct CollectionView {
    /// Id of the collection, also for `parentId`.
    pub collection_id: CollectionId,
    /// Name of the collection. Names need not be unique.
    pub name: String,
    /// Description of the collection; null if it has none.
    pub description: Option<String>,
    /// The parent collection; null for a top-level collection.
    pub parent_id: Option<CollectionId>,
    /// Number of bookmarks in the collection, without those in nested collections.
    #[schemars(range(min = 0))]
    pub bookmark_count: i64,
    /// When the collection or its contents last changed.
    pub updated_at: Timestamp,
}

/// A collection, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CollectionResponse {
    /// The collection after the request.
    pub collection: CollectionView,
}

/// Selects the views of collections.
pub(super) fn select_views(collections: Select<collection::Entity>) -> Selector<SelectModel<CollectionView>> {
    use collection::Column as C;
    collections
        .select_only()
        .column_as(C::Id, "collection_id")
        .columns([C::Name, C::Description, C::ParentId, C::UpdatedAt])
        .expr_as(bookmark_count(), "bookmark_count")
        .into_model()
}

/// Returns the view of one collection.
///
/// # Errors
/// [`Error::NotFound`] when it does not exist or belongs to another user; the database fails.
pub(super) async fn load_view(
    db: &impl ConnectionTrait,
    user: UserId,
    id: CollectionId,
) -> Result<CollectionResponse, Error> {
    let found = select_views(collection::Entity::one_of(user, id)).one(db).await?;
    Ok(CollectionResponse { collection: found.ok_or(Error::not_found())? })
}

/// Selects the number of bookmarks in the collection of the outer statement, without deleted ones.
fn bookmark_count() -> FunctionCall {
    use collection_count::Column as Count;
    let counter = Query::select()
        .column((collection_count::Entity, Count::Bookmarks))
        .from(collection_count::Entity)
        // The owner too, with whom the key begins.
        .and_where(of_count(Count::UserId).equals((collection::Entity, collection::Column::UserId)))
        .and_where(of_count(Count::CollectionId).equals((collection::Entity, collection::Column::Id)))
        .to_owned();
    // A trigger creates the row with the collection, so there is none only if it was deleted by hand.
    Func::coalesce([Expr::from(counter), Expr::value(0_i64)])
}

fn of_count(column: collection_count::Column) -> Expr {
    Expr::col((collection_count::Entity, column))
}
