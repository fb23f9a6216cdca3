//! Changes the given fields of a collection. A collection is never nested in itself.

use entity::{collection, user};
use sea_orm::sea_query::LockType;
use sea_orm::{ActiveValue::Set, ConnectionTrait, EntityTrait, IntoActiveModel, QuerySelect, Statement};
use values::id::{CollectionId, UserId};
use values::scope::Scope;

use super::field_types::{CollectionDescription, CollectionName};
use super::view::{self, CollectionResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use validation::{DisplayName, Id, Text, request};

/// Changes the given fields of a collection; `None` keeps a field, `Some(None)` removes its value.
#[derive(Debug)]
pub struct ChangeCollection {
    id: CollectionId,
    name: Option<String>,
    description: Option<Option<String>>,
    parent: Option<Option<CollectionId>>,
}

request! {
    /// The changes of a collection.
    pub struct ChangeCollectionRequest {
        /// The new name, which need not be unique.
        pub name?: CollectionName,
        /// The new description. `null` removes it.
        pub description~: CollectionDescription,
        /// The new parent collection. `null` makes it a top-level collection.
        pub parent_id~: Id<CollectionId>,
    }
}

impl FromRequest for ChangeCollection {
    type Request = ChangeCollectionRequest;

    fn from_request(target: &Target, request: ChangeCollectionRequest) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            name: request.name.map(DisplayName::into_inner),
            description: request.description.map(Text::into_inner).into_change(),
            parent: request.parent_id.map(Id::into_inner).into_change(),
        })
    }
}

impl Operation for ChangeCollection {
    type Reply = CollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CollectionResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        if let Some(Some(parent)) = self.parent {
            // Before the collection is locked: it locks the user's row, which comes first (`library::owned_transaction`).
            require_valid_parent(&txn, caller.user, self.id, parent).await?;
        }
        // NO KEY UPDATE: bookmarks may be added to the collection meanwhile, which only lock its key.
        let found = collection::Entity::one_of(caller.user, self.id).lock(LockType::NoKeyUpdate);
        let mut changed = found.one(&txn).await?.ok_or(Error::not_found())?.into_active_model();
        if let Some(name) = self.name {
            changed.name = Set(name);
        }
        if let Some(description) = self.description {
            changed.description = Set(description);
        }
        if let Some(parent) = self.parent {
            changed.parent_id = Set(parent);
        }
        changed.updated_at = Set(ctx.core.clock.now());
        collection::Entity::update_owned_row(&txn, caller.user, changed).await?;
        let changed = view::load_view(&txn, caller.user, self.id).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(changed)
    }
}

/// Requires that a collection may be moved into a parent.
///
/// # Errors
/// [`Error::NotFound`] when one of them does not exist or belongs to another user, with `parentId` for the parent;
/// [`Error::Invalid`] when the parent is the collection itself or nested in it; the database fails.
async fn require_valid_parent(
    txn: &impl ConnectionTrait,
    user: UserId,
    moved: CollectionId,
    parent: CollectionId,
) -> Result<(), Error> {
    // Moves of a user's collections run one after the other: two collections that are moved into each other would both pass.
    user::Entity::find_by_id(user).lock(LockType::NoKeyUpdate).one(txn).await?;
    collection::Entity::one_of(user, moved).one(txn).await?.ok_or(Error::not_found())?;
    let found = collection::Entity::one_of(user, parent).one(txn).await?;
    found.ok_or_else(|| Error::not_found().of_item("parentId"))?;
    if is_within(txn, user, parent, moved).await? {
        return Err(Error::invalid("parentId", "must not be the collection itself or one inside it"));
    }
    Ok(())
}

/// Selects the collection `$2` of the user `$1` with all collections in which it is nested, and of these the collection `$3`. `UNION`
/// leaves out rows that were found before, so the search ends even if stored rows form a cycle. The join is a cross join, because SQLite
/// keeps its order: otherwise it reads all collections of the user.
const OUTER_COLLECTION: &str = "\
    WITH RECURSIVE outer_collection (id, parent_id) AS (\
        SELECT collection.id, collection.parent_id FROM collection \
        WHERE collection.user_id = $1 AND collection.id = $2 \
        UNION SELECT collection.id, collection.parent_id FROM outer_collection CROSS JOIN collection \
        WHERE collection.user_id = $1 AND collection.id = outer_collection.parent_id\
    ) SELECT outer_collection.id FROM outer_collection WHERE outer_collection.id = $3";

/// Returns whether a collection is another one or is nested in it. It reads only the collections in which the first is nested.
async fn is_within(
    db: &impl ConnectionTrait,
    user: UserId,
    inner: CollectionId,
    outer: CollectionId,
) -> Result<bool, Error> {
    let values = [user.into(), inner.into(), outer.into()];
    let query = Statement::from_sql_and_values(db.get_database_backend(), OUTER_COLLECTION, values);
    Ok(db.query_one_raw(query).await?.is_some())
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use sea_orm::sea_query::Expr;
    use sea_orm::{ColumnTrait, QueryFilter};
    use values::plan::Plan;
    use values::time::Timestamp;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    async fn open(folder: &tempfile::TempDir) -> Db {
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        Db::open(&url).await.unwrap()
    }

    async fn add_user(db: &Db) -> UserId {
        let id = UserId::new(NOON);
        let row = user::Model::new(id, "reader@reader.example".to_owned(), String::new(), Plan::Pro, NOON);
        user::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        id
    }

    async fn add_collection(db: &Db, user_id: UserId, parent_id: Option<CollectionId>) -> CollectionId {
        let id = CollectionId::new(NOON);
        let row = collection::Model {
            id,
            user_id,
            name: "Herons".to_owned(),
            description: None,
            parent_id,
            created_at: NOON,
            updated_at: NOON,
        };
        collection::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        id
    }

    #[tokio::test]
    async fn collection_is_within_itself_and_its_ancestors() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder).await;
        let user = add_user(&db).await;
        let top = add_collection(&db, user, None).await;
        let middle = add_collection(&db, user, Some(top)).await;
        let low = add_collection(&db, user, Some(middle)).await;
        let other = add_collection(&db, user, None).await;

        for (inner, outer, expected) in
            [(top, top, true), (low, top, true), (top, low, false), (low, other, false)]
        {
            assert_eq!(is_within(db.read(), user, inner, outer).await.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn search_of_ancestors_ends_in_a_cycle() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder).await;
        let user = add_user(&db).await;
        let first = add_collection(&db, user, None).await;
        let second = add_collection(&db, user, Some(first)).await;
        let other = add_collection(&db, user, None).await;
        collection::Entity::update_owned(user)
            .col_expr(collection::Column::ParentId, Expr::value(Some(second)))
            .filter(collection::Column::Id.eq(first))
            .exec(db.write())
            .await
            .unwrap();

        assert!(!is_within(db.read(), user, first, other).await.unwrap());
    }

    #[tokio::test]
    async fn ancestors_are_found_by_their_ids() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder).await;
        let (user, id) = (UserId::new(NOON), CollectionId::new(NOON));
        let backend = db.read().get_database_backend();
        let values = [user.into(), id.into(), id.into()];

        let query = Statement::from_sql_and_values(backend, OUTER_COLLECTION, values);
        let plan = QueryPlan::of(&db, query).await.unwrap();

        assert!(plan.has_step("collection_user (user_id=? AND id=?)"), "{plan:#?}");
    }
}
