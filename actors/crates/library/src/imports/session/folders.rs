//! Folders of other programs as collections: one for each name within the one above it, made where there is none.

use std::collections::HashMap;

use entity::collection::{self, Column, Entity};
use entity::id::{CollectionId, UserId};
use entity::time::Timestamp;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, Select};

use errors::Error;

/// Characters of a name.
const LONGEST: usize = 300;

/// The collections that were found or made so far.
#[derive(Debug, Default)]
pub struct Folders(HashMap<(Option<CollectionId>, String), CollectionId>);

impl Folders {
    /// The innermost of these folders, and which were made for it; none for no folders.
    pub async fn find(
        &mut self,
        txn: &impl ConnectionTrait,
        user: UserId,
        path: &[String],
        now: Timestamp,
    ) -> Result<(Option<CollectionId>, Vec<CollectionId>), Error> {
        let (mut parent, mut made) = (None, Vec::new());
        for name in path {
            let name = text::cut(name, LONGEST);
            let (id, new) = self.one(txn, user, parent, name, now).await?;
            made.extend(new.then_some(id));
            parent = Some(id);
        }
        Ok((parent, made))
    }

    /// The collection of this name within another; whether it was made.
    async fn one(
        &mut self,
        txn: &impl ConnectionTrait,
        user: UserId,
        parent: Option<CollectionId>,
        name: String,
        now: Timestamp,
    ) -> Result<(CollectionId, bool), Error> {
        let place = (parent, name);
        if let Some(id) = self.0.get(&place) {
            return Ok((*id, false));
        }
        if let Some(there) = named(user, parent, &place.1).one(txn).await? {
            self.0.insert(place, there.id);
            return Ok((there.id, false));
        }
        let id = make(txn, user, parent, place.1.clone(), None, now).await?;
        self.0.insert(place, id);
        Ok((id, true))
    }
}

/// The collections of this name within another, or within none; the oldest first.
pub fn named(user: UserId, parent: Option<CollectionId>, name: &str) -> Select<Entity> {
    let same = Entity::owned_by(user).filter(Column::Name.eq(name));
    let same = match parent {
        Some(parent) => same.filter(Column::ParentId.eq(parent)),
        None => same.filter(Column::ParentId.is_null()),
    };
    same.order_by_asc(Column::Id)
}

/// Makes a collection.
pub async fn make(
    txn: &impl ConnectionTrait,
    user: UserId,
    parent: Option<CollectionId>,
    name: String,
    description: Option<String>,
    now: Timestamp,
) -> Result<CollectionId, Error> {
    let row = collection::Model {
        id: CollectionId::new(now),
        user_id: user,
        name,
        description,
        parent_id: parent,
        created_at: now,
        updated_at: now,
    };
    let id = row.id;
    Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    Ok(id)
}
