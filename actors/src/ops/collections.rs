//! Collections: making and listing them, and putting bookmarks in (contract.md, section 6).

use entity::id::{BookmarkId, CollectionId};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{bookmark, collection, collection_bookmark};
use sea_orm::sea_query::{Expr, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect,
};
use serde::Serialize;

use super::bookmarks::save;
use super::page::{CURSOR, PageOf};
use super::target::Target;
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::fields::{Field, Kind, Values};
use crate::perform::Operation;

const DEFAULT_LIMIT: u64 = 50;

/// A collection (contract.md, section 6).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CollectionView {
    collection_id: CollectionId,
    name: String,
    description: Option<String>,
    parent_id: Option<CollectionId>,
    bookmark_count: u64,
    updated_at: Timestamp,
}

/// One collection under its name.
#[derive(Debug, Serialize)]
pub struct OneCollection {
    collection: CollectionView,
}

async fn view(db: &impl ConnectionTrait, row: collection::Model) -> Result<CollectionView, Error> {
    let living = Query::select()
        .column(bookmark::Column::Id)
        .from(bookmark::Entity)
        .and_where(bookmark::Column::UserId.eq(row.user_id))
        .and_where(bookmark::Column::DeletedAt.is_null())
        .to_owned();
    let bookmark_count = collection_bookmark::Entity::owned_by(row.user_id)
        .filter(collection_bookmark::Column::CollectionId.eq(row.id))
        .filter(collection_bookmark::Column::BookmarkId.in_subquery(living))
        .count(db)
        .await?;
    Ok(CollectionView {
        collection_id: row.id,
        name: row.name,
        description: row.description,
        parent_id: row.parent_id,
        bookmark_count,
        updated_at: row.updated_at,
    })
}

/// A new collection.
#[derive(Debug)]
pub struct CreateCollection {
    name: String,
    description: Option<String>,
    parent: Option<CollectionId>,
}

impl CreateCollection {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::required("name", Kind::Words { min: 1, max: 300 }, "Its name; names may repeat."),
        Field::optional("description", Kind::Text { max: 100_000 }, "What it is for."),
        Field::optional("parentId", Kind::Id, "The collection that it stands in."),
    ];

    /// Reads the body.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            name: values.text("name").unwrap_or_default(),
            description: values.text("description"),
            parent: values.id("parentId").map(CollectionId),
        })
    }
}

impl Operation for CreateCollection {
    type Reply = OneCollection;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];

    async fn run(self, caller: &Caller, app: &App) -> Result<OneCollection, Error> {
        let now = app.clock.now();
        let txn = app.db.begin().await?;
        if let Some(parent) = self.parent {
            collection::Entity::one_of(caller.user, parent).one(&txn).await?.ok_or(Error::NotFound)?;
        }
        let row = collection::Model {
            id: CollectionId::new(now),
            user_id: caller.user,
            name: self.name,
            description: self.description,
            parent_id: self.parent,
            created_at: now,
            updated_at: now,
        };
        collection::Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
        let collection = view(&txn, row).await?;
        txn.commit().await?;
        Ok(OneCollection { collection })
    }
}

/// One collection.
#[derive(Debug)]
pub struct ShowCollection(CollectionId);

impl ShowCollection {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowCollection {
    type Reply = OneCollection;
    const SCOPES: &'static [Scope] = &[Scope::ReadCollections];

    async fn run(self, caller: &Caller, app: &App) -> Result<OneCollection, Error> {
        let found = collection::Entity::one_of(caller.user, self.0).one(app.db.read()).await?;
        Ok(OneCollection { collection: view(app.db.read(), found.ok_or(Error::NotFound)?).await? })
    }
}

/// A page of collections.
#[derive(Debug)]
pub struct ListCollections(PageOf);

impl ListCollections {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[
        CURSOR,
        Field::optional(
            "limit",
            Kind::Integer { min: 1, max: 100 },
            "Collections at most; 50 when left out.",
        ),
    ];

    /// Reads the parameters.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self(PageOf::read(&mut values, DEFAULT_LIMIT)))
    }
}

/// Collections, oldest first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Collections {
    collections: Vec<CollectionView>,
    next_cursor: Option<String>,
}

impl Operation for ListCollections {
    type Reply = Collections;
    const SCOPES: &'static [Scope] = &[Scope::ReadCollections];

    fn count(reply: &Collections) -> Option<usize> {
        Some(reply.collections.len())
    }

    async fn run(self, caller: &Caller, app: &App) -> Result<Collections, Error> {
        let after: Option<CollectionId> = self.0.position(app, caller.user, "collections")?;
        let mut query = collection::Entity::owned_by(caller.user).order_by_asc(collection::Column::Id);
        if let Some(after) = after {
            query = query.filter(collection::Column::Id.gt(after));
        }
        let mut rows = query.limit(self.0.limit + 1).all(app.db.read()).await?;
        let next_cursor = self.0.cut(app, caller.user, "collections", &mut rows, |row| row.id);
        let mut collections = Vec::with_capacity(rows.len());
        for row in rows {
            collections.push(view(app.db.read(), row).await?);
        }
        Ok(Collections { collections, next_cursor })
    }
}

/// What a change of a collection's contents answers.
#[derive(Debug, Serialize)]
pub struct Done {}

/// Puts a bookmark into a collection; twice is once.
#[derive(Debug)]
pub struct PutIntoCollection(Place);

/// Takes a bookmark out of a collection; it need not be in it.
#[derive(Debug)]
pub struct TakeFromCollection(Place);

#[derive(Debug)]
struct Place {
    collection: CollectionId,
    bookmark: BookmarkId,
}

impl Place {
    fn read(target: &Target) -> Result<Self, Error> {
        Ok(Self { collection: target.id(0)?, bookmark: target.id(1)? })
    }

    /// Both are the caller's own.
    async fn own(&self, db: &impl ConnectionTrait, caller: &Caller) -> Result<bookmark::Model, Error> {
        let collection = collection::Entity::one_of(caller.user, self.collection).one(db).await?;
        collection.ok_or(Error::NotFound)?;
        bookmark::Entity::one_of(caller.user, self.bookmark).one(db).await?.ok_or(Error::NotFound)
    }
}

impl PutIntoCollection {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Place::read(target).map(Self)
    }
}

impl TakeFromCollection {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Place::read(target).map(Self)
    }
}

impl Operation for PutIntoCollection {
    type Reply = Done;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];

    async fn run(self, caller: &Caller, app: &App) -> Result<Done, Error> {
        let now = app.clock.now();
        let txn = app.db.begin().await?;
        let row = self.0.own(&txn, caller).await?;
        save::put_in(&txn, caller.user, self.0.collection, row.id, now).await?;
        changed(&txn, &self.0, &row, now).await?;
        txn.commit().await?;
        app.ingest.wake();
        Ok(Done {})
    }
}

impl Operation for TakeFromCollection {
    type Reply = Done;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];

    async fn run(self, caller: &Caller, app: &App) -> Result<Done, Error> {
        let now = app.clock.now();
        let txn = app.db.begin().await?;
        let row = self.0.own(&txn, caller).await?;
        collection_bookmark::Entity::delete_many()
            .filter(collection_bookmark::Column::UserId.eq(caller.user))
            .filter(collection_bookmark::Column::CollectionId.eq(self.0.collection))
            .filter(collection_bookmark::Column::BookmarkId.eq(self.0.bookmark))
            .exec(&txn)
            .await?;
        changed(&txn, &self.0, &row, now).await?;
        txn.commit().await?;
        app.ingest.wake();
        Ok(Done {})
    }
}

/// The collection and the bookmark changed, and the index is told.
async fn changed(
    txn: &impl ConnectionTrait,
    place: &Place,
    row: &bookmark::Model,
    now: Timestamp,
) -> Result<(), Error> {
    collection::Entity::update_many()
        .col_expr(collection::Column::UpdatedAt, Expr::value(now))
        .filter(collection::Column::UserId.eq(row.user_id))
        .filter(collection::Column::Id.eq(place.collection))
        .exec(txn)
        .await?;
    save::touch(txn, row.clone(), now).await?;
    super::bookmarks::relabel(txn, row, now).await
}
